/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cq_ex.h - completion queues that are read one completion and one member at a time. */
#ifndef UNIC_VERBS_CQ_EX_H
#define UNIC_VERBS_CQ_EX_H

#include "objects.h"

/** unic_ibv_create_cq_ex() - ibv_create_cq_ex(). EOPNOTSUPP: members that no completion
 * of unic has (time stamps, VLAN tags, tags of flows and messages). */
struct ibv_cq_ex *unic_ibv_create_cq_ex(struct ibv_context *ctx,
					struct ibv_cq_init_attr_ex *attr);

#endif /* UNIC_VERBS_CQ_EX_H */
