// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <string.h>

#include <libdeflate.h>

#include "frame.h"
#include "icrc.h"
#include "unic_wire.h"

/* Header bytes that need masking: IPv4 with all options, UDP, BTH. */
#define MASKED_MAX (60 + UNIC_UDP_BYTES + UNIC_BTH_BYTES)

/* Offsets in a frame. */
struct layout {
	uint32_t udp;
	uint32_t bth;
	uint32_t icrc;
};

static uint32_t get_be16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static bool parse_layout(const uint8_t *f, uint32_t len, struct layout *at)
{
	const uint8_t *ip = f + UNIC_ETH_BYTES;
	uint32_t ihl, total;

	if (len < UNIC_EXT_OFF + UNIC_ICRC_BYTES ||
	    get_be16(f + 12) != UNIC_ETHERTYPE_IP || ip[0] >> 4 != 4)
		return false;
	ihl = (ip[0] & 15u) * 4;
	total = get_be16(ip + 2);
	/* A fragment: only the first has a transport header, and none has the
	 * whole payload. */
	if (ihl < UNIC_IP_BYTES || ip[9] != 17 || get_be16(ip + 6) & 0x3fff ||
	    total > len - UNIC_ETH_BYTES ||
	    total < ihl + UNIC_UDP_BYTES + UNIC_BTH_BYTES + UNIC_ICRC_BYTES)
		return false;
	at->udp = UNIC_ETH_BYTES + ihl;
	at->bth = at->udp + UNIC_UDP_BYTES;
	at->icrc = UNIC_ETH_BYTES + total - UNIC_ICRC_BYTES;
	return get_be16(f + at->udp + 2) == UNIC_ROCE_PORT;
}

bool icrc_covers(const uint8_t *frame, uint32_t len)
{
	struct layout at;

	return parse_layout(frame, len, &at);
}

bool icrc_fill(uint8_t *frame, uint32_t len)
{
	uint8_t head[8 + MASKED_MAX], *ip = head + 8, *udp, *bth;
	uint32_t crc, head_bytes;
	struct layout at;

	if (!parse_layout(frame, len, &at))
		return false;
	head_bytes = at.bth + UNIC_BTH_BYTES - UNIC_ETH_BYTES;
	memset(head, 0xff, 8);
	memcpy(ip, frame + UNIC_ETH_BYTES, head_bytes);
	udp = ip + at.udp - UNIC_ETH_BYTES;
	bth = udp + UNIC_UDP_BYTES;
	ip[1] = 0xff;		  /* type of service */
	ip[8] = 0xff;		  /* time to live */
	memset(ip + 10, 0xff, 2); /* header checksum */
	memset(udp + 6, 0xff, 2); /* checksum */
	bth[4] = 0xff;		  /* resv8a: FECN, BECN */
	crc = libdeflate_crc32(0, head, 8 + head_bytes);
	crc = libdeflate_crc32(crc, frame + at.bth + UNIC_BTH_BYTES,
			       at.icrc - at.bth - UNIC_BTH_BYTES);
	frame[at.icrc] = (uint8_t)crc;
	frame[at.icrc + 1] = (uint8_t)(crc >> 8);
	frame[at.icrc + 2] = (uint8_t)(crc >> 16);
	frame[at.icrc + 3] = (uint8_t)(crc >> 24);
	return true;
}

void icrc_finish(struct frame *f)
{
	if (f->no_icrc)
		(void)icrc_fill(f->data, f->len);
	f->no_icrc = false;
}
