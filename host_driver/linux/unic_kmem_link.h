/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kmem_link.h - inside unic_kmem*.c: the slot of a handle.
 *
 * Secret: what is set up in it, and what ends it all.
 */
#ifndef UNIC_KMEM_LINK_H
#define UNIC_KMEM_LINK_H

#include "unic_kmem_priv.h"

/** unic_kmem_set_up() - get a slot and what is needed in it, unless that is done, or must
 * wait. 0 or a status; takes both locks. */
int unic_kmem_set_up(struct unic_kmem *k);
/** unic_kmem_may_touch() - true while the NIC may use pages of before a reset. */
bool unic_kmem_may_touch(const struct unic_kmem *k);
/** unic_kmem_restart() - give the slot up: its state is not known. With unic_os.lock. */
void unic_kmem_restart(struct unic_kmem *k);
/** unic_kmem_poll() - as poll() of struct unic_kclient. */
u64 unic_kmem_poll(struct unic_kclient *kc);

#endif /* UNIC_KMEM_LINK_H */
