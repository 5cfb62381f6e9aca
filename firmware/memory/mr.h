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

/* Maximum entries of a region: n_pages has 16 bits. */
#define UNIC_MR_PAGES_MAX \
	(UNIC_TLB_ENTRIES < 65536u ? UNIC_TLB_ENTRIES : 65535u)

#if UNIC_PROCS <= 256
typedef uint8_t unic_slot_small;
#else
typedef uint16_t unic_slot_small;
#endif

/* Rights that there are here, and those of them with which a peer changes memory. */
#define UNIC_MR_ATOMIC (UNIC_ATOMICS ? UNIC_MR_REMOTE_ATOMIC : 0)
#define UNIC_MR_KNOWN         \
	(UNIC_MR_RIGHTS_ALL & \
	 ~(unsigned)(UNIC_MR_REMOTE_ATOMIC & ~UNIC_MR_ATOMIC))
#define UNIC_MR_CHANGES (UNIC_MR_REMOTE_WRITE | UNIC_MR_ATOMIC)

struct unic_mr_ctx {
	/* fields of the fast path of the access check */
	uint32_t lock;	    /* STag and PD in one while it is accessible */
	uint32_t win_hi;    /* window: upper half of the IOVAs in it */
	uint32_t win_end;   /* lower half of the first IOVA behind it */
	uint32_t win_bytes; /* 0: no window */
	/* lower half of an IOVA to that of its bus address */
	uint32_t win_add;
	uint32_t win_bus; /* upper half of the bus addresses */
	uint32_t bytes;	  /* statistics, written at each access */
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
	/* other fields */
	uint16_t pd;
	uint16_t holds;	   /* operations not yet acknowledged that use it */
	uint16_t dmas;	   /* DMA pieces in flight */
	uint16_t tokens;   /* first of its tokens, or UNIC_MR_NIL */
	uint64_t since_ns; /* time it became ACTIVE */
	uint32_t user;	   /* the driver's id */
	/* registrations of this index in this epoch; after 65535, and a rest in
	 * between (stag.h), it goes on at 2 */
	uint16_t gen;
	uint16_t n_pages;    /* entries it holds, filled or reserved */
	uint16_t filled;     /* entries of these that are filled */
	uint16_t proc;	     /* that is charged for it */
	uint16_t notice;     /* open notice, or UNIC_NOTICE_NIL */
	uint16_t prev, next; /* in the list of the process's regions */
	uint8_t importance;
	uint8_t why;	     /* enum unic_reason for DRAINING */
	uint8_t evt_flags;   /* UNIC_EVICTED_* of its event */
	uint8_t evt_due : 2; /* UNIC_MR_EVT_*: events not yet on the ring */
	bool drawn : 1; /* free: STag and tlb_base of the next region are drawn */
	uint16_t queues;   /* QPs and CQs whose rings lie in it */
	uint16_t n_tokens; /* its tokens, LIVE or CLAIMED */
	uint8_t flags;	   /* UNIC_MR_F_* */
	/* the slot that its PD is of; another than proc only if that is an account */
	unic_slot_small owner;
	uint32_t seq;  /* number of its notice; kept for EVICTED */
	uint16_t deps; /* elements of derived regions in it, dependents.h */
	/* process whose request needs it, or UNIC_OWNER_NIL */
	uint16_t for_proc;
};

/*
 * lock = stag ^ pd << UNIC_MR_IDX_SHIFT: the index part of an STag follows from
 * the region's place in the table, so the PD can be folded into it and one
 * comparison checks both. A region that is not accessible has a lock that no STag
 * and PD make.
 */
#define UNIC_MR_IDX_SHIFT (32u - (uint32_t)__builtin_ctz(UNIC_MRS))
_Static_assert(2 * UNIC_PDS <= UNIC_MRS, "a PD leaves the top bit of a lock");

/*
 * The window is the translation used last: the part of one page that belongs to
 * the region. One comparison finds it and checks the bounds. The lock is checked
 * first, so the window ends with the region; no page straddles 2^32, so comparing
 * lower halves is enough.
 */

static inline uint64_t unic_mr_bytes(const struct unic_mr_ctx *mr)
{
	return (uint64_t)mr->bytes_high << 32 | mr->bytes;
}

/** unic_mr_count_pages() - how many pages region @mr has bytes in. */
static inline uint32_t unic_mr_count_pages(const struct unic_mr_ctx *mr)
{
	uint32_t mask = (1u << mr->page_shift) - 1u;

	return (uint32_t)((((uint32_t)mr->iova & mask) + mr->length - 1) >>
			  mr->page_shift) +
	       1u;
}

/* A range of a region, in its IOVA space. */
struct unic_mr_span {
	uint64_t iova;
	uint64_t bus; /* direct: bus address of the whole range */
	uint32_t len;
	uint16_t mr;
	bool direct;
};

/* flags of struct unic_mr_ctx */
/* deregistered: answers ESTAG. Free or resting index: `stag` is that of its last
 * region, and no secret */
#define UNIC_MR_F_GONE	   (1u << 0)
#define UNIC_MR_F_COMING   (1u << 1) /* counted in the share's `coming` */
#define UNIC_MR_F_QUIET	   (1u << 2) /* freed inside the call: no event follows */
#define UNIC_MR_F_RING	   (1u << 3) /* a candidate of its process's policy */
#define UNIC_MR_F_SHUT	   (1u << 4) /* derived region, not valid: derived.h */
#define UNIC_MR_F_INVAL	   (1u << 5) /* derived region being invalidated */
#define UNIC_MR_F_PHYSICAL (1u << 6) /* residency PHYSICAL, dma_mr.h */
#define UNIC_MR_F_CACHED   (1u << 7) /* residency DEMAND or TABLE, cache.h */

/* Page sizes under which no entry is ever filled, see translate.h. The second is that of a window
 * over a region with cached entries, see cached_window.h. */
#define UNIC_MR_NO_PAGES     31u
#define UNIC_MR_PAGES_BEHIND 30u

/** unic_mr_cached() - true if @mr has residency DEMAND or TABLE. */
static inline bool unic_mr_cached(const struct unic_mr_ctx *mr)
{
	return mr->flags & UNIC_MR_F_CACHED;
}

/** unic_mr_drop_page() - closes the window of @mr if it is the page at @bus, of 1 << @shift
 * bytes. */
static inline void unic_mr_drop_page(struct unic_mr_ctx *mr, uint64_t bus,
				     uint32_t shift)
{
	uint64_t at = (uint64_t)mr->win_bus << 32 |
		      (mr->win_add + mr->win_end - 1u);

	if (mr->win_bytes && !((at ^ bus) >> shift))
		mr->win_bytes = 0;
}

struct unic_pd_ctx {
	uint16_t proc;	/* owner; 0xffff: free */
	uint16_t users; /* regions, CQs and QPs */
};

struct unic_mrs {
	struct unic_mr_ctx mr[UNIC_MRS];
	struct unic_pd_ctx pd[UNIC_PDS];
	uint16_t order[UNIC_MRS]; /* free indices, a stack in random order */
	uint16_t free;		  /* number of free indices */
	uint16_t tombstones;	  /* regions that are EVICTED */
	uint16_t tomb_head, tomb_tail; /* oldest, newest; through mr.next */
	uint32_t restored;	       /* regions restored in this epoch */
	uint8_t draw_in;	       /* see unic_mr_draw() */
	uint8_t not_open;	       /* UNIC_NOT_OPEN_* */
	uint32_t low; /* watermark: fewer free entries make an eviction due */
	struct {
		uint16_t entries, mrs;
	} control[UNIC_PROCS]; /* of class control */
};

/** unic_mr_init() - all indices are free; draws the key of STags. */
void unic_mr_init(struct unic_memory *nic);

/**
 * unic_mr_rekey() - after new entropy: draws the key of STags and the order of
 * the indices again. No effect once a region was made in this epoch: under
 * another key its STag could come again at once.
 */
void unic_mr_rekey(struct unic_memory *nic);

/* Arguments of a registration, and the region made. */
struct unic_mr_args {
	uint16_t pd;
	uint16_t proc; /* charged for it: that of the PD, or an account */
	uint8_t rights, mr_class, page_shift, key, importance, flags;
	uint64_t iova, length;
	uint64_t list; /* TABLE: bus address of its translation list */
	uint32_t n_pages, timeout_us, user;
	uint8_t residency;
};
struct unic_mr_result {
	uint32_t mr, gen, stag, wait;
};

/**
 * unic_mr_fill() - MR_FILL. Returns 0, -UNIC_ENOMR, -UNIC_ESTATE (not LOADING, or
 * a page is already filled: nothing was filled), -UNIC_EINVAL (range),
 * -UNIC_EBUS.
 */
int unic_mr_fill(struct unic_memory *nic, uint32_t mr, uint32_t gen,
		 uint32_t first, uint32_t count, const uint64_t *pages);

/**
 * unic_mr_get() - returns the region with this index and generation (LOADING ..
 * EVICTED), as a command names it, or NULL if there is none or its process
 * detaches.
 */
struct unic_mr_ctx *unic_mr_get(struct unic_memory *nic, uint32_t mr,
				uint32_t gen);

/* For revoke/: the two ends of a registration. */

/** unic_mr_indices() - returns how many regions could be made, as far as indices
 * go; a tombstone counts as an index. */
static inline uint32_t unic_mr_indices(const struct unic_mrs *m)
{
	return (uint32_t)m->free + m->tombstones;
}

/** unic_mr_rested() - frees the indices whose rest has ended. Returns when to
 * call again (NIC time, UINT64_MAX: none rests). */
uint64_t unic_mr_rested(struct unic_memory *nic);

/* Reasons why each registration needs the checks of unic_admission_admit(). */
#define UNIC_NOT_OPEN_WAITERS (1u << 0) /* others wait for entries */
#define UNIC_NOT_OPEN_CROWDED (1u << 1) /* many indices rest, see stag.h */

/** unic_mr_set_not_open() - sets or clears reason @why (UNIC_NOT_OPEN_*). */
static inline void unic_mr_set_not_open(struct unic_mrs *m, uint8_t why,
					bool on)
{
	m->not_open = (uint8_t)(on ? m->not_open | why : m->not_open & ~why);
}

/** unic_mr_evict_due() - entries were freed or wanted: unic_evict_deadlines() and
 * unic_evict_poll() run in this poll round, or in the next one if they have
 * already run. */
void unic_mr_evict_due(struct unic_memory *nic);

/** unic_mr_capacity() - returns how many indices all processes together can
 * have. */
uint32_t unic_mr_capacity(const struct unic_memory *nic);

/**
 * unic_mr_draw() - computes the STag of one of the next regions, which takes ten
 * times as long as a registration. Called once per round while draw_in is not 0;
 * the first call does nothing, so that the answer to a command goes out first. A
 * region made earlier computes its own STag.
 */
void unic_mr_draw(struct unic_memory *nic);

/** unic_mr_room() - true if an index is free, after recycling tombstones. */
bool unic_mr_room(struct unic_memory *nic);

/**
 * unic_mr_make() - makes a region in state LOADING with all its entries reserved
 * (INV-7). The caller checked that entries and an index are free. Returns its
 * index.
 */
uint16_t unic_mr_make(struct unic_memory *nic, const struct unic_mr_args *args);

/**
 * unic_mr_build() - makes a region and, if @pages is not NULL, fills all of it,
 * so that it is ACTIVE. The caller checked @args, and that entries and an index
 * are free. Returns 0 with *out, or -UNIC_EBUS (an address in @pages is not
 * aligned): no region is made, but the index counts as used.
 */
int unic_mr_build(struct unic_memory *nic, const struct unic_mr_args *args,
		  const uint64_t *pages, struct unic_mr_result *out);

/** unic_mr_build_cached() - makes a checked region of residency DEMAND or TABLE:
 * ACTIVE, without entries. */
void unic_mr_build_cached(struct unic_memory *nic,
			  const struct unic_mr_args *args,
			  struct unic_mr_result *out);

/** unic_mr_claimable() - true if the next region may have STag @stag of an
 * earlier epoch: its index was not used, and every region of this epoch was
 * restored. */
bool unic_mr_claimable(const struct unic_memory *nic, uint32_t stag);

/** unic_mr_claim() - gives claimable @stag to the next region, which the caller
 * must make at once. */
void unic_mr_claim(struct unic_memory *nic, uint32_t stag);

/**
 * unic_mr_change() - gives region @mr, idle and ACTIVE, the domain and rights of
 * @args and, if @pages is not NULL, their range with n_pages addresses. The
 * caller checked @args, and that entries are free.
 */
void unic_mr_change(struct unic_memory *nic, uint16_t mr,
		    const struct unic_mr_args *args, const uint64_t *pages);

/** unic_mr_open() - the opposite of unic_mr_close(), for derived regions. */
void unic_mr_open(struct unic_memory *nic, uint16_t mr);

/** unic_mr_unfill() - turns the filled entries of @mr back into reserved ones. */
void unic_mr_unfill(struct unic_memory *nic, uint16_t mr);

/** unic_mr_bare() - makes a checked region that never has an entry; ACTIVE, with
 * @flag of UNIC_MR_F_*. */
void unic_mr_bare(struct unic_memory *nic, const struct unic_mr_args *args,
		  uint8_t flag, struct unic_mr_result *out);

/** unic_mr_close() - every later access fails. */
void unic_mr_close(struct unic_memory *nic, uint16_t mr);

/** unic_mr_strip() - frees the entries of @mr, filled or not. @mr must be idle
 * (INV-3). */
void unic_mr_strip(struct unic_memory *nic, uint16_t mr);

/**
 * unic_mr_bury() - ends a stripped region: with UNIC_MR_F_GONE its index is free
 * or rests, else it becomes a tombstone.
 */
void unic_mr_bury(struct unic_memory *nic, uint16_t mr);

/** unic_mr_forget() - ends tombstone @mr: its index is free or rests. */
void unic_mr_forget(struct unic_memory *nic, uint16_t mr);

_Static_assert(UNIC_PROCS > 256 || sizeof(struct unic_mr_ctx) == 128, "two "
								      "cache "
								      "lines");
_Static_assert((UNIC_MRS & (UNIC_MRS - 1)) == 0 && UNIC_MRS <= 4096,
	       "region count must be a power of two, at most 4096");

#define UNIC_MR_EVT_NOTICE  (1u << 0)
#define UNIC_MR_EVT_EVICTED (1u << 1)

#endif /* UNIC_MR_H */
