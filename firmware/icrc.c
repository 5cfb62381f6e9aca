/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* icrc.c - see icrc.h. */
#include "icrc.h"

#include <string.h>

#include "unic_port.h"
#include "unic_wire.h"

/* The CRC register after eight 0xff bytes. */
#define AFTER_ONES 0xdebb20e3u

/* What routers change, at offsets from the IPv4 header on. */
#define MASK_TOS      1u
#define MASK_TTL      8u
#define MASK_IP_CSUM  10u
#define MASK_UDP_CSUM (UNIC_IP_BYTES + 6u)
#define MASK_BTH_RESV (UNIC_IP_BYTES + UNIC_UDP_BYTES + 4u)

static uint32_t load_le32(const uint8_t *p)
{
	unic_le32 v;

	memcpy(&v, __builtin_assume_aligned(p, 4), sizeof(v));
	return unic_from_le32(v);
}

static inline uint32_t word(uint32_t k, uint32_t v)
{
	const uint32_t(*t)[256] = unic_crc32_table;

	return t[k + 3][v & 255] ^ t[k + 2][v >> 8 & 255] ^
	       t[k + 1][v >> 16 & 255] ^ t[k][v >> 24];
}

static inline uint32_t byte(uint32_t crc, uint8_t v)
{
	return crc >> 8 ^ unic_crc32_table[0][(crc ^ v) & 255];
}

uint32_t unic_crc32(uint32_t crc, const uint8_t *data, uint32_t len)
{
	while (len && ((uintptr_t)data & 3)) {
		crc = byte(crc, *data++);
		len--;
	}
	while (len >= 16) {
		crc = word(4, crc ^ load_le32(data)) ^
		      word(0, load_le32(data + 4));
		crc = word(4, crc ^ load_le32(data + 8)) ^
		      word(0, load_le32(data + 12));
		data += 16;
		len -= 16;
	}
	while (len >= 4) {
		crc = word(0, crc ^ load_le32(data));
		data += 4;
		len -= 4;
	}
	while (len--)
		crc = byte(crc, *data++);
	return crc;
}

uint32_t unic_icrc(const uint8_t *frame, uint32_t len)
{
	uint8_t head[UNIC_EXT_OFF - UNIC_ETH_BYTES] __attribute__((aligned(4)));
	uint32_t crc;

	memcpy(head, frame + UNIC_ETH_BYTES, sizeof(head));
	head[MASK_TOS] = 0xff;
	head[MASK_TTL] = 0xff;
	head[MASK_IP_CSUM] = 0xff;
	head[MASK_IP_CSUM + 1] = 0xff;
	head[MASK_UDP_CSUM] = 0xff;
	head[MASK_UDP_CSUM + 1] = 0xff;
	head[MASK_BTH_RESV] = 0xff;
	crc = unic_crc32(AFTER_ONES, head, sizeof(head));
	return ~unic_crc32(crc, frame + UNIC_EXT_OFF, len - UNIC_EXT_OFF);
}

bool unic_icrc_ok(const uint8_t *frame, uint32_t bytes)
{
	uint32_t body = bytes - UNIC_ICRC_BYTES;
	const unic_le32 *stored = (const void *)(frame + body);

	return unic_icrc(frame, body) ==
	       unic_from_le32(UNIC_READ_ONCE(*stored));
}
