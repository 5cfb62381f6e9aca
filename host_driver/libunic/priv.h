/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * priv.h - what the files of libunic know of each other.
 *
 * Locks, in the order they may be taken: ctx.mem_lock, ctx.evt_lock,
 * cq.lock, ring.lock, ctx.db_lock; ctx.wake_lock is taken alone, the lock of
 * unic_forks_off() alone or under mem_lock. A call to the
 * driver may be made under mem_lock and evt_lock only.
 */
#ifndef UNIC_LIB_PRIV_H
#define UNIC_LIB_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "conn.h"
#include "error.h"
#include "shared.h"
#include "unic.h"
#include "unic_ctl.h"
#include "wait.h"

#define UNIC_PAGE	4096u
#define UNIC_MR_HANDLES 4096u

struct unic_area; /* mem.c */
struct unic_note; /* event.c */

struct unic_mem_region;
struct unic_kept; /* fork.c */

/* The memory of the slot. */
struct unic_slot {
	int fd;		/* -1: none */
	uint32_t first; /* its first page in the file */
	uint32_t pages;
};

struct unic_ctx {
	struct unic_ctx *next; /* context of this process */
	struct unic_conn *conn;
	int sock; /* of conn, to see the driver go */
	struct unic_slot slot;
	int nic_efd; /* write: doorbell; -1: no NIC to ring */
	int evt_efd; /* readable: completions */
	int upcall_efd;
	struct unic_attr attr;
	struct unic_db_page *db;
	const struct unic_nic_page *np;
	const struct unic_upcall_ring *upcalls;
	uint32_t dead; /* atomic: all is void, or to be recovered */
	bool kept;
	bool forked;		     /* it is the parent's */
	struct unic_kept *kept_copy; /* of its memory, while a fork goes on */
	char socket[108];	     /* of the driver */

	pthread_mutex_t db_lock;
	uint32_t fifo_seq;
	uint64_t db_rows; /* rows in use */

	pthread_mutex_t wake_lock;
	pthread_cond_t wake_cond;
	uint32_t wake_seq;
	bool wake_leader;

	pthread_mutex_t mem_lock;
	struct unic_area *areas;

	pthread_mutex_t evt_lock; /* events, handles, upcall position */
	int event_fd;		  /* epoll over the sources below */
	int note_efd;		  /* readable: a note is queued */
	struct unic_note *notes, **notes_end;
	uint32_t upcall_next; /* number of the next upcall to read; atomic */
	bool reset_told;
	struct unic_mem_region *region[UNIC_MR_HANDLES];
	uint16_t handle_gen[UNIC_MR_HANDLES];
	struct unic_qp *qp[UNIC_DB_OBJECTS]; /* by doorbell row */
	struct unic_cq *cq[UNIC_DB_OBJECTS];
	struct unic_listener *listeners;

	struct {
		uint64_t ring_failed; /* doorbells that could not be written */
		uint64_t cqe_bad;     /* completions that cannot be */
		uint64_t upcalls;     /* read */
		uint64_t resyncs;     /* upcalls were lost */
	} count;
};

struct unic_pd {
	struct unic_ctx *ctx;
	uint32_t id;
	unsigned int users; /* atomic */
};

/* What is the IOVA of a region's first byte? */
enum unic_base {
	BASE_DRAWN,   /* the driver says */
	BASE_ADDRESS, /* its address */
	BASE_ZERO,    /* its offset in the page */
};

/* A region: what the application sees comes first. */
struct unic_mem_region {
	struct unic_mr mr;
	uint32_t life;	      /* enum unic_mr_life, atomic */
	uint32_t handle;      /* "user" of upcalls: 15:0 index, 31:16 gen */
	uint32_t wait_seq;    /* WAITING: seq of the request */
	uint32_t wait_status; /* its wait ended: enum unic_status */
	uint32_t notice_seq;  /* ASKED */
	uint64_t deadline_ns; /* ASKED, atomic */
	unsigned int refs;    /* under evt_lock */
	uint32_t resync;      /* the last resync that told of it */
	uint32_t old_stag;    /* forms: of before the last posted request */
	uint8_t kind;	      /* enum unic_form_kind */
	bool known;	      /* the driver still has the object */
	bool leaving;	      /* the driver is being asked to end it; atomic */
	uint8_t base;	      /* enum unic_base */
	uint8_t page_shift;   /* not of forms */
};

#define UNIC_BACKLOG 64u /* of the driver: more requests are refused */

struct unic_listener {
	struct unic_ctx *ctx;
	struct unic_listener *next;
	uint32_t id;
	/* the last requests told, so that a resync tells none again */
	uint32_t told[UNIC_BACKLOG], n_told;
};

static inline struct unic_mem_region *unic_mem_region(const struct unic_mr *mr)
{
	return (struct unic_mem_region *)mr;
}

static inline unsigned int unic_pow2(unsigned int n)
{
	unsigned int p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

/* context.c */

/** unic_ctx_dead() - the driver is gone or the NIC was reset. */
void unic_ctx_dead(struct unic_ctx *ctx);
/** unic_hello() - attach over ctx->conn: descriptors and attributes. @resume: only
 * to slot ctx->attr.proc, as it is; -ESTALE if that is not there. @timeout_ms: for
 * the answer, 0: UNIC_CALL_MS. */
int unic_hello(struct unic_ctx *ctx, bool resume, int timeout_ms);
/** unic_ctx_close_fds() - those that HELLO brought. */
void unic_ctx_close_fds(struct unic_ctx *ctx);
/** unic_fail_dead() - -ENOTCONN with words. */
int unic_fail_dead(struct unic_ctx *ctx);
/** unic_ctx_init_locks() - but those of events and queues. */
void unic_ctx_init_locks(struct unic_ctx *ctx);
/** unic_ctl() - unic_conn_call() with the epoch filled in. */
int unic_ctl(struct unic_ctx *ctx, unsigned int op, struct unic_call *call);
/** unic_ctl_simple() - no tails; 0 or -errno with words. */
int unic_ctl_simple(struct unic_ctx *ctx, unsigned int op, void *rec,
		    const char *what);
/** unic_ctl_obj() - a request that only names object @id. */
int unic_ctl_obj(struct unic_ctx *ctx, unsigned int op, uint32_t id,
		 const char *what);

/* fork.c */

/** unic_forks_off() - no fork() until unic_forks_on(), so that a child does not
 * inherit what is mapped meanwhile, nor get copies of what goes. Nests with no lock
 * but mem_lock, and park() of move.c. */
void unic_forks_off(void);
void unic_forks_on(void);
/** unic_ctx_add(), unic_ctx_del() - to and from the contexts of the process. */
void unic_ctx_add(struct unic_ctx *ctx);
void unic_ctx_del(struct unic_ctx *ctx);
/** unic_ctx_first() - of them; the others by ctx->next. Forks are off. */
struct unic_ctx *unic_ctx_first(void);
/** unic_fail_forked() - -ENOTCONN with words: what a context of the parent
 * answers in a child. */
int unic_fail_forked(void);

/* batch.c */

/** unic_ctl_batch() - @n requests of 64 bytes (their op filled in), at most
 * UNIC_BATCH_MAX, as one; their replies in place. 0, or -errno with words: none
 * was tried then, or nothing is known of them. */
int unic_ctl_batch(struct unic_ctx *ctx, void *rec, unsigned int n,
		   const char *what);

/* doorbell.c */

/** unic_db_ring() - publish @value as tail of row @obj and tell the NIC. */
void unic_db_ring(struct unic_ctx *ctx, enum unic_db_kind kind,
		  unsigned int obj, uint32_t value);
/** unic_db_row_get() - a free row of the doorbell page, zeroed; -EMFILE. */
int unic_db_row_get(struct unic_ctx *ctx);
void unic_db_row_put(struct unic_ctx *ctx, int row);
/** unic_drain() - make an event fd (of the driver: an eventfd, or a socket)
 * unreadable. False: its other end is gone. */
bool unic_drain(int fd);
/** unic_wake_seq() - to be read before looking at the queue one waits for. */
uint32_t unic_wake_seq(struct unic_ctx *ctx);
/** unic_wake_wait() - sleep until the NIC rang since @seq was read. 0: look
 * again; -ETIME at @until_ns (CLOCK_MONOTONIC, -1: never); -ENOTCONN. */
int unic_wake_wait(struct unic_ctx *ctx, uint32_t seq, int64_t until_ns);

/* mem.c */

int unic_mem_init(struct unic_ctx *ctx);
/** unic_mem_fini() - unmap what was allocated, move back what was moved in. */
void unic_mem_fini(struct unic_ctx *ctx);
/** unic_mem_cover() - make [@addr, @addr + @len) frames of the slot: moves what
 * is not (MEMORY.md section 9). */
int unic_mem_cover(struct unic_ctx *ctx, const void *addr, size_t len);

/* move.c */

/* Where one run of frames belongs. */
struct unic_run {
	uint32_t page; /* first page in the slot */
	uint32_t pages;
};

/** unic_slot_at() - where page @page of the slot is in its file. */
static inline off_t unic_slot_at(const struct unic_slot *slot, uint32_t page)
{
	return ((off_t)slot->first + page) * UNIC_PAGE;
}

/**
 * unic_move_in() - replace the private pages at @va by the frames of @runs, with
 * the same contents, while no other thread runs. -EACCES memory that cannot be
 * moved, -EBUSY a thread does not stop, -ENOMEM.
 */
int unic_move_in(const struct unic_slot *slot, uint8_t *va, size_t bytes,
		 const struct unic_run *runs, size_t n_runs);
/** unic_move_forked() - in the child of a fork(): forget a move that a thread of
 * the parent was about to do. */
void unic_move_forked(void);
/** unic_move_out() - the reverse, for every frame of the slot that is mapped in
 * [@from, @to), wherever it was moved in: private anonymous pages with the same
 * contents and protection. What is mapped there but is not the slot's is left
 * alone. -EBUSY, -EACCES (a thread runs on it), -ENOMEM: some of it may stay. */
int unic_move_out(const struct unic_slot *slot, const uint8_t *from,
		  const uint8_t *to);

/* Consecutive pages of the slot at consecutive addresses. */
struct unic_slot_map {
	uint8_t *va;
	size_t bytes;
	uint32_t page; /* first, in the slot */
	int prot;
};

/** unic_slot_maps() - where [@from, @to) is frames of the slot now, lowest first, by
 * the kernel's account; at most @max. How many, or -errno. */
int unic_slot_maps(const struct unic_slot *slot, const uint8_t *from,
		   const uint8_t *to, struct unic_slot_map *out, int max);

/* mr.c */

/** unic_reg_control() - memory and a region of class control for a queue. */
int unic_reg_control(struct unic_pd *pd, size_t bytes, struct unic_mr **out);
void unic_dereg_control(struct unic_mr *mr);
/** unic_mem_region_new() - a region of @pd with a handle, WAITING; NULL with words. */
struct unic_mem_region *unic_mem_region_new(struct unic_pd *pd);
/** unic_mem_region_forget() - forget one that the driver does not have. */
void unic_mem_region_forget(struct unic_mem_region *r);
/** unic_mem_region_reply() - the driver has it now; not @pending: and it is LIVE. */
void unic_mem_region_reply(struct unic_mem_region *r,
			   const struct unic_ctl_mr_reg_reply *reply,
			   bool pending);
/** unic_mem_region_prepare() - a checked region with its request, which is to be sent
 * and answered by unic_mem_region_reply() or unic_mem_region_forget(). 0 or -errno. */
int unic_mem_region_prepare(struct unic_pd *pd, const struct unic_mr_attr *attr,
			    struct unic_mem_region **out,
			    struct unic_ctl_mr_reg *req);
/** unic_mem_region_iova() - what the IOVA of @at is, were it the first byte of @r. */
uint64_t unic_mem_region_iova(const struct unic_mem_region *r, const void *at);
/** unic_mem_region_leave() - @mr is about to be deregistered: its id, 0 if the driver
 * does not have it. Then unic_mem_region_left() with the status of MR_DEREG (-1: the
 * driver is gone), which frees @mr if it ended. 0 or -errno. */
uint32_t unic_mem_region_leave(struct unic_mr *mr);
int unic_mem_region_left(struct unic_mr *mr, int status);
/** unic_mem_region_within() - does the driver have a region on some of
 * [@va, @va + @bytes)? */
bool unic_mem_region_within(struct unic_ctx *ctx, const uint8_t *va,
			    size_t bytes);
/** unic_mem_region_put() - drop a reference; evt_lock held. */
void unic_mem_region_put(struct unic_ctx *ctx, struct unic_mem_region *r);

/* event.c */

int unic_event_init(struct unic_ctx *ctx);
void unic_event_fini(struct unic_ctx *ctx);
/** unic_event_watch(), unic_event_unwatch() - have ctx->event_fd look at the
 * connection and the upcalls. 0 or -errno. */
int unic_event_watch(struct unic_ctx *ctx);
void unic_event_unwatch(struct unic_ctx *ctx);
/** unic_event_revive() - all was restored: read the upcalls of the time before,
 * then believe the driver; evt_lock held. */
void unic_event_revive(struct unic_ctx *ctx);
/** unic_event_forked() - in the child of a fork(): close what is the parent's. */
void unic_event_forked(struct unic_ctx *ctx);
/** unic_event_pump() - read new upcalls, change the state of regions, queue
 * events. Costs one load when there is none. */
void unic_event_pump(struct unic_ctx *ctx);
/** unic_event_purge() - forget queued events about an object that ends;
 * evt_lock held. */
void unic_event_purge(struct unic_ctx *ctx, const void *obj);

/* Who else hears of events about regions. */
struct unic_bm;
struct unic_bm_watch {
	struct unic_bm_watch *next;
	/* With the manager's lock held: true if it is about a region of its own,
	 * and nobody else is told. */
	bool (*heard)(struct unic_bm_watch *w, const struct unic_event *ev);
};
/** unic_bm_watch() - from now on, until unic_bm_unwatch(). */
void unic_bm_watch(struct unic_bm *bm, struct unic_bm_watch *w);
void unic_bm_unwatch(struct unic_bm *bm, struct unic_bm_watch *w);
struct unic_pd *unic_bm_pd(const struct unic_bm *bm);

#endif /* UNIC_LIB_PRIV_H */
