/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * residency.c - what an access costs in each residency mode. One process is
 * alone with a TLB. It writes a buffer of its working set to another machine,
 * any one of them, waits until that is done, and writes the next.
 *
 * resident: each buffer is a region, and the buffer manager (cache.c) registers
 * it when it is wanted and gives up the one used least recently; gives: it does
 * so before it asks. demand, table: the working set is one region of that
 * residency, and nobody manages anything.
 *
 * Load: the working set in per cent of the TLB. Chunk: pages of a buffer.
 */
#include "eval.h"

#include "cache.h"
#include "conn.h"
#include "inside.h"
#include "mark.h"
#include "unic_mbox.h"

#define TIMEOUT	  14u /* 67 ms: nothing is lost here */
#define MTU_SHIFT 12u
#define LAPS	  1u /* of the TLB at random, after each buffer once */

/* What was counted so far. */
struct tally {
	uint64_t at_ns, commands, events, drops, asked, upcalls, brought,
		misses;
};

static struct {
	const struct options *o;
	struct actor a, target;
	struct cache cache;
	struct conn conn;
	uint8_t residency;
	uint32_t buffers, seen, left, stag, export_stag, registered;
	struct tally from;
} run;

static bool managed(void)
{
	return run.residency == UNIC_RESIDENT;
}

static uint32_t bytes(void)
{
	return run.o->chunk * 4096;
}

/* ------------------------------------------------------------------- access */

static void write_buffer(uint32_t i, uint32_t lkey)
{
	struct conn_wr wr = {
		.opcode = UNIC_WR_WRITE,
		.id = i,
		.iova = ACTOR_VA + (ACTOR_ENDS + i * run.o->chunk) * 4096ull,
		.lkey = lkey,
		.len = bytes(),
		.remote = ACTOR_VA + ACTOR_ENDS * 4096ull,
		.rkey = run.export_stag,
	};

	conn_post(&run.conn.end[0], &wr);
}

static void got(struct cache *c, uint32_t i)
{
	write_buffer(i, c->chunk[i].stag);
}

static void next(void)
{
	uint32_t i = run.seen < run.buffers
			     ? run.seen++
			     : sim_below(&run.a.rng, run.buffers);

	if (managed())
		cache_get(&run.cache, i, got);
	else
		write_buffer(i, run.stag);
}

static void on_done(struct end *e, const struct unic_cqe *c)
{
	(void)e;
	if (c->status)
		sim_fail("eval", "a WRITE ends with status %u", c->status);
	if (managed())
		cache_put(&run.cache, (uint32_t)unic_from_le64(c->wr_id));
	if (--run.left)
		next();
}

static bool over(void *ctx)
{
	(void)ctx;
	return !run.left;
}

static void accesses(uint32_t n)
{
	run.left = n;
	next();
	stage_wait(over, NULL, n * 100 * MS, "are all accesses done");
}

/* ------------------------------------------------------------------- set up */

static bool all_up(void *ctx)
{
	(void)ctx;
	return run.a.up && run.target.up;
}

static bool ready(void *ctx)
{
	(void)ctx;
	return run.conn.up && run.registered == (managed() ? 1 : 2);
}

static void registered(struct actor *a, void *ctx, uint32_t status,
		       const void *rec, uint32_t n)
{
	struct unic_ctl_mr_reg_reply r;

	(void)a;
	(void)n;
	if (status)
		sim_fail("eval", "MR_REG answers %u", status);
	memcpy(&r, rec, sizeof(r));
	*(uint32_t *)ctx = unic_from_le32(r.stag);
	run.registered++;
}

static void reg(struct actor *a, uint32_t pages, uint8_t residency,
		uint32_t *stag)
{
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(ACTOR_VA + ACTOR_ENDS * 4096),
		.iova = unic_to_le64(ACTOR_VA + ACTOR_ENDS * 4096),
		.length = unic_to_le64(pages * 4096ull),
		.pd = unic_to_le32(a->pd),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = 12,
		.residency = residency,
	};

	actor_ask(a, UNIC_CTL_MR_REG, &r, stag, registered);
}

static void set_up(void)
{
	struct unic_cmd_set_params params = {
		.grace_us = unic_to_le32(run.o->grace_us),
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
	};
	uint32_t pages = run.buffers * run.o->chunk;

	stage_new(2, &params, 0, 0);
	actor_start(&run.a, 0, 100, ACTOR_ENDS + pages);
	actor_start(&run.target, 1, 100, ACTOR_ENDS + run.o->chunk);
	run.cache.how = strcmp(run.o->how, "gives") ? CACHE_UNIC : CACHE_GIVES;
	run.cache.mr_class = UNIC_CLASS_RDMA;
	run.cache.grace_us = run.o->grace_us;
	cache_init(&run.cache, &run.a, ACTOR_ENDS, run.buffers, run.o->chunk);
	stage_wait(all_up, NULL, 500 * MS, "are both processes up");
	run.conn.timeout = TIMEOUT;
	run.conn.mtu_shift = MTU_SHIFT;
	run.conn.end[0].done = on_done;
	conn_start(&run.conn, &run.a, 0, &run.target, 0);
	reg(&run.target, run.o->chunk, UNIC_RESIDENT, &run.export_stag);
	if (!managed())
		reg(&run.a, pages, run.residency, &run.stag);
	stage_wait(ready, NULL, 500 * MS, "is everything registered");
}

/* ------------------------------------------------------------------ measure */

static struct tally tally(void)
{
	const struct node *n = world->node[0];

	return (struct tally){
		.at_ns = sim_now(),
		.commands = inside_count(n->nic, UNIC_C_commands),
		.events = inside_events(n),
		.drops = inside_drops(n),
		.asked = run.a.seq,
		.upcalls = run.a.upcall_next,
		.brought = inside_count(n->nic, UNIC_C_mr_registered) *
				   run.o->chunk +
			   inside_count(n->nic, UNIC_C_miss_filled) +
			   inside_count(n->nic, UNIC_C_table_filled),
		.misses = inside_count(n->nic, UNIC_C_mr_registered) +
			  inside_count(n->nic, UNIC_C_miss_events) +
			  inside_count(n->nic, UNIC_C_table_filled),
	};
}

static void report(const struct tally *t)
{
	const struct tally *f = &run.from;

	printf("kind=residency accesses=%u buffers=%u entries=%u "
	       "commands=%llu events=%llu drops=%llu requests=%llu "
	       "upcalls=%llu brought=%llu misses=%llu ns=%llu\n",
	       run.o->rounds, run.buffers, inside_entries(),
	       (unsigned long long)(t->commands - f->commands),
	       (unsigned long long)(t->events - f->events),
	       (unsigned long long)(t->drops - f->drops),
	       (unsigned long long)(t->asked - f->asked),
	       (unsigned long long)(t->upcalls - f->upcalls),
	       (unsigned long long)(t->brought - f->brought),
	       (unsigned long long)(t->misses - f->misses),
	       (unsigned long long)(t->at_ns - f->at_ns));
}

void residency(const struct options *o)
{
	struct tally end;

	memset(&run, 0, sizeof(run));
	run.o = o;
	run.residency = !strcmp(o->how, "demand")  ? UNIC_DEMAND
			: !strcmp(o->how, "table") ? UNIC_TABLE
						   : UNIC_RESIDENT;
	run.buffers = inside_entries() * o->load / 100 / o->chunk;
	if (!run.buffers)
		run.buffers = 1;
	set_up();
	accesses(run.buffers + LAPS * inside_entries() / o->chunk);
	run.from = tally();
	mark_start();
	accesses(o->rounds);
	mark_stop();
	end = tally();
	report(&end);
}
