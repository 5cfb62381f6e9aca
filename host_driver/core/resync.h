/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* resync.h - the handler of RESYNC. */
#ifndef UNIC_RESYNC_H
#define UNIC_RESYNC_H

#include "state.h"

/** unic_resync() - RESYNC: one row for each region of the process, or, if `what` is
 * OBJECTS, for each object, as tail; `next_seq` is the number of the first upcall
 * that the rows do not cover. Rows that do not fit come with the next request, from
 * `after` on (`more`). INVALID: unknown `what`. Answers @req exactly once, which
 * frees it; nothing changes. docs/DESIGN.md INV-11. */
void unic_resync(struct unic_req *req);

#endif /* UNIC_RESYNC_H */
