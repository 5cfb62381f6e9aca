/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman.h - the buffer manager (docs/MEMORY.md section 10): with it, an application need
 * not consider the size of the NIC's TLB.
 *
 * The manager keeps a cache of registrations in chunks and registers on demand with
 * REGISTER_WAIT. Its thread answers upcalls: it releases an idle chunk at once, offers an
 * idle victim for a busy chunk, and asks for an extension only while an operation is in
 * flight. Operations that an eviction cut short are repeated, and over a queue pair with
 * UNIC_QP_CUT_REPLAY at both ends nobody sees that its connection was cut. Events of other
 * regions go to a callback.
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

/* The counters, all since unic_bm_open(). */
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
	X(given, "idle chunks given up because the NIC asked for them")       \
	X(declined, "chunks that the NIC asked for, but that are used")       \
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
	X(fast_hits, "fast registrations that were there when needed")        \
	X(fast_misses, "fast registrations made when needed")                 \
	X(fast_made, "fast registrations made ahead of need")                 \
	X(fast_given, "idle fast registrations given back when asked for")    \
	X(fast_trimmed, "idle fast registrations given up, as few are used")  \
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
	/* Gets the events of the context that are not of the manager's regions.
	 * Called from the manager's thread; must not block. May be NULL. */
	void (*on_event)(void *arg, const struct unic_event *ev);
	/* Gets a line of text for each step of the manager. May be NULL. */
	void (*on_note)(void *arg, const char *text);
	void *arg;
};

/** unic_bm_open() - create the manager for memory of the context of @pd, one per context,
 * the caller's until unic_bm_close(). The manager reads the events of the context from
 * here on. 0, -EINVAL, -ENOMEM, or the error of its thread. */
int unic_bm_open(struct unic_pd *pd, const struct unic_bm_attr *attr,
		 struct unic_bm **out);
/** unic_bm_close() - end @bm and its registrations, and free the memory of unic_bm_get().
 * No operation may be in flight. In a child of fork(), the parent's registrations stay,
 * and all other calls on @bm fail or do nothing. */
void unic_bm_close(struct unic_bm *bm);

/** unic_bm_recover() - unic_recover() of the context (unic_open_kept()), while the
 * manager's thread is stopped. The registrations are as before. No other thread may use
 * @bm or the context during the call. Returns as unic_recover(). */
int unic_bm_recover(struct unic_bm *bm, int timeout_ms);

/**
 * unic_bm_get() - take a buffer of at least @bytes from the pool of its size class
 * (powers of two). Contents undefined. NULL with errno when the slot is full.
 */
void *unic_bm_get(struct unic_bm *bm, size_t bytes);
/** unic_bm_put() - put @mem of unic_bm_get(@bytes) back into the pool; its registration
 * stays. */
void unic_bm_put(struct unic_bm *bm, void *mem, size_t bytes);

/* The right to use one region for one operation. */
struct unic_bm_hold {
	struct unic_mr *mr;
	void *addr;
	uint64_t iova; /* of addr, for work requests and peers */
	size_t len;    /* bytes from addr on that mr covers */
	struct unic_chunk *chunk;
};

/**
 * unic_bm_hold() - make the beginning of [@addr, @addr + @len) usable: find or
 * register its chunk, and keep that until unic_bm_drop().
 * @expected_us: how long the operation will take; a chunk whose notice ends earlier is
 *               replaced first.
 * @nowait:      -EBUSY instead of waiting for room, or for operations on a chunk that
 *               leaves: for a caller with operations in flight, whose chunks cannot
 *               leave while it waits.
 * -ETIME: no room within wait_us; and the errors of unic_reg_mr().
 */
int unic_bm_hold(struct unic_bm *bm, void *addr, size_t len,
		 uint32_t expected_us, bool nowait, struct unic_bm_hold *out);
/** unic_bm_drop() - end the right @hold of unic_bm_hold(), when the operation has
 * completed. The registration stays for the next one. */
void unic_bm_drop(struct unic_bm *bm, struct unic_bm_hold *hold);

/** unic_bm_hold_whole() - unic_bm_hold() of all @len bytes, for an operation that cannot
 * be split or repeated in parts (a SEND, a message for a token). -EMSGSIZE: at the
 * measured rate the operation takes longer than T, or no chunk covers all bytes: do not
 * start it (docs/MEMORY.md section 5). With T = 0 the time is not checked. */
int unic_bm_hold_whole(struct unic_bm *bm, void *addr, size_t len,
		       struct unic_bm_hold *out);

/** unic_bm_pace() - the measured rate of @bm (pace.h), for callers that post operations
 * themselves. Lives as long as @bm. */
struct unic_pace *unic_bm_pace(struct unic_bm *bm);

/* A contiguous RDMA transfer. */
struct unic_bm_xfer {
	struct unic_qp *qp;
	struct unic_cq *cq; /* of its sends; no other thread may poll it */
	uint8_t opcode;	    /* UNIC_WR_WRITE or UNIC_WR_READ */
	void *local;
	uint64_t remote; /* IOVA */
	uint32_t rkey;
	uint64_t len;
	unsigned int window; /* pieces in flight, 0: 8 */
	/* Longest time without a completion, 0: 10 s. */
	unsigned int timeout_ms;
	/* Gets the address and key of a new remote region, after the eviction of
	 * the old one. NULL: the transfer fails then. Runs in the calling thread
	 * while no piece is in flight: it may use @qp and @cq. 0 or -errno. */
	int (*refresh)(void *arg, uint64_t *remote, uint32_t *rkey);
	void *arg;
	unsigned int status; /* out: enum unic_wc_status that ended it */
};

/**
 * unic_bm_transfer() - carry out @x: split it into pieces, register their memory, keep a
 * window of pieces in flight, repeat those that evictions cut. Blocks until the transfer
 * is done or has failed; no piece is in flight afterwards.
 * -EIO with x->status: the QP is in error, or there is no way back from a cut. -ETIME:
 * nothing completed for x->timeout_ms.
 */
int unic_bm_transfer(struct unic_bm *bm, struct unic_bm_xfer *x);

/*
 * Receive buffers of a queue pair, in regions of class messaging, which the NIC evicts
 * without a notice. The other buffers stay in service; an evicted region is registered
 * again when all its receives have completed EVICTED.
 */
struct unic_bm_recv;
#define UNIC_BM_RECV_MAX 62u

struct unic_bm_recv_attr {
	unsigned int count;	/* 2..UNIC_BM_RECV_MAX, even */
	uint32_t bytes;		/* of each */
	unsigned int residency; /* enum unic_residency */
	/* Flow control: gets the number of receives that are posted in live
	 * regions at each change: after an eviction, from the manager's thread;
	 * after a new registration, from the thread in unic_bm_recv_done(). Must
	 * not block, nor call a function of bufman.h. May be NULL. */
	void (*on_credit)(void *arg, unsigned int credits);
	void *arg;
};

/** unic_bm_recv_open() - allocate and register receive buffers; waits for room. Close
 * them before @bm. */
int unic_bm_recv_open(struct unic_bm *bm, const struct unic_bm_recv_attr *attr,
		      struct unic_bm_recv **out);
/** unic_bm_recv_close() - free the buffers of @rx; none is posted to a queue pair that
 * lives. */
void unic_bm_recv_close(struct unic_bm_recv *rx);

/** unic_bm_recv_start() - post all buffers of @rx to @qp, a new one with attr->count
 * slots, whose receives are all of @rx: @rx chooses their wr_id. Buffers posted to
 * an earlier QP count as idle. */
int unic_bm_recv_start(struct unic_bm_recv *rx, struct unic_qp *qp);
/** unic_bm_recv_buf() - the address of the message of completion @wr_id. */
void *unic_bm_recv_buf(const struct unic_bm_recv *rx, uint64_t wr_id);
/** unic_bm_recv_done() - post the buffer of @wr_id again, after its receive completed
 * (with any status) and the message was read. May wait for room (REGISTER_WAIT). One
 * thread at a time. */
int unic_bm_recv_done(struct unic_bm_recv *rx, uint64_t wr_id);
/** unic_bm_recv_credits() - the number of receives posted in live regions. */
unsigned int unic_bm_recv_credits(struct unic_bm_recv *rx);

/** unic_bm_fast_pool() - a pool of fast registrations of @pages pages, as
 * unic_fast_pool_create(), that @bm runs until it is closed: it gives back what is idle
 * and asked for, makes as many ahead of need as were used at once lately, and a few more,
 * and gives up what is not used. unic_fast_pool_get() checks each before use. What was
 * taken out is to be put back before unic_bm_close(). @bm destroys the pool. */
int unic_bm_fast_pool(struct unic_bm *bm, unsigned int pages,
		      unsigned int page_bytes, struct unic_fast_pool **out);

/** unic_bm_query() - copy the counters of @bm to *@out. Each counter is exact, but they
 * may be of different moments. Never fails. */
void unic_bm_query(struct unic_bm *bm, struct unic_bm_stats *out);

/** unic_bm_counters() - the counters themselves: for the library, and applications that
 * post operations themselves. The macro unic_bm_count adds to one of them. */
struct unic_bm_stats *unic_bm_counters(struct unic_bm *bm);
/* Add @n to counter @name of struct unic_bm_stats. */
#define unic_bm_count(bm, name, n) \
	__atomic_add_fetch(&unic_bm_counters(bm)->name, n, __ATOMIC_RELAXED)

#ifdef __cplusplus
}
#endif

#endif /* UNIC_BUFMAN_H */
