/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* completion.h - completions, as libibverbs asks for them. */
#ifndef UNIC_VERBS_COMPLETION_H
#define UNIC_VERBS_COMPLETION_H

#include "objects.h"

/** unic_ibv_poll_cq() - ibv_poll_cq(). */
int unic_ibv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);

#endif /* UNIC_VERBS_COMPLETION_H */
