/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* random_vector.c - the block function of ChaCha20 (RFC 8439 section 2.3) with the rows of
 * its state as vectors: on a machine that has such it takes a fifth of the instructions of
 * random_small.c. */
#include "base/random.h"

typedef uint32_t row __attribute__((vector_size(16), aligned(4), may_alias));

static inline row rotated(row v, uint32_t n)
{
	return v << n | v >> (32u - n);
}

/* The quarter round of all four columns. */
static inline void round_of_columns(row x[4])
{
	x[0] += x[1];
	x[3] = rotated(x[3] ^ x[0], 16);
	x[2] += x[3];
	x[1] = rotated(x[1] ^ x[2], 12);
	x[0] += x[1];
	x[3] = rotated(x[3] ^ x[0], 8);
	x[2] += x[3];
	x[1] = rotated(x[1] ^ x[2], 7);
}

static inline void double_round(row x[4])
{
	round_of_columns(x);
	/* diagonals become columns */
	x[1] = __builtin_shufflevector(x[1], x[1], 1, 2, 3, 0);
	x[2] = __builtin_shufflevector(x[2], x[2], 2, 3, 0, 1);
	x[3] = __builtin_shufflevector(x[3], x[3], 3, 0, 1, 2);
	round_of_columns(x);
	x[1] = __builtin_shufflevector(x[1], x[1], 3, 0, 1, 2);
	x[2] = __builtin_shufflevector(x[2], x[2], 2, 3, 0, 1);
	x[3] = __builtin_shufflevector(x[3], x[3], 1, 2, 3, 0);
}

void unic_chacha20_block(const uint32_t key[8], const uint32_t nonce[4],
			 uint32_t out[16])
{
	/* "expand 32-byte k" */
	const row in[4] = {
		{ 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 },
		*(const row *)(const void *)key,
		*(const row *)(const void *)(key + 4),
		*(const row *)(const void *)nonce,
	};
	row x[4] = { in[0], in[1], in[2], in[3] };
	row *to = (void *)out;
	uint32_t i;

	for (i = 0; i < 10; i++)
		double_round(x);
	for (i = 0; i < 4; i++)
		to[i] = x[i] + in[i];
}
