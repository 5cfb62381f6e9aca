/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mr.h - memory regions, as libibverbs asks for them. */
#ifndef UNIC_VERBS_MR_H
#define UNIC_VERBS_MR_H

#include "objects.h"

/** unic_ibv_reg_mr() - ibv_reg_mr(), at address @iova of the NIC, which is @addr. */
struct ibv_mr *unic_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			       uint64_t iova, int access);
/** unic_ibv_dereg_mr() - ibv_dereg_mr(). */
int unic_ibv_dereg_mr(struct verbs_mr *vmr);

#endif /* UNIC_VERBS_MR_H */
