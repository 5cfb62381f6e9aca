/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * key_guard.h - limits how often wrong STags and token keys may be named.
 *
 * Secret: how many wrong keys are free, and how their senders are distinguished.
 * A wrong STag costs a peer its queue pair, so its next connection is delayed; a
 * wrong token costs nothing, so the next tagged message of that queue pair is
 * delayed. A process that names an STag of no region, or of another process, is
 * delayed in the same way: its next command that names STags, and its next
 * connection.
 *
 * Wrong keys are counted by the address they come from and the process whose
 * queue pair received them, since they can only hit a region of that process. So
 * a peer that attacks one process, or a process that acts in a peer's name,
 * delays no one at another process. A process has a few places. An address has a
 * place from its first wrong key until its window ends, and no other address can
 * take it. Addresses without a place share the last one: they have no more free
 * wrong keys than one address has, and until its window ends other addresses
 * without a place wait with them.
 *
 * A key that was right until its region was taken back does not count, nor one
 * that was right until its region was released, while the region's index still has
 * its STag: until the index is among the next to be used. Whoever names it tells
 * what is known already, and gets the answer of any wrong key. It must be right in
 * all 32 bits, and of a region of this process.
 *
 * 16 in 100 ms are 160 a second. A region has one of 2^24 STags (its low 8 bits
 * are the consumer's), so one address hits a given region after 14.6 hours in the
 * mean, and one of 256 regions of a process after 3.4 minutes; with any number of
 * addresses, after 2.1 hours and 29 seconds. The address in the request must fit,
 * too: of a base that the driver chose 42 bits are random, and then the 14.6
 * hours are 7 thousand million years for a region within 2 MiB. A token's 64
 * random bits are never hit. A peer with many connected queue pairs may use them
 * up at once, but then waits in proportion: UNIC_QPS / 16 windows at most.
 */
#ifndef UNIC_KEY_GUARD_H
#define UNIC_KEY_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "board.h"

struct unic_memory;

#define UNIC_KEY_GUARD_FREE  16u /* wrong keys in one window without delay */
#define UNIC_KEY_GUARD_NS    100000000ull
#define UNIC_KEY_GUARD_RNR   27u /* IBTA table 45: 122.88 ms, past the window */
#define UNIC_KEY_GUARD_PEERS 6u	 /* places of each process */

/* Instead of a peer's address: requests of the process itself. */
#define UNIC_KEY_GUARD_LOCAL 0u

struct unic_key_guard_place {
	uint64_t until_ns; /* end of the window, NIC time */
	uint32_t wrong;	   /* wrong keys in the window */
	uint32_t ipv4;	   /* address, while the window lasts */
};

struct unic_key_guards {
	struct {
		struct unic_key_guard_place peer[UNIC_KEY_GUARD_PEERS];
		struct unic_key_guard_place rest; /* all other peers */
		struct unic_key_guard_place local;
	} of[UNIC_PROCS]; /* the slot's next process inherits them */
};

/** unic_key_guard_init() - no wrong key is counted. */
void unic_key_guard_init(struct unic_memory *nic);

/** unic_key_guard_counts() - true if refusal @err of an access by a peer is that of a
 * wrong key. */
static inline bool unic_key_guard_counts(int err)
{
	return err != -UNIC_EEVICTED && err != -UNIC_ENOPAGE &&
	       err != -UNIC_ERELEASED;
}

/** unic_key_guard_wrong() - counts a wrong key that peer @ipv4 (host order), or
 * @proc itself (UNIC_KEY_GUARD_LOCAL), named to @proc. */
void unic_key_guard_wrong(struct unic_memory *nic, uint32_t ipv4,
			  uint32_t proc);

/** unic_key_guard_held() - true if @ipv4 has used up the free wrong keys of this
 * window at @proc. Counts guess_held then: the caller delays the request. */
bool unic_key_guard_held(struct unic_memory *nic, uint32_t ipv4, uint32_t proc);

#endif /* UNIC_KEY_GUARD_H */
