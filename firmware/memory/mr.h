/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mr.h - memory regions, STags, protection domains, and the one access check
 * (MEMORY.md section 2).
 *
 * Secret: the region table, and the order of its free indices, which is random.
 * How an STag is made of an index, and when an index rests, is in stag.h.
 *
 *   FREE -> LOADING -> ACTIVE -> NOTIFIED -> DRAINING -> EVICTED -> FREE
 *              |          |          |          ^  |
 *              +----------+----------+----------+  +-> FREE (deregistered)
 *
 * A region in DRAINING or EVICTED fails every new access with -UNIC_EEVICTED
 * (deregistered ones with -UNIC_ESTAG). Entries are freed at the end of
 * DRAINING; EVICTED is a tombstone that remembers the STag and nothing else,
 * recycled oldest first when the table is full.
 */
#ifndef UNIC_MR_H
#define UNIC_MR_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "base/err.h"
#include "memory/stag.h"
#include "memory/tlb.h"
#include "unic_mbox.h"

struct unic_memory;

#define UNIC_MR_NIL 0xffffu
#define UNIC_PD_NIL 0xffffu

/* Entries of a region, at most: what its 16 bits count. */
#define UNIC_MR_PAGES_MAX \
	(UNIC_TLB_ENTRIES < 65536u ? UNIC_TLB_ENTRIES : 65535u)

struct unic_mr_ctx {
	/* the straight path of the access check reads and writes these */
	uint32_t lock;	    /* STag and PD in one while it is accessible */
	uint32_t win_hi;    /* window: upper half of the IOVAs in it */
	uint32_t win_end;   /* lower half of the first one behind it */
	uint32_t win_bytes; /* 0: no window */
	uint32_t win_add;   /* makes a lower half that of a bus address */
	uint32_t win_bus;   /* upper half of that */
	uint32_t bytes;	    /* statistics, written at each access */
	uint32_t bytes_high;
	uint64_t last_use_ns;
	uint32_t uses;
	uint8_t rights;
	uint8_t page_shift;
	uint8_t state; /* enum unic_mr_state */
	uint8_t mr_class;
	uint32_t tlb_base; /* UNIC_TLB_BASE */
	uint32_t stag;	   /* whole, consumer's byte included */
	uint64_t iova;
	uint64_t length;
	/* the rest */
	uint16_t pd;
	uint16_t holds;	   /* operations that need it translatable till acked */
	uint16_t dmas;	   /* DMA pieces in flight */
	uint16_t tokens;   /* dependents: first token of the region, or NIL */
	uint64_t since_ns; /* became ACTIVE */
	uint32_t user;	   /* driver's id */
	/* registrations of this index so far, this epoch; after 65535, of which it
	 * rested between two at least (stag.h), it counts on from 2 */
	uint16_t gen;
	uint16_t n_pages; /* entries it holds, filled or reserved */
	uint16_t filled;  /* of them: filled */
	uint16_t proc;
	uint16_t notice;     /* open notice, or UNIC_NOTICE_NIL */
	uint16_t prev, next; /* of the process's regions */
	uint8_t importance;
	uint8_t why;	   /* enum unic_reason it is DRAINING for */
	uint8_t evt_flags; /* UNIC_EVICTED_* gathered on the way */
	uint8_t evt_due;   /* UNIC_MR_EVT_*: events not yet on the ring */
	uint16_t queues;   /* QPs and CQs whose rings lie in it */
	uint16_t n_tokens; /* dependents, LIVE or CLAIMED */
	uint8_t flags;	   /* UNIC_MR_F_* */
	bool drawn;	   /* free: STag and tlb_base are the next region's */
	uint32_t seq;	   /* of its notice; kept for EVICTED */
	uint16_t deps;	   /* elements of forms that lie in it, dependents.h */
	uint16_t for_proc; /* it was taken back for its request; OWNER_NIL */
};

/*
 * lock = stag ^ pd << UNIC_MR_IDX_SHIFT: the index part of an STag is known from
 * where the region lies in the table, so the PD can be folded into it and one
 * comparison checks both. A region that is not accessible has a lock that no
 * STag and PD make.
 */
#define UNIC_MR_IDX_SHIFT (32u - (uint32_t)__builtin_ctz(UNIC_MRS))
_Static_assert(2 * UNIC_PDS <= UNIC_MRS, "a PD leaves the top bit of a lock");

/*
 * The window is the translation used last: of one page, what belongs to the
 * region. One comparison finds the entry again and checks the bounds. Behind a
 * lock, so it ends with the region; no page straddles 2^32, so lower halves are
 * enough to compare.
 */

static inline uint64_t unic_mr_bytes(const struct unic_mr_ctx *mr)
{
	return (uint64_t)mr->bytes_high << 32 | mr->bytes;
}

/* A range of a region, in its IOVA space. */
struct unic_mr_span {
	uint64_t iova;
	uint64_t bus; /* direct: where all of it lies, no need to translate */
	uint32_t len;
	uint16_t mr;
	bool direct;
};

/* flags of struct unic_mr_ctx */
#define UNIC_MR_F_GONE	   (1u << 0) /* given up by its owner: answers ESTAG */
#define UNIC_MR_F_COMING   (1u << 1) /* counted in the share's `coming` */
#define UNIC_MR_F_QUIET	   (1u << 2) /* freed inside the call: no event follows */
#define UNIC_MR_F_RING	   (1u << 3) /* its process's policy may choose it */
#define UNIC_MR_F_SHUT	   (1u << 4) /* a form that is not valid, derived.h */
#define UNIC_MR_F_INVAL	   (1u << 5) /* ... is being invalidated */
#define UNIC_MR_F_PHYSICAL (1u << 6) /* residency PHYSICAL, dma_mr.h */
#define UNIC_MR_F_CACHED   (1u << 7) /* residency DEMAND or TABLE, cache.h */

static inline bool unic_mr_cached(const struct unic_mr_ctx *mr)
{
	return mr->flags & UNIC_MR_F_CACHED;
}

struct unic_pd_ctx {
	uint16_t proc;	/* owner; 0xffff: free */
	uint16_t users; /* regions, CQs and QPs */
};

struct unic_mrs {
	struct unic_mr_ctx mr[UNIC_MRS];
	struct unic_pd_ctx pd[UNIC_PDS];
	uint16_t order[UNIC_MRS]; /* free indices, a stack in random order */
	uint16_t free;		  /* how many are on it */
	uint16_t tombstones;	  /* EVICTED, linked oldest first ... */
	uint16_t tomb_head, tomb_tail; /* ... through mr.next */
	uint32_t restored;	       /* regions, this epoch */
	uint8_t draw_in;	       /* see unic_mr_draw() */
	uint8_t not_open;	       /* UNIC_NOT_OPEN_* */
	uint32_t low; /* watermark: fewer free entries make an eviction due */
	struct {
		uint16_t entries, mrs;
	} control[UNIC_PROCS]; /* of class control */
};

/* What an access check hands out: host memory that lies together. */
struct unic_piece {
	uint64_t bus;
	uint32_t len; /* <= what was asked, ends at a page end */
	uint16_t mr;
};

/** unic_mr_init() - all free; draws the key of STags. */
void unic_mr_init(struct unic_memory *nic);

/**
 * unic_mr_rekey() - entropy came: draw the key of STags and the order of the
 * indices again, so that STags are as good as it. Nothing happens once a region
 * was made in this epoch: under another key its STag could come again at once.
 */
void unic_mr_rekey(struct unic_memory *nic);

/* What a region shall be, and which one it became. */
struct unic_mr_args {
	uint16_t pd;
	uint8_t rights, mr_class, page_shift, key, importance, flags;
	uint64_t iova, length;
	uint32_t n_pages, timeout_us, user, table;
	uint8_t residency;
};
struct unic_mr_result {
	uint32_t mr, gen, stag, wait;
};

/**
 * unic_mr_fill() - MR_FILL. -UNIC_ENOMR, -UNIC_ESTATE (not LOADING, or a page
 * already filled: then nothing was filled), -UNIC_EINVAL (range), -UNIC_EBUS.
 */
int unic_mr_fill(struct unic_memory *nic, uint32_t mr, uint32_t gen,
		 uint32_t first, uint32_t count, const uint64_t *pages);

/**
 * unic_mr_get() - the live region with this generation (LOADING .. EVICTED), as a
 * command names it. Returns NULL if there is none, or if its process detaches: what
 * is half gone is named by nobody.
 */
struct unic_mr_ctx *unic_mr_get(struct unic_memory *nic, uint32_t mr,
				uint32_t gen);

/* For revoke/: the two ends of a registration. */

/** unic_mr_indices() - how many regions could be made now, as far as indices
 * go: tombstones give theirs. */
static inline uint32_t unic_mr_indices(const struct unic_mrs *m)
{
	return (uint32_t)m->free + m->tombstones;
}

/** unic_mr_rested() - indices whose rest has ended are free. Returns when to call
 * again (NIC time, UINT64_MAX: none rests). */
uint64_t unic_mr_rested(struct unic_memory *nic);

/* Reasons why a registration passes all checks of unic_admission_admit(). */
#define UNIC_NOT_OPEN_WAITERS (1u << 0) /* others wait for entries */
#define UNIC_NOT_OPEN_CROWDED (1u << 1) /* many indices rest, see stag.h */

/** unic_mr_set_not_open() - the reason @why (UNIC_NOT_OPEN_*) is there, or not. */
static inline void unic_mr_set_not_open(struct unic_mrs *m, uint8_t why,
					bool on)
{
	m->not_open = (uint8_t)(on ? m->not_open | why : m->not_open & ~why);
}

/** unic_mr_evict_due() - entries were freed or wanted: unic_evict_deadlines() and
 * unic_evict_poll() look at them in this poll round, or in the next one if they were
 * called already. */
void unic_mr_evict_due(struct unic_memory *nic);

/** unic_mr_capacity() - how many indices all processes together can have. */
uint32_t unic_mr_capacity(const struct unic_memory *nic);

/**
 * unic_mr_draw() - work out the STag of one of the regions that are made next,
 * which takes ten times as long as a registration. Called while draw_in is not
 * 0, once in a round: in the first one nothing happens, so that the answer to a
 * command is out before. A region that is made sooner pays for its own.
 */
void unic_mr_draw(struct unic_memory *nic);

/** unic_mr_room() - is an index free? Recycles tombstones if not. */
bool unic_mr_room(struct unic_memory *nic);

/**
 * unic_mr_make() - make a region in state LOADING with all its entries
 * reserved (INV-7). The caller checked that both fit. Returns its index.
 */
uint16_t unic_mr_make(struct unic_memory *nic, const struct unic_mr_args *args);

/**
 * unic_mr_build() - make a region and, if @pages is not NULL, fill all of it: then
 * it is ACTIVE. The caller checked @args, and that entries and an index are free.
 * 0 with *out; -UNIC_EBUS (an address in @pages is not aligned): there is none, but
 * the index has ended a region.
 */
int unic_mr_build(struct unic_memory *nic, const struct unic_mr_args *args,
		  const uint64_t *pages, struct unic_mr_result *out);

/** unic_mr_build_cached() - make a checked region of residency DEMAND or TABLE:
 * ACTIVE, without an entry. */
void unic_mr_build_cached(struct unic_memory *nic,
			  const struct unic_mr_args *args,
			  struct unic_mr_result *out);

/** unic_mr_claimable() - may the next region have STag @stag of an earlier epoch?
 * As long as every region of this epoch was made so, if its index was not used. */
bool unic_mr_claimable(const struct unic_memory *nic, uint32_t stag);

/** unic_mr_claim() - the region made next, which must be made at once, has STag
 * @stag; it is claimable. */
void unic_mr_claim(struct unic_memory *nic, uint32_t stag);

/**
 * unic_mr_change() - region @mr, idle and ACTIVE, has the domain and rights of
 * @args from now on and, if @pages is not NULL, their range: n_pages addresses.
 * Checked, and entries are free.
 */
void unic_mr_change(struct unic_memory *nic, uint16_t mr,
		    const struct unic_mr_args *args, const uint64_t *pages);

/** unic_mr_open() - the opposite of unic_mr_close(), for forms. */
void unic_mr_open(struct unic_memory *nic, uint16_t mr);

/** unic_mr_unfill() - the entries of @mr, all that are filled, are reserved
 * again. */
void unic_mr_unfill(struct unic_memory *nic, uint16_t mr);

/** unic_mr_bare() - make a checked region that never has an entry; ACTIVE, with
 * @flag of UNIC_MR_F_*. */
void unic_mr_bare(struct unic_memory *nic, const struct unic_mr_args *args,
		  uint8_t flag, struct unic_mr_result *out);

/** unic_mr_close() - no access gets through any more, from this instant. */
void unic_mr_close(struct unic_memory *nic, uint16_t mr);

/** unic_mr_strip() - free its entries, filled or not (INV-3: idle). */
void unic_mr_strip(struct unic_memory *nic, uint16_t mr);

/**
 * unic_mr_bury() - a stripped region ends: with UNIC_MR_F_GONE the index is
 * free, else it becomes a tombstone.
 */
void unic_mr_bury(struct unic_memory *nic, uint16_t mr);

/** unic_mr_forget() - free tombstone @mr. */
void unic_mr_forget(struct unic_memory *nic, uint16_t mr);

_Static_assert(sizeof(struct unic_mr_ctx) == 128, "two cache lines");
_Static_assert((UNIC_MRS & (UNIC_MRS - 1)) == 0 && UNIC_MRS <= 4096,
	       "region count must be a power of two, at most 4096");

#define UNIC_MR_EVT_NOTICE  (1u << 0)
#define UNIC_MR_EVT_EVICTED (1u << 1)

#endif /* UNIC_MR_H */
