/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * translate.h - where a byte of a derived region lies.
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

/* The bus address of one byte, and the bytes contiguous with it: in one page, one
 * element, one region. */
struct unic_spot {
	uint64_t bus;
	uint32_t before; /* contiguous bytes before it */
	uint32_t room;	 /* contiguous bytes from it on, at least 1 */
};

/**
 * unic_spot_find() - writes the spot of @iova, which lies in region @mr, to
 * *@out. Returns false if there is none: a region on the way has ended or has no
 * entry.
 */
bool unic_spot_find(const struct unic_memory *nic, uint16_t mr, uint64_t iova,
		    struct unic_spot *out);

#endif /* UNIC_TRANSLATE_H */
