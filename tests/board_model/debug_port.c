// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* debug_port.c - see debug_port.h. */
#include "debug_port.h"

#include <stdlib.h>

#include "connection.h"
#include "cpu.h"
#include "scs.h"

#define CLOCK_NS 2000u /* 500 kHz */
#define CORE	 0xe0000000u

/* -------------------------------------------------------------- state */

enum tap {
	RESET,
	IDLE,
	SELECT_DR,
	CAPTURE_DR,
	SHIFT_DR,
	EXIT1_DR,
	PAUSE_DR,
	EXIT2_DR,
	UPDATE_DR,
	SELECT_IR,
	CAPTURE_IR,
	SHIFT_IR,
	EXIT1_IR,
	PAUSE_IR,
	EXIT2_IR,
	UPDATE_IR,
};

struct debug_port {
	struct board *board;
	struct connection *connection;
	/* test access port */
	enum tap state;
	uint32_t ir, bits, clocks;
	uint64_t shift;
	bool tck;
	/* debug port, access port */
	uint32_t select, ctrl, result, csw, tar;
	bool error;
};

/* ------------------------------------------------------------ access port */

#define DP_CTRL	  0x4u
#define DP_SELECT 0x8u
#define POWER_REQ 0x50000000u /* acknowledged one bit higher each */
#define STICKYERR 0x20u

#define AP_CSW	0x00u
#define AP_TAR	0x04u
#define AP_DRW	0x0cu
#define AP_BD0	0x10u
#define AP_BASE 0xf8u
#define AP_IDR	0xfcu

static uint32_t read_memory(struct debug_port *port, uint32_t addr,
			    uint32_t bytes)
{
	uint32_t v;

	if (addr >= CORE)
		return scs_read(port->board->cpu, addr & ~3u);
	if (!board_read(port->board, addr, bytes, &v))
		port->error = true;
	return v << 8 * (addr & 3);
}

/* @v: the bytes that count are where the address has them in a word. */
static void write_memory(struct debug_port *port, uint32_t addr, uint32_t v,
			 uint32_t bytes)
{
	v >>= 8 * (addr & 3);
	if (bytes < 4)
		v &= (1u << 8 * bytes) - 1;
	if (addr >= CORE)
		scs_write(port->board->cpu, addr, v);
	else if (board_write(port->board, addr, bytes, v))
		cpu_changed(port->board->cpu, addr);
	else
		port->error = true;
}

static uint32_t access_bytes(const struct debug_port *port)
{
	return 1u << (port->csw & 3);
}

/* That of a Cortex-M3 counts within 4 KiB. */
static void next_address(struct debug_port *port)
{
	if (port->csw >> 4 & 3)
		port->tar = (port->tar & ~0xfffu) |
			    ((port->tar + access_bytes(port)) & 0xfff);
}

static uint32_t read_ap(struct debug_port *port, uint32_t reg)
{
	uint32_t v;

	if (port->select >> 24)
		return 0; /* there is but one */
	switch (reg) {
	case AP_CSW:
		return port->csw | 0x23000040;
	case AP_TAR:
		return port->tar;
	case AP_DRW:
		v = read_memory(port, port->tar, access_bytes(port));
		next_address(port);
		return v;
	case AP_BASE:
		return 0xe00ff003;
	case AP_IDR:
		return 0x24770011;
	default:
		return reg - AP_BD0 < 16
			       ? read_memory(port,
					     (port->tar & ~15u) + (reg & 12), 4)
			       : 0;
	}
}

static void write_ap(struct debug_port *port, uint32_t reg, uint32_t v)
{
	if (port->select >> 24)
		return;
	if (reg == AP_CSW) {
		/* no packed transfers: who asks for them reads that back */
		port->csw = (v & 7) | (v & 0x10);
	} else if (reg == AP_TAR) {
		port->tar = v;
	} else if (reg == AP_DRW) {
		write_memory(port, port->tar, v, access_bytes(port));
		next_address(port);
	} else if (reg - AP_BD0 < 16) {
		write_memory(port, (port->tar & ~15u) + (reg & 12), v, 4);
	}
}

static void access_dp(struct debug_port *port, bool read, uint32_t reg,
		      uint32_t v)
{
	if (read && reg == DP_CTRL) {
		port->result = port->ctrl | (port->ctrl & POWER_REQ) << 1 |
			       (port->error ? STICKYERR : 0);
	} else if (read) {
		port->result = reg == DP_SELECT ? port->select : port->result;
	} else if (reg == DP_CTRL) {
		port->ctrl = v & POWER_REQ;
		if (v & STICKYERR)
			port->error = false;
	} else if (reg == DP_SELECT) {
		port->select = v;
	}
}

static void access_ap(struct debug_port *port, bool read, uint32_t reg,
		      uint32_t v)
{
	if (port->error)
		return;
	reg |= port->select & 0xf0;
	if (read)
		port->result = read_ap(port, reg);
	else
		write_ap(port, reg, v);
}

/* ------------------------------------------------------- test access port */

/* By TMS. */
static const uint8_t after[16][2] = {
	[RESET] = { IDLE, RESET },
	[IDLE] = { IDLE, SELECT_DR },
	[SELECT_DR] = { CAPTURE_DR, SELECT_IR },
	[CAPTURE_DR] = { SHIFT_DR, EXIT1_DR },
	[SHIFT_DR] = { SHIFT_DR, EXIT1_DR },
	[EXIT1_DR] = { PAUSE_DR, UPDATE_DR },
	[PAUSE_DR] = { PAUSE_DR, EXIT2_DR },
	[EXIT2_DR] = { SHIFT_DR, UPDATE_DR },
	[UPDATE_DR] = { IDLE, SELECT_DR },
	[SELECT_IR] = { CAPTURE_IR, RESET },
	[CAPTURE_IR] = { SHIFT_IR, EXIT1_IR },
	[SHIFT_IR] = { SHIFT_IR, EXIT1_IR },
	[EXIT1_IR] = { PAUSE_IR, UPDATE_IR },
	[PAUSE_IR] = { PAUSE_IR, EXIT2_IR },
	[EXIT2_IR] = { SHIFT_IR, UPDATE_IR },
	[UPDATE_IR] = { IDLE, SELECT_DR },
};

#define IR_ABORT  0x8u
#define IR_DPACC  0xau
#define IR_APACC  0xbu
#define IR_IDCODE 0xeu
#define IDCODE_M3 0x3ba00477u
#define IDCODE_M4 0x4ba00477u
#define ACK_OK	  2u

static void capture_dr(struct debug_port *port)
{
	switch (port->ir) {
	case IR_IDCODE:
		port->shift = port->board->chip->core[1] == '4' ? IDCODE_M4
								: IDCODE_M3;
		port->bits = 32;
		break;
	case IR_DPACC:
	case IR_APACC:
		port->shift = ACK_OK | (uint64_t)port->result << 3;
		port->bits = 35;
		break;
	case IR_ABORT:
		port->shift = 0;
		port->bits = 35;
		break;
	default: /* bypass */
		port->shift = 0;
		port->bits = 1;
	}
}

/* The time that the clocks took. */
static void pass_clocks(struct debug_port *port)
{
	uint64_t ns = (uint64_t)port->clocks * CLOCK_NS;

	port->clocks = 0;
	board_run(port->board, clock_now_ns(&port->board->clock) + ns);
}

/* Bits: 0 read, 2:1 register, 34:3 data. */
static void update_dr(struct debug_port *port)
{
	bool read = port->shift & 1;
	uint32_t reg = (uint32_t)(port->shift >> 1 & 3) << 2;
	uint32_t data = (uint32_t)(port->shift >> 3);

	pass_clocks(port);
	if (port->ir == IR_DPACC)
		access_dp(port, read, reg, data);
	else if (port->ir == IR_APACC)
		access_ap(port, read, reg, data);
}

static void clock_tap(struct debug_port *port, bool tms, bool tdi)
{
	port->clocks++;
	if (port->state == SHIFT_DR || port->state == SHIFT_IR)
		port->shift = port->shift >> 1 | (uint64_t)tdi
							 << (port->bits - 1);
	port->state = after[port->state][tms];
	if (port->state == RESET) {
		port->ir = IR_IDCODE;
	} else if (port->state == CAPTURE_IR) {
		port->shift = 1;
		port->bits = 4;
	} else if (port->state == UPDATE_IR) {
		port->ir = port->shift & 15;
	} else if (port->state == CAPTURE_DR) {
		capture_dr(port);
	} else if (port->state == UPDATE_DR) {
		update_dr(port);
	}
}

/* ------------------------------------------------------------------ adapter */

/* One character of remote_bitbang. Returns the answer, 0: none. */
static char take_character(struct debug_port *port, char c)
{
	bool tck = c >= '4';

	if (c == 'R')
		return port->shift & 1 ? '1' : '0';
	if (c == 't' || c == 'u')
		port->state = RESET;
	if (c < '0' || c > '7')
		return 0;
	if (tck && !port->tck)
		clock_tap(port, (c - '0') & 2, (c - '0') & 1);
	port->tck = tck;
	return 0;
}

static void take_input(void *arg, const uint8_t *bytes, size_t count)
{
	struct debug_port *port = arg;
	char *answers = malloc(count);
	size_t n = 0;

	if (!answers)
		abort();
	for (size_t i = 0; i < count && !port->board->power_failed; i++) {
		char a = take_character(port, (char)bytes[i]);

		if (a)
			answers[n++] = a;
	}
	pass_clocks(port);
	connection_send(port->connection, answers, n);
	free(answers);
}

struct debug_port *debug_port_serve(struct board *board, const char *path)
{
	struct debug_port *port = calloc(1, sizeof(*port));

	if (!port)
		abort();
	port->board = board;
	port->state = RESET;
	port->ir = IR_IDCODE;
	port->csw = 2;
	port->connection = connection_serve(path, take_input, port);
	return port;
}

bool debug_port_attached(const struct debug_port *port)
{
	return port && connection_has_peer(port->connection);
}
