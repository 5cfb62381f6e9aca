/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * litmus_shared.h - the page that the two sides of the litmus share, at
 * LITMUS_OFFSET of the machine's RAM. One cache line per word, one writer each.
 */
#ifndef LITMUS_SHARED_H
#define LITMUS_SHARED_H

#include <stdint.h>

#define LITMUS_RAM_BASE 0x40000000u /* of QEMU's virt */
#define LITMUS_OFFSET	0x7000000u  /* well away from image, heap and stack */
#define LITMUS_READY	0x600du
#define LITMUS_STOP	0xffffffffu

struct litmus_line {
	volatile uint32_t word;
	uint32_t pad[15];
};

struct litmus {
	struct litmus_line round;  /* host: go, number of the round */
	struct litmus_line tail;   /* host: the command index */
	struct litmus_line ready;  /* guest: LITMUS_READY once */
	struct litmus_line asleep; /* guest: its flag */
	struct litmus_line seen;   /* guest: the tail it saw after its flag */
	struct litmus_line done;   /* guest: round finished */
};

#endif /* LITMUS_SHARED_H */
