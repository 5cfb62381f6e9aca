/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */

#include "unit.h"

#include "driver_rig.h"
#include "cm/cm_conn.h"
#include "provider/provider_nic.h"

uint64_t unic_os_now_ns(struct unic_os *os)
{
	return os->now_ns;
}

void *unic_os_alloc(struct unic_os *os, size_t bytes)
{
	if (os->fail_alloc && !--os->fail_alloc)
		return NULL;
	if (os->hide && bytes == os->hide_at)
		*os->hide = 0;
	os->live++;
	return calloc(1, bytes);
}

void unic_os_free(struct unic_os *os, void *p)
{
	os->live -= p != NULL;
	free(p);
}

void unic_os_log(struct unic_os *os, enum unic_os_level level, const char *fmt,
		 ...)
{
	va_list args;

	if (level != UNIC_LOG_AUDIT)
		return;
	os->audited++;
	va_start(args, fmt);
	vsnprintf(os->audit, sizeof(os->audit), fmt, args);
	va_end(args);
}

void unic_os_random(struct unic_os *os, void *buf, size_t bytes)
{
	memset(buf, 0x5a, bytes);
	if (os->all_random && bytes == 8) {
		os->all_random = os->all_random * 6364136223846793005ull + 1;
		memcpy(buf, &os->all_random, 8);
		return;
	}
	memcpy(buf, &os->randoms, bytes < 2 ? bytes : 2);
	if (bytes >= 8)
		memcpy((uint8_t *)buf + 4, &os->randoms, 2);
	if (os->same_randoms)
		os->same_randoms--;
	else
		os->randoms++;
}

void unic_os_ring_nic(struct unic_os *os)
{
	os->rings++;
}

void unic_os_ring_proc(struct unic_os *os, uint32_t slot)
{
	(void)slot;
	if (os->on_ring)
		os->on_ring();
}

void unic_os_upcall(struct unic_os *os, uint32_t slot)
{
	(void)slot;
	os->upcalls++;
}

void unic_os_reply(struct unic_os *os, struct unic_client *client,
		   const void *msg, uint32_t bytes, uint32_t hello_slot)
{
	(void)client;
	(void)hello_slot;
	assert_true(os->replies < REPLIES);
	memcpy(os->reply[os->replies], msg, bytes);
	os->reply_bytes[os->replies++] = bytes;
}

void unic_os_slot_zero(struct unic_os *os, uint32_t slot)
{
	(void)os;
	(void)slot;
}

void unic_os_slot_quiet(struct unic_os *os, uint32_t slot)
{
	(void)slot;
	os->quiet++;
}

bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid)
{
	(void)slot;
	(void)pid;
	return !os->mapped;
}

struct unic_info *info(struct fake *f)
{
	return (void *)(f->bar + UNIC_BAR_INFO_OFF);
}

struct unic_nic_idx *idx(struct fake *f)
{
	return (void *)(f->bar + UNIC_BAR_NIC_OFF);
}

struct unic_driver_page *driver(struct fake *f)
{
	return (void *)(f->bar + UNIC_BAR_DRIVER_OFF);
}

void complete(struct fake *f, const uint64_t *rec)
{
	memcpy(f->bar + UNIC_BAR_CPL_OFF + f->cpl_tail % 64 * 64, rec, 64);
	idx(f)->cpl_tail = unic_to_le32(++f->cpl_tail);
}

static void remember_modify(struct fake *f, const uint64_t *rec)
{
	struct unic_cmd_qp_modify m;

	memcpy(&m, rec, sizeof(m));
	assert_true(m.state < 8);
	memcpy(f->modified[m.state], rec, 64);
}

/* A tail out of range: the driver is about to reset the NIC. */
static bool has_command(struct fake *f)
{
	return unic_from_le32(driver(f)->cmd_tail) - f->cmd_head - 1 < 64;
}

void nic_step(struct fake *f)
{
	struct unic_cmd_hdr hdr;
	uint64_t rec[8];

	assert_true(has_command(f));
	memcpy(rec, f->bar + UNIC_BAR_CMD_OFF + f->cmd_head % 64 * 64, 64);
	memcpy(&hdr, rec, sizeof(hdr));
	assert_true(hdr.opcode < 64);
	memcpy(f->last[hdr.opcode], rec, 64);
	f->given[hdr.opcode]++;
	if (hdr.opcode == UNIC_CMD_QP_MODIFY)
		remember_modify(f, rec);
	if (f->lists && (!f->lists_of || f->lists_of == hdr.opcode))
		memcpy(f->bar + UNIC_BAR_LIST_OFF +
			       f->cmd_head % 64 * UNIC_LIST_BYTES,
		       f->listed, UNIC_LIST_BYTES);
	memcpy(rec, f->cpl[hdr.opcode], 64);
	hdr.status = f->answer[hdr.opcode];
	memcpy(rec, &hdr, sizeof(hdr));
	f->cmd_head++;
	f->commands++;
	complete(f, rec);
}

void nic_run(struct fake *f)
{
	if (unic_from_le32(driver(f)->reset_req) !=
	    unic_from_le32(info(f)->reset_ack)) {
		memset(idx(f), 0, sizeof(*idx(f)));
		f->cmd_head = f->cpl_tail = f->evt_tail = 0;
		f->epoch++;
		info(f)->boot_epoch = unic_to_le32(f->epoch);
		info(f)->state = unic_to_le32(UNIC_NIC_READY);
		info(f)->reset_ack = driver(f)->reset_req;
		return;
	}
	while (has_command(f))
		nic_step(f);
}

/* Each process's count of requests that wait, or may come to wait, must be that
 * of its regions. */
static void check_waits(struct fake *f)
{
	uint32_t n[SLOTS] = { 0 }, at = 0, i;
	struct unic_region *mr;

	while ((mr = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_MR,
				   UNIC_OBJ_ANYONE)))
		n[mr->obj.owner] +=
			mr->state == R_WAITING ||
			(mr->state == R_REGISTERING && mr->may_wait);
	for (i = 0; i < SLOTS; i++)
		assert_int_equal(f->host->proc[i].waits, n[i]);
}

void settle(struct fake *f)
{
	int i;

	for (i = 0; i < 20; i++) {
		nic_run(f);
		unic_host_poll(f->host);
		check_waits(f);
	}
}

void start_driver(struct fake *f)
{
	struct unic_host_config config = {
		.slots = SLOTS,
		.slot_bytes = SLOT_BYTES,
		.slot_mem = f->slot,
		.journal = f->journal,
		.ipv4 = 0x0a000001,
	};

	f->host = unic_host_new(&f->os, unic_nic_provider(&f->os, f->bar),
				&config);
	assert_non_null(f->host);
	f->client = (struct unic_client){ .pid = 7,
					  .privileged = true,
					  .slot = UNIC_OS_NO_SLOT };
}

struct fake *fake_new(void)
{
	struct fake *f = calloc(1, sizeof(*f));
	uint32_t i;

	f->os.now_ns = 1000000000;
	f->bar = aligned_alloc(4096, UNIC_BAR_BYTES);
	memset(f->bar, 0, UNIC_BAR_BYTES);
	for (i = 0; i < SLOTS; i++) {
		f->slot[i] = aligned_alloc(4096, SLOT_BYTES);
		memset(f->slot[i], 0, SLOT_BYTES);
	}
	info(f)->magic = unic_to_le32(UNIC_MAGIC);
	info(f)->abi_major = unic_to_le16(UNIC_ABI_MAJOR);
	info(f)->procs = unic_to_le32(SLOTS);
	info(f)->features =
		unic_to_le64(UNIC_FEAT_DEMAND | UNIC_FEAT_HOST_TABLE |
			     UNIC_FEAT_APP_POLICY | UNIC_FEAT_RATES);
	info(f)->tokens = unic_to_le32(16);
	info(f)->path_mtu = unic_to_le32(1024);
	f->epoch = 100;
	f->journal = calloc(1, unic_host_journal_bytes(SLOTS, SLOT_BYTES));
	start_driver(f);
	unic_host_plug(f->host, true);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	return f;
}

void fake_delete(struct fake *f)
{
	uint32_t i;

	unic_host_delete(f->host);
	assert_int_equal(f->os.live, 0);
	for (i = 0; i < SLOTS; i++)
		free(f->slot[i]);
	free(f->bar);
	free(f->journal);
	free(f);
}

int request(struct fake *f, uint16_t op, void *rec)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op) }, got;

	f->os.replies = 0;
	memcpy(rec, &hdr, sizeof(hdr));
	assert_true(unic_host_request(f->host, &f->client, rec, 64));
	settle(f);
	if (!f->os.replies)
		return -1;
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.op), op);
	return unic_from_le16(got.status);
}

uint32_t reply_u32(struct fake *f, uint32_t at)
{
	unic_le32 v;

	memcpy(&v, (uint8_t *)f->os.reply[0] + at, sizeof(v));
	return unic_from_le32(v);
}

uint32_t hello_flags;

void hello(struct fake *f)
{
	struct unic_ctl_hello r = { .version = unic_to_le32(1),
				    .flags = unic_to_le32(hello_flags) };

	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), 0);
}

uint8_t residency;

uint32_t region(struct fake *f, uint32_t pages)
{
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(pages > 8 ? pages
								      : 8),
				      .page_shift = 12 };
	struct unic_ctl_plain pd = { 0 };
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(9),
				       .stag = unic_to_le32(0xabcd00) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(pages * 4096),
				       .user = unic_to_le32(55),
				       .residency = residency };

	hello(f);
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	assert_int_equal(reply_u32(f, 20), 0xabcd00);
	return reply_u32(f, 16);
}

uint32_t pinned(struct fake *f)
{
	return f->host->proc[f->client.slot].frames.pinned;
}

void put_event(struct fake *f, const void *evt)
{
	memcpy(f->bar + UNIC_BAR_EVT_OFF + f->evt_tail % 512 * 64, evt, 64);
	idx(f)->evt_tail = unic_to_le32(++f->evt_tail);
}

void nic_says(struct fake *f, const void *evt)
{
	put_event(f, evt);
	settle(f);
}

void event(struct fake *f, void *evt)
{
	struct unic_evt_hdr *hdr = evt;

	hdr->epoch = unic_to_le32(f->epoch);
	nic_says(f, evt);
}

struct unic_evt_mr notice(uint32_t id, uint8_t type)
{
	return (struct unic_evt_mr){ .hdr = { .type = type,
					      .reason = UNIC_WHY_WAITER },
				     .mr = unic_to_le32(3),
				     .gen = unic_to_le32(9),
				     .user = unic_to_le32(id),
				     .stag = unic_to_le32(0x305),
				     .seq = unic_to_le32(77),
				     .entries = unic_to_le32(4),
				     .dependents = unic_to_le32(6),
				     .rank = unic_to_le32(2),
				     .pain = unic_to_le32(123),
				     .grace_us = unic_to_le32(20000) };
}

const uint8_t *upcall(struct fake *f, uint32_t n)
{
	struct unic_upcall_ring *ring =
		(void *)((uint8_t *)f->slot[f->client.slot] + 2 * 4096);

	return ring->record[n % UNIC_UPCALLS];
}

void no_spare(struct fake *f)
{
	unic_req_discard(&f->os, f->host->spare);
	f->host->spare = NULL;
}

void put_mad(struct fake *f, uint32_t ipv4, uint8_t mac,
	     const struct unic_cm_msg *msg)
{
	struct unic_mad_rx rx = { .ipv4 = unic_to_le32(ipv4),
				  .mac = { [5] = mac } };
	uint32_t n = unic_from_le32(idx(f)->mad_tail);

	unic_cm_build(msg, rx.data);
	memcpy(f->bar + UNIC_BAR_MAD_RX_OFF +
		       n % UNIC_MAD_RX_ENTRIES * sizeof(rx),
	       &rx, sizeof(rx));
	idx(f)->mad_tail = unic_to_le32(n + 1);
}

void mad_from_mac(struct fake *f, uint32_t ipv4, uint8_t mac,
		  const struct unic_cm_msg *msg)
{
	put_mad(f, ipv4, mac, msg);
	settle(f);
}

void mad_from(struct fake *f, uint32_t ipv4, const struct unic_cm_msg *msg)
{
	mad_from_mac(f, ipv4, 0, msg);
}

const uint8_t *bytes_sent(struct fake *f)
{
	return f->bar + UNIC_BAR_LIST_OFF +
	       (f->cmd_head - 1) % 64 * UNIC_LIST_BYTES;
}

struct unic_cm_msg mad_sent(struct fake *f)
{
	struct unic_cm_msg msg;

	assert_true(unic_cm_parse(bytes_sent(f), &msg));
	return msg;
}

uint8_t upcall_type(struct fake *f, uint32_t n)
{
	struct unic_upcall_hdr hdr;

	memcpy(&hdr, upcall(f, n), sizeof(hdr));
	return unic_from_le32(hdr.seq) == n + 1 ? hdr.type : 0;
}

struct fake *requested(struct unic_cm_msg *req)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct fake *f = fake_new();

	hello(f);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	*req = (struct unic_cm_msg){ .type = UNIC_CM_REQ,
				     .tid = 99,
				     .local_comm = 0x77,
				     .service = 4711,
				     .qpn = 5,
				     .mtu_shift = 10,
				     .vendor = 1 };
	mad_from(f, PEER, req);
	assert_int_equal(upcall_type(f, 0), UNIC_UP_CONN_REQUEST);
	return f;
}

void pass(struct fake *f, uint64_t ms)
{
	f->os.now_ns += ms * 1000000;
	settle(f);
}

void ask(struct fake *f, uint16_t op, void *rec)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op) };

	f->os.replies = 0;
	memcpy(rec, &hdr, sizeof(hdr));
	assert_true(unic_host_request(f->host, &f->client, rec, 64));
	unic_host_poll(f->host);
}

uint32_t reply_status(struct fake *f)
{
	struct unic_ctl_hdr got;

	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	return unic_from_le16(got.status);
}

uint32_t waiting(struct fake *f)
{
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(8),
				      .page_shift = 12 };
	struct unic_cpl_mr_reg cpl = { .wait = unic_to_le32(4) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096),
				       .flags = UNIC_CTL_REG_WAIT |
						UNIC_CTL_REG_ASYNC };
	struct unic_ctl_plain pd = { 0 };

	info(f)->waits = unic_to_le32(8);
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_PENDING);
	return reply_u32(f, 16);
}

struct unic_evt_wait granted(uint32_t id)
{
	return (struct unic_evt_wait){ .hdr = { .type = UNIC_EVT_GRANTED },
				       .wait = unic_to_le32(4),
				       .user = unic_to_le32(id),
				       .mr = unic_to_le32(3),
				       .gen = unic_to_le32(9) };
}

void ask_token(struct fake *f, uint32_t mr, uint64_t key)
{
	struct unic_cpl_token cpl = { .index = unic_to_le32(6),
				      .key = unic_to_le64(key) };
	struct unic_ctl_token_alloc r = { .mr = unic_to_le32(mr),
					  .length = unic_to_le32(64),
					  .user = unic_to_le32((uint32_t)key) };

	memcpy(f->cpl[UNIC_CMD_TOKEN_ALLOC], &cpl, 64);
	ask(f, UNIC_CTL_TOKEN_ALLOC, &r);
}

int keep(void **state)
{
	(void)state;
	hello_flags = UNIC_CTL_HELLO_KEEP;
	return 0;
}

int no_keep(void **state)
{
	(void)state;
	hello_flags = 0;
	return 0;
}

void fail_nic(struct fake *f)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(1),
				       .stag = unic_to_le32(0xabcd00) };

	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	memset(f->last, 0, sizeof(f->last));
	info(f)->state = unic_to_le32(UNIC_NIC_FAILED);
	unic_host_poll(f->host);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_STARTING);
}

struct unic_cmd_mr_reg last_reg(struct fake *f)
{
	struct unic_cmd_mr_reg cmd;

	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], sizeof(cmd));
	return cmd;
}

uint32_t region_state(struct fake *f, uint32_t id)
{
	const struct unic_region *mr = unic_obj_get(
		&f->host->objects, id, UNIC_OBJ_MR, UNIC_OBJ_ANYONE);

	return mr ? mr->state : UINT32_MAX;
}

uint8_t queues_as(struct fake *f, uint32_t mr, struct unic_ctl_qp_create qp)
{
	struct unic_cpl_obj cpl = { .id = unic_to_le32(5) };
	struct unic_ctl_cq_create cq = { .entries = unic_to_le32(16) };

	memcpy(f->cpl[UNIC_CMD_CQ_CREATE], &cpl, 64);
	memcpy(f->cpl[UNIC_CMD_QP_CREATE], &cpl, 64);
	cq.mr = qp.mr = unic_to_le32(mr);
	assert_int_equal(request(f, UNIC_CTL_CQ_CREATE, &cq), 0);
	qp.send_cq = qp.recv_cq = unic_to_le32(reply_u32(f, 16));
	qp.pd = unic_to_le32(((struct unic_region *)unic_obj_get(
				      &f->host->objects, mr, UNIC_OBJ_MR, 0))
				     ->pd);
	return request(f, UNIC_CTL_QP_CREATE, &qp);
}

uint32_t queues(struct fake *f, uint32_t mr)
{
	struct unic_ctl_qp_create qp = { .sq_slots = unic_to_le16(16) };

	assert_int_equal(queues_as(f, mr, qp), 0);
	return reply_u32(f, 16);
}

void peer_connects(struct fake *f, struct peer *p, uint32_t mr)
{
	struct unic_ctl_connect accept = { .qp = unic_to_le32(queues(f, mr)) };
	struct unic_cm_msg m = { .type = UNIC_CM_REQ,
				 .tid = p->comm,
				 .local_comm = p->comm,
				 .service = 4711,
				 .qpn = p->comm,
				 .mtu_shift = 10,
				 .vendor = 1 };
	struct unic_upcall_hdr up;

	mad_from(f, p->ipv4, &m);
	memcpy(&up, upcall(f, f->host->proc[0].upcall_next - 1), sizeof(up));
	assert_int_equal(up.type, UNIC_UP_CONN_REQUEST);
	p->conn = unic_from_le32(up.id);
	accept.conn = up.id;
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &accept), 0);
	p->ours = mad_sent(f).local_comm;
	p->qpn = mad_sent(f).qpn;
	m.type = UNIC_CM_RTU;
	m.remote_comm = p->ours;
	mad_from(f, p->ipv4, &m);
}

struct conn *conn_with(struct fake *f, uint32_t ipv4)
{
	struct conn *c;
	uint32_t at = 0;

	while ((c = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_CONN,
				  UNIC_OBJ_ANYONE)))
		if (c->ipv4 == ipv4)
			return c;
	return NULL;
}

struct unic_cm_msg connecting(struct fake *f)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };

	r.qp = unic_to_le32(queues(f, region(f, 4)));
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
	return mad_sent(f);
}

struct unic_cm_msg reply_of(const struct unic_cm_msg *req)
{
	return (struct unic_cm_msg){ .type = UNIC_CM_REP,
				     .tid = req->tid,
				     .local_comm = 0x99,
				     .remote_comm = req->local_comm,
				     .qpn = 6,
				     .psn = 0x654321,
				     .vendor = 1 };
}

void listens(struct fake *f, uint32_t *mr)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };

	*mr = region(f, 4);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
}

struct unic_cm_msg accepted(struct fake *f)
{
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .tid = 0x1234567890,
				   .local_comm = 0x99,
				   .service = 4711,
				   .qpn = 6,
				   .psn = 0x123456,
				   .mtu_shift = 10,
				   .vendor = 1 };
	struct unic_ctl_connect a = { 0 };
	uint32_t mr;

	listens(f, &mr);
	mad_from(f, PEER, &req);
	a.conn = unic_to_le32(conn_with(f, PEER)->obj.id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
	assert_int_equal(conn_with(f, PEER)->state, C_REP_SENT);
	return mad_sent(f);
}

struct unic_cm_msg message(uint16_t type, const struct unic_cm_msg *ours)
{
	return (struct unic_cm_msg){ .type = type,
				     .tid = ours->tid,
				     .local_comm = 0x99,
				     .remote_comm = ours->local_comm,
				     .qpn = 5 };
}

struct unic_cm_msg to_confirm(struct fake *f, uint16_t type)
{
	struct unic_cm_msg rep = accepted(f);

	return message(type, &rep);
}

struct unic_cm_msg to_answer(struct fake *f, uint16_t type)
{
	struct unic_cm_msg req = connecting(f), m = reply_of(&req);

	m.type = type;
	if (type == UNIC_CM_REJ) {
		m.local_comm = 0; /* the client made no connection */
		m.reason = UNIC_CM_CONSUMER;
	}
	return m;
}

struct unic_cm_msg to_end(struct fake *f, uint16_t type)
{
	struct unic_cm_msg m = to_confirm(f, UNIC_CM_RTU);

	mad_from(f, PEER, &m);
	m.type = type;
	return m;
}

struct unic_cm_msg to_part(struct fake *f, uint16_t type)
{
	struct unic_cm_msg m = to_end(f, type);
	struct unic_ctl_obj r = { 0 };

	r.id = unic_to_le32(conn_with(f, PEER)->obj.id);
	assert_int_equal(request(f, UNIC_CTL_DISCONNECT, &r), -1);
	return m;
}

bool told(struct fake *f, const struct peer *p, uint16_t type,
	  struct unic_grants_msg *msg)
{
	uint8_t mad[256];
	uint32_t i;

	for (i = 1; i <= 64; i++) {
		memcpy(mad,
		       f->bar + UNIC_BAR_LIST_OFF +
			       (f->cmd_head - i) % 64 * UNIC_LIST_BYTES,
		       sizeof(mad));
		if (unic_grants_parse(mad, msg) && msg->type == type &&
		    msg->remote_comm == p->comm)
			return true;
	}
	return false;
}
