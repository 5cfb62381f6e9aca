/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * wire.h - between the preloaded library, which is the connection manager that
 * librdmacm talks to, and the provider, which reaches the driver: the calls of each.
 * Numbers are in host order; errors are -errno.
 */
#ifndef UNIC_SHIM_WIRE_H
#define UNIC_SHIM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNIC_WIRE_PRIVATE 216

struct unic_wire; /* an attachment to a NIC */

/* Of a request to connect, or an answer to one. */
struct unic_wire_param {
	uint64_t service; /* connect */
	uint32_t ipv4;	  /* connect */
	uint32_t conn;	  /* accept */
	uint32_t user;	  /* returned in events */
	uint32_t qpn;	  /* 0: connect of UD, accept of who connected */
	uint32_t qkey;	  /* accept of UD */
	uint32_t timeout_ms;
	uint8_t qp_type; /* connect: enum ibv_qp_type */
	uint8_t max_dest_rd, max_rd, timeout, retry_cnt, rnr_retry;
	uint8_t bytes; /* of `data` */
	const void *data;
};

enum unic_wire_state {
	UNIC_WIRE_GONE, /* there is no such connection any more */
	UNIC_WIRE_OTHER,
	UNIC_WIRE_REQUESTED,
	UNIC_WIRE_REPLIED,
	UNIC_WIRE_ESTABLISHED,
	UNIC_WIRE_CLOSED,
	UNIC_WIRE_REJECTED,
	UNIC_WIRE_UNREACHABLE,
};

/* Where a connection stands. */
struct unic_wire_event {
	uint32_t conn, user;
	enum unic_wire_state state;
	bool was_up; /* it is ESTABLISHED, or was */
	uint64_t service;
	uint32_t ipv4; /* of the peer */
	uint32_t qpn, qkey, reason, sq_psn, rq_psn;
	uint8_t qp_type; /* enum ibv_qp_type */
	uint8_t mtu;	 /* enum ibv_mtu */
	uint8_t max_rd, max_dest_rd, timeout, retry_cnt, rnr_retry;
	uint8_t bytes; /* of `data` */
	uint8_t data[UNIC_WIRE_PRIVATE];
};

/* What the provider does. None waits for a peer. */
struct unic_wire_ops {
	/* attach to @where, PATH[,NIC], until the process ends or `lost` */
	int (*open)(const char *where, struct unic_wire **out);
	int (*listen)(struct unic_wire *w, uint64_t service, uint32_t user,
		      uint32_t *id);
	void (*unlisten)(struct unic_wire *w, uint32_t id);
	int (*connect)(struct unic_wire *w, const struct unic_wire_param *p,
		       uint32_t *conn);
	int (*accept)(struct unic_wire *w, const struct unic_wire_param *p);
	/* @reason: of a REJ, 0: the consumer's; UD has none */
	int (*reject)(struct unic_wire *w, uint32_t conn, uint8_t reason,
		      const void *data, uint8_t bytes);
	int (*disconnect)(struct unic_wire *w, uint32_t conn);
	/* end @conn, and tell its peer what is due */
	void (*free)(struct unic_wire *w, uint32_t conn);
};

/* What it calls, from its thread. */
struct unic_wire_up {
	/* False: nobody takes this request; end it. */
	bool (*event)(struct unic_wire *w, const struct unic_wire_event *ev);
	/* The driver or the NIC of @w is gone. */
	void (*lost)(struct unic_wire *w);
};

/* What the provider looks for by name (ucma_wire.h). */
#define UNIC_SHIM_WIRE "unic_shim_wire"

#endif /* UNIC_SHIM_WIRE_H */
