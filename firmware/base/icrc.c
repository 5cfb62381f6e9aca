/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* icrc.c - see icrc.h. */
#include "base/icrc.h"

#include <string.h>

#include "unic_port.h"
#include "unic_wire.h"

/* The CRC register after eight 0xff bytes. */
#define AFTER_ONES 0xdebb20e3u

/* Fields that routers change: offsets from the IPv4 header. */
#define MASK_TOS      1u
#define MASK_TTL      8u
#define MASK_IP_CSUM  10u
#define MASK_UDP_CSUM (UNIC_IP_BYTES + 6u)
#define MASK_BTH_RESV (UNIC_IP_BYTES + UNIC_UDP_BYTES + 4u)

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
