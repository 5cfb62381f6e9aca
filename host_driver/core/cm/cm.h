/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cm.h - connections: what processes ask, what peers send, timers. */
#ifndef UNIC_CM_H
#define UNIC_CM_H

#include "state.h"

void unic_cm_connect(struct unic_req *req);
void unic_cm_accept(struct unic_req *req);
void unic_cm_reject(struct unic_req *req);
void unic_cm_query(struct unic_req *req);
/** unic_cm_row() - RESYNC's row of @obj, a listener or connection. */
void unic_cm_row(struct unic_host *host, const struct unic_obj *obj,
		 struct unic_ctl_object *row);
/** unic_cm_receive() - a datagram of a peer. */
void unic_cm_receive(struct unic_host *host, const struct unic_mad_rx *mad);
/** unic_cm_poll() - timers. Returns when to call again. */
uint64_t unic_cm_poll(struct unic_host *host, uint64_t now);

#endif /* UNIC_CM_H */
