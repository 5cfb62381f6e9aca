/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fork.h - when the process may fork, and what a child has of a context. */
#ifndef UNIC_LIB_FORK_H
#define UNIC_LIB_FORK_H

#include "priv.h"

/** unic_forks_off() - no fork() until unic_forks_on(), so that a child does not
 * inherit what is mapped meanwhile, nor get copies of what goes. Nests with no lock
 * but mem_lock, and park() of move.c. */
void unic_forks_off(void);
void unic_forks_on(void);
/** unic_ctx_add(), unic_ctx_del() - to and from the contexts of the process. */
void unic_ctx_add(struct unic_ctx *ctx);
void unic_ctx_del(struct unic_ctx *ctx);
/** unic_ctx_first() - of them; the others by ctx->next. Forks are off. */
struct unic_ctx *unic_ctx_first(void);
/** unic_fail_forked() - -ENOTCONN with words: what a context of the parent
 * answers in a child. */
int unic_fail_forked(void);

#endif /* UNIC_LIB_FORK_H */
