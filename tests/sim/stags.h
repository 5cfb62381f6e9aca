/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stags.h - an STag of the past opens nothing (INV-26), and no process learns
 * which STags others have (INV-27).
 *
 * Secret: which STags each NIC gave, to which process, and until when, from its
 * mailbox.
 */
#ifndef SIM_STAGS_H
#define SIM_STAGS_H

#include "model.h"
#include "unic_queue.h"

void stags_reset(void);
/** stags_begin() - region or derived region @stag of @proc begins. stags_end() -
 * it ends. stags_epoch() - all end: their numbers may come again. */
void stags_begin(const struct model *m, uint32_t stag, uint32_t proc);
void stags_end(const struct model *m, uint32_t stag);
void stags_epoch(const struct model *m);

/**
 * stags_wrong() - an STag that opens nothing for @proc: one of the past whose
 * index is used again, one of another process, one that differs by a bit from
 * that of a region, or an unused one, chosen by @r.
 * *iova: an address that it might open. 0: there is none of that kind.
 */
uint32_t stags_wrong(const struct model *m, uint32_t proc, uint64_t r,
		     uint64_t *iova);
/** stags_live() - does a region of this NIC have @stag, without its key byte? */
bool stags_live(const struct model *m, uint32_t stag);

/** stags_status() - MR_MAKE of elements with an STag that opens nothing for @proc
 * has completed with @status. @or_status: what it may be besides that of an unused
 * STag; or 0. */
void stags_status(const struct model *m, uint32_t stag, uint32_t proc,
		  uint32_t or_status, uint32_t status);
/** stags_answer() - a request with an STag that opens nothing for @proc has
 * completed with @c. @refused: the status for an unused STag. @or_detail: what the
 * detail may be besides that of an unused STag, if the process's own NIC refuses;
 * or 0. */
void stags_answer(const struct model *m, uint32_t stag, uint32_t proc,
		  uint8_t refused, uint8_t or_detail, const struct unic_cqe *c);

#endif /* SIM_STAGS_H */
