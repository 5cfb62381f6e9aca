/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_end.h - how connections end.
 *
 * Secret: the message that ends a connection, by its state, and how long a connection
 * without an owner stays.
 */
#ifndef UNIC_CM_END_H
#define UNIC_CM_END_H

#include "cm/cm_conn.h"

/** unic_cm_disconnect() - DISCONNECT, the handler: move the queue pair to ERR and
 * send DREQ, with the tail as private data if the peer is unic; answered when the peer answers, or after DREQ_TRIES. A connection that
 * is closed is freed. NO_CONN, STATE. */
void unic_cm_disconnect(struct unic_req *req);

/** unic_cm_qp_destroy() - QP_DESTROY, the handler: end the connection of the queue
 * pair, then unic_queue_qp_destroy(). */
void unic_cm_qp_destroy(struct unic_req *req);

/** unic_cm_drop() - free the connections and listeners of @owner, and send their
 * peers a message if @tell. Requests that wait are answered @status. */
void unic_cm_drop(struct unic_host *host, uint32_t owner, uint32_t status,
		  bool tell);

/** unic_cm_lost() - the device was reset: free all connections, and the listeners of
 * processes that do not keep their objects. */
void unic_cm_lost(struct unic_host *host);

/** unic_end_dreq() - answer @msg, a DREQ in @mad. @c, the connection that it names,
 * or NULL, is closed, or, if it has sent a DREQ itself, freed. */
void unic_end_dreq(struct unic_host *host, const struct unic_mad_rx *mad,
		   struct conn *c, const struct unic_cm_msg *msg);

/** unic_end_start() - send DREQ until the peer answers; then @c is freed. @req: DISCONNECT,
 * whose private data goes with it, or NULL. */
void unic_end_start(struct unic_host *host, struct conn *c,
		    const struct unic_req *req);

/** unic_end_orphan() - the process or queue pair of @c is gone: send REJ or DREQ, as the
 * state demands, and free @c or make the driver its owner. */
void unic_end_orphan(struct unic_host *host, struct conn *c);

/** unic_end_refused() - c->sent, a REJ or SIDR_REP, was sent and has refused @c: the driver
 * is its owner now, so that unic_end_refuse_again() can say it. */
void unic_end_refused(struct unic_host *host, struct conn *c);

/** unic_end_refuse_again() - the message that was refused has come again for @c, in
 * REFUSED: send the same refusal. */
void unic_end_refuse_again(struct unic_host *host, struct conn *c);

/** unic_end_finish() - free @c, whose peer has answered DREQ or does not answer at all,
 * and answer the DISCONNECT of @c, if there is one. */
void unic_end_finish(struct unic_host *host, struct conn *c);

#endif /* UNIC_CM_END_H */
