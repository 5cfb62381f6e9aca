/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * own_data.h - data of the libraries that run where memory is moved, and in a child of fork()
 * before it has its copies of what was moved: libunic, the C library, whoever is preloaded before
 * that and has its calls, and the loader. That memory stays where it is.
 */
#ifndef UNIC_LIB_OWN_DATA_H
#define UNIC_LIB_OWN_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNIC_OWN_DATA_MAX 16

struct unic_own_data {
	struct {
		uintptr_t from, to; /* whole pages */
	} part[UNIC_OWN_DATA_MAX];
	unsigned int n;
	size_t tls_bytes; /* of each thread, at most, beside its descriptor */
};

/* A variable of libunic that a child needs at once. In a program that libunic is a part of, the
 * pages of initialised data stay, and the rest of .bss need not. */
#define UNIC_OWN_VARIABLE __attribute__((section(".data.own")))

/** unic_own_data_find() - find the data of the libraries that are loaded now. Takes a lock of
 * the loader, which a thread that is parked may have. */
void unic_own_data_find(struct unic_own_data *own);
/** unic_own_data_has_heap() - true if malloc() is the C library's. */
bool unic_own_data_has_heap(void);
/** unic_own_data_meets() - true if a byte of [@from, @to) is of @own. */
bool unic_own_data_meets(const struct unic_own_data *own, uintptr_t from,
			 uintptr_t to);

#endif /* UNIC_LIB_OWN_DATA_H */
