/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* srq.h - shared receive queues, as libibverbs asks for them; post.h has what is posted. */
#ifndef UNIC_VERBS_SRQ_H
#define UNIC_VERBS_SRQ_H

#include "objects.h"

/** unic_ibv_create_srq() - ibv_create_srq(). */
struct ibv_srq *unic_ibv_create_srq(struct ibv_pd *pd,
				    struct ibv_srq_init_attr *init);
/** unic_ibv_create_srq_ex() - ibv_create_srq_ex(), of type BASIC. */
struct ibv_srq *unic_ibv_create_srq_ex(struct ibv_context *ctx,
				       struct ibv_srq_init_attr_ex *init);
/** unic_ibv_destroy_srq() - ibv_destroy_srq(). */
int unic_ibv_destroy_srq(struct ibv_srq *srq);
/** unic_ibv_modify_srq() - ibv_modify_srq(): the limit, not the size. */
int unic_ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
			int mask);
/** unic_ibv_query_srq() - ibv_query_srq(). */
int unic_ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);

#endif /* UNIC_VERBS_SRQ_H */
