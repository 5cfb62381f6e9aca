/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pair.c - two NICs on a wire, connected; see pair.h. */
#include "unit.h"

#include "pair.h"

struct rig ra, rb;
struct rig_qp qa, qb;
struct rig_mr ma, mb;

void pair_make(bool icrc, uint32_t pages)
{
	uint32_t pa, pb, i;

	rig_up(&ra, 1);
	rig_up(&rb, 2);
	ra.port.icrc = rb.port.icrc = icrc;
	ra.nic.link.icrc_offload = rb.nic.link.icrc_offload = !icrc;
	fake_wire(&ra.port, &rb.port);
	rig_attach(&ra, 0, 1);
	rig_attach(&rb, 0, 1);
	pa = rig_pd(&ra, 0);
	pb = rig_pd(&rb, 0);
	rig_qp(&ra, 0, pa, 3, &qa);
	rig_qp(&rb, 0, pb, 5, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
	assert_int_equal(rig_reg(&ra, 0, pa, pages, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &ma),
			 0);
	assert_int_equal(rig_reg(&rb, 0, pb, pages, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mb),
			 0);
	for (i = 0; i < pages * 4096; i++) {
		ma.mem[i] = (uint8_t)(i * 7 + (i >> 8));
		mb.mem[i] = (uint8_t)(i * 13 + (i >> 8) + 1);
	}
}

void pair_up(void)
{
	pair_make(false, PAIR_PAGES);
}

void pair_run(uint64_t ns)
{
	rig_run2(&ra, &rb, ns);
}

void pair_rounds(struct rig *r, uint32_t n)
{
	while (n--)
		unic_nic_poll(&r->nic);
}

void pair_at_once(void)
{
	pair_run(0);
}

void pair_expect(struct rig *r, struct rig_qp *qp, uint64_t wr_id,
		 uint8_t status, uint32_t len)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(r, qp, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(cqe.status, status);
	if (!status)
		assert_int_equal(unic_from_le32(cqe.byte_len), len);
}

void pair_expect_none(struct rig *r, struct rig_qp *qp)
{
	struct unic_cqe cqe;

	assert_false(rig_cqe(r, qp, &cqe));
}

void pair_quiet(void)
{
	uint32_t i;

	for (i = 0; i < UNIC_MRS; i++) {
		assert_int_equal(ra.nic.mrs.mr[i].holds, 0);
		assert_int_equal(rb.nic.mrs.mr[i].holds, 0);
		assert_int_equal(ra.nic.mrs.mr[i].dmas, 0);
		assert_int_equal(rb.nic.mrs.mr[i].dmas, 0);
	}
}

void pair_gone_region(struct rig *r, uint32_t pd, struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { 0 };

	assert_int_equal(rig_reg(r, 0, pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, mr),
			 0);
	cmd.mr = unic_to_le32(mr->mr);
	cmd.gen = unic_to_le32(mr->gen);
	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	pair_run(1000000);
}
