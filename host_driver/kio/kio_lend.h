/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_lend.h - inside the page service: what a peer may access of this host, each time
 * for one I/O.
 *
 * Secret: how the driver is asked for a token or a region of an I/O's memory, and for its
 * end. The connection records what is wanted (kio_conn.c); a request that finds no room,
 * or is refused for a while, is sent again.
 *
 *   token   wanted -> TOKEN_ALLOC -> lent -> TOKEN_CANCEL -> OK, NO_TOKEN: ended
 *   region  wanted -> MR_REG ------> lent -> MR_DEREG -----> OK, NO_MR: ended
 *                       |                      +-> any other status: later, again
 *                       +-> refused: not lent
 *                       +-> RESET: not known. The NIC may have a region that nobody
 *                           knows the number of: the slot is given up with it, unless
 *                           the NIC was reset (unic_kio_node.unsure)
 *
 * So one such answer makes the service begin anew for all its users, and rightly so: a NIC
 * that answers FAILED is about to be reset, which ends all that they have, or it answers
 * otherwise than any command may be answered (unic_req_done()), and what it holds then,
 * and writes to, is not known; only the end of the slot tells when the pages are free.
 */
#ifndef UNIC_KIO_LEND_H
#define UNIC_KIO_LEND_H

#include "kio_node.h"

/** unic_kio_lend_reply() - handle the driver's answer to @ask, a request about @c; one
 * that was not sent by unic_kio_lend_poll() is ignored. */
void unic_kio_lend_reply(struct unic_kio_conn *c,
			 const struct unic_kio_ask *ask, uint32_t status,
			 const uint64_t *rec);

/** unic_kio_lend_poll() - send the requests that are wanted, as far as there is room. */
void unic_kio_lend_poll(struct unic_kio_conn *c);

/** unic_kio_lend_waits() - true if unic_kio_lend_poll() is to be called again, within
 * some ms. */
bool unic_kio_lend_waits(const struct unic_kio_conn *c);

/** unic_kio_lend_forget() - the NIC was reset, or is gone: nothing is lent any more. */
void unic_kio_lend_forget(struct unic_kio_conn *c);

#endif /* UNIC_KIO_LEND_H */
