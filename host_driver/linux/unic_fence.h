/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_fence.h - how a NIC is kept from memory, and the devices whose NIC is not.
 */
#ifndef UNIC_FENCE_H
#define UNIC_FENCE_H

#include <linux/types.h>

struct pci_dev;
struct unic_os;

/** unic_fence_init() - start the quarantine worker and listen for kexec, once at load.
 * Returns 0 or -errno; on error nothing is left. */
int unic_fence_init(void);

/** unic_fence_exit() - end the quarantine at unload; waits seconds for a NIC that does
 * not answer, then gives its pages up for lost. */
void unic_fence_exit(void);

/**
 * unic_fence() - keep the NIC from all memory. Sleeps for seconds at most, until the NIC
 * answers or the bus has ended it; takes unic_os.lock, which the caller does not hold.
 * Returns true: the core has released all memory that the NIC could reach. False: the
 * core keeps that memory, and has begun nothing since.
 */
bool unic_fence(struct unic_os *os);

/** unic_unfence() - end the fence: the engine finds the NIC again and resets it. Takes
 * unic_os.lock, which the caller does not hold. */
void unic_unfence(struct unic_os *os);

/** unic_quarantine() - keep @os after unic_fence() returned false and its driver is
 * unbound. Takes over the caller's reference to os->dev; a worker tears @os down when
 * the NIC answers. May sleep. */
void unic_quarantine(struct unic_os *os);

/**
 * unic_quarantine_settle() - fence the NIC at the PCI address of @pdev and release the
 * devices in quarantine there. @bar, @regs: the BARs of @pdev, as mapped by the caller.
 * May sleep for seconds; the caller holds no lock.
 * Returns 0, also if none was there; -EBUSY: the NIC does not answer.
 */
int unic_quarantine_settle(struct pci_dev *pdev, void *bar, void __iomem *regs);

/** unic_quarantined() - count the pages in quarantine, of all devices. May sleep. */
u64 unic_quarantined(void);

#endif /* UNIC_FENCE_H */
