/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lists.c - one I/O into scattered memory, in the ways that S2 names. A peer
 * writes a message to a process whose buffer is a list of pieces. Before each
 * I/O nothing of the list is open to the peer, after it nothing is any more;
 * what the process needs for itself is registered for good.
 *
 * indirect: an indirect region made of the list, by a command; posted: by a work
 * request. mrs: a region for each piece. bounce: one aligned buffer, copied from.
 * split: the pages that the list lies in are regions, and each piece is an
 * operation. (Smaller blocks need a page size that unic has not.)
 */
#include "eval.h"

#include "conn.h"
#include "inside.h"
#include "mark.h"
#include "unic_mbox.h"

#define TIMEOUT	  14u
#define MTU_SHIFT 12u
#define PAGES	  160u /* of either process's memory */
#define PIECES	  128u
#define BOUNCE	  96u  /* pages: where the aligned buffer begins */
#define LIST_PAGE 159u /* of a posted list */
#define RIGHTS	  (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE)

struct piece {
	uint32_t at, len; /* in the process's memory */
};

/* Blocks: @n times @each, the first pieces of which lie @step apart. */
struct layout {
	const char *name;
	uint32_t n, each;
	struct piece first[2];
	uint32_t step[2];
};

static const struct layout layouts[] = {
	{ "8 x (512 + 8)", 8, 2, { { 0, 512 }, { 65536, 8 } }, { 512, 8 } },
	{ "64 x (512 + 8)", 64, 2, { { 0, 512 }, { 65536, 8 } }, { 512, 8 } },
	{ "64 rows of 256", 64, 1, { { 128, 256 } }, { 4096 } },
	{ "16 of 4000", 16, 1, { { 52, 4000 } }, { 8192 - 40 } },
};

static struct {
	const struct options *o;
	const struct layout *l;
	struct actor a, peer;
	struct conn conn;
	struct piece piece[PIECES];
	uint32_t pieces, total, done, status, key;
	uint32_t base[2], list, bounce, source; /* STags for good */
	uint32_t form, form_id;
	struct {
		uint32_t id, stag;
	} mr[PIECES];
	uint32_t mrs;
	uint64_t held, copied, work, open_bytes;
	uint8_t reply[UNIC_CTL_BYTES];
	bool replied;
} run;

/* ------------------------------------------------------------ one at a time */

static void replied(struct actor *a, void *ctx, uint32_t status,
		    const void *rec, uint32_t bytes)
{
	(void)a;
	(void)ctx;
	(void)bytes;
	if (status)
		sim_fail("eval", "a request answers %u", status);
	memcpy(run.reply, rec, sizeof(run.reply));
	run.replied = true;
}

static bool has_replied(void *ctx)
{
	(void)ctx;
	return run.replied;
}

static const void *ask(struct actor *a, uint16_t op, void *rec, uint32_t tail)
{
	run.replied = false;
	actor_ask_list(a, op, rec, tail, NULL, replied);
	stage_wait(has_replied, NULL, 100 * MS, "does a request end");
	return run.reply;
}

/* Pages that [at, at + len) of the memory of @a lies in; the region is exactly
 * as long. */
static uint32_t reg(struct actor *a, uint32_t at, uint32_t len, uint32_t *stag)
{
	uint64_t va = ACTOR_VA + ACTOR_ENDS * 4096ull + at;
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(va),
		.iova = unic_to_le64(va),
		.length = unic_to_le64(len),
		.pd = unic_to_le32(a->pd),
		.rights = RIGHTS,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = 12,
	};
	struct unic_ctl_mr_reg_reply rep;

	memcpy(&rep, ask(a, UNIC_CTL_MR_REG, &r, 0), sizeof(rep));
	*stag = unic_from_le32(rep.stag);
	return unic_from_le32(rep.id);
}

static void name(uint16_t op, uint32_t id)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };

	ask(&run.a, op, &r, 0);
}

static void on_done(struct end *e, const struct unic_cqe *c)
{
	(void)e;
	if (c->status)
		sim_fail("eval", "a work request ends with status %u, %u",
			 c->status, c->detail);
	run.done++;
}

static bool all_done(void *ctx)
{
	return run.done >= *(uint32_t *)ctx;
}

static void wait_for(uint32_t n)
{
	stage_wait(all_done, &n, 1000 * MS, "is an operation done");
}

/* --------------------------------------------------------------- operations */

/* The peer writes [from, from + len) of the message to @iova of @rkey. */
static void write_part(uint32_t from, uint32_t len, uint64_t iova,
		       uint32_t rkey)
{
	struct conn_wr wr = {
		.opcode = UNIC_WR_WRITE,
		.iova = ACTOR_VA + ACTOR_ENDS * 4096ull + from,
		.lkey = run.source,
		.len = len,
		.remote = iova,
		.rkey = rkey,
	};

	if (run.conn.end[1].sq_open >= CONN_SLOTS)
		wait_for(run.done + 1);
	conn_post(&run.conn.end[1], &wr);
	run.work++;
}

static void write_whole(uint64_t iova, uint32_t rkey)
{
	run.done = 0;
	write_part(0, run.total, iova, rkey);
	wait_for(1);
}

static uint64_t iova_of(uint32_t i)
{
	return ACTOR_VA + ACTOR_ENDS * 4096ull + run.piece[i].at;
}

/* Piece @i goes through region @mr[i % n]. */
static void write_pieces(uint32_t n)
{
	uint32_t i, from = 0;

	run.done = 0;
	for (i = 0; i < run.pieces; i++) {
		write_part(from, run.piece[i].len, iova_of(i),
			   run.mr[i % n].stag);
		from += run.piece[i].len;
	}
	wait_for(run.pieces);
}

static void note_held(void)
{
	uint32_t n = inside_held(world->node[0]->nic, run.a.slot);

	run.held = n > run.held ? n : run.held;
}

static void open_region(uint32_t at, uint32_t len)
{
	run.mr[run.mrs].id = reg(&run.a, at, len, &run.mr[run.mrs].stag);
	run.mrs++;
	run.open_bytes += len;
}

static void close_regions(void)
{
	while (run.mrs)
		name(UNIC_CTL_MR_DEREG, run.mr[--run.mrs].id);
}

static void by_mrs(void)
{
	uint32_t i;

	for (i = 0; i < run.pieces; i++)
		open_region(run.piece[i].at, run.piece[i].len);
	note_held();
	write_pieces(run.pieces);
	close_regions();
}

/* The pages of all pieces of kind @i, from the first to the last. */
static struct piece span(uint32_t i)
{
	const struct layout *l = run.l;
	uint32_t from = l->first[i].at & ~4095u;
	uint32_t to =
		l->first[i].at + l->step[i] * (l->n - 1) + l->first[i].len;

	return (struct piece){ from, ((to + 4095) & ~4095u) - from };
}

static void by_split(void)
{
	uint32_t i;

	for (i = 0; i < run.l->each; i++)
		open_region(span(i).at, span(i).len);
	note_held();
	write_pieces(run.l->each);
	close_regions();
}

/* Pages of a process do not lie together here. */
static uint8_t *byte(struct actor *a, uint32_t at)
{
	return actor_mem(a, ACTOR_ENDS * 4096 + at);
}

static void by_bounce(void)
{
	uint32_t i, k, from = BOUNCE * 4096;

	run.open_bytes += run.total;
	note_held();
	write_whole(ACTOR_VA + (ACTOR_ENDS + BOUNCE) * 4096ull, run.bounce);
	for (i = 0; i < run.pieces; i++)
		for (k = 0; k < run.piece[i].len; k++)
			*byte(&run.a, run.piece[i].at + k) =
				*byte(&run.a, from++);
	run.copied += run.total;
}

/* ------------------------------------------------------------------- a list */

struct list {
	struct unic_sge sge[2];
	unic_le32 stride[2];
};

/* The list of the layout; returns its bytes. */
static uint32_t list_of(uint8_t *out)
{
	const struct layout *l = run.l;
	uint32_t i;

	for (i = 0; i < l->each; i++) {
		struct unic_sge sge = {
			.iova = unic_to_le64(iova_of(i)),
			.len = unic_to_le32(l->first[i].len),
			.lkey = unic_to_le32(run.base[i]),
		};
		unic_le32 stride = unic_to_le32(l->step[i]);

		memcpy(out + i * sizeof(sge), &sge, sizeof(sge));
		memcpy(out + l->each * sizeof(sge) + i * 4, &stride, 4);
	}
	return l->each * (uint32_t)(sizeof(struct unic_sge) + 4);
}

static void by_indirect(void)
{
	struct {
		struct unic_ctl_mr_make req;
		uint8_t list[sizeof(struct list)];
	} msg = {
		.req = {
			.iova = unic_to_le64(ACTOR_VA),
			.id = unic_to_le32(run.form_id),
			.n = unic_to_le32(run.l->each),
			.repeat = unic_to_le32(run.l->n),
			.rights = RIGHTS,
			.key = (uint8_t)++run.key,
			.strided = 1,
		},
	};
	struct unic_ctl_mr_reg_reply rep;

	memcpy(&rep, ask(&run.a, UNIC_CTL_MR_MAKE, &msg, list_of(msg.list)),
	       sizeof(rep));
	run.open_bytes += run.total;
	note_held();
	write_whole(ACTOR_VA, unic_from_le32(rep.stag));
	name(UNIC_CTL_MR_INVAL, run.form_id);
}

static void post(uint8_t opcode, uint32_t imm)
{
	uint32_t bytes = list_of(byte(&run.a, LIST_PAGE * 4096));
	struct unic_sq_slot s = {
		.opcode = opcode,
		.flags = UNIC_WR_SIGNALED,
		.rkey = unic_to_le32(run.form),
	};

	if (opcode == UNIC_WR_REG_INDIRECT) {
		s.imm = unic_to_le32(imm);
		s.remote = unic_to_le64(ACTOR_VA);
		s.ctrl_len = unic_to_le32(run.l->n);
		s.num_sge = 1;
		s.sge[0] = (struct unic_sge){
			.iova = unic_to_le64(ACTOR_VA +
					     (ACTOR_ENDS + LIST_PAGE) * 4096),
			.len = unic_to_le32(bytes),
			.lkey = unic_to_le32(run.list),
		};
	}
	run.done = 0;
	conn_post_slot(&run.conn.end[0], &s);
	run.work++;
	wait_for(1);
}

static void by_posted(void)
{
	run.key = (run.key + 1) & 0xff;
	post(UNIC_WR_REG_INDIRECT, run.key | RIGHTS << 8 | UNIC_WR_IMM_STRIDED);
	run.form = (run.form & ~0xffu) | run.key;
	run.open_bytes += run.total;
	note_held();
	write_whole(ACTOR_VA, run.form);
	post(UNIC_WR_LOCAL_INV, 0);
}

/* ------------------------------------------------------------------- set up */

static bool both_up(void *ctx)
{
	(void)ctx;
	return run.a.up && run.peer.up;
}

static bool connected(void *ctx)
{
	(void)ctx;
	return run.conn.up;
}

static void alloc_form(void)
{
	struct unic_ctl_mr_alloc r = {
		.pd = unic_to_le32(run.a.pd),
		.kind = UNIC_FORM_INDIRECT,
		.n = unic_to_le32(run.l->each),
	};
	struct unic_ctl_mr_reg_reply rep;

	memcpy(&rep, ask(&run.a, UNIC_CTL_MR_ALLOC, &r, 0), sizeof(rep));
	run.form_id = unic_from_le32(rep.id);
	run.form = unic_from_le32(rep.stag);
}

static const struct {
	const char *how;
	void (*once)(void);
} ways[] = {
	{ "indirect", by_indirect }, { "posted", by_posted }, { "mrs", by_mrs },
	{ "split", by_split },	     { "bounce", by_bounce },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void lay_out(void)
{
	uint32_t i, k;

	for (i = 0; i < run.l->n; i++)
		for (k = 0; k < run.l->each; k++) {
			run.piece[run.pieces] = run.l->first[k];
			run.piece[run.pieces].at += i * run.l->step[k];
			run.total += run.piece[run.pieces++].len;
		}
}

/* What a way has for good. */
static void prepare(const char *how)
{
	bool posted = !strcmp(how, "posted");
	uint32_t i;

	for (i = 0; i < run.total; i++)
		*byte(&run.peer, i) = (uint8_t)(i * 7 + i / 251);
	if (!strcmp(how, "bounce"))
		reg(&run.a, BOUNCE * 4096, run.total, &run.bounce);
	if (posted)
		reg(&run.a, LIST_PAGE * 4096, 4096, &run.list);
	if (!posted && strcmp(how, "indirect"))
		return;
	for (i = 0; i < run.l->each; i++)
		reg(&run.a, span(i).at, span(i).len, &run.base[i]);
	alloc_form();
}

static void set_up(void)
{
	struct unic_cmd_set_params params = { 0 };

	lay_out();
	stage_new(2, &params, 0, 0);
	actor_start(&run.a, 0, 100, ACTOR_ENDS + PAGES);
	actor_start(&run.peer, 1, 100, ACTOR_ENDS + PAGES);
	stage_wait(both_up, NULL, 500 * MS, "are both processes up");
	run.conn.timeout = TIMEOUT;
	run.conn.mtu_shift = MTU_SHIFT;
	run.conn.end[0].done = run.conn.end[1].done = on_done;
	conn_start(&run.conn, &run.a, 0, &run.peer, 0);
	stage_wait(connected, NULL, 500 * MS, "are they connected");
	reg(&run.peer, 0, PAGES * 4096, &run.source);
	prepare(run.o->how);
}

static void check_content(void)
{
	uint32_t i, k, from = 0;

	for (i = 0; i < run.pieces; i++)
		for (k = 0; k < run.piece[i].len; k++)
			if (*byte(&run.a, run.piece[i].at + k) !=
			    *byte(&run.peer, from++))
				sim_fail("eval",
					 "byte %u of piece %u is not "
					 "what was written",
					 k, i);
}

/* ------------------------------------------------------------------ measure */

static void rounds(void (*once)(void), uint32_t n)
{
	while (n--)
		once();
}

static uint64_t frames(void)
{
	return inside_count(world->node[0]->nic, UNIC_C_tx_frames) +
	       inside_count(world->node[1]->nic, UNIC_C_tx_frames);
}

static void measure(void (*once)(void))
{
	uint64_t commands, sent, ns, asked;

	rounds(once, 4);
	run.work = run.copied = run.open_bytes = 0;
	commands = inside_count(world->node[0]->nic, UNIC_C_commands);
	sent = frames();
	ns = sim_now();
	asked = run.a.seq;
	mark_start();
	rounds(once, run.o->rounds);
	mark_stop();
	printf("kind=list rounds=%u pieces=%u bytes=%u commands=%llu "
	       "requests=%u work=%llu frames=%llu held=%llu copied=%llu "
	       "open_bytes=%llu ns=%llu\n",
	       run.o->rounds, run.pieces, run.total,
	       (unsigned long long)(inside_count(world->node[0]->nic,
						 UNIC_C_commands) -
				    commands),
	       (uint32_t)(run.a.seq - asked), (unsigned long long)run.work,
	       (unsigned long long)(frames() - sent),
	       (unsigned long long)run.held, (unsigned long long)run.copied,
	       (unsigned long long)run.open_bytes,
	       (unsigned long long)(sim_now() - ns));
}

void lists(const struct options *o)
{
	uint32_t i;

	memset(&run, 0, sizeof(run));
	run.o = o;
	if (o->load >= sizeof(layouts) / sizeof(layouts[0]))
		sim_fail("eval", "there is no layout %u", o->load);
	run.l = &layouts[o->load];
	set_up();
	for (i = 0; i < WAYS && strcmp(ways[i].how, o->how); i++)
		;
	if (i == WAYS)
		sim_fail("eval", "there is no way '%s'", o->how);
	measure(ways[i].once);
	check_content();
}
