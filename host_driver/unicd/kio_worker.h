/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_worker.h - a thread that reads and writes the files of the page service, so that
 * the event loop does not wait for a disk.
 */
#ifndef UNICD_KIO_WORKER_H
#define UNICD_KIO_WORKER_H

#include <stdbool.h>

struct unic_kio_store;
struct unicd;
struct unicd_files;

/**
 * unicd_worker_start() - start the thread. An event UNICD_EV_KIO of @d says that a
 * task is done.
 * @files: the worker's until unicd_worker_stop() returns true.
 * Returns its store, for the page service; NULL: nothing was started, and that is
 * logged.
 */
struct unic_kio_store *unicd_worker_start(struct unicd *d,
					  struct unicd_files *files);

/**
 * unicd_worker_stop() - the task that is being done is finished, the others are not
 * begun. Waits a second, at most.
 * Returns true: the thread ended, @store is freed. False: the thread hangs, and still
 * uses @store and its files: leave both, and end the process.
 */
bool unicd_worker_stop(struct unic_kio_store *store);

#endif /* UNICD_KIO_WORKER_H */
