/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* guess.c - see guess.h. */
#include <string.h>

#include "nic.h"

void unic_guess_init(struct unic_nic *nic)
{
	memset(&nic->guesses, 0, sizeof(nic->guesses));
	nic->guesses.key = unic_random_u32(nic);
}

/* Multiplicative: neighbours in one subnet fall apart; keyed: nobody can choose
 * an address that falls together with another's. */
static uint32_t place_of(const struct unic_nic *nic, uint32_t ipv4)
{
	return (ipv4 ^ nic->guesses.key) * 0x9e3779b1u >> 27;
}

void unic_guess_wrong(struct unic_nic *nic, uint32_t ipv4)
{
	uint32_t i = place_of(nic, ipv4);

	if (nic->now_ns >= nic->guesses.place[i].until_ns) {
		nic->guesses.place[i].until_ns = nic->now_ns + UNIC_GUESS_NS;
		nic->guesses.place[i].wrong = 0;
	}
	/* with many queue pairs connected before: they are paid for afterwards */
	if (++nic->guesses.place[i].wrong > UNIC_GUESS_FREE)
		nic->guesses.place[i].until_ns +=
			UNIC_GUESS_NS / UNIC_GUESS_FREE;
}

bool unic_guess_held(struct unic_nic *nic, uint32_t ipv4)
{
	uint32_t i = place_of(nic, ipv4);

	if (nic->guesses.place[i].wrong < UNIC_GUESS_FREE ||
	    nic->now_ns >= nic->guesses.place[i].until_ns)
		return false;
	UNIC_COUNT(nic, guess_held);
	return true;
}
