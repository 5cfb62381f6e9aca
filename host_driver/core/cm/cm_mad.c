/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "cm/cm_mad.h"

#define HDR ((uint32_t)sizeof(struct unic_mad_hdr)) /* attribute data follows */

/* Offset and room of the private data, by message (from the datagram's start;
 * IBTA tables 99, 108, 110, 111, 112, 113). */
enum {
	REQ_PRIV = HDR + 140,
	REJ_PRIV = HDR + 84,
	REP_PRIV = HDR + 36,
	DREQ_PRIV = HDR + 12,
	SIDR_REQ_PRIV = HDR + 16,
	SIDR_REP_PRIV = HDR + 96,
};
_Static_assert(UNIC_CM_MARK_AT == UNIC_CTL_PRIVATE_MAX, "no overlap");

static const uint8_t mark_text[4] = { 'U', 'N', 'I', 'C' };

static void mad_put_be(uint8_t *p, uint64_t v, uint32_t bytes)
{
	while (bytes--) {
		p[bytes] = (uint8_t)v;
		v >>= 8;
	}
}

static uint64_t mad_get_be(const uint8_t *p, uint32_t bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

/* An IPv4 address as a GID: ::ffff:a.b.c.d (annex A17). */
static void put_gid(uint8_t *p, uint32_t ipv4)
{
	p[10] = 0xff;
	p[11] = 0xff;
	mad_put_be(p + 12, ipv4, 4);
}

static bool get_gid(const uint8_t *p, uint32_t *ipv4)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	*ipv4 = (uint32_t)mad_get_be(p + 12, 4);
	return !memcmp(p, prefix, sizeof(prefix));
}

static void put_private(uint8_t *p, const struct unic_cm_msg *msg)
{
	struct unic_cm_mark mark = { .version = UNIC_CM_MARK_VERSION,
				     .priv_bytes = msg->priv_bytes,
				     .caps = msg->caps };

	memcpy(p, msg->priv, msg->priv_bytes);
	if (msg->raw)
		return;
	memcpy(mark.mark, mark_text, sizeof(mark_text));
	memcpy(p + UNIC_CM_MARK_AT, &mark, sizeof(mark));
}

static bool is_unic_mark(const struct unic_cm_mark *mark)
{
	return !memcmp(mark->mark, mark_text, sizeof(mark_text)) &&
	       mark->version == UNIC_CM_MARK_VERSION &&
	       mark->priv_bytes <= UNIC_CTL_PRIVATE_MAX;
}

uint8_t unic_cm_room(uint16_t type)
{
	switch (type) {
	case UNIC_CM_REQ:
		return UNIC_MAD_BYTES - REQ_PRIV;
	case UNIC_CM_REP:
		return UNIC_MAD_BYTES - REP_PRIV;
	case UNIC_CM_REJ:
		return UNIC_MAD_BYTES - REJ_PRIV;
	case UNIC_CM_SIDR_REQ:
		return UNIC_MAD_BYTES - SIDR_REQ_PRIV;
	case UNIC_CM_SIDR_REP:
		return UNIC_MAD_BYTES - SIDR_REP_PRIV;
	default:
		return 0;
	}
}

/* Without the mark, the message does not give the length of its data: copy all that
 * there is, of a DREQ nothing. */
static void get_private(const uint8_t *p, struct unic_cm_msg *msg)
{
	uint32_t room = unic_cm_room(msg->type), bytes = room;
	struct unic_cm_mark mark;

	memcpy(&mark, p + UNIC_CM_MARK_AT, sizeof(mark));
	if (is_unic_mark(&mark)) {
		msg->vendor = 1;
		msg->caps = mark.caps;
		bytes = mark.priv_bytes;
	}
	msg->priv_bytes = (uint8_t)bytes;
	memcpy(msg->priv, p, room ? room : bytes); /* DREQ: of the mark */
}

static uint8_t clamp_u8(uint32_t v, uint32_t max)
{
	return (uint8_t)(v > max ? max : v);
}

/* IBTA table 99. */
static void build_req(const struct unic_cm_msg *msg, uint8_t *m)
{
	mad_put_be(m + HDR + 8, msg->service, 8);
	mad_put_be(m + HDR + 16, msg->guid, 8);
	mad_put_be(m + HDR + 32, msg->qpn, 3);
	m[HDR + 35] = msg->max_dest_rd;
	m[HDR + 39] = msg->max_rd;
	m[HDR + 43] = (uint8_t)(20 << 3 | msg->qp_type << 1); /* timeout */
	mad_put_be(m + HDR + 44, msg->psn, 3);
	m[HDR + 47] = (uint8_t)(20 << 3 | msg->retry_cnt);
	mad_put_be(m + HDR + 48, 0xffff, 2);
	m[HDR + 50] = (uint8_t)((msg->mtu_shift - 7) << 4 | msg->rnr_retry);
	m[HDR + 51] = 15 << 4; /* CM retries */
	put_gid(m + HDR + 56, msg->src_ipv4);
	put_gid(m + HDR + 72, msg->dst_ipv4);
	m[HDR + 93] = 64; /* hop limit */
	m[HDR + 95] = (uint8_t)(msg->timeout << 3);
	put_private(m + REQ_PRIV, msg);
}

/* What a REQ is to be rejected for: no queue pair has its transport, MTU or path. 0:
 * nothing. */
static uint16_t req_refusal(const uint8_t *m, struct unic_cm_msg *msg)
{
	uint32_t mtu = m[HDR + 50] >> 4;

	if (msg->qp_type > UNIC_QPT_UC)
		return UNIC_CM_BAD_TYPE;
	if (mtu < 1 || mtu > 5)
		return UNIC_CM_BAD_MTU;
	if (!get_gid(m + HDR + 56, &msg->src_ipv4) ||
	    !get_gid(m + HDR + 72, &msg->dst_ipv4))
		return UNIC_CM_BAD_GID;
	return 0;
}

static void parse_req(const uint8_t *m, struct unic_cm_msg *msg)
{
	msg->service = mad_get_be(m + HDR + 8, 8);
	msg->guid = mad_get_be(m + HDR + 16, 8);
	msg->qpn = (uint32_t)mad_get_be(m + HDR + 32, 3);
	msg->max_dest_rd = m[HDR + 35];
	msg->max_rd = m[HDR + 39];
	msg->psn = (uint32_t)mad_get_be(m + HDR + 44, 3);
	msg->retry_cnt = m[HDR + 47] & 7;
	msg->rnr_retry = m[HDR + 50] & 7;
	msg->timeout = m[HDR + 95] >> 3;
	msg->mtu_shift = (uint8_t)((m[HDR + 50] >> 4) + 7);
	get_private(m + REQ_PRIV, msg);
	msg->qp_type = m[HDR + 43] >> 1 & 3; /* as IBTA numbers them */
	msg->reason = req_refusal(m, msg);
}

/* IBTA table 110. */
static void build_rep(const struct unic_cm_msg *msg, uint8_t *m)
{
	mad_put_be(m + HDR + 12, msg->qpn, 3);
	mad_put_be(m + HDR + 20, msg->psn, 3);
	m[HDR + 24] = msg->max_dest_rd;
	m[HDR + 25] = msg->max_rd;
	m[HDR + 26] = (uint8_t)(msg->timeout << 3); /* target ACK delay */
	m[HDR + 27] = (uint8_t)(msg->rnr_retry << 5);
	mad_put_be(m + HDR + 28, msg->guid, 8);
	put_private(m + REP_PRIV, msg);
}

static void parse_rep(const uint8_t *m, struct unic_cm_msg *msg)
{
	msg->qpn = (uint32_t)mad_get_be(m + HDR + 12, 3);
	msg->psn = (uint32_t)mad_get_be(m + HDR + 20, 3);
	msg->max_dest_rd = m[HDR + 24];
	msg->max_rd = m[HDR + 25];
	msg->timeout = m[HDR + 26] >> 3;
	msg->rnr_retry = m[HDR + 27] >> 5;
	msg->guid = mad_get_be(m + HDR + 28, 8);
	get_private(m + REP_PRIV, msg);
}

/* IBTA table 108: a REJ for a time-out says whose it is, for a receiver that may not know
 * the ids, in the additional reject information. */
static void build_rej(const struct unic_cm_msg *msg, uint8_t *m)
{
	m[HDR + 8] = (uint8_t)(msg->rejected << 6);
	mad_put_be(m + HDR + 10, msg->reason, 2);
	if (msg->reason == UNIC_CM_TIMEOUT) {
		m[HDR + 9] = 8 << 1; /* bytes of it */
		mad_put_be(m + HDR + 12, msg->guid, 8);
	}
	put_private(m + REJ_PRIV, msg);
}

/* IBTA tables 119 and 120: a SIDR_REP has the request id of the SIDR_REQ, and no other. */
static void build_sidr(const struct unic_cm_msg *msg, uint8_t *m)
{
	if (msg->type == UNIC_CM_SIDR_REQ) {
		mad_put_be(m + HDR + 4, 0xffff, 2); /* P_Key */
		mad_put_be(m + HDR + 8, msg->service, 8);
		memcpy(m + SIDR_REQ_PRIV, msg->priv, msg->priv_bytes);
		return;
	}
	mad_put_be(m + HDR, msg->remote_comm, 4);
	/* and the three bytes behind it, where others have `remote_comm` */
	mad_put_be(m + HDR + 4, (uint64_t)(uint8_t)msg->reason << 24, 4);
	mad_put_be(m + HDR + 8, msg->qpn, 3);
	mad_put_be(m + HDR + 12, msg->service, 8);
	mad_put_be(m + HDR + 20, msg->qkey, 4);
	memcpy(m + SIDR_REP_PRIV, msg->priv, msg->priv_bytes);
}

static void parse_sidr(const uint8_t *m, struct unic_cm_msg *msg)
{
	const uint8_t *priv = m + SIDR_REQ_PRIV;

	msg->remote_comm = 0;
	if (msg->type == UNIC_CM_SIDR_REQ) {
		msg->service = mad_get_be(m + HDR + 8, 8);
		msg->qp_type = UNIC_QPT_UD;
	} else {
		msg->remote_comm = msg->local_comm;
		msg->local_comm = 0;
		msg->reason = m[HDR + 4];
		msg->qpn = (uint32_t)mad_get_be(m + HDR + 8, 3);
		msg->service = mad_get_be(m + HDR + 12, 8);
		msg->qkey = (uint32_t)mad_get_be(m + HDR + 20, 4);
		priv = m + SIDR_REP_PRIV;
	}
	msg->priv_bytes = unic_cm_room(msg->type);
	memcpy(msg->priv, priv, msg->priv_bytes);
}

void unic_cm_build(const struct unic_cm_msg *msg, uint8_t mad[UNIC_MAD_BYTES])
{
	const struct unic_mad_hdr hdr = {
		.base_version = 1,
		.mgmt_class = UNIC_MAD_CLASS_CM,
		.class_version = 2,
		.method = UNIC_MAD_SEND,
		.tid = unic_to_be64(msg->tid),
		.attribute = unic_to_be16(msg->type),
	};

	memset(mad, 0, UNIC_MAD_BYTES);
	memcpy(mad, &hdr, sizeof(hdr));
	mad_put_be(mad + HDR, msg->local_comm, 4);
	if (msg->type != UNIC_CM_REQ)
		mad_put_be(mad + HDR + 4, msg->remote_comm, 4);
	switch (msg->type) {
	case UNIC_CM_REQ:
		build_req(msg, mad);
		break;
	case UNIC_CM_REP:
		build_rep(msg, mad);
		break;
	case UNIC_CM_REJ:
		build_rej(msg, mad);
		break;
	case UNIC_CM_DREQ:
		mad_put_be(mad + HDR + 8, msg->qpn, 3);
		if (msg->priv_bytes)
			put_private(mad + DREQ_PRIV, msg);
		break;
	case UNIC_CM_SIDR_REQ:
	case UNIC_CM_SIDR_REP:
		build_sidr(msg, mad);
		break;
	default:
		break;
	}
}

bool unic_cm_parse(const uint8_t mad[UNIC_MAD_BYTES], struct unic_cm_msg *msg)
{
	struct unic_mad_hdr hdr;

	memset(msg, 0, sizeof(*msg));
	memcpy(&hdr, mad, sizeof(hdr));
	if (hdr.base_version != 1 || hdr.mgmt_class != UNIC_MAD_CLASS_CM ||
	    hdr.class_version != 2 || hdr.method != UNIC_MAD_SEND)
		return false;
	msg->tid = unic_from_be64(hdr.tid);
	msg->type = unic_from_be16(hdr.attribute);
	msg->local_comm = (uint32_t)mad_get_be(mad + HDR, 4);
	if (msg->type != UNIC_CM_REQ)
		msg->remote_comm = (uint32_t)mad_get_be(mad + HDR + 4, 4);
	switch (msg->type) {
	case UNIC_CM_REQ:
		parse_req(mad, msg);
		return true;
	case UNIC_CM_REP:
		parse_rep(mad, msg);
		return true;
	case UNIC_CM_REJ:
		msg->rejected = mad[HDR + 8] >> 6;
		msg->reason =
			clamp_u8((uint32_t)mad_get_be(mad + HDR + 10, 2), 255);
		get_private(mad + REJ_PRIV, msg);
		return true;
	case UNIC_CM_DREQ:
		msg->qpn = (uint32_t)mad_get_be(mad + HDR + 8, 3);
		get_private(mad + DREQ_PRIV, msg);
		return true;
	case UNIC_CM_SIDR_REQ:
	case UNIC_CM_SIDR_REP:
		parse_sidr(mad, msg);
		return true;
	case UNIC_CM_RTU:
	case UNIC_CM_DREP:
	case UNIC_CM_MRA:
		return true;
	default:
		return false;
	}
}
