/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mr.h - memory regions, as libibverbs asks for them. */
#ifndef UNIC_VERBS_MR_H
#define UNIC_VERBS_MR_H

#include "objects.h"

/** unic_ibv_reg_mr() - ibv_reg_mr(), at address @iova of the NIC, which is @addr. */
struct ibv_mr *unic_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			       uint64_t iova, int access);
/** unic_ibv_rights_of() - the rights of libunic that @access (IBV_ACCESS_*) grants. */
unsigned int unic_ibv_rights_of(struct ibv_context *ctx, int access);
/** unic_ibv_dereg_mr() - ibv_dereg_mr(). */
int unic_ibv_dereg_mr(struct verbs_mr *vmr);
/** unic_ibv_advise_mr() - ibv_advise_mr(): 0 or an errno: EINVAL, ENOENT (no such key), EPERM
 * (of another domain, or not to be written to), EFAULT (not all in the region). */
int unic_ibv_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		       uint32_t flags, struct ibv_sge *sg_list,
		       uint32_t num_sge);
/** unic_ibv_rereg_mr() - ibv_rereg_mr(): 0 or IBV_REREG_MR_ERR_INPUT with errno: the
 * region is as it was. It has other keys after it. */
int unic_ibv_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		      void *addr, size_t length, int access);

#endif /* UNIC_VERBS_MR_H */
