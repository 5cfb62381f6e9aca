/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_close.h - ends: of an id, of a channel that the program closes, of those in a range.
 *
 * Secret: what ends with a channel, and in which order.
 */
#ifndef UNIC_UCMA_CLOSE_H
#define UNIC_UCMA_CLOSE_H

#include "ucma_id.h"

/** unic_ucma_end_id() - end @id, of which one has the turn, as unic_ucma_id_end() has. Returns
 * how many events of it were read. */
uint32_t unic_ucma_end_id(struct unic_ucma_id *id);
/** unic_ucma_closing() - @fd, any, is about to be closed: if it is one, its ids end. */
void unic_ucma_closing(int fd);
/** unic_ucma_close_range() - close the descriptors from @first to @last by @really(), which is
 * close_range(): the ids of channels among them end, and what this library needs for other
 * channels stays. As close_range(). */
int unic_ucma_close_range(unsigned int first, unsigned int last, int flags,
			  int (*really)(unsigned int first, unsigned int last,
					int flags));

#endif /* UNIC_UCMA_CLOSE_H */
