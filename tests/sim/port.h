/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.h - the machine under a simulated NIC: hal/unic_port.h on virtual time.
 *
 * Secret: when DMA happens. A transfer is carried out at once, or PENDING and
 * later, as the seed says: writes become visible in the order they were submitted
 * (the contract), reads overtake each other and wait for earlier writes, and
 * completions are reported when they come. Or the port copies: then the core may
 * look at host memory itself, and what it writes there is found by view.h and
 * reported as a transfer is. Frames come and go singly or in runs.
 *
 * The processor takes no time and the link has room, unless the machine is given
 * a `cost` and a `link`.
 */
#ifndef SIM_PORT_H
#define SIM_PORT_H

#include "sim.h"
#include "unic_port.h"
#include "view.h"

#ifndef PORT_SLOTS
#define PORT_SLOTS 3u /* process slots = DMA windows, at least UNIC_PROCS */
#endif
#ifndef PORT_SLOT_BYTES
#define PORT_SLOT_BYTES (1024u * 1024u)
#endif
#define PORT_FRAME_MAX 4200u
#ifndef PORT_RX
#define PORT_RX 64u
#endif
#define PORT_XFERS   64u
#define PORT_RUN     8u
#define PORT_PEERS   8u /* NICs on the wire */
#define PORT_ENDLESS UINT32_MAX

struct port_frame {
	uint32_t len, flags, from;
	bool damaged, forged;
	uint8_t bytes[PORT_FRAME_MAX + 2]; /* at 2 modulo 4 */
};

enum port_kind {
	PORT_LATE,    /* DMA takes time; frames come one by one */
	PORT_COPYING, /* DMA is a copy: windows, and runs of frames */
	PORT_MOODY, /* both: windows now and then, while no DMA is under way */
	PORT_KINDS,
};

/* Odds in parts per million, times in ns. */
struct port_odds {
	uint32_t late_ppm;  /* a transfer answers PENDING */
	uint32_t late_ns;   /* time of a PENDING transfer, at most */
	uint32_t again_ppm; /* the transfer answers EAGAIN */
	uint32_t bus_ppm;   /* the transfer fails on the bus */
	uint32_t full_ppm;  /* the link has no buffer */
};

/* The time of the processor for work that the port sees, in ns, and in ps per
 * byte. All 0: no time, and the world sets the time of polls. */
struct port_cost {
	uint32_t idle;		/* a poll without work */
	uint32_t round;		/* a poll with work */
	uint32_t rx, tx;	/* a frame */
	uint32_t full;		/* no room for a frame */
	uint32_t dma, byte_ps;	/* per transfer, and per byte of it */
	uint32_t bell;		/* a doorbell word */
	uint32_t command, page; /* per command, and per page of its list */
};

/*
 * A link with a rate. It has a queue for each destination, each of this rate,
 * or one queue for all. From there frames go to a ring at the destination,
 * which takes the frames of one ring, then those of the next. byte_ps 0: the
 * link always has room.
 */
struct port_link {
	uint32_t byte_ps;     /* time of a byte */
	uint32_t frame_bytes; /* added to the bytes of each frame */
	/* a frame is taken while no more bytes than this wait */
	uint32_t queue_bytes;
	uint32_t ring; /* frames of a queue that are under way */
	uint32_t delay_ns;
	bool one; /* one queue for all destinations */
	/* destinations take frames at once, so rings fill only when a
	 * destination stands still */
	bool prompt;
};

struct unic_port {
	uint8_t id;
	enum port_kind kind;
	uint8_t *bar;
	uint8_t *window[PORT_SLOTS];
	bool icrc; /* frames carry an ICRC, which is checked */
	struct port_odds odds;
	struct port_cost cost;
	struct port_link link;
	struct sim_rng rng;
	uint64_t on_ns; /* time of power-on */
	/* argument of the calls below, set by the world */
	void *user;
	void (*moved)(struct unic_port *p, enum unic_port_dma_dir dir,
		      uint64_t bus, const void *host, uint32_t len);
	/* a window opens: the core may read all of it */
	void (*shown)(struct unic_port *p, uint64_t bus, const void *host,
		      uint32_t len);
	/* the core wrote through a window, which may be closed */
	void (*written)(struct unic_port *p, uint64_t bus, const void *host,
			uint32_t len);
	void (*wake)(struct unic_port *p);
	void (*rung)(struct unic_port *p, uint32_t vector);
	void (*sent)(struct unic_port *p, const uint8_t *frame, uint32_t len,
		     uint32_t flags);
	void (*panic)(struct unic_port *p, const char *file, uint32_t line);
	/* the core reads a frame, perhaps again */
	void (*took)(struct unic_port *p, const uint8_t *frame, uint32_t len,
		     bool forged);
	/* with a link: the core has finished with a frame of NIC @from */
	void (*taken)(struct unic_port *p, uint32_t from);
	/* deliver the frames of the next ring, UNIC_RX_BUFS at most */
	void (*fetch)(struct unic_port *p);
	/* counts for the checkers, over all power cycles */
	uint64_t moved_bytes, tx_frames, tx_bytes, rx_frames, rx_overrun,
		rx_lost, refused;
	/* private to port.c */
	uint32_t power; /* +1 at each power cut: earlier events are void */
	uint32_t xfers, first_done, n_done;
	uint64_t write_ns; /* when the last pending write ends */
	/* NULL, or: the bus is busy once this byte is read */
	const void *stall_at;
	uint64_t stall_for_ns;
	uint64_t stall_ns; /* until then the bus takes no transfer */
	/* until then the link has no room; set by a slow wire */
	uint64_t busy_ns;
	bool room_due;	    /* the core is woken at busy_ns */
	uint64_t spent_ps;  /* spent in this poll */
	bool worked;	    /* this poll had work */
	uint64_t worked_ns; /* spent in all polls with work */
	struct {
		uint64_t busy_ps; /* busy until then */
		uint32_t ring;	  /* frames in the ring */
		bool due;	  /* the core is woken when the ring has room */
	} queue[PORT_PEERS];
	struct {
		uint32_t tag;
		int status;
	} done[PORT_XFERS];
	struct port_frame rx[PORT_RX];
	uint32_t rx_head, rx_tail, rx_done;
	uint32_t rx_rings; /* frames in rings of other NICs */
	uint32_t rx_ran;   /* frames of the last run, which may be given back */
	bool was_full;	   /* by chance, at any time */
	uint32_t tx_held;
	uint32_t tx_ran; /* frames of a run that were got and not put */
	bool armed;
	uint32_t room[PORT_PEERS]; /* room of each path, in frames */
	uint8_t run_path;	   /* path of the last run */
	uint8_t tx[UNIC_TX_BUFS][PORT_FRAME_MAX + 8];
	uint8_t run[PORT_RUN][PORT_FRAME_MAX + 8];
	struct view view;
};

/** port_init() - @p is zeroed; its memory and `sent` ... are set by the caller
 * afterwards. */
void port_init(struct unic_port *p, uint8_t id);

/** port_poll_over() - end of a poll: no window is in use, no run half sent. */
void port_poll_over(struct unic_port *p);

/** port_spend() - charge the processor @n times @ns, for work that was found. */
void port_spend(struct unic_port *p, uint64_t n, uint32_t ns);

/** port_poll_ns() - return the time of the poll that has ended, and start from
 * 0. */
uint64_t port_poll_ns(struct unic_port *p);

/** port_link_put() - put a frame of @len bytes for NIC @to on the link. Returns
 * when it has left. */
uint64_t port_link_put(struct unic_port *p, uint32_t to, uint32_t len);

/** port_link_taken() - NIC @to has finished with a frame of this one. */
void port_link_taken(struct unic_port *p, uint32_t to);

/** port_power_cut() - drop transfers under way and frames received; a new life
 * begins. */
void port_power_cut(struct unic_port *p);

/**
 * port_room() - let the path to NIC @to take @frames more frames, and no more
 * until the next call. PORT_ENDLESS, as at first: any number.
 */
void port_room(struct unic_port *p, uint32_t to, uint32_t frames);

/** port_stall() - stop the bus until @until_ns; transfers under way end. */
void port_stall(struct unic_port *p, uint64_t until_ns);

/** port_stall_at() - stop the bus for @ns once the core has read byte @host of
 * its host's memory. */
void port_stall_at(struct unic_port *p, const void *host, uint64_t ns);

/* a flag of a frame that the receiver must drop */
#define PORT_DAMAGED (1u << 31)
/* a flag of a frame of the attacker */
#define PORT_FORGED (1u << 30)

/** port_deliver() - give @p a frame of NIC @from. */
void port_deliver(struct unic_port *p, uint32_t from, const uint8_t *frame,
		  uint32_t len, uint32_t flags);

/** port_mac() - address of NIC @id. */
void port_mac(uint8_t id, uint8_t mac[6]);

#endif /* SIM_PORT_H */
