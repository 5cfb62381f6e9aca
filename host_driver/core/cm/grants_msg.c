/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* grants_msg.c - see grants_msg.h. */
#include "cm/grants_msg.h"

#include "cm/cm_conn.h"

static const uint8_t mark[4] = { 'U', 'N', 'I', 'C' };

void unic_grants_build(const struct unic_grants_msg *msg,
		       uint8_t mad[UNIC_MAD_BYTES])
{
	struct unic_holder_mad m = {
		.hdr = { .base_version = 1,
			 .mgmt_class = UNIC_MAD_CLASS_HOLDER,
			 .class_version = 1,
			 .method = UNIC_MAD_SEND,
			 .tid = unic_to_be64(msg->nonce),
			 .attribute = unic_to_be16(msg->type) },
		.local_comm = unic_to_be32(msg->local_comm),
		.remote_comm = unic_to_be32(msg->remote_comm),
		.kind = unic_to_be32(msg->kind),
		.number = unic_to_be32(msg->number),
		.grace_us = unic_to_be32(msg->grace_us),
		.ipv4 = unic_to_be32(msg->ipv4),
		.qpn = unic_to_be32(msg->qpn),
		.status = unic_to_be32(msg->status),
	};

	memcpy(m.mark, mark, sizeof(mark));
	memcpy(mad, &m, sizeof(m));
}

bool unic_grants_parse(const uint8_t mad[UNIC_MAD_BYTES],
		       struct unic_grants_msg *msg)
{
	struct unic_holder_mad m;

	memcpy(&m, mad, sizeof(m));
	if (m.hdr.base_version != 1 ||
	    m.hdr.mgmt_class != UNIC_MAD_CLASS_HOLDER ||
	    m.hdr.class_version != 1 || m.hdr.method != UNIC_MAD_SEND ||
	    memcmp(m.mark, mark, sizeof(mark)))
		return false;
	*msg = (struct unic_grants_msg){
		.type = unic_from_be16(m.hdr.attribute),
		.nonce = unic_from_be64(m.hdr.tid),
		.local_comm = unic_from_be32(m.local_comm),
		.remote_comm = unic_from_be32(m.remote_comm),
		.kind = unic_from_be32(m.kind),
		.number = unic_from_be32(m.number),
		.grace_us = unic_from_be32(m.grace_us),
		.ipv4 = unic_from_be32(m.ipv4),
		.qpn = unic_from_be32(m.qpn),
		.status = unic_from_be32(m.status),
	};
	return msg->type >= UNIC_HOLDER_INVALIDATE &&
	       msg->type <= UNIC_HOLDER_DELEGATED;
}

void unic_grants_send(struct unic_host *host, const struct conn *c,
		      struct unic_grants_msg *msg)
{
	struct unic_req *req = unic_conn_mad_new(host);

	if (!req)
		return;
	msg->local_comm = c->comm;
	msg->remote_comm = c->remote_comm;
	unic_grants_build(msg, req->call.list);
	unic_conn_mad_send(req, c->ipv4, c->mac);
}

uint64_t unic_grants_nonce(struct unic_host *host)
{
	uint64_t nonce;

	do
		unic_os_random(host->os, &nonce, sizeof(nonce));
	while (!nonce);
	return nonce;
}
