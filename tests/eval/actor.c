/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* actor.c - see actor.h. */
#include "actor.h"

uint8_t *actor_mem(struct actor *a, uint32_t at)
{
	return world->node[a->node]->slot[a->slot] +
	       (size_t)a->frame[at / 4096] * 4096 + at % 4096;
}

struct unic_db_page *actor_db(struct actor *a)
{
	return (void *)world->node[a->node]->slot[a->slot];
}

void actor_ring(struct actor *a, enum unic_db_kind kind, uint32_t row,
		uint32_t index)
{
	world_doorbell(&a->c, actor_db(a), &a->fifo, kind, row, index);
}

/* ----------------------------------------------------------------- requests */

uint32_t actor_ask_list(struct actor *a, uint16_t op, void *rec, uint32_t tail,
			void *ctx, actor_reply done)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .tail_bytes = unic_to_le32(tail) };
	uint32_t i;

	for (i = 0; i < ACTOR_ASKS && a->ask[i].seq; i++)
		;
	if (i == ACTOR_ASKS)
		sim_fail("eval", "process %u asks too much", a->c.core.pid);
	a->ask[i].seq = ++a->seq;
	a->ask[i].done = done;
	a->ask[i].ctx = ctx;
	hdr.seq = unic_to_le32(a->seq);
	memcpy(rec, &hdr, sizeof(hdr));
	world_send(&a->c, rec, UNIC_CTL_BYTES + tail);
	return a->seq;
}

uint32_t actor_ask(struct actor *a, uint16_t op, void *rec, void *ctx,
		   actor_reply done)
{
	return actor_ask_list(a, op, rec, 0, ctx, done);
}

static void on_reply(struct world_client *c, const void *msg, uint32_t bytes)
{
	struct actor *a = (struct actor *)c;
	struct unic_ctl_hdr hdr;
	actor_reply done;
	uint32_t i;

	memcpy(&hdr, msg, sizeof(hdr));
	for (i = 0; i < ACTOR_ASKS; i++)
		if (a->ask[i].seq && a->ask[i].seq == unic_from_le32(hdr.seq))
			break;
	if (i == ACTOR_ASKS)
		sim_fail("eval", "process %u gets a reply to nothing",
			 c->core.pid);
	done = a->ask[i].done;
	a->ask[i].seq = 0;
	if (done)
		done(a, a->ask[i].ctx, unic_from_le16(hdr.status), msg, bytes);
}

/* ------------------------------------------------------------------ upcalls */

static const uint64_t *next_upcall(struct actor *a)
{
	const struct unic_upcall_ring *ring =
		(const void *)(world->node[a->node]->slot[a->slot] +
			       UNIC_SLOT_UPCALL_PAGE * 4096);
	const uint64_t *rec =
		(const void *)ring->record[a->upcall_next % UNIC_UPCALLS];
	uint32_t seq = (uint32_t)rec[0];

	if (seq == a->upcall_next + 1)
		return rec;
	if ((int32_t)(seq - (a->upcall_next + 1)) > 0)
		sim_fail("eval", "process %u lost upcalls", a->c.core.pid);
	return NULL;
}

static void on_upcall(struct world_client *c)
{
	struct actor *a = (struct actor *)c;
	const uint64_t *at;
	struct unic_upcall_hdr hdr;
	uint64_t rec[8];

	while (a->up && (at = next_upcall(a))) {
		memcpy(rec, at, sizeof(rec));
		a->upcall_next++;
		memcpy(&hdr, rec, sizeof(hdr));
		if (hdr.type == UNIC_UP_RESET)
			sim_fail("eval", "NIC %u was reset", a->node);
		if (hdr.type == UNIC_UP_QP_ERROR && a->on_qp_error)
			a->on_qp_error(a, unic_from_le32(hdr.id));
		else if (a->on_upcall)
			a->on_upcall(a, rec, hdr.type);
	}
}

static void on_cq(struct world_client *c)
{
	struct actor *a = (struct actor *)c;

	if (a->up && a->on_cq)
		a->on_cq(a);
}

static void on_hangup(struct world_client *c)
{
	sim_fail("eval", "the driver hung up on process %u", c->core.pid);
}

/* --------------------------------------------------------------------- start */

static void must(struct actor *a, uint32_t status, const char *what)
{
	if (status)
		sim_fail("eval", "process %u: %s answers %u", a->c.core.pid,
			 what, status);
}

static void pd_done(struct actor *a, void *ctx, uint32_t status,
		    const void *rec, uint32_t bytes)
{
	struct unic_ctl_id_reply r;

	(void)ctx;
	(void)bytes;
	must(a, status, "PD_ALLOC");
	memcpy(&r, rec, sizeof(r));
	a->pd = unic_from_le32(r.id);
	a->up = true;
}

static void ask_frames(struct actor *a, uint32_t first);

static uint32_t run_pages(const struct actor *a)
{
	return a->page_shift ? 1u << (a->page_shift - 12) : 1;
}

static void frames_done(struct actor *a, void *ctx, uint32_t status,
			const void *rec, uint32_t bytes)
{
	const unic_le32 *list =
		(const void *)((const uint8_t *)rec + UNIC_CTL_BYTES);
	uint32_t first = (uint32_t)(uintptr_t)ctx, i, run = run_pages(a);
	uint32_t n = (bytes - UNIC_CTL_BYTES) / 4 * run;
	struct unic_ctl_plain r = { 0 };

	must(a, status, "FRAMES_ALLOC");
	for (i = 0; i < n; i++)
		a->frame[first + i] = unic_from_le32(list[i / run]) + i % run;
	if (first + n < a->pages)
		ask_frames(a, first + n);
	else
		actor_ask(a, UNIC_CTL_PD_ALLOC, &r, NULL, pd_done);
}

static void ask_frames(struct actor *a, uint32_t first)
{
	uint32_t n = a->pages - first;
	struct unic_ctl_frames r = {
		.va = unic_to_le64(ACTOR_VA + first * 4096ull),
		.page_shift = a->page_shift ? a->page_shift : 12,
	};

	if (n > UNIC_CTL_FRAMES_MAX * run_pages(a))
		n = UNIC_CTL_FRAMES_MAX * run_pages(a);
	r.pages = unic_to_le32(n);
	actor_ask(a, UNIC_CTL_FRAMES_ALLOC, &r, (void *)(uintptr_t)first,
		  frames_done);
}

static void hello_done(struct actor *a, void *ctx, uint32_t status,
		       const void *rec, uint32_t bytes);

static void hello(void *ctx, uint64_t arg)
{
	struct actor *a = ctx;
	struct unic_ctl_hello r = {
		.version = unic_to_le32(UNIC_CTL_VERSION),
		.weight = unic_to_le32(a->weight ? a->weight : 1),
		.policy = unic_to_le32(a->has_policy ? a->policy
						     : UNIC_POLICY_LRU),
		.name = "eval",
	};

	(void)arg;
	actor_ask(a, UNIC_CTL_HELLO, &r, NULL, hello_done);
}

/* The NIC may not be ready yet: the driver has just started. */
static void hello_done(struct actor *a, void *ctx, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct unic_ctl_hello_reply r;

	(void)ctx;
	(void)bytes;
	if (status == UNIC_CTL_ST_NO_NIC && sim_now() < 100 * MS) {
		sim_at(sim_now() + 200 * US, hello, a, 0);
		return;
	}
	must(a, status, "HELLO");
	memcpy(&r, rec, sizeof(r));
	a->slot = unic_from_le32(r.proc);
	ask_frames(a, 0);
}

void actor_start(struct actor *a, uint32_t node, uint32_t pid, uint32_t pages)
{
	a->node = node;
	a->pages = pages;
	a->frame = sim_alloc(pages * sizeof(*a->frame));
	a->c.reply = on_reply;
	a->c.upcall = on_upcall;
	a->c.cq = on_cq;
	a->c.hangup = on_hangup;
	sim_rng_init(&a->rng, sim_seed(), 0x1000u + pid);
	world_connect(&a->c, node, pid);
	hello(a, 0);
}
