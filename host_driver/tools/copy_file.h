/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * copy_file.h - a file read or written from beginning to end, and its SHA-256.
 */
#ifndef UNIC_COPY_FILE_H
#define UNIC_COPY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "target_file.h"

#define COPY_DIGEST 32

struct copy_file {
	int fd;
	uint64_t size;
	uint64_t done;
	void *sha; /* EVP_MD_CTX; NULL: `digest` is there */
	uint8_t digest[COPY_DIGEST];
	bool written; /* its fd is that of `target` */
	struct target_file target;
};

/** copy_file_read() / copy_file_write() - open @path; copy_file_close() closes it. 0 or
 * -errno, as all that follow with words in unic_last_error(). What is written takes its place by
 * copy_file_keep(): with @name as in target_file_open(), without as target_file_new(). */
int copy_file_read(struct copy_file *f, const char *path);
int copy_file_write(struct copy_file *f, const char *path, const char *name,
		    uint64_t size);
/** copy_file_get() / copy_file_put() - read or write the next @len bytes. 0 or
 * -errno. */
int copy_file_get(struct copy_file *f, void *buf, size_t len);
int copy_file_put(struct copy_file *f, const void *buf, size_t len);
/** copy_file_digest() - the SHA-256 of all bytes read or written. There are no more from
 * then on; it may be asked for again. */
void copy_file_digest(struct copy_file *f, uint8_t out[COPY_DIGEST]);
/** copy_file_keep() - the written file is complete: it takes its place. 0, also if
 * that was done before. */
int copy_file_keep(struct copy_file *f);
/** copy_file_close() - close the file, and remove a written one that was not kept. */
void copy_file_close(struct copy_file *f);

#endif /* UNIC_COPY_FILE_H */
