/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * miss-bench - what a page that is not on the NIC costs an operation, and how
 * soon a notice is seen: driver and process in one, it polls the mailbox and
 * its completion queue. (P9, and the NIC's part of P11.)
 *
 *	miss-bench DIR      (of unic-bus) prints one JSON object
 *
 * An 8-byte WRITE from a region to the NIC itself, one at a time, post to
 * completion: with the page on the NIC, and right after MR_INVALIDATE took it. The
 * difference is the miss. Each round measures all of it beside the yardstick.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "unic_queue.h"
#include "yard.h"

#define ROUNDS 15
#define OPS    400u
#define SLOTS  64u
#define ROW    1u
#define IPV4   0x0a000001u
#define PSN    0x1000u

/* Pages of the slot: bus addresses, and IOVAs behind BASE. */
#define BASE	 0x10000000ull
#define AT(page) ((uint64_t)(page)*4096)
enum {
	PAGE_DOORBELL,
	PAGE_NIC,
	PAGE_SQ,
	PAGE_RQ,
	PAGE_CQ,
	PAGE_TARGET,
	PAGE_SOURCE,
	PAGE_LIST,
};

struct region {
	unic_le32 mr, gen, stag;
	uint64_t iova;
};

struct bench {
	struct driver d;
	unic_le32 pd;
	struct unic_db_page *db;
	volatile struct unic_nic_page *np;
	struct unic_sq_slot *sq;
	const volatile struct unic_cqe *cq;
	uint32_t posted, done;
	struct region rings, target, demand, table;
};

/* ------------------------------------------------------------------ set-up */

static struct region reg(struct bench *b, uint32_t page, uint32_t pages,
			 uint8_t mr_class, uint8_t residency)
{
	struct unic_cmd_mr_reg cmd = {
		.hdr = { .opcode = UNIC_CMD_MR_REG },
		.pd = b->pd,
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.mr_class = mr_class,
		.residency = residency,
		.page_shift = 12,
		.iova = unic_to_le64(BASE + AT(page)),
		.length = unic_to_le64(AT(pages)),
		.n_pages = unic_to_le32(pages),
		.flags = residency == UNIC_TABLE    ? UNIC_REG_HOST_TABLE
			 : residency == UNIC_DEMAND ? 0
						    : UNIC_REG_LIST,
		.list = unic_to_le64(residency == UNIC_TABLE ? AT(PAGE_LIST)
							     : 0),
	};
	unic_le64 *list = driver_list(&b->d);
	struct unic_cpl_mr_reg cpl;
	uint32_t i;

	for (i = 0; i < pages; i++)
		list[i] = unic_to_le64(AT(page + i));
	driver_command(&b->d, &cmd, &cpl);
	return (struct region){ cpl.mr, cpl.gen, cpl.stag, BASE + AT(page) };
}

static void set_up_process(struct bench *b)
{
	/* H: a driver that does not get to run is not to be taken for dead */
	struct unic_cmd_set_params params = {
		.hdr = { .opcode = UNIC_CMD_SET_PARAMS },
		.deliver_us = unic_to_le32(5000000),
	};
	struct unic_cmd_set_addr addr = {
		.hdr = { .opcode = UNIC_CMD_SET_ADDR },
		.ipv4 = unic_to_le32(IPV4),
	};
	struct unic_cmd_proc_attach attach = {
		.hdr = { .opcode = UNIC_CMD_PROC_ATTACH },
		.weight = unic_to_le32(1),
		.host_pid = unic_to_le32((uint32_t)getpid()),
	};
	struct unic_cmd_pd pd = { .hdr = { .opcode = UNIC_CMD_PD_ALLOC } };
	struct unic_cpl_pd cpl;

	b->db = (void *)(b->d.slot + AT(PAGE_DOORBELL));
	b->np = (void *)(b->d.slot + AT(PAGE_NIC));
	b->sq = (void *)(b->d.slot + AT(PAGE_SQ));
	b->cq = (void *)(b->d.slot + AT(PAGE_CQ));
	memset(b->d.slot, 0, AT(PAGE_LIST + 1));
	driver_command(&b->d, &params, NULL);
	driver_command(&b->d, &addr, NULL);
	driver_command(&b->d, &attach, NULL);
	driver_command(&b->d, &pd, &cpl);
	b->pd = cpl.pd;
}

static void set_up_regions(struct bench *b)
{
	unic_le64 *table = (void *)(b->d.slot + AT(PAGE_LIST));

	table[0] = unic_to_le64(AT(PAGE_SOURCE) | UNIC_TABLE_VALID);
	b->rings = reg(b, PAGE_SQ, 3, UNIC_CLASS_CONTROL, UNIC_RESIDENT);
	b->target = reg(b, PAGE_TARGET, 1, UNIC_CLASS_RDMA, UNIC_RESIDENT);
	b->demand = reg(b, PAGE_SOURCE, 1, UNIC_CLASS_RDMA, UNIC_DEMAND);
	b->table = reg(b, PAGE_SOURCE, 1, UNIC_CLASS_RDMA, UNIC_TABLE);
}

static void modify(struct bench *b, unic_le32 qpn, uint8_t state)
{
	struct unic_cmd_qp_modify cmd = {
		.hdr = { .opcode = UNIC_CMD_QP_MODIFY },
		.qpn = qpn,
		.state = state,
	};

	if (state == UNIC_QPS_INIT)
		cmd.rights = UNIC_MR_REMOTE_WRITE;
	if (state == UNIC_QPS_RTR) {
		cmd.mtu_shift = 10;
		cmd.rnr_timer = 1;
		cmd.vendor = 1;
		cmd.dest_qpn = qpn; /* itself */
		cmd.rq_psn = unic_to_le32(PSN);
		cmd.dest_ipv4 = unic_to_le32(IPV4);
		memcpy(cmd.dest_mac, (const void *)driver_info(&b->d)->mac, 6);
	}
	if (state == UNIC_QPS_RTS) {
		cmd.sq_psn = unic_to_le32(PSN);
		cmd.timeout = 14;
		cmd.retry_cnt = 7;
		cmd.rnr_retry = 7;
	}
	driver_command(&b->d, &cmd, NULL);
}

static void set_up_queues(struct bench *b)
{
	struct unic_cmd_cq_create cq = {
		.hdr = { .opcode = UNIC_CMD_CQ_CREATE },
		.pd = b->pd,
		.stag = b->rings.stag,
		.iova = unic_to_le64(BASE + AT(PAGE_CQ)),
		.entries = unic_to_le32(SLOTS),
		.db_index = unic_to_le32(ROW),
	};
	struct unic_cmd_qp_create qp = {
		.hdr = { .opcode = UNIC_CMD_QP_CREATE },
		.pd = b->pd,
		.stag = b->rings.stag,
		.sq_iova = unic_to_le64(BASE + AT(PAGE_SQ)),
		.rq_iova = unic_to_le64(BASE + AT(PAGE_RQ)),
		.sq_slots = unic_to_le16(SLOTS),
		.rq_slots = unic_to_le16(SLOTS),
		.db_index = unic_to_le32(ROW),
	};
	struct unic_cpl_obj cpl;
	uint8_t state;

	driver_command(&b->d, &cq, &cpl);
	qp.send_cq = qp.recv_cq = cpl.id;
	driver_command(&b->d, &qp, &cpl);
	for (state = UNIC_QPS_INIT; state <= UNIC_QPS_RTS; state++)
		modify(b, cpl.id, state);
}

/* --------------------------------------------------------------- the process */

static void post(struct bench *b, const struct region *from)
{
	struct unic_sq_slot *s = &b->sq[b->posted % SLOTS];
	uint64_t one = 1;

	*s = (struct unic_sq_slot){
		.opcode = UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.remote = unic_to_le64(b->target.iova),
		.rkey = b->target.stag,
		.sge[0] = { unic_to_le64(from->iova), unic_to_le32(8),
			    from->stag },
	};
	b->db->tail[ROW].sq = unic_to_le32(b->posted + 1);
	b->db->fifo[b->posted % UNIC_DB_FIFO] =
		unic_to_le32(UNIC_DB_WORD(UNIC_DB_SQ, ROW, b->posted + 1));
	__atomic_store_n((uint32_t *)&b->db->fifo_seq, ++b->posted,
			 __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (unic_from_le32(b->np->asleep) &&
	    write(b->d.doorbell_fd, &one, sizeof(one)) != sizeof(one))
		driver_die("doorbell");
}

static void await(struct bench *b)
{
	const volatile struct unic_cqe *c = &b->cq[b->done % SLOTS];

	while (unic_from_le32(c->seq) != b->done + 1)
		__builtin_ia32_pause();
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (c->status) {
		fprintf(stderr, "miss-bench: a WRITE failed: status %u\n",
			c->status);
		exit(1);
	}
	b->db->tail[ROW].cq_ci = unic_to_le32(++b->done);
}

/* ---------------------------------------------------------------- measures */

static void invalidate(struct bench *b, const struct region *r)
{
	struct unic_cmd_mr_pages cmd = {
		.hdr = { .opcode = UNIC_CMD_MR_INVALIDATE },
		.mr = r->mr,
		.gen = r->gen,
		.count = unic_to_le32(1),
	};

	driver_command(&b->d, &cmd, NULL);
}

static void nop(struct bench *b)
{
	struct unic_cmd_nop cmd = { .hdr = { .opcode = UNIC_CMD_NOP } };

	driver_command(&b->d, &cmd, NULL);
}

/* The driver's part of a miss: brings the only page that there is. */
static void serve(struct bench *b)
{
	struct unic_cmd_mr_fault cmd = { .hdr = { .opcode =
							  UNIC_CMD_MR_FAULT } };
	struct unic_evt_miss evt;

	driver_expect(&b->d, UNIC_EVT_MISS, &evt);
	*(unic_le64 *)driver_list(&b->d) = unic_to_le64(AT(PAGE_SOURCE));
	cmd.mr = evt.mr;
	cmd.gen = evt.gen;
	cmd.first = evt.first;
	cmd.count = unic_to_le32(1);
	cmd.seq = evt.seq;
	driver_send(&b->d, &cmd);
}

/* ns from post to completion, median; a command before each, not counted, so that
 * all find the NIC as awake. */
static double write_ns(struct bench *b, const struct region *from, bool miss)
{
	uint64_t start;
	double v[OPS];
	uint32_t i;

	for (i = 0; i < OPS; i++) {
		if (miss)
			invalidate(b, from);
		else
			nop(b);
		start = yard_now_ns();
		post(b, from);
		if (miss && from == &b->demand)
			serve(b);
		await(b);
		v[i] = (double)(yard_now_ns() - start);
		driver_await(&b->d, false);
	}
	return yard_median(v, OPS);
}

/* CLOCK_MONOTONIC less NIC time is between these. */
struct clock {
	double low, high;
};

/* The NIC reads its clock after the command was sent and before its answer
 * is seen. */
static void pair(struct bench *b, struct clock *c)
{
	struct unic_cmd_host_time cmd = {
		.hdr = { .opcode = UNIC_CMD_HOST_TIME }
	};
	uint32_t i;

	for (i = 0; i < OPS; i++) {
		uint64_t sent = yard_now_ns(), seen, nic;

		cmd.host_ns = unic_to_le64(sent);
		driver_command(&b->d, &cmd, NULL);
		seen = yard_now_ns();
		nic = unic_from_le64(driver_info(&b->d)->pair_nic_ns);
		if ((double)sent - (double)nic > c->low)
			c->low = (double)sent - (double)nic;
		if ((double)seen - (double)nic < c->high)
			c->high = (double)seen - (double)nic;
	}
}

/* One region asked back: from the decision, NIC time, until the driver has the
 * notice. */
static double notice_ns(struct bench *b)
{
	struct region r =
		reg(b, PAGE_SOURCE, 1, UNIC_CLASS_RDMA, UNIC_RESIDENT);
	struct unic_cmd_mr cmd = { .hdr = { .opcode = UNIC_CMD_MR_EVICT },
				   .mr = r.mr,
				   .gen = r.gen };
	struct unic_cmd_notice_ack ack = {
		.hdr = { .opcode = UNIC_CMD_NOTICE_ACK },
		.mr = r.mr,
		.gen = r.gen,
	};
	struct unic_evt_mr evt;
	uint64_t seen;

	while (driver_event(&b->d, &evt))
		; /* the last one may have ended late */
	driver_send(&b->d, &cmd);
	driver_expect(&b->d, UNIC_EVT_NOTICE, &evt);
	seen = yard_now_ns();
	driver_await(&b->d, false);
	ack.seq = evt.seq;
	driver_command(&b->d, &ack, NULL);
	cmd.hdr.opcode = UNIC_CMD_MR_DEREG;
	driver_command(&b->d, &cmd, NULL);
	return (double)seen - (double)unic_from_le64(evt.time_ns);
}

static double notices_ns(struct bench *b)
{
	double v[OPS / 4];
	uint32_t i;

	for (i = 0; i < OPS / 4; i++)
		v[i] = notice_ns(b);
	return yard_median(v, OPS / 4);
}

struct figures {
	double line[ROUNDS], hit[ROUNDS], demand[ROUNDS], table[ROUNDS];
	double notice[ROUNDS];
	struct clock clock; /* of all rounds together */
};

static void one_round(struct bench *b, struct figures *f, int r)
{
	double line = yard_line_ns(OPS * 8), hit, again;

	hit = write_ns(b, &b->demand, false);
	f->demand[r] = write_ns(b, &b->demand, true);
	again = write_ns(b, &b->demand, false);
	f->demand[r] -= (hit + again) / 2;
	f->hit[r] = hit;
	hit = write_ns(b, &b->table, false);
	f->table[r] = write_ns(b, &b->table, true);
	again = write_ns(b, &b->table, false);
	f->table[r] -= (hit + again) / 2;
	pair(b, &f->clock);
	f->notice[r] = notices_ns(b);
	f->line[r] = (line + yard_line_ns(OPS * 8)) / 2;
}

static double over(const double *v, const double *line, double lines)
{
	double q[ROUNDS];
	int r;

	for (r = 0; r < ROUNDS; r++)
		q[r] = v[r] / line[r] / lines;
	return yard_median(q, ROUNDS);
}

static void print(struct figures *f)
{
	double off = (f->clock.low + f->clock.high) / 2;
	int r;

	for (r = 0; r < ROUNDS; r++)
		f->notice[r] -= off;
	printf("{\"demand_per_round_trip\": %.2f, "
	       "\"table_per_round_trip\": %.2f, \"notice_per_hop\": %.2f, ",
	       over(f->demand, f->line, 2), over(f->table, f->line, 2),
	       over(f->notice, f->line, 1));
	printf("\"line_ns\": %.1f, \"write_hit_ns\": %.0f, "
	       "\"demand_miss_ns\": %.0f, \"table_miss_ns\": %.0f, "
	       "\"notice_ns\": %.0f, \"clock_ns\": %.0f, "
	       "\"clock_uncertain_ns\": %.0f}\n",
	       yard_median(f->line, ROUNDS), yard_median(f->hit, ROUNDS),
	       yard_median(f->demand, ROUNDS), yard_median(f->table, ROUNDS),
	       yard_median(f->notice, ROUNDS), off,
	       (f->clock.high - f->clock.low) / 2);
}

int main(int argc, char **argv)
{
	static struct figures f = { .clock = { -1e30, 1e30 } };
	struct bench b = { 0 };
	int r;

	if (argc != 2) {
		fprintf(stderr, "usage: miss-bench DIR (of unic-bus)\n");
		return 2;
	}
	driver_attach(&b.d, argv[1]);
	set_up_process(&b);
	set_up_regions(&b);
	set_up_queues(&b);
	write_ns(&b, &b.demand, true);
	write_ns(&b, &b.table, true);
	for (r = 0; r < ROUNDS; r++)
		one_round(&b, &f, r);
	print(&f);
	return 0;
}
