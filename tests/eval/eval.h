/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * eval.h - the experiments of docs/evidence/evaluation.md. Each is one run of one
 * world: it reads its options, and prints lines "name=value ..." that eval.py
 * collects.
 */
#ifndef EVAL_EVAL_H
#define EVAL_EVAL_H

#include <stdio.h>

#include "world.h"

/* What was asked for on the command line; what an experiment does not know it
 * ignores. */
struct options {
	uint32_t seed;
	const char *how;     /* hoard: unic, first, quota, today; residency: its
			      * mode */
	uint32_t meek;	     /* hoard: processes beside the greedy one */
	uint32_t load;	     /* hoard, residency: per cent, see there */
	uint32_t grace_us;   /* T */
	uint32_t chunk;	     /* hoard, residency: pages of a region */
	uint32_t ms;	     /* length */
	uint32_t rounds;     /* operations, messages, accesses */
	uint32_t loss;	     /* parts per million of frames */
	uint32_t posted;     /* message: buffers at a time, 2 or 3 */
	uint32_t watermarks; /* hoard: 0: none, 1: the NIC's own */
	uint32_t weight;     /* pain: per cent */
	uint32_t waits;	     /* hoard: goes on for so many REGISTER_WAIT */
	bool churn;	     /* hoard: meek processes come and go */
	bool series;	     /* hoard: shares over time, too */
	bool manager;	     /* grace: with the buffer manager */
	bool remote;	     /* grace: the far region is asked back */
};

void hoard(const struct options *o);
void grace(const struct options *o);
void message(const struct options *o);
void residency(const struct options *o);
void lists(const struct options *o);
void kio(const struct options *o);
void fair(const struct options *o);
void pain(const struct options *o);

/* ------------------------------------------------------------------ stage.c */

/** stage_new() - @n machines and a wire without faults but @loss; every byte
 * takes @byte_ns on it. */
void stage_new(uint32_t n, const struct unic_cmd_set_params *params,
	       uint32_t loss, uint32_t byte_ns);

/** stage_wait() - until @done; fails the run if that takes longer than @ns. */
void stage_wait(bool (*done)(void *ctx), void *ctx, uint64_t ns,
		const char *what);

/* Numbers of which a distribution is wanted. */
struct sample {
	uint32_t n, room;
	uint32_t *at;
};

void sample_add(struct sample *s, uint64_t v);
/** sample_at() - the value below which @ppm of them lie; 0 if there is none. */
uint32_t sample_at(struct sample *s, uint32_t ppm);

/** stage_jain() - Jain's index of @n amounts, in millionths. */
uint32_t stage_jain(const uint64_t *x, uint32_t n);

#endif /* EVAL_EVAL_H */
