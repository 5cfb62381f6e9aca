/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * wakes.c - nobody sleeps with something to do. A NIC that sleeps has read all that
 * was there before its last round, and says that it sleeps to all who may have more
 * (INV-1). A driver that rests has read all records, and has said that it rests.
 */
#include "check.h"

#include <string.h>

#include "core.h"
#include "unic_queue.h"

/* Doorbell words at the last poll; in a poll, those that are new. */
static uint32_t (*taken)[WORLD_SLOTS];

void wakes_reset(void)
{
	taken = sim_alloc(WORLD_NODES * sizeof(*taken));
}

static const struct unic_db_page *doorbells(const struct node *n, uint32_t slot)
{
	return (const void *)n->slot[slot];
}

static uint32_t words(const struct node *n, uint32_t slot)
{
	return unic_from_le32(doorbells(n, slot)->fifo_seq);
}

void wakes_begin(const struct node *n)
{
	uint32_t i;

	for (i = 0; i < WORLD_SLOTS; i++)
		taken[n->id][i] = words(n, i) - taken[n->id][i];
}

bool wakes_unread(const struct node *n, uint32_t slot)
{
	const struct unic_nic_page *page =
		(const void *)(doorbells(n, slot) + 1);

	return unic_from_le32(page->asleep) &&
	       words(n, slot) != taken[n->id][slot];
}

static bool is_ready(const struct node *n)
{
	const struct unic_info *info = (const void *)n->bar;

	return unic_from_le32(info->state) == UNIC_NIC_READY;
}

static void sleeps_on(const struct node *n, const char *what)
{
	sim_fail("wakes", "nic %u sleeps, and %s", n->id, what);
}

/* A process that the NIC knows rings only if it is told that the NIC sleeps. */
static void look_at_slot(const struct node *n, const struct model *m,
			 uint32_t i)
{
	const struct unic_nic_page *page = (const void *)(doorbells(n, i) + 1);

	if (!m->proc[i].attached || m->proc[i].leaving || !n->owner[i])
		return;
	if (taken[n->id][i])
		sleeps_on(n, "a doorbell word came before this round");
	if (!unic_from_le32(page->asleep) && !n->owner[i]->wild)
		sleeps_on(n, "a process does not know");
}

static void look_at_driver(const struct node *n)
{
	const struct unic_nic_idx *nic =
		(const void *)(n->bar + UNIC_BAR_NIC_OFF);
	const struct unic_driver_page *host =
		(const void *)(n->bar + UNIC_BAR_DRIVER_OFF);
	uint32_t answers =
		unic_from_le32(nic->cpl_tail) - unic_from_le32(host->cpl_head);

	if (!unic_from_le32(nic->asleep))
		sleeps_on(n, "the driver does not know");
	/* a command whose answer has no room waits for the driver */
	if (host->cmd_tail != nic->cmd_head && answers < UNIC_CPL_ENTRIES)
		sleeps_on(n, "a command is there");
}

static void look_for_work(const struct node *n, const struct model *m)
{
	const struct unic_port *p = &n->port;
	uint32_t i;

	if (p->n_done)
		sleeps_on(n, "a transfer is through");
	/* one that waits for a transfer keeps the next ones waiting */
	if (p->rx_head != p->rx_tail && p->rx_head == p->rx_done && !p->xfers)
		sleeps_on(n, "a frame is there");
	if (!p->armed)
		sleeps_on(n, "no frame wakes it");
	look_at_driver(n);
	for (i = 0; i < WORLD_SLOTS && i < MODEL_PROCS; i++)
		look_at_slot(n, m, i);
}

void wakes_over(const struct node *n, const struct model *m, bool asleep)
{
	uint32_t i;

	if (asleep && is_ready(n))
		look_for_work(n, m);
	for (i = 0; i < WORLD_SLOTS; i++)
		taken[n->id][i] = words(n, i);
}

void wakes_rest(const struct node *n)
{
	const struct unic_nic_idx *nic =
		(const void *)(n->bar + UNIC_BAR_NIC_OFF);
	const struct unic_driver_page *host =
		(const void *)(n->bar + UNIC_BAR_DRIVER_OFF);

	const struct unic_info *info = (const void *)n->bar;

	if (!is_ready(n) ||
	    core_epoch(n->host) != unic_from_le32(info->boot_epoch))
		return; /* a driver that has just begun resets it first */
	if (host->cpl_head != nic->cpl_tail ||
	    host->evt_head != nic->evt_tail ||
	    host->mad_head != nic->mad_tail ||
	    host->drop_head != nic->drop_tail)
		sim_fail("wakes", "host %u rests, and a record is there",
			 n->id);
	if (!unic_from_le32(host->want_irq))
		sim_fail("wakes", "host %u rests, and its NIC does not know",
			 n->id);
}
