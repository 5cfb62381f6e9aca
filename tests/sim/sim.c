/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* sim.c - see sim.h. */
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 65536u

struct event {
	uint64_t at_ns, seq;
	sim_fn fn;
	void *ctx;
	uint64_t arg;
};

/* In front of each block: the list of all, so that a run leaves none behind. */
struct block {
	struct block *prev, *next;
};

static struct {
	uint64_t seed, now_ns, seq, hash;
	bool trace;
	uint32_t n, ran;
	struct block blocks;
	struct sim_verdict *out;
	jmp_buf over;
	struct event heap[EVENTS_MAX];
} sim;

/* ------------------------------------------------------------------- chance */

uint64_t sim_u64(struct sim_rng *r)
{
	uint64_t z = r->s += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t salt;

void sim_salt(uint64_t n)
{
	salt = n * 0x9fb21c651e98df25ull;
}

void sim_rng_init(struct sim_rng *r, uint64_t seed, uint64_t who)
{
	r->s = seed ^ salt;
	r->s = sim_u64(r) ^ who * 0xd1342543de82ef95ull;
	sim_u64(r);
}

uint32_t sim_below(struct sim_rng *r, uint32_t n)
{
	return (uint32_t)((sim_u64(r) >> 32) * n >> 32);
}

uint64_t sim_range(struct sim_rng *r, uint64_t lo, uint64_t hi)
{
	return lo + sim_u64(r) % (hi - lo + 1);
}

bool sim_chance(struct sim_rng *r, uint32_t ppm)
{
	return ppm && sim_below(r, 1000000) < ppm;
}

/* ------------------------------------------------------------------- memory */

void *sim_alloc(size_t bytes)
{
	struct block *b = calloc(1, sizeof(*b) + bytes);

	if (!b) {
		perror("sim");
		exit(2);
	}
	b->next = sim.blocks.next;
	b->prev = &sim.blocks;
	b->next->prev = b;
	sim.blocks.next = b;
	return b + 1;
}

void sim_free(void *p)
{
	struct block *b = (struct block *)p - 1;

	if (!p)
		return;
	b->prev->next = b->next;
	b->next->prev = b->prev;
	free(b);
}

static void free_all(void)
{
	while (sim.blocks.next != &sim.blocks)
		sim_free(sim.blocks.next + 1);
}

/* -------------------------------------------------------------------- time */

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->seq < b->seq);
}

void sim_at(uint64_t at_ns, sim_fn fn, void *ctx, uint64_t arg)
{
	struct event e = { at_ns < sim.now_ns ? sim.now_ns : at_ns, sim.seq++,
			   fn, ctx, arg };
	uint32_t i = sim.n++;

	if (sim.n > EVENTS_MAX)
		sim_fail("sim", "more than %u events are due", EVENTS_MAX);
	for (; i && before(&e, &sim.heap[(i - 1) / 2]); i = (i - 1) / 2)
		sim.heap[i] = sim.heap[(i - 1) / 2];
	sim.heap[i] = e;
}

static struct event take(void)
{
	struct event first = sim.heap[0], last = sim.heap[--sim.n];
	uint32_t i = 0, c;

	while ((c = 2 * i + 1) < sim.n) {
		if (c + 1 < sim.n && before(&sim.heap[c + 1], &sim.heap[c]))
			c++;
		if (before(&last, &sim.heap[c]))
			break;
		sim.heap[i] = sim.heap[c];
		i = c;
	}
	sim.heap[i] = last;
	return first;
}

bool sim_until(uint64_t end_ns, bool (*done)(void *ctx), void *ctx)
{
	while (sim.n && sim.heap[0].at_ns <= end_ns) {
		struct event e = take();

		sim.now_ns = e.at_ns;
		sim.ran++;
		e.fn(e.ctx, e.arg);
		if (done && done(ctx))
			return true;
	}
	sim.now_ns = end_ns;
	return false;
}

uint64_t sim_now(void)
{
	return sim.now_ns;
}

uint64_t sim_seed(void)
{
	return sim.seed;
}

/* --------------------------------------------------------------------- log */

void sim_note(uint64_t a, uint64_t b)
{
	sim.hash = (sim.hash ^ a) * 0x100000001b3ull;
	sim.hash = (sim.hash ^ b ^ sim.now_ns << 20) * 0x9e3779b97f4a7c15ull;
	sim.hash ^= sim.hash >> 29;
}

/* FNV-1a over the line, then the time. */
static void hash_line(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
	sim_note(h, 1);
}

void sim_log(const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	hash_line(line);
	if (sim.trace)
		printf("%12.3f us  %s\n", (double)sim.now_ns / 1000, line);
}

bool sim_tracing(void)
{
	return sim.trace;
}

void sim_fail(const char *checker, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sim.out->text, sizeof(sim.out->text), fmt, ap);
	va_end(ap);
	sim.out->checker = checker;
	longjmp(sim.over, 1);
}

/* --------------------------------------------------------------------- run */

void sim_run(uint64_t seed, bool trace, void (*main)(void *arg), void *arg,
	     struct sim_verdict *out)
{
	memset(out, 0, sizeof(*out));
	sim.seed = seed;
	sim.now_ns = MS;
	sim.seq = 0;
	sim.hash = seed;
	sim.trace = trace;
	sim.n = 0;
	sim.ran = 0;
	sim.blocks.next = sim.blocks.prev = &sim.blocks;
	sim.out = out;
	if (!setjmp(sim.over))
		main(arg);
	if (trace && out->checker)
		printf("%12.3f us  *** %s: %s\n", (double)sim.now_ns / 1000,
		       out->checker, out->text);
	out->at_ns = sim.now_ns;
	out->log_hash = sim.hash;
	out->events = sim.ran;
	free_all();
}
