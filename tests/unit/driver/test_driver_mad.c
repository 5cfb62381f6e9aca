/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_mad.c - datagrams between the drivers of two hosts, byte by byte: those
 * about the holders of a region, and the mark of unic in the messages of the
 * communication manager. The bytes stand here as numbers, so that a struct of abi/
 * cannot change together with what it is compared with. Host only.
 */
#include "unit.h"

#include "driver_rig.h"

static const struct unic_grants_msg all_fields = {
	.type = UNIC_HOLDER_INVALIDATE,
	.nonce = 0x1122334455667788,
	.local_comm = 0xdeadbeef,
	.remote_comm = 0xcafebabe,
	.kind = 2,
	.number = 0x01020304,
	.grace_us = 50000,
	.ipv4 = 0x0a000002,
	.qpn = 0xabcdef,
	.status = 0x21,
};

static const uint8_t holder_bytes[UNIC_MAD_BYTES] = {
	0x01, 0x0a, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x11, 0x22, 0x33, 0x44,
	0x55, 0x66, 0x77, 0x88, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x55, 0x4e, 0x49, 0x43, 0xde, 0xad, 0xbe, 0xef, 0xca, 0xfe, 0xba, 0xbe,
	0x00, 0x00, 0x00, 0x02, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0xc3, 0x50,
	0x0a, 0x00, 0x00, 0x02, 0x00, 0xab, 0xcd, 0xef, 0x00, 0x00, 0x00, 0x21,
};

static void holder_datagram_is_these_bytes(void **state)
{
	uint8_t at[1 + UNIC_MAD_BYTES];
	struct unic_grants_msg msg;

	(void)state;
	memset(at, 0xee, sizeof(at));
	unic_grants_build(&all_fields, at + 1);
	assert_memory_equal(at + 1, holder_bytes, UNIC_MAD_BYTES);
	memset(&msg, 0, sizeof(msg));
	assert_true(unic_grants_parse(at + 1, &msg));
	assert_int_equal(msg.type, all_fields.type);
	assert_true(msg.nonce == all_fields.nonce);
	assert_int_equal(msg.local_comm, all_fields.local_comm);
	assert_int_equal(msg.remote_comm, all_fields.remote_comm);
	assert_int_equal(msg.kind, all_fields.kind);
	assert_int_equal(msg.number, all_fields.number);
	assert_int_equal(msg.grace_us, all_fields.grace_us);
	assert_int_equal(msg.ipv4, all_fields.ipv4);
	assert_int_equal(msg.qpn, all_fields.qpn);
	assert_int_equal(msg.status, all_fields.status);
}

/* Version, class, method, type and mark are looked at; all else may be anything. */
static void other_datagrams_are_none_of_holders(void **state)
{
	uint8_t mad[UNIC_MAD_BYTES];
	struct unic_grants_msg msg;
	uint32_t at;

	(void)state;
	for (at = 0; at < UNIC_MAD_BYTES; at++) {
		bool looked_at = at < 4 || at == 16 || at == 17 ||
				 (at >= 24 && at < 28);

		memcpy(mad, holder_bytes, sizeof(mad));
		mad[at] ^= 0x20;
		assert_int_equal(unic_grants_parse(mad, &msg), !looked_at);
	}
	memcpy(mad, holder_bytes, sizeof(mad));
	for (at = 0; at < 256; at++) {
		mad[17] = (uint8_t)at;
		assert_int_equal(unic_grants_parse(mad, &msg),
				 at >= 1 && at <= 4);
	}
}

/* Where the private data begins. */
static const struct {
	uint16_t type;
	uint32_t at;
} marked[] = {
	{ UNIC_CM_REQ, 164 },
	{ UNIC_CM_REP, 60 },
	{ UNIC_CM_REJ, 108 },
};

/* A message of @type with three bytes of private data. */
static void build(uint16_t type, uint8_t mad[UNIC_MAD_BYTES])
{
	struct unic_cm_msg msg = { .type = type,
				   .src_ipv4 = 0x0a000001,
				   .dst_ipv4 = 0x0a000002,
				   .mtu_shift = 10,
				   .caps = UNIC_CM_CAP_REFUSED,
				   .priv_bytes = 3,
				   .priv = "abc" };

	unic_cm_build(&msg, mad);
}

/* Of the request's id, which others have there, a SIDR_REP has no byte behind its status. */
static void sidr_says_no_more(void **state)
{
	static const uint8_t status[] = { 2, 0, 0, 0 };
	struct unic_cm_msg msg = { .type = UNIC_CM_SIDR_REP,
				   .remote_comm = 0x11223344,
				   .reason = 2 };
	uint8_t mad[UNIC_MAD_BYTES];

	(void)state;
	unic_cm_build(&msg, mad);
	assert_memory_equal(mad + 28, status, sizeof(status));
}

static void mark_is_these_bytes(void **state)
{
	static const uint8_t mark[] = { 'U', 'N', 'I', 'C', 1, 3, 1, 0 };
	static const uint8_t zeros[56];
	uint8_t mad[UNIC_MAD_BYTES];
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(marked) / sizeof(marked[0]); i++) {
		build(marked[i].type, mad);
		assert_memory_equal(mad + marked[i].at, "abc", 3);
		assert_memory_equal(mad + marked[i].at + 3, zeros, 53);
		assert_memory_equal(mad + marked[i].at + 56, mark, 8);
	}
}

/* @mad with byte @at of its mark changed to @v is of a peer that is no unic: all bytes
 * that there are, are the consumer's. */
static void is_no_mark(uint8_t *mad, uint32_t at, uint8_t v)
{
	uint8_t was = mad[at];
	struct unic_cm_msg msg;

	mad[at] = v;
	assert_true(unic_cm_parse(mad, &msg));
	assert_int_equal(msg.vendor, 0);
	assert_int_equal(msg.caps, 0);
	assert_int_equal(msg.priv_bytes, unic_cm_room(msg.type));
	assert_memory_equal(msg.priv, "abc", 3);
	mad[at] = was;
}

static void another_mark_is_none(void **state)
{
	uint8_t mad[UNIC_MAD_BYTES];
	struct unic_cm_msg msg;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < sizeof(marked) / sizeof(marked[0]); i++) {
		uint32_t at = marked[i].at + 56;

		build(marked[i].type, mad);
		for (k = 0; k < 4; k++)
			is_no_mark(mad, at + k, 'u');
		is_no_mark(mad, at + 4, 0);
		is_no_mark(mad, at + 4, 2);
		is_no_mark(mad, at + 5, 57);
		mad[at + 5] = 56;
		assert_true(unic_cm_parse(mad, &msg));
		assert_int_equal(msg.vendor, 1);
		assert_int_equal(msg.priv_bytes, 56);
		mad[at + 5] = 2;
		assert_true(unic_cm_parse(mad, &msg));
		assert_int_equal(msg.vendor, 1);
		assert_int_equal(msg.caps, UNIC_CM_CAP_REFUSED);
		assert_int_equal(msg.priv_bytes, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holder_datagram_is_these_bytes),
		cmocka_unit_test(other_datagrams_are_none_of_holders),
		cmocka_unit_test(sidr_says_no_more),
		cmocka_unit_test(mark_is_these_bytes),
		cmocka_unit_test(another_mark_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
