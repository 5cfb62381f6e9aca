/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * board.h - a board as its data sheet describes it: a processor that runs the bytes
 * which would be flashed, and devices that know order, time and what may not be done.
 * All modules of this folder include this header.
 *
 * A broken rule is a fault: a line on stderr, and exit status 3 in the end. The model
 * goes on after it, as silicon would.
 *
 * Secret: where memories and devices are, and who hears of resets and of clocks.
 */
#ifndef BOARD_MODEL_BOARD_H
#define BOARD_MODEL_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"

#define BOARD_DEVICES  64u
#define BOARD_MEMORIES 4u
#define BOARD_FAULT    3 /* exit status */

struct board;
struct cpu;
struct phy;

enum board_reset {
	BOARD_POWER_ON,
	BOARD_PIN,
	BOARD_SYSTEM, /* SYSRESETREQ */
	BOARD_WATCHDOG,
	BOARD_BROWN_OUT,
	BOARD_CORE, /* VECTRESET: devices stay as they are */
};

/* Registers of a device. A word at a time: part of a word is read from the word, and
 * written as a word whose other bytes are 0. */
struct device_ops {
	const char *name;
	uint32_t (*read)(void *device, uint32_t off);
	void (*write)(void *device, uint32_t off, uint32_t value);
	/* The rest may be NULL. */
	void (*reset)(void *device);
	/* the system clock was @old_hz until now, clock_hz() is the new one */
	void (*clocked)(void *device, uint32_t old_hz);
};

struct board_device {
	uint32_t base, bytes;
	const struct device_ops *ops;
	void *device;
};

struct board_memory {
	uint32_t base, bytes;
	uint8_t *host;
	bool writable; /* by stores */
	/* before each read of data; may be NULL */
	void (*before_read)(void *arg, uint32_t off, uint32_t bytes);
	void *arg;
};

/* What a chip is besides its devices, which create() registers. */
struct board_chip {
	const char *name;    /* of --chip */
	const char *core;    /* "m3", "m4" */
	uint32_t interrupts; /* external ones */
	uint32_t flash_bytes, page_bytes, ram_bytes;
	void *(*create)(struct board *board);
	/* false: the bus answers an access to @device with an error. May report
	 * a fault. */
	bool (*reaches)(void *chip, const struct board_device *device,
			uint32_t off);
	/* after all devices were reset */
	void (*reset)(void *chip, enum board_reset cause);
	/* the power goes: write files */
	void (*end)(void *chip);
	/* the transceiver that the board's jack is connected to */
	struct phy *(*phy)(void *chip);
};

/* Connections to the world, by the names of the command line; NULL: none. */
struct board_options {
	const char *flash, *jtag, *uart[3], *console, *wire;
	const char *broken;    /* --break: names, such as "pll,link" */
	uint32_t uart_baud[3]; /* of the receivers and senders outside */
	unsigned long
		power_cut; /* the step of the flash at which power fails */
	uint32_t seed;
	int oscillator_permille; /* error of the internal oscillator */
	uint32_t wire_errors;	 /* frames of 1,000 that arrive spoiled */
	uint64_t hang_ns;	 /* when the main program hangs; 0: never */
	uint32_t fade;		 /* address of a byte of RAM; 0: none */
	uint32_t reset_at;	 /* address of an instruction; 0: none */
	const char *ram;  /* file that gets the bytes of RAM at the end */
	bool logs_frames; /* a line for each that is sent */
};

struct board {
	struct board_options options;
	const struct board_chip *chip;
	void *chip_state;
	struct cpu *cpu;
	struct clock clock;
	struct board_device devices[BOARD_DEVICES];
	struct board_memory memories[BOARD_MEMORIES];
	uint32_t device_count, memory_count;
	unsigned long faults;
	uint32_t flash_waits; /* cycles that a branch takes longer */
	uint64_t random;
	/* what the receiver at the console gets */
	void (*console_byte)(void *arg, uint8_t byte);
	void *console_arg;
	bool power_failed;
	bool reset_wanted;
	enum board_reset reset_cause;
};

/** board_map() - register @bytes of registers at @base. Both live as long as the
 * board. */
void board_map(struct board *board, uint32_t base, uint32_t bytes,
	       const struct device_ops *ops, void *device);

/** board_memory() - register memory: bytes that live as long as the board. */
void board_memory(struct board *board, const struct board_memory *memory);

/** board_memory_at() - the memory that has @bytes at @addr, or NULL. */
const struct board_memory *board_memory_at(const struct board *board,
					   uint32_t addr, uint32_t bytes);

/** board_read() - 1, 2 or 4 bytes of memory or device, as the bus has them.
 * Returns false: a bus error, *@value is 0. */
bool board_read(struct board *board, uint32_t addr, uint32_t bytes,
		uint32_t *value);
/** board_write() - the same the other way. Memory that is not writable: an error. */
bool board_write(struct board *board, uint32_t addr, uint32_t bytes,
		 uint32_t value);

/** board_fault() - a rule of the data sheet is broken: print it, with the program
 * counter and the time. A line that was printed before is counted only. */
void board_fault(struct board *board, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** board_say() - a line on stderr, with the time: no fault. */
void board_say(struct board *board, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** board_set_hz() - change the system clock, now; devices hear of it. */
void board_set_hz(struct board *board, uint32_t hz);

/** board_want_reset() - reset the board before the next instruction. */
void board_want_reset(struct board *board, enum board_reset cause);

/** board_reset() - reset devices, chip and processor, now. RAM keeps its bytes, but
 * for one bit at --fade. */
void board_reset(struct board *board, enum board_reset cause);

/** board_run() - run until @ns, through resets. */
void board_run(struct board *board, uint64_t ns);

/** board_random() - 32 random bits, by --seed. */
uint32_t board_random(struct board *board);

/** board_breaks() - --break names @what. */
bool board_breaks(const struct board *board, const char *what);

extern const struct board_chip lm3s6965_chip, tm4c1294_chip;

#endif /* BOARD_MODEL_BOARD_H */
