/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * memlayout.h - where things are on QEMU's `virt` machine with highmem=off and
 * gic-version=2, and where the image puts itself. Everything is mapped at its own
 * address (see mmu.h), in sections of 1 MiB, and what is not listed here is not
 * mapped: a wild pointer faults.
 *
 * Plain numbers: start.S and the linker script's comments use them too.
 *
 *	08000000  GICv2 distributor, CPU interface, MSI frame (GICv2m)
 *	09000000  PL011 console
 *	0a000000  32 virtio-mmio transports
 *	10000000  PCI memory window: memory BARs, each in sections of its own,
 *	          largest first
 *	3ee00000  the window's last whole MiB: register BARs
 *	3f000000  PCI configuration space of bus 0 (ECAM)
 *	40000000  RAM; QEMU puts its device tree here: not mapped
 *	40100000  our text and constants, read-only
 *	40200000  not mapped: the stack overflows into this
 *	40300000  our stack, tables and data, never executed
 */
#ifndef VIRT_MEMLAYOUT_H
#define VIRT_MEMLAYOUT_H

#define VIRT_SECTION 0x100000

#define VIRT_GICD   0x08000000
#define VIRT_GICC   0x08010000
#define VIRT_GICV2M 0x08020000
#define VIRT_UART   0x09000000

#define VIRT_VIRTIO	   0x0a000000
#define VIRT_VIRTIO_STRIDE 0x200
#define VIRT_VIRTIO_SLOTS  32
#define VIRT_VIRTIO_INTID  48 /* of transport 0; level-triggered */

#define VIRT_PCI_MEM  0x10000000
#define VIRT_PCI_REGS 0x3ee00000
#define VIRT_PCI_END  0x3ef00000
#define VIRT_ECAM     0x3f000000

#define VIRT_TEXT  0x40100000
#define VIRT_GUARD 0x40200000
#define VIRT_RAM   0x40300000

#define VIRT_STACK_BYTES 0x4000 /* of the main program */
#define VIRT_FAULT_BYTES 0x800	/* stack of the fault handlers */

#endif /* VIRT_MEMLAYOUT_H */
