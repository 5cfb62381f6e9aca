/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman_chunk.c - see bufman_chunk.h.
 */
#include "bufman_chunk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fork.h"

#define LATE_NS 1000000000ull /* GRANTED or WAIT_ENDED comes earlier */

void unic_bm_note(struct unic_bm *bm, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	if (!bm->attr.on_note)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bm->attr.on_note(bm->attr.arg, text);
}

/* --------------------------------------------------------- chunks, locked */

static struct unic_chunk *find_chunk(struct unic_bm *bm, const uint8_t *va)
{
	struct unic_chunk *c;

	for (c = bm->chunks; c; c = c->next) {
		if (va >= c->va && va < c->va + c->bytes)
			return c;
	}
	return NULL;
}

struct unic_chunk *unic_chunk_of_mr(struct unic_bm *bm,
				    const struct unic_mr *mr)
{
	struct unic_chunk *c;

	/* A chunk under registration has no c->mr yet: its region names it. */
	for (c = bm->chunks; c; c = c->next) {
		if (c->state != CHUNK_ENDING &&
		    (c->mr == mr || (!c->mr && mr->user == c)))
			break;
	}
	return c;
}

/* The least recently used chunk of at least @entries without holds; NULL: none. */
struct unic_chunk *unic_chunk_idle(struct unic_bm *bm, uint32_t entries)
{
	struct unic_chunk *best = NULL;
	struct unic_chunk *c;

	for (c = bm->chunks; c; c = c->next) {
		if (c->state == CHUNK_LIVE && !c->holds &&
		    c->mr->entries >= entries &&
		    (!best || c->used < best->used))
			best = c;
	}
	return best;
}

/*
 * Set the range of the chunk for [*@start, *@end), of chunk_entries pages at most. For a
 * buffer of the pool the range does not depend on how much of the buffer is asked for, so
 * that the registration serves the next user of the buffer, too.
 */
static void chunk_range(struct unic_bm *bm, uintptr_t *start, uintptr_t *end)
{
	size_t most = (size_t)bm->attr.chunk_entries * UNIC_PAGE;
	struct pooled *b;

	for (b = bm->all; b; b = b->next) {
		uintptr_t mem = (uintptr_t)b->mem;

		if (*start < mem || *start >= mem + b->bytes)
			continue;
		*start = mem + (*start - mem) / most * most;
		*end = mem + b->bytes;
		break;
	}
	if (*end - *start > most)
		*end = *start + most;
}

/* Create a chunk for the memory at @va, which no chunk covers. NULL: out of memory. */
static struct unic_chunk *chunk_new(struct unic_bm *bm, uint8_t *va, size_t len)
{
	uintptr_t start = (uintptr_t)va & ~(uintptr_t)(UNIC_PAGE - 1);
	uintptr_t end = ((uintptr_t)va + len + UNIC_PAGE - 1) &
			~(uintptr_t)(UNIC_PAGE - 1);
	struct unic_chunk *c;
	struct unic_chunk *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	chunk_range(bm, &start, &end);
	for (c = bm->chunks; c; c = c->next) {
		if ((uintptr_t)c->va > start && (uintptr_t)c->va < end)
			end = (uintptr_t)c->va;
	}
	n->va = (uint8_t *)start;
	n->bytes = end - start;
	n->state = CHUNK_REGISTERING;
	n->next = bm->chunks;
	bm->chunks = n;
	return n;
}

void unic_chunk_free(struct unic_bm *bm, struct unic_chunk *c)
{
	struct unic_chunk **p = &bm->chunks;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	free(c);
	pthread_cond_broadcast(&bm->cond);
}

/* End chunk @c, which has no holds. The lock is released during the call. After an error
 * @c stays, LEAVING, and the next caller that finds it tries again. */
int unic_chunk_end(struct unic_bm *bm, struct unic_chunk *c)
{
	int err;

	c->state = CHUNK_ENDING;
	pthread_mutex_unlock(&bm->lock);
	err = unic_dereg_mr(c->mr);
	pthread_mutex_lock(&bm->lock);
	if (!err) {
		unic_chunk_free(bm, c);
		return 0;
	}
	c->state = CHUNK_LEAVING;
	pthread_cond_broadcast(&bm->cond);
	return err;
}

/* ------------------------------------------------------------ registering */

/*
 * End idle chunks as long as the process would exceed its fair share with @mr: within
 * the fair share the wait of @mr is bounded. @mr is queued at the NIC already, so the
 * entries go to @mr, and not to a process that borrows them.
 */
static void trim_idle_chunks(struct unic_bm *bm, const struct unic_mr *mr,
			     uint32_t entries)
{
	struct unic_usage u;
	struct unic_chunk *c;
	int64_t excess;

	if (unic_query_usage(bm->ctx, &u))
		return;
	excess = (int64_t)u.holding + entries - u.fair_share;
	pthread_mutex_lock(&bm->lock);
	while (excess > 0 && unic_mr_life(mr) == UNIC_MR_WAITING &&
	       (c = unic_chunk_idle(bm, 1))) {
		excess -= c->mr->entries;
		bm->stats.trimmed++;
		unic_chunk_end(bm, c);
	}
	pthread_mutex_unlock(&bm->lock);
}

/* Wait until @mr is granted or has ended, LATE_NS longer than the NIC lets it wait. The
 * thread of events signals bm->cond. */
static int wait_granted(struct unic_bm *bm, const struct unic_mr *mr)
{
	uint64_t until = unic_now_ns() + bm->attr.wait_us * 1000ull + LATE_NS;
	uint32_t status;

	pthread_mutex_lock(&bm->lock);
	while (unic_mr_life(mr) == UNIC_MR_WAITING && unic_now_ns() < until)
		unic_cond_wait_ms(&bm->cond, &bm->lock, 100);
	pthread_mutex_unlock(&bm->lock);
	if (unic_mr_life(mr) == UNIC_MR_WAITING)
		return unic_fail(-ETIME, "register memory: no answer");
	/* GONE after GRANTED is no error here: advance_chunk() replaces the chunk */
	status = unic_mem_region(mr)->wait_status;
	return unic_fail_status("register memory", (int)status);
}

static void count_wait(struct unic_bm *bm, uint64_t start, size_t entries,
		       int err)
{
	uint64_t us = (unic_now_ns() - start) / 1000;

	unic_bm_count(bm, waits, 1);
	unic_bm_count(bm, wait_us, us);
	if (us > bm->stats.wait_us_max)
		bm->stats.wait_us_max = us;
	unic_bm_note(bm, "waited %llu us for %zu entries%s%s",
		     (unsigned long long)us, entries, err ? ": " : "",
		     err ? unic_last_error() : "");
}

static int register_waiting(struct unic_bm *bm, struct unic_mr_attr *attr,
			    struct unic_mr **mr)
{
	size_t entries = attr->length / UNIC_PAGE;
	uint64_t start = unic_now_ns();
	int err;

	attr->flags |= UNIC_MR_WAIT | UNIC_MR_ASYNC;
	attr->timeout_us = bm->attr.wait_us;
	err = unic_reg_mr(bm->pd, attr, mr);
	if (!err) {
		trim_idle_chunks(bm, *mr, (uint32_t)entries);
		err = wait_granted(bm, *mr);
		if (err)
			unic_dereg_mr(*mr);
	}
	count_wait(bm, start, entries, err);
	return err;
}

/* True if registering failed with @err for want of what only the process itself can give
 * back: it is at a limit of its own, or the region is of a kind that does not wait. */
static bool is_limited(const struct unic_bm *bm, int err)
{
	return err == -EDQUOT ||
	       (err == -ENOMEM && bm->attr.residency != UNIC_RESIDENT &&
		unic_last_usage(&(struct unic_usage){ 0 }));
}

static bool end_one_idle(struct unic_bm *bm)
{
	struct unic_chunk *c;

	pthread_mutex_lock(&bm->lock);
	c = unic_chunk_idle(bm, 1);
	if (c) {
		bm->stats.trimmed++;
		unic_chunk_end(bm, c);
	}
	pthread_mutex_unlock(&bm->lock);
	return c;
}

/* Register at once, in place of idle chunks if there is no room else. -EBUSY: @nowait, and
 * there are none. */
static int register_now(struct unic_bm *bm, const struct unic_mr_attr *attr,
			bool nowait, struct unic_mr **mr)
{
	int err = unic_reg_mr(bm->pd, attr, mr);

	while (is_limited(bm, err)) {
		if (!end_one_idle(bm))
			return nowait ? -EBUSY : err;
		err = unic_reg_mr(bm->pd, attr, mr);
	}
	return err;
}

/* Register @c. Called and returns with the lock held. On error @c is freed. */
static int chunk_register(struct unic_bm *bm, struct unic_chunk *c, bool nowait)
{
	struct unic_mr_attr attr = {
		.addr = c->va,
		.length = c->bytes,
		.rights = bm->attr.rights,
		.importance = bm->attr.importance,
		.residency = bm->attr.residency,
		.user = c,
	};
	struct unic_mr *mr = NULL;
	int err;

	pthread_mutex_unlock(&bm->lock);
	err = register_now(bm, &attr, nowait, &mr);
	if (err == -ENOMEM && unic_last_usage(&(struct unic_usage){ 0 }))
		err = nowait ? -EBUSY : register_waiting(bm, &attr, &mr);
	pthread_mutex_lock(&bm->lock);
	bm->stats.misses++;
	if (err) {
		bm->stats.reg_failed += err != -EBUSY;
		unic_chunk_free(bm, c);
		return err;
	}
	c->mr = mr;
	c->state = CHUNK_LIVE;
	c->used = ++bm->tick;
	pthread_cond_broadcast(&bm->cond);
	return 0;
}

/* One step towards a usable chunk. 0: find the chunk again; 1: @c is usable. */
static int advance_chunk(struct unic_bm *bm, struct unic_chunk *c,
			 uint8_t *addr, size_t len, uint32_t expected_us,
			 bool nowait)
{
	if (!c) {
		c = chunk_new(bm, addr, len);
		if (!c)
			return unic_fail(-ENOMEM, "out of memory");
		return chunk_register(bm, c, nowait);
	}
	if (c->state == CHUNK_LIVE && unic_mr_usable(c->mr, expected_us)) {
		bm->stats.hits++;
		return 1;
	}
	if (c->state == CHUNK_LIVE) {
		bm->stats.stale++;
		c->state = CHUNK_LEAVING;
	}
	if (c->state == CHUNK_LEAVING && !c->holds)
		return unic_chunk_end(bm, c);
	if (nowait)
		return -EBUSY;
	unic_cond_wait_ms(&bm->cond, &bm->lock, 100);
	return 0;
}

int unic_bm_hold(struct unic_bm *bm, void *addr, size_t len,
		 uint32_t expected_us, bool nowait, struct unic_bm_hold *out)
{
	uint64_t until = unic_now_ns() + 2000ull * bm->attr.wait_us;
	uint8_t *va = addr;
	struct unic_chunk *c;
	size_t covered;
	int ret;

	if (unic_bm_forked(bm))
		return unic_fail_forked();
	pthread_mutex_lock(&bm->lock);
	do {
		c = find_chunk(bm, va);
		ret = advance_chunk(bm, c, va, len, expected_us, nowait);
		if (!ret && unic_now_ns() > until)
			ret = unic_fail(-ETIME,
					"the region at %p never stays "
					"long enough to be used",
					addr);
	} while (!ret);
	if (ret > 0) {
		c->holds++;
		c->used = ++bm->tick;
		covered = (size_t)(c->va + c->bytes - va);
		*out = (struct unic_bm_hold){
			.mr = c->mr,
			.addr = addr,
			.iova = c->mr->iova + (uint64_t)(va - c->va),
			.len = covered < len ? covered : len,
			.chunk = c,
		};
	}
	pthread_mutex_unlock(&bm->lock);
	return ret > 0 ? 0 : ret;
}

int unic_bm_hold_whole(struct unic_bm *bm, void *addr, size_t len,
		       struct unic_bm_hold *out)
{
	uint32_t us = unic_pace_expect(&bm->pace, len);
	int err;

	if (bm->pace.grace_us && us > bm->pace.grace_us)
		return unic_fail(-EMSGSIZE,
				 "%zu bytes in one would take %u us, and T is "
				 "%u us: send less at once",
				 len, us, bm->pace.grace_us);
	err = unic_bm_hold(bm, addr, len, us, false, out);
	if (err || out->len == len)
		return err;
	unic_bm_drop(bm, out);
	return unic_fail(-EMSGSIZE,
			 "%zu bytes at %p are in more than one region of at "
			 "most %u entries: send less at once",
			 len, addr, bm->attr.chunk_entries);
}

void unic_bm_drop(struct unic_bm *bm, struct unic_bm_hold *hold)
{
	struct unic_chunk *c = hold->chunk;
	bool asked;

	hold->chunk = NULL;
	if (unic_bm_forked(bm))
		return;
	pthread_mutex_lock(&bm->lock);
	asked = unic_mr_life(c->mr) == UNIC_MR_ASKED;
	if (!--c->holds &&
	    (c->state == CHUNK_LEAVING || (c->state == CHUNK_LIVE && asked))) {
		if (asked) {
			bm->stats.released_late++;
			unic_bm_note(bm,
				     "released %u entries after the last "
				     "operation",
				     c->mr->entries);
		}
		unic_chunk_end(bm, c);
	}
	pthread_mutex_unlock(&bm->lock);
}
