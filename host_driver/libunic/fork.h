/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fork.h - when the process may fork, and what a child has of a context. */
#ifndef UNIC_LIB_FORK_H
#define UNIC_LIB_FORK_H

#include "priv.h"

/** unic_forks_off(), unic_forks_on() - hold off any fork() in between, so that a
 * child neither inherits what is mapped meanwhile nor copies what is unmapped. Nests
 * with no lock but mem_lock, and unic_park_run(). */
void unic_forks_off(void);
void unic_forks_on(void);
/** unic_ctx_add(), unic_ctx_del() - add @ctx to the contexts of the process, or
 * remove it. */
void unic_ctx_add(struct unic_ctx *ctx);
void unic_ctx_del(struct unic_ctx *ctx);
/** unic_ctx_first() - the first context of the process; the others by ctx->next.
 * Forks are off. */
struct unic_ctx *unic_ctx_first(void);
/** unic_fail_forked() - returns -ENOTCONN, with words: calls on the parent's contexts
 * in a child. */
int unic_fail_forked(void);

#endif /* UNIC_LIB_FORK_H */
