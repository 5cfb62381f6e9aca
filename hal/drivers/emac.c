/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "emac.h"

#include <string.h>

#define CFG	  0x000u
#define FRAMEFLTR 0x004u
#define IM	  0x03cu
#define ADDR0H	  0x040u
#define ADDR0L	  0x044u
#define MMCRXIM	  0x10cu
#define MMCTXIM	  0x110u
#define DMABUSMOD 0xc00u
#define TXPOLLD	  0xc04u
#define RXPOLLD	  0xc08u
#define RXDLADDR  0xc0cu
#define TXDLADDR  0xc10u
#define DMARIS	  0xc14u
#define DMAOPMODE 0xc18u
#define DMAIM	  0xc1cu
#define MFBOC	  0xc20u

#define CFG_MII	 (1u << 15)
#define CFG_ON	 (3u << 2) /* transmitter, receiver */
#define CFG_100	 (1u << 14)
#define CFG_FULL (1u << 11)

/* Our address, and broadcasts: every other bit of the filter is 0. */
#define FRAMEFLTR_OURS 0u
#define ADDR0H_ON      (1u << 31)

#define IM_NONE 0x608u /* set: masked */

#define BUSMOD_RESET (1u << 0)
/* mixed bursts of 4 words, descriptors of 8, and the receiver first */
#define BUSMOD_ON (1u << 26 | 4u << 8 | 1u << 7 | 1u << 1)
/* whole frames through both FIFOs, none longer than Ethernet's; the next frame is
 * fetched while one is sent; both directions run */
#define OPMODE_ON (1u << 25 | 1u << 21 | 1u << 13 | 1u << 5 | 1u << 2 | 1u << 1)

/* EMACDMARIS and EMACDMAIM have the same bits. */
#define INT_NORMAL   (1u << 16)
#define INT_ABNORMAL (1u << 15)
#define INT_BUS	     (1u << 13)
#define INT_STOPPED  (1u << 8) /* the receiver, and nobody told it to */
#define INT_RX	     (1u << 6)
#define INT_UNDERRUN (1u << 5)
#define INT_JABBER   (1u << 3)
#define INT_TX	     (1u << 0)
#define INT_ALL	     0x1ffffu
#define INT_ALARMS   (INT_BUS | INT_STOPPED | INT_UNDERRUN | INT_JABBER)
#define INT_ON	     (INT_NORMAL | INT_ABNORMAL | INT_ALARMS)

#define DESC_OWN   (1u << 31) /* the controller's */
#define TX_WHOLE   (7u << 28) /* first and last piece in one; interrupt */
#define TX_CHAINED (1u << 20)
#define TX_ERROR   (1u << 15)
#define RX_CHAINED (1u << 14) /* in the word of sizes */
#define RX_WHOLE   (3u << 8)  /* first and last piece in one */
#define RX_ERROR   (1u << 15)

#define HEAD_BYTES  2u /* before each frame: its address is 2 modulo 4 */
#define FCS_BYTES   4u
#define MIN_FRAME   14u
#define RX_BYTES    (HEAD_BYTES + EMAC_MAX_FRAME + FCS_BYTES)
#define TX_ALL	    ((1u << EMAC_TX) - 1u)
#define RESET_LOOKS 100000u
#define LOOK_NS	    100000000u
#define STUCK_NS    1000000000u
#define HOLD_LOOKS  40u

_Static_assert(RX_BYTES % 4 == 0 && RX_BYTES + HEAD_BYTES <= EMAC_STRIDE,
	       "a frame fits its buffer, and the buffer is whole words");
_Static_assert(EMAC_STRIDE % 4 == 0 && EMAC_TX <= 8, "words; bits of a byte");
_Static_assert(sizeof(struct emac_desc) == 32, "BUSMOD_ON says so");

static volatile uint32_t *emac_reg(const struct emac *emac, uint32_t off)
{
	return (volatile uint32_t *)(emac->regs + off);
}

static uint32_t bus_address(const volatile void *p)
{
	return (uint32_t)(uintptr_t)p;
}

/* All that was written is in RAM before the controller hears of it. */
static void finish_writes(void)
{
	__asm__ volatile("dsb" ::: "memory");
}

static void enable_dma_irqs(struct emac *emac, uint32_t mask)
{
	if (mask == emac->mask || !emac->regs)
		return;
	emac->mask = mask;
	*emac_reg(emac, DMAIM) = mask;
}

/* ---------------------------------------------------------------- start-up */

static void make_rings(struct emac *emac)
{
	uint32_t i;

	for (i = 0; i < EMAC_RX; i++) {
		emac->rxd[i].sizes = RX_CHAINED | RX_BYTES;
		emac->rxd[i].buffer = bus_address(emac->rx[i] + HEAD_BYTES);
		emac->rxd[i].next = bus_address(&emac->rxd[(i + 1) % EMAC_RX]);
		emac->rxd[i].status = DESC_OWN;
	}
	for (i = 0; i < EMAC_TX; i++) {
		emac->txd[i].status = TX_CHAINED;
		emac->txd[i].next = bus_address(&emac->txd[(i + 1) % EMAC_TX]);
	}
	emac->rx_taken = emac->rx_released = 0;
	emac->tx_put = emac->tx_sent = 0;
}

static bool reset_emac(const struct emac *emac)
{
	uint32_t looks;

	*emac_reg(emac, DMABUSMOD) = BUSMOD_RESET;
	for (looks = 0; looks < RESET_LOOKS; looks++)
		if (!(*emac_reg(emac, DMABUSMOD) & BUSMOD_RESET))
			return true;
	return false;
}

/* The low word of the address makes both take effect. */
static void set_own_address(const struct emac *emac)
{
	const uint8_t *mac = emac->mac;

	*emac_reg(emac, ADDR0H) = ADDR0H_ON | mac[4] | (uint32_t)mac[5] << 8;
	*emac_reg(emac, ADDR0L) = mac[0] | (uint32_t)mac[1] << 8 |
				  (uint32_t)mac[2] << 16 |
				  (uint32_t)mac[3] << 24;
}

static void set_link(const struct emac *emac)
{
	uint32_t state = emac->link.state, cfg = CFG_MII;

	if (state)
		cfg |= CFG_ON;
	if (state & EMAC_LINK_100)
		cfg |= CFG_100;
	if (state & EMAC_LINK_FULL)
		cfg |= CFG_FULL;
	*emac_reg(emac, CFG) = cfg;
}

/* Counters and time stamps of the MAC interrupt unless they are masked. */
static void mask_mac(const struct emac *emac)
{
	*emac_reg(emac, MMCRXIM) = ~0u;
	*emac_reg(emac, MMCTXIM) = ~0u;
	*emac_reg(emac, IM) = IM_NONE;
}

static int start_emac(struct emac *emac)
{
	/* the controller owns descriptors until it is reset */
	bool is_reset = reset_emac(emac);

	make_rings(emac);
	if (!is_reset)
		return EMAC_ETIME;
	*emac_reg(emac, DMABUSMOD) = BUSMOD_ON;
	mask_mac(emac);
	set_own_address(emac);
	*emac_reg(emac, FRAMEFLTR) = FRAMEFLTR_OURS;
	*emac_reg(emac, RXDLADDR) = bus_address(emac->rxd);
	*emac_reg(emac, TXDLADDR) = bus_address(emac->txd);
	*emac_reg(emac, DMARIS) = INT_ALL;
	emac->mask = INT_ON;
	*emac_reg(emac, DMAIM) = INT_ON;
	finish_writes();
	*emac_reg(emac, DMAOPMODE) = OPMODE_ON;
	set_link(emac);
	return EMAC_OK;
}

int emac_init(struct emac *emac, uintptr_t regs, uint32_t hz,
	      const uint8_t mac[6])
{
	int status;

	emac->regs = regs;
	memcpy(emac->mac, mac, sizeof(emac->mac));
	emac->tx_free = TX_ALL;
	emac_link_init(&emac->link, regs, hz);
	if (!regs) {
		make_rings(emac);
		emac->hold = HOLD_LOOKS;
		return EMAC_ENODEV;
	}
	status = start_emac(emac);
	if (status != EMAC_OK)
		emac->alarms = INT_BUS; /* again later: emac_turn() */
	return status;
}

void emac_info(const struct emac *emac, struct unic_link *out)
{
	memset(out, 0, sizeof(*out));
	memcpy(out->mac, emac->mac, sizeof(out->mac));
	out->up = emac->link.state != 0;
	out->max_frame = EMAC_MAX_FRAME;
}

/* ---------------------------------------------------------------- transmit */

/* Takes back the buffers of frames that were sent. */
static void reclaim(struct emac *emac)
{
	while (emac->tx_sent != emac->tx_put) {
		uint32_t at = emac->tx_sent % EMAC_TX;
		uint32_t status = emac->txd[at].status;

		if (status & DESC_OWN)
			return;
		if (status & TX_ERROR)
			emac->counts.tx_bad++;
		emac->tx_free |= (uint8_t)(1u << emac->tx_id[at]);
		emac->tx_sent++;
	}
}

/* A frame that was sent ends a sleep only if the core waits for its buffer. Its
 * interrupt is pending already if it was sent since the look. */
static void want_buffer(struct emac *emac, bool wanted)
{
	enable_dma_irqs(emac,
			wanted ? emac->mask | INT_TX : emac->mask & ~INT_TX);
}

/* For HOLD_LOOKS what is to be sent waits for the link. */
static bool is_waiting(const struct emac *emac)
{
	return !emac->link.state && emac->hold < HOLD_LOOKS;
}

uint8_t *emac_tx_get(struct emac *emac)
{
	uint32_t id;

	if (is_waiting(emac))
		return NULL;
	if (!emac->tx_free)
		reclaim(emac);
	want_buffer(emac, !emac->tx_free);
	if (!emac->tx_free)
		return NULL;
	id = (uint32_t)__builtin_ctz(emac->tx_free);
	emac->tx_free &= (uint8_t) ~(1u << id);
	emac->tx_held |= (uint8_t)(1u << id);
	return emac->tx[id] + HEAD_BYTES;
}

static void bring_home(struct emac *emac, uint32_t id, uint32_t len)
{
	struct emac_home *home = &emac->home[emac->home_put++ % EMAC_TX];

	home->id = (uint8_t)id;
	home->len = (uint16_t)len;
}

/* There is a descriptor for every buffer. */
static void queue_frame(struct emac *emac, uint32_t id, uint32_t len)
{
	uint32_t at = emac->tx_put % EMAC_TX;
	struct emac_desc *d = &emac->txd[at];

	emac->tx_id[at] = (uint8_t)id;
	d->buffer = bus_address(emac->tx[id] + HEAD_BYTES);
	d->sizes = len;
	finish_writes();
	d->status = DESC_OWN | TX_WHOLE | TX_CHAINED;
	emac->tx_put++;
	finish_writes();
	*emac_reg(emac, TXPOLLD) = 1;
}

/* Without a link, or without a controller, no descriptor would come back. */
static void send_or_lose(struct emac *emac, uint32_t id, uint32_t len)
{
	if (emac->link.state) {
		queue_frame(emac, id, len);
		return;
	}
	emac->tx_free |= (uint8_t)(1u << id);
	emac->counts.tx_lost++;
}

void emac_tx_put(struct emac *emac, uint8_t *frame, uint32_t len)
{
	uint32_t id = (uint32_t)(frame - emac->tx[0]) / EMAC_STRIDE;

	emac->tx_held &= (uint8_t) ~(1u << id);
	if (!len || len > EMAC_MAX_FRAME)
		emac->tx_free |= (uint8_t)(1u << id);
	else if (!memcmp(frame, emac->mac, sizeof(emac->mac)))
		bring_home(emac, id, len);
	else
		send_or_lose(emac, id, len);
}

/* ----------------------------------------------------------------- receive */

static const struct emac_desc *next_received(const struct emac *emac)
{
	return &emac->rxd[emac->rx_taken % EMAC_RX];
}

static bool is_home(const struct emac *emac)
{
	return emac->home_taken != emac->home_put;
}

bool emac_rx_ready(const struct emac *emac)
{
	return is_home(emac) || !(next_received(emac)->status & DESC_OWN);
}

/* The bytes of the frame; 0: it is none (unic_port_rx_next()), or a piece of one
 * that is longer than a buffer. */
static uint32_t length_of(struct emac *emac, uint32_t status)
{
	uint32_t bytes = status >> 16 & 0x3fff;

	if ((status & (RX_WHOLE | RX_ERROR)) == RX_WHOLE &&
	    bytes >= MIN_FRAME + FCS_BYTES &&
	    bytes <= EMAC_MAX_FRAME + FCS_BYTES)
		return bytes - FCS_BYTES;
	emac->counts.rx_bad++;
	return 0;
}

static void take_home(struct emac *emac, struct unic_rx *rx)
{
	const struct emac_home *home =
		&emac->home[emac->home_taken++ % EMAC_TX];

	rx->frame = emac->tx[home->id] + HEAD_BYTES;
	rx->len = home->len;
}

bool emac_rx_next(struct emac *emac, struct unic_rx *rx)
{
	uint32_t at = emac->rx_taken % EMAC_RX;
	uint32_t status = emac->rxd[at].status;

	rx->flags = 0;
	if (is_home(emac)) {
		take_home(emac, rx);
		return true;
	}
	if (status & DESC_OWN ||
	    emac->rx_taken - emac->rx_released == UNIC_RX_BUFS)
		return false;
	unic_rmb();
	emac->rx_taken++;
	rx->frame = emac->rx[at] + HEAD_BYTES;
	rx->len = length_of(emac, status);
	return true;
}

static void release_home(struct emac *emac)
{
	while (emac->home_released != emac->home_taken) {
		uint32_t at = emac->home_released++ % EMAC_TX;

		emac->tx_free |= (uint8_t)(1u << emac->home[at].id);
	}
}

/* The controller rests when it finds no buffer: it is told that there are some,
 * before a frame that comes finds it resting. */
void emac_rx_done(struct emac *emac)
{
	release_home(emac);
	if (emac->rx_released == emac->rx_taken)
		return;
	finish_writes(); /* the core's reads are over */
	while (emac->rx_released != emac->rx_taken)
		emac->rxd[emac->rx_released++ % EMAC_RX].status = DESC_OWN;
	finish_writes();
	*emac_reg(emac, RXPOLLD) = 1;
}

/* Frames that are there already cause no interrupt: the core polls after it has
 * armed. */
void emac_rx_arm(struct emac *emac, bool on)
{
	if (!emac->regs)
		return;
	if (on)
		*emac_reg(emac, DMARIS) = INT_NORMAL | INT_RX;
	enable_dma_irqs(emac, on ? emac->mask | INT_RX : emac->mask & ~INT_RX);
}

/* ---------------------------------------------------------------- recovery */

void emac_irq(struct emac *emac)
{
	uint32_t status = *emac_reg(emac, DMARIS) & INT_ALL;

	*emac_reg(emac, DMARIS) = status;
	emac->alarms |= status & INT_ALARMS;
}

/* Counts what was lost for want of a buffer or of room in the FIFO. Reading the
 * register clears it. */
static void count_missed(struct emac *emac)
{
	uint32_t missed = *emac_reg(emac, MFBOC);

	emac->counts.rx_missed += (missed & 0xffff) + (missed >> 17 & 0x7ff);
}

static void look_after(struct emac *emac, uint64_t now_ns)
{
	uint32_t sent = emac->tx_sent;

	count_missed(emac);
	reclaim(emac);
	if (emac->tx_sent != sent || emac->tx_sent == emac->tx_put)
		emac->moved_ns = now_ns;
	else if (now_ns - emac->moved_ns >= STUCK_NS)
		emac->alarms |= INT_BUS;
	if (emac->link.state)
		emac->hold = 0;
	else if (emac->hold < HOLD_LOOKS)
		emac->hold++;
	emac->look_ns = now_ns + LOOK_NS;
}

/* Frames that the controller had are lost; whose buffers the core has, stay. */
static void restart(struct emac *emac, uint64_t now_ns)
{
	uint32_t i;

	emac->counts.resets++;
	emac->retry_ns = now_ns + STUCK_NS;
	emac->moved_ns = now_ns;
	emac->alarms = 0;
	emac->tx_free = TX_ALL & (uint8_t)~emac->tx_held;
	for (i = emac->home_released; i != emac->home_put; i++)
		emac->tx_free &= (uint8_t) ~(1u << emac->home[i % EMAC_TX].id);
	if (start_emac(emac) != EMAC_OK)
		emac->alarms = INT_BUS;
}

bool emac_turn(struct emac *emac, uint64_t now_ns)
{
	if (!emac->regs)
		return false;
	if (now_ns >= emac->look_ns)
		look_after(emac, now_ns);
	if (emac->alarms && now_ns >= emac->retry_ns &&
	    emac->rx_taken == emac->rx_released)
		restart(emac, now_ns);
	if (!emac_link_turn(&emac->link, now_ns))
		return false;
	set_link(emac);
	return true;
}
