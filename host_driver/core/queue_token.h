/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * queue_token.h - payload tokens of processes.
 *
 * Secret: which token an index of the NIC names, and when a token has ended. The NIC
 * reuses an index as soon as its token has ended; the event TOKEN_END may come after
 * the answer that brings the index for another token.
 */
#ifndef UNIC_CORE_QUEUE_TOKEN_H
#define UNIC_CORE_QUEUE_TOKEN_H

#include "state.h"

/** unic_queue_token_alloc() - TOKEN_ALLOC, the handler: answered with id, index and
 * key. NO_MR, INVALID, NO_MEMORY, and what the NIC refuses; then there is no token. */
void unic_queue_token_alloc(struct unic_req *req);

/** unic_queue_token_cancel() - TOKEN_CANCEL, the handler: answered with how the token
 * ended and the bytes placed; while a message is arriving when that has ended, or T
 * later. NO_TOKEN: it had ended before. BUSY: a message is arriving, and the NIC has no
 * FEAT_CANCEL_WAIT. */
void unic_queue_token_cancel(struct unic_req *req);

/** unic_queue_token_event() - handle TOKEN_END: answer the TOKEN_CANCELs that wait for
 * it, or else an upcall, and free the token. */
void unic_queue_token_event(struct unic_host *host,
			    const struct unic_evt_token *evt);

/** unic_queue_settled() - all earlier events are read: free the tokens whose index
 * another token has, and of whose end no event came: they were used. */
void unic_queue_settled(struct unic_host *host);

/** unic_queue_token_reset() - token @obj ended with the reset of the device: free it,
 * and tell its process, if that outlives the reset, as unic_queue_token_event() does. */
void unic_queue_token_reset(struct unic_host *host, struct unic_obj *obj);

/** unic_queue_token_free() - free @t; its index names no token. TOKEN_CANCELs that wait
 * for its end are answered with @status. */
void unic_queue_token_free(struct unic_host *host, struct unic_htoken *t,
			   uint32_t status);

#endif /* UNIC_CORE_QUEUE_TOKEN_H */
