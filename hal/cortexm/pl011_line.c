/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "pl011_line.h"

#include "cortexm.h"
#include "pl011.h"

void pl011_line_start(struct pl011_line *line, uintptr_t uart, uint32_t irq,
		      uint32_t hz, uint32_t baud)
{
	line->uart = uart;
	line->mask = PL011_IM_RX;
	pl011_start(uart, hz, baud);
	pl011_interrupts(uart, line->mask);
	cortexm_irq_enable(irq);
}

/* A damaged byte counts as any other: the link above has a checksum. */
static void line_receive(struct pl011_line *line)
{
	uint32_t tail = line->rx_tail, byte;

	while (tail - line->rx_head < PL011_LINE_RX &&
	       pl011_take(line->uart, &byte)) {
		line->rx[tail++ % PL011_LINE_RX] = (uint8_t)byte;
		line->overruns += !!(byte & PL011_DR_OE);
		line->framing += !!(byte & PL011_DR_FE);
	}
	line->rx_tail = tail;
}

static void line_send(struct pl011_line *line)
{
	uint32_t head = line->tx_head;

	while (head != line->tx_tail && pl011_room(line->uart))
		pl011_put(line->uart, line->tx[head++ % PL011_LINE_TX]);
	line->tx_head = head;
}

/* While the ring is full its interrupts are off: bytes wait in the UART, and are
 * lost there, until take_bytes() has made room. */
static void line_interrupts(struct pl011_line *line)
{
	uint32_t mask = 0;

	if (line->rx_tail - line->rx_head < PL011_LINE_RX)
		mask |= PL011_IM_RX;
	if (line->tx_head != line->tx_tail)
		mask |= PL011_IM_TX;
	if (mask != line->mask)
		pl011_interrupts(line->uart, mask);
	line->mask = mask;
}

void pl011_line_irq(struct pl011_line *line)
{
	line_receive(line);
	line_send(line);
	line_interrupts(line);
}

static void take_bytes(struct pl011_line *line, struct near *near, uint64_t now)
{
	uint32_t at, n;

	while (pl011_line_came(line)) {
		at = line->rx_head % PL011_LINE_RX;
		n = line->rx_tail - line->rx_head;
		if (n > PL011_LINE_RX - at)
			n = PL011_LINE_RX - at;
		near_input(near, line->rx + at, n, now);
		line->rx_head += n;
	}
	if (line->mask & PL011_IM_RX)
		return;
	/* what waits in the UART may be too little for an interrupt */
	cortexm_irqs_off();
	pl011_line_irq(line);
	cortexm_irqs_on();
}

void pl011_line_turn(struct pl011_line *line, struct serial_host *host)
{
	struct near *near = &host->near;
	uint64_t now = cortexm_clock_ns(&host->clock);
	uint32_t at, n;

	near->news = false;
	take_bytes(line, near, now);
	for (;;) {
		at = line->tx_tail % PL011_LINE_TX;
		n = PL011_LINE_TX - (line->tx_tail - line->tx_head);
		if (n > PL011_LINE_TX - at)
			n = PL011_LINE_TX - at;
		n = n ? near_output(near, now, line->tx + at, n) : 0;
		if (!n)
			break;
		line->tx_tail += n;
		cortexm_irqs_off();
		line_send(line);
		line_interrupts(line);
		cortexm_irqs_on();
	}
}

uint64_t pl011_line_sleep_ns(const struct pl011_line *line,
			     struct serial_host *host, uint64_t until_ns)
{
	uint64_t now = cortexm_clock_ns(&host->clock);
	uint64_t due = stream_due(&host->near.stream);

	if (due < until_ns)
		until_ns = due;
	if (until_ns <= now || host->near.news || pl011_line_came(line) ||
	    stream_wants(&host->near.stream, now))
		return 0;
	return until_ns - now;
}
