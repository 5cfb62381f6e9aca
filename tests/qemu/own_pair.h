/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * own_pair.h - a test program that ends where something is not as it must be, and
 * its NIC that talks to itself: two queue pairs, one connected to the other. PROGRAM
 * is its name, PEER what both ends understand.
 */
#ifndef OWN_PAIR_H
#define OWN_PAIR_H

#include <stdio.h>
#include <stdlib.h>

#include "unic.h"

#define PAGE 4096u
#define RW   (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)

#ifndef PEER /* of both, UNIC_PEER_* */
#define PEER UNIC_PEER_UNIC
#endif

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp[2];
static __thread int line;

static inline void fail_if(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, PROGRAM ": line %d: %s: %s\n", line, what,
		unic_last_error());
	exit(1);
}

#define OK(x) (line = __LINE__, fail_if((x) != 0, #x))
#define IS(x) (line = __LINE__, fail_if(!(x), #x))

static inline void to_rts(struct unic_qp *q, uint32_t dest, uint32_t ip)
{
	const struct unic_qp_mod steps[] = {
		{ .state = UNIC_QPS_INIT,
		  .rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE },
		{ .state = UNIC_QPS_RTR,
		  .mtu_shift = 10,
		  .rnr_timer = 12,
		  .max_dest_rd = 4,
		  .vendor = PEER,
		  .dest_qpn = dest,
		  .dest_ipv4 = ip },
		{ .state = UNIC_QPS_RTS,
		  .max_rd = 4,
		  .timeout = 14,
		  .retry_cnt = 7,
		  .rnr_retry = 7 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		OK(unic_modify_qp(q, &steps[i]));
}

/** connect_pair() - both queue pairs, in the protection domain there is. */
static inline void connect_pair(void)
{
	struct unic_qp_attr qa = {
		.sq_slots = 64, .rq_slots = 8, .send_cq = cq, .recv_cq = cq
	};
	struct unic_attr attr;

	unic_query(ctx, &attr);
	OK(unic_create_qp(pd, &qa, &qp[0]));
	OK(unic_create_qp(pd, &qa, &qp[1]));
	to_rts(qp[0], unic_qp_num(qp[1]), attr.ipv4);
	to_rts(qp[1], unic_qp_num(qp[0]), attr.ipv4);
}

/** new_pair() - an error ended the connection: another one. */
static inline void new_pair(void)
{
	OK(unic_destroy_qp(qp[0]));
	OK(unic_destroy_qp(qp[1]));
	connect_pair();
}

/** open_pair() - everything, at the driver's socket or node. */
static inline void open_pair(const char *path)
{
	OK(unic_open(path, &ctx));
	OK(unic_alloc_pd(ctx, &pd));
	OK(unic_create_cq(pd, 256, &cq));
	connect_pair();
}

/** next() - completion. */
static inline struct unic_wc next(void)
{
	struct unic_wc wc = { 0 };
	int i, n = 0;

	for (i = 0; i < 3000 && !n; i++) {
		n = unic_poll_cq(cq, 1, &wc);
		if (!n && !unic_req_notify(cq, false))
			unic_wait_cq(cq, 10);
	}
	fail_if(n != 1, "no completion");
	return wc;
}

/** sg_of() - unic_sg_of(), which must be good. */
static inline struct unic_sg sg_of(const struct unic_mr *mr, const void *at,
				   size_t len)
{
	struct unic_sg sg;

	OK(unic_sg_of(mr, at, len, &sg));
	return sg;
}

/** numbered() - bytes of this process that differ everywhere. */
static inline uint8_t *numbered(uint32_t bytes)
{
	uint8_t *at = unic_alloc(ctx, bytes, PAGE);
	uint32_t i;

	IS(at);
	for (i = 0; i < bytes; i++)
		at[i] = (uint8_t)(i * 13 + i / 251);
	return at;
}

#endif /* OWN_PAIR_H */
