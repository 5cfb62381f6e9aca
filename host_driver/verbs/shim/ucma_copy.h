/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_copy.h - memory that a command of the program names, read and written as a kernel
 * does: an address that is not mapped is EFAULT, and no signal.
 */
#ifndef UNIC_UCMA_COPY_H
#define UNIC_UCMA_COPY_H

#include <stddef.h>

/** unic_ucma_copy_in() - copy @bytes of the program at @from. 0 or -EFAULT. */
int unic_ucma_copy_in(void *to, const void *from, size_t bytes);
/** unic_ucma_copy_out() - copy @bytes to the program's @to. 0 or -EFAULT. */
int unic_ucma_copy_out(void *to, const void *from, size_t bytes);

#endif /* UNIC_UCMA_COPY_H */
