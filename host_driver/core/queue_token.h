/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * queue_token.h - payload tokens of processes.
 *
 * Secret: which token an index of the NIC names, and when one has ended. The NIC
 * gives an index again as soon as its token ended; the event that says so may be
 * behind the answer that gives it again.
 */
#ifndef UNIC_CORE_QUEUE_TOKEN_H
#define UNIC_CORE_QUEUE_TOKEN_H

#include "state.h"

/** unic_queue_token_alloc() - TOKEN_ALLOC: answered with id, index and key. */
void unic_queue_token_alloc(struct unic_req *req);

/** unic_queue_token_cancel() - TOKEN_CANCEL: answered with how it ended and how much
 * of it was placed; NO_TOKEN: it had ended before. */
void unic_queue_token_cancel(struct unic_req *req);

/** unic_queue_token_event() - TOKEN_END. */
void unic_queue_token_event(struct unic_host *host,
			    const struct unic_evt_token *evt);

/** unic_queue_settled() - all events of the past are read: a token that was
 * replaced and not told to have ended was used. */
void unic_queue_settled(struct unic_host *host);

/** unic_queue_token_reset() - token @obj ended with the device; its process is
 * told if it hears of that. */
void unic_queue_token_reset(struct unic_host *host, struct unic_obj *obj);

/** unic_queue_token_free() - forget @t: its index names none. */
void unic_queue_token_free(struct unic_host *host, struct unic_htoken *t);

#endif /* UNIC_CORE_QUEUE_TOKEN_H */
