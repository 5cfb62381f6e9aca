/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cmd_derived.c - see cmd_derived.h. */
#include "command/cmd_derived.h"

#include <string.h>

#include "memory/derived.h"
#include "command/command.h"
#include "revoke/register.h"
#include "command/cmd_list.h"
#include "command/cmd_usage.h"

/* Copies the list, which is in shared memory; only the copy is used. */
static const uint64_t *fetch_list_bytes(struct unic_command *nic,
					const uint8_t *list, uint32_t bytes)
{
	unic_cmd_fetch(list, nic->list, (bytes + 7) / 8);
	return nic->list;
}

static void build_mr_alloc_cpl(void *out, const struct unic_mr_result *res)
{
	struct unic_cpl_mr_reg *cpl = out;

	cpl->mr = unic_to_le32(res->mr);
	cpl->gen = unic_to_le32(res->gen);
	cpl->stag = unic_to_le32(res->stag);
}

int unic_cmd_mr_alloc(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_mr_alloc *cmd = rec;
	uint32_t pd = unic_from_le32(cmd->pd);
	struct unic_mr_result res = { 0 };
	struct unic_derived_alloc a = {
		.pd = (uint16_t)pd,
		.kind = cmd->kind,
		.key = cmd->key,
		.page_shift = cmd->page_shift,
		.importance = cmd->importance,
		.n = unic_from_le32(cmd->n),
		.user = unic_from_le32(cmd->user),
		.stag = UNIC_RESTORE_FORMS ? unic_from_le32(cmd->stag) : 0,
	};
	int err;

	(void)list;
	if (pd >= UNIC_PDS)
		return -UNIC_ENOPD;
	err = unic_derived_alloc(&nic->revoke, &a, &res);
	if (err)
		unic_cmd_explain(nic, nic->mrs.pd[pd].proc, err, out);
	else
		build_mr_alloc_cpl(out, &res);
	return err;
}

int unic_cmd_mr_make(struct unic_command *nic, const void *rec, void *out,
		     uint8_t *list)
{
	const struct unic_cmd_mr_make *cmd = rec;
	uint32_t n = unic_from_le32(cmd->n), mr = unic_from_le32(cmd->mr);
	const struct unic_mr_ctx *m =
		unic_mr_get(&nic->memory, mr, unic_from_le32(cmd->gen));
	struct unic_derived_plan plan = {
		.kinds = 0xff,
		.key = cmd->key,
		.rights = cmd->rights,
		.iova = unic_from_le64(cmd->iova),
		.repeat = unic_from_le32(cmd->repeat),
	};
	uint32_t i;
	struct unic_mr_result res;
	int err;

	if (!m)
		return -UNIC_ENOMR;
	if (unic_key_guard_held(&nic->memory, UNIC_KEY_GUARD_LOCAL, m->proc))
		return -UNIC_EBUSY;
	if (cmd->strided > 1 || n > UNIC_LIST_ELEMENTS)
		return -UNIC_EINVAL;
	for (i = 0; i < sizeof(cmd->rsvd0); i++)
		if (cmd->rsvd0[i])
			return -UNIC_EINVAL;
	plan.n = n;
	plan.list = (const void *)fetch_list_bytes(
		nic, list, n * (cmd->strided ? 20u : 16u));
	if (cmd->strided)
		plan.strides = (const void *)(plan.list + n);
	plan.stag = m->stag;
	plan.pd = m->pd;
	err = unic_derived_make(&nic->memory, &plan);
	if (err)
		return err == -UNIC_EAGAIN || (UNIC_TABLE_READS &&
					       err == -UNIC_EPENDING)
			       ? -UNIC_EBUSY
			       : err;
	res = (struct unic_mr_result){ mr, m->gen, m->stag, 0 };
	build_mr_alloc_cpl(out, &res);
	return 0;
}

int unic_cmd_mr_inval(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_mr *cmd = rec;
	const struct unic_mr_ctx *m = unic_mr_get(&nic->memory,
						  unic_from_le32(cmd->mr),
						  unic_from_le32(cmd->gen));
	int err;

	(void)out;
	(void)list;
	if (!m)
		return -UNIC_ENOMR;
	err = unic_derived_close(&nic->memory, m->stag, m->pd, false);
	if (!err)
		unic_derived_unmake(&nic->memory, m->stag);
	return err == -UNIC_EAGAIN ? -UNIC_EBUSY : err;
}

int unic_cmd_mr_forms(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_mr *cmd = rec;
	uint32_t mr = unic_from_le32(cmd->mr);

	(void)out;
	if (!unic_mr_get(&nic->memory, mr, unic_from_le32(cmd->gen)))
		return -UNIC_ENOMR;
	unic_dependents_map(&nic->memory, (uint16_t)mr, list);
	return 0;
}

int unic_cmd_mr_rereg(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_mr_rereg *cmd = rec;
	struct unic_rereg r = {
		.mr = unic_from_le32(cmd->mr),
		.gen = unic_from_le32(cmd->gen),
		.pd = unic_from_le32(cmd->pd),
		.what = cmd->what,
		.rights = cmd->rights,
		.importance = cmd->importance,
		.iova = unic_from_le64(cmd->iova),
		.length = unic_from_le64(cmd->length),
		.n_pages = unic_from_le32(cmd->n_pages),
	};
	const struct unic_mr_ctx *m = unic_mr_get(&nic->memory, r.mr, r.gen);
	uint32_t i;
	int err;

	if (cmd->rsvd0 || (r.what != UNIC_REREG_HINT && r.importance) ||
	    r.n_pages > UNIC_BOX_LIST_MAX ||
	    (!(r.what & UNIC_REREG_PD) && r.pd) ||
	    (!(r.what & UNIC_REREG_RIGHTS) && r.rights) ||
	    (!(r.what & UNIC_REREG_RANGE) && (r.iova || r.length || r.n_pages)))
		return -UNIC_EINVAL;
	fetch_list_bytes(nic, list, 8 * r.n_pages);
	for (i = 0; i < r.n_pages; i++)
		nic->list[i] =
			unic_from_le64((UNIC_FORCE unic_le64)nic->list[i]);
	r.pages = nic->list;
	err = unic_mr_rereg(&nic->revoke, &r);
	if (err && m)
		unic_cmd_explain(nic, m->proc, err, out);
	return err;
}
