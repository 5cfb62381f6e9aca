/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* batch.h - several requests in one. */
#ifndef UNIC_BATCH_H
#define UNIC_BATCH_H

#include "state.h"

/** unic_batch_run() - BATCH. */
void unic_batch_run(struct unic_req *req);

#endif /* UNIC_BATCH_H */
