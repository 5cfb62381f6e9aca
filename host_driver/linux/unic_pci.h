/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_pci.h - a NIC as a PCI function: how it is found, reached and left.
 */
#ifndef UNIC_PCI_H
#define UNIC_PCI_H

#include <linux/types.h>

struct unic_os;

/** unic_pci_leave_all() - stop and fence every bound NIC, before kexec. May sleep for
 * seconds; the caller holds no lock. Returns false if some NIC may still write to
 * memory. */
bool unic_pci_leave_all(void);

/** unic_pci_tear_down() - free what @os holds for a NIC that cannot reach memory: the
 * host, pins, DMA mappings and BARs. May sleep; the caller holds no lock and keeps its
 * reference to os->dev. */
void unic_pci_tear_down(struct unic_os *os);

#endif /* UNIC_PCI_H */
