# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
LONE = "firmware/transport/fastpath_lone.c"
MUTATIONS = (
    (LONE, " | !nic->link.icrc_offload)", ")", "lone: a frame has no checksum", "test_lone"),
    (LONE, "\tif (qp->sq.tail - qp->sq.next != 1)\n\t\treturn false;", "\tif (qp->sq.tail == qp->sq.next)\n\t\treturn false;",
     "lone: the first of several is sent by itself", "test_lone"),
    (LONE, "(sq->una ^ next) | (sq->fetched ^ next) | (sq->cur ^ next) |\n"
     "\t\t (sq->psn ^ sq->psn_una) | sq->busy)",
     "(sq->fetched ^ next) | (sq->cur ^ next) | sq->busy)",
     "lone: one is sent while another is under way", "test_lone"),
    (LONE, "slot && unic_form_matches(&qp->sq.ready, slot) &&", "slot &&",
     "lone: a request is sent as the last one was", "test_lone"),
    (LONE, "\tmr->holds++;\n", "", "lone: a request does not hold its region", "test_lone"),
    (LONE, "UNIC_MR_REMOTE_WRITE, bytes", "0, bytes", "lone: a WRITE needs no right", "test_lone"),
    (LONE, " ||\n\t\t     unic_get_word(w, UNIC_W_EXT + 3) != e->len", "",
     "lone: the RETH names any length", "test_lone"),
    (LONE, "!unic_fastpath_in_sequence(rsp, apsn) || ", "", "lone: a WRITE has any PSN", "test_lone"),
    (LONE, "(syndrome & UNIC_AETH_TYPE_MASK) != UNIC_AETH_ACK ||", "",
     "lone: a NAK completes a request", "test_lone"),
    (LONE, "\t\t     sq->retries != qp->retry_cnt ||\n", "", "lone: a repeat is late after repeats", "test_lone"),
    (LONE, "sq->busy | sq->reads)", "sq->busy)", "lone: a READ is completed by an acknowledgement",
     "test_lone"),
    (LONE, " && (slot->flags & UNIC_WR_SIGNALED)", "", "lone: a request completes that was not to",
     "test_lone"),
    (LONE, "\tif (unlikely(sq->tail != sq->next))\n"
     "\t\tunic_sched_send(nic, unic_qp_index(nic, qp));\n", "",
     "lone: what waited for it is forgotten", "test_lone"),
    ("firmware/transport/cq_place.h", "cq->tail - cq->ci > cq->mask ||\n\t\t     ", "",
     "lone: a full completion queue is written to", "test_lone"),
    ("firmware/transport/cq_place.h", " ||\n\t\t     at >> UNIC_CQ_PAGE_SHIFT != cq->page", "",
     "lone: a completion goes to a page of before", "test_lone"),
    ("firmware/command/proc.c", "\t\t\tlone = false;\n", "",
     "lone: the last of several queue pairs is first", "test_lone"),
    ("firmware/nic.c", " |\n\t\t nic->stale / UNIC_CLOCK_ROUNDS);", ");",
     "nic: a busy NIC has no time for commands", "test_lone"),
    ("firmware/memory/window.h", "\tif (unlikely(!unic_window_near(mr, stag, pd, need, bytes.iova,\n"
     "\t\t\t\t       bytes.len)))\n\t\treturn NULL;\n", "",
     "lone: an access is not checked", "test_lone"),
)
