/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * oracle.h - the memory oracle, as applications use it: which bytes of their
 * memory may be written, by which operation, and with what; and which may be
 * read.
 *
 * Memory of a process is named by its pages, not by frames: the oracle has from
 * the driver's answer which frame is behind which page, so a wrong translation is
 * a write to a place without a grant.
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "sim.h"

enum oracle_kind {
	ORACLE_RING, /* completion records */
	ORACLE_ANY,  /* a receive: checked when it completes */
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

/** oracle_reset() - drop the memory of all processes, at the start of a run. */
void oracle_reset(void);
/** oracle_map() - page @page of the process in @slot of @node is frame @frame. */
void oracle_map(uint32_t node, uint32_t slot, uint32_t page, uint32_t frame);
/** oracle_unmap() - the slot has no process: end all of its grants. */
void oracle_unmap(uint32_t node, uint32_t slot);

/** oracle_grant() - allow writes to @len bytes from @at on (page * 4096 + offset)
 * by operation @op. Returns the number of the grant, never 0. */
uint32_t oracle_grant(uint32_t node, uint32_t slot, uint32_t at, uint32_t len,
		      enum oracle_kind kind, uint64_t op);
/** oracle_revoke() - end a grant; does nothing for 0 and for one that has ended. */
void oracle_revoke(uint32_t grant);
/** oracle_any() - allow any bytes there. */
void oracle_any(uint32_t grant);
/**
 * oracle_name() - allow reads of these bytes as long as their region lives: an
 * operation names them, or a peer may. The end of an operation does not end this,
 * since its frames may be sent again.
 */
void oracle_name(uint32_t node, uint32_t slot, uint32_t at, uint32_t len);
/** oracle_clear() - end all grants and reads of these bytes: their region is
 * gone. */
void oracle_clear(uint32_t node, uint32_t slot, uint32_t at, uint32_t len);

#endif /* SIM_ORACLE_H */
