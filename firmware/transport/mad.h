/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mad.h - management datagrams, to and from queue pair 1.
 *
 * Secret: their place in a frame, and which of them the driver hears of.
 */
#ifndef UNIC_MAD_H
#define UNIC_MAD_H

#include <stdint.h>
#include "unic_wire.h"

struct unic_cmd_mad_send;
struct unic_pkt;
struct unic_transport;

/** unic_mad_send() - MAD_SEND. 0, -UNIC_EINVAL, -UNIC_ENOROUTE (we have no
 * address), -UNIC_EAGAIN (link full). */
int unic_mad_send(struct unic_transport *nic,
		  const struct unic_cmd_mad_send *cmd,
		  const uint8_t data[UNIC_MAD_BYTES]);

/** unic_mad_frame() - a datagram to QP 1 arrived; @mac is its sender's. */
void unic_mad_frame(struct unic_transport *nic, const struct unic_pkt *pkt,
		    const uint8_t mac[6]);

#endif /* UNIC_MAD_H */
