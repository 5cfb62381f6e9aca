/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* qp_attr.c - see qp_attr.h. Secret: the tables. */
#include "qp_attr.h"

#include <errno.h>

#include "ah.h"
#include "attach.h"

enum type {
	RC,
	UC,
	UD
};

struct transition {
	enum ibv_qp_state from, to;
	int needed[3], taken[3]; /* by type */
};

#define INIT_CONN (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define INIT_UD	  (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RTR_UC	  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC	  (RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_RC                                                  \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)
#define ALTERNATE (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)

static const struct transition table[] = {
	{ IBV_QPS_RESET,
	  IBV_QPS_INIT,
	  { [RC] = INIT_CONN, [UC] = INIT_CONN, [UD] = INIT_UD },
	  { 0 } },
	{ IBV_QPS_INIT,
	  IBV_QPS_INIT,
	  { 0 },
	  { [RC] = INIT_CONN, [UC] = INIT_CONN, [UD] = INIT_UD } },
	{ IBV_QPS_INIT,
	  IBV_QPS_RTR,
	  { [RC] = RTR_RC, [UC] = RTR_UC },
	  { [RC] = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
	    [UC] = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
	    [UD] = IBV_QP_PKEY_INDEX | IBV_QP_QKEY } },
	{ IBV_QPS_RTR,
	  IBV_QPS_RTS,
	  { [RC] = RTS_RC, [UC] = IBV_QP_SQ_PSN, [UD] = IBV_QP_SQ_PSN },
	  { [RC] = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS |
		   IBV_QP_MIN_RNR_TIMER | ALTERNATE,
	    [UC] = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | ALTERNATE,
	    [UD] = IBV_QP_CUR_STATE | IBV_QP_QKEY } },
	{ IBV_QPS_RTS,
	  IBV_QPS_RTS,
	  { 0 },
	  { [RC] = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS |
		   IBV_QP_MIN_RNR_TIMER | ALTERNATE,
	    [UC] = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | ALTERNATE,
	    [UD] = IBV_QP_CUR_STATE | IBV_QP_QKEY } },
};

static enum type type_of(const struct unic_ibv_qp *qp)
{
	switch (qp->vqp.qp.qp_type) {
	case IBV_QPT_RC:
		return RC;
	case IBV_QPT_UC:
		return UC;
	default:
		return UD;
	}
}

static const struct transition *find_transition(enum ibv_qp_state from,
						enum ibv_qp_state to)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].from == from && table[i].to == to)
			return &table[i];
	return NULL;
}

/* Attributes whose only value is known. */
static int check_fixed(const struct unic_ibv_qp *qp,
		       const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_PORT && attr->port_num != UNIC_IBV_PORT) ||
	    (mask & IBV_QP_PKEY_INDEX && attr->pkey_index) ||
	    (mask & IBV_QP_CUR_STATE && attr->cur_qp_state != qp->vqp.qp.state))
		return EINVAL;
	return 0;
}

static int check_ranges(const struct unic_ibv_qp *qp,
			const struct ibv_qp_attr *attr, int mask)
{
	unsigned int reads = unic_ibv_reads(qp->vqp.qp.context);
	uint32_t ipv4;

	if ((mask & IBV_QP_PATH_MTU &&
	     (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096)) ||
	    (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > reads) ||
	    (mask & IBV_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > reads) ||
	    (mask & IBV_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IBV_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IBV_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31) ||
	    (mask & IBV_QP_DEST_QPN && attr->dest_qp_num >> 24) ||
	    (mask & IBV_QP_AV && unic_ibv_peer(&attr->ah_attr, &ipv4)))
		return EINVAL;
	return 0;
}

/* True if what @mask may change in this state stays as it is. The ABI of today takes each
 * attribute in one transition only. */
static bool changes_nothing(const struct unic_ibv_qp *qp,
			    const struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_qp_attr *is = &qp->attr;

	return !(mask & ALTERNATE) &&
	       !(mask & IBV_QP_ACCESS_FLAGS &&
		 attr->qp_access_flags != is->qp_access_flags) &&
	       !(mask & IBV_QP_QKEY && attr->qkey != is->qkey) &&
	       !(mask & IBV_QP_MIN_RNR_TIMER &&
		 attr->min_rnr_timer != is->min_rnr_timer);
}

int unic_ibv_check_transition(const struct unic_ibv_qp *qp,
			      const struct ibv_qp_attr *attr, int mask,
			      enum ibv_qp_state *to)
{
	enum ibv_qp_state from = qp->vqp.qp.state;
	enum type type = type_of(qp);
	const struct transition *t;
	int rest = mask & ~IBV_QP_STATE;

	*to = mask & IBV_QP_STATE ? attr->qp_state : from;
	if (*to == IBV_QPS_RESET || *to == IBV_QPS_ERR)
		return rest || (*to == IBV_QPS_ERR && from == IBV_QPS_RESET)
			       ? EINVAL
			       : 0;
	if (*to == IBV_QPS_SQD && from == IBV_QPS_RTS)
		return EOPNOTSUPP;
	t = find_transition(from, *to);
	if (!t || (rest & t->needed[type]) != t->needed[type] ||
	    rest & ~(t->needed[type] | t->taken[type]) ||
	    check_fixed(qp, attr, rest) || check_ranges(qp, attr, rest))
		return EINVAL;
	return changes_nothing(qp, attr, rest & t->taken[type]) ? 0
								: EOPNOTSUPP;
}

#define KEEP(bit, field)                         \
	do {                                     \
		if (mask & (bit))                \
			is->field = attr->field; \
	} while (0)

void unic_ibv_keep_attr(struct unic_ibv_qp *qp, const struct ibv_qp_attr *attr,
			int mask)
{
	struct ibv_qp_attr *is = &qp->attr;

	KEEP(IBV_QP_STATE, qp_state);
	KEEP(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	KEEP(IBV_QP_PORT, port_num);
	KEEP(IBV_QP_QKEY, qkey);
	KEEP(IBV_QP_AV, ah_attr);
	KEEP(IBV_QP_PATH_MTU, path_mtu);
	KEEP(IBV_QP_TIMEOUT, timeout);
	KEEP(IBV_QP_RETRY_CNT, retry_cnt);
	KEEP(IBV_QP_RNR_RETRY, rnr_retry);
	KEEP(IBV_QP_RQ_PSN, rq_psn);
	KEEP(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	KEEP(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	KEEP(IBV_QP_SQ_PSN, sq_psn);
	KEEP(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	KEEP(IBV_QP_DEST_QPN, dest_qp_num);
}
