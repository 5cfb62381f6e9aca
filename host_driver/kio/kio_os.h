/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_os.h - the function of its environment that the page service calls besides those
 * of unic_os.h.
 *
 * unicd, the Linux module and the unit tests define it; it is bound at link time.
 */
#ifndef UNIC_KIO_OS_H
#define UNIC_KIO_OS_H

#include "unic_os.h"

/** unic_os_ring_slot() - ring the NIC's doorbell of process slot @slot, as its process
 * would. Runs under the lock of the core; must not call back into it. */
void unic_os_ring_slot(struct unic_os *os, uint32_t slot);

#endif /* UNIC_KIO_OS_H */
