/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * memory.h - the address spaces of processes. Each has a range of real addresses, the
 * same in every run, in which its mappings are made by the real kernel: of memory of
 * its own, and of the file of its slot. What is unmapped stays without access.
 */
#ifndef LIBSIM_MEMORY_H
#define LIBSIM_MEMORY_H

#include "process.h"

/** memory_reset() - at the start of a run: nothing is mapped. */
void memory_reset(void);
/** memory_must_be_unmapped() - fail if @p has mappings. */
void memory_must_be_unmapped(const struct process *p);
/** memory_unmap_all() - at the end of @p. */
void memory_unmap_all(struct process *p);
/** memory_text() - what /proc/self/maps says, *@bytes of sim_alloc(). */
char *memory_text(const struct process *p, size_t *bytes);

#endif /* LIBSIM_MEMORY_H */
