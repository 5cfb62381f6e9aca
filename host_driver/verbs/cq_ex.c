/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cq_ex.c - see cq_ex.h.
 *
 * Secret: the completion that is read. It is in the queue until a thread takes it, which has
 * the lock `polling` from then on until ibv_end_poll(); others take completions by
 * ibv_poll_cq() meanwhile.
 */
#include "cq_ex.h"

#include <errno.h>

#include "completion.h"
#include "cq.h"
#include "errnos.h"

static struct unic_ibv_cq *cq_of(struct ibv_cq_ex *ex)
{
	return (struct unic_ibv_cq *)ex;
}

/* Takes the next completion: 0, ENOENT if there is none, or the queue's error. */
static int next_poll(struct ibv_cq_ex *ex)
{
	struct unic_ibv_cq *cq = cq_of(ex);
	int n = unic_ibv_poll_cq(&cq->cq, 1, &cq->wc);

	if (n != 1)
		return n < 0 ? -n : ENOENT;
	ex->status = cq->wc.status;
	ex->wr_id = cq->wc.wr_id;
	return 0;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	pthread_mutex_unlock(&cq_of(ex)->polling);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	int err;

	if (attr->comp_mask)
		return EINVAL;
	pthread_mutex_lock(&cq_of(ex)->polling);
	err = next_poll(ex);
	if (err) /* then the program does not call ibv_end_poll() */
		end_poll(ex);
	return err;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return cq_of(ex)->wc.dlid_path_bits;
}

#define MASK_KNOWN (IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)
/* Queues lock for themselves, and one that is full is an error: the NIC needs room. */
#define FLAGS_KNOWN IBV_CREATE_CQ_ATTR_SINGLE_THREADED

static int check_attr(const struct ibv_context *ctx,
		      const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & ~(uint32_t)MASK_KNOWN)
		return EINVAL;
	if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~(uint32_t)FLAGS_KNOWN)
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain || attr->parent_domain->context != ctx ||
	     !unic_ibv_pd(attr->parent_domain)->of))
		return EINVAL;
	return 0;
}

struct ibv_cq_ex *unic_ibv_create_cq_ex(struct ibv_context *ctx,
					struct ibv_cq_init_attr_ex *attr)
{
	struct unic_ibv_cq *cq;
	int err = check_attr(ctx, attr);

	if (err)
		return unic_ibv_null(-err);
	cq = unic_ibv_make_cq(ctx, attr->cqe, attr->channel, attr->comp_vector);
	if (!cq)
		return NULL;
	cq->ex.start_poll = start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
	cq->ex.read_opcode = read_opcode;
	cq->ex.read_vendor_err = read_vendor_err;
	cq->ex.read_byte_len = read_byte_len;
	cq->ex.read_imm_data = read_imm_data;
	cq->ex.read_qp_num = read_qp_num;
	cq->ex.read_src_qp = read_src_qp;
	cq->ex.read_wc_flags = read_wc_flags;
	cq->ex.read_slid = read_slid;
	cq->ex.read_sl = read_sl;
	cq->ex.read_dlid_path_bits = read_dlid_path_bits;
	return &cq->ex;
}
