// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* uart.c - see uart.h. */
#include "uart.h"

#include <stdlib.h>
#include <string.h>

#include "cpu.h"

#define DR   0x00u
#define RSR  0x04u
#define FR   0x18u
#define IBRD 0x24u
#define FBRD 0x28u
#define LCRH 0x2cu
#define CTL  0x30u
#define IFLS 0x34u
#define IM   0x38u
#define RIS  0x3cu
#define MIS  0x40u
#define ICR  0x44u
#define PID  0xfd0u /* to the end: of a PrimeCell */

#define FR_BUSY 0x08u
#define FR_RXFE 0x10u
#define FR_TXFF 0x20u
#define FR_RXFF 0x40u
#define FR_TXFE 0x80u

#define CTL_ON 0x001u
#define CTL_TX 0x100u
#define CTL_RX 0x200u

#define LCRH_FIFO 0x10u
#define LCRH_8N1  0x60u

#define INT_RX 0x010u
#define INT_TX 0x020u
#define INT_RT 0x040u
#define INT_FE 0x080u
#define INT_OE 0x400u

#define ERROR_FE 1u /* of RSR; eight bits higher in DR */
#define ERROR_OE 8u

#define BITS	     10u /* start, eight, stop */
#define TIMEOUT_BITS 32u
#define TOLERANCE    40u /* thousandths */
#define NS_PER_S     1000000000ull

static void end_send(void *arg);
static void end_receive(void *arg);
static void time_out(void *arg);

static struct clock *clock_of(const struct uart *uart)
{
	return &uart->board->clock;
}

static void update_irq(struct uart *uart)
{
	cpu_irq(uart->board->cpu, uart->irq, uart->raw & uart->mask);
}

/* In nanoseconds, of @bits; the UART's divisor is of 16 times the rate, in 64ths. */
static uint64_t bits_ns(const struct uart *uart, uint32_t bits)
{
	return NS_PER_S * bits * uart->divisor / 4 / clock_of(uart)->hz;
}

/* The rate outside is that of the UART, near enough. */
static bool is_in_step(const struct uart *uart)
{
	uint64_t ours = bits_ns(uart, 1000);
	uint64_t theirs = NS_PER_S * 1000 / uart->outside_baud;
	uint64_t apart = ours > theirs ? ours - theirs : theirs - ours;

	return apart * 1000 <= theirs * TOLERANCE;
}

static uint8_t make_noise(struct uart *uart)
{
	return (uint8_t)(board_random(uart->board) | 0x80);
}

static uint32_t depth(const struct uart *uart)
{
	return uart->lcrh & LCRH_FIFO ? UART_FIFO : 1;
}

static uint32_t level_of(uint32_t select)
{
	static const uint8_t level[8] = { 2, 4, 8, 12, 14, 14, 14, 14 };

	return level[select & 7];
}

static void push(struct uart_fifo *fifo, uint16_t byte)
{
	fifo->byte[(fifo->first + fifo->count++) % UART_FIFO] = byte;
}

static uint16_t pop(struct uart_fifo *fifo)
{
	uint16_t byte = fifo->byte[fifo->first];

	fifo->first = (fifo->first + 1) % UART_FIFO;
	fifo->count--;
	return byte;
}

/* ------------------------------------------------------------------- send */

static void begin_send(struct uart *uart)
{
	uint32_t before = uart->tx.count;

	if (uart->sending || !before || !(uart->control & CTL_ON) ||
	    !(uart->control & CTL_TX))
		return;
	uart->shift = (uint8_t)pop(&uart->tx);
	uart->sending = true;
	uart->spoiled = false;
	if (!(uart->lcrh & LCRH_FIFO) ||
	    (before > level_of(uart->ifls) &&
	     uart->tx.count <= level_of(uart->ifls)))
		uart->raw |= INT_TX;
	clock_at(clock_of(uart),
		 clock_now_ns(clock_of(uart)) + bits_ns(uart, BITS), end_send,
		 uart);
	update_irq(uart);
}

static void deliver(struct uart *uart, uint8_t byte)
{
	if (!uart->is_wired(uart->board->chip_state, uart, true))
		return;
	connection_send(uart->connection, &byte, 1);
	if (uart->watch)
		uart->watch(uart->watch_arg, byte);
}

static void end_send(void *arg)
{
	struct uart *uart = arg;
	bool noise = uart->spoiled || !is_in_step(uart);

	uart->sending = false;
	deliver(uart, noise ? make_noise(uart) : uart->shift);
	begin_send(uart);
}

/* What the receiver makes of the rest of a byte that ends here. */
static void cut_send(struct uart *uart)
{
	if (!uart->sending)
		return;
	clock_cancel(clock_of(uart), end_send, uart);
	uart->sending = false;
	deliver(uart, make_noise(uart));
}

static void write_data(struct uart *uart, uint8_t byte)
{
	if (!(uart->control & CTL_ON) || !(uart->control & CTL_TX))
		board_fault(uart->board, "a byte for a UART that is off");
	else if (uart->tx.count == depth(uart))
		board_fault(uart->board, "a byte for a full UART is lost");
	else
		push(&uart->tx, byte);
	if (uart->tx.count > level_of(uart->ifls))
		uart->raw &= ~INT_TX;
	begin_send(uart);
	update_irq(uart);
}

bool uart_busy(const struct uart *uart)
{
	return uart->sending || uart->tx.count;
}

/* ---------------------------------------------------------------- receive */

static void begin_receive(struct uart *uart)
{
	if (uart->outside_count)
		clock_at(clock_of(uart),
			 clock_now_ns(clock_of(uart)) +
				 NS_PER_S * BITS / uart->outside_baud,
			 end_receive, uart);
}

static void receive_byte(struct uart *uart, uint16_t byte)
{
	if (uart->rx.count == depth(uart)) {
		uart->lost++;
		uart->overruns += !uart->overrun;
		uart->overrun = true;
		uart->raw |= INT_OE;
	} else {
		push(&uart->rx, byte);
	}
	if (uart->rx.count > uart->most)
		uart->most = uart->rx.count;
	if (!(uart->lcrh & LCRH_FIFO) ||
	    uart->rx.count >= level_of(uart->ifls >> 3))
		uart->raw |= INT_RX;
	clock_at(clock_of(uart),
		 clock_now_ns(clock_of(uart)) + bits_ns(uart, TIMEOUT_BITS),
		 time_out, uart);
	update_irq(uart);
}

static void end_receive(void *arg)
{
	struct uart *uart = arg;
	uint16_t byte = uart->outside[uart->outside_first];

	uart->outside_first = (uart->outside_first + 1) % UART_OUTSIDE;
	uart->outside_count--;
	if (uart->control & CTL_ON && uart->control & CTL_RX && uart->divisor &&
	    uart->is_wired(uart->board->chip_state, uart, false)) {
		if (!is_in_step(uart)) {
			byte = make_noise(uart) | ERROR_FE << 8;
			uart->spoiled_bytes++;
			uart->raw |= INT_FE;
		}
		receive_byte(uart, byte);
	}
	begin_receive(uart);
}

static void time_out(void *arg)
{
	struct uart *uart = arg;

	if (uart->rx.count)
		uart->raw |= INT_RT;
	update_irq(uart);
}

static uint32_t read_data(struct uart *uart)
{
	uint32_t v;

	if (!uart->rx.count)
		return 0;
	v = pop(&uart->rx);
	if (uart->overrun) {
		v |= ERROR_OE << 8;
		uart->overrun = false;
	}
	uart->errors = v >> 8;
	if (uart->rx.count < level_of(uart->ifls >> 3))
		uart->raw &= ~INT_RX;
	if (!uart->rx.count)
		uart->raw &= ~INT_RT;
	else
		clock_at(clock_of(uart),
			 clock_now_ns(clock_of(uart)) +
				 bits_ns(uart, TIMEOUT_BITS),
			 time_out, uart);
	update_irq(uart);
	return v;
}

void uart_input(void *arg, const uint8_t *bytes, size_t count)
{
	struct uart *uart = arg;
	bool idle = !uart->outside_count;

	for (size_t i = 0; i < count && uart->outside_count < UART_OUTSIDE; i++)
		uart->outside[(uart->outside_first + uart->outside_count++) %
			      UART_OUTSIDE] = bytes[i];
	if (idle)
		begin_receive(uart);
}

/* -------------------------------------------------------------- registers */

static uint32_t read_flags(const struct uart *uart)
{
	return (uart_busy(uart) ? FR_BUSY : 0) |
	       (uart->rx.count ? 0 : FR_RXFE) |
	       (uart->tx.count == depth(uart) ? FR_TXFF : 0) |
	       (uart->rx.count == depth(uart) ? FR_RXFF : 0) |
	       (uart->tx.count ? 0 : FR_TXFE);
}

static uint32_t read_uart(void *device, uint32_t off)
{
	static const uint8_t id[12] = { 0,    0, 0,   0,    0x11, 0,
					0x18, 1, 0xd, 0xf0, 5,	  0xb1 };
	struct uart *uart = device;

	switch (off) {
	case DR:
		return read_data(uart);
	case RSR:
		return uart->errors;
	case FR:
		return read_flags(uart);
	case IBRD:
		return uart->ibrd;
	case FBRD:
		return uart->fbrd;
	case LCRH:
		return uart->lcrh;
	case CTL:
		return uart->control;
	case IFLS:
		return uart->ifls;
	case IM:
		return uart->mask;
	case RIS:
		return uart->raw;
	case MIS:
		return uart->raw & uart->mask;
	default:
		return off >= PID ? id[(off - PID) / 4] : 0;
	}
}

static void write_control(struct uart *uart, uint32_t value)
{
	if (uart->control & CTL_ON && !(value & CTL_ON))
		cut_send(uart);
	if (value & CTL_ON && (!uart->ibrd || !uart->divisor))
		board_fault(uart->board, "a UART is enabled without divisors");
	uart->control = value;
	begin_send(uart);
}

/* Those which are written while the UART is disabled. */
static void write_setting(struct uart *uart, uint32_t off, uint32_t value)
{
	if (uart->control & CTL_ON)
		board_fault(uart->board,
			    "UART register %02x is written while the UART is "
			    "enabled",
			    off);
	if (off == IBRD)
		uart->ibrd = value & 0xffff;
	else if (off == FBRD)
		uart->fbrd = value & 0x3f;
	else
		uart->ifls = value & 0x3f;
}

static void write_line(struct uart *uart, uint32_t value)
{
	if (uart->control & CTL_ON)
		board_fault(uart->board, "UART line control is written while "
					 "the UART is enabled");
	if ((value & ~LCRH_FIFO) != LCRH_8N1)
		board_fault(uart->board,
			    "UART line control %02x: only 8N1 is "
			    "modelled",
			    value);
	if (!(value & LCRH_FIFO))
		uart->rx.count = uart->tx.count = 0;
	uart->lcrh = value;
	uart->divisor = uart->ibrd << 6 | uart->fbrd;
}

static void write_uart(void *device, uint32_t off, uint32_t value)
{
	struct uart *uart = device;

	switch (off) {
	case DR:
		write_data(uart, (uint8_t)value);
		break;
	case RSR:
		uart->errors = 0;
		break;
	case IBRD:
	case FBRD:
	case IFLS:
		write_setting(uart, off, value);
		break;
	case LCRH:
		write_line(uart, value);
		break;
	case CTL:
		write_control(uart, value);
		break;
	case IM:
		uart->mask = value & 0x7f0;
		update_irq(uart);
		break;
	case ICR:
		uart->raw &= ~value;
		update_irq(uart);
		break;
	default:
		board_fault(uart->board, "UART has no register %03x to write",
			    off);
	}
}

static void reset_uart(void *device)
{
	struct uart *uart = device;

	cut_send(uart);
	clock_cancel(clock_of(uart), time_out, uart);
	memset(&uart->rx, 0, sizeof(uart->rx));
	memset(&uart->tx, 0, sizeof(uart->tx));
	uart->ibrd = uart->fbrd = uart->lcrh = uart->divisor = 0;
	uart->mask = uart->raw = uart->errors = 0;
	uart->overrun = false;
	uart->control = CTL_TX | CTL_RX;
	uart->ifls = 0x12;
	update_irq(uart);
}

static void spoil_send(void *device, uint32_t old_hz)
{
	struct uart *uart = device;

	(void)old_hz;
	uart->spoiled = true;
}

const struct device_ops uart_ops = {
	.name = "UART",
	.read = read_uart,
	.write = write_uart,
	.reset = reset_uart,
	.clocked = spoil_send,
};

void uart_say(const struct uart *uart)
{
	board_say(uart->board,
		  "the line: %lu bytes lost in %lu overruns, %lu spoiled, at "
		  "most %u waited",
		  uart->lost, uart->overruns, uart->spoiled_bytes, uart->most);
}

void uart_init(struct uart *uart, struct board *board, uint32_t irq,
	       uint32_t baud)
{
	uart->board = board;
	uart->irq = irq;
	uart->outside_baud = baud;
}
