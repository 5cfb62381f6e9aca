/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * litmus_guest.c - the NIC's half of going to sleep: store the flag, full
 * barrier, load once more (INV-1). See litmus_host.c.
 */
#include "litmus_shared.h"
#include "unic_port.h"

int main(void)
{
	struct litmus *l =
		(struct litmus *)(uintptr_t)(LITMUS_RAM_BASE + LITMUS_OFFSET);
	uint32_t round = 0, next;

	l->ready.word = LITMUS_READY;
	for (;;) {
		while ((next = l->round.word) == round)
			;
		round = next;
		if (round == LITMUS_STOP)
			return 0;
		l->asleep.word = round;
		unic_mb();
		l->seen.word = l->tail.word;
		unic_wmb();
		l->done.word = round;
	}
}
