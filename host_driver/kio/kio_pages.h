/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_pages.h - inside the page service: the pages of an I/O's pieces.
 *
 * Secret: when one region has all pieces of an I/O, and of which page size.
 */
#ifndef UNIC_KIO_PAGES_H
#define UNIC_KIO_PAGES_H

#include "kio_client.h"

#define UNIC_KIO_PAGES (UNIC_KIO_MAX / 4096u + 1u) /* of a region, at most */

/** unic_kio_pages() - write to @page the bus addresses of the pages of @io, for a region
 * of page size 1 << *@shift that begins with the first byte and ends with the last.
 * Returns their number, UNIC_KIO_PAGES at most; 0: no region has these pieces. */
uint32_t unic_kio_pages(const struct unic_kio *io, uint8_t *shift,
			unic_le64 *page);

#endif /* UNIC_KIO_PAGES_H */
