/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_listen.h - the services that processes offer.
 *
 * Secret: how a service finds its process: at most one listens to each number, and
 * those of the driver itself are not for everybody. A listener outlives the driver.
 */
#ifndef UNIC_CM_LISTEN_H
#define UNIC_CM_LISTEN_H

#include "state.h"

struct listener {
	struct unic_obj obj;
	uint64_t service;
	uint32_t user;
};

/** unic_cm_listen() - LISTEN: the process of @req offers a service that nobody else
 * offers; answered with the listener's id. */
void unic_cm_listen(struct unic_req *req);

/** unic_cm_unlisten() - UNLISTEN: the service is nobody's; requests of peers for it are
 * refused from here on. */
void unic_cm_unlisten(struct unic_req *req);

/** unic_cm_recall() - the listener that @note is about. False: no memory. */
bool unic_cm_recall(struct unic_host *host, const struct unic_obj_note *note);

/** unic_listen_find() - who offers @service, or NULL. */
struct listener *unic_listen_find(struct unic_host *host, uint64_t service);

/** unic_listen_allowed() - whether the process of @req may offer @service, or
 * connect to it. */
bool unic_listen_allowed(const struct unic_req *req, unic_le64 service);

/** unic_listen_drop() - forget the listeners of @owner; not @all: but for those of
 * a process that keeps its objects. */
void unic_listen_drop(struct unic_host *host, uint32_t owner, bool all);

#endif /* UNIC_CM_LISTEN_H */
