/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_node.c - see kio_node.h. */
#include "kio_node.h"

#include "kio_conn.h"
#include "kio_link.h"

#define RETRY_NS      100000000ull	    /* between two attempts to set up */
#define BUFFERS_LEAST (UNIC_KIO_USERS + 1u) /* one for a peer */
#define SLOT_MEM      (UNIC_SLOT_FRAMES * 4096u) /* pages with a fixed use */

void unic_kio_node_init(struct unic_kio_node *n,
			const struct unic_kio_config *config)
{
	uint32_t i;

	memset(n, 0, sizeof(*n));
	n->config = *config;
	n->core = (struct unic_client){ .pid = config->pid,
					.privileged = true,
					.kernel = true,
					.slot = UNIC_OS_NO_SLOT };
	n->left = UNIC_OS_NO_SLOT;
	n->window = UNIC_KIO_WINDOW;
	n->rdma = config->rdma;
	for (i = 0; i < UNIC_KIO_USERS; i++)
		n->user[i].node = n;
	unic_kio_account_init(n);
	unic_kio_conn_init(n);
}

void unic_kio_node_fini(struct unic_kio_node *n)
{
	unic_kio_account_reset(n, true);
	unic_host_client_gone(n->config.host, &n->core);
	n->wanted = false;
}

/* The number of buffers that fit behind the queues, if those are in the slot; else
 * 0. */
static uint32_t buffers_of(const struct unic_kio_config *c)
{
	uint64_t queues = SLOT_MEM + unic_kio_ring_bytes(0), room;

	if (c->mem || c->slot_bytes < queues)
		return 0;
	room = (c->slot_bytes - queues) / UNIC_KIO_MAX;
	return room < UNIC_KIO_BUFFERS ? (uint32_t)room : UNIC_KIO_BUFFERS;
}

/* True if the device or slot does not suffice. Logged once, but checked again: the
 * device may be replaced. */
static bool is_unsupported(struct unic_kio_node *n)
{
	uint64_t need = SLOT_MEM + unic_kio_ring_bytes(BUFFERS_LEAST);
	bool silent = n->why == UNIC_CTL_ST_UNSUPPORTED;
	struct unic_info info;

	if (!n->config.mem && n->config.slot_bytes < need) {
		if (!silent)
			unic_os_log(n->config.os, UNIC_LOG_ERROR,
				    "kio needs slots of %u KiB, these have %u: "
				    "give unic-bus a larger --slot-size",
				    (unsigned int)(need >> 10),
				    (unsigned int)(n->config.slot_bytes >> 10));
		return true;
	}
	if (!unic_host_peek(n->config.host, UNIC_BAR_INFO_OFF, &info,
			    sizeof(info)) ||
	    unic_from_le64(info.features) & UNIC_FEAT_PHYSICAL)
		return false;
	if (!silent)
		unic_os_log(n->config.os, UNIC_LOG_ERROR,
			    "kio: this device has no physical regions");
	return true;
}

/* End with @status the I/Os that wait. */
static void refuse_queued(struct unic_kio_node *n, int status)
{
	uint32_t i;

	for (i = 0; i < UNIC_KIO_OUT; i++)
		unic_kio_refuse(&n->client[i], status);
}

void unic_kio_node_gone(struct unic_kio_node *n)
{
	n->wanted = n->up = n->lost = false;
	refuse_queued(n, -ENODEV);
	unic_kio_link_lost(n, -ENODEV);
}

void unic_kio_node_want(struct unic_kio_node *n)
{
	n->wanted = true;
}

/* ---------------------------------------------- requests and their answers */

bool unic_kio_ask(struct unic_kio_node *n, uint16_t op, void *rec,
		  uint32_t tail, uint32_t link, uint32_t at)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .tail_bytes = unic_to_le32(tail) };
	struct unic_client *client =
		link == UNIC_KIO_OF_ACCOUNT ? &n->account[at].core : &n->core;
	uint32_t i;

	for (i = 0; n->ask[i].op;)
		if (++i == UNIC_KIO_ASKS)
			return false;
	n->ask[i] = (struct unic_kio_ask){ .seq = ++n->seq,
					   .op = op,
					   .link = (uint8_t)link,
					   .at = (uint8_t)at };
	hdr.seq = unic_to_le32(n->seq);
	memcpy(rec, &hdr, sizeof(hdr));
	return unic_host_request(n->config.host, client, rec,
				 UNIC_CTL_BYTES + tail);
}

/* Only stores the answer: the driver calls within its own work. take_reply() handles
 * it. */
void unic_kio_node_reply(struct unic_kio_node *n, const void *msg,
			 uint32_t bytes)
{
	if (bytes < UNIC_CTL_BYTES || n->replies - n->taken >= UNIC_KIO_REPLIES)
		return; /* never: UNIC_KIO_ASKS are fewer */
	memcpy(n->reply[n->replies++ % UNIC_KIO_REPLIES].rec, msg,
	       UNIC_CTL_BYTES);
}

/* ------------------------------------------------------------------- set-up */

enum {
	STEP_HELLO,
	STEP_PD,
	STEP_REGION,
	STEP_FORMS,
	STEP_CQ,
	STEP_LISTEN,
	STEP_UP,
};

static bool send_hello(struct unic_kio_node *n)
{
	struct unic_ctl_hello r = { .version = unic_to_le32(UNIC_CTL_VERSION),
				    .name = "kio" };

	return unic_kio_ask(n, UNIC_CTL_HELLO, &r, 0, 0, 0);
}

static bool send_pd_alloc(struct unic_kio_node *n)
{
	struct unic_ctl_plain r = { 0 };

	return unic_kio_ask(n, UNIC_CTL_PD_ALLOC, &r, 0, 0, 0);
}

static bool send_mr_reg(struct unic_kio_node *n)
{
	const struct unic_kio_config *c = &n->config;
	uint64_t bytes = c->mem ? c->bus_bytes
				: unic_kio_ring_bytes(buffers_of(c));
	struct unic_ctl_mr_reg r = {
		.iova = unic_to_le64(c->mem ? c->bus_first : n->ring.bus),
		.length = unic_to_le64(bytes),
		.pd = unic_to_le32(n->pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_CONTROL,
		.residency = UNIC_PHYSICAL,
	};

	return unic_kio_ask(n, UNIC_CTL_MR_REG, &r, 0, 0, 0);
}

/* Send all MR_ALLOCs at once: after a reset, I/Os wait for them. */
static bool send_mr_allocs(struct unic_kio_node *n)
{
	struct unic_ctl_mr_alloc r = {
		.pd = unic_to_le32(n->pd),
		.kind = UNIC_FORM_INDIRECT,
		.n = unic_to_le32(UNIC_TOKEN_PIECES),
	};

	for (n->forms_open = 0; n->forms_open < UNIC_KIO_FORMS; n->forms_open++)
		if (!unic_kio_ask(n, UNIC_CTL_MR_ALLOC, &r, 0, 0, 0))
			break;
	return n->forms_open;
}

static bool send_cq_create(struct unic_kio_node *n)
{
	struct unic_ctl_cq_create r = { .mr = unic_to_le32(n->mr) };

	unic_kio_ring_cq(&n->ring, &r);
	return unic_kio_ask(n, UNIC_CTL_CQ_CREATE, &r, 0, 0, 0);
}

static bool send_listen(struct unic_kio_node *n)
{
	struct unic_ctl_listen r = { .service =
					     unic_to_le64(UNIC_KIO_SERVICE) };

	return unic_kio_ask(n, UNIC_CTL_LISTEN, &r, 0, 0, 0);
}

static void set_up(struct unic_kio_node *n)
{
	static bool (*const steps[])(struct unic_kio_node *) = {
		[STEP_HELLO] = send_hello,   [STEP_PD] = send_pd_alloc,
		[STEP_REGION] = send_mr_reg, [STEP_FORMS] = send_mr_allocs,
		[STEP_CQ] = send_cq_create,  [STEP_LISTEN] = send_listen,
	};

	if (n->lost || n->asked || n->now_ns < n->retry_ns ||
	    unic_host_nic(n->config.host) != UNIC_CTL_NIC_READY)
		return;
	if (n->step == STEP_HELLO && is_unsupported(n)) {
		n->why = UNIC_CTL_ST_UNSUPPORTED;
		n->retry_ns = n->now_ns + RETRY_NS;
		return;
	}
	if (n->step == STEP_HELLO)
		unic_kio_account_look(n);
	if (n->step == STEP_FORMS && !n->config.mem)
		n->step = STEP_CQ; /* buffers are contiguous: no forms */
	if (n->step == STEP_LISTEN && !n->config.store)
		n->step = STEP_UP;
	if (n->step == STEP_UP) {
		n->up = true;
		n->why = 0;
		unic_os_log(n->config.os, UNIC_LOG_INFO, "kio: has slot %u, %s",
			    n->core.slot,
			    n->config.store ? "serves its export"
					    : "exports nothing");
		return;
	}
	n->asked = steps[n->step](n);
}

/* Put the queues into config.mem, else behind the fixed pages of the slot. */
static void init_ring(struct unic_kio_node *n)
{
	const struct unic_kio_config *c = &n->config;
	uint32_t slot = n->core.slot;
	uint8_t *pages = c->slot_mem[slot];

	if (c->mem)
		unic_kio_ring_init(&n->ring, c->os, pages, slot, c->mem, c->bus,
				   0);
	else
		unic_kio_ring_init(&n->ring, c->os, pages, slot,
				   pages + SLOT_MEM,
				   ((uint64_t)slot << 48) + SLOT_MEM,
				   buffers_of(c));
}

static void set_up_failed(struct unic_kio_node *n, uint32_t status)
{
	if (n->why != status)
		unic_os_log(n->config.os, UNIC_LOG_ERROR,
			    "kio: set-up step %u: status %u; tried again",
			    n->step, status);
	n->why = status;
	n->retry_ns = n->now_ns + RETRY_NS;
	/* objects made so far stay; the set-up goes on, or the slot ends them */
}

static void set_up_done(struct unic_kio_node *n, uint32_t status,
			const uint64_t *rec)
{
	struct unic_ctl_mr_reg_reply r; /* `id` is first in all but one */
	struct unic_ctl_hello_reply hello;

	n->asked = false;
	memcpy(&r, rec, sizeof(r));
	if (status) {
		set_up_failed(n, status);
		return;
	}
	switch (n->step) {
	case STEP_HELLO:
		memcpy(&hello, rec, sizeof(hello));
		n->entries = unic_from_le32(hello.tlb_entries);
		init_ring(n);
		break;
	case STEP_PD:
		n->pd = unic_from_le32(r.id);
		break;
	case STEP_REGION:
		n->mr = unic_from_le32(r.id);
		n->ring.stag = unic_from_le32(r.stag);
		break;
	case STEP_CQ:
		n->cq = unic_from_le32(r.id);
		break;
	default:
		break;
	}
	n->step++;
}

/* Fewer forms than UNIC_KIO_FORMS suffice: fewer I/Os are under way then. */
static void mr_alloc_done(struct unic_kio_node *n, uint32_t status,
			  const uint64_t *rec)
{
	struct unic_ctl_mr_reg_reply r;

	memcpy(&r, rec, sizeof(r));
	if (!status)
		unic_kio_ring_add_form(&n->ring, unic_from_le32(r.stag));
	if (--n->forms_open)
		return;
	n->asked = false;
	if (n->ring.forms)
		n->step++;
	else
		set_up_failed(n, status);
}

/* True while the NIC may still use the pages of I/Os from before a reset, which must not
 * end then. With config.mem the pages are of others, and the NIC may use them until it
 * was reset, is gone, or has finished detaching the slot (INV-14). Without, the buffers
 * are in the slot, and none is given out before the set-up is done again. */
static bool may_touch_lost(const struct unic_kio_node *n)
{
	uint32_t nic = unic_host_nic(n->config.host);

	if (!n->config.mem)
		return false;
	return nic == UNIC_CTL_NIC_STARTING || nic == UNIC_CTL_NIC_DEAD ||
	       (n->left != UNIC_OS_NO_SLOT &&
		unic_host_slot_leaves(n->config.host, n->left));
}

static void end_lost(struct unic_kio_node *n)
{
	if (!n->lost || may_touch_lost(n))
		return;
	n->lost = false;
	n->left = UNIC_OS_NO_SLOT;
	unic_kio_link_lost(n, -ENOLINK);
	if (!n->config.mem) /* init_ring() gives their buffers out again */
		refuse_queued(n, -ENOLINK);
}

/* All objects have ended, but the slot is there: set up again. */
static void reset_node(struct unic_kio_node *n)
{
	uint32_t i;

	n->up = false;
	n->step = STEP_HELLO;
	n->asked = false;
	n->taken = n->replies;
	memset(n->ask, 0, sizeof(n->ask));
	n->retry_ns = n->now_ns;
	n->lost = true;
	n->unsure = false;
	unic_kio_account_reset(n, false);
	for (i = 0; i < UNIC_KIO_OUT; i++)
		unic_kio_up(&n->client[i], false);
	end_lost(n);
}

/* Answers were lost, so the state of objects is unknown: give the slot up, and set up
 * another. */
static void restart_node(struct unic_kio_node *n)
{
	unic_os_log(n->config.os, UNIC_LOG_ERROR,
		    "kio: begins anew in another slot");
	n->left = n->core.slot;
	unic_kio_account_reset(n, true);
	unic_host_client_gone(n->config.host, &n->core);
	n->upcall = 0;
	reset_node(n);
}

/* ----------------------------------------------------------------- answers */

static bool take_reply(struct unic_kio_node *n)
{
	const uint64_t *rec = n->reply[n->taken % UNIC_KIO_REPLIES].rec;
	struct unic_kio_ask ask;
	struct unic_ctl_hdr hdr;
	uint32_t i, status;

	if (n->taken == n->replies)
		return false;
	n->taken++;
	memcpy(&hdr, rec, sizeof(hdr));
	for (i = 0; n->ask[i].op != unic_from_le16(hdr.op) ||
		    n->ask[i].seq != unic_from_le32(hdr.seq);)
		if (++i == UNIC_KIO_ASKS)
			return true; /* to a request from before the reset */
	ask = n->ask[i];
	n->ask[i].op = 0;
	status = unic_from_le16(hdr.status);
	if (ask.link == UNIC_KIO_OF_ACCOUNT)
		unic_kio_account_reply(n, &ask, status);
	else if (n->up)
		unic_kio_link_reply(n, &ask, status, rec);
	else if (ask.op == UNIC_CTL_MR_ALLOC)
		mr_alloc_done(n, status, rec);
	else
		set_up_done(n, status, rec);
	return true;
}

/* ------------------------------------------------------------------ upcalls */

static void handle_upcall(struct unic_kio_node *n, const uint64_t *rec)
{
	struct unic_upcall_conn up;
	struct unic_upcall_obj obj;
	struct unic_upcall_mr mr;

	memcpy(&up, rec, sizeof(up));
	memcpy(&obj, rec, sizeof(obj));
	memcpy(&mr, rec, sizeof(mr));
	switch (up.hdr.type) {
	case UNIC_UP_CONN_REQUEST:
		unic_kio_link_request(n, &up);
		break;
	case UNIC_UP_DISCONNECTED:
		unic_kio_link_ended(n, unic_from_le32(up.hdr.id), 0);
		break;
	case UNIC_UP_QP_ERROR:
		unic_kio_link_ended(n, 0, unic_from_le32(up.hdr.id));
		break;
	case UNIC_UP_RESET:
		reset_node(n);
		break;
	case UNIC_UP_NOTICE:
		unic_kio_account_notice(n, unic_from_le32(mr.user));
		break;
	case UNIC_UP_CQ_ERROR:
	case UNIC_UP_DB_ERROR:
		restart_node(n);
		break;
	default: /* tokens and regions end by requests; the server is told of a
		  * region that was taken back, and answers */
		break;
	}
}

/* Record @number of the upcalls. The core writes the ring under the lock that is held
 * here, so a record is never half written. */
static const void *upcall_at(const struct unic_kio_node *n, uint32_t number)
{
	const uint8_t *page = n->config.slot_mem[n->core.slot];

	return page + UNIC_SLOT_UPCALL_PAGE * 4096u +
	       offsetof(struct unic_upcall_ring, record) +
	       number % UNIC_UPCALLS * UNIC_CTL_BYTES;
}

static bool take_upcall(struct unic_kio_node *n)
{
	uint64_t rec[UNIC_REC_WORDS];
	struct unic_upcall_hdr hdr;

	memcpy(rec, upcall_at(n, n->upcall), sizeof(rec));
	memcpy(&hdr, rec, sizeof(hdr));
	if (unic_from_le32(hdr.seq) == n->upcall + 1) {
		n->upcall++;
		handle_upcall(n, rec);
		return true;
	}
	if ((int32_t)(unic_from_le32(hdr.seq) - (n->upcall + 1)) > 0 &&
	    hdr.seq) {
		restart_node(n);
		return true;
	}
	return false;
}

uint64_t unic_kio_node_demand(const struct unic_kio_node *n)
{
	uint64_t sum = 0;
	uint32_t i;

	if (n->rdma)
		return unic_kio_account_demand(n);
	for (i = 0; i < UNIC_KIO_OUT; i++)
		if (n->conn[i].state != UNIC_KIO_C_FREE)
			sum += unic_kio_demand(&n->client[i]);
	return sum;
}

/* --------------------------------------------------------------------- users */

int unic_kio_node_start(struct unic_kio_node *n, struct unic_kio *io,
			uint32_t ipv4)
{
	int link;

	if (io->op == UNIC_KIO_WRITE && io->pieces > UNIC_KIO_GATHER &&
	    !n->config.mem)
		return -EINVAL;
	link = unic_kio_link_of(n, ipv4);
	return link < 0 ? link : unic_kio_start(&n->client[link], io);
}

uint32_t unic_kio_node_status(const struct unic_kio_node *n, uint32_t ipv4)
{
	uint32_t i;

	if (!n->up)
		return n->why ? n->why : UNIC_CTL_ST_NO_NIC;
	for (i = 0; i < UNIC_KIO_OUT; i++)
		if (n->conn[i].state != UNIC_KIO_C_FREE &&
		    n->conn[i].ipv4 == ipv4)
			return n->conn[i].refused;
	return 0;
}

/* ---------------------------------------------------------------------- poll */

static void take_stored(struct unic_kio_node *n)
{
	struct unic_kio_task task;

	while (n->config.store && n->config.store->next(n->config.store, &task))
		unic_kio_server_stored(&task);
}

/* End late I/Os, also before the set-up is done. Returns the next deadline. */
static uint64_t poll_clients(struct unic_kio_node *n)
{
	uint64_t next = UINT64_MAX, ends;
	uint32_t i;

	for (i = 0; i < UNIC_KIO_OUT; i++) {
		ends = unic_kio_client_poll(&n->client[i], n->now_ns);
		next = ends < next ? ends : next;
	}
	return next;
}

uint64_t unic_kio_node_poll(struct unic_kio_node *n)
{
	struct unic_kio_done done;
	uint32_t budget = 64;
	uint64_t next, also;

	if (!n->wanted)
		return UINT64_MAX;
	n->now_ns = unic_os_now_ns(n->config.os);
	while (budget && take_reply(n))
		budget--;
	while (budget && n->core.slot != UNIC_OS_NO_SLOT && take_upcall(n))
		budget--;
	if (n->unsure && budget) /* and no RESET came with it */
		restart_node(n);
	if (!n->up) {
		end_lost(n);
		set_up(n);
		next = poll_clients(n);
		if (n->retry_ns > n->now_ns && n->retry_ns < next)
			next = n->retry_ns;
		if (next > n->now_ns + RETRY_NS)
			next = n->now_ns + RETRY_NS;
		return n->taken != n->replies || n->up ? n->now_ns : next;
	}
	while (budget && n->up && unic_kio_ring_poll(&n->ring, &done)) {
		budget--;
		unic_kio_link_done(n, &done);
	}
	take_stored(n);
	n->window_opens = false;
	also = unic_kio_account_poll(n);
	next = unic_kio_link_poll(n);
	if (!budget || n->window_opens || n->taken != n->replies ||
	    (n->up && !unic_kio_ring_rest(&n->ring)))
		return n->now_ns;
	return next < also ? next : also;
}
