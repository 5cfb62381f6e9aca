/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio.c - S0's option (a), a kernel-resident service, against option (b), user
 * processes with upcalls: the same users read pages of the same server, beside
 * the same greedy processes.
 *
 * Each user has a set of buffers. It takes one at random, reads an object into
 * it, looks at what came, thinks, and so on. Requests and answers are those of
 * host_driver/kio at either side; where the data goes is a payload token.
 *
 * (a) kio: the user asks the kernel, which takes a token for the buffer's pages,
 * by bus address, for this I/O. kio-rdma: it registers them for this I/O, and the
 * server writes to them by RDMA; without entries it takes a token. (b) user: the user has a queue pair, registers
 * the buffer by its buffer manager (cache.c) and has a token for it for many
 * messages, both for as long as the region lives; the kernel is not asked.
 */
#include "eval.h"

#include "cache.h"
#include "conn.h"
#include "inside.h"
#include "kernel.h"
#include "kio_client.h"
#include "kio_pages.h"
#include "kio_server.h"
#include "mark.h"

#define USERS	    4u
#define HOGS	    15u
#define BUFFERS	    16u /* of a user */
#define IO_PAGES    4u
#define IO_BYTES    (IO_PAGES * 4096u)
#define THINK_NS    (50 * US)
#define MEASURED_NS (30 * MS) /* at the end */
#define LATE_NS	    (1000 * MS)
#define RECVS	    16u /* messages and answers at a time */
#define TIMEOUT	    12u
#define MTU_SHIFT   12u
#define MSG_PAGE    ACTOR_ENDS	     /* a user's messages; its buffers: */
#define BUF_PAGE    (MSG_PAGE + 16u) /* where a page of 64 KiB begins, too */
/* the kernel's messages: */
#define MSG_AT	   (16 * 4096u)
#define DATA_AT	   (32 * 4096u) /* the server's, an I/O for each receive */
#define SENT	   0x100u /* ids of answers; those below are of receives */
#define MOVED	   0x200u /* ids of data by RDMA; those below of answers */
#define HOG_CHUNK  2u
#define CLIENT_MEM 32u
#define SERVER_MEM (32u + RECVS * IO_PAGES)

struct buffer {
	uint32_t stag, token; /* the region that the token is for */
	uint64_t key;
};

struct user {
	struct actor a;
	uint8_t name; /* of what it reads */
	uint32_t index, buffer, message_stag, window;
	struct cache cache;
	struct conn conn;
	struct buffer of[BUFFERS];
	struct unic_kio io;
	uint64_t asked_ns, offset, ops, failed, held;
};

/* Who answers, or asks for others: a kernel, or a process on one of its
 * connections. */
struct desk {
	struct unic_kio_server server;
	struct kernel *k;
	struct end *e;
	struct actor *a;
	uint32_t lkey;
};

struct hog {
	struct actor a;
	struct cache c;
};

static struct {
	const struct options *o;
	bool kio;
	bool rdma;    /* kio: data by RDMA */
	bool large;   /* users have pages of 64 KiB */
	bool refused; /* user: not even what lies beside its buffers */
	struct user *user[USERS];
	struct hog *hog[HOGS];
	uint32_t hogs, samples;
	struct kernel client, server;
	struct actor far; /* user: the server's process */
	uint32_t far_stag, regs;
	struct unic_cmd_mr lent[UNIC_KIO_WINDOW]; /* rdma: of each I/O */
	struct unic_kio_client service;
	struct desk asks, desk[USERS];
	uint32_t busy; /* bit per buffer of the server */
	uint64_t measure_ns, hog_held;
	struct sample us;
} run;

/* ------------------------------------------------------------------ content */

static uint8_t content(uint32_t object, uint64_t at)
{
	return (uint8_t)(object * 31 + at * 7 + at / 4096);
}

/* Files that take no time: an object is named by a letter. */
static struct {
	struct unic_kio_task task[RECVS];
	uint32_t begun, done;
	uint8_t bytes[IO_BYTES];
} files;

static bool store_begin(struct unic_kio_store *s,
			const struct unic_kio_task *task)
{
	(void)s;
	if (task->op != UNIC_KIO_READ || task->len > IO_BYTES)
		sim_fail("eval", "somebody asks for operation %u", task->op);
	if (files.begun - files.done == RECVS)
		return false;
	files.task[files.begun++ % RECVS] = *task;
	return true;
}

static bool store_next(struct unic_kio_store *s, struct unic_kio_task *task)
{
	uint32_t i;

	(void)s;
	if (files.done == files.begun)
		return false;
	*task = files.task[files.done++ % RECVS];
	for (i = 0; i < task->len; i += 4096) {
		uint8_t *p = files.bytes + i;

		p[0] = content((uint8_t)*task->name, task->offset + i);
		p[4095] =
			content((uint8_t)*task->name, task->offset + i + 4095);
	}
	task->buf = files.bytes;
	task->n = (int)task->len;
	task->size = task->offset + task->len;
	return true;
}

static struct unic_kio_store store = { .begin = store_begin,
				       .next = store_next };

static uint8_t *buffer_byte(struct user *u, uint32_t at)
{
	return actor_mem(&u->a, (BUF_PAGE + u->buffer * IO_PAGES) * 4096 + at);
}

static void check_content(struct user *u)
{
	uint32_t i;

	for (i = 0; i < IO_BYTES; i += i % 4096 ? 1 : 4095)
		if (*buffer_byte(u, i) != content(u->name, u->offset + i))
			sim_fail("eval", "user %u: byte %u is wrong", u->index,
				 i);
}

/* --------------------------------------------------------------- either way */

static void start(struct user *u);

static void think(struct user *u);

static void finished(struct user *u, bool ok)
{
	if (ok)
		check_content(u);
	if (sim_now() >= run.measure_ns) {
		u->ops += ok;
		u->failed += !ok;
		if (ok)
			sample_add(&run.us, (sim_now() - u->asked_ns) / 1000);
	}
	think(u);
}

static void next(void *ctx, uint64_t arg)
{
	struct user *u = ctx;

	(void)arg;
	u->buffer = sim_below(&u->a.rng, BUFFERS);
	u->offset = sim_below(&u->a.rng, 1000) * 4096ull;
	u->asked_ns = sim_now();
	start(u);
}

static void think(struct user *u)
{
	sim_at(sim_now() + sim_range(&u->a.rng, 0, 2 * THINK_NS), next, u, 0);
}

/* ------------------------------------------------------------------- server */

static uint64_t address(const struct desk *d, uint32_t at)
{
	return d->k ? kernel_bus(d->a, at) : ACTOR_VA + at;
}

static struct unic_sge part(const struct desk *d, uint32_t at, uint32_t len)
{
	return (struct unic_sge){ .iova = unic_to_le64(address(d, at)),
				  .len = unic_to_le32(len),
				  .lkey = unic_to_le32(d->lkey) };
}

static void receive(const struct desk *d, uint32_t i)
{
	struct unic_rq_slot s = {
		.num_sge = 1,
		.wr_id = unic_to_le64(i),
		.sge[0] = part(d, MSG_AT + i * 64, 64),
	};
	struct conn_wr wr = {
		.id = i,
		.iova = address(d, MSG_AT + i * 64),
		.len = 64,
		.lkey = d->lkey,
	};

	if (d->k)
		kernel_recv(d->k, &s);
	else
		conn_recv(d->e, &wr);
}

static void *buf_get(struct unic_kio_server *s)
{
	struct desk *d = s->of;
	uint32_t i;

	for (i = 0; i < RECVS && run.busy >> i & 1; i++)
		;
	if (i == RECVS)
		return NULL;
	run.busy |= 1u << i;
	return actor_mem(d->a, DATA_AT + i * IO_BYTES);
}

static uint32_t buf_index(const struct desk *d, const void *buf)
{
	uint32_t i;

	for (i = 0; actor_mem(d->a, DATA_AT + i * IO_BYTES) != buf; i++)
		;
	return i;
}

static void buf_put(struct unic_kio_server *s, void *buf)
{
	run.busy &= ~(1u << buf_index(s->of, buf));
}

static bool answer(struct unic_kio_server *s, uint32_t at,
		   const struct unic_kio_msg *msg, uint32_t bytes)
{
	struct desk *d = s->of;
	const struct unic_kio_job *job = &s->job[at];
	uint32_t i = buf_index(d, job->buf), to = MSG_AT + (RECVS + i) * 64;
	struct unic_sq_slot wr = {
		.opcode = UNIC_WR_TOKEN,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 2,
		.wr_id = unic_to_le64(SENT + at),
		.remote = job->ask.key,
		.rkey = job->ask.token,
		.ctrl_len = unic_to_le32(sizeof(*msg)),
		.sge = { part(d, to, sizeof(*msg)),
			 part(d, DATA_AT + i * IO_BYTES, bytes) },
	};

	memcpy(actor_mem(d->a, to), msg, sizeof(*msg));
	if (d->k)
		kernel_post(d->k, &wr);
	else
		conn_post_slot(d->e, &wr);
	return true;
}

/* rdma: what was moved, or could not be, is told apart from it. */
static bool answer_alone(struct unic_kio_server *s,
			 const struct unic_kio_msg *msg)
{
	struct desk *d = s->of;
	uint32_t to = MSG_AT + (2 * RECVS + d->k->sq_tail % RECVS) * 64;
	struct unic_sq_slot wr = {
		.opcode = UNIC_WR_SEND,
		.num_sge = 1,
		.sge[0] = part(d, to, sizeof(*msg)),
	};

	if (msg->how != UNIC_KIO_BY_RDMA)
		sim_fail("eval", "the server answers %u",
			 unic_from_le32(msg->status));
	memcpy(actor_mem(d->a, to), msg, sizeof(*msg));
	kernel_post(d->k, &wr);
	return true;
}

static bool move(struct unic_kio_server *s, uint32_t at, uint32_t bytes)
{
	struct desk *d = s->of;
	const struct unic_kio_job *job = &s->job[at];
	uint32_t i = buf_index(d, job->buf);
	struct unic_sq_slot wr = {
		.opcode = UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.wr_id = unic_to_le64(MOVED + at),
		.remote = job->ask.key,
		.rkey = job->ask.token,
		.sge[0] = part(d, DATA_AT + i * IO_BYTES, bytes),
	};

	kernel_post(d->k, &wr);
	return true;
}

static void no_token(struct unic_kio_server *s, uint32_t at)
{
	(void)s;
	sim_fail("eval", "job %u wants a token", at);
}

static const struct unic_kio_server_link server_ops = {
	.send = answer_alone,
	.data = answer,
	.move = move,
	.token = no_token,
	.cancel = no_token,
	.buf_get = buf_get,
	.buf_put = buf_put,
};

/* Something of a server's queue completed. */
static void at_desk(struct desk *d, const struct unic_cqe *c)
{
	uint32_t i = (uint32_t)unic_from_le64(c->wr_id), n;
	struct unic_kio_task task;

	if (c->status && !(run.rdma && c->status == UNIC_WC_REM_EVICTED))
		sim_fail("eval", "the server's queue: status %u", c->status);
	if (c->opcode < UNIC_WC_RECV && i >= MOVED) {
		unic_kio_server_moved(&d->server, i - MOVED, !c->status);
	} else if (c->opcode < UNIC_WC_RECV) {
		unic_kio_server_sent(&d->server, i - SENT);
	} else {
		if (!unic_kio_server_message(&d->server,
					     actor_mem(d->a, MSG_AT + i * 64),
					     unic_from_le32(c->byte_len), 0, 0))
			sim_fail("eval", "the server refuses a message");
		receive(d, i);
	}
	do {
		unic_kio_server_poll(&d->server, sim_now());
		for (n = 0; store_next(&store, &task); n++)
			unic_kio_server_stored(&task);
	} while (n);
}

static void on_far(struct end *e, const struct unic_cqe *c)
{
	at_desk(e->user, c);
}

static void on_server(struct kernel *k, const struct unic_cqe *c)
{
	(void)k;
	at_desk(&run.desk[0], c);
}

static void open_desk(struct desk *d, struct actor *a, uint32_t lkey)
{
	d->a = a;
	d->lkey = lkey;
	unic_kio_server_init(&d->server, &server_ops, &store);
	d->server.of = d;
}

/* ------------------------------------------------------------------ (a) kio */

static void heard(void *ctx, uint64_t status)
{
	finished(ctx, !status);
}

/* The kernel's answer on its way to the user. */
static void io_done(struct unic_kio *io, int status, uint32_t bytes)
{
	struct user *u = (void *)((char *)io - offsetof(struct user, io));

	sim_at(sim_now() + sim_range(&u->a.rng, US, 10 * US), heard, u,
	       status || bytes != IO_BYTES);
}

static void submit(void *ctx, uint64_t arg)
{
	struct user *u = ctx;
	uint32_t i, at = (BUF_PAGE + u->buffer * IO_PAGES) * 4096;

	(void)arg;
	u->io = (struct unic_kio){
		.op = UNIC_KIO_READ,
		.name_bytes = 1,
		.name = { (char)u->name },
		.offset = u->offset,
		.len = IO_BYTES,
		.pieces = IO_PAGES,
		.clean = true, /* the simulated server does not lie */
		.deadline_ns = sim_now() + LATE_NS,
		.done = io_done,
	};
	for (i = 0; i < IO_PAGES; i++)
		u->io.piece[i] = (struct unic_token_piece){
			.bus = unic_to_le64(kernel_bus(&u->a, at + i * 4096)),
			.len = unic_to_le32(4096),
		};
	if (unic_kio_start(&run.service, &u->io))
		sim_fail("eval", "an I/O is refused");
}

static enum unic_kio_ready link_prepare(struct unic_kio_client *c,
					struct unic_kio *io)
{
	(void)c;
	(void)io;
	return UNIC_KIO_READY; /* tokens are all that a READ needs */
}

static void link_release(struct unic_kio_client *c, struct unic_kio *io)
{
	(void)c;
	(void)io;
}

static bool link_send(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		      const struct unic_kio *io)
{
	struct desk *d = &run.asks;
	uint32_t at = MSG_AT + (RECVS + d->k->sq_tail % KERNEL_SLOTS) * 64;
	uint32_t name = io ? io->name_bytes : 0;
	struct unic_sq_slot s = {
		.opcode = UNIC_WR_SEND,
		.num_sge = 1,
		.sge[0] = part(d, at, sizeof(*msg) + name),
	};

	(void)c;
	memcpy(actor_mem(d->a, at), msg, sizeof(*msg));
	if (name)
		memcpy(actor_mem(d->a, at + sizeof(*msg)), io->name, name);
	kernel_post(d->k, &s);
	return true;
}

static bool link_data(struct unic_kio_client *c, uint32_t at,
		      const struct unic_kio_msg *msg, const struct unic_kio *io)
{
	(void)c;
	(void)at;
	(void)msg;
	(void)io;
	return false; /* nobody writes */
}

static void token_done(struct kernel *k, uint32_t at, uint32_t status,
		       const void *cpl)
{
	struct unic_cpl_token t;

	(void)k;
	memcpy(&t, cpl, sizeof(t));
	unic_kio_token(&run.service, at, !status, unic_from_le32(t.index),
		       unic_from_le64(t.key));
}

/* ------------------------------------------------------ (a) kio, by RDMA */

static void region_done(struct kernel *k, uint32_t at, uint32_t status,
			const void *cpl)
{
	const struct unic_kio *io = run.service.slot[at];
	struct unic_cpl_mr_reg r;

	(void)k;
	memcpy(&r, cpl, sizeof(r));
	run.lent[at] = (struct unic_cmd_mr){ .mr = r.mr, .gen = r.gen };
	unic_kio_token(&run.service, at, !status, unic_from_le32(r.stag),
		       unic_from_le64(io->piece[0].bus));
}

static void lend(uint32_t at, const struct unic_kio *io)
{
	unic_le64 page[UNIC_KIO_PAGES];
	uint8_t shift;
	uint32_t n = unic_kio_pages(io, &shift, page);
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(run.client.pd),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.page_shift = shift,
		.iova = io->piece[0].bus,
		.length = unic_to_le64(io->len),
		.n_pages = unic_to_le32(n),
		.flags = UNIC_REG_LIST,
		.key = (uint8_t)(io->id / UNIC_KIO_WINDOW),
	};

	kernel_command(&run.client, UNIC_CMD_MR_REG, &cmd, page,
		       n * (uint32_t)sizeof(*page), at, region_done);
}

static void claimed(struct kernel *k, uint32_t arg, uint32_t status,
		    const void *cpl)
{
	(void)k;
	(void)arg;
	(void)cpl;
	if (status)
		sim_fail("eval", "PROC_SET answers %u", status);
}

/* What kio_account.c does: window x I/O. */
static void claim_window(void)
{
	uint32_t n = UNIC_KIO_WINDOW * IO_PAGES;
	struct unic_cmd_proc_set cmd = {
		.proc = unic_to_le32(run.client.a.slot),
		.keep = unic_to_le32(UNIC_PROC_KEEP_WEIGHT |
				     UNIC_PROC_KEEP_QUOTA |
				     UNIC_PROC_KEEP_POLICY | UNIC_PROC_CLAIM),
		.claim = unic_to_le32(n < inside_entries() ? n
							   : inside_entries()),
	};

	kernel_command(&run.client, UNIC_CMD_PROC_SET, &cmd, NULL, 0, 0,
		       claimed);
}

static void dereg_done(struct kernel *k, uint32_t at, uint32_t status,
		       const void *cpl);

static void unlend(void *ctx, uint64_t at)
{
	(void)ctx;
	kernel_command(&run.client, UNIC_CMD_MR_DEREG, &run.lent[at], NULL, 0,
		       (uint32_t)at, dereg_done);
}

/* While the server writes to it, a region drains: it is asked for again. */
static void dereg_done(struct kernel *k, uint32_t at, uint32_t status,
		       const void *cpl)
{
	(void)k;
	(void)cpl;
	if (status == UNIC_ST_PENDING)
		sim_at(sim_now() + 10 * US, unlend, NULL, at);
	else if (status && status != UNIC_ST_NO_MR)
		sim_fail("eval", "MR_DEREG answers %u", status);
	else
		unic_kio_ended(&run.service, at);
}

/* ------------------------------------------------------------- the link */

static void link_token(struct unic_kio_client *c, uint32_t at,
		       const struct unic_kio *io)
{
	const struct user *u =
		(const void *)((const char *)io - offsetof(struct user, io));
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(run.client.pd),
		.stag = unic_to_le32(u->window),
		.length = unic_to_le32(io->len),
		.flags = unic_to_le32(UNIC_TOKEN_F_PIECES),
		.pieces = unic_to_le32(io->pieces),
	};

	(void)c;
	if (io->how == UNIC_KIO_BY_RDMA) {
		lend(at, io);
		return;
	}
	kernel_command(&run.client, UNIC_CMD_TOKEN_ALLOC, &cmd, io->piece,
		       io->pieces * (uint32_t)sizeof(io->piece[0]), at,
		       token_done);
}

static void cancel_done(struct kernel *k, uint32_t at, uint32_t status,
			const void *cpl)
{
	(void)k;
	(void)cpl;
	if (status)
		sim_fail("eval", "TOKEN_CANCEL answers %u", status);
	unic_kio_ended(&run.service, at);
}

static void link_cancel(struct unic_kio_client *c, uint32_t at,
			const struct unic_kio *io)
{
	struct unic_cmd_token_cancel cmd = {
		.index = unic_to_le32(io->token),
		.key = unic_to_le64(io->key),
	};

	(void)c;
	if (io->how == UNIC_KIO_BY_RDMA) {
		unlend(NULL, at);
		return;
	}
	kernel_command(&run.client, UNIC_CMD_TOKEN_CANCEL, &cmd, NULL, 0, at,
		       cancel_done);
}

static const struct unic_kio_link link_ops = {
	.prepare = link_prepare,
	.release = link_release,
	.send = link_send,
	.data = link_data,
	.token = link_token,
	.cancel = link_cancel,
};

static void on_client(struct kernel *k, const struct unic_cqe *c)
{
	uint32_t i = (uint32_t)unic_from_le64(c->wr_id);
	bool tagged = c->opcode == UNIC_WC_RECV_TOKEN;
	struct unic_kio_msg msg;

	if (c->status)
		sim_fail("eval", "the kernel's queue: status %u", c->status);
	if (c->opcode < UNIC_WC_RECV)
		return;
	memcpy(&msg, actor_mem(&k->a, MSG_AT + i * 64), sizeof(msg));
	receive(&run.asks, i);
	unic_kio_message(&run.service, &msg,
			 tagged ? unic_from_le32(c->token) : 0,
			 tagged ? unic_from_le32(c->imm) : 0);
}

static void tick(void *ctx, uint64_t arg)
{
	(void)ctx;
	(void)arg;
	unic_kio_client_poll(&run.service, sim_now());
	sim_at(sim_now() + MS, tick, NULL, 0);
}

/* ----------------------------------------------------------------- (b) user */

static void expect_answer(struct user *u)
{
	struct conn_wr wr = {
		.iova = ACTOR_VA + MSG_PAGE * 4096 + 64,
		.len = 64,
		.lkey = u->message_stag,
	};

	conn_recv(&u->conn.end[0], &wr);
}

static void ask_server(struct user *u)
{
	const struct buffer *b = &u->of[u->buffer];
	struct unic_kio_msg msg = {
		.op = UNIC_KIO_READ,
		.name_bytes = 1,
		.offset = unic_to_le64(u->offset),
		.len = unic_to_le32(IO_BYTES),
		.token = unic_to_le32(b->token),
		.key = unic_to_le64(b->key),
	};
	struct conn_wr wr = {
		.opcode = UNIC_WR_SEND,
		.iova = ACTOR_VA + MSG_PAGE * 4096,
		.len = sizeof(msg) + 1,
		.lkey = u->message_stag,
	};
	uint8_t *at = actor_mem(&u->a, MSG_PAGE * 4096);

	memcpy(at, &msg, sizeof(msg));
	at[sizeof(msg)] = u->name;
	conn_post(&u->conn.end[0], &wr);
}

static void user_token(struct actor *a, void *ctx, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct user *u = (struct user *)a;
	struct buffer *b = &u->of[u->buffer];
	struct unic_ctl_token_reply r;

	(void)ctx;
	(void)bytes;
	memcpy(&r, rec, sizeof(r));
	if (status) { /* its region was taken meanwhile */
		cache_put(&u->cache, u->buffer);
		finished(u, false);
		return;
	}
	b->stag = u->cache.chunk[u->buffer].stag;
	b->token = unic_from_le32(r.index);
	b->key = unic_from_le64(r.key);
	ask_server(u);
}

static void got(struct cache *c, uint32_t i)
{
	struct user *u = c->user;
	struct unic_ctl_token_alloc r = {
		.iova = unic_to_le64(cache_iova(c, i)),
		.mr = unic_to_le32(c->chunk[i].id),
		.length = unic_to_le32(IO_BYTES),
		.flags = unic_to_le32(UNIC_TOKEN_F_MULTI),
	};

	if (u->of[i].stag == c->chunk[i].stag)
		ask_server(u);
	else
		actor_ask(&u->a, UNIC_CTL_TOKEN_ALLOC, &r, NULL, user_token);
}

static void on_user(struct end *e, const struct unic_cqe *c)
{
	struct user *u = e->user;

	if (c->status)
		sim_fail("eval", "a user's queue: status %u", c->status);
	if (c->opcode < UNIC_WC_RECV)
		return;
	expect_answer(u);
	cache_put(&u->cache, u->buffer);
	finished(u, c->opcode == UNIC_WC_RECV_TOKEN &&
			    unic_from_le32(c->imm) == IO_BYTES);
}

static void start(struct user *u)
{
	if (run.kio)
		sim_at(sim_now() + sim_range(&u->a.rng, US, 10 * US), submit, u,
		       0);
	else
		cache_get(&u->cache, u->buffer, got);
}

/* ------------------------------------------------------------------- set up */

static void new_user(uint32_t i)
{
	struct user *u = sim_alloc(sizeof(*u));

	run.user[i] = u;
	u->index = i;
	u->name = (uint8_t)('a' + i);
	u->cache.mr_class = UNIC_CLASS_RDMA;
	u->cache.grace_us = run.o->grace_us;
	u->cache.user = u;
	u->cache.page_shift = u->a.page_shift = run.large ? 16 : 0;
	u->conn.timeout = TIMEOUT;
	u->conn.mtu_shift = MTU_SHIFT;
	u->conn.end[0].user = u;
	u->conn.end[0].done = on_user;
	u->conn.end[1].done = on_far;
	u->conn.end[1].user = &run.desk[i];
	run.desk[i].e = &u->conn.end[1];
	actor_start(&u->a, 0, 100 + i, BUF_PAGE + BUFFERS * IO_PAGES);
	cache_init(&u->cache, &u->a, BUF_PAGE, BUFFERS, IO_PAGES);
}

static void new_hog(uint32_t i)
{
	struct hog *h = sim_alloc(sizeof(*h));
	uint32_t set = inside_entries() / HOG_CHUNK;

	run.hog[i] = h;
	h->c.mr_class = UNIC_CLASS_RDMA;
	h->c.grace_us = run.o->grace_us;
	h->c.deaf = true;
	actor_start(&h->a, 0, 200 + i, ACTOR_ENDS + set * HOG_CHUNK);
	cache_init(&h->c, &h->a, ACTOR_ENDS, set, HOG_CHUNK);
}

static bool all_up(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < USERS; i++)
		if (!run.user[i]->a.up)
			return false;
	for (i = 0; i < run.hogs; i++)
		if (!run.hog[i]->a.up)
			return false;
	return run.kio ? run.client.a.up && run.server.a.up : run.far.up;
}

static bool all_connected(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < USERS; i++)
		if (!run.user[i]->conn.up && !run.refused)
			return false;
	return run.regs == USERS + 1;
}

static void registered(struct actor *a, void *ctx, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct unic_ctl_mr_reg_reply r;

	(void)a;
	(void)bytes;
	run.refused = run.refused || status;
	memcpy(&r, rec, sizeof(r));
	*(uint32_t *)ctx = unic_from_le32(r.stag);
	run.regs++;
}

static void reg(struct actor *a, uint32_t page, uint32_t pages, uint8_t cls,
		uint32_t *stag)
{
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(ACTOR_VA + page * 4096ull),
		.iova = unic_to_le64(ACTOR_VA + page * 4096ull),
		.length = unic_to_le64(pages * 4096ull),
		.pd = unic_to_le32(a->pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = cls,
		.page_shift = a->page_shift ? a->page_shift : 12,
	};

	actor_ask(a, UNIC_CTL_MR_REG, &r, stag, registered);
}

static void connect_kernels(void)
{
	uint32_t i;

	run.client.done = on_client;
	run.server.done = on_server;
	kernel_open(&run.client);
	kernel_open(&run.server);
	run.asks.k = &run.client;
	open_desk(&run.asks, &run.client.a, run.client.stag);
	run.desk[0].k = &run.server;
	open_desk(&run.desk[0], &run.server.a, run.server.stag);
	for (i = 0; i < USERS; i++)
		run.user[i]->window =
			kernel_window(&run.client, &run.user[i]->a);
	if (run.rdma)
		run.client.rights = UNIC_MR_REMOTE_WRITE;
	kernel_connect(&run.client, &run.server);
	for (i = 0; i < RECVS; i++) {
		receive(&run.asks, i);
		receive(&run.desk[0], i);
	}
	if (run.rdma)
		claim_window();
	unic_kio_client_init(&run.service, &link_ops);
	run.service.rdma = run.rdma;
	unic_kio_up(&run.service, true);
	tick(NULL, 0);
}

static void connect_users(void)
{
	uint32_t i;

	reg(&run.far, MSG_AT / 4096, SERVER_MEM - MSG_AT / 4096,
	    UNIC_CLASS_RDMA, &run.far_stag);
	for (i = 0; i < USERS; i++) {
		/* never a victim, as its rings */
		reg(&run.user[i]->a, MSG_PAGE, 1, UNIC_CLASS_CONTROL,
		    &run.user[i]->message_stag);
		conn_start(&run.user[i]->conn, &run.user[i]->a, 0, &run.far, i);
	}
	stage_wait(all_connected, NULL, 500 * MS, "are all connected");
	for (i = 0; i < USERS && !run.refused; i++) {
		open_desk(&run.desk[i], &run.far, run.far_stag);
		receive(&run.desk[i], i);
		expect_answer(run.user[i]);
	}
}

static void set_up(void)
{
	struct unic_cmd_set_params params = {
		.grace_us = unic_to_le32(run.o->grace_us),
	};
	uint32_t i;

	stage_new(2, &params, 0, 0);
	for (i = 0; i < USERS; i++)
		new_user(i);
	for (i = 0; i < run.hogs; i++)
		new_hog(i);
	if (run.kio) {
		kernel_start(&run.client, 0, 300, CLIENT_MEM);
		kernel_start(&run.server, 1, 300, SERVER_MEM);
	} else {
		run.far.page_shift = 16; /* an I/O lies together for us */
		actor_start(&run.far, 1, 300, SERVER_MEM);
	}
	stage_wait(all_up, NULL, 500 * MS, "are all processes up");
	if (run.kio)
		connect_kernels();
	else
		connect_users();
}

/* ------------------------------------------------------------------ measure */

struct tally {
	uint64_t commands, bytes, crossings;
};

static struct tally tally(void)
{
	struct tally t = { .commands = inside_count(world->node[0]->nic,
						    UNIC_C_commands) };
	uint32_t i;

	for (i = 0; i < 2; i++)
		t.bytes += inside_count(world->node[i]->nic, UNIC_C_tx_bytes);
	for (i = 0; i < USERS; i++)
		t.crossings += 2ull * run.user[i]->a.seq +
			       run.user[i]->a.upcall_next +
			       (run.kio ? 2 * run.user[i]->ops : 0);
	return t;
}

static void measure(void *ctx, uint64_t arg)
{
	const struct unic_nic *nic = world->node[0]->nic;
	uint32_t i;

	(void)arg;
	if (sim_now() >= run.measure_ns) {
		run.samples++;
		for (i = 0; i < USERS; i++)
			run.user[i]->held +=
				inside_held(nic, run.user[i]->a.slot);
		for (i = 0; i < run.hogs; i++)
			run.hog_held += inside_held(nic, run.hog[i]->a.slot);
	}
	sim_at(sim_now() + 100 * US, measure, ctx, 0);
}

static uint64_t sum(uint64_t *ops, uint64_t *held, uint64_t *failed)
{
	uint64_t all = 0;
	uint32_t i;

	*held = *failed = 0;
	for (i = 0; i < USERS; i++) {
		ops[i] = run.user[i]->ops;
		all += ops[i];
		*held += run.user[i]->held;
		*failed += run.user[i]->failed;
	}
	return all;
}

static void report(const struct tally *from, const struct tally *to)
{
	uint64_t ops[USERS], held, failed, all = sum(ops, &held, &failed);
	uint64_t own =
		run.kio ? inside_held(world->node[0]->nic, run.client.a.slot)
			: 0;

	printf("kind=kio users=%u hogs=%u entries=%u refused=%u ops=%llu "
	       "failed=%llu "
	       "jain_ppm=%u p50_us=%u p99_us=%u max_us=%u held_milli=%llu "
	       "hog_held_milli=%llu ",
	       USERS, run.hogs, inside_entries(), run.refused,
	       (unsigned long long)all, (unsigned long long)failed,
	       stage_jain(ops, USERS), sample_at(&run.us, 500000),
	       sample_at(&run.us, 990000), sample_at(&run.us, 1000000),
	       (unsigned long long)(held * 1000 / run.samples + own * 1000),
	       (unsigned long long)(run.hog_held * 1000 / run.samples));
	printf("by_rdma=%u by_token=%u again=%u window=%u ",
	       run.service.by_rdma, run.service.by_token, run.service.again,
	       run.service.window);
	printf("commands=%llu bytes=%llu crossings=%llu\n",
	       (unsigned long long)(to->commands - from->commands),
	       (unsigned long long)(to->bytes - from->bytes),
	       (unsigned long long)(to->crossings - from->crossings));
}

void kio(const struct options *o)
{
	struct tally from, to;
	uint64_t start_ns;
	uint32_t i;

	memset(&run, 0, sizeof(run));
	run.o = o;
	run.rdma = !strcmp(o->how, "kio-rdma");
	run.kio = run.rdma || !strcmp(o->how, "kio");
	run.large = !strcmp(o->how, "user-64K");
	run.hogs = o->meek < HOGS ? o->meek : HOGS;
	set_up();
	start_ns = sim_now();
	run.measure_ns = start_ns + o->ms * MS - MEASURED_NS;
	measure(NULL, 0);
	for (i = 0; i < run.hogs; i++)
		cache_hoard(&run.hog[i]->c);
	sim_until(start_ns + 20 * MS, NULL, NULL);
	for (i = 0; i < USERS && !run.refused; i++)
		think(run.user[i]);
	sim_until(run.measure_ns, NULL, NULL);
	from = tally();
	mark_start();
	sim_until(start_ns + o->ms * MS, NULL, NULL);
	mark_stop();
	to = tally();
	report(&from, &to);
}
