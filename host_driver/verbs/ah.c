/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ah.c - addresses: how a GID names a host, and address handles. A GID of RoCE v2 is an
 * IPv4 address mapped into IPv6 (RFC 4291, section 2.5.5.2).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "errnos.h"
#include "ah.h"

int unic_ibv_peer(const struct ibv_ah_attr *av, uint32_t *ipv4)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *gid = av->grh.dgid.raw;
	uint32_t word;

	if (av->port_num != UNIC_IBV_PORT || !av->is_global ||
	    av->grh.sgid_index || memcmp(gid, mapped, sizeof(mapped)))
		return EINVAL;
	memcpy(&word, gid + sizeof(mapped), sizeof(word));
	*ipv4 = ntohl(word);
	return *ipv4 ? 0 : EINVAL;
}

struct ibv_ah *unic_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct unic_ibv_ah *ah;
	uint32_t ipv4;
	int err = unic_ibv_peer(attr, &ipv4);

	(void)pd;
	if (err)
		return unic_ibv_null(-err);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return unic_ibv_null(-ENOMEM);
	ah->ipv4 = ipv4;
	return &ah->ah;
}

int unic_ibv_destroy_ah(struct ibv_ah *ah)
{
	free(ah);
	return 0;
}
