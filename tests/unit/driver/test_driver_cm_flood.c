/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_cm_flood.c - connections of the host driver under floods of
 * requests, lost messages and peers that end. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "cm/cm_conn.h"
#include "host.h"

/* ------------------------------------------------------------ floods of REQs */

/* @n REQs without a peer behind them, 1 us apart. */
static void flood(struct fake *f, uint32_t n, uint32_t ipv4, uint32_t step)
{
	static uint32_t tid = 1000000;
	struct unic_cm_msg m = {
		.type = UNIC_CM_REQ, .service = 4711, .qpn = 5, .mtu_shift = 10
	};

	while (n--) {
		m.tid = m.local_comm = ++tid;
		f->os.now_ns += 1000;
		mad_from(f, ipv4, &m);
		ipv4 += step;
	}
}

static uint32_t n_conns(struct fake *f, uint32_t state)
{
	struct conn *c;
	uint32_t at = 0, n = 0;

	while ((c = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_CONN,
				  UNIC_OBJ_ANYONE)))
		n += c->state == state;
	return n;
}

static const struct unic_cm_msg meant = { .type = UNIC_CM_REQ,
					  .tid = 99,
					  .local_comm = 0x77,
					  .service = 4711,
					  .qpn = 5,
					  .mtu_shift = 10,
					  .vendor = 1 };

/* An address that asks more than others pushes out its own, the oldest first. */
static void flood_of_one_address_is_its_own_harm(void **state)
{
	struct unic_ctl_connect a = { 0 };
	struct fake *f = fake_new();
	uint32_t mr, id;
	struct conn *c;

	(void)state;
	listens(f, &mr);
	flood(f, 1000, PEER + 1, 0);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	mad_from(f, PEER, &meant);
	c = conn_with(f, PEER);
	assert_non_null(c);
	id = c->obj.id;
	flood(f, 1000, PEER + 1, 0);
	mad_from(f, PEER, &meant); /* repeated: the same request */
	/* an address with fewer requests than the others */
	flood(f, 30, PEER + 2, 0);
	assert_int_equal(c->obj.id, id);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	a.conn = unic_to_le32(id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REP);
	fake_delete(f);
}

/* Two that have half of the places each: one more of either is at its own cost. */
static void one_request_more_counts(void **state)
{
	struct fake *f = fake_new();
	struct conn *c;
	uint32_t mr;

	(void)state;
	listens(f, &mr);
	mad_from(f, PEER, &meant);
	c = conn_with(f, PEER);
	flood(f, 31, PEER, 0);
	flood(f, 32 + 40, PEER + 1, 0);
	assert_ptr_equal(conn_with(f, PEER), c);
	assert_int_equal(c->tid, meant.tid);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	fake_delete(f);
}

/* Of addresses that ask the same the oldest request gives way: one stays for as
 * long as 63 others take to come, and its repetition is taken like a new one. */
static void flood_of_many_addresses_leaves_time(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, id, n;
	struct unic_upcall_hdr up;

	(void)state;
	listens(f, &mr);
	flood(f, 100, PEER + 1000, 1);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	mad_from(f, PEER, &meant);
	assert_non_null(conn_with(f, PEER));
	id = conn_with(f, PEER)->obj.id;
	flood(f, 63, PEER + 2000, 1);
	assert_non_null(conn_with(f, PEER));
	n = f->host->upcalls;
	flood(f, 1, PEER + 3000, 1);
	assert_null(conn_with(f, PEER));
	assert_int_equal(f->host->upcalls, n + 2);
	memcpy(&up, upcall(f, f->host->proc[0].upcall_next - 2), sizeof(up));
	assert_int_equal(up.type, UNIC_UP_DISCONNECTED);
	assert_int_equal(unic_from_le32(up.id), id);
	/* the peer gets no answer, so it repeats its REQ */
	mad_from(f, PEER, &meant);
	assert_int_not_equal(conn_with(f, PEER)->obj.id, id);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	fake_delete(f);
}

static void accepts(struct fake *f, uint32_t mr, uint32_t ipv4)
{
	struct unic_ctl_connect a = { 0 };

	flood(f, 1, ipv4, 0);
	a.conn = unic_to_le32(conn_with(f, ipv4)->obj.id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
}

/* An application that accepts every request gets its QPs back after a second if
 * more than 64 peers do not confirm, else after 10. */
static void unconfirmed_ones_give_way(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, i;

	(void)state;
	listens(f, &mr);
	for (i = 0; i < 70; i++)
		accepts(f, mr, PEER + 1 + i);
	assert_int_equal(n_conns(f, C_REP_SENT), 70);
	pass(f, 900);
	accepts(f, mr, PEER + 100);
	assert_int_equal(n_conns(f, C_REP_SENT), 71);
	pass(f, 200);
	accepts(f, mr, PEER + 101);
	assert_int_equal(n_conns(f, C_REP_SENT), 70);
	assert_int_equal(conn_with(f, PEER + 1)->state, C_CLOSED);
	assert_int_equal(conn_with(f, PEER + 2)->state, C_CLOSED);
	assert_int_equal(conn_with(f, PEER + 3)->state, C_REP_SENT);
	for (i = 0; i < 10; i++) {
		pass(f, 1);
		accepts(f, mr, PEER + 102 + i);
	}
	assert_int_equal(n_conns(f, C_REP_SENT), 64);
	assert_int_equal(conn_with(f, PEER + 100)->state, C_REP_SENT);
	fake_delete(f);
}

/* ------------------------------------------ lost messages, and those who end */

/* Nothing is sent to PEER for a while that is longer than any of CM's. */
static void is_silent(struct fake *f)
{
	uint32_t n = f->given[UNIC_CMD_MAD_SEND], i;

	for (i = 0; i < 40; i++)
		pass(f, 1000);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n);
}

/* An answer is not repeated on its own, and a connection that is up is not given
 * up. */
static void who_was_answered_is_silent(void **state)
{
	struct unic_cm_msg m;
	struct fake *f = fake_new();

	(void)state;
	m = to_answer(f, UNIC_CM_REP);
	mad_from(f, PEER, &m);
	is_silent(f);
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	fake_delete(f);
	f = fake_new();
	m = to_confirm(f, UNIC_CM_RTU);
	mad_from(f, PEER, &m);
	is_silent(f);
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	m.type = UNIC_CM_DREQ;
	mad_from(f, PEER, &m);
	is_silent(f);
	fake_delete(f);
	f = fake_new();
	m = to_confirm(f, UNIC_CM_DREQ); /* RTU was lost */
	mad_from(f, PEER, &m);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	is_silent(f);
	fake_delete(f);
}

/* A repeated REQ or REP gets the same answer again at once. */
static void who_asks_again_is_answered_again(void **state)
{
	struct unic_cm_msg rep, m;
	struct fake *f = fake_new();
	uint32_t n;

	(void)state;
	rep = accepted(f);
	m = message(UNIC_CM_REQ, &rep);
	m.service = 4711;
	m.mtu_shift = 10;
	n = f->given[UNIC_CMD_MAD_SEND];
	mad_from(f, PEER, &m);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REP);
	assert_int_equal(mad_sent(f).psn, rep.psn);
	assert_int_equal(n_conns(f, C_REP_SENT), 1);
	fake_delete(f);
	f = fake_new();
	m = to_answer(f, UNIC_CM_REP);
	mad_from(f, PEER, &m);
	n = f->given[UNIC_CMD_MAD_SEND];
	mad_from(f, PEER, &m);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1);
	assert_int_equal(mad_sent(f).type, UNIC_CM_RTU);
	fake_delete(f);
}

static void rejects(struct fake *f, uint16_t reason)
{
	struct unic_cm_msg rej = mad_sent(f);

	assert_int_equal(rej.type, UNIC_CM_REJ);
	assert_int_equal(rej.reason, reason);
	assert_null(conn_with(f, PEER));
}

/* An end that stops waiting sends the peer a message with all ids that it has. */
static void who_gives_up_says_so(void **state)
{
	struct unic_cm_msg req;
	struct fake *f = fake_new();

	(void)state;
	req = connecting(f);
	pass(f, CONNECT_US / 1000 + 1);
	rejects(f, UNIC_CM_TIMEOUT);
	assert_int_equal(mad_sent(f).local_comm, req.local_comm);
	fake_delete(f);
	f = requested(&req);
	pass(f, QUIET_NS / 1000000 + 1);
	rejects(f, UNIC_CM_TIMEOUT);
	assert_int_equal(mad_sent(f).remote_comm, req.local_comm);
	fake_delete(f);
}

/* The last REJ that was sent to PEER, as bytes; NULL: none. */
static const uint8_t *last_rej(struct fake *f)
{
	const uint8_t *at, *last = NULL;
	struct unic_cm_msg msg;
	uint32_t i;

	for (i = 64; i; i--) {
		at = f->bar + UNIC_BAR_LIST_OFF +
		     (f->cmd_head - i) % 64 * UNIC_LIST_BYTES;
		if (unic_cm_parse(at, &msg) && msg.type == UNIC_CM_REJ)
			last = at;
	}
	return last;
}

/* A side that got no RTU says so when it gives up: REJ for a time-out names the device, and
 * refuses no message. The other side, which takes the connection for up, ends it. */
static void who_got_no_rtu_says_so(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg rep, m;
	const uint8_t *rej;

	(void)state;
	rep = accepted(f);
	pass(f, CONNECT_US / 1000 + 1);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	rej = last_rej(f);
	assert_non_null(rej);
	assert_true(unic_cm_parse(rej, &m));
	assert_int_equal(m.reason, UNIC_CM_TIMEOUT);
	assert_int_equal(m.rejected, UNIC_CM_OF_NONE);
	assert_true(m.tid == rep.tid);
	assert_int_equal(m.local_comm, rep.local_comm);
	assert_int_equal(m.remote_comm, rep.remote_comm);
	assert_int_equal(rej[33], 8 << 1);
	assert_int_equal(rej[40] << 24 | rej[41] << 16 | rej[42] << 8 | rej[43],
			 (int)f->host->objects.ids->host_id);
	fake_delete(f);
	f = fake_new();
	m = to_answer(f, UNIC_CM_REP);
	mad_from(f, PEER, &m);
	m.type = UNIC_CM_REJ;
	m.reason = UNIC_CM_CONSUMER;
	mad_from(f, PEER, &m); /* of a connection that is up: nonsense */
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	m.reason = UNIC_CM_TIMEOUT;
	mad_from(f, PEER, &m);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	assert_true(f->modified[UNIC_QPS_ERR][0]);
	fake_delete(f);
}

/* A process ends while its QP is being connected to PEER, which has sent REP. */
static void who_ends_too_early_says_so(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg m = to_answer(f, UNIC_CM_REP);
	uint32_t i;

	(void)state;
	put_mad(f, PEER, 0, &m);
	for (i = 0; i < 3; i++)
		unic_host_poll(f->host);
	assert_int_equal(conn_with(f, PEER)->state, C_MODIFY);
	unic_host_client_gone(f->host, &f->client);
	assert_null(conn_with(f, PEER));
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], 2);
	fake_delete(f);
}

/* However a connection ends that was up here, posted requests are flushed. */
static void ends_flush(void **state)
{
	static const uint16_t types[] = { 0, UNIC_CM_REJ, UNIC_CM_DREQ };
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct fake *f = fake_new();
		struct unic_cm_msg m = to_confirm(f, types[i]);

		assert_false(f->modified[UNIC_QPS_ERR][0]);
		if (types[i])
			mad_from(f, PEER, &m);
		else
			pass(f, CONNECT_US / 1000 + 1);
		assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
		assert_true(f->modified[UNIC_QPS_ERR][0]);
		fake_delete(f);
	}
}

/* A peer that does not answer gets DREQ six times. */
static void goodbye_is_said_six_times(void **state)
{
	struct fake *f = fake_new();
	uint32_t n, i;

	(void)state;
	to_part(f, 0);
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREQ);
	n = f->given[UNIC_CMD_MAD_SEND];
	for (i = 0; i < 100; i++)
		pass(f, 100);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 5);
	assert_null(conn_with(f, PEER));
	fake_delete(f);
}

static uint32_t the_cq(struct fake *f)
{
	uint32_t at = 0;
	const struct unic_obj *cq = unic_obj_next(&f->host->objects, &at,
						  UNIC_OBJ_CQ, UNIC_OBJ_ANYONE);

	return cq->id;
}

/* A process makes one connection after another with a peer that never answers
 * DREQ, and destroys the queue pair under each: its connections do not fill the
 * table of all processes, and each sends DREQ once at least. */
static void goodbyes_are_bounded(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
		struct unic_ctl_obj qp = { 0 }, cq = { 0 };
		struct unic_cm_msg req, rep;

		qp.id = r.qp = unic_to_le32(queues(f, mr));
		cq.id = unic_to_le32(the_cq(f));
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		req = mad_sent(f);
		rep = reply_of(&req);
		mad_from(f, PEER, &rep);
		assert_int_equal(request(f, UNIC_CTL_QP_DESTROY, &qp), 0);
		assert_int_equal(request(f, UNIC_CTL_CQ_DESTROY, &cq), 0);
	}
	assert_in_range(n_conns(f, C_DREQ_SENT), 200, 300);
	for (i = 0; i < 100; i++)
		pass(f, 100);
	assert_int_equal(n_conns(f, C_DREQ_SENT), 0);
	fake_delete(f);
}

/* Which address has most counts with the request that comes: of two with as many
 * it is the one that asks for more. */
static void who_asks_for_more_gives_way(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, id;

	(void)state;
	listens(f, &mr);
	flood(f, 32, PEER, 0);
	id = conn_with(f, PEER)->obj.id;
	flood(f, 32, PEER + 1, 0);
	flood(f, 1, PEER + 1, 0);
	assert_int_equal(conn_with(f, PEER)->obj.id, id);
	fake_delete(f);
}

/* Polls until nothing is left, and reads the ring after each poll: no upcall is missed.
 * Returns how many there were. */
static uint32_t read_all(struct fake *f)
{
	uint32_t *end = &f->host->proc[f->client.slot].upcall_next, n = *end;
	uint32_t begin = n;
	uint64_t next;

	do {
		next = unic_host_poll(f->host);
		assert_in_range(*end - n, 0, UNIC_UPCALLS / 2);
		for (; n < *end; n++)
			assert_true(upcall_type(f, n));
		nic_run(f);
	} while (next <= f->os.now_ns);
	return n - begin;
}

/* As many requests at once as the NIC has places for do not fill the ring in one poll,
 * not even if each of them takes the place of another, or all run out of time. */
static void burst_of_requests_leaves_room_in_the_ring(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg m = meant;
	uint32_t mr, i, round;

	(void)state;
	listens(f, &mr);
	for (round = 1; round <= 2; round++) {
		for (i = 0; i < UNIC_MAD_RX_ENTRIES; i++) {
			m.tid = m.local_comm = 100 * round + i;
			put_mad(f, PEER + i, 0, &m);
		}
		assert_int_equal(read_all(f), round * UNIC_MAD_RX_ENTRIES);
		assert_int_equal(n_conns(f, C_REQUESTED), 64);
	}
	f->os.now_ns += QUIET_NS + 1; /* all of them end */
	assert_int_equal(read_all(f), 64);
	assert_int_equal(n_conns(f, C_REQUESTED), 0);
	fake_delete(f);
}

/* Nor do events, of which the NIC has more places than the ring. */
static void burst_of_events_leaves_room_in_the_ring(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj evt = { .hdr.type = UNIC_EVT_DB_ERROR };
	uint32_t i;

	(void)state;
	hello(f);
	evt.hdr.epoch = unic_to_le32(f->epoch);
	for (i = 0; i < 2 * UNIC_UPCALLS; i++)
		put_event(f, &evt);
	assert_int_equal(read_all(f), 2 * UNIC_UPCALLS);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flood_of_one_address_is_its_own_harm),
		cmocka_unit_test(one_request_more_counts),
		cmocka_unit_test(flood_of_many_addresses_leaves_time),
		cmocka_unit_test(unconfirmed_ones_give_way),
		cmocka_unit_test(who_was_answered_is_silent),
		cmocka_unit_test(who_asks_again_is_answered_again),
		cmocka_unit_test(who_gives_up_says_so),
		cmocka_unit_test(who_got_no_rtu_says_so),
		cmocka_unit_test(who_ends_too_early_says_so),
		cmocka_unit_test(ends_flush),
		cmocka_unit_test(goodbye_is_said_six_times),
		cmocka_unit_test(goodbyes_are_bounded),
		cmocka_unit_test(who_asks_for_more_gives_way),
		cmocka_unit_test(burst_of_requests_leaves_room_in_the_ring),
		cmocka_unit_test(burst_of_events_leaves_room_in_the_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
