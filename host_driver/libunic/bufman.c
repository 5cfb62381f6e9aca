/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman.c - opening and closing the buffer manager, its answers to upcalls, its pool.
 *
 * Secret: the answer to a question for an idle chunk: give it up, if it is idle; the
 * answer to a notice: release an idle chunk at once; for a busy one, offer an
 * idle one; extend only if there is none.
 */
#include "bufman.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bufman_chunk.h"
#include "bufman_pool.h"
#include "bufman_watch.h"
#include "fork.h"
#include "mr.h"
#include "thread.h"

struct unic_bm_stats *unic_bm_counters(struct unic_bm *bm)
{
	return &bm->stats;
}

struct unic_pace *unic_bm_pace(struct unic_bm *bm)
{
	return &bm->pace;
}

void unic_bm_query(struct unic_bm *bm, struct unic_bm_stats *out)
{
	*out = bm->stats;
}

/* ---------------------------------------------------------------- upcalls */

/* Offer an idle chunk in place of @c, which is in use. True if the NIC accepted. The lock
 * is released during the calls. */
static bool offer_idle_chunk(struct unic_bm *bm, struct unic_chunk *c)
{
	struct unic_chunk *v = unic_chunk_idle(bm, c->mr->entries);
	unsigned int refusal = 0;
	uint32_t entries;
	int left = 0;
	int err;

	if (!v)
		return false;
	entries = v->mr->entries;
	v->state = CHUNK_ENDING;
	c->holds++; /* keeps @c during the call */
	pthread_mutex_unlock(&bm->lock);
	err = unic_offer(c->mr, v->mr, &refusal);
	if (!err)
		left = unic_dereg_mr(v->mr);
	pthread_mutex_lock(&bm->lock);
	c->holds--;
	if (err) {
		bm->stats.offers_refused++;
		v->state = CHUNK_LIVE;
		pthread_cond_broadcast(&bm->cond);
		return false;
	}
	bm->stats.offers++;
	unic_bm_note(bm, "offered another %u entries, taken", entries);
	if (left)
		v->state = CHUNK_LEAVING;
	else
		unic_chunk_free(bm, v);
	return true;
}

/* Ask for an extension of the notice on @c, for the operation in flight. */
static void extend_deadline(struct unic_bm *bm, struct unic_chunk *c)
{
	int err;

	if (bm->pace.grace_us < 2)
		return; /* there is nothing to extend */
	c->holds++;
	pthread_mutex_unlock(&bm->lock);
	err = unic_extend(c->mr, bm->pace.grace_us / 2, NULL, NULL);
	pthread_mutex_lock(&bm->lock);
	c->holds--;
	if (err)
		bm->stats.extends_refused++;
	else
		bm->stats.extends++;
	unic_bm_note(bm, "busy: extension %s", err ? "refused" : "granted");
}

static void release_chunk(struct unic_bm *bm, struct unic_chunk *c, bool count)
{
	if (c->holds) {
		c->state = CHUNK_LEAVING;
		return;
	}
	if (count) {
		bm->stats.released++;
		unic_bm_note(bm, "released %u idle entries", c->mr->entries);
	}
	unic_chunk_end(bm, c);
}

static void on_chunk_notice(struct unic_bm *bm, struct unic_chunk *c)
{
	bm->stats.notices++;
	if (c->state != CHUNK_LIVE)
		return; /* it is ending already */
	if (c->holds && offer_idle_chunk(bm, c))
		return;
	if (c->holds && c->state == CHUNK_LIVE) {
		c->state = CHUNK_LEAVING;
		extend_deadline(bm, c);
	}
	if (c->state == CHUNK_LIVE || (c->state == CHUNK_LEAVING && !c->holds))
		release_chunk(bm, c, true);
}

/* The NIC asks for @c, but the manager need not give it. */
static void on_chunk_idle(struct unic_bm *bm, struct unic_chunk *c)
{
	if (c->state != CHUNK_LIVE)
		return;
	if (c->holds) {
		bm->stats.declined++;
		return;
	}
	bm->stats.given++;
	unic_bm_note(bm, "gave up %u idle entries", c->mr->entries);
	release_chunk(bm, c, false);
}

static void on_chunk_evicted(struct unic_bm *bm, struct unic_chunk *c)
{
	bm->stats.evicted++;
	if (c->state == CHUNK_LIVE)
		release_chunk(bm, c, false);
}

static void on_event(struct unic_bm *bm, struct unic_event *ev)
{
	struct unic_chunk *c;
	bool watched;

	pthread_mutex_lock(&bm->lock);
	c = ev->mr ? unic_chunk_of_mr(bm, ev->mr) : NULL;
	if (c && ev->type == UNIC_EV_NOTICE)
		on_chunk_notice(bm, c);
	else if (c && ev->type == UNIC_EV_IDLE)
		on_chunk_idle(bm, c);
	else if (c && ev->type == UNIC_EV_EVICTED)
		on_chunk_evicted(bm, c);
	else if (c)
		pthread_cond_broadcast(&bm->cond); /* its wait is over */
	watched = !c && ev->mr && unic_bm_watch_tell(bm, ev);
	pthread_mutex_unlock(&bm->lock);
	if (!c && !watched && bm->attr.on_event)
		bm->attr.on_event(bm->attr.arg, ev);
	unic_ack_event(ev);
}

static void *run_event_thread(void *arg)
{
	struct unic_bm *bm = arg;
	struct pollfd pfd[2] = {
		{ .fd = unic_event_fd(bm->ctx), .events = POLLIN },
		{ .fd = bm->stop_efd, .events = POLLIN },
	};
	struct unic_event ev;
	int ms = unic_bm_pools_run(bm);

	while (!pfd[1].revents) {
		if (poll(pfd, 2, ms) < 0)
			continue;
		while (!unic_get_event(bm->ctx, &ev))
			on_event(bm, &ev);
		ms = unic_bm_pools_run(bm);
	}
	return NULL;
}

/* ------------------------------------------------------------------- pool */

static unsigned int class_of(size_t bytes)
{
	unsigned int i = 0;

	while (i < UNIC_BM_CLASSES && ((size_t)UNIC_PAGE << i) < bytes)
		i++;
	return i;
}

void *unic_bm_get(struct unic_bm *bm, size_t bytes)
{
	unsigned int i = class_of(bytes);
	struct pooled *b = NULL;
	struct pooled *node;
	void *mem;

	if (i == UNIC_BM_CLASSES) {
		unic_fail(-EINVAL, "no size class for %zu bytes", bytes);
		errno = EINVAL;
		return NULL;
	}
	if (unic_bm_forked(bm)) {
		errno = -unic_fail_forked();
		return NULL;
	}
	pthread_mutex_lock(&bm->lock);
	b = bm->pool[i];
	if (b)
		bm->pool[i] = b->next;
	pthread_mutex_unlock(&bm->lock);
	if (b) {
		mem = b->mem;
		free(b);
		return mem;
	}
	node = calloc(1, sizeof(*node));
	if (!node) {
		unic_fail(-ENOMEM, "out of memory");
		errno = ENOMEM;
		return NULL;
	}
	mem = unic_alloc(bm->ctx, (size_t)UNIC_PAGE << i, UNIC_PAGE);
	if (!mem) {
		free(node);
		return NULL;
	}
	node->mem = mem;
	node->bytes = (size_t)UNIC_PAGE << i;
	pthread_mutex_lock(&bm->lock);
	node->next = bm->all;
	bm->all = node;
	pthread_mutex_unlock(&bm->lock);
	return mem;
}

void unic_bm_put(struct unic_bm *bm, void *mem, size_t bytes)
{
	unsigned int i = class_of(bytes);
	struct pooled *b = mem && i < UNIC_BM_CLASSES ? calloc(1, sizeof(*b))
						      : NULL;

	if (!b || unic_bm_forked(bm)) {
		free(b);
		return; /* unic_bm_close() frees it */
	}
	b->mem = mem;
	pthread_mutex_lock(&bm->lock);
	b->next = bm->pool[i];
	bm->pool[i] = b;
	pthread_mutex_unlock(&bm->lock);
}

/* ------------------------------------------------------------------- life */

int unic_bm_open(struct unic_pd *pd, const struct unic_bm_attr *attr,
		 struct unic_bm **out)
{
	struct unic_bm *bm;
	struct unic_attr facts;
	int err;

	if (attr->chunk_entries > UNIC_BM_CHUNK_MAX)
		return unic_fail(-EINVAL, "a chunk has at most %u entries",
				 UNIC_BM_CHUNK_MAX);
	bm = calloc(1, sizeof(*bm));
	if (!bm)
		return unic_fail(-ENOMEM, "out of memory");
	bm->pd = pd;
	bm->ctx = pd->ctx;
	bm->attr = *attr;
	if (!bm->attr.chunk_entries)
		bm->attr.chunk_entries = UNIC_BM_CHUNK_MAX;
	if (!bm->attr.wait_us)
		bm->attr.wait_us = 10000000;
	unic_query(bm->ctx, &facts);
	unic_pace_init(&bm->pace, facts.grace_us);
	pthread_mutex_init(&bm->lock, NULL);
	unic_cond_init(&bm->cond);
	bm->stop_efd = eventfd(0, EFD_CLOEXEC);
	err = bm->stop_efd < 0 ? errno
			       : unic_thread_start(&bm->thread, NULL,
						   run_event_thread, bm);
	if (err) {
		if (bm->stop_efd >= 0)
			close(bm->stop_efd);
		free(bm);
		return unic_fail(-err, "no thread: %s", strerror(err));
	}
	*out = bm;
	return 0;
}

static void stop_thread(struct unic_bm *bm)
{
	uint64_t one = 1;

	/* write() fails only when interrupted: the counter is far from full. */
	while (write(bm->stop_efd, &one, sizeof(one)) != sizeof(one))
		;
	pthread_join(bm->thread, NULL);
}

int unic_bm_recover(struct unic_bm *bm, int timeout_ms)
{
	uint64_t count;
	int err, no_thread;

	if (unic_bm_forked(bm))
		return unic_fail_forked();
	stop_thread(bm);
	err = unic_recover(bm->ctx, timeout_ms);
	while (read(bm->stop_efd, &count, sizeof(count)) != sizeof(count))
		;
	no_thread = unic_thread_start(&bm->thread, NULL, run_event_thread, bm);
	if (no_thread) /* notices would have no answer */
		abort();
	return err;
}

static void free_buffers(struct unic_bm *bm)
{
	struct pooled *b;
	unsigned int i;

	for (i = 0; i < UNIC_BM_CLASSES; i++) {
		while ((b = bm->pool[i])) {
			bm->pool[i] = b->next;
			free(b);
		}
	}
	while ((b = bm->all)) {
		bm->all = b->next;
		unic_free(bm->ctx, b->mem);
		free(b);
	}
}

void unic_bm_close(struct unic_bm *bm)
{
	struct unic_chunk *c;

	if (!bm)
		return;
	if (unic_bm_forked(bm)) { /* buffers end with the context */
		close(bm->stop_efd);
		free(bm);
		return;
	}
	stop_thread(bm);
	unic_bm_pools_end(bm);
	pthread_mutex_lock(&bm->lock);
	/* A chunk that the driver does not end ends with the context. */
	while ((c = bm->chunks)) {
		if (!unic_chunk_end(bm, c))
			continue;
		unic_mem_region_abandon(c->mr);
		unic_chunk_free(bm, c);
	}
	pthread_mutex_unlock(&bm->lock);
	free_buffers(bm);
	close(bm->stop_efd);
	pthread_cond_destroy(&bm->cond);
	pthread_mutex_destroy(&bm->lock);
	free(bm);
}
