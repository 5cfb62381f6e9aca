/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman_chunk.h - inside the buffer manager: its state, and the cache of
 * registrations.
 *
 * Secret: the chunks and their states. The lock is never held during a call to the
 * driver, because a registration may wait for as long as B.
 */
#ifndef UNIC_LIB_BUFMAN_CHUNK_H
#define UNIC_LIB_BUFMAN_CHUNK_H

#include <pthread.h>
#include <stdbool.h>

#include "bufman.h"
#include "priv.h"

#define UNIC_BM_CLASSES 24 /* sizes 4 KiB << 0..23 */

enum chunk_state {
	CHUNK_REGISTERING,
	CHUNK_LIVE,
	CHUNK_LEAVING, /* asked back: no new holds; the last drop ends it */
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
	struct pooled *pool[UNIC_BM_CLASSES]; /* free buffers */
	struct pooled *all;		      /* every buffer allocated */
	pthread_t thread;
	int stop_efd;
	struct unic_bm_watch *watches;
	struct unic_bm_pool *pools; /* of fast registrations */
	struct unic_bm_stats stats;
};

/** unic_bm_forked() - true in a child of fork(), which has neither the thread of @bm
 * nor, perhaps, the thread that holds its lock. */
static inline bool unic_bm_forked(const struct unic_bm *bm)
{
	return bm->ctx->forked;
}

/** unic_bm_note() - pass one formatted line to the application's log. */
void unic_bm_note(struct unic_bm *bm, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* All that follow are called with the lock held. */

/** unic_chunk_of_mr() - the chunk with registration @mr; NULL: there is none, or it
 * is ENDING. */
struct unic_chunk *unic_chunk_of_mr(struct unic_bm *bm,
				    const struct unic_mr *mr);

/** unic_chunk_idle() - the least recently used chunk without holds that has at least
 * @entries, or NULL. */
struct unic_chunk *unic_chunk_idle(struct unic_bm *bm, uint32_t entries);

/** unic_chunk_end() - deregister @c, which has no holds; the lock is released
 * meanwhile. 0: @c is freed. -errno: @c is LEAVING, and the next use of it tries
 * again. */
int unic_chunk_end(struct unic_bm *bm, struct unic_chunk *c);

/** unic_chunk_free() - free @c, which has no registration. */
void unic_chunk_free(struct unic_bm *bm, struct unic_chunk *c);

#endif /* UNIC_LIB_BUFMAN_CHUNK_H */
