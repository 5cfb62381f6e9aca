/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_listen.h - the services that processes offer.
 *
 * Secret: which process a service belongs to: at most one listens to each number, and
 * the driver's own numbers are reserved. A listener outlives the driver.
 */
#ifndef UNIC_CM_LISTEN_H
#define UNIC_CM_LISTEN_H

#include "state.h"

struct listener {
	struct unic_obj obj;
	uint64_t service;
	uint32_t user;
	bool raw; /* its connections are (cm_raw.h) */
};

/** unic_cm_listen() - LISTEN, the handler: answered with the listener's id. IN_USE:
 * another process listens there; PERMISSION: a service of the driver's own; QUOTA,
 * NO_MEMORY. */
void unic_cm_listen(struct unic_req *req);

/** unic_cm_unlisten() - UNLISTEN, the handler: free the listener; REQs of peers for
 * its service are rejected from then on. NO_CONN: no such listener. */
void unic_cm_unlisten(struct unic_req *req);

/** unic_cm_recall() - make the listener that journal note @note is about. False: out
 * of memory. */
bool unic_cm_recall(struct unic_host *host, const struct unic_obj_note *note);

/** unic_listen_find() - the listener of @service, or NULL. */
struct listener *unic_listen_find(struct unic_host *host, uint64_t service);

/** unic_listen_allowed() - true if the process of @req may offer @service, or connect
 * to it. */
bool unic_listen_allowed(const struct unic_req *req, unic_le64 service);

/** unic_listen_drop() - free the listeners of @owner; not @all: only if it does not
 * keep its objects. */
void unic_listen_drop(struct unic_host *host, uint32_t owner, bool all);

#endif /* UNIC_CM_LISTEN_H */
