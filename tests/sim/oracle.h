/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * oracle.h - what the applications tell the memory oracle: which bytes of
 * their memory may be written now, by whom, and with what; and which may be read.
 *
 * Memory of a process is named by its own pages, not by frames: the oracle
 * knows from the driver's answer which frame is behind which page, so a wrong
 * translation is a write to a place without a grant.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "sim.h"

enum oracle_kind {
	ORACLE_RING, /* completion records */
	ORACLE_ANY,  /* a receive: judged when it completes */
	ORACLE_DATA, /* a WRITE or READ: exactly the pattern of its operation */
};

/** oracle_byte() - byte @off of the data of @op. */
static inline uint8_t oracle_byte(uint64_t op, uint32_t off)
{
	uint64_t z = (op + 1) * 0x9e3779b97f4a7c15ull +
		     (off / 8) * 0xbf58476d1ce4e5b9ull;

	z ^= z >> 31;
	return (uint8_t)(z >> off % 8 * 8);
}

/** oracle_reset() - no process has memory. At the start of a run. */
void oracle_reset(void);
/** oracle_map() - page @page of the process in @slot of @node is @frame. */
void oracle_map(uint32_t node, uint32_t slot, uint32_t page, uint32_t frame);
/** oracle_unmap() - nobody has the slot any more, all grants are over. */
void oracle_unmap(uint32_t node, uint32_t slot);

/** oracle_grant() - @len bytes from @at on (page * 4096 + offset) may be
 * written. @op: whose. Returns its number, never 0. */
uint32_t oracle_grant(uint32_t node, uint32_t slot, uint32_t at, uint32_t len,
		      enum oracle_kind kind, uint64_t op);
/** oracle_revoke() - not any more; 0 and what is over already are fine. */
void oracle_revoke(uint32_t grant);
/**
 * oracle_name() - these bytes may be read from now on, for as long as the region
 * lives that they are in: an operation names them, or a peer may. That an operation
 * is over ends nothing, since what was sent may be sent again.
 */
void oracle_name(uint32_t node, uint32_t slot, uint32_t at, uint32_t len);
/** oracle_clear() - no grant touches these bytes any more, and nobody names them:
 * the region they were in is gone. */
void oracle_clear(uint32_t node, uint32_t slot, uint32_t at, uint32_t len);

#endif /* SIM_ORACLE_H */
