/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ah.h - addresses and address handles, as libibverbs asks for them. */
#ifndef UNIC_VERBS_AH_H
#define UNIC_VERBS_AH_H

#include "objects.h"

/** unic_ibv_create_ah() - ibv_create_ah(). */
struct ibv_ah *unic_ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
/** unic_ibv_destroy_ah() - ibv_destroy_ah(). */
int unic_ibv_destroy_ah(struct ibv_ah *ah);
/** unic_ibv_peer() - the address that @av names: 0 and *@ipv4 in host order, or EINVAL:
 * it is of another port, not global, from a GID that is not there, or to a GID that is no
 * IPv4 address. */
int unic_ibv_peer(const struct ibv_ah_attr *av, uint32_t *ipv4);

#endif /* UNIC_VERBS_AH_H */
