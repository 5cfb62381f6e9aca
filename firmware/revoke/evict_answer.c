/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* evict_answer.c - see evict_answer.h. */
#include "revoke/evict_answer.h"

#include "memory/candidates.h"
#include "revoke/evict_supply.h"
#include "revoke/revoke.h"

/* Nobody answers a notice that is still waiting for room on the ring. */
static bool is_answerable(const struct unic_mr_ctx *mr)
{
	return mr->state == UNIC_MR_NOTIFIED &&
	       !(mr->evt_due & UNIC_MR_EVT_NOTICE);
}

int unic_evict_ack(struct unic_revoke *nic, uint32_t mr, uint32_t gen,
		   uint32_t seq, uint64_t *deadline_ns)
{
	struct unic_notices *ns = &nic->notices;
	const struct unic_mr_ctx *m = unic_mr_get(&nic->memory, mr, gen);
	int err;

	if (!m)
		return -UNIC_ENOMR;
	if (!is_answerable(m))
		return -UNIC_ESTATE;
	err = unic_notice_delivered(ns, m->notice, seq, nic->now_ns);
	if (err)
		return err;
	*deadline_ns = ns->notice[m->notice].deadline_ns;
	UNIC_COUNT(nic, notice_acks);
	UNIC_TRACE(nic, ACKED, m->proc, seq, mr, ns->grace_us, 0);
	unic_evict_kick(nic);
	return 0;
}

static uint8_t check_offer(const struct unic_revoke *nic,
			   const struct unic_mr_ctx *mr,
			   const struct unic_mr_ctx *offer)
{
	if (!offer)
		return UNIC_REFUSED_NOT_ACTIVE;
	if (offer == mr)
		return UNIC_REFUSED_SAME;
	if (offer->proc != mr->proc)
		return UNIC_REFUSED_NOT_YOURS;
	if (offer->mr_class == UNIC_CLASS_CONTROL || unic_mr_cached(offer))
		return UNIC_REFUSED_CLASS;
	if (offer->state != UNIC_MR_ACTIVE)
		return UNIC_REFUSED_NOT_ACTIVE;
	if (offer->n_pages < nic->notices.notice[mr->notice].units)
		return UNIC_REFUSED_SMALLER;
	return UNIC_REFUSED_NONE;
}

/* The offered region takes the other's place, deadline included. */
static void swap_subject(struct unic_revoke *nic, uint16_t old, uint16_t new)
{
	struct unic_mr_ctx *o = &nic->mrs.mr[old], *n = &nic->mrs.mr[new];
	bool counted = o->flags & UNIC_MR_F_COMING;

	n->notice = o->notice;
	n->seq = o->seq;
	n->for_proc = o->for_proc;
	n->why = UNIC_WHY_OFFERED;
	n->state = UNIC_MR_NOTIFIED;
	unic_candidate_remove(&nic->memory, new);
	unic_evict_supply_remove(nic, o);
	if (counted) {
		unic_evict_supply_add(nic, n);
	} else {
		unic_evict_supply_put_off(nic, o, false);
		unic_evict_supply_put_off(nic, n, true);
	}
	unic_notice_replace(&nic->notices, n->notice, new, n->n_pages);
	o->notice = UNIC_NOTICE_NIL;
	o->seq = 0;
	o->why = 0;
	o->for_proc = UNIC_OWNER_NIL;
	o->state = UNIC_MR_ACTIVE;
	unic_candidate_add(&nic->memory, old);
}

static int answer_offer(struct unic_revoke *nic, uint16_t mr, uint32_t offer_mr,
			uint32_t offer_gen, uint8_t *refusal)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	*refusal = check_offer(nic, m,
			       unic_mr_get(&nic->memory, offer_mr, offer_gen));
	UNIC_TRACE(nic, OFFER, m->proc, m->seq, offer_mr, mr, *refusal);
	if (*refusal) {
		UNIC_COUNT(nic, offers_refused);
		return -UNIC_EREFUSED;
	}
	UNIC_COUNT(nic, offers_taken);
	swap_subject(nic, mr, (uint16_t)offer_mr);
	return 0;
}

/*
 * An extended grace is no supply any more that a request within its share
 * could count on, so the region stops being one that is on its way back.
 */
static int answer_extend(struct unic_revoke *nic, uint16_t mr, uint32_t us,
			 uint8_t *refusal)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];
	int err = -UNIC_EREFUSED;

	*refusal = UNIC_REFUSED_WAITER;
	if (!unic_demand_urgent(nic)) {
		*refusal = UNIC_REFUSED_NONE;
		err = unic_notice_extend(&nic->notices, m->notice, us, refusal);
	}
	UNIC_TRACE(nic, EXTEND, m->proc, m->seq, us, *refusal, 0);
	if (err) {
		UNIC_COUNT(nic, extends_refused);
		return err;
	}
	UNIC_COUNT(nic, extends_taken);
	if (!unic_evict_supply_is_put_off(m))
		unic_evict_supply_put_off(nic, m, true);
	unic_evict_supply_remove(nic, m);
	unic_evict_kick(nic);
	return 0;
}

int unic_evict_answer(struct unic_revoke *nic,
		      const struct unic_cmd_notice_answer *cmd,
		      uint64_t *deadline_ns, uint8_t *refusal)
{
	struct unic_notices *ns = &nic->notices;
	uint32_t mr = unic_from_le32(cmd->mr), us;
	struct unic_mr_ctx *m =
		unic_mr_get(&nic->memory, mr, unic_from_le32(cmd->gen));
	uint16_t i;
	int err;

	if (!m)
		return -UNIC_ENOMR;
	if (!is_answerable(m))
		return -UNIC_ESTATE;
	i = m->notice;
	us = unic_from_le32(cmd->extend_us);
	if (unic_from_le32(cmd->seq) != ns->notice[i].seq ||
	    unic_from_le32(cmd->answer) - UNIC_ANSWER_RELEASE >
		    UNIC_ANSWER_EXTEND - UNIC_ANSWER_RELEASE ||
	    (unic_from_le32(cmd->answer) == UNIC_ANSWER_EXTEND && !us))
		return -UNIC_EINVAL;
	/* who answers has got it, acknowledged or not */
	if (ns->notice[i].state == UNIC_NOTICE_SENT)
		unic_notice_delivered(ns, i, m->seq, nic->now_ns);
	switch (unic_from_le32(cmd->answer)) {
	case UNIC_ANSWER_RELEASE:
		err = unic_evict_release(nic, (uint16_t)mr);
		break;
	case UNIC_ANSWER_OFFER:
		err = answer_offer(nic, (uint16_t)mr,
				   unic_from_le32(cmd->offer_mr),
				   unic_from_le32(cmd->offer_gen), refusal);
		break;
	default:
		err = answer_extend(nic, (uint16_t)mr, us, refusal);
		break;
	}
	/* a notice that was closed keeps its last deadline until reused */
	*deadline_ns = ns->notice[i].deadline_ns;
	return err;
}
