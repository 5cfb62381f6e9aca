/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* port.c - see port.h. */
#include "port.h"

#include <string.h>

#include "boot.h"
#include "cortexm.h"
#include "crash.h"
#include "identity.h"
#include "lm3s.h"
#include "lm3s_clock.h"
#include "machine.h"
#include "mpu.h"
#include "pl011.h"
#include "stellaris_timer.h"
#include "stellaris_watchdog.h"

#define BAUD	     921600u
#define SLOW_BAUD    115200u /* what the crystal's clock allows */
#define CONSOLE_BAUD 115200u

#define RCGC0_WATCHDOG 0x8u
#define RCGC1_UARTS    0x3u
#define RCGC1_TIMER    (1u << 16)
#define RCGC2_NET      0x50000000u
#define RCGC2_PORTS    0x29u /* A: UART 0; D: UART 1; F: LEDs of the jack */

#define STACK_GUARD 4096u
/* longest sleep: the clock wraps after three times that */
#define LONGEST_NS 100000000u
/* A beat is so many cycles of the processor: 84 ms, or 66 ms without the PLL. */
#define BEAT_SHIFT	22u
#define SLOW_BEAT_SHIFT 19u
/* Without a beat for that long the watchdog interrupts: several sleeps. */
#define WATCHDOG_NS 2000000000u

/* Causes of a reset (RESC, data sheet 5.5); bits stay until they are cleared. */
#define RESC_POWER_ON  (1u << 1)
#define RESC_BROWN_OUT (1u << 2)
#define RESC_WATCHDOG  (1u << 3)
#define PBORCTL_RESET  (1u << 1) /* a brown-out resets */

/* Levels of interrupts: what hangs is interrupted by the watchdog, and bytes do not
 * wait for frames. */
#define LEVEL_LINE 1u
#define LEVEL_REST 2u

static struct unic_port the_port;

extern uint32_t __stack_limit[];

/* ---------------------------------------------------------------- start-up */

static void start_devices(void)
{
	lm3s_clock_on(LM3S_RCGC0, RCGC0_WATCHDOG);
	lm3s_clock_on(LM3S_RCGC1, RCGC1_UARTS | RCGC1_TIMER);
	lm3s_clock_on(LM3S_RCGC2, RCGC2_NET | RCGC2_PORTS);
	lm3s_use_pins(LM3S_GPIOA, 0x03);
	lm3s_use_pins(LM3S_GPIOD, 0x0c);
	lm3s_use_pins(LM3S_GPIOF, 0x0c);
}

static bool start_mpu(void)
{
	static const struct cortexm_region map[] = {
		{ LM3S_FLASH, LM3S_FLASH_SHIFT, CORTEXM_CODE },
		{ LM3S_RAM, LM3S_RAM_SHIFT, CORTEXM_DATA },
		{ LM3S_DEVICES, LM3S_DEVICES_SHIFT, CORTEXM_DEVICE },
	};

	return cortexm_mpu(map, sizeof(map) / sizeof(map[0]));
}

/* The MAC address is in two words of flash that the board's maker wrote, three
 * bytes each (data sheet 7.3), or in a page that `make flash` wrote. */
static void read_mac(uint8_t mac[6])
{
	uint32_t low = CORTEXM_REG(LM3S_USER0), high = CORTEXM_REG(LM3S_USER1),
		 i;

	for (i = 0; i < 3; i++) {
		mac[i] = (uint8_t)(low >> 8 * i);
		mac[3 + i] = (uint8_t)(high >> 8 * i);
	}
	/* words that are not written are all ones, as a group's address */
	if ((low | high) && !(mac[0] & 1))
		return;
	memcpy(mac, "\x02unic\xff", 6);
	if (!identity_mac(BOOT_IDENTITY, mac))
		machine_puts("unic: the MAC address is not unique\n");
}

static void start_net(struct unic_port *port, uint32_t hz)
{
	uint8_t mac[6];

	read_mac(mac);
	stellaris_enet_init(&port->net, LM3S_ETH, hz, mac);
}

/* A UART's rate is a sixteenth of its clock at most. */
static void start_line(struct unic_port *port, uint32_t hz)
{
	uint32_t baud = hz / 16 < BAUD ? SLOW_BAUD : BAUD;

	if (baud != BAUD)
		machine_puts("unic: no PLL: 8 MHz, line at 115200 baud\n");
	serial_host_start(&port->host, baud);
	pl011_line_start(&port->line, LM3S_UART0, LM3S_UART0_IRQ, hz, baud);
}

/* A reset that is not the firmware's own has no crash record. */
static void tell_reset(struct unic_port *port)
{
	uint32_t cause = CORTEXM_REG(LM3S_RESC);

	CORTEXM_REG(LM3S_RESC) = 0;
	CORTEXM_REG(LM3S_PBORCTL) |= PBORCTL_RESET;
	pl011_hex(LM3S_UART1, "unic: reset, cause", cause);
	machine_puts("\n");
	if (cause & RESC_POWER_ON)
		return;
	if (cause & RESC_WATCHDOG)
		serial_host_was_reset(&port->host, "reset: watchdog", cause);
	else if (cause & RESC_BROWN_OUT)
		serial_host_was_reset(&port->host, "reset: brown-out", cause);
}

static void start_interrupts(struct unic_port *port)
{
	cortexm_irq_priority(LM3S_UART0_IRQ, LEVEL_LINE);
	cortexm_irq_priority(LM3S_TIMER_IRQ, LEVEL_REST);
	cortexm_irq_priority(LM3S_ETH_IRQ, LEVEL_REST);
	cortexm_irq_enable(LM3S_TIMER_IRQ);
	cortexm_irq_enable(LM3S_ETH_IRQ);
	cortexm_irq_enable(LM3S_WATCHDOG_IRQ);
	stellaris_watchdog_start(LM3S_WATCHDOG,
				 cortexm_clock_ticks(&port->host.clock,
						     WATCHDOG_NS));
	cortexm_irqs_on();
}

struct unic_port *machine_start(const char **why)
{
	struct unic_port *port = &the_port;
	uint32_t hz = lm3s_use_pll();

	port->beat_shift = hz == LM3S_PLL_HZ ? BEAT_SHIFT : SLOW_BEAT_SHIFT;
	start_devices();
	cortexm_clock_init(&port->host.clock, hz);
	stellaris_timer_init(LM3S_TIMER);
	pl011_start(LM3S_UART1, hz, CONSOLE_BAUD);
	crash_arm(port, (uintptr_t)__stack_limit - STACK_GUARD, STACK_GUARD);
	if (!start_mpu()) {
		*why = "this processor has no MPU";
		return NULL;
	}
	start_net(port, hz);
	start_line(port, hz);
	tell_reset(port);
	start_interrupts(port);
	return port;
}

/* -------------------------------------------------------------------- line */

/* The first time it may be the emulator that was late: there is time for a beat. */
static void note_hang(struct unic_port *port)
{
	stellaris_watchdog_feed(LM3S_WATCHDOG);
	if (port->late)
		crash_hung();
	port->late = true;
}

void machine_irq(uint32_t irq)
{
	struct unic_port *port = &the_port;

	if (irq == LM3S_TIMER_IRQ)
		stellaris_timer_quiet(LM3S_TIMER);
	else if (irq == LM3S_ETH_IRQ)
		stellaris_enet_irq(&port->net);
	else if (irq == LM3S_UART0_IRQ)
		pl011_line_irq(&port->line);
	else if (irq == LM3S_WATCHDOG_IRQ)
		note_hang(port);
}

void machine_turn(struct unic_port *port)
{
	uint32_t beat;

	pl011_line_turn(&port->line, &port->host);
	beat = (uint32_t)(port->host.clock.ticks >> port->beat_shift);
	if (beat == port->beat)
		return;
	port->beat = beat;
	port->late = false;
	stellaris_watchdog_feed(LM3S_WATCHDOG);
	if (stellaris_enet_beat(&port->net))
		port->host.near.news = true;
	serial_host_beat(&port->host, port->net.up,
			 pl011_line_lost(&port->line),
			 stellaris_enet_lost(&port->net));
}

/* The looks before WFI have interrupts off: a pending one makes WFI a
 * no-operation. */
void machine_sleep(struct unic_port *port, uint64_t until_ns)
{
	uint64_t ns;

	cortexm_irqs_off();
	ns = pl011_line_sleep_ns(&port->line, &port->host, until_ns);
	if (ns > LONGEST_NS)
		ns = LONGEST_NS;
	if (ns && !stellaris_enet_rx_ready(&port->net))
		stellaris_timer_sleep(
			LM3S_TIMER, cortexm_clock_ticks(&port->host.clock, ns));
	cortexm_irqs_on();
}

/* Waits for the last byte: a reset may be next, which cuts it. */
void machine_puts(const char *text)
{
	pl011_puts(LM3S_UART1, text);
	pl011_drain(LM3S_UART1);
}

/* -------------------------------------------------------------- unic_port.h */

void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	stellaris_enet_info(&port->net, out);
}

uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	(void)path;
	return stellaris_enet_tx_get(&port->net);
}

void unic_port_tx_put(struct unic_port *port, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	(void)flags;
	cortexm_irqs_off();
	stellaris_enet_tx_put(&port->net, frame, len);
	cortexm_irqs_on();
}

/* A frame that waits is sent by the interrupt handler. */
void unic_port_tx_flush(struct unic_port *port)
{
	(void)port;
}

bool unic_port_rx_ready(struct unic_port *port)
{
	/* bytes of the line also end the spin of the main loop */
	return stellaris_enet_rx_ready(&port->net) ||
	       pl011_line_came(&port->line);
}

bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	return stellaris_enet_rx_next(&port->net, rx);
}

/* The handler fetches what waits for room: below the line's, whose bytes do not wait
 * for frames. */
void unic_port_rx_done(struct unic_port *port)
{
	if (stellaris_enet_rx_done(&port->net))
		cortexm_irq_pend(LM3S_ETH_IRQ);
}

/* The Ethernet interrupt is always armed. */
void unic_port_rx_arm(struct unic_port *port, bool on)
{
	(void)port;
	(void)on;
}
