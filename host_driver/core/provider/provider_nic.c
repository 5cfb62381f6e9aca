/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * provider_nic.c - the provider behind a mailbox: reset, liveness, and the polling of
 * the rings.
 *
 *   ABSENT -> STARTING -> READY -> DEAD
 *                ^          |        |
 *                +----------+--------+   start(), or a NIC joins
 *
 * No call blocks: each state has a deadline that poll() checks. Time between two polls
 * that are far apart does not count against the NIC: the driver was stopped, or the
 * whole machine, with the NIC.
 */
#include "provider/provider_nic.h"

#include "provider/mailbox_client.h"
#include "unic_stats.h"

#define RESET_NS   2000000000ull /* a NIC answers reset_req within this */
#define COMMAND_NS 3000000000ull /* a NIC answers a command within this */
#define ABSENT_NS  1000000000ull /* a longer gap between polls is not counted */
#define RETRY_NS   1000000000ull /* between resets of a dead NIC */
#define BUDGET	   256u		 /* records per poll, at most */

/* What the driver knows of the mailbox of the NIC that is there. It writes to an OURS
 * only: the driver page is another one in another major version. */
enum nic_abi {
	ABI_UNSEEN = 0, /* there was no magic yet */
	ABI_OURS = 1,
	ABI_OTHER = 2,
};

struct unic_nic_provider {
	struct unic_provider p;
	struct unic_mbox_client m;
	uint32_t state; /* enum unic_provider_state */
	enum nic_abi abi;
	uint32_t reset_req; /* STARTING, and OURS */
	uint64_t deadline_ns;
	uint64_t looked_ns; /* the last poll */
	uint64_t gap_ns;    /* between that and the one before */
	uint64_t back_ns;   /* the first poll after a gap of ABSENT_NS */
	bool plugged;
	bool again; /* the last poll may have left records */
};

static struct unic_nic_provider *nic_of(struct unic_provider *p)
{
	return (struct unic_nic_provider *)(void *)p;
}

static struct unic_info *info_page(struct unic_nic_provider *n)
{
	return (struct unic_info *)(void *)(n->m.bar + UNIC_BAR_INFO_OFF);
}

static bool has_info_magic(struct unic_nic_provider *n)
{
	return unic_from_le32(UNIC_LOAD(info_page(n)->magic)) == UNIC_MAGIC;
}

static void set_state(struct unic_nic_provider *n, uint32_t state)
{
	n->state = state;
	unic_host_state(n->p.host, (enum unic_provider_state)state, n->m.epoch);
}

/* Complete each command under way as FAILED: the old epoch is over. */
static void fail_calls(struct unic_nic_provider *n)
{
	struct unic_call *call;

	while ((call = unic_mbox_client_drop(&n->m))) {
		struct unic_cmd_hdr hdr;

		memset(call->cpl, 0, sizeof(call->cpl));
		memcpy(&hdr, call->cmd, sizeof(hdr));
		hdr.status = UNIC_ST_FAILED;
		memcpy(call->cpl, &hdr, sizeof(hdr));
		unic_host_done(n->p.host, call);
	}
}

static void nic_down(struct unic_nic_provider *n, uint32_t state)
{
	n->deadline_ns = unic_os_now_ns(n->p.os) + RETRY_NS;
	unic_mbox_client_reset(&n->m);
	if (n->abi == ABI_OURS)
		unic_mbox_client_zero(&n->m);
	set_state(n, state);
	fail_calls(n);
}

/* Read the version of a NIC that has the magic. */
static void read_abi(struct unic_nic_provider *n)
{
	uint32_t major;

	unic_os_rmb();
	major = unic_from_le16(UNIC_LOAD(info_page(n)->abi_major));
	n->abi = major == UNIC_ABI_MAJOR ? ABI_OURS : ABI_OTHER;
	if (n->abi == ABI_OTHER)
		unic_os_log(n->p.os, UNIC_LOG_ERROR,
			    "the NIC speaks mailbox version %u, this driver "
			    "%u: it is left alone; update the older one",
			    major, UNIC_ABI_MAJOR);
}

/* The number of a reset that the NIC has neither done nor been asked for: a NIC that has
 * just been powered on may be about to answer what an earlier driver asked. */
static uint32_t next_reset(struct unic_nic_provider *n,
			   struct unic_driver_page *page)
{
	uint32_t next = unic_from_le32(UNIC_LOAD(info_page(n)->reset_ack)) + 1;

	return next + (next == unic_from_le32(UNIC_LOAD(page->reset_req)));
}

static void ask_reset(struct unic_nic_provider *n)
{
	struct unic_driver_page *page =
		(void *)(n->m.bar + UNIC_BAR_DRIVER_OFF);

	unic_mbox_client_zero(&n->m);
	n->reset_req = next_reset(n, page);
	unic_os_wmb();
	UNIC_STORE(page->reset_req, unic_to_le32(n->reset_req));
	unic_os_mb();
	unic_os_ring_nic(n->p.os);
	n->deadline_ns = unic_os_now_ns(n->p.os) + RESET_NS;
}

/* Look at the NIC before anything of it is written: ask one of this major version for a
 * reset, and leave another one alone until a NIC joins. One without a magic has not been
 * powered on yet. */
static void look_at_nic(struct unic_nic_provider *n)
{
	if (!has_info_magic(n))
		return;
	read_abi(n);
	if (n->abi == ABI_OURS) {
		ask_reset(n);
		return;
	}
	nic_down(n, UNIC_PROVIDER_DEAD);
	n->deadline_ns = UINT64_MAX;
}

static void nic_start(struct unic_provider *p)
{
	struct unic_nic_provider *n = nic_of(p);

	n->abi = ABI_UNSEEN;
	nic_down(n, UNIC_PROVIDER_STARTING);
	n->deadline_ns = unic_os_now_ns(p->os) + RESET_NS;
	look_at_nic(n);
}

static void mark_dead(struct unic_nic_provider *n, const char *why)
{
	unic_os_log(n->p.os, UNIC_LOG_ERROR,
		    "NIC: %s; it is marked dead and asked again every second",
		    why);
	nic_down(n, UNIC_PROVIDER_DEAD);
}

static void restart_nic(struct unic_nic_provider *n, const char *why)
{
	unic_os_log(n->p.os, UNIC_LOG_ERROR,
		    "NIC: %s; it is reset (the driver looked %u ms before)",
		    why, (uint32_t)(n->gap_ns / 1000000));
	nic_start(&n->p);
}

/* True if the NIC has done the reset that it was asked for. */
static bool has_reset(struct unic_nic_provider *n)
{
	struct unic_info *info = info_page(n);

	return n->abi == ABI_OURS && has_info_magic(n) &&
	       unic_from_le32(UNIC_LOAD(info->reset_ack)) == n->reset_req &&
	       unic_from_le32(UNIC_LOAD(info->state)) == UNIC_NIC_READY;
}

static void poll_starting(struct unic_nic_provider *n, uint64_t now)
{
	struct unic_info *info = info_page(n);
	uint32_t epoch;

	if (n->abi == ABI_UNSEEN)
		look_at_nic(n);
	if (n->state != UNIC_PROVIDER_STARTING)
		return;
	if (!has_reset(n)) {
		if (now >= n->deadline_ns)
			mark_dead(n, n->abi == ABI_OURS ? "no answer to reset"
							: "no firmware on it "
							  "has started");
		return;
	}
	unic_os_rmb();
	epoch = unic_from_le32(UNIC_LOAD(info->boot_epoch));
	if (!epoch) {
		mark_dead(n, "boot epoch 0");
		return;
	}
	unic_mbox_client_epoch(&n->m, epoch);
	set_state(n, UNIC_PROVIDER_READY);
}

/* Restart a NIC that has reset itself or is in state FAILED; mark one DEAD that crashed,
 * does not answer, or writes malformed records. */
static void check_alive(struct unic_nic_provider *n, uint64_t now)
{
	struct unic_info *info = info_page(n);
	uint32_t state = unic_from_le32(UNIC_LOAD(info->state));
	uint64_t oldest = unic_mbox_client_oldest(&n->m);

	if (oldest < n->back_ns)
		oldest = n->back_ns;
	if (state == UNIC_NIC_CRASHED)
		mark_dead(n, "the firmware crashed");
	else if (state == UNIC_NIC_FAILED)
		restart_nic(n, "a notice was not acknowledged within H");
	else if (unic_from_le32(UNIC_LOAD(info->boot_epoch)) != n->m.epoch)
		restart_nic(n, "it restarted behind our back");
	else if (n->m.bad_epoch > UNIC_MBOX_BAD_MAX)
		mark_dead(n, "too many malformed records in its mailbox");
	else if (now > oldest && now - oldest > COMMAND_NS)
		mark_dead(n, "a command was not answered within 3 s");
}

/* Pass on the drop records that the NIC wrote before the record just read. */
static void deliver_drops(struct unic_nic_provider *n)
{
	struct unic_drop drop;

	while (unic_mbox_client_dropped(&n->m, &drop))
		unic_host_drop(n->p.host, &drop);
}

/* What is left of @budget after a record: nothing once this poll has told enough. */
static uint32_t budget_left(const struct unic_nic_provider *n, uint32_t budget)
{
	return unic_host_told_enough(n->p.host) ? 0 : budget - 1;
}

static void poll_mailbox(struct unic_nic_provider *n)
{
	uint64_t evt[UNIC_REC_WORDS];
	struct unic_mad_rx mad;
	struct unic_call *call;
	uint32_t budget = BUDGET;

	while ((call = unic_mbox_client_reap(&n->m))) {
		deliver_drops(n);
		unic_host_done(n->p.host, call);
	}
	deliver_drops(n);
	while (budget && unic_mbox_client_event(&n->m, evt)) {
		deliver_drops(n);
		unic_host_event(n->p.host, evt);
		budget = budget_left(n, budget);
	}
	if (budget)
		unic_host_settled(n->p.host);
	while (budget && unic_mbox_client_mad(&n->m, &mad)) {
		unic_host_mad(n->p.host, &mad);
		budget = budget_left(n, budget);
	}
	n->again = !budget;
}

static void update_poll_gap(struct unic_nic_provider *n, uint64_t now)
{
	n->gap_ns = now - n->looked_ns;
	n->looked_ns = now;
	if (n->gap_ns > ABSENT_NS)
		n->back_ns = now;
}

static uint64_t nic_poll(struct unic_provider *p, uint64_t now)
{
	struct unic_nic_provider *n = nic_of(p);

	update_poll_gap(n, now);
	if (n->abi == ABI_OURS)
		unic_mbox_client_irq(&n->m, false);
	switch (n->state) {
	case UNIC_PROVIDER_STARTING:
		poll_starting(n, now);
		return n->state == UNIC_PROVIDER_STARTING ? now + 1000000 : now;
	case UNIC_PROVIDER_READY:
		poll_mailbox(n);
		check_alive(n, now);
		return n->again ? now : now + 100000000;
	case UNIC_PROVIDER_DEAD:
		if (n->plugged && now >= n->deadline_ns && has_info_magic(n))
			nic_start(p);
		return n->plugged ? now + RETRY_NS : UINT64_MAX;
	default:
		return UINT64_MAX;
	}
}

static bool nic_rest(struct unic_provider *p, bool on)
{
	struct unic_nic_provider *n = nic_of(p);

	return n->abi != ABI_OURS || !unic_mbox_client_irq(&n->m, on);
}

static bool nic_soon(struct unic_provider *p)
{
	return unic_mbox_client_soon(&nic_of(p)->m);
}

static int nic_command(struct unic_provider *p, struct unic_call *call)
{
	struct unic_nic_provider *n = nic_of(p);

	if (n->state != UNIC_PROVIDER_READY)
		return -ENODEV;
	unic_mbox_client_submit(&n->m, call);
	return 0;
}

static bool nic_peek(struct unic_provider *p, uint32_t off, void *buf,
		     uint32_t bytes)
{
	struct unic_nic_provider *n = nic_of(p);

	if (off > UNIC_BAR_BYTES || bytes > UNIC_BAR_BYTES - off)
		return false;
	memcpy(buf, n->m.bar + off, bytes);
	return true;
}

static void nic_plug(struct unic_provider *p, bool there)
{
	struct unic_nic_provider *n = nic_of(p);

	n->plugged = there;
	if (there)
		nic_start(p);
	else
		nic_down(n, UNIC_PROVIDER_ABSENT);
}

static void nic_fence(struct unic_provider *p)
{
	struct unic_nic_provider *n = nic_of(p);

	n->plugged = false; /* no further reset */
	nic_down(n, UNIC_PROVIDER_DEAD);
	if (n->abi != ABI_OTHER)
		unic_mbox_client_fence(&n->m);
}

/* A NIC of another version was never told of memory. A BAR without a device reads as all ones, which does not count as an answer. */
static bool nic_fenced(struct unic_provider *p)
{
	struct unic_nic_provider *n = nic_of(p);

	return n->abi == ABI_OTHER || unic_mbox_client_fenced(&n->m) ||
	       !unic_from_le32(UNIC_LOAD(info_page(n)->magic));
}

static const struct unic_provider_ops nic_ops = {
	.name = "nic",
	.start = nic_start,
	.command = nic_command,
	.poll = nic_poll,
	.soon = nic_soon,
	.rest = nic_rest,
	.peek = nic_peek,
	.tables = true,
	.plug = nic_plug,
	.fence = nic_fence,
	.fenced = nic_fenced,
};

struct unic_provider *unic_nic_provider(struct unic_os *os, void *bar)
{
	struct unic_nic_provider *n = unic_os_alloc(os, sizeof(*n));

	if (!n)
		return NULL;
	n->p.ops = &nic_ops;
	n->p.os = os;
	unic_mbox_client_init(&n->m, os, bar, &n->p.bad_records);
	return &n->p;
}
