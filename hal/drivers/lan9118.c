/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* LAN9118 data sheet (SMSC, revision 1.5): chapters 3.12 to 3.14 and 5.3. */
#include "lan9118.h"

#include <string.h>

#define RX_DATA	     0x00u
#define TX_DATA	     0x20u
#define RX_STATUS    0x40u
#define TX_STATUS    0x48u
#define ID_REV	     0x50u
#define IRQ_CFG	     0x54u
#define INT_STS	     0x58u
#define INT_EN	     0x5cu
#define BYTE_TEST    0x64u
#define FIFO_INT     0x68u
#define RX_CFG	     0x6cu
#define TX_CFG	     0x70u
#define HW_CFG	     0x74u
#define RX_FIFO_INF  0x7cu
#define TX_FIFO_INF  0x80u
#define PMT_CTRL     0x84u
#define MAC_CSR_CMD  0xa4u
#define MAC_CSR_DATA 0xa8u
#define E2P_CMD	     0xb0u

#define BYTE_TEST_VALUE 0x87654321u
#define HW_CFG_RESET	(1u << 0)
#define HW_CFG_NO_RESET (1u << 1) /* it did not end: the PHY is off */
#define PMT_CTRL_READY	(1u << 0)
#define E2P_CMD_BUSY	(1u << 31)
#define HW_CFG_FIFOS	(1u << 20 | 5u << 16) /* 5 KiB to send, 10 to receive */
#define IRQ_CFG_ON	(1u << 8 | 1u << 4 | 1u << 0) /* active high */
#define INT_FRAME	(1u << 3)		      /* one is in the FIFO */
#define RX_CFG_OFFSET	(2u << 8) /* two bytes before the frame */
#define TX_CFG_ON	(1u << 1)
#define RX_STATUS_ERROR (1u << 15)

/* Words before the data of a frame to send. */
#define TX_WHOLE  (1u << 13 | 1u << 12) /* first and last piece in one */
#define TX_OFFSET (2u << 16)

#define CSR_BUSY  (1u << 31)
#define CSR_READ  (1u << 30)
#define MAC_CR	  1u
#define MAC_ADDRH 2u
#define MAC_ADDRL 3u
#define MAC_MII	  6u
#define MAC_DATA  7u
/* full duplex, all multicast, transmitter, receiver */
#define MAC_CR_ON (1u << 20 | 1u << 19 | 1u << 3 | 1u << 2)

#define MII_WRITE      (1u << 11 | 1u << 1) /* PHY 1, register 0 (control) */
#define PHY_NEGOTIATES 0x1200u

#define CRC_BYTES  4u
#define HEAD_BYTES 2u /* padding before each frame: its address is 2 modulo 4 */
#define TX_MARGIN  16u /* the two words before a frame, and what rounds it up */
#define MIN_FRAME  14u
#define PATIENCE   200000u /* reads of a register: 100 ms at 25 MHz */

static volatile uint32_t *lan_reg(const struct lan9118 *lan, uint32_t off)
{
	return (volatile uint32_t *)(lan->regs + off);
}

/* ---------------------------------------------------------------- start-up */

/* Until (register & mask) is value, or for a while. */
static bool wait_for(const struct lan9118 *lan, uint32_t off, uint32_t mask,
		     uint32_t value)
{
	uint32_t i;

	for (i = 0; i < PATIENCE; i++)
		if ((*lan_reg(lan, off) & mask) == value)
			return true;
	return false;
}

static uint32_t mac_read(const struct lan9118 *lan, uint32_t index)
{
	*lan_reg(lan, MAC_CSR_CMD) = CSR_BUSY | CSR_READ | index;
	(void)wait_for(lan, MAC_CSR_CMD, CSR_BUSY, 0);
	return *lan_reg(lan, MAC_CSR_DATA);
}

static void mac_write(const struct lan9118 *lan, uint32_t index, uint32_t value)
{
	*lan_reg(lan, MAC_CSR_DATA) = value;
	*lan_reg(lan, MAC_CSR_CMD) = CSR_BUSY | index;
	(void)wait_for(lan, MAC_CSR_CMD, CSR_BUSY, 0);
}

static bool is_known_chip(uint32_t chip)
{
	return chip == 0x0118 || chip == 0x9220;
}

/* The address comes from an EEPROM, if there is one. */
static void set_address(struct lan9118 *lan, const uint8_t mac[6])
{
	uint32_t low = mac_read(lan, MAC_ADDRL);
	uint32_t high = mac_read(lan, MAC_ADDRH);
	uint32_t i;

	for (i = 0; i < 6; i++)
		lan->mac[i] =
			(uint8_t)(i < 4 ? low >> 8 * i : high >> 8 * (i - 4));
	if (!(low & 1) && (low | (high & 0xffff)))
		return;
	memcpy(lan->mac, mac, sizeof(lan->mac));
	mac_write(lan, MAC_ADDRL,
		  (uint32_t)mac[0] | (uint32_t)mac[1] << 8 |
			  (uint32_t)mac[2] << 16 | (uint32_t)mac[3] << 24);
	mac_write(lan, MAC_ADDRH, (uint32_t)mac[4] | (uint32_t)mac[5] << 8);
}

/* After a reset nothing else may be accessed before it is ready (5.3, PMT_CTRL), and
 * the MAC address is loaded from the EEPROM, if there is one (5.3, E2P_CMD). */
static bool chip_is_ready(const struct lan9118 *lan)
{
	return wait_for(lan, PMT_CTRL, PMT_CTRL_READY, PMT_CTRL_READY) &&
	       wait_for(lan, E2P_CMD, E2P_CMD_BUSY, 0);
}

static int reset_chip(const struct lan9118 *lan)
{
	/* this register alone tells whether there is a chip */
	if (!wait_for(lan, BYTE_TEST, ~0u, BYTE_TEST_VALUE))
		return LAN9118_ENODEV;
	if (!wait_for(lan, PMT_CTRL, PMT_CTRL_READY, PMT_CTRL_READY))
		return LAN9118_ETIME;
	if (!is_known_chip(*lan_reg(lan, ID_REV) >> 16))
		return LAN9118_ENODEV;
	*lan_reg(lan, HW_CFG) = HW_CFG_RESET;
	if (!wait_for(lan, HW_CFG, HW_CFG_RESET | HW_CFG_NO_RESET, 0) ||
	    !chip_is_ready(lan))
		return LAN9118_ETIME;
	return LAN9118_OK;
}

int lan9118_init(struct lan9118 *lan, uintptr_t regs, const uint8_t mac[6])
{
	int status;

	lan->regs = regs;
	status = reset_chip(lan);
	if (status != LAN9118_OK) {
		lan->regs = 0;
		return status;
	}
	set_address(lan, mac);
	lan->tx_free = (1u << UNIC_TX_BUFS) - 1;
	mac_write(lan, MAC_DATA, PHY_NEGOTIATES);
	mac_write(lan, MAC_MII, MII_WRITE);
	*lan_reg(lan, HW_CFG) = HW_CFG_FIFOS;
	*lan_reg(lan, FIFO_INT) = 0;
	*lan_reg(lan, INT_EN) = 0;
	*lan_reg(lan, IRQ_CFG) = IRQ_CFG_ON;
	*lan_reg(lan, RX_CFG) = RX_CFG_OFFSET;
	*lan_reg(lan, TX_CFG) = TX_CFG_ON;
	mac_write(lan, MAC_CR, MAC_CR_ON);
	return LAN9118_OK;
}

void lan9118_info(const struct lan9118 *lan, struct unic_link *out)
{
	memcpy(out->mac, lan->mac, sizeof(out->mac));
	out->up = true;
	out->icrc_offload = false;
	out->slots = false;
	out->max_frame = LAN9118_MAX_FRAME;
}

/* -------------------------------------------------------------------- send */

/* Bytes free in the FIFO. The status of frames that were sent is dropped. */
static uint32_t tx_room(const struct lan9118 *lan)
{
	uint32_t info = *lan_reg(lan, TX_FIFO_INF);
	uint32_t n;

	for (n = info >> 16 & 0xff; n; n--)
		(void)*lan_reg(lan, TX_STATUS);
	return info & 0xffff;
}

/* A buffer is given only when the FIFO has room for all that were. */
uint8_t *lan9118_tx_get(struct lan9118 *lan)
{
	uint32_t id;

	if (!lan->tx_free ||
	    tx_room(lan) < (lan->tx_held + 1) * (LAN9118_MAX_FRAME + TX_MARGIN))
		return NULL;
	id = (uint32_t)__builtin_ctz(lan->tx_free);
	lan->tx_free &= ~(1u << id);
	lan->tx_held++;
	return lan->tx[id] + HEAD_BYTES;
}

/* No switch sends a frame back to where it came from, so what is for ourselves
 * never leaves. Without room it is lost, as any frame may be. */
static void loop_back(struct lan9118 *lan, const uint8_t *frame, uint32_t len)
{
	uint32_t id = lan->rx_filled % UNIC_RX_BUFS;

	if (lan->rx_filled - lan->rx_released == UNIC_RX_BUFS)
		return;
	memcpy(lan->rx[id] + HEAD_BYTES, frame, len);
	lan->rx_len[id] = (uint16_t)len;
	lan->rx_filled++;
}

void lan9118_tx_put(struct lan9118 *lan, const uint8_t *frame, uint32_t len)
{
	uint32_t id = (uint32_t)(frame - lan->tx[0]) / LAN9118_STRIDE;
	const uint32_t *word = (const uint32_t *)(const void *)lan->tx[id];
	volatile uint32_t *fifo = lan_reg(lan, TX_DATA);
	uint32_t n = (HEAD_BYTES + len + 3) / 4;

	lan->tx_free |= 1u << id;
	lan->tx_held--;
	if (!len || len > LAN9118_MAX_FRAME)
		return;
	if (!memcmp(frame, lan->mac, sizeof(lan->mac))) {
		loop_back(lan, frame, len);
		return;
	}
	*fifo = TX_WHOLE | TX_OFFSET | len;
	*fifo = len;
	while (n--)
		*fifo = *word++;
}

/* ----------------------------------------------------------------- receive */

static uint32_t frames_waiting(const struct lan9118 *lan)
{
	return *lan_reg(lan, RX_FIFO_INF) >> 16 & 0xff;
}

/* Moves a frame from the FIFO into the next buffer. A damaged one becomes a frame
 * of no bytes (unic_port_rx_next()). */
static void fetch_frame(struct lan9118 *lan)
{
	uint32_t status = *lan_reg(lan, RX_STATUS);
	uint32_t bytes = status >> 16 & 0x3fff;
	uint32_t n = (HEAD_BYTES + bytes + 3) / 4;
	uint32_t id = lan->rx_filled % UNIC_RX_BUFS;
	uint32_t *word = (uint32_t *)(void *)lan->rx[id];
	volatile uint32_t *fifo = lan_reg(lan, RX_DATA);

	if (status & RX_STATUS_ERROR || bytes < MIN_FRAME + CRC_BYTES ||
	    bytes > LAN9118_MAX_FRAME + CRC_BYTES) {
		while (n--)
			(void)*fifo;
		lan->rx_bad++;
		bytes = CRC_BYTES;
		n = 0;
	}
	while (n--)
		*word++ = *fifo;
	lan->rx_len[id] = (uint16_t)(bytes - CRC_BYTES);
	lan->rx_filled++;
}

static void fetch_all(struct lan9118 *lan)
{
	uint32_t n = frames_waiting(lan);

	while (n-- && lan->rx_filled - lan->rx_released < UNIC_RX_BUFS)
		fetch_frame(lan);
}

bool lan9118_rx_ready(const struct lan9118 *lan)
{
	return lan->rx_filled != lan->rx_taken || frames_waiting(lan);
}

bool lan9118_rx_next(struct lan9118 *lan, struct unic_rx *rx)
{
	uint32_t id;

	fetch_all(lan);
	if (lan->rx_filled == lan->rx_taken)
		return false;
	id = lan->rx_taken++ % UNIC_RX_BUFS;
	rx->frame = lan->rx[id] + HEAD_BYTES;
	rx->len = lan->rx_len[id];
	rx->flags = 0;
	return true;
}

void lan9118_rx_done(struct lan9118 *lan)
{
	lan->rx_released = lan->rx_taken;
}

void lan9118_quiet(const struct lan9118 *lan)
{
	*lan_reg(lan, INT_STS) = INT_FRAME;
}

/* Frames that are there already cause no interrupt: the core polls after it has
 * armed. */
void lan9118_rx_arm(const struct lan9118 *lan, bool on)
{
	lan9118_quiet(lan);
	*lan_reg(lan, INT_EN) = on ? INT_FRAME : 0;
}
