/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* evict_events.c - see evict_events.h. */
#include "revoke/evict_events.h"

#include "revoke/revoke.h"

/* What the records all say of @region, of index @idx: members of an initialiser. */
#define REGION_MEMBERS(region, idx, evt_type, evt_why)               \
	.hdr = { .type = (evt_type),                                 \
		 .reason = (evt_why),                                \
		 .proc = unic_to_le16((region)->proc) },             \
	.mr = unic_to_le32(idx), .gen = unic_to_le32((region)->gen), \
	.stag = unic_to_le32((region)->stag),                        \
	.user = unic_to_le32((region)->user),                        \
	.seq = unic_to_le32((region)->seq),                          \
	.entries = unic_to_le32((region)->n_pages),                  \
	.dependents = unic_to_le32((region)->n_tokens)

static bool publish_notice(struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	const struct unic_notices *ns = &nic->notices;
	const struct unic_notice *n = &ns->notice[mr->notice];
	struct unic_evt_mr evt = {
		REGION_MEMBERS(mr, idx, UNIC_EVT_NOTICE, mr->why),
		.rank = unic_to_le32(n->rank),
		.grace_us = unic_to_le32(ns->grace_us),
		.time_ns = unic_to_le64(n->sent_ns),
		.pain = unic_to_le32(nic->candidates.pain[idx].value),
	};

	if (unlikely(mr->deps))
		evt.dependents =
			unic_to_le32(mr->n_tokens +
				     unic_dependents_count(&nic->tables, idx));
	return unic_mbox_event(&nic->base, &evt);
}

__attribute__((cold)) bool unic_evict_events_idle(struct unic_revoke *nic,
						  uint16_t idx, uint32_t pain)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	struct unic_evt_mr evt = {
		REGION_MEMBERS(mr, idx, UNIC_EVT_IDLE, UNIC_WHY_IDLE),
		.time_ns = unic_to_le64(nic->now_ns),
		.pain = unic_to_le32(pain),
	};

	if (mr->deps)
		evt.dependents =
			unic_to_le32(unic_dependents_count(&nic->tables, idx));
	return unic_mbox_event(&nic->base, &evt);
}

static bool publish_evicted(struct unic_revoke *nic, uint16_t idx)
{
	const struct unic_mr_ctx *mr = &nic->mrs.mr[idx];
	uint32_t flags = mr->evt_flags;
	struct unic_evt_mr evt = {
		REGION_MEMBERS(mr, idx, UNIC_EVT_EVICTED, mr->why),
		.time_ns = unic_to_le64(mr->since_ns),
	};

	if (!(mr->flags & UNIC_MR_F_GONE))
		flags |= UNIC_EVICTED_TOMBSTONE;
	evt.flags = unic_to_le32(flags);
	return unic_mbox_event(&nic->base, &evt);
}

/* A record that found no room stays as a bit of its region (INV-11). */
static void defer_event(struct unic_revoke *nic, struct unic_mr_ctx *mr,
			uint8_t what)
{
	if (!mr->evt_due)
		nic->evict.evts_due++;
	mr->evt_due |= what;
}

static void clear_deferred(struct unic_revoke *nic, struct unic_mr_ctx *mr,
			   uint8_t what)
{
	if (!(mr->evt_due & what))
		return;
	mr->evt_due &= (uint8_t)~what;
	if (!mr->evt_due)
		nic->evict.evts_due--;
}

void unic_evict_events_notice(struct unic_revoke *nic, uint16_t idx)
{
	if (!publish_notice(nic, idx))
		defer_event(nic, &nic->mrs.mr[idx], UNIC_MR_EVT_NOTICE);
}

void unic_evict_events_drop_notice(struct unic_revoke *nic, uint16_t idx)
{
	clear_deferred(nic, &nic->mrs.mr[idx], UNIC_MR_EVT_NOTICE);
}

bool unic_evict_events_evicted(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (publish_evicted(nic, idx))
		return true;
	defer_event(nic, mr, UNIC_MR_EVT_EVICTED);
	nic->evict.indices_coming[mr->proc]++;
	return false;
}

static bool publish_deferred(struct unic_revoke *nic, uint16_t idx)
{
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	if (mr->evt_due & UNIC_MR_EVT_NOTICE) {
		if (!publish_notice(nic, idx))
			return false;
		clear_deferred(nic, mr, UNIC_MR_EVT_NOTICE);
	}
	if (mr->evt_due & UNIC_MR_EVT_EVICTED) {
		if (!publish_evicted(nic, idx))
			return false;
		clear_deferred(nic, mr, UNIC_MR_EVT_EVICTED);
		nic->evict.indices_coming[mr->proc]--;
		unic_bitset_add(&nic->share.moved, mr->proc);
		unic_mr_bury(&nic->memory, idx);
	}
	return true;
}

void unic_evict_events_flush(struct unic_revoke *nic)
{
	uint16_t i;

	for (i = 0; i < UNIC_MRS && nic->evict.evts_due; i++)
		if (nic->mrs.mr[i].evt_due && !publish_deferred(nic, i))
			return;
}
