/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * doorbell.c - ringing the NIC, and sleeping until the NIC rings.
 *
 * Secret: the protocol of the doorbell page (abi/unic_queue.h) and how threads
 * that wait for different completion queues share one event fd.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "context.h"
#include "doorbell.h"

/* The longest sleep between two checks of the epoch. */
#define SLICE_MS 500

/* Ring @fd; a full counter (EAGAIN) rings, too. Not by write(), at which a thread can be
 * cancelled, and the locks that it has would stay taken. */
static void ring_fd(struct unic_ctx *ctx, int fd)
{
	uint64_t one = 1;

	if (syscall(SYS_write, fd, &one, sizeof(one)) < 0)
		ctx->count.ring_failed++;
}

/* Append @word to the FIFO. The caller has written the new tail to its row. */
static void append_db_word(struct unic_ctx *ctx, uint32_t word)
{
	struct unic_db_page *db = ctx->db;
	uint32_t seq = ctx->fifo_seq++;

	unic_store_relaxed(&db->fifo[seq % UNIC_DB_FIFO], word);
	unic_store_release(&db->fifo_seq, seq + 1);
	/* Write the word before reading `asleep` (INV-1: no lost doorbell). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (unic_load_acquire(&ctx->np->asleep) && ctx->nic_efd >= 0)
		ring_fd(ctx, ctx->nic_efd);
}

void unic_db_ring(struct unic_ctx *ctx, enum unic_db_kind kind,
		  unsigned int obj, uint32_t value)
{
	struct unic_db_tail *tail = &ctx->db->tail[obj];
	unic_le32 *cell = kind == UNIC_DB_SQ	? &tail->sq
			  : kind == UNIC_DB_ARM ? &tail->arm
						: &tail->rq;

	pthread_mutex_lock(&ctx->db_lock);
	unic_store_relaxed(cell, value);
	append_db_word(ctx, UNIC_DB_WORD(kind, obj, value & 0xffff));
	pthread_mutex_unlock(&ctx->db_lock);
}

int unic_db_row_get(struct unic_ctx *ctx)
{
	int row = -EMFILE;

	pthread_mutex_lock(&ctx->db_lock);
	if (~ctx->db_rows) {
		row = __builtin_ctzll(~ctx->db_rows);
		ctx->db_rows |= 1ull << row;
		/* A row may be reused: the NIC begins a new object at 0. */
		memset(&ctx->db->tail[row], 0, sizeof(ctx->db->tail[row]));
	}
	pthread_mutex_unlock(&ctx->db_lock);
	return row;
}

void unic_db_row_put(struct unic_ctx *ctx, int row)
{
	if (row < 0)
		return;
	pthread_mutex_lock(&ctx->db_lock);
	ctx->db_rows &= ~(1ull << row);
	pthread_mutex_unlock(&ctx->db_lock);
}

uint32_t unic_wake_seq(struct unic_ctx *ctx)
{
	return __atomic_load_n(&ctx->wake_seq, __ATOMIC_ACQUIRE);
}

/* Reads are bounded: with data left, the next poll() returns at once. */
bool unic_drain(int fd)
{
	unsigned int budget = 64;
	uint64_t n[8];
	ssize_t got;

	do {
		got = read(fd, n, sizeof(n));
	} while (got > 0 && --budget);
	return got != 0;
}

/* Sleep on the event fd, as the only thread that does (the leader); then wake the others.
 */
static void wait_as_leader(struct unic_ctx *ctx, int ms)
{
	struct pollfd pfd[2] = {
		{ .fd = ctx->evt_efd, .events = POLLIN },
		{ .fd = ctx->sock, .events = POLLRDHUP },
	};

	pthread_mutex_unlock(&ctx->wake_lock);
	if (poll(pfd, 2, ms) > 0) {
		if ((pfd[0].revents && !unic_drain(ctx->evt_efd)) ||
		    pfd[1].revents)
			unic_ctx_dead(ctx);
	}
	pthread_mutex_lock(&ctx->wake_lock);
	ctx->wake_leader = false;
	__atomic_add_fetch(&ctx->wake_seq, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&ctx->wake_cond);
}

/* The leader sleeps on the event fd. Where the library cannot write that, it sleeps for the
 * rest of its slice. */
void unic_wake(struct unic_ctx *ctx)
{
	pthread_mutex_lock(&ctx->wake_lock);
	__atomic_add_fetch(&ctx->wake_seq, 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&ctx->wake_cond);
	pthread_mutex_unlock(&ctx->wake_lock);
	ring_fd(ctx, ctx->evt_efd);
}

int unic_wake_wait(struct unic_ctx *ctx, uint32_t seq, int64_t until_ns)
{
	int64_t left = until_ns < 0 ? INT64_MAX
				    : until_ns - (int64_t)unic_now_ns();
	int ms;

	if (left <= 0)
		return unic_ctx_lost(ctx) ? -ENOTCONN : -ETIME;
	ms = left > SLICE_MS * 1000000ll ? SLICE_MS
					 : (int)((left + 999999) / 1000000);
	pthread_mutex_lock(&ctx->wake_lock);
	if (ctx->wake_seq != seq) {
		/* the event fd rang after the caller read the CQ: read again */
	} else if (ctx->wake_leader) {
		unic_cond_wait_ms(&ctx->wake_cond, &ctx->wake_lock, ms);
	} else {
		ctx->wake_leader = true;
		wait_as_leader(ctx, ms);
	}
	pthread_mutex_unlock(&ctx->wake_lock);
	return unic_ctx_lost(ctx) ? -ENOTCONN : 0;
}
