/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_attr.h - queries of an id: attributes for its queue pair, addresses,
 * the route.
 *
 * Secret: how the kernel writes down an address, a path, an address handle.
 */
#ifndef UNIC_UCMA_ATTR_H
#define UNIC_UCMA_ATTR_H

#include "ucma_id.h"

#define UNIC_UCMA_QKEY 0x01234567u /* of RDMA_PS_UDP: RDMA_UDP_QKEY */

/** unic_ucma_qp_attr() - the attributes with which the queue pair of @id goes to @state.
 * -EINVAL: it cannot yet. */
int unic_ucma_qp_attr(const struct unic_ucma_id *id, uint32_t state,
		      struct ib_uverbs_qp_attr *out);
/** unic_ucma_ah_attr() - of the peer of @id. */
void unic_ucma_ah_attr(const struct unic_ucma_id *id,
		       struct ib_uverbs_ah_attr *out);
void unic_ucma_route(const struct unic_ucma_id *id,
		     struct rdma_ucm_query_route_resp *out);
void unic_ucma_query_addr(const struct unic_ucma_id *id,
			  struct rdma_ucm_query_addr_resp *out);
void unic_ucma_query_gid(const struct unic_ucma_id *id,
			 struct rdma_ucm_query_addr_resp *out);
/** unic_ucma_path() - the path as IBTA 15.2.5.16 has it, 64 bytes. False: there is none
 * yet. */
bool unic_ucma_path(const struct unic_ucma_id *id,
		    struct ib_path_rec_data *out);

/** unic_ucma_parse_addr() - read the socket address of @bytes at @from. 0;
 * -EAFNOSUPPORT; -EINVAL: it is short; -EADDRNOTAVAIL: of IPv6, and no IPv4 address. */
int unic_ucma_parse_addr(const void *from, size_t bytes,
			 struct unic_ucma_addr *out);

#endif /* UNIC_UCMA_ATTR_H */
