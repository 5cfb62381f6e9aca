/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kmem_work.h - inside unic_kmem*.c: calls of the module.
 *
 * Secret: the order in which a module is told.
 */
#ifndef UNIC_KMEM_WORK_H
#define UNIC_KMEM_WORK_H

#include "unic_kmem_priv.h"

/** unic_kmem_enter(), unic_kmem_exit() - around a call of the module, about @r or NULL. */
void unic_kmem_enter(struct unic_kmem *k, struct unic_kmem_region *r);
void unic_kmem_exit(struct unic_kmem *k);

/** unic_kmem_work() - the work of a handle: set it up, tell its module what there is, and
 * handle connections. */
void unic_kmem_work(struct work_struct *work);

#endif /* UNIC_KMEM_WORK_H */
