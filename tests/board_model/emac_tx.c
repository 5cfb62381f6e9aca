// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* emac_tx.c - see emac_tx.h. */
#include "emac_tx.h"

#include <string.h>

/* TDES0 */
#define INTERRUPT (1u << 30)
#define LAST	  (1u << 29)
#define FIRST	  (1u << 28)
#define NO_FCS	  (1u << 27)
#define NO_PAD	  (1u << 26)
#define CHECKSUM  (3u << 22)
#define CHAINED	  (1u << 20)
#define STATUS	  0x1ffffu /* what the DMA writes */
#define ERROR	  (1u << 15)
#define LATE	  (1u << 9)
#define ONE_RETRY (1u << 3)
#define UNDERFLOW (1u << 1)

#define AE_DATA	    3u
#define LONGEST	    1514u
#define LEAST	    60u
#define FCS_BYTES   4u
#define DMA_NS	    400u
#define BYTE_NS	    10u
#define BACKOFF_NS  51200u
#define LATE_OF	    8u /* frames in the wrong duplex, one collides late */
#define UNDER_FRAME 3u /* --break underflow */

static void work(void *arg);
static void end_frame(void *arg);

static void wait_for(struct emac *emac, void (*next)(void *), uint64_t ns)
{
	struct clock *clock = &emac->board->clock;

	clock_at(clock, clock_now_ns(clock) + ns, next, emac);
}

static struct emac_sent *oldest(struct emac_tx *tx)
{
	return &tx->fifo[tx->first];
}

/* ------------------------------------------------------------------- wire */

static void check_link(struct emac *emac)
{
	if (emac->pc_unread)
		board_fault(emac->board, "EMACPC was written after the "
					 "transceiver had read it");
	if (!emac->had_link)
		board_fault(emac->board, "a frame is sent before the link was "
					 "ever up");
	else if (emac->ephy.phy.up && !emac_agrees(emac))
		board_fault(emac->board,
			    "a frame is sent with EMACCFG=%08x, in another "
			    "speed or duplex than was agreed on",
			    emac->config);
}

static void begin_wire(struct emac *emac)
{
	struct emac_tx *tx = &emac->tx;
	uint32_t bytes;
	uint64_t ns;

	if (tx->on_wire || !tx->count || !emac_transmits(emac))
		return;
	check_link(emac);
	bytes = oldest(tx)->bytes;
	ns = wire_ns((bytes < LEAST ? LEAST : bytes) + FCS_BYTES) *
	     (emac_is_100(emac) ? 1 : 10);
	if (!phy_full_duplex(&emac->ephy.phy) &&
	    board_random(emac->board) % 4 == 0) {
		oldest(tx)->word |= ONE_RETRY;
		ns += BACKOFF_NS;
	}
	tx->on_wire = true;
	wait_for(emac, end_frame, ns);
}

/* What becomes of the frame: bits of TDES0. */
static uint32_t leave(struct emac *emac, const struct emac_sent *sent)
{
	struct emac_tx *tx = &emac->tx;

	if (board_breaks(emac->board, "underflow") && tx->frames == UNDER_FRAME)
		return ERROR | UNDERFLOW;
	if (!emac->ephy.phy.up) {
		tx->lost++;
		return 0;
	}
	if (!emac_agrees(emac) && board_random(emac->board) % LATE_OF == 0)
		return ERROR | LATE;
	if (emac_is_100(emac) == phy_is_100(&emac->ephy.phy))
		wire_send(&emac->wire, sent->frame, sent->bytes);
	return 0;
}

static void hand_back(struct emac *emac, const struct emac_sent *sent,
		      uint32_t status)
{
	uint32_t word = (sent->word & ~(EMAC_OWN | STATUS)) | status |
			(sent->word & ONE_RETRY);

	if (!emac_bus_write(emac, sent->at, &word, 4, 5))
		return;
	if (sent->word & INTERRUPT)
		emac_raise(emac, EMAC_TI);
	if (status & UNDERFLOW) {
		emac->tx.ring.state = EMAC_SUSPENDED;
		emac_raise(emac, EMAC_UNF | EMAC_TI);
	}
}

static void end_frame(void *arg)
{
	struct emac *emac = arg;
	struct emac_tx *tx = &emac->tx;
	struct emac_sent *sent = oldest(tx);

	hand_back(emac, sent, leave(emac, sent));
	tx->frames++;
	tx->on_wire = false;
	tx->first = (tx->first + 1) % EMAC_SENDING;
	tx->count--;
	if (emac->dead)
		return;
	if (!(emac->op_mode & EMAC_ST) && !tx->count &&
	    tx->ring.state != EMAC_STOPPED) {
		tx->ring.state = EMAC_STOPPED;
		emac_raise(emac, EMAC_TPS);
	}
	begin_wire(emac);
	if (tx->ring.state == EMAC_RUNNING)
		wait_for(emac, work, DMA_NS);
}

/* ---------------------------------------------------------------- memory */

static bool read_buffer(struct emac *emac, struct emac_sent *sent,
			uint32_t addr, uint32_t bytes)
{
	if (sent->bytes + bytes > LONGEST) {
		board_fault(emac->board, "a frame of more than %u bytes",
			    LONGEST);
		bytes = LONGEST - sent->bytes;
	}
	if (!bytes)
		return true;
	if (!emac_bus_read(emac, addr, sent->frame + sent->bytes, bytes,
			   AE_DATA))
		return false;
	sent->bytes += bytes;
	return true;
}

static bool read_buffers(struct emac *emac, struct emac_sent *sent)
{
	const uint32_t *word = emac->tx.ring.word;

	return read_buffer(emac, sent, word[2], word[1] & 0x1fff) &&
	       (word[0] & CHAINED ||
		read_buffer(emac, sent, word[3], word[1] >> 16 & 0x1fff));
}

static void check_first(struct emac *emac, uint32_t word)
{
	if (!(word & FIRST))
		board_fault(emac->board,
			    "TDES0=%08x: a frame without a first descriptor",
			    word);
	if (word & (NO_FCS | NO_PAD | CHECKSUM))
		board_fault(emac->board,
			    "TDES0=%08x: frames without padding or FCS, or "
			    "with checksums, are not modelled",
			    word);
}

/* All descriptors of a frame; those before the last are handed back at once. */
static bool read_frame(struct emac *emac, struct emac_sent *sent)
{
	struct emac_ring *ring = &emac->tx.ring;

	check_first(emac, ring->word[0]);
	sent->bytes = 0;
	for (;;) {
		if (!read_buffers(emac, sent))
			return false;
		if (ring->word[0] & LAST)
			break;
		if (!emac_ring_advance(ring, ring->word[0]))
			return false;
		if (!emac_ring_fetch(ring)) {
			board_fault(emac->board, "the end of a frame is not "
						 "given away");
			return false;
		}
	}
	if (!sent->bytes)
		board_fault(emac->board, "an empty frame");
	sent->at = ring->at;
	sent->word = ring->word[0] & ~STATUS;
	emac_ring_step(ring);
	return true;
}

static void work(void *arg)
{
	struct emac *emac = arg;
	struct emac_tx *tx = &emac->tx;
	uint32_t most = emac->op_mode & EMAC_OSF ? EMAC_SENDING : 1;

	if (emac->dead || tx->ring.state != EMAC_RUNNING ||
	    !(emac->op_mode & EMAC_ST) || tx->count >= most)
		return;
	if (!emac_ring_fetch(&tx->ring)) {
		if (emac->dead)
			return;
		tx->ring.state = EMAC_SUSPENDED;
		emac_raise(emac, EMAC_TU);
		return;
	}
	if (!read_frame(emac,
			&tx->fifo[(tx->first + tx->count) % EMAC_SENDING]))
		return;
	tx->count++;
	begin_wire(emac);
	wait_for(emac, work, DMA_NS + LONGEST * BYTE_NS);
}

/* --------------------------------------------------------------- control */

void emac_tx_start(struct emac *emac)
{
	if (!(emac->op_mode & EMAC_TSF))
		board_fault(emac->board, "DMAOPMODE: to send without store and "
					 "forward is not modelled");
	if (emac->dead || emac->tx.ring.state != EMAC_STOPPED)
		return;
	emac->tx.ring.state = EMAC_RUNNING;
	emac_ring_watch(&emac->tx.ring);
	wait_for(emac, work, DMA_NS);
}

void emac_tx_stop(struct emac *emac)
{
	if (emac->tx.count || emac->tx.ring.state == EMAC_STOPPED)
		return; /* end_frame() stops */
	emac->tx.ring.state = EMAC_STOPPED;
	emac_raise(emac, EMAC_TPS);
}

void emac_tx_poll(struct emac *emac)
{
	if (emac->dead || emac->tx.ring.state != EMAC_SUSPENDED)
		return;
	emac->tx.ring.state = EMAC_RUNNING;
	wait_for(emac, work, DMA_NS);
}

void emac_tx_enable(struct emac *emac)
{
	begin_wire(emac);
}

void emac_tx_reset(struct emac *emac)
{
	struct emac_tx *tx = &emac->tx;
	struct clock *clock = &emac->board->clock;

	clock_cancel(clock, work, emac);
	clock_cancel(clock, end_frame, emac);
	tx->count = tx->first = 0;
	tx->on_wire = false;
	tx->ring.state = EMAC_STOPPED;
	tx->ring.list = tx->ring.at = 0;
	tx->ring.owned = false;
}
