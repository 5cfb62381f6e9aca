/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_prefetch.h - pages are fetched for a request before unic_os.lock is taken.
 */
#ifndef UNIC_PREFETCH_H
#define UNIC_PREFETCH_H

#include <linux/types.h>

struct unic_client;
struct unic_mem;

/**
 * unic_prefetch() - fetch the pages that the request @msg, not vetted yet, would register,
 * and add them to @pins, for unic_pins_ready(). Sleeps, as long as a disk does; the
 * caller holds no lock.
 * Returns 0, also if pages cannot be had, which the core finds out; -ERESTARTSYS: a
 * signal came, and @pins is empty.
 */
int unic_prefetch(struct unic_mem *mem, struct unic_client *client,
		  const void *msg, u32 bytes, struct list_head *pins);

/** unic_prefetch_drop() - end the pins that are left in @pins. */
void unic_prefetch_drop(struct unic_mem *mem, struct list_head *pins);

#endif /* UNIC_PREFETCH_H */
