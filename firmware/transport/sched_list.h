/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sched_list.h - the lists of queue pairs that the scheduler keeps, for sched.c alone:
 * who is on one counts in sched.work.
 */
#ifndef UNIC_SCHED_LIST_H
#define UNIC_SCHED_LIST_H

#include "transport/transport.h"

/** unic_list_append() - QP @idx, which counts in sched.work, joins the end of @list. */
static inline void unic_list_append(struct unic_transport *nic,
				    struct unic_sched_list *list, uint16_t idx,
				    uint32_t which)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	qp->next[which] = UNIC_QP_NIL;
	if (list->head == UNIC_QP_NIL)
		list->head = idx;
	else
		nic->qps.qp[list->tail].next[which] = idx;
	list->tail = idx;
}

/** unic_list_take() - takes the first of @list off it; there is one. */
static inline uint16_t unic_list_take(struct unic_transport *nic,
				      struct unic_sched_list *list,
				      uint32_t which)
{
	uint16_t idx = list->head;
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	list->head = qp->next[which];
	qp->on &= (uint8_t) ~(1u << which);
	nic->sched.work--;
	return idx;
}

/** unic_list_unlink() - takes QP @idx, which is on @list, off it. */
static inline void unic_list_unlink(struct unic_transport *nic,
				    struct unic_sched_list *list, uint16_t idx,
				    uint32_t which)
{
	struct unic_qp_ctx *qps = nic->qps.qp;
	uint16_t *at = &list->head;
	uint16_t prev = UNIC_QP_NIL;

	while (*at != idx) {
		prev = *at;
		at = &qps[*at].next[which];
	}
	*at = qps[idx].next[which];
	if (list->tail == idx)
		list->tail = prev;
	qps[idx].on &= (uint8_t) ~(1u << which);
	nic->sched.work--;
}

#endif /* UNIC_SCHED_LIST_H */
