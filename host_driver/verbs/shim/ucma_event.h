/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_event.h - events: what the provider says of connections, in the words of rdma_cm.
 *
 * Secret: which change of a connection is which event, and that each is told once.
 */
#ifndef UNIC_UCMA_EVENT_H
#define UNIC_UCMA_EVENT_H

#include "ucma_id.h"

/* As rdma/rdma_cm.h of the kernel, of which no header for programs has them. */
enum unic_ucma_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED,
	RDMA_CM_EVENT_ADDR_ERROR,
	RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR,
	RDMA_CM_EVENT_CONNECT_REQUEST,
	RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_CONNECT_ERROR,
	RDMA_CM_EVENT_UNREACHABLE,
	RDMA_CM_EVENT_REJECTED,
	RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED,
	RDMA_CM_EVENT_DEVICE_REMOVAL,
};

/** unic_ucma_event_put() - queue event @type of @id with @status. 0 or -ENOMEM. With the
 * lock of all. */
int unic_ucma_event_put(struct unic_ucma_id *id, uint32_t type, int status);

/* What the provider calls. */
extern const struct unic_wire_up unic_ucma_up;

#endif /* UNIC_UCMA_EVENT_H */
