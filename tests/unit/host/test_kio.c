/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio.c - client and server of the kernel-resident page service over two
 * real NICs, with all of their memory named by bus addresses.
 */
#include "kio_client.h"
#include "kio_ring.h"
#include "kio_server.h"
#include "rig_kernel.h"
#include "unit.h"

#define OTHER	    1u
#define MESSAGES    16u	   /* receives posted, one a page */
#define RECVS	    AT(4)  /* the pages of the physical region */
#define SENDS	    AT(20) /* messages on their way out */
#define BUFFER	    AT(40) /* the server's data */
#define BUFFERS	    4u
#define PAGES	    AT(40) /* the client's */
#define PAYLOAD	    16384u /* of an I/O, at most, here */
#define FILE_END    1000000u
#define MS	    1000000ull
#define PLACES	    3u
#define DATA_OF(at) (1000ull + (at)) /* a wr_id */

struct message {
	struct unic_cqe cqe;
	struct unic_kio_msg msg;
	uint32_t bytes, payload, token;
	uint8_t text[512];
};

static struct rig ra, rb; /* the client's NIC, the server's */
static struct rig_mr pa, pb;
static struct rig_qp qa, qb;
static struct unic_kio_client client;
static struct unic_kio io[40];
static int status[40];
static uint32_t got[40], finished, most, tokens_wanted, cancels_wanted;
static uint32_t posts[2], server_wants, server_cancels, buffers_used, runs;
static struct unic_kio_server server;
static uint8_t written[1 << 20];
static uint32_t form; /* of the client's NIC; there is one */
static bool form_taken;
static bool deaf;	  /* the server */
static bool still;	  /* the client's host */
static bool rough;	  /* peers lie */
static uint32_t short_by; /* bytes that a WRITE does not send */
static uint32_t claims;	  /* ... that its answer says too much */
static struct unic_kio_file file, *file_of_it; /* of the next I/Os */

static uint8_t content(uint32_t object, uint64_t at)
{
	return (uint8_t)(object * 31 + at * 7 + at / 256);
}

/* ----------------------------------------------------------------- server */

/* A file is its first letter; of those that are written there is one. */
static int run_task(struct unic_kio_task *t, uint8_t *p)
{
	uint32_t i;

	runs++;
	t->size = FILE_END;
	if (!t->name_bytes || *t->name == '?')
		return -ENOENT;
	if (t->op == UNIC_KIO_CUT || t->op == UNIC_KIO_STAT ||
	    t->op == UNIC_KIO_SYNC)
		return 0;
	if (t->op == UNIC_KIO_WRITE) {
		assert_true(t->offset + t->len <= sizeof(written));
		memcpy(written + t->offset, p, t->len);
		return (int)t->len;
	}
	if (t->offset >= FILE_END)
		return 0;
	if (t->len > FILE_END - t->offset)
		t->len = (uint32_t)(FILE_END - t->offset);
	for (i = 0; i < t->len; i++)
		p[i] = content((uint8_t)*t->name, t->offset + i);
	return (int)t->len;
}

/* As a thread would: in memory of its own, and later. */
static struct {
	struct unic_kio_task task;
	uint8_t buf[PAYLOAD];
	char name[UNIC_KIO_NAME_MAX];
} place[PLACES];
static uint32_t begun, taken;
static bool slow;     /* nothing is done */
static uint64_t boot; /* id of the store */
static uint32_t ends; /* connections it was told of */
static bool no_room;

static bool store_begin(struct unic_kio_store *s,
			const struct unic_kio_task *task)
{
	struct unic_kio_task *t = &place[begun % PLACES].task;
	uint8_t *buf = place[begun % PLACES].buf;
	char *name = place[begun % PLACES].name;

	(void)s;
	if (begun - taken == PLACES)
		return false;
	assert_true(task->len <= PAYLOAD);
	*t = *task;
	memcpy(name, task->name, task->name_bytes);
	t->name = name;
	t->buf = task->len ? buf : NULL;
	if (task->op == UNIC_KIO_WRITE)
		memcpy(buf, task->buf, task->len);
	begun++;
	return true;
}

static bool store_next(struct unic_kio_store *s, struct unic_kio_task *task)
{
	uint32_t at = taken % PLACES;

	(void)s;
	if (slow || begun == taken)
		return false;
	taken++;
	place[at].task.n = run_task(&place[at].task, place[at].buf);
	place[at].task.boot = boot;
	*task = place[at].task;
	return true;
}

static bool store_end(struct unic_kio_store *s, struct unic_kio_server *of)
{
	(void)s;
	assert_ptr_equal(of, &server);
	ends += !no_room;
	return !no_room;
}

static struct unic_kio_store store = { .begin = store_begin,
				       .next = store_next,
				       .end = store_end };

/* There is a slot. Who names wrong tokens is made to wait by the other NIC, so
 * then all sends are counted until they complete. */
static bool room(const struct rig *r)
{
	if (posts[r == &rb] == (rough ? 4 : RIG_SLOTS))
		return false;
	posts[r == &rb]++;
	return true;
}

static bool post(struct rig *r, struct rig_qp *qp, const struct rig_mr *mr,
		 const struct unic_kio_msg *msg, const struct unic_kio *i,
		 uint64_t id)
{
	struct unic_sq_slot *s = &qp->sq[qp->sq_tail % RIG_SLOTS];
	uint32_t at = SENDS + qp->sq_tail % RIG_SLOTS * 512;
	uint32_t name = i ? i->name_bytes : 0;

	if (!room(r))
		return false;
	memcpy(mr->mem + at, msg, sizeof(*msg));
	if (name)
		memcpy(mr->mem + at + sizeof(*msg), i->name, name);
	rig_send(r, qp, UNIC_WR_SEND, id, mr, at, (uint32_t)sizeof(*msg) + name,
		 0, 0);
	if (!id && !rough)
		s->flags = 0; /* the CQ has room for answers only */
	return true;
}

static bool post_data(struct rig *r, struct rig_qp *qp, const struct rig_mr *mr,
		      const struct unic_kio_msg *msg, uint32_t token,
		      uint64_t key, struct unic_sge bytes, uint64_t id)
{
	struct unic_sq_slot *s = &qp->sq[qp->sq_tail % RIG_SLOTS];
	uint32_t at = SENDS + qp->sq_tail % RIG_SLOTS * 512;

	if (!room(r))
		return false;
	memcpy(mr->mem + at, msg, sizeof(*msg));
	rig_send(r, qp, UNIC_WR_TOKEN, id, mr, at, sizeof(*msg), key, token);
	s->flags = UNIC_WR_SIGNALED;
	s->ctrl_len = unic_to_le32(sizeof(*msg));
	s->num_sge = 2;
	s->sge[1] = bytes;
	return true;
}

static struct unic_sge sge(uint32_t lkey, uint64_t iova, uint32_t len)
{
	return (struct unic_sge){ .iova = unic_to_le64(iova),
				  .len = unic_to_le32(len),
				  .lkey = unic_to_le32(lkey) };
}

static bool server_send(struct unic_kio_server *s,
			const struct unic_kio_msg *msg)
{
	(void)s;
	return post(&rb, &qb, &pb, msg, NULL, 0);
}

static bool server_data(struct unic_kio_server *s, uint32_t at,
			const struct unic_kio_msg *msg, uint32_t bytes)
{
	const struct unic_kio_job *job = &s->job[at];

	return post_data(&rb, &qb, &pb, msg, unic_from_le32(job->ask.token),
			 unic_from_le64(job->ask.key),
			 sge(pb.stag,
			     pb.iova + (size_t)((uint8_t *)job->buf - pb.mem),
			     bytes),
			 DATA_OF(at));
}

static void server_token(struct unic_kio_server *s, uint32_t at)
{
	(void)s;
	server_wants |= 1u << at;
}

static void server_cancel(struct unic_kio_server *s, uint32_t at)
{
	(void)s;
	server_cancels |= 1u << at;
}

static void *server_buf_get(struct unic_kio_server *s)
{
	uint32_t at;

	(void)s;
	for (at = 0; at < BUFFERS; at++)
		if (!(buffers_used >> at & 1)) {
			buffers_used |= 1u << at;
			return pb.mem + BUFFER + at * PAYLOAD;
		}
	return NULL;
}

static void server_buf_put(struct unic_kio_server *s, void *buf)
{
	(void)s;
	buffers_used &= ~(1u << ((uint8_t *)buf - pb.mem - BUFFER) / PAYLOAD);
}

static const struct unic_kio_server_link server_ops = {
	.send = server_send,
	.data = server_data,
	.token = server_token,
	.cancel = server_cancel,
	.buf_get = server_buf_get,
	.buf_put = server_buf_put,
};

/* ----------------------------------------------------------------- client */

static bool link_send(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		      const struct unic_kio *i)
{
	(void)c;
	return post(&ra, &qa, &pa, msg, i, 0);
}

static bool link_prepare(struct unic_kio_client *c, struct unic_kio *i)
{
	(void)c;
	i->form = 0;
	if (i->op != UNIC_KIO_WRITE || i->pieces == 1)
		return true;
	if (form_taken)
		return false;
	form_taken = true;
	i->form = form;
	return true;
}

static void link_release(struct unic_kio_client *c, struct unic_kio *i)
{
	(void)c;
	if (i->form)
		form_taken = false;
}

/* What the form is made of, by a request that says nothing if it is done. */
static bool post_form(const struct unic_kio *i)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];
	struct unic_sge *list = (void *)(pa.mem + AT(3));
	uint32_t k;

	if (!room(&ra))
		return false;
	for (k = 0; k < i->pieces; k++)
		list[k] = sge(pa.stag, unic_from_le64(i->piece[k].bus),
			      unic_from_le32(i->piece[k].len));
	rig_send(&ra, &qa, UNIC_WR_REG_INDIRECT, 0, &pa, AT(3),
		 i->pieces * (uint32_t)sizeof(*list), 0, form);
	s->imm = unic_to_le32(UNIC_WR_IMM_KEY(form));
	s->flags = 0;
	return true;
}

static bool link_data(struct unic_kio_client *c, uint32_t at,
		      const struct unic_kio_msg *msg, const struct unic_kio *i)
{
	struct unic_sge from =
		sge(pa.stag, unic_from_le64(i->piece[0].bus), i->len);

	(void)c;
	if (i->form && !post_form(i))
		return false;
	if (i->form)
		from = sge(form, 0, i->len);
	from.len = unic_to_le32(i->len - short_by);
	return post_data(&ra, &qa, &pa, msg, i->token, i->key, from,
			 DATA_OF(at));
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
	.prepare = link_prepare,
	.release = link_release,
	.send = link_send,
	.data = link_data,
	.token = link_token,
	.cancel = link_cancel,
};

static bool alloc(struct rig *r, struct unic_cmd_token_alloc *cmd,
		  uint32_t *index, uint64_t *key)
{
	struct unic_cpl_token cpl;
	bool ok = !rig_cmd(r, UNIC_CMD_TOKEN_ALLOC, cmd, &cpl);

	*index = unic_from_le32(cpl.index);
	*key = unic_from_le64(cpl.key);
	return ok;
}

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
	uint32_t index;
	uint64_t key;
	bool ok;

	memcpy(rig_list(&ra), i->piece, sizeof(i->piece));
	ok = alloc(&ra, &cmd, &index, &key);
	unic_kio_token(&client, at, ok, index, key);
}

static void get_server_token(uint32_t at)
{
	const struct unic_kio_job *job = &server.job[at];
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(qb.pd),
		.stag = unic_to_le32(pb.stag),
		.iova = unic_to_le64(pb.iova +
				     (uint64_t)((uint8_t *)job->buf - pb.mem)),
		.length = job->ask.len,
	};
	uint32_t index;
	uint64_t key;
	bool ok = alloc(&rb, &cmd, &index, &key);

	unic_kio_server_token(&server, at, ok, index, key);
}

static void cancel(struct rig *r, uint32_t token, uint64_t key)
{
	struct unic_cmd_token_cancel cmd = {
		.index = unic_to_le32(token),
		.key = unic_to_le64(key),
	};

	int err = rig_cmd(r, UNIC_CMD_TOKEN_CANCEL, &cmd, NULL);

	/* used by a message of which its owner was told lies */
	assert_true(!err || (rough && err == UNIC_ST_NO_TOKEN));
}

static void cancel_token(uint32_t at)
{
	const struct unic_kio *i = client.slot[at];

	cancel(&ra, i->token, i->key);
	unic_kio_ended(&client, at);
}

static void cancel_server_token(uint32_t at)
{
	cancel(&rb, server.job[at].token, server.job[at].key);
	unic_kio_server_ended(&server, at);
}

static void each(uint32_t *mask, void (*what)(uint32_t at))
{
	uint32_t at;

	for (at = 0; at < 32; at++)
		if (*mask >> at & 1) {
			*mask &= ~(1u << at);
			what(at);
		}
}

static void commands(void)
{
	each(&tokens_wanted, get_token);
	each(&cancels_wanted, cancel_token);
	each(&server_wants, get_server_token);
	each(&server_cancels, cancel_server_token);
}

/* ------------------------------------------------------------------ both */

/* The next message that came, and its receive posted again. */
static bool message(struct rig *r, struct rig_qp *qp, const struct rig_mr *mr,
		    struct message *m)
{
	while (rig_cqe(r, qp, &m->cqe)) {
		uint32_t at = (uint32_t)unic_from_le64(m->cqe.wr_id);

		assert_int_equal(m->cqe.status, UNIC_WC_SUCCESS);
		if (m->cqe.opcode < UNIC_WC_RECV) {
			posts[r == &rb] -= rough;
			if (at >= DATA_OF(0) && r == &ra)
				unic_kio_sent(&client, at - DATA_OF(0));
			else if (at >= DATA_OF(0))
				unic_kio_server_sent(&server, at - DATA_OF(0));
			continue;
		}
		m->bytes = unic_from_le32(m->cqe.byte_len);
		assert_true(m->bytes <= sizeof(m->text));
		memcpy(m->text, mr->mem + at, m->bytes);
		memcpy(&m->msg, m->text, sizeof(m->msg));
		m->payload = m->cqe.opcode == UNIC_WC_RECV_TOKEN
				     ? unic_from_le32(m->cqe.imm)
				     : 0;
		m->token = unic_from_le32(m->cqe.token);
		rig_recv(r, qp, at, mr, at, 512);
		return true;
	}
	return false;
}

static void serve(const struct message *m)
{
	assert_true(unic_kio_server_message(&server, m->text, m->bytes,
					    m->token, m->payload));
}

static void step(void)
{
	struct unic_kio_task task;
	struct message m;

	commands();
	most = client.busy > most ? client.busy : most;
	rig_run2(&ra, &rb, MS / 10);
	if (!rough)
		posts[0] = posts[1] = 0;
	while (message(&rb, &qb, &pb, &m))
		if (!deaf)
			serve(&m);
	unic_kio_server_poll(&server, rb.nic.now_ns);
	while (store_next(&store, &task))
		unic_kio_server_stored(&task);
	while (!still && message(&ra, &qa, &pa, &m)) {
		m.msg.len = unic_to_le32(unic_from_le32(m.msg.len) + claims);
		unic_kio_message(&client, &m.msg, m.token, m.payload);
	}
	if (!still)
		unic_kio_client_poll(&client, ra.nic.now_ns);
}

static void get_form(void)
{
	struct unic_cmd_mr_alloc cmd = {
		.pd = unic_to_le32(qa.pd),
		.kind = UNIC_FORM_INDIRECT,
		.n = unic_to_le32(UNIC_TOKEN_PIECES),
	};
	struct unic_cpl_mr_reg cpl;

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_ALLOC, &cmd, &cpl), 0);
	form = unic_from_le32(cpl.stag);
	form_taken = false;
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
		rig_recv(&ra, &qa, RECVS + i * 512, &pa, RECVS + i * 512, 512);
		rig_recv(&rb, &qb, RECVS + i * 512, &pb, RECVS + i * 512, 512);
	}
	get_form();
	unic_kio_client_init(&client, &link_ops);
	unic_kio_server_init(&server, &server_ops, &store);
	unic_kio_up(&client, true);
	deaf = still = rough = slow = no_room = false;
	short_by = claims = 0;
	boot = 1;
	ends = 0;
	file_of_it = NULL;
	begun = taken = 0;
	posts[0] = posts[1] = 0;
	finished = most = tokens_wanted = cancels_wanted = 0;
	server_wants = server_cancels = buffers_used = runs = 0;
	memset(written, 0, sizeof(written));
	memset(io, 0, sizeof(io));
	return 0;
}

static void done(struct unic_kio *i, int why, uint32_t bytes)
{
	status[i - io] = why;
	got[i - io] = bytes;
	finished++;
}

static void start(uint32_t i, uint8_t op, uint32_t name, uint64_t offset,
		  uint32_t len, uint32_t n)
{
	uint32_t k, left = len, at = PAGES + i % 4 * AT(4);

	io[i] = (struct unic_kio){
		.op = op,
		.name = { (char)name, 'x' },
		.name_bytes = 1 + i % 2,
		.offset = offset,
		.len = len,
		.pieces = n,
		.deadline_ns = ra.nic.now_ns + 400 * MS,
		.file = file_of_it,
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
	assert_int_equal(unic_kio_start(&client, &io[i]), 0);
}

/* In @n pieces, the last of which takes the rest. */
static void read_at(uint32_t i, uint32_t name, uint64_t offset, uint32_t len,
		    uint32_t n)
{
	start(i, UNIC_KIO_READ, name, offset, len, n);
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
			assert_int_equal(p[j],
					 content((uint8_t)io[i].name[0], at++));
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
	unic_kio_server_poll(&server, rb.nic.now_ns); /* the store is told */
	assert_true(unic_kio_server_idle(&server));
	assert_int_equal(buffers_used, 0);
	assert_false(form_taken);
	assert_int_equal(ra.nic.dma_mrs.used, 0);
	assert_int_equal(ra.nic.tokens.used, 0);
	assert_int_equal(rb.nic.tokens.used, 0);
	assert_int_equal(ra.nic.share.owner[0].held, 0);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
}

static void reads_come_whole(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		read_at(i, 'a' + i, i * 997, 1 + i * 409 % PAYLOAD, 1 + i % 16);
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
	read_at(2, '?', 0, 100, 1);
	read_at(3, 1, UINT64_MAX - 10, 100, 1);
	run(4);
	assert_int_equal(io[2].remote, ENOENT);
	assert_int_equal(io[3].remote, EINVAL);
	assert_int_equal(io[0].size, FILE_END);
	assert_int_equal(status[0], 0);
	assert_int_equal(got[0], 10);
	assert_int_equal(status[1], 0);
	assert_int_equal(got[1], 0);
	assert_int_equal(status[2], -EREMOTEIO);
	assert_int_equal(status[3], -EREMOTEIO);
	nothing_left();
}

/* Nobody answers: it ends at its deadline, and when the answer comes after all
 * not a byte of it is written. */
static void late_answer_writes_nothing(void **state)
{
	struct message m;
	uint32_t i;

	(void)state;
	memset(pa.mem + PAGES, 0xa5, PAYLOAD);
	read_at(0, 7, 0, 5000, 4);
	commands();
	rig_run2(&ra, &rb, MS);
	assert_true(message(&rb, &qb, &pb, &m));
	run(1);
	assert_int_equal(status[0], -ETIMEDOUT);
	nothing_left();
	serve(&m);
	step();
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

/* All others take what they can get, a bit each in turn, and give nothing back before
 * it is taken. */
static void hoard(const uint32_t *pd)
{
	struct unic_evt_mr evt;
	struct rig_mr mr;
	uint32_t proc, got_one;

	while (rig_event(&ra, &evt))
		if (evt.hdr.type == UNIC_EVT_NOTICE)
			rig_ack(&ra, &evt);
	do {
		got_one = 0;
		for (proc = OTHER; proc < UNIC_PROCS; proc++)
			got_one += !rig_reg(&ra, proc, pd[proc], 4,
					    UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
					    &mr);
	} while (got_one);
}

/* Two of them with the sizes of the unit tests, 15 with those of boards/crowd. */
static void nothing_fails_beside_hoarders(void **state)
{
	uint32_t i, pd[UNIC_PROCS], starved = 0;
	uint64_t from = ra.nic.now_ns;

	(void)state;
	for (i = OTHER; i < UNIC_PROCS; i++) {
		if (i > OTHER)
			rig_attach(&ra, i, 1);
		pd[i] = rig_pd(&ra, i);
	}
	for (i = 0; i < 40; i++)
		start(i, i % 2 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'h', i * 5000,
		      4000, i % 2 ? 16 : 1);
	for (i = 0; finished < 40 && i < 10000; i++) {
		hoard(pd);
		starved += !ra.nic.tlb.free;
		step();
	}
	assert_true(starved == i); /* there never was an entry */
	assert_true(ra.nic.now_ns - from < 100 * MS);
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
		assert_int_equal(status[i], -ENOLINK);
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
	assert_int_equal(status[0], -ENOLINK);
	nothing_left();
}

/* ------------------------------------------------------------------- writes */

static void fill(uint32_t i)
{
	uint64_t at = io[i].offset;
	uint32_t k, j;

	for (k = 0; k < io[i].pieces; k++) {
		uint8_t *p = pa.mem + (unic_from_le64(io[i].piece[k].bus) -
				       RIG_KERNEL_BUS);

		for (j = 0; j < unic_from_le32(io[i].piece[k].len); j++)
			p[j] = content((uint8_t)io[i].name[0], at++);
	}
}

static void expect_written(uint32_t i)
{
	uint32_t k;

	for (k = 0; k < io[i].len; k++)
		assert_int_equal(written[io[i].offset + k],
				 content((uint8_t)io[i].name[0],
					 io[i].offset + k));
}

static void writes_arrive_whole(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		start(i, UNIC_KIO_WRITE, 'a' + i, i * 2000,
		      1 + i * 409 % PAYLOAD, 1);
		fill(i);
		run(i + 1);
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], io[i].len);
		expect_written(i);
	}
	nothing_left();
}

/* However scattered: one request, one message with all of the data. They are begun
 * together, and share the form. */
static void scattered_writes_are_one_io(void **state)
{
	uint64_t messages = rig_count(&ra, tx_frames);
	uint32_t i, n;

	(void)state;
	for (n = 0; n < 40; n += 4) {
		for (i = n; i < n + 4; i++) {
			start(i, UNIC_KIO_WRITE, 'a' + i, i * 2000,
			      AT(4) - i * 31, 2 + i * 5 % 15);
			fill(i);
		}
		run(n + 4);
		for (i = n; i < n + 4; i++) {
			assert_int_equal(status[i], 0);
			assert_int_equal(got[i], io[i].len);
		}
		expect_written(n + 3);
	}
	assert_int_equal(runs, 40);
	assert_int_equal(rig_count(&rb, tokens_used), 40);
	assert_int_equal(rig_count(&ra, forms_made), 40);
	assert_int_equal(rig_count(&ra, forms_refused), 0);
	/* WRITE, 17 packets of data at 1024 bytes each, what acknowledges */
	assert_in_range(rig_count(&ra, tx_frames) - messages, 40 * 17, 40 * 22);
	nothing_left();
}

/* What needs the form waits for it, and what is behind that, too: until its time
 * is over. */
static void one_that_waits_for_a_form_ends_in_time(void **state)
{
	(void)state;
	form_taken = true; /* by nobody who will ever end */
	start(0, UNIC_KIO_WRITE, 'w', 0, 1000, 2);
	start(1, UNIC_KIO_READ, 'r', 0, 1000, 1);
	run(2);
	assert_int_equal(status[0], -ETIMEDOUT);
	assert_int_equal(client.busy, 0);
	form_taken = false;
	start(2, UNIC_KIO_WRITE, 'w', 0, 1000, 2);
	run(3);
	assert_int_equal(status[2], 0);
	nothing_left();
}

/* More at once than the server has buffers: they wait. */
static void many_at_once(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++)
		start(i, i % 3 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'm', i * 5000,
		      4000, 1);
	run(40);
	for (i = 0; i < 40; i++) {
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], 4000);
	}
	nothing_left();
}

static void others_have_no_bytes(void **state)
{
	(void)state;
	start(0, UNIC_KIO_STAT, 's', 0, 0, 0);
	start(1, UNIC_KIO_CUT, 's', 77, 0, 0);
	start(2, UNIC_KIO_CUT, '?', 77, 0, 0);
	start(3, UNIC_KIO_WRITE, '?', 0, 100, 1);
	start(4, UNIC_KIO_SYNC, 's', 0, 0, 0);
	run(5);
	assert_int_equal(status[4], 0);
	assert_int_equal(io[4].size, FILE_END);
	assert_int_equal(status[0], 0);
	assert_int_equal(io[0].size, FILE_END);
	assert_int_equal(status[1], 0);
	assert_int_equal(status[2], -EREMOTEIO);
	assert_int_equal(status[3], -EREMOTEIO);
	assert_int_equal(io[3].remote, ENOENT);
	nothing_left();
}

/* One more of file `w', and to its end. */
static int one_of_file(uint8_t op)
{
	uint32_t i = finished;

	file_of_it = &file;
	start(i, op, 'w', 0, op == UNIC_KIO_WRITE ? 100 : 0,
	      op == UNIC_KIO_WRITE);
	run(i + 1);
	return status[i];
}

/* What was written before it may be lost: that is told, once. */
static void flush_after_another_life_of_the_server_fails(void **state)
{
	static const uint8_t writes[] = { UNIC_KIO_WRITE, UNIC_KIO_CUT };
	uint32_t k;

	(void)state;
	for (k = 0; k < 2; k++) {
		file = (struct unic_kio_file){ 0 };
		assert_int_equal(one_of_file(writes[k]), 0);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		boot++; /* nothing of ours is to be lost */
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		assert_int_equal(one_of_file(writes[k]), 0);
		boot++;
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
		assert_int_equal(io[finished - 1].remote, EIO);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		assert_int_equal(one_of_file(writes[k]), 0);
		boot++; /* a later write goes to the next life */
		assert_int_equal(one_of_file(writes[k]), 0);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
	}
	nothing_left();
}

/* One that is answered while a SYNC is under way is for the next SYNC. */
static void write_behind_a_flush_is_not_in_it(void **state)
{
	(void)state;
	file = (struct unic_kio_file){ 0 };
	assert_int_equal(one_of_file(UNIC_KIO_WRITE), 0);
	slow = true;
	start(1, UNIC_KIO_SYNC, 'w', 0, 0, 0);
	file.wrote++; /* one that is answered meanwhile */
	slow = false;
	run(2);
	assert_int_equal(status[1], 0);
	boot++;
	assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
	nothing_left();
}

/* The store hears of the end behind all that it began, also when it had no room. */
static void store_hears_of_the_end(void **state)
{
	(void)state;
	start(0, UNIC_KIO_SYNC, 's', 0, 0, 0);
	run(1);
	no_room = true;
	unic_kio_up(&client, false);
	unic_kio_server_down(&server, false);
	step();
	assert_int_equal(ends, 0);
	assert_false(unic_kio_server_idle(&server));
	no_room = false;
	step();
	step();
	assert_int_equal(ends, 1);
	assert_true(unic_kio_server_idle(&server));
	unic_kio_server_down(&server, false);
	step();
	assert_int_equal(ends, 1); /* it keeps nothing */
	nothing_left();
}

/* The client dies between asking and sending: the server's token and buffer are
 * free again after a while. */
static void granted_to_nobody(void **state)
{
	struct message m;
	uint32_t i;

	(void)state;
	start(0, UNIC_KIO_WRITE, 'w', 0, 5000, 1);
	rig_run2(&ra, &rb, MS);
	assert_true(message(&rb, &qb, &pb, &m));
	serve(&m);
	unic_kio_up(&client, false);
	assert_int_equal(status[0], -ENOLINK);
	for (i = 0; i < 25000 && !unic_kio_server_idle(&server); i++)
		step();
	assert_int_equal(runs, 0);
	nothing_left();
}

/* A host stands still for longer than the server keeps a token for the data of a
 * WRITE, and reads all that came meanwhile at once; or the first of it was lost. Nothing
 * was done, which is no word about the file: the WRITE can be begun again. */
static void data_that_comes_too_late(void **state)
{
	struct message m;
	uint32_t i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		still = true;
		start(2 * k, UNIC_KIO_WRITE, 'w', 0, 5000, 1);
		io[2 * k].deadline_ns = ra.nic.now_ns + 30000 * MS;
		for (i = 0; i < 25000; i++)
			step();
		still = false;
		assert_true(unic_kio_server_idle(&server));
		assert_int_equal(buffers_used, 0);
		if (k) {
			assert_true(message(&ra, &qa, &pa, &m));
			assert_int_equal(m.msg.op, UNIC_KIO_GRANT);
		}
		run(2 * k + 1);
		assert_int_equal(status[2 * k], -ENOBUFS);
		assert_int_equal(runs, k);
		start(2 * k + 1, UNIC_KIO_WRITE, 'x', 0, 5000, 1);
		fill(2 * k + 1);
		run(2 * k + 2);
		assert_int_equal(status[2 * k + 1], 0);
		expect_written(2 * k + 1);
		nothing_left();
	}
}

/* A disk that does nothing for a while: what waits, waits; a connection that ends
 * meanwhile leaves nothing, and what was begun for it is done before what comes
 * over the next. */
static void slow_files(void **state)
{
	uint32_t i;

	(void)state;
	slow = true;
	for (i = 0; i < 8; i++) {
		start(i, i < 3 ? UNIC_KIO_WRITE : UNIC_KIO_READ, 'a', i * 5000,
		      4000, 1);
		fill(i);
	}
	for (i = 0; i < 200; i++)
		step();
	assert_int_equal(finished, 0);
	assert_int_equal(begun, PLACES);
	unic_kio_up(&client, false);
	deaf = true;
	unic_kio_server_stop(&server);
	taken++; /* there is room, and nobody to use it */
	step();
	assert_int_equal(begun, PLACES);
	taken--;
	unic_kio_server_down(&server, false);
	run(8);
	nothing_left();
	for (i = 0; i < 8; i++)
		assert_int_equal(status[i], -ENOLINK);
	finished = 0;
	deaf = false;
	unic_kio_up(&client, true);
	start(0, UNIC_KIO_WRITE, 'b', 0, 4000, 1); /* another content */
	fill(0);
	for (i = 0; i < 20; i++)
		step();
	assert_int_equal(finished, 0);
	slow = false;
	run(1);
	assert_int_equal(status[0], 0);
	assert_int_equal(runs, PLACES + 1);
	expect_written(0);
	nothing_left();
}

/* What the store did for a request of the old connection is no answer to the one of
 * the new that has its place. */
static void answers_of_an_earlier_turn(void **state)
{
	uint32_t i;

	(void)state;
	slow = true;
	read_at(0, 'a', 0, 4000, 1);
	for (i = 0; i < 20; i++)
		step();
	assert_int_equal(begun, 1);
	unic_kio_up(&client, false);
	unic_kio_server_down(&server, false);
	run(1);
	unic_kio_up(&client, true);
	read_at(1, 'b', 77, 3000, 1);
	for (i = 0; i < 20; i++)
		step();
	assert_int_equal(begun, 2);
	assert_true(server.job[0].begun); /* the same place */
	slow = false;
	run(2);
	assert_int_equal(status[1], 0);
	assert_int_equal(got[1], 3000);
	expect_content(1);
	nothing_left();
}

/* An answer to a WRITE cannot have moved more than there was. */
static void server_that_claims_more(void **state)
{
	(void)state;
	start(0, UNIC_KIO_WRITE, 'w', 0, 5000, 1);
	claims = 1;
	run(1);
	assert_int_equal(status[0], -EREMOTEIO);
	assert_int_equal(io[0].remote, EIO);
	assert_int_equal(got[0], 0);
	claims = 0;
	nothing_left();
}

/* Nor does a WRITE whose data is short take the rest from what the buffer had. */
static void data_that_is_short(void **state)
{
	(void)state;
	start(0, UNIC_KIO_WRITE, 'w', 0, 5000, 1);
	short_by = 1;
	run(1);
	assert_int_equal(status[0], -EREMOTEIO);
	assert_int_equal(io[0].remote, EIO);
	assert_int_equal(runs, 0);
	nothing_left();
}

/* The connection ends at every step of a WRITE and a READ: done() once, and
 * nothing is left on either side. */
static void ends_at_every_step(void **state)
{
	uint32_t at, i;

	(void)state;
	for (at = 0; at < 12; at++) {
		finished = 0;
		start(0, UNIC_KIO_WRITE, 'w', 0, 9000, 1 + at % 2 * 15);
		start(1, UNIC_KIO_READ, 'r', 0, 9000, 3);
		for (i = 0; i < at; i++)
			step();
		unic_kio_up(&client, false);
		deaf = true; /* nothing arrives any more */
		step();
		unic_kio_server_down(&server, false);
		run(2);
		for (i = 0; i < 10; i++)
			step();
		deaf = false;
		assert_int_equal(finished, 2);
		nothing_left();
		unic_kio_up(&client, true);
	}
}

static void reset_ends_all(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 20; i++)
		start(i, i % 2 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'r', 0, 4000,
		      i ? 1 : 16);
	commands();
	rig_run2(&ra, &rb, MS);
	unic_kio_lost(&client, -ENOLINK);
	assert_int_equal(finished, UNIC_KIO_WINDOW);
	assert_int_equal(client.busy, 0);
	unic_kio_server_down(&server, true);
	assert_true(unic_kio_server_idle(&server));
	assert_int_equal(buffers_used, 0);
	assert_false(form_taken);
}

/* --------------------------------------------------------------- bad peers */

static void strange_answers(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER };

	(void)state;
	unic_kio_message(&client, &msg, 0, 10); /* nothing was asked for */
	msg.id = unic_to_le32(UINT32_MAX);
	unic_kio_message(&client, &msg, 0, 10);
	deaf = true;
	read_at(0, 'r', 0, 100, 1);
	commands();
	msg.id = unic_to_le32(io[0].id + UNIC_KIO_WINDOW); /* another turn */
	unic_kio_message(&client, &msg, io[0].token, 10);
	assert_int_equal(finished, 0);
	msg.id = unic_to_le32(io[0].id);
	msg.op = UNIC_KIO_READ;
	unic_kio_message(&client, &msg, io[0].token, 10);
	msg.op = UNIC_KIO_GRANT; /* of a READ */
	unic_kio_message(&client, &msg, 0, 0);
	assert_int_equal(io[0].state, UNIC_KIO_ASKED);
	/* the bytes are in another I/O's pages: these are old ones */
	msg.op = UNIC_KIO_ANSWER;
	msg.len = unic_to_le32(100);
	unic_kio_message(&client, &msg, io[0].token + 1, 100);
	run(1);
	assert_int_equal(status[0], -EREMOTEIO);
	/* a WRITE of more than there was, by an errno that is none */
	start(1, UNIC_KIO_WRITE, 'w', 0, 100, 1);
	msg.id = unic_to_le32(io[1].id);
	msg.len = unic_to_le32(101);
	msg.status = unic_to_le32(99999);
	unic_kio_message(&client, &msg, 0, 0);
	assert_int_equal(status[1], -EREMOTEIO);
	assert_int_equal(io[1].remote, EIO);
	assert_int_equal(got[1], 0);
}

/* "Written", before a byte has left. */
static void answered_without_data(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER };
	uint32_t i;

	(void)state;
	deaf = true;
	for (i = 0; i < 2; i++) {
		start(i, UNIC_KIO_WRITE, 'w', 0, 100, 1);
		msg.id = unic_to_le32(io[i].id);
		msg.len = unic_to_le32(100 * i);
		unic_kio_message(&client, &msg, 0, 0);
		assert_int_equal(finished, i + 1);
		assert_int_equal(status[i], -EREMOTEIO);
		assert_int_equal(io[i].remote, EIO);
	}
}

static bool says(struct unic_kio_msg *msg, const char *name, uint32_t bytes,
		 uint32_t payload)
{
	uint8_t text[512];

	memcpy(text, msg, sizeof(*msg));
	memcpy(text + sizeof(*msg), name, 20);
	return unic_kio_server_message(&server, text, bytes, 7, payload);
}

static void strange_requests(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_READ, .name_bytes = 4 };
	const char *name = "abcdefghijklmnopqrst";

	(void)state;
	assert_false(says(&msg, name, 0, 0));
	assert_false(says(&msg, name, sizeof(msg) - 1, 0));
	assert_false(says(&msg, name, sizeof(msg) + 3, 0));
	assert_false(says(&msg, name, sizeof(msg) + 5, 0));
	assert_false(says(&msg, name, sizeof(msg) + 4, 100));
	msg.op = 0;
	assert_false(says(&msg, name, sizeof(msg) + 4, 0));
	msg.op = UNIC_KIO_OPS;
	assert_false(says(&msg, name, sizeof(msg) + 4, 0));
	msg.op = UNIC_KIO_ANSWER;
	assert_false(says(&msg, name, sizeof(msg) + 4, 0));
	msg.op = UNIC_KIO_DATA; /* to nothing */
	assert_false(says(&msg, name, sizeof(msg) + 4, 0));
	msg.name_bytes = 0;
	assert_true(says(&msg, name, sizeof(msg), 10));
	assert_int_equal(runs, 0);
	assert_true(unic_kio_server_idle(&server));
	/* these are answered EINVAL */
	msg.op = UNIC_KIO_READ;
	msg.name_bytes = 4;
	msg.len = unic_to_le32(UNIC_KIO_MAX + 1);
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.len = unic_to_le32(0);
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.len = unic_to_le32(10);
	msg.offset = unic_to_le64(INT64_MAX - 9);
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.offset = unic_to_le64(0);
	assert_true(says(&msg, "a\0cd                ", sizeof(msg) + 4, 0));
	msg.rsvd[1] = 1;
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.rsvd[1] = 0;
	msg.rsvd2 = unic_to_le32(1);
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.rsvd2 = unic_to_le32(0);
	msg.op = UNIC_KIO_STAT; /* with bytes */
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	assert_true(unic_kio_server_idle(&server));
	assert_int_equal(runs, 0);
}

/* Data for one WRITE in the token of another would make a file of what is left
 * in a buffer. */
static void data_in_the_wrong_token(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_WRITE,
				    .name_bytes = 4,
				    .len = unic_to_le32(100) };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		msg.id = unic_to_le32(i);
		assert_true(
			says(&msg, "abcdefghijklmnopqrst", sizeof(msg) + 4, 0));
	}
	unic_kio_server_poll(&server, 1);
	unic_kio_server_poll(&server, 1);
	commands();
	assert_int_equal(server.job[0].state, UNIC_KIO_JOB_GRANTED);
	msg = (struct unic_kio_msg){ .op = UNIC_KIO_DATA };
	assert_true(unic_kio_server_message(&server, &msg, sizeof(msg),
					    server.job[1].token, 100));
	assert_int_equal(server.job[0].state, UNIC_KIO_JOB_CANCEL);
	/* fewer than it said: nothing is written either */
	msg.id = unic_to_le32(1);
	assert_true(unic_kio_server_message(&server, &msg, sizeof(msg),
					    server.job[1].token, 99));
	assert_int_equal(runs, 0);
}

/* One that asks more than its window has is no client of ours; what it asked for
 * is forgotten with the connection. */
static void too_many_requests(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_READ,
				    .name_bytes = 1,
				    .len = unic_to_le32(10) };
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_KIO_JOBS; i++)
		assert_true(
			says(&msg, "abcdefghijklmnopqrst", sizeof(msg) + 1, 0));
	assert_false(says(&msg, "abcdefghijklmnopqrst", sizeof(msg) + 1, 0));
	unic_kio_server_down(&server, false);
	assert_true(unic_kio_server_idle(&server));
}

static uint32_t rnd(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Whatever either side says, in whatever order: nothing outside of buffers is
 * touched (the sanitizers look), and all comes to an end. */
static void random_messages(void **state)
{
	static const uint8_t ops[] = { 0, 1, 2, 3, 4, 5, 6, 16, 17, 18, 255 };
	uint32_t seed = 1, i, round;

	(void)state;
	rough = true;
	for (round = 0; round < 200; round++) {
		finished = 0;
		for (i = 0; i < 8; i++)
			start(i, 1 + i % 5, 'r', 0, i % 5 < 3 ? 1000 : 0,
			      i % 5 < 3);
		for (i = 0; i < 60; i++) {
			struct unic_kio_msg msg = {
				.op = ops[rnd(&seed) % sizeof(ops)],
				.name_bytes = (uint8_t)(rnd(&seed) % 3),
				.id = unic_to_le32(client.turn * 16 -
						   rnd(&seed) % 40),
				.status = unic_to_le32(rnd(&seed) % 3),
				.len = unic_to_le32(rnd(&seed) % 2000),
				.offset = unic_to_le64(rnd(&seed) % 9000),
			};
			uint32_t payload = rnd(&seed) % 4 ? 0 : 1000;

			if (rnd(&seed) % 2)
				unic_kio_message(&client, &msg, rnd(&seed) % 4,
						 payload);
			else
				says(&msg, "abcdefghijklmnopqrst",
				     sizeof(msg) + rnd(&seed) % 4, payload);
			step();
		}
		unic_kio_up(&client, false);
		deaf = true;
		step();
		unic_kio_server_down(&server, false);
		run(8);
		for (i = 0; i < 5; i++)
			step();
		deaf = false;
		unic_kio_up(&client, true);
		nothing_left();
	}
}

static void wrong_requests(void **state)
{
	struct unic_kio bad = { .op = UNIC_KIO_READ, .len = 10, .done = done };

	(void)state;
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.pieces = UNIC_TOKEN_PIECES + 1;
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.pieces = 1;
	bad.piece[0].len = unic_to_le32(11);
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.len = UNIC_KIO_MAX + 1;
	bad.piece[0].len = unic_to_le32(UNIC_KIO_MAX + 1);
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.len = 11;
	bad.piece[0].len = unic_to_le32(11);
	bad.op = UNIC_KIO_STAT;
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.op = UNIC_KIO_OPS;
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	assert_int_equal(client.busy, 0);
}

/* ---------------------------------------------------------------- the queues */

void unic_os_ring_slot(struct unic_os *os, uint32_t slot)
{
	(void)os;
	(void)slot;
}

/* What is sent from @pieces pieces: @at is the slot it begins in. */
static void expect_gathered(struct unic_kio_ring *r, uint32_t at,
			    uint32_t pieces)
{
	struct unic_token_piece piece[UNIC_KIO_GATHER];
	struct unic_kio_data data = {
		.piece = piece, .pieces = pieces, .token = 7, .key = 8
	};
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_ctl_qp_create where = { 0 };
	const struct unic_sq_slot *sq;
	const struct unic_sge *sge;
	uint32_t i;

	unic_kio_ring_qp(r, 1, &where);
	sq = (void *)(r->mem + unic_from_le64(where.sq_iova) - r->bus);
	for (i = 0; i < pieces; i++)
		piece[i] = (struct unic_token_piece){
			.bus = unic_to_le64(0x10000ull * (i + 1)),
			.len = unic_to_le32(512 * (i + 1)),
		};
	assert_true(
		unic_kio_ring_data(r, 1, &msg, &data, UNIC_KIO_TAG_CLIENT, 3));
	assert_int_equal(sq[at % 64].num_sge, 1 + pieces);
	assert_int_equal(unic_from_le64(sq[at % 64].remote), 8);
	for (i = 0; i < pieces; i++) {
		sge = i ? (const void *)&sq[(at + 1) % 64]
			: &sq[at % 64].sge[1];
		sge += i ? i - 1 : 0;
		assert_int_equal(unic_from_le64(sge->iova), 0x10000 * (i + 1));
		assert_int_equal(unic_from_le32(sge->len), 512 * (i + 1));
		assert_int_equal(unic_from_le32(sge->lkey), r->stag);
	}
}

/* The NIC says that the request that ended with slot @last is done. */
static void complete(struct unic_kio_ring *r, uint32_t n, uint64_t wr_id)
{
	struct unic_ctl_cq_create where = { 0 };
	struct unic_kio_done done;
	struct unic_cqe *cqe;

	unic_kio_ring_cq(r, &where);
	cqe = (void *)(r->mem + unic_from_le64(where.iova) - r->bus);
	cqe[n] = (struct unic_cqe){ .wr_id = unic_to_le64(wr_id),
				    .opcode = UNIC_WC_TOKEN,
				    .qpn = unic_to_le32(5),
				    .seq = unic_to_le32(n + 1) };
	assert_true(unic_kio_ring_poll(r, &done));
	assert_int_equal(done.tag, UNIC_KIO_TAG_CLIENT);
	assert_int_equal(done.at, 3);
}

static struct unic_cqe *next_cqe(struct unic_kio_ring *r)
{
	struct unic_ctl_cq_create where = { 0 };
	struct unic_cqe *cqe;

	unic_kio_ring_cq(r, &where);
	cqe = (void *)(r->mem + unic_from_le64(where.iova) - r->bus);
	return &cqe[r->cq_ci];
}

/* A completion that is of no queue pair that is there, or of nothing that is posted,
 * is counted and none; a message is not longer than its buffer, whatever is said. */
static void completions_that_are_none(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_kio_done done;
	struct unic_kio_ring r;
	struct unic_cqe good, wrong[6];
	uint32_t i;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	unic_kio_ring_up(&r, 1, 5);
	good = (struct unic_cqe){
		.wr_id = unic_to_le64(UNIC_KIO_TAG_RECV | 0u << 8 | 1u << 16),
		.opcode = UNIC_WC_RECV,
		.qpn = unic_to_le32(5),
		.byte_len = unic_to_le32(513),
	};
	for (i = 0; i < 6; i++)
		wrong[i] = good;
	wrong[0].qpn = unic_to_le32(4); /* the link's last one */
	wrong[1].wr_id = unic_to_le64(UNIC_KIO_TAG_RECV | 0u << 8 | 0u << 16);
	wrong[2].wr_id = unic_to_le64(UNIC_KIO_TAG_RECV | 64u << 8 | 1u << 16);
	wrong[3].wr_id = unic_to_le64(0u << 8 | 1u << 16);
	wrong[4].opcode = UNIC_WC_TOKEN;
	wrong[5].wr_id = /* none is posted */
		unic_to_le64(UNIC_KIO_TAG_CLIENT | 0u << 8 | 1u << 16);
	wrong[5].opcode = UNIC_WC_TOKEN;
	for (i = 0; i < 6; i++) {
		wrong[i].seq = unic_to_le32(i + 1);
		*next_cqe(&r) = wrong[i];
		assert_false(unic_kio_ring_poll(&r, &done));
		assert_int_equal(r.bad, i + 1);
	}
	good.seq = unic_to_le32(7);
	*next_cqe(&r) = good;
	assert_true(unic_kio_ring_poll(&r, &done));
	assert_int_equal(done.tag, UNIC_KIO_TAG_RECV);
	assert_int_equal(done.link, 1);
	assert_int_equal(done.at, 0);
	assert_int_equal(done.bytes, 512);
	assert_int_equal(done.payload, 0);
	assert_int_equal(r.bad, 6);
	test_free(mem);
}

enum turn {
	NONE,
	GOOD,
	LOST
};

/* A receive of link 1 completes, by its number and message buffer. */
static void receives(struct unic_kio_ring *r, uint64_t n, uint32_t at,
		     enum turn want)
{
	struct unic_kio_done done;
	uint32_t bad = r->bad;

	*next_cqe(r) = (struct unic_cqe){
		.wr_id = unic_to_le64(UNIC_KIO_TAG_RECV | at << 8 | 1u << 16 |
				      n << 32),
		.opcode = UNIC_WC_RECV,
		.qpn = unic_to_le32(5),
		.seq = unic_to_le32(r->cq_ci + 1),
	};
	assert_int_equal(unic_kio_ring_poll(r, &done), want != NONE);
	assert_int_equal(r->bad - bad, want == NONE);
	if (want == NONE)
		return;
	assert_int_equal(done.tag, UNIC_KIO_TAG_RECV);
	assert_int_equal(done.ok, want == GOOD);
}

/* Messages come in the order in which there was room for them, each once: else a
 * buffer would be posted twice, and a message lie where another was. One that is not
 * the next says that another one was lost. */
static void receives_complete_in_turn(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	const struct unic_db_page *db = (void *)slot;
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_kio_ring r;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	unic_kio_ring_up(&r, 1, 5);
	receives(&r, 0, 1, NONE); /* another's buffer */
	receives(&r, 0, 0, GOOD);
	receives(&r, 0, 0, NONE);	       /* again */
	receives(&r, UNIC_KIO_SLOTS, 0, NONE); /* not posted yet */
	unic_kio_ring_repost(&r, 1);
	assert_int_equal(unic_from_le32(db->tail[2].rq), UNIC_KIO_SLOTS + 1);
	receives(&r, 0, 0, NONE);
	receives(&r, 2, 2, LOST);
	receives(&r, UNIC_KIO_SLOTS, 0, LOST);
	receives(&r, UNIC_KIO_SLOTS + 1, 1, NONE);
	receives(&r, 1, 1, GOOD); /* it was a lie */
	unic_kio_ring_up(&r, 1, 5);
	receives(&r, 0, 0, GOOD);
	test_free(mem);
}

/* Data in more pieces than a slot names take a slot more, over the end of the
 * ring, too; and both are free again with the one completion. */
static void data_in_pieces(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_token_piece one = { .len = unic_to_le32(4) };
	struct unic_kio_data data = { .piece = &one, .pieces = 1 };
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_kio_ring r;
	uint32_t at = 0, n = 0, last;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	assert_null(unic_kio_ring_get(&r)); /* no buffers */
	r.stag = 99;
	unic_kio_ring_up(&r, 1, 5);
	while (at < 200) {
		uint32_t pieces = 1 + n % UNIC_KIO_GATHER;

		expect_gathered(&r, at, pieces);
		last = at + (pieces > 1);
		at = last + 1;
		complete(&r, n++,
			 UNIC_KIO_TAG_CLIENT | 3u << 8 | 1u << 16 |
				 (uint64_t)last << 32);
	}
	for (n = 0;
	     unic_kio_ring_data(&r, 1, &msg, &data, UNIC_KIO_TAG_CLIENT, 3);)
		n++;
	assert_int_equal(n, 64);
	test_free(mem);
}

#define FORM 0x1234578u

/* One list, one message that names the form; @at is the slot of the first. */
static void expect_form(struct unic_kio_ring *r, uint32_t at)
{
	struct unic_token_piece piece[UNIC_TOKEN_PIECES];
	struct unic_kio_data data = { .piece = piece,
				      .pieces = UNIC_TOKEN_PIECES,
				      .form = FORM };
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_ctl_qp_create where = { 0 };
	const struct unic_sq_slot *sq, *reg, *token;
	const struct unic_sge *list;
	uint32_t i;

	unic_kio_ring_qp(r, 1, &where);
	sq = (void *)(r->mem + unic_from_le64(where.sq_iova) - r->bus);
	reg = &sq[at % 64];
	token = &sq[(at + 1) % 64];
	for (i = 0; i < UNIC_TOKEN_PIECES; i++)
		piece[i] = (struct unic_token_piece){
			.bus = unic_to_le64(0x10000ull * (i + 1)),
			.len = unic_to_le32(i + 1),
		};
	assert_true(
		unic_kio_ring_data(r, 1, &msg, &data, UNIC_KIO_TAG_CLIENT, 3));
	assert_int_equal(reg->opcode, UNIC_WR_REG_INDIRECT);
	assert_int_equal(reg->flags, 0);
	assert_int_equal(reg->num_sge, 1);
	assert_int_equal(unic_from_le32(reg->rkey), FORM);
	assert_int_equal(unic_from_le32(reg->imm), FORM & 0xff);
	assert_int_equal(unic_from_le32(reg->sge[0].lkey), r->stag);
	assert_int_equal(unic_from_le32(reg->sge[0].len),
			 UNIC_TOKEN_PIECES * sizeof(*list));
	list = (void *)(r->mem + unic_from_le64(reg->sge[0].iova) - r->bus);
	for (i = 0; i < UNIC_TOKEN_PIECES; i++) {
		assert_int_equal(unic_from_le64(list[i].iova),
				 0x10000 * (i + 1));
		assert_int_equal(unic_from_le32(list[i].len), i + 1);
		assert_int_equal(unic_from_le32(list[i].lkey), r->stag);
	}
	assert_int_equal(token->opcode, UNIC_WR_TOKEN);
	assert_int_equal(token->num_sge, 2);
	assert_int_equal(unic_from_le64(token->sge[1].iova), 0);
	assert_int_equal(unic_from_le32(token->sge[1].len), 16 * 17 / 2);
	assert_int_equal(unic_from_le32(token->sge[1].lkey), FORM);
}

/* The form first, then the message; both or, if there is no room, none. */
static void data_by_a_form(void **state)
{
	static _Alignas(64) uint8_t slot[3 * 4096];
	void *mem = test_malloc(unic_kio_ring_bytes(false));
	struct unic_token_piece one = { .len = unic_to_le32(4) };
	struct unic_kio_data data = { .piece = &one, .pieces = 1 };
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA };
	struct unic_kio_ring r;
	uint32_t n;

	(void)state;
	unic_kio_ring_init(&r, NULL, slot, 2, mem, 1ull << 20, false);
	r.stag = 99;
	unic_kio_ring_up(&r, 1, 5);
	for (n = 0; n < 100; n++) {
		expect_form(&r, 2 * n);
		complete(&r, n,
			 UNIC_KIO_TAG_CLIENT | 3u << 8 | 1u << 16 |
				 (uint64_t)(2 * n + 1) << 32);
	}
	for (n = 0; n < 63; n++)
		assert_true(unic_kio_ring_data(&r, 1, &msg, &data,
					       UNIC_KIO_TAG_CLIENT, 3));
	data.form = FORM;
	assert_false(
		unic_kio_ring_data(&r, 1, &msg, &data, UNIC_KIO_TAG_CLIENT, 3));
	assert_int_equal(r.link[1].posted, 263);
	test_free(mem);
}

static void forms_are_lent_once(void **state)
{
	struct unic_kio_ring r = { 0 };
	uint32_t n, got_form[UNIC_KIO_FORMS];

	(void)state;
	assert_int_equal(unic_kio_ring_form(&r), 0);
	for (n = 1; n <= UNIC_KIO_FORMS; n++)
		unic_kio_ring_add_form(&r, n * 0x100);
	for (n = 0; n < UNIC_KIO_FORMS; n++) {
		got_form[n] = unic_kio_ring_form(&r);
		assert_int_equal(got_form[n], (n + 1) * 0x100);
	}
	assert_int_equal(unic_kio_ring_form(&r), 0);
	unic_kio_ring_form_put(&r, got_form[5]);
	unic_kio_ring_form_put(&r, 0x77); /* of another NIC's life */
	assert_int_equal(unic_kio_ring_form(&r), got_form[5]);
	assert_int_equal(unic_kio_ring_form(&r), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reads_come_whole, up),
		cmocka_unit_test_setup(ends_of_files_and_errors, up),
		cmocka_unit_test_setup(late_answer_writes_nothing, up),
		cmocka_unit_test_setup(deadlines_hold_for_all, up),
		cmocka_unit_test_setup(window_shrinks_and_grows, up),
		cmocka_unit_test_setup(nothing_fails_beside_hoarders, up),
		cmocka_unit_test_setup(link_goes_and_comes, up),
		cmocka_unit_test_setup(token_that_comes_too_late, up),
		cmocka_unit_test_setup(writes_arrive_whole, up),
		cmocka_unit_test_setup(scattered_writes_are_one_io, up),
		cmocka_unit_test_setup(one_that_waits_for_a_form_ends_in_time,
				       up),
		cmocka_unit_test_setup(many_at_once, up),
		cmocka_unit_test_setup(others_have_no_bytes, up),
		cmocka_unit_test_setup(
			flush_after_another_life_of_the_server_fails, up),
		cmocka_unit_test_setup(write_behind_a_flush_is_not_in_it, up),
		cmocka_unit_test_setup(store_hears_of_the_end, up),
		cmocka_unit_test_setup(granted_to_nobody, up),
		cmocka_unit_test_setup(data_that_comes_too_late, up),
		cmocka_unit_test_setup(slow_files, up),
		cmocka_unit_test_setup(answers_of_an_earlier_turn, up),
		cmocka_unit_test_setup(server_that_claims_more, up),
		cmocka_unit_test_setup(data_that_is_short, up),
		cmocka_unit_test_setup(ends_at_every_step, up),
		cmocka_unit_test_setup(reset_ends_all, up),
		cmocka_unit_test_setup(strange_answers, up),
		cmocka_unit_test_setup(answered_without_data, up),
		cmocka_unit_test_setup(strange_requests, up),
		cmocka_unit_test_setup(data_in_the_wrong_token, up),
		cmocka_unit_test_setup(too_many_requests, up),
		cmocka_unit_test_setup(random_messages, up),
		cmocka_unit_test_setup(wrong_requests, up),
		cmocka_unit_test(completions_that_are_none),
		cmocka_unit_test(receives_complete_in_turn),
		cmocka_unit_test(data_in_pieces),
		cmocka_unit_test(data_by_a_form),
		cmocka_unit_test(forms_are_lent_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
