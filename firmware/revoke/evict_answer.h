/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * evict_answer.h - what the driver says to a notice.
 *
 * Secret: which answers there are, when one is taken or refused, and what a region that
 * is offered takes over from the one that was asked for (MEMORY.md section 5).
 */
#ifndef UNIC_EVICT_ANSWER_H
#define UNIC_EVICT_ANSWER_H

#include <stdint.h>

#include "unic_mbox.h"

struct unic_revoke;

/** unic_evict_ack() - NOTICE_ACK. 0 with *deadline_ns, -UNIC_ENOMR,
 * -UNIC_ESTATE (no open notice, none published yet, or already delivered),
 * -UNIC_EINVAL (seq). */
int unic_evict_ack(struct unic_revoke *nic, uint32_t mr, uint32_t gen,
		   uint32_t seq, uint64_t *deadline_ns);

/** unic_evict_answer() - NOTICE_ANSWER. A released region leaves a tombstone, so
 * that remote users of its STag learn EVICTED; 0 means that its entries are free
 * and no event follows. An answer counts as delivery.
 * 0 with *deadline_ns; -UNIC_EREFUSED with
 * *refusal; -UNIC_ENOMR, -UNIC_ESTATE, -UNIC_EINVAL. RELEASE may also answer
 * -UNIC_EPENDING (see unic_mr_dereg()). */
int unic_evict_answer(struct unic_revoke *nic,
		      const struct unic_cmd_notice_answer *cmd,
		      uint64_t *deadline_ns, uint8_t *refusal);

#endif /* UNIC_EVICT_ANSWER_H */
