/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "cmsdk_uart.h"

#define DATA	  0x00u
#define STATE	  0x04u
#define CTRL	  0x08u
#define INTSTATUS 0x0cu
#define BAUDDIV	  0x10u

#define STATE_TX_FULL (1u << 0)
#define STATE_RX_FULL (1u << 1)

#define CTRL_TX	    (1u << 0)
#define CTRL_RX	    (1u << 1)
#define CTRL_TX_INT (1u << 2)
#define CTRL_RX_INT (1u << 3)

#define INT_TX (1u << 0)
#define INT_RX (1u << 1)

#define PATIENCE 100000u /* polls, some ms */

static volatile uint32_t *uart_reg(uintptr_t base, uint32_t off)
{
	return (volatile uint32_t *)(base + off);
}

void cmsdk_uart_start(uintptr_t base, uint32_t divisor)
{
	*uart_reg(base, BAUDDIV) = divisor;
	*uart_reg(base, CTRL) = CTRL_TX | CTRL_RX;
}

void cmsdk_uart_interrupts(uintptr_t base, bool received, bool sent)
{
	*uart_reg(base, CTRL) = CTRL_TX | CTRL_RX |
				(received ? CTRL_RX_INT : 0) |
				(sent ? CTRL_TX_INT : 0);
}

void cmsdk_uart_quiet(uintptr_t base)
{
	*uart_reg(base, INTSTATUS) = INT_TX | INT_RX;
}

bool cmsdk_uart_take(uintptr_t base, uint8_t *byte)
{
	if (!(*uart_reg(base, STATE) & STATE_RX_FULL))
		return false;
	*byte = (uint8_t)*uart_reg(base, DATA);
	return true;
}

bool cmsdk_uart_put(uintptr_t base, uint8_t byte)
{
	if (*uart_reg(base, STATE) & STATE_TX_FULL)
		return false;
	*uart_reg(base, DATA) = byte;
	return true;
}

void cmsdk_uart_puts(uintptr_t base, const char *text)
{
	uint32_t i;

	for (; *text; text++)
		for (i = 0; i < PATIENCE; i++)
			if (cmsdk_uart_put(base, (uint8_t)*text))
				break;
}
