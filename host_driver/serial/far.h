/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * far.h - the host's end of the serial host link: between the memory that the
 * driver and its processes share with a NIC (mailbox, process slots) and a line
 * (abi/unic_serial.h). It does what the NIC's own bus would: carries out its DMA,
 * writes its records, and notices what the driver and the processes wrote.
 *
 * Secret: what the NIC knows already. Trusts nothing of the NIC: a bus address
 * must lie in a slot, a record in its place, an index must be the next one.
 * Trusts nothing of a process: what is read twice may differ.
 *
 * No operating system: bytes in, bytes out.
 */
#ifndef SERIAL_FAR_H
#define SERIAL_FAR_H

#include "stream.h"
#include "unic_mbox.h"
#include "unic_queue.h"
#include "unic_stats.h"

#define FAR_WINDOWS 24u
#define FAR_READS   64u
#define FAR_CMDS    UNIC_CMD_ENTRIES

struct far_config {
	void *bar; /* UNIC_BAR_BYTES */
	void *const *window;
	uint32_t windows; /* at most FAR_WINDOWS */
	uint32_t window_bytes;
	uint32_t nonce, baud; /* as of stream_init() */
};

/* A pair of pages that the NIC watches. */
struct far_page {
	uint8_t *at; /* NULL: none */
	bool whole;  /* all rows are to be sent */
	uint32_t seq;
	struct unic_db_tail tail[UNIC_DB_OBJECTS]; /* as the NIC has them */
};

struct far_read {
	const uint8_t *from; /* NULL: there is no such memory */
	uint32_t len, done;
	uint16_t tag;
};

struct far {
	struct stream stream;
	struct far_config config;
	bool here;		    /* its info page was seen */
	bool joined, left, crashed; /* events, cleared by their reader */
	uint32_t rung;		    /* bit per vector, the same */
	uint32_t wrong;		    /* messages that made no sense */
	bool asked; /* for the reset reset_sent, which was not answered */
	uint32_t reset_sent, reset_ack;
	uint32_t cmd_sent, got[UNIC_SERIAL_RINGS];
	uint16_t part[UNIC_SERIAL_RINGS];
	uint32_t cmds, list_bytes, pages, rows, fifo; /* of the NIC */
	uint32_t read_head, read_tail;
	struct far_read read[FAR_READS];
	struct far_page page[FAR_WINDOWS];
	/* what is sent again must be what was sent */
	uint8_t own[UNIC_SERIAL_WINDOW][UNIC_SERIAL_DATA];
	uint8_t near_list[FAR_CMDS][UNIC_LIST_BYTES]; /* as the NIC has them */
};

/** far_init() - a link whose other end has not been heard of. */
void far_init(struct far *f, const struct far_config *config);

/** far_input() - bytes of the line. */
void far_input(struct far *f, const uint8_t *bytes, uint32_t len,
	       uint64_t now_ns);

/** far_output() - as stream_output(): first takes up what the driver and the
 * processes wrote. */
uint32_t far_output(struct far *f, uint64_t now_ns, uint8_t *bytes,
		    uint32_t max);

/** far_silent() - no frame came for so long that the NIC, which was there, counts
 * as gone (`left`). The next frame brings it back (`joined`). */
void far_silent(struct far *f);

#endif /* SERIAL_FAR_H */
