/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_files.h - the files that the page service exports: a folder and what is below it,
 * or one file. unicd_files_run() belongs to the worker's thread; open and close to the
 * driver's, before that thread begins and after its end.
 */
#ifndef UNICD_KIO_FILES_H
#define UNICD_KIO_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct unicd_files;
struct unic_kio_task;

/**
 * unicd_files_open() - export the folder, or the one file, @path.
 * @writable: clients may write files, make new ones, and set their length, up to
 * @max_bytes each.
 * Returns NULL if that cannot be had, which is logged. unicd_files_close() frees it.
 */
struct unicd_files *unicd_files_open(const char *path, bool writable,
				     uint64_t max_bytes);

/** unicd_files_close() - close all files and free @files; NULL is fine. */
void unicd_files_close(struct unicd_files *files);

/**
 * unicd_files_run() - do @task, with the buffer that it names; waits for the disk.
 * With op 0 the connection of @task->server is over, and the files kept open for it
 * are closed. Sets size and boot of @task.
 * Returns the bytes moved, or -errno, which the caller stores in @task->n.
 */
int unicd_files_run(struct unicd_files *files, struct unic_kio_task *task);

#endif /* UNICD_KIO_FILES_H */
