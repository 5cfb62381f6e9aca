/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * input.h - the bytes of one fuzz input, taken from the front. Bytes beyond the
 * end are 0, so that every prefix of an input is an input.
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** must() - abort unless @cond; libFuzzer and the replay see an abort and keep
 * the input. */
#define must(cond)                                                       \
	do {                                                             \
		if (!(cond)) {                                           \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, \
				__LINE__, #cond);                        \
			abort();                                         \
		}                                                        \
	} while (0)

struct input {
	const uint8_t *at;
	size_t left;
};

/** in_bytes() - the next @n bytes to @to. */
static inline void in_bytes(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (!have)
		return;
	memcpy(to, in->at, have);
	in->at += have;
	in->left -= have;
}

/** in_u8() .. in_u64() - the next number, little-endian. */
static inline uint8_t in_u8(struct input *in)
{
	uint8_t v;

	in_bytes(in, &v, 1);
	return v;
}

static inline uint16_t in_u16(struct input *in)
{
	uint8_t b[2];

	in_bytes(in, b, 2);
	return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t in_u32(struct input *in)
{
	uint32_t low = in_u16(in);

	return low | (uint32_t)in_u16(in) << 16;
}

static inline uint64_t in_u64(struct input *in)
{
	uint64_t low = in_u32(in);

	return low | (uint64_t)in_u32(in) << 32;
}

/** in_below() - a number below @n, at most 256. */
static inline uint32_t in_below(struct input *in, uint32_t n)
{
	return in_u8(in) % n;
}

/** in_below_or() - as in_below(), but once in 64 times @first to @first + 3: what came after
 * the corpora, so that they keep their meaning. */
static inline uint32_t in_below_or(struct input *in, uint32_t n, uint32_t first)
{
	uint32_t choice = in_u8(in);

	return choice >= 252 ? first + choice - 252 : choice % n;
}

/** in_odd() - true once in 8: the rare, wrong way to do something. */
static inline int in_odd(struct input *in)
{
	return in_u8(in) >= 224;
}

/**
 * LLVMFuzzerTestOneInput() - one input, wholly, from the same state each time.
 * Every harness defines it; libFuzzer calls it, and so does replay.c.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif /* FUZZ_INPUT_H */
