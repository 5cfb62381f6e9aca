/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cq.h - completion queues, as libibverbs asks for them. */
#ifndef UNIC_VERBS_CQ_H
#define UNIC_VERBS_CQ_H

#include "objects.h"

/** unic_ibv_create_cq() - ibv_create_cq(). */
struct ibv_cq *unic_ibv_create_cq(struct ibv_context *ctx, int cqe,
				  struct ibv_comp_channel *channel,
				  int comp_vector);
/** unic_ibv_make_cq() - a completion queue that ibv_cq_ex may be filled into, or NULL with
 * errno. */
struct unic_ibv_cq *unic_ibv_make_cq(struct ibv_context *ctx, uint32_t cqe,
				     struct ibv_comp_channel *channel,
				     uint32_t comp_vector);
/** unic_ibv_resize_cq() - ibv_resize_cq(). */
int unic_ibv_resize_cq(struct ibv_cq *cq, int cqe);
/** unic_ibv_destroy_cq() - ibv_destroy_cq(). */
int unic_ibv_destroy_cq(struct ibv_cq *cq);
/** unic_ibv_req_notify_cq() - ibv_req_notify_cq(). */
int unic_ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only);

#endif /* UNIC_VERBS_CQ_H */
