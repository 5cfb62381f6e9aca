/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* vector.h - the bytes of a file of abi/vectors. Host only. */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdint.h>

/* Room for the bytes of any file. */
#define VECTOR_BYTES 512u

/**
 * vector_read() - read abi/vectors/@name.hex into @bytes, which has room for
 * VECTOR_BYTES. Returns their number; the test fails if there is no such file, or
 * if it has something else than bytes and comments.
 */
uint32_t vector_read(const char *name, uint8_t *bytes);

#endif /* VECTOR_H */
