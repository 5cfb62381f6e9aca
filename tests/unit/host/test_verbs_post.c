/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs_post.c - work requests of verbs as they lie in the rings of the NIC, and those
 * that are refused, of which nothing does.
 */
#include <endian.h>
#include <errno.h>

#include "unit.h"

#include "ah.h"
#include "post.h"
#include "verbs_rig.h"

static struct unic_sq_slot *send_slot(struct ibv_qp *qp, unsigned int n)
{
	return (struct unic_sq_slot *)unic_ibv_qp(qp)->lib->sq.slot + n;
}

static uint32_t sends_of(struct ibv_qp *qp)
{
	const struct unic_qp *lib = unic_ibv_qp(qp)->lib;

	/* the NIC is told of what is posted */
	assert_int_equal(unic_from_le32(db()->tail[lib->db].sq),
			 lib->sq.posted);
	return lib->sq.posted;
}

static uint32_t receives_of(struct ibv_qp *qp)
{
	const struct unic_qp *lib = unic_ibv_qp(qp)->lib;

	assert_int_equal(unic_from_le32(db()->tail[lib->db].rq),
			 lib->rq.posted);
	return lib->rq.posted;
}

static void send_is_posted(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;

	assert_int_equal(unic_ibv_post_send(qp, wr, &bad), 0);
	assert_null(bad);
}

/* @wr alone ends with @err, and nothing of it is posted. */
static void send_is_refused(struct ibv_qp *qp, struct ibv_send_wr *wr, int err)
{
	struct ibv_send_wr *bad = NULL;
	uint32_t before = sends_of(qp);

	assert_int_equal(unic_ibv_post_send(qp, wr, &bad), err);
	assert_ptr_equal(bad, wr);
	assert_int_equal(sends_of(qp), before);
}

static void opcodes_are_the_nics(void **state)
{
	static const struct {
		enum ibv_wr_opcode verbs;
		uint8_t lib;
		bool imm, remote;
	} all[] = {
		{ IBV_WR_SEND, UNIC_WR_SEND, false, false },
		{ IBV_WR_SEND_WITH_IMM, UNIC_WR_SEND_IMM, true, false },
		{ IBV_WR_RDMA_WRITE, UNIC_WR_WRITE, false, true },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, UNIC_WR_WRITE_IMM, true, true },
		{ IBV_WR_RDMA_READ, UNIC_WR_READ, false, true },
	};
	struct ibv_sge sge[2] = { { 0x1122334455667788, 5, 0xaa },
				  { 0x2000, 6, 0xbb } };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 2, 0, false);
	const struct unic_sq_slot *slot;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct ibv_send_wr wr = {
			.wr_id = 100 + i,
			.sg_list = sge,
			.num_sge = 2,
			.opcode = all[i].verbs,
			.imm_data = htobe32(0x01020304),
			.wr.rdma = { .remote_addr = 0x99887766554433,
				     .rkey = 0x1234 },
		};

		send_is_posted(qp, &wr);
		slot = send_slot(qp, i);
		assert_int_equal(sends_of(qp), i + 1);
		assert_int_equal(slot->opcode, all[i].lib);
		assert_int_equal(slot->flags, 0);
		assert_int_equal(slot->num_sge, 2);
		assert_int_equal(unic_from_le32(slot->imm),
				 all[i].imm ? 0x01020304 : 0);
		assert_int_equal(unic_from_le64(slot->remote),
				 all[i].remote ? 0x99887766554433 : 0);
		assert_int_equal(unic_from_le32(slot->rkey),
				 all[i].remote ? 0x1234 : 0);
		assert_int_equal(unic_from_le64(slot->sge[0].iova),
				 0x1122334455667788);
		assert_int_equal(unic_from_le32(slot->sge[0].len), 5);
		assert_int_equal(unic_from_le32(slot->sge[0].lkey), 0xaa);
		assert_int_equal(unic_from_le64(slot->sge[1].iova), 0x2000);
		assert_int_equal(unic_from_le32(slot->sge[1].len), 6);
		assert_int_equal(unic_from_le32(slot->sge[1].lkey), 0xbb);
		assert_int_equal(unic_ibv_qp(qp)->lib->sq.shadow[i].wr_id,
				 100 + i);
	}
	end_qp(qp);
}

static void flags_are_the_nics(void **state)
{
	static const struct {
		unsigned int verbs;
		uint8_t lib;
	} all[] = {
		{ 0, 0 },
		{ IBV_SEND_FENCE, UNIC_WR_FENCE },
		{ IBV_SEND_SIGNALED, UNIC_WR_SIGNALED },
		{ IBV_SEND_SOLICITED, UNIC_WR_SOLICITED },
		{ IBV_SEND_INLINE, UNIC_WR_INLINE },
		{ IBV_SEND_FENCE | IBV_SEND_SOLICITED,
		  UNIC_WR_FENCE | UNIC_WR_SOLICITED },
	};
	struct ibv_qp *some = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_qp *every = make_qp(IBV_QPT_RC, 1, 0, true);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		wr.send_flags = all[i].verbs;
		send_is_posted(some, &wr);
		assert_int_equal(send_slot(some, i)->flags, all[i].lib);
		send_is_posted(every, &wr);
		assert_int_equal(send_slot(every, i)->flags,
				 all[i].lib | UNIC_WR_SIGNALED);
	}
	wr.send_flags = IBV_SEND_IP_CSUM;
	send_is_refused(some, &wr, EINVAL);
	wr.send_flags = IBV_SEND_SIGNALED | 1u << 31;
	send_is_refused(some, &wr, EINVAL);
	end_qp(some);
	end_qp(every);
}

static void what_a_type_lacks_is_refused(void **state)
{
	static const enum ibv_wr_opcode absent[] = { IBV_WR_LOCAL_INV,
						     IBV_WR_BIND_MW, IBV_WR_TSO,
						     77 };
	struct ibv_qp *rc = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_qp *uc = make_qp(IBV_QPT_UC, 1, 0, false);
	struct ibv_qp *ud = make_qp(IBV_QPT_UD, 1, 0, false);
	struct unic_ibv_ah ah = { .ipv4 = 0x0a000001 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };
	struct ibv_send_wr to = { .wr.ud.ah = &ah.ah };
	unsigned int i;

	(void)state;
	send_is_refused(uc, &wr, EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE;
	send_is_posted(uc, &wr);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	send_is_posted(uc, &wr);
	wr.opcode = IBV_WR_SEND;
	send_is_posted(uc, &wr);
	for (i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		wr.opcode = to.opcode = absent[i];
		send_is_refused(rc, &wr, EOPNOTSUPP);
		send_is_refused(ud, &to, EOPNOTSUPP);
	}
	to.opcode = IBV_WR_RDMA_READ;
	send_is_refused(ud, &to, EINVAL);
	to.opcode = IBV_WR_RDMA_WRITE;
	send_is_refused(ud, &to, EINVAL);
	to.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	send_is_refused(ud, &to, EINVAL);
	to.opcode = IBV_WR_SEND;
	to.wr.ud.ah = NULL;
	send_is_refused(ud, &to, EINVAL);
	end_qp(rc);
	end_qp(uc);
	end_qp(ud);
}

static void datagrams_name_their_target(void **state)
{
	struct ibv_qp *ud = make_qp(IBV_QPT_UD, 1, 0, false);
	struct unic_ibv_ah ah = { .ipv4 = 0x0a010203 };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(7),
		.wr.ud = { .ah = &ah.ah,
			   .remote_qpn = 0x55,
			   .remote_qkey = 0x11223344 },
	};

	(void)state;
	send_is_posted(ud, &wr);
	assert_int_equal(unic_from_le64(send_slot(ud, 0)->remote),
			 0x112233440a010203);
	assert_int_equal(unic_from_le32(send_slot(ud, 0)->rkey), 0x55);
	assert_int_equal(unic_from_le32(send_slot(ud, 0)->imm), 7);
	wr.opcode = IBV_WR_SEND;
	send_is_posted(ud, &wr);
	assert_int_equal(unic_from_le64(send_slot(ud, 1)->remote),
			 0x112233440a010203);
	assert_int_equal(unic_from_le32(send_slot(ud, 1)->imm), 0);
	end_qp(ud);
}

/* What a queue pair of @asked SGEs takes, and no more: @most. */
static void sges_are_limited_to(unsigned int asked_for, int most)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, asked_for, 0, false);
	struct ibv_sge sge[7] = {
		{ 1, 2, 3 },	{ 4, 5, 6 },	{ 7, 8, 9 },
		{ 10, 11, 12 }, { 13, 14, 15 }, { 16, 17, 18 }
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge };
	const struct unic_sq_ext *ext;

	wr.num_sge = -1;
	send_is_refused(qp, &wr, EINVAL);
	wr.num_sge = most + 1;
	send_is_refused(qp, &wr, EINVAL);
	wr.num_sge = most;
	send_is_posted(qp, &wr);
	assert_int_equal(send_slot(qp, 0)->num_sge, most);
	ext = (const void *)send_slot(qp, 1);
	if (most == 6) {
		assert_int_equal(unic_from_le64(ext->sge[0].iova), 7);
		assert_int_equal(unic_from_le64(ext->sge[3].iova), 16);
		assert_int_equal(unic_from_le32(ext->sge[3].len), 17);
		assert_int_equal(unic_from_le32(ext->sge[3].lkey), 18);
	}
	end_qp(qp);
}

static void sges_are_limited(void **state)
{
	(void)state;
	sges_are_limited_to(0, 2);
	sges_are_limited_to(2, 2);
	sges_are_limited_to(3, 6);
	sges_are_limited_to(6, 6);
}

/* Inline data of two pieces: @most bytes, and no more. */
static void inline_is_limited_to(unsigned int asked_for, uint32_t most)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, asked_for, false);
	uint8_t text[128];
	struct ibv_sge sge[2] = { { (uintptr_t)text, 20, 0 },
				  { (uintptr_t)text + 20, most - 20, 0 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .sg_list = sge,
				  .num_sge = 2,
				  .send_flags = IBV_SEND_INLINE };
	unsigned int i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i + 1);
	send_is_posted(qp, &wr);
	assert_int_equal(send_slot(qp, 0)->inline_len, most);
	assert_memory_equal(send_slot(qp, 0)->sge, text, 32);
	if (most > 32)
		assert_memory_equal(send_slot(qp, 1), text + 32, most - 32);
	sge[1].length++;
	send_is_refused(qp, &wr, EINVAL);
	sge[0].length = sge[1].length = 1u << 31; /* 2^32 in all */
	send_is_refused(qp, &wr, EINVAL);
	wr.send_flags = 0;
	send_is_posted(qp, &wr);
	wr.send_flags = IBV_SEND_INLINE;
	wr.opcode = IBV_WR_RDMA_READ;
	sge[0].length = sge[1].length = 1;
	send_is_refused(qp, &wr, EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE;
	send_is_posted(qp, &wr);
	end_qp(qp);
}

static void inline_data_is_limited(void **state)
{
	(void)state;
	inline_is_limited_to(0, 32);
	inline_is_limited_to(32, 32);
	inline_is_limited_to(33, 96);
}

/* A list of @n empty sends, numbered. */
static void list_sends(struct ibv_send_wr *wr, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.opcode = IBV_WR_SEND,
		};
}

/* Of a list of ten the request @at is @wrong: those before it are posted. */
static void list_ends_at(unsigned int at, const struct ibv_send_wr *wrong,
			 int err)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_send_wr wr[10], *bad = NULL;
	unsigned int i;

	list_sends(wr, 10);
	wr[at] = *wrong;
	wr[at].next = at < 9 ? &wr[at + 1] : NULL;
	assert_int_equal(unic_ibv_post_send(qp, wr, &bad), err);
	assert_ptr_equal(bad, &wr[at]);
	assert_int_equal(sends_of(qp), at);
	for (i = 0; i < at; i++)
		assert_int_equal(unic_ibv_qp(qp)->lib->sq.shadow[i].wr_id, i);
	end_qp(qp);
}

static void a_list_ends_where_it_is_wrong(void **state)
{
	struct ibv_sge half = { .length = 1u << 31 };
	struct ibv_sge all[2] = { half, half }; /* 2^32 bytes */
	struct ibv_send_wr wrong = { .opcode = 77 };
	unsigned int i;

	(void)state;
	for (i = 0; i < 10; i++)
		list_ends_at(i, &wrong, EOPNOTSUPP);
	wrong = (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .num_sge = -1 };
	list_ends_at(3, &wrong, EINVAL);
	wrong = (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
				      .send_flags = IBV_SEND_INLINE,
				      .sg_list = all,
				      .num_sge = 2 };
	list_ends_at(3, &wrong, EINVAL);
}

/* A queue of 16 takes 16 of 20, and the first that it does not take is told. */
static void a_full_queue_says_so(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_send_wr send[20], *bad_send = NULL;
	struct ibv_recv_wr recv[20], *bad_recv = NULL;
	unsigned int i;

	(void)state;
	list_sends(send, 20);
	for (i = 0; i < 20; i++)
		recv[i] = (struct ibv_recv_wr){
			.wr_id = 200 + i,
			.next = i < 19 ? &recv[i + 1] : NULL,
		};
	assert_int_equal(unic_ibv_post_send(qp, send, &bad_send), ENOMEM);
	assert_ptr_equal(bad_send, &send[16]);
	assert_int_equal(sends_of(qp), 16);
	send_is_refused(qp, send, ENOMEM);
	assert_int_equal(unic_ibv_post_recv(qp, recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &recv[16]);
	assert_int_equal(receives_of(qp), 16);
	for (i = 0; i < 16; i++) {
		assert_int_equal(unic_ibv_qp(qp)->lib->sq.shadow[i].wr_id, i);
		assert_int_equal(unic_ibv_qp(qp)->lib->rq.shadow[i].wr_id,
				 200 + i);
	}
	assert_int_equal(unic_ibv_post_recv(qp, recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, recv);
	end_qp(qp);
}

/* The last of a queue with one free slot may be the second of a batch. */
static void room_for_part_of_a_list(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_send_wr wr[15], more[3], *bad = NULL;

	(void)state;
	list_sends(wr, 15);
	list_sends(more, 3);
	send_is_posted(qp, wr);
	more[2].opcode = 77; /* behind the one for which there is no room */
	assert_int_equal(unic_ibv_post_send(qp, more, &bad), ENOMEM);
	assert_ptr_equal(bad, &more[1]);
	assert_int_equal(sends_of(qp), 16);
	end_qp(qp);
}

static void receives_are_the_nics(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_sge sge[4] = { { 0x1000, 1, 11 },
				  { 0x2000, 2, 12 },
				  { 0x3000, 3, 13 } };
	struct ibv_recv_wr wr[2] = {
		{ .wr_id = 5, .sg_list = sge, .num_sge = 3, .next = &wr[1] },
		{ .wr_id = 6, .sg_list = sge, .num_sge = 4 },
	};
	const struct unic_rq_slot *slot = unic_ibv_qp(qp)->lib->rq.slot;
	struct ibv_recv_wr *bad = NULL;
	unsigned int i;

	(void)state;
	assert_int_equal(unic_ibv_post_recv(qp, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	assert_int_equal(receives_of(qp), 1);
	assert_int_equal(slot->num_sge, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(unic_from_le64(slot->sge[i].iova),
				 0x1000 * (i + 1));
		assert_int_equal(unic_from_le32(slot->sge[i].len), i + 1);
		assert_int_equal(unic_from_le32(slot->sge[i].lkey), 11 + i);
	}
	assert_int_equal(unic_ibv_qp(qp)->lib->rq.shadow[0].wr_id, 5);
	wr[1].num_sge = -1;
	assert_int_equal(unic_ibv_post_recv(qp, &wr[1], &bad), EINVAL);
	assert_int_equal(receives_of(qp), 1);
	wr[1].num_sge = 0;
	bad = NULL;
	assert_int_equal(unic_ibv_post_recv(qp, &wr[1], &bad), 0);
	assert_null(bad);
	assert_int_equal(receives_of(qp), 2);
	end_qp(qp);
}

/* Sends from RTS on, receives from INIT on; in ERR both are posted, to be flushed. */
static void states_decide(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad;
	enum ibv_qp_state s;
	int err;

	(void)state;
	for (s = IBV_QPS_RESET; s <= IBV_QPS_ERR; s++) {
		qp->state = s;
		if (s < IBV_QPS_RTS)
			send_is_refused(qp, &send, EINVAL);
		else
			send_is_posted(qp, &send);
		bad = NULL;
		err = unic_ibv_post_recv(qp, &recv, &bad);
		assert_int_equal(err, s == IBV_QPS_RESET ? EINVAL : 0);
		assert_ptr_equal(bad, err ? &recv : NULL);
	}
	assert_int_equal(sends_of(qp), 4);
	assert_int_equal(receives_of(qp), 6);
	end_qp(qp);
}

static void a_lost_nic_takes_nothing(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad = NULL;

	(void)state;
	__atomic_store_n(&v.at->lost, true, __ATOMIC_RELEASE);
	send_is_refused(qp, &send, EIO);
	assert_int_equal(unic_ibv_post_recv(qp, &recv, &bad), EIO);
	assert_ptr_equal(bad, &recv);
	assert_int_equal(receives_of(qp), 0);
	/* also before the thread of the attachment knows */
	__atomic_store_n(&v.at->lost, false, __ATOMIC_RELEASE);
	send_is_posted(qp, &send);
	__atomic_store_n((uint32_t *)&v.at->ctx->dead, 1, __ATOMIC_RELEASE);
	send_is_refused(qp, &send, EIO);
	__atomic_store_n((uint32_t *)&v.at->ctx->dead, 0, __ATOMIC_RELEASE);
	end_qp(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_VERBS(opcodes_are_the_nics),
		WITH_VERBS(flags_are_the_nics),
		WITH_VERBS(what_a_type_lacks_is_refused),
		WITH_VERBS(datagrams_name_their_target),
		WITH_VERBS(sges_are_limited),
		WITH_VERBS(inline_data_is_limited),
		WITH_VERBS(a_list_ends_where_it_is_wrong),
		WITH_VERBS(a_full_queue_says_so),
		WITH_VERBS(room_for_part_of_a_list),
		WITH_VERBS(receives_are_the_nics),
		WITH_VERBS(states_decide),
		WITH_VERBS(a_lost_nic_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
