/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tm4c_memtim.h - MEMTIM0 of the TM4C1294NCPDT: wait states and clock of flash and
 * EEPROM, in either half.
 *
 * Secret: which are for which frequency.
 */
#ifndef BOARD_MODEL_TM4C_MEMTIM_H
#define BOARD_MODEL_TM4C_MEMTIM_H

#include <stdint.h>

#define TM4C_MEMTIM_RESET 0x00300030u
#define TM4C_MEMTIM_ONES  0x00100010u /* bits that are always 1 */

/** tm4c_memtim_mhz() - the most megahertz that @memtim is for; 0: none. */
uint32_t tm4c_memtim_mhz(uint32_t memtim);

#endif /* BOARD_MODEL_TM4C_MEMTIM_H */
