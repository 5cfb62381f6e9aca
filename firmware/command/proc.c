/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* proc.c - attach, detach, and the doorbell pages. */
#include <string.h>

#include "command/proc.h"
#include "command/command.h"
#include "revoke/admission.h"

#define NO_PROC 0xffffu
/* index and kind of the object in a doorbell word */
#define UNIC_DB_WHAT 0x3ffu
/* Words of a full FIFO that are certainly as published: the writer stores the
 * next word over the oldest one before it publishes it (INV-1). */
#define INTACT	    (UNIC_BOX_DB_FIFO - 1u)
#define DB_RETRY_NS 1000000u /* try again after, when the event ring is full */
/* try again after, while operations are in flight */
#define DETACH_NS 100000u

_Static_assert(!UNIC_DB_SQ, "ring_object()");

/* The doorbell page and the NIC page. */
#define DB_BYTES (sizeof(UNIC_BOX_DB_PAGE) + sizeof(UNIC_BOX_NIC_PAGE))

static bool share_ok(uint32_t weight, uint32_t quota, uint32_t policy)
{
	return weight >= 1 && weight <= 65535 && quota <= UNIC_TLB_ENTRIES &&
	       policy < UNIC_POLICIES &&
	       (UNIC_LFU || policy != UNIC_POLICY_LFU);
}

/* After a reset an account may be there before its keeper. */
static bool keeper_ok(uint32_t slot, uint32_t keeper)
{
	return keeper == slot || (UNIC_ACCOUNTS && keeper < UNIC_PROCS);
}

static bool claim_ok(uint32_t keep, uint32_t claim)
{
	if (!(keep & UNIC_PROC_CLAIM))
		return !claim;
	return UNIC_ACCOUNTS && claim <= UNIC_TLB_ENTRIES;
}

/* With @keep *@value becomes @now. False: it is given all the same. */
static bool keeps(bool keep, uint32_t *value, uint32_t now)
{
	if (!keep)
		return true;
	if (*value)
		return false;
	*value = now;
	return true;
}

/* True if the two pages at @pages overlap those of another slot: what the NIC
 * writes for one would be doorbells of the other, without end. */
static bool pages_taken(const struct unic_procs *ps, const uint8_t *pages)
{
	uint32_t i;

	for (i = 0; i < ps->n_active; i++) {
		uintptr_t other = (uintptr_t)ps->proc[ps->watch[i].slot].db;

		if ((uintptr_t)pages - other + DB_BYTES - 1 < 2 * DB_BYTES - 1)
			return true;
	}
	return false;
}

int unic_proc_attach(struct unic_command *nic,
		     const struct unic_cmd_proc_attach *cmd)
{
	uint32_t slot = unic_from_le32(cmd->proc);
	uint32_t weight = unic_from_le32(cmd->weight);
	uint32_t quota = unic_from_le32(cmd->quota);
	uint32_t policy = unic_from_le32(cmd->policy);
	uint32_t keeper = unic_from_le32(cmd->keeper);
	uint64_t bus = unic_from_le64(cmd->doorbell);
	struct unic_proc *p;
	uint8_t *pages;
	int r = 0;

	keeper = keeper ? keeper - 1 : slot;
	if (slot >= UNIC_PROCS || (bus & 4095) ||
	    !share_ok(weight, quota, policy) || !keeper_ok(slot, keeper))
		return -UNIC_EINVAL;
	p = &nic->procs.proc[slot];
	if (p->db)
		return -UNIC_EBUSY;
	pages = unic_port_doorbells(nic->port, bus);
	if (!pages)
		return -UNIC_EBUS;
	if (pages_taken(&nic->procs, pages))
		return -UNIC_EBUSY;
	if (UNIC_METERS)
		r = unic_meter_proc(&nic->transport, slot,
				    unic_from_le64(cmd->rate),
				    unic_from_le32(cmd->burst));
	if (r)
		return r;

	memset(p, 0, sizeof(*p));
	memset(p->qp_of, 0xff, sizeof(p->qp_of));
	memset(p->cq_of, 0xff, sizeof(p->cq_of));
	p->keeper = (uint16_t)keeper;
	p->mr_head = UNIC_MR_NIL;
	p->host_pid = unic_from_le32(cmd->host_pid);
	p->policy = policy;
	if (UNIC_TABLE_READS)
		unic_table_attach(&nic->memory, slot, bus);
	unic_usage_policy(&nic->memory, slot, true);
	p->db = (const UNIC_BOX_DB_PAGE *)pages;
	p->np = (UNIC_BOX_NIC_PAGE *)(pages + sizeof(UNIC_BOX_DB_PAGE));
	UNIC_WRITE_ONCE(p->np->asleep, UNIC_ASLEEP(0));
	UNIC_WRITE_ONCE(p->np->epoch, unic_to_le32(nic->epoch));
	unic_share_weigh(&nic->share, slot, weight);
	nic->share.owner[slot].quota = quota;
	unic_sched_proc_new(&nic->transport, slot);
	unic_slot_watch(&nic->base, slot);
	UNIC_TRACE(nic, PROC_ATTACH, slot, p->host_pid, weight, 0, 0);
	return 0;
}

int unic_proc_set(struct unic_command *nic, const struct unic_cmd_proc_set *cmd)
{
	uint32_t slot = unic_from_le32(cmd->proc);
	uint32_t weight = unic_from_le32(cmd->weight);
	uint32_t quota = unic_from_le32(cmd->quota);
	uint32_t policy = unic_from_le32(cmd->policy);
	uint32_t keep = unic_from_le32(cmd->keep);
	uint32_t claim = unic_from_le32(cmd->claim);

	if (!unic_slot_live(&nic->base, slot))
		return -UNIC_ENOPROC;
	if (keep & ~UNIC_PROC_KEEP_ALL ||
	    !keeps(keep & UNIC_PROC_KEEP_WEIGHT, &weight,
		   nic->share.owner[slot].weight) ||
	    !keeps(keep & UNIC_PROC_KEEP_QUOTA, &quota,
		   nic->share.owner[slot].quota) ||
	    !keeps(keep & UNIC_PROC_KEEP_POLICY, &policy,
		   nic->procs.proc[slot].policy) ||
	    !share_ok(weight, quota, policy) || !claim_ok(keep, claim))
		return -UNIC_EINVAL;
	unic_share_weigh(&nic->share, slot, weight);
	nic->share.owner[slot].quota = quota;
	if (UNIC_ACCOUNTS && (keep & UNIC_PROC_CLAIM))
		unic_admission_claim(&nic->revoke, slot, claim);
	nic->procs.proc[slot].policy = policy;
	unic_usage_policy(&nic->memory, slot, false);
	unic_admission_quota_changed(&nic->revoke, slot);
	unic_evict_kick(&nic->revoke);
	return 0;
}

static void free_proc_slot(struct unic_command *nic, uint32_t slot)
{
	struct unic_procs *ps = &nic->procs;

	unic_slot_unwatch(&nic->base, slot);
	nic->db_errors.due -= nic->db_errors.of[slot].due;
	memset(&nic->db_errors.of[slot], 0, sizeof(nic->db_errors.of[slot]));
	UNIC_WRITE_ONCE(ps->proc[slot].np->asleep, unic_to_le32(0));
	ps->proc[slot].db = NULL;
	unic_token_proc_gone(&nic->memory, slot);
	unic_reclaim_proc_forget(&nic->revoke, slot);
	unic_share_weigh(&nic->share, slot, 0);
	UNIC_TRACE(nic, PROC_GONE, slot, 0, 0, 0, 0);
}

static void free_proc_pds(struct unic_command *nic, uint32_t slot)
{
	uint32_t i;

	for (i = 0; i < UNIC_PDS; i++)
		if (nic->mrs.pd[i].proc == slot)
			nic->mrs.pd[i].proc = NO_PROC;
}

/*
 * One step of a detach; called until it returns true. Queue pairs go first,
 * because operations hold regions and completions need their queues; then
 * completion queues; regions last, because queues lie in them.
 */
static bool detach_step(struct unic_command *nic, uint32_t slot)
{
	if (!unic_qp_proc_gone(&nic->transport, slot))
		return false;
	if (UNIC_SRQS)
		unic_srq_proc_gone(&nic->transport, slot);
	unic_cq_proc_gone(&nic->transport, slot);
	if (!unic_evict_proc_gone(&nic->revoke, slot))
		return false;
	free_proc_pds(nic, slot);
	return true;
}

int unic_proc_detach(struct unic_command *nic, uint32_t slot)
{
	if (!unic_slot_live(&nic->base, slot))
		return -UNIC_ENOPROC;
	nic->procs.proc[slot].detaching = true;
	nic->evict.leave_at[slot] = 0;
	unic_admission_proc_gone(&nic->revoke, slot); /* grants none of them */
	if (!detach_step(nic, slot)) {
		nic->procs.n_detaching++;
		nic->timers_ns = 0;
		return -UNIC_EPENDING;
	}
	free_proc_slot(nic, slot);
	return 0;
}

static bool continue_detach(struct unic_command *nic, uint32_t slot)
{
	struct unic_evt_obj evt = {
		.hdr = { .type = UNIC_EVT_PROC_GONE,
			 .proc = unic_to_le16((uint16_t)slot) },
		.id = unic_to_le32(slot),
	};

	if (!detach_step(nic, slot) || !unic_mbox_event(&nic->base, &evt))
		return false;
	free_proc_slot(nic, slot);
	nic->procs.n_detaching--;
	return true;
}

uint64_t unic_proc_detaching(struct unic_command *nic)
{
	struct unic_procs *ps = &nic->procs;
	uint32_t i = 0, slot;

	if (!ps->n_detaching)
		return UINT64_MAX;
	while (i < ps->n_active) {
		slot = ps->watch[i].slot;
		if (!ps->proc[slot].detaching || !continue_detach(nic, slot))
			i++; /* else another slot is in this place */
	}
	if (!ps->n_detaching)
		return UINT64_MAX;
	return unic_slot_ration_left(&nic->base) ? nic->now_ns + DETACH_NS
						 : nic->now_ns;
}

/* ------------------------------------------------------------ doorbells */

int unic_proc_db_ack(struct unic_command *nic, uint32_t proc)
{
	if (!unic_slot_live(&nic->base, proc))
		return -UNIC_ENOPROC;
	nic->db_errors.of[proc].told = false;
	return 0;
}

/* Sends DB_ERROR if it is time. Returns when to try again, or UINT64_MAX if it is
 * on the ring. */
static uint64_t send_db_error(struct unic_command *nic, uint32_t slot)
{
	struct unic_db_error *e = &nic->db_errors.of[slot];
	struct unic_evt_obj evt = {
		.hdr = { .type = UNIC_EVT_DB_ERROR,
			 .proc = unic_to_le16((uint16_t)slot) },
		.id = unic_to_le32(e->word),
	};

	if (nic->now_ns < e->ns)
		return e->ns;
	if (!unic_mbox_event(&nic->base, &evt))
		return nic->now_ns + DB_RETRY_NS;
	e->due = false;
	e->told = true;
	e->ns = nic->now_ns + 1000ull * UNIC_DB_ERROR_US;
	nic->db_errors.due--;
	return UINT64_MAX;
}

uint64_t unic_proc_db_events(struct unic_command *nic)
{
	uint64_t next = UINT64_MAX, again;
	uint32_t slot;

	for (slot = 0; slot < UNIC_PROCS; slot++) {
		if (!nic->db_errors.of[slot].due)
			continue;
		again = send_db_error(nic, slot);
		if (again < next)
			next = again;
	}
	return next;
}

/* Rings @kinds of row @row. The tail table holds the full index; the FIFO holds
 * rows only. */
static void ring_row(struct unic_command *nic, struct unic_proc *p,
		     uint32_t row, uint32_t kinds)
{
	const struct unic_db_tail *t = &p->db->tail[row];
	uint16_t qp = p->qp_of[row], cq = p->cq_of[row];

	if ((kinds & 1u << UNIC_DB_SQ) && qp != UNIC_DB_NONE)
		unic_qp_doorbell_sq(&nic->transport, qp,
				    unic_from_le32(UNIC_READ_ONCE(t->sq)),
				    false);
	if ((kinds & 1u << UNIC_DB_RQ) && qp != UNIC_DB_NONE)
		unic_qp_doorbell_rq(&nic->transport, qp,
				    unic_from_le32(UNIC_READ_ONCE(t->rq)));
	if ((kinds & 1u << UNIC_DB_ARM) && cq != UNIC_DB_NONE)
		unic_cq_arm(&nic->transport, cq,
			    unic_from_le32(UNIC_READ_ONCE(t->arm)));
}

void unic_proc_ring_qp(struct unic_command *nic, const struct unic_qp_ctx *qp)
{
	ring_row(nic, &nic->procs.proc[qp->proc], qp->db_index,
		 1u << UNIC_DB_SQ | 1u << UNIC_DB_RQ);
}

/* Rings @what of ring_object() that is no send queue, or nothing. */
static __attribute__((noinline)) void
ring_other(struct unic_command *nic, struct unic_proc *p, uint32_t what)
{
	uint32_t row = what & 0xff, kind = what >> 8;
	uint16_t bound;

	if (row < UNIC_BOX_DB_ROWS && kind <= UNIC_DB_ARM) {
		bound = kind == UNIC_DB_ARM ? p->cq_of[row] : p->qp_of[row];
		if (likely(bound != UNIC_DB_NONE)) {
			ring_row(nic, p, row, 1u << kind);
			return;
		}
	}
	if (UNIC_SRQS && kind == UNIC_DB_SRQ && row < UNIC_BOX_DB_ROWS &&
	    p->qp_of[row] >= UNIC_QPS && p->qp_of[row] != UNIC_DB_NONE) {
		ring_row(nic, p, row, 1u << UNIC_DB_RQ);
		return;
	}
	unic_slot_bad_doorbell(&nic->base, (uint32_t)(p - nic->procs.proc),
			       what);
}

/* Rings the object @what: index and kind, the low bits of a word. @lone: no other rings.
 * Returns as unic_qp_doorbell_sq(). */
static inline bool ring_object(struct unic_command *nic, struct unic_proc *p,
			       uint32_t what, bool lone)
{
	uint16_t bound;

	if (likely(what < UNIC_BOX_DB_ROWS)) { /* kind UNIC_DB_SQ, which is 0 */
		bound = p->qp_of[what];
		if (likely(bound != UNIC_DB_NONE))
			return unic_qp_doorbell_sq(
				&nic->transport, bound,
				unic_from_le32(
					UNIC_READ_ONCE(p->db->tail[what].sq)),
				lone);
	}
	ring_other(nic, p, what);
	return false;
}

/* Index and kind of word @n, which is read once. */
static inline uint32_t word_at(const unic_le32 *fifo, uint32_t n)
{
	return unic_from_le32(UNIC_READ_ONCE(fifo[n % UNIC_BOX_DB_FIFO])) &
	       UNIC_DB_WHAT;
}

/* So many words at most are looked through for one request beside words that arm. A process
 * that sleeps until its request is done writes three: it arms, posts and arms again. */
#define FEW_WORDS 4u

static inline bool is_arm(uint32_t what)
{
	return what >> 8 == UNIC_DB_ARM;
}

/* Rings words [at, seq) of the FIFO, completion queues to be armed first: then one other
 * object is still alone. False. */
static __attribute__((noinline)) bool ring_armed(struct unic_command *nic,
						 struct unic_proc *p,
						 uint32_t at, uint32_t seq)
{
	const uint32_t none = ~0u;
	uint32_t one = none, what;
	bool lone = true;

	for (; at != seq; at++) {
		what = word_at(&p->db->fifo[0], at);
		if (is_arm(what)) {
			ring_other(nic, p, what);
			continue;
		}
		if (one != none && one != what) {
			ring_object(nic, p, one, false);
			lone = false;
		}
		one = what;
	}
	if (one != none)
		ring_object(nic, p, one, lone);
	return false;
}

/*
 * Rings words [at, seq) of the FIFO. Of a run of words for one object only the
 * last is rung: the index is in the tail table. Who arms a completion queue for the one
 * request that it posts still posts one. True if there was one run, and its request is sent.
 */
static inline bool ring_words(struct unic_command *nic, struct unic_proc *p,
			      uint32_t at, uint32_t seq)
{
	const unic_le32 *fifo = &p->db->fifo[0];
	uint32_t what, next;
	bool lone = true;

	UNIC_IN_REGISTER(fifo);
	UNIC_COUNT_ADD(nic, db_words, seq - at);
	what = word_at(fifo, at);
	while (++at != seq) {
		next = word_at(fifo, at);
		if (unlikely(next != what)) {
			if (lone && seq - at < FEW_WORDS && is_arm(what ^ next))
				return ring_armed(nic, p, at - 1, seq);
			ring_object(nic, p, what, false);
			what = next;
			lone = false;
		}
	}
	return ring_object(nic, p, what, lone);
}

/*
 * Rings all rows: the FIFO was or may have been overrun, so words are lost; the
 * tail table is complete. Arming a CQ twice is harmless, because arm names a
 * record number.
 */
static void ring_all(struct unic_command *nic, struct unic_proc *p)
{
	uint32_t row;

	UNIC_COUNT(nic, db_overruns);
	for (row = 0; row < UNIC_BOX_DB_ROWS; row++)
		ring_row(nic, p, row, ~0u);
}

/* Not inlined: a round without doorbells needs no registers for it. */
__attribute__((noinline)) bool unic_proc_take(struct unic_command *nic,
					      uint32_t i)
{
	struct unic_watch *w = &nic->procs.watch[i];
	struct unic_proc *p = &nic->procs.proc[w->slot];
	uint32_t seq = unic_from_le32(UNIC_READ_ONCE(*w->seq));
	uint32_t at = w->seen, n = seq - at;
	bool sent = false;

	UNIC_IN_REGISTER(p);
	if (unlikely(p->detaching)) {
		/* doorbells of a detaching process are dropped */
		w->seen = seq;
		return false;
	}
	unic_rmb();
	if (n - 1 < INTACT) { /* n is 0 if seq moved back meanwhile */
		sent = ring_words(nic, p, at, seq);
		/* the writer may have overtaken the reads above */
		unic_rmb();
		n = unic_from_le32(UNIC_READ_ONCE(*w->seq)) - w->seen;
	}
	w->seen = seq;
	if (n > INTACT) {
		ring_all(nic, p);
		return false;
	}
	return sent;
}

void unic_proc_sleep(struct unic_command *nic, bool asleep)
{
	struct unic_procs *ps = &nic->procs;
	uint32_t i;

	for (i = 0; i < ps->n_active; i++)
		UNIC_WRITE_ONCE(ps->proc[ps->watch[i].slot].np->asleep,
				UNIC_ASLEEP(asleep));
}
