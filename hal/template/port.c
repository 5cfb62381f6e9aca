/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.c - all that machine.h and unic_port.h ask of a board, over chip.h.
 *
 * It is whole as it is: a NIC with a host and without a wire. What is said at each
 * function is what it must do, and what the core relies on, when you change it.
 */
#include "port.h"

#include <string.h>

#include "chip.h"
#include "cortexm.h"
#include "crash.h"
#include "machine.h"

#define STACK_GUARD 4096u
#define TURN_BYTES  64u /* of the line, each way, between two rounds */

static struct unic_port the_port;

extern uint32_t __stack_limit[];

/* A reset leaves it as it was. */
static struct {
	struct unic_crash record;
	uint32_t lives;
} kept __attribute__((section(".noinit")));

/* ---------------------------------------------------------------- machine.h */

static bool protect(void)
{
	static const struct cortexm_region map[] = {
		{ CHIP_CODE, CHIP_CODE_SHIFT, CORTEXM_CODE },
		{ CHIP_RAM, CHIP_RAM_SHIFT, CORTEXM_DATA },
		{ CHIP_DEVICES, CHIP_DEVICES_SHIFT, CORTEXM_DEVICE },
	};

	return cortexm_mpu(map, sizeof(map) / sizeof(map[0]));
}

/* Not 0, and another one in each life: the host knows a restart by it. */
static uint32_t nonce(void)
{
	uint32_t n = ++kept.lives * 2654435761u ^ CORTEXM_REG(SYSTICK_CVR);

	return n ? n : 1;
}

/* Everything that must be there before the first round, in this order: clocks,
 * time, crash records, MPU, then the host. */
struct unic_port *machine_start(const char **why)
{
	struct unic_port *port = &the_port;

	chip_start();
	cortexm_clock_init(&port->clock, CHIP_HZ);
	crash_arm(port, (uintptr_t)__stack_limit - STACK_GUARD, STACK_GUARD);
	if (!protect()) {
		*why = "this processor has no MPU";
		return NULL;
	}
	near_init(&port->near, nonce(), CHIP_BAUD);
	if (unic_from_le32(kept.record.magic) == UNIC_CRASH_MAGIC)
		port->near.crash = &kept.record;
	return port;
}

/* Between two rounds: bytes of the line to the link, and back. What the UART
 * loses meanwhile is sent again, which is slow: see machine_irq(). */
void machine_turn(struct unic_port *port)
{
	uint64_t now = cortexm_clock_ns(&port->clock);
	uint32_t i;
	uint8_t byte;

	for (i = 0; i < TURN_BYTES && chip_line_get(&byte); i++)
		near_input(&port->near, &byte, 1, now);
	for (i = 0; i < TURN_BYTES && chip_line_room(); i++) {
		if (!near_output(&port->near, now, &byte, 1))
			break;
		chip_line_put(byte);
	}
}

/* It may return early, so this is right, and warm. To sleep, enable the
 * interrupts of line, wire and a timer, look once more whether there is something
 * to do, and do WFI: machine_sleep() of hal/lm3s/port.c. */
void machine_sleep(struct unic_port *port, uint64_t until_ns)
{
	(void)port;
	(void)until_ns;
}

void machine_puts(const char *text)
{
	chip_puts(text);
}

/* The next life tells the host. A board that has never heard of one would begin
 * again for ever: it stops, and the console has said why. */
void machine_crashed(struct unic_port *port, const struct unic_crash *record)
{
	kept.record = *record;
	if (port && port->near.stream.up)
		cortexm_reset();
}

/* None is taken as long as PRIMASK is set. A line of more than 115,200 baud wants
 * one, with a ring of bytes between it and machine_turn(): hal/lm3s/port.c. */
void machine_irq(uint32_t irq)
{
	(void)irq;
}

/* ------------------------------------------------------ unic_port.h: the host */

/* Never steps, never goes back; asked for at least each 0.3 s (clock.h). */
uint64_t unic_port_now_ns(struct unic_port *port)
{
	return cortexm_clock_ns(&port->clock);
}

/* The mailbox: where the host sees it (shared memory), or the link's near copy.
 * At one place as long as the NIC lives. */
void *unic_port_bar(struct unic_port *port)
{
	return port->near.box;
}

/* The same of the two pages of a process; NULL for an address that is no such. */
void *unic_port_doorbells(struct unic_port *port, uint64_t bus)
{
	return near_doorbells(&port->near, bus);
}

/* Moves bytes, or begins to: must check @bus itself, keep the order of writes, and
 * never wait. A board that shares memory copies: hal/mps2/cpu_dma.h. */
int unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
		  uint64_t bus, void *local, uint32_t len, uint32_t tag)
{
	return near_dma(&port->near, dir, bus, local, len, tag);
}

/* Each PENDING is reported here once, whatever happens to the host. */
bool unic_port_dma_poll(struct unic_port *port, uint32_t *tag, int *status)
{
	return near_dma_poll(&port->near, tag, status);
}

/* Only where unic_port_dma() is a copy. NULL is always right. */
void *unic_port_window(struct unic_port *port, uint64_t bus, uint32_t len)
{
	(void)port;
	(void)bus;
	(void)len;
	return NULL;
}

/* Must not be lost, may come twice: the host looks at memory then. */
void unic_port_ring(struct unic_port *port, uint32_t vector)
{
	near_ring(&port->near, vector);
}

/* Bytes nobody can guess, or none: then the driver gives some. */
uint32_t unic_port_entropy(struct unic_port *port, void *buf, uint32_t len)
{
	(void)port;
	(void)buf;
	(void)len;
	return 0;
}

/* ------------------------------------------------------ unic_port.h: the wire */

/*
 * A cable that is out, until you have a driver (hal/drivers/lan9118.c, and
 * stellaris_enet.c for a controller without DMA): the address, `up`, and the
 * longest frame that it takes.
 */
void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	static const uint8_t mac[6] = { 0x02, 'u', 'n', 'i', 'c', 2 };

	(void)port;
	memset(out, 0, sizeof(*out));
	memcpy(out->mac, mac, sizeof(mac));
}

/* Only a link with a ring per peer has more than one. */
uint32_t unic_port_path(struct unic_port *port, const uint8_t mac[6])
{
	(void)port;
	(void)mac;
	return 0;
}

/* A buffer of max_frame bytes at an address of 2 modulo 4, UNIC_TX_BUFS of them at
 * a time; NULL: no room now. Given only when tx_put() can send it at once. */
uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	(void)port;
	(void)path;
	return NULL;
}

/* Sends it, without FCS and padding, or (@len 0) takes it back. Cannot fail. */
void unic_port_tx_put(struct unic_port *port, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	(void)frame;
	(void)len;
	(void)flags;
	unic_port_panic(port, __func__, __LINE__); /* of a buffer never given */
}

/* Several at once, for links in memory. False is always right. */
bool unic_port_tx_run(struct unic_port *port, uint32_t path,
		      struct unic_tx_run *run)
{
	(void)port;
	(void)path;
	(void)run;
	return false;
}

void unic_port_tx_run_put(struct unic_port *port, const struct unic_tx_run *run,
			  uint32_t n, uint32_t len, uint32_t flags)
{
	(void)run;
	(void)n;
	(void)len;
	(void)flags;
	unic_port_panic(port, __func__, __LINE__); /* of a run never given */
}

/* For a controller that is told once for many frames. */
void unic_port_tx_flush(struct unic_port *port)
{
	(void)port;
}

/* True may be a mistake, false is not. */
bool unic_port_rx_ready(struct unic_port *port)
{
	(void)port;
	return false;
}

/* The oldest frame, at an address of 2 modulo 4. It stays until rx_done(). */
bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	(void)port;
	(void)rx;
	return false;
}

/* More of the same length behind it in memory. 0 is always right. */
uint32_t unic_port_rx_run(struct unic_port *port, const struct unic_rx *rx,
			  uint32_t max, uint32_t *stride)
{
	(void)port;
	(void)rx;
	(void)max;
	(void)stride;
	return 0;
}

void unic_port_rx_back(struct unic_port *port, uint32_t n)
{
	(void)port;
	(void)n;
}

/* The memory of all frames taken is the driver's again. */
void unic_port_rx_done(struct unic_port *port)
{
	(void)port;
}

/* @on: the next frame ends a sleep, also one that is there already. */
void unic_port_rx_arm(struct unic_port *port, bool on)
{
	(void)port;
	(void)on;
}
