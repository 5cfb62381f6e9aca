/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_unrel.c - unreliable connections and datagrams, between two NICs on a
 * wire that loses the frames that the test selects.
 */
#include "unit.h"

#include "command/proc.h"
#include "pair.h"
#include "transport/requester.h"
#include "unic_wire.h"

#define US     1000ull
#define MS     1000000ull
#define GRH    UNIC_GRH_BYTES
#define IP(id) (0x0a000000u | (id))

static struct rig_qp ua, ub; /* UC */
static struct rig_qp da, db; /* UD */
static uint32_t seen;	     /* frames of RoCEv2 to rb so far */
static uint64_t lost;	     /* bit per frame that is lost */
static uint32_t answers;     /* frames of RoCEv2 from rb */

static bool deaf;	     /* ARP of ra is lost */
static uint8_t to[6], to_ip; /* destination of the last frame of ra */

static bool is_roce(const uint8_t *frame)
{
	return frame[12] == 0x08 && frame[13] == 0;
}

static void wire(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	if (is_roce(frame) && port == &rb.port)
		answers++;
	if (port == &ra.port && !is_roce(frame) && deaf)
		return;
	if (port == &ra.port) {
		memcpy(to, frame, sizeof(to));
		to_ip = frame[33];
	}
	if (is_roce(frame) && port == &ra.port && lost >> seen++ % 64 & 1)
		return;
	fake_deliver(port->peer, frame, len, flags);
}

static void datagrams(struct rig *r, struct rig_qp *qp)
{
	rig_connect(r, qp, r, qp); /* to itself */
}

static int up(void **state)
{
	(void)state;
	pair_up();
	rig_qp_of(&ra, 0, qa.pd, 6, UNIC_QPT_UC, 0, 0, &ua);
	rig_qp_of(&rb, 0, qb.pd, 7, UNIC_QPT_UC, 0, 0, &ub);
	rig_connect(&ra, &ua, &rb, &ub);
	rig_qp_of(&ra, 0, qa.pd, 8, UNIC_QPT_UD, 0, 0, &da);
	rig_qp_of(&rb, 0, qb.pd, 9, UNIC_QPT_UD, 0, 0, &db);
	datagrams(&ra, &da);
	datagrams(&rb, &db);
	ra.port.on_frame = rb.port.on_frame = wire;
	seen = answers = 0;
	lost = 0;
	deaf = false;
	return 0;
}

static int down(void **state)
{
	(void)state;
	pair_run(1 * MS);
	assert_int_equal(answers, 0); /* UC is never answered */
	pair_quiet();
	return 0;
}

static void get(struct rig *r, struct rig_qp *qp, uint64_t wr_id,
		struct unic_cqe *cqe)
{
	assert_true(rig_cqe(r, qp, cqe));
	assert_int_equal(unic_from_le64(cqe->wr_id), wr_id);
	assert_int_equal(cqe->status, 0);
}

static void same(uint32_t at, uint32_t from, uint32_t len)
{
	assert_memory_equal(mb.mem + at, ma.mem + from, len);
}

/* --------------------------------------------------------------------- UC */

static void uc_send(uint8_t op, uint64_t wr_id, uint32_t off, uint32_t len)
{
	rig_send(&ra, &ua, op, wr_id, &ma, off, len, 0, 0);
}

static void uc_write(uint8_t op, uint64_t wr_id, uint32_t off, uint32_t len)
{
	rig_send(&ra, &ua, op, wr_id, &ma, off, len, mb.iova + off, mb.stag);
}

/* Messages of one packet, of many, and of no bytes arrive. A request completes
 * when its last packet is sent. */
static void uc_messages_arrive(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &ub, 11, &mb, 0, 5000);
	rig_recv(&rb, &ub, 12, &mb, 5000, 5000);
	rig_recv(&rb, &ub, 13, &mb, 10000, 10);
	uc_send(UNIC_WR_SEND, 1, 3, 4500);
	uc_send(UNIC_WR_SEND_IMM, 2, 7, 100);
	ua.sq[1].imm = unic_to_le32(77);
	uc_send(UNIC_WR_SEND, 3, 0, 0);
	pair_run(1 * MS);
	get(&ra, &ua, 1, &cqe);
	assert_int_equal(unic_from_le32(cqe.byte_len), 4500);
	get(&ra, &ua, 2, &cqe);
	get(&ra, &ua, 3, &cqe);
	get(&rb, &ub, 11, &cqe);
	assert_int_equal(unic_from_le32(cqe.byte_len), 4500);
	assert_int_equal(cqe.opcode, UNIC_WC_RECV);
	assert_int_equal(cqe.flags, 0);
	get(&rb, &ub, 12, &cqe);
	assert_int_equal(unic_from_le32(cqe.byte_len), 100);
	assert_int_equal(cqe.flags, UNIC_WC_WITH_IMM);
	assert_int_equal(unic_from_le32(cqe.imm), 77);
	get(&rb, &ub, 13, &cqe);
	assert_int_equal(unic_from_le32(cqe.byte_len), 0);
	same(0, 3, 4500);
	same(5000, 7, 100);
}

static void uc_writes_arrive(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &ub, 11, &mb, 0, 0);
	uc_write(UNIC_WR_WRITE, 1, 100, 9000);
	uc_write(UNIC_WR_WRITE, 2, 10000, 8);
	uc_write(UNIC_WR_WRITE_IMM, 3, 12000, 3000);
	ua.sq[2].imm = unic_to_le32(99);
	pair_run(1 * MS);
	get(&ra, &ua, 1, &cqe);
	get(&ra, &ua, 2, &cqe);
	get(&ra, &ua, 3, &cqe);
	get(&rb, &ub, 11, &cqe);
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_WRITE_IMM);
	assert_int_equal(unic_from_le32(cqe.byte_len), 3000);
	assert_int_equal(unic_from_le32(cqe.imm), 99);
	same(100, 100, 9000);
	same(10000, 10000, 8);
	same(12000, 12000, 3000);
}

/* One packet of five is lost, whichever it is: its message does not arrive, and
 * the next message takes the receive of the first (IBTA 9.8.3). */
static void uc_lost_packet_loses_its_message(void **state)
{
	struct unic_cqe cqe;
	uint32_t k;

	(void)state;
	for (k = 0; k < 5; k++) {
		rig_recv(&rb, &ub, 20 + k, &mb, 0, 5120);
		seen = 0;
		lost = 1ull << k;
		uc_send(UNIC_WR_SEND, 1, 0, 5000);
		uc_send(UNIC_WR_SEND, 2, 5120 + k, 5000);
		pair_run(1 * MS);
		get(&ra, &ua, 1, &cqe);
		get(&ra, &ua, 2, &cqe);
		get(&rb, &ub, 20 + k, &cqe);
		same(0, 5120 + k, 5000);
		pair_expect_none(&rb, &ub);
	}
	assert_int_equal(rig_count(&rb, uc_broken), 4);
	assert_int_equal(rig_count(&rb, rx_out_of_seq), 5);
	assert_int_equal(rig_count(&rb, tx_naks), 0);
}

/* The last packet of a WRITE is lost, and no other follows: the region of the
 * WRITE can be evicted, and the queue pair takes the next message. */
static void uc_half_a_message_holds_nothing_up(void **state)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mb.mr),
				   .gen = unic_to_le32(mb.gen) };
	struct unic_evt_mr evt;
	struct unic_cqe cqe;
	struct rig_mr other;

	(void)state;
	lost = 1ull << 4;
	uc_write(UNIC_WR_WRITE, 1, 0, 5000);
	pair_run(1 * MS);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	pair_run(1 * MS);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), 0);
	pair_run(50 * MS);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(rig_reg(&rb, 0, ub.pd, 2, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	rig_recv(&rb, &ub, 11, &other, 0, 100);
	uc_send(UNIC_WR_SEND, 2, 0, 100);
	pair_run(1 * MS);
	get(&ra, &ua, 1, &cqe);
	get(&ra, &ua, 2, &cqe);
	get(&rb, &ub, 11, &cqe);
	assert_memory_equal(other.mem, ma.mem, 100);
}

/* A region is evicted when a message is placed completely and its completion is
 * not written yet: no completion follows, and the next message takes the
 * receive. */
static void uc_cut_before_its_completion(void **state)
{
	struct unic_qps *qps = &rb.nic.qps;
	struct unic_cqe cqe;
	struct rig_mr other;
	uint32_t k;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, ub.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	rig_recv(&rb, &ub, 11, &other, 0, 100);
	for (k = 1; k < 12 && qps->roce.rx_stage != UNIC_RX_FINISH; k++) {
		uc_write(UNIC_WR_WRITE_IMM, k, 0, 3000);
		rig_poll(&ra);
		rb.port.again_call = rb.port.calls + k;
		unic_nic_poll(&rb.nic);
		if (qps->roce.rx_stage == UNIC_RX_FINISH)
			break;
		pair_run(1 * MS);
		get(&ra, &ua, k, &cqe);
		while (rig_cqe(&rb, &ub, &cqe))
			rig_recv(&rb, &ub, 11, &other, 0, 100);
	}
	assert_int_equal(qps->roce.rx_stage, UNIC_RX_FINISH);
	unic_cuts_mark(&rb.nic.memory, (uint16_t)mb.mr);
	unic_cut_run(&rb.nic.transport);
	pair_run(1 * MS);
	pair_expect_none(&rb, &ub);
	get(&ra, &ua, k, &cqe);
	uc_send(UNIC_WR_SEND, 20, 0, 100);
	pair_run(1 * MS);
	get(&rb, &ub, 11, &cqe);
	assert_int_equal(cqe.opcode, UNIC_WC_RECV);
	assert_int_equal(unic_from_le32(cqe.byte_len), 100);
}

/* A message without a receive, with too short a receive or with a wrong key is
 * dropped, and the next one arrives. */
static void uc_what_does_not_fit_is_dropped(void **state)
{
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	uc_send(UNIC_WR_SEND, 1, 0, 3000);
	pair_run(1 * MS);
	assert_int_equal(rig_count(&rb, unrel_no_receive), 1);
	rig_recv(&rb, &ub, 11, &mb, 0, 2000);
	uc_send(UNIC_WR_SEND, 2, 0, 2001);
	pair_run(1 * MS);
	assert_int_equal(rig_count(&rb, unrel_too_long), 1);
	rig_send(&ra, &ua, UNIC_WR_WRITE, 3, &ma, 0, 3000, mb.iova,
		 mb.stag ^ 1);
	rig_send(&ra, &ua, UNIC_WR_WRITE, 4, &ma, 0, 3000,
		 mb.iova + PAIR_BYTES - 2999, mb.stag);
	pair_run(1 * MS);
	assert_int_equal(rig_count(&rb, unrel_refused), 2);
	uc_write(UNIC_WR_WRITE_IMM, 5, 4096, 8);
	uc_send(UNIC_WR_SEND, 6, 100, 2000);
	pair_run(1 * MS);
	memset(mb.mem + 4096, 0, 8);
	uc_write(UNIC_WR_WRITE_IMM, 7, 4096,
		 8); /* no receive: no byte either */
	pair_run(1 * MS);
	for (i = 1; i <= 7; i++)
		get(&ra, &ua, i, &cqe);
	for (i = 0; i < 8; i++)
		assert_int_equal(mb.mem[4096 + i], 0);
	get(&rb, &ub, 11, &cqe); /* the WRITE's: a receive of any size */
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_WRITE_IMM);
	pair_expect_none(&rb, &ub);
	assert_int_equal(rig_count(&rb, unrel_no_receive), 3);
	assert_int_equal(rig_count(&rb, uc_skipped), 2 + 2 + 2 + 1);
}

/* A message whose completion finds its queue full is the last one of its queue pair: nothing
 * counts as received. */
static void uc_without_room_for_a_completion(void **state)
{
	struct unic_qp_ctx *qp = unic_qp_by_number(&rb.nic.transport, ub.qpn);
	struct unic_cqe cqe;
	uint32_t i, msn;

	(void)state;
	for (i = 0; i < RIG_SLOTS; i++) {
		rig_recv(&rb, &ub, i, &mb, 0, 100);
		uc_send(UNIC_WR_SEND, i, 0, 100);
		pair_run(1 * MS);
		get(&ra, &ua, i, &cqe);
	}
	msn = qp->rsp.msn;
	rig_recv(&rb, &ub, i, &mb, 0, 100);
	uc_send(UNIC_WR_SEND, i, 0, 100);
	pair_run(1 * MS);
	get(&ra, &ua, i, &cqe);
	assert_int_equal(rig_count(&rb, cq_overflows), 1);
	assert_int_equal(qp->state, UNIC_QPS_ERR);
	assert_int_equal(qp->rsp.msn, msn);
	for (i = 0; i < RIG_SLOTS; i++)
		get(&rb, &ub, i, &cqe);
	pair_expect_none(&rb, &ub);
}

/* A peer that guesses keys is held off, although it gets no answer to a wrong
 * key. */
static void uc_guesses_are_held_off(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 20; i++) {
		rig_send(&ra, &ua, UNIC_WR_WRITE, i, &ma, 0, 8, mb.iova,
			 mb.stag ^ (i << 8 | 1));
		pair_run(10 * US);
		rig_cqe(&ra, &ua, &(struct unic_cqe){ 0 });
	}
	mb.mem[0] = (uint8_t)~ma.mem[0];
	uc_write(UNIC_WR_WRITE, 30, 0, 8);
	pair_run(1 * MS);
	assert_int_not_equal(mb.mem[0], ma.mem[0]);
	assert_true(rig_count(&rb, guess_held) > 0);
	pair_run(200 * MS);
	uc_write(UNIC_WR_WRITE, 31, 0, 8);
	pair_run(1 * MS);
	same(0, 0, 8);
}

/* ----------------------------------------------------------- bad requests */

/* A request for an operation of RC, or with an invalid address or length, fails
 * and moves the queue pair to the error state. */
static void wrong_requests(void **state)
{
	static const struct {
		bool ud;
		uint8_t op;
		uint32_t len, qpn, ipv4;
		uint8_t detail;
	} bad[] = {
		{ false, UNIC_WR_READ, 8, 2, 1, UNIC_WD_OPCODE },
		{ false, UNIC_WR_TOKEN, 8, 2, 1, UNIC_WD_OPCODE },
		{ false, UNIC_WR_SEND_INV, 8, 2, 1, UNIC_WD_OPCODE },
		{ false, UNIC_WR_FETCH_ADD, 8, 2, 1, UNIC_WD_OPCODE },
		{ true, UNIC_WR_WRITE, 8, 2, IP(2), UNIC_WD_OPCODE },
		{ true, UNIC_WR_WRITE_IMM, 8, 2, IP(2), UNIC_WD_OPCODE },
		{ true, UNIC_WR_SEND_INV, 8, 2, IP(2), UNIC_WD_OPCODE },
		{ true, UNIC_WR_COMPARE_SWAP, 8, 2, IP(2), UNIC_WD_OPCODE },
		{ true, UNIC_WR_READ, 8, 2, IP(2), UNIC_WD_OPCODE },
		{ true, UNIC_WR_SEND, 1025, 2, IP(2), UNIC_WD_LENGTH },
		{ true, UNIC_WR_SEND, 8, 0, IP(2), UNIC_WD_ADDRESS },
		{ true, UNIC_WR_SEND, 8, 1, IP(2), UNIC_WD_ADDRESS },
		{ true, UNIC_WR_SEND, 8, 1u << 24, IP(2), UNIC_WD_ADDRESS },
		{ true, UNIC_WR_SEND, 8, 2, 0, UNIC_WD_ADDRESS },
		{ true, UNIC_WR_SEND, 8, 2, 0xe0000001, UNIC_WD_ADDRESS },
	};
	struct unic_cqe cqe;
	struct rig_qp *qp;
	uint32_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		up(state);
		qp = bad[i].ud ? &da : &ua;
		rig_send(&ra, qp, bad[i].op, 1, &ma, 0, bad[i].len,
			 UNIC_UD_TO(bad[i].ipv4, 0x1234), bad[i].qpn);
		rig_send(&ra, qp, UNIC_WR_SEND, 2, &ma, 0, 8,
			 UNIC_UD_TO(IP(2), 0x1234), db.qpn);
		pair_run(1 * MS);
		assert_true(rig_cqe(&ra, qp, &cqe));
		assert_int_equal(unic_from_le64(cqe.wr_id), 1);
		assert_int_equal(cqe.status, UNIC_WC_LOC_QP_OP_ERR);
		assert_int_equal(cqe.detail, bad[i].detail);
		assert_true(rig_cqe(&ra, qp, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(seen, 0); /* no frame was sent */
		pair_quiet();
	}
}

/* Attributes that a type of queue pair does not have are refused, not
 * ignored. */
static void attributes_by_type(void **state)
{
	struct unic_cmd_qp_create create = {
		.pd = unic_to_le32(qa.pd),
		.stag = unic_to_le32(ua.rings.stag),
		.send_cq = unic_to_le32(ua.cq),
		.recv_cq = unic_to_le32(ua.cq),
		.sq_iova = unic_to_le64(ua.rings.iova),
		.rq_iova = unic_to_le64(ua.rings.iova + 4096),
		.sq_slots = unic_to_le16(16),
		.rq_slots = unic_to_le16(16),
		.db_index = unic_to_le32(20),
		.type = UNIC_QPT_UD + 1,
	};
	struct unic_cmd_qp_create c;
	struct unic_cmd_qp_modify m = { .state = UNIC_QPS_INIT }, n;
	struct unic_cpl_obj cpl;

	(void)state;
	c = create;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_CREATE, &c, NULL),
			 UNIC_ST_INVALID);
	create.type = UNIC_QPT_UD;
	c = create;
	c.miss = UNIC_QPM_BOUNCE + 1;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_CREATE, &c, NULL),
			 UNIC_ST_INVALID);
	c = create;
	c.type = UNIC_QPT_RC;
	c.miss = UNIC_QPM_BOUNCE;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_CREATE, &c, NULL),
			 UNIC_ST_INVALID);
	c = create;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_CREATE, &c, &cpl), 0);
	m.qpn = cpl.id;
	n = m;
	n.rights = UNIC_MR_REMOTE_WRITE;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &n, NULL),
			 UNIC_ST_INVALID);
	n = m;
	n.qkey = unic_to_le32(0x80000001);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &n, NULL),
			 UNIC_ST_INVALID);
	n = m;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &n, NULL), 0);
	m.state = UNIC_QPS_RTR;
	m.mtu_shift = 10;
	n = m;
	n.dest_qpn = unic_to_le32(2);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &n, NULL),
			 UNIC_ST_INVALID);
	n = m;
	n.vendor = 1;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &n, NULL),
			 UNIC_ST_INVALID);
	n = m;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &n, NULL), 0);
	m.state = UNIC_QPS_RTS;
	m.mtu_shift = 0;
	n = m;
	n.timeout = 10;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &n, NULL),
			 UNIC_ST_INVALID);
	n = m;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &n, NULL), 0);
}

/* --------------------------------------------------------------------- UD */

static void ud_send(uint8_t op, uint64_t wr_id, uint32_t off, uint32_t len,
		    uint32_t ipv4, uint32_t qpn, uint32_t qkey)
{
	rig_send(&ra, &da, op, wr_id, &ma, off, len, UNIC_UD_TO(ipv4, qkey),
		 qpn);
}

/* Returns the deficit that a turn of @qp uses, where a frame costs 1000 and a
 * last frame 3000. */
static int32_t turn_costs(const struct rig_qp *qp)
{
	int32_t left = 1 << 20;

	unic_proc_take(&ra.nic.command, 0);
	ra.nic.sched.cost = 1000;
	ra.nic.sched.cost_last = 3000;
	unic_requester_send(&ra.nic.transport, (uint16_t)(qp->qpn & 0xff),
			    &left);
	return (1 << 20) - left;
}

/* A turn is charged for bytes and for each frame; a frame shorter than the path
 * MTU costs as a last frame. */
static void frames_have_a_price(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &db, 11, &mb, 0, GRH + 1024);
	ud_send(UNIC_WR_SEND, 1, 0, 8, IP(2), db.qpn, 0x1234);
	pair_run(1 * MS); /* ARP finds the address */
	get(&ra, &da, 1, &cqe);
	get(&rb, &db, 11, &cqe);
	ud_send(UNIC_WR_SEND, 2, 0, 100, IP(2), db.qpn, 0x1234);
	ud_send(UNIC_WR_SEND, 3, 0, 1024, IP(2), db.qpn, 0x1234);
	assert_int_equal(turn_costs(&da), 3000 + 100 + 1000 + 1024);
	uc_write(UNIC_WR_WRITE, 4, 0, 2500);
	assert_int_equal(turn_costs(&ua), 2 * 1000 + 3000 + 2500);
	pair_run(1 * MS);
	get(&ra, &da, 2, &cqe);
	get(&ra, &da, 3, &cqe);
	get(&ra, &ua, 4, &cqe);
}

/* The first datagram waits for ARP. The receive begins with the IPv4 header,
 * and the completion has the number and the address of the sender. */
static void ud_datagrams_arrive(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &db, 11, &mb, 0, GRH + 1024);
	rig_recv(&rb, &db, 12, &mb, 2000, GRH + 3);
	ud_send(UNIC_WR_SEND, 1, 5, 1024, IP(2), db.qpn, 0x1234);
	ud_send(UNIC_WR_SEND_IMM, 2, 9, 3, IP(2), db.qpn, 0x80000000);
	da.sq[1].imm = unic_to_le32(55);
	pair_run(1 * MS);
	get(&ra, &da, 1, &cqe);
	get(&ra, &da, 2, &cqe);
	get(&rb, &db, 11, &cqe);
	assert_int_equal(unic_from_le32(cqe.byte_len), GRH + 1024);
	assert_int_equal(cqe.flags, UNIC_WC_GRH);
	assert_int_equal(unic_from_le32(cqe.token), da.qpn);
	assert_int_equal(unic_from_le32(cqe.imm), IP(1));
	get(&rb, &db, 12, &cqe);
	assert_int_equal(unic_from_le32(cqe.byte_len), GRH + 3);
	assert_int_equal(cqe.flags, UNIC_WC_GRH | UNIC_WC_WITH_IMM);
	assert_int_equal(unic_from_le32(cqe.imm), 55);
	same(GRH, 5, 1024);
	same(2000 + GRH, 9, 3);
	assert_int_equal(mb.mem[0], 0);
	assert_int_equal(mb.mem[19], 0);
	assert_int_equal(mb.mem[20], 0x45);
	assert_int_equal(mb.mem[35], 1); /* source address */
	assert_int_equal(mb.mem[39], 2);
}

/* One queue pair sends to several queue pairs in turn. */
static void ud_goes_anywhere(void **state)
{
	struct rig_qp other;
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	rig_qp_of(&rb, 0, qb.pd, 10, UNIC_QPT_UD, 0, 0, &other);
	datagrams(&rb, &other);
	for (i = 0; i < 2; i++) {
		rig_recv(&rb, &db, i, &mb, 200 * i, 200);
		rig_recv(&rb, &other, i, &mb, 1000 + 200 * i, 200);
		ud_send(UNIC_WR_SEND, i, i, 100, IP(2), db.qpn, 0x1234);
		ud_send(UNIC_WR_SEND, i, 50 + i, 100, IP(2), other.qpn, 0x1234);
	}
	pair_run(1 * MS);
	for (i = 0; i < 2; i++) {
		get(&rb, &db, i, &cqe);
		get(&rb, &other, i, &cqe);
		same(200 * i + GRH, i, 100);
		same(1000 + 200 * i + GRH, 50 + i, 100);
	}
}

/* A datagram without a receive, or with a wrong key, length or destination, is
 * dropped and counted, and the receive is used for the next one. */
static void ud_what_does_not_fit_is_dropped(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	ud_send(UNIC_WR_SEND, 1, 0, 8, IP(2), db.qpn, 0x1234);
	pair_run(1 * MS);
	assert_int_equal(rig_count(&rb, unrel_no_receive), 1);
	rig_recv(&rb, &db, 11, &mb, 0, GRH + 8);
	ud_send(UNIC_WR_SEND, 2, 0, 8, IP(2), db.qpn, 0x1235);
	ud_send(UNIC_WR_SEND, 3, 0, 9, IP(2), db.qpn, 0x1234);
	pair_run(1 * MS);
	assert_int_equal(rig_count(&rb, ud_bad_qkey), 1);
	assert_int_equal(rig_count(&rb, unrel_too_long), 1);
	ud_send(UNIC_WR_SEND, 4, 0, 8, IP(2), ub.qpn, 0x1234); /* of UC */
	ud_send(UNIC_WR_SEND, 5, 0, 8, IP(2), qb.qpn, 0x1234); /* of RC */
	ud_send(UNIC_WR_SEND, 6, 0, 8, IP(2), 0xffff07, 0x1234);
	pair_run(1 * MS);
	assert_int_equal(rig_count(&rb, rx_bad_opcode), 2);
	assert_int_equal(rig_count(&rb, rx_no_qp), 1);
	ud_send(UNIC_WR_SEND, 7, 3, 8, IP(2), db.qpn, 0x1234);
	pair_run(1 * MS);
	get(&rb, &db, 11, &cqe);
	same(GRH, 3, 8);
}

/* No host has the address: the datagram is dropped after a second, and the
 * driver gets no event, as it made no ARP request. */
static void ud_to_nobody(void **state)
{
	struct unic_cqe cqe;
	uint8_t evt[64];

	(void)state;
	rig_recv(&rb, &db, 11, &mb, 0, GRH + 8);
	ud_send(UNIC_WR_SEND, 1, 0, 8, IP(9), db.qpn, 0x1234);
	ud_send(UNIC_WR_SEND, 2, 0, 8, IP(2), db.qpn, 0x1234);
	pair_run(900 * MS);
	pair_expect_none(&ra, &da);
	pair_run(200 * MS);
	get(&ra, &da, 1, &cqe);
	get(&ra, &da, 2, &cqe);
	get(&rb, &db, 11, &cqe);
	assert_int_equal(rig_count(&ra, ud_no_route), 1);
	assert_false(rig_event(&ra, evt));
}

/* Inline payload, and payload in several pieces. */
static void ud_inline_and_pieces(void **state)
{
	struct unic_sq_slot *s = &da.sq[0];
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &db, 11, &mb, 0, GRH + 20);
	rig_recv(&rb, &db, 12, &mb, 100, GRH + 20);
	ud_send(UNIC_WR_SEND, 1, 0, 8, IP(2), db.qpn, 0x1234);
	s->flags |= UNIC_WR_INLINE;
	s->num_sge = 0;
	s->inline_len = 20;
	memset(s->sge, 0xab, 20);
	ud_send(UNIC_WR_SEND, 2, 0, 8, IP(2), db.qpn, 0x1234);
	s[1].num_sge = 2;
	s[1].sge[1] = s[1].sge[0];
	s[1].sge[1].len = unic_to_le32(12);
	pair_run(1 * MS);
	get(&rb, &db, 11, &cqe);
	assert_int_equal(mb.mem[GRH], 0xab);
	assert_int_equal(mb.mem[GRH + 19], 0xab);
	get(&rb, &db, 12, &cqe);
	same(100 + GRH, 0, 8);
	same(108 + GRH, 0, 12);
}

/* An ARP entry expires after a minute, and the next datagram waits for ARP
 * again, at most a second. A changed entry is used at once. */
static void ud_address_is_asked_for_again(void **state)
{
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	deaf = true;
	rig_recv(&rb, &db, 11, &mb, 0, GRH + 8);
	rig_recv(&rb, &db, 12, &mb, 0, GRH + 8);
	for (i = 0; i < 2; i++) {
		ud_send(UNIC_WR_SEND, i, 0, 8, IP(2), db.qpn, 0x1234);
		pair_run(600 * MS);
		pair_expect_none(&ra, &da);
		deaf = false;
		pair_run(200 * MS);
		get(&ra, &da, i, &cqe);
		get(&rb, &db, 11 + i, &cqe);
		pair_run(61000 * MS);
		deaf = true;
	}
	deaf = false;
	for (i = 0; i < UNIC_ARP_ENTRIES; i++)
		ra.nic.arps.entry[i].mac[5] = 0x99;
	for (i = 0; i < 3; i++) {
		ra.nic.arps.entry[0].until_ns = UINT64_MAX;
		ra.nic.arps.entry[0].ipv4 = IP(2 + (i == 2));
		ra.nic.arps.entry[0].state = UNIC_ARP_KNOWN;
		ra.nic.arps.entry[0].mac[5] = (uint8_t)(0x99 + (i >= 1));
		ud_send(UNIC_WR_SEND, i, 0, 8, IP(2 + (i == 2)), db.qpn,
			0x1234);
		rig_poll(&ra);
		assert_int_equal(to[5], ra.nic.arps.entry[0].mac[5]);
		assert_int_equal(to_ip, 2 + (i == 2));
		get(&ra, &da, i, &cqe);
	}
}

/* A request that is posted while a packet waits for its payload is sent after
 * that packet. */
static void one_packet_at_a_time(void **state)
{
	uint32_t i;

	(void)state;
	rig_recv(&rb, &ub, 11, &mb, 0, 100);
	rig_recv(&rb, &ub, 12, &mb, 100, 100);
	ra.port.late_dma = true;
	uc_send(UNIC_WR_SEND, 1, 0, 100);
	for (i = 0; i < 8; i++) {
		rig_poll(&ra);
		if (unic_qp_by_number(&ra.nic.transport, ua.qpn)->sq.gathering)
			break;
		fake_dma_run(&ra.port, 1);
	}
	uc_send(UNIC_WR_SEND, 2, 100, 100);
	for (i = 0; i < 16; i++) {
		rig_poll(&ra);
		fake_dma_run(&ra.port, 1);
	}
	ra.port.late_dma = false;
	pair_run(1 * MS);
	assert_int_equal(seen, 2);
	pair_expect(&rb, &ub, 11, 0, 100);
	pair_expect(&rb, &ub, 12, 0, 100);
	same(0, 0, 200);
}

/* Any one DMA of a message is delayed: the message arrives, once. */
static void any_transfer_comes_again(void **state)
{
	struct unic_cqe cqe;
	uint32_t k;

	(void)state;
	for (k = 1; k < 12; k++) {
		rig_recv(&rb, &ub, 11, &mb, 0, 3000);
		uc_send(UNIC_WR_SEND, k, k, 3000);
		ra.port.again_call = ra.port.calls + k;
		rb.port.again_call = rb.port.calls + k;
		pair_run(1 * MS);
		get(&ra, &ua, k, &cqe);
		get(&rb, &ub, 11, &cqe);
		same(0, k, 3000);
	}
}

/* A request whose source was evicted before it was sent completes EVICTED, and
 * the queue goes on. LOCAL_INV completes without a frame. */
static void requests_that_end_here(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr gone;

	(void)state;
	pair_gone_region(&ra, ua.pd, &gone);
	rig_recv(&rb, &ub, 11, &mb, 0, 100);
	rig_send(&ra, &ua, UNIC_WR_SEND, 1, &gone, 0, 100, 0, 0);
	rig_send(&ra, &ua, UNIC_WR_SEND, 2, &ma, 0, 100, 0, 0);
	ua.sq[1].flags |= UNIC_WR_SOLICITED;
	pair_run(1 * MS);
	pair_expect(&ra, &ua, 1, UNIC_WC_EVICTED, 0);
	get(&ra, &ua, 2, &cqe);
	get(&rb, &ub, 11, &cqe);
	assert_int_equal(cqe.flags, UNIC_WC_SOLICITED);
	rig_send(&ra, &ua, UNIC_WR_LOCAL_INV, 3, &ma, 0, 0, 0, 0x123456);
	ua.sq[2].num_sge = 0;
	pair_run(1 * MS);
	pair_expect(&ra, &ua, 3, UNIC_WC_MEM_OP_ERR, 0);
}

/* A receive whose region is cut in the middle of a message completes
 * EVICTED. */
static void uc_cut_receive_is_told(void **state)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mb.mr),
				   .gen = unic_to_le32(mb.gen) };
	struct unic_evt_mr evt;

	(void)state;
	lost = 1ull << 2;
	rig_recv(&rb, &ub, 11, &mb, 0, 3000);
	uc_send(UNIC_WR_SEND, 1, 0, 3000);
	pair_run(1 * MS);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), 0);
	pair_run(50 * MS);
	pair_expect(&rb, &ub, 11, UNIC_WC_EVICTED, 0);
	pair_expect(&ra, &ua, 1, 0, 3000);
	assert_true(
		unic_qp_receives(unic_qp_by_number(&rb.nic.transport, ub.qpn)));
}

/* Messages of UC and UD arrive while all DMA is late. */
static void all_of_it_late(void **state)
{
	uint32_t i, k;

	for (i = 0; i < 4; i++) {
		ra.port.late_dma = rb.port.late_dma = true;
		rig_recv(&rb, &ub, i, &mb, 0, 5000);
		rig_recv(&rb, &db, i, &mb, 6000, GRH + 500);
		uc_send(UNIC_WR_SEND, i, 100 * i, 5000);
		uc_write(UNIC_WR_WRITE, i, 8192, 5000);
		ud_send(UNIC_WR_SEND, i, 7 * i, 500, IP(2), db.qpn, 0x1234);
		for (k = 0; k < 200; k++) {
			ra.port.now_ns += 1000;
			rb.port.now_ns = ra.port.now_ns;
			rig_poll(&ra);
			rig_poll(&rb);
			fake_dma_run(&ra.port, 64);
			fake_dma_run(&rb.port, 64);
		}
		ra.port.late_dma = rb.port.late_dma = false;
		pair_run(1 * MS);
		pair_expect(&rb, &ub, i, 0, 5000);
		pair_expect(&rb, &db, i, 0, GRH + 500);
		pair_expect(&ra, &ua, i, 0, 5000);
		pair_expect(&ra, &ua, i, 0, 5000);
		pair_expect(&ra, &da, i, 0, 500);
		same(0, 100 * i, 5000);
		same(8192, 8192, 5000);
		same(6000 + GRH, 7 * i, 500);
	}
	(void)state;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(uc_messages_arrive),
		TEST(uc_writes_arrive),
		TEST(uc_lost_packet_loses_its_message),
		TEST(uc_half_a_message_holds_nothing_up),
		TEST(uc_cut_before_its_completion),
		TEST(uc_what_does_not_fit_is_dropped),
		TEST(uc_without_room_for_a_completion),
		TEST(uc_guesses_are_held_off),
		TEST(wrong_requests),
		TEST(attributes_by_type),
		TEST(frames_have_a_price),
		TEST(ud_datagrams_arrive),
		TEST(ud_goes_anywhere),
		TEST(ud_what_does_not_fit_is_dropped),
		TEST(ud_to_nobody),
		TEST(ud_inline_and_pieces),
		TEST(ud_address_is_asked_for_again),
		TEST(one_packet_at_a_time),
		TEST(any_transfer_comes_again),
		TEST(requests_that_end_here),
		TEST(uc_cut_receive_is_told),
		TEST(all_of_it_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
