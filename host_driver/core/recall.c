/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * recall.c - a process of an earlier driver becomes LIVE again, with its objects: the
 * journal lists them, and the file of each type makes them from their notes.
 */
#include "recall.h"

#include "cm/cm_listen.h"
#include "limit.h"
#include "queue.h"
#include "region/region.h"

static bool recall_object(struct unic_host *host, const struct unic_obj_note *n)
{
	switch (n->type) {
	case UNIC_OBJ_PD:
	case UNIC_OBJ_CQ:
	case UNIC_OBJ_QP:
	case UNIC_OBJ_TOKEN:
		return unic_queue_recall(host, n);
	case UNIC_OBJ_MR:
		return unic_region_recall(host, n);
	case UNIC_OBJ_LISTENER:
		return unic_cm_recall(host, n);
	default:
		return false;
	}
}

/* Number of the next upcall record. The journal may be one behind the ring: the earlier
 * driver may have been killed after it wrote a record and before it counted that. */
static uint32_t next_upcall(const struct unic_hproc *proc, uint32_t next)
{
	unic_le32 seq;

	memcpy(&seq, proc->ring->record[next % UNIC_UPCALLS], sizeof(seq));
	return unic_from_le32(seq) == next + 1 ? next + 1 : next;
}

static void recall_proc(struct unic_hproc *proc, const struct unic_proc_note *n)
{
	proc->state = UNIC_HPROC_LIVE;
	proc->keep = true;
	proc->client = NULL;
	proc->pid = n->pid;
	proc->uid = n->uid;
	proc->weight = n->weight;
	proc->quota = n->quota;
	proc->policy = n->policy;
	proc->rate = (uint64_t)n->rate[1] << 32 | n->rate[0];
	proc->burst = n->burst;
	memcpy(proc->name, n->name, sizeof(proc->name));
	proc->upcall_next = next_upcall(proc, n->upcall_next);
}

bool unic_recall_proc(struct unic_host *host, uint32_t slot, uint32_t pid)
{
	struct unic_hproc *proc = &host->proc[slot];
	const struct unic_proc_note *p;
	const struct unic_obj_note *n;
	uint32_t i;

	p = unic_journal_proc_note(host, slot, pid);
	if (!p || unic_frames_recall(&proc->frames))
		return false;
	recall_proc(proc, p);
	unic_limits_begin(host, proc);
	for (i = 0; i < UNIC_OBJ_MAX; i++) {
		n = unic_journal_obj_note(host, i);
		if (n->live && n->owner == slot && !recall_object(host, n))
			unic_os_log(host->os, UNIC_LOG_ERROR,
				    "slot %u: object %x is lost", slot, n->id);
	}
	unic_journal_proc(host, slot);
	return true;
}
