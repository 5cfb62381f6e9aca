/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rate.c - transmit limits of a process and of its queue pairs.
 *
 * Secret: the limit of a queue pair is kept here, too: the driver does not make it anew
 * after a reset of the NIC.
 */
#include "context.h"
#include "queue.h"
#include "rate.h"

static int call_rate(struct unic_ctx *ctx, uint32_t id,
		     const struct unic_rate *set, struct unic_rate *out)
{
	union {
		struct unic_ctl_rate req;
		struct unic_ctl_rate_reply reply;
	} rec = { .req = { .id = unic_to_le32(id) } };
	int err;

	if (set) {
		rec.req.rate = unic_to_le64(set->rate);
		rec.req.burst = unic_to_le32(set->burst);
		rec.req.flags = unic_to_le32(UNIC_RATE_SET);
	}
	err = unic_ctl_simple(ctx, UNIC_CTL_OWN_RATE, &rec,
			      set ? "set a transmit limit"
				  : "ask for a transmit limit");
	if (!err && out)
		*out = (struct unic_rate){
			.rate = unic_from_le64(rec.reply.rate),
			.burst = unic_from_le32(rec.reply.burst),
			.held = unic_from_le32(rec.reply.held),
		};
	return err;
}

int unic_set_rate(struct unic_ctx *ctx, const struct unic_rate *rate)
{
	return call_rate(ctx, 0, rate, NULL);
}

int unic_query_rate(struct unic_ctx *ctx, struct unic_rate *out)
{
	return call_rate(ctx, 0, NULL, out);
}

int unic_qp_set_rate(struct unic_qp *qp, const struct unic_rate *rate)
{
	int err = call_rate(qp->ctx, qp->id, rate, NULL);

	if (!err)
		qp->rate = *rate;
	return err;
}

int unic_qp_query_rate(struct unic_qp *qp, struct unic_rate *out)
{
	return call_rate(qp->ctx, qp->id, NULL, out);
}

int unic_qp_rate_again(struct unic_qp *qp)
{
	return qp->rate.rate ? call_rate(qp->ctx, qp->id, &qp->rate, NULL) : 0;
}
