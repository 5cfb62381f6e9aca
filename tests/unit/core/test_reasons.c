/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_reasons.c - completions of an application: status and detail of each
 * failure; a success is complete to the last byte, whichever call of the port
 * failed and however late its DMA was.
 */
#include "unit.h"

#include "pair.h"
#include "transport/mad.h"

#define US    1000ull
#define MS    1000000ull
#define PAGES 3u
#define BYTES (PAGES * 4096u)

static struct rig_mr other; /* a region of A in another domain */

static int up(void **state)
{
	(void)state;
	pair_make(false, PAGES);
	assert_int_equal(rig_reg(&ra, 0, rig_pd(&ra, 0), 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &other),
			 0);
	memset(mb.mem, 0xee, BYTES);
	return 0;
}

/* ------------------------------------------------------- malformed requests */

static struct unic_sq_slot write_slot(void)
{
	struct unic_sq_slot s = {
		.opcode = UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.wr_id = unic_to_le64(5),
		.remote = unic_to_le64(mb.iova),
		.rkey = unic_to_le32(mb.stag),
	};

	s.sge[0].iova = unic_to_le64(ma.iova);
	s.sge[0].len = unic_to_le32(64);
	s.sge[0].lkey = unic_to_le32(ma.stag);
	return s;
}

/* Posts @s on new queues; it must complete with @status and @detail. */
static void tell(const struct unic_sq_slot *s, uint8_t status, uint8_t detail)
{
	uint32_t qpn = qa.qpn & 0xff;
	struct unic_cqe cqe;

	qa.sq[qa.sq_tail % RIG_SLOTS] = *s;
	rig_ring(&ra, 0, UNIC_DB_SQ, qa.row, ++qa.sq_tail);
	rig_run2(&ra, &rb, 30 * MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, status);
	assert_int_equal(cqe.detail, detail);
	assert_int_equal(unic_from_le64(cqe.wr_id), 5);
	assert_int_equal(ra.nic.qps.qp[qpn].state,
			 status ? UNIC_QPS_ERR : UNIC_QPS_RTS);
	assert_int_equal(rig_count(&ra, wqe_bad),
			 status == UNIC_WC_LOC_QP_OP_ERR);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].holds, 0);
	up(NULL);
}

#define TELL(field, value, status, detail)                    \
	do {                                                  \
		struct unic_sq_slot t = write_slot();         \
                                                              \
		t.field = (value);                            \
		tell(&t, UNIC_WC_##status, UNIC_WD_##detail); \
	} while (0)

static void malformed(void **state)
{
	struct unic_sq_slot s = write_slot();

	(void)state;
	tell(&s, UNIC_WC_SUCCESS, UNIC_WD_NONE);
	TELL(opcode, 0, LOC_QP_OP_ERR, OPCODE);
	TELL(opcode, UNIC_WR_FETCH_ADD + 1, LOC_QP_OP_ERR, OPCODE);
	TELL(flags, UNIC_WR_FLAGS_ALL + 1, LOC_QP_OP_ERR, FLAGS);
	TELL(num_sge, UNIC_SQ_SGE_MAX + 1, LOC_QP_OP_ERR, SGE);
	TELL(num_sge, 3, LOC_QP_OP_ERR, SGE); /* the second slot is missing */
	TELL(inline_len, 1, LOC_QP_OP_ERR, SGE);
	TELL(flags, UNIC_WR_SIGNALED | UNIC_WR_INLINE, LOC_QP_OP_ERR, SGE);
	TELL(ctrl_len, unic_to_le32(1), LOC_QP_OP_ERR, LENGTH);
	TELL(sge[0].len, unic_to_le32(UNIC_MSG_MAX + 1), LOC_QP_OP_ERR, LENGTH);
	TELL(sge[0].len, unic_to_le32(UNIC_MSG_MAX), LOC_PROT_ERR, BOUNDS);
	TELL(sge[0].len, unic_to_le32(BYTES + 1), LOC_PROT_ERR, BOUNDS);
	TELL(sge[0].iova, unic_to_le64(ma.iova - 1), LOC_PROT_ERR, BOUNDS);
	TELL(sge[0].lkey, unic_to_le32(ma.stag ^ 0x100), LOC_PROT_ERR, STAG);
	TELL(sge[0].lkey, unic_to_le32(other.stag), LOC_PROT_ERR, PD);
	TELL(rkey, unic_to_le32(mb.stag ^ 0x100), REM_ACCESS_ERR, NONE);
	TELL(remote, unic_to_le64(mb.iova + BYTES - 63), REM_ACCESS_ERR, NONE);
	TELL(remote, unic_to_le64(mb.iova + BYTES - 64), SUCCESS, NONE);
	s.opcode = UNIC_WR_READ;
	tell(&s, UNIC_WC_SUCCESS, UNIC_WD_NONE);
	s.flags |= UNIC_WR_INLINE;
	s.num_sge = 0;
	tell(&s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_FLAGS);
}

/* A receive that a message cannot use completes with its status and detail, and
 * the sender gets an error of the remote side. */
static void receive_tells(const struct unic_rq_slot *s, uint8_t status,
			  uint8_t detail)
{
	struct unic_cqe cqe;

	qb.rq[qb.rq_tail % RIG_SLOTS] = *s;
	rig_ring(&rb, 0, UNIC_DB_RQ, qb.row, ++qb.rq_tail);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 64, 0, 0);
	rig_run2(&ra, &rb, 30 * MS);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 6);
	assert_int_equal(cqe.status, status);
	assert_int_equal(cqe.detail, detail);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(!cqe.status, !status);
	assert_int_equal(mb.mem[0] == ma.mem[0], !status);
	up(NULL);
}

#define RECEIVE(field, value, status, detail)                          \
	do {                                                           \
		struct unic_rq_slot t = { .num_sge = 1 };              \
                                                                       \
		t.wr_id = unic_to_le64(6);                             \
		t.sge[0].iova = unic_to_le64(mb.iova);                 \
		t.sge[0].len = unic_to_le32(64);                       \
		t.sge[0].lkey = unic_to_le32(mb.stag);                 \
		t.field = (value);                                     \
		receive_tells(&t, UNIC_WC_##status, UNIC_WD_##detail); \
	} while (0)

static void malformed_receives(void **state)
{
	(void)state;
	RECEIVE(num_sge, 1, SUCCESS, NONE);
	RECEIVE(num_sge, 2, SUCCESS, NONE); /* the second is of 0 bytes */
	RECEIVE(num_sge, UNIC_RQ_SGE_MAX + 1, LOC_QP_OP_ERR, SGE);
	RECEIVE(rsvd0[0], 1, LOC_QP_OP_ERR, FLAGS);
	RECEIVE(sge[0].lkey, unic_to_le32(mb.stag ^ 0x100), LOC_PROT_ERR, STAG);
	RECEIVE(sge[0].iova, unic_to_le64(mb.iova - 1), LOC_PROT_ERR, BOUNDS);
	RECEIVE(sge[0].len, unic_to_le32(BYTES + 1), LOC_PROT_ERR, BOUNDS);
	RECEIVE(sge[0].len, unic_to_le32(BYTES), SUCCESS, NONE);
}

/* ---------------------------------------------------------- calls that fail */

/* Posts one message across a page boundary; @two: gathered from two pieces. */
static void post(uint8_t opcode, bool two)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];

	if (opcode == UNIC_WR_SEND)
		rig_recv(&rb, &qb, 6, &mb, 3700, 800);
	rig_send(&ra, &qa, opcode, 5, &ma, 3700, 800, mb.iova + 3700, mb.stag);
	if (!two)
		return;
	s->num_sge = 2;
	s->sge[1] = s->sge[0];
	s->sge[0].len = unic_to_le32(500);
	s->sge[1].len = unic_to_le32(300);
	s->sge[1].iova = unic_to_le64(ma.iova + 4200);
}

static void settle(struct rig *late)
{
	uint32_t i;

	for (i = 0; i < 60; i++) {
		if (late)
			fake_dma_run(&late->port, 1);
		rig_run2(&ra, &rb, 20 * US);
	}
	late = late ? late : &ra;
	late->port.late_dma = false;
	for (i = 0; i < 40; i++) {
		fake_dma_run(&late->port, FAKE_PENDING);
		rig_run2(&ra, &rb, MS);
	}
}

/* No request completes EVICTED, as no region was evicted; a success has placed
 * all bytes. */
static void check_end(const uint8_t *from, const uint8_t *to)
{
	struct unic_cqe cqe;

	if (rig_cqe(&ra, &qa, &cqe)) {
		assert_int_not_equal(cqe.status, UNIC_WC_EVICTED);
		assert_int_not_equal(cqe.status, UNIC_WC_REM_EVICTED);
		if (!cqe.status)
			assert_memory_equal(to, from, 800);
		else
			assert_int_not_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
	}
	assert_false(rig_cqe(&ra, &qa, &cqe));
	if (rig_cqe(&rb, &qb, &cqe) && !cqe.status)
		assert_memory_equal(to, from, 800);
	assert_int_equal(ra.port.tx_held | rb.port.tx_held, 0);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].dmas, 0);
	assert_int_equal(rb.nic.mrs.mr[mb.mr].dmas, 0);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].holds, 0);
}

static void success_is_whole(void **state)
{
	static const uint8_t opcode[] = { UNIC_WR_WRITE, UNIC_WR_SEND,
					  UNIC_WR_READ };
	uint32_t k, i;

	(void)state;
	for (k = 1; k <= 12; k++)
		for (i = 0; i < 24; i++) {
			struct rig *r = i & 4 ? &rb : &ra, *late;
			uint8_t op = opcode[i % 3];

			late = i & 8 ? r : NULL;
			up(NULL);
			if (op == UNIC_WR_READ) {
				memcpy(mb.mem, ma.mem, BYTES);
				memset(ma.mem, 0xee, BYTES);
			}
			if (late)
				late->port.late_dma = true;
			r->port.fail_call = r->port.calls + k;
			post(op, i >= 12);
			settle(late);
			if (op == UNIC_WR_READ)
				check_end(mb.mem + 3700, ma.mem + 3700);
			else
				check_end(ma.mem + 3700, mb.mem + 3700);
		}
}

/* Payload that the NIC cannot read is a bus error. */
static void bus_error(void **state)
{
	uint32_t k, found = 0;
	struct unic_cqe cqe;

	(void)state;
	for (k = 1; k <= 16; k++) {
		up(NULL);
		ra.port.fail_call = ra.port.calls + k;
		post(UNIC_WR_WRITE, k > 8);
		settle(NULL);
		if (rig_cqe(&ra, &qa, &cqe) && cqe.status) {
			assert_int_equal(cqe.status, UNIC_WC_LOC_BUS_ERR);
			assert_int_equal(cqe.detail, 0);
			found++;
		}
	}
	assert_true(found >= 2);
}

/* Payload that the peer cannot write fails with an error of the remote side,
 * and the peer counts the DMA error. */
static void bus_error_there(void **state)
{
	struct unic_cqe cqe;
	uint32_t k;

	(void)state;
	for (k = 1; k <= 2; k++) { /* the first packet, the second */
		up(NULL);
		rb.port.fail_call = rb.port.calls + k;
		rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, 3000, mb.iova,
			 mb.stag);
		rig_run2(&ra, &rb, 30 * MS);
		assert_true(rig_cqe(&ra, &qa, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_REM_OP_ERR);
		assert_int_equal(rig_count(&rb, dma_errors), 1);
	}
}

/* ----------------------------------------------------------- other failures */

static uint32_t passed;

static void count(struct unic_port *port, const uint8_t *f, uint32_t len,
		  uint32_t flags)
{
	(void)port;
	(void)f;
	(void)len;
	(void)flags;
	passed++;
}

/* A NIC that fails while it gathers payload sends none of it. */
static void failed_nic_sends_nothing(void **state)
{
	uint32_t i;

	(void)state;
	passed = 0;
	ra.port.on_frame = count;
	ra.port.late_dma = true;
	post(UNIC_WR_WRITE, true);
	rig_poll(&ra);
	assert_true(fake_dma_waiting(&ra.port) > 0);
	unic_nic_quiesce(&ra.nic);
	for (i = 0; i < 20; i++) {
		fake_dma_run(&ra.port, FAKE_PENDING);
		unic_nic_poll(&ra.nic);
	}
	assert_int_equal(fake_dma_waiting(&ra.port), 0);
	assert_int_equal(passed, 0);
	assert_int_equal(ra.port.tx_held, 0);
}

static void full_ring(void)
{
	struct unic_evt_obj evt = { .hdr.type = UNIC_EVT_PROC_GONE };

	while (unic_mbox_event(&ra.nic.base, &evt))
		evt.hdr.type = UNIC_EVT_PROC_GONE;
}

/* Overflows the completion queue of @q while the event ring is full. */
static void overflow_untold(struct rig_qp *q)
{
	uint32_t i;

	full_ring();
	for (i = 0; i <= RIG_SLOTS; i++) {
		rig_send(&ra, q, UNIC_WR_WRITE, i, &ma, 0, 8, mb.iova, mb.stag);
		rig_run2(&ra, &rb, MS);
	}
	assert_int_equal(rig_count(&ra, cq_overflows), 1);
}

/* Counts the events for the failure of @q and of its CQ. */
static void told(const struct rig_qp *q, uint32_t *cq, uint32_t *qp)
{
	struct unic_evt_obj evt;
	uint32_t i;

	*cq = *qp = 0;
	for (i = 0; i < 20; i++) {
		while (rig_event(&ra, &evt)) {
			*cq += evt.hdr.type == UNIC_EVT_CQ_ERROR &&
			       unic_from_le32(evt.id) == q->cq;
			*qp += evt.hdr.type == UNIC_EVT_QP_ERROR &&
			       unic_from_le32(evt.id) == q->qpn;
		}
		rig_run2(&ra, &rb, MS);
	}
}

/* Events of failed queues wait until the event ring has room, whichever queue
 * failed. */
static void errors_wait_for_room(void **state)
{
	struct rig_qp a2, b2, *q;
	uint32_t k, cq, qp;

	(void)state;
	for (k = 0; k < 2; k++) {
		up(NULL);
		rig_qp(&ra, 0, qa.pd, 8, &a2);
		rig_qp(&rb, 0, qb.pd, 9, &b2);
		rig_connect(&ra, &a2, &rb, &b2);
		q = k ? &a2 : &qa;
		overflow_untold(q);
		told(q, &cq, &qp);
		assert_int_equal(cq, 1);
		assert_int_equal(qp, 1);
	}
}

/* Events of a queue that was destroyed meanwhile are dropped, and the NIC goes
 * idle. */
static void errors_of_what_is_gone(void **state)
{
	struct unic_cmd_obj cmd = { .id = unic_to_le32(qa.qpn) };
	uint32_t cq, qp;

	(void)state;
	overflow_untold(&qa);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_DESTROY, &cmd, NULL),
			 UNIC_ST_OK);
	cmd = (struct unic_cmd_obj){ .id = unic_to_le32(qa.cq) };
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_CQ_DESTROY, &cmd, NULL),
			 UNIC_ST_OK);
	told(&qa, &cq, &qp);
	assert_int_equal(cq, 0);
	assert_int_equal(qp, 0);
	assert_true(rig_poll(&ra) > ra.port.now_ns);
	assert_false(ra.nic.chores); /* the poll loop has no work */
}

/* A queue pair that waits for its DMA to be destroyed sends no error event. */
static void errors_of_what_is_going(void **state)
{
	struct unic_cmd_obj cmd = { .id = unic_to_le32(qa.qpn) };
	struct unic_evt_obj evt;
	uint32_t cq, qp, i;

	(void)state;
	ra.port.late_dma = true;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 3000, mb.iova, mb.stag);
	rig_poll(&ra);
	assert_true(fake_dma_waiting(&ra.port) > 0);
	full_ring();
	unic_qp_error(&ra.nic.transport,
		      unic_qp_by_number(&ra.nic.transport, qa.qpn),
		      UNIC_WC_LOC_QP_OP_ERR);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_DESTROY, &cmd, NULL),
			 UNIC_ST_PENDING);
	told(&qa, &cq, &qp);
	assert_int_equal(qp, 0);
	for (i = 0; i < 8; i++) {
		fake_dma_run(&ra.port, FAKE_PENDING);
		rig_poll(&ra);
	}
	rig_expect(&ra, UNIC_EVT_QP_GONE, &evt);
	assert_int_equal(unic_from_le32(evt.id), qa.qpn);
}

/* Each receive in an evicted messaging region completes at once, before any
 * message arrives. */
static void receives_are_swept(void **state)
{
	struct unic_cmd_mr evict;
	struct unic_cqe cqe;
	struct rig_mr mr;
	uint32_t n, i;

	(void)state;
	for (n = 1; n <= 3; n++) {
		up(NULL);
		assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
					 UNIC_REG_LIST, 0, &mr),
				 0);
		for (i = 0; i < n; i++)
			rig_recv(&rb, &qb, i, &mr, 64 * i, 64);
		rig_poll(&rb);
		memset(&evict, 0, sizeof(evict));
		evict.mr = unic_to_le32(mr.mr);
		evict.gen = unic_to_le32(mr.gen);
		assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL),
				 0);
		rig_run2(&ra, &rb, MS);
		for (i = 0; i < n; i++) {
			assert_true(rig_cqe(&rb, &qb, &cqe));
			assert_int_equal(cqe.status, UNIC_WC_EVICTED);
			assert_int_equal(unic_from_le64(cqe.wr_id), i);
		}
		assert_false(rig_cqe(&rb, &qb, &cqe));
	}
}

/* Each message is placed by its own address, whatever the address of the
 * message before it. */
static void nothing_is_remembered(void **state)
{
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		rig_recv(&rb, &qb, 6, &mb, 0, 100);
		rig_recv(&rb, &qb, 7, &mb, 0, 0);
		rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 200, 100, 0, 0);
		rig_send(&ra, &qa, UNIC_WR_WRITE_IMM, 2, &ma, 1000, 100,
			 mb.iova + 5000 + 200 * i, mb.stag);
		rig_run2(&ra, &rb, MS);
		assert_true(rig_cqe(&rb, &qb, &cqe) && !cqe.status);
		assert_true(rig_cqe(&rb, &qb, &cqe) && !cqe.status);
		assert_true(rig_cqe(&ra, &qa, &cqe) && !cqe.status);
		assert_true(rig_cqe(&ra, &qa, &cqe) && !cqe.status);
		assert_memory_equal(mb.mem, ma.mem + 200, 100);
		assert_memory_equal(mb.mem + 5000 + 200 * i, ma.mem + 1000,
				    100);
		assert_int_equal(mb.mem[5000 + 200 * i + 100], 0xee);
	}
}

/* A datagram that finds the link full is not sent, and the caller gets
 * -UNIC_EAGAIN. */
static void datagram_without_room(void **state)
{
	struct unic_cmd_mad_send cmd = { .ipv4 = unic_to_le32(0x0a000002) };
	uint8_t data[256] = { 0 };

	(void)state;
	memcpy(cmd.mac, rb.port.mac, 6);
	ra.port.tx_held = (1u << UNIC_TX_BUFS) - 1;
	assert_int_equal(unic_mad_send(&ra.nic.transport, &cmd, data),
			 -UNIC_EAGAIN);
	ra.port.tx_held = 0;
	assert_int_equal(unic_mad_send(&ra.nic.transport, &cmd, data), 0);
}

/* The row of an evicted region is still in the dump, without entries. */
static void evicted_row(void **state)
{
	const struct unic_row_mr *row;
	struct unic_cmd_dump cmd = { .table = unic_to_le32(UNIC_TABLE_MR) };
	struct unic_cmd_mr evict = { 0 };
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg(&ra, 0, qa.pd, 2, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	evict.mr = unic_to_le32(mr.mr);
	evict.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	cmd.first = unic_to_le32(mr.mr);
	row = (const void *)(ra.port.bar + UNIC_BAR_LIST_OFF +
			     ra.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_DUMP, &cmd, NULL), 0);
	assert_int_equal(unic_from_le32(row->index), mr.mr);
	assert_int_equal(row->state, UNIC_MR_EVICTED);
	assert_int_equal(unic_from_le32(row->entries), 0);
}

/* A tag with any index outside the table is refused as a bad key. */
static void wild_tags(void **state)
{
	static const uint32_t index[] = { UNIC_TOKENS, UNIC_TOKENS + 1,
					  0x7fffffff, 0x80000000, UINT32_MAX };
	struct unic_token_sender from = { .dest_ipv4 = 0x0a000002 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		struct unic_tag tag = { .index = index[i], .payload = 1 };

		assert_int_equal(unic_token_claim(&ra.nic.memory, &tag, &from),
				 UNIC_TOKEN_BAD_KEY);
	}
	assert_int_equal(rig_count(&ra, token_bad_key), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(malformed, up),
		cmocka_unit_test_setup(malformed_receives, up),
		cmocka_unit_test(success_is_whole),
		cmocka_unit_test(bus_error),
		cmocka_unit_test(bus_error_there),
		cmocka_unit_test_setup(failed_nic_sends_nothing, up),
		cmocka_unit_test_setup(errors_wait_for_room, up),
		cmocka_unit_test_setup(errors_of_what_is_gone, up),
		cmocka_unit_test_setup(errors_of_what_is_going, up),
		cmocka_unit_test(receives_are_swept),
		cmocka_unit_test_setup(nothing_is_remembered, up),
		cmocka_unit_test_setup(datagram_without_room, up),
		cmocka_unit_test_setup(evicted_row, up),
		cmocka_unit_test_setup(wild_tags, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
