/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * emac.h - the Ethernet controller of the Tiva C family, which moves frames by
 * itself between the wire and RAM (TM4C1294NCPDT data sheet, chapter 20; a Synopsys
 * MAC with descriptors of eight words).
 *
 * Secret: who owns a frame buffer - the controller, the core, or nobody.
 *
 * Nothing is copied. The controller can begin a frame at any byte, so each buffer is
 * given to it from its third byte on, 2 modulo 4 (data sheet 20.3.2.2, "Data buffer
 * alignment"). It stores whole words, which is why a buffer begins and ends at one.
 *
 * A frame to this NIC itself never leaves: no switch sends it back. Its transmit
 * buffer is given to the core as a received one.
 */
#ifndef EMAC_H
#define EMAC_H

#include "emac_link.h"
#include "unic_port.h"

#define EMAC_MAX_FRAME 1518u /* Ethernet's, without its FCS, with a tag */
#define EMAC_STRIDE    1528u
#define EMAC_TX	       8u
/* UNIC_RX_BUFS are the core's at most, and the controller needs some meanwhile */
#define EMAC_RX (UNIC_RX_BUFS + 8u)

enum emac_status {
	EMAC_OK = 0,
	EMAC_ENODEV = -1, /* there is none */
	EMAC_ETIME = -2,  /* it stays in reset: no clock from the PHY */
};

/* As the controller reads it: data sheet 20.3.2.5, enhanced descriptors. */
struct emac_desc {
	volatile uint32_t status;
	volatile uint32_t sizes;
	volatile uint32_t buffer;
	volatile uint32_t next;
	volatile uint32_t rsvd[4]; /* the controller may write them */
};

struct emac_counts {
	uint32_t rx_bad;    /* damaged, or of an impossible length */
	uint32_t rx_missed; /* no buffer was free, or the FIFO was full */
	uint32_t tx_bad;    /* not sent: no carrier, collisions */
	uint32_t tx_lost;   /* there was no link */
	uint32_t resets;    /* after a bus error, or because nothing moved */
};

struct emac {
	struct emac_desc rxd[EMAC_RX];
	struct emac_desc txd[EMAC_TX];
	uint8_t rx[EMAC_RX][EMAC_STRIDE] __attribute__((aligned(4)));
	uint8_t tx[EMAC_TX][EMAC_STRIDE] __attribute__((aligned(4)));
	uintptr_t regs; /* 0: no controller */
	struct emac_link link;
	struct emac_counts counts;
	volatile uint32_t alarms; /* DMA status of errors, by the handler */
	uint32_t mask;		  /* enabled interrupts */
	/* free-running; descriptor = count modulo EMAC_RX or EMAC_TX */
	uint32_t rx_taken, rx_released;
	uint32_t tx_put, tx_sent;
	uint8_t tx_id[EMAC_TX]; /* of a descriptor: its buffer */
	uint8_t hold;		/* looks for which frames wait for the link */
	uint8_t tx_free;	/* bit i: transmit buffer i */
	uint8_t tx_held;	/* bit i: it is the core's */
	/* frames to ourselves: free-running as well */
	uint32_t home_put, home_taken, home_released;
	struct emac_home {
		uint8_t id; /* of its transmit buffer */
		uint16_t len;
	} home[EMAC_TX];
	uint64_t look_ns;  /* the next look at counters */
	uint64_t moved_ns; /* a frame was sent, or none waited */
	uint64_t retry_ns; /* not started anew before */
	uint8_t mac[6];
};

/**
 * emac_init() - reset and start the controller at @regs. Its clock and that of its
 * PHY are on, and both are out of reset. Frames come and go once there is a link.
 * @emac: zeroed. @regs: 0: there is none. @hz: clock of the processor, 20 MHz or more.
 * Returns an enum emac_status; on an error there is no link.
 */
int emac_init(struct emac *emac, uintptr_t regs, uint32_t hz,
	      const uint8_t mac[6]);

/**
 * emac_turn() - between two rounds: look after the link, and recover. After a bus
 * error, or if a frame has not moved for a second, the controller is started anew;
 * frames in its rings are lost then, buffers that the core holds are not.
 * Returns true if the link is another one now.
 */
bool emac_turn(struct emac *emac, uint64_t now_ns);

/** emac_lost() - frames lost since power-on, either way. */
static inline uint32_t emac_lost(const struct emac *emac)
{
	const struct emac_counts *n = &emac->counts;

	return n->rx_bad + n->rx_missed + n->tx_bad + n->tx_lost;
}

/** emac_irq() - its interrupt was taken. */
void emac_irq(struct emac *emac);

/**
 * The rest is unic_port.h, one to one; see there. For four seconds without a link
 * emac_tx_get() has no buffer: the first frames wait until the link is negotiated.
 * Then frames are lost, as on any cable that nothing is at.
 */
void emac_info(const struct emac *emac, struct unic_link *out);
uint8_t *emac_tx_get(struct emac *emac);
void emac_tx_put(struct emac *emac, uint8_t *frame, uint32_t len);
bool emac_rx_ready(const struct emac *emac);
bool emac_rx_next(struct emac *emac, struct unic_rx *rx);
void emac_rx_done(struct emac *emac);
void emac_rx_arm(struct emac *emac, bool on);

#endif /* EMAC_H */
