/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_icrc.c - the CRC and ICRC against a bit-by-bit computation. */
#include "unit.h"

#include "base/icrc.h"
#include "unic_wire.h"

static uint32_t slow_byte(uint32_t crc, uint8_t v)
{
	int i;

	crc ^= v;
	for (i = 0; i < 8; i++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	return crc;
}

static uint32_t slow(uint32_t crc, const uint8_t *p, uint32_t n)
{
	while (n--)
		crc = slow_byte(crc, *p++);
	return crc;
}

static void check_value(void **state)
{
	(void)state;
	/* the check value of CRC-32 */
	assert_int_equal(~unic_crc32(~0u, (const uint8_t *)"123456789", 9),
			 0xcbf43926);
}

static void every_length_and_alignment(void **state)
{
	uint8_t data[80];
	uint32_t off, n;

	(void)state;
	for (n = 0; n < sizeof(data); n++)
		data[n] = (uint8_t)(n * 37 + 11);
	for (off = 0; off < 4; off++)
		for (n = 0; n + off <= sizeof(data); n++)
			assert_int_equal(unic_crc32(0x1234, data + off, n),
					 slow(0x1234, data + off, n));
}

static bool masked(uint32_t at)
{
	/* TOS, TTL, checksum; UDP checksum; reserved byte of BTH */
	return at == 15 || at == 22 || at == 24 || at == 25 || at == 40 ||
	       at == 41 || at == 46;
}

static uint32_t slow_icrc(const uint8_t *frame, uint32_t len)
{
	uint32_t crc = ~0u, i;

	for (i = 0; i < 8; i++)
		crc = slow_byte(crc, 0xff);
	for (i = UNIC_ETH_BYTES; i < len; i++)
		crc = slow_byte(crc, masked(i) ? 0xff : frame[i]);
	return ~crc;
}

static void frames(void **state)
{
	static uint8_t store[2 + 600] __attribute__((aligned(4)));
	uint8_t *frame = store + 2; /* as in the core: 2 modulo 4 */
	uint32_t len, i;

	(void)state;
	for (i = 0; i < 600; i++)
		frame[i] = (uint8_t)(i * i + 3 * i);
	for (len = UNIC_EXT_OFF; len <= 600; len++)
		assert_int_equal(unic_icrc(frame, len), slow_icrc(frame, len));
}

/* The ICRC covers all bytes behind the Ethernet header but those that routers
 * may change. */
static void masks(void **state)
{
	static uint8_t store[2 + 100] __attribute__((aligned(4)));
	uint8_t *frame = store + 2;
	uint32_t i, before = unic_icrc(frame, 100);

	(void)state;
	for (i = 0; i < 100; i++) {
		frame[i] ^= 0x10;
		assert_true((unic_icrc(frame, 100) == before) ==
			    (i < UNIC_ETH_BYTES || masked(i)));
		frame[i] ^= 0x10;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_value),
		cmocka_unit_test(every_length_and_alignment),
		cmocka_unit_test(frames),
		cmocka_unit_test(masks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
