/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* random.c - a generator with fast key erasure, over the block function of random_vector.c, and
 * SipHash. */
#include <string.h>

#include "base/base.h"

#define WORDS	  16u
#define KEY_WORDS 8u

/*
 * Fast key erasure: the first half of each block becomes the next key, so earlier
 * output cannot be computed from a later state.
 */
static void refill_pool(struct unic_random *r)
{
	static const uint32_t zero[4];
	uint32_t block[WORDS];

	unic_chacha20_block(r->key, zero, block);
	memcpy(r->key, block, sizeof(r->key));
	memcpy(r->pool, block + KEY_WORDS, sizeof(r->pool));
	r->left = KEY_WORDS;
}

void unic_random_mix(struct unic_base *nic, const uint8_t bytes[32])
{
	struct unic_random *r = &nic->random;
	uint32_t w[KEY_WORDS], i;

	memcpy(w, bytes, sizeof(w));
	for (i = 0; i < KEY_WORDS; i++)
		r->key[i] ^= w[i];
	refill_pool(r);
	r->seeded = true;
}

void unic_random_init(struct unic_base *nic)
{
	struct unic_random *r = &nic->random;
	uint8_t seed[32] = { 0 };
	uint32_t got = unic_port_entropy(nic->port, seed, sizeof(seed));
	bool seeded = r->seeded || got == sizeof(seed);

	/* spreads STags a little on a board without entropy */
	r->key[0] ^= (uint32_t)unic_port_now_ns(nic->port);
	unic_random_mix(nic, seed);
	r->seeded = seeded;
}

uint32_t unic_random_u32(struct unic_base *nic)
{
	struct unic_random *r = &nic->random;
	uint32_t v;

	if (!r->left)
		refill_pool(r);
	v = r->pool[--r->left];
	r->pool[r->left] = 0;
	return v;
}

/* ---------------------------------------------------------------- SipHash */

static inline uint64_t rotl_u64(uint64_t v, uint32_t n)
{
	return v << n | v >> (64u - n);
}

static inline void sip_rounds(uint64_t v[4], uint32_t n)
{
	for (; n; n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl_u64(v[1], 13) ^ v[0];
		v[3] = rotl_u64(v[3], 16) ^ v[2];
		v[0] = rotl_u64(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl_u64(v[1], 17) ^ v[2];
		v[3] = rotl_u64(v[3], 21) ^ v[0];
		v[2] = rotl_u64(v[2], 32);
	}
}

uint64_t unic_siphash(const uint64_t key[2], uint64_t msg)
{
	/* "somepseudorandomlygeneratedbytes" */
	uint64_t v[4] = { key[0] ^ 0x736f6d6570736575u,
			  key[1] ^ 0x646f72616e646f6du,
			  key[0] ^ 0x6c7967656e657261u,
			  key[1] ^ 0x7465646279746573u };

	msg = (msg & ~(0xffull << 56)) | 7ull << 56; /* length of the message */
	v[3] ^= msg;
	sip_rounds(v, 2);
	v[0] ^= msg;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
