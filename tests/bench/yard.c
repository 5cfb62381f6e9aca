/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* yard.c - see yard.h. */
#include "yard.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 128u
#define CHUNK	   65536u
#define CHUNKS	   64u
#define BATCH	   16u /* round trips timed together */

uint64_t yard_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static volatile uint64_t *word(uint8_t *mem, uint32_t i)
{
	return (volatile uint64_t *)(mem + i * LINE_BYTES);
}

static void await(volatile uint64_t *w, uint64_t v)
{
	while (*w < v)
		__builtin_ia32_pause();
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static void tell(volatile uint64_t *w, uint64_t v)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*w = v;
}

/*
 * Forks the other side of a yardstick, which runs on the cores that this
 * process does not keep to.
 */
static pid_t other_side(void)
{
	cpu_set_t ours, rest;
	pid_t pid = fork();
	int i, n = (int)sysconf(_SC_NPROCESSORS_ONLN);

	if (pid < 0)
		abort();
	if (pid || sched_getaffinity(0, sizeof(ours), &ours))
		return pid;
	CPU_ZERO(&rest);
	for (i = 0; i < n; i++)
		if (!CPU_ISSET(i, &ours))
			CPU_SET(i, &rest);
	if (CPU_COUNT(&rest)) /* else it may be anywhere anyway */
		sched_setaffinity(0, sizeof(rest), &rest);
	return 0;
}

static void *shared(size_t bytes)
{
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (mem == MAP_FAILED)
		abort();
	return mem;
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

double yard_part(double *v, unsigned int n, double part)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[(unsigned int)(part * n)];
}

double yard_median(double *v, unsigned int n)
{
	return yard_part(v, n, 0.5);
}

double yard_line_ns(uint64_t rounds)
{
	uint8_t *mem = shared(4096);
	double *v = calloc(rounds / BATCH, sizeof(*v)), typical;
	pid_t pid = other_side();
	uint64_t i, t = 0;

	if (!v || rounds < BATCH)
		abort();
	if (pid == 0) {
		for (i = 1; i <= rounds; i++) {
			await(word(mem, 0), i);
			tell(word(mem, 1), i);
		}
		_exit(0);
	}
	for (i = 1; i <= rounds; i++) {
		if (i % BATCH == 1)
			t = yard_now_ns();
		tell(word(mem, 0), i);
		await(word(mem, 1), i);
		if (i % BATCH == 0)
			v[i / BATCH - 1] = (double)(yard_now_ns() - t);
	}
	waitpid(pid, NULL, 0);
	munmap(mem, 4096);
	typical = yard_median(v, (unsigned int)(rounds / BATCH));
	free(v);
	return typical / BATCH / 2;
}

double yard_shm2_mbs(uint64_t chunks)
{
	size_t bytes = 4096 + (size_t)CHUNK * CHUNKS;
	uint8_t *mem = shared(bytes), *priv = malloc(CHUNK);
	pid_t pid;
	uint64_t i, t;

	if (!priv)
		abort();
	memset(priv, 1, CHUNK);
	pid = other_side();
	if (pid == 0) {
		for (i = 0; i < chunks; i++) {
			await(word(mem, 0), i + 1);
			memcpy(priv, mem + 4096 + i % CHUNKS * CHUNK, CHUNK);
			tell(word(mem, 1), i + 1);
		}
		_exit(0);
	}
	t = yard_now_ns();
	for (i = 0; i < chunks; i++) {
		if (i >= CHUNKS)
			await(word(mem, 1), i + 1 - CHUNKS);
		memcpy(mem + 4096 + i % CHUNKS * CHUNK, priv, CHUNK);
		tell(word(mem, 0), i + 1);
	}
	await(word(mem, 1), chunks);
	t = yard_now_ns() - t;
	waitpid(pid, NULL, 0);
	munmap(mem, bytes);
	free(priv);
	return (double)chunks * CHUNK / 1e6 / ((double)t / 1e9);
}
