/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_cm.c - connections of the host driver: messages that are well
 * made, malformed or forged, and what identifies them. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "cm/cm_conn.h"
#include "host.h"

static void cm_messages_survive_the_wire(void **state)
{
	static const uint16_t types[] = { UNIC_CM_REQ,	UNIC_CM_REP,
					  UNIC_CM_REJ,	UNIC_CM_RTU,
					  UNIC_CM_DREQ, UNIC_CM_DREP };
	struct unic_cm_msg in, out;
	uint8_t mad[256];
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		in = (struct unic_cm_msg){ .type = types[i],
					   .tid = 0x1122334455667788,
					   .local_comm = 0xdeadbeef,
					   .remote_comm = 0xcafebabe,
					   .service = 0x0102030405060708,
					   .qpn = 0xabcdef,
					   .psn = 0x123456,
					   .src_ipv4 = 0x0a000001,
					   .dst_ipv4 = 0x0a000002,
					   .reason = UNIC_CM_CONSUMER,
					   .max_dest_rd = 3,
					   .max_rd = 2,
					   .retry_cnt = 7,
					   .rnr_retry = 5,
					   .timeout = 12,
					   .mtu_shift = 10,
					   .qp_type = UNIC_QPT_UC,
					   .priv_bytes = 3,
					   .priv = "abc" };
		unic_cm_build(&in, mad);
		assert_true(unic_cm_parse(mad, &out));
		assert_int_equal(out.type, in.type);
		assert_true(out.tid == in.tid);
		assert_int_equal(out.local_comm, in.local_comm);
		if (types[i] != UNIC_CM_REQ)
			assert_int_equal(out.remote_comm, in.remote_comm);
		else
			assert_int_equal(out.qp_type, UNIC_QPT_UC);
		if (types[i] == UNIC_CM_RTU || types[i] == UNIC_CM_DREP)
			continue;
		assert_int_equal(out.priv_bytes, 3);
		assert_memory_equal(out.priv, "abc", 3);
		if (types[i] == UNIC_CM_DREQ) {
			assert_int_equal(out.qpn, in.qpn);
			continue;
		}
		if (types[i] == UNIC_CM_REJ) {
			assert_int_equal(out.reason, UNIC_CM_CONSUMER);
			continue;
		}
		assert_int_equal(out.qpn, in.qpn);
		assert_int_equal(out.psn, in.psn);
		assert_int_equal(out.max_dest_rd, 3);
		assert_int_equal(out.max_rd, 2);
		assert_int_equal(out.timeout, 12);
		assert_int_equal(out.rnr_retry, 5);
		assert_int_equal(out.vendor, 1);
	}
}

static void peer_gives_up_before_it_heard_of_us(void **state)
{
	struct unic_cm_msg req, rej = { .type = UNIC_CM_REJ,
					.tid = 99,
					.local_comm = 0x77,
					.reason = UNIC_CM_TIMEOUT };
	struct fake *f = requested(&req);

	(void)state;
	mad_from(f, PEER + 1, &rej); /* not its business */
	rej.tid = 98;
	mad_from(f, PEER, &rej);
	assert_int_equal(upcall_type(f, 1), 0);
	rej.tid = 99;
	mad_from(f, PEER, &rej);
	assert_int_equal(upcall_type(f, 1), UNIC_UP_DISCONNECTED);
	fake_delete(f);
}

/* The REJ of a peer that gave up was lost: its REQ does not come again. */
static void silent_peer_has_given_up(void **state)
{
	struct unic_cm_msg req;
	struct fake *f = requested(&req);
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		pass(f, 7900);
		mad_from(f, PEER, &req);
		assert_int_equal(upcall_type(f, 1), 0);
	}
	pass(f, 6000); /* 29.7 s */
	assert_int_equal(upcall_type(f, 1), 0);
	pass(f, 400); /* the time of the process to answer is over */
	assert_int_equal(upcall_type(f, 1), UNIC_UP_DISCONNECTED);
	fake_delete(f);
	f = requested(&req);
	pass(f, 7900);
	assert_int_equal(upcall_type(f, 1), 0);
	pass(f, 200);
	assert_int_equal(upcall_type(f, 1), UNIC_UP_DISCONNECTED);
	fake_delete(f);
}

/* A request that comes again is the one before only if transaction, id and both
 * addresses are its own. */
static void request_of_another_is_another(void **state)
{
	struct unic_cm_msg req;
	struct fake *f = requested(&req);
	uint32_t n = f->host->upcalls;

	(void)state;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, n);
	mad_from(f, PEER + 1, &req);
	assert_int_equal(f->host->upcalls, ++n);
	mad_from_mac(f, PEER, 1, &req);
	assert_int_equal(f->host->upcalls, ++n);
	req.tid++;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, ++n);
	req.tid--;
	req.local_comm++;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, ++n);
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, n);
	fake_delete(f);
}

/* A process that accepts nothing fills its own queue, and no other. */
static void queue_of_requests_is_ones_own(void **state)
{
	struct unic_client other = { .pid = 8, .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello hi = { .hdr.op = unic_to_le16(UNIC_CTL_HELLO),
				     .version = unic_to_le32(1) };
	struct unic_ctl_listen l = { .hdr.op = unic_to_le16(UNIC_CTL_LISTEN),
				     .service = unic_to_le64(4712) };
	struct unic_upcall_conn up;
	struct unic_cm_msg req;
	struct fake *f = requested(&req);
	uint32_t n;

	(void)state;
	assert_true(unic_host_request(f->host, &other, &hi, sizeof(hi)));
	settle(f);
	assert_true(unic_host_request(f->host, &other, &l, sizeof(l)));
	settle(f);
	for (req.tid = 100; req.tid < 163; req.tid++)
		mad_from(f, PEER, &req);
	n = f->host->upcalls;
	req.service = 4712;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, n + 1);
	req.service = 4711;
	mad_from(f, PEER, &req); /* repeated: the same one */
	assert_int_equal(f->host->upcalls, n + 1);
	req.tid++;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, n + 3);
	memcpy(&up, upcall(f, f->host->proc[0].upcall_next - 2), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_DISCONNECTED);
	assert_int_equal(unic_from_le32(up.reason), 2);
	fake_delete(f);
}

static void late_rep_is_told_so(void **state)
{
	struct unic_cm_msg rep = { .type = UNIC_CM_REP,
				   .tid = 5,
				   .local_comm = 0x88,
				   .remote_comm = 0x12345,
				   .qpn = 7 };
	struct unic_cm_msg rej;
	struct fake *f = fake_new();

	(void)state;
	hello(f);
	mad_from(f, PEER, &rep);
	rej = mad_sent(f);
	assert_int_equal(rej.type, UNIC_CM_REJ);
	assert_int_equal(rej.remote_comm, 0x88);
	assert_int_equal(rej.tid, 5);
	assert_int_equal(rej.reason, UNIC_CM_NO_COMM);
	fake_delete(f);
}

/* The place of the datagram that put_mad() puts next. */
static struct unic_mad_rx *next_mad(struct fake *f)
{
	uint32_t n = unic_from_le32(idx(f)->mad_tail);

	return (void *)(f->bar + UNIC_BAR_MAD_RX_OFF +
			n % UNIC_MAD_RX_ENTRIES * sizeof(struct unic_mad_rx));
}

static void cm_garbage_is_refused(void **state)
{
	struct unic_cm_msg msg = { .type = UNIC_CM_REQ, .mtu_shift = 10 };
	uint8_t mad[256], bad[256];
	uint32_t seed = 1, i, k;

	(void)state;
	unic_cm_build(&msg, mad);
	for (i = 0; i < 4; i++) { /* version, class, class version, method */
		memcpy(bad, mad, 256);
		bad[i]++;
		assert_false(unic_cm_parse(bad, &msg));
	}
	for (i = 0; i < 20000; i++) {
		memcpy(bad, mad, 256);
		for (k = 0; k < 8; k++) {
			seed = seed * 1664525 + 1013904223;
			bad[8 + (seed >> 8) % 248] = (uint8_t)(seed >> 24);
		}
		if (unic_cm_parse(bad, &msg))
			assert_true(msg.priv_bytes <= sizeof(msg.priv));
	}
}

/* A REQ that is well formed and impossible is answered by what is wrong with it, whether
 * anybody listens or not, and no connection is made. */
static void impossible_requests_are_rejected(void **state)
{
	static const struct {
		uint8_t at, v;
		uint16_t reason;
	} t[] = {
		{ 67, 20 << 3 | 2 << 1, UNIC_CM_BAD_TYPE }, /* RD */
		{ 67, 20 << 3 | 3 << 1, UNIC_CM_BAD_TYPE }, /* XRC */
		{ 74, 0 << 4, UNIC_CM_BAD_MTU },
		{ 74, 6 << 4, UNIC_CM_BAD_MTU },
		{ 80, 0xfe, UNIC_CM_BAD_GID },
		{ 106, 0, UNIC_CM_BAD_GID },
	};
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .tid = 77,
				   .local_comm = 0x55,
				   .service = 4711,
				   .qpn = 6,
				   .mtu_shift = 10 };
	struct fake *f = fake_new();
	uint32_t mr, i;

	(void)state;
	listens(f, &mr);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint32_t n = f->given[UNIC_CMD_MAD_SEND];
		struct unic_mad_rx *rx = next_mad(f);

		put_mad(f, PEER, 0, &req);
		rx->data[t[i].at] = t[i].v;
		settle(f);
		assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1);
		assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
		assert_int_equal(mad_sent(f).reason, t[i].reason);
		assert_int_equal(mad_sent(f).rejected, UNIC_CM_OF_REQ);
		assert_int_equal(mad_sent(f).remote_comm, 0x55);
		assert_int_equal(mad_sent(f).tid, 77);
		assert_null(conn_with(f, PEER));
	}
	assert_int_equal(f->host->cm.impossible, i);
	fake_delete(f);
}

static uint32_t uc_queues(struct fake *f, uint32_t mr)
{
	struct unic_ctl_qp_create qp = { .sq_slots = unic_to_le16(16),
					 .type = UNIC_QPT_UC };

	assert_int_equal(queues_as(f, mr, qp), 0);
	return reply_u32(f, 16);
}

/* The NIC gets no attribute that UC does not have. */
static void modified_as_uc(struct fake *f, uint32_t state)
{
	struct unic_cmd_qp_modify m;

	memcpy(&m, f->last[UNIC_CMD_QP_MODIFY], sizeof(m));
	assert_int_equal(m.state, state);
	assert_int_equal(m.rights & ~UNIC_MR_REMOTE_WRITE, 0);
	assert_int_equal(m.max_rd | m.max_dest_rd | m.timeout | m.retry_cnt |
				 m.rnr_retry | m.rnr_timer | m.vendor,
			 0);
}

static void unreliable_connects(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER),
				      .rights = UNIC_MR_REMOTE_READ };
	struct fake *f = fake_new();
	struct unic_cm_msg m;

	(void)state;
	r.qp = unic_to_le32(uc_queues(f, region(f, 4)));
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
	m = mad_sent(f);
	assert_int_equal(m.type, UNIC_CM_REQ);
	assert_int_equal(m.qp_type, UNIC_QPT_UC);
	m.type = UNIC_CM_REP;
	m.remote_comm = m.local_comm;
	m.vendor = 1;
	mad_from(f, PEER, &m);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(mad_sent(f).type, UNIC_CM_RTU);
	modified_as_uc(f, UNIC_QPS_RTS);
	fake_delete(f);
}

/* The peer's REQ names the type; a queue pair of another type is refused, and the
 * client gets the error. */
static void unreliable_is_accepted(void **state)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct unic_cm_msg m = { .type = UNIC_CM_REQ,
				 .tid = 1,
				 .local_comm = 0x77,
				 .service = 4711,
				 .qpn = 5,
				 .mtu_shift = 10,
				 .max_rd = 4,
				 .max_dest_rd = 4,
				 .timeout = 14,
				 .qp_type = UNIC_QPT_UC };
	struct unic_ctl_connect a = { 0 };
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i;
	struct unic_upcall_hdr up;

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	for (i = 0; i < 2; i++) {
		struct unic_ctl_obj q = { 0 };

		m.tid = i;
		mad_from(f, PEER, &m);
		memcpy(&up, upcall(f, i), sizeof(up));
		assert_int_equal(up.type, UNIC_UP_CONN_REQUEST);
		q.id = a.conn = up.id;
		assert_int_equal(request(f, UNIC_CTL_CONN_QUERY, &q), 0);
		assert_int_equal(
			((struct unic_ctl_conn_reply *)(void *)f->os.reply[0])
				->qp_type,
			UNIC_QPT_UC);
		a.qp = unic_to_le32(i ? uc_queues(f, mr) : queues(f, mr));
		assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a),
				 i ? 0 : UNIC_CTL_ST_REJECTED);
		assert_int_equal(mad_sent(f).type,
				 i ? UNIC_CM_REP : UNIC_CM_REJ);
	}
	modified_as_uc(f, UNIC_QPS_RTS);
	fake_delete(f);
}

/* Each end names the delay of its NIC: both wait for the longer of the two. */
static void slow_nics_say_so(void **state)
{
	static const uint8_t said[] = { 5, 17 }, waited[] = { 12, 17 };
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i;
	struct unic_cmd_qp_modify m;
	struct peer p = { .ipv4 = PEER, .comm = 0x77 };
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct unic_cm_msg rep;

	(void)state;
	for (i = 0; i < 2; i++) {
		r.qp = unic_to_le32(queues(f, mr));
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		rep = mad_sent(f);
		rep.type = UNIC_CM_REP;
		rep.remote_comm = rep.local_comm;
		rep.timeout = said[i];
		mad_from(f, PEER, &rep);
		memcpy(&m, f->last[UNIC_CMD_QP_MODIFY], sizeof(m));
		assert_int_equal(m.state, UNIC_QPS_RTS);
		assert_int_equal(m.timeout, waited[i]);
	}
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	f->host->config.ack_timeout = 17;
	peer_connects(f, &p, mr);
	rep = mad_sent(f);
	assert_int_equal(rep.type, UNIC_CM_REP);
	assert_int_equal(rep.timeout, 17);
	fake_delete(f);
}

/* A refused ACCEPT leaves the offer of the peer in place. */
static void refused_accept_keeps_the_offer(void **state)
{
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .tid = 9,
				   .local_comm = 0x99,
				   .service = 4711,
				   .qpn = 6,
				   .mtu_shift = 10,
				   .max_rd = 2,
				   .max_dest_rd = 1,
				   .timeout = 17 };
	struct unic_ctl_connect a = { .rights = UNIC_MR_LOCAL_WRITE };
	struct fake *f = fake_new();
	struct unic_cmd_qp_modify m;
	uint32_t mr;

	(void)state;
	listens(f, &mr);
	mad_from(f, PEER, &req);
	a.conn = unic_to_le32(conn_with(f, PEER)->obj.id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), UNIC_ST_INVALID);
	a.rights = 0;
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
	memcpy(&m, f->last[UNIC_CMD_QP_MODIFY], sizeof(m));
	assert_int_equal(m.state, UNIC_QPS_RTS);
	assert_int_equal(m.max_rd, 1);
	assert_int_equal(m.timeout, 17);
	assert_int_equal(mad_sent(f).max_dest_rd, 2);
	fake_delete(f);
}

static struct unic_cm_msg to_end_ours(struct fake *f, uint16_t type)
{
	struct unic_cm_msg m = to_answer(f, UNIC_CM_REP);

	mad_from(f, PEER, &m);
	m.type = type;
	m.qpn = 5;
	return m;
}

#define GONE 99

enum forgery {
	NO_LOCAL = 1u << 0,
	OTHER_LOCAL = 1u << 1,
	NO_REMOTE = 1u << 2,
	OTHER_REMOTE = 1u << 3,
	OTHER_TID = 1u << 4,
	OTHER_QPN = 1u << 5,
	OTHER_ADDRESS = 1u << 6,
	OTHER_MAC = 1u << 7,
	ANY = 0xff,
};

static void forge(struct fake *f, struct unic_cm_msg m, uint32_t what)
{
	if (what == NO_LOCAL || what == OTHER_LOCAL)
		m.local_comm = what == NO_LOCAL ? 0 : m.local_comm + 1;
	if (what == NO_REMOTE || what == OTHER_REMOTE)
		m.remote_comm = what == NO_REMOTE ? 0 : m.remote_comm ^ 1;
	if (what == OTHER_TID)
		m.tid ^= 1ull << 40;
	if (what == OTHER_QPN)
		m.qpn++;
	mad_from_mac(f, what == OTHER_ADDRESS ? PEER + 1 : PEER,
		     what == OTHER_MAC, &m);
}

/* A message that fits a connection in all but one field leaves it as it is, in
 * each of the states in which one that fits changes it. */
static void forged_messages_change_nothing(void **state)
{
	static const struct {
		struct unic_cm_msg (*begin)(struct fake *f, uint16_t type);
		uint16_t type;
		uint8_t then;	/* enum conn_state, or GONE */
		uint32_t fixed; /* enum forgery: what the peer cannot vary */
	} t[] = {
		/* a REJ of a REQ may have no id of the sender */
		{ to_answer, UNIC_CM_REP, C_ESTABLISHED,
		  ANY & ~(OTHER_QPN | NO_LOCAL | OTHER_LOCAL) },
		{ to_answer, UNIC_CM_REJ, GONE,
		  ANY & ~(OTHER_QPN | NO_LOCAL | OTHER_LOCAL) },
		{ to_confirm, UNIC_CM_RTU, C_ESTABLISHED, ANY & ~OTHER_QPN },
		/* a REJ after a lost message may have no id of the receiver */
		{ to_confirm, UNIC_CM_REJ, C_CLOSED,
		  ANY & ~(OTHER_QPN | NO_REMOTE) },
		{ to_confirm, UNIC_CM_DREQ, C_CLOSED, ANY },
		{ to_end, UNIC_CM_DREQ, C_CLOSED, ANY },
		{ to_end_ours, UNIC_CM_DREQ, C_CLOSED, ANY },
		{ to_part, UNIC_CM_DREP, GONE, ANY & ~OTHER_QPN },
		{ to_part, UNIC_CM_DREQ, GONE, ANY },
	};
	uint32_t i, bit, upcalls;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fake *f = fake_new();
		struct unic_cm_msg m = t[i].begin(f, t[i].type);
		struct conn *c = conn_with(f, PEER), before = *c;

		upcalls = f->host->upcalls;
		for (bit = 1; bit <= OTHER_MAC; bit <<= 1) {
			if (!(t[i].fixed & bit))
				continue;
			forge(f, m, bit);
			assert_ptr_equal(conn_with(f, PEER), c);
			assert_memory_equal(c, &before, sizeof(before));
			assert_int_equal(f->host->upcalls, upcalls);
		}
		forge(f, m, 0);
		if (t[i].then == GONE)
			assert_null(conn_with(f, PEER));
		else
			assert_int_equal(c->state, t[i].then);
		fake_delete(f);
	}
}

/* The peer ends the connection after its REP, before the client's QP is ready: it
 * repeats its DREQ, which gets an answer when the connection can end. */
static void dreq_before_the_qp_is_ready(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg m = to_answer(f, UNIC_CM_REP), dreq;
	uint32_t i, n = f->commands;

	(void)state;
	dreq = m;
	dreq.type = UNIC_CM_DREQ;
	dreq.qpn = 5;
	put_mad(f, PEER, 0, &m);
	put_mad(f, PEER, 0, &dreq);
	for (i = 0; i < 3; i++)
		unic_host_poll(f->host);
	assert_int_equal(conn_with(f, PEER)->state, C_MODIFY);
	settle(f);
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	assert_int_equal(f->commands, n + 4); /* three of the QP, and RTU */
	mad_from(f, PEER, &dreq);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	fake_delete(f);
}

/* IBTA has a DREQ begin a transaction of its own: only a peer that is unic repeats
 * the REQ's. */
static void dreq_of_a_stranger_has_its_own_transaction(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg m = to_end_ours(f, UNIC_CM_DREQ);

	(void)state;
	conn_with(f, PEER)->vendor = 0;
	forge(f, m, OTHER_QPN);
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	forge(f, m, OTHER_TID);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	fake_delete(f);
}

/* CONN_QUERY of the only connection: its reply is the last one of @f. */
static void query(struct fake *f)
{
	struct unic_ctl_obj r = {
		.id = unic_to_le32(conn_with(f, PEER)->obj.id),
	};

	assert_int_equal(request(f, UNIC_CTL_CONN_QUERY, &r), UNIC_ST_OK);
}

/* Private data of a DREQ is what a process learns of its closed connection. */
static void goodbyes_have_words(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg m = to_end(f, UNIC_CM_DREQ);
	struct unic_ctl_conn_reply reply;
	struct conn *c = conn_with(f, PEER);
	uint8_t mad[UNIC_MAD_BYTES];
	struct unic_cm_msg silent;

	(void)state;
	unic_cm_build(&m, mad);
	memset(mad + 36, 0xff, UNIC_CTL_PRIVATE_MAX); /* and no mark */
	assert_true(unic_cm_parse(mad, &silent));
	assert_int_equal(silent.priv_bytes, 0);
	query(f);
	memcpy(&reply, f->os.reply[0], sizeof(reply));
	assert_true(unic_from_le64(reply.transaction) == c->tid);
	m.priv_bytes = 5;
	memcpy(m.priv, "later", 5);
	mad_from(f, PEER, &m);
	assert_int_equal(c->state, C_CLOSED);
	query(f);
	assert_int_equal(f->os.reply_bytes[0], UNIC_CTL_BYTES + 5);
	assert_memory_equal((uint8_t *)f->os.reply[0] + UNIC_CTL_BYTES, "later",
			    5);
	c->vendor = 0;
	query(f);
	memcpy(&reply, f->os.reply[0], sizeof(reply));
	assert_true(!unic_from_le64(reply.transaction)); /* could be guessed */
	fake_delete(f);
	f = fake_new();
	m = to_end(f, UNIC_CM_DREQ);
	conn_with(f, PEER)->priv_bytes = 7; /* of its REQ */
	mad_from(f, PEER, &m);
	query(f);
	assert_int_equal(f->os.reply_bytes[0], UNIC_CTL_BYTES);
	fake_delete(f);
}

/* DISCONNECT sends its private data to a peer that is unic. Without any, and to other
 * peers, DREQ is as IBTA has it. */
static void disconnect_says_why(void **state)
{
	uint64_t msg[UNIC_CTL_MSG_MAX / 8];
	uint8_t zeroes[UNIC_MAD_BYTES] = { 0 };
	struct unic_ctl_obj r = { 0 };
	uint32_t i, bytes;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct fake *f = fake_new();
		struct unic_cm_msg m = to_end(f, UNIC_CM_DREQ);

		conn_with(f, PEER)->vendor = i < 2;
		bytes = i == 1 ? 0 : 5;
		r.hdr = (struct unic_ctl_hdr){
			.op = unic_to_le16(UNIC_CTL_DISCONNECT),
			.tail_bytes = unic_to_le32(bytes),
		};
		r.id = unic_to_le32(conn_with(f, PEER)->obj.id);
		memcpy(msg, &r, sizeof(r));
		memcpy((uint8_t *)msg + UNIC_CTL_BYTES, "again", 5);
		f->os.replies = 0;
		unic_host_request(f->host, &f->client, msg,
				  UNIC_CTL_BYTES + bytes);
		settle(f);
		m = mad_sent(f);
		assert_int_equal(m.type, UNIC_CM_DREQ);
		assert_int_equal(m.priv_bytes, i ? 0 : 5);
		if (!i)
			assert_memory_equal(m.priv, "again", 5);
		else
			assert_memory_equal(bytes_sent(f) + 36, zeroes,
					    UNIC_MAD_BYTES - 36);
		fake_delete(f);
	}
}

static void guessed_dreqs_end_nothing(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg right = to_end(f, UNIC_CM_DREQ), m = right;
	uint32_t i, seed = 1;

	(void)state;
	for (i = 0; i < 10000; i++) {
		seed = seed * 1664525 + 1013904223;
		m.remote_comm = i % 2 ? seed : 0x2000 + i / 2;
		m.local_comm = i % 3 ? 0x99 : 0;
		m.tid = i % 5 ? right.tid : m.remote_comm;
		mad_from(f, PEER, &m);
		assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	}
	/* an unknown connection has ended, and the peer may stop */
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREP);
	mad_from(f, PEER, &right);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREP);
	fake_delete(f);
}

/* An id on the wire is as random as the system's numbers, and unique among open
 * connections; the id that a process sees does not predict it. */
static void ids_on_the_wire_are_random(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i, id[3];
	struct unic_cm_msg m;

	(void)state;
	f->os.same_randoms = 20;
	for (i = 0; i < 3; i++) {
		r.qp = unic_to_le32(queues(f, mr));
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		m = mad_sent(f);
		assert_int_equal(m.type, UNIC_CM_REQ);
		id[i] = m.local_comm;
		assert_int_equal(m.tid >> 48, 0x5a5a);
		assert_int_equal(id[i] >> 24, 0x5a);
	}
	assert_int_not_equal(id[0], id[1]);
	assert_int_not_equal(id[1], id[2]);
	fake_delete(f);
}

static uint32_t psn_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static struct unic_cmd_qp_modify modified_to(const struct fake *f,
					     uint32_t state)
{
	struct unic_cmd_qp_modify m;

	memcpy(&m, f->modified[state], sizeof(m));
	return m;
}

/* The 24 bits at which a peer begins are drawn for each connection, whichever side
 * asks for it. (unic_os_random() draws 0x..5axxxx here.) */
static void starting_psns_are_drawn(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i, psn[4];

	(void)state;
	for (i = 0; i < 3; i++) {
		r.qp = unic_to_le32(queues(f, mr));
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		psn[i] = mad_sent(f).psn;
	}
	fake_delete(f);
	f = fake_new();
	f->os.randoms = 1000;
	to_confirm(f, UNIC_CM_RTU);
	psn[3] = mad_sent(f).psn;
	for (i = 0; i < 4; i++) {
		assert_int_equal(psn[i] >> 16, 0x5a);
		assert_int_not_equal(psn[i], psn[(i + 1) % 4]);
	}
	fake_delete(f);
}

/* The PSN in REQ and REP is the one at which their receiver begins to send. */
static void starting_psn_is_the_other_sides(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg req = connecting(f), rep = reply_of(&req);
	uint32_t said = psn_at(bytes_sent(f) + 24 + 44);

	(void)state;
	assert_true(said);
	mad_from(f, PEER, &rep);
	assert_int_equal(unic_from_le32(modified_to(f, UNIC_QPS_RTR).rq_psn),
			 said);
	assert_int_equal(unic_from_le32(modified_to(f, UNIC_QPS_RTS).sq_psn),
			 0x654321);
	fake_delete(f);
	f = fake_new();
	accepted(f);
	said = psn_at(bytes_sent(f) + 24 + 20);
	assert_true(said);
	assert_int_equal(unic_from_le32(modified_to(f, UNIC_QPS_RTR).rq_psn),
			 said);
	assert_int_equal(unic_from_le32(modified_to(f, UNIC_QPS_RTS).sq_psn),
			 0x123456);
	fake_delete(f);
}

/* The NIC is told that its peer understands REFUSED if both do, whichever side asks;
 * the peer is told that of the NIC. */
static void who_understands_refused(void **state)
{
	static const struct {
		uint64_t feature;
		uint8_t caps, want;
	} t[] = {
		{ UNIC_FEAT_TELL_REFUSED, UNIC_CM_CAP_REFUSED, 3 },
		{ UNIC_FEAT_TELL_REFUSED, 0xff, 3 },
		{ UNIC_FEAT_TELL_REFUSED, 0xfe, 1 },
		{ 0, UNIC_CM_CAP_REFUSED, 1 },
	};
	struct unic_cm_msg req, rep;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fake *f = fake_new();

		f->host->features |= t[i].feature;
		req = connecting(f);
		assert_int_equal(req.caps,
				 t[i].feature ? UNIC_CM_CAP_REFUSED : 0);
		rep = reply_of(&req);
		rep.caps = t[i].caps;
		mad_from(f, PEER, &rep);
		assert_int_equal(modified_to(f, UNIC_QPS_RTR).vendor,
				 t[i].want);
		fake_delete(f);
		f = fake_new();
		f->host->features |= t[i].feature;
		rep = accepted(f);
		assert_int_equal(rep.caps,
				 t[i].feature ? UNIC_CM_CAP_REFUSED : 0);
		assert_int_equal(modified_to(f, UNIC_QPS_RTR).vendor, 1);
		fake_delete(f);
	}
}

/* A REJ names the message that it refuses, and the ids of both sides. */
static void rej_names_what_it_refuses(void **state)
{
	struct unic_cm_msg req, rep = { .type = UNIC_CM_REP,
					.tid = 5,
					.local_comm = 0x88,
					.remote_comm = 0x12345,
					.qpn = 7 };
	struct unic_ctl_reject r = { 0 };
	struct fake *f = requested(&req);
	uint32_t sent, upcalls;

	(void)state;
	mad_from(f, PEER, &rep);
	assert_int_equal(bytes_sent(f)[24 + 8] >> 6, 1);
	assert_int_equal(mad_sent(f).local_comm, 0x12345);
	assert_int_equal(mad_sent(f).remote_comm, 0x88);
	r.conn = unic_to_le32(conn_with(f, PEER)->obj.id);
	assert_int_equal(request(f, UNIC_CTL_REJECT, &r), 0);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	assert_int_equal(bytes_sent(f)[24 + 8] >> 6, 0);
	assert_int_equal(mad_sent(f).remote_comm, 0x77);
	sent = f->given[UNIC_CMD_MAD_SEND];
	upcalls = f->host->upcalls;
	mad_from(f, PEER, &req); /* it was lost: the process is not asked */
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], sent + 1);
	assert_int_equal(mad_sent(f).reason, UNIC_CM_CONSUMER);
	assert_int_equal(f->host->upcalls, upcalls);
	fake_delete(f);
}

/* What QP_QUERY answers about queue pair @id; the NIC is not run. */
static uint32_t qp_state(struct fake *f, uint32_t id)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };

	ask(f, UNIC_CTL_QP_QUERY, &r);
	assert_int_equal(reply_status(f), UNIC_ST_OK);
	return reply_u32(f, 24);
}

/* At the upcall that says that a connection has ended, QP_QUERY says ERR: the driver
 * moves the queue pair itself. DISCONNECT, a DREQ or REJ of the peer, and the time-out of
 * REP do it. */
static void ended_connection_leaves_err(void **state)
{
	static const struct {
		struct unic_cm_msg (*begin)(struct fake *f, uint16_t type);
		uint16_t type; /* 0: of no message */
	} t[] = {
		{ to_end, UNIC_CM_DREQ },
		{ to_end_ours, UNIC_CM_DREQ },
		{ to_confirm, UNIC_CM_DREQ },
		{ to_confirm, UNIC_CM_REJ },
		{ to_confirm, 0 },
	};
	struct unic_ctl_obj r = { 0 };
	uint32_t i, qp, upcalls;
	struct fake *f;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct unic_cm_msg m;

		f = fake_new();
		m = t[i].begin(f, t[i].type);
		qp = conn_with(f, PEER)->qp;
		assert_int_equal(qp_state(f, qp), UNIC_QPS_RTS);
		upcalls = f->host->upcalls;
		if (t[i].type)
			put_mad(f, PEER, 0, &m);
		else
			f->os.now_ns += CONNECT_US * 1000ull;
		unic_host_poll(f->host);
		assert_int_equal(f->host->upcalls, upcalls + 1);
		assert_int_equal(qp_state(f, qp), UNIC_QPS_ERR);
		settle(f);
		assert_int_equal(qp_state(f, qp), UNIC_QPS_ERR);
		fake_delete(f);
	}
	f = fake_new();
	to_end(f, UNIC_CM_DREQ);
	qp = conn_with(f, PEER)->qp;
	r.id = unic_to_le32(conn_with(f, PEER)->obj.id);
	assert_int_equal(request(f, UNIC_CTL_DISCONNECT, &r), -1);
	assert_int_equal(qp_state(f, qp), UNIC_QPS_ERR);
	fake_delete(f);
}

/* Moves queue pair @id to @to, from RESET on, or to RESET. */
static void move_qp(struct fake *f, uint32_t id, uint8_t to)
{
	struct unic_ctl_qp_modify r = { .id = unic_to_le32(id),
					.dest_mac = { 2 },
					.state = to };

	if (to)
		move_qp(f, id, to - 1);
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &r), 0);
	assert_int_equal(qp_state(f, id), to);
}

/* CONNECT of a queue pair that is in another state than RESET sends nothing: neither
 * the NIC nor the peer gets a message. */
static void connect_wants_reset(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
	struct fake *f = fake_new();
	uint32_t qp = queues(f, region(f, 4)), n;
	uint8_t to;

	(void)state;
	r.qp = unic_to_le32(qp);
	for (to = UNIC_QPS_INIT; to <= UNIC_QPS_ERR; to++) {
		move_qp(f, qp, to);
		n = f->commands;
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r),
				 UNIC_ST_STATE);
		assert_int_equal(f->commands, n);
		assert_null(conn_with(f, PEER));
	}
	move_qp(f, qp, UNIC_QPS_RESET);
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REQ);
	fake_delete(f);
}

/* The NIC's answer to the latest question of the driver. */
static void arp_result(struct fake *f, bool ok)
{
	struct unic_evt_arp evt = { .hdr = { .type = UNIC_EVT_ARP_RESULT,
					     .proc = unic_to_le16(0xffff) },
				    .ipv4 = unic_to_le32(PEER),
				    .ok = ok };
	struct unic_cmd_arp asked;

	memcpy(&asked, f->last[UNIC_CMD_ARP_RESOLVE], sizeof(asked));
	evt.user = asked.user;
	event(f, &evt);
}

/* A host that does not answer ARP is asked for three times, unless the time of CONNECT
 * is over before. */
static void arp_is_asked_again(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
	struct fake *f = fake_new();
	uint32_t i, good;

	(void)state;
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_PENDING;
	r.qp = unic_to_le32(queues(f, region(f, 4)));
	for (good = 0; good <= ARP_TRIES; good++) {
		uint32_t before = f->given[UNIC_CMD_ARP_RESOLVE];

		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		for (i = 0; i < ARP_TRIES && !f->os.replies && i != good; i++)
			arp_result(f, false);
		if (good == ARP_TRIES)
			break;
		assert_int_equal(f->os.replies, 0);
		assert_int_equal(f->given[UNIC_CMD_ARP_RESOLVE] - before,
				 good + 1);
		arp_result(f, true);
		assert_int_equal(mad_sent(f).type, UNIC_CM_REQ);
		pass(f, CONNECT_US / 1000 + 1);
		assert_int_equal(reply_status(f), UNIC_CTL_ST_UNREACHABLE);
	}
	assert_int_equal(reply_status(f), UNIC_CTL_ST_UNREACHABLE);
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
	pass(f, CONNECT_US / 1000 + 1);
	assert_int_equal(reply_status(f), UNIC_CTL_ST_UNREACHABLE);
	assert_null(conn_with(f, PEER));
	fake_delete(f);
}

/* ACCEPT with a queue pair of UD, or in another state than RESET, leaves the request of
 * the peer as it is, with its times: the process accepts with another queue pair, or
 * rejects. */
static void accept_wants_reset(void **state)
{
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .local_comm = 0x99,
				   .service = 4711,
				   .qpn = 6,
				   .mtu_shift = 10,
				   .vendor = 1 };
	struct unic_ctl_connect a = { 0 };
	struct unic_ctl_reject r = { 0 };
	struct fake *f = fake_new();
	struct unic_ctl_qp_create ud = { .sq_slots = unic_to_le16(16),
					 .type = UNIC_QPT_UD };
	uint32_t mr, qp, commands, i;
	struct conn *c, before;
	uint8_t to;

	(void)state;
	listens(f, &mr);
	for (i = 0; i < 2; i++) {
		req.tid = i;
		mad_from(f, PEER + i, &req);
		c = conn_with(f, PEER + i);
		before = *c;
		a.conn = r.conn = unic_to_le32(c->obj.id);
		assert_int_equal(queues_as(f, mr, ud), 0);
		a.qp = unic_to_le32(reply_u32(f, 16));
		assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a),
				 UNIC_ST_STATE);
		qp = queues(f, mr);
		a.qp = unic_to_le32(qp);
		for (to = UNIC_QPS_INIT; to <= UNIC_QPS_ERR; to++) {
			move_qp(f, qp, to);
			commands = f->commands;
			assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a),
					 UNIC_ST_STATE);
			assert_int_equal(f->commands, commands);
			assert_ptr_equal(conn_with(f, PEER + i), c);
			assert_memory_equal(c, &before, sizeof(before));
		}
		a.qp = unic_to_le32(queues(f, mr));
		if (i)
			assert_int_equal(request(f, UNIC_CTL_REJECT, &r), 0);
		else
			assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
		assert_int_equal(mad_sent(f).type,
				 i ? UNIC_CM_REJ : UNIC_CM_REP);
	}
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm_messages_survive_the_wire),
		cmocka_unit_test(cm_garbage_is_refused),
		cmocka_unit_test(impossible_requests_are_rejected),
		cmocka_unit_test(peer_gives_up_before_it_heard_of_us),
		cmocka_unit_test(silent_peer_has_given_up),
		cmocka_unit_test(request_of_another_is_another),
		cmocka_unit_test(queue_of_requests_is_ones_own),
		cmocka_unit_test(late_rep_is_told_so),
		cmocka_unit_test(forged_messages_change_nothing),
		cmocka_unit_test(dreq_before_the_qp_is_ready),
		cmocka_unit_test(dreq_of_a_stranger_has_its_own_transaction),
		cmocka_unit_test(goodbyes_have_words),
		cmocka_unit_test(disconnect_says_why),
		cmocka_unit_test(guessed_dreqs_end_nothing),
		cmocka_unit_test(ids_on_the_wire_are_random),
		cmocka_unit_test(starting_psn_is_the_other_sides),
		cmocka_unit_test(starting_psns_are_drawn),
		cmocka_unit_test(who_understands_refused),
		cmocka_unit_test(rej_names_what_it_refuses),
		cmocka_unit_test(unreliable_connects),
		cmocka_unit_test(refused_accept_keeps_the_offer),
		cmocka_unit_test(slow_nics_say_so),
		cmocka_unit_test(unreliable_is_accepted),
		cmocka_unit_test(ended_connection_leaves_err),
		cmocka_unit_test(arp_is_asked_again),
		cmocka_unit_test(connect_wants_reset),
		cmocka_unit_test(accept_wants_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
