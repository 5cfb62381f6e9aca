/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* qp.h - queue pairs, as libibverbs asks for them. */
#ifndef UNIC_VERBS_QP_H
#define UNIC_VERBS_QP_H

#include "objects.h"

/** unic_ibv_create_qp() - ibv_create_qp(). */
struct ibv_qp *unic_ibv_create_qp(struct ibv_pd *pd,
				  struct ibv_qp_init_attr *attr);
/** unic_ibv_create_qp_ex() - ibv_create_qp_ex(). EOPNOTSUPP: an operation that queue pairs
 * of this type do not have, or a member of the attributes that unic knows nothing of. */
struct ibv_qp *unic_ibv_create_qp_ex(struct ibv_context *ctx,
				     struct ibv_qp_init_attr_ex *attr);
/** unic_ibv_modify_qp() - ibv_modify_qp(). */
int unic_ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
/** unic_ibv_query_qp() - ibv_query_qp(). */
int unic_ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_qp_init_attr *init);
/** unic_ibv_destroy_qp() - ibv_destroy_qp(). */
int unic_ibv_destroy_qp(struct ibv_qp *qp);

#endif /* UNIC_VERBS_QP_H */
