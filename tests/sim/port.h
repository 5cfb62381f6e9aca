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
	bool damaged;
	uint8_t pad;
	uint8_t bytes[PORT_FRAME_MAX + 2]; /* address = 2 modulo 4 */
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

/* What the processor takes for what the seam sees, in ns, and in ps for a byte.
 * All 0: no time, and polls come when the world says. */
struct port_cost {
	uint32_t idle;		/* a poll that finds nothing to do */
	uint32_t round;		/* one that does */
	uint32_t rx, tx;	/* a frame */
	uint32_t full;		/* no room for a frame */
	uint32_t dma, byte_ps;	/* a transfer, and each byte of it */
	uint32_t bell;		/* a doorbell word */
	uint32_t command, page; /* a command, and each page of its list */
};

/*
 * A link of some rate. Frames wait in a queue of it, of which there is one for each
 * destination, with a rate of its own, or one for all, and from there on in a ring
 * until the NIC there is through with them; it takes what is in one ring, then
 * what is in the next. byte_ps 0: the link has room.
 */
struct port_link {
	uint32_t byte_ps;     /* a byte takes */
	uint32_t frame_bytes; /* of each frame, beside its own */
	uint32_t queue_bytes; /* that wait, at most, before another is taken */
	uint32_t ring;	      /* frames of a queue on their way */
	uint32_t delay_ns;
	bool one;    /* queue for all destinations */
	bool prompt; /* destinations take what comes, so rings fill only when
		      * one stands */
};

struct unic_port {
	uint8_t id;
	enum port_kind kind;
	uint8_t *bar;
	uint8_t *window[PORT_SLOTS];
	bool icrc; /* frames carry and check it */
	struct port_odds odds;
	struct port_cost cost;
	struct port_link link;
	struct sim_rng rng;
	uint64_t on_ns; /* power-on */
	/* who is told, set by the world */
	void *user;
	void (*moved)(struct unic_port *p, enum unic_port_dma_dir dir,
		      uint64_t bus, const void *host, uint32_t len);
	/* a window opens: the core may read all of it */
	void (*shown)(struct unic_port *p, uint64_t bus, const void *host,
		      uint32_t len);
	/* by the core itself, through a window; it may not be open any more */
	void (*written)(struct unic_port *p, uint64_t bus, const void *host,
			uint32_t len);
	void (*wake)(struct unic_port *p);
	void (*rung)(struct unic_port *p, uint32_t vector);
	void (*sent)(struct unic_port *p, const uint8_t *frame, uint32_t len,
		     uint32_t flags);
	void (*panic)(struct unic_port *p, const char *file, uint32_t line);
	/* the core looks at a frame; it may do so again */
	void (*took)(struct unic_port *p, const uint8_t *frame, uint32_t len);
	/* with a link: through with a frame of NIC @from */
	void (*taken)(struct unic_port *p, uint32_t from);
	/* deliver what is in the next ring, UNIC_RX_BUFS frames at most */
	void (*fetch)(struct unic_port *p);
	/* accounts for the checkers, over all power cycles */
	uint64_t moved_bytes, tx_frames, tx_bytes, rx_frames, rx_overrun,
		rx_lost, refused;
	/* its own */
	uint32_t power; /* +1 at each power cut: events of before are void */
	uint32_t xfers, first_done, n_done;
	uint64_t write_ns;    /* the last pending write is due then */
	const void *stall_at; /* NULL, or: the bus is busy once this is read */
	uint64_t stall_for_ns;
	uint64_t stall_ns;  /* until then the bus takes no transfer */
	uint64_t busy_ns;   /* no room on the link before; set by a slow wire */
	bool room_due;	    /* and the core will be told then */
	uint64_t spent_ps;  /* in this poll so far */
	bool worked;	    /* in this poll */
	uint64_t worked_ns; /* in all polls that found something */
	struct {
		uint64_t busy_ps; /* until then */
		uint32_t ring;	  /* frames in it */
		bool due;	  /* the core will be told of room in it */
	} queue[PORT_PEERS];
	struct {
		uint32_t tag;
		int status;
	} done[PORT_XFERS];
	struct port_frame rx[PORT_RX];
	uint32_t rx_head, rx_tail, rx_done;
	uint32_t rx_rings; /* frames in rings of others */
	uint32_t rx_ran;   /* of the last run, may be given back */
	uint32_t tx_held;
	uint32_t tx_ran; /* frames of a run that was got and not yet put */
	bool armed;
	uint32_t room[PORT_PEERS]; /* frames that a path takes */
	uint8_t run_path;	   /* of the run got last */
	uint8_t tx[UNIC_TX_BUFS][PORT_FRAME_MAX + 8];
	uint8_t run[PORT_RUN][PORT_FRAME_MAX + 8];
	struct view view;
};

/** port_init() - @p is zeroed; its memory and `sent` ... are set by the caller
 * afterwards. */
void port_init(struct unic_port *p, uint8_t id);

/** port_poll_over() - the core returns: no window is in use, no run half sent. */
void port_poll_over(struct unic_port *p);

/** port_spend() - the processor takes @n times @ns, for work that was found. */
void port_spend(struct unic_port *p, uint64_t n, uint32_t ns);

/** port_poll_ns() - what the poll took that is over, and nothing is spent any
 * more. */
uint64_t port_poll_ns(struct unic_port *p);

/** port_link_put() - a frame of @len bytes for NIC @to is on the link. Returns
 * when it has left. */
uint64_t port_link_put(struct unic_port *p, uint32_t to, uint32_t len);

/** port_link_taken() - NIC @to is through with one of our frames. */
void port_link_taken(struct unic_port *p, uint32_t to);

/** port_power_cut() - transfers under way and frames received vanish; a new
 * life begins. */
void port_power_cut(struct unic_port *p);

/**
 * port_room() - the path to NIC @to takes @frames more frames, then none until this is called
 * again. PORT_ENDLESS: as many as come, which is so at first.
 */
void port_room(struct unic_port *p, uint32_t to, uint32_t frames);

/** port_stall() - the bus takes no transfer before @until_ns; those under way end. */
void port_stall(struct unic_port *p, uint64_t until_ns);

/** port_stall_at() - the same for @ns from when the core has read byte @host of its
 * host's memory. */
void port_stall_at(struct unic_port *p, const void *host, uint64_t ns);

#define PORT_DAMAGED (1u << 31) /* a flag of a frame that nobody takes */

/** port_deliver() - a frame of NIC @from arrives. */
void port_deliver(struct unic_port *p, uint32_t from, const uint8_t *frame,
		  uint32_t len, uint32_t flags);

/** port_mac() - address of NIC @id. */
void port_mac(uint8_t id, uint8_t mac[6]);

#endif /* SIM_PORT_H */
