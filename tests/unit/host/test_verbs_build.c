/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs_build.c - send requests that are built by calls: as they lie in the ring of the
 * NIC when they are complete, and not before; all of them or none.
 */
#include <endian.h>
#include <errno.h>

#include "unit.h"

#include "post.h"
#include "qp.h"
#include "verbs_rig.h"

#define OPS_RC                                                            \
	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |             \
	 IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |   \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp_init_attr_ex init_of(enum ibv_qp_type type, uint64_t ops)
{
	v.at->attr.features |= UNIC_FEAT_ATOMICS;
	v.at->ctx->attr.features |= UNIC_FEAT_ATOMICS;
	return (struct ibv_qp_init_attr_ex){
		.qp_context = &asked,
		.send_cq = v.cq,
		.recv_cq = v.cq,
		.cap = { .max_send_wr = 20,
			 .max_recv_wr = 4,
			 .max_send_sge = 3,
			 .max_recv_sge = 1 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = v.pd,
		.send_ops_flags = ops,
	};
}

/* A queue pair of @type in state RTS with the calls of @ops; its requests have two slots. */
static struct ibv_qp_ex *make_ex(enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = init_of(type, ops);
	struct ibv_qp *qp = unic_ibv_create_qp_ex(&v.ctx.vctx.context, &init);

	assert_non_null(qp);
	assert_int_equal(init.cap.max_send_wr, 32);
	qp->state = IBV_QPS_RTS;
	assert_int_equal(unic_ibv_qp(qp)->vqp.comp_mask, VERBS_QP_EX);
	return (struct ibv_qp_ex *)qp;
}

static void end_ex(struct ibv_qp_ex *ex)
{
	end_qp(&ex->qp_base);
}

static struct unic_sq_slot *slot_of(struct ibv_qp_ex *ex, unsigned int n)
{
	return (struct unic_sq_slot *)unic_ibv_qp(&ex->qp_base)->lib->sq.slot +
	       n;
}

static uint32_t posted(struct ibv_qp_ex *ex)
{
	return unic_ibv_qp(&ex->qp_base)->lib->sq.posted;
}

static void set(struct ibv_qp_ex *ex, uint64_t wr_id, unsigned int flags)
{
	ex->wr_id = wr_id;
	ex->wr_flags = flags;
}

static void all_are_posted_together(void **state)
{
	struct ibv_qp_ex *ex = make_ex(IBV_QPT_RC, OPS_RC);
	struct ibv_sge sge[2] = { { 0x1000, 8, 0xaa }, { 0x2000, 9, 0xbb } };
	const struct unic_sq_slot *slot;

	(void)state;
	ex->wr_start(ex);
	set(ex, 1, IBV_SEND_SIGNALED);
	ex->wr_send(ex);
	ex->wr_set_sge(ex, 0xaa, 0x1000, 8);
	set(ex, 2, 0);
	ex->wr_send_imm(ex, htobe32(0x01020304));
	ex->wr_set_sge_list(ex, 2, sge);
	set(ex, 3, IBV_SEND_FENCE);
	ex->wr_rdma_write(ex, 0x77, 0x1122334455667788);
	set(ex, 4, IBV_SEND_SOLICITED);
	ex->wr_rdma_write_imm(ex, 0x78, 0x99, htobe32(5));
	set(ex, 5, 0);
	ex->wr_rdma_read(ex, 0x79, 0x9a);
	ex->wr_set_sge(ex, 0xcc, 0x3000, 4);
	assert_int_equal(posted(ex), 0);
	assert_int_equal(ex->wr_complete(ex), 0);
	slot = slot_of(ex, 0);
	assert_int_equal(slot->opcode, UNIC_WR_SEND);
	assert_int_equal(slot->flags, UNIC_WR_SIGNALED);
	assert_int_equal(slot->num_sge, 1);
	assert_int_equal(unic_from_le64(slot->sge[0].iova), 0x1000);
	assert_int_equal(unic_from_le32(slot->sge[0].len), 8);
	assert_int_equal(unic_from_le32(slot->sge[0].lkey), 0xaa);
	slot = slot_of(ex, 1);
	assert_int_equal(slot->opcode, UNIC_WR_SEND_IMM);
	assert_int_equal(slot->flags, 0);
	assert_int_equal(unic_from_le32(slot->imm), 0x01020304);
	assert_int_equal(slot->num_sge, 2);
	assert_int_equal(unic_from_le32(slot->sge[1].lkey), 0xbb);
	slot = slot_of(ex, 2);
	assert_int_equal(slot->opcode, UNIC_WR_WRITE);
	assert_int_equal(slot->flags, UNIC_WR_FENCE);
	assert_int_equal(slot->num_sge, 0);
	assert_int_equal(unic_from_le32(slot->rkey), 0x77);
	assert_int_equal(unic_from_le64(slot->remote), 0x1122334455667788);
	slot = slot_of(ex, 3);
	assert_int_equal(slot->opcode, UNIC_WR_WRITE_IMM);
	assert_int_equal(slot->flags, UNIC_WR_SOLICITED);
	assert_int_equal(unic_from_le32(slot->rkey), 0x78);
	assert_int_equal(unic_from_le64(slot->remote), 0x99);
	assert_int_equal(unic_from_le32(slot->imm), 5);
	slot = slot_of(ex, 4);
	assert_int_equal(slot->opcode, UNIC_WR_READ);
	assert_int_equal(unic_from_le32(slot->rkey), 0x79);
	assert_int_equal(unic_from_le64(slot->remote), 0x9a);
	assert_int_equal(unic_from_le32(slot->sge[0].lkey), 0xcc);
	assert_int_equal(posted(ex), 5);
	assert_int_equal(unic_ibv_qp(&ex->qp_base)->lib->sq.shadow[4].wr_id, 5);
	end_ex(ex);
}

static void atomics_have_operands(void **state)
{
	struct ibv_qp_ex *ex = make_ex(IBV_QPT_RC, OPS_RC);
	const struct unic_wr_atomic *operands;

	(void)state;
	ex->wr_start(ex);
	ex->wr_atomic_cmp_swp(ex, 0x77, 0x100, 3, 4);
	ex->wr_set_sge(ex, 1, 0x1000, 8);
	ex->wr_atomic_fetch_add(ex, 0x78, 0x108, 5);
	ex->wr_set_sge(ex, 1, 0x1000, 8);
	assert_int_equal(ex->wr_complete(ex), 0);
	assert_int_equal(slot_of(ex, 0)->opcode, UNIC_WR_COMPARE_SWAP);
	assert_int_equal(unic_from_le64(slot_of(ex, 0)->remote), 0x100);
	operands = (const void *)&slot_of(ex, 0)->sge[1];
	assert_int_equal(unic_from_le64(operands->operand), 3);
	assert_int_equal(unic_from_le64(operands->swap), 4);
	assert_int_equal(slot_of(ex, 1)->opcode, UNIC_WR_FETCH_ADD);
	assert_int_equal(unic_from_le32(slot_of(ex, 1)->rkey), 0x78);
	operands = (const void *)&slot_of(ex, 1)->sge[1];
	assert_int_equal(unic_from_le64(operands->operand), 5);
	end_ex(ex);
}

/* Data is copied by the call: its memory may change before the request is complete. */
static void inline_data_is_copied(void **state)
{
	struct ibv_qp_ex *ex = make_ex(IBV_QPT_RC, OPS_RC);
	uint8_t text[97], more[4] = { 9, 8, 7, 6 };
	struct ibv_data_buf bufs[3] = { { text, 92 },
					{ NULL, 0 },
					{ more, 4 } };

	(void)state;
	memset(text, 5, sizeof(text));
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_inline_data(ex, text, 3);
	ex->wr_send(ex);
	ex->wr_set_inline_data_list(ex, 3, bufs);
	ex->wr_send(ex);
	ex->wr_set_inline_data(ex, NULL, 0);
	memset(text, 1, sizeof(text));
	memset(more, 1, sizeof(more));
	assert_int_equal(ex->wr_complete(ex), 0);
	assert_int_equal(slot_of(ex, 0)->flags, UNIC_WR_INLINE);
	assert_int_equal(slot_of(ex, 0)->inline_len, 3);
	assert_memory_equal(slot_of(ex, 0)->sge, "\5\5\5", 3);
	assert_int_equal(slot_of(ex, 1)->inline_len, 96);
	assert_memory_equal((uint8_t *)slot_of(ex, 2) + 60, "\x09\x08\x07\x06",
			    4);
	assert_int_equal(slot_of(ex, 3)->inline_len, 0);
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_inline_data(ex, text, 97);
	assert_int_equal(ex->wr_complete(ex), EINVAL);
	bufs[1] = (struct ibv_data_buf){ more, 1 };
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_inline_data_list(ex, 3, bufs);
	assert_int_equal(ex->wr_complete(ex), EINVAL);
	end_ex(ex);
}

static void datagrams_have_a_target(void **state)
{
	struct ibv_qp_ex *ex = make_ex(
		IBV_QPT_UD, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	struct unic_ibv_ah ah = { .ipv4 = 0x0a010203 };

	(void)state;
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_ud_addr(ex, &ah.ah, 0x55, 0x11223344);
	assert_int_equal(ex->wr_complete(ex), 0);
	assert_int_equal(unic_from_le64(slot_of(ex, 0)->remote),
			 0x112233440a010203);
	assert_int_equal(unic_from_le32(slot_of(ex, 0)->rkey), 0x55);
	ex->wr_start(ex);
	ex->wr_send(ex);
	assert_int_equal(ex->wr_complete(ex), EINVAL); /* to nobody */
	assert_int_equal(posted(ex), 1);
	end_ex(ex);
}

static void nothing_is_posted_of_a_wrong_list(void **state)
{
	struct ibv_qp_ex *ex = make_ex(IBV_QPT_RC, OPS_RC);
	struct ibv_sge sge[1000] = { { 0 } };
	unsigned int i;

	(void)state;
	/* a request that cannot be carried out, behind one that can */
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_atomic_fetch_add(ex, 1, 8, 1);
	assert_int_equal(ex->wr_complete(ex), EINVAL);
	/* more than the queue pair has */
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_sge_list(ex, 7, sge);
	ex->wr_send(ex);
	assert_int_equal(ex->wr_complete(ex), EINVAL);
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_set_sge_list(ex, 1000, sge);
	assert_int_equal(ex->wr_complete(ex), EINVAL);
	/* what belongs to no request */
	ex->wr_start(ex);
	ex->wr_set_sge(ex, 1, 2, 3);
	ex->wr_send(ex);
	assert_int_equal(ex->wr_complete(ex), EINVAL);
	/* more than there is room for; the first error is told */
	ex->wr_start(ex);
	for (i = 0; i < 33; i++)
		ex->wr_send(ex);
	ex->wr_set_sge_list(ex, 7, sge);
	assert_int_equal(ex->wr_complete(ex), ENOMEM);
	assert_int_equal(posted(ex), 0);
	/* errors are not of the next list */
	ex->wr_start(ex);
	ex->wr_send(ex);
	ex->wr_abort(ex);
	ex->wr_start(ex);
	assert_int_equal(ex->wr_complete(ex), 0);
	assert_int_equal(posted(ex), 0);
	ex->wr_start(ex);
	for (i = 0; i < 32; i++)
		ex->wr_send(ex);
	assert_int_equal(ex->wr_complete(ex), 0);
	assert_int_equal(posted(ex), 32);
	end_ex(ex);
}

/* Requests of two slots each: the queue has room for 32 of these. */
static void a_list_that_does_not_fit_waits(void **state)
{
	struct ibv_qp_ex *ex = make_ex(IBV_QPT_RC, OPS_RC);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_sge sge[6] = { { 0 } };
	unsigned int i;

	(void)state;
	assert_int_equal(unic_ibv_post_send(&ex->qp_base, &wr, &bad), 0);
	ex->wr_start(ex);
	for (i = 0; i < 32; i++) {
		ex->wr_send(ex);
		ex->wr_set_sge_list(ex, 6, sge);
	}
	assert_int_equal(ex->wr_complete(ex), ENOMEM);
	assert_int_equal(posted(ex), 1);
	ex->wr_start(ex);
	for (i = 0; i < 31; i++) {
		ex->wr_send(ex);
		ex->wr_set_sge_list(ex, 6, sge);
	}
	assert_int_equal(ex->wr_complete(ex), 0);
	assert_int_equal(posted(ex), 63);
	end_ex(ex);
}

static void a_state_that_takes_none_is_told(void **state)
{
	struct ibv_qp_ex *ex = make_ex(IBV_QPT_RC, OPS_RC);

	(void)state;
	ex->qp_base.state = IBV_QPS_RTR;
	ex->wr_start(ex);
	ex->wr_send(ex);
	assert_int_equal(ex->wr_complete(ex), EINVAL);
	assert_int_equal(posted(ex), 0);
	end_ex(ex);
}

static void no_ex(struct ibv_qp_init_attr_ex init, int err)
{
	struct ibv_qp_init_attr_ex was = init;

	errno = 0;
	assert_null(unic_ibv_create_qp_ex(&v.ctx.vctx.context, &init));
	assert_int_equal(errno, err);
	assert_memory_equal(&init, &was, sizeof(was));
}

static void calls_are_of_the_type(void **state)
{
	static const uint64_t none[] = {
		IBV_QP_EX_WITH_LOCAL_INV, IBV_QP_EX_WITH_BIND_MW,
		IBV_QP_EX_WITH_TSO, IBV_QP_EX_WITH_ATOMIC_WRITE, 1ull << 40
	};
	struct ibv_qp_init_attr_ex init;
	struct ibv_qp_ex *ex;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		no_ex(init_of(IBV_QPT_RC, OPS_RC | none[i]), EOPNOTSUPP);
	no_ex(init_of(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ), EOPNOTSUPP);
	no_ex(init_of(IBV_QPT_UC, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD),
	      EOPNOTSUPP);
	no_ex(init_of(IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE), EOPNOTSUPP);
	ex = make_ex(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM);
	assert_non_null(ex->wr_rdma_write_imm);
	assert_null(ex->wr_rdma_write);
	assert_null(ex->wr_send);
	end_ex(ex);
	init = init_of(IBV_QPT_RC, OPS_RC);
	v.at->attr.features &= ~UNIC_FEAT_ATOMICS;
	no_ex(init, EOPNOTSUPP);
}

static void attributes_are_looked_at(void **state)
{
	struct ibv_qp_init_attr_ex init = init_of(IBV_QPT_RC, 0);
	struct ibv_context other = { 0 };
	struct unic_ibv_pd pd = { .pd.context = &other };
	struct ibv_qp *qp;

	(void)state;
	init.comp_mask = IBV_QP_INIT_ATTR_PD;
	qp = unic_ibv_create_qp_ex(&v.ctx.vctx.context, &init);
	assert_non_null(qp);
	assert_int_equal(unic_ibv_qp(qp)->vqp.comp_mask, 0);
	assert_ptr_equal(qp->qp_context, &asked);
	end_qp(qp);
#define WITH(field, value, err)                \
	do {                                   \
		init = init_of(IBV_QPT_RC, 0); \
		init.field = value;            \
		no_ex(init, err);              \
	} while (0)
	WITH(comp_mask, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD,
	     EOPNOTSUPP);
	WITH(comp_mask, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, EINVAL);
	WITH(pd, NULL, EINVAL);
	WITH(pd, &pd.pd, EINVAL);
	WITH(qp_type, IBV_QPT_RAW_PACKET, EOPNOTSUPP);
	WITH(cap.max_send_wr, 1025, EINVAL);
	init = init_of(IBV_QPT_RC, 0);
	init.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	init.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	no_ex(init, EOPNOTSUPP);
	init.create_flags = 0;
	qp = unic_ibv_create_qp_ex(&v.ctx.vctx.context, &init);
	assert_non_null(qp);
	end_qp(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_VERBS(all_are_posted_together),
		WITH_VERBS(atomics_have_operands),
		WITH_VERBS(inline_data_is_copied),
		WITH_VERBS(datagrams_have_a_target),
		WITH_VERBS(nothing_is_posted_of_a_wrong_list),
		WITH_VERBS(a_list_that_does_not_fit_waits),
		WITH_VERBS(a_state_that_takes_none_is_told),
		WITH_VERBS(calls_are_of_the_type),
		WITH_VERBS(attributes_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
