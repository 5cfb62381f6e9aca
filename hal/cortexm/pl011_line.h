/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pl011_line.h - the line to the host of a board whose UART is a PL011: its
 * interrupt handler moves bytes between the UART and two rings, the main loop
 * between the rings and the link (serial_host.h).
 *
 * Secret: who may write which index, and when an interrupt is masked.
 */
#ifndef CORTEXM_PL011_LINE_H
#define CORTEXM_PL011_LINE_H

#include "serial_host.h"

#define PL011_LINE_RX 512u /* bytes between interrupt and main loop; 5 ms */
#define PL011_LINE_TX 64u

struct pl011_line {
	uintptr_t uart;
	/* written by the interrupt handler */
	volatile uint32_t rx_tail, tx_head;
	volatile uint32_t rx_head, tx_tail; /* written by the main loop */
	uint32_t mask;			    /* enabled interrupts */
	uint32_t overruns;		    /* times that the UART lost bytes */
	uint32_t framing; /* bytes without a stop bit: noise, or another rate */
	uint8_t rx[PL011_LINE_RX];
	uint8_t tx[PL011_LINE_TX];
};

/**
 * pl011_line_start() - start the UART, and its interrupt.
 * @line: zeroed. @uart: address; its clock, of @hz, is on. @irq: its interrupt.
 */
void pl011_line_start(struct pl011_line *line, uintptr_t uart, uint32_t irq,
		      uint32_t hz, uint32_t baud);

/** pl011_line_irq() - the handler of its interrupt. */
void pl011_line_irq(struct pl011_line *line);

/** pl011_line_turn() - give bytes of the receive ring to the link of @host, and
 * bytes of the link to the transmit ring. For machine_turn(). */
void pl011_line_turn(struct pl011_line *line, struct serial_host *host);

/** pl011_line_came() - has the receive ring bytes? */
static inline bool pl011_line_came(const struct pl011_line *line)
{
	return line->rx_head != line->rx_tail;
}

/** pl011_line_lost() - how often bytes from the host were lost or damaged. */
static inline uint32_t pl011_line_lost(const struct pl011_line *line)
{
	return line->overruns + line->framing;
}

/**
 * pl011_line_sleep_ns() - how long machine_sleep() may sleep, until NIC time
 * @until_ns, for all that line and link know; 0: not at all. Called with
 * interrupts off: bytes that came earlier have had their interrupt, and the core
 * has not seen what pl011_line_turn() brought.
 */
uint64_t pl011_line_sleep_ns(const struct pl011_line *line,
			     struct serial_host *host, uint64_t until_ns);

#endif /* CORTEXM_PL011_LINE_H */
