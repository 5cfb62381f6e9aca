/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ivshmem_pci.h - QEMU's inter-VM shared memory device, seen from the guest:
 * BAR0 registers, BAR1 MSI-X table, BAR2 memory (QEMU, docs/specs/ivshmem-spec).
 */
#ifndef IVSHMEM_PCI_H
#define IVSHMEM_PCI_H

#include "pci_ecam.h"

#define IVSHMEM_VENDOR 0x1af4u
#define IVSHMEM_DEVICE 0x1110u

#define IVSHMEM_REGS   0u /* BARs */
#define IVSHMEM_MEMORY 2u

#define IVSHMEM_IVPOSITION 0x08u
#define IVSHMEM_DOORBELL   0x0cu

/** ivshmem_is() - is it one? */
static inline bool ivshmem_is(const struct pci_function *fn)
{
	return fn->vendor == IVSHMEM_VENDOR && fn->device == IVSHMEM_DEVICE &&
	       fn->bar[IVSHMEM_MEMORY].addr;
}

/** ivshmem_peer() - the number of this NIC on the device's server. @regs: BAR0. */
static inline uint32_t ivshmem_peer(uintptr_t regs)
{
	return *(volatile uint32_t *)(regs + IVSHMEM_IVPOSITION);
}

/**
 * ivshmem_ring() - interrupt @peer by @vector. The DSB makes all earlier writes to
 * the shared memory visible before it. A peer or vector that is not there is
 * ignored by the device.
 */
static inline void ivshmem_ring(uintptr_t regs, uint32_t peer, uint32_t vector)
{
	__asm__ volatile("dsb st" ::: "memory");
	*(volatile uint32_t *)(regs + IVSHMEM_DOORBELL) = peer << 16 | vector;
}

#endif /* IVSHMEM_PCI_H */
