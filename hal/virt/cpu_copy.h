/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cpu_copy.h - how a Cortex-A15 copies from and to host memory: cpu_copy.S.
 */
#ifndef VIRT_CPU_COPY_H
#define VIRT_CPU_COPY_H

#include <stdint.h>

/** cpu_copy_in() - @len bytes (not 0) from host memory, in any order. */
void cpu_copy_in(void *local, const void *host, uint32_t len);

/** cpu_copy_out() - @len bytes (not 0) to host memory: behind all earlier ones,
 * and a last aligned word behind the rest. */
void cpu_copy_out(void *host, const void *local, uint32_t len);

#endif /* VIRT_CPU_COPY_H */
