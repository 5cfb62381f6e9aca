# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Shared receive queues: whose receive is next, and who is refused. See mutations.py."""
SRQ = "firmware/transport/srq.c"
RQ = "firmware/transport/rq.c"
QP = "firmware/transport/qp.c"
MODIFY = "firmware/transport/qp_modify.c"
PROC = "firmware/command/proc.c"
SWEEP = "firmware/transport/rq_sweep.c"
TEST = "test_srq"

MUTATIONS = (
    (SRQ, "	if (tail - srq->tail > srq->mask + 1 - (srq->tail - srq->head)) {",
     "	if (tail - srq->tail > srq->mask + 1) {",
     "srq: a tail may run ahead", TEST),
    (SRQ, "	srq->head++;\n", "	srq->head += !r;\n",
     "srq: a receive that is read late is given twice", TEST),
    (SRQ, "	if (!--srq->fetching)\n		publish_taken(nic, srq);\n",
     "	srq->fetching--;\n",
     "srq: what is read late is never told as taken", TEST),
    (SRQ, "	else if (!srq->fetching)\n		publish_taken(nic, srq);\n",
     "	if (!srq->fetching || r)\n		publish_taken(nic, srq);\n",
     "srq: a slot that is not read yet is told as free", TEST),
    (SRQ, "	srq->limit = 0;\n", "", "srq: the limit is told again and again", TEST),
    (SRQ, "	if (srq->tail - srq->head >= srq->limit)\n",
     "	if (srq->tail - srq->head > srq->limit)\n",
     "srq: the limit is told one early", TEST),
    (SRQ, "	if (srq->users)\n		return -UNIC_EBUSY;\n", "",
     "srq: destroyed under its queue pairs", TEST),
    (SRQ, "	return srq->pd == pd ? 0 : -UNIC_EPD;", "	return 0;",
     "srq: of another domain", TEST),
    (SRQ, "	if (!srq->used || srq->proc != proc)\n		return -UNIC_ENOSRQ;",
     "	if (!srq->used)\n		return -UNIC_ENOSRQ;",
     "srq: of another process", TEST),
    (SRQ, "	*lost = unmark(srq, srq->head);\n", "	*lost = false;\n",
     "srq: a receive of an evicted region ends its queue pair", TEST),
    (SWEEP, "			unic_srq_sweep_begin(nic);\n", "			;\n",
     "srq: the sweep does not look at them", TEST),
    (RQ, "	if (qp->state == UNIC_QPS_ERR || rq->fetched != rq->head)\n",
     "	if (rq->fetched != rq->head)\n",
     "srq: a queue pair in ERR flushes receives of others", TEST),
    (QP, "	if (!UNIC_SRQS || !qp->rq.srq || qp->rq.told_last)\n",
     "	if (!UNIC_SRQS || !qp->rq.srq)\n",
     "srq: the last receive is told more than once", TEST),
    (QP, "(UNIC_SRQS && !qp->cqes &&", "(UNIC_SRQS &&",
     "srq: the last receive is told before its completion is there", TEST),
    (MODIFY, "	qp->rq.srq = srq;\n", "", "srq: forgotten in RESET", TEST),
    ("host_driver/core/srq.c", "!(host->features & UNIC_FEAT_SRQ) || ", "",
     "srq: asked of a NIC without any", "test_driver_srq"),
    ("host_driver/core/srq.c", " || host->proc[req->slot].keep)", ")",
     "srq: of a process that keeps its objects", "test_driver_srq"),
    ("host_driver/core/srq.c", "		undo_srq(req, cpl.id);\n		return;",
     "		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);\n		return;",
     "srq: the NIC keeps what the driver has no memory for", "test_driver_srq"),
    ("host_driver/core/srq.c", "	if (id > UINT32_MAX)\n		return UNIC_ST_NO_SRQ;\n", "",
     "srq: half of an id will do", "test_driver_srq"),
    ("host_driver/core/srq.c", "	srq->failed |= type == UNIC_UP_SRQ_ERROR;\n", "",
     "srq: its error is not remembered", "test_driver_srq"),
    (PROC, "		unic_srq_proc_gone(&nic->transport, slot);\n", "		;\n",
     "srq: stays when its process leaves", TEST),
)
