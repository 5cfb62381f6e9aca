/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* oracle.c - the memory oracle, see oracle.h and check.h. */
#include "oracle.h"

#include <string.h>

#include "check.h"

#define GRANTS 1024u
#define PAGES  64u /* of a process */

struct grant {
	uint32_t number; /* 0: free */
	uint16_t node, slot;
	uint32_t at, len;
	enum oracle_kind kind;
	uint64_t op;
};

static struct grant *grants;
static uint32_t last_grant, high_grant;
/* bytes that oracle_name() lets be read */
static uint8_t (*named)[WORLD_SLOTS][PAGES * 4096];
static uint8_t (*page_of)[WORLD_SLOTS][WORLD_PAGES]; /* by frame; 0: none */

void oracle_reset(void)
{
	grants = sim_alloc(GRANTS * sizeof(*grants));
	page_of = sim_alloc(WORLD_NODES * sizeof(*page_of));
	named = sim_alloc(WORLD_NODES * sizeof(*named));
	last_grant = high_grant = 0;
}

void oracle_name(uint32_t node, uint32_t slot, uint32_t at, uint32_t len)
{
	memset(named[node][slot] + at, 1, len);
}

void oracle_map(uint32_t node, uint32_t slot, uint32_t page, uint32_t frame)
{
	if (page >= PAGES || frame >= WORLD_PAGES)
		sim_fail("sim", "page %u is frame %u", page, frame);
	page_of[node][slot][frame] = (uint8_t)(page + 1);
}

void oracle_unmap(uint32_t node, uint32_t slot)
{
	uint32_t i;

	memset(page_of[node][slot], 0, sizeof(page_of[node][slot]));
	memset(named[node][slot], 0, sizeof(named[node][slot]));
	for (i = 0; i < high_grant; i++)
		if (grants[i].node == node && grants[i].slot == slot)
			grants[i].number = 0;
}

uint32_t oracle_grant(uint32_t node, uint32_t slot, uint32_t at, uint32_t len,
		      enum oracle_kind kind, uint64_t op)
{
	uint32_t i;

	for (i = 0; i < GRANTS && grants[i].number; i++)
		;
	if (i == GRANTS)
		sim_fail("sim", "more than %u grants", GRANTS);
	if (i >= high_grant)
		high_grant = i + 1;
	grants[i] = (struct grant){
		++last_grant, (uint16_t)node, (uint16_t)slot, at, len, kind, op
	};
	return last_grant;
}

static struct grant *find(uint32_t number)
{
	uint32_t i;

	for (i = 0; number && i < high_grant; i++)
		if (grants[i].number == number)
			return &grants[i];
	return NULL;
}

void oracle_revoke(uint32_t grant)
{
	struct grant *g = find(grant);

	if (g)
		g->number = 0;
}

void oracle_any(uint32_t grant)
{
	struct grant *g = find(grant);

	if (g)
		g->kind = ORACLE_ANY;
}

void oracle_clear(uint32_t node, uint32_t slot, uint32_t at, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < high_grant; i++) {
		struct grant *g = &grants[i];

		if (g->node == node && g->slot == slot && g->at < at + len &&
		    at < g->at + g->len)
			g->number = 0;
	}
	memset(named[node][slot] + at, 0, len);
}

/* ---------------------------------------------------------------- judgement */

static struct grant *permits(const struct node *n, uint32_t slot, uint32_t at,
			     uint32_t len)
{
	uint32_t i;

	for (i = 0; i < high_grant; i++) {
		struct grant *g = &grants[i];

		if (g->number && g->node == n->id && g->slot == slot &&
		    at >= g->at && at + len <= g->at + g->len)
			return g;
	}
	return NULL;
}

static void check_bytes(const struct node *n, struct grant *g, uint32_t at,
			const uint8_t *host, uint32_t len)
{
	uint32_t i, off = at - g->at;

	for (i = 0; g->kind == ORACLE_DATA && i < len; i++)
		if (host[i] != oracle_byte(g->op, off + i))
			sim_fail("oracle",
				 "nic %u writes %02x instead of %02x to byte "
				 "%u of operation %llx",
				 n->id, host[i], oracle_byte(g->op, off + i),
				 off + i, (unsigned long long)g->op);
}

/* @whole: one grant must cover the write to each page; else the bytes may be
 * of several writes side by side. */
static void check_write(const struct node *n, uint32_t slot, uint64_t off,
			const uint8_t *host, uint32_t len, bool whole)
{
	while (len) {
		uint32_t in = (uint32_t)(off % 4096);
		uint32_t here = len < 4096 - in ? len : 4096 - in;
		uint32_t page = page_of[n->id][slot][off / 4096];
		uint32_t at = (page - 1) * 4096 + in;
		struct grant *g = page ? permits(n, slot, at, whole ? here : 1)
				       : NULL;

		if (!g)
			sim_fail("oracle",
				 "nic %u writes %u bytes to slot %u page %d "
				 "offset %u, which nobody asked for",
				 n->id, here, slot, (int)page - 1, in);
		if (here > g->at + g->len - at)
			here = g->at + g->len - at;
		check_bytes(n, g, at, host, here);
		host += here;
		off += here;
		len -= here;
	}
}

/* Each byte must have been named by oracle_name(). */
static void check_read(const struct node *n, uint32_t slot, uint64_t off,
		       uint32_t len)
{
	while (len) {
		uint32_t in = (uint32_t)(off % 4096);
		uint32_t here = len < 4096 - in ? len : 4096 - in;
		uint32_t page = page_of[n->id][slot][off / 4096];
		const uint8_t *map = named[n->id][slot];

		if (page && memchr(map + (page - 1) * 4096 + in, 0, here))
			sim_fail("oracle",
				 "nic %u reads %u bytes at slot %u page %d "
				 "offset %u, which nobody named",
				 n->id, here, slot, (int)page - 1, in);
		off += here;
		len -= here;
	}
}

static void judge(struct node *n, const struct model *m,
		  enum unic_port_dma_dir dir, uint64_t bus, const void *host,
		  uint32_t len, bool whole)
{
	uint32_t slot = UNIC_BUS_WINDOW(bus);
	const struct model_mr *r = model_at(m, bus, len);

	if (!r)
		sim_fail("oracle",
			 "nic %u %s %u bytes at frame %u offset %u of slot %u "
			 "in no live region",
			 n->id, dir == UNIC_DMA_TO_HOST ? "writes" : "reads",
			 len, (uint32_t)(UNIC_BUS_OFFSET(bus) / 4096),
			 (uint32_t)(bus % 4096), slot);
	if (dir == UNIC_DMA_FROM_HOST)
		return;
	if (!(r->rights & (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE)))
		sim_fail("oracle", "nic %u writes to a read-only region",
			 n->id);
	if (n->file >= 0) /* its program checks the bytes */
		return;
	check_write(n, slot, UNIC_BUS_OFFSET(bus), host, len, whole);
}

void oracle_moved(struct node *n, const struct model *m,
		  enum unic_port_dma_dir dir, uint64_t bus, const void *host,
		  uint32_t len)
{
	judge(n, m, dir, bus, host, len, true);
	if (dir == UNIC_DMA_FROM_HOST)
		check_read(n, UNIC_BUS_WINDOW(bus), UNIC_BUS_OFFSET(bus), len);
}

void oracle_shown(struct node *n, const struct model *m, uint64_t bus,
		  const void *host, uint32_t len)
{
	judge(n, m, UNIC_DMA_FROM_HOST, bus, host, len, true);
}

void oracle_written(struct node *n, const struct model *m, uint64_t bus,
		    const void *host, uint32_t len)
{
	judge(n, m, UNIC_DMA_TO_HOST, bus, host, len, false);
}
