/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * near.h - the NIC's end of the serial host link: below the core's port, memory
 * that looks like the mailbox, doorbell pages and host memory of a NIC that
 * shares them (abi/unic_serial.h).
 *
 * Secret: how the near copies follow the host's. One side alone writes each word,
 * so a copy is right when the other side's writes come in order. Commands,
 * doorbells and reset requests arrive as messages; between two rounds of the core
 * this end finds new records, words of NIC pages and the info page, and sends
 * them. A DMA transfer is a message of its own, answered later. The core's rings
 * have few places: this end advances their heads, which the driver would write,
 * when the host has the records.
 *
 * Counters, trace and usage are sent when nothing else is, and may be lost.
 */
#ifndef SERIAL_NEAR_H
#define SERIAL_NEAR_H

#include "board.h"
#include "stream.h"
#include "unic_mbox.h"
#include "unic_port.h"
#include "unic_stats.h"

#define NEAR_CHUNKS 8u /* pieces of counters and usage */

/* A transfer. It stays after its report until those before it are reported. */
struct near_job {
	uint8_t *local;
	uint64_t bus;
	uint32_t tag;
	uint16_t len, sent, done; /* bytes */
	uint8_t to_host;
	uint8_t ended; /* enum near_end */
};

enum near_end {
	NEAR_OPEN = 0,
	NEAR_MOVED = 1,
	NEAR_FAILED = 2,
	NEAR_REPORTED = 3,
};

struct near_pages {
	UNIC_BOX_DB_PAGE db;
	UNIC_BOX_NIC_PAGE np;
};

struct near_watch {
	uint64_t bus;
	bool used, told;
	UNIC_BOX_NIC_PAGE sent; /* words as the host has them */
};

struct near_ring {
	uint32_t sent; /* records */
	uint16_t part; /* bytes of the next record that are sent */
};

struct near {
	struct stream stream;
	uint32_t life; /* +1 with each reset of the core */
	uint32_t bells;
	bool resetting;
	bool info_due;
	bool news; /* work for the core since the port cleared it: no sleep */
	uint32_t info_seen[4];
	struct near_ring ring[UNIC_SERIAL_RINGS];
	uint32_t list_crc[UNIC_BOX_CMDS];
	uint16_t list_sent;
	uint32_t job_head, job_send, job_tail;
	struct near_job job[UNIC_DMA_JOBS];
	uint32_t trace_sent;
	uint32_t chunk, chunk_beat, chunk_crc[NEAR_CHUNKS];
	const struct unic_crash *crash; /* of an earlier life; NULL: none */
	struct near_watch watch[UNIC_PROCS];
	_Alignas(8) struct near_pages pages[UNIC_PROCS];
	_Alignas(8) uint8_t box[UNIC_BOX_BYTES];
};

/** near_init() - a link without a host. @nonce, @baud: as of stream_init(). */
void near_init(struct near *n, uint32_t nonce, uint32_t baud);

/** near_doorbells() - as unic_port_doorbells(). */
void *near_doorbells(struct near *n, uint64_t bus);

/** near_dma() - as unic_port_dma(): PENDING, EAGAIN or EFAULT. */
int near_dma(struct near *n, enum unic_port_dma_dir dir, uint64_t bus,
	     void *local, uint32_t len, uint32_t tag);

/** near_dma_poll() - as unic_port_dma_poll(). */
bool near_dma_poll(struct near *n, uint32_t *tag, int *status);

/** near_ring() - as unic_port_ring(). */
void near_ring(struct near *n, uint32_t vector);

/** near_input() - take @len bytes from the line. */
void near_input(struct near *n, const uint8_t *bytes, uint32_t len,
		uint64_t now_ns);

/** near_output() - of near_out.c: as stream_output(), after adding messages for
 * what the core did. */
uint32_t near_output(struct near *n, uint64_t now_ns, uint8_t *bytes,
		     uint32_t max);

#endif /* SERIAL_NEAR_H */
