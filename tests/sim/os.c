/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* os.c - host_driver/core/unic_os.h in virtual time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>

#include "oracle.h"
#include "world.h"

uint64_t unic_os_now_ns(struct unic_os *os)
{
	return sim_now() + os->offset_ns;
}

void *unic_os_alloc(struct unic_os *os, size_t bytes)
{
	os->live++;
	return sim_alloc(bytes);
}

void unic_os_free(struct unic_os *os, void *p)
{
	os->live -= p != NULL;
	sim_free(p);
}

void unic_os_log(struct unic_os *os, enum unic_os_level level, const char *fmt,
		 ...)
{
	char line[200];
	va_list ap;

	if (level == UNIC_LOG_AUDIT)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	sim_log("host %u: %s", os->node->id, line);
}

void unic_os_random(struct unic_os *os, void *buf, size_t bytes)
{
	uint8_t *p = buf;

	while (bytes--)
		*p++ = (uint8_t)sim_u64(&os->rng);
}

void unic_os_ring_nic(struct unic_os *os)
{
	uint64_t at;
	bool again;

	if (!world_bell(&os->node->rng, &at, &again))
		return;
	world_kick_nic(os->node, at);
}

/* A doorbell that arrives twice is handled twice: the second time without work. */
static void tell(void *ctx, uint64_t arg)
{
	struct world_client *c = ctx;

	if (!c->open || c->life != (uint32_t)(arg >> 1))
		return;
	if (arg & 1)
		c->upcall(c);
	else
		c->cq(c);
}

static void wake(struct unic_os *os, uint32_t slot, uint32_t which)
{
	struct world_client *c = os->node->owner[slot];
	uint64_t at;
	bool again;

	if (!c || !world_bell(&os->node->rng, &at, &again))
		return;
	sim_at(at, tell, c, (uint64_t)c->life << 1 | which);
	if (again)
		sim_at(at + 1, tell, c, (uint64_t)c->life << 1 | which);
}

void unic_os_ring_proc(struct unic_os *os, uint32_t slot)
{
	wake(os, slot, 0);
}

void unic_os_upcall(struct unic_os *os, uint32_t slot)
{
	wake(os, slot, 1);
}

struct reply {
	struct world_client *c;
	uint32_t life, bytes;
	uint64_t msg[];
};

static void arrive(void *ctx, uint64_t arg)
{
	struct reply *r = ctx;

	(void)arg;
	if (r->c->open && r->c->life == r->life)
		r->c->reply(r->c, r->msg, r->bytes);
	sim_free(r);
}

/* The process of @pid has got @slot, and maps no slot that it left before. */
static void unmap_left_slots(struct node *n, uint32_t slot, uint32_t pid)
{
	uint32_t i;

	for (i = 0; i < WORLD_SLOTS; i++)
		if (i != slot && n->quiet[i] && !n->owner[i] && !n->ended[i] &&
		    n->owner_pid[i] == pid)
			world_reap(n, i);
}

void unic_os_reply(struct unic_os *os, struct unic_client *client,
		   const void *msg, uint32_t bytes, uint32_t hello_slot)
{
	struct world_client *c = (struct world_client *)client;
	struct reply *r = sim_alloc(sizeof(*r) + bytes);
	uint64_t at = sim_now() + sim_range(&os->node->rng, US, 10 * US);

	if (at < c->reply_ns)
		at = c->reply_ns;
	c->reply_ns = at;
	r->c = c;
	r->life = c->life;
	r->bytes = bytes;
	memcpy(r->msg, msg, bytes);
	if (hello_slot != UNIC_OS_NO_SLOT) {
		os->node->owner[hello_slot] = c;
		os->node->owner_pid[hello_slot] = client->pid;
		os->node->quiet[hello_slot] = false;
		unmap_left_slots(os->node, hello_slot, client->pid);
	}
	sim_at(at, arrive, r, 0);
}

/* Gives the pages back, so that they are zeroed when they are touched. 0: it did. */
static int drop_pages(const struct node *n, uint32_t slot)
{
	if (n->file < 0)
		return madvise(n->slot[slot], PORT_SLOT_BYTES, MADV_DONTNEED);
	return fallocate(n->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 (off_t)slot * PORT_SLOT_BYTES, PORT_SLOT_BYTES);
}

void unic_os_slot_zero(struct unic_os *os, uint32_t slot)
{
	if (os->node->zeroed[slot] && /* else its memory is new, so zero */
	    drop_pages(os->node, slot))
		memset(os->node->slot[slot], 0, PORT_SLOT_BYTES);
	os->node->zeroed[slot] = true;
}

/* The process maps nothing of the slot: it has another slot, or ended before the
 * reply to HELLO. */
static bool unmapped(const struct node *n, uint32_t slot)
{
	uint32_t i, pid = n->owner_pid[slot];

	for (i = 0; i < WORLD_SLOTS; i++)
		if (i != slot && n->owner[i] && n->owner_pid[i] == pid)
			return true;
	return !pid;
}

void unic_os_slot_quiet(struct unic_os *os, uint32_t slot)
{
	os->node->quiet[slot] = true;
	oracle_unmap(os->node->id, slot);
	sim_log("host %u: slot %u is quiet", os->node->id, slot);
	if (unmapped(os->node, slot))
		world_reap(os->node, slot);
}

/* A process that has ended, or hung up, uses nothing. */
bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid)
{
	return os->node->quiet[slot] && os->node->owner_pid[slot] == pid &&
	       !os->node->owner[slot];
}
