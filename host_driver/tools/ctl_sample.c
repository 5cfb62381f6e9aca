/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_sample.c - see ctl_sample.h. */
#include "ctl_sample.h"

#include <stdio.h>
#include <string.h>

#include "ctl_fetch.h"
#include "ctl_json.h"

static const struct {
	const char *counter, *key;
} rates[CTL_RATES] = {
	[CTL_RATE_GRANTED] = { "waits_granted", "granted_per_s" },
	[CTL_RATE_NOTICES] = { "notices", "notices_per_s" },
	[CTL_RATE_EVICTED] = { "evicted_regions", "evicted_per_s" },
	[CTL_RATE_MISSES] = { "misses", "misses_per_s" },
	[CTL_RATE_TX] = { "tx_bytes", "tx_bytes_per_s" },
	[CTL_RATE_RX] = { "rx_bytes", "rx_bytes_per_s" },
};

int ctl_sampler_init(struct ctl_sampler *s, struct unic_conn *conn)
{
	memset(s, 0, sizeof(*s));
	s->conn = conn;
	s->info = ctl_info(conn);
	if (!s->info)
		return -1;
	s->now.entries = ctl_u64_of(s->info, "tlb_entries");
	return 0;
}

void ctl_sampler_fini(struct ctl_sampler *s)
{
	json_object_put(s->info);
	json_object_put(s->ps);
}

/* A NIC that began anew counts from 0. */
static double per_second(uint64_t before, uint64_t now, uint64_t ns)
{
	return now < before ? 0 : (double)(now - before) * 1e9 / (double)ns;
}

static void count(struct ctl_sampler *s, struct json_object *stats)
{
	uint64_t time_ns = ctl_u64_of(stats, "time_ns");
	struct json_object *nic = NULL;
	uint64_t before = s->now.time_ns;
	uint64_t n;
	int i;

	if (s->again && time_ns == before)
		return;
	json_object_object_get_ex(stats, "nic", &nic);
	for (i = 0; i < CTL_RATES; i++) {
		n = ctl_u64_of(nic, rates[i].counter);
		s->now.rate[i] =
			s->again && time_ns > before
				? per_second(s->count[i], n, time_ns - before)
				: 0;
		s->count[i] = n;
	}
	s->now.time_ns = time_ns;
	s->again = true;
}

static void add_up(struct ctl_sample *now, struct json_object *ps)
{
	struct json_object *list = NULL;
	struct json_object *p;
	size_t i;

	now->held = 0;
	now->notices = 0;
	json_object_object_get_ex(ps, "waiting", &list);
	now->waiting = json_object_array_length(list);
	json_object_object_get_ex(ps, "procs", &now->procs);
	for (i = 0; i < json_object_array_length(now->procs); i++) {
		p = json_object_array_get_idx(now->procs, i);
		now->held += ctl_u64_of(p, "held");
		now->notices += ctl_u64_of(p, "open_notices");
	}
}

int ctl_sampler_look(struct ctl_sampler *s)
{
	struct json_object *ps = ctl_ps(s->conn);
	struct json_object *stats = ps ? ctl_stats(s->conn) : NULL;

	if (!stats) {
		json_object_put(ps);
		return -1;
	}
	json_object_put(s->ps);
	s->ps = ps;
	add_up(&s->now, ps);
	count(s, stats);
	json_object_put(stats);
	return 0;
}

const char *ctl_rate_key(enum ctl_rate_of rate)
{
	return rates[rate].key;
}

void ctl_rate_text(char out[CTL_RATE_TEXT], double rate)
{
	static const char unit[] = " kMGT";
	int i = 0;

	while (rate >= 999.95 && unit[i + 1]) {
		rate /= 1000;
		i++;
	}
	if (rate > 9999)
		rate = 9999;
	if (i)
		snprintf(out, CTL_RATE_TEXT, "%.1f%c", rate, unit[i]);
	else
		snprintf(out, CTL_RATE_TEXT, "%.*f", rate < 10 && rate > 0,
			 rate);
}
