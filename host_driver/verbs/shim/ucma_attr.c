/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_attr.c - see ucma_attr.h. */
#include "ucma_attr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <string.h>

#include "ucma_a11.h"

#define PORT	    1
#define PKEY	    0xffff
#define HOPS	    64
#define EXACTLY	    2  /* selector of a path record */
#define LIFE	    18 /* 4.096 us * 2^18, as Linux says for RoCE */
#define RNR_TIMER   12 /* 0.64 ms */
#define RATE_2_5    2
#define AF_IB_VALUE 27

/* As rdma/ib.h of the kernel, which is not among the headers for programs everywhere. */
struct sockaddr_ib_abi {
	uint16_t family;
	uint16_t pkey; /* big-endian, as all that follow */
	uint32_t flowinfo;
	uint8_t addr[16];
	uint64_t sid, sid_mask;
	uint64_t scope_id;
};

static void put_gid(uint8_t *gid, uint32_t ipv4)
{
	uint32_t be = htonl(ipv4);

	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &be, sizeof(be));
}

/* ----------------------------------------------------------------- queue pair */

void unic_ucma_ah_attr(const struct unic_ucma_id *id,
		       struct ib_uverbs_ah_attr *out)
{
	memset(out, 0, sizeof(*out));
	put_gid(out->grh.dgid, id->dst.ipv4);
	out->grh.hop_limit = HOPS;
	out->is_global = 1;
	out->port_num = PORT;
}

/* Rights are given at once, and not at RTR as Linux does: nobody can use them before, and
 * a NIC takes them only here. */
static void attr_init(const struct unic_ucma_id *id,
		      struct ib_uverbs_qp_attr *out)
{
	out->qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	out->port_num = PORT;
	if (unic_ucma_is_ud(id)) {
		out->qp_attr_mask |= IBV_QP_QKEY;
		out->qkey = UNIC_UCMA_QKEY;
	} else {
		out->qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
		out->qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ |
				       IBV_ACCESS_REMOTE_ATOMIC;
	}
}

static void attr_rtr(const struct unic_ucma_id *id,
		     struct ib_uverbs_qp_attr *out)
{
	out->qp_attr_mask = IBV_QP_STATE;
	if (unic_ucma_is_ud(id))
		return;
	out->qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN;
	unic_ucma_ah_attr(id, &out->ah_attr);
	out->path_mtu = id->at.mtu;
	out->dest_qp_num = id->at.qpn;
	out->rq_psn = id->at.rq_psn;
	if (id->qp_type != IBV_QPT_RC)
		return;
	out->qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	out->max_dest_rd_atomic = id->at.max_dest_rd;
	out->min_rnr_timer = RNR_TIMER;
}

static void attr_rts(const struct unic_ucma_id *id,
		     struct ib_uverbs_qp_attr *out)
{
	out->qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	out->sq_psn = id->at.sq_psn;
	if (id->qp_type != IBV_QPT_RC)
		return;
	out->qp_attr_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	out->timeout = id->at.timeout;
	out->retry_cnt = id->at.retry_cnt;
	out->rnr_retry = id->at.rnr_retry;
	out->max_rd_atomic = id->at.max_rd;
}

int unic_ucma_qp_attr(const struct unic_ucma_id *id, uint32_t state,
		      struct ib_uverbs_qp_attr *out)
{
	bool knows_peer = unic_ucma_is_ud(id) || id->at.qpn;

	memset(out, 0, sizeof(*out));
	if (!id->wire || (state != IBV_QPS_INIT && !knows_peer))
		return -EINVAL;
	switch (state) {
	case IBV_QPS_INIT:
		attr_init(id, out);
		break;
	case IBV_QPS_RTR:
		attr_rtr(id, out);
		break;
	case IBV_QPS_RTS:
		attr_rts(id, out);
		break;
	default:
		return -EINVAL;
	}
	out->qp_state = state;
	return 0;
}

/* ------------------------------------------------------------------ addresses */

int unic_ucma_parse_addr(const void *from, size_t bytes,
			 struct unic_ucma_addr *out)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;
	sa_family_t family;

	*out = (struct unic_ucma_addr){ .set = true };
	if (bytes < sizeof(in))
		return -EINVAL;
	memcpy(&family, from, sizeof(family));
	if (family == AF_INET) {
		memcpy(&in, from, sizeof(in));
		out->ipv4 = ntohl(in.sin_addr.s_addr);
		out->port = ntohs(in.sin_port);
		return 0;
	}
	if (family != AF_INET6)
		return -EAFNOSUPPORT;
	if (bytes < sizeof(in6))
		return -EINVAL;
	memcpy(&in6, from, sizeof(in6));
	out->port = ntohs(in6.sin6_port);
	if (IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr))
		return 0;
	if (!IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
		return -EADDRNOTAVAIL;
	memcpy(&out->ipv4, &in6.sin6_addr.s6_addr[12], sizeof(out->ipv4));
	out->ipv4 = ntohl(out->ipv4);
	return 0;
}

/* Bytes that were written; 0: there is no address. */
static size_t put_addr(void *to, const struct unic_ucma_addr *addr)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(addr->port),
				  .sin_addr = { htonl(addr->ipv4) } };

	if (!addr->set)
		return 0;
	memcpy(to, &in, sizeof(in));
	return sizeof(in);
}

static bool has_route(const struct unic_ucma_id *id)
{
	return id->wire && id->state >= UCMA_ROUTE_RESOLVED &&
	       id->state != UCMA_LISTEN;
}

static uint8_t path_mtu(const struct unic_ucma_id *id)
{
	return id->at.mtu ? id->at.mtu : IBV_MTU_1024;
}

void unic_ucma_route(const struct unic_ucma_id *id,
		     struct rdma_ucm_query_route_resp *out)
{
	struct ib_user_path_rec *path = &out->ib_route[0];

	memset(out, 0, sizeof(*out));
	out->ibdev_index = UINT32_MAX; /* known by its GUID */
	put_addr(&out->src_addr, &id->src);
	put_addr(&out->dst_addr, &id->dst);
	if (!id->wire)
		return;
	memcpy(&out->node_guid, id->guid, sizeof(out->node_guid));
	out->port_num = PORT;
	put_gid(path->dgid, id->dst.ipv4);
	put_gid(path->sgid, id->src.ipv4);
	path->pkey = htons(PKEY);
	if (!has_route(id))
		return;
	out->num_paths = 1;
	path->reversible = htonl(1);
	path->numb_path = 1;
	path->hop_limit = HOPS;
	path->mtu = path_mtu(id);
	path->mtu_selector = EXACTLY;
	path->rate = RATE_2_5;
	path->rate_selector = EXACTLY;
	path->packet_life_time = LIFE;
	path->packet_life_time_selector = EXACTLY;
}

static void put_device(const struct unic_ucma_id *id,
		       struct rdma_ucm_query_addr_resp *out)
{
	memset(out, 0, sizeof(*out));
	out->ibdev_index = UINT32_MAX;
	if (!id->wire)
		return;
	memcpy(&out->node_guid, id->guid, sizeof(out->node_guid));
	out->port_num = PORT;
	out->pkey = htons(PKEY);
}

void unic_ucma_query_addr(const struct unic_ucma_id *id,
			  struct rdma_ucm_query_addr_resp *out)
{
	put_device(id, out);
	out->src_size = (uint16_t)put_addr(&out->src_addr, &id->src);
	out->dst_size = (uint16_t)put_addr(&out->dst_addr, &id->dst);
}

static uint16_t put_ib(const struct unic_ucma_id *id, void *to,
		       const struct unic_ucma_addr *addr)
{
	uint64_t sid = unic_a11_service(id->ps, addr->port);
	struct sockaddr_ib_abi ib = { .family = AF_IB_VALUE,
				      .pkey = htons(PKEY) };

	ib.sid = (uint64_t)htonl((uint32_t)sid) << 32;
	if (id->wire)
		put_gid(ib.addr, addr->ipv4);
	memcpy(to, &ib, sizeof(ib));
	return sizeof(ib);
}

void unic_ucma_query_gid(const struct unic_ucma_id *id,
			 struct rdma_ucm_query_addr_resp *out)
{
	put_device(id, out);
	out->src_size = put_ib(id, &out->src_addr, &id->src);
	out->dst_size = put_ib(id, &out->dst_addr, &id->dst);
}

bool unic_ucma_path(const struct unic_ucma_id *id, struct ib_path_rec_data *out)
{
	uint8_t *p = (uint8_t *)out->path_rec;

	memset(out, 0, sizeof(*out));
	if (!has_route(id))
		return false;
	out->flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	put_gid(p + 8, id->dst.ipv4);
	put_gid(p + 24, id->src.ipv4);
	p[47] = HOPS;
	p[49] = 0x80 | 1; /* reversible, one path */
	p[50] = p[51] = 0xff;
	p[54] = EXACTLY << 6 | path_mtu(id);
	p[55] = EXACTLY << 6 | RATE_2_5;
	p[56] = EXACTLY << 6 | LIFE;
	return true;
}
