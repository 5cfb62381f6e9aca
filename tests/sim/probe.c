/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * probe.c - after all processes have left: the tables of the NIC, which the
 * driver dumps (DUMP), must be empty.
 */
#include "probe.h"

struct probe {
	struct world_client c; /* first */
	uint32_t node, table, open;
};

static const char *const name[] = {
	[UNIC_TABLE_TLB] = "TLB entries", [UNIC_TABLE_MR] = "regions",
	[UNIC_TABLE_TOKEN] = "tokens",	  [UNIC_TABLE_QP] = "queue pairs",
	[UNIC_TABLE_PROC] = "processes",  [UNIC_TABLE_WAIT] = "waits",
};

/* Rows that must not be left over. Ended tokens stay for late cancels. */
static uint32_t alive(uint32_t table, const uint8_t *row, uint32_t rows)
{
	struct unic_row_token t;
	uint32_t i, n = 0;

	if (table != UNIC_TABLE_TOKEN)
		return rows;
	for (i = 0; i < rows; i++) {
		memcpy(&t, row + i * UNIC_ROW_BYTES, sizeof(t));
		n += unic_from_le32(t.state) < 2;
	}
	return n;
}

static void ignore(struct world_client *c)
{
	(void)c;
}

static void on_reply(struct world_client *c, const void *msg, uint32_t bytes)
{
	struct probe *p = (struct probe *)c;
	struct unic_ctl_dump_reply r;
	uint32_t table, n;

	(void)bytes;
	memcpy(&r, msg, sizeof(r));
	table = unic_from_le32(r.hdr.seq);
	if (unic_from_le16(r.hdr.status))
		sim_fail("conserve", "host %u: DUMP answers %u", p->node,
			 unic_from_le16(r.hdr.status));
	n = alive(table, (const uint8_t *)msg + UNIC_CTL_BYTES,
		  unic_from_le32(r.rows));
	if (n)
		sim_fail("conserve", "nic %u: %u %s are left over", p->node, n,
			 name[table]);
	p->open--;
}

static bool answered(void *ctx)
{
	return !((struct probe *)ctx)->open;
}

void probe(uint32_t node)
{
	struct probe *p = sim_alloc(sizeof(*p));
	uint32_t table;

	p->node = node;
	p->c.reply = on_reply;
	p->c.upcall = ignore;
	p->c.cq = ignore;
	p->c.hangup = ignore;
	world_connect(&p->c, node, 9999);
	for (table = UNIC_TABLE_TLB; table <= UNIC_TABLE_WAIT; table++) {
		struct unic_ctl_dump r = {
			.hdr = { .op = unic_to_le16(UNIC_CTL_DUMP),
				 .seq = unic_to_le32(table) },
			.table = unic_to_le32(table),
		};

		if (!name[table])
			continue; /* completion queues are not in DUMP */
		p->open++;
		world_send(&p->c, &r, sizeof(r));
	}
	if (!sim_until(sim_now() + 500 * MS, answered, p))
		sim_fail("live", "host %u: DUMP is not answered", node);
}
