/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * queue_resize.h - another ring for a completion queue. A handler takes @req over and answers
 * it exactly once (queue.h).
 */
#ifndef UNIC_CORE_QUEUE_RESIZE_H
#define UNIC_CORE_QUEUE_RESIZE_H

#include "state.h"

/** unic_queue_cq_resize() - CQ_RESIZE: when it answers OK, the NIC writes records from the
 * number in the answer on to the new ring. NO_CQ, NO_MR; STATE: the queue has failed;
 * UNSUPPORTED: the device cannot, or the process says HELLO_KEEP: which of two rings it had
 * at a reset nobody would know; and what struct unic_cmd_cq_resize is refused for. Then it
 * writes to the old one. */
void unic_queue_cq_resize(struct unic_req *req);

#endif /* UNIC_CORE_QUEUE_RESIZE_H */
