/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * evict_rig.h - the set-up of the tests of admission, choice of victims and
 * eviction: one NIC with three processes, each with a domain.
 */
#ifndef EVICT_RIG_H
#define EVICT_RIG_H

#include "rig.h"

/* The grace, the minimum residence of a region, and the entries of the NIC. */
#define T_NS	     20000000ull
#define RESIDENCE_NS 5000000ull
#define N	     UNIC_TLB_ENTRIES

/* The NIC. */
extern struct rig er;

/* The domain of each process. */
extern uint32_t er_pd[3];

/* Watermarks: reclaim begins below @low free entries and ends at @high. */
void evict_params(uint32_t low, uint32_t high);

/*
 * Set-up of a test: the NIC with processes 0 to 2 of weight 1, without
 * watermarks, after the minimum residence.
 */
int evict_up(void **state);

/* Registers a region of @pages pages of @proc, without waiting. Returns the
 * status. */
uint8_t evict_reg(uint32_t proc, uint32_t pages, struct rig_mr *mr);

/* Registers a region of @pages pages of @proc, which must succeed. */
void evict_reg_ok(uint32_t proc, uint32_t pages, struct rig_mr *mr);

/*
 * Requests a region of @pages pages for @proc, which must wait. Returns the
 * number of the wait.
 */
uint32_t evict_wait_for(uint32_t proc, uint32_t pages, uint32_t timeout_us);

/* WAIT_CANCEL. Returns the status. */
uint8_t evict_cancel(uint32_t wait);

/* PROC_SET: weight, quota and policy of @proc. */
void evict_set_proc(uint32_t proc, uint32_t weight, uint32_t quota,
		    uint32_t policy);

/* Registers @n regions of @pages pages each for @proc. */
void evict_hoard(uint32_t proc, uint32_t n, uint32_t pages, struct rig_mr *mrs);

/* There must be no event. */
void evict_none(void);

/* The next event must grant @wait. */
void evict_granted(uint32_t wait);

/*
 * Takes all events, which must be notices to @proc for reason @why, and
 * acknowledges them. Returns the number of entries that they name.
 */
uint32_t evict_noticed(uint32_t proc, uint8_t why);

/* Takes all events, which must be of @type. */
void evict_drop_events(uint8_t type);

/* A test with the NIC. */
#define TEST(f) cmocka_unit_test_setup(f, evict_up)

#endif /* EVICT_RIG_H */
