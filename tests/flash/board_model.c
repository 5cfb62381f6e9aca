// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * board_model.c - an LM3S6965 as a JTAG adapter sees it: the TAP (IEEE 1149.1), the
 * debug port and its memory access port (ARM IHI 0031), the debug registers of the
 * Cortex-M3 (ARM DDI 0403E C1), and the flash controller (data sheet, chapter 7).
 * Nothing runs on it. It speaks OpenOCD's remote_bitbang over a Unix socket.
 *
 *	board-model SOCKET FLASH [STEPS]
 *
 * FLASH is read at the start, if it is there, and written at the end (SIGTERM).
 * After so many STEPS, each an erased page or a programmed word, the power fails: it
 * ends, in the middle of what it was told.
 *
 * A test of `make flash` needs no more of a board; what it does not have reads as 0.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FLASH_BYTES 0x40000u
#define RAM_BASE    0x20000000u
#define RAM_BYTES   0x10000u
#define PAGE	    0x400u

static const char *flash_path, *socket_path;

/* --------------------------------------------------------- flash controller */

#define FMA	 0x400fd000u
#define FMD	 0x400fd004u
#define FMC	 0x400fd008u
#define FMC_KEY	 0xa442u
#define FMC_WORD 1u
#define FMC_PAGE 2u
#define FMC_ALL	 4u

static struct {
	uint8_t bytes[FLASH_BYTES];
	uint32_t addr, data;
	unsigned long steps, most; /* most 0: the power does not fail */
} flash;

static void save(void)
{
	FILE *f = fopen(flash_path, "wb");

	if (!f || fwrite(flash.bytes, 1, FLASH_BYTES, f) != FLASH_BYTES)
		perror(flash_path);
	if (f)
		fclose(f);
}

static void end(int code) __attribute__((noreturn));
static void end(int code)
{
	save();
	unlink(socket_path);
	fprintf(stderr, "board-model: %lu steps\n", flash.steps);
	exit(code);
}

static void step(void)
{
	if (++flash.steps == flash.most)
		end(0);
}

static void erase(uint32_t page)
{
	memset(flash.bytes + page, 0xff, PAGE);
	step();
}

/* Bits can only fall. */
static void program(uint32_t at, uint32_t data)
{
	for (uint32_t i = 0; i < 4; i++)
		flash.bytes[at + i] &= (uint8_t)(data >> 8 * i);
	step();
}

static void flash_command(uint32_t cmd)
{
	uint32_t at = flash.addr % FLASH_BYTES;

	if (cmd >> 16 != FMC_KEY)
		return;
	if (cmd & FMC_WORD)
		program(at & ~3u, flash.data);
	if (cmd & FMC_PAGE)
		erase(at & ~(PAGE - 1));
	if (cmd & FMC_ALL)
		for (at = 0; at < FLASH_BYTES; at += PAGE)
			erase(at);
}

/* ---------------------------------------------------------------- processor */

#define CPUID  0xe000ed00u
#define AIRCR  0xe000ed0cu
#define DFSR   0xe000ed30u
#define DHCSR  0xe000edf0u
#define DCRSR  0xe000edf4u
#define DCRDR  0xe000edf8u
#define DEMCR  0xe000edfcu
#define FP_CTL 0xe0002000u
#define DWT    0xe0001000u

#define DHCSR_KEY    0xa05fu
#define C_HALT	     (1u << 1)
#define C_STEP	     (1u << 2)
#define S_REGRDY     (1u << 16)
#define S_HALT	     (1u << 17)
#define S_RESET	     (1u << 25)
#define DFSR_HALTED  (1u << 0)
#define DFSR_VCATCH  (1u << 3)
#define VC_CORERESET (1u << 0)
#define REG_WRITE    (1u << 16)

static struct {
	uint32_t dhcsr, demcr, dfsr, data, reg[128];
	bool was_reset;
	uint8_t ram[RAM_BYTES];
} core;

static uint32_t word_of(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void halt(uint32_t why)
{
	if (!(core.dhcsr & C_HALT))
		core.dfsr |= why;
	core.dhcsr |= C_HALT;
}

static void reset_core(void)
{
	core.was_reset = true;
	core.reg[13] = word_of(flash.bytes);
	core.reg[15] = word_of(flash.bytes + 4) & ~1u;
	core.reg[16] = 1u << 24;
	core.dhcsr &= ~C_HALT;
	if (core.demcr & VC_CORERESET)
		halt(DFSR_VCATCH);
}

static uint32_t read_dhcsr(void)
{
	uint32_t v = core.dhcsr | S_REGRDY |
		     (core.dhcsr & C_HALT ? S_HALT : 0) |
		     (core.was_reset ? S_RESET : 0);

	core.was_reset = false;
	return v;
}

static void write_dhcsr(uint32_t v)
{
	if (v >> 16 != DHCSR_KEY)
		return;
	if (v & (C_HALT | C_STEP))
		halt(DFSR_HALTED);
	else
		core.dhcsr &= ~C_HALT;
	core.dhcsr = (core.dhcsr & C_HALT) | (v & 0x2d);
}

/* ------------------------------------------------------------------- memory */

/* Registers that never change: what tells OpenOCD which chip this is. */
static const struct {
	uint32_t addr, value;
} fixed[] = {
	{ CPUID, 0x410fc231 },	    { DWT, 0x40000000 },
	{ 0x400fe000, 0x10010002 }, /* DID0 */
	{ 0x400fe004, 0x1073402e }, /* DID1: LM3S6965 */
	{ 0x400fe008, 0x00ff007f }, /* DC0: 64 KiB of RAM, 256 of flash */
	{ 0x400fe010, 0x001133ff }, /* DC1 */
	{ 0x400fe060, 0x078e3ad1 }, /* RCC */
	{ 0x400fe130, 0xffffffff }, { 0x400fe134, 0xffffffff },
	{ 0x400fe200, 0xffffffff }, { 0x400fe204, 0xffffffff },
	{ 0x400fe208, 0xffffffff }, { 0x400fe20c, 0xffffffff },
	{ 0x400fe400, 0xffffffff }, { 0x400fe404, 0xffffffff },
	{ 0x400fe408, 0xffffffff }, { 0x400fe40c, 0xffffffff },
};

static uint32_t read_register(uint32_t addr)
{
	switch (addr) {
	case DHCSR:
		return read_dhcsr();
	case DCRDR:
		return core.data;
	case DEMCR:
		return core.demcr;
	case DFSR:
		return core.dfsr;
	case FP_CTL:
		return 0x260; /* six comparators */
	case FMA:
		return flash.addr;
	case FMD:
		return flash.data;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (fixed[i].addr == addr)
			return fixed[i].value;
	return 0;
}

static uint32_t read_word(uint32_t addr)
{
	addr &= ~3u;
	if (addr < FLASH_BYTES)
		return word_of(flash.bytes + addr);
	if (addr - RAM_BASE < RAM_BYTES)
		return word_of(core.ram + (addr - RAM_BASE));
	return read_register(addr);
}

static void write_register(uint32_t addr, uint32_t v)
{
	switch (addr) {
	case DHCSR:
		write_dhcsr(v);
		break;
	case DCRSR:
		if (v & REG_WRITE)
			core.reg[v & 127] = core.data;
		else
			core.data = core.reg[v & 127];
		break;
	case DCRDR:
		core.data = v;
		break;
	case DEMCR:
		core.demcr = v;
		break;
	case DFSR:
		core.dfsr &= ~v;
		break;
	case AIRCR:
		if (v >> 16 == 0x05fa && v & 5)
			reset_core();
		break;
	case FMA:
		flash.addr = v;
		break;
	case FMD:
		flash.data = v;
		break;
	case FMC:
		flash_command(v);
		break;
	default:
		break;
	}
}

/* @lanes: the bytes of @v that count begin at the address's place in the word. */
static void write_memory(uint32_t addr, uint32_t v, uint32_t bytes)
{
	if (addr - RAM_BASE < RAM_BYTES) {
		for (uint32_t i = 0; i < bytes; i++) {
			uint32_t at = addr + i;

			core.ram[at - RAM_BASE] = (uint8_t)(v >> 8 * (at & 3));
		}
	} else if (bytes == 4) {
		write_register(addr, v);
	}
}

/* --------------------------------------------------------------- debug port */

#define DP_CTRL	  0x4u
#define DP_SELECT 0x8u
#define POWER_REQ 0x50000000u /* acknowledged one bit higher each */

#define AP_CSW	0x00u
#define AP_TAR	0x04u
#define AP_DRW	0x0cu
#define AP_BD0	0x10u
#define AP_BASE 0xf8u
#define AP_IDR	0xfcu

static struct {
	uint32_t select, ctrl, result;
	uint32_t csw, tar;
} dp = { .csw = 2 };

/* That of a Cortex-M3 counts within 4 KiB. */
static void next_address(void)
{
	uint32_t size = 1u << (dp.csw & 7);

	if (dp.csw >> 4 & 3)
		dp.tar = (dp.tar & ~0xfffu) | ((dp.tar + size) & 0xfff);
}

static uint32_t read_ap(uint32_t reg)
{
	uint32_t v;

	if (dp.select >> 24)
		return 0; /* there is but one */
	switch (reg) {
	case AP_CSW:
		return dp.csw | 0x23000040;
	case AP_TAR:
		return dp.tar;
	case AP_DRW:
		v = read_word(dp.tar);
		next_address();
		return v;
	case AP_BASE:
		return 0xe00ff003;
	case AP_IDR:
		return 0x24770011;
	default:
		return reg - AP_BD0 < 16
			       ? read_word((dp.tar & ~15u) + (reg & 12))
			       : 0;
	}
}

static void write_ap(uint32_t reg, uint32_t v)
{
	if (dp.select >> 24)
		return;
	if (reg == AP_CSW) {
		/* no packed transfers: who asks for them reads that back */
		dp.csw = (v & 7) | (v & 0x10);
	} else if (reg == AP_TAR) {
		dp.tar = v;
	} else if (reg == AP_DRW) {
		write_memory(dp.tar, v, 1u << (dp.csw & 7));
		next_address();
	} else if (reg - AP_BD0 < 16) {
		write_memory((dp.tar & ~15u) + (reg & 12), v, 4);
	}
}

static void access_dp(bool read, uint32_t reg, uint32_t v)
{
	if (read && reg == DP_CTRL)
		dp.result = dp.ctrl | (dp.ctrl & POWER_REQ) << 1;
	else if (read)
		dp.result = reg == DP_SELECT ? dp.select : dp.result;
	else if (reg == DP_CTRL)
		dp.ctrl = v & POWER_REQ;
	else if (reg == DP_SELECT)
		dp.select = v;
}

static void access_ap(bool read, uint32_t reg, uint32_t v)
{
	reg |= dp.select & 0xf0;
	if (read)
		dp.result = read_ap(reg);
	else
		write_ap(reg, v);
}

/* ---------------------------------------------------------------------- TAP */

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
#define IDCODE	  0x3ba00477u
#define ACK_OK	  2u

static struct {
	enum tap state;
	uint32_t ir, bits;
	uint64_t shift;
} tap = { .state = RESET, .ir = IR_IDCODE };

static void capture_dr(void)
{
	switch (tap.ir) {
	case IR_IDCODE:
		tap.shift = IDCODE;
		tap.bits = 32;
		break;
	case IR_DPACC:
	case IR_APACC:
		tap.shift = ACK_OK | (uint64_t)dp.result << 3;
		tap.bits = 35;
		break;
	case IR_ABORT:
		tap.shift = 0;
		tap.bits = 35;
		break;
	default: /* bypass */
		tap.shift = 0;
		tap.bits = 1;
	}
}

/* Bits: 0 read, 2:1 register, 34:3 data. */
static void update_dr(void)
{
	bool read = tap.shift & 1;
	uint32_t reg = (uint32_t)(tap.shift >> 1 & 3) << 2;
	uint32_t data = (uint32_t)(tap.shift >> 3);

	if (tap.ir == IR_DPACC)
		access_dp(read, reg, data);
	else if (tap.ir == IR_APACC)
		access_ap(read, reg, data);
}

static void clock_tap(bool tms, bool tdi)
{
	if (tap.state == SHIFT_DR || tap.state == SHIFT_IR)
		tap.shift = tap.shift >> 1 | (uint64_t)tdi << (tap.bits - 1);
	tap.state = after[tap.state][tms];
	if (tap.state == RESET) {
		tap.ir = IR_IDCODE;
	} else if (tap.state == CAPTURE_IR) {
		tap.shift = 1;
		tap.bits = 4;
	} else if (tap.state == UPDATE_IR) {
		tap.ir = tap.shift & 15;
	} else if (tap.state == CAPTURE_DR) {
		capture_dr();
	} else if (tap.state == UPDATE_DR) {
		update_dr();
	}
}

/* ------------------------------------------------------------------ adapter */

static bool last_tck;

static volatile sig_atomic_t told_to_end;

static void on_term(int sig)
{
	(void)sig;
	told_to_end = 1;
}

/* One character of remote_bitbang. Returns the answer, 0: none. */
static char character(char c)
{
	bool tck = c >= '4';

	if (c == 'R')
		return tap.shift & 1 ? '1' : '0';
	if (c == 't' || c == 'u')
		tap.state = RESET;
	if (c < '0' || c > '7')
		return 0;
	if (tck && !last_tck)
		clock_tap((c - '0') & 2, (c - '0') & 1);
	last_tck = tck;
	return 0;
}

static void serve(int fd)
{
	static char in[65536], out[65536];
	ssize_t n;

	while ((n = read(fd, in, sizeof(in))) > 0) {
		size_t answers = 0;

		for (ssize_t i = 0; i < n; i++) {
			char a = character(in[i]);

			if (a)
				out[answers++] = a;
		}
		if (answers && write(fd, out, answers) != (ssize_t)answers)
			break;
	}
}

static int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	if (s < 0 || strlen(path) >= sizeof(addr.sun_path))
		return -1;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	return bind(s, (struct sockaddr *)&addr, sizeof(addr)) || listen(s, 1)
		       ? -1
		       : s;
}

static void load(void)
{
	FILE *f = fopen(flash_path, "rb");

	memset(flash.bytes, 0xff, FLASH_BYTES);
	if (!f)
		return;
	if (!fread(flash.bytes, 1, FLASH_BYTES, f))
		perror(flash_path);
	fclose(f);
}

int main(int argc, char **argv)
{
	struct sigaction term = { .sa_handler = on_term };
	int s, fd;

	if (argc < 3) {
		fprintf(stderr, "usage: board-model SOCKET FLASH [STEPS]\n");
		return 2;
	}
	socket_path = argv[1];
	flash_path = argv[2];
	flash.most = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
	load();
	sigaction(SIGTERM, &term, NULL); /* interrupts accept() and read() */
	s = listen_at(socket_path);
	if (s < 0) {
		perror(socket_path);
		return 1;
	}
	while (!told_to_end) {
		fd = accept(s, NULL, NULL);
		if (fd < 0)
			continue;
		serve(fd);
		close(fd);
	}
	end(0);
}
