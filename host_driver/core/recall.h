/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* recall.h - what an earlier driver left in the journal is there again. */
#ifndef UNIC_RECALL_H
#define UNIC_RECALL_H

#include "state.h"

/**
 * unic_recall_proc() - process @pid had slot @slot when the last driver ended: have it
 * again with all that it kept, but without a connection.
 * Returns false, and forgets what was written, if there is no such record or no
 * memory.
 */
bool unic_recall_proc(struct unic_host *host, uint32_t slot, uint32_t pid);

#endif /* UNIC_RECALL_H */
