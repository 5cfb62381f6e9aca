/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * heap.h - the heap of a process. What is freed is poisoned and kept until the process
 * ends, so that a write to it is found, and what is read of it makes no sense.
 */
#ifndef LIBSIM_HEAP_H
#define LIBSIM_HEAP_H

#include "process.h"

/** heap_must_be_empty() - fail if @p has freed less than it allocated, or has written
 * to what it had freed. */
void heap_must_be_empty(const struct process *p);
/** heap_free_all() - at the end of @p. */
void heap_free_all(struct process *p);

#endif /* LIBSIM_HEAP_H */
