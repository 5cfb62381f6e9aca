/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * holder.c - grants: requests to the driver, and their errors in words. The drivers
 * exchange the messages (abi/unic_ctl.h, holders).
 */
#include <errno.h>

#include "context.h"
#include "desc.h"

static int record_grant(struct unic_mr *mr, uint32_t token, struct unic_qp *qp)
{
	struct unic_ctl_grant rec = { .mr = unic_to_le32(mr->id),
				      .conn = unic_to_le32(qp->conn),
				      .token = unic_to_le32(token) };

	if (!qp->conn)
		return unic_fail(-ENOTCONN, "not connected");
	return unic_ctl_simple(qp->ctx, UNIC_CTL_GRANT, &rec,
			       "record who is given a region");
}

int unic_grant(struct unic_mr *mr, struct unic_qp *qp)
{
	return record_grant(mr, 0, qp);
}

int unic_grant_token(struct unic_mr *mr, const struct unic_pay_token *token,
		     struct unic_qp *qp)
{
	return record_grant(mr, token->id, qp);
}

int unic_delegate(struct unic_qp *qp, uint32_t kind, uint32_t number,
		  uint32_t ipv4, uint32_t qpn)
{
	struct unic_ctl_held_by rec = { .conn = unic_to_le32(qp->conn),
					.kind = unic_to_le32(kind),
					.number = unic_to_le32(number),
					.ipv4 = unic_to_le32(ipv4),
					.qpn = unic_to_le32(qpn) };

	if (!qp->conn)
		return unic_fail(-ENOTCONN, "not connected");
	return unic_ctl_simple(qp->ctx, UNIC_CTL_DELEGATE, &rec,
			       "say to whom it is handed on");
}

int unic_invalidated(struct unic_ctx *ctx, const struct unic_event *ev)
{
	struct unic_ctl_held_by rec = { .conn = unic_to_le32(ev->conn),
					.kind = unic_to_le32(ev->kind),
					.number = unic_to_le32(ev->number) };

	if (unic_desc_answered(ctx, ev))
		return 0;
	return unic_ctl_simple(ctx, UNIC_CTL_INVALIDATED, &rec,
			       "answer for what we were given");
}
