/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* wild.c - see wild.h. */
#include "wild.h"

#include <string.h>

#include "unic_mbox.h"
#include "unic_queue.h"

#define GAP_NS (100 * US) /* between two deeds */
#define RECORD 64u
#define KEPT   32u /* commands of the driver, to be repeated */

static struct node *node; /* NULL: none */
static struct sim_rng rng;
static uint8_t kept[KEPT][RECORD];
static uint32_t n_kept, seen;

static struct unic_driver_page *driver_page(void)
{
	return (void *)(node->bar + UNIC_BAR_DRIVER_OFF);
}

static const struct unic_info *info(void)
{
	return (const void *)node->bar;
}

/* Small numbers are those of objects that exist. */
static uint32_t some(void)
{
	return sim_below(&rng, 4) ? sim_below(&rng, 8)
				  : (uint32_t)sim_u64(&rng);
}

/* One word of @rec is another, or another one of the same record. */
static void change(uint8_t *rec, uint32_t bytes)
{
	uint32_t word = some();
	uint8_t *at = rec + sim_below(&rng, bytes / 4) * 4;

	if (sim_below(&rng, 2))
		at[sim_below(&rng, 4)] ^= (uint8_t)(1u << sim_below(&rng, 8));
	else if (sim_below(&rng, 2))
		memcpy(at, rec + sim_below(&rng, bytes / 4) * 4, 4);
	else
		memcpy(at, &word, 4);
}

static uint8_t *command(uint32_t n)
{
	return node->bar + UNIC_BAR_CMD_OFF + n % UNIC_CMD_ENTRIES * RECORD;
}

static uint8_t *list(uint32_t n)
{
	return node->bar + UNIC_BAR_LIST_OFF +
	       n % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
}

/* Mostly not what says which command it is, and of which life. */
static void change_command(uint32_t n)
{
	if (sim_below(&rng, 8))
		change(command(n) + sizeof(struct unic_cmd_hdr),
		       RECORD - sizeof(struct unic_cmd_hdr));
	else
		change(command(n), RECORD);
}

/* A command of before, in this life of the NIC, and not quite the same. */
static void repeat(uint32_t at)
{
	struct unic_cmd_hdr hdr;

	memcpy(command(at),
	       kept[sim_below(&rng, n_kept < KEPT ? n_kept : KEPT)], RECORD);
	memcpy(&hdr, command(at), sizeof(hdr));
	hdr.epoch = info()->boot_epoch;
	memcpy(command(at), &hdr, sizeof(hdr));
	if (sim_below(&rng, 2))
		change_command(at);
}

void wild_commands(struct node *n)
{
	struct unic_driver_page *page;
	uint32_t tail;

	if (n != node)
		return;
	page = driver_page();
	tail = unic_from_le32(page->cmd_tail);
	if (tail - seen > UNIC_CMD_ENTRIES)
		seen = tail; /* it was reset */
	for (; seen != tail; seen++) {
		if (command(seen)[0] < UNIC_CMD_PROC_ATTACH)
			continue; /* else the driver begins anew */
		memcpy(kept[n_kept++ % KEPT], command(seen), RECORD);
		if (!sim_below(&rng, 8))
			change_command(seen);
		if (!sim_below(&rng, 8))
			change(list(seen), 64);
	}
	if (n_kept && !sim_below(&rng, 64)) {
		repeat(tail);
		page->cmd_tail = unic_to_le32(++tail);
		seen = tail;
	}
}

static void scribble(uint8_t *at, uint32_t bytes)
{
	uint32_t n, word;

	for (n = 1 + sim_below(&rng, 32); n; n--) {
		word = some();
		memcpy(at + sim_below(&rng, bytes / 4) * 4, &word, 4);
	}
}

static void reset(void)
{
	struct unic_driver_page *page = driver_page();
	uint32_t ack = unic_from_le32(info()->reset_ack);

	memset(page, 0, sizeof(*page));
	page->reset_req = unic_to_le32(ack + 1 ? ack + 1 : 1);
}

static void deed(void *ctx, uint64_t arg)
{
	(void)ctx;
	(void)arg;
	if (!node)
		return;
	switch (sim_below(&rng, 256)) {
	case 0:
		reset();
		break;
	case 1: /* all that the two of them write */
		scribble(node->bar, 0x10000);
		break;
	case 2:
		scribble(node->bar + UNIC_BAR_DRIVER_OFF, 512);
		break;
	case 3:
		scribble(node->bar + UNIC_BAR_LIST_OFF, 0x20000);
		break;
	default: /* of doorbells, or queues */
		scribble(node->slot[sim_below(&rng, WORLD_SLOTS)], 16 * 4096);
	}
	world_kick_nic(node, sim_now() + sim_range(&rng, 100, US));
	sim_at(sim_now() + sim_range(&rng, US, GAP_NS), deed, NULL, 0);
}

void wild_start(const struct scenario *s)
{
	node = NULL;
	if (!s->wild || s->wild_off)
		return;
	node = world->node[s->nodes];
	rng.s = s->wild_r;
	node->wild = true;
	n_kept = seen = 0;
	sim_at(sim_now() + US, deed, NULL, 0);
}

void wild_stop(void)
{
	if (!node)
		return;
	world_kill_driver(node->id);
	port_power_cut(&node->port);
	world_stand(node->id, PORT_ENDLESS);
	node = NULL;
}
