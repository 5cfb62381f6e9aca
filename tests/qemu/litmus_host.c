/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * litmus_host.c RAMFILE SECONDS - the driver's half: write the index, full
 * barrier, look whether the NIC sleeps. Plain stores and loads, as the mailbox
 * uses them.
 *
 * If in one round neither side saw the other's store, a doorbell would have
 * been lost. Prints "rounds R lost L"; exit code 2 when the guest does not
 * answer, 0 otherwise: judging is the caller's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "litmus_shared.h"
#include "unic_port.h"

#define LITMUS_PAGE	  4096u
#define GUEST_PATIENCE_NS 20000000000ull

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits for a word; gives up on a guest that has ended: exit code 2. */
static void wait_for(volatile uint32_t *word, uint32_t value)
{
	uint64_t until = 0;

	for (uint32_t spins = 1; *word != value; spins++) {
		if (spins % 1000000u)
			continue;
		if (!until)
			until = now_ns() + GUEST_PATIENCE_NS;
		if (now_ns() < until)
			continue;
		fprintf(stderr, "litmus-host: the guest does not answer\n");
		exit(2);
	}
}

/* A varying distance, so that the two sides meet at every phase. */
static void stagger(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	for (volatile uint32_t n = (*seed >> 16) % 200u; n; n--)
		;
}

static struct litmus *map(const char *path)
{
	int fd = open(path, O_RDWR);
	void *page;

	if (fd < 0) {
		perror(path);
		exit(2);
	}
	page = mmap(NULL, LITMUS_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    LITMUS_OFFSET);
	if (page == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return page;
}

int main(int argc, char **argv)
{
	struct litmus *l;
	uint32_t seed = 1, round, lost = 0;
	uint64_t until;

	if (argc != 3) {
		fprintf(stderr, "usage: litmus-host RAMFILE SECONDS\n");
		return 2;
	}
	l = map(argv[1]);
	while (l->ready.word != LITMUS_READY)
		usleep(1000); /* bounded by the caller's time-out */
	until = now_ns() + strtoull(argv[2], NULL, 10) * 1000000000u;
	for (round = 1; now_ns() < until; round++) {
		l->round.word = round;
		stagger(&seed);
		l->tail.word = round;
		unic_mb();
		uint32_t asleep = l->asleep.word;

		wait_for(&l->done.word, round);
		if (asleep != round && l->seen.word != round)
			lost++;
	}
	l->round.word = LITMUS_STOP;
	printf("rounds %u lost %u\n", round - 1, lost);
	return 0;
}
