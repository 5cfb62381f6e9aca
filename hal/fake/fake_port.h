/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fake_port.h - the machine of the unit tests: RAM for windows and mailbox, a
 * clock that only the test moves, wires that a test can cut, destinations that
 * take no frames, DMA that can be late or fail, and a switch that makes the k-th
 * call fail.
 *
 * The port is complete: every function of hal/unic_port.h keeps its contract,
 * bounds checks included. It needs no operating system, so it runs on a board,
 * too.
 */
#ifndef FAKE_PORT_H
#define FAKE_PORT_H

#include "unic_mbox.h"
#include "unic_port.h"

#ifndef FAKE_WINDOWS
#define FAKE_WINDOWS 3u
#endif
#define FAKE_WINDOW_BYTES (512u * 1024u)
#define FAKE_FRAMES	  64u /* received, not yet taken */
#define FAKE_FRAME_BYTES  4224u
#define FAKE_PENDING	  64u /* transfers that answered PENDING */
#define FAKE_VECTORS	  9u
#define FAKE_PATHS	  8u   /* paths of a link of 7 NICs and a switch */
#define FAKE_NEVER_FULL	  255u /* room of a path without fake_room() */

struct fake_frame {
	uint32_t len, flags;
	uint8_t pad[2];
	uint8_t bytes[FAKE_FRAME_BYTES - 10];
};

struct fake_transfer {
	enum unic_port_dma_dir dir;
	uint64_t bus;
	void *local;
	uint32_t len, tag;
	bool done, failed;
};

struct unic_port {
	/* knobs of the test */
	uint64_t now_ns;
	bool late_dma; /* transfers answer PENDING until fake_dma_run() */
	bool bad_dma; /* fake_dma_run() copies nothing: transfers end in EFAULT */
	bool no_entropy;
	bool icrc;	    /* no ICRC offload: compute and check */
	uint32_t max_frame; /* 0: FAKE_FRAME_BYTES - 16 */
	bool no_link;	    /* unic_port_link() says nothing but zeros */
	/* the call of dma, tx_get or entropy that fails, counted from 1; 0:
	 * none */
	uint32_t fail_call;
	/* the call that answers EAGAIN if it is of dma; 0: none */
	uint32_t again_call;
	bool no_dma; /* transfers answer EAGAIN */
	void (*on_panic)(struct unic_port *port, const char *file,
			 uint32_t line);
	/* decides about each frame sent; NULL: deliver to `peer` */
	void (*on_frame)(struct unic_port *port, const uint8_t *frame,
			 uint32_t len, uint32_t flags);
	/* runs in the middle of a round, as a host on another CPU; NULL: nothing */
	void (*on_ring)(struct unic_port *port, uint32_t vector);
	struct unic_port *peer;
	void *user;
	/* results for the test */
	uint32_t calls; /* number of calls that could fail */
	uint32_t rung[FAKE_VECTORS];
	uint32_t dma_refused; /* transfers outside the windows */
	uint32_t rx_overrun;  /* frames lost in a full receive queue */
	/* requests for a buffer along a path without room */
	uint32_t tx_full;
	bool armed;
	/* address of this port */
	uint8_t mac[6];
	uint32_t rx_head, rx_tail, rx_done;
	uint32_t tx_held; /* bit per buffer */
	uint8_t room[FAKE_PATHS];
	uint8_t run_path; /* path of the last run */
	uint32_t n_transfers, next_transfer;
	uint64_t entropy;
	struct fake_transfer transfer[FAKE_PENDING];
	struct fake_frame rx[FAKE_FRAMES];
	struct fake_frame tx[UNIC_TX_BUFS];
	_Alignas(4096) uint8_t bar[UNIC_BAR_BYTES];
	_Alignas(4096) uint8_t window[FAKE_WINDOWS][FAKE_WINDOW_BYTES];
};

/** fake_port_init() - zeroed memory, time 1 ms, MAC 02:..:@id. */
void fake_port_init(struct unic_port *port, uint8_t id);

/** fake_wire() - connect two ports. */
void fake_wire(struct unic_port *a, struct unic_port *b);

/** fake_deliver() - copy a frame into the receive queue of @to. */
void fake_deliver(struct unic_port *to, const uint8_t *frame, uint32_t len,
		  uint32_t flags);

/** fake_path() - the path from any port to port @id, 1 .. 7. Path 0 leads to all
 * other and to multicast addresses. */
static inline uint32_t fake_path(uint8_t id)
{
	return id < FAKE_PATHS ? id : 0;
}

/**
 * fake_room() - let @path take @frames more frames, 0 .. 254, and no more until
 * the next call; FAKE_NEVER_FULL: any number. A peer that stopped has 0.
 *
 * As in a ring of the link, a buffer got takes room, whether it is sent or not;
 * other paths keep theirs. UNIC_TX_BUFS bounds the buffers held along all paths
 * together.
 */
void fake_room(struct unic_port *port, uint32_t path, uint32_t frames);

/** fake_dma_run() - carry out the next @n late transfers, oldest first, and
 * report their completions. Returns their number. */
uint32_t fake_dma_run(struct unic_port *port, uint32_t n);

/** fake_dma_waiting() - the number of late transfers that are not carried out. */
uint32_t fake_dma_waiting(const struct unic_port *port);

#endif /* FAKE_PORT_H */
