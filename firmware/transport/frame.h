/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * frame.h - the words of a RoCEv2 frame, for the modules that build and take
 * apart frames (tx.c, fastpath_tx.c) and nobody else. Inline, because each of
 * them is a fifth of what a small message costs.
 *
 * A frame starts at 2 modulo 4; its words are counted from frame + 2 on, where
 * Ethernet's last twelve bytes, IPv4, UDP, BTH and what follows are aligned.
 */
#ifndef UNIC_FRAME_H
#define UNIC_FRAME_H

#include <string.h>

#include "base/icrc.h"
#include "transport/transport.h"
#include "transport/tx.h"

#define UNIC_IP_VERSION_TOS 0x45000000u
#define UNIC_IP_TTL_UDP	    0x4011u
#define UNIC_PKEY_DEFAULT   0xffffu

enum unic_frame_word {
	UNIC_W_IP_LEN = 3,
	UNIC_W_IP_FRAG = 4,
	UNIC_W_IP_CSUM = 5,
	UNIC_W_IP_SRC = 6,
	UNIC_W_IP_DST = 7,
	UNIC_W_UDP_PORTS = 8,
	UNIC_W_UDP_LEN = 9,
	UNIC_W_BTH_OP = 10,
	UNIC_W_BTH_DQPN = 11,
	UNIC_W_BTH_APSN = 12,
	UNIC_W_EXT = 13,
};

/** unic_frame_words() - of a frame. */
static inline uint32_t *unic_frame_words(uint8_t *frame)
{
	return (uint32_t *)(void *)(frame + 2);
}

/** unic_put_word() - store @v as word @i, big-endian. One store: left alone, the
 * compiler gathers four in a vector register by way of the stack. */
static inline void unic_put_word(uint32_t *w, uint32_t i, uint32_t v)
{
	UNIC_WRITE_ONCE(w[i], (UNIC_FORCE uint32_t)unic_to_be32(v));
}

/** unic_get_word() - word @i, read once: another party may be writing it. */
static inline uint32_t unic_get_word(const uint32_t *w, uint32_t i)
{
	return unic_from_be32((UNIC_FORCE unic_be32)UNIC_READ_ONCE(w[i]));
}

/** unic_put_reth() - RETH of @len bytes at @va, as words @i and on. */
static inline void unic_put_reth(uint32_t *w, uint32_t i, uint64_t va,
				 uint32_t rkey, uint32_t len)
{
	unic_put_word(w, i, (uint32_t)(va >> 32));
	unic_put_word(w, i + 1, (uint32_t)va);
	unic_put_word(w, i + 2, rkey);
	unic_put_word(w, i + 3, len);
}

/* Twelve words are three vectors, on a machine that has such; GCC makes words of
 * them on others. */
typedef uint32_t unic_vector
	__attribute__((vector_size(16), aligned(4), may_alias));

union unic_words {
	unic_vector v;
	uint32_t word[4];
	uint64_t half[2];
};

/** unic_vector_any() - 0 only if @v is. Its halves are joined as a vector: moved
 * out one by one they cost more than all else of a comparison. */
static inline uint32_t unic_vector_any(unic_vector v)
{
	union unic_words u = { .v = v |
				    __builtin_shufflevector(v, v, 2, 3, 0, 1) };

	return (uint32_t)u.half[0] | (uint32_t)(u.half[0] >> 32);
}

/** unic_headers_put() - headers as they are, to the start of a frame. */
static inline void unic_headers_put(uint8_t *frame,
				    const struct unic_headers *h)
{
	unic_vector *to = (void *)(frame + 2);
	const unic_vector *from = (const void *)h->word;

	UNIC_IN_REGISTER(from);
	*(uint16_t *)(void *)frame = h->dst01;
	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
}

/**
 * unic_headers_same() - does a frame start with just these headers? Another
 * party may be writing it: each word is looked at once, and only here.
 */
static inline bool unic_headers_same(const uint8_t *frame,
				     const struct unic_headers *h)
{
	const unic_vector *is = (const void *)(frame + 2);
	const unic_vector *want = (const void *)h->word;
	uint32_t dst01 = UNIC_READ_ONCE(*(const uint16_t *)(const void *)frame);

	UNIC_IN_REGISTER(want);
	return !(unic_vector_any((is[0] ^ want[0]) | (is[1] ^ want[1]) |
				 (is[2] ^ want[2])) |
		 (dst01 ^ h->dst01));
}

/** unic_op_word() - word UNIC_W_BTH_OP. @op_flags: opcode << 8 | BTH flags. */
static inline uint32_t unic_op_word(uint32_t op_flags)
{
	return op_flags << 16 | UNIC_PKEY_DEFAULT;
}

/** unic_frame_length() - make the template that of frames with @len bytes behind
 * BTH, padded, ICRC not counted. */
static inline void unic_frame_length(struct unic_roce_tmpl *t, uint32_t len)
{
	uint32_t ip = UNIC_EXT_OFF - UNIC_ETH_BYTES + len + UNIC_ICRC_BYTES;

	if (unlikely(t->ip != ip)) {
		unic_roce_length(t, &t->h, ip);
		t->ip = ip;
	}
}

/**
 * unic_frame_headers() - headers up to BTH: the template, and two words.
 * @len: bytes behind BTH, padded, ICRC not counted.
 * Budget: 30 instructions on Cortex-A15.
 */
static inline void unic_frame_headers(uint8_t *frame, struct unic_roce_tmpl *t,
				      uint32_t op_flags, uint32_t apsn,
				      uint32_t len)
{
	uint32_t *w = unic_frame_words(frame);

	unic_frame_length(t, len);
	unic_headers_put(frame, &t->h);
	unic_put_word(w, UNIC_W_BTH_OP, unic_op_word(op_flags));
	unic_put_word(w, UNIC_W_BTH_APSN, apsn);
}

/** unic_frame_write() - headers of a frame of @qp, and its padding.
 * @op_flags: opcode << 8 | BTH flags without pad. @apsn: PSN and acknowledge
 * request. @len: bytes behind BTH, before padding. */
static inline void unic_frame_write(uint8_t *frame, struct unic_qp_ctx *qp,
				    uint32_t op_flags, uint32_t apsn,
				    uint32_t len)
{
	uint32_t pad = -len & 3;

	if (unlikely(pad)) {
		memset(frame + UNIC_EXT_OFF + len, 0, pad);
		op_flags |= pad << UNIC_BTH_PAD_SHIFT;
	}
	unic_frame_headers(frame, &qp->tmpl, op_flags, apsn, len + pad);
}

/** unic_frame_seal() - the integrity check, and off to the link; not counted.
 * @len: bytes behind BTH, before padding. Returns the bytes of the frame. */
static inline uint32_t unic_frame_seal(struct unic_transport *nic,
				       uint8_t *frame, uint32_t len)
{
	uint32_t body = UNIC_EXT_OFF + ((len + 3) & ~3u);
	uint32_t icrc = 0, flags = UNIC_FRAME_NO_ICRC;

	if (!nic->link.icrc_offload) {
		icrc = unic_icrc(frame, body);
		flags = 0;
	}
	*(uint32_t *)(void *)(frame + body) =
		(UNIC_FORCE uint32_t)unic_to_le32(icrc);
	unic_port_tx_put(nic->port, frame, body + UNIC_ICRC_BYTES, flags);
	return body + UNIC_ICRC_BYTES;
}

/** unic_frame_send() - unic_frame_write() and unic_frame_seal(). */
static inline uint32_t unic_frame_send(struct unic_transport *nic,
				       uint8_t *frame, struct unic_qp_ctx *qp,
				       uint32_t op_flags, uint32_t apsn,
				       uint32_t len)
{
	UNIC_TRACE(nic, TX, qp->proc, op_flags >> 8, qp->qpn,
		   apsn & UNIC_PSN_MASK, len);
	unic_frame_write(frame, qp, op_flags, apsn, len);
	return unic_frame_seal(nic, frame, len);
}

/** unic_frame_count() - @frames of @bytes in all were sent. */
static inline void unic_frame_count(struct unic_transport *nic, uint32_t frames,
				    uint32_t bytes)
{
	struct unic_roce *roce = &nic->qps.roce;

	UNIC_IN_REGISTER(roce);
	roce->tx_frames += frames;
	roce->tx_bytes += bytes;
}

#endif /* UNIC_FRAME_H */
