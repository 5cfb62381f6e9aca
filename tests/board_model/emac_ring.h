/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * emac_ring.h - descriptors in memory, and how the DMA of the Ethernet controller finds
 * the next one (data sheet 20.3.2: alternate ones of 16 bytes, enhanced ones of 32;
 * rings and chains). A list is followed as the DMA follows it, word by word over a bus
 * that may answer with an error: there is RAM, and nothing else.
 *
 * Rule: software does not write a descriptor that it has given away (OWN), nor gives
 * one away before the rest of it, and of its frame, is written.
 *
 * Secret: layout and order.
 */
#ifndef BOARD_MODEL_EMAC_RING_H
#define BOARD_MODEL_EMAC_RING_H

#include "board.h"

#define EMAC_OWN (1u << 31)

struct emac;

enum emac_state {
	EMAC_STOPPED,
	EMAC_RUNNING,
	EMAC_SUSPENDED
};

struct emac_ring {
	struct emac *emac;
	bool sends;
	uint32_t list, at; /* the first descriptor, the current one */
	enum emac_state state;
	bool owned; /* the current one was read and is the DMA's */
	uint32_t word[4];
	uint32_t watched, watched_bytes; /* where software's stores are seen */
};

/** emac_ring_init() - @sends: of the transmitter. */
void emac_ring_init(struct emac_ring *ring, struct emac *emac, bool sends);

/** emac_ring_fetch() - read the current descriptor. Returns whether it is the DMA's;
 * false, too, after a bus error. */
bool emac_ring_fetch(struct emac_ring *ring);

/** emac_ring_advance() - the current one is done: hand it back with @status as its
 * first word, and go to the next. Returns false after a bus error. */
bool emac_ring_advance(struct emac_ring *ring, uint32_t status);

/** emac_ring_goes_on() - the descriptor behind the current one is the DMA's, too. */
bool emac_ring_goes_on(struct emac_ring *ring);

/** emac_ring_step() - go to the next, and leave the current one as it is. */
void emac_ring_step(struct emac_ring *ring);

/** emac_ring_watch() - see the stores of software into the list from now on. */
void emac_ring_watch(struct emac_ring *ring);

/** emac_bus_read() - @bytes of RAM at @addr. False: a bus error, @access in DMARIS. */
bool emac_bus_read(struct emac *emac, uint32_t addr, void *to, uint32_t bytes,
		   uint32_t access);

/** emac_bus_write() - the other way. Whole words are written: what is beside the
 * bytes in their first and last word is overwritten with old data of the DMA. */
bool emac_bus_write(struct emac *emac, uint32_t addr, const void *from,
		    uint32_t bytes, uint32_t access);

#endif /* BOARD_MODEL_EMAC_RING_H */
