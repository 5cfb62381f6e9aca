/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_resident.h - the page service of a NIC (host_driver/kio), for other modules
 * of this kernel: I/Os to files that other hosts export, from and to pages
 * wherever they lie.
 *
 * Secret: how the service runs inside this driver: its slot, its memory, whose
 * thread and under which lock.
 */
#ifndef UNIC_RESIDENT_H
#define UNIC_RESIDENT_H

#include "kio_client.h"
#include "kio_ring.h"

struct device;
struct unic_resident;

/**
 * unic_resident_get() - the service of NIC @number (/dev/unicN), set up if nobody
 * used it so far. May sleep. It lasts until unic_resident_put(); the NIC may go
 * before, then no I/O begins any more.
 * Returns it, or ERR_PTR(): -ENODEV, no such NIC; -ENOMEM.
 */
struct unic_resident *unic_resident_get(unsigned int number);

/** unic_resident_put() - no I/O of the caller is open. May sleep. */
void unic_resident_put(struct unic_resident *r);

/** unic_resident_dma() - the device whose bus addresses pieces have. */
struct device *unic_resident_dma(const struct unic_resident *r);

/** unic_resident_window() - I/Os that it has under way with a host, at most, now:
 * fewer while the NIC asks processes for entries. */
u32 unic_resident_window(const struct unic_resident *r);

/**
 * unic_resident_start() - begin @io at the service of host @ipv4 (host order): the
 * caller's part is filled in. May sleep, but waits for no host.
 * Returns 0, and io->done() follows: once, with a lock of the driver held, so it
 * may neither sleep nor call us; perhaps before this returns. The pieces are the
 * caller's again then. -EINVAL; -EBUSY, too many hosts; -ENODEV, the NIC is gone.
 */
int unic_resident_start(struct unic_resident *r, struct unic_kio *io, u32 ipv4);

#endif /* UNIC_RESIDENT_H */
