/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_end.h - how connections end.
 *
 * Secret: what the peer is told, by the state of the connection, and how long one
 * stays that nobody owns.
 */
#ifndef UNIC_CM_END_H
#define UNIC_CM_END_H

#include "cm/cm_conn.h"

/** unic_cm_disconnect() - DISCONNECT: the queue pair is in error; answered when the
 * peer knows, or has been told DREQ_TRIES times. One that is closed is forgotten. */
void unic_cm_disconnect(struct unic_req *req);

/** unic_cm_qp_destroy() - QP_DESTROY: its connection ends first. */
void unic_cm_qp_destroy(struct unic_req *req);

/** unic_cm_drop() - forget connections and listeners of @owner; peers are told
 * if @tell. */
void unic_cm_drop(struct unic_host *host, uint32_t owner, uint32_t status,
		  bool tell);

/** unic_cm_lost() - the device forgot its queue pairs: no connection is left;
 * listeners of who keeps its objects are. */
void unic_cm_lost(struct unic_host *host);

/** unic_end_dreq() - @msg, a DREQ of @mad, is answered; if it names connection @c
 * (else NULL), that is closed or, if ours was under way, forgotten. */
void unic_end_dreq(struct unic_host *host, const struct unic_mad_rx *mad,
		   struct conn *c, const struct unic_cm_msg *msg);

/** unic_end_finish() - the peer knows of the end, or will not: @c is forgotten, and
 * its DISCONNECT, if there is one, answered. */
void unic_end_finish(struct unic_host *host, struct conn *c);

#endif /* UNIC_CM_END_H */
