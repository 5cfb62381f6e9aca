/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_rc_token.c - payload tokens over a reliable connection: tagged
 * messages, refusals, and their ends (INV-4, INV-9).
 */
#include "unit.h"

#include "rc_rig.h"
#include "transport/requester_rx.h"
#include "transport/transport.h"

static uint64_t token_alloc(const struct rig_mr *mr, uint32_t off, uint32_t len,
			    uint32_t *index)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(qb.pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova + off),
		.length = unic_to_le32(len),
	};
	struct unic_cpl_token cpl;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	*index = unic_from_le32(cpl.index);
	return unic_from_le64(cpl.key);
}

static void tagged(uint64_t wr_id, uint32_t ctrl, uint32_t payload,
		   uint32_t index, uint64_t key)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];

	rig_send(&ra, &qa, UNIC_WR_TOKEN, wr_id, &ma, 0, ctrl + payload, key,
		 index);
	s->ctrl_len = unic_to_le32(ctrl);
}

static void expect_tagged(uint64_t wr_id, uint32_t ctrl, uint32_t payload,
			  uint32_t index, uint8_t refused)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_TOKEN);
	assert_int_equal(cqe.status, 0);
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(unic_from_le32(cqe.byte_len), ctrl);
	assert_int_equal(unic_from_le32(cqe.imm), payload);
	assert_int_equal(unic_from_le32(cqe.token), index);
	assert_int_equal(cqe.detail, refused);
}

static void tokens(void **state)
{
	static const uint32_t len[] = { 0,    1,    896,  897,	1024,
					1025, 1920, 1921, 4000, 9000 };
	uint32_t i, index, ctrl;
	uint64_t key;

	(void)state;
	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		ctrl = i & 1 ? 128 : i & 2 ? 0 : 17;
		memset(mb.mem, 0xee, BYTES);
		key = token_alloc(&mb, 4096, len[i] ? len[i] : 1, &index);
		rig_recv(&rb, &qb, i, &mb, 0, 128);
		tagged(i, ctrl, len[i], index, key);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_TOKEN, i, 0, ctrl + len[i]);
		expect_tagged(i, ctrl, len[i], index, 0);
		assert_memory_equal(mb.mem, ma.mem, ctrl);
		assert_memory_equal(mb.mem + 4096, ma.mem + ctrl, len[i]);
		assert_int_equal(mb.mem[4096 + len[i]], 0xee);
		/* a token has a single use: the same message again places
		 * nothing, and the connection stays up */
		memset(mb.mem, 0xee, BYTES);
		rig_recv(&rb, &qb, i, &mb, 0, 128);
		tagged(i, ctrl, len[i], index, key);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_TOKEN, i, 0, ctrl + len[i]);
		expect_tagged(i, ctrl, 0, index, UNIC_TOKEN_USED);
		assert_memory_equal(mb.mem, ma.mem, ctrl);
		assert_int_equal(mb.mem[4096], 0xee);
	}
	rc_quiet();
}

/* The control part of a tagged message, which goes to the receive, is at most
 * as long as the message, and at most UNIC_TOKEN_CTRL_MAX bytes. */
static void control_part_has_bounds(void **state)
{
	static const uint32_t ctrl[] = { 11, UNIC_TOKEN_CTRL_MAX + 1 };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct unic_cqe cqe;

		rc_up(state);
		rig_recv(&rb, &qb, 9, &mb, 0, 4096);
		rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ma, 0, i ? 2000 : 10, 5,
			 6);
		qa.sq[(qa.sq_tail - 1) % RIG_SLOTS].ctrl_len =
			unic_to_le32(ctrl[i]);
		pair_run(MS);
		assert_true(rig_cqe(&ra, &qa, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_LOC_QP_OP_ERR);
		assert_int_equal(cqe.detail, UNIC_WD_LENGTH);
		pair_expect_none(&rb, &qb);
	}
}

/* INV-4 for tokens: after TOKEN_END the owner may use the buffer again. */
static void token_ends_after_its_last_byte(void **state)
{
	struct unic_cmd_qp_modify dead = { .proc = unic_to_le32(qb.proc),
					   .qpn = unic_to_le32(qb.qpn),
					   .state = UNIC_QPS_ERR };
	uint32_t index, i;
	uint64_t key = token_alloc(&mb, 4096, 500, &index);
	struct unic_evt_token evt;

	(void)state;
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	rig_recv(&rb, &qb, 2, &mb, 0, 128);
	tagged(1, 0, 500, index, key); /* both receives are fetched for it */
	pair_run(MS);
	expect_tagged(1, 0, 500, index, 0);
	memset(mb.mem, 0xee, BYTES);
	key = token_alloc(&mb, 4096, 500, &index);
	rb.port.late_dma = true;
	tagged(2, 0, 500, index, key);
	pair_run(MS / 10);
	assert_int_equal(fake_dma_waiting(&rb.port), 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &dead, NULL), 0);
	rig_poll(&rb);
	assert_int_equal(mb.mem[4096], 0xee);
	assert_false(rig_event(&rb, &evt));
	for (i = 0; i < 8; i++) {
		fake_dma_run(&rb.port, 64);
		rig_poll(&rb);
	}
	assert_memory_equal(mb.mem + 4096, ma.mem, 500);
	rig_expect(&rb, UNIC_EVT_TOKEN_END, &evt);
	assert_int_equal(unic_from_le32(evt.end), UNIC_TOKEN_ABORTED);
}

static void token_refusals(void **state)
{
	uint32_t index;
	uint64_t key = token_alloc(&mb, 4096, 3000, &index);

	(void)state;
	memset(mb.mem, 0xee, BYTES);
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	rig_recv(&rb, &qb, 2, &mb, 0, 128);
	rig_recv(&rb, &qb, 3, &mb, 0, 128);
	rig_recv(&rb, &qb, 4, &mb, 0, 128);
	tagged(1, 8, 3000, index, key ^ 1);
	tagged(2, 8, 3001, index, key);
	tagged(3, 8, 10, UNIC_TOKENS, key);
	pair_run(MS);
	assert_int_equal(mb.mem[4096], 0xee);
	tagged(4, 8, 3000, index, key); /* the token is unchanged */
	pair_run(MS);
	expect_tagged(1, 8, 0, index, UNIC_TOKEN_BAD_KEY);
	expect_tagged(2, 8, 0, index, UNIC_TOKEN_TOO_LONG);
	expect_tagged(3, 8, 0, UNIC_TOKENS, UNIC_TOKEN_BAD_KEY);
	expect_tagged(4, 8, 3000, index, 0);
	rc_quiet();
}

/* INV-9: whichever frame is lost or doubled, the token ends once, USED. */
static void tokens_on_a_bad_wire(void **state)
{
	uint32_t k, index;
	uint64_t key;

	(void)state;
	for (k = 1; k < 16; k++) {
		rc_bring_up(false);
		key = token_alloc(&mb, 4096, 3000, &index);
		if (k & 1)
			rc_wire.lose = k / 2 + 1;
		else
			rc_wire.twice = k / 2;
		if (k % 3)
			rig_recv(&rb, &qb, 1, &mb, 0, 128);
		tagged(1, 100, 3000, index, key);
		pair_run(5000);
		if (!(k % 3)) /* no receive is posted at first */
			rig_recv(&rb, &qb, 1, &mb, 0, 128);
		pair_run(50 * MS);
		rc_expect(&ra, &qa, UNIC_WC_TOKEN, 1, 0, 3100);
		expect_tagged(1, 100, 3000, index, 0);
		pair_expect_none(&rb, &qb);
		assert_int_equal(rig_count(&rb, tokens_used), 1);
		assert_memory_equal(mb.mem + 4096, ma.mem + 100, 3000);
		rc_quiet();
	}
}

/* ------------------------------------------------- cancelled amid a message */

#define MANY UINT32_MAX

/* Frames of the sender that still pass, and the first ones that did not. */
static uint32_t pass, stopped;
static struct {
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t len, flags;
} kept[2];

static void stop_and_go(struct unic_port *port, const uint8_t *frame,
			uint32_t len, uint32_t flags)
{
	if (port == &ra.port && !pass) {
		if (stopped < 2) {
			memcpy(kept[stopped].frame, frame, len);
			kept[stopped].len = len;
			kept[stopped].flags = flags;
		}
		stopped++;
		return;
	}
	pass -= port == &ra.port && pass != MANY;
	fake_deliver(port->peer, frame, len, flags);
}

static uint8_t cancel(uint32_t index, uint64_t key, uint32_t flags,
		      struct unic_cpl_token *cpl)
{
	struct unic_cmd_token_cancel cmd = {
		.index = unic_to_le32(index),
		.key = unic_to_le64(key),
		.flags = unic_to_le32(flags),
	};

	return rig_cmd(&rb, UNIC_CMD_TOKEN_CANCEL, &cmd, cpl);
}

/* Of a message of 3000 bytes the first packet has arrived, and its process wants the
 * token back. */
static uint64_t begun(uint32_t *index)
{
	uint64_t key = token_alloc(&mb, 4096, 3000, index);
	struct unic_cpl_token cpl;

	memset(mb.mem, 0xee, BYTES);
	ra.port.on_frame = rb.port.on_frame = stop_and_go;
	pass = 1;
	stopped = 0;
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	tagged(1, 8, 3000, *index, key);
	pair_run(MS / 10);
	assert_int_equal(cancel(*index, key, 0, &cpl), UNIC_ST_BUSY);
	assert_int_equal(cancel(*index, key, 2, &cpl), UNIC_ST_INVALID);
	assert_int_equal(cancel(*index, key, UNIC_CANCEL_WAIT, &cpl),
			 UNIC_ST_PENDING);
	assert_int_equal(unic_from_le32(cpl.index), *index);
	assert_int_equal(unic_from_le32(cpl.end), 0);
	return key;
}

static void expect_token_end(uint32_t index, uint32_t end, uint32_t placed)
{
	struct unic_evt_token evt;

	rig_expect(&rb, UNIC_EVT_TOKEN_END, &evt);
	assert_int_equal(unic_from_le32(evt.index), index);
	assert_int_equal(unic_from_le32(evt.end), end);
	assert_int_equal(unic_from_le32(evt.placed), placed);
	assert_false(rig_event(&rb, &evt));
}

static void message_that_goes_on_uses_it(void **state)
{
	uint32_t index;
	uint64_t key = begun(&index);
	struct unic_cpl_token cpl;

	(void)state;
	pass = MANY;
	pair_run(10 * MS);
	expect_token_end(index, UNIC_TOKEN_USED, 3000);
	assert_int_equal(cancel(index, key, UNIC_CANCEL_WAIT, &cpl), 0);
	assert_int_equal(unic_from_le32(cpl.end), UNIC_TOKEN_USED);
	expect_tagged(1, 8, 3000, index, 0);
	assert_memory_equal(mb.mem + 4096, ma.mem + 8, 3000);
	rc_expect(&ra, &qa, UNIC_WC_TOKEN, 1, 0, 3008);
	rc_quiet();
}

/* The peer stops: after T the token is its owner's again, and what comes of the
 * message after all is dropped. The connection lives. */
static void peer_that_stops_holds_it_for_t(void **state)
{
	struct unic_cpl_token cpl;
	struct unic_evt_token evt;
	uint32_t index;
	uint64_t key;

	(void)state;
	rb.nic.notices.grace_us = 5000; /* before the peer gives up */
	key = begun(&index);
	pair_run(5 * MS - MS / 2);
	assert_false(rig_event(&rb, &evt));
	pair_run(MS);
	expect_token_end(index, UNIC_TOKEN_CANCELLED, 1016);
	assert_int_equal(cancel(index, key, 0, &cpl), 0);
	assert_int_equal(unic_from_le32(cpl.end), UNIC_TOKEN_CANCELLED);
	assert_int_equal(unic_from_le32(cpl.placed), 1016);
	assert_int_equal(rb.nic.mrs.mr[mb.mr].n_tokens, 0);
	memset(mb.mem + 4096, 0xdd, BYTES - 4096);
	pass = MANY;
	pair_run(60 * MS);
	rc_expect(&ra, &qa, UNIC_WC_TOKEN, 1, 0, 3008);
	expect_tagged(1, 8, 0, index, UNIC_TOKEN_CANCELLED);
	assert_memory_equal(mb.mem, ma.mem, 8);
	assert_int_equal(mb.mem[4096], 0xdd);
	assert_int_equal(mb.mem[4096 + 1016], 0xdd);
	assert_int_equal(rig_count(&rb, token_ended_cancelled), 1);
	assert_int_equal(rig_count(&rb, tokens_cancelled), 1);
	assert_int_equal(rig_count(&rb, tokens_used), 0);
	key = token_alloc(&mb, 4096, 500, &index);
	rig_recv(&rb, &qb, 2, &mb, 0, 128);
	tagged(2, 0, 500, index, key);
	pair_run(MS);
	expect_tagged(2, 0, 500, index, 0);
	rc_quiet();
}

/* Without T there is nothing to wait for but DMA under way. */
static void without_t_it_ends_at_once(void **state)
{
	uint32_t index;

	(void)state;
	rb.nic.notices.grace_us = 0;
	begun(&index);
	rig_poll(&rb);
	rig_poll(&rb);
	expect_token_end(index, UNIC_TOKEN_CANCELLED, 1016);
}

/* T is over while bytes are on their way: the end is told behind the last. */
static void end_is_told_behind_the_last_byte(void **state)
{
	struct unic_evt_token evt;
	uint32_t index, i;

	(void)state;
	/* both receives are fetched for the first message */
	rig_recv(&rb, &qb, 8, &mb, 0, 128);
	rig_recv(&rb, &qb, 9, &mb, 0, 128);
	rig_send(&ra, &qa, UNIC_WR_SEND, 8, &ma, 0, 8, 0, 0);
	pair_run(MS);
	rc_expect(&rb, &qb, UNIC_WC_RECV, 8, 0, 8);
	rb.nic.notices.grace_us = 0;
	rb.port.late_dma = true;
	begun(&index);
	pair_rounds(&rb, 10);
	assert_int_equal(fake_dma_waiting(&rb.port), 2); /* control part, too */
	assert_int_equal(mb.mem[4096], 0xee);
	assert_false(rig_event(&rb, &evt));
	for (i = 0; i < 8; i++) {
		fake_dma_run(&rb.port, 64);
		rig_poll(&rb);
	}
	assert_memory_equal(mb.mem + 4096, ma.mem + 8, 1016);
	expect_token_end(index, UNIC_TOKEN_CANCELLED, 1016);
}

/* The rest of begun() arrives, and at the last packet DMA has no room for the @k-th
 * transfer. True: it is placed, and its completion waits. */
static bool placed_without_completion(uint32_t *index, uint32_t k)
{
	uint32_t i;

	rc_bring_up(false);
	rb.nic.notices.grace_us = 1000;
	begun(index);
	assert_true(stopped >= 2);
	for (i = 0; i < 2; i++) {
		fake_deliver(&rb.port, kept[i].frame, kept[i].len,
			     kept[i].flags);
		if (i)
			rb.port.again_call = rb.port.calls + k;
		unic_nic_poll(&rb.nic);
	}
	return rb.nic.qps.roce.rx_stage == UNIC_RX_FINISH;
}

/* T is over while the completion of the message waits for room: its bytes are there, so
 * the token is used. */
static void placed_to_the_last_byte_is_used(void **state)
{
	struct unic_evt_token evt;
	uint32_t index, k;

	(void)state;
	for (k = 1; k < 12 && !placed_without_completion(&index, k); k++)
		;
	assert_int_equal(rb.nic.qps.roce.rx_stage, UNIC_RX_FINISH);
	rb.port.no_dma = true;
	rb.port.now_ns += 2 * MS;
	pair_rounds(&rb, 10);
	assert_false(rig_event(&rb, &evt));
	rb.port.no_dma = false;
	pass = MANY;
	pair_run(MS);
	expect_token_end(index, UNIC_TOKEN_USED, 3000);
	expect_tagged(1, 8, 3000, index, 0);
	assert_memory_equal(mb.mem + 4096, ma.mem + 8, 3000);
}

static void queue_pair_that_dies_aborts_it(void **state)
{
	struct unic_cmd_qp_modify dead = { .proc = unic_to_le32(qb.proc),
					   .qpn = unic_to_le32(qb.qpn),
					   .state = UNIC_QPS_ERR };
	uint32_t index;

	(void)state;
	begun(&index);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &dead, NULL), 0);
	expect_token_end(index, UNIC_TOKEN_ABORTED, 1016);
	pair_run(40 * MS);
	assert_int_equal(rig_count(&rb, tokens_cancelled), 0);
}

/* ------------------------------------------------- told that it was refused */

static struct unic_qp_ctx *qp_of(struct rig *r, const struct rig_qp *qp)
{
	return unic_qp_by_number(&r->nic.transport, qp->qpn);
}

/* Both sides know that the other understands REFUSED. */
static int told_up(void **state)
{
	rc_up(state);
	qp_of(&ra, &qa)->vendor |= UNIC_PEER_REFUSED;
	qp_of(&rb, &qb)->vendor |= UNIC_PEER_REFUSED;
	return 0;
}

/* The sender's completion: refused because of @why; 0: it was placed. */
static void expect_told(uint64_t wr_id, uint32_t len, uint8_t why)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(cqe.opcode, UNIC_WC_TOKEN);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_int_equal(unic_from_le32(cqe.byte_len), why ? 0 : len);
	assert_int_equal(cqe.detail, why);
}

/* Refused messages of one packet and of many, with others between them, all sent at
 * once: each completes once on either side, in order, as what it was. */
static void each_sender_is_told(void **state)
{
	static const uint32_t len[] = { 0, 16, 896, 897, 3000, 9000 };
	uint32_t i, index;
	uint64_t key;

	(void)state;
	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		key = token_alloc(&mb, 4096, 9000, &index);
		memset(mb.mem, 0xee, BYTES);
		rig_recv(&rb, &qb, 1, &mb, 0, 128);
		rig_recv(&rb, &qb, 2, &mb, 128, 128);
		rig_recv(&rb, &qb, 3, &mb, 256, 128);
		rig_recv(&rb, &qb, 4, &mb, 384, 128);
		tagged(1, 8, len[i], index, key ^ 1);
		tagged(2, 16, 9000, index, key);
		tagged(3, 32, len[i], index, key);
		rig_send(&ra, &qa, UNIC_WR_SEND, 4, &ma, 0, 100, 0, 0);
		pair_run(10 * MS);
		expect_told(1, 8 + len[i], UNIC_TOKEN_BAD_KEY);
		expect_told(2, 16 + 9000, 0);
		expect_told(3, 32 + len[i], UNIC_TOKEN_USED);
		rc_expect(&ra, &qa, UNIC_WC_SEND, 4, 0, 100);
		expect_tagged(1, 8, 0, index, UNIC_TOKEN_BAD_KEY);
		expect_tagged(2, 16, 9000, index, 0);
		expect_tagged(3, 32, 0, index, UNIC_TOKEN_USED);
		rc_expect(&rb, &qb, UNIC_WC_RECV, 4, 0, 100);
		assert_memory_equal(mb.mem, ma.mem, 8);
		assert_memory_equal(mb.mem + 256, ma.mem, 32);
		assert_memory_equal(mb.mem + 4096, ma.mem + 16, 9000);
		pair_expect_none(&rb, &qb);
		pair_expect_none(&ra, &qa);
	}
	rc_quiet();
}

/* Whichever frame is lost, doubled or late: nobody is told wrong, nor twice. */
static void told_on_a_bad_wire(void **state)
{
	uint32_t k, index;
	uint64_t key;

	for (k = 1; k < 60; k++) {
		told_up(state);
		key = token_alloc(&mb, 4096, 3000, &index);
		*(k % 3 == 0   ? &rc_wire.lose
		  : k % 3 == 1 ? &rc_wire.twice
			       : &rc_wire.swap) = k / 3 + 1;
		rig_recv(&rb, &qb, 1, &mb, 0, 128);
		rig_recv(&rb, &qb, 2, &mb, 0, 128);
		rig_recv(&rb, &qb, 3, &mb, 0, 128);
		tagged(1, 100, 3000, index, key);
		tagged(2, 100, k & 1 ? 3000 : 10, index, key);
		rig_send(&ra, &qa, UNIC_WR_READ, 3, &ma, 8192, 2000,
			 mb.iova + 4096, mb.stag);
		tagged(4, 100, 10, index, key + 1);
		pair_run(60 * MS);
		expect_told(1, 3100, 0);
		expect_told(2, 0, UNIC_TOKEN_USED);
		rc_expect(&ra, &qa, UNIC_WC_READ, 3, 0, 2000);
		expect_told(4, 0, UNIC_TOKEN_BAD_KEY);
		expect_tagged(1, 100, 3000, index, 0);
		expect_tagged(2, 100, 0, index, UNIC_TOKEN_USED);
		expect_tagged(3, 100, 0, index, UNIC_TOKEN_BAD_KEY);
		pair_expect_none(&ra, &qa);
		pair_expect_none(&rb, &qb);
		rc_quiet();
	}
}

/* A message that was stopped because its token was wanted back. */
static void sender_of_a_stopped_message_is_told(void **state)
{
	uint32_t index;

	(void)state;
	rb.nic.notices.grace_us = 0;
	begun(&index);
	rig_poll(&rb);
	rig_poll(&rb);
	expect_token_end(index, UNIC_TOKEN_CANCELLED, 1016);
	pass = MANY;
	pair_run(20 * MS);
	expect_told(1, 0, UNIC_TOKEN_CANCELLED);
	expect_tagged(1, 8, 0, index, UNIC_TOKEN_CANCELLED);
	rc_quiet();
}

/* Either side without the bit: as ever. */
static void who_does_not_understand_is_not_told(void **state)
{
	uint32_t index;
	uint64_t key;

	(void)state;
	qp_of(&rb, &qb)->vendor = UNIC_PEER_UNIC;
	key = token_alloc(&mb, 4096, 3000, &index);
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	tagged(1, 8, 3000, index, key + 1);
	pair_run(MS);
	expect_told(1, 3008, 0);
	expect_tagged(1, 8, 0, index, UNIC_TOKEN_BAD_KEY);
	assert_int_equal(rig_count(&rb, tx_vacks), 0);
}

/* Without the key: of a token that lives, was used, or never was, one answer. */
static void who_lacks_the_key_hears_one_answer(void **state)
{
	uint32_t live, used, i;
	uint64_t key;

	(void)state;
	key = token_alloc(&mb, 4096, 100, &used);
	for (i = 0; i < 5; i++)
		rig_recv(&rb, &qb, i, &mb, 0, 128);
	tagged(0, 0, 100, used, key);
	pair_run(MS);
	expect_told(0, 100, 0);
	key = token_alloc(&mb, 4096, 100, &live);
	assert_int_not_equal(live, used);
	tagged(1, 0, 100, live, key ^ 1);
	tagged(2, 0, 101, live, key ^ 1);
	tagged(3, 0, 100, used, key);
	tagged(4, 0, 100, UNIC_TOKENS - 1, 0);
	pair_run(10 * MS);
	for (i = 1; i < 5; i++)
		expect_told(i, 0, UNIC_TOKEN_BAD_KEY);
}

static bool deaf;

static void deaf_sender(struct unic_port *port, const uint8_t *frame,
			uint32_t len, uint32_t flags)
{
	if (port == &ra.port || !deaf)
		fake_deliver(port->peer, frame, len, flags);
}

/* It is the sender's word that the message ends with: who does not give it is told as
 * often as the packet comes, and holds a receive meanwhile. */
static void peer_that_does_not_hear(void **state)
{
	uint32_t index;
	uint64_t key;

	(void)state;
	key = token_alloc(&mb, 4096, 3000, &index);
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	ra.port.on_frame = rb.port.on_frame = deaf_sender;
	deaf = true;
	tagged(1, 8, 100, index, key + 1);
	pair_run(9 * MS); /* two retries */
	assert_int_equal(rig_count(&rb, tx_vacks), 3);
	pair_expect_none(&rb, &qb);
	deaf = false;
	pair_run(8 * MS); /* the third waits for as long as both */
	assert_int_equal(rig_count(&rb, tx_vacks), 4);
	expect_told(1, 0, UNIC_TOKEN_BAD_KEY);
	expect_tagged(1, 8, 0, index, UNIC_TOKEN_BAD_KEY);
	rc_quiet();
}

/* REFUSED for what is no tagged message, not at its end, or for no reason: it is not
 * believed, and nothing completes. */
static void lies_about_refusals(void **state)
{
	static const struct {
		uint32_t back, why;
		uint8_t wr;
	} lie[] = {
		{ 0, UNIC_TOKEN_USED, UNIC_WR_SEND },
		{ 0, UNIC_TOKEN_USED, UNIC_WR_WRITE },
		{ 1, UNIC_TOKEN_USED, UNIC_WR_TOKEN },
		{ 0, 0, UNIC_WR_TOKEN },
		{ 0, 256, UNIC_WR_TOKEN },
	};
	struct unic_qp_ctx *qp;
	uint32_t i;

	for (i = 0; i < sizeof(lie) / sizeof(lie[0]); i++) {
		told_up(state);
		rc_wire.cut = true;
		rig_send(&ra, &qa, lie[i].wr, 1, &ma, 0, 2000, mb.iova,
			 mb.stag);
		rig_poll(&ra);
		qp = qp_of(&ra, &qa);
		unic_requester_vack(&ra.nic.transport, qp,
				    unic_psn_add(qp->sq.psn_max,
						 -1u - lie[i].back),
				    UNIC_EV_REFUSED, lie[i].why);
		assert_int_equal(rig_count(&ra, rx_bad_opcode), 1);
		pair_expect_none(&ra, &qa);
		assert_int_equal(qp->state, UNIC_QPS_RTS);
	}
}

static void peers_that_the_nic_knows(void **state)
{
	static const uint8_t kinds[] = { 0, 1, 3, 2, 4, 5, 7, 255 };
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qb.proc),
					  .qpn = unic_to_le32(qb.qpn) };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds); i++) {
		memset((uint8_t *)&cmd + 16, 0, sizeof(cmd) - 16);
		cmd.state = UNIC_QPS_RESET;
		rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &cmd, NULL);
		cmd.state = UNIC_QPS_INIT;
		assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &cmd, NULL),
				 0);
		cmd.state = UNIC_QPS_RTR;
		cmd.mtu_shift = 10;
		cmd.dest_qpn = unic_to_le32(qa.qpn);
		cmd.dest_ipv4 = unic_to_le32(ra.nic.ipv4);
		cmd.dest_mac[0] = 2;
		cmd.vendor = kinds[i];
		assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &cmd, NULL),
				 i < 3 ? UNIC_ST_OK : UNIC_ST_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tokens, rc_up),
		cmocka_unit_test(control_part_has_bounds),
		cmocka_unit_test_setup(token_refusals, rc_up),
		cmocka_unit_test_setup(token_ends_after_its_last_byte, rc_up),
		cmocka_unit_test(tokens_on_a_bad_wire),
		cmocka_unit_test_setup(message_that_goes_on_uses_it, rc_up),
		cmocka_unit_test_setup(peer_that_stops_holds_it_for_t, rc_up),
		cmocka_unit_test_setup(without_t_it_ends_at_once, rc_up),
		cmocka_unit_test_setup(end_is_told_behind_the_last_byte, rc_up),
		cmocka_unit_test(placed_to_the_last_byte_is_used),
		cmocka_unit_test_setup(queue_pair_that_dies_aborts_it, rc_up),
		cmocka_unit_test_setup(each_sender_is_told, told_up),
		cmocka_unit_test(told_on_a_bad_wire),
		cmocka_unit_test_setup(sender_of_a_stopped_message_is_told,
				       told_up),
		cmocka_unit_test_setup(who_does_not_understand_is_not_told,
				       told_up),
		cmocka_unit_test_setup(who_lacks_the_key_hears_one_answer,
				       told_up),
		cmocka_unit_test_setup(peer_that_does_not_hear, told_up),
		cmocka_unit_test(lies_about_refusals),
		cmocka_unit_test_setup(peers_that_the_nic_knows, rc_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
