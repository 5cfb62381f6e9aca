# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""READs that are asked for in parts after a loss. See mutations.py."""
PARTS = "firmware/transport/read_parts.c"
RESOURCES = "firmware/transport/rd_resources.c"
RX = "firmware/transport/requester_rx.c"
REQUESTER = "firmware/transport/requester.c"
TEST = "test_parts"

MUTATIONS = (
    (REQUESTER, "	if (qp->sq.reads)\n		unic_read_parts_begin(&qp->sq);\n", "",
     "parts: all that is missing is asked for at once", TEST),
    (PARTS, "	uint32_t n = UNIC_READ_PART - (k & (UNIC_READ_PART - 1));",
     "	uint32_t n = UNIC_READ_PART;",
     "parts: one goes over the end of what the peer took for a READ", TEST),
    (RX, "	if (qp->sq.reads && !qp->sq.rnr_wait && unic_qp_sends(qp))\n", "	if (0)\n",
     "parts: a peer that still answers is given up", TEST),
    (RESOURCES, "(ask->len && ask->len < left &&", "(0 && ask->len < left &&",
     "parts: the responder answers whole READs only", TEST),
    (RESOURCES, "	rd->sent = 0;\n", "",
     "parts: an answer that begins anew begins with a middle packet", TEST),
)
