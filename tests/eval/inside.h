/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* inside.h - what an experiment reads off a NIC at an instant, without asking
 * it: nothing moves because it was looked at. */
#ifndef EVAL_INSIDE_H
#define EVAL_INSIDE_H

#include "sim.h"
#include "unic_stats.h"

struct node;
struct unic_nic;

/** inside_entries() - size of the TLB. */
uint32_t inside_entries(void);
/** inside_held() - entries that the process in @slot has. */
uint32_t inside_held(const struct unic_nic *nic, uint32_t slot);
/** inside_used() - entries that are not free. */
uint32_t inside_used(const struct unic_nic *nic);
/** inside_entitled() - would @n more, beside what it waits for already, leave
 * the process in @slot within its fair share? */
bool inside_entitled(struct unic_nic *nic, uint32_t slot, uint32_t n);
/** inside_bound_ns() - B, by the parameters of this NIC. */
uint64_t inside_bound_ns(const struct unic_nic *nic);
/** inside_count() - a counter. */
uint64_t inside_count(const struct unic_nic *nic, enum unic_counter c);
/** inside_events() / inside_drops() - records that the NIC wrote so far. */
uint32_t inside_events(const struct node *n);
uint32_t inside_drops(const struct node *n);

#endif /* EVAL_INSIDE_H */
