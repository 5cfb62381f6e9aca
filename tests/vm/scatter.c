/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * scatter - writes to a disk, each from pages that are not adjacent in memory.
 *
 *   scatter DISK WRITES BYTES
 *
 * The pages of its memory are touched in a random order, so that pages that are
 * adjacent in its address space are not in the machine's memory. Each write is
 * read back and compared. Ends in "scatter: ok" and how long a write took, in
 * microseconds: mean and median.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE	   4096ul
#define PAGES	   4096ul
#define BYTES_MAX  (1ul << 20)
#define WRITES_MAX 100000ul

static uint8_t *memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(2);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

/* Touches the pages in a random order; each holds its number. */
static void touch(uint8_t *mem)
{
	static unsigned long order[PAGES];
	unsigned long i, k, t;

	for (i = 0; i < PAGES; i++)
		order[i] = i;
	for (i = PAGES - 1; i; i--) {
		k = (unsigned long)rand() % (i + 1);
		t = order[i];
		order[i] = order[k];
		order[k] = t;
	}
	for (i = 0; i < PAGES; i++) {
		memset(mem + order[i] * PAGE, (int)order[i], PAGE);
		memcpy(mem + order[i] * PAGE, &order[i], sizeof(order[i]));
	}
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* How long the write took; negative: it failed, or other bytes came back. */
static double one(int disk, const uint8_t *mem, uint8_t *back, size_t bytes)
{
	size_t at = (size_t)rand() % (PAGES * PAGE / bytes) * bytes;
	double begin = now_us(), took;

	if (pwrite(disk, mem + at, bytes, (off_t)at) != (ssize_t)bytes)
		return -1;
	took = now_us() - begin;
	if (pread(disk, back, bytes, (off_t)at) != (ssize_t)bytes ||
	    memcmp(back, mem + at, bytes))
		return -1;
	return took;
}

static int less(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	size_t bytes = argc == 4 ? strtoul(argv[3], NULL, 0) : 0;
	size_t n = argc == 4 ? strtoul(argv[2], NULL, 0) : 0, i;
	int disk = n ? open(argv[1], O_RDWR | O_DIRECT) : -1;
	uint8_t *mem = memory(PAGES * PAGE), *back = memory(BYTES_MAX);
	static double took[WRITES_MAX];
	double sum = 0;

	if (disk < 0 || !bytes || bytes > BYTES_MAX || bytes % PAGE ||
	    n > WRITES_MAX) {
		fprintf(stderr, "usage: scatter DISK WRITES BYTES\n");
		return 2;
	}
	srand(5);
	touch(mem);
	for (i = 0; i < n; i++) {
		took[i] = one(disk, mem, back, bytes);
		sum += took[i];
		if (took[i] < 0) {
			fprintf(stderr, "scatter: write %zu failed\n", i);
			return 1;
		}
	}
	qsort(took, n, sizeof(*took), less);
	printf("scatter: ok %.0f %.0f\n", sum / (double)n, took[n / 2]);
	return 0;
}
