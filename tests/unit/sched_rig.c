/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "unit.h"

#include "sched_rig.h"

struct rig sched_a, sched_b, sched_c;

struct rig_qp sched_qa[SCHED_QPS], sched_far[SCHED_QPS];

struct rig_mr sched_ma[SCHED_PROCS], sched_mb[SCHED_PROCS],
	sched_mc[SCHED_PROCS];

uint32_t sched_pa[SCHED_PROCS], sched_pb[SCHED_PROCS], sched_pc[SCHED_PROCS];

static bool sched_to_c[SCHED_QPS];

bool sched_deaf;

uint32_t sched_qps;

uint8_t sched_order[16384];

uint32_t sched_frames, sched_sent[SCHED_PROCS];

void sched_on_frame(struct unic_port *port, const uint8_t *f, uint32_t len,
		    uint32_t flags)
{
	uint32_t qpn = (uint32_t)f[47] << 16 | f[48] << 8 | f[49], i;

	(void)port;
	for (i = 0; i < sched_qps; i++)
		if (sched_far[i].qpn == qpn && sched_to_c[i] == (f[5] == 3))
			break;
	assert_true(i < sched_qps && sched_frames < sizeof(sched_order));
	sched_order[sched_frames++] = (uint8_t)sched_qa[i].proc;
	sched_sent[sched_qa[i].proc]++;
	if (f[5] == 3 || !sched_deaf)
		fake_deliver(f[5] == 3 ? &sched_c.port : &sched_b.port, f, len,
			     flags);
}

static void nic_up(struct rig *r, uint8_t id, const uint32_t *weight,
		   uint32_t *pd, struct rig_mr *mr)
{
	uint32_t i;

	rig_up(r, id);
	for (i = 0; i < SCHED_PROCS; i++) {
		rig_attach(r, i, weight[i]);
		pd[i] = rig_pd(r, i);
		assert_int_equal(rig_reg(r, i, pd[i], 2, 0, UNIC_REG_LIST, 0,
					 &mr[i]),
				 0);
	}
}

void sched_up(uint32_t w0, uint32_t w1, uint32_t w2)
{
	const uint32_t weight[SCHED_PROCS] = { w0, w1, w2 };

	nic_up(&sched_a, 1, weight, sched_pa, sched_ma);
	nic_up(&sched_b, 2, weight, sched_pb, sched_mb);
	nic_up(&sched_c, 3, weight, sched_pc, sched_mc);
	fake_wire(&sched_b.port, &sched_a.port);
	sched_c.port.peer = &sched_a.port;
	sched_a.port.on_frame = sched_on_frame;
	sched_qps = 0;
	sched_frames = 0;
	memset(sched_sent, 0, sizeof(sched_sent));
}

uint32_t sched_connect(bool c, uint32_t proc)
{
	struct rig *r = c ? &sched_c : &sched_b;
	uint32_t i = sched_qps++;

	assert_true(i < SCHED_QPS);
	sched_to_c[i] = c;
	rig_qp(&sched_a, proc, sched_pa[proc], i, &sched_qa[i]);
	rig_qp(r, proc, (c ? sched_pc : sched_pb)[proc], i, &sched_far[i]);
	rig_connect(&sched_a, &sched_qa[i], r, &sched_far[i]);
	return i;
}

void sched_write(uint32_t q, uint32_t len)
{
	uint32_t p = sched_qa[q].proc;
	const struct rig_mr *to = sched_to_c[q] ? &sched_mc[p] : &sched_mb[p];

	rig_send(&sched_a, &sched_qa[q], UNIC_WR_WRITE, 1, &sched_ma[p], 0, len,
		 to->iova, to->stag);
}

void sched_round(void)
{
	unic_nic_poll(&sched_a.nic);
	rig_poll(&sched_b);
	rig_poll(&sched_c);
	assert_int_equal(sched_b.port.rx_overrun + sched_c.port.rx_overrun, 0);
}

uint32_t sched_completed(uint32_t q)
{
	struct unic_cqe cqe;
	uint32_t n = 0;

	while (rig_cqe(&sched_a, &sched_qa[q], &cqe)) {
		assert_int_equal(cqe.status, 0);
		n++;
	}
	return n;
}

bool sched_is_busy(uint32_t q, uint32_t most)
{
	const struct unic_qp_ctx *qp =
		&sched_a.nic.qps.qp[sched_qa[q].qpn & 0xff];

	return sched_qa[q].sq_tail - qp->sq.una >= most;
}

void sched_stream(uint32_t busy, uint32_t len, uint32_t n)
{
	uint32_t until = sched_frames + n, polls, q;

	for (polls = 0; sched_frames < until && polls < 20 * n; polls++) {
		for (q = 0; q < sched_qps; q++) {
			sched_completed(q);
			while ((busy >> q & 1) &&
			       sched_qa[q].sq_tail -
					       sched_a.nic.qps
						       .qp[sched_qa[q].qpn &
							   0xff]
						       .sq.una <
				       14)
				sched_write(q, len);
		}
		sched_round();
		sched_a.port.now_ns += 100;
	}
	assert_true(sched_frames >= until);
}

void sched_set_error(const struct rig_qp *qp)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = UNIC_QPS_ERR };

	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
}
