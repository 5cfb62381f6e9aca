/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * frequency.h - how often an item was used, of which old uses count less: half after
 * each 2^20 units of time (1.07 s).
 *
 * Secret: the count is kept as its logarithm, 512 log2(1 + count), so that decay is a
 * subtraction and 15 bits are enough for 2^20 uses. A count of 1,023 or more does not
 * grow by one use at a time; uses are noticed many at a time.
 *
 * Times are those of reuse.h: units of 2^10 ns, which wrap.
 */
#ifndef UNIC_FREQUENCY_H
#define UNIC_FREQUENCY_H

#include <stdint.h>

/** unic_frequency_add() - returns the frequency after @uses more, @span after the
 * last one before; @frequency was that then, 0 for none. Less than 2^15. */
uint16_t unic_frequency_add(uint16_t frequency, uint32_t span, uint32_t uses);

/** unic_frequency_now() - returns what is left of @frequency, @age after the last use,
 * in units of unic_lg(). */
int32_t unic_frequency_now(uint16_t frequency, uint32_t age);

#endif /* UNIC_FREQUENCY_H */
