/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * nvic.h - exceptions of an ARMv7-M core by number (ARM DDI 0403E B1.5, B3.4): which
 * are enabled, pending and active, and which one comes next.
 *
 * Secret: how pending and level of a line are kept. All three bits of a priority
 * preempt; fewer (AIRCR.PRIGROUP above 4) are not modelled.
 */
#ifndef BOARD_MODEL_NVIC_H
#define BOARD_MODEL_NVIC_H

#include <stdbool.h>
#include <stdint.h>

#define EXC_NMI	       2u
#define EXC_HARD       3u
#define EXC_MEM	       4u
#define EXC_BUS	       5u
#define EXC_USAGE      6u
#define EXC_SVC	       11u
#define EXC_PENDSV     14u
#define EXC_SYSTICK    15u
#define EXC_IRQ	       16u
#define NVIC_MOST      160u
#define NVIC_THREAD    256 /* priority of code outside of handlers */
#define NVIC_HARD_PRIO (-1)

struct nvic_exception {
	bool enabled, pending, active, level;
	int priority;
};

struct nvic {
	uint32_t count; /* exceptions, the 16 of the core included */
	struct nvic_exception exc[NVIC_MOST];
};

/** nvic_reset() - nothing is enabled but what always is; @interrupts external
 * ones. Levels of lines stay. */
void nvic_reset(struct nvic *nvic, uint32_t interrupts);

/** nvic_set_level() - the line of exception @n. A line that is high pends again
 * when its handler returns. */
void nvic_set_level(struct nvic *nvic, uint32_t n, bool level);

/** nvic_unpend() - clear pending; while the line is high that has no effect. */
void nvic_unpend(struct nvic *nvic, uint32_t n);

/** nvic_next() - the pending exception that preempts code of priority @than, or
 * 0: there is none. */
uint32_t nvic_next(const struct nvic *nvic, int than);

/** nvic_running_priority() - that of the active exceptions. */
int nvic_running_priority(const struct nvic *nvic);

/** nvic_enter() - @n is active and pends no more. */
void nvic_enter(struct nvic *nvic, uint32_t n);

/** nvic_leave() - the handler of @n returned. */
void nvic_leave(struct nvic *nvic, uint32_t n);

/** nvic_fault_becomes() - the exception that a fault @n raised now becomes, by
 * priority and enabling: @n, EXC_HARD, or 0: the core locks up. */
uint32_t nvic_fault_becomes(const struct nvic *nvic, uint32_t n, int running);

#endif /* BOARD_MODEL_NVIC_H */
