/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_random.c - ChaCha20 against RFC 8439, SipHash, and the erasure of
 * keys. */
#include "unit.h"

#include "rig.h"

static struct rig r;

/* RFC 8439 section 2.3.2 */
static void block_of_the_rfc(void **state)
{
	static const uint32_t want[16] = {
		0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
		0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
		0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
		0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2,
	};
	static const uint32_t nonce[4] = { 1, 0x09000000, 0x4a000000, 0 };
	uint8_t bytes[32], i;
	uint32_t key[8], out[16];

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	memcpy(key, bytes, sizeof(key));
	unic_chacha20_block(key, nonce, out);
	assert_memory_equal(out, want, sizeof(want));
}

/* Half of a block becomes the next key; each word of the other half is returned
 * once and erased. */
static void keys_are_erased(void **state)
{
	static const uint32_t zero[4];
	struct unic_random *rnd = &r.nic.random;
	uint32_t block[16], key[8], i, round;

	(void)state;
	rig_up(&r, 1);
	rnd->left = 0;
	for (round = 0; round < 3; round++) {
		memcpy(key, rnd->key, sizeof(key));
		unic_chacha20_block(key, zero, block);
		for (i = 0; i < 8; i++) {
			assert_int_equal(unic_random_u32(&r.nic.base),
					 block[15 - i]);
			assert_int_equal(rnd->pool[7 - i], 0);
		}
		assert_memory_equal(rnd->key, block, sizeof(rnd->key));
	}
}

/* The new key depends on all bytes of the entropy and on the old key. */
static void mixing_counts(void **state)
{
	static const uint32_t zero[4];
	uint32_t key[8], block[16], words[8];
	uint8_t bytes[32];
	uint32_t i;

	(void)state;
	rig_up(&r, 1);
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(0x11 + 7 * i);
	memcpy(words, bytes, sizeof(words));
	memcpy(key, r.nic.random.key, sizeof(key));
	for (i = 0; i < 8; i++)
		key[i] ^= words[i];
	unic_chacha20_block(key, zero, block);
	unic_random_mix(&r.nic.base, bytes);
	assert_true(r.nic.random.seeded);
	assert_memory_equal(r.nic.random.key, block, 32);
	assert_int_equal(unic_random_u32(&r.nic.base), block[15]);
}

/* The vector of a message of 7 bytes, in vectors.h of the reference
 * implementation; unic_siphash() hashes messages of 7 bytes only. */
static void siphash_vector(void **state)
{
	const uint64_t key[2] = { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u };

	(void)state;
	assert_true(unic_siphash(key, 0x06050403020100u) ==
		    0xab0200f58b01d137u);
	/* bytes behind the seventh do not count */
	assert_true(unic_siphash(key, 0xff06050403020100u) ==
		    0xab0200f58b01d137u);
	assert_true(unic_siphash(key, 0x07050403020100u) !=
		    0xab0200f58b01d137u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_vector),
		cmocka_unit_test(block_of_the_rfc),
		cmocka_unit_test(keys_are_erased),
		cmocka_unit_test(mixing_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
