/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * form.c - derived regions: windows, sub-regions, fast and indirect registrations, by
 * call and by work request; and re-registration.
 *
 * Secret: the layout of a list in a request (abi/unic_queue.h).
 */
#include <errno.h>

#include "context.h"
#include "mem.h"
#include "mr.h"

#define SGE_BYTES    16u
#define STRIDE_BYTES 4u
#define LIST_BYTES   (UNIC_FORM_ELEMENTS * (SGE_BYTES + STRIDE_BYTES))

/* ------------------------------------------------------------------- lists */

static uint32_t list_bytes(const struct unic_list *list)
{
	return list->n * (SGE_BYTES + (list->strides ? STRIDE_BYTES : 0));
}

static void put_list(uint8_t *to, const struct unic_list *list)
{
	unsigned int i;

	for (i = 0; i < list->n; i++) {
		struct unic_sge sge = {
			.iova = unic_to_le64((uintptr_t)list->sg[i].addr),
			.len = unic_to_le32(list->sg[i].len),
			.lkey = unic_to_le32(list->sg[i].lkey),
		};

		memcpy(to + i * SGE_BYTES, &sge, sizeof(sge));
	}
	to += list->n * SGE_BYTES;
	for (i = 0; list->strides && i < list->n; i++) {
		unic_le32 stride = unic_to_le32(list->strides[i]);

		memcpy(to + i * STRIDE_BYTES, &stride, sizeof(stride));
	}
}

/* ----------------------------------------------------------------- by call */

/* Send request @op with @list (or NULL). If the request is refused, unic_last_error() and
 * unic_last_usage() say why. */
static int send_region_request(struct unic_mem_region *r, unsigned int op,
			       void *rec, const void *list, size_t bytes,
			       const char *what)
{
	struct unic_cpl_usage usage = { 0 };
	struct unic_conn_call call = {
		.rec = rec,
		.tail = list,
		.tail_bytes = bytes,
		.reply_tail = &usage,
		.reply_room = sizeof(usage),
	};
	int err = unic_fail_status(what, unic_ctl(r->mr.ctx, op, &call));

	if (err && call.reply_bytes == sizeof(usage))
		unic_fail_usage(&usage);
	return err;
}

/* unic_post_undo() comes back to this. */
static void keep_old_name(struct unic_mr *form)
{
	struct unic_mem_region *r = unic_mem_region(form);

	r->old_stag = form->stag;
	r->old_iova = form->iova;
}

static int alloc_derived(struct unic_pd *pd, uint8_t kind, uint32_t n,
			 uint8_t shift, struct unic_mr **out)
{
	union {
		struct unic_ctl_mr_alloc req;
		struct unic_ctl_mr_reg_reply reply;
	} rec = { .req = { .pd = unic_to_le32(pd->id),
			   .kind = kind,
			   .page_shift = shift,
			   .n = unic_to_le32(n) } };
	struct unic_mem_region *r = unic_mem_region_new(pd);
	int err;

	if (!r)
		return -ENOMEM;
	r->kind = kind;
	rec.req.user = unic_to_le32(r->handle);
	err = send_region_request(r, UNIC_CTL_MR_ALLOC, &rec, NULL, 0,
				  "allocate a region");
	if (err) {
		unic_mem_region_forget(r);
		return err;
	}
	unic_mem_region_reply(r, &rec.reply, false);
	keep_old_name(&r->mr);
	*out = &r->mr;
	return 0;
}

static int make_derived(struct unic_mr *mr, const struct unic_list *list)
{
	union {
		struct unic_ctl_mr_make req;
		struct unic_ctl_mr_reg_reply reply;
	} rec = { .req = { .iova = unic_to_le64(list->iova),
			   .id = unic_to_le32(mr->id),
			   .n = unic_to_le32(list->n),
			   .repeat = unic_to_le32(list->repeat),
			   .rights = (uint8_t)list->rights,
			   .key = (uint8_t)unic_inc_rkey(mr->stag),
			   .strided = list->strides != NULL } };
	uint8_t tail[LIST_BYTES];
	int err;

	if (list->n > UNIC_FORM_ELEMENTS || list->rights > 0xff)
		return unic_fail(-EINVAL, "a list has up to %u elements",
				 UNIC_FORM_ELEMENTS);
	put_list(tail, list);
	err = send_region_request(unic_mem_region(mr), UNIC_CTL_MR_MAKE, &rec,
				  tail, list_bytes(list), "make a region");
	if (err)
		return err;
	mr->stag = unic_from_le32(rec.reply.stag);
	mr->iova = list->iova;
	keep_old_name(mr);
	return 0;
}

/* Allocate a derived region and make it valid with @list. On error there is none. */
static int alloc_and_make(struct unic_pd *pd, uint8_t kind, uint32_t n,
			  const struct unic_list *list, struct unic_mr **out)
{
	int err = alloc_derived(pd, kind, n, 0, out);

	if (err)
		return err;
	err = make_derived(*out, list);
	if (err) {
		char words[256];

		strncpy(words, unic_last_error(), sizeof(words) - 1);
		words[sizeof(words) - 1] = 0;
		unic_dereg_mr(*out);
		*out = NULL;
		unic_fail(err, "%s", words);
	}
	return err;
}

/* The SGE for [@addr, @addr + @len) of @mr. In a derived region without addr, @addr is an
 * offset, and the NIC checks the bounds. */
static int range_of(const struct unic_mr *mr, const void *addr, size_t len,
		    struct unic_sg *out)
{
	if (mr->addr)
		return unic_sg_of(mr, addr, len, out);
	*out = (struct unic_sg){
		.addr = (void *)(uintptr_t)(mr->iova + (uintptr_t)addr),
		.len = len > UINT32_MAX ? UINT32_MAX : (uint32_t)len,
		.lkey = mr->stag,
	};
	return 0;
}

int unic_reg_sub(struct unic_mr *mr, void *addr, size_t length,
		 unsigned int rights, struct unic_mr **out)
{
	struct unic_sg sg;
	struct unic_list list = { .sg = &sg, .n = 1, .rights = rights };
	int err = range_of(mr, addr, length, &sg);

	if (err)
		return err;
	list.iova = (uintptr_t)sg.addr;
	err = alloc_and_make(mr->pd, UNIC_FORM_SUB, 0, &list, out);
	if (err)
		return err;
	(*out)->addr = addr;
	(*out)->length = length;
	return 0;
}

int unic_alloc_mw(struct unic_pd *pd, unsigned int type, struct unic_mr **out)
{
	if (type != 1 && type != 2)
		return unic_fail(-EINVAL, "windows are of type 1 or 2");
	return alloc_derived(pd,
			     type == 1 ? UNIC_FORM_WINDOW1 : UNIC_FORM_WINDOW2,
			     0, 0, out);
}

/* Make the range of @bind a list of at most one element, @sg. */
static int list_of_bind(const struct unic_mw_bind *bind, struct unic_sg *sg,
			struct unic_list *list)
{
	int err = 0;

	*sg = (struct unic_sg){ 0 };
	if (bind->length)
		err = range_of(bind->mr, bind->addr, bind->length, sg);
	*list = (struct unic_list){
		.sg = sg,
		.n = bind->length != 0,
		.rights = bind->rights,
		.iova = (uintptr_t)sg->addr,
	};
	return err;
}

int unic_bind_mw(struct unic_mr *mw, struct unic_mr *mr, void *addr,
		 size_t length, unsigned int rights)
{
	const struct unic_mw_bind bind = {
		.mr = mr,
		.addr = addr,
		.length = length,
		.rights = rights,
	};
	struct unic_list list;
	struct unic_sg sg;
	int err = list_of_bind(&bind, &sg, &list);

	return err ? err : make_derived(mw, &list);
}

int unic_alloc_fast_mr(struct unic_pd *pd, unsigned int pages,
		       unsigned int page_bytes, struct unic_mr **out)
{
	uint8_t shift = page_bytes == 65536	 ? 16
			: page_bytes == 1u << 21 ? 21
						 : 12;

	if (page_bytes && page_bytes != 1u << shift)
		return unic_fail(-EINVAL, "pages have 4096, 65536 or 2 MiB");
	return alloc_derived(pd, UNIC_FORM_FAST, pages, shift, out);
}

int unic_alloc_indirect(struct unic_pd *pd, unsigned int elements,
			struct unic_mr **out)
{
	return alloc_derived(pd, UNIC_FORM_INDIRECT, elements, 0, out);
}

int unic_reg_indirect(struct unic_pd *pd, const struct unic_list *list,
		      struct unic_mr **out)
{
	return alloc_and_make(pd, UNIC_FORM_INDIRECT, list->n, list, out);
}

int unic_invalidate(struct unic_mr *form)
{
	return unic_ctl_obj(form->ctx, UNIC_CTL_MR_INVAL, form->id,
			    "invalidate a region");
}

/* ------------------------------------------------------------- re-register */

int unic_rereg_mr(struct unic_mr *mr, const struct unic_rereg_attr *attr,
		  bool *survived)
{
	union {
		struct unic_ctl_mr_rereg req;
		struct unic_ctl_mr_reg_reply reply;
	} rec = { .req = { .id = unic_to_le32(mr->id),
			   .what = (uint8_t)attr->what,
			   .rights = (uint8_t)attr->rights } };
	int err = attr->what & ~UNIC_REREG_ALL || attr->rights > 0xff
			  ? unic_fail(-EINVAL, "unic_rereg_mr: a field is out "
					       "of range")
			  : 0;

	if (!err && attr->what & UNIC_REREG_RANGE)
		err = unic_mem_cover(mr->ctx, attr->addr, attr->length);
	if (!err) {
		if (attr->what & UNIC_REREG_PD)
			rec.req.pd = unic_to_le32(attr->pd->id);
		if (attr->what & UNIC_REREG_RANGE) {
			rec.req.va = unic_to_le64((uintptr_t)attr->addr);
			rec.req.iova = unic_to_le64(unic_mem_region_iova(
				unic_mem_region(mr), attr->addr));
			rec.req.length = unic_to_le64(attr->length);
		}
		err = send_region_request(unic_mem_region(mr),
					  UNIC_CTL_MR_REREG, &rec, NULL, 0,
					  "register memory anew");
	}
	if (survived)
		*survived = err != -ENOTCONN;
	if (err)
		return err;
	mr->entries = unic_from_le32(rec.reply.entries);
	if (attr->what & UNIC_REREG_RANGE) {
		const void *addr = mr->addr;
		size_t length = mr->length;

		mr->iova =
			unic_mem_region_iova(unic_mem_region(mr), attr->addr);
		mr->addr = attr->addr;
		mr->length = attr->length;
		unic_mem_make_private(mr->ctx, addr, length);
	}
	if (attr->what & UNIC_REREG_PD) {
		__atomic_sub_fetch(&mr->pd->users, 1, __ATOMIC_RELEASE);
		__atomic_add_fetch(&attr->pd->users, 1, __ATOMIC_RELAXED);
		mr->pd = attr->pd;
	}
	return 0;
}

/* --------------------------------------------------------- by work request */

static int post_derived_wr(struct unic_qp *qp, struct unic_send_wr *wr,
			   struct unic_mr *form, const struct unic_list *list)
{
	uint32_t key = unic_inc_rkey(form->stag) & 0xff;
	int n;

	wr->rkey = form->stag;
	wr->imm = key | (list->rights & 0xff) << 8 |
		  (list->strides ? UNIC_WR_IMM_STRIDED : 0);
	wr->remote = list->iova;
	wr->ctrl_len = list->repeat;
	n = unic_post_send(qp, wr, 1);
	if (n != 1)
		return n < 0 ? n : -EAGAIN;
	keep_old_name(form);
	form->stag = (form->stag & ~0xffu) | key;
	form->iova = list->iova;
	return 0;
}

static int post_inline(struct unic_qp *qp, uint8_t opcode, uint64_t wr_id,
		       unsigned int flags, struct unic_mr *form,
		       const struct unic_list *list)
{
	uint8_t bytes[UNIC_SQ_INLINE_MAX];
	struct unic_sg sg = { .addr = bytes, .len = list_bytes(list) };
	struct unic_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.flags = (uint8_t)(flags | UNIC_WR_INLINE),
		.num_sge = 1,
		.sg = &sg,
	};

	if (list->n > UNIC_SQ_SGE_MAX || sg.len > sizeof(bytes))
		return unic_fail(-EINVAL, "the list is too long for a request");
	put_list(bytes, list);
	return post_derived_wr(qp, &wr, form, list);
}

int unic_post_bind_mw(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
		      struct unic_mr *mw, const struct unic_mw_bind *bind)
{
	struct unic_list list;
	struct unic_sg sg;
	int err = list_of_bind(bind, &sg, &list);

	return err ? err
		   : post_inline(qp, UNIC_WR_BIND_MW, wr_id, flags, mw, &list);
}

int unic_post_local_inv(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
			struct unic_mr *form)
{
	struct unic_send_wr wr = {
		.wr_id = wr_id,
		.opcode = UNIC_WR_LOCAL_INV,
		.flags = (uint8_t)flags,
		.rkey = form->stag,
	};
	int n = unic_post_send(qp, &wr, 1);

	if (n != 1)
		return n < 0 ? n : -EAGAIN;
	keep_old_name(form);
	return 0;
}

int unic_post_reg_mr(struct unic_qp *qp, uint64_t wr_id, unsigned int flags,
		     struct unic_mr *form, const struct unic_list *list)
{
	return post_inline(qp, UNIC_WR_REG_MR, wr_id, flags, form, list);
}

int unic_post_reg_indirect(struct unic_qp *qp, uint64_t wr_id,
			   unsigned int flags, struct unic_mr *form,
			   const struct unic_list *list,
			   const struct unic_mr *mr, void *mem)
{
	struct unic_sg sg;
	struct unic_send_wr wr = {
		.wr_id = wr_id,
		.opcode = UNIC_WR_REG_INDIRECT,
		.flags = (uint8_t)flags,
		.num_sge = 1,
		.sg = &sg,
	};
	int err;

	if (list_bytes(list) <= UNIC_SQ_INLINE_MAX)
		return post_inline(qp, UNIC_WR_REG_INDIRECT, wr_id, flags, form,
				   list);
	if (!mem || list->n > UNIC_FORM_ELEMENTS)
		return unic_fail(-EINVAL,
				 "a list of %u elements needs %u "
				 "bytes of registered memory",
				 list->n, list_bytes(list));
	err = unic_sg_of(mr, mem, list_bytes(list), &sg);
	if (err)
		return err;
	put_list(mem, list);
	return post_derived_wr(qp, &wr, form, list);
}

void unic_post_undo(struct unic_mr *form)
{
	const struct unic_mem_region *r = unic_mem_region(form);

	form->stag = r->old_stag;
	form->iova = r->old_iova;
}
