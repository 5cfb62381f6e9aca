/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * conserve.c - compares the counters that a NIC publishes with what its
 * mailbox, its bus and its wire really did, and checks that nothing is left
 * when all processes have gone.
 */
#include "check.h"
#include "core.h"

#include <string.h>

#include "unic_stats.h"

#define REST_NS	   (1500 * MS)
#define REFUSED_NS (10000 * MS) /* a driver keeps a refusal for 8 s */

struct tally {
	uint64_t commands, failed, registered, queued, granted, ended, notices,
		asked, acks, tokens;
};

static struct tally *tallies;

void conserve_reset(void)
{
	tallies = sim_alloc(WORLD_NODES * sizeof(*tallies));
}

void conserve_command(struct node *n, const void *cpl)
{
	struct tally *t = &tallies[n->id];
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, cpl, sizeof(hdr));
	t->commands++;
	t->failed += hdr.status > UNIC_ST_PENDING;
}

void conserve_done(struct node *n, const void *cpl)
{
	struct tally *t = &tallies[n->id];
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, cpl, sizeof(hdr));
	if (hdr.opcode == UNIC_CMD_MR_REG) {
		t->registered += hdr.status == UNIC_ST_OK;
		t->queued += hdr.status == UNIC_ST_PENDING;
	}
	t->registered += hdr.opcode == UNIC_CMD_MR_ALLOC && !hdr.status;
	t->acks += hdr.opcode == UNIC_CMD_NOTICE_ACK && !hdr.status;
	t->tokens += hdr.opcode == UNIC_CMD_TOKEN_ALLOC && !hdr.status;
}

void conserve_event(struct node *n, const void *evt)
{
	struct tally *t = &tallies[n->id];
	struct unic_evt_hdr hdr;

	memcpy(&hdr, evt, sizeof(hdr));
	t->granted += hdr.type == UNIC_EVT_GRANTED;
	t->registered += hdr.type == UNIC_EVT_GRANTED;
	t->ended += hdr.type == UNIC_EVT_WAIT_ENDED;
	t->notices += hdr.type == UNIC_EVT_NOTICE;
	t->asked += hdr.type == UNIC_EVT_IDLE;
}

static void same(const struct node *n, const char *what, uint64_t counted,
		 uint64_t happened)
{
	if (counted != happened)
		sim_fail("conserve", "nic %u counts %llu %s, there were %llu",
			 n->id, (unsigned long long)counted, what,
			 (unsigned long long)happened);
}

#define COUNTER(s, name) unic_from_le64((s)->counter[UNIC_C_##name])

static void check_counters(const struct node *n, const struct tally *t)
{
	const struct unic_stats_page *s =
		(const void *)(n->bar + UNIC_BAR_STATS_OFF);

	same(n, "frames sent", COUNTER(s, tx_frames), n->port.tx_frames);
	same(n, "bytes sent", COUNTER(s, tx_bytes), n->port.tx_bytes);
	same(n, "frames received", COUNTER(s, rx_frames), n->port.rx_frames);
	same(n, "commands", COUNTER(s, commands), t->commands);
	same(n, "commands failed", COUNTER(s, commands_failed), t->failed);
	same(n, "acknowledgements", COUNTER(s, notice_acks), t->acks);
	same(n, "tokens", COUNTER(s, tokens_allocated), t->tokens);
	same(n, "requests queued", COUNTER(s, waits_queued), t->queued);
	same(n, "notices", COUNTER(s, notices), t->notices);
	same(n, "questions", COUNTER(s, idle_asked), t->asked);
	if (n->resets > 1)
		return; /* what a reset ends is not counted */
	same(n, "regions", COUNTER(s, mr_registered), t->registered);
	same(n, "grants", COUNTER(s, waits_granted), t->granted);
	same(n, "ends of tokens",
	     COUNTER(s, tokens_used) + COUNTER(s, tokens_cancelled) +
		     COUNTER(s, tokens_expired) + COUNTER(s, tokens_evicted) +
		     COUNTER(s, tokens_aborted),
	     t->tokens);
}

static bool idle(const struct node *n)
{
	return n->wild ||
	       (n->host && !core_open(n->host) && world_slots_free(n));
}

static bool drivers_idle(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < world->nodes; i++)
		if (!idle(world->node[i]))
			return false;
	return true;
}

static bool refusals_over(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < world->nodes; i++)
		if (!world->node[i]->wild &&
		    core_host_refusals(world->node[i]->host))
			return false;
	return true;
}

void conserve_rest(void)
{
	if (!sim_until(sim_now() + REST_NS, drivers_idle, NULL))
		sim_fail("live", "a driver never comes to rest");
	if (!sim_until(sim_now() + REFUSED_NS, refusals_over, NULL))
		sim_fail("live", "a refusal is kept for ever");
}

static void nothing_left(const struct node *n)
{
	uint32_t many;
	const char *kind = core_nic_left(n->nic, &many);

	if (kind)
		sim_fail("conserve", "nic %u: %u %s are left over", n->id, many,
			 kind);
	kind = core_host_left(n->host, &many);
	if (kind)
		sim_fail("conserve", "host %u: %u %s are left over", n->id,
			 many, kind);
	if (n->port.tx_held)
		sim_fail("conserve", "nic %u: a frame is got and never put",
			 n->id);
}

void conserve_end(struct node *n, const struct model *m)
{
	uint32_t i;

	for (i = 0; i < MODEL_PROCS; i++)
		if (m->proc[i].attached)
			sim_fail("conserve", "nic %u: process %u never left",
				 n->id, i);
	for (i = 0; i < MODEL_MRS; i++)
		if (m->mr[i].state != MODEL_GONE)
			sim_fail("conserve", "nic %u: region %u is left over",
				 n->id, i);
	nothing_left(n);
	if (n->port.xfers)
		sim_fail("conserve", "nic %u: %u transfers are left over",
			 n->id, n->port.xfers);
	if (!n->power_cuts && core_audits(n->host))
		sim_fail("conserve", "host %u: the provider broke %u promises",
			 n->id, core_audits(n->host));
	if (!n->power_cuts)
		check_counters(n, &tallies[n->id]);
}

/* Every frame that was sent or made by the wire was received or lost. */
void conserve_wire(void)
{
	uint64_t sent = world->frames_made, got = world->frames_lost;
	uint32_t i;

	for (i = 0; i < world->nodes; i++) {
		const struct unic_port *p = &world->node[i]->port;

		sent += p->tx_frames;
		got += p->rx_frames + p->rx_overrun + p->rx_lost;
		got += p->rx_tail - p->rx_head; /* of one that is off */
	}
	if (sent != got)
		sim_fail("conserve", "%llu frames sent, %llu received or lost",
			 (unsigned long long)sent, (unsigned long long)got);
}
