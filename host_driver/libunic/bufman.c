/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman.c - the cache of registrations and the answers to upcalls.
 *
 * Secret: the chunks and their states. The lock is never held while the driver
 * is asked anything, because a registration may wait for as long as B.
 */
#include "bufman.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bufman_watch.h"
#include "fork.h"

#define CLASSES 24	      /* sizes 4 KiB << 0..23 */
#define LATE_NS 1000000000ull /* the end of a wait is told before */

enum chunk_state {
	CHUNK_REGISTERING,
	CHUNK_LIVE,
	CHUNK_LEAVING, /* asked back: no new holds; ends with the last one */
	CHUNK_ENDING,
};

struct unic_chunk {
	struct unic_chunk *next;
	uint8_t *va;
	size_t bytes;
	struct unic_mr *mr;
	enum chunk_state state;
	unsigned int holds;
	uint64_t used; /* tick of the last use */
};

struct pooled {
	struct pooled *next;
	uint8_t *mem;
	size_t bytes;
};

struct unic_bm {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_bm_attr attr;
	struct unic_pace pace;
	pthread_mutex_t lock;
	pthread_cond_t cond; /* a chunk changed its state */
	struct unic_chunk *chunks;
	uint64_t tick;
	struct pooled *pool[CLASSES]; /* free buffers */
	struct pooled *all;	      /* every buffer ever got */
	pthread_t thread;
	int stop_efd;
	struct unic_bm_watch *watches;
	struct unic_bm_stats stats;
};

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

static void report_note(struct unic_bm *bm, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void report_note(struct unic_bm *bm, const char *fmt, ...)
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

/* In a child its thread is not there, and who has the lock may not be. */
static bool is_bm_forked(const struct unic_bm *bm)
{
	return bm->ctx->forked;
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

static struct unic_chunk *find_mr(struct unic_bm *bm, const struct unic_mr *mr)
{
	struct unic_chunk *c;

	/* One that is just being registered does not know its region yet. */
	for (c = bm->chunks; c; c = c->next) {
		if (c->state != CHUNK_ENDING &&
		    (c->mr == mr || (!c->mr && mr->user == c)))
			break;
	}
	return c;
}

/* The least recently used chunk of at least @entries that nobody uses. */
static struct unic_chunk *find_idle(struct unic_bm *bm, uint32_t entries)
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
 * What to register for [*start, *end): of a buffer of the pool always the same
 * chunk, however little of it is used this time, so that the registration serves
 * its next user, too; of other memory what was asked. A chunk is bounded.
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

/* A chunk for the memory at @va that none covers yet. */
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

static void chunk_free(struct unic_bm *bm, struct unic_chunk *c)
{
	struct unic_chunk **p = &bm->chunks;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	free(c);
	pthread_cond_broadcast(&bm->cond);
}

/* Ends an unused chunk; the lock is given up meanwhile. After an error it is
 * still there and leaving: who comes across it next tries again. */
static int chunk_end(struct unic_bm *bm, struct unic_chunk *c)
{
	int err;

	c->state = CHUNK_ENDING;
	pthread_mutex_unlock(&bm->lock);
	err = unic_dereg_mr(c->mr);
	pthread_mutex_lock(&bm->lock);
	if (!err) {
		chunk_free(bm, c);
		return 0;
	}
	c->state = CHUNK_LEAVING;
	pthread_cond_broadcast(&bm->cond);
	return err;
}

/* ------------------------------------------------------------ registering */

/*
 * Within the fair share a wait is bounded: give up what lies idle of the excess
 * that @mr would make. It is asked for already, so what is given up goes to it,
 * and not first to a borrower from whom it would have to be asked back.
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
	       (c = find_idle(bm, 1))) {
		excess -= c->mr->entries;
		bm->stats.trimmed++;
		chunk_end(bm, c);
	}
	pthread_mutex_unlock(&bm->lock);
}

/* The thread of events wakes us; a little longer than the NIC would wait. */
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
	/* granted and gone again is the business of who uses it next */
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
	report_note(bm, "waited %llu us for %zu entries%s%s",
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

/* Called and returns with the lock held. On error the chunk is gone. */
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
	err = unic_reg_mr(bm->pd, &attr, &mr);
	if (err == -ENOMEM && unic_last_usage(&(struct unic_usage){ 0 }))
		err = nowait ? -EBUSY : register_waiting(bm, &attr, &mr);
	pthread_mutex_lock(&bm->lock);
	bm->stats.misses++;
	if (err) {
		bm->stats.reg_failed += err != -EBUSY;
		chunk_free(bm, c);
		return err;
	}
	c->mr = mr;
	c->state = CHUNK_LIVE;
	c->used = ++bm->tick;
	pthread_cond_broadcast(&bm->cond);
	return 0;
}

/* One step towards a usable chunk. 0: look again; 1: *c is usable. */
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
		return chunk_end(bm, c);
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

	if (is_bm_forked(bm))
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
	if (is_bm_forked(bm))
		return;
	pthread_mutex_lock(&bm->lock);
	asked = unic_mr_life(c->mr) == UNIC_MR_ASKED;
	if (!--c->holds &&
	    (c->state == CHUNK_LEAVING || (c->state == CHUNK_LIVE && asked))) {
		if (asked) {
			bm->stats.released_late++;
			report_note(bm,
				    "released %u entries after the last "
				    "operation",
				    c->mr->entries);
		}
		chunk_end(bm, c);
	}
	pthread_mutex_unlock(&bm->lock);
}

/* ---------------------------------------------------------------- upcalls */

/* Somebody uses @c: give an idle chunk instead. True if the NIC took it. The
 * lock is given up meanwhile. */
static bool offer_idle_chunk(struct unic_bm *bm, struct unic_chunk *c)
{
	struct unic_chunk *v = find_idle(bm, c->mr->entries);
	unsigned int refusal = 0;
	uint32_t entries;
	int left = 0;
	int err;

	if (!v)
		return false;
	entries = v->mr->entries;
	v->state = CHUNK_ENDING;
	c->holds++; /* it must not end meanwhile */
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
	report_note(bm, "offered another %u entries, taken", entries);
	if (left)
		v->state = CHUNK_LEAVING;
	else
		chunk_free(bm, v);
	return true;
}

/* An operation is in flight and nothing else can be given. */
static void extend_deadline(struct unic_bm *bm, struct unic_chunk *c)
{
	int err;

	c->holds++;
	pthread_mutex_unlock(&bm->lock);
	err = unic_extend(c->mr, bm->pace.grace_us / 2, NULL, NULL);
	pthread_mutex_lock(&bm->lock);
	c->holds--;
	if (err)
		bm->stats.extends_refused++;
	else
		bm->stats.extends++;
	report_note(bm, "busy: extension %s", err ? "refused" : "granted");
}

static void release_chunk(struct unic_bm *bm, struct unic_chunk *c, bool count)
{
	if (c->holds) {
		c->state = CHUNK_LEAVING;
		return;
	}
	if (count) {
		bm->stats.released++;
		report_note(bm, "released %u idle entries", c->mr->entries);
	}
	chunk_end(bm, c);
}

static void on_chunk_notice(struct unic_bm *bm, struct unic_chunk *c)
{
	bm->stats.notices++;
	if (c->state != CHUNK_LIVE)
		return; /* it is on its way already */
	if (c->holds && offer_idle_chunk(bm, c))
		return;
	if (c->holds && c->state == CHUNK_LIVE) {
		c->state = CHUNK_LEAVING;
		extend_deadline(bm, c);
	}
	if (c->state == CHUNK_LIVE || (c->state == CHUNK_LEAVING && !c->holds))
		release_chunk(bm, c, true);
}

static void on_chunk_evicted(struct unic_bm *bm, struct unic_chunk *c)
{
	bm->stats.evicted++;
	if (c->state == CHUNK_LIVE)
		release_chunk(bm, c, false);
}

struct unic_pd *unic_bm_pd(const struct unic_bm *bm)
{
	return bm->pd;
}

void unic_bm_watch(struct unic_bm *bm, struct unic_bm_watch *w)
{
	if (is_bm_forked(bm))
		return;
	pthread_mutex_lock(&bm->lock);
	w->next = bm->watches;
	bm->watches = w;
	pthread_mutex_unlock(&bm->lock);
}

void unic_bm_unwatch(struct unic_bm *bm, struct unic_bm_watch *w)
{
	struct unic_bm_watch **p = &bm->watches;

	if (is_bm_forked(bm))
		return;
	pthread_mutex_lock(&bm->lock);
	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	pthread_mutex_unlock(&bm->lock);
}

/* With the lock held. */
static bool notify_watches(struct unic_bm *bm, const struct unic_event *ev)
{
	struct unic_bm_watch *w = bm->watches;

	while (w && !w->heard(w, ev))
		w = w->next;
	return w;
}

static void on_event(struct unic_bm *bm, struct unic_event *ev)
{
	struct unic_chunk *c;
	bool watched;

	pthread_mutex_lock(&bm->lock);
	c = ev->mr ? find_mr(bm, ev->mr) : NULL;
	if (c && ev->type == UNIC_EV_NOTICE)
		on_chunk_notice(bm, c);
	else if (c && ev->type == UNIC_EV_EVICTED)
		on_chunk_evicted(bm, c);
	else if (c)
		pthread_cond_broadcast(&bm->cond); /* its wait is over */
	watched = !c && ev->mr && notify_watches(bm, ev);
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

	while (!pfd[1].revents) {
		if (poll(pfd, 2, 1000) < 0)
			continue;
		while (!unic_get_event(bm->ctx, &ev))
			on_event(bm, &ev);
	}
	return NULL;
}

/* ------------------------------------------------------------------- pool */

static unsigned int class_of(size_t bytes)
{
	unsigned int i = 0;

	while (i < CLASSES && ((size_t)UNIC_PAGE << i) < bytes)
		i++;
	return i;
}

void *unic_bm_get(struct unic_bm *bm, size_t bytes)
{
	unsigned int i = class_of(bytes);
	struct pooled *b = NULL;
	struct pooled *node;
	void *mem;

	if (i == CLASSES) {
		unic_fail(-EINVAL, "no size class for %zu bytes", bytes);
		errno = EINVAL;
		return NULL;
	}
	if (is_bm_forked(bm)) {
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
	struct pooled *b = mem && i < CLASSES ? calloc(1, sizeof(*b)) : NULL;

	if (!b || is_bm_forked(bm)) {
		free(b);
		return; /* it stays on the list of all, for close */
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
	err = bm->stop_efd < 0
		      ? errno
		      : pthread_create(&bm->thread, NULL, run_event_thread, bm);
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

	/* It cannot fail for long: one count in it is far from full. */
	while (write(bm->stop_efd, &one, sizeof(one)) != sizeof(one))
		;
	pthread_join(bm->thread, NULL);
}

int unic_bm_recover(struct unic_bm *bm, int timeout_ms)
{
	uint64_t count;
	int err, no_thread;

	if (is_bm_forked(bm))
		return unic_fail_forked();
	stop_thread(bm);
	err = unic_recover(bm->ctx, timeout_ms);
	while (read(bm->stop_efd, &count, sizeof(count)) != sizeof(count))
		;
	no_thread = pthread_create(&bm->thread, NULL, run_event_thread, bm);
	if (no_thread) /* a manager without one answers nothing */
		abort();
	return err;
}

static void free_buffers(struct unic_bm *bm)
{
	struct pooled *b;
	unsigned int i;

	for (i = 0; i < CLASSES; i++) {
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
	if (is_bm_forked(bm)) { /* buffers end with the context */
		close(bm->stop_efd);
		free(bm);
		return;
	}
	stop_thread(bm);
	pthread_mutex_lock(&bm->lock);
	/* What the driver will not end now ends with the context. */
	while ((c = bm->chunks)) {
		if (chunk_end(bm, c))
			chunk_free(bm, c);
	}
	pthread_mutex_unlock(&bm->lock);
	free_buffers(bm);
	close(bm->stop_efd);
	pthread_cond_destroy(&bm->cond);
	pthread_mutex_destroy(&bm->lock);
	free(bm);
}
