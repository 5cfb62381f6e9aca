// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* emac_rx.c - see emac_rx.h. */
#include "emac_rx.h"

#include <string.h>

/* RDES0 */
#define LENGTH_AT 16u
#define ERROR	  (1u << 15)
#define NO_SPACE  (1u << 14)
#define FIRST	  (1u << 9)
#define LAST	  (1u << 8)
#define GIANT	  (1u << 7)
#define TYPE	  (1u << 5)
#define BAD_FCS	  (1u << 1)
/* RDES1 */
#define SILENT	(1u << 31)
#define CHAINED (1u << 14)

#define AE_DATA	    0u
#define FCS_BYTES   4u
#define GIANT_BYTES 1518u
#define STATUS_ROOM 4u
#define DMA_NS	    300u /* a descriptor */
#define BYTE_NS	    10u
#define CLOSE_NS    2048u /* at most, between the data and the status */
#define BUS_FRAME   3u	  /* --break bus */

static void work(void *arg);
static void close_frame(void *arg);

static void wait_for(struct emac *emac, void (*next)(void *), uint64_t ns)
{
	struct clock *clock = &emac->board->clock;

	emac->rx.at_work = true;
	clock_at(clock, clock_now_ns(clock) + ns, next, emac);
}

static struct emac_arrived *oldest(struct emac_rx *rx)
{
	return &rx->fifo[rx->first];
}

static void drop_oldest(struct emac_rx *rx)
{
	rx->bytes -= oldest(rx)->bytes + STATUS_ROOM;
	rx->first = (rx->first + 1) % EMAC_FRAMES;
	rx->count--;
}

/* ------------------------------------------------------------- descriptors */

static void scribble(struct emac *emac, uint32_t addr, uint32_t bytes)
{
	uint8_t nonsense[64];

	for (uint32_t i = 0; i < bytes && !emac->dead; i += sizeof(nonsense)) {
		memset(nonsense, (int)board_random(emac->board) | 1,
		       sizeof(nonsense));
		emac_bus_write(emac, addr + i, nonsense,
			       bytes - i < sizeof(nonsense) ? bytes - i
							    : sizeof(nonsense),
			       AE_DATA);
	}
}

/* Reads the next descriptor; without one the DMA is suspended. */
static bool acquire(struct emac *emac)
{
	struct emac_ring *ring = &emac->rx.ring;
	uint32_t bytes;

	if (ring->owned)
		return true;
	if (!emac_ring_fetch(ring)) {
		if (emac->dead)
			return false;
		if (ring->state != EMAC_SUSPENDED) {
			emac->rx.suspended++;
			emac_raise(emac, EMAC_RU);
		}
		ring->state = EMAC_SUSPENDED;
		return false;
	}
	ring->state = EMAC_RUNNING;
	bytes = ring->word[1] & 0x1fff;
	if (bytes % 4 || (ring->word[1] >> 16 & 0x1fff) % 4)
		board_fault(emac->board,
			    "RDES1=%08x: the length of a buffer is not a "
			    "multiple of 4",
			    ring->word[1]);
	scribble(emac, ring->word[2], bytes - (ring->word[2] & 3));
	return !emac->dead;
}

/* Fills one buffer; returns how many bytes it took. */
static uint32_t fill(struct emac *emac, uint32_t addr, uint32_t room,
		     uint32_t done, uint32_t bytes)
{
	uint32_t part = bytes - done < room ? bytes - done : room;

	if (!part)
		return 0;
	if (board_breaks(emac->board, "bus") && emac->rx.frames == BUS_FRAME) {
		emac->rx.frames++;
		board_say(emac->board, "a bus error");
		emac_bus_error(emac, addr, AE_DATA);
		return 0;
	}
	return emac_bus_write(emac, addr, oldest(&emac->rx)->frame + done, part,
			      AE_DATA)
		       ? part
		       : 0;
}

/* Of the current descriptor: both buffers. The offset of the first one in its word
 * counts only where a frame begins. */
static uint32_t fill_buffers(struct emac *emac, uint32_t done, uint32_t bytes)
{
	struct emac_ring *ring = &emac->rx.ring;
	uint32_t from = done, offset = done ? 0 : ring->word[2] & 3;
	uint32_t room = ring->word[1] & 0x1fff;

	done += fill(emac, (ring->word[2] & ~3u) + offset,
		     room > offset ? room - offset : 0, done, bytes);
	if (!emac->dead && done < bytes && !(ring->word[1] & CHAINED))
		done += fill(emac, ring->word[3] & ~3u,
			     ring->word[1] >> 16 & 0x1fff, done, bytes);
	return done - from;
}

/* ------------------------------------------------------------------ frames */

/* A frame that needs more than one descriptor leaves the last one to close_frame(). */
static uint32_t write_frame(struct emac *emac, uint32_t bytes)
{
	struct emac_ring *ring = &emac->rx.ring;
	uint32_t done = 0, status = FIRST;

	for (;;) {
		done += fill_buffers(emac, done, bytes);
		if (emac->dead || done == bytes)
			return status;
		if (!emac_ring_goes_on(ring))
			return status | NO_SPACE | ERROR;
		if (!emac_ring_advance(ring, status) || !acquire(emac))
			return status;
		status = 0;
	}
}

static uint32_t length_of(const struct emac *emac, const struct emac_arrived *a)
{
	return a->bytes - (emac_strips(emac, a->frame) ? FCS_BYTES : 0);
}

static uint32_t status_of(const struct emac *emac, const struct emac_arrived *a)
{
	uint32_t errors = a->errors | (a->bytes > GIANT_BYTES ? GIANT : 0);

	return length_of(emac, a) << LENGTH_AT | LAST | errors |
	       (errors ? ERROR : 0) | (a->frame[12] >= 6 ? TYPE : 0);
}

static void go_on(struct emac *emac)
{
	emac->rx.at_work = false;
	if (emac->rx.count && !emac->dead &&
	    emac->rx.ring.state != EMAC_STOPPED)
		wait_for(emac, work, DMA_NS);
}

static void flush_frame(struct emac *emac)
{
	if (emac->op_mode & EMAC_DFF) {
		emac->rx.at_work = false;
		return;
	}
	emac->rx.missed++;
	emac->rx.all_missed++;
	drop_oldest(&emac->rx);
	go_on(emac);
}

static void work(void *arg)
{
	struct emac *emac = arg;
	struct emac_rx *rx = &emac->rx;
	bool suspended = rx->ring.state == EMAC_SUSPENDED;

	rx->at_work = false;
	if (!rx->count || emac->dead || rx->ring.state == EMAC_STOPPED)
		return;
	if (!acquire(emac)) {
		if (!emac->dead)
			flush_frame(emac);
		return;
	}
	rx->woken += suspended;
	rx->status = write_frame(emac, length_of(emac, oldest(rx)));
	if (emac->dead)
		return;
	rx->status |= status_of(emac, oldest(rx));
	wait_for(emac, close_frame, board_random(emac->board) % CLOSE_NS);
}

static void close_frame(void *arg)
{
	struct emac *emac = arg;
	struct emac_rx *rx = &emac->rx;
	bool silent = rx->ring.word[1] & SILENT;

	if (rx->ring.owned && !emac_ring_advance(&rx->ring, rx->status))
		return;
	rx->frames++;
	drop_oldest(rx);
	if (!silent)
		emac_raise(emac, EMAC_RI);
	if (!(emac->op_mode & EMAC_SR)) {
		rx->ring.state = EMAC_STOPPED;
		emac_raise(emac, EMAC_RPS);
	} else {
		acquire(emac);
	}
	go_on(emac);
}

/* ------------------------------------------------------------------- wire */

static void keep_frame(struct emac *emac, const uint8_t *frame, uint32_t bytes)
{
	struct emac_rx *rx = &emac->rx;
	struct emac_arrived *a =
		&rx->fifo[(rx->first + rx->count) % EMAC_FRAMES];

	a->bytes = bytes;
	a->errors = 0;
	memcpy(a->frame, frame, bytes);
	if (!wire_is_whole(frame, bytes)) {
		rx->with_bad_fcs++;
		a->errors = BAD_FCS;
	}
	if (a->errors && !(emac->op_mode & EMAC_FEF))
		return;
	rx->count++;
	rx->bytes += bytes + STATUS_ROOM;
	if (!rx->at_work && rx->ring.state != EMAC_STOPPED)
		wait_for(emac, work, DMA_NS + (uint64_t)bytes * BYTE_NS);
}

void emac_rx_arrive(void *arg, const uint8_t *frame, uint32_t bytes)
{
	struct emac *emac = arg;
	struct emac_rx *rx = &emac->rx;

	if (emac->resetting || !emac_receives(emac) || !emac->ephy.phy.up ||
	    !emac_agrees(emac) || !emac_takes(emac, frame))
		return;
	if (rx->count == EMAC_FRAMES ||
	    rx->bytes + bytes + STATUS_ROOM > EMAC_FIFO) {
		rx->overflows++;
		rx->all_overflows++;
		emac_raise(emac, EMAC_OVF);
		return;
	}
	keep_frame(emac, frame, bytes);
}

/* ---------------------------------------------------------------- control */

void emac_rx_start(struct emac *emac)
{
	struct emac_rx *rx = &emac->rx;

	if (!(emac->op_mode & EMAC_RSF))
		board_fault(emac->board, "DMAOPMODE: to receive without store "
					 "and forward is not modelled");
	if (emac->dead || rx->ring.state != EMAC_STOPPED)
		return;
	rx->ring.state = EMAC_RUNNING;
	emac_ring_watch(&rx->ring);
	acquire(emac);
	if (!rx->at_work)
		go_on(emac);
}

void emac_rx_stop(struct emac *emac)
{
	if (emac->rx.at_work || emac->rx.ring.state == EMAC_STOPPED)
		return; /* close_frame() stops */
	emac->rx.ring.state = EMAC_STOPPED;
	emac_raise(emac, EMAC_RPS);
}

void emac_rx_poll(struct emac *emac)
{
	if (emac->dead || emac->rx.ring.state != EMAC_SUSPENDED)
		return;
	if (acquire(emac) && !emac->rx.at_work)
		go_on(emac);
}

uint32_t emac_rx_lost(struct emac *emac)
{
	struct emac_rx *rx = &emac->rx;
	uint32_t v = (rx->missed & 0xffff) | (rx->missed > 0xffff) << 16 |
		     (rx->overflows & 0x7ff) << 17 |
		     (uint32_t)(rx->overflows > 0x7ff) << 28;

	rx->missed = rx->overflows = 0;
	return v;
}

void emac_rx_reset(struct emac *emac)
{
	struct emac_rx *rx = &emac->rx;
	struct clock *clock = &emac->board->clock;

	clock_cancel(clock, work, emac);
	clock_cancel(clock, close_frame, emac);
	rx->count = rx->bytes = rx->missed = rx->overflows = 0;
	rx->at_work = false;
	rx->ring.state = EMAC_STOPPED;
	rx->ring.list = rx->ring.at = 0;
	rx->ring.owned = false;
}
