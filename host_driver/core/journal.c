/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* journal.c - see journal.h. */
#include "journal.h"

#include "cm/cm.h"
#include "region/region.h"
#include "restore.h"

#define MAGIC	0x4a4e5531u /* "1UNJ" */
#define VERSION 1u

struct head {
	uint32_t magic, version;
	uint32_t slots, objects;
	uint64_t slot_bytes, board;
	uint64_t rsvd[4];
};

_Static_assert(sizeof(struct head) == 64, "keeps what follows aligned");
_Static_assert(sizeof(struct unic_proc_note) == 64, "part of a file");
_Static_assert(sizeof(struct unic_obj_note) == 88, "part of a file");

static uint64_t frames_of(uint64_t slot_bytes)
{
	return slot_bytes >> UNIC_FRAME_SHIFT;
}

size_t unic_host_journal_bytes(uint32_t slots, uint64_t slot_bytes)
{
	return sizeof(struct head) + slots * sizeof(struct unic_proc_note) +
	       UNIC_OBJ_MAX * sizeof(struct unic_obj_note) +
	       slots * frames_of(slot_bytes) * sizeof(uint64_t);
}

static struct unic_proc_note *proc_notes(const struct unic_host *host)
{
	return (void *)((struct head *)host->config.journal + 1);
}

static struct unic_obj_note *obj_notes(const struct unic_host *host)
{
	return (void *)(proc_notes(host) + host->config.slots);
}

static uint64_t *slot_frame_notes(const struct unic_host *host, uint32_t slot)
{
	return (uint64_t *)(void *)(obj_notes(host) + UNIC_OBJ_MAX) +
	       slot * frames_of(host->config.slot_bytes);
}

/* -------------------------------------------------------------------- write */

static bool is_journal_compatible(const struct unic_host *host,
				  const struct head *h)
{
	return h->magic == MAGIC && h->version == VERSION &&
	       h->slots == host->config.slots && h->objects == UNIC_OBJ_MAX &&
	       h->slot_bytes == host->config.slot_bytes &&
	       h->board == host->config.board;
}

void unic_journal_open(struct unic_host *host)
{
	struct head *h = host->config.journal;
	uint32_t i;

	if (!h)
		return;
	if (!is_journal_compatible(host, h)) {
		memset(h, 0,
		       unic_host_journal_bytes(host->config.slots,
					       host->config.slot_bytes));
		h->version = VERSION;
		h->slots = host->config.slots;
		h->objects = UNIC_OBJ_MAX;
		h->slot_bytes = host->config.slot_bytes;
		h->board = host->config.board;
		unic_os_wmb();
		h->magic = MAGIC;
	}
	unic_objects_journal(&host->objects, obj_notes(host));
	for (i = 0; i < host->config.slots; i++)
		unic_frames_journal(&host->proc[i].frames,
				    slot_frame_notes(host, i));
}

void unic_journal_proc(struct unic_host *host, uint32_t slot)
{
	struct unic_hproc *proc = &host->proc[slot];
	struct unic_proc_note *n;

	proc->note = NULL;
	if (!host->config.journal)
		return;
	n = &proc_notes(host)[slot];
	UNIC_STORE(n->live, 0);
	unic_os_wmb();
	if (!unic_restore_keeps(host, slot))
		return;
	n->pid = proc->pid;
	n->uid = proc->uid;
	n->weight = proc->weight;
	n->quota = proc->quota;
	n->policy = proc->policy;
	n->upcall_next = proc->upcall_next;
	memcpy(n->name, proc->name, sizeof(n->name));
	unic_os_wmb();
	UNIC_STORE(n->live, 1);
	proc->note = n;
}

void unic_journal_put(struct unic_host *host, const struct unic_obj *obj,
		      const void *made, uint32_t a, uint32_t b)
{
	struct unic_obj_note *n;

	if (!host->config.journal || !unic_restore_keeps(host, obj->owner))
		return;
	n = &obj_notes(host)[unic_obj_index(obj->id)];
	n->owner = obj->owner;
	n->type = obj->type;
	n->a = a;
	n->b = b;
	memcpy(n->made, made, sizeof(n->made));
	unic_os_wmb();
	UNIC_STORE(n->live, 1);
}

void unic_journal_drop(struct unic_host *host, const struct unic_obj *obj)
{
	if (host->config.journal)
		UNIC_STORE(obj_notes(host)[unic_obj_index(obj->id)].live, 0);
}

/* --------------------------------------------------------------------- load */

static bool load_region(struct unic_host *host, const struct unic_obj_note *n)
{
	struct unic_region *mr =
		unic_obj_recall(&host->objects, n, sizeof(*mr));
	struct unic_ctl_mr_reg r;

	if (!mr)
		return false;
	memcpy(&r, n->made, sizeof(r));
	unic_region_fill_in(mr, &r);
	mr->state = R_ACTIVE;
	mr->stag = n->a;
	mr->mr = UNIC_LOST;
	host->proc[n->owner].regions++;
	/* the NIC that the last driver left may use them still (INV-14) */
	return !unic_region_pin(host, mr);
}

static bool load_queue(struct unic_host *host, const struct unic_obj_note *n)
{
	struct unic_ctl_cq_create r;
	struct unic_hcq *cq;
	struct unic_hqp *qp;

	if (n->type == UNIC_OBJ_CQ) {
		cq = unic_obj_recall(&host->objects, n, sizeof(*cq));
		if (!cq)
			return false;
		memcpy(&r, n->made, sizeof(r));
		memcpy(cq->made, n->made, sizeof(cq->made));
		cq->user = unic_from_le32(r.user);
		cq->cq = UNIC_LOST;
		return true;
	}
	qp = unic_obj_recall(&host->objects, n, sizeof(*qp));
	if (!qp)
		return false;
	memcpy(qp->made, n->made, sizeof(qp->made));
	qp->user = n->a;
	qp->qpn = UNIC_LOST;
	return true;
}

static bool load_object(struct unic_host *host, const struct unic_obj_note *n)
{
	struct unic_htoken *t;
	struct unic_hpd *pd;

	switch (n->type) {
	case UNIC_OBJ_PD:
		pd = unic_obj_recall(&host->objects, n, sizeof(*pd));
		if (pd)
			pd->pd = UNIC_LOST;
		return pd;
	case UNIC_OBJ_MR:
		return load_region(host, n);
	case UNIC_OBJ_CQ:
	case UNIC_OBJ_QP:
		return load_queue(host, n);
	case UNIC_OBJ_TOKEN: /* it ended with the last driver: told at plug() */
		t = unic_obj_recall(&host->objects, n, sizeof(*t));
		if (t) {
			t->index = n->a;
			t->user = n->b;
		}
		return t;
	case UNIC_OBJ_LISTENER:
		return unic_cm_recall(host, n);
	default:
		return false;
	}
}

/* The last driver may have been killed between the record and this. */
static uint32_t next_upcall(const struct unic_hproc *proc, uint32_t next)
{
	unic_le32 seq;

	memcpy(&seq, proc->ring->record[next % UNIC_UPCALLS], sizeof(seq));
	return unic_from_le32(seq) == next + 1 ? next + 1 : next;
}

static void load_proc(struct unic_hproc *proc, const struct unic_proc_note *n)
{
	proc->state = UNIC_HPROC_LIVE;
	proc->keep = true;
	proc->client = NULL;
	proc->pid = n->pid;
	proc->uid = n->uid;
	proc->weight = n->weight;
	proc->quota = n->quota;
	proc->policy = n->policy;
	memcpy(proc->name, n->name, sizeof(proc->name));
	proc->upcall_next = next_upcall(proc, n->upcall_next);
}

bool unic_journal_load(struct unic_host *host, uint32_t slot, uint32_t pid)
{
	struct unic_hproc *proc = &host->proc[slot];
	const struct unic_proc_note *p;
	const struct unic_obj_note *n;
	uint32_t i;

	if (!host->config.journal)
		return false;
	p = &proc_notes(host)[slot];
	if (!p->live || p->pid != pid || unic_frames_recall(&proc->frames))
		return false;
	load_proc(proc, p);
	for (i = 0; i < UNIC_OBJ_MAX; i++) {
		n = &obj_notes(host)[i];
		if (n->live && n->owner == slot && !load_object(host, n))
			unic_os_log(host->os, UNIC_LOG_ERROR,
				    "slot %u: object %x is lost", slot, n->id);
	}
	unic_journal_proc(host, slot);
	return true;
}

void unic_journal_tidy(struct unic_host *host)
{
	uint32_t i;

	if (!host->config.journal)
		return;
	unic_objects_tidy(&host->objects);
	for (i = 0; i < host->config.slots; i++)
		if (!unic_restore_keeps(host, i)) {
			UNIC_STORE(proc_notes(host)[i].live, 0);
			memset(slot_frame_notes(host, i), 0,
			       frames_of(host->config.slot_bytes) * 8);
		}
}
