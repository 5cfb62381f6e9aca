/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tap.c - reads each mailbox and calls the checkers for its records, in the order
 * of publication: before a poll of the NIC those of the driver, after it and
 * before each DMA those of the NIC.
 */
#include "check.h"
#include "core.h"
#include "lives.h"
#include "wild.h"

#include <stdio.h>
#include <string.h>

struct tap {
	uint32_t reset_ack, epoch;
	uint32_t cmd_seen, cpl_seen, evt_seen, drop_seen;
	uint32_t host_polls;
	struct tap_cmd cmd[UNIC_CMD_ENTRIES]; /* by ring position */
	struct model model;
};

static struct tap *taps[WORLD_NODES];

struct model *check_model(const struct node *n)
{
	return &taps[n->id]->model;
}

static const struct unic_nic_idx *nic_page(const struct node *n)
{
	return (const void *)(n->bar + UNIC_BAR_NIC_OFF);
}

static const struct unic_driver_page *driver_page(const struct node *n)
{
	return (const void *)(n->bar + UNIC_BAR_DRIVER_OFF);
}

static const struct unic_info *info_page(const struct node *n)
{
	return (const void *)n->bar;
}

void check_node(struct node *n)
{
	taps[n->id] = sim_alloc(sizeof(*taps[n->id]));
}

/* ---------------------------------------------------------------- commands */

static uint32_t cookie_of(const uint64_t *rec)
{
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, rec, sizeof(hdr));
	return unic_from_le16(hdr.cookie);
}

static bool has_list(const uint64_t *rec)
{
	struct unic_cmd_mr_reg reg;

	memcpy(&reg, rec, sizeof(reg));
	return reg.hdr.opcode == UNIC_CMD_MR_FILL ||
	       reg.hdr.opcode == UNIC_CMD_MR_FAULT ||
	       (reg.hdr.opcode == UNIC_CMD_MR_REG && reg.flags & UNIC_REG_LIST);
}

/* The translation list of a TABLE region, as at the command; it does not change until
 * the region ends. NULL: there is none, or it is not in a slot. */
static uint64_t *hear_table(const struct node *n, const uint64_t *rec)
{
	struct unic_cmd_mr_reg reg;
	uint64_t *list;
	uint64_t at;
	uint32_t i;

	memcpy(&reg, rec, sizeof(reg));
	at = unic_from_le64(reg.list);
	if (reg.hdr.opcode != UNIC_CMD_MR_REG || reg.residency != UNIC_TABLE ||
	    UNIC_BUS_WINDOW(at) >= WORLD_SLOTS || at % UNIC_LIST_BYTES ||
	    UNIC_BUS_OFFSET(at) >= PORT_SLOT_BYTES)
		return NULL;
	list = sim_alloc(UNIC_LIST_BYTES);
	memcpy(list, n->slot[UNIC_BUS_WINDOW(at)] + UNIC_BUS_OFFSET(at),
	       UNIC_LIST_BYTES);
	for (i = 0; i < UNIC_LIST_MAX; i++)
		list[i] &= ~(uint64_t)UNIC_TABLE_VALID;
	return list;
}

static bool is_batch(const uint64_t *rec)
{
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, rec, sizeof(hdr));
	return hdr.opcode == UNIC_CMD_MR_BATCH ||
	       hdr.opcode == UNIC_CMD_TOKEN_BATCH;
}

/* The NIC takes a list with its command, so this copy is what it saw. */
static void hear_command(struct node *n, struct tap *t, uint32_t at)
{
	struct tap_cmd *c = &t->cmd[at];

	memcpy(c->rec, n->bar + UNIC_BAR_CMD_OFF + at * 64, 64);
	c->seen_ns = sim_now();
	c->open = true;
	lives_command(n, c);
	sim_free(c->list);
	c->list = hear_table(n, c->rec);
	if (!has_list(c->rec) && !is_batch(c->rec))
		return;
	c->list = sim_alloc(UNIC_LIST_BYTES);
	memcpy(c->list, n->bar + UNIC_BAR_LIST_OFF + at * UNIC_LIST_BYTES,
	       UNIC_LIST_BYTES);
}

/* ------------------------------------------------------ what the NIC says */

static struct tap_cmd *find(struct tap *t, const uint64_t *rec)
{
	uint32_t i, cookie = cookie_of(rec);

	for (i = 0; i < UNIC_CMD_ENTRIES; i++)
		if (t->cmd[i].open && cookie_of(t->cmd[i].rec) == cookie)
			return &t->cmd[i];
	return NULL;
}

static void hear_done(struct node *n, struct tap *t, const struct tap_cmd *c,
		      const uint64_t *rec)
{
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, rec, sizeof(hdr));
	lives_done(n, c, hdr.status);
	bounds_done(n, &t->model, c, rec);
	conserve_done(n, rec);
	model_done(&t->model, c, rec);
}

/* The NIC writes each answer in the place of its command in the list page;
 * the lists of the commands follow the last command. */
static void hear_batch(struct node *n, struct tap *t, const struct tap_cmd *c)
{
	uint32_t at = (uint32_t)(c - t->cmd), i, count;
	const uint64_t *answer = (const void *)(n->bar + UNIC_BAR_LIST_OFF +
						at * UNIC_LIST_BYTES);
	struct unic_cmd_batch cmd;
	struct unic_cmd_mr_reg reg;
	struct tap_cmd one = { .seen_ns = c->seen_ns };
	uint64_t *list;

	memcpy(&cmd, c->rec, sizeof(cmd));
	count = unic_from_le32(cmd.count);
	list = c->list + 8 * count;
	for (i = 0; i < count; i++) {
		memcpy(one.rec, c->list + 8 * i, sizeof(one.rec));
		memcpy(&reg, one.rec, sizeof(reg));
		one.list = hear_table(n, one.rec);
		if (has_list(one.rec)) {
			one.list = sim_alloc(UNIC_LIST_BYTES);
			memcpy(one.list, list, unic_from_le32(reg.n_pages) * 8);
			list += unic_from_le32(reg.n_pages);
		}
		hear_done(n, t, &one, answer + 8 * i);
		sim_free(one.list);
	}
}

static void hear_completion(struct node *n, struct tap *t, const uint64_t *rec)
{
	struct tap_cmd *c = find(t, rec);
	struct unic_cmd_hdr hdr;
	uint32_t w[4];

	memcpy(&hdr, rec, sizeof(hdr));
	if (!c)
		sim_fail("once",
			 "nic %u completes a command that is not open: opcode "
			 "%u cookie %x",
			 n->id, hdr.opcode, unic_from_le16(hdr.cookie));
	memcpy(w, c->rec, sizeof(w));
	sim_log("nic %u: command %u status %u: %x %x", n->id, hdr.opcode,
		hdr.status, w[2], w[3]);
	c->open = false;
	conserve_command(n, rec);
	if (is_batch(c->rec) && !hdr.status)
		hear_batch(n, t, c);
	hear_done(n, t, c, rec);
}

static void hear_event(struct node *n, struct tap *t, const uint64_t *rec)
{
	struct unic_evt_hdr hdr;
	uint32_t w[6];

	memcpy(&hdr, rec, sizeof(hdr));
	memcpy(w, rec, sizeof(w));
	sim_log("nic %u: event %u reason %u proc %d: %x %x %x %x", n->id,
		hdr.type, hdr.reason, (int16_t)unic_from_le16(hdr.proc), w[2],
		w[3], w[4], w[5]);
	bounds_event(n, &t->model, rec);
	conserve_event(n, rec);
	lives_event(n, rec);
	model_event(&t->model, rec);
}

static void hear_epoch(struct node *n, struct tap *t)
{
	uint32_t i;

	sim_log("nic %u: reset complete", n->id);
	for (i = 0; i < UNIC_CMD_ENTRIES; i++)
		t->cmd[i].open = false;
	t->cmd_seen = t->cpl_seen = t->evt_seen = t->drop_seen = 0;
	t->epoch = unic_from_le32(info_page(n)->boot_epoch);
	t->reset_ack = unic_from_le32(info_page(n)->reset_ack);
	n->resets++;
	model_epoch(&t->model, info_page(n));
	pins_epoch(n);
	lives_epoch(n);
}

static void hear_nic(struct node *n)
{
	struct tap *t = taps[n->id];
	struct unic_drop drop;
	uint64_t rec[8];
	uint32_t tail;

	if (unic_from_le32(info_page(n)->boot_epoch) != t->epoch)
		hear_epoch(n, t);
	tail = unic_from_le32(nic_page(n)->cpl_tail);
	for (; t->cpl_seen != tail; t->cpl_seen++) {
		memcpy(rec,
		       n->bar + UNIC_BAR_CPL_OFF +
			       t->cpl_seen % UNIC_CPL_ENTRIES * 64,
		       64);
		hear_completion(n, t, rec);
	}
	tail = unic_from_le32(nic_page(n)->evt_tail);
	for (; t->evt_seen != tail; t->evt_seen++) {
		memcpy(rec,
		       n->bar + UNIC_BAR_EVT_OFF +
			       t->evt_seen % UNIC_EVT_ENTRIES * 64,
		       64);
		hear_event(n, t, rec);
	}
	tail = unic_from_le32(nic_page(n)->drop_tail);
	for (; t->drop_seen != tail; t->drop_seen++) {
		memcpy(&drop,
		       n->bar + UNIC_BAR_DROP_OFF +
			       t->drop_seen % UNIC_DROP_ENTRIES * sizeof(drop),
		       sizeof(drop));
		model_dropped(&t->model, &drop);
	}
}

/* ------------------------------------------------------------------- entry */

void check_before_poll(struct node *n)
{
	struct tap *t = taps[n->id];
	uint32_t tail = unic_from_le32(driver_page(n)->cmd_tail);

	if (n->wild) {
		wild_commands(n);
		return;
	}
	/* a tail that jumped back: the driver is about to reset the NIC */
	while (tail - t->cmd_seen - 1 < UNIC_CMD_ENTRIES)
		hear_command(n, t, t->cmd_seen++ % UNIC_CMD_ENTRIES);
	wakes_begin(n);
}

void check_after_poll(struct node *n, bool asleep)
{
	if (n->wild)
		return;
	hear_nic(n);
	wakes_over(n, check_model(n), asleep);
	turns_tick(n);
	model_round(check_model(n));
	bounds_tick(n, check_model(n));
	slots_tick(n, check_model(n));
}

/* Has each side read all records of the other? */
static bool agreed(const struct node *n, const struct tap *t)
{
	uint32_t i;

	for (i = 0; i < UNIC_CMD_ENTRIES; i++)
		if (t->cmd[i].open)
			return false;
	return n->host && !core_open(n->host) &&
	       core_epoch(n->host) == t->epoch &&
	       unic_from_le32(driver_page(n)->cmd_tail) == t->cmd_seen &&
	       unic_from_le32(driver_page(n)->evt_head) ==
		       unic_from_le32(nic_page(n)->evt_tail) &&
	       unic_from_le32(driver_page(n)->drop_head) ==
		       unic_from_le32(nic_page(n)->drop_tail);
}

void check_after_host(struct node *n, bool rests)
{
	struct tap *t = taps[n->id];

	if (n->wild)
		return;
	if (rests)
		wakes_rest(n);

	if (t->host_polls++ % 8 == 0 && agreed(n, t))
		pins_settled(n, &t->model);
}

static void note(const struct node *n, enum unic_port_dma_dir dir, uint64_t bus,
		 uint32_t len)
{
	sim_note(bus << 1 | dir, len);
	if (sim_tracing())
		printf("%12.3f us  nic %u: %s %u bytes at slot %u frame %u "
		       "offset %u\n",
		       (double)sim_now() / 1000, n->id,
		       dir == UNIC_DMA_TO_HOST ? "writes" : "reads", len,
		       UNIC_BUS_WINDOW(bus),
		       (uint32_t)(UNIC_BUS_OFFSET(bus) / 4096),
		       (uint32_t)(bus % 4096));
}

void check_moved(struct node *n, enum unic_port_dma_dir dir, uint64_t bus,
		 const void *host, uint32_t len)
{
	if (n->wild)
		return;
	hear_nic(n);
	note(n, dir, bus, len);
	if (dir == UNIC_DMA_FROM_HOST &&
	    model_lists(check_model(n), bus, len)) {
		pins_listed(n, bus);
		return;
	}
	oracle_moved(n, check_model(n), dir, bus, host, len);
	if (dir == UNIC_DMA_FROM_HOST)
		slots_read(n, host, len);
	pins_moved(n, bus, len);
}

void check_shown(struct node *n, uint64_t bus, const void *host, uint32_t len)
{
	if (n->wild)
		return;
	hear_nic(n);
	note(n, UNIC_DMA_FROM_HOST, bus, len);
	oracle_shown(n, check_model(n), bus, host, len);
	pins_moved(n, bus, len);
}

void check_window_written(struct node *n, uint64_t bus, const void *host,
			  uint32_t len)
{
	if (n->wild)
		return;
	note(n, UNIC_DMA_TO_HOST, bus, len);
	oracle_written(n, check_model(n), bus, host, len);
	pins_moved(n, bus, len);
}

void check_took(struct node *n, const uint8_t *frame, uint32_t len, bool forged)
{
	if (n->wild || !identity_took(n, frame, len, forged))
		return;
	lives_took(n, frame, len);
	turns_took(n, frame, len);
}

void check_sent(struct node *n, const uint8_t *frame, uint32_t len)
{
	if (n->wild)
		return;
	identity_sent(n, frame, len);
	lives_sent(n, frame, len);
	turns_sent(n, frame, len);
}

void check_driver_gone(struct node *n)
{
	if (n->wild)
		return;
	pins_driver_gone(n);
}

void check_went_on(struct node *n)
{
	turns_go(n);
}

void check_power_cut(struct node *n)
{
	if (n->wild)
		return;
	hear_nic(n);
}
