// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* tm4c_memtim.c - see tm4c_memtim.h. */
#include "tm4c_memtim.h"

#include <stddef.h>

/* Timing of flash and EEPROM up to a frequency (table 5-12): wait states, clock high
 * time, clock edge. */
static const struct {
	uint32_t mhz, waits, high, edge;
} timings[] = {
	{ 16, 0, 0, 1 }, { 40, 1, 2, 0 },  { 60, 2, 3, 0 },
	{ 80, 3, 4, 0 }, { 100, 4, 5, 0 }, { 120, 5, 6, 0 },
};

#define TIMINGS (sizeof(timings) / sizeof(timings[0]))

/* The megahertz that memory timing @half (flash: low, EEPROM: high) allows. */
static uint32_t allowed_mhz(uint32_t half)
{
	for (size_t i = 0; i < TIMINGS; i++)
		if ((half & 15) == timings[i].waits &&
		    (half >> 6 & 15) == timings[i].high &&
		    (half >> 5 & 1) == timings[i].edge)
			return timings[i].mhz;
	return half == (TM4C_MEMTIM_RESET & 0xffff) ? 16 : 0;
}

uint32_t tm4c_memtim_mhz(uint32_t memtim)
{
	uint32_t flash = allowed_mhz(memtim & 0xffff);
	uint32_t eeprom = allowed_mhz(memtim >> 16);

	return flash < eeprom ? flash : eeprom;
}
