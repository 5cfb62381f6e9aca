/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * window.h - many accesses to one page of a region: checked and translated once,
 * after that only the bounds are (fastpath_tx.c, fastpath_rx.c).
 *
 * Secret: why that is enough. Between opening a window and the last use of it
 * nothing else of the NIC runs, so a region that was open stays open, with the
 * same rights and the same translation. Every access is still held against the
 * bounds and against the STag the window was opened with; what does not fit is
 * for another window, whose opening is the whole access check.
 *
 * For ports on which DMA is a copy by the CPU. Included behind nic.h.
 */
#ifndef UNIC_WINDOW_H
#define UNIC_WINDOW_H

#include <string.h>

#include "memory/access.h"

/* All accesses are of one length, so that an address is held against both ends
 * by one compare. */
struct unic_window {
	struct unic_mr_ctx *mr;
	uint8_t *host_last; /* where the CPU sees the last place for one */
	uint32_t stag;
	uint32_t hi;	 /* upper half of the addresses */
	uint32_t last;	 /* lower half of the last place */
	uint32_t places; /* how far the first place is before that */
};

/** unic_window_near() - does the region still show the page of the last access,
 * and these bytes in it? Then unic_window_open() does no more than that. */
static inline bool unic_window_near(const struct unic_mr_ctx *mr, uint32_t stag,
				    uint16_t pd, uint32_t need, uint64_t iova,
				    uint32_t len)
{
	return unic_mr_opens(mr, stag, pd) &&
	       mr->win_hi == (uint32_t)(iova >> 32) &&
	       unic_mr_grants(mr, need) &&
	       unic_mr_in_window(mr, (uint32_t)iova, len);
}

/** unic_window_mr() - the region that an STag names, if it names one. */
static inline struct unic_mr_ctx *unic_window_mr(struct unic_memory *nic,
						 uint32_t stag)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[stag >> UNIC_MR_IDX_SHIFT];

	UNIC_IN_REGISTER(mr);
	return mr;
}

/* The access check, unless the region shows these bytes; it does then, if they
 * lie in one page. As unic_window_open(). Not in the statistics: whoever opens a
 * window may go another way, which counts. */
static inline __attribute__((always_inline)) int
unic_window_turn(struct unic_memory *nic, struct unic_mr_ctx *mr, uint32_t stag,
		 uint16_t pd, uint32_t need, uint64_t iova, uint32_t len)
{
	struct unic_piece piece;
	int r;

	if (likely(unic_window_near(mr, stag, pd, need, iova, len)))
		return 0;
	r = unic_access(nic, stag, pd, need, iova, len, &piece);
	if (r)
		return r;
	unic_mr_not_used(mr, len);
	return piece.len == len ? 0 : -UNIC_EAGAIN;
}

/* All that @mr shows, which is @len bytes at least, becomes @w. False: the port
 * has no window now. */
static inline __attribute__((always_inline)) bool
unic_window_show(struct unic_memory *nic, struct unic_mr_ctx *mr, uint32_t len,
		 struct unic_window *w)
{
	uint32_t bytes = mr->win_bytes, end = mr->win_end;
	uint8_t *host;

	w->mr = mr;
	w->hi = mr->win_hi;
	host = unic_port_window(nic->port,
				(uint64_t)mr->win_bus << 32 |
					(mr->win_add + end - bytes),
				bytes);
	if (unlikely(!host))
		return false;
	w->last = end - len;
	w->places = bytes - len;
	w->host_last = host + w->places;
	return true;
}

/**
 * unic_window_open() - the access check of unic_access() for @len (not 0) bytes
 * at @iova, with all that lies around them in the same page. @mr: unic_window_mr().
 * Returns 0; an error of unic_access(), counted; -UNIC_EAGAIN: they lie in two
 * pages, or the port has no window now: go another way.
 */
static inline __attribute__((always_inline)) int
unic_window_open(struct unic_memory *nic, struct unic_mr_ctx *mr, uint32_t stag,
		 uint16_t pd, uint32_t need, uint64_t iova, uint32_t len,
		 struct unic_window *w)
{
	int r = unic_window_turn(nic, mr, stag, pd, need, iova, len);

	if (r)
		return r;
	w->stag = stag;
	return unic_window_show(nic, mr, len, w) ? 0 : -UNIC_EAGAIN;
}

/** unic_window_has() - does it show the bytes at @iova, as many as it was opened
 * for, whose upper half was compared? As unic_mr_in_window(): beyond the last
 * place the difference wraps, and no window is that long. */
static inline bool unic_window_has(const struct unic_window *w, uint32_t iova)
{
	return w->last - iova <= w->places;
}

/** unic_window_at() - where the CPU sees @iova, which it shows. */
static inline uint8_t *unic_window_at(const struct unic_window *w,
				      uint32_t iova)
{
	return w->host_last - (w->last - iova);
}

/** unic_window_used() - it was, @n times, for @len bytes each. */
static inline void unic_window_used(struct unic_memory *nic,
				    const struct unic_window *w, uint32_t n,
				    uint32_t len)
{
	struct unic_mr_ctx *mr = w->mr;

	if (unlikely(!n))
		return;
	mr->uses += n - 1;
	unic_mr_used(nic, mr, n * len);
}

/** unic_window_read() - @len bytes from @host, which the window showed. */
static inline void unic_window_read(void *to, const uint8_t *host, uint32_t len)
{
	if (likely(len == 8))
		memcpy(to, host, 8);
	else
		memcpy(to, host, len);
}

/**
 * unic_window_write() - @len bytes to @host, which the window showed: behind all
 * earlier writes, and a last aligned word behind the rest (unic_port_dma()).
 * @from: word-aligned.
 */
static inline void unic_window_write(uint8_t *host, const uint8_t *from,
				     uint32_t len)
{
	const uint32_t *word = (const void *)from;
	uint32_t *to = (void *)host;

	unic_wmb();
	if (unlikely(((uintptr_t)host | len) & 3)) {
		memcpy(host, from, len);
		return;
	}
	len = len / 4 - 1; /* the last word */
	if (likely(len == 1))
		UNIC_WRITE_ONCE(to[0], word[0]);
	else
		memcpy(host, from, 4 * len);
	unic_wmb();
	UNIC_WRITE_ONCE(to[len], word[len]);
}

#endif /* UNIC_WINDOW_H */
