/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * far.h - the host's end of the serial host link: between the memory that the
 * driver and its processes share with a NIC (mailbox, process slots) and a line
 * (abi/unic_serial.h). It does what a bus would: carries out the NIC's DMA,
 * stores its records, and sends what the driver and the processes wrote.
 *
 * Secret: which words the NIC has already. The NIC is not trusted: a bus address
 * must lie in a slot, a record in its place, an index must be the next one.
 * Processes are not trusted: a word that is read twice may differ.
 *
 * Needs no operating system: bytes in, bytes out.
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
	/* rows as the NIC has them */
	struct unic_db_tail tail[UNIC_DB_OBJECTS];
};

struct far_read {
	const uint8_t *from; /* NULL: no such memory */
	uint32_t len, done;
	uint16_t tag;
};

struct far {
	struct stream stream;
	struct far_config config;
	bool here;		    /* the info page has arrived */
	bool joined, left, crashed; /* events, cleared by their reader */
	uint32_t rung;		    /* bit per vector, cleared by the reader */
	uint32_t wrong;		    /* invalid messages */
	bool asked; /* the reset reset_sent is not acknowledged */
	uint32_t reset_sent, reset_ack;
	uint32_t cmd_sent, got[UNIC_SERIAL_RINGS];
	uint16_t part[UNIC_SERIAL_RINGS];
	/* sizes in the NIC's info page */
	uint32_t cmds, list_bytes, pages, rows, fifo;
	uint32_t read_head, read_tail;
	struct far_read read[FAR_READS];
	struct far_page page[FAR_WINDOWS];
	/* messages, kept to be sent again unchanged */
	uint8_t own[UNIC_SERIAL_WINDOW][UNIC_SERIAL_DATA];
	/* list pages as the NIC has them */
	uint8_t near_list[FAR_CMDS][UNIC_LIST_BYTES];
};

/** far_init() - a link that has received nothing. */
void far_init(struct far *f, const struct far_config *config);

/** far_input() - take @len bytes from the line. */
void far_input(struct far *f, const uint8_t *bytes, uint32_t len,
	       uint64_t now_ns);

/** far_output() - as stream_output(), after adding messages for what the driver
 * and the processes wrote. */
uint32_t far_output(struct far *f, uint64_t now_ns, uint8_t *bytes,
		    uint32_t max);

/** far_silent() - count the NIC as gone (`left`), because no frame has arrived
 * for too long. The next frame brings it back (`joined`). */
void far_silent(struct far *f);

#endif /* SERIAL_FAR_H */
