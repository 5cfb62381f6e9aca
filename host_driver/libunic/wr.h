/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* wr.h - send requests that are made one by one, for one ring of the NIC. */
#ifndef UNIC_LIB_WR_H
#define UNIC_LIB_WR_H

#include "queue.h"

/** unic_sq_begin() - until unic_sq_end() nobody else posts to the send queue of @qp. 0, or
 * -errno with words; then there is nothing to end. */
int unic_sq_begin(struct unic_qp *qp);
/** unic_sq_put() - put @wr behind the requests that are posted. 0, or without words -EINVAL:
 * it is malformed; -EAGAIN: there is no room; -EOWNERDEAD: the peer has taken the STag back
 * that it names. */
int unic_sq_put(struct unic_qp *qp, const struct unic_send_wr *wr);
/** unic_sq_end() - have the NIC look at what was put. */
void unic_sq_end(struct unic_qp *qp);

#endif /* UNIC_LIB_WR_H */
