/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* provider_nic.h - the provider behind a mailbox. */
#ifndef UNIC_PROVIDER_NIC_H
#define UNIC_PROVIDER_NIC_H

#include "host.h"

/**
 * unic_nic_provider() - the NIC whose mailbox memory is @bar (UNIC_BAR_BYTES).
 * Returns NULL when out of memory. Free with unic_os_free().
 */
struct unic_provider *unic_nic_provider(struct unic_os *os, void *bar);

#endif /* UNIC_PROVIDER_NIC_H */
