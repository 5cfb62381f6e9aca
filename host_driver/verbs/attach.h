/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * attach.h - the attachments of this process: one for each NIC, which all contexts on that
 * NIC share, so that they share one process slot and its memory.
 */
#ifndef UNIC_VERBS_ATTACH_H
#define UNIC_VERBS_ATTACH_H

#include <pthread.h>
#include <stdbool.h>

#include "objects.h"

#define UNIC_ATTACH_WHERE 128 /* bytes of PATH[,NIC] with its 0 */

struct unic_attach {
	struct unic_attach *next;
	struct unic_ctx *ctx;
	struct unic_attr attr;
	/* libunic makes completion queues within a protection domain, verbs within a
	 * context: this one is of all of them. */
	struct unic_pd *cq_pd;
	char where[UNIC_ATTACH_WHERE];
	int pid; /* a child of fork() makes its own */
	unsigned int refs;

	/* Of mr.c. */
	pthread_mutex_t mrs_lock;
	struct unic_ibv_mr *mrs;

	/* Of events.c; all lists are under `lock`. */
	pthread_mutex_t lock;
	struct unic_ibv_cq *cqs;
	struct unic_ibv_srq *srqs;
	struct unic_ibv_qp *qps;
	struct unic_ibv_context *contexts;
	pthread_t thread;
	int stop_efd;
	bool lost; /* the driver or the NIC is gone: atomic */
};

/** unic_attach_get() - the attachment to @where, PATH[,NIC], made if there is none. A
 * reference is the caller's until unic_attach_put(). 0, or -errno with words. */
int unic_attach_get(const char *where, struct unic_attach **out);
/** unic_attach_put() - give a reference back; with the last one the process detaches, and
 * memory that was moved is private again. */
void unic_attach_put(struct unic_attach *at);

/** unic_ibv_has_atomics() - does the adapter of @ctx have atomic operations? */
static inline bool unic_ibv_has_atomics(struct ibv_context *ctx)
{
	return unic_ibv_context(ctx)->at->attr.features & UNIC_FEAT_ATOMICS;
}

/** unic_ibv_has_windows() - has it memory windows over regions of verbs, which hold no
 * entries? */
static inline bool unic_ibv_has_windows(struct ibv_context *ctx)
{
	const uint64_t need = UNIC_FEAT_WINDOWS | UNIC_FEAT_CACHED_WINDOWS;

	return !(need & ~unic_ibv_context(ctx)->at->attr.features);
}

/** unic_ibv_reads() - READs and atomic operations of a queue pair that can be outstanding,
 * each way. */
static inline unsigned int unic_ibv_reads(struct ibv_context *ctx)
{
	return unic_ibv_has_atomics(ctx) ? 16 : 4;
}

/** unic_ibv_ring_slots() - slots of a queue on the adapter of @ctx, at most. */
static inline unsigned int unic_ibv_ring_slots(struct ibv_context *ctx)
{
	return unic_ibv_context(ctx)->at->attr.ring_slots;
}

#endif /* UNIC_VERBS_ATTACH_H */
