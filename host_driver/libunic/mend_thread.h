/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mend_thread.h - the threads that connect queue pairs again.
 *
 * Secret: the steps of docs/DESIGN.md section 15.1, and how long each may take. A context
 * with a queue pair that is to be mended has one thread, the watcher, which reads upcalls
 * beside unic_get_event(); each queue pair that is broken has one while it is.
 */
#ifndef UNIC_LIB_MEND_THREAD_H
#define UNIC_LIB_MEND_THREAD_H

#include "priv.h"

/** unic_mender_init() - no thread runs yet. Also in the child of a fork(). */
void unic_mender_init(struct unic_mender *m);
/** unic_mender_fini() - end all threads of @ctx. */
void unic_mender_fini(struct unic_ctx *ctx);

/** unic_mender_start() - have the watcher run. 0, or -errno with words. */
int unic_mender_start(struct unic_ctx *ctx);
/** unic_mender_pause() - end all threads. Queue pairs that are broken are not mended any
 * more. True: the watcher was running, and unic_mender_start() is due. */
bool unic_mender_pause(struct unic_ctx *ctx);

/** unic_mender_kick() - a queue pair is broken. The lock of the mender is held. */
void unic_mender_kick(struct unic_ctx *ctx);

/** unic_mender_claim() - true if @qp is broken and nobody is at work on it: the caller
 * is from now on, and owes unic_mender_run(). The lock of the mender is held. */
bool unic_mender_claim(struct unic_qp *qp);
/** unic_mender_run() - mend @qp, or complete what is held back. */
void unic_mender_run(struct unic_qp *qp);

#endif /* UNIC_LIB_MEND_THREAD_H */
