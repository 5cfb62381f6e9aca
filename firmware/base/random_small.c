/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* random_small.c - the block function of ChaCha20 (RFC 8439 section 2.3) word by word, for
 * boards without room for random_vector.c. */
#include <string.h>

#include "base/random.h"

#define WORDS	  16u
#define KEY_WORDS 8u

static uint32_t rotl_u32(uint32_t v, uint32_t n)
{
	return v << n | v >> (32u - n);
}

static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
	*a += *b;
	*d = rotl_u32(*d ^ *a, 16);
	*c += *d;
	*b = rotl_u32(*b ^ *c, 12);
	*a += *b;
	*d = rotl_u32(*d ^ *a, 8);
	*c += *d;
	*b = rotl_u32(*b ^ *c, 7);
}

void unic_chacha20_block(const uint32_t key[8], const uint32_t nonce[4],
			 uint32_t out[16])
{
	/* "expand 32-byte k" */
	uint32_t in[WORDS] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };
	uint32_t *x = out;
	uint32_t i;

	memcpy(in + 4, key, KEY_WORDS * 4);
	memcpy(in + 12, nonce, 16);
	memcpy(x, in, sizeof(in));
	for (i = 0; i < 10; i++) {
		quarter_round(x + 0, x + 4, x + 8, x + 12);
		quarter_round(x + 1, x + 5, x + 9, x + 13);
		quarter_round(x + 2, x + 6, x + 10, x + 14);
		quarter_round(x + 3, x + 7, x + 11, x + 15);
		quarter_round(x + 0, x + 5, x + 10, x + 15);
		quarter_round(x + 1, x + 6, x + 11, x + 12);
		quarter_round(x + 2, x + 7, x + 8, x + 13);
		quarter_round(x + 3, x + 4, x + 9, x + 14);
	}
	for (i = 0; i < WORDS; i++)
		x[i] += in[i];
}
