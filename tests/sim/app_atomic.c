/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_atomic.c - atomic operations on a word of the peer, one operation for each word:
 * it was executed once, whatever the wire did, if the word is what one execution makes
 * of it, and the answer is what it was before.
 */
#include "app_op.h"
#include "core.h"
#include "oracle.h"

#define WORD UNIC_ATOMIC_BYTES

static uint64_t get_word(struct app *a, uint32_t at)
{
	uint64_t v = 0;
	uint32_t i;

	for (i = 0; i < WORD; i++)
		v |= (uint64_t)*app_mem(a, at + i) << 8 * i;
	return v;
}

static void put_word(struct app *a, uint32_t at, uint64_t v)
{
	uint32_t i;

	for (i = 0; i < WORD; i++)
		*app_mem(a, at + i) = (uint8_t)(v >> 8 * i);
}

/* What the word is before, and what becomes of it; a third of the operations compare in
 * vain. */
static uint64_t word_before(const struct op *o)
{
	return (o->id + 1) * 0x9e3779b97f4a7c15ull;
}

static bool swaps(const struct op *o)
{
	return o->id % 3 != 0;
}

static uint64_t operand_of(const struct op *o)
{
	return swaps(o) ? word_before(o) + (o->id % 3 == 2) : o->id | 1;
}

static uint64_t word_after(const struct op *o)
{
	if (!swaps(o))
		return word_before(o) + operand_of(o);
	return operand_of(o) == word_before(o) ? ~word_before(o)
					       : word_before(o);
}

/* A word of its own in @part of @r. False: there is none. */
static bool take_word(struct region *r, enum app_part part, uint32_t *at)
{
	*at = app_chunk(r, part, 2 * WORD);
	if (*at == NOTHING)
		return false;
	*at = (*at + WORD - 1) & ~(WORD - 1);
	return true;
}

static bool take_words(struct op *o, struct app *peer, uint64_t r)
{
	struct region *m = op_some_region(peer, r, UNIC_MR_REMOTE_ATOMIC);

	if (!m || !take_word(m, PART_WINDOW, &o->remote_at))
		return false;
	if (!take_word(o->local, PART_SINK, &o->local_at)) {
		m->open[PART_WINDOW]--;
		return false;
	}
	op_set_remote(o, peer, m);
	return true;
}

bool op_atomic_post(struct app *a, struct op *o, uint64_t r)
{
	struct app *peer = o->qp->link->qp[!o->qp->end]->app;
	struct unic_wr_atomic operands;
	struct unic_sq_slot *s;

	o->kind = ATOMIC;
	o->part = PART_SINK;
	o->len = WORD;
	if (!take_words(o, peer, r))
		return false;
	put_word(peer, o->remote_at, word_before(o));
	o->grant = oracle_grant(a->node, a->slot, o->local_at, WORD, ORACLE_ANY,
				o->id);
	o->grant_there = oracle_grant(peer->node, peer->slot, o->remote_at,
				      WORD, ORACLE_ANY, o->id);
	oracle_name(peer->node, peer->slot, o->remote_at, WORD);
	operands.operand = unic_to_le64(operand_of(o));
	operands.swap = unic_to_le64(~word_before(o));
	s = op_put_wr(a, o);
	s->opcode = swaps(o) ? UNIC_WR_COMPARE_SWAP : UNIC_WR_FETCH_ADD;
	s->remote = unic_to_le64(op_iova(o->remote, o->remote_at));
	s->rkey = unic_to_le32(o->remote->stag);
	memcpy(&s->sge[1], &operands, sizeof(operands));
	op_post(a, o);
	return true;
}

void op_atomic_check(struct app *a, const struct op *o)
{
	uint64_t was, is;

	if (!op_local_alive(o) || !op_remote_alive(o) ||
	    o->remote->state != REGION_ACTIVE)
		return;
	was = get_word(a, o->local_at);
	is = get_word(o->peer, o->remote_at);
	if (was != word_before(o) || is != word_after(o))
		sim_fail("once",
			 "app %u: atomic %llx on %llx answers %llx and leaves "
			 "%llx, not %llx",
			 a->index, (unsigned long long)o->id,
			 (unsigned long long)word_before(o),
			 (unsigned long long)was, (unsigned long long)is,
			 (unsigned long long)word_after(o));
}
