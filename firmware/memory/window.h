/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * window.h - many accesses to one page of a region: one check and translation,
 * then only the bounds (fastpath_tx.c, fastpath_rx.c).
 *
 * Secret: why that is enough. Between the opening of a window and its last use
 * nothing else of the NIC runs, so an open region stays open, with the same
 * rights and the same translation. Each access is still checked against the
 * bounds and against the STag that the window was opened with; other accesses
 * need another window, whose opening is the whole access check.
 *
 * For ports on which DMA is a copy by the CPU.
 */
#ifndef UNIC_WINDOW_H
#define UNIC_WINDOW_H

#include <string.h>

#include "memory/access.h"

/* All accesses have one length, so one comparison checks an address against both
 * ends. */
struct unic_window {
	struct unic_mr_ctx *mr;
	uint8_t *host_last; /* CPU address of the last place for an access */
	uint32_t stag;
	uint32_t hi;	 /* upper half of the addresses */
	uint32_t last;	 /* lower half of the last place */
	uint32_t places; /* distance from the first place to the last */
};

/** unic_window_near() - true if the region's window has these bytes, and STag, PD
 * and rights pass: unic_window_open() does no more than that. */
static inline bool unic_window_near(const struct unic_mr_ctx *mr, uint32_t stag,
				    uint16_t pd, uint32_t need, uint64_t iova,
				    uint32_t len)
{
	return unic_mr_opens(mr, stag, pd) &&
	       mr->win_hi == (uint32_t)(iova >> 32) &&
	       unic_mr_grants(mr, need) &&
	       unic_mr_in_window(mr, (uint32_t)iova, len);
}

/** unic_window_mr() - returns the place in the region table that @stag names. */
static inline struct unic_mr_ctx *unic_window_mr(struct unic_memory *nic,
						 uint32_t stag)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[stag >> UNIC_MR_IDX_SHIFT];

	UNIC_IN_REGISTER(mr);
	return mr;
}

/* The access check, unless the region's window has these bytes; afterwards it has
 * them, if they lie in one page. Returns as unic_window_open(). Not counted as a
 * use: the caller may take another path, which counts. */
static inline __attribute__((always_inline)) int
unic_window_turn(struct unic_memory *nic, struct unic_mr_ctx *mr, uint32_t stag,
		 uint16_t pd, uint32_t need, uint64_t iova, uint32_t len)
{
	struct unic_xlate piece;
	int r;

	if (likely(unic_window_near(mr, stag, pd, need, iova, len)))
		return 0;
	r = unic_access(nic, stag, pd, need, iova, len, &piece);
	if (r)
		return r;
	unic_mr_not_used(mr, len);
	return piece.len == len ? 0 : -UNIC_EAGAIN;
}

/* Opens @w over the window of @mr, at least @len bytes. Returns false if the port
 * has no window at present. */
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

/* Bytes of a region, by address: @len of them, not 0. */
struct unic_range {
	uint64_t iova;
	uint32_t len;
};

/**
 * unic_window_open() - the access check of unic_access() for @bytes; @w then has
 * all bytes around them in the same page. @mr: unic_window_mr(). Returns 0; an
 * error of unic_access(), counted; or -UNIC_EAGAIN: the bytes lie in two pages, or
 * the port has no window at present: take the slow path.
 */
static inline __attribute__((always_inline)) int
unic_window_open(struct unic_memory *nic, struct unic_mr_ctx *mr, uint32_t stag,
		 uint16_t pd, uint32_t need, struct unic_range bytes,
		 struct unic_window *w)
{
	int r = unic_window_turn(nic, mr, stag, pd, need, bytes.iova,
				 bytes.len);

	if (r)
		return r;
	w->stag = stag;
	return unic_window_show(nic, mr, bytes.len, w) ? 0 : -UNIC_EAGAIN;
}

/**
 * unic_window_one() - for one access, of @len bytes at @iova: where the CPU sees them, if
 * STag, PD and rights pass and the region's window has them; the caller counts the use.
 * NULL: nothing happened, and unic_access() says why.
 */
static inline __attribute__((always_inline)) uint8_t *
unic_window_one(struct unic_memory *nic, const struct unic_mr_ctx *mr,
		uint32_t stag, uint16_t pd, uint32_t need,
		struct unic_range bytes)
{
	if (unlikely(!unic_window_near(mr, stag, pd, need, bytes.iova,
				       bytes.len)))
		return NULL;
	return unic_port_window(nic->port,
				(uint64_t)mr->win_bus << 32 |
					(mr->win_add + (uint32_t)bytes.iova),
				bytes.len);
}

/** unic_window_has() - true if @w has the bytes at @iova, as many as it was
 * opened for; the caller compared the upper half. As unic_mr_in_window(): beyond
 * the last place the difference wraps, and no window is that long. */
static inline bool unic_window_has(const struct unic_window *w, uint32_t iova)
{
	return w->last - iova <= w->places;
}

/** unic_window_at() - returns the CPU address of @iova, which is in @w. */
static inline uint8_t *unic_window_at(const struct unic_window *w,
				      uint32_t iova)
{
	return w->host_last - (w->last - iova);
}

/** unic_window_used() - counts @n uses of @len bytes each. */
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

/** unic_window_read() - copies @len bytes from @host, which is in a window. */
static inline void unic_window_read(void *to, const uint8_t *host, uint32_t len)
{
	if (likely(len == 8))
		memcpy(to, host, 8);
	else
		memcpy(to, host, len);
}

/**
 * unic_window_write() - copies @len bytes to @host, which is in a window: after
 * all earlier writes, with the last aligned word after the rest
 * (unic_port_dma()). @from: word-aligned.
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
