/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * gaps.c - does this machine hang? On each processor a real-time thread reads
 * the clock at intervals, and another one asks a driver again and again. Prints
 * which of them was late, and from when to when.
 *
 *   gaps FILE    until it is killed: reads FILE, too
 *   gaps         what the clock says now
 *
 * Microseconds of CLOCK_MONOTONIC. See hangs.py.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TICK_US	 10000u
#define LEAST_US 100000u /* what is shorter is not printed */
#define CPUS_MAX 8

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void before_all(int priority)
{
	struct sched_param p = { .sched_priority = priority };

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &p)) {
		fprintf(stderr, "gaps: no real-time priority\n");
		exit(1);
	}
}

static void say(const char *who, long n, uint64_t from)
{
	uint64_t to = now_us();

	if (to - from >= LEAST_US)
		printf("%s %ld %llu %llu\n", who, n, (unsigned long long)from,
		       (unsigned long long)to);
}

static void *tick(void *arg)
{
	long cpu = (long)(intptr_t)arg;
	uint64_t from;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	before_all(99);
	for (;;) {
		from = now_us();
		usleep(TICK_US);
		say("processor", cpu, from);
	}
	return NULL;
}

static void ask(const char *path)
{
	char text[64];
	uint64_t from;
	int fd;

	before_all(98);
	for (;;) {
		from = now_us();
		fd = open(path, O_RDONLY);
		if (fd >= 0) { /* else the driver is away */
			(void)!read(fd, text, sizeof(text));
			close(fd);
		}
		say("answer", 0, from);
		usleep(TICK_US);
	}
}

int main(int argc, char **argv)
{
	long cpu, cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread;

	if (argc < 2) {
		printf("%llu\n", (unsigned long long)now_us());
		return 0;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++)
		if (pthread_create(&thread, NULL, tick, (void *)(intptr_t)cpu))
			return 1;
	ask(argv[1]);
	return 0;
}
