/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio.c - client and server of the kernel-resident page service over two
 * real NICs, with all of their memory named by bus addresses.
 */
#include "kio_client.h"
#include "kio_server.h"
#include "rig_kernel.h"
#include "unit.h"

#define OTHER	 1u
#define MESSAGES 16u	/* receives posted, one a page */
#define RECVS	 AT(4)	/* the pages of the physical region */
#define SENDS	 AT(20) /* messages on their way out */
#define BUFFER	 AT(24) /* the server's data */
#define PAGES	 AT(40) /* the client's */
#define PAYLOAD	 16384u /* of an I/O, at most, here */
#define FILE_END 1000000u
#define MS	 1000000ull

static struct rig ra, rb; /* the client's NIC, the server's */
static struct rig_mr pa, pb;
static struct rig_qp qa, qb;
static struct unic_kio_client client;
static struct unic_kio io[40];
static int status[40];
static uint32_t got[40], finished, most, tokens_wanted, cancels_wanted;
static bool deaf; /* the server */

static uint8_t content(uint32_t object, uint64_t at)
{
	return (uint8_t)(object * 31 + at * 7 + at / 256);
}

/* ----------------------------------------------------------------- server */

static int store_read(struct unic_kio_server *s, uint32_t object,
		      uint64_t offset, void *buf, uint32_t len)
{
	uint8_t *p = buf;
	uint32_t i;

	(void)s;
	if (object == 404)
		return -ENOENT;
	if (offset >= FILE_END)
		return 0;
	if (len > FILE_END - offset)
		len = (uint32_t)(FILE_END - offset);
	for (i = 0; i < len; i++)
		p[i] = content(object, offset + i);
	return (int)len;
}

static struct unic_kio_server server = { .read = store_read };

static void send_answer(const struct unic_kio_msg *answer, uint32_t bytes,
			uint32_t token, uint64_t key)
{
	struct unic_sq_slot *s = &qb.sq[qb.sq_tail % RIG_SLOTS];
	uint32_t at = SENDS + qb.sq_tail % RIG_SLOTS * 64;

	memcpy(pb.mem + at, answer, sizeof(*answer));
	rig_send(&rb, &qb, bytes ? UNIC_WR_TOKEN : UNIC_WR_SEND, 1, &pb, at,
		 sizeof(*answer), key, token);
	s->flags = 0;
	if (!bytes)
		return;
	s->ctrl_len = unic_to_le32(sizeof(*answer));
	s->num_sge = 2;
	s->sge[1] = (struct unic_sge){
		.iova = unic_to_le64(pb.iova + BUFFER),
		.len = unic_to_le32(bytes),
		.lkey = unic_to_le32(pb.stag),
	};
}

static void serve(const struct unic_kio_msg *msg)
{
	struct unic_kio_msg answer;
	uint32_t token;
	uint64_t key;
	int n = unic_kio_serve(&server, msg, pb.mem + BUFFER, &answer, &token,
			       &key);

	if (n >= 0)
		send_answer(&answer, (uint32_t)n, token, key);
	rig_run2(&ra, &rb, MS); /* the buffer is free again */
}

/* ----------------------------------------------------------------- client */

static bool link_send(struct unic_kio_client *c, const struct unic_kio_msg *msg)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];
	uint32_t at = SENDS + qa.sq_tail % RIG_SLOTS * 64;

	(void)c;
	memcpy(pa.mem + at, msg, sizeof(*msg));
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &pa, at, sizeof(*msg), 0, 0);
	s->flags = 0; /* the CQ has room for answers only */
	return true;
}

static void link_token(struct unic_kio_client *c, uint32_t at,
		       const struct unic_kio *i)
{
	(void)c;
	(void)i;
	tokens_wanted |= 1u << at;
}

static void link_cancel(struct unic_kio_client *c, uint32_t at,
			const struct unic_kio *i)
{
	(void)c;
	(void)i;
	cancels_wanted |= 1u << at;
}

static const struct unic_kio_link link_ops = {
	.send = link_send,
	.token = link_token,
	.cancel = link_cancel,
};

static void get_token(uint32_t at)
{
	const struct unic_kio *i = client.slot[at];
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(qa.pd),
		.stag = unic_to_le32(pa.stag),
		.length = unic_to_le32(i->len),
		.flags = unic_to_le32(UNIC_TOKEN_F_PIECES),
		.pieces = unic_to_le32(i->pieces),
	};
	struct unic_cpl_token cpl;
	bool ok;

	memcpy(rig_list(&ra), i->piece, sizeof(i->piece));
	ok = !rig_cmd(&ra, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl);
	unic_kio_token(&client, at, ok, unic_from_le32(cpl.index),
		       unic_from_le64(cpl.key));
}

static void cancel_token(uint32_t at)
{
	const struct unic_kio *i = client.slot[at];
	struct unic_cmd_token_cancel cmd = {
		.index = unic_to_le32(i->token),
		.key = unic_to_le64(i->key),
	};

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_TOKEN_CANCEL, &cmd, NULL), 0);
	unic_kio_ended(&client, at);
}

static void commands(void)
{
	uint32_t at;

	for (at = 0; at < UNIC_KIO_WINDOW; at++) {
		if (tokens_wanted >> at & 1) {
			tokens_wanted &= ~(1u << at);
			get_token(at);
		}
		if (cancels_wanted >> at & 1) {
			cancels_wanted &= ~(1u << at);
			cancel_token(at);
		}
	}
}

/* ------------------------------------------------------------------ both */

/* The next message that came, and its receive posted again. */
static bool message(struct rig *r, struct rig_qp *qp, const struct rig_mr *mr,
		    struct unic_kio_msg *msg, struct unic_cqe *cqe)
{
	while (rig_cqe(r, qp, cqe)) {
		uint32_t at = (uint32_t)unic_from_le64(cqe->wr_id);

		assert_int_equal(cqe->status, UNIC_WC_SUCCESS);
		if (cqe->opcode < UNIC_WC_RECV)
			continue;
		assert_int_equal(unic_from_le32(cqe->byte_len), sizeof(*msg));
		memcpy(msg, mr->mem + at, sizeof(*msg));
		rig_recv(r, qp, at, mr, at, 64);
		return true;
	}
	return false;
}

static void step(void)
{
	struct unic_kio_msg msg;
	struct unic_cqe cqe;

	commands();
	most = client.busy > most ? client.busy : most;
	rig_run2(&ra, &rb, MS / 10);
	while (message(&rb, &qb, &pb, &msg, &cqe))
		if (!deaf)
			serve(&msg);
	while (message(&ra, &qa, &pa, &msg, &cqe))
		unic_kio_message(&client, &msg,
				 cqe.opcode == UNIC_WC_RECV_TOKEN
					 ? unic_from_le32(cqe.imm)
					 : 0);
	unic_kio_client_poll(&client, ra.nic.now_ns);
}

static int up(void **state)
{
	uint32_t i, a, b;

	(void)state;
	rig_up(&ra, 1);
	rig_up(&rb, 2);
	fake_wire(&ra.port, &rb.port);
	rig_attach(&ra, 0, 1);
	rig_attach(&ra, OTHER, 1);
	rig_attach(&rb, 0, 1);
	a = rig_physical_pd(&ra);
	b = rig_physical_pd(&rb);
	rig_reg_physical(&ra, a, &pa);
	rig_reg_physical(&rb, b, &pb);
	rig_physical_qp(&ra, a, &pa, &qa);
	rig_physical_qp(&rb, b, &pb, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
	for (i = 0; i < MESSAGES; i++) {
		rig_recv(&ra, &qa, RECVS + i * 64, &pa, RECVS + i * 64, 64);
		rig_recv(&rb, &qb, RECVS + i * 64, &pb, RECVS + i * 64, 64);
	}
	unic_kio_client_init(&client, &link_ops);
	unic_kio_up(&client, true);
	deaf = false;
	finished = most = tokens_wanted = cancels_wanted = 0;
	memset(io, 0, sizeof(io));
	return 0;
}

static void done(struct unic_kio *i, int why, uint32_t bytes)
{
	status[i - io] = why;
	got[i - io] = bytes;
	finished++;
}

/* In @n pieces, the last of which takes the rest. */
static void read_at(uint32_t i, uint32_t object, uint64_t offset, uint32_t len,
		    uint32_t n)
{
	uint32_t k, left = len, at = PAGES + i % 4 * AT(4);

	io[i] = (struct unic_kio){
		.object = object,
		.offset = offset,
		.len = len,
		.pieces = n,
		.deadline_ns = ra.nic.now_ns + 400 * MS,
		.done = done,
	};
	for (k = 0; k < n; k++) {
		uint32_t part = k == n - 1 ? left : len / n;

		/* the last piece lies first */
		io[i].piece[k].bus =
			unic_to_le64(RIG_KERNEL_BUS + at + left - part);
		io[i].piece[k].len = unic_to_le32(part);
		left -= part;
	}
	assert_int_equal(unic_kio_read(&client, &io[i]), 0);
}

static void expect_content(uint32_t i)
{
	uint64_t at = io[i].offset;
	uint32_t k, j;

	for (k = 0; k < io[i].pieces; k++) {
		const uint8_t *p =
			pa.mem +
			(unic_from_le64(io[i].piece[k].bus) - RIG_KERNEL_BUS);

		for (j = 0; j < unic_from_le32(io[i].piece[k].len); j++)
			assert_int_equal(p[j], content(io[i].object, at++));
	}
}

static void run(uint32_t n)
{
	uint32_t steps = 0;

	while (finished < n && steps++ < 10000)
		step();
	assert_int_equal(finished, n);
}

static void nothing_left(void)
{
	assert_int_equal(client.busy, 0);
	assert_int_equal(ra.nic.physical.used, 0);
	assert_int_equal(ra.nic.tokens.used, 0);
	assert_int_equal(ra.nic.evict.share.owner[0].held, 0);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
}

static void reads_come_whole(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		read_at(i, i, i * 997, 1 + i * 409 % PAYLOAD, 1 + i % 16);
		if (io[i].len < io[i].pieces)
			continue;
		run(i + 1);
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], io[i].len);
		expect_content(i);
	}
	assert_int_equal(ra.nic.tlb.free, UNIC_TLB_ENTRIES);
	nothing_left();
}

static void ends_of_files_and_errors(void **state)
{
	(void)state;
	read_at(0, 1, FILE_END - 10, 100, 3);
	read_at(1, 1, FILE_END, 100, 1);
	read_at(2, 404, 0, 100, 1);
	read_at(3, 1, UINT64_MAX - 10, 100, 1);
	run(4);
	assert_int_equal(status[0], 0);
	assert_int_equal(got[0], 10);
	assert_int_equal(status[1], 0);
	assert_int_equal(got[1], 0);
	assert_int_equal(status[2], -EIO);
	assert_int_equal(status[3], -EIO);
	nothing_left();
}

/* Nobody answers: it ends at its deadline, and when the answer comes after all
 * not a byte of it is written. */
static void late_answer_writes_nothing(void **state)
{
	struct unic_kio_msg msg;
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	memset(pa.mem + PAGES, 0xa5, PAYLOAD);
	read_at(0, 7, 0, 5000, 4);
	commands();
	rig_run2(&ra, &rb, MS);
	assert_true(message(&rb, &qb, &pb, &msg, &cqe));
	run(1);
	assert_int_equal(status[0], -ETIMEDOUT);
	nothing_left();
	serve(&msg);
	step();
	for (i = 0; i < 5000; i++)
		assert_int_equal(pa.mem[PAGES + i], 0xa5);
	assert_int_equal(finished, 1);
}

static void deadlines_hold_for_all(void **state)
{
	uint64_t from = ra.nic.now_ns;
	uint32_t i;

	(void)state;
	deaf = true;
	for (i = 0; i < 40; i++)
		read_at(i, 1, 0, 4096, 1);
	run(40);
	assert_true(ra.nic.now_ns - from < 402 * MS);
	for (i = 0; i < 40; i++)
		assert_int_equal(status[i], -ETIMEDOUT);
	nothing_left();
}

static void window_shrinks_and_grows(void **state)
{
	uint32_t i;

	(void)state;
	unic_kio_window(&client, 3);
	for (i = 0; i < 20; i++)
		read_at(i, 1, i, 4096, 2);
	assert_int_equal(unic_kio_demand(&client), 3 * 4096);
	run(20);
	assert_int_equal(most, 3);
	unic_kio_window(&client,
			0); /* one goes on: none would be a standstill */
	for (i = 20; i < 25; i++)
		read_at(i, 1, i, 4096, 2);
	most = 0;
	run(25);
	assert_int_equal(most, 1);
	unic_kio_window(&client, 8);
	for (i = 25; i < 40; i++)
		read_at(i, 1, i, 4096, 2);
	run(40);
	assert_int_equal(most, 8);
	for (i = 0; i < 40; i++)
		assert_int_equal(status[i], 0);
}

/* Takes what it can get, and gives nothing back before it is taken. */
static void hoard(uint32_t pd)
{
	struct unic_evt_mr evt;
	struct rig_mr mr;

	while (rig_event(&ra, &evt))
		if (evt.hdr.type == UNIC_EVT_NOTICE)
			rig_ack(&ra, &evt);
	while (!rig_reg(&ra, OTHER, pd, 8, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
			&mr))
		;
}

static void no_read_fails_beside_a_hoarder(void **state)
{
	uint32_t i, pd = rig_pd(&ra, OTHER), starved = 0;

	(void)state;
	for (i = 0; i < 40; i++)
		read_at(i, 1, i * 100, 4000, 16);
	for (i = 0; finished < 40 && i < 10000; i++) {
		hoard(pd);
		starved += !ra.nic.tlb.free;
		step();
	}
	assert_true(starved == i); /* there never was one */
	for (i = 0; i < 40; i++)
		assert_int_equal(status[i], 0);
	nothing_left();
}

/* What was asked for over a connection ends with it; what was not waits. */
static void link_goes_and_comes(void **state)
{
	uint32_t i, asked;

	(void)state;
	deaf = true;
	for (i = 0; i < 20; i++)
		read_at(i, 1, 0, 100, 1);
	step();
	asked = client.busy;
	assert_int_equal(asked, UNIC_KIO_WINDOW);
	unic_kio_up(&client, false);
	run(asked);
	for (i = 0; i < asked; i++)
		assert_int_equal(status[i], -EIO);
	deaf = false;
	unic_kio_up(&client, true);
	run(20);
	for (; i < 20; i++)
		assert_int_equal(status[i], 0);
	nothing_left();
}

/* The link fails between a token's request and its answer. */
static void token_that_comes_too_late(void **state)
{
	(void)state;
	read_at(0, 1, 0, 100, 1);
	unic_kio_up(&client, false);
	assert_int_equal(finished, 0); /* its pages are not free yet */
	run(1);
	assert_int_equal(status[0], -EIO);
	nothing_left();
}

static void strange_messages(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER }, answer;
	uint32_t token;
	uint64_t key;

	(void)state;
	unic_kio_message(&client, &msg, 10); /* nothing was asked for */
	msg.id = unic_to_le32(UINT32_MAX);
	unic_kio_message(&client, &msg, 10);
	deaf = true;
	read_at(0, 1, 0, 100, 1);
	commands();
	msg.id = unic_to_le32(io[0].id + UNIC_KIO_WINDOW); /* another turn */
	unic_kio_message(&client, &msg, 10);
	assert_int_equal(finished, 0);
	msg.op = UNIC_KIO_READ;
	msg.id = unic_to_le32(io[0].id);
	unic_kio_message(&client, &msg, 10);
	assert_int_equal(finished, 0);
	msg.op = 77;
	assert_int_equal(unic_kio_serve(&server, &msg, pb.mem + BUFFER, &answer,
					&token, &key),
			 -EBADMSG);
	msg.op = UNIC_KIO_READ;
	msg.len = unic_to_le32(UNIC_KIO_MAX + 1);
	assert_int_equal(unic_kio_serve(&server, &msg, pb.mem + BUFFER, &answer,
					&token, &key),
			 0);
	assert_int_equal(unic_from_le32(answer.status), EINVAL);
	assert_int_equal(io[0].state, UNIC_KIO_ASKED);
}

static void wrong_requests(void **state)
{
	struct unic_kio bad = { .len = 10, .pieces = 0, .done = done };

	(void)state;
	assert_int_equal(unic_kio_read(&client, &bad), -EINVAL);
	bad.pieces = UNIC_TOKEN_PIECES + 1;
	assert_int_equal(unic_kio_read(&client, &bad), -EINVAL);
	bad.pieces = 1;
	bad.piece[0].len = unic_to_le32(11);
	assert_int_equal(unic_kio_read(&client, &bad), -EINVAL);
	bad.len = UNIC_KIO_MAX + 1;
	bad.piece[0].len = unic_to_le32(UNIC_KIO_MAX + 1);
	assert_int_equal(unic_kio_read(&client, &bad), -EINVAL);
	assert_int_equal(client.busy, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reads_come_whole, up),
		cmocka_unit_test_setup(ends_of_files_and_errors, up),
		cmocka_unit_test_setup(late_answer_writes_nothing, up),
		cmocka_unit_test_setup(deadlines_hold_for_all, up),
		cmocka_unit_test_setup(window_shrinks_and_grows, up),
		cmocka_unit_test_setup(no_read_fails_beside_a_hoarder, up),
		cmocka_unit_test_setup(link_goes_and_comes, up),
		cmocka_unit_test_setup(token_that_comes_too_late, up),
		cmocka_unit_test_setup(strange_messages, up),
		cmocka_unit_test_setup(wrong_requests, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
