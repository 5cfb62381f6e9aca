/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* recorder.c - see recorder.h. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "memory/candidates.h"
#include "memory/memory.h"

#define PAGE 4096ull

static FILE *file;
static const struct unic_mr_ctx
	*last; /* region of the last line, and its generation */
static uint32_t last_gen;

static void open_file(void)
{
	const char *prefix = getenv("UNIC_RECORD");
	char path[4096];

	if (!prefix)
		return;
	snprintf(path, sizeof(path), "%s.%d", prefix, (int)getpid());
	file = fopen(path, "w");
	if (file)
		return;
	perror(path);
	exit(EXIT_FAILURE);
}

static void write_use(const struct unic_mr_ctx *mr)
{
	struct timespec at;

	if (mr == last && mr->gen == last_gen)
		return;
	last = mr;
	last_gen = mr->gen;
	clock_gettime(CLOCK_MONOTONIC, &at);
	fprintf(file, "%lld%09ld,%u,%llu,%u,%u\n", (long long)at.tv_sec,
		at.tv_nsec, unic_candidate_identity(mr), mr->n_pages * PAGE,
		mr->proc, mr->importance);
}

/* Ends, because derived regions nest to a fixed depth. */
static void note_all(struct unic_memory *nic, const struct unic_mr_ctx *mr)
{
	const struct unic_derived *form = &nic->derived.form[mr - nic->mrs.mr];
	uint32_t i;

	for (i = form->first; i < (uint32_t)form->first + form->used; i++)
		note_all(nic, &nic->mrs.mr[nic->derived.element[i].mr]);
	if (!form->used && mr->n_pages && mr->mr_class != UNIC_CLASS_CONTROL)
		write_use(mr);
}

void recorder_use(struct unic_memory *nic, const struct unic_mr_ctx *mr)
{
	static bool tried;

	if (!tried)
		open_file();
	tried = true;
	if (file)
		note_all(nic, mr);
}
