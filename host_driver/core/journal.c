/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* journal.c - see journal.h. */
#include "journal.h"

#include "state.h"

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

size_t unic_journal_bytes(uint32_t slots, uint64_t slot_bytes)
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

uint32_t unic_journal_foreign(const void *journal)
{
	const struct head *h = journal;

	return h->magic == MAGIC && h->version != VERSION ? h->version : 0;
}

void unic_journal_open(struct unic_host *host)
{
	struct head *h = host->config.journal;
	uint32_t i;

	if (!h)
		return;
	if (!is_journal_compatible(host, h)) {
		memset(h, 0,
		       unic_journal_bytes(host->config.slots,
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

bool unic_journal_keeps(const struct unic_host *host, uint32_t owner)
{
	return owner < host->config.slots && host->proc[owner].keep &&
	       host->proc[owner].state == UNIC_HPROC_LIVE;
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
	if (!unic_journal_keeps(host, slot))
		return;
	n->pid = proc->pid;
	n->uid = proc->uid;
	n->weight = proc->weight;
	n->quota = proc->quota;
	n->policy = proc->policy;
	n->rate[0] = (uint32_t)proc->rate;
	n->rate[1] = (uint32_t)(proc->rate >> 32);
	n->burst = proc->burst;
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

	if (!host->config.journal || !unic_journal_keeps(host, obj->owner))
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

void unic_journal_tidy(struct unic_host *host)
{
	uint32_t i;

	if (!host->config.journal)
		return;
	unic_objects_tidy(&host->objects);
	for (i = 0; i < host->config.slots; i++)
		if (!unic_journal_keeps(host, i)) {
			UNIC_STORE(proc_notes(host)[i].live, 0);
			memset(slot_frame_notes(host, i), 0,
			       frames_of(host->config.slot_bytes) * 8);
		}
}

const struct unic_proc_note *
unic_journal_proc_note(const struct unic_host *host, uint32_t slot,
		       uint32_t pid)
{
	const struct unic_proc_note *p;

	if (!host->config.journal)
		return NULL;
	p = &proc_notes(host)[slot];
	return p->live && p->pid == pid ? p : NULL;
}

const struct unic_obj_note *unic_journal_obj_note(const struct unic_host *host,
						  uint32_t i)
{
	return &obj_notes(host)[i];
}
