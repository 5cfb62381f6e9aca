/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "unit.h"

#include "kio_rig.h"
#include "kio_pages.h"
#include "kio_os.h"
#include "kio_server.h"

#define MESSAGES 16u /* receives posted, one per page */

#define RECVS AT(4) /* pages of the physical region */

#define SENDS AT(20) /* messages to be sent */

#define BUFFER AT(40) /* buffers of the server */

#define BUFFERS 4u

#define DATA_OF(at) (1000ull + (at)) /* wr_id of data */
#define MOVE_OF(at) (2000ull + (at)) /* wr_id of RDMA */

struct rig ra, rb;

struct rig_mr pa, pb;

struct rig_qp qa, qb;

struct unic_kio_client client;

struct unic_kio io[40];

int status[40];

uint32_t got[40], finished, most, tokens_wanted, cancels_wanted;

uint32_t posts[2], server_wants, server_cancels, buffers_used, runs;

struct unic_kio_server server;

uint8_t written[1 << 20];

static uint32_t form; /* the one derived region of the client's NIC */

bool form_taken;

bool deaf;

bool still;

bool rough;

bool rdma;

uint32_t no_regions;
uint32_t later_len;
bool only_tokens;

bool old_server;

struct rig_mr lent[UNIC_KIO_WINDOW];

static uint32_t draining; /* bit per place: MR_DEREG is PENDING */

uint32_t short_by;

bool broken;

uint32_t claims;

struct unic_kio_file file, *file_of_it;

uint8_t content(uint32_t object, uint64_t at)
{
	return (uint8_t)(object * 31 + at * 7 + at / 256);
}

/*
 * Executes a task. The first letter of a name selects the content of the file;
 * all writes go to `written`.
 */
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

/* The store's queued tasks, each with its own copy of name and bytes. */
static struct {
	struct unic_kio_task task;
	uint8_t buf[PAYLOAD];
	char name[UNIC_KIO_NAME_MAX];
} place[PLACES];

uint32_t begun, taken;

bool slow;

uint64_t boot;

uint32_t ends;

bool no_room;

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

/* Takes a send slot, if there is one. With `rough`, a send holds its slot until
 * it completes: the other NIC delays a peer that names wrong tokens. */
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
		s->flags = 0; /* unsignaled: the CQ has room for answers only */
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

struct unic_sge sge(uint32_t lkey, uint64_t iova, uint32_t len)
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

static bool server_move(struct unic_kio_server *s, uint32_t at, uint32_t bytes)
{
	const struct unic_kio_job *job = &s->job[at];

	if (!room(&rb))
		return false;
	rig_send(&rb, &qb,
		 job->ask.op == UNIC_KIO_WRITE ? UNIC_WR_READ : UNIC_WR_WRITE,
		 MOVE_OF(at), &pb, (uint32_t)((uint8_t *)job->buf - pb.mem),
		 bytes, unic_from_le64(job->ask.key),
		 unic_from_le32(job->ask.token));
	return true;
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
	.move = server_move,
	.token = server_token,
	.cancel = server_cancel,
	.buf_get = server_buf_get,
	.buf_put = server_buf_put,
};

static bool link_send(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		      const struct unic_kio *i)
{
	(void)c;
	return post(&ra, &qa, &pa, msg, i, 0);
}

static enum unic_kio_ready link_prepare(struct unic_kio_client *c,
					struct unic_kio *i)
{
	(void)c;
	i->form = 0;
	if (later_len && i->len == later_len)
		return UNIC_KIO_LATER;
	if (i->op != UNIC_KIO_WRITE || i->pieces == 1 ||
	    i->how == UNIC_KIO_BY_RDMA)
		return UNIC_KIO_READY;
	if (form_taken)
		return UNIC_KIO_FULL;
	form_taken = true;
	i->form = form;
	return UNIC_KIO_READY;
}

static void link_release(struct unic_kio_client *c, struct unic_kio *i)
{
	(void)c;
	if (i->form)
		form_taken = false;
}

/* Makes the derived region by an unsignaled request. */
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

/* Registers the pages of @i, as the driver does (host_driver/kio/kio_lend.c). */
static void get_region(uint32_t at, const struct unic_kio *i)
{
	static uint64_t turn;
	unic_le64 page[UNIC_KIO_PAGES];
	uint8_t shift;
	uint32_t n = unic_kio_pages(i, &shift, page);
	uint64_t low = unic_from_le64(i->piece[0].bus) & ((1u << 21) - 1);
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(qa.pd),
		.rights = i->op == UNIC_KIO_WRITE
				  ? UNIC_MR_REMOTE_READ
				  : UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.page_shift = shift,
		.iova = unic_to_le64(++turn * 0x10003 << 21 | low),
		.length = unic_to_le64(i->len),
		.n_pages = unic_to_le32(n),
		.flags = UNIC_REG_LIST,
		.key = (uint8_t)(i->id / UNIC_KIO_WINDOW),
	};
	struct unic_cpl_mr_reg cpl;
	bool ok;

	assert_true(n);
	memcpy(rig_list(&ra), page, n * sizeof(*page));
	ok = !no_regions && !rig_cmd(&ra, UNIC_CMD_MR_REG, &cmd, &cpl);
	no_regions -= !!no_regions;
	if (ok)
		lent[at] = (struct rig_mr){ .mr = unic_from_le32(cpl.mr),
					    .gen = unic_from_le32(cpl.gen) };
	unic_kio_token(&client, at, ok, ok ? unic_from_le32(cpl.stag) : 0,
		       unic_from_le64(cmd.iova));
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

	if (i->how == UNIC_KIO_BY_RDMA) {
		get_region(at, i);
		return;
	}
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

	/* a message may have used up the token; the peer's answer was false */
	assert_true(!err || (rough && err == UNIC_ST_NO_TOKEN));
}

/* The region of place @at ends, at once or when EVICTED comes. */
static void end_region(uint32_t at)
{
	uint8_t err = rig_dereg(&ra, &lent[at]);

	if (err == UNIC_ST_PENDING) {
		draining |= 1u << at;
		return;
	}
	assert_int_equal(err, 0);
	unic_kio_ended(&client, at);
}

void events(void)
{
	struct unic_evt_mr evt;
	uint32_t at;

	while (rig_event(&ra, &evt)) {
		if (evt.hdr.type == UNIC_EVT_NOTICE)
			rig_ack(&ra, &evt);
		if (evt.hdr.type != UNIC_EVT_EVICTED)
			continue;
		for (at = 0; at < UNIC_KIO_WINDOW; at++)
			if (draining >> at & 1 &&
			    lent[at].mr == unic_from_le32(evt.mr) &&
			    lent[at].gen == unic_from_le32(evt.gen)) {
				draining &= ~(1u << at);
				unic_kio_ended(&client, at);
			}
	}
}

void take_back(const struct rig_mr *mr)
{
	struct unic_cmd_mr evict = { .mr = unic_to_le32(mr->mr),
				     .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr evt;
	uint32_t i;

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	for (i = 0; i < 100; i++) {
		while (rig_event(&ra, &evt)) {
			if (evt.hdr.type == UNIC_EVT_EVICTED)
				return;
			rig_ack(&ra, &evt);
		}
		rig_run(&ra, MS);
	}
	fail();
}

static void cancel_token(uint32_t at)
{
	const struct unic_kio *i = client.slot[at];

	if (i->how == UNIC_KIO_BY_RDMA) {
		end_region(at);
		return;
	}
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

void commands(void)
{
	each(&tokens_wanted, get_token);
	each(&cancels_wanted, cancel_token);
	each(&server_wants, get_server_token);
	each(&server_cancels, cancel_server_token);
}

/* Handles the completion of a request that was posted with @id. */
static void posted_done(struct rig *r, uint32_t id, uint8_t why)
{
	bool stale = id >= MOVE_OF(0) && why == UNIC_WC_REM_EVICTED;

	posts[r == &rb] -= rough;
	broken |= why && !stale;
	if (broken)
		return;
	if (id >= MOVE_OF(0))
		unic_kio_server_moved(&server, id - MOVE_OF(0), !stale);
	else if (id >= DATA_OF(0) && r == &ra)
		unic_kio_sent(&client, id - DATA_OF(0));
	else if (id >= DATA_OF(0))
		unic_kio_server_sent(&server, id - DATA_OF(0));
}

bool message(struct rig *r, struct rig_qp *qp, const struct rig_mr *mr,
	     struct message *m)
{
	while (rig_cqe(r, qp, &m->cqe)) {
		uint32_t at = (uint32_t)unic_from_le64(m->cqe.wr_id);

		if (m->cqe.opcode < UNIC_WC_RECV) {
			posted_done(r, at, m->cqe.status);
			continue;
		}
		broken |= m->cqe.status;
		if (broken)
			continue;
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

void serve(const struct message *m)
{
	struct unic_kio_msg msg;
	uint8_t text[sizeof(m->text)];

	memcpy(text, m->text, m->bytes);
	if (old_server) {
		memcpy(&msg, text, sizeof(msg));
		msg.rsvd = msg.how;
		msg.how = UNIC_KIO_BY_TOKEN;
		memcpy(text, &msg, sizeof(msg));
	}
	assert_true(unic_kio_server_message(&server, text, m->bytes, m->token,
					    m->payload));
}

void step(void)
{
	struct unic_kio_task task;
	struct message m;

	commands();
	if (rdma)
		events();
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

int up(void **state)
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
	client.rdma = rdma = false;
	no_regions = draining = later_len = 0;
	memset(lent, 0, sizeof(lent));
	unic_kio_up(&client, true);
	old_server = false;
	deaf = still = rough = slow = no_room = broken = false;
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

int up_rdma(void **state)
{
	up(state);
	client.rdma = rdma = true;
	return 0;
}

/* The NIC must have no region of I/O @i, which has ended. */
static void check_let_go(const struct unic_kio *i)
{
	const struct rig_mr *mr = &lent[i->id % UNIC_KIO_WINDOW];
	const struct unic_mr_ctx *m = &ra.nic.mrs.mr[mr->mr];

	if (i->how == UNIC_KIO_BY_RDMA && mr->gen && m->gen == mr->gen)
		assert_int_equal(m->state, UNIC_MR_FREE);
}

void done(struct unic_kio *i, int why, uint32_t bytes)
{
	if (rdma)
		check_let_go(i);
	status[i - io] = why;
	got[i - io] = bytes;
	finished++;
}

void start(uint32_t i, uint8_t op, uint32_t name, uint64_t offset, uint32_t len,
	   uint32_t n)
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
		.clean = rdma,
		.token_only = only_tokens,
		.file = file_of_it,
		.done = done,
	};
	for (k = 0; k < n; k++) {
		uint32_t part = k == n - 1 ? left : len / n;

		/* pieces in reverse order */
		io[i].piece[k].bus =
			unic_to_le64(RIG_KERNEL_BUS + at + left - part);
		io[i].piece[k].len = unic_to_le32(part);
		left -= part;
	}
	assert_int_equal(unic_kio_start(&client, &io[i]), 0);
}

void read_at(uint32_t i, uint32_t name, uint64_t offset, uint32_t len,
	     uint32_t n)
{
	start(i, UNIC_KIO_READ, name, offset, len, n);
}

void expect_content(uint32_t i)
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

void fill(uint32_t i)
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

void expect_written(uint32_t i)
{
	uint32_t k;

	for (k = 0; k < io[i].len; k++)
		assert_int_equal(written[io[i].offset + k],
				 content((uint8_t)io[i].name[0],
					 io[i].offset + k));
}

void run(uint32_t n)
{
	uint32_t steps = 0;

	while (finished < n && steps++ < 10000)
		step();
	assert_int_equal(finished, n);
}

void nothing_left(void)
{
	assert_int_equal(client.busy, 0);
	assert_false(broken);
	/* reports the end to the store */
	unic_kio_server_poll(&server, rb.nic.now_ns);
	assert_true(unic_kio_server_idle(&server));
	assert_int_equal(buffers_used, 0);
	assert_false(form_taken);
	assert_int_equal(ra.nic.dma_mrs.used, 0);
	assert_int_equal(ra.nic.tokens.used, 0);
	assert_int_equal(rb.nic.tokens.used, 0);
	assert_int_equal(ra.nic.share.owner[0].held, 0);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
}

void unic_os_ring_slot(struct unic_os *os, uint32_t slot)
{
	(void)os;
	(void)slot;
}
