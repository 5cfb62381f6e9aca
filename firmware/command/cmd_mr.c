/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cmd_mr.c - see cmd_mr.h. */
#include "command/cmd_mr.h"

#include "command/cmd_list.h"
#include "command/cmd_usage.h"
#include "command/command.h"
#include "memory/fault_answer.h"
#include "revoke/evict_answer.h"
#include "revoke/register.h"

static void build_mr_reg_cpl(struct unic_cpl_mr_reg *cpl,
			     const struct unic_mr_result *res)
{
	cpl->mr = unic_to_le32(res->mr);
	cpl->gen = unic_to_le32(res->gen);
	cpl->stag = unic_to_le32(res->stag);
	cpl->wait = unic_to_le32(res->wait);
}

/* MR_REG that is none of a region with pages: of a physical one, or wrong. */
static int __attribute__((noinline, cold))
reg_dma_mr(struct unic_command *nic, const struct unic_cmd_mr_reg *cmd,
	   const struct unic_mr_args *a, void *out)
{
	struct unic_mr_result res = { 0 };
	int err;

	if (cmd->residency != UNIC_PHYSICAL || cmd->account || cmd->stag ||
	    a->list || cmd->flags)
		return -UNIC_EINVAL;
	err = unic_dma_mr_reg(&nic->revoke, a, &res);
	unic_cmd_explain(nic, a->proc, err, out);
	if (!err)
		build_mr_reg_cpl(out, &res);
	return err;
}

/* Another slot than that of the PD is to be charged for region @a. */
static int __attribute__((noinline, cold))
charge_account(const struct unic_command *nic,
	       const struct unic_cmd_mr_reg *cmd, struct unic_mr_args *a)
{
	uint32_t account = cmd->account - 1u;

	if (!UNIC_ACCOUNTS || cmd->residency != UNIC_RESIDENT ||
	    cmd->mr_class == UNIC_CLASS_CONTROL ||
	    (cmd->flags & UNIC_REG_RESTORE))
		return -UNIC_EINVAL;
	if (!unic_slot_live(&nic->base, a->proc))
		return -UNIC_ENOPD;
	if (!unic_slot_live(&nic->base, account) || account == a->proc ||
	    unic_slot_keeper(&nic->procs, account) != a->proc)
		return -UNIC_ENOPROC;
	a->proc = (uint16_t)account;
	return 0;
}

int unic_cmd_mr_reg(struct unic_command *nic, const void *rec, void *out,
		    uint8_t *list)
{
	const struct unic_cmd_mr_reg *cmd = rec;
	struct unic_mr_result res = { 0 };
	struct unic_mr_args a = {
		.rights = cmd->rights,
		.mr_class = cmd->mr_class,
		.page_shift = cmd->page_shift,
		.key = cmd->key,
		.importance = cmd->importance,
		.flags = cmd->flags & (uint8_t)~UNIC_REG_RESTORE,
		.iova = unic_from_le64(cmd->iova),
		.length = unic_from_le64(cmd->length),
		.n_pages = unic_from_le32(cmd->n_pages),
		.timeout_us = unic_from_le32(cmd->timeout_us),
		.user = unic_from_le32(cmd->user),
		.list = unic_from_le64(cmd->list),
		.residency = cmd->residency,
	};
	uint32_t pd = unic_from_le32(cmd->pd);
	uint32_t stag = unic_from_le32(cmd->stag);
	bool restore = cmd->flags & UNIC_REG_RESTORE;
	bool listed = cmd->flags & UNIC_REG_HOST_TABLE;
	const uint64_t *pages = NULL;
	int err;

	if (pd >= UNIC_PDS)
		return -UNIC_ENOPD;
	if (unic_from_le32(cmd->rsvd) ||
	    listed != (cmd->residency == UNIC_TABLE))
		return -UNIC_EINVAL;
	a.pd = (uint16_t)pd;
	a.proc = nic->mrs.pd[pd].proc;
	if (cmd->residency > UNIC_TABLE || (stag && !restore) ||
	    (a.list && !listed))
		return reg_dma_mr(nic, cmd, &a, out);
	if (unlikely(cmd->account)) {
		err = charge_account(nic, cmd, &a);
		if (err)
			return err;
	}
	if (a.flags & UNIC_REG_LIST) {
		if (a.n_pages > UNIC_LIST_MAX)
			return -UNIC_EINVAL;
		if (a.n_pages > UNIC_BOX_LIST_MAX) /* nor has it the entries */
			return -UNIC_ETOOLARGE;
		pages = unic_cmd_list(nic, list, a.n_pages);
	}
	err = restore ? unic_mr_restore(&nic->revoke, &a, stag, pages, &res)
		      : unic_mr_reg(&nic->revoke, &a, pages, &res);
	unic_cmd_explain(nic, a.proc, err, out);
	if (err == 0 || err == -UNIC_EPENDING)
		build_mr_reg_cpl(out, &res);
	return err;
}

int unic_cmd_mr_fill(struct unic_command *nic, const void *rec, void *out,
		     uint8_t *list)
{
	const struct unic_cmd_mr_fill *cmd = rec;
	uint32_t count = unic_from_le32(cmd->count);

	(void)out;
	if (count < 1 || count > UNIC_BOX_LIST_MAX)
		return -UNIC_EINVAL;
	return unic_mr_fill(&nic->memory, unic_from_le32(cmd->mr),
			    unic_from_le32(cmd->gen),
			    unic_from_le32(cmd->first), count,
			    unic_cmd_list(nic, list, count));
}

static int build_pages_cpl(const struct unic_command *nic, unic_le32 mr,
			   uint32_t done, int err,
			   struct unic_cpl_mr_pages *cpl)
{
	cpl->done = unic_to_le32(done);
	if (err != -UNIC_ENOMR)
		cpl->seq = unic_to_le32(nic->cache.of[unic_from_le32(mr)].seq);
	return err;
}

int unic_cmd_mr_fault(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_mr_fault *cmd = rec;
	uint32_t count = unic_from_le32(cmd->count), done = 0;
	uint32_t cannot = unic_from_le32(cmd->cannot);
	const uint64_t *pages = NULL;
	int err;

	if (count < 1 || count > UNIC_BOX_LIST_MAX || cannot > 1)
		return -UNIC_EINVAL;
	if (!cannot)
		pages = unic_cmd_list(nic, list, count);
	err = unic_fault_refused(&nic->memory, cmd, pages, &done);
	return build_pages_cpl(nic, cmd->mr, done, err, out);
}

int unic_cmd_mr_invalidate(struct unic_command *nic, const void *rec, void *out,
			   uint8_t *list)
{
	const struct unic_cmd_mr_pages *cmd = rec;
	uint32_t done = 0;
	int err = unic_fault_invalidate(&nic->memory, cmd, &done);

	(void)list;
	return build_pages_cpl(nic, cmd->mr, done, err, out);
}

int unic_cmd_mr_advise(struct unic_command *nic, const void *rec, void *out,
		       uint8_t *list)
{
	const struct unic_cmd_mr_pages *cmd = rec;
	uint32_t done = 0;
	int err = unic_fault_advise(&nic->memory, cmd, &done);

	(void)list;
	return build_pages_cpl(nic, cmd->mr, done, err, out);
}

int unic_cmd_mr_dereg(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_mr *cmd = rec;

	(void)out;
	(void)list;
	return unic_mr_dereg(&nic->revoke, unic_from_le32(cmd->mr),
			     unic_from_le32(cmd->gen));
}

int unic_cmd_wait_cancel(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list)
{
	const struct unic_cmd_wait_cancel *cmd = rec;

	(void)out;
	(void)list;
	return unic_admission_cancel(&nic->revoke, unic_from_le32(cmd->wait));
}

int unic_cmd_notice_ack(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list)
{
	const struct unic_cmd_notice_ack *cmd = rec;
	struct unic_cpl_notice *cpl = out;
	uint64_t deadline = 0;
	int err = unic_evict_ack(&nic->revoke, unic_from_le32(cmd->mr),
				 unic_from_le32(cmd->gen),
				 unic_from_le32(cmd->seq), &deadline);

	(void)list;
	cpl->deadline_ns = unic_to_le64(deadline);
	return err;
}

int unic_cmd_notice_answer(struct unic_command *nic, const void *rec, void *out,
			   uint8_t *list)
{
	struct unic_cpl_notice *cpl = out;
	uint64_t deadline = 0;
	uint8_t refusal = 0;
	int err = unic_evict_answer(&nic->revoke, rec, &deadline, &refusal);

	(void)list;
	cpl->deadline_ns = unic_to_le64(deadline);
	cpl->detail = unic_to_le32(refusal);
	return err;
}

int unic_cmd_mr_evict(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_mr *cmd = rec;

	(void)out;
	(void)list;
	return unic_evict_admin(&nic->revoke, unic_from_le32(cmd->mr),
				unic_from_le32(cmd->gen));
}

int unic_cmd_token_alloc(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list)
{
	const struct unic_cmd_token_alloc *cmd = rec;
	struct unic_cpl_token *cpl = out;
	uint32_t pd = unic_from_le32(cmd->pd);
	struct unic_token_args a = {
		.pd = (uint16_t)pd,
		.stag = unic_from_le32(cmd->stag),
		.length = unic_from_le32(cmd->length),
		.ttl_us = unic_from_le32(cmd->ttl_us),
		.sender_ipv4 = unic_from_le32(cmd->sender_ipv4),
		.sender_qpn = unic_from_le32(cmd->sender_qpn),
		.user = unic_from_le32(cmd->user),
		.flags = unic_from_le32(cmd->flags),
		.iova = unic_from_le64(cmd->iova),
		.n_pieces = unic_from_le32(cmd->pieces),
	};
	uint64_t key = 0;
	int index;

	if (pd >= UNIC_PDS)
		return -UNIC_ENOPD;
	if (a.n_pieces > UNIC_TOKEN_PIECES)
		return -UNIC_EINVAL;
	a.pieces = unic_cmd_list(nic, list, 2 * a.n_pieces);
	index = unic_token_alloc(&nic->memory, &a, &key);
	if (index < 0)
		return index;
	cpl->index = unic_to_le32((uint32_t)index);
	cpl->key = unic_to_le64(key);
	return 0;
}

int unic_cmd_token_cancel(struct unic_command *nic, const void *rec, void *out,
			  uint8_t *list)
{
	const struct unic_cmd_token_cancel *cmd = rec;
	struct unic_cpl_token *cpl = out;
	uint32_t end = 0, placed = 0, flags = unic_from_le32(cmd->flags);
	int err;

	(void)list;
	if (flags & ~UNIC_CANCEL_WAIT)
		return -UNIC_EINVAL;
	err = unic_token_cancel(&nic->memory, unic_from_le32(cmd->proc),
				unic_from_le32(cmd->index),
				unic_from_le64(cmd->key), flags, &end, &placed);
	cpl->index = cmd->index;
	cpl->end = unic_to_le32(end);
	cpl->placed = unic_to_le32(placed);
	return err;
}
