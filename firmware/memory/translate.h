/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * translate.h - where a byte of a form lies.
 *
 * Secret: the way from an address of a form through its elements, repetitions
 * and forms of forms down to an entry of the TLB. O(log n) in the elements of
 * each of at most UNIC_FORM_DEPTH levels.
 */
#ifndef UNIC_TRANSLATE_H
#define UNIC_TRANSLATE_H

#include <stdbool.h>
#include <stdint.h>

struct unic_memory;
struct unic_mr_ctx;

/* One byte, and how much lies together with it: in one page, one element, one
 * region. */
struct unic_spot {
	uint64_t bus;
	uint32_t before; /* bytes in front of it */
	uint32_t room;	 /* bytes from it on, 1 at least */
};

/**
 * unic_spot_find() - the spot of @iova, which lies in region @mr.
 * False if there is none: a region on the way has ended or has no entry.
 */
bool unic_spot_find(const struct unic_memory *nic, uint16_t mr, uint64_t iova,
		    struct unic_spot *out);

#endif /* UNIC_TRANSLATE_H */
