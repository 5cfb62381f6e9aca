/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "crash_record.h"

#include <string.h>

#include "unic_mbox.h"

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

static void put_field(const char *name, uint32_t value)
{
	char text[10] = "=";

	for (uint32_t i = 0; i < 8; i++)
		text[1 + i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
	text[9] = '\0';
	machine_puts(name);
	machine_puts(text);
}

static void crash_print(const struct unic_crash *record)
{
	machine_puts("unic: crashed:");
	put_field(" kind", unic_from_le32(record->kind));
	put_field(" pc", unic_from_le32(record->reg[15]));
	put_field(" lr", unic_from_le32(record->reg[14]));
	put_field(" sp", unic_from_le32(record->reg[13]));
	put_field(" status", unic_from_le32(record->fault_status));
	put_field(" addr", unic_from_le32(record->fault_addr));
	if (record->line) {
		machine_puts(" at ");
		machine_puts((const char *)record->file);
		put_field(" line", unic_from_le32(record->line));
	}
	machine_puts("\n");
}

void crash_to_mailbox(uint8_t *bar, const struct unic_crash *record)
{
	struct unic_info *info = (void *)(bar + UNIC_BAR_INFO_OFF);
	struct unic_crash *out = (void *)(bar + UNIC_BAR_CRASH_OFF);

	UNIC_WRITE_ONCE(out->magic, unic_to_le32(0));
	unic_wmb();
	memcpy((uint8_t *)out + sizeof(out->magic),
	       (const uint8_t *)record + sizeof(out->magic),
	       sizeof(*out) - sizeof(out->magic));
	unic_wmb();
	UNIC_WRITE_ONCE(out->magic, record->magic);
	UNIC_WRITE_ONCE(info->state, unic_to_le32(UNIC_NIC_CRASHED));
}

static void crash_publish(void)
{
	crash.published = true;
	crash.record.magic = unic_to_le32(UNIC_CRASH_MAGIC);
	machine_crashed(crash.port, &crash.record);
}

/* A second fault, on the way here, publishes what the first had found out. */
struct unic_crash *crash_begin(void)
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
	return &crash.record;
}

void crash_set_regs(uint32_t first, const uint32_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		crash.record.reg[first + i] = unic_to_le32(from[i]);
}

void crash_set_fault(enum unic_crash_kind kind, uint32_t status, uint32_t addr)
{
	if (kind == UNIC_CRASH_DATA && crash.guard_bytes &&
	    addr - crash.guard < crash.guard_bytes)
		kind = UNIC_CRASH_STACK;
	crash.record.kind = unic_to_le32(kind);
	crash.record.fault_status = unic_to_le32(status);
	crash.record.fault_addr = unic_to_le32(addr);
}

void crash_end(void)
{
	crash_print(&crash.record);
	crash_details(&crash.record);
	crash_publish();
	crash_stop();
}

/* Of a path that is too long its end is kept. */
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
	struct unic_crash *record;

	crash.port = port;
	record = crash_begin();
	record->kind = unic_to_le32(UNIC_CRASH_ASSERT);
	record->line = unic_to_le32(line);
	crash_set_regs(0, frame->r, 13);
	crash_set_regs(13, &frame->sp, 4);
	crash_file(record, file);
	crash_end();
}
