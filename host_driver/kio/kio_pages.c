/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_pages.c - see kio_pages.h. */
#include "kio_pages.h"

/* True if a region of page size 1 << @shift has the pieces of @io: all but the first
 * begin at a page, all but the last end at one. */
static bool fits_pages(const struct unic_kio *io, uint8_t shift)
{
	uint64_t edges = 0, mask = (1ull << shift) - 1;
	uint32_t i;

	for (i = 0; i < io->pieces; i++) {
		uint64_t bus = unic_from_le64(io->piece[i].bus);
		uint32_t len = unic_from_le32(io->piece[i].len);

		if (!len || bus + len < bus)
			return false;
		if (i)
			edges |= bus;
		if (i + 1 < io->pieces)
			edges |= bus + len;
	}
	return io->pieces && !(edges & mask);
}

uint32_t unic_kio_pages(const struct unic_kio *io, uint8_t *shift,
			unic_le64 *page)
{
	uint32_t i, n = 0;

	*shift = fits_pages(io, 16) ? 16 : 12;
	if (!fits_pages(io, *shift))
		return 0;
	for (i = 0; i < io->pieces; i++) {
		uint64_t bus = unic_from_le64(io->piece[i].bus);
		uint64_t last = bus + unic_from_le32(io->piece[i].len) - 1;

		for (bus >>= *shift; bus <= last >> *shift; bus++) {
			if (n == UNIC_KIO_PAGES)
				return 0;
			page[n++] = unic_to_le64(bus << *shift);
		}
	}
	return n;
}
