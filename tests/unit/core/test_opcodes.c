/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_opcodes.c - packets with an opcode that the receiver does not execute,
 * on a reliable connection: every value of the byte, from a conventional peer
 * and from a unic, at the expected PSN and around it (IBTA 9.7.4.1, 9.7.5.2 and
 * 9.9.3). A request gets a NAK "invalid request" when its PSN is expected; all
 * other packets are dropped.
 */
#include "unit.h"

#include "pair.h"

#define MS	  1000000ull
#define OFF_PSN	  (UNIC_BTH_OFF + 8u)
#define UNTOUCHED 0x11
#define RESERVED  0x15 /* the first one between others */

/* A valid WRITE of 8 bytes from A to B, which B has not received. */
static struct {
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t len, flags, psn;
} sent;

/* The last answer of B, and the number of its answers. */
static struct {
	uint32_t n, psn;
	uint8_t opcode, syndrome;
} answer;

static uint32_t word_at(const uint8_t *at)
{
	unic_be32 v;

	memcpy(&v, at, sizeof(v));
	return unic_from_be32(v);
}

static void keep(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	(void)port;
	memcpy(sent.frame, frame, len);
	sent.len = len;
	sent.flags = flags;
	sent.psn = word_at(frame + OFF_PSN) & UNIC_PSN_MASK;
}

static void note(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	(void)port;
	(void)len;
	(void)flags;
	answer.n++;
	answer.opcode = frame[UNIC_BTH_OFF];
	answer.psn = word_at(frame + OFF_PSN) & UNIC_PSN_MASK;
	answer.syndrome = frame[UNIC_EXT_OFF];
}

static struct unic_qp_ctx *at_b(void)
{
	return unic_qp_by_number(&rb.nic.transport, qb.qpn);
}

/* Connects A and B, and keeps a packet of A. @vendor: A has the vendor
 * opcodes. */
static void bring_up(uint8_t vendor)
{
	pair_up();
	at_b()->vendor = vendor;
	memset(&answer, 0, sizeof(answer));
	memset(mb.mem, UNTOUCHED, PAIR_BYTES);
	ra.port.on_frame = keep;
	rb.port.on_frame = note;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mb.iova, mb.stag);
	rig_poll(&ra);
	assert_int_equal(sent.psn, at_b()->rsp.psn);
}

/* Delivers the kept packet with @opcode, @ahead of the PSN that B expects. */
static void arrive(uint32_t opcode, int32_t ahead)
{
	uint8_t frame[FAKE_FRAME_BYTES];
	uint32_t apsn = word_at(sent.frame + OFF_PSN) & ~UNIC_PSN_MASK;
	unic_be32 be;

	apsn |= (sent.psn + (uint32_t)ahead) & UNIC_PSN_MASK;
	be = unic_to_be32(apsn);
	memcpy(frame, sent.frame, sent.len);
	memcpy(frame + OFF_PSN, &be, sizeof(be));
	frame[UNIC_BTH_OFF] = (uint8_t)opcode;
	fake_deliver(&rb.port, frame, sent.len, sent.flags);
	rig_poll(&rb);
}

/* B has sent @n answers; the last one was an acknowledgement with @syndrome. */
static void answered(uint32_t n, uint32_t psn, uint8_t syndrome)
{
	assert_int_equal(answer.n, n);
	assert_int_equal(answer.opcode, UNIC_OP_ACK);
	assert_int_equal(answer.psn, psn);
	assert_int_equal(answer.syndrome, syndrome);
}

static void nothing_placed(void)
{
	uint32_t i;

	for (i = 0; i < PAIR_BYTES; i++)
		assert_int_equal(mb.mem[i], UNTOUCHED);
}

/* Requests that B does not execute: reserved, or of the manufacturer. */
static bool is_unsupported(uint32_t op)
{
	return op == RESERVED ||
	       (op > UNIC_OP_SEND_ONLY_INV && op < UNIC_OP_UC_SEND_FIRST) ||
	       (op > UNIC_OP_TOKEN_ONLY && op != UNIC_OP_VACK);
}

/* Packets of other transport services. */
static bool is_ignored(uint32_t op)
{
	return op >= UNIC_OP_UC_SEND_FIRST && op < UNIC_OP_TOKEN_FIRST;
}

/* An unsupported request at the expected PSN gets a NAK "invalid request", and
 * the queue pair enters the error state. If the NAK is lost, the repeated
 * request gets it again. */
static void unsupported_request(void **state)
{
	uint32_t op, vendor, n = 0;

	(void)state;
	for (op = 0; op < 256; op++) {
		if (!is_unsupported(op))
			continue;
		n++;
		for (vendor = 0; vendor < 2; vendor++) {
			bring_up((uint8_t)vendor);
			rig_recv(&rb, &qb, 7, &mb, 0, 64);
			arrive(op, 0);
			answered(1, sent.psn, UNIC_NAK_INV_REQ);
			assert_int_equal(at_b()->state, UNIC_QPS_ERR);
			assert_int_equal(rig_count(&rb, rx_bad_opcode), 1);
			pair_expect(&rb, &qb, 7, UNIC_WC_WR_FLUSH_ERR, 0);
			arrive(op, 0);
			answered(2, sent.psn, UNIC_NAK_INV_REQ);
			nothing_placed();
		}
	}
	assert_int_equal(n, 1 + 8 + 59);
}

/* An unsupported request within a message gets the same NAK, and the receive of
 * the message is flushed. */
static void unsupported_in_a_message(void **state)
{
	(void)state;
	bring_up(0);
	rig_recv(&rb, &qb, 7, &mb, 0, 4096);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 1028, 0, 0);
	arrive(UNIC_OP_WRITE_ONLY, 0);
	answered(1, sent.psn, UNIC_AETH_ACK_NOCREDIT);
	ra.port.on_frame = NULL;
	ra.port.peer = &rb.port;
	rig_poll(&ra);
	rb.port.rx_tail--; /* the last packet is lost */
	rig_poll(&rb);
	assert_int_equal(at_b()->rsp.msg.kind, UNIC_MSG_SEND);
	arrive(RESERVED, 2);
	answered(answer.n, unic_psn_add(sent.psn, 2), UNIC_NAK_INV_REQ);
	assert_int_equal(at_b()->state, UNIC_QPS_ERR);
	pair_expect(&rb, &qb, 7, UNIC_WC_WR_FLUSH_ERR, 0);
}

/* An unsupported request ahead of the expected PSN causes one NAK "PSN sequence
 * error", as any request; when its PSN is expected, it is refused. */
static void unsupported_too_early(void **state)
{
	(void)state;
	bring_up(0);
	arrive(RESERVED, 1);
	answered(1, sent.psn, UNIC_NAK_PSN_SEQ);
	arrive(RESERVED, 2);
	assert_int_equal(answer.n, 1);
	assert_int_equal(rig_count(&rb, rx_out_of_seq), 2);
	assert_int_equal(rig_count(&rb, rx_bad_opcode), 0);
	assert_int_equal(at_b()->state, UNIC_QPS_RTS);
	arrive(UNIC_OP_WRITE_ONLY, 0);
	assert_memory_equal(mb.mem, ma.mem, 8);
	arrive(RESERVED, 1);
	answered(answer.n, unic_psn_add(sent.psn, 1), UNIC_NAK_INV_REQ);
	assert_int_equal(at_b()->state, UNIC_QPS_ERR);
}

/* An unsupported request with the PSN of an earlier request is counted and has
 * no effect. */
static void unsupported_duplicate(void **state)
{
	uint32_t op, n = 0;

	(void)state;
	bring_up(1);
	for (op = 0; op < 256; op++) {
		if (!is_unsupported(op))
			continue;
		arrive(op, -1);
		assert_int_equal(rig_count(&rb, rx_bad_opcode), ++n);
	}
	assert_int_equal(answer.n, 0);
	assert_int_equal(at_b()->state, UNIC_QPS_RTS);
	nothing_placed();
	arrive(UNIC_OP_WRITE_ONLY, 0);
	assert_memory_equal(mb.mem, ma.mem, 8);
	answered(1, sent.psn, UNIC_AETH_ACK_NOCREDIT);
}

/* A packet that is no request is counted and has no effect at any PSN, not even
 * on a queue pair in the error state that repeats its NAK. */
static void no_request(void **state)
{
	uint32_t op, n = 0;
	int32_t ahead;

	(void)state;
	bring_up(0);
	for (op = 0; op < 256; op++)
		for (ahead = -1; is_ignored(op) && ahead <= 1; ahead++) {
			arrive(op, ahead);
			assert_int_equal(rig_count(&rb, rx_bad_opcode), ++n);
		}
	assert_int_equal(n, 3 * 160);
	assert_int_equal(answer.n, 0);
	arrive(UNIC_OP_VACK, 0);
	assert_int_equal(rig_count(&rb, rx_bad_opcode), n + 1);
	assert_int_equal(at_b()->state, UNIC_QPS_RTS);
	arrive(RESERVED, 0);
	answered(1, sent.psn, UNIC_NAK_INV_REQ);
	for (op = UNIC_OP_READ_RESP_FIRST; op < 256; op++)
		if (is_ignored(op) || op <= UNIC_OP_ATOMIC_ACK ||
		    op == UNIC_OP_VACK)
			arrive(op, 0);
	assert_int_equal(answer.n, 1);
	nothing_placed();
}

/* The request of the peer completes with REM_INV_REQ_ERR, and its queue pair
 * enters the error state. */
static void the_peer_is_told(void **state)
{
	(void)state;
	bring_up(0);
	rb.port.on_frame = NULL;
	arrive(RESERVED, 0);
	ra.port.on_frame = NULL;
	pair_run(MS);
	pair_expect(&ra, &qa, 1, UNIC_WC_REM_INV_REQ_ERR, 0);
	assert_int_equal(rig_count(&rb, rx_bad_opcode), 1);
	pair_quiet();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsupported_request),
		cmocka_unit_test(unsupported_in_a_message),
		cmocka_unit_test(unsupported_too_early),
		cmocka_unit_test(unsupported_duplicate),
		cmocka_unit_test(no_request),
		cmocka_unit_test(the_peer_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
