/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_pci.h - a NIC as a PCI function: how it is found, reached and left.
 */
#ifndef UNIC_PCI_H
#define UNIC_PCI_H

#include <linux/types.h>

struct unic_os;

/** unic_pci_ring() - ring doorbell vector @vector of the NIC; does nothing when the
 * registers are unmapped. Any context; takes os->ring_lock. */
void unic_pci_ring(struct unic_os *os, u32 vector);

/** unic_pci_ring_at() - ring doorbell vector @vector through @regs, the registers of a
 * function that no unic_os has yet. Any context, no lock. */
void unic_pci_ring_at(void __iomem *regs, u32 vector);

/** unic_pci_end_nic() - ask the bus to end the NIC, and return before it has. Any
 * context; takes os->ring_lock. */
void unic_pci_end_nic(struct unic_os *os);

/** unic_pci_leave_all() - stop and fence every bound NIC, before kexec. May sleep for
 * seconds; the caller holds no lock. Returns false if some NIC may still write to
 * memory. */
bool unic_pci_leave_all(void);

/** unic_pci_tear_down() - free what @os holds for a NIC that cannot reach memory: the
 * host, pins, DMA mappings and BARs. May sleep; the caller holds no lock and keeps its
 * reference to os->dev. */
void unic_pci_tear_down(struct unic_os *os);

/** unic_pci_error() - run the error handlers as the bus would after a frozen channel;
 * tests start it through debugfs. May sleep; takes unic_os.lock. */
void unic_pci_error(struct unic_os *os);

#endif /* UNIC_PCI_H */
