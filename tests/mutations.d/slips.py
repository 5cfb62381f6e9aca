# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Slips of one line that all tests survived once: docs/TESTING.md, "What slips
the tests missed". See tests/mutations.py."""
REQUESTER = "firmware/requester.c"
ARP = "firmware/arp.c"

MUTATIONS = (
    ("firmware/sq.c", "if ((slot->flags & UNIC_WR_FENCE) && qp->sq.reads)",
     "if (0)", "slip: a fence waits for nothing", "test_between"),
    ("firmware/sq.c", "if ((slot->flags & UNIC_WR_FENCE) ||"
     " slot->opcode >= UNIC_WR_READ) {", "if (slot->opcode >= UNIC_WR_READ) {",
     "slip: a fence holds nothing but READs", "test_between"),
    ("firmware/sq.c", "if ((slot->flags & UNIC_WR_FENCE) && qp->sq.reads)",
     "if (slot->flags & UNIC_WR_FENCE)",
     "slip: a fence waits for ever", "test_between"),
    (REQUESTER, "\tif (is_read)\n\t\tsq->reads--;\n", "\t(void)is_read;\n",
     "slip: a fence waits for a READ that was refused", "test_between"),
    (REQUESTER, "\tsq->rnrs = qp->rnr_retry;\n", "",
     "slip: all requests of a connection share one patience with \"not ready\"",
     "test_between"),
    (REQUESTER, "\tsq->retries = qp->retry_cnt;\n", "",
     "slip: all requests of a connection share one patience with loss",
     "test_between"),
    (REQUESTER, "\tsq->retries--;\n", "\tsq->retries--;\n"
     "\tsq->rnrs = qp->rnr_retry;\n",
     "slip: loss renews the patience with \"not ready\"", "test_between"),
    (REQUESTER, "\t\tsq->rnrs--;\n", "\t\tsq->rnrs--;\n"
     "\tsq->retries = qp->retry_cnt;\n",
     "slip: \"not ready\" renews the patience with loss", "test_between"),
    (REQUESTER, "\tif (qp->rnr_retry != 7)\n", "",
     "slip: seven is a number", "test_between"),
    (REQUESTER, "\tif (sq->after_psn != psn)\n\t\tsq->afters = 0;\n", "",
     "slip: RETRY_AFTER is counted over all packets", "test_between"),
    (REQUESTER, "pkt->len == want + aeth", "pkt->len >= want + aeth",
     "slip: a READ response longer than asked is taken", "test_between"),
    (REQUESTER, "pkt->len == want + aeth", "pkt->len <= want + aeth",
     "slip: a READ response shorter than asked is taken", "test_between"),
    (REQUESTER, " ||\n\t    wr->state != UNIC_WRS_SENT) {", ") {",
     "slip: a response for a READ that is over is placed", "test_between"),
    (REQUESTER, "\treturn ends == last && ", "\treturn (ends || 1) && ",
     "slip: any READ response may be the last", "test_between"),
    ("firmware/reads.c", "\t    ask->len != rd->len - skip || ", "\t    ",
     "slip: a duplicate READ of another length is answered", "test_between"),
    ("firmware/reads.c", "ask->rkey != rd->rkey || ", "",
     "slip: a duplicate READ of another key is answered", "test_between"),
    ("firmware/reads.c", "ask->iova != rd->iova + skip ||", "",
     "slip: a duplicate READ of another address is answered", "test_between"),
    (ARP, "if (e->state != UNIC_ARP_ASKED || e->ipv4 != ipv4)",
     "if (e->state == UNIC_ARP_FREE || e->ipv4 != ipv4)",
     "slip: an unasked ARP reply overwrites a known address", "test_arp"),
    (ARP, "if (e->state != UNIC_ARP_ASKED || e->ipv4 != ipv4)",
     "if (e->state != UNIC_ARP_ASKED)",
     "slip: an ARP reply of another address is the answer", "test_arp"),
    (ARP, " ||\n\t    get_ipv4(arp.tpa) != nic->ipv4) {", ") {",
     "slip: an ARP reply to another is the answer", "test_arp"),
)
