/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_rdma.c - the client of the kernel-resident page service by RDMA, with a server
 * and two NICs: the peer reaches the pages of an I/O while that I/O lasts, and they come
 * back only when it cannot any more.
 */
#include "unit.h"

#include "kio_rig.h"
#include "kio_pages.h"
#include "kio_server.h"

/* Begins I/O @i in pages that it has for itself, from byte @off of the first on. */
static void start_at(uint32_t i, uint8_t op, uint64_t offset, uint32_t len,
		     uint32_t off)
{
	uint32_t at = PAGES + i % 3 * AT(8) + AT(1) + off;

	memset(pa.mem + PAGES + i % 3 * AT(8), 0xa5, AT(8));
	io[i] = (struct unic_kio){
		.op = op,
		.name = { 'a' },
		.name_bytes = 1,
		.offset = offset,
		.len = len,
		.pieces = 1,
		.piece = { { .bus = unic_to_le64(RIG_KERNEL_BUS + at),
			     .len = unic_to_le32(len) } },
		.deadline_ns = ra.nic.now_ns + 400 * MS,
		.clean = true,
		.done = done,
	};
	if (op == UNIC_KIO_READ)
		memset(pa.mem + at, 0, len);
	else
		fill(i);
	assert_int_equal(unic_kio_start(&client, &io[i]), 0);
}

/* The bytes on both sides of the pages of I/O @i must be as they were. */
static void expect_edges(uint32_t i)
{
	const uint8_t *p =
		pa.mem + (unic_from_le64(io[i].piece[0].bus) - RIG_KERNEL_BUS);
	uint32_t k;

	for (k = 1; k <= AT(1); k++)
		assert_int_equal(*(p - k), 0xa5);
	for (k = 0; k < 100; k++)
		assert_int_equal(p[io[i].len + k], 0xa5);
}

static const uint32_t lengths[] = {
	1, 511, 512, 4095, 4096, 4097, 8191, PAYLOAD
};
static const uint32_t offs[] = { 0, 1, 7, 511, 4095 };

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void rdma_reads_come_whole(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < N(lengths); i++)
		for (k = 0; k < N(offs); k++) {
			finished = 0;
			start_at(0, UNIC_KIO_READ, 97 * k, lengths[i], offs[k]);
			run(1);
			assert_int_equal(status[0], 0);
			assert_int_equal(got[0], lengths[i]);
			expect_content(0);
			expect_edges(0);
		}
	assert_int_equal(client.by_rdma, N(lengths) * N(offs));
	assert_int_equal(client.by_token, 0);
	assert_int_equal(rig_count(&ra, tokens_used), 0);
	nothing_left();
}

static void rdma_writes_arrive_whole(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < N(lengths); i++)
		for (k = 0; k < N(offs); k++) {
			finished = 0;
			memset(written, 0, sizeof(written));
			start_at(0, UNIC_KIO_WRITE, 97 * k, lengths[i],
				 offs[k]);
			run(1);
			assert_int_equal(status[0], 0);
			assert_int_equal(got[0], lengths[i]);
			expect_written(0);
			assert_int_equal(written[97 * k + lengths[i]], 0);
		}
	assert_int_equal(client.by_rdma, N(lengths) * N(offs));
	assert_int_equal(rig_count(&rb, tokens_used), 0);
	nothing_left();
}

/* A file ends within the I/O: the bytes behind its end are those the caller had
 * put there. */
static void ends_of_files(void **state)
{
	uint32_t i;

	(void)state;
	start_at(0, UNIC_KIO_READ, FILE_END - 10, 100, 5);
	start_at(1, UNIC_KIO_READ, FILE_END, 100, 5);
	run(2);
	assert_int_equal(status[0], 0);
	assert_int_equal(got[0], 10);
	assert_int_equal(got[1], 0);
	for (i = 10; i < 100; i++)
		assert_int_equal(pa.mem[PAGES + AT(1) + 5 + i], 0);
	expect_edges(0);
	nothing_left();
}

/* I/O @i of @n pieces, those of @piece, whose offsets are in the client's memory. */
static void start_pieces(uint32_t i, uint8_t op,
			 const struct unic_token_piece *piece, uint32_t n)
{
	uint32_t k;

	io[i] = (struct unic_kio){ .op = op,
				   .name = { 'p' },
				   .name_bytes = 1,
				   .pieces = n,
				   .deadline_ns = ra.nic.now_ns + 400 * MS,
				   .clean = true,
				   .done = done };
	for (k = 0; k < n; k++) {
		io[i].piece[k] = piece[k];
		io[i].piece[k].bus = unic_to_le64(unic_from_le64(piece[k].bus) +
						  RIG_KERNEL_BUS);
		io[i].len += unic_from_le32(piece[k].len);
	}
	if (op == UNIC_KIO_WRITE)
		fill(i);
	assert_int_equal(unic_kio_start(&client, &io[i]), 0);
	run(i + 1);
	assert_int_equal(status[i], 0);
	assert_int_equal(got[i], io[i].len);
	if (op == UNIC_KIO_WRITE)
		expect_written(i);
	else
		expect_content(i);
}

#define PIECE(at, n)                                            \
	{                                                       \
		.bus = unic_to_le64(at), .len = unic_to_le32(n) \
	}

/* Pages in any order are one region; an edge within a page, but for the first and
 * last, makes it an I/O by token. */
static void pieces_at_edges_of_pages(void **state)
{
	const struct unic_token_piece fit[] = { PIECE(AT(50) + 4000, 96),
						PIECE(AT(45), 8192),
						PIECE(AT(43), 77) };
	const struct unic_token_piece gap[] = { PIECE(AT(50) + 4000, 50),
						PIECE(AT(45), 100) };
	const struct unic_token_piece late[] = { PIECE(AT(50), 4096),
						 PIECE(AT(45) + 1, 100) };

	(void)state;
	start_pieces(0, UNIC_KIO_READ, fit, 3);
	start_pieces(1, UNIC_KIO_WRITE, fit, 3);
	assert_int_equal(client.by_rdma, 2);
	assert_int_equal(client.by_token, 0);
	start_pieces(2, UNIC_KIO_READ, gap, 2);
	start_pieces(3, UNIC_KIO_WRITE, late, 2);
	assert_int_equal(client.by_rdma, 2);
	assert_int_equal(client.by_token, 2);
	nothing_left();
}

/* The most pages there are, and one more. */
static void pages_of_pieces(void **state)
{
	struct unic_kio i = { .pieces = 2 };
	unic_le64 page[UNIC_KIO_PAGES + 1];
	uint8_t shift;

	(void)state;
	page[UNIC_KIO_PAGES] = unic_to_le64(77);
	i.piece[0] = (struct unic_token_piece)PIECE(AT(9) + 4095, 1);
	i.piece[1] = (struct unic_token_piece)PIECE(AT(20), 65535);
	assert_int_equal(unic_kio_pages(&i, &shift, page), 17);
	assert_int_equal(shift, 12);
	assert_int_equal(unic_from_le64(page[0]), AT(9));
	assert_int_equal(unic_from_le64(page[1]), AT(20));
	assert_int_equal(unic_from_le64(page[16]), AT(35));
	i.piece[1] = (struct unic_token_piece)PIECE(AT(20), 65537);
	assert_int_equal(unic_kio_pages(&i, &shift, page), 0);
	assert_int_equal(unic_from_le64(page[UNIC_KIO_PAGES]), 77);
	i.pieces = 1; /* large pages, where all is in one piece */
	i.piece[0] = (struct unic_token_piece)PIECE(0x1fff5, 65536);
	assert_int_equal(unic_kio_pages(&i, &shift, page), 2);
	assert_int_equal(shift, 16);
	assert_int_equal(unic_from_le64(page[0]), 0x10000);
	assert_int_equal(unic_from_le64(page[1]), 0x20000);
	i.piece[0].bus = unic_to_le64(UINT64_MAX - 10);
	assert_int_equal(unic_kio_pages(&i, &shift, page), 0);
	i.piece[0].len = unic_to_le32(0);
	assert_int_equal(unic_kio_pages(&i, &shift, page), 0);
	i.pieces = 0;
	assert_int_equal(unic_kio_pages(&i, &shift, page), 0);
}

/* Steps until I/O @i is in @state. */
static void until(uint32_t i, uint8_t state)
{
	uint32_t k;

	for (k = 0; k < 100 && io[i].state != state; k++)
		step();
	assert_int_equal(io[i].state, state);
}

/* An answer does not give the pages back: the region is there still. */
static void pages_come_back_when_the_nic_lets_go(void **state)
{
	static const uint8_t ops[] = { UNIC_KIO_READ, UNIC_KIO_WRITE };
	uint32_t i, at;

	(void)state;
	for (i = 0; i < 2; i++) {
		start_at(i, ops[i], 0, 5000, 3);
		until(i, UNIC_KIO_CANCEL);
		at = io[i].id % UNIC_KIO_WINDOW;
		assert_int_equal(finished, i);
		assert_int_equal(ra.nic.mrs.mr[lent[at].mr].state,
				 UNIC_MR_ACTIVE);
		unic_kio_sent(&client, at); /* what a queue pair's end says */
		unic_kio_client_poll(&client, UINT64_MAX);
		assert_int_equal(finished, i);
		commands();
		assert_int_equal(finished, i + 1);
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], 5000);
	}
	nothing_left();
}

/* The server, or who heard of it, writes to what an earlier I/O had: neither its STag nor
 * its address is that of the next I/O in the same pages. */
static void stag_ends_with_its_io(void **state)
{
	uint64_t old_key;
	uint32_t i, k, old_token;
	struct unic_cqe cqe;

	for (k = 0; k < 2; k++) {
		up_rdma(state);
		start_at(0, UNIC_KIO_READ, 0, 5000, 3);
		until(0, UNIC_KIO_ASKED);
		old_key = io[0].key;
		old_token = io[0].token;
		run(1);
		deaf = true;
		start_at(0, UNIC_KIO_READ, 0, 5000, 3);
		until(0, UNIC_KIO_ASKED);
		rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &pb, AT(40), 1, old_key,
			 k ? io[0].token : old_token);
		for (i = 0; i < 20; i++)
			rig_run2(&ra, &rb, MS);
		while (rig_cqe(&rb, &qb, &cqe))
			broken |= cqe.status == UNIC_WC_REM_ACCESS_ERR;
		assert_true(broken);
		for (i = 0; i < 5000; i++)
			assert_int_equal(pa.mem[PAGES + AT(1) + 3 + i], 0);
	}
}

/* An I/O without an answer ends at its deadline, and its region with it: what the
 * server does for it afterwards writes nothing. */
static void timeout_ends_the_stag(void **state)
{
	struct message m;
	uint32_t i;

	(void)state;
	start_at(0, UNIC_KIO_READ, 0, 5000, 3);
	commands();
	rig_run2(&ra, &rb, MS);
	assert_true(message(&rb, &qb, &pb, &m));
	run(1);
	assert_int_equal(status[0], -ETIMEDOUT);
	nothing_left();
	serve(&m);
	for (i = 0; i < 100 && !broken; i++)
		step();
	assert_true(broken);
	for (i = 0; i < 5000; i++)
		assert_int_equal(pa.mem[PAGES + AT(1) + 3 + i], 0);
	assert_int_equal(finished, 1);
}

static void deadlines_hold_for_all(void **state)
{
	uint64_t from = ra.nic.now_ns;
	uint32_t i;

	(void)state;
	deaf = true;
	for (i = 0; i < 40; i++)
		start(i, i % 2 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'd', 0, 4096,
		      1);
	run(40);
	assert_true(ra.nic.now_ns - from < 402 * MS);
	for (i = 0; i < 40; i++)
		assert_int_equal(status[i], -ETIMEDOUT);
	nothing_left();
}

/* The connection ends at every step of a WRITE and a READ: done() once, when the region
 * has ended, and nothing is left on either side. */
static void link_loss_ends_the_stag(void **state)
{
	uint32_t at, i, lost = 0;

	for (at = 0; at < 30; at++) {
		up_rdma(state);
		start_at(0, UNIC_KIO_WRITE, 0, 9000, 1);
		start_at(1, UNIC_KIO_READ, 0, 9000, 3);
		for (i = 0; i < at; i++)
			step();
		unic_kio_up(&client, false);
		deaf = true; /* nothing arrives any more */
		for (i = 0; i < UNIC_KIO_WINDOW; i++)
			unic_kio_sent(&client, i);
		assert_true(finished == 2 || ra.nic.share.owner[0].held ||
			    tokens_wanted);
		for (i = 0; i < 100; i++)
			step();
		unic_kio_server_down(&server, false);
		assert_int_equal(finished, 2);
		for (i = 0; i < 2; i++) {
			assert_true(!status[i] || status[i] == -ENOLINK);
			lost += status[i] != 0;
		}
		assert_int_equal(client.busy, 0);
		assert_int_equal(ra.nic.share.owner[0].held, 0);
		assert_int_equal(ra.nic.procs.proc[0].mrs, 2);
		assert_int_equal(buffers_used, 0);
	}
	assert_in_range(lost, 2, 58);
}

static void reset_ends_all(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 20; i++)
		start(i, i % 2 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'r', 0, 4000,
		      1);
	commands();
	rig_run2(&ra, &rb, MS);
	rdma = false; /* the regions are there still: this NIC was not reset */
	unic_kio_lost(&client, -ENOLINK);
	assert_int_equal(finished, UNIC_KIO_WINDOW);
	assert_int_equal(client.busy, 0);
	unic_kio_server_down(&server, true);
	assert_true(unic_kio_server_idle(&server));
	assert_int_equal(buffers_used, 0);
}

/* A server that knows no RDMA is asked once; then all goes by token, until there is
 * another connection, and perhaps another server. */
static void falls_back_to_tokens(void **state)
{
	uint32_t i;

	(void)state;
	old_server = true;
	for (i = 0; i < 6; i++)
		start(i, i % 2 ? UNIC_KIO_WRITE : UNIC_KIO_READ, 'o', 0, 4000,
		      1);
	run(6);
	for (i = 0; i < 6; i++) {
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], 4000);
	}
	assert_true(client.old);
	assert_int_equal(client.by_token, 6);
	start(6, UNIC_KIO_READ, 'o', 0, 4000, 1);
	run(7);
	assert_int_equal(client.by_rdma, 6); /* all before the first answer */
	old_server = false;
	unic_kio_up(&client, false);
	unic_kio_up(&client, true);
	start(7, UNIC_KIO_READ, 'o', 0, 4000, 1);
	run(8);
	assert_int_equal(status[7], 0);
	assert_int_equal(client.by_rdma, 7);
	/* one that knows RDMA finds something else wrong */
	start(8, UNIC_KIO_READ, 'o', UINT64_MAX - 10, 4000, 1);
	run(9);
	assert_int_equal(status[8], -EREMOTEIO);
	assert_int_equal(io[8].remote, EINVAL);
	assert_false(client.old);
	nothing_left();
}

/* No region can be had: the I/O goes by token, and the next one by RDMA again. */
static void no_room_takes_a_token(void **state)
{
	static const uint8_t ops[] = { UNIC_KIO_READ, UNIC_KIO_WRITE,
				       UNIC_KIO_READ };
	uint32_t i;

	(void)state;
	no_regions = 2;
	for (i = 0; i < 3; i++) {
		start_at(i, ops[i], 0, 5000, 1);
		run(i + 1);
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], 5000);
		if (ops[i] == UNIC_KIO_READ)
			expect_content(i);
		else
			expect_written(i);
	}
	assert_int_equal(client.by_token, 2);
	assert_int_equal(client.by_rdma, 1);
	nothing_left();
}

/* Pieces without a region wait for a form, and what begins then waits behind them. */
static void no_room_waits_for_a_form(void **state)
{
	(void)state;
	form_taken = true;
	start(0, UNIC_KIO_WRITE, 'a', 0, 8192, 2);
	fill(0);
	assert_int_equal(io[0].state, UNIC_KIO_TOKEN);
	tokens_wanted = 0;
	unic_kio_token(&client, 0, false, 0, 0);
	assert_int_equal(io[0].state, UNIC_KIO_QUEUED);
	assert_int_equal(client.busy, 0);
	start(1, UNIC_KIO_READ, 'a', 0, 5000, 1);
	assert_int_equal(io[1].state, UNIC_KIO_QUEUED);
	form_taken = false;
	run(2);
	assert_int_equal(status[0], 0);
	assert_int_equal(status[1], 0);
	expect_written(0);
	expect_content(1);
	assert_int_equal(client.by_token, 1);
	assert_int_equal(client.by_rdma, 1);
	nothing_left();
}

/* Pages that may tell their reader of something else are not given to a server that
 * alone knows what it has written. */
static void unclean_pages_go_by_token(void **state)
{
	(void)state;
	rdma = false; /* start() does not say that they are zeroed */
	start(0, UNIC_KIO_READ, 'u', 0, 4000, 1);
	start(1, UNIC_KIO_LIST, 'u', 0, 4000, 1);
	run(2);
	assert_int_equal(client.by_rdma, 0);
	assert_int_equal(client.by_token, 2);
	start(2, UNIC_KIO_WRITE, 'u', 0, 4000, 1); /* these are told anyway */
	rdma = true;
	run(3);
	assert_int_equal(client.by_rdma, 1);
	nothing_left();
}

/* The region of an I/O is taken back while its server thinks: the I/O begins again,
 * and the caller hears nothing of it. */
static void evicted_io_begins_again(void **state)
{
	static const uint8_t ops[] = { UNIC_KIO_READ, UNIC_KIO_WRITE };
	uint32_t i, at;

	(void)state;
	for (i = 0; i < 2; i++) {
		start_at(i, ops[i], 100, 5000, 1);
		io[i].deadline_ns = ra.nic.now_ns + 10000 * MS;
		until(i, UNIC_KIO_ASKED);
		at = io[i].id % UNIC_KIO_WINDOW;
		take_back(&lent[at]);
		run(i + 1);
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], 5000);
		assert_int_equal(io[i].tries, 1);
	}
	expect_content(0);
	expect_written(1);
	assert_int_equal(client.again, 2);
	assert_int_equal(client.by_token, 0);
	nothing_left();
}

/* ... but not for ever: after three tries it goes by token. */
static void evicted_io_ends_by_token(void **state)
{
	uint32_t k;

	(void)state;
	start_at(0, UNIC_KIO_READ, 100, 5000, 1);
	io[0].deadline_ns = ra.nic.now_ns + 10000 * MS;
	for (k = 0; k < UNIC_KIO_AGAIN; k++) {
		until(0, UNIC_KIO_ASKED);
		assert_int_equal(io[0].how, UNIC_KIO_BY_RDMA);
		take_back(&lent[io[0].id % UNIC_KIO_WINDOW]);
		until(0, UNIC_KIO_CANCEL);
	}
	run(1);
	assert_int_equal(status[0], 0);
	assert_int_equal(got[0], 5000);
	assert_int_equal(client.again, UNIC_KIO_AGAIN);
	assert_int_equal(client.by_rdma, UNIC_KIO_AGAIN);
	assert_int_equal(client.by_token, 1);
	expect_content(0);
	nothing_left();
}

/* Answers that an honest server does not send. */
static void strange_answers(void **state)
{
	struct unic_kio_msg good = { .op = UNIC_KIO_ANSWER,
				     .how = UNIC_KIO_BY_RDMA },
			    msg;
	uint32_t i;

	(void)state;
	deaf = true;
	for (i = 0; i < 5; i++) {
		start_at(i, i == 4 ? UNIC_KIO_WRITE : UNIC_KIO_READ, 0, 100, 1);
		step();
		good.id = unic_to_le32(io[i].id);
		good.len = unic_to_le32(100);
		msg = good;
		if (i == 0) /* more than there was room for */
			msg.len = unic_to_le32(101);
		if (i == 1) /* does not know of regions, and has used one? */
			msg.how = UNIC_KIO_BY_TOKEN;
		if (i == 2) /* an error of its own */
			msg.status = unic_to_le32(99999);
		if (i == 3) /* bytes that came by some token */
			msg.len = unic_to_le32(0);
		if (i == 4)
			msg.op = UNIC_KIO_GRANT;
		unic_kio_message(&client, &msg, i == 3 ? io[i].token : 0,
				 i == 3 ? 100 : 0);
		if (i == 4) { /* nothing is sent, and the answer may come */
			assert_int_equal(io[i].state, UNIC_KIO_ASKED);
			unic_kio_message(&client, &good, 0, 0);
		}
		assert_int_equal(finished, i);
		run(i + 1);
		assert_int_equal(status[i], i < 3 ? -EREMOTEIO : 0);
		assert_int_equal(got[i], i == 4 ? 100 : 0);
	}
	assert_int_equal(io[0].remote, EIO);
	assert_int_equal(io[1].remote, EIO);
	assert_int_equal(io[2].remote, EIO);
	nothing_left();
}

/* What was said of an earlier try is not about this one. */
static void answers_of_an_earlier_try(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER,
				    .how = UNIC_KIO_BY_RDMA,
				    .status = unic_to_le32(ESTALE) };

	(void)state;
	deaf = true;
	start_at(0, UNIC_KIO_READ, 0, 100, 1);
	step();
	msg.id = unic_to_le32(io[0].id);
	unic_kio_message(&client, &msg, 0, 0);
	assert_int_equal(io[0].state, UNIC_KIO_CANCEL);
	unic_kio_message(&client, &msg, 0, 0); /* twice */
	step();
	step();
	assert_int_equal(io[0].state, UNIC_KIO_ASKED);
	assert_int_equal(io[0].tries, 1);
	msg.status = unic_to_le32(0);
	msg.len = unic_to_le32(100);
	unic_kio_message(&client, &msg, 0, 0);
	assert_int_equal(io[0].state, UNIC_KIO_ASKED);
	run(1);
	assert_int_equal(status[0], -ETIMEDOUT);
	nothing_left();
}

/* The connection ends while an I/O is to begin again: it does not. */
static void no_try_without_a_connection(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER,
				    .how = UNIC_KIO_BY_RDMA,
				    .status = unic_to_le32(ESTALE) };

	(void)state;
	deaf = true;
	start_at(0, UNIC_KIO_READ, 0, 100, 1);
	step();
	msg.id = unic_to_le32(io[0].id);
	unic_kio_message(&client, &msg, 0, 0);
	unic_kio_up(&client, false);
	assert_int_equal(finished, 0);
	run(1);
	assert_int_equal(status[0], -ENOLINK);
	nothing_left();
}

/* The link fails between a region's request and its answer. */
static void region_that_comes_too_late(void **state)
{
	(void)state;
	start_at(0, UNIC_KIO_WRITE, 0, 100, 1);
	unic_kio_up(&client, false);
	assert_int_equal(finished, 0); /* the NIC may still use the pages */
	run(1);
	assert_int_equal(status[0], -ENOLINK);
	no_regions = 1;
	unic_kio_up(&client, true);
	start_at(1, UNIC_KIO_READ, 0, 100, 1);
	unic_kio_up(&client, false);
	run(2);
	assert_int_equal(status[1], -ENOLINK);
	nothing_left();
}

static uint32_t rnd(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Random answers at any time, refused regions, and regions that are taken back: each
 * I/O ends once, and its region before it (kio_rig.c: done()). */
static void random_answers(void **state)
{
	static const uint8_t ops[] = { 1, 2, 3, 16, 16, 16, 16, 17, 18, 255 };
	static const uint32_t why[] = { 0, 0, 0, ESTALE, ESTALE, EINVAL, 5 };
	uint32_t seed = 7, i, round;

	(void)state;
	deaf = true;
	for (round = 0; round < 200; round++) {
		finished = 0;
		for (i = 0; i < 8; i++)
			start(i, i % 3 + 1, 'r', 0, 1000, 1);
		for (i = 0; i < 60; i++) {
			struct unic_kio_msg msg = {
				.op = ops[rnd(&seed) % sizeof(ops)],
				.how = (uint8_t)(rnd(&seed) % 8 != 0),
				.id = unic_to_le32(client.turn * 16 -
						   rnd(&seed) % 200),
				.status =
					unic_to_le32(why[rnd(&seed) % N(why)]),
				.len = unic_to_le32(rnd(&seed) % 1100),
			};
			const struct unic_kio *one = client.slot[i % 8];

			if (one && rnd(&seed) % 2)
				msg.id = unic_to_le32(one->id);
			unic_kio_message(&client, &msg, rnd(&seed) % 4,
					 rnd(&seed) % 4 ? 0 : 1000);
			no_regions = rnd(&seed) % 16 == 0;
			if (rnd(&seed) % 3)
				step();
		}
		unic_kio_up(&client, false);
		run(8);
		unic_kio_up(&client, true);
	}
	assert_in_range(client.again, 100, 100000);
	assert_in_range(client.by_rdma, 1000, 100000);
	nothing_left();
}

/* Many at once, of all kinds, on a server with few buffers. */
static void many_at_once(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++)
		start(i, i % 3 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'm', i * 5000,
		      4000, 1 + i % 2);
	run(40);
	for (i = 0; i < 40; i++) {
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], 4000);
	}
	assert_int_equal(client.by_rdma + client.by_token, 40);
	nothing_left();
}

/* Entries are short, so fewer I/Os go by token at a time; those by RDMA, which have a
 * window for each user, go on beside them. */
static void window_of_tokens_is_theirs(void **state)
{
	uint32_t i, under_way[2] = { 0, 0 };

	(void)state;
	unic_kio_window(&client, 2);
	for (i = 0; i < 12; i++) {
		only_tokens = i < 6;
		start(i, UNIC_KIO_READ, 'r', 0, 1000, 1);
	}
	for (i = 0; i < 12; i++)
		under_way[i / 6] += io[i].state != UNIC_KIO_QUEUED;
	assert_int_equal(under_way[0], 2);
	assert_int_equal(under_way[1], 6);
	run(12);
	for (i = 0; i < 12; i++)
		assert_int_equal(status[i], 0);
	assert_int_equal(client.in_window, 0);
	nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(rdma_reads_come_whole, up_rdma),
		cmocka_unit_test_setup(rdma_writes_arrive_whole, up_rdma),
		cmocka_unit_test_setup(ends_of_files, up_rdma),
		cmocka_unit_test_setup(pieces_at_edges_of_pages, up_rdma),
		cmocka_unit_test_setup(pages_of_pieces, up_rdma),
		cmocka_unit_test_setup(pages_come_back_when_the_nic_lets_go,
				       up_rdma),
		cmocka_unit_test_setup(stag_ends_with_its_io, up_rdma),
		cmocka_unit_test_setup(timeout_ends_the_stag, up_rdma),
		cmocka_unit_test_setup(deadlines_hold_for_all, up_rdma),
		cmocka_unit_test_setup(link_loss_ends_the_stag, up_rdma),
		cmocka_unit_test_setup(reset_ends_all, up_rdma),
		cmocka_unit_test_setup(falls_back_to_tokens, up_rdma),
		cmocka_unit_test_setup(no_room_takes_a_token, up_rdma),
		cmocka_unit_test_setup(no_room_waits_for_a_form, up_rdma),
		cmocka_unit_test_setup(unclean_pages_go_by_token, up_rdma),
		cmocka_unit_test_setup(evicted_io_begins_again, up_rdma),
		cmocka_unit_test_setup(evicted_io_ends_by_token, up_rdma),
		cmocka_unit_test_setup(strange_answers, up_rdma),
		cmocka_unit_test_setup(answers_of_an_earlier_try, up_rdma),
		cmocka_unit_test_setup(no_try_without_a_connection, up_rdma),
		cmocka_unit_test_setup(region_that_comes_too_late, up_rdma),
		cmocka_unit_test_setup(random_answers, up_rdma),
		cmocka_unit_test_setup(many_at_once, up_rdma),
		cmocka_unit_test_setup(window_of_tokens_is_theirs, up_rdma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
