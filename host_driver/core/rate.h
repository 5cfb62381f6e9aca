/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rate.h - requests about transmit limits (struct unic_cmd_rate).
 *
 * Secret: who may change which limit, and which of them outlives a reset of the NIC.
 */
#ifndef UNIC_RATE_H
#define UNIC_RATE_H

#include "request.h"

/** unic_rate_proc() - RATE: set or tell the limit of the process in a slot. What the
 * NIC accepts is kept with the slot and in the journal. NO_PROC: no live process has
 * that slot; INVALID: unknown flags, or no such limit; UNSUPPORTED. */
void unic_rate_proc(struct unic_req *req);

/** unic_rate_own() - OWN_RATE: set or tell a limit of the process of @req: its own,
 * which does not rise (QUOTA), or that of its queue pair `id`, which ends with the
 * queue pair and at a reset. NO_QP, INVALID, UNSUPPORTED. */
void unic_rate_own(struct unic_req *req);

#endif /* UNIC_RATE_H */
