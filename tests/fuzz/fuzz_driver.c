/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fuzz_driver.c - a hostile device: it answers commands correctly, wrongly,
 * twice or never, sends invented events and datagrams, and writes random bytes
 * over its indices and its info page, while two processes send requests to the
 * driver.
 *
 * Checked: each request is answered at most once, and all of them when the
 * device is gone; the frame tables of a process agree; the driver does not
 * write the doorbell page and the NIC page of a slot; nothing is leaked.
 */
#include "state.h"
#include "host.h"
#include "provider/provider_nic.h"
#include "cm/cm_mad.h"
#include "ctl.h"
#include "region/frames_slot.h"
#include "unic_stats.h"

#define SLOTS	   2u
#define SLOT_BYTES (40u * 4096u)
#define STEPS	   64u
#define REGIONS	   8u

struct unic_os {
	uint64_t now_ns;
	uint32_t fail_alloc;
	long live; /* allocations */
};

/* One process. */
struct guest {
	struct unic_client client;
	struct ctl ctl;
	bool there;
};

/* A region that the device was asked to register, for events about it. */
struct asked {
	uint32_t user, mr, gen;
};

static struct unic_os os;
static struct unic_host *host;
static struct guest guest[SLOTS];
static uint8_t bar[UNIC_BAR_BYTES] __attribute__((aligned(4096)));
static uint8_t slot[SLOTS][SLOT_BYTES] __attribute__((aligned(4096)));
static struct {
	uint32_t cmd_head, cpl_tail, evt_tail, mad_tail, drop_tail, epoch,
		asked;
	struct asked region[REGIONS];
	uint32_t arp_user, qpn, cq, randoms;
	struct unic_cm_msg sent; /* the last datagram */
} dev;

/* -------------------------------------------------------------------- the OS */

uint64_t unic_os_now_ns(struct unic_os *o)
{
	return o->now_ns;
}

void *unic_os_alloc(struct unic_os *o, size_t bytes)
{
	if (o->fail_alloc && !--o->fail_alloc)
		return NULL;
	o->live++;
	return calloc(1, bytes);
}

void unic_os_free(struct unic_os *o, void *p)
{
	o->live -= p != NULL;
	free(p);
}

void unic_os_log(struct unic_os *o, enum unic_os_level level, const char *fmt,
		 ...)
{
	(void)o;
	(void)level;
	(void)fmt;
}

void unic_os_random(struct unic_os *o, void *buf, size_t bytes)
{
	(void)o;
	memset(buf, 0x5a, bytes);
	memcpy(buf, &dev.randoms, bytes < 2 ? bytes : 2);
	dev.randoms++;
}

void unic_os_ring_nic(struct unic_os *o)
{
	(void)o;
}

void unic_os_ring_proc(struct unic_os *o, uint32_t s)
{
	(void)o;
	must(s < SLOTS);
}

void unic_os_upcall(struct unic_os *o, uint32_t s)
{
	const struct unic_upcall_ring *ring = (void *)(slot[s] + 2 * 4096);
	struct unic_upcall_hdr hdr;

	(void)o;
	must(s < SLOTS);
	memcpy(&hdr,
	       ring->record[(host->proc[s].upcall_next - 1) % UNIC_UPCALLS],
	       sizeof(hdr));
	if (hdr.type == UNIC_UP_CONN_REQUEST)
		ctl_learn(&guest[s].ctl, CTL_CONN, unic_from_le32(hdr.id));
}

void unic_os_reply(struct unic_os *o, struct unic_client *client,
		   const void *msg, uint32_t bytes, uint32_t hello_slot)
{
	struct guest *g = (struct guest *)(void *)client;

	(void)o;
	must(g->there);
	must(hello_slot == UNIC_OS_NO_SLOT || hello_slot < SLOTS);
	ctl_answer(&g->ctl, msg, bytes);
}

void unic_os_slot_zero(struct unic_os *o, uint32_t s)
{
	(void)o;
	memset(slot[s], 0, SLOT_BYTES);
}

void unic_os_slot_quiet(struct unic_os *o, uint32_t s)
{
	(void)o;
	must(s < SLOTS);
}

bool unic_os_slot_unused(struct unic_os *o, uint32_t s, uint32_t pid)
{
	(void)o;
	(void)s;
	(void)pid;
	return true;
}

/* ---------------------------------------------------------------- the device */

static struct unic_info *info(void)
{
	return (void *)(bar + UNIC_BAR_INFO_OFF);
}

static struct unic_nic_idx *idx(void)
{
	return (void *)(bar + UNIC_BAR_NIC_OFF);
}

static const struct unic_driver_page *driver(void)
{
	return (const void *)(bar + UNIC_BAR_DRIVER_OFF);
}

static void device_reset(void)
{
	memset(idx(), 0, sizeof(*idx()));
	dev.cmd_head = dev.cpl_tail = dev.evt_tail = dev.mad_tail =
		dev.drop_tail = 0;
	dev.epoch++;
	info()->boot_epoch = unic_to_le32(dev.epoch);
	info()->state = unic_to_le32(UNIC_NIC_READY);
	info()->reset_ack = driver()->reset_req;
}

/* Fills in a reply to a command, with random numbers. */
static void fill_answer(struct input *in, const uint64_t *cmd, uint8_t *rec)
{
	struct unic_cmd_hdr hdr;
	struct unic_cmd_mr_reg reg;
	struct asked *a;
	unic_le32 *w = (void *)(rec + sizeof(hdr));

	memcpy(&hdr, cmd, sizeof(hdr));
	w[0] = unic_to_le32(in_below(in, 32));
	w[1] = unic_to_le32(in_below(in, 4));
	w[2] = unic_to_le32(0x1000u + in_u8(in));
	w[3] = unic_to_le32(in_below(in, 4));
	if (hdr.opcode == UNIC_CMD_MR_REG || hdr.opcode == UNIC_CMD_MR_ALLOC) {
		memcpy(&reg, cmd, sizeof(reg));
		a = &dev.region[dev.asked++ % REGIONS];
		a->user = unic_from_le32(reg.user);
		if (hdr.opcode == UNIC_CMD_MR_ALLOC) {
			struct unic_cmd_mr_alloc alloc;

			memcpy(&alloc, cmd, sizeof(alloc));
			a->user = unic_from_le32(alloc.user);
		}
		a->mr = unic_from_le32(w[0]);
		a->gen = unic_from_le32(w[1]);
	} else if (hdr.opcode == UNIC_CMD_QP_CREATE) {
		dev.qpn = unic_from_le32(w[0]);
	} else if (hdr.opcode == UNIC_CMD_CQ_CREATE) {
		dev.cq = unic_from_le32(w[0]);
	} else if (hdr.opcode == UNIC_CMD_ARP_RESOLVE) {
		struct unic_cmd_arp arp;

		memcpy(&arp, cmd, sizeof(arp));
		dev.arp_user = unic_from_le32(arp.user);
	} else if (hdr.opcode == UNIC_CMD_DUMP) {
		w[0] = unic_to_le32(in_odd(in) ? in_u32(in) : in_below(in, 64));
		w[1] = unic_to_le32(in_below(in, 2));
	}
}

/* Remembers a datagram of the driver, for replies of its peer. */
static void overhear(const uint64_t *cmd)
{
	struct unic_cm_msg msg;
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, cmd, sizeof(hdr));
	if (hdr.opcode == UNIC_CMD_MAD_SEND &&
	    unic_cm_parse(bar + UNIC_BAR_LIST_OFF +
				  dev.cmd_head % UNIC_CMD_ENTRIES *
					  UNIC_LIST_BYTES,
			  &msg))
		dev.sent = msg;
}

static void complete(const uint8_t *rec)
{
	memcpy(bar + UNIC_BAR_CPL_OFF + dev.cpl_tail % UNIC_CPL_ENTRIES * 64,
	       rec, 64);
	idx()->cpl_tail = unic_to_le32(++dev.cpl_tail);
}

/* Executes a reset that is due, and up to @n commands; most are answered OK. */
static void device_run(struct input *in, uint32_t n)
{
	uint64_t words[8], cmd[8];
	uint8_t *rec = (void *)words;
	struct unic_cmd_hdr hdr;
	uint32_t how;

	if (driver()->reset_req != info()->reset_ack)
		device_reset();
	while (n-- && unic_from_le32(driver()->cmd_tail) - dev.cmd_head - 1 <
			      UNIC_CMD_ENTRIES) {
		memcpy(cmd,
		       bar + UNIC_BAR_CMD_OFF +
			       dev.cmd_head % UNIC_CMD_ENTRIES * 64,
		       64);
		overhear(cmd);
		dev.cmd_head++;
		memset(rec, 0, 64);
		how = in_u8(in);
		fill_answer(in, cmd, rec);
		memcpy(&hdr, cmd, sizeof(hdr));
		if (how >= 128 && how < 206 &&
		    hdr.opcode == UNIC_CMD_ARP_RESOLVE)
			hdr.status = UNIC_ST_PENDING;
		if (how >= 206 && how < 246)
			hdr.status = how < 216 ? UNIC_ST_PENDING
					       : in_u8(in) % 40u;
		memcpy(rec, &hdr, sizeof(hdr));
		if (how >= 248)
			rec[in_below(in, 16)] = in_u8(in);
		if (how != 247)
			complete(rec);
		if (how == 246)
			complete(rec);
	}
}

/* Answers all commands correctly, so that a sequence of them can complete. */
static void settle(void)
{
	struct input zeros = { NULL, 0 };
	uint32_t i;

	for (i = 0; i < 4; i++) {
		device_run(&zeros, UNIC_CMD_ENTRIES);
		unic_host_poll(host);
	}
}

static void event(struct input *in)
{
	uint32_t known = dev.asked < REGIONS ? dev.asked : REGIONS;
	const struct asked *a = &dev.region[known ? in_below(in, known) : 0];
	uint64_t words[8] = { 0 };
	struct unic_evt_mr *mr = (void *)words;
	struct unic_evt_hdr *hdr = &mr->hdr;
	uint8_t *rec = (void *)words;
	unic_le32 *w = (void *)(rec + sizeof(*hdr));
	uint32_t how = in_u8(in);

	in_bytes(in, w + 2, 12);
	w[4] = unic_to_le32(in_below(in, 2)); /* of a notice */
	hdr->type = (uint8_t)in_below(in, 13);
	hdr->proc = unic_to_le16((uint16_t)in_below(in, 3));
	hdr->epoch = unic_to_le32(dev.epoch - (how >= 250));
	w[0] = unic_to_le32(a->mr);
	w[1] = unic_to_le32(a->gen);
	if (hdr->type <= UNIC_EVT_EVICTED) {
		w[3] = unic_to_le32(a->user);
		hdr->reason = (uint8_t)in_below(in, 9);
		if (!hdr->type && how & 1)
			hdr->type = UNIC_EVT_IDLE;
	} else if (hdr->type <= UNIC_EVT_WAIT_ENDED) {
		w[0] = unic_to_le32(in_below(in, 4));
		w[1] = unic_to_le32(a->user);
		w[2] = unic_to_le32(a->mr);
		w[3] = unic_to_le32(a->gen);
		w[5] = unic_to_le32(in_below(in, 40));
	} else if (hdr->type == UNIC_EVT_MISS) {
		w[2] = unic_to_le32(a->user);
		w[3] = unic_to_le32(in_below(in, 8));
		w[4] = unic_to_le32(in_below(in, 6));
	} else if (hdr->type == UNIC_EVT_ARP_RESULT) {
		w[1] = unic_to_le32(dev.arp_user);
	} else {
		w[0] = unic_to_le32(how & 1 ? dev.qpn : in_below(in, 4));
	}
	if (how >= 240)
		rec[in_below(in, 64)] = in_u8(in);
	memcpy(bar + UNIC_BAR_EVT_OFF + dev.evt_tail % UNIC_EVT_ENTRIES * 64,
	       rec, 64);
	idx()->evt_tail = unic_to_le32(++dev.evt_tail);
}

/* Writes a drop record: the device claims that it dropped a page. */
static void drop(struct input *in)
{
	uint32_t known = dev.asked < REGIONS ? dev.asked : REGIONS;
	const struct asked *a = &dev.region[known ? in_below(in, known) : 0];
	struct unic_drop rec = {
		.mr = unic_to_le32(a->mr),
		.gen = unic_to_le32(a->gen),
		.page = unic_to_le32(in_below(in, 8)),
		.user = unic_to_le32(a->user),
	};

	memcpy(bar + UNIC_BAR_DROP_OFF +
		       dev.drop_tail % UNIC_DROP_ENTRIES * sizeof(rec),
	       &rec, sizeof(rec));
	idx()->drop_tail = unic_to_le32(++dev.drop_tail);
}

static void datagram(struct input *in)
{
	struct unic_cm_msg msg = {
		.type = (uint16_t)(UNIC_CM_REQ + in_below(in, 7)),
		.tid = in_odd(in) ? in_below(in, 3) : dev.sent.tid,
		.local_comm = dev.sent.remote_comm && !in_odd(in)
				      ? dev.sent.remote_comm
				      : 1 + in_below(in, 3),
		.remote_comm = in_odd(in) ? in_u8(in) : dev.sent.local_comm,
		.service = in_below(in, 3),
		.qpn = in_below(in, 2) ? 0x100u : dev.qpn & 0xffffff,
		.psn = in_u16(in),
		.src_ipv4 = 0x0a000002,
		.dst_ipv4 = 0x0a000001,
		.reason = in_below(in, 32),
		.max_dest_rd = in_below(in, 8),
		.max_rd = in_below(in, 8),
		.retry_cnt = 7,
		.rnr_retry = 7,
		.timeout = in_below(in, 32),
		.mtu_shift = (uint8_t)(8 + in_below(in, 5)),
		.vendor = in_below(in, 2),
		.priv_bytes = (uint8_t)in_below(in, UNIC_CTL_PRIVATE_MAX + 1),
	};
	struct unic_mad_rx mad = { .ipv4 = unic_to_le32(0x0a000002),
				   .qpn = unic_to_le32(1) };

	unic_cm_build(&msg, mad.data);
	if (in_odd(in))
		mad.data[in_u8(in)] = in_u8(in);
	memcpy(bar + UNIC_BAR_MAD_RX_OFF +
		       dev.mad_tail % UNIC_MAD_RX_ENTRIES * sizeof(mad),
	       &mad, sizeof(mad));
	idx()->mad_tail = unic_to_le32(++dev.mad_tail);
}

/* Writes random bytes over a field of the pages that the device writes. */
static void scribble(struct input *in)
{
	static const uint32_t at[] = {
		UNIC_BAR_INFO_OFF,  UNIC_BAR_INFO_OFF + 112,
		UNIC_BAR_NIC_OFF,   UNIC_BAR_NIC_OFF + 64,
		UNIC_BAR_CPL_OFF,   UNIC_BAR_EVT_OFF,
		UNIC_BAR_STATS_OFF, UNIC_BAR_LIST_OFF,
	};
	uint32_t off = at[in_below(in, 8)] + in_u8(in);

	in_bytes(in, bar + off, 1 + in_below(in, 8));
}

/* ------------------------------------------------------------- the processes */

static void come(struct guest *g)
{
	if (g->there)
		return;
	g->there = true;
	g->client = (struct unic_client){
		.pid = 7 + (uint32_t)(g - guest),
		.uid = g == guest ? 0 : 1000,
		.privileged = g == guest,
		.slot = UNIC_OS_NO_SLOT,
	};
}

static void send_request(struct guest *g, const void *msg, uint32_t bytes)
{
	uint32_t seq = g->ctl.seq & 255;

	come(g);
	if (bytes >= sizeof(struct unic_ctl_hdr)) {
		if (g->ctl.open[seq / 64] >> seq % 64 & 1)
			return; /* a request of this number is open */
		g->ctl.open[seq / 64] |= 1ull << seq % 64;
		g->ctl.sent++;
	}
	must(unic_host_request(host, &g->client, msg, bytes) ==
	     (bytes >= sizeof(struct unic_ctl_hdr)));
}

/* The start of a well-behaved process; the device answers correctly. */
static void prologue(struct guest *g)
{
	uint64_t msg[UNIC_REC_WORDS];
	uint32_t n, bytes;

	for (n = 0; (bytes = ctl_script(&g->ctl, n, msg)); n++) {
		send_request(g, msg, bytes);
		settle();
	}
}

static void request(struct input *in, struct guest *g)
{
	static uint64_t msg[UNIC_CTL_KIO_MSG_MAX / 8 + 2];
	uint32_t bytes = ctl_request(in, &g->ctl, msg);

	send_request(g, msg, bytes);
}

static void leave(struct guest *g)
{
	uint32_t s = g->client.slot;

	if (!g->there)
		return;
	unic_host_client_gone(host, &g->client);
	memset(&g->ctl, 0, sizeof(g->ctl));
	g->there = false;
	if (s != UNIC_OS_NO_SLOT && s < SLOTS)
		unic_host_slot_free(host, s);
}

/* ------------------------------------------------------------------ checking */

static void check_frames(const struct unic_frames *f)
{
	const struct unic_frame_tables *t = f->t;
	uint32_t i, used = 0, pinned = 0, in_runs = 0;

	for (i = 0; i < f->frames; i++) {
		used += t->taken[i] != 0;
		pinned += t->pins[i] != 0;
		must(!t->pins[i] || t->taken[i]);
		must(i >= t->first || !t->taken[i]);
	}
	for (i = 0; i < t->runs; i++) {
		in_runs += t->run[i].n;
		must(!i ||
		     t->run[i].page >= t->run[i - 1].page + t->run[i - 1].n);
	}
	must(used == f->used && pinned == f->pinned && in_runs == used);
}

static void check(void)
{
	uint32_t i, k;

	for (i = 0; i < SLOTS; i++) {
		check_frames(&host->proc[i].frames);
		for (k = 0; k < 2 * 4096; k++)
			must(!slot[i][k]);
		if (guest[i].there)
			must(guest[i].client.open ==
			     guest[i].ctl.sent - guest[i].ctl.answered);
	}
}

static void step(struct input *in)
{
	uint32_t kind = in_u8(in);

	if (kind < 100)
		request(in, &guest[kind & 1]);
	else if (kind < 140)
		device_run(in, 1 + in_below(in, 8));
	else if (kind < 172)
		unic_host_poll(host);
	else if (kind < 192)
		event(in);
	else if (kind < 196)
		drop(in);
	else if (kind < 212)
		datagram(in);
	else if (kind < 222)
		settle();
	else if (kind < 232)
		scribble(in);
	else if (kind < 240)
		os.now_ns += 1000000ull * in_u16(in);
	else if (kind < 245)
		leave(&guest[kind & 1]);
	else if (kind < 248)
		unic_host_plug(host, kind & 1);
	else if (kind < 252)
		os.fail_alloc = 1 + in_below(in, 8);
	else
		unic_host_rest(host, true);
}

static void begin(void)
{
	static void *const mem[SLOTS] = { slot[0], slot[1] };
	struct unic_host_config config = { .slots = SLOTS,
					   .slot_bytes = SLOT_BYTES,
					   .slot_mem = mem,
					   .ipv4 = 0x0a000001 };
	uint32_t i;

	memset(&os, 0, sizeof(os));
	memset(&dev, 0, sizeof(dev));
	memset(guest, 0, sizeof(guest));
	memset(bar, 0, UNIC_BAR_LIST_OFF);
	memset(slot, 0, sizeof(slot));
	for (i = 0; i < 8; i++) /* some trace records */
		((struct unic_trace_rec *)(void *)(bar + UNIC_BAR_TRACE_OFF))[i]
			.seq = unic_to_le32(i + 1);
	os.now_ns = 1000000000;
	dev.epoch = 100;
	info()->magic = unic_to_le32(UNIC_MAGIC);
	info()->abi_major = unic_to_le16(UNIC_ABI_MAJOR);
	info()->procs = unic_to_le32(SLOTS);
	info()->features = unic_to_le64(~0ull);
	info()->tokens = unic_to_le32(16);
	info()->path_mtu = unic_to_le32(1024);
	info()->waits = unic_to_le32(8);
	host = unic_host_new(&os, unic_nic_provider(&os, bar), &config);
	must(host);
	unic_host_plug(host, true);
	settle();
	must(unic_host_nic(host) == UNIC_CTL_NIC_READY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint32_t i, first;

	begin();
	first = in_u8(&in);
	for (i = 0; i < SLOTS; i++)
		if (first >> i & 1)
			prologue(&guest[i]);
	for (i = 0; i < STEPS && in.left; i++)
		step(&in);
	check();
	os.fail_alloc = 0;
	unic_host_plug(host, false); /* ends all open requests */
	unic_host_poll(host);
	for (i = 0; i < SLOTS; i++)
		must(!guest[i].there ||
		     guest[i].ctl.sent == guest[i].ctl.answered);
	unic_host_delete(host);
	must(!os.live);
	return 0;
}
