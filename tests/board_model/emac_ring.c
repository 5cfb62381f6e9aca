// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* emac_ring.c - see emac_ring.h. */
#include "emac_ring.h"

#include <string.h>

#include "cpu.h"
#include "emac.h"

#define ATDS	   0x80u      /* of DMABUSMOD */
#define RX_END	   (1u << 15) /* of RDES1 */
#define RX_CHAINED (1u << 14)
#define TX_END	   (1u << 21) /* of TDES0 */
#define TX_CHAINED (1u << 20)
#define TX_LAST	   (1u << 29)
#define TX_FIRST   (1u << 28)
#define WORDS	   16u /* bytes of the words that the DMA reads */
#define RING_MOST  256u

#define AE_RX_WRITE 4u
#define AE_TX_WRITE 5u
#define AE_RX_READ  6u
#define AE_TX_READ  7u

static uint8_t *ram_at(const struct emac *emac, uint32_t addr, uint32_t bytes)
{
	const struct board_memory *m =
		board_memory_at(emac->board, addr, bytes);

	return m && m->writable ? m->host + (addr - m->base) : NULL;
}

bool emac_bus_read(struct emac *emac, uint32_t addr, void *to, uint32_t bytes,
		   uint32_t access)
{
	const uint8_t *ram = ram_at(emac, addr, bytes);

	if (!ram) {
		emac_bus_error(emac, addr, access);
		return false;
	}
	memcpy(to, ram, bytes);
	return true;
}

bool emac_bus_write(struct emac *emac, uint32_t addr, const void *from,
		    uint32_t bytes, uint32_t access)
{
	uint32_t before = addr & 3, after = -(addr + bytes) & 3;
	uint8_t *ram = ram_at(emac, addr - before, before + bytes + after);

	if (!ram) {
		emac_bus_error(emac, addr, access);
		return false;
	}
	for (uint32_t i = 0; i < before; i++)
		ram[i] = (uint8_t)board_random(emac->board);
	memcpy(ram + before, from, bytes);
	for (uint32_t i = 0; i < after; i++)
		ram[before + bytes + i] = (uint8_t)board_random(emac->board);
	cpu_changed(emac->board->cpu, addr);
	return true;
}

static uint32_t next_of(const struct emac_ring *ring, uint32_t at,
			const uint32_t word[4])
{
	uint32_t mode = ring->emac->bus_mode;
	bool end = ring->sends ? word[0] & TX_END : word[1] & RX_END;
	bool chained = ring->sends ? word[0] & TX_CHAINED
				   : word[1] & RX_CHAINED;

	if (end)
		return ring->list;
	if (chained)
		return word[3] & ~3u;
	return at + (mode & ATDS ? 32 : 16) + (mode >> 2 & 31) * 4;
}

bool emac_ring_fetch(struct emac_ring *ring)
{
	ring->owned = false;
	if (!emac_bus_read(ring->emac, ring->at, ring->word, WORDS,
			   ring->sends ? AE_TX_READ : AE_RX_READ))
		return false;
	ring->owned = ring->word[0] & EMAC_OWN;
	return ring->owned;
}

bool emac_ring_goes_on(struct emac_ring *ring)
{
	uint32_t word = 0;

	return emac_bus_read(ring->emac, next_of(ring, ring->at, ring->word),
			     &word, 4, ring->sends ? AE_TX_READ : AE_RX_READ) &&
	       word & EMAC_OWN;
}

void emac_ring_step(struct emac_ring *ring)
{
	ring->at = next_of(ring, ring->at, ring->word);
	ring->owned = false;
}

bool emac_ring_advance(struct emac_ring *ring, uint32_t status)
{
	status &= ~EMAC_OWN;
	if (!emac_bus_write(ring->emac, ring->at, &status, 4,
			    ring->sends ? AE_TX_WRITE : AE_RX_WRITE))
		return false;
	emac_ring_step(ring);
	return true;
}

/* ------------------------------------------------------------- ownership */

/* The first descriptor of a frame is given away last. */
static void check_frame(const struct emac_ring *ring, uint32_t at)
{
	uint32_t word[4];
	const uint8_t *ram = ram_at(ring->emac, at, WORDS);

	for (uint32_t i = 0; ram && i < RING_MOST; i++) {
		memcpy(word, ram, WORDS);
		if (i && !(word[0] & EMAC_OWN))
			board_fault(ring->emac->board,
				    "the first descriptor of a frame is given "
				    "away before the one at %08x",
				    at);
		if (word[0] & TX_LAST || (i && !(word[0] & EMAC_OWN)))
			return;
		at = next_of(ring, at, word);
		ram = ram_at(ring->emac, at, WORDS);
	}
}

/* Before software stores into the list. */
static void see_store(void *arg, uint32_t addr, uint32_t value)
{
	struct emac_ring *ring = arg;
	uint32_t size = ring->emac->bus_mode & ATDS ? 32 : 16, word;
	uint32_t at = addr - (addr - ring->list) % size;
	const uint8_t *ram = ram_at(ring->emac, at, WORDS);

	if (!ram || ring->state == EMAC_STOPPED || ring->emac->dead ||
	    addr - ring->watched >= ring->watched_bytes)
		return;
	memcpy(&word, ram, 4);
	if (word & EMAC_OWN)
		board_fault(ring->emac->board,
			    "software writes word %u of the %s descriptor at "
			    "%08x, which is the DMA's",
			    (addr - at) / 4,
			    ring->sends ? "transmit"
					: "rece"
					  "ive",
			    at);
	if (ring->sends && addr == at && value & EMAC_OWN && value & TX_FIRST &&
	    !(value & TX_LAST))
		check_frame(ring, at);
}

/* The list as far as it goes in one piece. */
void emac_ring_watch(struct emac_ring *ring)
{
	uint32_t at = ring->list, last = at, word[4];
	uint32_t size = ring->emac->bus_mode & ATDS ? 32 : 16;

	for (uint32_t i = 0; i < RING_MOST && ram_at(ring->emac, at, WORDS);
	     i++) {
		memcpy(word, ram_at(ring->emac, at, WORDS), WORDS);
		if (at > last)
			last = at;
		at = next_of(ring, at, word);
		if (at == ring->list)
			break;
	}
	ring->watched = ring->list;
	ring->watched_bytes = last + size - ring->list;
	cpu_watch_stores(ring->emac->board->cpu, ring->watched,
			 ring->watched_bytes, see_store, ring);
}

void emac_ring_init(struct emac_ring *ring, struct emac *emac, bool sends)
{
	ring->emac = emac;
	ring->sends = sends;
}
