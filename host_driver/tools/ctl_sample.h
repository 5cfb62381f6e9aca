/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_sample.h - a NIC looked at again and again: who holds its table, and how often
 * things happen.
 *
 * Secret: which counters a rate is made of, and the time between two of their values.
 */
#ifndef UNIC_CTL_SAMPLE_H
#define UNIC_CTL_SAMPLE_H

#include <json-c/json.h>
#include <stdbool.h>

#include "conn.h"

#define CTL_RATE_TEXT 8 /* bytes of a rate as text */

enum ctl_rate_of {
	CTL_RATE_GRANTED, /* REGISTER_WAIT requests granted */
	CTL_RATE_NOTICES, /* eviction notices sent */
	CTL_RATE_EVICTED, /* regions evicted */
	CTL_RATE_MISSES,  /* accesses that met no entry */
	CTL_RATE_TX,	  /* bytes sent */
	CTL_RATE_RX,	  /* bytes received */
	CTL_RATES
};

struct ctl_sample {
	uint64_t entries;	   /* of the table */
	uint64_t held;		   /* by processes */
	uint64_t waiting;	   /* requests for entries */
	uint64_t notices;	   /* without an answer */
	uint64_t time_ns;	   /* of the counters, NIC time */
	double rate[CTL_RATES];	   /* in a second; 0 in the first sample */
	struct json_object *procs; /* as of ctl_ps(); not the caller's */
};

struct ctl_sampler {
	struct unic_conn *conn;
	struct json_object *info, *ps; /* info: as of ctl_info() */
	uint64_t count[CTL_RATES];     /* of the sample before */
	struct ctl_sample now;
	bool again; /* there is a sample before */
};

/** ctl_sampler_init() - @s, of the NIC of @conn. 0, and ctl_sampler_fini() is due; -1 with
 * words in unic_last_error(). */
int ctl_sampler_init(struct ctl_sampler *s, struct unic_conn *conn);

/** ctl_sampler_fini() - free what @s holds. */
void ctl_sampler_fini(struct ctl_sampler *s);

/** ctl_sampler_look() - look at the NIC: s->now is as it is now, valid until the next look.
 * The NIC counts once in a heartbeat (100 ms): a look before it has the rates of the look
 * before. 0; -1 with words. */
int ctl_sampler_look(struct ctl_sampler *s);

/** ctl_rate_key() - the name of @rate in JSON. */
const char *ctl_rate_key(enum ctl_rate_of rate);

/** ctl_rate_text() - @rate in @out: up to 999.9 as it is, then with k, M, G of 1000. */
void ctl_rate_text(char out[CTL_RATE_TEXT], double rate);

#endif /* UNIC_CTL_SAMPLE_H */
