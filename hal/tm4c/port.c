/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* port.c - see port.h. */
#include "port.h"

#include "chip.h"
#include "cortexm.h"
#include "crash.h"
#include "machine.h"
#include "mpu.h"
#include "pl011.h"
#include "stellaris_timer.h"
#include "stellaris_watchdog.h"
#include "tm4c.h"

/* What the debug probe takes for sure. Faster is a matter of trying, and of
 * unicd --baud. */
#define BAUD	    115200u
#define STACK_GUARD 4096u
/* longest sleep: the clock wraps after three times that, at 120 MHz */
#define LONGEST_NS 45000000u
#define BEAT_NS	   100000000u
#define WATCHDOG_NS \
	2000000000u /* without a beat, it interrupts; twice: a reset */

/* Levels of interrupts: the watchdog interrupts what hangs, and bytes of the line do
 * not wait for frames. */
#define LINE_LEVEL  1u
#define OTHER_LEVEL 2u

static struct unic_port the_port;

extern uint32_t __stack_limit[];

/* ---------------------------------------------------------------- start-up */

static bool start_mpu(void)
{
	static const struct cortexm_region map[] = {
		{ TM4C_FLASH, TM4C_FLASH_SHIFT, CORTEXM_CODE },
		{ TM4C_RAM, TM4C_RAM_SHIFT, CORTEXM_DATA },
		{ TM4C_DEVICES, TM4C_DEVICES_SHIFT, CORTEXM_DEVICE },
	};

	return cortexm_mpu(map, sizeof(map) / sizeof(map[0]));
}

static void tell_clock(uint32_t hz)
{
	if (hz == TM4C_INTERNAL_HZ)
		machine_puts("unic: no crystal: 16 MHz\n");
	else if (hz == TM4C_CRYSTAL_HZ)
		machine_puts("unic: the PLL does not lock: 25 MHz\n");
}

/* Without the crystal the PHY has no clock. A NIC without a link is one whose cable
 * is out. */
static void start_net(struct unic_port *port, uint32_t hz)
{
	bool is_there = hz != TM4C_INTERNAL_HZ && tm4c_ethernet_start();
	uint8_t mac[6];
	int status;

	tm4c_address(mac);
	status = emac_init(&port->net, is_there ? TM4C_EMAC : 0, hz, mac);
	if (status == EMAC_ENODEV)
		machine_puts("unic: no Ethernet\n");
	if (status == EMAC_ETIME)
		machine_puts("unic: the Ethernet controller stays in reset\n");
}

static void start_line(struct unic_port *port, uint32_t hz)
{
	tm4c_line_start();
	serial_host_start(&port->host, BAUD);
	pl011_line_start(&port->line, TM4C_LINE, TM4C_LINE_IRQ, hz, BAUD);
}

/* A reset that the firmware did not ask for leaves a record of its own. */
static void tell_reset(struct unic_port *port)
{
	uint32_t cause = tm4c_reset_cause();
	const char *why = NULL;

	pl011_hex(TM4C_CONSOLE, "unic: reset, cause", cause);
	machine_puts("\n");
	if (cause & TM4C_RESET_BROWN_OUT)
		why = "reset: brown-out";
	if (cause & TM4C_RESET_WATCHDOG)
		why = "reset: watchdog";
	if (why && !(cause & TM4C_RESET_POWER_ON))
		serial_host_was_reset(&port->host, why, cause);
}

static void start_interrupts(struct unic_port *port)
{
	cortexm_irq_priority(TM4C_LINE_IRQ, LINE_LEVEL);
	cortexm_irq_priority(TM4C_TIMER_IRQ, OTHER_LEVEL);
	cortexm_irq_priority(TM4C_EMAC_IRQ, OTHER_LEVEL);
	cortexm_irq_enable(TM4C_WATCHDOG_IRQ);
	cortexm_irq_enable(TM4C_TIMER_IRQ);
	if (port->net.regs)
		cortexm_irq_enable(TM4C_EMAC_IRQ);
	stellaris_watchdog_start(TM4C_WATCHDOG,
				 cortexm_clock_ticks(&port->host.clock,
						     WATCHDOG_NS));
	cortexm_irqs_on();
}

struct unic_port *machine_start(const char **why)
{
	struct unic_port *port = &the_port;
	uint32_t hz = tm4c_clock_start();

	tm4c_console_start(hz);
	tm4c_timers_start();
	tell_clock(hz);
	cortexm_clock_init(&port->host.clock, hz);
	stellaris_timer_init(TM4C_TIMER);
	crash_arm(port, (uintptr_t)__stack_limit - STACK_GUARD, STACK_GUARD);
	if (!start_mpu()) {
		*why = "this processor has no MPU";
		return NULL;
	}
	start_line(port, hz);
	tell_reset(port);
	start_net(port, hz);
	start_interrupts(port);
	return port;
}

/* --------------------------------------------------------------- main loop */

/* Its second interrupt without a beat: the main loop hangs. A debugger, or a machine
 * that emulates this one, may have been in the way of the first. */
static void watchdog_barks(struct unic_port *port)
{
	stellaris_watchdog_feed(TM4C_WATCHDOG);
	if (port->late)
		crash_hung();
	port->late = true;
}

void machine_irq(uint32_t irq)
{
	struct unic_port *port = &the_port;

	if (irq == TM4C_TIMER_IRQ)
		stellaris_timer_quiet(TM4C_TIMER);
	else if (irq == TM4C_EMAC_IRQ)
		emac_irq(&port->net);
	else if (irq == TM4C_LINE_IRQ)
		pl011_line_irq(&port->line);
	else if (irq == TM4C_WATCHDOG_IRQ)
		watchdog_barks(port);
}

static void tell_link(uint32_t state)
{
	if (!state) {
		machine_puts("unic: no link\n");
		return;
	}
	machine_puts("unic: link at ");
	machine_puts(state & EMAC_LINK_100 ? "100" : "10");
	machine_puts(state & EMAC_LINK_FULL ? " Mbit/s, full duplex\n"
					    : " Mbit/s, half duplex\n");
}

static void keep_beat(struct unic_port *port, uint64_t now_ns)
{
	if (now_ns < port->beat_ns)
		return;
	port->beat_ns = now_ns + BEAT_NS;
	port->late = false;
	stellaris_watchdog_feed(TM4C_WATCHDOG);
	serial_host_beat(&port->host, port->net.link.state != 0,
			 pl011_line_lost(&port->line), emac_lost(&port->net));
}

/* What waits for the link is tried again at once: no sleep before the next round. */
void machine_turn(struct unic_port *port)
{
	uint64_t now_ns = cortexm_clock_ns(&port->host.clock);

	pl011_line_turn(&port->line, &port->host);
	if (emac_turn(&port->net, now_ns)) {
		tell_link(port->net.link.state);
		port->host.near.news = true;
	}
	keep_beat(port, now_ns);
}

/* Interrupts are off from the looks on: one that is pending makes WFI a
 * no-operation. */
void machine_sleep(struct unic_port *port, uint64_t until_ns)
{
	struct serial_host *host = &port->host;
	uint64_t ns = 0;

	cortexm_irqs_off();
	if (!emac_rx_ready(&port->net))
		ns = pl011_line_sleep_ns(&port->line, host, until_ns);
	if (ns > LONGEST_NS)
		ns = LONGEST_NS;
	if (ns)
		stellaris_timer_sleep(TM4C_TIMER,
				      cortexm_clock_ticks(&host->clock, ns));
	cortexm_irqs_on();
}

void machine_puts(const char *text)
{
	pl011_puts(TM4C_CONSOLE, text);
	pl011_drain(TM4C_CONSOLE); /* a reset may follow */
}

/* -------------------------------------------------------------- unic_port.h */

void unic_port_link(struct unic_port *port, struct unic_link *out)
{
	emac_info(&port->net, out);
}

uint8_t *unic_port_tx_get(struct unic_port *port, uint32_t path)
{
	(void)path;
	return emac_tx_get(&port->net);
}

void unic_port_tx_put(struct unic_port *port, uint8_t *frame, uint32_t len,
		      uint32_t flags)
{
	(void)flags;
	emac_tx_put(&port->net, frame, len);
}

/* Each frame was announced when it was put. */
void unic_port_tx_flush(struct unic_port *port)
{
	(void)port;
}

bool unic_port_rx_ready(struct unic_port *port)
{
	/* bytes of the line also end the spin of the main loop */
	return emac_rx_ready(&port->net) || pl011_line_came(&port->line);
}

bool unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	return emac_rx_next(&port->net, rx);
}

void unic_port_rx_done(struct unic_port *port)
{
	emac_rx_done(&port->net);
}

void unic_port_rx_arm(struct unic_port *port, bool on)
{
	emac_rx_arm(&port->net, on);
}
