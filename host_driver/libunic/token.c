/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* token.c - payload tokens, singly and in batches. */
#include <errno.h>

#include "batch.h"
#include "context.h"

union token_rec {
	struct unic_ctl_hdr hdr;
	struct unic_ctl_token_alloc req;
	struct unic_ctl_obj cancel;
	struct unic_ctl_token_reply reply;
};

static int build_token_req(const struct unic_pay_attr *attr,
			   union token_rec *rec)
{
	uint64_t off =
		(uint64_t)((uintptr_t)attr->addr - (uintptr_t)attr->mr->addr);

	if (!attr->length || attr->length > UNIC_MSG_MAX ||
	    off > attr->mr->length || attr->length > attr->mr->length - off)
		return unic_fail(-ERANGE, "the token's buffer is not inside of "
					  "the region");
	rec->req = (struct unic_ctl_token_alloc){
		.hdr = { .op = unic_to_le16(UNIC_CTL_TOKEN_ALLOC) },
		.iova = unic_to_le64(attr->mr->iova + off),
		.mr = unic_to_le32(attr->mr->id),
		.length = unic_to_le32(attr->length),
		.ttl_us = unic_to_le32(attr->ttl_us),
		.sender_ipv4 = unic_to_le32(attr->sender_ipv4),
		.sender_qpn = unic_to_le32(attr->sender_qpn),
		.flags = unic_to_le32(attr->flags),
	};
	return 0;
}

static void parse_token_reply(const union token_rec *rec,
			      struct unic_pay_token *out)
{
	out->id = unic_from_le32(rec->reply.id);
	out->index = unic_from_le32(rec->reply.index);
	out->key = unic_from_le64(rec->reply.key);
}

int unic_alloc_token(struct unic_pd *pd, const struct unic_pay_attr *attr,
		     struct unic_pay_token *out)
{
	union token_rec rec;
	int err = build_token_req(attr, &rec);

	if (!err)
		err = unic_ctl_simple(pd->ctx, UNIC_CTL_TOKEN_ALLOC, &rec,
				      "allocate a token");
	if (!err)
		parse_token_reply(&rec, out);
	return err;
}

int unic_cancel_token(struct unic_ctx *ctx, const struct unic_pay_token *token,
		      unsigned int *end, uint32_t *placed)
{
	union token_rec rec = { .cancel = { .id = unic_to_le32(token->id) } };
	int err = unic_ctl_simple(ctx, UNIC_CTL_TOKEN_CANCEL, &rec,
				  "cancel a token");

	if (err)
		return err;
	if (end)
		*end = unic_from_le32(rec.reply.end);
	if (placed)
		*placed = unic_from_le32(rec.reply.placed);
	return 0;
}

/* ------------------------------------------------------------ several at once */

static int alloc_one_batch(struct unic_ctx *ctx,
			   const struct unic_pay_attr *attr, unsigned int n,
			   struct unic_pay_token *out, unsigned int *got)
{
	union token_rec rec[UNIC_BATCH_MAX];
	int err = 0, one;
	unsigned int i;

	for (i = 0; i < n; i++) {
		err = build_token_req(&attr[i], &rec[i]);
		if (err)
			return err;
	}
	err = unic_ctl_batch(ctx, rec, n, "allocate tokens");
	if (err)
		return err;
	for (i = 0; i < n && !err; i++) {
		one = unic_fail_status("allocate tokens",
				       unic_from_le16(rec[i].hdr.status));
		if (one)
			err = one;
		else
			parse_token_reply(&rec[i], &out[(*got)++]);
	}
	/* tokens after a refused one may have been allocated */
	for (; err && i < n; i++)
		if (!unic_from_le16(rec[i].hdr.status))
			parse_token_reply(&rec[i], &out[(*got)++]);
	return err;
}

int unic_alloc_tokens(struct unic_pd *pd, const struct unic_pay_attr *attr,
		      unsigned int n, struct unic_pay_token *out)
{
	unsigned int at, got = 0, some;
	int err = 0;

	for (at = 0; at < n && !err; at += some) {
		some = n - at < UNIC_BATCH_MAX ? n - at : UNIC_BATCH_MAX;
		err = alloc_one_batch(pd->ctx, attr + at, some, out, &got);
	}
	if (err && got)
		unic_cancel_tokens(pd->ctx, out, got, NULL);
	return err;
}

int unic_cancel_tokens(struct unic_ctx *ctx, const struct unic_pay_token *token,
		       unsigned int n, struct unic_pay_end *end)
{
	union token_rec rec[UNIC_BATCH_MAX];
	unsigned int at, some, i;
	int err;

	for (at = 0; at < n; at += some) {
		some = n - at < UNIC_BATCH_MAX ? n - at : UNIC_BATCH_MAX;
		for (i = 0; i < some; i++)
			rec[i].cancel = (struct unic_ctl_obj){
				.hdr = { .op = unic_to_le16(
						 UNIC_CTL_TOKEN_CANCEL) },
				.id = unic_to_le32(token[at + i].id),
			};
		err = unic_ctl_batch(ctx, rec, some, "cancel tokens");
		if (err)
			return err;
		for (i = 0; i < some && end; i++)
			end[at + i] = (struct unic_pay_end){
				.err = unic_fail_status(
					"cancel tokens",
					unic_from_le16(rec[i].hdr.status)),
				.end = unic_from_le32(rec[i].reply.end),
				.placed = unic_from_le32(rec[i].reply.placed),
			};
	}
	return 0;
}
