/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* batch.h - several requests in one. */
#ifndef UNIC_BATCH_H
#define UNIC_BATCH_H

#include "state.h"

/** unic_batch_run() - BATCH. */
void unic_batch_run(struct unic_req *req);
/** unic_batch_keep() - does the batch of @req send its command with others? If
 * not it is to be sent now. */
bool unic_batch_keep(struct unic_req *req);
/** unic_batch_answer() - @req, one of a batch, has its answer; it is freed next. */
void unic_batch_answer(struct unic_req *req, uint32_t status, const void *rec);
/** unic_batch_left() - one of @b is through; the last one sends the reply. */
void unic_batch_left(struct unic_batch *b);

#endif /* UNIC_BATCH_H */
