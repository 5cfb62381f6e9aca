/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fastpath_form.h - requests of one packet that are like the last one, for the files that
 * send them (fastpath_tx.c, fastpath_lone.c).
 *
 * Secret: which words of a slot have to be looked at to know that a request is like
 * another, and what of its frame is its own.
 */
#ifndef UNIC_FASTPATH_FORM_H
#define UNIC_FASTPATH_FORM_H

#include <stdbool.h>
#include <stdint.h>

#include "memory/window.h"
#include "transport/frame.h"
#include "transport/transport.h"

#define UNIC_FORM_RETH ((uint32_t)sizeof(struct unic_reth))

#define UNIC_FORM_FLAG(f)     ((uint32_t)(f) << 8)
#define UNIC_FORM_ANY	      UNIC_FORM_FLAG(UNIC_WR_SIGNALED | UNIC_WR_SOLICITED)
#define UNIC_FORM_ONE_SGE(op) ((uint32_t)(op) | 1u << 16)

/** unic_form_word() - the first word of a slot, which says all about its form. */
static inline uint32_t unic_form_word(const struct unic_sq_slot *slot)
{
	return (uint32_t)slot->opcode | (uint32_t)slot->flags << 8 |
	       (uint32_t)slot->num_sge << 16 | (uint32_t)slot->inline_len << 24;
}

/** unic_form_matches() - is a request as @y says? */
static inline bool unic_form_matches(const struct unic_ready *y,
				     const struct unic_sq_slot *slot)
{
	uint32_t form = unic_form_word(slot) &
			~UNIC_FORM_FLAG(UNIC_WR_SIGNALED);

	return !((form ^ y->form) | (UNIC_FORCE uint32_t)slot->ctrl_len |
		 (unic_from_le32(slot->sge[0].len) ^ y->wr.len));
}

/** unic_form_put_remote() - RETH of a WRITE of @len bytes. */
static inline void unic_form_put_remote(uint8_t *frame,
					const struct unic_sq_slot *slot,
					uint32_t len)
{
	unic_put_reth(unic_frame_words(frame), UNIC_W_EXT,
		      unic_from_le64(slot->remote), unic_from_le32(slot->rkey),
		      len);
}

/** unic_form_put_pad() - zeros for the last word before @end, of which payload will cover
 * what is not padding. */
static inline void unic_form_put_pad(uint8_t *body, uint32_t end)
{
	*(uint32_t *)(void *)(body + end - 4) = 0;
}

/** unic_form_put_body() - what follows BTH in a frame of @len bytes of payload, which lie
 * at @from, behind @ext bytes of headers. */
static inline __attribute__((always_inline)) void
unic_form_put_body(uint8_t *frame, const struct unic_sq_slot *slot,
		   const uint8_t *from, uint32_t len, uint32_t ext)
{
	uint8_t *body = frame + UNIC_EXT_OFF + ext;
	uint32_t padded = (len + 3) & ~3u;

	if (unlikely(len != padded))
		unic_form_put_pad(body, padded);
	unic_window_read(body, from, len);
	if (ext)
		unic_form_put_remote(frame, slot, len);
	*(uint32_t *)(void *)(body + padded) = 0;
}

#endif /* UNIC_FASTPATH_FORM_H */
