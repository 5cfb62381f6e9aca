/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bus_memory.h - the memory of one host: the mailbox and the process slots,
 * each a memory file of fixed size.
 */
#ifndef BUS_MEMORY_H
#define BUS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_bus.h"

struct bus_memory {
	int slots;
	uint32_t bar_bytes;
	uint64_t slot_bytes;
	bool joint; /* one file: the mailbox, then the slots */
	void *bar;
	int bar_fd;
	int slot_fd[UNIC_BUS_SLOTS_MAX];
};

/**
 * bus_memory_init() - make the files, zeroed, sealed against shrinking and
 * growing: so no ftruncate() of one process is a SIGBUS for another that maps a file.
 * @slots: 1..UNIC_BUS_SLOTS_MAX. @slot_bytes, @bar_bytes: powers of two, as PCI
 * wants its BARs. @joint: see abi/unic_bus.h.
 * Returns 0 or -errno; on an error everything is undone.
 */
int bus_memory_init(struct bus_memory *mem, int slots, uint64_t slot_bytes,
		    uint32_t bar_bytes, bool joint);

/**
 * bus_memory_renew() - another file of zeros for @slot, under the same descriptor.
 * Returns 0; -EOPNOTSUPP: all is one file; -errno. On an error nothing changed.
 */
int bus_memory_renew(struct bus_memory *mem, int slot);

/**
 * bus_memory_take() - the file at @path, of another bus's slot, in place of @slot: the RAM
 * of a machine that has a NIC on each of several buses.
 * Returns 0; -EINVAL: it has another size, or may change it; -errno. On an error nothing
 * changed.
 */
int bus_memory_take(struct bus_memory *mem, int slot, const char *path);

/**
 * bus_memory_nic_gone() - clear the magic of the info page of a NIC that ended
 * without doing so, so that no driver takes the NIC for present. The rest (crash
 * record, trace) stays readable.
 */
void bus_memory_nic_gone(struct bus_memory *mem);

/** bus_memory_fini() - unmap the BAR, close its memory and that of the slots. */
void bus_memory_fini(struct bus_memory *mem);

#endif /* BUS_MEMORY_H */
