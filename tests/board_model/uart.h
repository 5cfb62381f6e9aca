/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * uart.h - a PL011 of the Stellaris and Tiva families (LM3S6965 data sheet chapter 12;
 * ARM DDI 0183), with time: a byte takes ten bits of the rate that divisors and the
 * clock of now make. Outside are a receiver and a sender of a fixed rate: 4 % off, and
 * what arrives is noise. A byte under way when the clock changes, or when the UART is
 * reset or disabled, is cut: noise, too.
 *
 * Rules: divisors, line control and FIFO levels are written while it is disabled; no
 * byte is written to a full FIFO or a disabled UART.
 *
 * Secret: FIFOs, shift registers and their interrupts. Only 8N1 is modelled.
 */
#ifndef BOARD_MODEL_UART_H
#define BOARD_MODEL_UART_H

#include "board.h"
#include "connection.h"

#define UART_FIFO    16u
#define UART_OUTSIDE 65536u /* bytes that the sender outside has not sent */

struct uart_fifo {
	uint16_t byte[UART_FIFO]; /* errors in bits 8 and up */
	uint32_t first, count;
};

struct uart {
	struct board *board;
	struct connection *connection;
	uint32_t irq, outside_baud;
	/* false: its pin does not carry the signal now */
	bool (*is_wired)(void *chip, const struct uart *uart, bool transmits);
	/* sees what the receiver outside receives; may be NULL */
	void (*watch)(void *arg, uint8_t byte);
	void *watch_arg;

	uint32_t ibrd, fbrd, lcrh, control, ifls, mask, raw, errors;
	uint32_t divisor; /* latched by a write of line control; in 64ths */
	struct uart_fifo rx, tx;
	bool sending, spoiled, overrun;
	uint8_t shift;
	uint8_t outside[UART_OUTSIDE];
	uint32_t outside_first, outside_count;
	/* bytes that found the receive FIFO full; how often some did since it had
	 * room; bytes at another rate than ours */
	unsigned long lost, overruns, spoiled_bytes;
	uint32_t most; /* bytes that have waited in the receive FIFO */
};

extern const struct device_ops uart_ops;

/** uart_init() - @irq: its interrupt; @baud: of the world outside. */
void uart_init(struct uart *uart, struct board *board, uint32_t irq,
	       uint32_t baud);

/** uart_input() - bytes that the world sends: a connection_input. */
void uart_input(void *arg, const uint8_t *bytes, size_t count);

/** uart_busy() - a byte is being sent, or waits in the FIFO. */
bool uart_busy(const struct uart *uart);

/** uart_say() - what it received, on stderr. */
void uart_say(const struct uart *uart);

#endif /* BOARD_MODEL_UART_H */
