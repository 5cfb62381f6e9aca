/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_raw.c - raw connections of the host driver: their process moves the queue
 * pair itself. Requests, datagrams of a peer, times, and what is refused. Host only.
 */
#include "unit.h"

#include "cm/cm_conn.h"
#include "driver_rig.h"
#include "host.h"

#define SERVICE 0x01061d2full
#define QPN	5u /* of the queue pair that the process has */
#define TID	0x1122334455667788ull

static struct fake *with_qp(void)
{
	struct fake *f = fake_new();

	queues(f, region(f, 8));
	return f;
}

/* Send request @op, @rec of 64 bytes, with @bytes of private data. */
static uint32_t say(struct fake *f, uint16_t op, const void *rec,
		    const void *data, uint32_t bytes)
{
	uint64_t msg[(UNIC_CTL_BYTES + UNIC_CTL_CM_PRIVATE_MAX + 8) / 8];
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .tail_bytes = unic_to_le32(bytes) };

	memcpy(msg, rec, UNIC_CTL_BYTES);
	memcpy(msg, &hdr, sizeof(hdr));
	if (bytes)
		memcpy((uint8_t *)msg + UNIC_CTL_BYTES, data, bytes);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, msg,
				      UNIC_CTL_BYTES + bytes));
	settle(f);
	return reply_status(f);
}

static uint32_t say_obj(struct fake *f, uint16_t op, uint32_t conn)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(conn) };

	return say(f, op, &r, NULL, 0);
}

/* CM_QUERY of @conn, with the private data in @data. */
static struct unic_ctl_cm_reply query(struct fake *f, uint32_t conn,
				      uint8_t *data, uint32_t *bytes)
{
	struct unic_ctl_cm_reply r;

	assert_int_equal(say_obj(f, UNIC_CTL_CM_QUERY, conn), UNIC_ST_OK);
	memcpy(&r, f->os.reply[0], sizeof(r));
	*bytes = f->os.reply_bytes[0] - UNIC_CTL_BYTES;
	memcpy(data, (uint8_t *)f->os.reply[0] + UNIC_CTL_BYTES, *bytes);
	return r;
}

static uint32_t state_of(struct fake *f, uint32_t conn)
{
	uint8_t data[UNIC_CTL_CM_PRIVATE_MAX];
	uint32_t bytes;

	return unic_from_le32(query(f, conn, data, &bytes).state);
}

static struct unic_ctl_cm connect_to(uint8_t type)
{
	return (struct unic_ctl_cm){
		.service = unic_to_le64(SERVICE),
		.ipv4 = unic_to_le32(PEER),
		.user = unic_to_le32(77),
		.qpn = unic_to_le32(type == UNIC_QPT_UD ? 0 : QPN),
		.qp_type = type,
		.max_dest_rd = 3,
		.max_rd = 2,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 5,
	};
}

/* CM_CONNECT of @type with @bytes of "x": the id of the connection. */
static uint32_t connecting_as(struct fake *f, uint8_t type, uint32_t bytes)
{
	struct unic_ctl_cm r = connect_to(type);
	uint8_t data[UNIC_CTL_CM_PRIVATE_MAX];

	memset(data, 'x', sizeof(data));
	assert_int_equal(say(f, UNIC_CTL_CM_CONNECT, &r, data, bytes),
			 UNIC_ST_OK);
	return reply_u32(f, 16);
}

/* A process that listens, and a request of PEER of @type; the connection's id. */
static uint32_t asked(struct fake *f, uint16_t type)
{
	struct unic_ctl_listen l = {
		.service = unic_to_le64(SERVICE),
		.user = unic_to_le32(9),
		.flags = unic_to_le32(UNIC_CTL_LISTEN_RAW),
	};
	struct unic_cm_msg req = { .type = type,
				   .raw = 1,
				   .tid = TID,
				   .local_comm = 0x77,
				   .service = SERVICE,
				   .qpn = 0x123456,
				   .psn = 0xabcdef,
				   .max_dest_rd = 2,
				   .max_rd = 1,
				   .timeout = 16,
				   .retry_cnt = 4,
				   .rnr_retry = 3,
				   .mtu_shift = 10 };
	struct unic_upcall_conn up;
	uint32_t n = 0;

	req.priv_bytes = unic_cm_room(type);
	memset(req.priv, 'r', req.priv_bytes);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), UNIC_ST_OK);
	mad_from(f, PEER, &req);
	while (upcall_type(f, n) && upcall_type(f, n) != UNIC_UP_CM)
		n++;
	memcpy(&up, upcall(f, n), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_CM);
	assert_int_equal(unic_from_le32(up.user), 9);
	return unic_from_le32(up.hdr.id);
}

/* Another REQ of PEER to the listener of asked(); the connection's id. */
static uint32_t asked_again(struct fake *f, uint64_t tid)
{
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .raw = 1,
				   .tid = tid,
				   .local_comm = 0x77,
				   .service = SERVICE,
				   .mtu_shift = 10 };
	const struct unic_obj *obj;
	uint32_t at = 0, id = 0;

	mad_from(f, PEER, &req);
	while ((obj = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_CONN, 0)))
		id = obj->id;
	return id;
}

static struct unic_ctl_cm accept_of(uint32_t conn)
{
	return (struct unic_ctl_cm){ .conn = unic_to_le32(conn),
				     .user = unic_to_le32(78),
				     .qpn = unic_to_le32(QPN),
				     .max_dest_rd = 1,
				     .max_rd = 2,
				     .timeout = 12,
				     .retry_cnt = 7,
				     .rnr_retry = 7 };
}

static uint32_t count_modifies(const struct fake *f)
{
	return f->given[UNIC_CMD_QP_MODIFY];
}

/* -------------------------------------------------------------------- RC, active */

static void asks_and_confirms(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = connecting_as(f, UNIC_QPT_RC, 92), bytes;
	struct unic_cm_msg req = mad_sent(f), rep = reply_of(&req), m;
	struct unic_ctl_cm confirm = { .conn = unic_to_le32(conn) };
	uint8_t data[UNIC_CTL_CM_PRIVATE_MAX];
	struct unic_ctl_cm_reply r;

	(void)state;
	assert_int_equal(req.type, UNIC_CM_REQ);
	assert_int_equal(req.qpn, QPN);
	assert_int_equal(req.max_dest_rd, 3);
	assert_int_equal(req.max_rd, 2);
	assert_int_equal(req.retry_cnt, 6);
	assert_int_equal(req.rnr_retry, 5);
	assert_int_equal(req.vendor, 0); /* no mark */
	assert_int_equal(req.priv_bytes, 92);
	assert_int_equal(req.priv[56], 'x');
	assert_int_equal(req.priv[91], 'x');
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_CONNECTING);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &confirm, NULL, 0),
			 UNIC_ST_STATE);
	rep.raw = 1;
	rep.max_dest_rd = 1; /* the peer takes less */
	rep.max_rd = 4;	     /* and offers more */
	rep.timeout = 17;
	rep.rnr_retry = 2; /* what this side is to do */
	rep.priv_bytes = 196;
	memset(rep.priv, 'y', 196);
	mad_from(f, PEER, &rep);
	r = query(f, conn, data, &bytes);
	assert_int_equal(unic_from_le32(r.state), UNIC_CTL_CONN_REPLIED);
	assert_int_equal(unic_from_le32(r.user), 77);
	assert_int_equal(unic_from_le32(r.peer_qpn), rep.qpn);
	assert_int_equal(unic_from_le32(r.sq_psn), rep.psn);
	assert_int_equal(unic_from_le32(r.rq_psn), req.psn);
	assert_int_equal(r.max_rd, 1);
	assert_int_equal(r.max_dest_rd, 3);
	assert_int_equal(r.timeout, 17);
	assert_int_equal(r.rnr_retry, 2);
	assert_int_equal(r.retry_cnt, 6);
	assert_int_equal(r.was_up, 0);
	assert_int_equal(bytes, 196);
	assert_int_equal(data[195], 'y');
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &confirm, "z", 1),
			 UNIC_ST_INVALID);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &confirm, NULL, 0),
			 UNIC_ST_OK);
	assert_int_equal(mad_sent(f).type, UNIC_CM_RTU);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_ESTABLISHED);
	mad_from(f, PEER, &rep); /* the RTU was lost */
	assert_int_equal(mad_sent(f).type, UNIC_CM_RTU);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_DISCONNECT, conn), UNIC_ST_OK);
	m = mad_sent(f);
	assert_int_equal(m.type, UNIC_CM_DREQ);
	assert_int_equal(m.qpn, rep.qpn);
	m = message(UNIC_CM_DREP, &m);
	m.local_comm = rep.local_comm;
	mad_from(f, PEER, &m);
	r = query(f, conn, data, &bytes);
	assert_int_equal(unic_from_le32(r.state), UNIC_CTL_CONN_CLOSED);
	assert_int_equal(r.was_up, 1);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_QUERY, conn),
			 UNIC_CTL_ST_NO_CONN);
	assert_int_equal(count_modifies(f), 0);
	fake_delete(f);
}

static void ends_without_an_answer(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn, i;

	(void)state;
	conn = connecting_as(f, UNIC_QPT_RC, 0);
	pass(f, 9900);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_CONNECTING);
	pass(f, 200);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	assert_int_equal(mad_sent(f).reason, UNIC_CM_TIMEOUT);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_UNREACHABLE);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	/* nobody has the address */
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_TIMEOUT;
	i = f->given[UNIC_CMD_ARP_RESOLVE];
	conn = connecting_as(f, UNIC_QPT_RC, 0);
	assert_int_equal(f->given[UNIC_CMD_ARP_RESOLVE] - i, ARP_TRIES);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_UNREACHABLE);
	fake_delete(f);
}

static void is_refused_with_a_reason(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = connecting_as(f, UNIC_QPT_RC, 0), bytes;
	struct unic_cm_msg req = mad_sent(f), rej = message(UNIC_CM_REJ, &req);
	uint8_t data[UNIC_CTL_CM_PRIVATE_MAX];
	struct unic_ctl_cm_reply r;

	(void)state;
	rej.raw = 1;
	rej.reason = UNIC_CM_CONSUMER;
	rej.priv_bytes = 148;
	memset(rej.priv, 'n', 148);
	/* what looks like a mark is the consumer's */
	memcpy(rej.priv + UNIC_CM_MARK_AT, "UNIC\1\2\0", 8);
	mad_from(f, PEER, &rej);
	r = query(f, conn, data, &bytes);
	assert_int_equal(unic_from_le32(r.state), UNIC_CTL_CONN_REJECTED);
	assert_int_equal(unic_from_le32(r.reason), UNIC_CM_CONSUMER);
	assert_int_equal(bytes, 148);
	assert_int_equal(data[147], 'n');
	assert_memory_equal(data + UNIC_CM_MARK_AT, "UNIC\1\2\0", 8);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_DISCONNECT, conn),
			 UNIC_ST_STATE);
	fake_delete(f);
}

/* ------------------------------------------------------------------- RC, passive */

static void answers_and_is_confirmed(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = asked(f, UNIC_CM_REQ), bytes;
	uint8_t data[UNIC_CTL_CM_PRIVATE_MAX];
	struct unic_ctl_cm r = accept_of(conn);
	struct unic_ctl_cm_reply q = query(f, conn, data, &bytes);
	struct unic_cm_msg rep, m;

	(void)state;
	assert_int_equal(unic_from_le32(q.state), UNIC_CTL_CONN_REQUESTED);
	assert_true(unic_from_le64(q.service) == SERVICE);
	assert_int_equal(unic_from_le32(q.peer_qpn), 0x123456);
	assert_int_equal(unic_from_le32(q.sq_psn), 0xabcdef);
	assert_int_equal(q.max_rd, 2);
	assert_int_equal(q.max_dest_rd, 1);
	assert_int_equal(q.retry_cnt, 4);
	assert_int_equal(q.rnr_retry, 3);
	assert_int_equal(bytes, 92);
	assert_int_equal(data[91], 'r');
	memset(data, 'a', 196);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, data, 197),
			 UNIC_ST_INVALID);
	r.qpn = unic_to_le32(QPN + 1);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, data, 196),
			 UNIC_ST_NO_QP);
	r.qpn = unic_to_le32(QPN);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, data, 196), UNIC_ST_OK);
	rep = mad_sent(f);
	assert_int_equal(rep.type, UNIC_CM_REP);
	assert_int_equal(rep.qpn, QPN);
	assert_int_equal(rep.psn, unic_from_le32(q.rq_psn));
	assert_int_equal(rep.timeout, 12); /* its own; the longer one counts */
	assert_int_equal(rep.rnr_retry, 7);
	assert_int_equal(rep.priv_bytes, 196);
	assert_int_equal(rep.priv[195], 'a');
	m = message(UNIC_CM_RTU, &rep);
	m.local_comm = 0x77;
	mad_from(f, PEER, &m);
	q = query(f, conn, data, &bytes);
	assert_int_equal(unic_from_le32(q.state), UNIC_CTL_CONN_ESTABLISHED);
	assert_int_equal(unic_from_le32(q.user), 78);
	assert_int_equal(q.timeout, 16);
	assert_int_equal(q.rnr_retry, 3); /* as the REQ says, also now */
	assert_int_equal(q.retry_cnt, 4);
	mad_from(f, PEER, &m); /* once more */
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_ESTABLISHED);
	m.type = UNIC_CM_REJ; /* it has confirmed */
	mad_from(f, PEER, &m);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_ESTABLISHED);
	m.type = UNIC_CM_DREQ;
	m.qpn = QPN;
	m.tid = TID + 1; /* a conventional peer begins a transaction */
	m.priv_bytes = 3;
	mad_from(f, PEER, &m);
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREP);
	q = query(f, conn, data, &bytes);
	assert_int_equal(unic_from_le32(q.state), UNIC_CTL_CONN_CLOSED);
	assert_int_equal(bytes, 0); /* a DREQ has none, whatever looks so */
	assert_int_equal(count_modifies(f), 0);
	fake_delete(f);
}

static void hears_nothing_after_its_answer(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = asked(f, UNIC_CM_REQ);
	struct unic_ctl_cm r = accept_of(conn);

	(void)state;
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, NULL, 0), UNIC_ST_OK);
	pass(f, 10100);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_UNREACHABLE);
	assert_int_equal(count_modifies(f), 0);
	fake_delete(f);
}

static void refuses_with_words(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = asked(f, UNIC_CM_REQ);
	struct unic_ctl_reject r = { .conn = unic_to_le32(conn) };
	uint8_t no[149];

	(void)state;
	memset(no, 'n', sizeof(no));
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &r, no, 149),
			 UNIC_ST_INVALID);
	r.reason = unic_to_le32(8);
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &r, no, 148),
			 UNIC_ST_INVALID);
	r.reason = unic_to_le32(UNIC_CM_VENDOR_OPTION);
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &r, no, 148), UNIC_ST_OK);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	assert_int_equal(mad_sent(f).reason, 35);
	assert_int_equal(mad_sent(f).priv[147], 'n');
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &r, no, 1), UNIC_ST_STATE);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	fake_delete(f);
}

/* The REJ was lost: the REQ that comes again gets the same one, before CM_FREE and after
 * it, and asks nobody. */
static void refusals_are_said_again(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = asked(f, UNIC_CM_REQ), n, i;
	struct unic_ctl_reject r = { .conn = unic_to_le32(conn) };
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .raw = 1,
				   .tid = TID,
				   .local_comm = 0x77,
				   .service = SERVICE,
				   .mtu_shift = 10 };
	struct unic_cm_msg rej;
	uint32_t upcalls = f->host->upcalls;

	(void)state;
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &r, "no", 2), UNIC_ST_OK);
	rej = mad_sent(f);
	n = f->given[UNIC_CMD_MAD_SEND];
	for (i = 1; i <= 5; i++) {
		mad_from(f, PEER, &req);
		assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + i);
		assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
		assert_int_equal(mad_sent(f).local_comm, rej.local_comm);
		assert_memory_equal(mad_sent(f).priv, "no", 2);
		pass(f, 7000);
		if (i == 2)
			say_obj(f, UNIC_CTL_CM_FREE, conn);
	}
	assert_int_equal(f->host->upcalls, upcalls);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_QUERY, conn),
			 UNIC_CTL_ST_NO_CONN);
	pass(f, 1100);
	assert_null(conn_with(f, PEER));
	/* one that ends with its process, or is freed, is refused likewise */
	conn = asked_again(f, TID + 1);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	upcalls = f->host->upcalls;
	req.tid = TID + 1;
	mad_from(f, PEER, &req);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	assert_int_equal(f->host->upcalls, upcalls);
	fake_delete(f);
}

/* So is the REJ of a REP. */
static void refusals_of_answers_are_said_again(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = connecting_as(f, UNIC_QPT_RC, 0), n;
	struct unic_cm_msg req = mad_sent(f), rep = reply_of(&req);
	struct unic_ctl_reject r = { .conn = unic_to_le32(conn) };

	(void)state;
	mad_from(f, PEER, &rep);
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &r, "no", 2), UNIC_ST_OK);
	n = f->given[UNIC_CMD_MAD_SEND];
	mad_from(f, PEER, &rep);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1);
	assert_int_equal(mad_sent(f).reason, UNIC_CM_CONSUMER);
	assert_int_equal(mad_sent(f).rejected, UNIC_CM_OF_REP);
	fake_delete(f);
}

/* The driver keeps 64 refusals without an owner. The one that was said longest ago gives
 * way. */
static void refusals_are_bounded(void **state)
{
	struct fake *f = with_qp();
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .raw = 1,
				   .local_comm = 0x77,
				   .service = SERVICE,
				   .mtu_shift = 10 };
	uint32_t i, upcalls, conn = asked(f, UNIC_CM_REQ);

	(void)state;
	req.tid = TID + 1;
	for (i = 1; i <= 65; i++) {
		if (i == 65)
			mad_from(f, PEER, &req); /* said again */
		assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn),
				 UNIC_ST_OK);
		pass(f, 1);
		if (i < 65)
			conn = asked_again(f, TID + i);
	}
	assert_int_equal(unic_obj_count(&f->host->objects, UNIC_OBJ_CONN,
					UNIC_NOBODY),
			 64);
	upcalls = f->host->upcalls;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, upcalls);
	req.tid = TID;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, upcalls + 1);
	fake_delete(f);
	/* the first in the table was said again, so the second gives way */
	f = with_qp();
	conn = asked(f, UNIC_CM_REQ);
	req.tid = TID;
	for (i = 1; i <= 65; i++) {
		if (i == 65)
			mad_from(f, PEER, &req);
		assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn),
				 UNIC_ST_OK);
		pass(f, 1);
		if (i < 65)
			conn = asked_again(f, TID + i);
	}
	upcalls = f->host->upcalls;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, upcalls);
	req.tid = TID + 1;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, upcalls + 1);
	fake_delete(f);
}

/* What a process leaves behind, its peers hear of. */
static void frees_say_what_is_due(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = asked(f, UNIC_CM_REQ);
	struct unic_ctl_cm r = accept_of(conn);
	struct unic_cm_msg dreq, m;

	(void)state;
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	fake_delete(f);
	f = with_qp();
	conn = asked(f, UNIC_CM_REQ);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, NULL, 0), UNIC_ST_OK);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREQ);
	m = message(UNIC_CM_DREP, (dreq = mad_sent(f), &dreq));
	m.local_comm = 0x77;
	mad_from(f, PEER, &m);
	assert_null(conn_with(f, PEER));
	fake_delete(f);
}

/* Nobody answers a request: after half a minute the process that was asked loses it. */
static void requests_have_their_time(void **state)
{
	static const uint16_t type[] = { UNIC_CM_REQ, UNIC_CM_SIDR_REQ };
	struct unic_cm_msg rtu = { .type = UNIC_CM_RTU,
				   .tid = TID,
				   .local_comm = 0x77 };
	struct fake *f;
	uint32_t i, conn, n;

	(void)state;
	for (i = 0; i < 2; i++) {
		f = with_qp();
		conn = asked(f, type[i]);
		rtu.remote_comm = conn_with(f, PEER)->comm;
		mad_from(f, PEER, &rtu); /* of an answer that nobody gave */
		assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_REQUESTED);
		n = f->given[UNIC_CMD_MAD_SEND];
		pass(f, 31000);
		assert_null(conn_with(f, PEER));
		/* who asks by SIDR asks again by itself */
		assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + (i == 0));
		fake_delete(f);
	}
}

/* Whoever asked gives up. */
static void requests_are_taken_back(void **state)
{
	struct fake *f = with_qp();
	struct unic_cm_msg rej = { .type = UNIC_CM_REJ,
				   .tid = TID,
				   .local_comm = 0x77,
				   .reason = UNIC_CM_TIMEOUT };

	(void)state;
	asked(f, UNIC_CM_REQ);
	rej.remote_comm = conn_with(f, PEER)->comm;
	mad_from(f, PEER, &rej);
	assert_null(conn_with(f, PEER));
	fake_delete(f);
}

/* A REJ ends a connection in any state but the last ones. */
static void any_open_state_can_be_refused(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = connecting_as(f, UNIC_QPT_UC, 0);
	struct unic_cm_msg req = mad_sent(f), rep = reply_of(&req);
	struct unic_cm_msg rej = message(UNIC_CM_REJ, &req);
	struct unic_ctl_cm r = { .conn = unic_to_le32(conn) };
	struct unic_ctl_reject no = { .conn = unic_to_le32(conn) };

	(void)state;
	assert_int_equal(req.qp_type, UNIC_QPT_UC);
	mad_from(f, PEER, &rep);
	assert_int_equal(conn_with(f, PEER)->vendor, 0); /* it has a mark */
	rej.reason = UNIC_CM_TIMEOUT;
	mad_from(f, PEER, &rej); /* the peer waited for RTU */
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_REJECTED);
	mad_from(f, PEER, &rej);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	conn = connecting_as(f, UNIC_QPT_RC, 0);
	req = mad_sent(f);
	rep = reply_of(&req);
	r.conn = no.conn = unic_to_le32(conn);
	mad_from(f, PEER, &rep);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, NULL, 0), UNIC_ST_OK);
	rej = message(UNIC_CM_REJ, &req);
	rej.reason = UNIC_CM_TIMEOUT;
	mad_from(f, PEER, &rej); /* ... and did not get it */
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_REJECTED);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	/* what the answer says does not please */
	conn = connecting_as(f, UNIC_QPT_RC, 0);
	req = mad_sent(f);
	rep = reply_of(&req);
	no.conn = unic_to_le32(conn);
	mad_from(f, PEER, &rep);
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &no, NULL, 0), UNIC_ST_OK);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	assert_int_equal(mad_sent(f).rejected, UNIC_CM_OF_REP);
	fake_delete(f);
	f = with_qp();
	conn = asked(f, UNIC_CM_REQ);
	r = accept_of(conn);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, NULL, 0), UNIC_ST_OK);
	rej = message(UNIC_CM_REJ, (req = mad_sent(f), &req));
	rej.local_comm = 0x77;
	mad_from(f, PEER, &rej);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_REJECTED);
	mad_from(f, PEER, &rej); /* it is not open any more */
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_REJECTED);
	fake_delete(f);
}

/* Whoever has its answer, and does not say so, is not connected. */
static void confirms_in_time(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = connecting_as(f, UNIC_QPT_RC, 0);
	struct unic_cm_msg req = mad_sent(f), rep = reply_of(&req);

	(void)state;
	mad_from(f, PEER, &rep);
	pass(f, 29900);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_REPLIED);
	pass(f, 200);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	assert_int_equal(mad_sent(f).rejected, UNIC_CM_OF_REP);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_UNREACHABLE);
	fake_delete(f);
	f = with_qp();
	conn = connecting_as(f, UNIC_QPT_RC, 0);
	req = mad_sent(f);
	rep = reply_of(&req);
	mad_from(f, PEER, &rep);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREQ);
	fake_delete(f);
}

/* The answer of ARP comes after the connection has ended, or not at all. */
static void nobody_waits_for_arp(void **state)
{
	struct fake *f = with_qp();
	struct unic_evt_arp arp = { .hdr = { .type = UNIC_EVT_ARP_RESULT } };
	struct unic_ctl_cm r = connect_to(UNIC_QPT_RC);
	uint32_t conn, n;

	(void)state;
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_PENDING;
	r.timeout_us = unic_to_le32(2000000);
	r.mtu_shift = 9;
	assert_int_equal(say(f, UNIC_CTL_CM_CONNECT, &r, NULL, 0), UNIC_ST_OK);
	conn = reply_u32(f, 16);
	n = f->given[UNIC_CMD_MAD_SEND];
	pass(f, 2100);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_UNREACHABLE);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n); /* to whom? */
	arp.user = unic_to_le32(1);
	arp.ok = 1;
	event(f, &arp);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_UNREACHABLE);
	assert_int_equal(say(f, UNIC_CTL_CM_CONNECT, &r, NULL, 0), UNIC_ST_OK);
	conn = reply_u32(f, 16);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	arp.user = unic_to_le32(2);
	event(f, &arp);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n);
	fake_delete(f);
}

/* Of private data without a length, others than raw ones get 56 bytes. */
static void managed_ones_get_56_bytes(void **state)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(SERVICE) };
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .raw = 1,
				   .tid = TID,
				   .local_comm = 0x77,
				   .service = SERVICE,
				   .mtu_shift = 10,
				   .priv_bytes = 92 };
	struct fake *f = with_qp();

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), UNIC_ST_OK);
	mad_from(f, PEER, &req);
	assert_int_equal(say_obj(f, UNIC_CTL_CONN_QUERY,
				 conn_with(f, PEER)->obj.id),
			 UNIC_ST_OK);
	assert_int_equal(f->os.reply_bytes[0], UNIC_CTL_BYTES + 56);
	fake_delete(f);
}

/* -------------------------------------------------------------------------- UD */

static void sidr_asks(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = connecting_as(f, UNIC_QPT_UD, 216), bytes;
	struct unic_cm_msg req = mad_sent(f);
	struct unic_cm_msg rep = { .type = UNIC_CM_SIDR_REP,
				   .tid = req.tid,
				   .remote_comm = req.local_comm,
				   .service = SERVICE,
				   .qpn = 0x4321,
				   .qkey = 0x01234567,
				   .priv_bytes = 136,
				   .priv = "words" };
	uint8_t data[UNIC_CTL_CM_PRIVATE_MAX];
	struct unic_ctl_cm_reply r;

	(void)state;
	assert_int_equal(req.type, UNIC_CM_SIDR_REQ);
	assert_true(req.service == SERVICE);
	assert_int_equal(req.priv[215], 'x');
	mad_from(f, PEER + 1, &rep); /* of somebody else */
	rep.tid++;
	mad_from(f, PEER, &rep); /* of another transaction */
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_CONNECTING);
	rep.tid--;
	mad_from(f, PEER, &rep);
	r = query(f, conn, data, &bytes);
	assert_int_equal(unic_from_le32(r.state), UNIC_CTL_CONN_ESTABLISHED);
	assert_int_equal(r.was_up, 1);
	assert_int_equal(unic_from_le32(r.peer_qpn), 0x4321);
	assert_int_equal(unic_from_le32(r.qkey), 0x01234567);
	assert_int_equal(r.qp_type, UNIC_QPT_UD);
	assert_int_equal(bytes, 136);
	assert_string_equal((char *)data, "words");
	assert_int_equal(say_obj(f, UNIC_CTL_CM_DISCONNECT, conn),
			 UNIC_ST_STATE);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	conn = connecting_as(f, UNIC_QPT_UD, 0);
	rep.tid = mad_sent(f).tid;
	rep.remote_comm = mad_sent(f).local_comm;
	rep.reason = UNIC_SIDR_NO_SERVICE;
	mad_from(f, PEER, &rep);
	r = query(f, conn, data, &bytes);
	assert_int_equal(unic_from_le32(r.state), UNIC_CTL_CONN_REJECTED);
	assert_int_equal(unic_from_le32(r.reason), UNIC_SIDR_NO_SERVICE);
	fake_delete(f);
}

static void sidr_answers(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = asked(f, UNIC_CM_SIDR_REQ), bytes, n;
	uint8_t data[UNIC_CTL_CM_PRIVATE_MAX];
	struct unic_ctl_cm r = accept_of(conn);
	struct unic_cm_msg rep, again = { .type = UNIC_CM_SIDR_REQ,
					  .tid = TID,
					  .local_comm = 0x77,
					  .service = SERVICE };

	(void)state;
	query(f, conn, data, &bytes);
	assert_int_equal(bytes, 216);
	r.qkey = unic_to_le32(0x01234567);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, "hello", 5),
			 UNIC_ST_OK);
	rep = mad_sent(f);
	assert_int_equal(rep.type, UNIC_CM_SIDR_REP);
	assert_int_equal(rep.reason, UNIC_SIDR_OK);
	assert_int_equal(rep.remote_comm, 0x77);
	assert_true(rep.tid == TID && rep.service == SERVICE);
	assert_int_equal(rep.qpn, QPN);
	assert_int_equal(rep.qkey, 0x01234567);
	assert_memory_equal(rep.priv, "hello", 5);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_ESTABLISHED);
	n = f->given[UNIC_CMD_MAD_SEND];
	mad_from(f, PEER, &again); /* the answer was lost */
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1);
	assert_int_equal(mad_sent(f).type, UNIC_CM_SIDR_REP);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1); /* no DREQ */
	fake_delete(f);
}

static void sidr_is_refused(void **state)
{
	struct fake *f = with_qp();
	struct unic_cm_msg req = { .type = UNIC_CM_SIDR_REQ,
				   .tid = 5,
				   .local_comm = 6,
				   .service = 4711 };
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct unic_ctl_reject r = { 0 };
	uint32_t conn, n;

	(void)state;
	mad_from(f, PEER, &req);
	assert_int_equal(mad_sent(f).type, UNIC_CM_SIDR_REP);
	assert_int_equal(mad_sent(f).reason, UNIC_SIDR_NO_SERVICE);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), UNIC_ST_OK);
	n = f->given[UNIC_CMD_MAD_SEND];
	mad_from(f, PEER, &req); /* its connections are not raw */
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1);
	assert_int_equal(mad_sent(f).reason, UNIC_SIDR_NO_SERVICE);
	conn = asked(f, UNIC_CM_SIDR_REQ);
	r.conn = unic_to_le32(conn);
	r.reason = unic_to_le32(8); /* UD has none */
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &r, "no", 2), UNIC_ST_OK);
	assert_int_equal(mad_sent(f).reason, UNIC_SIDR_REJECTED);
	assert_memory_equal(mad_sent(f).priv, "no", 2);
	fake_delete(f);
}

/* Messages that another type of connection, or another state, has. */
static void odd_messages_change_nothing(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = connecting_as(f, UNIC_QPT_RC, 0), n;
	struct unic_cm_msg req = mad_sent(f);
	struct unic_cm_msg sidr = { .type = UNIC_CM_SIDR_REP,
				    .tid = req.tid,
				    .remote_comm = req.local_comm };
	struct unic_cm_msg again = { .type = UNIC_CM_SIDR_REQ,
				     .tid = TID,
				     .local_comm = 0x77,
				     .service = SERVICE };
	struct unic_cm_msg rep = reply_of(&req), rej;
	struct unic_ctl_cm r = { .conn = unic_to_le32(conn) };

	(void)state;
	mad_from(f, PEER, &sidr);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_CONNECTING);
	mad_from(f, PEER, &rep);
	r.qpn = unic_to_le32(QPN);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, NULL, 0),
			 UNIC_ST_INVALID);
	sidr.local_comm = rep.local_comm;
	mad_from(f, PEER, &sidr);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_REPLIED);
	fake_delete(f);
	f = with_qp();
	conn = connecting_as(f, UNIC_QPT_UD, 0);
	req = mad_sent(f);
	rep = reply_of(&req);
	mad_from(f, PEER, &rep);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_CONNECTING);
	sidr.tid = req.tid;
	sidr.local_comm = 0;
	sidr.remote_comm = req.local_comm;
	mad_from(f, PEER, &sidr);
	mad_from(f, PEER, &sidr); /* twice */
	rej = message(UNIC_CM_REJ, &req);
	rej.local_comm = 0;
	mad_from(f, PEER, &rej);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_ESTABLISHED);
	fake_delete(f);
	f = with_qp();
	conn = asked(f, UNIC_CM_SIDR_REQ);
	n = f->given[UNIC_CMD_MAD_SEND];
	mad_from(f, PEER, &again);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	assert_int_equal(mad_sent(f).type, UNIC_CM_SIDR_REP);
	assert_int_equal(mad_sent(f).reason, UNIC_SIDR_REJECTED);
	fake_delete(f);
}

/* A reset of the NIC amid ARP; packets that are larger than the path's; no memory. */
static void what_fails_leaves_nothing(void **state)
{
	struct fake *f = with_qp();
	struct unic_ctl_cm r = connect_to(UNIC_QPT_RC);
	uint32_t i, status = UNIC_CTL_ST_NO_MEMORY;

	(void)state;
	r.mtu_shift = 12;
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_FAILED;
	assert_int_equal(say(f, UNIC_CTL_CM_CONNECT, &r, NULL, 0), UNIC_ST_OK);
	assert_int_equal(state_of(f, reply_u32(f, 16)),
			 UNIC_CTL_CONN_UNREACHABLE);
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_OK;
	for (i = 1; i < 9 && status == UNIC_CTL_ST_NO_MEMORY; i++) {
		no_spare(f);
		f->os.fail_alloc = i;
		status = say(f, UNIC_CTL_CM_CONNECT, &r, NULL, 0);
		f->os.fail_alloc = 0;
	}
	assert_int_equal(status, UNIC_ST_OK);
	assert_true(i > 2);
	fake_delete(f);
}

/* ------------------------------------------------------------------- bad requests */

static void requests_are_checked(void **state)
{
	struct fake *f = with_qp();
	struct unic_ctl_cm good = connect_to(UNIC_QPT_RC), r;
	uint8_t data[UNIC_CTL_CM_PRIVATE_MAX] = { 0 };

	(void)state;
#define REFUSED(field, value, status)                                      \
	do {                                                               \
		r = good;                                                  \
		r.field = value;                                           \
		assert_int_equal(say(f, UNIC_CTL_CM_CONNECT, &r, NULL, 0), \
				 status);                                  \
	} while (0)
	REFUSED(qp_type, 7, UNIC_ST_INVALID);
	REFUSED(ipv4, unic_to_le32(0), UNIC_ST_INVALID);
	REFUSED(conn, unic_to_le32(1), UNIC_ST_INVALID);
	REFUSED(qkey, unic_to_le32(1), UNIC_ST_INVALID);
	REFUSED(mtu_shift, 7, UNIC_ST_INVALID);
	REFUSED(mtu_shift, 13, UNIC_ST_INVALID);
	REFUSED(max_rd, 17, UNIC_ST_INVALID);
	REFUSED(max_dest_rd, 17, UNIC_ST_INVALID);
	REFUSED(timeout, 32, UNIC_ST_INVALID);
	REFUSED(retry_cnt, 8, UNIC_ST_INVALID);
	REFUSED(rnr_retry, 8, UNIC_ST_INVALID);
	REFUSED(rsvd0, 1, UNIC_ST_INVALID);
	REFUSED(qpn, unic_to_le32(QPN + 1), UNIC_ST_NO_QP);
	f->client.privileged = false;
	REFUSED(service, unic_to_le64(UNIC_CTL_SERVICE_OWN << 8),
		UNIC_CTL_ST_PERMISSION);
	assert_int_equal(say(f, UNIC_CTL_CM_CONNECT, &good, data, 93),
			 UNIC_ST_INVALID);
	r = connect_to(UNIC_QPT_UD);
	r.qpn = unic_to_le32(QPN);
	assert_int_equal(say(f, UNIC_CTL_CM_CONNECT, &r, NULL, 0),
			 UNIC_ST_INVALID);
	assert_null(conn_with(f, PEER));
	fake_delete(f);
}

static void answers_are_checked(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = asked(f, UNIC_CM_REQ), n;
	struct unic_ctl_cm good = accept_of(conn), r;

	(void)state;
#define NOT_ACCEPTED(field, value)                                        \
	do {                                                              \
		r = good;                                                 \
		r.field = value;                                          \
		assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, NULL, 0), \
				 UNIC_ST_INVALID);                        \
	} while (0)
	NOT_ACCEPTED(service, unic_to_le64(1));
	NOT_ACCEPTED(ipv4, unic_to_le32(1));
	NOT_ACCEPTED(timeout_us, unic_to_le32(1));
	NOT_ACCEPTED(qp_type, 1);
	NOT_ACCEPTED(mtu_shift, 10);
	NOT_ACCEPTED(qkey, unic_to_le32(1));
	NOT_ACCEPTED(retry_cnt, 8);
	r = good;
	r.conn = unic_to_le32(conn + 1);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &r, NULL, 0),
			 UNIC_CTL_ST_NO_CONN);
	assert_int_equal(say(f, UNIC_CTL_CM_ACCEPT, &good, NULL, 0),
			 UNIC_ST_OK);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_DISCONNECT, conn), UNIC_ST_OK);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_DISCONNECT, conn),
			 UNIC_ST_STATE);
	fake_delete(f);
	f = with_qp();
	conn = connecting_as(f, UNIC_QPT_UD, 0);
	n = f->given[UNIC_CMD_MAD_SEND];
	pass(f, 10100);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n); /* no REJ */
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_UNREACHABLE);
	fake_delete(f);
}

/* Requests of one kind of connection do nothing to the other. */
static void kinds_do_not_mix(void **state)
{
	struct fake *f = with_qp();
	uint32_t conn = asked(f, UNIC_CM_REQ);
	struct unic_ctl_connect accept = {
		.conn = unic_to_le32(conn),
	};
	const struct unic_obj *qp;
	uint32_t at = 0;
	struct unic_ctl_reject reject = { .conn = unic_to_le32(conn) };
	struct unic_ctl_listen l = { .service = unic_to_le64(1),
				     .flags = unic_to_le32(2) };
	struct unic_cm_msg req;

	(void)state;
	assert_int_equal(say(f, UNIC_CTL_REJECT, &reject, NULL, 0),
			 UNIC_ST_STATE);
	assert_int_equal(say_obj(f, UNIC_CTL_CONN_QUERY, conn), UNIC_ST_STATE);
	assert_int_equal(say_obj(f, UNIC_CTL_DISCONNECT, conn), UNIC_ST_STATE);
	qp = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_QP, 0);
	accept.qp = unic_to_le32(qp->id);
	assert_int_equal(say(f, UNIC_CTL_ACCEPT, &accept, NULL, 0),
			 UNIC_ST_STATE);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_REQUESTED);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), UNIC_ST_INVALID);
	fake_delete(f);
	f = requested(&req);
	conn = conn_with(f, PEER)->obj.id;
	reject.conn = unic_to_le32(conn);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_QUERY, conn), UNIC_ST_STATE);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_STATE);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_DISCONNECT, conn),
			 UNIC_ST_STATE);
	assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &reject, NULL, 0),
			 UNIC_ST_STATE);
	fake_delete(f);
}

/* A process has so many at a time. */
static void has_its_share(void **state)
{
	struct fake *f = with_qp();
	struct unic_ctl_cm r = connect_to(UNIC_QPT_RC);
	uint32_t i, status = UNIC_ST_OK;

	(void)state;
	for (i = 0; i <= 1024 && !status; i++)
		status = say(f, UNIC_CTL_CM_CONNECT, &r, NULL, 0);
	assert_int_equal(i, 1025);
	assert_int_equal(status, UNIC_ST_QUOTA);
	fake_delete(f);
}

/* Answer the @n-th question for a link address, from 1 on: nobody has it. */
static void nobody_has(struct fake *f, uint32_t n)
{
	struct unic_evt_arp evt = { .hdr.type = UNIC_EVT_ARP_RESULT,
				    .ipv4 = unic_to_le32(PEER),
				    .user = unic_to_le32(n) };

	event(f, &evt);
}

/* A loop of CM_CONNECT and CM_FREE asks for eight addresses at a time, and no more. Who
 * finds no place asks when there is one. */
static void questions_are_bounded(void **state)
{
	struct fake *f = with_qp();
	uint32_t *given = &f->given[UNIC_CMD_ARP_RESOLVE];
	struct unic_ctl_connect managed = { .ipv4 = unic_to_le32(PEER),
					    .service = unic_to_le64(1) };
	const struct unic_obj *qp;
	uint32_t i, conn, at = 0;

	(void)state;
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_PENDING;
	qp = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_QP, 0);
	managed.qp = unic_to_le32(qp->id);
	ask(f, UNIC_CTL_CONNECT, &managed); /* has one of its own */
	settle(f);
	assert_int_equal(*given, 1);
	*given = 0;
	for (i = 0; i < 100; i++) {
		conn = connecting_as(f, UNIC_QPT_RC, 0);
		assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn),
				 UNIC_ST_OK);
	}
	assert_int_equal(*given, 8);
	conn = connecting_as(f, UNIC_QPT_RC, 0);
	pass(f, 500);
	assert_int_equal(*given, 8);
	nobody_has(f, 4);
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_OK;
	pass(f, 150);
	assert_int_equal(*given, 9);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REQ);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_CONNECTING);
	fake_delete(f);
}

/* The NIC asks for as many addresses as it can: that is no answer. */
static void full_table_is_waited_for(void **state)
{
	struct fake *f = with_qp();
	uint32_t *given = &f->given[UNIC_CMD_ARP_RESOLVE];
	uint32_t conn, i;

	(void)state;
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_BUSY;
	conn = connecting_as(f, UNIC_QPT_RC, 0);
	for (i = 1; i <= 20; i++) {
		assert_int_equal(*given, i);
		pass(f, 101);
	}
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_CONNECTING);
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_OK;
	pass(f, 101);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REQ);
	assert_int_equal(say_obj(f, UNIC_CTL_CM_FREE, conn), UNIC_ST_OK);
	f->answer[UNIC_CMD_ARP_RESOLVE] = UNIC_ST_BUSY;
	conn = connecting_as(f, UNIC_QPT_RC, 0);
	pass(f, 9900);
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_CONNECTING);
	pass(f, 200); /* its time is over */
	assert_int_equal(state_of(f, conn), UNIC_CTL_CONN_UNREACHABLE);
	fake_delete(f);
}

/* Requests that a process refuses count, too, until it frees them. */
static void refusals_have_a_share(void **state)
{
	struct fake *f = with_qp();
	struct unic_ctl_reject r = { .conn = unic_to_le32(
					     asked(f, UNIC_CM_SIDR_REQ)) };
	struct unic_cm_msg req = { .type = UNIC_CM_SIDR_REQ,
				   .raw = 1,
				   .service = SERVICE };
	const struct unic_obj *obj;
	uint32_t i, at;

	(void)state;
	for (i = 0; i < 1024; i++) {
		assert_int_equal(say(f, UNIC_CTL_CM_REJECT, &r, NULL, 0),
				 UNIC_ST_OK);
		assert_int_equal(mad_sent(f).reason, UNIC_SIDR_REJECTED);
		req.tid = 1000 + i;
		req.local_comm = 1000 + i;
		mad_from(f, PEER, &req);
		for (at = 0; (obj = unic_obj_next(&f->host->objects, &at,
						  UNIC_OBJ_CONN, 0));)
			r.conn = unic_to_le32(obj->id);
	}
	assert_int_equal(unic_obj_count(&f->host->objects, UNIC_OBJ_CONN, 0),
			 1024);
	assert_int_equal(mad_sent(f).type, UNIC_CM_SIDR_REP);
	assert_int_not_equal(mad_sent(f).reason, UNIC_SIDR_REJECTED);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_and_confirms),
		cmocka_unit_test(ends_without_an_answer),
		cmocka_unit_test(is_refused_with_a_reason),
		cmocka_unit_test(answers_and_is_confirmed),
		cmocka_unit_test(hears_nothing_after_its_answer),
		cmocka_unit_test(refuses_with_words),
		cmocka_unit_test(refusals_are_said_again),
		cmocka_unit_test(refusals_of_answers_are_said_again),
		cmocka_unit_test(refusals_are_bounded),
		cmocka_unit_test(frees_say_what_is_due),
		cmocka_unit_test(requests_have_their_time),
		cmocka_unit_test(requests_are_taken_back),
		cmocka_unit_test(any_open_state_can_be_refused),
		cmocka_unit_test(confirms_in_time),
		cmocka_unit_test(nobody_waits_for_arp),
		cmocka_unit_test(managed_ones_get_56_bytes),
		cmocka_unit_test(sidr_asks),
		cmocka_unit_test(sidr_answers),
		cmocka_unit_test(sidr_is_refused),
		cmocka_unit_test(odd_messages_change_nothing),
		cmocka_unit_test(what_fails_leaves_nothing),
		cmocka_unit_test(requests_are_checked),
		cmocka_unit_test(answers_are_checked),
		cmocka_unit_test(kinds_do_not_mix),
		cmocka_unit_test(has_its_share),
		cmocka_unit_test(questions_are_bounded),
		cmocka_unit_test(full_table_is_waited_for),
		cmocka_unit_test(refusals_have_a_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
