/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rig_kernel.c - see rig_kernel.h. */
#include "rig_kernel.h"

#include "unit.h"

uint8_t *rig_list(struct rig *r)
{
	return r->port.bar + UNIC_BAR_LIST_OFF +
	       r->cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
}

uint32_t rig_physical_pd(struct rig *r)
{
	struct unic_cmd_pd cmd = { .flags = unic_to_le32(UNIC_PD_PHYSICAL) };
	struct unic_cpl_pd cpl;

	assert_int_equal(rig_cmd(r, UNIC_CMD_PD_ALLOC, &cmd, &cpl), 0);
	return unic_from_le32(cpl.pd);
}

struct unic_cmd_mr_reg rig_physical_cmd(uint32_t pd)
{
	return (struct unic_cmd_mr_reg){
		.pd = unic_to_le32(pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_CONTROL,
		.residency = UNIC_PHYSICAL,
		.iova = unic_to_le64(RIG_KERNEL_BUS),
		.length = unic_to_le64(RIG_KERNEL_BYTES),
	};
}

void rig_reg_physical(struct rig *r, uint32_t pd, struct rig_mr *out)
{
	struct unic_cmd_mr_reg cmd = rig_physical_cmd(pd);
	struct unic_cpl_mr_reg cpl;

	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_REG, &cmd, &cpl), 0);
	*out = (struct rig_mr){
		.mr = unic_from_le32(cpl.mr),
		.gen = unic_from_le32(cpl.gen),
		.stag = unic_from_le32(cpl.stag),
		.iova = RIG_KERNEL_BUS,
		.mem = r->port.window[0] + RIG_KERNEL_FIRST,
	};
}

/* The rings are in pages 0 to 2 of the physical region. */
void rig_physical_qp(struct rig *r, uint32_t pd, const struct rig_mr *mr,
		     struct rig_qp *qp)
{
	struct unic_cmd_cq_create cq = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova + AT(2)),
		.entries = unic_to_le32(RIG_SLOTS),
		.db_index = unic_to_le32(1),
	};
	struct unic_cmd_qp_create create = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr->stag),
		.sq_slots = unic_to_le16(RIG_SLOTS),
		.rq_slots = unic_to_le16(RIG_SLOTS),
		.sq_iova = unic_to_le64(mr->iova),
		.rq_iova = unic_to_le64(mr->iova + AT(1)),
		.db_index = unic_to_le32(1),
	};
	struct unic_cpl_obj cpl;

	*qp = (struct rig_qp){
		.pd = pd,
		.row = 1,
		.mtu_shift = 10,
		.psn = 0x1000,
		.rings = *mr,
		.sq = (struct unic_sq_slot *)mr->mem,
		.rq = (struct unic_rq_slot *)(mr->mem + AT(1)),
		.cqe = (const struct unic_cqe *)(mr->mem + AT(2)),
	};
	memset(mr->mem, 0, RIG_KERNEL_BYTES);
	assert_int_equal(rig_cmd(r, UNIC_CMD_CQ_CREATE, &cq, &cpl), 0);
	qp->cq = unic_from_le32(cpl.id);
	create.send_cq = create.recv_cq = unic_to_le32(qp->cq);
	assert_int_equal(rig_cmd(r, UNIC_CMD_QP_CREATE, &create, &cpl), 0);
	qp->qpn = unic_from_le32(cpl.id);
}
