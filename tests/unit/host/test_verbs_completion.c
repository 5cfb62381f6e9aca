/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs_completion.c - completions of the NIC in the words of verbs.
 */
#include <endian.h>
#include <errno.h>

#include "unit.h"

#include "completion.h"
#include "cq.h"
#include "post.h"
#include "verbs_rig.h"

/* The requests that the completions are of: @n sends and @n receives, numbered. */
static struct ibv_qp *qp_with(unsigned int n)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, true);
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct ibv_send_wr send = { .wr_id = 100 + i,
					    .opcode = IBV_WR_SEND },
				   *bad_send;
		struct ibv_recv_wr recv = { .wr_id = 200 + i }, *bad_recv;

		assert_int_equal(unic_ibv_post_send(qp, &send, &bad_send), 0);
		assert_int_equal(unic_ibv_post_recv(qp, &recv, &bad_recv), 0);
	}
	return qp;
}

/* What the record @cqe of request @nth of @qp is to the program. */
static struct ibv_wc wc_of(struct ibv_qp *qp, struct unic_cqe cqe,
			   unsigned int nth)
{
	struct ibv_wc wc;

	memset(&wc, 0xff, sizeof(wc));
	cqe.qpn = unic_to_le32(qp->qp_num);
	cqe.wr_id = unic_to_le64(nth);
	nic_writes(v.cq, cqe);
	assert_int_equal(unic_ibv_poll_cq(v.cq, 1, &wc), 1);
	return wc;
}

static void opcodes_are_of_verbs(void **state)
{
	static const struct {
		uint8_t lib;
		enum ibv_wc_opcode verbs;
	} all[] = {
		{ UNIC_WC_SEND, IBV_WC_SEND },
		{ UNIC_WC_WRITE, IBV_WC_RDMA_WRITE },
		{ UNIC_WC_READ, IBV_WC_RDMA_READ },
		{ UNIC_WC_BIND_MW, IBV_WC_BIND_MW },
		{ UNIC_WC_LOCAL_INV, IBV_WC_LOCAL_INV },
		{ UNIC_WC_RECV, IBV_WC_RECV },
		{ UNIC_WC_RECV_WRITE_IMM, IBV_WC_RECV_RDMA_WITH_IMM },
	};
	struct ibv_qp *first = make_qp(IBV_QPT_RC, 1, 0, true);
	struct ibv_qp *qp = qp_with(7);
	struct ibv_wc wc;
	unsigned int i;

	(void)state;
	assert_int_not_equal(first->qp_num, qp->qp_num);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct unic_cqe cqe = { .opcode = all[i].lib,
					.byte_len = unic_to_le32(1000 + i),
					.imm = unic_to_le32(9),
					.token = unic_to_le32(8) };

		wc = wc_of(qp, cqe, i);
		assert_int_equal(wc.opcode, all[i].verbs);
		assert_int_equal(wc.wr_id,
				 (all[i].lib >= UNIC_WC_RECV ? 200 : 100) + i);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.vendor_err, 0);
		assert_int_equal(wc.byte_len, 1000 + i);
		assert_int_equal(wc.qp_num, qp->qp_num);
		assert_int_equal(wc.wc_flags, 0);
		assert_int_equal(wc.imm_data, 0);
		assert_int_equal(wc.src_qp, 0);
	}
	assert_int_equal(qp->state, IBV_QPS_RTS);
	end_qp(qp);
	end_qp(first);
}

static void flags_are_of_verbs(void **state)
{
	struct unic_cqe cqe = { .opcode = UNIC_WC_RECV,
				.imm = unic_to_le32(0x01020304),
				.token = unic_to_le32(0x55) };
	struct ibv_qp *qp = qp_with(6);
	struct ibv_wc wc;

	(void)state;
	cqe.flags = UNIC_WC_WITH_IMM;
	wc = wc_of(qp, cqe, 0);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(be32toh(wc.imm_data), 0x01020304);
	assert_int_equal(wc.src_qp, 0);
	assert_int_equal(wc.sl, 0);
	cqe.flags = UNIC_WC_WITH_INV;
	wc = wc_of(qp, cqe, 1);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, 0x01020304);
	cqe.flags = UNIC_WC_GRH;
	wc = wc_of(qp, cqe, 2);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH);
	assert_int_equal(wc.sl, 10); /* UDP over IPv4 */
	assert_int_equal(wc.src_qp, 0x55);
	assert_int_equal(wc.imm_data, 0);
	cqe.flags = UNIC_WC_GRH | UNIC_WC_WITH_IMM;
	wc = wc_of(qp, cqe, 3);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(wc.src_qp, 0x55);
	assert_int_equal(be32toh(wc.imm_data), 0x01020304);
	cqe.flags = UNIC_WC_SOLICITED;
	wc = wc_of(qp, cqe, 4);
	assert_int_equal(wc.wc_flags, 0);
	end_qp(qp);
}

/* An error ends the queue pair, says why, and nothing else; a region that was taken back
 * does not end it. */
static void errors_end_the_queue_pair(void **state)
{
	struct unic_cqe cqe = { .opcode = UNIC_WC_RECV,
				.status = UNIC_WC_EVICTED,
				.detail = 0x12,
				.byte_len = unic_to_le32(5),
				.imm = unic_to_le32(6),
				.flags = UNIC_WC_WITH_IMM | UNIC_WC_GRH };
	struct ibv_qp *other = make_qp(IBV_QPT_RC, 1, 0, true);
	struct ibv_qp *qp = qp_with(3);
	struct ibv_wc wc = wc_of(qp, cqe, 0);

	(void)state;
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(wc.wr_id, 200);
	assert_int_equal(wc.vendor_err, UNIC_WC_EVICTED << 8 | 0x12);
	assert_int_equal(qp->state, IBV_QPS_RTS);
	cqe.status = UNIC_WC_LOC_LEN_ERR;
	wc = wc_of(qp, cqe, 1);
	assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(wc.vendor_err, UNIC_WC_LOC_LEN_ERR << 8 | 0x12);
	assert_int_equal(wc.qp_num, qp->qp_num);
	assert_int_equal(wc.wc_flags, 0);
	assert_int_equal(wc.byte_len, 0);
	assert_int_equal(wc.imm_data, 0);
	assert_int_equal(wc.src_qp, 0);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	assert_int_equal(other->state, IBV_QPS_RTS);
	end_qp(qp);
	end_qp(other);
}

/* Write completion @n of the send @n of @qp. */
static void send_completes(struct ibv_qp *qp, unsigned int n)
{
	nic_writes(v.cq, (struct unic_cqe){ .opcode = UNIC_WC_SEND,
					    .qpn = unic_to_le32(qp->qp_num),
					    .wr_id = unic_to_le64(n) });
}

/* 40 completions: as many as are asked for, in order, also more than are read at once. */
static void so_many_are_read_as_are_asked_for(void **state)
{
	struct ibv_qp *qp[3] = { qp_with(16), qp_with(16), qp_with(8) };
	struct ibv_wc wc[41];
	int i, n;

	(void)state;
	for (i = 0; i < 40; i++)
		send_completes(qp[i / 16], (unsigned int)i % 16);
	assert_int_equal(unic_ibv_poll_cq(v.cq, 0, wc), 0);
	assert_int_equal(unic_ibv_poll_cq(v.cq, 1, wc), 1);
	assert_int_equal(unic_ibv_poll_cq(v.cq, 2, wc + 1), 2);
	memset(wc + 20, 0x77, sizeof(*wc));
	assert_int_equal(unic_ibv_poll_cq(v.cq, 17, wc + 3), 17);
	assert_int_equal(wc[20].vendor_err, 0x77777777); /* untouched */
	assert_int_equal(unic_ibv_poll_cq(v.cq, 21, wc + 20), 20);
	for (n = 0; n < 40; n++) {
		assert_int_equal(wc[n].wr_id, 100 + n % 16);
		assert_int_equal(wc[n].qp_num, qp[n / 16]->qp_num);
	}
	assert_int_equal(unic_ibv_poll_cq(v.cq, 1, wc), 0);
	for (i = 0; i < 3; i++)
		end_qp(qp[i]);
}

/* What a NIC writes that nothing was posted for is an error if there is nothing else. */
static void false_records_are_an_error(void **state)
{
	struct ibv_qp *qp[2] = { qp_with(16), qp_with(1) };
	struct ibv_wc wc[20];
	unsigned int i;

	(void)state;
	send_completes(qp[0], 33);
	assert_int_equal(unic_ibv_poll_cq(v.cq, 1, wc), -EIO);
	assert_int_equal(unic_ibv_poll_cq(v.cq, 1, wc), 0);
	for (i = 0; i < 16; i++)
		send_completes(qp[0], i);
	send_completes(qp[0], 33); /* in the second part of what is read */
	assert_int_equal(unic_ibv_poll_cq(v.cq, 20, wc), 16);
	assert_int_equal(wc[15].wr_id, 115);
	end_qp(qp[0]);
	end_qp(qp[1]);
}

/* Armed, and for what; the number is that of the record to be told of. */
static void a_queue_is_armed(void **state)
{
	const struct unic_db_tail *row =
		&db()->tail[unic_ibv_cq(v.cq)->lib->db];
	struct ibv_qp *qp = qp_with(2);
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(unic_ibv_req_notify_cq(v.cq, 0), 0);
	assert_int_equal(unic_from_le32(row->arm), 0);
	assert_int_equal(unic_ibv_req_notify_cq(v.cq, 1), 0);
	assert_int_equal(unic_from_le32(row->arm), 1u << 31);
	send_completes(qp, 0);
	assert_int_equal(unic_ibv_poll_cq(v.cq, 1, &wc), 1);
	send_completes(qp, 1);
	/* record 1 is there, unread: the one behind it is asked for */
	assert_int_equal(unic_ibv_req_notify_cq(v.cq, 0), 0);
	assert_int_equal(unic_from_le32(row->arm), 2);
	assert_int_equal(unic_ibv_req_notify_cq(v.cq, 1), 0);
	assert_int_equal(unic_from_le32(row->arm), 1u << 31 | 2);
	end_qp(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_VERBS(opcodes_are_of_verbs),
		WITH_VERBS(flags_are_of_verbs),
		WITH_VERBS(errors_end_the_queue_pair),
		WITH_VERBS(so_many_are_read_as_are_asked_for),
		WITH_VERBS(false_records_are_an_error),
		WITH_VERBS(a_queue_is_armed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
