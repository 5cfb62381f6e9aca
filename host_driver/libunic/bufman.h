/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman.h - the buffer manager (MEMORY.md section 10): lets an application be
 * written as if the NIC TLB were infinite.
 *
 * It keeps a cache of registrations in chunks, answers upcalls by itself with a
 * thread of its own (idle chunks are released at once; for a busy one an idle
 * victim is offered; an extension is asked for only while an operation is in
 * flight), registers on demand with REGISTER_WAIT, and repeats what an eviction
 * cut short. Events that are not about its regions go to a callback.
 *
 *   (none) -> REGISTERING -> LIVE -> LEAVING -> ENDING -> (none)
 *                             |  asked back, busy   ^
 *                             +---------------------+ asked back, idle
 */
#ifndef UNIC_BUFMAN_H
#define UNIC_BUFMAN_H

#include "pace.h"
#include "unic.h"

#ifdef __cplusplus
extern "C" {
#endif

struct unic_bm;

#define UNIC_BM_CHUNK_MAX  64u /* entries */
#define UNIC_BM_WINDOW_MAX 32u

/* How often what happened; all since unic_bm_open(). */
#define UNIC_BM_COUNTERS(X)                                                   \
	X(hits, "uses of a chunk that was registered")                        \
	X(misses, "uses that had to register first")                          \
	X(stale, "chunks found unusable before use")                          \
	X(waits, "registrations that had to wait")                            \
	X(wait_us, "microseconds spent waiting for registrations")            \
	X(wait_us_max, "longest of them")                                     \
	X(reg_failed, "registrations that failed")                            \
	X(trimmed, "own idle chunks given up to stay within the fair share")  \
	X(notices, "notices received")                                        \
	X(released, "notices answered by releasing an idle chunk")            \
	X(released_late, "notices answered when the last operation was done") \
	X(offers, "notices answered by offering another chunk")               \
	X(offers_refused, "offers refused")                                   \
	X(extends, "extensions granted")                                      \
	X(extends_refused, "extensions refused")                              \
	X(evicted, "chunks evicted without an answer in time")                \
	X(splits, "operations split because they would take too long")        \
	X(retries_local, "operations repeated: local region evicted")         \
	X(retries_remote, "operations repeated: remote region evicted")       \
	X(recv_evicted, "halves of receive buffers evicted")                  \
	X(recv_renewed, "halves of receive buffers registered again")         \
	X(ops, "operations completed")                                        \
	X(bytes, "bytes moved by them")

#define UNIC_BM_FIELD(name, what) uint64_t name;
struct unic_bm_stats {
	UNIC_BM_COUNTERS(UNIC_BM_FIELD)
};

struct unic_bm_attr {
	unsigned int rights;	    /* of all registrations */
	unsigned int chunk_entries; /* 1..UNIC_BM_CHUNK_MAX; 0: 64 */
	unsigned int importance;
	unsigned int residency; /* enum unic_residency, of all of them */
	uint32_t wait_us;	/* longest REGISTER_WAIT; 0: 10 s */
	/* Events of the context that are not the manager's; called from its
	 * thread, must not block. May be NULL. */
	void (*on_event)(void *arg, const struct unic_event *ev);
	/* What it does, in a line, for a log. May be NULL. */
	void (*on_note)(void *arg, const char *text);
	void *arg;
};

/** unic_bm_open() - a manager for memory of @pd's context, whose events it reads
 * from now on. One per context. */
int unic_bm_open(struct unic_pd *pd, const struct unic_bm_attr *attr,
		 struct unic_bm **out);
/** unic_bm_close() - ends its registrations; memory from unic_bm_get() is freed.
 * No operation may be in flight. In a child of fork() the manager is its parent's:
 * nothing of it is ended, and all other calls fail, or do nothing. */
void unic_bm_close(struct unic_bm *bm);

/** unic_bm_recover() - unic_recover() of its context (unic_open_kept()), during
 * which the manager's thread rests: what it keeps registered is as it was.
 * Nobody else uses the manager or the context meanwhile. Returns as that. */
int unic_bm_recover(struct unic_bm *bm, int timeout_ms);

/**
 * unic_bm_get() - a buffer of at least @bytes out of the pool of its size class
 * (powers of two). Contents undefined. NULL with errno when the slot is full.
 * unic_bm_put() - back to the pool; its registration stays for the next user.
 */
void *unic_bm_get(struct unic_bm *bm, size_t bytes);
void unic_bm_put(struct unic_bm *bm, void *mem, size_t bytes);

/* The right to use one region for one operation. */
struct unic_bm_hold {
	struct unic_mr *mr;
	void *addr;
	uint64_t iova; /* of addr: what work requests and peers call it */
	size_t len;    /* bytes of what was asked that it covers */
	struct unic_chunk *chunk;
};

/**
 * unic_bm_hold() - make the beginning of [@addr, @addr + @len) usable: find or
 * register its chunk and keep it from being released until unic_bm_drop().
 * @expected_us: how long the operation will take; a chunk that is asked back
 *               before that is replaced first.
 * @nowait:      -EBUSY instead of waiting, be it for operations on a chunk that
 *               leaves or for room: for a caller who must reap operations of his
 *               own first, whose regions he keeps from being given up.
 * -ETIME no room within wait_us, and the errors of unic_reg_mr().
 */
int unic_bm_hold(struct unic_bm *bm, void *addr, size_t len,
		 uint32_t expected_us, bool nowait, struct unic_bm_hold *out);
void unic_bm_drop(struct unic_bm *bm, struct unic_bm_hold *hold);

/** unic_bm_hold_whole() - unic_bm_hold() of all of it, for an operation that cannot
 * be split, nor repeated in parts (a SEND, a message for a token). -EMSGSIZE: at
 * the rate measured it takes longer than T, or no chunk covers it: such an
 * operation must not be started (MEMORY.md section 5). With T = 0 nothing is done
 * in time, and nothing is refused for that. */
int unic_bm_hold_whole(struct unic_bm *bm, void *addr, size_t len,
		       struct unic_bm_hold *out);

/** unic_bm_pace() - how long operations take; for who plans his own. */
struct unic_pace *unic_bm_pace(struct unic_bm *bm);

/* A contiguous RDMA transfer. */
struct unic_bm_xfer {
	struct unic_qp *qp;
	struct unic_cq *cq; /* of its sends, used by nobody else meanwhile */
	uint8_t opcode;	    /* UNIC_WR_WRITE or UNIC_WR_READ */
	void *local;
	uint64_t remote; /* IOVA */
	uint32_t rkey;
	uint64_t len;
	unsigned int window; /* pieces in flight, 0: 8 */
	/* The remote region was evicted: get a new one. May be NULL (then the
	 * transfer fails). Called from the calling thread, while nothing of the
	 * transfer is in flight: it may use @qp and @cq. 0 or -errno. */
	int (*refresh)(void *arg, uint64_t *remote, uint32_t *rkey);
	void *arg;
	unsigned int status; /* out: enum unic_wc_status that ended it */
};

/**
 * unic_bm_transfer() - do it: registers, splits, keeps a window in flight,
 * repeats what evictions cut. Blocks until all of it is done or failed; nothing
 * is in flight afterwards.
 * -EIO with x->status: the QP is in error. -ETIME: nothing completed for 10 s.
 */
int unic_bm_transfer(struct unic_bm *bm, struct unic_bm_xfer *x);

/*
 * Receive buffers of a queue pair: regions of class messaging, which the NIC takes
 * without asking. Those that are left serve on, and those that were taken are
 * registered again, when their receives have come back as EVICTED.
 */
struct unic_bm_recv;
#define UNIC_BM_RECV_MAX 62u

struct unic_bm_recv_attr {
	unsigned int count;	/* 2..UNIC_BM_RECV_MAX, even */
	uint32_t bytes;		/* of each */
	unsigned int residency; /* enum unic_residency */
	/* Flow control: so many receives are posted from now on in regions that
	 * are there. Called with each change: when some were evicted, by the
	 * manager's thread, when they serve again, by the one that handed them
	 * in. It must not block, nor call anything of these. May be NULL. */
	void (*on_credit)(void *arg, unsigned int credits);
	void *arg;
};

/** unic_bm_recv_open() - register; waits for room. To be closed before @bm. */
int unic_bm_recv_open(struct unic_bm *bm, const struct unic_bm_recv_attr *attr,
		      struct unic_bm_recv **out);
void unic_bm_recv_close(struct unic_bm_recv *rx);

/** unic_bm_recv_start() - post them all to @qp, a new one with attr->count slots;
 * what is posted to another one does not come back. Their wr_id are theirs. */
int unic_bm_recv_start(struct unic_bm_recv *rx, struct unic_qp *qp);
/** unic_bm_recv_buf() - where the message of completion @wr_id lies. */
void *unic_bm_recv_buf(const struct unic_bm_recv *rx, uint64_t wr_id);
/** unic_bm_recv_done() - a receive completed, however, and its buffer was read:
 * post it again. May wait for room (REGISTER_WAIT). One thread at a time. */
int unic_bm_recv_done(struct unic_bm_recv *rx, uint64_t wr_id);
/** unic_bm_recv_credits() - how many are posted, as on_credit() would say. */
unsigned int unic_bm_recv_credits(struct unic_bm_recv *rx);

/** unic_bm_query() - copy the counters of @bm to *@out. They count on meanwhile: each
 * is right by itself, their sums need not be. Never fails. */
void unic_bm_query(struct unic_bm *bm, struct unic_bm_stats *out);

/** unic_bm_count() - add to a counter (unic_bm_stats member); internal and for
 * applications that post by themselves. */
#define unic_bm_count(bm, name, n) \
	__atomic_add_fetch(&unic_bm_counters(bm)->name, n, __ATOMIC_RELAXED)
struct unic_bm_stats *unic_bm_counters(struct unic_bm *bm);

#ifdef __cplusplus
}
#endif

#endif /* UNIC_BUFMAN_H */
