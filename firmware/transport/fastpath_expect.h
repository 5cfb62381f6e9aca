/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fastpath_expect.h - frames that are like the last one of their sort.
 *
 * Secret: which frames are for the fast path, and which words of a header have to be looked at
 * to know that a frame is like another.
 */
#ifndef UNIC_FASTPATH_EXPECT_H
#define UNIC_FASTPATH_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/frame.h"
#include "transport/transport.h"

enum unic_expect_kind { /* unic_expect.kind */
	UNIC_EXPECT_ACK,
	UNIC_EXPECT_ONLY, /* all of a WRITE */
	UNIC_EXPECT_FIRST,
	UNIC_EXPECT_MIDDLE,
	UNIC_EXPECT_LAST,
	UNIC_EXPECT_READ,     /* a request */
	UNIC_EXPECT_RESPONSE, /* all of one */
	UNIC_EXPECT_SEND, /* all of one, without an event that it asks for */
};

/** unic_fastpath_expect_headers() - has the frame the headers that @e is about? */
static inline bool unic_fastpath_expect_headers(const struct unic_rx *rx,
						const struct unic_expect *e)
{
	return e->bytes == rx->len && unic_headers_same(rx->frame, &e->h);
}

/** unic_fastpath_expect_kind() - is it as long, of the same opcode, for the same queue
 * pair? All else that a header says follows from these. */
static inline bool unic_fastpath_expect_kind(const struct unic_rx *rx,
					     const struct unic_expect *e)
{
	const uint32_t *w = (const void *)(rx->frame + 2);

	return e->bytes == rx->len && /* first: others may end before BTH */
	       !((UNIC_READ_ONCE(w[UNIC_W_BTH_OP]) ^ e->h.word[UNIC_W_BTH_OP]) |
		 (UNIC_READ_ONCE(w[UNIC_W_BTH_DQPN]) ^
		  e->h.word[UNIC_W_BTH_DQPN]));
}

/** unic_fastpath_expect_va() - the address in the RETH of a frame. */
static inline uint64_t unic_fastpath_expect_va(const uint32_t *w)
{
	return (uint64_t)unic_get_word(w, UNIC_W_EXT) << 32 |
	       unic_get_word(w, UNIC_W_EXT + 1);
}

/** unic_fastpath_in_sequence() - @apsn: PSN and acknowledge request of a frame. Is it the
 * PSN expected? */
static inline bool unic_fastpath_in_sequence(const struct unic_rsp *rsp,
					     uint32_t apsn)
{
	return !((apsn ^ rsp->psn) << 8);
}

/** unic_fastpath_expect_find() - a frame that is not like the one before it. True if it is
 * for the fast path: then it is like nic->expected. */
bool unic_fastpath_expect_find(struct unic_transport *nic,
			       const struct unic_rx *rx);

#endif /* UNIC_FASTPATH_EXPECT_H */
