/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pl011.h - words for a human on a PL011 UART: why a board does not start, and
 * where it crashed. Never used on the data path.
 */
#ifndef PL011_H
#define PL011_H

#include <stdint.h>

/**
 * pl011_puts() - write @text to the UART at @base. A character that finds the
 * transmitter full for long is dropped: a console never stops a NIC.
 */
void pl011_puts(uintptr_t base, const char *text);

/** pl011_hex() - write "@name=" and @value as eight hexadecimal digits. */
void pl011_hex(uintptr_t base, const char *name, uint32_t value);

#endif /* PL011_H */
