/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* recall.h - take over what an earlier driver left in the journal. */
#ifndef UNIC_RECALL_H
#define UNIC_RECALL_H

#include "state.h"

/**
 * unic_recall_proc() - take over process @pid, which had slot @slot when the earlier
 * driver ended, with all objects that it kept, but without a connection.
 * Returns false, and clears the records, if there is no such record or no memory.
 */
bool unic_recall_proc(struct unic_host *host, uint32_t slot, uint32_t pid);

#endif /* UNIC_RECALL_H */
