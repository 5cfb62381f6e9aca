/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * qp_attr.h - transitions of queue pairs, and the attributes that each needs or takes (IBTA
 * 11.2.5.2, tables 91 to 93).
 */
#ifndef UNIC_VERBS_QP_ATTR_H
#define UNIC_VERBS_QP_ATTR_H

#include "objects.h"

/** unic_ibv_check_transition() - @mask, of enum ibv_qp_attr_mask, with the values of @attr,
 * changes @qp from its state to *@to. 0; EINVAL: an attribute is missing, may not be
 * there or is out of range, or there is no such transition; EOPNOTSUPP: there is, but not
 * here. */
int unic_ibv_check_transition(const struct unic_ibv_qp *qp,
			      const struct ibv_qp_attr *attr, int mask,
			      enum ibv_qp_state *to);

/** unic_ibv_keep_attr() - the attributes of @mask are those of @qp from now on. */
void unic_ibv_keep_attr(struct unic_ibv_qp *qp, const struct ibv_qp_attr *attr,
			int mask);

#endif /* UNIC_VERBS_QP_ATTR_H */
