/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "crash.h"

#include <string.h>

#include "cortexm.h"
#include "machine.h"

#define HARD_FAULT 3u

/* Configurable fault status (ARM DDI 0403E B3.2.15). */
#define CFSR_MEM	 0x000000ffu
#define CFSR_BUS	 0x0000ff00u
#define CFSR_USAGE	 0xffff0000u
#define CFSR_INSTRUCTION 0x00000101u /* IACCVIOL, IBUSERR */
#define CFSR_NOT_STACKED 0x00001010u /* MSTKERR, STKERR */
#define CFSR_MEM_ADDR	 0x00000080u /* MMFAR is valid */
#define CFSR_BUS_ADDR	 0x00008000u /* BFAR is valid */

/*
 * A fault handler gets no argument, so this is the one place with a port of its
 * own. The record is static because a fault while its details are collected
 * must still publish it.
 */
static struct {
	struct unic_port *port;
	uintptr_t guard;
	uint32_t guard_bytes;
	bool begun;
	bool published;
	struct unic_crash record;
} crash;

void crash_arm(struct unic_port *port, uintptr_t guard, uint32_t bytes)
{
	crash.port = port;
	crash.guard = guard;
	crash.guard_bytes = bytes;
}

static void say(const char *name, uint32_t value)
{
	char text[10] = "=";

	for (uint32_t i = 0; i < 8; i++)
		text[1 + i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
	text[9] = '\0';
	machine_puts(name);
	machine_puts(text);
}

static void crash_say(const struct unic_crash *record)
{
	machine_puts("unic: crashed:");
	say(" kind", unic_from_le32(record->kind));
	say(" pc", unic_from_le32(record->reg[15]));
	say(" lr", unic_from_le32(record->reg[14]));
	say(" sp", unic_from_le32(record->reg[13]));
	say(" status", unic_from_le32(record->fault_status));
	say(" addr", unic_from_le32(record->fault_addr));
	if (record->line) {
		machine_puts(" at ");
		machine_puts((const char *)record->file);
		say(" line", unic_from_le32(record->line));
	}
	machine_puts("\n");
}

static void crash_stop(void) __attribute__((noreturn));
static void crash_stop(void)
{
	for (;;)
		__asm__ volatile("cpsid i\n\twfi");
}

static void crash_publish(void)
{
	crash.published = true;
	crash.record.magic = unic_to_le32(UNIC_CRASH_MAGIC);
	machine_crashed(crash.port, &crash.record);
}

/* A second fault, on the way here, publishes what the first had found out. */
static void crash_begin(void)
{
	if (crash.begun) {
		if (!crash.published)
			crash_publish();
		crash_stop();
	}
	crash.begun = true;
	if (crash.port)
		crash.record.time_ns =
			unic_to_le64(unic_port_now_ns(crash.port));
}

static void crash_end(void) __attribute__((noreturn));
static void crash_end(void)
{
	crash_say(&crash.record);
	crash_details(&crash.record);
	crash_publish();
	crash_stop();
}

static void set_reg(uint32_t first, const uint32_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		crash.record.reg[first + i] = unic_to_le32(from[i]);
}

static uint32_t kind_of(uint32_t exception, uint32_t cfsr)
{
	if (cfsr & CFSR_INSTRUCTION)
		return UNIC_CRASH_PREFETCH;
	if (cfsr & (CFSR_MEM | CFSR_BUS))
		return UNIC_CRASH_DATA;
	return cfsr & CFSR_USAGE && exception >= HARD_FAULT ? UNIC_CRASH_UNDEF
							    : UNIC_CRASH_OTHER;
}

/* Status and address of the fault, before anything else can fault. */
static void crash_status(uint32_t exception, const uint32_t *stacked)
{
	uint32_t cfsr = CORTEXM_REG(CORTEXM_CFSR);
	uint32_t kind = kind_of(exception, cfsr);
	uint32_t addr = cfsr & CFSR_MEM_ADDR   ? CORTEXM_REG(CORTEXM_MMFAR)
			: cfsr & CFSR_BUS_ADDR ? CORTEXM_REG(CORTEXM_BFAR)
					       : (uint32_t)(uintptr_t)stacked;

	if (kind == UNIC_CRASH_DATA && crash.guard_bytes &&
	    addr - crash.guard < crash.guard_bytes)
		kind = UNIC_CRASH_STACK;
	crash.record.kind = unic_to_le32(kind);
	crash.record.fault_status = unic_to_le32(cfsr);
	crash.record.fault_addr = unic_to_le32(addr);
}

void crash_exception(const uint32_t *high, const uint32_t *stacked,
		     uint32_t exception)
{
	uint32_t sp = (uint32_t)(uintptr_t)stacked;

	crash_begin();
	crash_status(exception, stacked);
	set_reg(4, high, 8);
	if (!(CORTEXM_REG(CORTEXM_CFSR) & CFSR_NOT_STACKED)) {
		set_reg(0, stacked, 4);
		set_reg(12, stacked + 4, 1);
		set_reg(14, stacked + 5, 3);
		sp += 32 + (stacked[7] >> 9 & 1) * 4; /* it was aligned */
	}
	crash.record.reg[13] = unic_to_le32(sp);
	crash_end();
}

/* The end of a path says more than its beginning. */
static void crash_file(struct unic_crash *record, const char *file)
{
	size_t len = strlen(file);
	size_t max = sizeof(record->file) - 1;

	if (len > max) {
		file += len - max;
		len = max;
	}
	memcpy(record->file, file, len);
}

void crash_panic(struct unic_port *port, const char *file, uint32_t line,
		 const struct crash_frame *frame)
{
	crash.port = port;
	crash_begin();
	set_reg(0, frame->r, 13);
	set_reg(13, &frame->sp, 4);
	crash.record.kind = unic_to_le32(UNIC_CRASH_ASSERT);
	crash.record.line = unic_to_le32(line);
	crash_file(&crash.record, file);
	crash_end();
}
