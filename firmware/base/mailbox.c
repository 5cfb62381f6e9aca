/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mailbox.c - the firmware's side of the mailbox rings. */
#include <string.h>

#include "base/base.h"
#include "unic_wire.h"

#define REC_BYTES     64u
#define CMDS_PER_POLL 4u
#define BEAT_NS	      50000000u

#ifndef UNIC_BUILD_ID
#define UNIC_BUILD_ID "unknown"
#endif

_Static_assert(sizeof(struct unic_mbox_record) == REC_BYTES, "one record");

static struct unic_info *mbox_info(struct unic_base *nic)
{
	return (struct unic_info *)(nic->mbox.bar + UNIC_BOX_INFO);
}

static struct unic_nic_idx *nic_indices(struct unic_base *nic)
{
	return (struct unic_nic_idx *)(nic->mbox.bar + UNIC_BOX_NIC);
}

static const struct unic_driver_page *driver_page(struct unic_base *nic)
{
	return (const struct unic_driver_page *)(nic->mbox.bar +
						 UNIC_BOX_DRIVER);
}

/*
 * Copies an index that the driver wrote from @shared to *@head if tail - head <=
 * entries; otherwise counts mbox_bad_index and leaves *@head.
 */
static void adopt_head(struct unic_base *nic, uint32_t *head,
		       const unic_le32 *shared, uint32_t tail, uint32_t entries)
{
	uint32_t v = unic_from_le32(UNIC_READ_ONCE(*shared));

	if (tail - v > entries)
		UNIC_COUNT(nic, mbox_bad_index);
	else
		*head = v;
}

void unic_mbox_publish(struct unic_base *nic, const struct unic_mbox_times *t)
{
	struct unic_info *i = mbox_info(nic);

	i->boot_epoch = unic_to_le32(nic->epoch);
	i->grace_us = unic_to_le32(t->grace_us);
	i->deliver_us = unic_to_le32(t->deliver_us);
	i->reaper_us = unic_to_le32(t->reaper_us);
	i->drain_us = unic_to_le32(t->drain_us);
	i->ipv4 = unic_to_le32(nic->ipv4);
	/* a reader that sees READY sees the fields above of this epoch */
	unic_wmb();
	UNIC_WRITE_ONCE(i->state, unic_to_le32(nic->state));
	unic_wmb();
	UNIC_WRITE_ONCE(i->reset_ack, unic_to_le32(nic->mbox.reset_ack));
}

/* Returns 0 if no path MTU fits: there is no link. */
static uint32_t path_mtu(const struct unic_link *link)
{
	const uint32_t overhead = UNIC_EXT_OFF + UNIC_ICRC_BYTES +
				  (uint32_t)sizeof(struct unic_tketh);
	uint32_t mtu;

	for (mtu = 4096; mtu >= 256; mtu >>= 1)
		if (mtu + overhead <= link->max_frame)
			return mtu;
	return 0;
}

static void publish_constants(struct unic_base *nic, uint32_t nic_bytes)
{
	static const char build[] = UNIC_BUILD_ID;
	struct unic_info *i = mbox_info(nic);

	memset(i, 0, sizeof(*i));
	i->abi_major = unic_to_le16(UNIC_ABI_MAJOR);
	i->abi_minor = unic_to_le16(UNIC_ABI_MINOR);
	i->features = unic_to_le64(
		UNIC_FEAT_TOKENS | UNIC_FEAT_REGISTER_WAIT | UNIC_FEAT_NOTICE |
		UNIC_FEAT_STATS | UNIC_FEAT_RESTORE | UNIC_FEAT_DEMAND |
		(UNIC_TABLE_READS ? UNIC_FEAT_HOST_TABLE : 0) |
		UNIC_FEAT_WINDOWS | UNIC_FEAT_FAST_REG | UNIC_FEAT_INDIRECT |
		UNIC_FEAT_PHYSICAL | UNIC_FEAT_BATCH | UNIC_FEAT_APP_POLICY |
		UNIC_FEAT_CANCEL_WAIT | (UNIC_LFU ? UNIC_FEAT_LFU : 0) |
		(UNIC_TELL_REFUSED ? UNIC_FEAT_TELL_REFUSED : 0) |
		(UNIC_ASKS ? UNIC_FEAT_IDLE : 0) |
		(UNIC_PAIN ? UNIC_FEAT_PAIN : 0) |
		(UNIC_ACCOUNTS ? UNIC_FEAT_ACCOUNTS : 0) |
		(UNIC_EVICTABLE ? UNIC_FEAT_EVICTABLE : 0) |
		(UNIC_RESTORE_FORMS ? UNIC_FEAT_RESTORE_FORMS : 0) |
		(UNIC_METERS ? UNIC_FEAT_RATES : 0) |
		(UNIC_HISTOGRAMS ? UNIC_FEAT_HISTOGRAMS : 0) |
		(UNIC_SNAPSHOT ? UNIC_FEAT_SNAPSHOT : 0) |
		(UNIC_ATOMICS ? UNIC_FEAT_ATOMICS : 0) |
		(UNIC_MR_FORMS ? UNIC_FEAT_MR_FORMS : 0) |
		(UNIC_CQ_RESIZE ? UNIC_FEAT_CQ_RESIZE : 0) |
		(UNIC_SRQS ? UNIC_FEAT_SRQ : 0) |
		(UNIC_CACHED_WINDOWS ? UNIC_FEAT_CACHED_WINDOWS : 0) |
		(nic->link.icrc_offload ? UNIC_FEAT_ICRC_OFFLOAD : 0));
	i->tlb_entries = unic_to_le32(UNIC_TLB_ENTRIES);
	i->mrs = unic_to_le32(UNIC_MRS);
	i->qps = unic_to_le32(UNIC_QPS);
	i->cqs = unic_to_le32(UNIC_CQS);
	i->tokens = unic_to_le32(UNIC_TOKENS);
	i->procs = unic_to_le32(UNIC_PROCS);
	i->pds = unic_to_le32(UNIC_PDS);
	i->waits = unic_to_le32(UNIC_WAITS);
	i->max_frame = unic_to_le32(nic->link.max_frame);
	i->path_mtu = unic_to_le32(path_mtu(&nic->link));
	memcpy(i->mac, nic->link.mac, sizeof(i->mac));
	i->link_up = nic->link.up;
	i->icrc_offload = nic->link.icrc_offload;
	memcpy(i->build_id, build,
	       sizeof(build) < sizeof(i->build_id) ? sizeof(build)
						   : sizeof(i->build_id) - 1);
	i->nic_bytes = unic_to_le32(nic_bytes);
	i->srqs = unic_to_le32(UNIC_SRQS);
	if (UNIC_CQ_ENTRIES > 4096u) { /* else they are as not said */
		i->ring_slots = unic_to_le32(UNIC_QP_SLOTS);
		i->cq_entries = unic_to_le32(UNIC_CQ_ENTRIES);
	}
}

void unic_mbox_power_on(struct unic_base *nic, uint32_t nic_bytes)
{
	struct unic_mbox *m = &nic->mbox;

	m->bar = unic_port_bar(nic->port);
	UNIC_WRITE_ONCE(mbox_info(nic)->magic, unic_to_le32(0));
	publish_constants(nic, nic_bytes);
	/*
	 * A driver may have written reset_req before power-on: @req differs from
	 * it, so the next poll answers it. Commands of an earlier driver carry an
	 * old epoch.
	 */
	unic_mbox_reset(nic, unic_from_le32(UNIC_READ_ONCE(
				     driver_page(nic)->reset_req)) -
				     1);
}

void unic_mbox_open(struct unic_base *nic)
{
	unic_wmb();
	UNIC_WRITE_ONCE(mbox_info(nic)->magic, unic_to_le32(UNIC_MAGIC));
}

void unic_mbox_reset(struct unic_base *nic, uint32_t req)
{
	struct unic_mbox *m = &nic->mbox;
	uint8_t *bar = m->bar;
	uint32_t beats = m->beats;

	memset(m, 0, sizeof(*m));
	m->bar = bar;
	m->beats = beats;
	m->reset_ack = req;
	m->cmd_tail_at = &driver_page(nic)->cmd_tail;
	m->reset_req_at = &driver_page(nic)->reset_req;
	m->fence_at = &driver_page(nic)->fence;
	memset(nic_indices(nic), 0, sizeof(struct unic_nic_idx));
	unic_mbox_sleep(nic, false);
}

bool unic_mbox_said(struct unic_base *nic, uint32_t fence)
{
	return nic->mbox.fenced == fence;
}

void unic_mbox_fenced(struct unic_base *nic, uint32_t fence)
{
	nic->mbox.fenced = fence;
	unic_mb(); /* writes to host memory come before the host reuses it */
	UNIC_WRITE_ONCE(nic_indices(nic)->fenced, unic_to_le32(fence));
	nic->mbox.irq_due = true;
}

/* ---------------------------------------------------------- completions */

/* Copies by words: a record is aligned on both sides. */
static void copy_record(void *to, const void *from)
{
	memcpy(__builtin_assume_aligned(to, 4),
	       __builtin_assume_aligned(from, 4), REC_BYTES);
}

static void write_record(struct unic_base *nic, uint32_t off, const void *rec,
			 unic_le32 *shared_tail, uint32_t *tail,
			 uint32_t entries)
{
	copy_record(nic->mbox.bar + off + *tail % entries * REC_BYTES, rec);
	unic_wmb();
	(*tail)++;
	UNIC_WRITE_ONCE(*shared_tail, unic_to_le32(*tail));
	nic->mbox.irq_due = true;
}

static bool cpl_room(struct unic_base *nic)
{
	struct unic_mbox *m = &nic->mbox;

	if (m->cpl_tail - m->cpl_head < UNIC_BOX_CPLS)
		return true;
	adopt_head(nic, &m->cpl_head, &driver_page(nic)->cpl_head, m->cpl_tail,
		   UNIC_BOX_CPLS);
	return m->cpl_tail - m->cpl_head < UNIC_BOX_CPLS;
}

uint32_t unic_mbox_ready(struct unic_base *nic)
{
	struct unic_mbox *m = &nic->mbox;
	uint32_t tail =
		unic_from_le32(UNIC_READ_ONCE(driver_page(nic)->cmd_tail));
	uint32_t n = tail - m->cmd_head;

	if (likely(!n || nic->state == UNIC_NIC_RESET))
		return 0;
	if (n > UNIC_BOX_CMDS) {
		/* count each value once, not at each poll */
		if (m->wild != tail)
			UNIC_COUNT(nic, mbox_bad_index);
		m->wild = tail;
		return 0;
	}
	unic_rmb();
	return n < CMDS_PER_POLL ? n : CMDS_PER_POLL;
}

void *unic_mbox_take(struct unic_base *nic, struct unic_mbox_record *rec)
{
	struct unic_mbox *m = &nic->mbox;
	uint32_t slot = m->cmd_head % UNIC_BOX_CMDS;

	if (!cpl_room(nic))
		return NULL;
	copy_record(rec, m->bar + UNIC_BOX_CMD + slot * REC_BYTES);
	return m->bar + UNIC_BOX_LIST + slot * UNIC_BOX_LIST_BYTES;
}

void unic_mbox_complete(struct unic_base *nic,
			const struct unic_mbox_record *cpl)
{
	struct unic_mbox *m = &nic->mbox;

	write_record(nic, UNIC_BOX_CPL, cpl, &nic_indices(nic)->cpl_tail,
		     &m->cpl_tail, UNIC_BOX_CPLS);
	m->cmd_head++;
	UNIC_WRITE_ONCE(nic_indices(nic)->cmd_head, unic_to_le32(m->cmd_head));
}

/* --------------------------------------------------------------- events */

bool unic_mbox_event(struct unic_base *nic, void *evt)
{
	struct unic_mbox *m = &nic->mbox;
	struct unic_evt_hdr *hdr = evt;
	bool eviction = hdr->type == UNIC_EVT_NOTICE ||
			hdr->type == UNIC_EVT_EVICTED;
	uint32_t room = UNIC_BOX_EVTS - (eviction ? 0 : UNIC_EVT_RESERVED);

	if (m->evt_tail - m->evt_head >= room)
		adopt_head(nic, &m->evt_head, &driver_page(nic)->evt_head,
			   m->evt_tail, UNIC_BOX_EVTS);
	if (m->evt_tail - m->evt_head >= room) {
		UNIC_COUNT(nic, evt_stalls);
		return false;
	}
	hdr->epoch = unic_to_le32(nic->epoch);
	write_record(nic, UNIC_BOX_EVT, evt, &nic_indices(nic)->evt_tail,
		     &m->evt_tail, UNIC_BOX_EVTS);
	return true;
}

uint32_t unic_mbox_drop_room(struct unic_base *nic)
{
	struct unic_mbox *m = &nic->mbox;

	adopt_head(nic, &m->drop_head, &driver_page(nic)->drop_head,
		   m->drop_tail, UNIC_BOX_DROPS);
	return UNIC_BOX_DROPS - (m->drop_tail - m->drop_head);
}

void unic_mbox_drop(struct unic_base *nic, uint32_t mr, uint32_t gen,
		    uint32_t page, uint32_t user)
{
	struct unic_mbox *m = &nic->mbox;
	struct unic_drop *at = (struct unic_drop *)(m->bar + UNIC_BOX_DROP) +
			       m->drop_tail % UNIC_BOX_DROPS;

	at->mr = unic_to_le32(mr);
	at->gen = unic_to_le32(gen);
	at->page = unic_to_le32(page);
	at->user = unic_to_le32(user);
	unic_wmb();
	m->drop_tail++;
	UNIC_WRITE_ONCE(nic_indices(nic)->drop_tail,
			unic_to_le32(m->drop_tail));
	m->irq_due = true;
}

bool unic_mbox_mad(struct unic_base *nic, const struct unic_mad_rx *mad)
{
	struct unic_mbox *m = &nic->mbox;

	if (m->mad_tail - m->mad_head >= UNIC_BOX_MADS)
		adopt_head(nic, &m->mad_head, &driver_page(nic)->mad_head,
			   m->mad_tail, UNIC_BOX_MADS);
	if (m->mad_tail - m->mad_head >= UNIC_BOX_MADS) {
		UNIC_COUNT(nic, mad_rx_dropped);
		return false;
	}
	memcpy(m->bar + UNIC_BOX_MAD +
		       m->mad_tail % UNIC_BOX_MADS * sizeof(*mad),
	       mad, sizeof(*mad));
	unic_wmb();
	m->mad_tail++;
	UNIC_WRITE_ONCE(nic_indices(nic)->mad_tail, unic_to_le32(m->mad_tail));
	m->irq_due = true;
	UNIC_COUNT(nic, mad_rx);
	return true;
}

void unic_mbox_flush(struct unic_base *nic)
{
	struct unic_mbox *m = &nic->mbox;

	m->irq_due = false;
	/* tail before want_irq; the driver does the reverse */
	unic_mb();
	if (!UNIC_ALWAYS_RING &&
	    !unic_from_le32(UNIC_READ_ONCE(driver_page(nic)->want_irq)))
		return;
	if (m->irq_fault)
		m->irq_fault--;
	else
		unic_port_ring(nic->port, 0);
}

void unic_mbox_sleep(struct unic_base *nic, bool asleep)
{
	UNIC_WRITE_ONCE(nic_indices(nic)->asleep, UNIC_ASLEEP(asleep));
}

void unic_mbox_beat(struct unic_base *nic)
{
	struct unic_info *i = mbox_info(nic);
	struct unic_stats_page *s =
		(struct unic_stats_page *)(nic->mbox.bar + UNIC_BOX_STATS);
	uint32_t c;

	for (c = 0; c < UNIC_C_COUNT; c++)
		s->counter[c] = unic_to_le64(nic->counter[c]);
	s->version = unic_to_le32(1);
	s->counters = unic_to_le32(UNIC_C_COUNT);
	s->time_ns = unic_to_le64(nic->now_ns);
	i->clock_ns = unic_to_le64(nic->now_ns);
	UNIC_WRITE_ONCE(i->heartbeat, unic_to_le32(++nic->mbox.beats));
	nic->beat_ns = nic->now_ns + BEAT_NS;
}
