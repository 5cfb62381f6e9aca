/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * random.h - the NIC's random generator: ChaCha20 (RFC 8439) with fast key
 * erasure, seeded by the board's entropy source or by the host; and the keyed
 * functions.
 */
#ifndef UNIC_RANDOM_H
#define UNIC_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct unic_base;

struct unic_random {
	uint32_t key[8];
	uint32_t pool[8]; /* output not yet returned */
	uint8_t left;	  /* words left in pool */
	bool seeded;	  /* the key contains at least 32 bytes of entropy */
};

/** unic_random_init() - power-on (all zero before) and reset: mixes the entropy
 * that the port has into the key. A reset keeps earlier entropy. */
void unic_random_init(struct unic_base *nic);

/** unic_random_mix() - mixes @bytes (32) of entropy into the key. */
void unic_random_mix(struct unic_base *nic, const uint8_t bytes[32]);

/**
 * unic_random_u32() - returns the next 32 random bits. Good for spreading and for
 * STags even before seeding; secrets (token keys) demand `seeded`.
 */
uint32_t unic_random_u32(struct unic_base *nic);

/** unic_chacha20_block() - the block function of RFC 8439 section 2.3; @nonce
 * holds the counter in its first word. Pure. */
void unic_chacha20_block(const uint32_t key[8], const uint32_t nonce[4],
			 uint32_t out[16]);

/**
 * unic_siphash() - SipHash-2-4 (Aumasson, Bernstein: SipHash, a fast short-input
 * PRF) of a message of 7 bytes, the low ones of @msg, under @key of 128 bits. Pure.
 */
uint64_t unic_siphash(const uint64_t key[2], uint64_t msg);

#endif /* UNIC_RANDOM_H */
