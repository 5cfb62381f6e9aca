/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mad.c - management datagrams: UD SEND to and from QP 1, whose content is the
 * drivers' business (connection set-up).
 */
#include <string.h>

#include "transport/transport.h"
#include "transport/mad.h"
#include "transport/tx.h"

int unic_mad_send(struct unic_transport *nic,
		  const struct unic_cmd_mad_send *cmd,
		  const uint8_t data[UNIC_MAD_BYTES])
{
	struct unic_deth deth = {
		.qkey = unic_to_be32(UNIC_QKEY_GSI),
		.sqpn = unic_to_be32(1),
	};
	uint8_t body[sizeof(deth) + UNIC_MAD_BYTES];
	uint32_t ipv4 = unic_from_le32(cmd->ipv4);

	if (!nic->ipv4)
		return -UNIC_ENOROUTE;
	if (!ipv4 || (cmd->mac[0] & 1))
		return -UNIC_EINVAL;
	memcpy(body, &deth, sizeof(deth));
	memcpy(body + sizeof(deth), data, UNIC_MAD_BYTES);
	return unic_tx_datagram(nic, ipv4, cmd->mac, body, sizeof(body));
}

void unic_mad_frame(struct unic_transport *nic, const struct unic_pkt *pkt,
		    const uint8_t mac[6])
{
	struct unic_mad_rx mad = { .ipv4 = unic_to_le32(pkt->ipv4) };
	struct unic_deth deth;

	if (pkt->opcode != UNIC_OP_UD_SEND_ONLY) {
		UNIC_COUNT(nic, rx_bad_opcode);
		return;
	}
	if (pkt->len != sizeof(deth) + UNIC_MAD_BYTES) {
		UNIC_COUNT(nic, rx_short);
		return;
	}
	memcpy(&deth, pkt->ext, sizeof(deth));
	if (unic_from_be32(deth.qkey) != UNIC_QKEY_GSI) {
		UNIC_COUNT(nic, rx_no_qp);
		return;
	}
	memcpy(mad.mac, mac, sizeof(mad.mac));
	mad.qpn = unic_to_le32(unic_from_be32(deth.sqpn) & UNIC_QPN_MASK);
	memcpy(mad.data, pkt->ext + sizeof(deth), UNIC_MAD_BYTES);
	unic_mbox_mad(&nic->base, &mad); /* counts */
}
