/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmsdk_uart.h - the serial port of Arm's Cortex-M System Design Kit (ARM DDI
 * 0479C, 4.2): one byte of buffer each way, no flow control.
 */
#ifndef CMSDK_UART_H
#define CMSDK_UART_H

#include <stdbool.h>
#include <stdint.h>

/** cmsdk_uart_start() - both directions on. @divisor: clock / baud, 16 or more. */
void cmsdk_uart_start(uintptr_t base, uint32_t divisor);

/** cmsdk_uart_interrupts() - interrupt for a byte received, and (@sent) for one
 * that left. */
void cmsdk_uart_interrupts(uintptr_t base, bool received, bool sent);

/** cmsdk_uart_quiet() - acknowledge both interrupts. Call it before looking for
 * bytes and for room. */
void cmsdk_uart_quiet(uintptr_t base);

/** cmsdk_uart_take() - a byte received. Returns false if there is none. */
bool cmsdk_uart_take(uintptr_t base, uint8_t *byte);

/** cmsdk_uart_put() - send a byte. Returns false if the last one has not left. */
bool cmsdk_uart_put(uintptr_t base, uint8_t byte);

/** cmsdk_uart_puts() - for people: waits for each byte, but not for ever. */
void cmsdk_uart_puts(uintptr_t base, const char *text);

#endif /* CMSDK_UART_H */
