/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mmu.h - the translation table after start-up. The secret: the format of the
 * table and what QEMU makes of a flush.
 */
#ifndef VIRT_MMU_H
#define VIRT_MMU_H

#include <stdint.h>

/**
 * mmu_map_memory() - map [@addr, @addr + @bytes) at its own address as normal
 * memory: write-back cacheable, shareable, read-write, never executed.
 * @addr: a multiple of 1 MiB. @bytes is rounded up to whole MiB.
 *
 * Memory shared with another CPU must be mapped so: unaligned and vector
 * accesses to Device memory are faults.
 */
void mmu_map_memory(uint32_t addr, uint32_t bytes);

/**
 * mmu_refresh() - forget all cached translations; harmless at any time.
 *
 * QEMU sizes its own TLB only when the guest flushes its TLB, from the use
 * since the last flush. A guest that never flushes stays at the initial 256
 * pages, and copying through more memory than that runs 3 to 5 times slower.
 * The main loop calls this some tens of times per second.
 */
void mmu_refresh(void);

#endif /* VIRT_MMU_H */
