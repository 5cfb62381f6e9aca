# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""READs that are asked for in parts after a loss. See mutations.py."""
PARTS = "firmware/transport/read_parts.c"
RESOURCES = "firmware/transport/rd_resources.c"
RX = "firmware/transport/requester_rx.c"
REQUESTER = "firmware/transport/requester.c"
TEST = "test_parts"

MUTATIONS = (
    (REQUESTER, "		unic_read_parts_begin(&qp->sq);\n", "",
     "parts: all that is missing is asked for at once", TEST),
    (PARTS, "	uint32_t n = UNIC_READ_PART - (k & (UNIC_READ_PART - 1));",
     "	uint32_t n = UNIC_READ_PART;",
     "parts: one goes over the end of what the peer took for a READ", TEST),
    (RX, "	sq->heard_psn = psn;\n	unic_requester_timer(nic, qp);\n", "	sq->heard_psn = psn;\n",
     "parts: a peer that still answers is given up", TEST),
    (RX, " || unic_psn_diff(psn, sq->heard_psn) <= 0)", ")",
     "parts: a peer that says the same for ever is never given up", TEST),
    (PARTS, " && sq->psn == sq->psn_una) {", ") {",
     "parts: a lost READ waits for the timer where a later one is asked for", TEST),
    (RESOURCES, "(ask->len - 1 < left &&", "(0 &&",
     "parts: the responder answers whole READs only", TEST),
    (RESOURCES, "	rd->start = off;\n", "",
     "parts: an answer that begins anew begins with a middle packet", TEST),
)
