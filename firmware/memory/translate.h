/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * translate.h - translations, and where a byte of a derived region lies.
 *
 * Secret: the way from an address of a derived region through its elements,
 * repetitions and nested derived regions down to an entry of the TLB. O(log n) in
 * the elements of each of at most UNIC_FORM_DEPTH levels.
 */
#ifndef UNIC_TRANSLATE_H
#define UNIC_TRANSLATE_H

#include <stdbool.h>
#include <stdint.h>

struct unic_memory;
struct unic_mr_ctx;

/*
 * A translation: contiguous bytes of host memory from one IOVA of a region on. What
 * an access check and unic_xlate() grant ends where the entry's page, the element
 * or the region ends, and is at most what was asked for.
 */
struct unic_xlate {
	uint64_t bus; /* bus address of the IOVA's byte */
	uint32_t len; /* contiguous bytes from it on */
	uint16_t
		mr; /* region that was named; unic_xlate_run() leaves it alone */
	uint32_t
		before; /* contiguous bytes before it, only of unic_xlate_run(),
			  * unic_xlate_page() and unic_dma_mr_xlate() */
};

/**
 * unic_xlate_run() - writes the longest translation around @iova, which lies in
 * region @mr, to *@out: all bytes before and from it on that are contiguous in
 * one page, one element, one region. Returns false if there is none: a region on
 * the way has ended or has no entry; then *@out is undefined.
 */
bool unic_xlate_run(const struct unic_memory *nic, uint16_t mr, uint64_t iova,
		    struct unic_xlate *out);

#endif /* UNIC_TRANSLATE_H */
