/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "crash.h"

#include <string.h>

#include "clock.h"
#include "memlayout.h"
#include "pl011.h"
#include "unic_mbox.h"

/* start.S has these as numbers */
_Static_assert(UNIC_CRASH_UNDEF == 2, "start.S");
_Static_assert(UNIC_CRASH_PREFETCH == 3, "start.S");
_Static_assert(UNIC_CRASH_DATA == 4, "start.S");
_Static_assert(UNIC_CRASH_OTHER == 6, "start.S");

/*
 * A fault handler gets no argument, so this is the one place with a port of its
 * own. The record is static because a fault while its details are collected
 * must still publish it.
 */
static struct {
	struct unic_port *port;
	bool begun;
	bool published;
	struct unic_crash record;
} crash;

void crash_arm(struct unic_port *port)
{
	crash.port = port;
}

static void crash_stop(void) __attribute__((noreturn));
static void crash_stop(void)
{
	/* The timer is off, so this wakes at most to sleep again. */
	virt_timer_stop();
	for (;;)
		__asm__ volatile("wfi");
}

static void crash_registers(struct unic_crash *record,
			    const struct crash_frame *frame)
{
	for (uint32_t i = 0; i < 13; i++)
		record->reg[i] = unic_to_le32(frame->r[i]);
	record->reg[13] = unic_to_le32(frame->sp);
	record->reg[14] = unic_to_le32(frame->lr);
	record->reg[15] = unic_to_le32(frame->pc);
	record->reg[16] = unic_to_le32(frame->psr);
}

/* Status and address registers of the abort, ARM DDI 0406C B4.1.51 ff. */
static void crash_abort(struct unic_crash *record, uint32_t kind)
{
	uint32_t status, addr;

	if (kind == UNIC_CRASH_PREFETCH)
		__asm__("mrc p15, 0, %0, c5, c0, 1\n\t"
			"mrc p15, 0, %1, c6, c0, 2"
			: "=r"(status), "=r"(addr));
	else
		__asm__("mrc p15, 0, %0, c5, c0, 0\n\t"
			"mrc p15, 0, %1, c6, c0, 0"
			: "=r"(status), "=r"(addr));
	record->fault_status = unic_to_le32(status);
	record->fault_addr = unic_to_le32(addr);
	if (kind == UNIC_CRASH_DATA &&
	    addr - VIRT_GUARD < VIRT_RAM - VIRT_GUARD)
		record->kind = unic_to_le32(UNIC_CRASH_STACK);
}

static void crash_say(const struct unic_crash *record)
{
	pl011_puts(VIRT_UART, "unic: crashed:");
	pl011_hex(VIRT_UART, " kind", unic_from_le32(record->kind));
	pl011_hex(VIRT_UART, " pc", unic_from_le32(record->reg[15]));
	pl011_hex(VIRT_UART, " lr", unic_from_le32(record->reg[14]));
	pl011_hex(VIRT_UART, " sp", unic_from_le32(record->reg[13]));
	pl011_hex(VIRT_UART, " status", unic_from_le32(record->fault_status));
	pl011_hex(VIRT_UART, " addr", unic_from_le32(record->fault_addr));
	if (record->line) {
		pl011_puts(VIRT_UART, " at ");
		pl011_puts(VIRT_UART, (const char *)record->file);
		pl011_hex(VIRT_UART, " line", unic_from_le32(record->line));
	}
	pl011_puts(VIRT_UART, "\n");
}

/* Copy the record to the host, its magic last, and say so. */
static void crash_publish(void)
{
	struct unic_port *port = crash.port;
	struct unic_info *info;
	struct unic_crash *out;

	crash.published = true;
	if (!port || !port->bar)
		return;
	info = (struct unic_info *)(port->bar + UNIC_BAR_INFO_OFF);
	out = (struct unic_crash *)(port->bar + UNIC_BAR_CRASH_OFF);
	memcpy(out, &crash.record, sizeof(*out));
	unic_wmb();
	UNIC_WRITE_ONCE(out->magic, unic_to_le32(UNIC_CRASH_MAGIC));
	UNIC_WRITE_ONCE(info->state, unic_to_le32(UNIC_NIC_CRASHED));
	unic_port_ring(port, 0);
}

/* A second fault, on the way here, publishes what the first had found out. */
static void crash_begin(uint32_t kind, const struct crash_frame *frame)
{
	if (crash.begun) {
		if (!crash.published)
			crash_publish();
		crash_stop();
	}
	crash.begun = true;
	crash.record.kind = unic_to_le32(kind);
	crash_registers(&crash.record, frame);
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

void crash_fault(uint32_t kind, const struct crash_frame *frame)
{
	crash_begin(kind, frame);
	if (kind == UNIC_CRASH_DATA || kind == UNIC_CRASH_PREFETCH)
		crash_abort(&crash.record, kind);
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
	crash_begin(UNIC_CRASH_ASSERT, frame);
	crash.record.line = unic_to_le32(line);
	crash_file(&crash.record, file);
	crash_end();
}
