/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_account.h - inside the page service: for whom I/Os by RDMA are done, who is charged
 * for their entries, and how many of each user are under way (S0 section 2: entries used
 * by the kernel are accounted to the process for which the I/O is done).
 *
 * A user is a user id or a cgroup. Its account is a process slot of the driver's, without
 * objects, that the NIC charges for the regions of the user's I/Os: so it has a fair
 * share, and is asked back what is above that. The driver claims for it what its window
 * can use, window x mean I/O, so that it has part in the shares also between I/Os.
 *
 *   FREE -> KNOWN -> OPENING -> OPEN -> FREE (unused for IDLE_NS)
 *             ^         +-> no slot: KNOWN, tried again later
 *             +-- the service's slot was given up, or the NIC reset
 *
 * Until it is OPEN, the service's own slot is charged. A notice makes the window of that
 * user smaller by one I/O, and of no other; without one it grows again, by one each
 * UNIC_KIO_GROW_NS. What was asked back is given back when the region's I/O ends, or at
 * its deadline, when the NIC takes it.
 *
 * Users beyond UNIC_KIO_ACCOUNTS have the first account in common, which is the service's
 * own slot. I/Os that go by token because they must (struct unic_kio.token_only) hold no
 * entries, and count nowhere here.
 *
 * Secret: when an account has a slot, what is claimed for it, and what its window is.
 */
#ifndef UNIC_KIO_ACCOUNT_H
#define UNIC_KIO_ACCOUNT_H

#include "host.h"
#include "kio_client.h"

struct unic_kio_ask;
struct unic_kio_node;

#define UNIC_KIO_ACCOUNTS 8u
#define UNIC_KIO_GROW_NS  100000000ull

struct unic_kio_account {
	struct unic_client core; /* its slot */
	uint64_t user;
	uint8_t state;
	uint8_t gen; /* of the account in this place */
	bool asked;  /* CLAIM without answer */
	uint32_t window, busy;
	uint32_t mean_bytes,
		mean_entries; /* of an I/O, decayed; entries x 16 */
	uint32_t claimed;     /* entries, as the NIC knows it */
	uint64_t used_ns, window_ns, retry_ns, claim_ns;
};

/** unic_kio_account_init() - no user is known, of @n with its configuration. */
void unic_kio_account_init(struct unic_kio_node *n);

/** unic_kio_account_look() - before the slot of @n is set up: I/Os go by RDMA (n->rdma) if
 * the configuration says so and the NIC keeps accounts. If not, a line of the log says it. */
void unic_kio_account_look(struct unic_kio_node *n);

/** unic_kio_account_begin() - @io is to be under way: choose its account. False: the
 * window of its user is full. */
bool unic_kio_account_begin(struct unic_kio_node *n, struct unic_kio *io);

/** unic_kio_account_end() - @io, which was begun, is not under way any more. */
void unic_kio_account_end(struct unic_kio_node *n, const struct unic_kio *io);

/** unic_kio_account_charge() - @io is about to register @entries. Returns 1 + the slot to
 * charge, 0: that of the service; and in *@tag what names the account in a notice. */
uint8_t unic_kio_account_charge(struct unic_kio_node *n,
				const struct unic_kio *io, uint32_t entries,
				uint32_t *tag);

/** unic_kio_account_notice() - the NIC asks back a region of the account that @tag names:
 * its user may have one I/O less under way. */
void unic_kio_account_notice(struct unic_kio_node *n, uint32_t tag);

/** unic_kio_account_reply() - handle the driver's answer to @ask, a request of an account. */
void unic_kio_account_reply(struct unic_kio_node *n,
			    const struct unic_kio_ask *ask, uint32_t status);

/** unic_kio_account_reset() - the NIC was reset (@gone: or the slot of the service given
 * up): no claim is known to it, and with @gone no account has a slot. */
void unic_kio_account_reset(struct unic_kio_node *n, bool gone);

/** unic_kio_account_poll() - open, close, claim, and let windows grow. Returns when to call
 * again. */
uint64_t unic_kio_account_poll(struct unic_kio_node *n);

/** unic_kio_account_window() - the window of @user just now. */
uint32_t unic_kio_account_window(const struct unic_kio_node *n, uint64_t user);

/** unic_kio_account_demand() - bytes of buffer that all users can use: the sum of window x
 * mean I/O. */
uint64_t unic_kio_account_demand(const struct unic_kio_node *n);

#endif /* UNIC_KIO_ACCOUNT_H */
