/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * guess.h - peers that name STags or token keys which are wrong.
 *
 * Secret: how many wrong ones a peer has free, and how peers are told apart. A
 * wrong STag costs the peer its queue pair, so what is held off is the next
 * connection; a wrong token costs nothing, so what is held off is the next
 * tagged message of that queue pair.
 *
 * 16 in 100 ms: at 160 a second the one of 2^24 STags that a given region has is
 * met after 15 hours in the mean, and its address must fit too; a token's 64 random
 * bits never. A peer that had more queue pairs connected may use them all up at
 * once, but then waits in proportion. Peers whose addresses fall together share
 * what is free, so that nobody gets more by having many addresses than there are
 * places.
 */
#ifndef UNIC_GUESS_H
#define UNIC_GUESS_H

#include <stdbool.h>
#include <stdint.h>

struct unic_nic;

#define UNIC_GUESS_FREE	  16u /* in one window */
#define UNIC_GUESS_NS	  100000000ull
#define UNIC_GUESS_RNR	  27u /* IBTA table 45: 122.88 ms, past the window */
#define UNIC_GUESS_PLACES 32u

struct unic_guesses {
	struct {
		uint64_t until_ns; /* end of the window, NIC time */
		uint32_t wrong;	   /* in it */
	} place[UNIC_GUESS_PLACES];
	uint32_t key; /* random: who falls together with whom */
};

void unic_guess_init(struct unic_nic *nic);

/** unic_guess_wrong() - peer @ipv4 (host order) named a wrong one. */
void unic_guess_wrong(struct unic_nic *nic, uint32_t ipv4);

/** unic_guess_held() - has @ipv4 used up what is free in this window? Counted
 * if so (guess_held): the caller holds something off. */
bool unic_guess_held(struct unic_nic *nic, uint32_t ipv4);

#endif /* UNIC_GUESS_H */
