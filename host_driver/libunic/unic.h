/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic.h - libunic: the programming interface of the unic NIC, verbs-shaped.
 *
 * Conventions, for every function that does not say otherwise:
 *  - Returns 0 (or a count) or -errno. After an error unic_last_error() of the
 *    same thread says what failed, why, and what to do. An error means that
 *    nothing happened.
 *  - Objects belong to the caller from alloc/create/reg until free/destroy/
 *    dereg, and go in reverse order of creation.
 *  - Threads of the library block all signals but SIGSEGV, SIGBUS and SIGRTMAX - 2 (which
 *    stops threads while memory moves): others are for threads of the program.
 *  - All functions are thread-safe. Queues have a lock each; the data path
 *    (post, poll) makes no system call while the NIC is awake. When more threads
 *    call the driver than it serves at once, their calls take turns in order of
 *    arrival; calls that wait for memory do not hold up others.
 *  - Addresses in work requests are IOVAs: mr->iova and the offset in the region
 *    (unic_sg_of()). They are addresses of the process only with UNIC_MR_VA_BASE.
 *
 * errno of failed calls: ENOMEM a NIC table is full (unic_usage names the largest
 * holders), EDQUOT the hard quota is reached, E2BIG the request can never fit,
 * EOWNERDEAD the region was evicted, ETIME a deadline passed, ECANCELED the request
 * was cancelled, EBUSY something uses the object, ENOTCONN the driver is gone or the
 * NIC was reset, or the context belongs to the process that forked this one, EAGAIN
 * the turn of the call did not come within seconds, EPROTO the driver or the NIC
 * answered against the protocol, EINVAL/EACCES/ENOENT/ERANGE an argument is wrong.
 */
#ifndef UNIC_H
#define UNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unic_queue.h"
#include "unic_words.h"

#ifdef __cplusplus
extern "C" {
#endif

struct unic_ctx;      /* an attachment to one NIC: one process slot */
struct unic_pd;	      /* protection domain */
struct unic_cq;	      /* completion queue */
struct unic_qp;	      /* reliable connected queue pair */
struct unic_srq;      /* shared receive queue */
struct unic_listener; /* waits for connections */

/* -------------------------------------------------------------- context */

/* Facts about the NIC and the attachment; fixed while attached. */
struct unic_attr {
	uint32_t proc;	/* number of the process slot */
	uint32_t id;	/* host-wide id of this attachment */
	uint32_t epoch; /* boot_epoch of the NIC */
	uint32_t tlb_entries, mrs, qps, cqs, tokens;
	uint32_t grace_us;   /* T: time between upcall and removal */
	uint32_t deliver_us; /* H: bound on the delivery of an upcall */
	uint32_t bound_us;   /* B = H + T + reaper + drain: a REGISTER_WAIT
			       * within the fair share is served within it */
	uint32_t path_mtu;   /* bytes of payload per packet */
	uint32_t ipv4;	     /* of the NIC, host order */
	uint32_t pds;	     /* protection domains of the NIC */
	uint32_t srqs;	     /* shared receive queues of the NIC */
	/* slots of a send, receive or shared receive queue, and entries of a
	 * completion queue, at most */
	uint16_t ring_slots, cq_entries;
	uint64_t features;   /* UNIC_FEAT_* of the NIC */
	uint64_t slot_bytes; /* memory unic_alloc() can hand out, in all */
};

/** unic_open() - attach to the driver at @socket (NULL: $UNIC_SOCKET, else /dev/unic, else
 * /run/unic/unicd.sock): PATH, or PATH,NIC for one of several NICs of the driver, by its
 * name or number in unic_list_nics(); without NIC it is the one with the lowest number.
 * The context is the caller's until unic_close(), and with that NIC for its life.
 * -ENOENT/-ECONNREFUSED no driver there, -ENODEV no such NIC, -EOPNOTSUPP the driver knows
 * no names of NICs, -ENOTCONN it does not answer (within
 * seconds), -EAGAIN all process slots taken, -EPROTO another ABI version, -EBUSY
 * memory is in the slot of another context of this process whose driver or NIC is
 * gone: close that one first, or its memory would be lost.
 *
 * The child of a fork() has no part in the attachment. It gets private copies of the
 * memory of unic_alloc() and of memory that was moved in, at the same addresses and
 * as they were when fork() began; of memory that is written meanwhile, each page has
 * the contents of some moment of the call. (Copies of memory that another thread maps
 * or unmaps at that moment may be missing, and all copies are when there is neither
 * memory nor a descriptor for them.) On contexts of the parent each call fails with
 * -ENOTCONN, except those that give something back, which free the child's copy. A
 * child may open contexts of its own.
 *
 * The copies are made by pthread_atfork() handlers, registered before any other of
 * the process. A fork() in a signal handler may deadlock. _Fork() and clone() run no
 * handlers, and their child has no such memory. vfork() and posix_spawn() run none
 * and need none. */
int unic_open(const char *socket, struct unic_ctx **out);

/** unic_open_within() - as unic_open(), and while no driver is there, or it has no NIC that
 * is ready, try again for @timeout_ms: so programs and drivers may be started in any order.
 * unic_open() and unic_open_kept() wait for as many seconds as $UNIC_WAIT says (none).
 * -EINVAL: that is no number from 0 to 86400. */
int unic_open_within(const char *socket, uint32_t timeout_ms,
		     struct unic_ctx **out);

/* A NIC of a driver. */
struct unic_nic_attr {
	uint32_t number; /* as long as the driver lives */
	uint32_t state;	 /* 0 absent, 1 starting, 2 ready, 3 dead */
	uint32_t ipv4;	 /* its address, host order */
	bool mine;	 /* that @socket of unic_list_nics() names */
	char name[16];
};

/** unic_list_nics() - store the NICs of the driver at @socket, as for unic_open(), at
 * @out, @max at most, by number. Attaches to none.
 * Returns how many there are, or the errors of unic_open() for a driver that is not there
 * or has no such NIC. */
int unic_list_nics(const char *socket, struct unic_nic_attr *out,
		   unsigned int max);

/** unic_open_kept() - as unic_open(), and the objects of the context outlive a reset
 * of the NIC and a restart of the driver: see unic_recover(). */
int unic_open_kept(const char *socket, struct unic_ctx **out);

/**
 * unic_recover() - after UNIC_EV_RESET, or -ENOTCONN of any call: wait until NIC
 * and driver are back and go on. No other thread uses the context meanwhile.
 *
 * Protection domains, regions and memory are as they were, with the same STags; an
 * event names each region that could not be restored and each REGISTER_WAIT that
 * ended. Queue pairs are in state RESET with new numbers, and each has an event
 * UNIC_EV_QP_ERROR: connect again. Each request that was posted and not completed
 * completes with UNIC_WC_WR_FLUSH_ERR, once; it may or may not have been carried out.
 * Completion queues are to be armed again. Tokens have ended. What was destroyed or freed
 * while NIC or driver was away has ended at the driver that is back. That goes for queue pairs of
 * any enum unic_qp_cut: a reset is not a cut.
 *
 * Returns 0, also if there was nothing to recover; -ETIME: not within @timeout_ms,
 * try again; -ENOTCONN: nothing is left, close the context; -ENOMEM: try again;
 * -EINVAL: the context was not made by unic_open_kept().
 */
int unic_recover(struct unic_ctx *ctx, int timeout_ms);

/**
 * unic_close() - detach from the NIC. Everything still open ends, its memory is unmapped:
 * pointers from unic_alloc() die. The context is freed. Where memory that was registered cannot be
 * moved out of the slot, as while a thread has it for its stack, the process keeps the slot until
 * it opens a context again, or ends.
 */
void unic_close(struct unic_ctx *ctx);

/** unic_query() - copy the facts about @ctx to *@out. Never fails. */
void unic_query(const struct unic_ctx *ctx, struct unic_attr *out);

/** unic_ctx_lost() - true once the NIC was reset or the driver has ended: all objects
 * of @ctx are void. Close it and open again, or unic_recover(). */
bool unic_ctx_lost(const struct unic_ctx *ctx);

/** unic_last_error() - the last error of this thread in words. Never NULL,
 * valid until the thread's next failing call. */
const char *unic_last_error(void);

/** unic_strerror() - words for a -errno of this library. */
const char *unic_strerror(int err);

/*
 * Names of numbers, for messages. Each returns static text, never NULL: "unknown" for
 * a number that the enum does not have. They change no last error.
 */
/** unic_wc_status_str() - of an enum unic_wc_status, as in unic_wc.status. */
const char *unic_wc_status_str(unsigned int status);
/** unic_wc_detail_str() - of an enum unic_wc_detail, as in unic_wc.detail of a
 * request that was refused here. */
const char *unic_wc_detail_str(unsigned int detail);
/** unic_token_end_str() - of an enum unic_token_end, as in unic_wc.detail of a TOKEN
 * request or a RECV_TOKEN, in UNIC_EV_TOKEN_END, and in *end of unic_cancel_token(). */
const char *unic_token_end_str(unsigned int end);
/** unic_reason_str() - of an enum unic_reason, as in unic_event.reason. */
const char *unic_reason_str(unsigned int reason);
/** unic_status_str() - of an enum unic_status or unic_ctl_status ("unknown status"
 * for another), as in unic_event.status of UNIC_EV_WAIT_ENDED. */
const char *unic_status_str(unsigned int status);

struct unic_usage {
	unsigned int table;   /* enum unic_table that is full; 0 in a query */
	uint32_t used, limit; /* of that table (query: the TLB) */
	uint32_t holding, fair_share, borrowed, quota; /* of the process */
	/* entries of the process that can be asked back or dropped now, 65535: so many or
	 * more; only in a query, and 0 from a NIC that does not say */
	uint32_t evictable;
	uint32_t waiters;  /* queued requests of all processes */
	uint32_t bound_us; /* B */
	struct {
		uint16_t proc; /* 0xffff: none */
		uint32_t held;
	} top[3]; /* largest holders */
};

/* One object of this context at the driver. */
struct unic_object {
	uint32_t id;	/* host-wide */
	uint32_t type;	/* enum unic_ctl_object_type */
	uint32_t state; /* by type, as are the others: struct unic_ctl_object */
	uint32_t number, of, detail;
};

/** unic_list_objects() - list the objects of @ctx as the driver has them: domains,
 * regions and derived regions, requests that wait, queues, tokens, listeners,
 * connections. At most @max are written to @out. Returns how many there are, or
 * -errno. */
int unic_list_objects(struct unic_ctx *ctx, struct unic_object *out, int max);

/** unic_query_usage() - the entries that this process holds, and the largest holders.
 */
int unic_query_usage(struct unic_ctx *ctx, struct unic_usage *out);

/** unic_set_policy() - choose how the NIC picks among the regions of this process when
 * it asks for one back (S0 section 3 c): at any time, without privilege. How much the
 * process may have is not changed by it. -EINVAL: no such policy, or not on this NIC;
 * -EOPNOTSUPP: no NIC, or one that cannot do it. */
int unic_set_policy(struct unic_ctx *ctx, enum unic_policy policy);

/* A transmit limit: bytes of frames in a second, and at once. */
struct unic_rate {
	uint64_t rate;	/* bytes in a second, 1000 to 10^11; 0: no limit */
	uint32_t burst; /* bytes, at most 65536 or `rate`; 0: the NIC chooses */
	uint32_t held;	/* told: times that a queue pair waited for it */
};

/** unic_set_rate() - lower the transmit limit of this process, all its queue pairs
 * together: neither rate nor burst can rise, also not to no limit; an administrator
 * can (unicctl rate). In any time t at most rate * t + burst bytes and one frame are
 * sent, requests, repeats and READ responses; what is too much waits in its queue,
 * not in the call. -EDQUOT: it would rise; -EINVAL; -EOPNOTSUPP: not on this NIC. On
 * error nothing changes. */
int unic_set_rate(struct unic_ctx *ctx, const struct unic_rate *rate);

/** unic_query_rate() - copy the limit of this process to *@out. -EOPNOTSUPP. */
int unic_query_rate(struct unic_ctx *ctx, struct unic_rate *out);

/** unic_qp_set_rate() - set the transmit limit of @qp, up or down, or end it: what it
 * sends is within this and that of the process. It stays with @qp, also when it is
 * connected again or recovered. Errors as unic_set_rate(), but it may rise. */
int unic_qp_set_rate(struct unic_qp *qp, const struct unic_rate *rate);

/** unic_qp_query_rate() - copy the limit of @qp to *@out. -EOPNOTSUPP. */
int unic_qp_query_rate(struct unic_qp *qp, struct unic_rate *out);

/** unic_last_usage() - the usage of the table that had no room for the last
 * registration of this thread. False, with *@out as it was: it did not fail for want
 * of room. */
bool unic_last_usage(struct unic_usage *out);

/* --------------------------------------------------------------- memory */

/**
 * unic_alloc() - allocate memory for regions: page frames of the process slot, at
 * contiguous virtual addresses.
 * @page_bytes: 4096, 65536 or 2 MiB: frames lie together (and are aligned) in
 *              runs of that size, so that one TLB entry can map each.
 * Zeroed. Returns NULL with errno: ENOMEM, EINVAL.
 */
void *unic_alloc(struct unic_ctx *ctx, size_t bytes, size_t page_bytes);

/** unic_free() - free @mem of unic_alloc(), or do nothing if it is NULL. -EBUSY: a
 * region is registered on it; -EINVAL: it is not of unic_alloc(). */
int unic_free(struct unic_ctx *ctx, void *mem);

/* -------------------------------------------------- protection and memory */

/** unic_alloc_pd() - a protection domain: what regions, windows and queues belong to,
 * and what the access check compares (IBTA 10.2.3). *@out is the caller's until
 * unic_free_pd(); on error it is as it was. -ENOMEM, -EDQUOT, -ENOTCONN. */
int unic_alloc_pd(struct unic_ctx *ctx, struct unic_pd **out);
/** unic_free_pd() - free @pd. -EBUSY: regions or queues use it, and it stays. */
int unic_free_pd(struct unic_pd *pd);

#define UNIC_MR_WAIT  (1u << 0) /* REGISTER_WAIT: queue when it does not fit */
#define UNIC_MR_ASYNC (1u << 1) /* with WAIT: do not block, an event follows */
/*
 * The base of a region: the IOVA of its first byte, by which work requests and peers
 * name it. Without ZERO_BASED or VA_BASE the driver draws the base anew for each
 * registration: 42 bits are random, the low 21 are those of the buffer's address.
 * Then no address of the process is valid in a work request (unic_sg_of() translates)
 * or for a peer, which gets mr->iova and offsets. So an attacker who guesses an STag
 * must guess the address, too, and learns nothing of the address space of the
 * process. At most one of these flags, else -EINVAL. unic_rereg_mr() keeps the kind
 * of base.
 */
#define UNIC_MR_ZERO_BASED (1u << 2) /* offset in the first page */
/* The buffer's own address, for programs that cannot give their peers another one. It
 * is predictable: a guessed STag alone suffices then. */
#define UNIC_MR_VA_BASE	    (1u << 4)
#define UNIC_MR_RANDOM_BASE (1u << 3) /* the default, by name */

struct unic_mr_attr {
	void *addr;
	size_t length;		 /* not 0 */
	unsigned int rights;	 /* enum unic_mr_rights */
	unsigned int mr_class;	 /* enum unic_mr_class; not CONTROL */
	unsigned int flags;	 /* UNIC_MR_* above */
	unsigned int page_bytes; /* 0: 4096 */
	unsigned int importance; /* 0..255: higher = keep longer */
	uint32_t timeout_us;	 /* WAIT: give up after; 0 = never */
	unsigned int key;	 /* low 8 bits of the STag */
	/* enum unic_residency. DEMAND and TABLE: the region holds no entries, so
	 * it never waits (WAIT is ignored) and is not asked back for entries; they
	 * come when an operation needs them. A device without them makes the
	 * region RESIDENT. */
	unsigned int residency;
	void *user; /* returned in events */
};

/* Fields are read-only for the application. */
struct unic_mr {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	void *addr;
	uint64_t iova; /* of addr: its base */
	size_t length;
	uint32_t stag;	  /* lkey and rkey */
	uint32_t entries; /* TLB entries it holds; its pages, if not RESIDENT */
	uint32_t id;	  /* host-wide */
	void *user;
};

enum unic_mr_life {
	UNIC_MR_WAITING = 1, /* ASYNC: not granted yet */
	UNIC_MR_LIVE = 2,
	UNIC_MR_ASKED = 3, /* a notice is open */
	UNIC_MR_GONE = 4,  /* evicted, refused or reset: unic_dereg_mr() it */
};

/** unic_reg_mr() - register memory (S1; S0 for WAIT). Memory that is not of
 * unic_alloc() is moved into the slot first: the pages stay at their addresses, other
 * threads of the process stop meanwhile, a child of fork() gets copies (unic_open()).
 * Only private memory that can be read and written, and not executed, can be moved: heap,
 * anonymous mappings, .data and .bss, private mappings of a file. -EACCES: it is another
 * mapping, the stack of a thread, or data of libunic, of the C library or of the loader;
 * unic_last_error() names it. -EFAULT: no memory is there. Memory that was unmapped and
 * mapped again, or moved by realloc(), is moved by the next registration; -EBUSY: an
 * earlier region is still registered on it.
 *
 * Without WAIT it succeeds or fails at once. With WAIT it blocks until granted;
 * -ETIME after timeout_us, -ECANCELED by unic_cancel_reg(). With WAIT and ASYNC it
 * returns 0 at once, unic_mr_life() is WAITING or LIVE, and in the first case
 * UNIC_EV_GRANTED or UNIC_EV_WAIT_ENDED follows.
 *
 * -ENOMEM a table is full; -EDQUOT; -E2BIG; unic_last_usage() has the figures. */
int unic_reg_mr(struct unic_pd *pd, const struct unic_mr_attr *attr,
		struct unic_mr **out);

/**
 * unic_reg_mr_batch() - register @n regions at once, all or none: with one request
 * to the driver and one command to the NIC for each 64 of them (a batch whose page
 * lists do not fit goes in several). WAIT is -EINVAL. On error, which is that of
 * the first one that failed, *@out means nothing; unic_query_usage() has figures.
 */
int unic_reg_mr_batch(struct unic_pd *pd, const struct unic_mr_attr *attr,
		      unsigned int n, struct unic_mr **out);

/** unic_dereg_mr_batch() - deregister @n regions at once. 0, or the first error:
 * all were tried, and those that ended are freed. */
int unic_dereg_mr_batch(struct unic_ctx *ctx, struct unic_mr **mr,
			unsigned int n);

struct unic_sg;

/**
 * unic_sg_of() - the name of [@at, @at + @len) of @mr in a work request or a list.
 * *@out has the IOVA and STag that are valid at the call, so it is to be made again
 * after unic_rereg_mr() and whatever changes the STag of a derived region. Cheap, no
 * system call. @mr: granted, and of unic_reg_mr() or unic_reg_sub(); other derived
 * regions have no addresses in the process, their bytes are at mr->iova and offset.
 * 0, or -ERANGE with *@out as it was: the range is not all in the region.
 */
int unic_sg_of(const struct unic_mr *mr, const void *at, size_t len,
	       struct unic_sg *out);

/* What a region is used for, as the NIC shows it: at most a second old. */
struct unic_use {
	uint64_t bytes;
	uint64_t idle_ns;      /* since its last use */
	unsigned int uses;     /* accesses, those of its forms included */
	unsigned int reported; /* unic_report_use(), while that counts */
	unsigned int rate;     /* decayed bytes per entry, half-life 134 ms */
};

/** unic_query_use() - copy the use of @mr to *@out. 0; -EAGAIN: the NIC has not shown
 * it yet, or the region is gone; -EOPNOTSUPP: no NIC. */
int unic_query_use(struct unic_mr *mr, struct unic_use *out);

/** unic_report_use() - report one use of @mr. For a NIC that does not use its own
 * count (`unicctl params --uses reported`): the victim policy of the process then
 * gets only these reports, and chooses at random until the first one. Costs one
 * atomic addition; any thread may call. */
void unic_report_use(struct unic_mr *mr);

/** unic_advise_mr() - advise the NIC that bytes [@offset, @offset + @length) of @mr
 * will be needed soon, or will not (@advice). A hint, without effect on a RESIDENT
 * region. -EINVAL (out of the region), -ENOENT (the region is gone), -EBUSY (in use:
 * its entries stay). */
int unic_advise_mr(struct unic_mr *mr, uint64_t offset, uint64_t length,
		   enum unic_advice advice);

/** unic_set_importance() - change the importance of @mr (unic_mr_attr), also while it is
 * in use or asked back. It counts for a process with policy UNIC_POLICY_APP: of its
 * regions the least important one is asked back first. -EINVAL: above 255, or memory of
 * class control; -EOWNERDEAD: @mr was taken back; -EOPNOTSUPP: no NIC, or one that
 * cannot do it. */
int unic_set_importance(struct unic_mr *mr, unsigned int importance);

/** unic_cancel_reg() - cancel the waiting registration of @mr (ASYNC). 0: it will
 * never be granted, and unic_dereg_mr() is to end @mr; -ENOENT: it was granted or has
 * ended. */
int unic_cancel_reg(struct unic_mr *mr);

/**
 * unic_dereg_mr() - end region @mr; also the last call for a region that is GONE.
 * Operations that use @mr finish or complete EVICTED (within T at most). Blocks until
 * the NIC has stopped all access to its memory. @mr is void afterwards, except for
 * references of events, which stay until unic_ack_event(). After an error (-EBUSY: @mr
 * holds a queue; -EAGAIN: too many requests are open) @mr stays, and the NIC may access
 * its memory.
 */
int unic_dereg_mr(struct unic_mr *mr);

/* The changes for unic_rereg_mr(): UNIC_REREG_* in `what`, and the members they name. */
struct unic_rereg_attr {
	unsigned int what;
	struct unic_pd *pd;  /* REREG_PD */
	unsigned int rights; /* REREG_RIGHTS */
	void *addr;	     /* REREG_RANGE: the page size stays */
	size_t length;
};

/**
 * unic_rereg_mr() - as ibv_rereg_mr(): change region @mr without losing its STag. A
 * region with a random base (the default) keeps the distance of IOVA and address, so
 * bytes that stay in the region keep their IOVA.
 * After an error @mr is as it was, and *@survived (may be NULL) is true; after
 * -ENOTCONN it is false, and all regions are void. -EBUSY: an operation or a derived
 * region uses @mr. -ESTALE: another range for a region that is not UNIC_RESIDENT, or
 * rights to write to one of these that had none.
 */
int unic_rereg_mr(struct unic_mr *mr, const struct unic_rereg_attr *attr,
		  bool *survived);

/* ------------------------------------------------------- derived regions */

/*
 * Derived regions are made of other regions, their sources (docs/DESIGN.md section 6.3);
 * arguments and opcodes call them forms. Each is a struct unic_mr and ends by
 * unic_dereg_mr(), or with a source: then it has an UNIC_EV_EVICTED of its own. The
 * members iova and stag are valid; length and addr are not kept.
 */

/** unic_inc_rkey() - return @stag with its low byte, the consumer's, counted up. */
static inline uint32_t unic_inc_rkey(uint32_t stag)
{
	return (stag & ~0xffu) | ((stag + 1) & 0xffu);
}

/** unic_reg_sub() - register [@addr, @addr + @length) of @mr under an STag of its
 * own, with @rights, which @mr must have; bytes keep the IOVA that they have in @mr.
 * The sub-region holds no entries. If @mr is a derived region without addr, @addr is
 * the offset in @mr (also in unic_bind_mw() and unic_post_bind_mw()). */
int unic_reg_sub(struct unic_mr *mr, void *addr, size_t length,
		 unsigned int rights, struct unic_mr **out);

/** unic_alloc_mw() - allocate a memory window of @type 1 or 2, not bound.
 * -ENOMEM. */
int unic_alloc_mw(struct unic_pd *pd, unsigned int type, struct unic_mr **out);

/** unic_bind_mw() - bind window @mw by a call, under its next STag; one of type 1 may
 * be bound already. @rights: of UNIC_MR_REMOTE_*. @mr: with UNIC_MR_MW_BIND, and
 * LOCAL_WRITE for remote write. @length 0: unbind. -EACCES, -ERANGE, -EBUSY, -ESTALE
 * (bound; not a window). */
int unic_bind_mw(struct unic_mr *mw, struct unic_mr *mr, void *addr,
		 size_t length, unsigned int rights);

/* The binding for unic_post_bind_mw(), as struct ibv_mw_bind_info. */
struct unic_mw_bind {
	const struct unic_mr *mr; /* as for unic_bind_mw(); length 0: unused */
	void *addr;
	size_t length;	     /* bytes; 0: unbind */
	unsigned int rights; /* of UNIC_MR_REMOTE_* */
};

/** unic_alloc_fast_mr() - allocate a region with entries for @pages pages of
 * @page_bytes (0: 4096), which unic_post_reg_mr() makes valid. -EINVAL, -ENOMEM. */
int unic_alloc_fast_mr(struct unic_pd *pd, unsigned int pages,
		       unsigned int page_bytes, struct unic_mr **out);

/* The sources of a derived region, in order. */
struct unic_list {
	const struct unic_sg *sg;
	unsigned int n;
	const uint32_t *strides; /* NULL, or bytes between the repetitions of
				  * each element */
	unsigned int repeat;	 /* 0: once */
	unsigned int rights;	 /* enum unic_mr_rights */
	uint64_t iova;		 /* for the first byte */
};

/** unic_alloc_indirect() - allocate a region with room for a list of @elements, 1 to
 * UNIC_FORM_ELEMENTS; not valid. -EINVAL, -ENOMEM. */
int unic_alloc_indirect(struct unic_pd *pd, unsigned int elements,
			struct unic_mr **out);

/** unic_reg_indirect() - allocate a region and make it valid with @list. An element
 * may be any byte range of any region of @pd that is not a window. */
int unic_reg_indirect(struct unic_pd *pd, const struct unic_list *list,
		      struct unic_mr **out);

/** unic_invalidate() - make derived region @form not valid, by a call, as
 * unic_post_local_inv() does by a work request. -EBUSY: the NIC refuses new accesses,
 * but one is under way: call again. */
int unic_invalidate(struct unic_mr *form);

/** unic_mr_life() - the state of @mr; cheap, no system call. */
enum unic_mr_life unic_mr_life(const struct unic_mr *mr);

/** unic_mr_usable() - true if an operation that takes @expected_us may be started on
 * @mr: the region is LIVE, or a notice is open whose deadline leaves that time. Check
 * before each use. */
bool unic_mr_usable(const struct unic_mr *mr, uint32_t expected_us);

/* ------------------------------------------------------ upcalls and events */

enum unic_ev_type {
	UNIC_EV_NOTICE = 1,	/* the NIC asks mr back, by deadline_ns */
	UNIC_EV_EVICTED = 2,	/* mr is gone */
	UNIC_EV_GRANTED = 3,	/* mr is LIVE */
	UNIC_EV_WAIT_ENDED = 4, /* mr is not granted, for status; NO_WAIT:
				 * the upcall with the status was lost */
	UNIC_EV_QP_ERROR = 5,
	UNIC_EV_CQ_ERROR = 6,
	UNIC_EV_TOKEN_END = 7, /* a token ended otherwise than by use */
	UNIC_EV_CONNECT = 8,   /* on a listener: see unic_accept() */
	UNIC_EV_CONNECTED = 9,
	UNIC_EV_REJECTED = 10,
	UNIC_EV_DISCONNECTED = 11,
	UNIC_EV_RESET = 12,	 /* the NIC was reset or the driver ended */
	UNIC_EV_DB_ERROR = 13,	 /* the doorbell page was overwritten: status is
				* a word that names no object */
	UNIC_EV_RESYNC = 14,	 /* upcalls came faster than they were read, and
				* some were lost. The events before this one
				* replace those of regions, queues and
				* connections. Tokens that are not in
				* unic_list_objects() have ended */
	UNIC_EV_INVALIDATE = 15, /* the peer of qp asks back an STag or token
				  * that it granted: stop using it, then
				  * unic_invalidated(). May come repeatedly. Of
				  * an STag of unic_take_desc() once, and the
				  * library answers */
	UNIC_EV_IDLE = 16, /* mr was not used for long, and others are short
				  * of entries: unic_dereg_mr() gives it up. It
				  * stays LIVE, also if nothing is done */
	UNIC_EV_CM = 17,   /* of the provider for libibverbs alone: connection
			  * `conn` has changed */
	UNIC_EV_SRQ_LIMIT = 18, /* fewer receives than its limit are posted to
				 * srq */
	UNIC_EV_SRQ_ERROR = 19, /* srq has failed and gives no receives any
				 * more */
	UNIC_EV_LAST_WQE = 20,	/* qp, in ERR, takes no receive of its srq any
				 * more, and its last one can be polled */
};

struct unic_event {
	enum unic_ev_type type;
	struct unic_mr *mr; /* NOTICE..WAIT_ENDED, IDLE; referenced */
	struct unic_qp *qp; /* QP_ERROR, connection events */
	struct unic_cq *cq;
	struct unic_srq *srq;		/* SRQ_LIMIT, SRQ_ERROR */
	struct unic_listener *listener; /* CONNECT */
	uint32_t seq;	     /* NOTICE, EVICTED: number of the notice */
	unsigned int reason; /* NOTICE, EVICTED, IDLE: enum unic_reason */
	uint32_t entries, dependents, rank, pain;
	uint64_t deadline_ns; /* NOTICE, INVALIDATE: CLOCK_MONOTONIC */
	unsigned int flags;   /* EVICTED: UNIC_EVICTED_*; INVALIDATE:
				 * UNIC_INVALIDATE_* */
	unsigned int status;  /* WAIT_ENDED: enum unic_status; QP_ERROR: enum
				 * unic_wc_status; TOKEN_END: unic_token_end */
	uint32_t waited_us;   /* GRANTED */
	uint32_t token;	      /* TOKEN_END: index */
	uint32_t conn;	      /* CONNECT: for accept and reject; INVALIDATE */
	uint32_t kind;	      /* INVALIDATE: enum unic_ctl_held */
	uint32_t number;      /* INVALIDATE: STag, or index of the token */
	uint32_t peer_ipv4;
	uint8_t qp_type; /* CONNECT: enum unic_qp_type to accept with */
	uint8_t private_data[56]; /* CONNECT, CONNECTED, REJECTED */
	unsigned int private_len;
};

#define UNIC_INVALIDATE_ANSWERED 1u /* by the library */

/** unic_event_fd() - the descriptor of @ctx that is readable (poll, epoll) while an
 * event may be waiting. The library owns it: only poll it. */
int unic_event_fd(struct unic_ctx *ctx);

/** unic_get_event() - copy the next event to @ev; -EAGAIN if there is none. Never
 * blocks. An event with an mr holds a reference on it, which unic_ack_event() drops. */
int unic_get_event(struct unic_ctx *ctx, struct unic_event *ev);
/** unic_ack_event() - drop the reference of @ev on its region, after which ev->mr is void
 * if unic_dereg_mr() has ended it. Once for each event; nothing for one without mr. */
void unic_ack_event(struct unic_event *ev);

/** unic_release() - answer the notice on @mr: give the region back. Ends the region as
 * unic_dereg_mr() does, with the same errors; the struct stays, GONE, until
 * unic_dereg_mr(). */
int unic_release(struct unic_mr *mr);

/** unic_offer() - answer the notice on @mr: offer @instead, of at least as many
 * entries. 0: @mr is LIVE, and @instead is ASKED, with the same deadline. -EPERM: the
 * NIC refused, *@refusal (may be NULL) is an enum unic_refusal. -ESTALE: no notice is
 * open on @mr. */
int unic_offer(struct unic_mr *mr, struct unic_mr *instead,
	       unsigned int *refusal);

/** unic_extend() - answer the notice on @mr: ask for @us more microseconds. 0:
 * *@deadline_ns (may be NULL) is the new deadline. -EPERM, -ESTALE as unic_offer(). */
int unic_extend(struct unic_mr *mr, uint32_t us, unsigned int *refusal,
		uint64_t *deadline_ns);

/* ---------------------------------------------------- completion queues */

struct unic_wc {
	uint64_t wr_id;
	struct unic_qp *qp;
	uint32_t byte_len; /* as unic_cqe.byte_len; TOKEN: 0 if refused */
	uint32_t imm;	   /* as unic_cqe.imm; UD: sender's IPv4 address */
	uint32_t token;	   /* RECV_TOKEN: index; UD: QP number of the sender */
	uint8_t opcode;	   /* enum unic_wc_opcode */
	uint8_t status;	   /* enum unic_wc_status */
	uint8_t flags;	   /* UNIC_WC_* */
	uint8_t detail;	   /* enum unic_wc_detail; RECV_TOKEN, and TOKEN with
			    * status SUCCESS: enum unic_token_end */
};
/*
 * A tagged message that the peer refuses has done no harm: its control part is
 * delivered, and the queue pair lives. Its payload is nowhere. So a completion of
 * opcode TOKEN has status SUCCESS, and says it by byte_len 0 and detail, which is why
 * (unic_token_end_str()); 0 means placed. Requests without SIGNALED have no such record
 * and learn nothing. A peer of an earlier version, or with a NIC without
 * UNIC_FEAT_TELL_REFUSED, does not say that it refused: then the record is that of a
 * message that was placed, and only the peer can tell.
 */

/** unic_create_cq() - create a completion queue for at least @entries (2 to
 * unic_attr.cq_entries) unread completions, the caller's until unic_destroy_cq(). -EINVAL,
 * -ENOMEM, and the errors of unic_reg_mr() for its ring. */
int unic_create_cq(struct unic_pd *pd, unsigned int entries,
		   struct unic_cq **out);
/** unic_resize_cq() - @cq has room for at least @entries unread completions from now on, more
 * or fewer than before. Completions that are there stay, in their order; what is armed stays
 * armed. While this is under way, queue pairs go on, and other threads may use @cq, but not
 * destroy it. -EINVAL: fewer than 2 or more than unic_query() says, or more completions are unread;
 * -ESTALE: @cq has failed; -EOPNOTSUPP: the NIC cannot (UNIC_FEAT_CQ_RESIZE), or the context
 * is one of unic_open_kept(); the errors of unic_create_cq(). Then @cq is as it was. */
int unic_resize_cq(struct unic_cq *cq, unsigned int entries);
/** unic_cq_entries() - how many unread completions @cq has room for. */
unsigned int unic_cq_entries(const struct unic_cq *cq);
/** unic_destroy_cq() - end @cq. -EBUSY: a queue pair uses @cq, which stays. */
int unic_destroy_cq(struct unic_cq *cq);

/** unic_poll_cq() - read up to @n completions into @wc. Returns how many; -EPROTO: the
 * NIC wrote an invalid record (skipped and counted); -ENOTCONN: this process is a child
 * of the one that created @cq. A NIC that was reset completes nothing any more, and this
 * call returns 0: who only polls looks at unic_ctx_lost(), too. */
int unic_poll_cq(struct unic_cq *cq, unsigned int n, struct unic_wc *wc);

/** unic_req_notify() - arm @cq: its next completion (or solicited one) makes
 * unic_cq_fd() readable. Returns 1 if @cq holds one already: poll before sleeping;
 * -ENOTCONN as unic_poll_cq(). */
int unic_req_notify(struct unic_cq *cq, bool solicited_only);

/** unic_cq_fd() - the descriptor that is readable when an armed CQ of @ctx got a
 * completion. Read until EAGAIN (reads do not block) before polling the CQs. One thread
 * may read it, unless threads use unic_wait_cq(). The library owns it. */
int unic_cq_fd(struct unic_ctx *ctx);

/** unic_wait_cq() - block until @cq has a completion, for @timeout_ms at most (-1: no
 * limit; 0: only look). Any number of threads may wait, on any CQs. Returns 0, -ETIME;
 * -ENOTCONN: unic_ctx_lost(), also when the time is up; -EIO: @cq has failed
 * (UNIC_EV_CQ_ERROR), and none comes any more. */
int unic_wait_cq(struct unic_cq *cq, int timeout_ms);

/* ----------------------------------------------------------- queue pairs */

/*
 * What becomes of a connection that a cut ends: a region was taken back while requests
 * used it, here or at the peer, and the queue pairs of both ends are in ERR.
 *
 * With REPORT and REPLAY the library connects again, as the queue pair was connected at
 * first: who called unic_connect() calls again, who accepted accepts, and keeps the
 * listener open for that. Both ends need a queue pair of one of the two kinds, and a NIC
 * and driver of unic. What is posted meanwhile goes out when the connection is there. If
 * it does not come to be within 10 s, or the peer has ended it or is gone, all requests
 * complete with an error, and UNIC_EV_QP_ERROR or UNIC_EV_DISCONNECTED follows.
 * unic_grant() is to be made again; those of unic_post_desc() are.
 *
 * REPLAY: requests that did not complete are posted again, in their order, and nobody
 * sees more of it than the time it takes. A message (SEND, WRITE_IMM, TOKEN) arrives
 * once. A WRITE may be executed more than once, but not after a message that was posted
 * behind it has arrived: memory that a peer is told of by a message does not change after
 * that. A READ may read more than once; there are no atomic operations. A payload token is used once: a TOKEN request
 * that was cut can arrive without its payload, as that of a token that has ended.
 *
 * REPORT: requests that did not complete do so once, in their order: with success if the
 * peer has had the message, else with their own error or WR_FLUSH_ERR, and then it has
 * not (but a WRITE, READ or atomic operation may have been executed). Receives complete WR_FLUSH_ERR. Then
 * UNIC_EV_CONNECTED says that the queue pair is connected again.
 *
 * In both, a request whose region is gone completes EVICTED, and a WRITE or READ whose
 * remote region is gone REM_EVICTED: to be posted again with other regions. A region that
 * was evicted must stay until the requests that name it have completed. Other errors (a
 * wrong key, a message that is too long) end the queue pair as ever.
 */
enum unic_qp_cut {
	UNIC_QP_CUT_ENDS = 0, /* requests are flushed, ERR is for good */
	UNIC_QP_CUT_REPORT = 1,
	UNIC_QP_CUT_REPLAY = 2,
};

struct unic_qp_attr {
	struct unic_cq *send_cq, *recv_cq;
	/* 2 to unic_attr.ring_slots, rounded up to a power of two */
	unsigned int sq_slots, rq_slots;
	uint32_t rq_class; /* shortest receive buffer that will be posted */
	uint8_t type;	   /* enum unic_qp_type: RC, UC, UD */
	uint8_t miss; /* enum unic_qp_miss; UC and UD over regions that are not
		       * RESIDENT */
	uint8_t cut;  /* enum unic_qp_cut; RC; with srq: 0 */
	struct unic_srq
		*srq; /* its receives come from here, of the same domain;
			       * rq_slots and rq_class mean nothing then. NULL:
			       * from a queue of its own */
};

/**
 * unic_create_qp() - create a queue pair in state RESET, the caller's until
 * unic_destroy_qp(). RC and UC are connected by unic_connect() and unic_accept(), or by
 * unic_modify_qp(). UD needs no peer: unic_modify_qp() to INIT (qkey), RTR (mtu_shift)
 * and RTS (sq_psn). Each UD request names its destination: wr.remote =
 * UNIC_UD_TO(ipv4, qkey), wr.rkey = QP number. A UD receive begins with UNIC_GRH_BYTES
 * that are not payload.
 * -EOPNOTSUPP: the provider does not have the type.
 */
int unic_create_qp(struct unic_pd *pd, const struct unic_qp_attr *attr,
		   struct unic_qp **out);
/** unic_destroy_qp() - end @qp, in any state: requests that did not complete are
 * dropped, as are its completions that were not polled. @qp is void afterwards. On
 * return the NIC does not access its buffers any more. */
int unic_destroy_qp(struct unic_qp *qp);

/* Attributes by transition, as struct unic_cmd_qp_modify. */
struct unic_qp_mod {
	uint8_t state;	/* enum unic_qp_state to enter */
	uint8_t rights; /* INIT */
	uint8_t mtu_shift, rnr_timer, max_dest_rd,
		vendor;			      /* RTR; UNIC_PEER_* */
	uint32_t dest_qpn, rq_psn, dest_ipv4; /* RTR */
	uint8_t dest_mac[6]; /* RTR; all 0: the driver resolves dest_ipv4 */
	uint8_t max_rd, timeout, retry_cnt, rnr_retry; /* RTS */
	uint32_t sq_psn;			       /* RTS */
	uint32_t qkey;				       /* INIT, UD */
};

/** unic_modify_qp() - change the state of @qp. RESET drops what is posted and completions
 * that were not polled. ERR is the end of its connection, as unic_disconnect() is: it is
 * no cut (UNIC_QP_CUT_REPLAY). -EINVAL: an attribute or the transition is not allowed (IBTA
 * 11.2.5.2). */
int unic_modify_qp(struct unic_qp *qp, const struct unic_qp_mod *mod);
/** unic_qp_num() - the number of @qp on the wire; another one after unic_recover(). */
uint32_t unic_qp_num(const struct unic_qp *qp);
/** unic_qp_cuts() - how many times @qp was connected again after a cut. */
uint32_t unic_qp_cuts(const struct unic_qp *qp);
/** unic_qp_set_user() - keep @user with @qp, for unic_qp_user(). */
void unic_qp_set_user(struct unic_qp *qp, void *user);
/** unic_qp_user() - the pointer that unic_qp_set_user() left; NULL: none. */
void *unic_qp_user(const struct unic_qp *qp);

struct unic_sg {
	void *addr; /* IOVA (unic_sg_of()); INLINE: address in the process */
	uint32_t len;
	uint32_t lkey;
};

struct unic_send_wr {
	uint64_t wr_id;
	uint8_t opcode;	 /* enum unic_wr_opcode */
	uint8_t flags;	 /* UNIC_WR_* */
	uint8_t num_sge; /* 0..UNIC_SQ_SGE_MAX */
	uint32_t imm;
	uint64_t remote;	  /* WRITE/READ, atomics: IOVA; TOKEN: key */
	uint32_t rkey;		  /* WRITE/READ, atomics: STag; TOKEN: index */
	uint32_t ctrl_len;	  /* TOKEN */
	const struct unic_sg *sg; /* INLINE: copied by the call, lkey unused;
				   * atomics: the `result` of a struct
				   * unic_atomic */
};

/* Operands of an atomic operation, numbers in the byte order of the host. */
struct unic_atomic {
	struct unic_sg result; /* 8 bytes: gets what was there before */
	uint64_t operand; /* COMPARE_SWAP: what must be there, for `swap` to
				* take its place; FETCH_ADD: is added */
	uint64_t swap;	  /* COMPARE_SWAP */
};

/* Where it is carried out: an address that is a multiple of 8 in a region of the peer with
 * UNIC_MR_REMOTE_ATOMIC, which its queue pair grants, too. */
struct unic_remote {
	uint64_t iova;
	uint32_t rkey;
};

struct unic_recv_wr {
	uint64_t wr_id;
	uint8_t num_sge; /* 0..UNIC_RQ_SGE_MAX */
	const struct unic_sg *sg;
};

/**
 * unic_post_send() - post up to @n requests with one doorbell. Returns how many were
 * posted (fewer than @n: the queue is full, poll first); -EAGAIN: none, because the
 * queue is full; -EOWNERDEAD: none, because the first names an STag that the peer has taken
 * back (unic_take_desc()); -EINVAL: a request is malformed, and none is posted. After the return
 * the caller may reuse @wr. Buffers belong to the NIC until completion; those of INLINE
 * requests are free after the return.
 */
int unic_post_send(struct unic_qp *qp, const struct unic_send_wr *wr,
		   unsigned int n);
/** unic_post_recv() - post up to @n receives with one doorbell. A message takes the first
 * of the queue and fails if its buffers are shorter (UNIC_WC_LOC_LEN_ERR).
 * Returns how many were posted; -EAGAIN: none, because the queue is full; -EINVAL: one is
 * malformed, and none is posted. Buffers belong to the NIC until completion. */
int unic_post_recv(struct unic_qp *qp, const struct unic_recv_wr *wr,
		   unsigned int n);

/**
 * unic_create_srq() - create a shared receive queue of @slots receives (2 to
 * unic_attr.ring_slots, rounded up to a power of two), the caller's until unic_destroy_srq().
 * Queue pairs that name it (unic_qp_attr.srq) take the oldest receive that is posted to it, each for a message; it
 * completes in the completion queue for receives of the queue pair that took it. Nothing
 * is posted: as in an empty queue of its own. -EOPNOTSUPP: the NIC has none
 * (UNIC_FEAT_SRQ), or @pd is of a context of unic_open_kept(). -ENOMEM: the table of the
 * NIC is full; and the errors of unic_reg_mr() for its ring.
 */
int unic_create_srq(struct unic_pd *pd, unsigned int slots,
		    struct unic_srq **out);
/** unic_modify_srq() - UNIC_EV_SRQ_LIMIT is to come, once, when fewer than @limit receives
 * are posted and not taken; at once if that is so now. 0: none is to come. -EINVAL: more
 * than it has slots. */
int unic_modify_srq(struct unic_srq *srq, uint32_t limit);
/** unic_post_srq_recv() - post up to @n receives with one doorbell, as unic_post_recv().
 * A slot is free again when its receive was taken. */
int unic_post_srq_recv(struct unic_srq *srq, const struct unic_recv_wr *wr,
		       unsigned int n);
/** unic_srq_slots() - how many receives @srq has room for. */
unsigned int unic_srq_slots(const struct unic_srq *srq);
/** unic_destroy_srq() - end @srq; receives that nobody took are dropped. -EBUSY: a queue
 * pair uses it. */
int unic_destroy_srq(struct unic_srq *srq);

/**
 * unic_post_compare_swap() - post an atomic operation on 8 bytes of the peer:
 * COMPARE_SWAP, or, by unic_post_fetch_add(), FETCH_ADD. They complete
 * UNIC_WC_COMPARE_SWAP and UNIC_WC_FETCH_ADD. Atomic among the operations of the peer's
 * NIC, not against its processor. @flags: UNIC_WR_*, not INLINE.
 * A queue pair has up to unic_conn_param.max_rd READs and atomic operations under way.
 * They return 0, -EAGAIN (queue full), -EOWNERDEAD (as unic_post_send()), -EOPNOTSUPP (the
 * NIC has none), -EINVAL: `result` is not of 8 bytes, or the queue pair is one of
 * UNIC_QP_CUT_REPLAY, which cannot carry out twice what may have been carried out.
 */
int unic_post_compare_swap(struct unic_qp *qp, uint64_t wr_id,
			   unsigned int flags, const struct unic_atomic *atomic,
			   const struct unic_remote *at);
int unic_post_fetch_add(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
			const struct unic_atomic *atomic,
			const struct unic_remote *at);

/*
 * Requests that change derived regions, executed in the order of the queue: a later
 * request can use the region that an earlier one makes valid. They complete like others
 * (UNIC_WC_BIND_MW, _REG_MR, _LOCAL_INV). form->stag is the new STag after the call; if
 * the request completes with an error, unic_post_undo() puts the old one back. @flags:
 * UNIC_WR_*. They return 0, -EAGAIN (queue full), -EINVAL, -ERANGE (not in @mr).
 * One that was carried out completes with success, signaled or not, when its queue pair
 * ends and a request before it is flushed.
 *
 * A peer invalidates a derived region by UNIC_WR_SEND_INV with its STag in rkey; the
 * receive completes with UNIC_WC_WITH_INV and that STag.
 */
/** unic_post_bind_mw() - bind window @mw, of type 2, as unic_bind_mw() with the
 * members of @bind, which is read before the call returns. */
int unic_post_bind_mw(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
		      struct unic_mr *mw, const struct unic_mw_bind *bind);
/** unic_post_local_inv() - make derived region @form not valid, as unic_invalidate(). */
int unic_post_local_inv(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
			struct unic_mr *form);
/** unic_post_reg_mr() - make fast registration @form valid with @list: at most
 * UNIC_FAST_RUNS runs of whole pages; only the first run may begin, and only the last
 * may end, within a page. */
int unic_post_reg_mr(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
		     struct unic_mr *form, const struct unic_list *list);
/** unic_post_reg_indirect() - make indirect region @form valid with @list. A list of
 * up to UNIC_SQ_INLINE_MAX bytes (6 elements, 4 with strides) goes with the request. A
 * longer one is written to @mem, memory of region @mr of 20 bytes an element, which the
 * NIC reads before completion. -EINVAL: @mem is NULL; -ERANGE: @mem is not all in @mr. */
int unic_post_reg_indirect(struct unic_qp *qp, uint64_t wr_id,
			   unsigned int flags, struct unic_mr *form,
			   const struct unic_list *list,
			   const struct unic_mr *mr, void *mem);
/** unic_post_undo() - the last request that was posted for @form completed with an
 * error: form->stag and form->iova are again those from before it. A request that was
 * not posted changes nothing. */
void unic_post_undo(struct unic_mr *form);

struct unic_fast_pool;

/** unic_fast_pool_create() - make a pool of fast registrations of @pages pages of
 * @page_bytes, allocated early and reused (S0 section 5), the caller's until
 * unic_fast_pool_destroy(). It is empty, and grows on demand. unic_fast_pool_get()
 * replaces a registration that was asked back while it was idle. unic_bm_fast_pool()
 * (bufman.h) makes one that is run by the buffer manager. -EINVAL, -ENOMEM. */
int unic_fast_pool_create(struct unic_pd *pd, unsigned int pages,
			  unsigned int page_bytes, struct unic_fast_pool **out);
/** unic_fast_pool_get() - take a registration that is usable for @expected_us
 * (unic_mr_usable()) and not valid: unic_post_reg_mr() makes it so. */
int unic_fast_pool_get(struct unic_fast_pool *pool, uint32_t expected_us,
		       struct unic_mr **out);
/** unic_fast_pool_put() - put @mr back, which was invalidated. One that was asked back
 * meanwhile ends. */
void unic_fast_pool_put(struct unic_fast_pool *pool, struct unic_mr *mr);
/** unic_fast_pool_trim() - deregister all idle registrations: the answer to a notice
 * on one of them. Returns how many. */
unsigned int unic_fast_pool_trim(struct unic_fast_pool *pool);
/** unic_fast_pool_destroy() - end @pool. All registrations must have been put back. */
void unic_fast_pool_destroy(struct unic_fast_pool *pool);

/* ----------------------------------------------------------- connections */

#define UNIC_PRIVATE_MAX 56u

struct unic_conn_param {
	const void *private_data;
	unsigned int private_len; /* 0..UNIC_PRIVATE_MAX */
	uint8_t max_rd; /* READs and atomics outstanding each way, 0: 4 */
	uint8_t retry_cnt, rnr_retry; /* 0: 7, 7 */
	/* 4.096 us * 2^n, raised to the time that the peer's NIC needs, which the
	 * peer announces; 0: 12 (17 ms), or the time that the own NIC needs */
	uint8_t timeout;
	uint8_t rights; /* remote rights the QP grants; 0: READ and WRITE */
	/* UC has no READs, time-outs, repetitions, nor the right to read */
};

/** unic_listen() - listen for connections to @service: each one is an
 * UNIC_EV_CONNECT. -EADDRINUSE: another listener has @service. */
int unic_listen(struct unic_ctx *ctx, uint64_t service,
		struct unic_listener **out);
/** unic_unlisten() - end listener @l, which is void afterwards: no further request comes,
 * and events of those that came, and were not read, are dropped. */
int unic_unlisten(struct unic_listener *l);

/**
 * unic_connect() - connect @qp (state RESET) to @service at @ipv4 and wait.
 * @reply: private data of the answer, *@reply_len in: room, out: bytes; both may
 *         be NULL. Post receives first.
 * 0: the QP is in RTS. -ETIME: no answer came; -ECONNREFUSED: the peer rejected (*@reply
 * is filled); -EHOSTUNREACH: @ipv4 does not resolve; -EINVAL: @param is NULL, or its
 * private data is too long or NULL.
 */
int unic_connect(struct unic_qp *qp, uint32_t ipv4, uint64_t service,
		 const struct unic_conn_param *param, int timeout_ms,
		 void *reply, unsigned int *reply_len);

/** unic_accept() - accept the request @conn of a UNIC_EV_CONNECT with @qp (state
 * RESET) and wait until the QP is in RTS. -EINVAL as unic_connect(); -ECONNREFUSED: @qp
 * is not of the requested type (ev.qp_type), and the peer gets a REJ; -ENOENT: the
 * request has ended: its peer gave it up, or its place was needed. */
int unic_accept(struct unic_ctx *ctx, uint32_t conn, struct unic_qp *qp,
		const struct unic_conn_param *param);
/** unic_reject() - reject the request @conn of a UNIC_EV_CONNECT, with @private_len bytes
 * of @private_data for the peer. -ENOENT: it has ended; -EINVAL: too many bytes. */
int unic_reject(struct unic_ctx *ctx, uint32_t conn, const void *private_data,
		unsigned int private_len);
/** unic_disconnect() - end the connection of @qp, also for the peer; both QPs go to
 * state ERR and flush their requests. */
int unic_disconnect(struct unic_qp *qp);

/** unic_parse_ipv4() - parse dotted quad @text to *@ipv4 in host order. 0 or -EINVAL. */
int unic_parse_ipv4(const char *text, uint32_t *ipv4);

/* ----------------------------------------------------------------- grants */

/**
 * unic_grant() - record the peer of @qp as a holder of the STag of @mr; call this before
 * giving the STag to the peer. When the NIC asks @mr back, each holder gets an
 * UNIC_EV_INVALIDATE. When all holders have answered, or their connections have ended,
 * @mr is EVICTED (reason UNIC_WHY_HOLDERS) before its grace is over. So grant to all
 * peers that get the STag, or to none. While @mr is in local use, unic_extend() keeps the
 * grace. A holder that does not answer costs the rest of the grace.
 * -ENOTCONN; -EOPNOTSUPP: the peer is not unic; -EBUSY: a notice is open on @mr.
 * A holder also gets it when @mr ends otherwise, with a deadline that is over. From the
 * deadline, or its unic_invalidated(), on its library refuses the STag for 4 s (see
 * unic_take_desc()). S0 section 3.
 */
int unic_grant(struct unic_mr *mr, struct unic_qp *qp);

#define UNIC_DESC_BYTES 32u

/* A range of a region of the peer. */
struct unic_desc {
	uint64_t remote; /* of its first byte: unic_send_wr.remote */
	uint64_t length;
	uint32_t rkey; /* STag */
};

/**
 * unic_post_desc() - unic_grant() of @mr, which may be a derived region, and a SEND of
 * UNIC_DESC_BYTES with a descriptor of [@addr, @addr + @length) of it; without mr->addr,
 * @addr is the offset. Grants of this call are made again when the library connects @qp
 * again after a cut (the last 256), and the peer is told which regions have ended
 * meanwhile. 0; -EAGAIN: the queue is full; -ERANGE: not in @mr; and as unic_grant(),
 * which is not undone after an error of the SEND.
 */
int unic_post_desc(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
		   struct unic_mr *mr, const void *addr, uint64_t length);

/**
 * unic_take_desc() - read a descriptor from @data, @bytes of a message that @qp received,
 * to *@out. From then on the library knows the STag as one that the peer gave: when the
 * peer asks it back, or has ended it, unic_post_send() on @qp of a WRITE or READ that names
 * it fails at once with -EOWNERDEAD, and posts nothing from there on, until a fresh
 * descriptor names it; and the library answers the peer when all earlier requests that
 * name it have completed (those without UNIC_WR_SIGNALED when a later one has). What the
 * peer could not tell in time completes with UNIC_WC_REM_EVICTED, and teaches the
 * library the same; with UNIC_QP_CUT_REPLAY the requests behind it that name the same STag
 * complete so, too, without a cut each. A thread of the library listens for the peer. The
 * last 256 STags of a queue pair are known, until it is connected by the application
 * again. -EINVAL: it is no descriptor; -ENOMEM.
 */
int unic_take_desc(struct unic_qp *qp, const void *data, size_t bytes,
		   struct unic_desc *out);

/** unic_delegate() - have the peer of @qp record another holder of an STag or token that
 * the peer granted to this process (@kind, @number: as in the event): the process that
 * is connected to the same peer from @ipv4 by its queue pair @qpn. Call this before
 * handing the STag or token on. Blocks until the peer has answered; on error it has
 * recorded nothing. */
int unic_delegate(struct unic_qp *qp, uint32_t kind, uint32_t number,
		  uint32_t ipv4, uint32_t qpn);

/** unic_invalidated() - answer the UNIC_EV_INVALIDATE @ev: this process has stopped
 * using the STag or token. */
int unic_invalidated(struct unic_ctx *ctx, const struct unic_event *ev);

/* -------------------------------------------------------- payload tokens */

struct unic_pay_token {
	uint32_t index;
	uint32_t id; /* host-wide */
	uint64_t key;
};

struct unic_pay_attr {
	struct unic_mr *mr; /* with UNIC_MR_LOCAL_WRITE */
	void *addr;
	uint32_t length;      /* longest payload, not 0 */
	uint32_t ttl_us;      /* 0: until cancelled */
	uint32_t sender_ipv4; /* 0: any */
	uint32_t sender_qpn;  /* 0: any QP there */
	uint32_t flags;	      /* UNIC_TOKEN_F_MULTI: any number of messages */
};

/** unic_alloc_token() - allocate a token: the right to place one payload (S3), at the
 * offset in `imm` of the sender's request. Give index and key to the sender. -ENOMEM:
 * the table is full; -EOWNERDEAD: the region was evicted. */
int unic_alloc_token(struct unic_pd *pd, const struct unic_pay_attr *attr,
		     struct unic_pay_token *out);

/** unic_grant_token() - as unic_grant(), for @token of @mr. The grant ends with the
 * token. */
int unic_grant_token(struct unic_mr *mr, const struct unic_pay_token *token,
		     struct unic_qp *qp);

/** unic_cancel_token() - end @token. 0: *@end (enum unic_token_end) says how it ended,
 * by this call or before, *@placed how many bytes were placed (both may be NULL). Never
 * refused: while a message is arriving it blocks until that has ended, USED or ABORTED,
 * for T (unic_attr.grace_us) at most. Then the token ends CANCELLED, with what was
 * placed until then, and the message without its payload. On return nothing writes to the
 * buffer any more. -EBUSY: a message is arriving, and the NIC is of a version that does
 * not wait. */
int unic_cancel_token(struct unic_ctx *ctx, const struct unic_pay_token *token,
		      unsigned int *end, uint32_t *placed);

/** unic_alloc_tokens() - allocate @n tokens (one command to the NIC for each 64), all or
 * none: after an error, that of the first token refused, those allocated are cancelled.
 */
int unic_alloc_tokens(struct unic_pd *pd, const struct unic_pay_attr *attr,
		      unsigned int n, struct unic_pay_token *out);

struct unic_pay_end {
	int err;	  /* as of unic_cancel_token() */
	unsigned int end; /* enum unic_token_end */
	uint32_t placed;
};

/** unic_cancel_tokens() - end @n tokens, as unic_cancel_token() does; it blocks for the
 * one that takes longest. 0: all were tried, and @end[i] (@end may be NULL) has the
 * result of @token[i]. */
int unic_cancel_tokens(struct unic_ctx *ctx, const struct unic_pay_token *token,
		       unsigned int n, struct unic_pay_end *end);

#ifdef __cplusplus
}
#endif

#endif /* UNIC_H */
