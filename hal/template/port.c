/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.c - the functions of machine.h and unic_port.h that
 * hal/cortexm/serial_host.c does not have, by way of chip.h.
 *
 * Complete as it is: a NIC with a host and without a wire. The comment at each
 * function says what the function must do, and what the core relies on, for when
 * you change it.
 */
#include "port.h"

#include <string.h>

#include "chip.h"
#include "cortexm.h"
#include "crash.h"
#include "machine.h"
#include "mpu.h"

#define STACK_GUARD 4096u
#define TURN_BYTES  64u /* bytes of the line, each way, between two rounds */
_Static_assert(CHIP_BAUD <= CHIP_HZ / 16, "what a UART can do with its clock");

static struct unic_port the_port;

extern uint32_t __stack_limit[];

/* ---------------------------------------------------------------- machine.h */

static bool start_mpu(void)
{
	static const struct cortexm_region map[] = {
		{ CHIP_CODE, CHIP_CODE_SHIFT, CORTEXM_CODE },
		{ CHIP_RAM, CHIP_RAM_SHIFT, CORTEXM_DATA },
		{ CHIP_DEVICES, CHIP_DEVICES_SHIFT, CORTEXM_DEVICE },
	};

	return cortexm_mpu(map, sizeof(map) / sizeof(map[0]));
}

/* Starts what the first round needs, in this order: clocks, time, crash records,
 * MPU, then the host. */
struct unic_port *machine_start(const char **why)
{
	struct unic_port *port = &the_port;

	chip_start();
	cortexm_clock_init(&port->host.clock, CHIP_HZ);
	crash_arm(port, (uintptr_t)__stack_limit - STACK_GUARD, STACK_GUARD);
	if (!start_mpu()) {
		*why = "this processor has no MPU";
		return NULL;
	}
	serial_host_start(&port->host, CHIP_BAUD);
	return port;
}

/* Called between two rounds: moves bytes from the line to the link, and back. The
 * link repeats bytes that the UART loses meanwhile, which is slow: see
 * machine_irq(). */
void machine_turn(struct unic_port *port)
{
	uint64_t now = cortexm_clock_ns(&port->host.clock);
	uint32_t i;
	uint8_t byte;

	for (i = 0; i < TURN_BYTES && chip_line_get(&byte); i++)
		near_input(&port->host.near, &byte, 1, now);
	for (i = 0; i < TURN_BYTES && chip_line_room(); i++) {
		if (!near_output(&port->host.near, now, &byte, 1))
			break;
		chip_line_put(byte);
	}
}

/* May return early, so returning at once is correct, but uses power. To sleep,
 * enable the interrupts of line, wire and a timer (not SysTick: it is the clock),
 * check once more for work (near.news: the turn brought some), and do WFI:
 * machine_sleep() of hal/lm3s/port.c. */
void machine_sleep(struct unic_port *port, uint64_t until_ns)
{
	(void)port;
	(void)until_ns;
}

void machine_puts(const char *text)
{
	chip_puts(text);
}

/* Never called while PRIMASK is set. A line of more than 115,200 baud, or a UART
 * without a FIFO, needs an interrupt handler, with a ring of bytes between it and
 * machine_turn(): hal/cortexm/pl011_line.c. */
void machine_irq(uint32_t irq)
{
	(void)irq;
}

/* ------------------------------------------------------ unic_port.h: the wire */

/*
 * A link without a cable, until you have a driver (hal/drivers/lan9118.c, and
 * stellaris_enet.c for a controller without DMA), which fills in the address,
 * `up`, and its longest frame.
 */
void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	static const uint8_t mac[6] = { 0x02, 'u', 'n', 'i', 'c', 2 };

	(void)port;
	memset(out, 0, sizeof(*out));
	memcpy(out->mac, mac, sizeof(mac));
}

/* A buffer of max_frame bytes at an address of 2 modulo 4, UNIC_TX_BUFS of them
 * at a time; NULL: no room. Only returned when tx_put() can send it at once. */
uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	(void)port;
	(void)path;
	return NULL;
}

/* Sends the frame, without FCS and padding, or (@len 0) frees the buffer. Cannot
 * fail. */
void unic_port_tx_put(struct unic_port *port, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	(void)frame;
	(void)len;
	(void)flags;
	/* tx_get() has returned no buffer */
	unic_port_panic(port, __func__, __LINE__);
}

/* For a controller that needs one register write for many frames. */
void unic_port_tx_flush(struct unic_port *port)
{
	(void)port;
}

/* True may be wrong, false is not. */
bool unic_port_rx_ready(struct unic_port *port)
{
	(void)port;
	return false;
}

/* The oldest frame, at an address of 2 modulo 4. Its memory stays until
 * rx_done(). */
bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	(void)port;
	(void)rx;
	return false;
}

/* Returns the memory of all frames taken to the driver. */
void unic_port_rx_done(struct unic_port *port)
{
	(void)port;
}

/* @on: the next frame ends a sleep; so does a frame that is there already. */
void unic_port_rx_arm(struct unic_port *port, bool on)
{
	(void)port;
	(void)on;
}
