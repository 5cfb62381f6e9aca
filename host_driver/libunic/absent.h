/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * absent.h - the first access of a child to memory that it does not have yet. The C library
 * initialises locks of streams and of malloc() in a child before any handler runs there.
 *
 * Secret: SIGSEGV is taken for the time of a fork(), and is the program's for all else.
 */
#ifndef UNIC_LIB_ABSENT_H
#define UNIC_LIB_ABSENT_H

#include <stdbool.h>

/** unic_absent_watch() - before a fork(): a fault in the child calls @mend there. True: there is
 * more memory now, and the access is repeated. */
void unic_absent_watch(bool (*mend)(void));
/** unic_absent_end() - behind it, in both processes. */
void unic_absent_end(void);

#endif /* UNIC_LIB_ABSENT_H */
