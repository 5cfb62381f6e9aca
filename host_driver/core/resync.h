/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* resync.h - the handler of RESYNC. */
#ifndef UNIC_RESYNC_H
#define UNIC_RESYNC_H

#include "state.h"

void unic_resync(struct unic_req *req);

#endif /* UNIC_RESYNC_H */
