/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * events.h - completion channels and asynchronous events.
 *
 * Secret: who writes into the descriptors that the program reads. Today the NIC rings one
 * descriptor for all completion queues of a process, so a thread of each attachment waits
 * for it, and passes each ring on to the channel of the queue. It never waits for the
 * program. When a queue or queue pair ends, its events that were not read go with it, and
 * those that were read must have been acknowledged.
 */
#ifndef UNIC_VERBS_EVENTS_H
#define UNIC_VERBS_EVENTS_H

#include <stdbool.h>

#include "attach.h"
#include "objects.h"

/** unic_events_start() - start the thread of @at. 0 or -errno. */
int unic_events_start(struct unic_attach *at);
/** unic_events_stop() - end it. */
void unic_events_stop(struct unic_attach *at);
/** unic_events_lost() - true once the driver or the NIC of @at is gone. */
bool unic_events_lost(const struct unic_attach *at);

/** unic_events_open_context() - make async_fd of @ctx, and completion channels possible on
 * its cmd_fd. 0; -ENODEV, with a line on stderr: the preloaded library is not there. */
int unic_events_open_context(struct unic_ibv_context *ctx);
void unic_events_close_context(struct unic_ibv_context *ctx);

/** unic_events_add_cq() - pass rings for @cq on to @channel (NULL: to nobody). */
void unic_events_add_cq(struct unic_ibv_cq *cq,
			struct ibv_comp_channel *channel);
/** unic_events_end_cq() - unic_destroy_cq(), and pass none on any more. On error nothing
 * changes, and no ring is missed. */
int unic_events_end_cq(struct unic_ibv_cq *cq);
/** unic_events_forget_cq() - drop the unread events of @cq, which is deleted, and wait
 * until all others are acknowledged. */
void unic_events_forget_cq(struct unic_ibv_cq *cq);

/** unic_events_add_qp(), _del_qp(), _forget_qp() - likewise, asynchronous events; _del_qp()
 * is of a queue pair that has ended. */
void unic_events_add_qp(struct unic_ibv_qp *qp);
void unic_events_del_qp(struct unic_ibv_qp *qp);
void unic_events_forget_qp(struct unic_ibv_qp *qp);

/** unic_events_add_srq() - pass on the events of @srq. */
void unic_events_add_srq(struct unic_ibv_srq *srq);
/** unic_events_end_srq() - end its queue of the library, and with it its events: what the
 * program has read of them it has acknowledged. An error: nothing has happened. */
int unic_events_end_srq(struct unic_ibv_srq *srq);

/** unic_events_cq_read() - what libibverbs calls when the program has read an event of
 * @cq. */
void unic_events_cq_read(struct ibv_cq *cq);

#endif /* UNIC_VERBS_EVENTS_H */
