/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Start-up of the board (machine.h) and the port functions but the link's.
 *
 * QEMU runs this machine with one CPU, for which it translates a barrier into
 * nothing: on a host with the store order of x86 that is as good as one, but for a
 * load that must not pass an earlier store. Nothing here relies on that: both
 * sides always ring (UNIC_ALWAYS_RING).
 */
#include "port.h"

#include <stddef.h>
#include <string.h>

#include "cmsdk_uart.h"
#include "cortexm.h"
#include "cpu_dma.h"
#include "crash.h"
#include "machine.h"
#include "memlayout.h"
#include "mpu.h"

#define VECTORS	   (1u + UNIC_PROCS)
#define REFRESH_NS 20000000u
#define BELLS_READ 256u /* at most, of a host that rings all the time */

_Static_assert(!offsetof(struct unic_port, dma), "drivers/dma_window.c");

static struct unic_port the_port;

/* ---------------------------------------------------------------- start-up */

static const struct cortexm_region regions[] = {
	{ MPS2_CODE, MPS2_CODE_SHIFT, CORTEXM_CODE },
	{ MPS2_RAM, MPS2_RAM_SHIFT, CORTEXM_DATA },
	{ MPS2_SHARED, MPS2_SHARED_SHIFT, CORTEXM_SHARED },
	{ MPS2_DEVICES, MPS2_DEVICES_SHIFT, CORTEXM_DEVICE },
	{ MPS2_GUARD, MPS2_GUARD_SHIFT, CORTEXM_GUARD },
};

static bool start_mpu(void)
{
	return cortexm_mpu(regions, sizeof(regions) / sizeof(regions[0]));
}

static void add_windows(struct dma_windows *dma)
{
	uint32_t i;

	for (i = 0; i < UNIC_PROCS; i++) {
		dma->window[i].base =
			(uint8_t *)(MPS2_SLOTS + i * MPS2_SLOT_BYTES);
		dma->window[i].bytes = MPS2_SLOT_BYTES;
	}
	dma->count = UNIC_PROCS;
}

static void start_interrupts(void)
{
	cmsdk_uart_interrupts(MPS2_DOORBELLS, true, false);
	cortexm_irq_enable(MPS2_DOORBELLS_RX);
	cortexm_irq_enable(MPS2_DOORBELLS_TX);
	cortexm_irq_enable(MPS2_ALARM_IRQ);
	cortexm_irq_enable(MPS2_ETHERNET_IRQ);
}

struct unic_port *machine_start(const char **why)
{
	static const uint8_t mac[6] = { 0x02, 'u', 'n', 'i', 'c', 0 };
	struct unic_port *port = &the_port;

	cmsdk_uart_start(MPS2_CONSOLE, MPS2_HZ / MPS2_CONSOLE_BAUD);
	cmsdk_uart_start(MPS2_DOORBELLS, MPS2_HZ / MPS2_DOORBELLS_BAUD);
	if (!start_mpu()) {
		*why = "the processor has no MPU";
		return NULL;
	}
	cmsdk_timer_init(&port->clock, MPS2_CLOCK, MPS2_ALARM, MPS2_HZ);
	crash_arm(port, MPS2_GUARD, 1u << MPS2_GUARD_SHIFT);
	add_windows(&port->dma);
	/* a NIC without a link is one whose cable is out */
	(void)lan9118_init(&port->lan, MPS2_ETHERNET, mac);
	start_interrupts();
	return port;
}

void machine_puts(const char *text)
{
	cmsdk_uart_puts(MPS2_CONSOLE, text);
}

/* ----------------------------------------------------------------- sleep */

/* Acknowledge first, then take the bytes, before the caller looks at memory. */
static void ack_interrupts(struct unic_port *port)
{
	uint32_t i;
	uint8_t vector; /* which it is does not matter: the core polls all */

	cmsdk_timer_quiet(&port->clock);
	cmsdk_uart_quiet(MPS2_DOORBELLS);
	if (port->lan.regs)
		lan9118_quiet(&port->lan);
	cortexm_irq_clear(MPS2_ALARM_IRQ);
	cortexm_irq_clear(MPS2_DOORBELLS_RX);
	cortexm_irq_clear(MPS2_DOORBELLS_TX);
	cortexm_irq_clear(MPS2_ETHERNET_IRQ);
	for (i = 0; i < BELLS_READ; i++)
		if (!cmsdk_uart_take(MPS2_DOORBELLS, &vector))
			break;
	unic_mb();
}

void machine_sleep(struct unic_port *port, uint64_t until_ns)
{
	uint64_t now = cmsdk_timer_ns(&port->clock);

	mps2_bells(port);
	if (until_ns > now) {
		uint64_t ns = until_ns - now;

		cmsdk_timer_alarm(&port->clock,
				  ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns);
		/* An interrupt pending by now makes this a no-operation. */
		__asm__ volatile("dsb\n\twfi" ::: "memory");
	}
	ack_interrupts(port);
}

/*
 * QEMU sizes its own TLB only when the guest changes its MPU (see mmu_refresh() of
 * hal/virt): so this sets it again, to what it is.
 */
void machine_turn(struct unic_port *port)
{
	uint64_t now = cmsdk_timer_ns(&port->clock);

	mps2_bells(port);
	if (now - port->refreshed_ns < REFRESH_NS)
		return;
	port->refreshed_ns = now;
	(void)start_mpu();
}

void machine_irq(uint32_t irq)
{
	(void)irq; /* they stay masked */
}

/* Copies the record to the host, its magic last, and rings the driver. */
void machine_crashed(struct unic_port *port, const struct unic_crash *record)
{
	uint32_t i;

	if (!port)
		return;
	crash_to_mailbox(unic_port_bar(port), record);
	port->bells = 1;
	for (i = 0; i < BELLS_READ && port->bells; i++)
		mps2_bells(port);
}

/* -------------------------------------------------- small port functions */

uint64_t unic_port_now_ns(struct unic_port *port)
{
	return cmsdk_timer_ns(&port->clock);
}

void *unic_port_bar(struct unic_port *port)
{
	(void)port;
	return (void *)MPS2_SHARED;
}

/* One byte per vector. What the UART has no room for goes at a later turn; room
 * for it ends a sleep. */
void mps2_bells(struct unic_port *port)
{
	uint32_t vector;

	if (!port->bells)
		return;
	while (port->bells) {
		vector = (uint32_t)__builtin_ctz(port->bells);
		if (!cmsdk_uart_put(MPS2_DOORBELLS, (uint8_t)vector))
			break;
		port->bells &= port->bells - 1;
	}
	cmsdk_uart_interrupts(MPS2_DOORBELLS, true, port->bells != 0);
}

void unic_port_ring(struct unic_port *port, uint32_t vector)
{
	if (vector < VECTORS)
		port->bells |= 1u << vector;
}

uint32_t unic_port_entropy(struct unic_port *port, void *buf, uint32_t len)
{
	(void)port;
	(void)buf;
	(void)len;
	return 0; /* the board has no source: the driver gives some */
}

int unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
		  uint64_t bus, void *local, uint32_t len, uint32_t tag)
{
	(void)tag;
	return cpu_dma(&port->dma, dir, bus, local, len);
}

void *unic_port_window(struct unic_port *port, uint64_t bus, uint32_t len)
{
	uint8_t *at;

	return dma_window_find(&port->dma, bus, len, &at) ? at : NULL;
}
