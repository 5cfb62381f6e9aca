/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "pci_ecam.h"

#define PCI_ID	    0x00u
#define PCI_COMMAND 0x04u /* and status in the upper half */
#define PCI_HEADER  0x0cu
#define PCI_BAR0    0x10u
#define PCI_CAP_PTR 0x34u

#define PCI_COMMAND_MEMORY (1u << 1)
#define PCI_COMMAND_MASTER (1u << 2)
#define PCI_STATUS_CAPS	   (1u << 20)
#define PCI_HEADER_TYPE	   0x007f0000u

#define PCI_BAR_IO	 (1u << 0)
#define PCI_BAR_WIDE	 (1u << 2)
#define PCI_BAR_PREFETCH (1u << 3)
#define PCI_BAR_ADDR	 (~15u)

#define PCI_CAP_MSIX	 0x11u
#define PCI_CAPS_MAX	 48u /* more is a loop */
#define MSIX_ENABLE	 (1u << 31)
#define MSIX_MASK_ALL	 (1u << 30)
#define MSIX_ENTRY_BYTES 16u

static volatile uint32_t *pci_cfg32(uintptr_t cfg, uint32_t off)
{
	return (volatile uint32_t *)(cfg + off);
}

static void pci_write_bar(const struct pci_function *fn, uint32_t i,
			  uint32_t value)
{
	*pci_cfg32(fn->cfg, PCI_BAR0 + 4 * i) = value;
	if (fn->bar[i].wide)
		*pci_cfg32(fn->cfg, PCI_BAR0 + 4 * i + 4) = 0;
}

/* Returns the number of the next BAR. */
static uint32_t pci_size_bar(struct pci_function *fn, uint32_t i)
{
	volatile uint32_t *reg = pci_cfg32(fn->cfg, PCI_BAR0 + 4 * i);
	struct pci_bar *bar = &fn->bar[i];
	uint32_t mask;

	*reg = ~0u;
	mask = *reg;
	*reg = 0;
	if (!mask || mask & PCI_BAR_IO)
		return i + 1;
	bar->memory = mask & PCI_BAR_PREFETCH;
	bar->wide = mask & PCI_BAR_WIDE && i + 1 < PCI_BARS;
	bar->bytes = -(mask & PCI_BAR_ADDR); /* 0 when 4 GiB or more */
	return i + 1 + bar->wide;
}

uint32_t pci_ecam_scan(uintptr_t ecam, struct pci_function *fns)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < PCI_SLOTS; slot++) {
		uintptr_t cfg = ecam + (slot << 15);
		uint32_t id = *pci_cfg32(cfg, PCI_ID);
		struct pci_function *fn = &fns[count];

		if ((uint16_t)id == 0xffff ||
		    *pci_cfg32(cfg, PCI_HEADER) & PCI_HEADER_TYPE)
			continue; /* empty, or a bridge */
		*fn = (struct pci_function){ .cfg = cfg,
					     .vendor = (uint16_t)id,
					     .device = (uint16_t)(id >> 16) };
		*pci_cfg32(cfg, PCI_COMMAND) = 0;
		for (uint32_t i = 0; i < PCI_BARS;)
			i = pci_size_bar(fn, i);
		count++;
	}
	return count;
}

static bool pci_place_bar(struct pci_function *fn, uint32_t i,
			  struct pci_window *window)
{
	struct pci_bar *bar = &fn->bar[i];
	uint32_t align = bar->bytes;
	uint32_t addr;

	if (align < window->align)
		align = window->align;
	addr = (window->next + align - 1) & -align;
	if (addr < window->next || addr >= window->end ||
	    window->end - addr < bar->bytes)
		return false;
	bar->addr = addr;
	pci_write_bar(fn, i, addr);
	window->next = addr + bar->bytes;
	return true;
}

bool pci_ecam_place(struct pci_function *fns, uint32_t count,
		    struct pci_window *memory, struct pci_window *regs)
{
	bool all = true;

	for (uint32_t bytes = 1u << 31; bytes; bytes >>= 1)
		for (uint32_t f = 0; f < count; f++)
			for (uint32_t i = 0; i < PCI_BARS; i++) {
				struct pci_bar *bar = &fns[f].bar[i];

				if (bar->bytes == bytes &&
				    !pci_place_bar(&fns[f], i,
						   bar->memory ? memory : regs))
					all = false;
			}
	return all;
}

void pci_ecam_enable(const struct pci_function *fn)
{
	*pci_cfg32(fn->cfg, PCI_COMMAND) = PCI_COMMAND_MEMORY |
					   PCI_COMMAND_MASTER;
}

/* Offset of the MSI-X capability in configuration space; 0: none. */
static uint32_t pci_find_msix(const struct pci_function *fn)
{
	uint32_t off;

	if (!(*pci_cfg32(fn->cfg, PCI_COMMAND) & PCI_STATUS_CAPS))
		return 0;
	off = *pci_cfg32(fn->cfg, PCI_CAP_PTR) & 0xfc;
	for (uint32_t i = 0; off && i < PCI_CAPS_MAX; i++) {
		uint32_t cap = *pci_cfg32(fn->cfg, off);

		if ((cap & 0xff) == PCI_CAP_MSIX)
			return off;
		off = cap >> 8 & 0xfc;
	}
	return 0;
}

uint32_t pci_ecam_msix(const struct pci_function *fn)
{
	uint32_t off = pci_find_msix(fn);

	return off ? (*pci_cfg32(fn->cfg, off) >> 16 & 0x7ff) + 1 : 0;
}

uint32_t pci_ecam_msix_enable(const struct pci_function *fn, uint32_t addr,
			      uint32_t data, uint32_t count)
{
	uint32_t off = pci_find_msix(fn);
	uint32_t total = pci_ecam_msix(fn);
	uint32_t where, bir;

	if (!total)
		return 0;
	where = *pci_cfg32(fn->cfg, off + 4);
	bir = where & 7;
	if (bir >= PCI_BARS || !fn->bar[bir].addr)
		return 0;
	if (count > total)
		count = total;
	*pci_cfg32(fn->cfg, off) |= MSIX_ENABLE | MSIX_MASK_ALL;
	for (uint32_t v = 0; v < count; v++) {
		uintptr_t entry = fn->bar[bir].addr + (where & ~7u) +
				  v * MSIX_ENTRY_BYTES;

		*pci_cfg32(entry, 0) = addr;
		*pci_cfg32(entry, 4) = 0;
		*pci_cfg32(entry, 8) = data + v;
		*pci_cfg32(entry, 12) = 0; /* unmasked */
	}
	*pci_cfg32(fn->cfg, off) &= ~MSIX_MASK_ALL;
	return count;
}
