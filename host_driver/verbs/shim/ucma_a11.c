/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_a11.c - see ucma_a11.h. Secret: the offsets. */
#include "ucma_a11.h"

#include <arpa/inet.h>
#include <string.h>

#define VERSION 0
#define IPV4	(4 << 4)
#define PORT_AT 2
#define SRC_AT	(4 + 12) /* the last of 16 bytes */
#define DST_AT	(20 + 12)

uint64_t unic_a11_service(uint16_t ps, uint16_t port)
{
	return (uint64_t)ps << 16 | port;
}

uint16_t unic_a11_port(uint64_t service)
{
	return (uint16_t)service;
}

void unic_a11_put(uint8_t *to, const struct unic_a11 *from)
{
	uint16_t port = htons(from->port);
	uint32_t src = htonl(from->src), dst = htonl(from->dst);

	memset(to, 0, UNIC_A11_BYTES);
	to[0] = VERSION;
	to[1] = IPV4;
	memcpy(to + PORT_AT, &port, sizeof(port));
	memcpy(to + SRC_AT, &src, sizeof(src));
	memcpy(to + DST_AT, &dst, sizeof(dst));
}

bool unic_a11_get(const uint8_t *from, struct unic_a11 *to)
{
	uint32_t src, dst;
	uint16_t port;

	memcpy(&port, from + PORT_AT, sizeof(port));
	memcpy(&src, from + SRC_AT, sizeof(src));
	memcpy(&dst, from + DST_AT, sizeof(dst));
	*to = (struct unic_a11){ ntohs(port), ntohl(src), ntohl(dst) };
	return from[0] == VERSION && (from[1] & 0xf0) == IPV4;
}
