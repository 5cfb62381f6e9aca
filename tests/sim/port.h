/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.h - the machine under a simulated NIC: hal/unic_port.h on virtual time.
 *
 * Secret: when DMA happens. A transfer is carried out at once, or PENDING and
 * later, as the seed says: writes become visible in the order they were
 * submitted (the contract), reads overtake each other and wait for earlier
 * writes, and completions are reported when they come. Or the port copies: then
 * the core may look at host memory itself, and what it does there is found by
 * view.h and told as a transfer is. Frames come and go singly or in runs.
 */
#ifndef SIM_PORT_H
#define SIM_PORT_H

#include "sim.h"
#include "unic_port.h"
#include "view.h"

#ifndef PORT_SLOTS	   /* the evaluation has larger machines */
#define PORT_SLOTS	3u /* process slots = DMA windows, = UNIC_PROCS */
#define PORT_SLOT_BYTES (256u * 1024u)
#endif
#define PORT_FRAME_MAX 4200u
#define PORT_RX	       64u
#define PORT_XFERS     64u
#define PORT_RUN       8u

struct port_frame {
	uint32_t len, flags;
	uint8_t pad[2];
	uint8_t bytes[PORT_FRAME_MAX + 6]; /* address = 2 modulo 4 */
};

enum port_kind {
	PORT_LATE,    /* DMA takes time; frames come one by one */
	PORT_COPYING, /* DMA is a copy: windows, and runs of frames */
	PORT_MOODY, /* both: windows now and then, while no DMA is under way */
	PORT_KINDS,
};

/* Odds in parts per million, times in ns. */
struct port_odds {
	uint32_t late_ppm;  /* a transfer answers PENDING ... */
	uint32_t late_ns;   /* ... for up to this long */
	uint32_t again_ppm; /* it answers EAGAIN */
	uint32_t bus_ppm;   /* it fails on the bus */
	uint32_t full_ppm;  /* the link has no buffer */
};

struct unic_port {
	uint8_t id;
	enum port_kind kind;
	uint8_t *bar;
	uint8_t *window[PORT_SLOTS];
	bool icrc; /* frames carry and check it */
	struct port_odds odds;
	struct sim_rng rng;
	uint64_t on_ns; /* power-on */
	/* who is told, set by the world */
	void *user;
	void (*moved)(struct unic_port *p, enum unic_port_dma_dir dir,
		      uint64_t bus, const void *host, uint32_t len);
	/* by the core itself, through a window; it may not be open any more */
	void (*written)(struct unic_port *p, uint64_t bus, const void *host,
			uint32_t len);
	void (*wake)(struct unic_port *p);
	void (*rung)(struct unic_port *p, uint32_t vector);
	void (*sent)(struct unic_port *p, const uint8_t *frame, uint32_t len,
		     uint32_t flags);
	void (*panic)(struct unic_port *p, const char *file, uint32_t line);
	/* accounts for the checkers, over all power cycles */
	uint64_t moved_bytes, tx_frames, tx_bytes, rx_frames, rx_overrun,
		rx_lost, refused;
	/* its own */
	uint32_t power; /* +1 at each power cut: events of before are void */
	uint32_t xfers, first_done, n_done;
	uint64_t write_ns; /* the last pending write is due then */
	uint64_t busy_ns;  /* no room on the link before; set by a slow wire */
	bool room_due;	   /* and the core will be told then */
	struct {
		uint32_t tag;
		int status;
	} done[PORT_XFERS];
	struct port_frame rx[PORT_RX];
	uint32_t rx_head, rx_tail, rx_done;
	uint32_t rx_ran; /* of the last run, may be given back */
	uint32_t tx_held;
	uint32_t tx_ran; /* frames of a run that was got and not yet put */
	bool armed;
	uint8_t tx[UNIC_TX_BUFS][PORT_FRAME_MAX + 8];
	uint8_t run[PORT_RUN][PORT_FRAME_MAX + 8];
	struct view view;
};

/** port_init() - @p is zeroed; its memory and `sent` ... are set by the caller
 * afterwards. */
void port_init(struct unic_port *p, uint8_t id);

/** port_poll_over() - the core returns: no window is in use, no run half sent. */
void port_poll_over(struct unic_port *p);

/** port_power_cut() - transfers under way and frames received vanish; a new
 * life begins. */
void port_power_cut(struct unic_port *p);

/** port_deliver() - a frame arrives. */
void port_deliver(struct unic_port *p, const uint8_t *frame, uint32_t len,
		  uint32_t flags);

/** port_mac() - address of NIC @id. */
void port_mac(uint8_t id, uint8_t mac[6]);

#endif /* SIM_PORT_H */
