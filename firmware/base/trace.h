/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * trace.h - the binary trace ring in the BAR (abi/unic_stats.h). The core prints
 * nothing; the host formats the records.
 */
#ifndef UNIC_TRACE_H
#define UNIC_TRACE_H

#include <stdint.h>

#include "unic_stats.h"

struct unic_base;

struct unic_trace {
	struct unic_trace_rec *ring; /* shared memory, only written */
	uint32_t seq;		     /* events written so far */
	uint32_t mask;		     /* UNIC_TG_* groups that are recorded */
};

/** unic_trace_init() - uses the ring of the BAR, in which no event is left, and records
 * all groups but frames and completions. */
void unic_trace_init(struct unic_base *nic);

/** unic_trace_write() - records one event. Call it by UNIC_TRACE(). */
void unic_trace_write(struct unic_base *nic, uint32_t code, uint32_t proc,
		      uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3);

#define UNIC_TRACE_GROUP(name, group, text) UNIC_TG_OF_##name = (group),
enum unic_trace_group_of {
	UNIC_TRACES(UNIC_TRACE_GROUP)
};

/* Costs one load and one test when the group is off. */
#define UNIC_TRACE(nic, name, proc, a0, a1, a2, a3)                         \
	do {                                                                \
		if ((nic)->trace.mask & UNIC_TG_OF_##name)                  \
			unic_trace_write(&(nic)->base, UNIC_T_##name, proc, \
					 a0, a1, a2, a3);                   \
	} while (0)

#endif /* UNIC_TRACE_H */
