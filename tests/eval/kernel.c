/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kernel.c - see kernel.h. */
#include "kernel.h"

#include "state.h"
#include "eval.h"

#define ROW	  0u
#define RQ_OFF	  4096u /* rings: a page each */
#define CQ_OFF	  8192u
#define CQES	  128u
#define MTU_SHIFT 12u
#define TIMEOUT	  14u
#define PSN	  1u

/* ----------------------------------------------------------------- commands */

struct call {
	struct unic_call call; /* first */
	struct kernel *k;
	uint32_t arg;
	kernel_reply reply;
	uint8_t list[UNIC_LIST_BYTES];
};

static void called_back(struct unic_call *call)
{
	struct call *c = (struct call *)call;
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, call->cpl, sizeof(hdr));
	c->reply(c->k, c->arg, hdr.status, call->cpl);
	sim_free(c);
}

void kernel_command(struct kernel *k, uint8_t opcode, const void *cmd,
		    const void *list, uint32_t bytes, uint32_t arg,
		    kernel_reply reply)
{
	struct unic_provider *p = world->node[k->a.node]->host->provider;
	struct unic_cmd_hdr hdr = { .opcode = opcode };
	struct call *c = sim_alloc(sizeof(*c));

	c->k = k;
	c->arg = arg;
	c->reply = reply;
	memcpy(c->call.cmd, cmd, sizeof(c->call.cmd));
	memcpy(c->call.cmd, &hdr, sizeof(hdr));
	if (bytes) {
		memcpy(c->list, list, bytes);
		c->call.list = c->list;
		c->call.list_bytes = bytes;
	}
	c->call.done = called_back;
	c->call.state = UNIC_CALL_TAKEN;
	if (p->ops->command(p, &c->call))
		sim_fail("eval", "the NIC of the kernel's process is gone");
}

static struct {
	bool over;
	uint64_t cpl[UNIC_REC_WORDS];
} last;

static bool is_over(void *ctx)
{
	(void)ctx;
	return last.over;
}

static void over(struct kernel *k, uint32_t arg, uint32_t status,
		 const void *cpl)
{
	(void)k;
	if (status)
		sim_fail("eval",
			 "command %u of the kernel's process answers "
			 "%u",
			 arg, status);
	memcpy(last.cpl, cpl, sizeof(last.cpl));
	last.over = true;
}

/* Waits for it. */
static void must(struct kernel *k, uint8_t opcode, const void *cmd, void *cpl)
{
	last.over = false;
	kernel_command(k, opcode, cmd, NULL, 0, opcode, over);
	stage_wait(is_over, NULL, 100 * MS, "does a command end");
	if (cpl)
		memcpy(cpl, last.cpl, sizeof(last.cpl));
}

/* ------------------------------------------------------------------ set up */

uint64_t kernel_bus(const struct actor *a, uint32_t at)
{
	return (uint64_t)a->slot << 48 |
	       (a->frame[at / 4096] * 4096ull + at % 4096);
}

uint32_t kernel_window(struct kernel *k, const struct actor *other)
{
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(k->pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_CONTROL,
		.residency = UNIC_PHYSICAL,
		.iova = unic_to_le64((uint64_t)other->slot << 48),
		.length = unic_to_le64(PORT_SLOT_BYTES),
	};
	struct unic_cpl_mr_reg cpl;

	must(k, UNIC_CMD_MR_REG, &cmd, &cpl);
	return unic_from_le32(cpl.stag);
}

static void make_queues(struct kernel *k)
{
	struct unic_cmd_cq_create cq = {
		.pd = unic_to_le32(k->pd),
		.stag = unic_to_le32(k->stag),
		.iova = unic_to_le64(kernel_bus(&k->a, CQ_OFF)),
		.entries = unic_to_le32(CQES),
		.db_index = unic_to_le32(ROW),
	};
	struct unic_cmd_qp_create qp = {
		.pd = unic_to_le32(k->pd),
		.stag = unic_to_le32(k->stag),
		.sq_iova = unic_to_le64(kernel_bus(&k->a, 0)),
		.rq_iova = unic_to_le64(kernel_bus(&k->a, RQ_OFF)),
		.sq_slots = unic_to_le16(KERNEL_SLOTS),
		.rq_slots = unic_to_le16(KERNEL_SLOTS),
		.db_index = unic_to_le32(ROW),
	};
	struct unic_cpl_obj cpl;

	must(k, UNIC_CMD_CQ_CREATE, &cq, &cpl);
	k->cq = unic_from_le32(cpl.id);
	qp.send_cq = qp.recv_cq = cpl.id;
	must(k, UNIC_CMD_QP_CREATE, &qp, &cpl);
	k->qpn = unic_from_le32(cpl.id);
}

static void on_cq(struct actor *a);

void kernel_start(struct kernel *k, uint32_t node, uint32_t pid, uint32_t pages)
{
	k->a.page_shift = 16; /* what lies together for us does on the bus */
	k->a.on_cq = on_cq;
	actor_start(&k->a, node, pid, pages);
}

void kernel_open(struct kernel *k)
{
	struct unic_cmd_pd cmd = {
		.proc = unic_to_le32(k->a.slot),
		.flags = unic_to_le32(UNIC_PD_PHYSICAL),
	};
	struct unic_cpl_pd cpl;

	must(k, UNIC_CMD_PD_ALLOC, &cmd, &cpl);
	k->pd = unic_from_le32(cpl.pd);
	k->stag = kernel_window(k, &k->a);
	make_queues(k);
	actor_ring(&k->a, UNIC_DB_ARM, ROW, 0);
}

static void modify(struct kernel *k, uint8_t state, const struct kernel *peer)
{
	struct unic_cmd_qp_modify cmd = {
		.proc = unic_to_le32(k->a.slot),
		.qpn = unic_to_le32(k->qpn),
		.state = state,
	};

	if (state == UNIC_QPS_INIT)
		cmd.rights = k->rights;
	if (state == UNIC_QPS_RTR) {
		cmd.mtu_shift = MTU_SHIFT;
		cmd.rnr_timer = 10;
		cmd.dest_qpn = unic_to_le32(peer->qpn);
		cmd.rq_psn = unic_to_le32(PSN);
		cmd.dest_ipv4 = unic_to_le32(0x0a000001u + peer->a.node);
		port_mac((uint8_t)peer->a.node, cmd.dest_mac);
		cmd.vendor = 1;
	} else if (state == UNIC_QPS_RTS) {
		cmd.timeout = TIMEOUT;
		cmd.retry_cnt = 7;
		cmd.rnr_retry = 7;
		cmd.sq_psn = unic_to_le32(PSN);
	}
	must(k, UNIC_CMD_QP_MODIFY, &cmd, NULL);
}

void kernel_connect(struct kernel *k, struct kernel *peer)
{
	uint8_t state;

	for (state = UNIC_QPS_INIT; state <= UNIC_QPS_RTS; state++) {
		modify(k, state, peer);
		modify(peer, state, k);
	}
}

/* ------------------------------------------------------------------- queues */

void kernel_post(struct kernel *k, const struct unic_sq_slot *s)
{
	memcpy(actor_mem(&k->a, k->sq_tail % KERNEL_SLOTS * 64), s, sizeof(*s));
	actor_ring(&k->a, UNIC_DB_SQ, ROW, ++k->sq_tail);
}

void kernel_recv(struct kernel *k, const struct unic_rq_slot *s)
{
	memcpy(actor_mem(&k->a, RQ_OFF + k->rq_tail % KERNEL_SLOTS * 64), s,
	       sizeof(*s));
	actor_ring(&k->a, UNIC_DB_RQ, ROW, ++k->rq_tail);
}

static void on_cq(struct actor *a)
{
	struct kernel *k = (struct kernel *)a;
	struct unic_cqe c;

	for (;;) {
		memcpy(&c, actor_mem(a, CQ_OFF + k->cq_ci % CQES * 32),
		       sizeof(c));
		if (unic_from_le32(c.seq) != k->cq_ci + 1)
			break;
		k->cq_ci++;
		actor_db(a)->tail[ROW].cq_ci = unic_to_le32(k->cq_ci);
		k->done(k, &c);
	}
	actor_ring(a, UNIC_DB_ARM, ROW, k->cq_ci & 0x7fffffff);
}
