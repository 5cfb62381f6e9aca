/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * admin.h - handlers of the requests of unicctl (abi/unic_ctl.h, INFO to RESET, and
 * USAGE), called by dispatch.c with a record that it has validated.
 *
 * Each handler takes @req over: it answers @req exactly once, at once or when the
 * command that it sends to the NIC has completed, and the answer frees @req. Any
 * status but OK means that nothing changed. Statuses of the NIC are passed on as
 * they are; RESET and NO_NIC: the NIC was reset, or ended, before it answered.
 */
#ifndef UNIC_ADMIN_H
#define UNIC_ADMIN_H

#include "state.h"

/** unic_admin_info() - INFO: the driver's own facts (start in ns of CLOCK_MONOTONIC,
 * process slots, resets, provider), with struct unic_info as tail. OK also without a
 * NIC: then the tail is zero. */
void unic_admin_info(struct unic_req *req);

/** unic_admin_stats() - STATS: one 64-bit counter of the NIC for each of
 * UNIC_COUNTERS as tail, and the counters of the driver in the record. Without a
 * statistics page `counters` is 0 and there is no tail. */
void unic_admin_stats(struct unic_req *req);

/** unic_admin_uses() - USES: rows [first, first + count) of the NIC's table of uses
 * as tail. A client without privilege sees zeros in the rows of other processes.
 * INVALID: count is not 1..UNIC_CTL_USES_MAX; UNSUPPORTED: the device shows no such
 * table. */
void unic_admin_uses(struct unic_req *req);

/** unic_admin_dump() - DUMP: rows of one table of the NIC from `first` on, 64 bytes
 * each, as many as a list page holds; or of a snapshot (snapshot.h). NO_MEMORY: no list
 * page for @req. */
void unic_admin_dump(struct unic_req *req);

/** unic_admin_ps() - PS: as tail one struct unic_ctl_proc for each process slot in
 * use, or one struct unic_ctl_grace for each process with open notices, from the
 * driver's own books; no command is sent. INVALID: neither of them is asked for. */
void unic_admin_ps(struct unic_req *req);

/** unic_admin_trace() - TRACE: trace records from event number `from` on, or from the
 * oldest that the ring still holds, as many as a message holds; `next` is where to go
 * on. */
void unic_admin_trace(struct unic_req *req);

/** unic_admin_crash() - CRASH: struct unic_crash as tail. NONE: the NIC has left no
 * crash record. */
void unic_admin_crash(struct unic_req *req);

/** unic_admin_fault() - FAULT: the NIC provokes what enum unic_fault names, for
 * tests. Its status is the answer. */
void unic_admin_fault(struct unic_req *req);

/** unic_admin_params() - PARAMS: times in microseconds, watermarks in entries, flags;
 * 0 leaves a parameter as it is. What the NIC accepts is also kept in host->config
 * and set again after a reset. */
void unic_admin_params(struct unic_req *req);

/** unic_admin_params_known() - takes out of @cmd what a NIC with @features does not know. */
void unic_admin_params_known(uint64_t features,
			     struct unic_cmd_set_params *cmd);

/** unic_admin_policy() - POLICY: weight, quota in entries and victim policy of the
 * process in slot `proc`. What the NIC accepts is kept with the slot and in the
 * journal. NO_PROC: no live process has that slot; INVALID: unknown flags. */
void unic_admin_policy(struct unic_req *req);

/** unic_admin_own_policy() - OWN_POLICY: the victim policy of the process of @req, as
 * unic_admin_policy() without weight and quota. UNSUPPORTED: the NIC would set these,
 * too; INVALID: no such policy. */
void unic_admin_own_policy(struct unic_req *req);

/** unic_admin_claim() - CLAIM: entries that the slot of @req can use at a time. PERMISSION:
 * of no client but the driver itself; UNSUPPORTED: the NIC knows no claims. */
void unic_admin_claim(struct unic_req *req);

/** unic_admin_trace_mask() - TRACE_MASK: which groups of events (UNIC_TG_*) the NIC
 * records. INVALID: `fault` is not 0. */
void unic_admin_trace_mask(struct unic_req *req);

/** unic_admin_reset() - RESET: the provider starts the NIC anew. The answer says that
 * the reset begins; processes see its end by a RESET upcall. NO_NIC: none is there. */
void unic_admin_reset(struct unic_req *req);

/** unic_admin_usage() - USAGE: frames that the process has, may have and has pinned
 * (4 KiB each), with the NIC's struct unic_cpl_usage as tail. */
void unic_admin_usage(struct unic_req *req);

#endif /* UNIC_ADMIN_H */
