/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* post.h - work requests, as libibverbs asks for them. */
#ifndef UNIC_VERBS_POST_H
#define UNIC_VERBS_POST_H

#include "objects.h"

/** unic_ibv_post_send() - ibv_post_send(). */
int unic_ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		       struct ibv_send_wr **bad);
/** unic_ibv_post_recv() - ibv_post_recv(). */
int unic_ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad);

/** unic_ibv_post_together() - post the list of @n requests that begins with @wr, all or none:
 * 0 or an errno. The caller has the lock of requests that are built, so nobody else posts. */
int unic_ibv_post_together(struct unic_ibv_qp *qp, struct ibv_send_wr *wr,
			   unsigned int n);

/** unic_ibv_post_state() - 0, or the errno of a send request that is posted now. */
int unic_ibv_post_state(const struct unic_ibv_qp *qp);
/** unic_ibv_post_room() - how many requests of the largest size the send queue has room for. The
 * caller has the lock of requests that are built, so nobody else posts. */
unsigned int unic_ibv_post_room(const struct unic_ibv_qp *qp);

/** unic_ibv_post_srq_recv() - ibv_post_srq_recv(). */
int unic_ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad);

#endif /* UNIC_VERBS_POST_H */
