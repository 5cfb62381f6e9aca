/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pci_ecam.h - find the functions on bus 0 of a PCIe host bridge, give their
 * memory BARs addresses, switch their MSI-X on. The secret: configuration
 * space (PCI Local Bus 3.0 chapter 6).
 *
 * There is no BIOS on the board that would have done this. Order of use: scan,
 * place, then per function enable and msix.
 */
#ifndef PCI_ECAM_H
#define PCI_ECAM_H

#include <stdbool.h>
#include <stdint.h>

#define PCI_SLOTS 32u
#define PCI_BARS  6u

struct pci_bar {
	uint32_t bytes; /* 0: not there, or I/O, or 4 GiB and more */
	uint32_t addr;	/* set by pci_ecam_place() */
	bool memory;	/* prefetchable: memory, no side effects */
	bool wide;	/* 64-bit: takes the next BAR too */
};

struct pci_function {
	uintptr_t cfg; /* its configuration space */
	uint16_t vendor;
	uint16_t device;
	struct pci_bar bar[PCI_BARS];
};

/* A piece of address space to place BARs in. */
struct pci_window {
	uint32_t next;
	uint32_t end;
	uint32_t align; /* of every BAR, beside its natural alignment */
};

/**
 * pci_ecam_scan() - function 0 of each slot of bus 0, in slot order.
 * @ecam: configuration space of bus 0.
 * @fns:  filled; room for PCI_SLOTS.
 *
 * BARs are sized with decoding off; it stays off. Returns how many there are.
 */
uint32_t pci_ecam_scan(uintptr_t ecam, struct pci_function *fns);

/**
 * pci_ecam_place() - give every BAR an address, the largest first, so that
 * alignment wastes nothing.
 * @memory: window for BARs that are memory. @regs: for the others.
 * Returns false if they do not all fit; those that do not have addr 0.
 */
bool pci_ecam_place(struct pci_function *fns, uint32_t count,
		    struct pci_window *memory, struct pci_window *regs);

/** pci_ecam_enable() - decode the BARs, allow bus mastering (MSIs need it). */
void pci_ecam_enable(const struct pci_function *fn);

/** pci_ecam_msix() - how many MSI-X vectors the function has; 0: no MSI-X. */
uint32_t pci_ecam_msix(const struct pci_function *fn);

/**
 * pci_ecam_msix_enable() - MSI-X on: vector i < @count writes @data + i to @addr,
 * any other stays masked. The function is enabled and its BARs are mapped.
 * Returns how many vectors were set, at most pci_ecam_msix().
 */
uint32_t pci_ecam_msix_enable(const struct pci_function *fn, uint32_t addr,
			      uint32_t data, uint32_t count);

#endif /* PCI_ECAM_H */
