/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_raw.h - raw connections: the process moves the queue pair itself, as a program of
 * verbs does (abi/unic_ctl_conn.h, "raw connections").
 *
 * Secret: states that only raw connections have, and when an upcall tells of one.
 *
 *  active:  RESOLVE -> REQ_SENT -> (REP) REPLIED -> (CM_ACCEPT) ESTABLISHED
 *  passive: REQUESTED -> (CM_ACCEPT) REP_SENT -> (RTU) ESTABLISHED
 *  both:    ESTABLISHED -> DREQ_SENT -> CLOSED;  ESTABLISHED -> (DREQ) CLOSED
 *  UD:      REQ_SENT -> (SIDR_REP) ESTABLISHED;  REQUESTED -> (CM_ACCEPT) ESTABLISHED
 *  REFUSED: from REQUESTED, REPLIED (CM_REJECT)
 *  REJECTED, UNREACHABLE: from any that is not the end
 *
 * They stay until CM_FREE, or until their process ends; but a request that is neither
 * accepted nor refused has a place as others have (cm_backlog.c). UD that was accepted
 * sends the same SIDR_REP again for each SIDR_REQ that comes again.
 */
#ifndef UNIC_CM_RAW_H
#define UNIC_CM_RAW_H

#include "cm/cm_conn.h"

/* The handlers of CM_CONNECT, CM_ACCEPT, CM_REJECT, CM_DISCONNECT, CM_QUERY, CM_FREE. */
void unic_raw_connect(struct unic_req *req);
void unic_raw_accept(struct unic_req *req);
void unic_raw_reject(struct unic_req *req);
void unic_raw_disconnect(struct unic_req *req);
void unic_raw_query(struct unic_req *req);
void unic_raw_free(struct unic_req *req);

/** unic_raw_has_room() - may process @owner have @more connections than it has? Requests
 * that it refused count until it frees them. */
bool unic_raw_has_room(const struct unic_host *host, uint32_t owner,
		       uint32_t more);

/** unic_raw_resolve() - ask the NIC for the link address of @c, which is in RESOLVE. A
 * process has a bounded number of questions under way, and the NIC as many places: without
 * one @c asks again in a moment (retry_conn()), and that is no try. */
void unic_raw_resolve(struct unic_host *host, struct conn *c);

/** unic_raw_replied() - REP has come for @c, which has taken it over. */
void unic_raw_replied(struct unic_host *host, struct conn *c);

/** unic_raw_resolved() - @msg, a SIDR_REP, has come for @c. */
void unic_raw_resolved(struct unic_host *host, struct conn *c,
		       const struct unic_cm_msg *msg);

/** unic_raw_answered() - true if @c is a request for UD that was accepted: c->sent is its
 * SIDR_REP. */
bool unic_raw_answered(const struct conn *c);

/** unic_raw_can_end() - true if a REJ of the peer ends @c. */
bool unic_raw_can_end(const struct conn *c);

/** unic_raw_end() - @c has ended: bring it to @state, and tell its process. */
void unic_raw_end(struct unic_host *host, struct conn *c, uint8_t state,
		  uint16_t reason);

/** unic_raw_expired() - the time of @c is over. */
void unic_raw_expired(struct unic_host *host, struct conn *c);

/** unic_raw_refuse_sidr() - send SIDR_REP with @status if @c, of UD, is a request that is
 * not answered yet. */
void unic_raw_refuse_sidr(struct unic_host *host, struct conn *c,
			  uint16_t status);

#endif /* UNIC_CM_RAW_H */
