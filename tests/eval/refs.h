/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * refs.h - a trace of references in memory.
 *
 * Secret: the formats of files. What was read is compact: things are numbered
 * from 0 in the order of their first use.
 */
#ifndef UNIC_EVAL_REFS_H
#define UNIC_EVAL_REFS_H

#include <stddef.h>
#include <stdint.h>

#define REFS_PROCESSES 8u
#define REFS_NEVER     UINT32_MAX

enum refs_format {
	REFS_ORACLE, /* libCacheSim's oracleGeneral: 24 bytes a reference */
	REFS_CSV,    /* time,key,size[,process[,importance]]; header optional */
	REFS_IDS,    /* a page number a line */
	REFS_EVENTS, /* trace-event JSON, of `unicctl trace --perfetto` */
};

struct ref {
	uint32_t thing;
	uint32_t next; /* index of its next reference, or REFS_NEVER */
};

struct thing {
	uint64_t bytes; /* as first seen */
	uint32_t entries;
	uint8_t process;
	uint8_t importance;
};

struct refs {
	struct ref *ref;
	struct thing *thing;
	size_t n, n_things;
	uint32_t processes; /* highest number, plus 1 */
};

/**
 * refs_read() - @path ("-": standard input) into *@out. A thing of size s takes
 * s / @page entries, rounded up, at least 1.
 * @skip: process whose references are left out, or -1.
 * Returns 0, or -1 with a message of at most @len bytes in @why; then nothing is
 * held. refs_free() otherwise.
 */
int refs_read(struct refs *out, const char *path, enum refs_format format,
	      uint32_t page, int skip, char *why, size_t len);
void refs_free(struct refs *r);

#endif /* UNIC_EVAL_REFS_H */
