// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * board_model_main.c - board-model: a board whose connectors are sockets and files.
 *
 *	board-model --chip lm3s6965 [--flash FILE] [--jtag SOCKET]
 *		[--uart0 SOCKET] [--uart1 SOCKET] [--console FILE] [--wire SOCKET]
 *		[--baud0 BAUD] [--seed N] [--power-cut STEP] [--break NAMES]
 *		[--oscillator PERMILLE] [--hang MS] [--log-frames]
 *		[--wire-errors PERMILLE] [--until TEXT] [--for MS] [--free]
 *		[--fade ADDR] [--reset-at ADDR] [--ram FILE]
 *
 * FILE is read at the start, if it is there, and written at the end (SIGTERM, the end
 * of MS milliseconds, TEXT on the console, a power cut). Virtual time does not run
 * ahead of the time of the world, but for --free. SIGUSR1: the next instruction is
 * undefined. SIGUSR2: its main loop is late by 20 ms. SIGHUP: the network cable is
 * pulled, or plugged in again. Exit status 3: a rule was broken.
 *
 * --fade: one bit of that byte of RAM changes at each reset but power-on. --reset-at:
 * the reset button is pressed when the processor comes there first. --ram: FILE gets
 * the bytes of RAM at the end.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "board.h"
#include "connection.h"
#include "cpu.h"
#include "debug_port.h"
#include "phy.h"
#include "regs.h"
#include "uart.h"

#define SLICE_NS     200000u
#define LATE_SLICES  10u /* at a time, for a board that is late */
#define LATE_NS	     20000000
#define STALL_NS     20000000u
#define SOON_NS	     1000u
#define HALTED_US    10000u
#define CONSOLE_BAUD 115200u
#define LINE_BAUD    921600u
#define RESET_HZ     12000000u

static volatile sig_atomic_t told_to_end, told_to_crash, told_to_stall,
	told_of_cable;

struct run {
	struct board board;
	struct debug_port *port;
	const char *until;
	uint64_t until_ns; /* 0: for ever */
	bool is_free, seen;
	size_t matched;
	struct timespec start;
	uint64_t wall_ns; /* when the board was looked at last */
	int64_t ahead_ns;
	struct connection *console;
};

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		told_to_crash = 1;
	else if (sig == SIGUSR2)
		told_to_stall = 1;
	else if (sig == SIGHUP)
		told_of_cable = 1;
	else
		told_to_end = 1;
}

static uint64_t wall_ns(const struct run *run)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)((now.tv_sec - run->start.tv_sec) * 1000000000ll +
			  (now.tv_nsec - run->start.tv_nsec));
}

/* Looks for the text that ends the run; it does not repeat its own beginning. */
static void watch_console(struct run *run, uint8_t byte)
{
	if (!run->until || run->seen)
		return;
	if (byte != (uint8_t)run->until[run->matched])
		run->matched = 0;
	if (byte == (uint8_t)run->until[run->matched])
		run->matched++;
	run->seen = !run->until[run->matched];
}

static void take_console_byte(void *arg, uint8_t byte)
{
	struct run *run = arg;

	connection_send(run->console, &byte, 1);
	watch_console(run, byte);
}

/* A debugger holds the core. Time passes as in the world: who waits for an oscillator, and
 * sends nothing meanwhile, counts on it. */
static void wait_halted(struct run *run)
{
	struct board *board = &run->board;
	uint64_t began = wall_ns(run);

	connection_poll(HALTED_US);
	if (board->cpu->halted)
		board_run(board,
			  clock_now_ns(&board->clock) + (wall_ns(run) - began));
}

/* The board had @ran_ns; if the world had less it gets the rest. A board that is late
 * does not catch up more than a little, and time of JTAG's clocks is not counted. */
static void wait_for_world(struct run *run, uint64_t ran_ns)
{
	uint64_t wall = wall_ns(run);

	run->ahead_ns += (int64_t)ran_ns - (int64_t)(wall - run->wall_ns);
	run->wall_ns = wall;
	if (run->ahead_ns < -LATE_NS)
		run->ahead_ns = -LATE_NS;
	if (debug_port_attached(run->port) && run->board.cpu->halted)
		wait_halted(run);
	else if (run->is_free || run->ahead_ns < 1000)
		connection_poll(0);
	else
		connection_poll((uint64_t)run->ahead_ns / 1000);
}

static bool is_over(const struct run *run)
{
	return told_to_end || run->seen || run->board.power_failed ||
	       (run->until_ns &&
		clock_now_ns(&run->board.clock) >= run->until_ns);
}

/* As when a bit of the code has changed. */
static void crash_core(struct board *board)
{
	told_to_crash = 0;
	board_say(board, "an instruction is undefined");
	cpu_undefined(board->cpu);
}

/*
 * The main program loops from now on, and its handlers run. Where it has interrupts off or
 * sleeps, @event comes again soon.
 */
static bool hold_core(struct board *board, void (*event)(void *))
{
	struct cpu *cpu = board->cpu;

	if (cpu->asleep || regs_are_masked(cpu) || regs_get_ipsr(cpu)) {
		clock_at(&board->clock, clock_now_ns(&board->clock) + SOON_NS,
			 event, board);
		return false;
	}
	cpu->hung = true;
	cpu_look(cpu);
	return true;
}

static void end_stall(void *arg)
{
	struct board *board = arg;

	board->cpu->hung = false;
	cpu_look(board->cpu);
}

/* A round of the main loop that takes long. */
static void stall_core(void *arg)
{
	struct board *board = arg;

	if (hold_core(board, stall_core))
		clock_at(&board->clock, clock_now_ns(&board->clock) + STALL_NS,
			 end_stall, board);
}

static void move_cable(struct board *board)
{
	struct phy *phy = board->chip->phy(board->chip_state);

	told_of_cable = 0;
	phy_plug(phy, !phy->plugged);
	board_say(board, phy->plugged ? "the cable is plugged in"
				      : "the cable is pulled");
}

static void take_signals(struct board *board)
{
	if (told_to_stall) {
		told_to_stall = 0;
		stall_core(board);
	}
	if (told_to_crash)
		crash_core(board);
	if (told_of_cable)
		move_cable(board);
}

static void run_board(struct run *run)
{
	struct board *board = &run->board;
	uint64_t before;

	clock_gettime(CLOCK_MONOTONIC, &run->start);
	while (!is_over(run)) {
		take_signals(board);
		before = clock_now_ns(&board->clock);
		if (!debug_port_attached(run->port) || !board->cpu->halted)
			board_run(board,
				  before + (run->ahead_ns < 0 ? LATE_SLICES
							      : 1) *
						   SLICE_NS);
		wait_for_world(run, clock_now_ns(&board->clock) - before);
	}
}

static const struct board_chip *find_chip(const char *name)
{
	static const struct board_chip *const chips[] = { &lm3s6965_chip,
							  &tm4c1294_chip };

	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (!strcmp(chips[i]->name, name))
			return chips[i];
	fprintf(stderr, "board-model: no chip %s\n", name);
	exit(2);
}

enum name {
	CHIP = 1,
	FLASH,
	JTAG,
	UART0,
	UART1,
	CONSOLE,
	WIRE,
	BAUD0,
	SEED,
	POWER_CUT,
	BREAK,
	OSCILLATOR,
	UNTIL,
	FOR,
	HANG,
	FADE,
	RESET_AT,
	RAM,
	WIRE_ERRORS,
	LOG_FRAMES,
	FREE,
};

static const struct option names[] = {
	{ "chip", 1, NULL, CHIP },
	{ "flash", 1, NULL, FLASH },
	{ "jtag", 1, NULL, JTAG },
	{ "uart0", 1, NULL, UART0 },
	{ "uart1", 1, NULL, UART1 },
	{ "console", 1, NULL, CONSOLE },
	{ "wire", 1, NULL, WIRE },
	{ "baud0", 1, NULL, BAUD0 },
	{ "seed", 1, NULL, SEED },
	{ "power-cut", 1, NULL, POWER_CUT },
	{ "break", 1, NULL, BREAK },
	{ "oscillator", 1, NULL, OSCILLATOR },
	{ "until", 1, NULL, UNTIL },
	{ "for", 1, NULL, FOR },
	{ "wire-errors", 1, NULL, WIRE_ERRORS },
	{ "log-frames", 0, NULL, LOG_FRAMES },
	{ "hang", 1, NULL, HANG },
	{ "fade", 1, NULL, FADE },
	{ "reset-at", 1, NULL, RESET_AT },
	{ "ram", 1, NULL, RAM },
	{ "free", 0, NULL, FREE },
	{ 0 },
};

static void take_path(struct board_options *o, int option, const char *value)
{
	if (option == FLASH)
		o->flash = value;
	else if (option == JTAG)
		o->jtag = value;
	else if (option == UART0)
		o->uart[0] = value;
	else if (option == UART1)
		o->uart[1] = value;
	else if (option == CONSOLE)
		o->console = value;
	else if (option == WIRE)
		o->wire = value;
	else if (option == BREAK)
		o->broken = value;
	else if (option == RAM)
		o->ram = value;
}

static void take_number(struct run *run, int option, const char *value)
{
	struct board_options *o = &run->board.options;
	long n = strtol(value, NULL, 0);

	if (option == BAUD0)
		o->uart_baud[0] = (uint32_t)n;
	else if (option == SEED)
		o->seed = (uint32_t)n;
	else if (option == POWER_CUT)
		o->power_cut = (unsigned long)n;
	else if (option == OSCILLATOR)
		o->oscillator_permille = (int)n;
	else if (option == WIRE_ERRORS)
		o->wire_errors = (uint32_t)n;
	else if (option == HANG)
		o->hang_ns = (uint64_t)n * 1000000;
	else if (option == FADE)
		o->fade = (uint32_t)n;
	else if (option == RESET_AT)
		o->reset_at = (uint32_t)n;
	else if (option == FOR)
		run->until_ns = (uint64_t)n * 1000000;
}

static void parse_options(struct run *run, int argc, char **argv)
{
	int option;

	run->board.options.uart_baud[0] = LINE_BAUD;
	run->board.options.uart_baud[1] = CONSOLE_BAUD;
	run->board.options.uart_baud[2] = CONSOLE_BAUD;
	run->board.options.seed = 1;
	while ((option = getopt_long(argc, argv, "", names, NULL)) > 0) {
		if (option == CHIP)
			run->board.chip = find_chip(optarg);
		else if (option == UNTIL)
			run->until = optarg;
		else if (option == LOG_FRAMES)
			run->board.options.logs_frames = true;
		else if (option == FREE)
			run->is_free = true;
		else
			take_path(&run->board.options, option, optarg);
		if (optarg)
			take_number(run, option, optarg);
	}
	if (option == '?' || optind < argc || !run->board.chip) {
		fprintf(stderr, "usage: board-model --chip NAME ...: see the "
				"top of board_model_main.c\n");
		exit(2);
	}
}

static void hang_core(void *arg)
{
	struct board *board = arg;

	if (hold_core(board, hang_core))
		board_say(board, "the main program hangs");
}

static void start_board(struct run *run)
{
	struct board *board = &run->board;

	board->random = 0x9e3779b97f4a7c15ull * (board->options.seed + 1ull);
	clock_start(&board->clock, RESET_HZ);
	board->console_byte = take_console_byte;
	board->console_arg = run;
	if (board->options.console)
		run->console = connection_file(board->options.console);
	board->chip_state = board->chip->create(board);
	board->cpu = cpu_new(board);
	board_reset(board, BOARD_POWER_ON);
	if (board->options.hang_ns)
		clock_at(&board->clock, board->options.hang_ns, hang_core,
			 board);
	if (board->options.jtag)
		run->port = debug_port_serve(board, board->options.jtag);
}

static void save_ram(const struct board *board)
{
	FILE *to = fopen(board->options.ram, "wb");

	for (uint32_t i = 0; to && i < board->memory_count; i++) {
		const struct board_memory *m = &board->memories[i];

		if (m->writable)
			fwrite(m->host, 1, m->bytes, to);
	}
	if (!to || fclose(to))
		perror(board->options.ram);
}

int main(int argc, char **argv)
{
	static struct run run;
	struct sigaction end = { .sa_handler = on_signal };

	parse_options(&run, argc, argv);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGUSR1, &end, NULL);
	sigaction(SIGUSR2, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	start_board(&run);
	run_board(&run);
	run.board.chip->end(run.board.chip_state);
	if (run.board.options.ram)
		save_ram(&run.board);
	connection_close_all();
	return run.board.faults ? BOARD_FAULT : 0;
}
