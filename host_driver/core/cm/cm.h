/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm.h - connections: requests of processes, datagrams of peers, timers (IBTA 12; the
 * protocol and the times are in abi/unic_ctl.h, "connections").
 *
 * A handler takes @req over and answers it exactly once, which frees it. Any status
 * but OK means that nothing changed, unless its comment says otherwise.
 */
#ifndef UNIC_CM_H
#define UNIC_CM_H

#include "state.h"

/** unic_cm_connect() - CONNECT: connect a queue pair of the process, in state RESET,
 * to `service` at `ipv4`, within `timeout_us` (0: 10 s). Answered with a struct
 * unic_ctl_conn_reply when the queue pair is in RTS, or with an error, after which
 * the connection is freed. NO_QP; STATE: the queue pair has a connection, is being
 * destroyed, or is of no type that connects; INVALID; PERMISSION: a service of the
 * driver's own; NO_MEMORY; UNREACHABLE; REJECTED, with the reason and the private
 * data of the peer. */
void unic_cm_connect(struct unic_req *req);

/** unic_cm_accept() - ACCEPT: give a queue pair in state RESET to connection `conn`,
 * which waits in REQUESTED, and send REP; answered when the queue pair is in RTS.
 * NO_CONN, NO_QP, STATE, INVALID leave the connection waiting. REJECTED: the types
 * of the queue pairs or the MTUs do not fit. It, and a status of the NIC, come with a
 * REJ to the peer, and the connection is freed. */
void unic_cm_accept(struct unic_req *req);

/** unic_cm_reject() - REJECT: send REJ with the tail as private data (IBTA 12.6.7) to
 * the peer of connection `conn` and free the connection. NO_CONN; STATE: it does not
 * wait for an answer. */
void unic_cm_reject(struct unic_req *req);

/** unic_cm_query() - CONN_QUERY: state, peer and negotiated values of one connection
 * of the process, with the peer's latest private data as tail. NO_CONN. */
void unic_cm_query(struct unic_req *req);

/** unic_cm_row() - fill in RESYNC's @row of @obj, a listener or a connection;
 * @row->id and @row->type are set already. */
void unic_cm_row(struct unic_host *host, const struct unic_obj *obj,
		 struct unic_ctl_object *row);

/** unic_cm_receive() - handle @mad, a management datagram of a peer. One of the
 * vendor class goes to unic_grants_receive(); one that fits no connection is
 * counted (host->cm.strays) and answered only as IBTA 12 asks. */
void unic_cm_receive(struct unic_host *host, const struct unic_mad_rx *mad);

/** unic_cm_poll() - run the timers of connections that are due at @now, in ns of
 * CLOCK_MONOTONIC. Returns when to call again; UINT64_MAX: no timer runs. */
uint64_t unic_cm_poll(struct unic_host *host, uint64_t now);

#endif /* UNIC_CM_H */
