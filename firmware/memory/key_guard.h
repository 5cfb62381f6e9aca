/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * key_guard.h - who names STags or token keys that are wrong.
 *
 * Secret: how many wrong ones are free, and how those who name them are told
 * apart. A wrong STag of a peer costs it its queue pair, so what is held off is
 * the next connection; a wrong token costs nothing, so what is held off is the
 * next tagged message of that queue pair. A process that names an STag which is
 * nobody's, or another process's, is held off as a peer is: its next command that
 * names STags, and its next connection.
 *
 * A guess is counted by the address that it comes from and by the process whose
 * queue pair it comes to, since it can only meet a region of that process. So
 * what a peer does to one process, or one process does in a peer's name, holds
 * nobody off from another process. A process has a few places. An address has a
 * place from its first wrong one until its window ends, and no other address can
 * take it. Those for whom none is left are counted together in the last: they
 * have no more free than one has, and until it ends others who have named nothing
 * wrong wait with them.
 *
 * 16 in 100 ms are 160 a second. A region has one of 2^24 STags (its low 8 bits
 * are the consumer's), so one address meets a given region after 14.6 hours in
 * the mean, and one of 256 regions of a process after 3.4 minutes; with as many
 * addresses as it likes, after 2.1 hours and 29 seconds. Its address must fit too:
 * of a base that the driver chose 42 bits are random, and then the 14.6 hours
 * are 7 thousand million years for a region within 2 MiB. A token's 64 random
 * bits are never met. Who had more queue pairs connected may use them all up at
 * once, but then waits in proportion: for UNIC_QPS / 16 windows at most.
 */
#ifndef UNIC_KEY_GUARD_H
#define UNIC_KEY_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"

struct unic_memory;

#define UNIC_KEY_GUARD_FREE  16u /* in one window */
#define UNIC_KEY_GUARD_NS    100000000ull
#define UNIC_KEY_GUARD_RNR   27u /* IBTA table 45: 122.88 ms, past the window */
#define UNIC_KEY_GUARD_PEERS 6u	 /* with a place, of each process */

/* In place of a peer's address: the process itself, by its own requests. */
#define UNIC_KEY_GUARD_LOCAL 0u

struct unic_key_guard_place {
	uint64_t until_ns; /* end of the window, NIC time */
	uint32_t wrong;	   /* in it */
	uint32_t ipv4;	   /* whose, while it has not ended */
};

struct unic_key_guards {
	struct {
		struct unic_key_guard_place peer[UNIC_KEY_GUARD_PEERS];
		struct unic_key_guard_place rest; /* all other peers */
		struct unic_key_guard_place local;
	} of[UNIC_PROCS]; /* a slot's next process inherits its places */
};

/** unic_key_guard_init() - nobody has named a wrong key. */
void unic_key_guard_init(struct unic_memory *nic);

/** unic_key_guard_wrong() - peer @ipv4 (host order) named a wrong one to @proc; or
 * @proc itself did (UNIC_KEY_GUARD_LOCAL). */
void unic_key_guard_wrong(struct unic_memory *nic, uint32_t ipv4,
			  uint32_t proc);

/** unic_key_guard_held() - has @ipv4 used up what is free in this window with @proc?
 * Counted if so (guess_held): the caller holds something off. */
bool unic_key_guard_held(struct unic_memory *nic, uint32_t ipv4, uint32_t proc);

#endif /* UNIC_KEY_GUARD_H */
