/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "crash.h"

#include "clock.h"
#include "memlayout.h"
#include "pl011.h"

/* start.S has these as numbers */
_Static_assert(UNIC_CRASH_UNDEF == 2, "start.S");
_Static_assert(UNIC_CRASH_PREFETCH == 3, "start.S");
_Static_assert(UNIC_CRASH_DATA == 4, "start.S");
_Static_assert(UNIC_CRASH_OTHER == 6, "start.S");

void machine_puts(const char *text)
{
	pl011_puts(VIRT_UART, text);
}

void machine_crashed(struct unic_port *port, const struct unic_crash *record)
{
	if (!port || !port->bar)
		return;
	crash_to_mailbox(port->bar, record);
	unic_port_ring(port, 0);
}

void crash_stop(void)
{
	/* The timer is off, so this wakes at most to sleep again. */
	virt_timer_stop();
	for (;;)
		__asm__ volatile("wfi");
}

/* Status and address registers of the abort, ARM DDI 0406C B4.1.51 ff. */
static void crash_abort(uint32_t kind)
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
	crash_set_fault(kind, status, addr);
}

void crash_fault(uint32_t kind, const struct crash_frame *frame)
{
	struct unic_crash *record = crash_begin();

	record->kind = unic_to_le32(kind);
	crash_set_regs(0, frame->r, 13);
	crash_set_regs(13, &frame->sp, 4);
	if (kind == UNIC_CRASH_DATA || kind == UNIC_CRASH_PREFETCH)
		crash_abort(kind);
	crash_end();
}
