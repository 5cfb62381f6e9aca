// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* nvic.c - see nvic.h. */
#include "nvic.h"

#define NMI_PRIO   (-2)
#define RESET_PRIO (-3)

static bool is_always_enabled(uint32_t n)
{
	return n < EXC_IRQ && n != EXC_MEM && n != EXC_BUS && n != EXC_USAGE;
}

void nvic_reset(struct nvic *nvic, uint32_t interrupts)
{
	nvic->count = EXC_IRQ + interrupts;
	for (uint32_t n = 0; n < nvic->count; n++)
		nvic->exc[n] = (struct nvic_exception){
			.enabled = is_always_enabled(n),
			.level = nvic->exc[n].level,
			.pending = nvic->exc[n].level,
		};
	nvic->exc[1].priority = RESET_PRIO;
	nvic->exc[EXC_NMI].priority = NMI_PRIO;
	nvic->exc[EXC_HARD].priority = NVIC_HARD_PRIO;
}

void nvic_set_level(struct nvic *nvic, uint32_t n, bool level)
{
	struct nvic_exception *e = &nvic->exc[n];

	if (level && !e->level)
		e->pending = true;
	e->level = level;
}

void nvic_unpend(struct nvic *nvic, uint32_t n)
{
	nvic->exc[n].pending = nvic->exc[n].level && !nvic->exc[n].active;
}

uint32_t nvic_next(const struct nvic *nvic, int than)
{
	uint32_t best = 0;

	for (uint32_t n = 1; n < nvic->count; n++) {
		const struct nvic_exception *e = &nvic->exc[n];

		if (e->pending && e->enabled && !e->active &&
		    e->priority < than) {
			best = n;
			than = e->priority;
		}
	}
	return best;
}

int nvic_running_priority(const struct nvic *nvic)
{
	int priority = NVIC_THREAD;

	for (uint32_t n = 1; n < nvic->count; n++)
		if (nvic->exc[n].active && nvic->exc[n].priority < priority)
			priority = nvic->exc[n].priority;
	return priority;
}

void nvic_enter(struct nvic *nvic, uint32_t n)
{
	nvic->exc[n].active = true;
	nvic->exc[n].pending = false;
}

void nvic_leave(struct nvic *nvic, uint32_t n)
{
	nvic->exc[n].active = false;
	if (nvic->exc[n].level)
		nvic->exc[n].pending = true;
}

uint32_t nvic_fault_becomes(const struct nvic *nvic, uint32_t n, int running)
{
	if (nvic->exc[n].enabled && nvic->exc[n].priority < running)
		return n;
	return running > NVIC_HARD_PRIO ? EXC_HARD : 0;
}
