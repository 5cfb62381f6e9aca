/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cq.h - completion queues, as queue pairs and the library itself see them. */
#ifndef UNIC_LIB_CQ_H
#define UNIC_LIB_CQ_H

#include "queue.h"

/** unic_cq_add_qp() / unic_cq_del_qp() - completions of @qp may arrive here.
 * Deleting also drops its unread completions. */
void unic_cq_add_qp(struct unic_cq *cq, struct unic_qp *qp);
void unic_cq_del_qp(struct unic_cq *cq, struct unic_qp *qp);

/** unic_cq_recover() - the NIC was reset and writes nothing here: what it wrote is
 * kept, all that is outstanding is flushed, and counting begins anew. evt_lock held.
 * -ENOMEM: nothing happened. */
int unic_cq_recover(struct unic_cq *cq);

/** unic_ring_complete() - the request whose first slot is @pos is done.
 * @in_order: all before it are done too. False: no such request. */
bool unic_ring_complete(struct unic_ring *ring, uint64_t pos, bool in_order,
			uint64_t *wr_id);

#endif /* UNIC_LIB_CQ_H */
