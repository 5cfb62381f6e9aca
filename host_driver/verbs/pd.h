/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pd.h - protection domains, as libibverbs asks for them. */
#ifndef UNIC_VERBS_PD_H
#define UNIC_VERBS_PD_H

#include "objects.h"

/** unic_ibv_alloc_pd() - ibv_alloc_pd(). */
struct ibv_pd *unic_ibv_alloc_pd(struct ibv_context *ctx);
/** unic_ibv_dealloc_pd() - ibv_dealloc_pd(). */
int unic_ibv_dealloc_pd(struct ibv_pd *pd);

#endif /* UNIC_VERBS_PD_H */
