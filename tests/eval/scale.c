/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * scale.c - the operations whose cost must not grow, on a core of one size: a
 * TLB that is full, its regions spread over all processes. The sizes are those
 * of board.h, by -D. Run under callgrind, which counts the instructions of each
 * op_*() exactly; scale.py divides by ROUNDS.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/proc.h"
#include "memory/access.h"
#include "fake_port.h"
#include "nic.h"
#include "revoke/reclaim.h"
#include "revoke/register.h"
#include "revoke/admission.h"

#define ROUNDS	    512u
#define REGIONS	    (UNIC_TLB_ENTRIES < 2048u ? UNIC_TLB_ENTRIES : 2048u)
#define PAGES	    (UNIC_TLB_ENTRIES / REGIONS) /* of a region */
#define IOVA	    0x10000000ull
#define COUNTED	    __attribute__((noipa))
#define LOOKUP_STEP 40503u /* odd: meets every region in another order */

struct held {
	struct unic_mr_result mr;
	uint32_t proc;
};

static struct unic_port port;
static struct unic_nic nic;
static struct held held[REGIONS];
static uint32_t pd[UNIC_PROCS];

static void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "unic-scale: %s\n", what);
	exit(1);
}

/* ---------------------------------------------------------- what is counted */

COUNTED uint32_t op_lookup(uint32_t base, uint32_t page);
COUNTED int op_access(uint32_t stag, uint32_t in, uint64_t iova,
		      struct unic_xlate *out);
COUNTED int op_register(const struct unic_mr_args *args, const uint64_t *pages,
			struct unic_mr_result *out);
COUNTED int op_deregister(const struct unic_mr_result *mr);
COUNTED uint32_t op_decide(void);
COUNTED uint64_t op_reap_idle(void);
COUNTED uint64_t op_reap(void);
COUNTED uint64_t op_reap_waiters(void);
COUNTED uint64_t op_reap_shifted(void);
COUNTED int op_wait(const struct unic_mr_args *args,
		    struct unic_mr_result *out);

uint32_t op_lookup(uint32_t base, uint32_t page)
{
	return unic_tlb_find(&nic.tlb, base, page);
}

int op_access(uint32_t stag, uint32_t in, uint64_t iova, struct unic_xlate *out)
{
	return unic_access(&nic.memory, stag, (uint16_t)in,
			   UNIC_MR_REMOTE_WRITE, iova, 8, out);
}

int op_register(const struct unic_mr_args *args, const uint64_t *pages,
		struct unic_mr_result *out)
{
	return unic_mr_reg(&nic.revoke, args, pages, out);
}

int op_deregister(const struct unic_mr_result *mr)
{
	return unic_mr_dereg(&nic.revoke, mr->mr, mr->gen);
}

/* Whom to ask, and for which region. */
uint32_t op_decide(void)
{
	uint32_t from = unic_share_victim(&nic.share, UNIC_OWNER_NIL, 0);

	return unic_reclaim_pick(&nic.revoke, from, 1, true);
}

uint64_t op_reap_idle(void)
{
	return unic_reclaim_poll(&nic.revoke);
}

uint64_t op_reap(void)
{
	return unic_reclaim_poll(&nic.revoke);
}

uint64_t op_reap_waiters(void)
{
	return unic_reclaim_poll(&nic.revoke);
}

uint64_t op_reap_shifted(void)
{
	return unic_reclaim_poll(&nic.revoke);
}

int op_wait(const struct unic_mr_args *args, struct unic_mr_result *out)
{
	return unic_mr_reg(&nic.revoke, args, NULL, out);
}

/* ------------------------------------------------------------------ around it */

/* The driver reads its events, so that there is room. */
static void read_events(void)
{
	const struct unic_nic_idx *theirs =
		(const void *)(port.bar + UNIC_BAR_NIC_OFF);
	struct unic_driver_page *ours =
		(void *)(port.bar + UNIC_BAR_DRIVER_OFF);

	unic_nic_poll(&nic);
	ours->evt_head = theirs->evt_tail;
}

static void pass(uint64_t ns)
{
	port.now_ns += ns;
	read_events();
}

static void args_of(struct unic_mr_args *a, uint32_t proc, uint8_t flags)
{
	*a = (struct unic_mr_args){
		.pd = (uint16_t)pd[proc],
		.proc = (uint16_t)proc,
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = 12,
		.flags = flags,
		.iova = IOVA,
		.length = PAGES * 4096ull,
		.n_pages = PAGES,
	};
}

static void reg(uint32_t i)
{
	struct unic_mr_args args;
	uint64_t pages[PAGES];
	uint32_t k;

	for (k = 0; k < PAGES; k++)
		pages[k] = UNIC_BUS(2, k * 4096ull);
	args_of(&args, held[i].proc, UNIC_REG_LIST);
	if (!nic.mrs.free && !nic.mrs.tombstones)
		pass(UNIC_STAG_REST_NS); /* the last index is at rest */
	check(!op_register(&args, pages, &held[i].mr), "a region is refused");
}

static void watermarks(uint32_t n)
{
	nic.mrs.low = nic.reclaim.high = n;
	nic.reclaim.refilling = false;
}

/* What a driver does when it starts. */
static void reset(void)
{
	struct unic_info *info = (void *)port.bar;
	struct unic_driver_page *ours =
		(void *)(port.bar + UNIC_BAR_DRIVER_OFF);
	uint32_t req = unic_from_le32(info->reset_ack) + 1, i;

	ours->reset_req = unic_to_le32(req);
	for (i = 0; i < 1000 && unic_from_le32(info->reset_ack) != req; i++)
		unic_nic_poll(&nic);
	check(i < 1000, "the NIC is not reset");
	nic.candidates.residence_us = 1;
	watermarks(0);
}

static void fill(void)
{
	uint32_t i;

	for (i = 0; i < UNIC_PROCS; i++) {
		struct unic_cmd_proc_attach cmd = {
			.proc = unic_to_le32(i),
			.weight = unic_to_le32(1),
			.doorbell =
				unic_to_le64(UNIC_BUS(i / 60, i % 60 * 8192)),
		};
		int id;

		check(!unic_proc_attach(&nic.command, &cmd), "a process is "
							     "refused");
		id = unic_pd_alloc(&nic.memory, i, false);
		check(id >= 0, "a protection domain is refused");
		pd[i] = (uint32_t)id;
	}
	for (i = 0; i < REGIONS; i++) {
		held[i].proc = i % UNIC_PROCS;
		reg(i);
	}
	check(!nic.tlb.free, "the TLB is not full");
}

static void lookups(void)
{
	struct unic_xlate piece;
	uint32_t r;

	for (r = 0; r < ROUNDS; r++) {
		uint32_t i = r * LOOKUP_STEP % REGIONS, page = r % PAGES;
		struct unic_mr_ctx *m = &nic.mrs.mr[held[i].mr.mr];

		check(op_lookup(m->tlb_base, page) != UNIC_TLB_NIL, "an entry "
								    "is not "
								    "found");
		m->win_bytes = 0; /* another page was used last */
		check(!op_access(held[i].mr.stag, pd[held[i].proc],
				 IOVA + page * 4096ull + 8, &piece),
		      "an access is refused");
	}
}

static void registrations(void)
{
	uint32_t r;

	for (r = 0; r < ROUNDS; r++) {
		uint32_t i = r * LOOKUP_STEP % REGIONS;

		check(!op_deregister(&held[i].mr), "a region does not end");
		reg(i);
		if (r % 32 == 31)
			pass(1000);
	}
}

/* The region that was asked back: its owner releases it, and wants it again. */
static bool release(void)
{
	uint32_t i;

	for (i = 0; i < REGIONS; i++)
		if (nic.mrs.mr[held[i].mr.mr].state == UNIC_MR_NOTIFIED) {
			check(!unic_mr_dereg(&nic.revoke, held[i].mr.mr,
					     held[i].mr.gen),
			      "a notified region does not end");
			reg(i);
			return true;
		}
	return false;
}

/* With @weight 2 the first process is above its share, with 1 nobody is. */
static void weigh_others(uint32_t weight)
{
	uint32_t i;

	for (i = 1; i < UNIC_PROCS; i++)
		unic_share_weigh(&nic.share, i, weight);
	unic_share_settle(&nic.share);
}

/* Whom share.h defines as the one to take from: everybody is looked at. */
static uint32_t heaviest(void)
{
	const struct unic_share_owner *o = nic.share.owner;
	uint32_t i, best = 0;

	for (i = 1; i < UNIC_PROCS; i++) {
		uint64_t l = (uint64_t)unic_share_net(&nic.share, i) *
			     o[best].weight;
		uint64_t r = (uint64_t)unic_share_net(&nic.share, best) *
			     o[i].weight;

		if (l > r || (l == r && o[i].pain < o[best].pain))
			best = i;
	}
	return best;
}

static void reaping(void)
{
	uint32_t r, from;

	weigh_others(2);
	for (r = 0; r < ROUNDS; r++) {
		pass(10000000);
		from = op_decide();
		check(from != UNIC_MR_NIL, "there is no victim");
		check(nic.mrs.mr[from].proc == heaviest(), "it is another's");
		op_reap_idle();
		check(!nic.notices.open, "it takes without need");
		watermarks(1);
		op_reap();
		watermarks(0);
		check(release(), "nothing was asked back");
	}
	weigh_others(1);
}

static void wait_all(struct unic_mr_result *wait)
{
	struct unic_mr_args args;
	uint32_t i;

	for (i = 0; i < UNIC_PROCS; i++) {
		args_of(&args, i, UNIC_REG_WAIT);
		check(op_wait(&args, &wait[i]) == -UNIC_EPENDING, "a request "
								  "does not "
								  "wait");
	}
}

/* Every process waits; a step asks one region back for one of them. */
static void waiting(void)
{
	static struct unic_mr_result wait[UNIC_PROCS];
	uint32_t r, i;

	for (r = 0; r < (UNIC_PROCS > 32 ? 4 : ROUNDS / 8); r++) {
		pass(10000000);
		wait_all(wait);
		op_reap_waiters();
		/* the shares of all are others now */
		unic_share_weigh(&nic.share, 0, 2);
		op_reap_shifted();
		unic_share_weigh(&nic.share, 0, 1);
		for (i = 0; i < UNIC_PROCS; i++)
			check(!unic_admission_cancel(&nic.revoke, wait[i].wait),
			      "a "
			      "requ"
			      "est "
			      "cann"
			      "ot "
			      "be "
			      "canc"
			      "elle"
			      "d");
		unic_demand_settle(&nic.revoke);
		while (release())
			;
	}
}

int main(void)
{
	fake_port_init(&port, 1);
	unic_nic_init(&nic, &port);
	reset();
	fill();
	lookups();
	registrations();
	reaping();
	waiting();
	printf("entries=%u procs=%u regions=%u pages=%u rounds=%u\n",
	       UNIC_TLB_ENTRIES, UNIC_PROCS, REGIONS, PAGES, ROUNDS);
	return 0;
}
