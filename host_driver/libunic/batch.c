/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* batch.c - several requests in one, for regions. token.c has those for tokens. */
#include <errno.h>

#include "batch.h"
#include "context.h"
#include "event.h"
#include "mr.h"

union batch_rec {
	struct unic_ctl_hdr hdr;
	struct unic_ctl_mr_reg req;
	struct unic_ctl_obj dereg;
	struct unic_ctl_mr_reg_reply reply;
};

int unic_ctl_batch(struct unic_ctx *ctx, void *rec, unsigned int n,
		   const char *what)
{
	struct unic_ctl_batch req = { .count = unic_to_le32(n) };
	struct unic_conn_call call = {
		.rec = &req,
		.tail = rec,
		.tail_bytes = n * 64u,
		.reply_tail = rec,
		.reply_room = n * 64u,
	};
	int err = unic_fail_status(what, unic_ctl(ctx, UNIC_CTL_BATCH, &call));

	if (!err && call.reply_bytes != n * 64u)
		err = unic_fail(-EPROTO, "%s: an answer is missing", what);
	return err;
}

/* Read the replies into the regions, and free those that were refused. Returns the first
 * error. */
static int parse_reg_replies(const union batch_rec *rec,
			     struct unic_mem_region **r, unsigned int n)
{
	unsigned int i;
	int err = 0, one;

	for (i = 0; i < n; i++) {
		uint32_t status = unic_from_le16(rec[i].hdr.status);

		if (!status) {
			unic_mem_region_reply(r[i], &rec[i].reply, false);
			continue;
		}
		one = unic_fail_status("register memory", (int)status);
		err = err ? err : one;
		unic_mem_region_forget(r[i]);
		r[i] = NULL;
	}
	return err;
}

static int reg_one_batch(struct unic_pd *pd, const struct unic_mr_attr *attr,
			 unsigned int n, struct unic_mem_region **r)
{
	union batch_rec rec[UNIC_BATCH_MAX];
	unsigned int i = 0;
	int err = 0;

	for (; i < n && !err; i++) {
		if (attr[i].flags & UNIC_MR_WAIT)
			err = unic_fail(-EINVAL, "unic_reg_mr_batch: regions "
						 "of a batch cannot wait");
		else
			err = unic_mem_region_prepare(pd, &attr[i], &r[i],
						      &rec[i].req);
		rec[i].hdr.op = unic_to_le16(UNIC_CTL_MR_REG);
	}
	if (!err)
		err = unic_ctl_batch(pd->ctx, rec, n, "register memory");
	else
		i--; /* no region was made for that one */
	if (!err)
		return parse_reg_replies(rec, r, n);
	while (i--) {
		unic_mem_region_forget(r[i]);
		r[i] = NULL;
	}
	return err;
}

int unic_reg_mr_batch(struct unic_pd *pd, const struct unic_mr_attr *attr,
		      unsigned int n, struct unic_mr **out)
{
	struct unic_mem_region *r[UNIC_BATCH_MAX] = { NULL };
	unsigned int at, some, done = 0, i;
	int err = 0;

	for (at = 0; at < n && !err; at += some) {
		some = n - at < UNIC_BATCH_MAX ? n - at : UNIC_BATCH_MAX;
		err = reg_one_batch(pd, attr + at, some, r);
		for (i = 0; i < some; i++) {
			if (r[i])
				out[done++] = &r[i]->mr;
			r[i] = NULL;
		}
	}
	if (err)
		unic_dereg_mr_batch(pd->ctx, out, done);
	return err;
}

static int dereg_one_batch(struct unic_ctx *ctx, struct unic_mr **mr,
			   unsigned int n)
{
	union batch_rec rec[UNIC_BATCH_MAX];
	unsigned int i;
	int err, one;

	for (i = 0; i < n; i++)
		rec[i].dereg = (struct unic_ctl_obj){
			.hdr = { .op = unic_to_le16(UNIC_CTL_MR_DEREG) },
			.id = unic_to_le32(unic_mem_region_leave(mr[i])),
		};
	err = unic_ctl_batch(ctx, rec, n, "deregister memory");
	for (i = 0; i < n; i++) {
		one = unic_mem_region_left(
			mr[i], err ? -1 : unic_from_le16(rec[i].hdr.status));
		err = err ? err : one;
	}
	return err;
}

int unic_dereg_mr_batch(struct unic_ctx *ctx, struct unic_mr **mr,
			unsigned int n)
{
	unsigned int at, some;
	int err = 0, one;

	unic_event_pump(ctx);
	for (at = 0; at < n; at += some) {
		some = n - at < UNIC_BATCH_MAX ? n - at : UNIC_BATCH_MAX;
		one = dereg_one_batch(ctx, mr + at, some);
		err = err ? err : one;
	}
	return err;
}
