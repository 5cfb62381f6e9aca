#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Can the simulator's checkers fail? Small breaks of firmware and driver, made in
a copy of the tree; for each, seeds are run from 1 on until one fails.

usage: mutants.py [SEEDS [WORDS]]    at most SEEDS per mutant (default 20000);
                                     only those with WORDS in their description

Those of an "attacker" are looked for in scenarios that have one (--attack).

Prints which checker found a mutant at which seed; ends in "N passed, N failed".
A mutant has failed if SEEDS seeds do not find it, or a checker that is not in
its list does.
"""
import glob
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WORK = os.path.join(ROOT, "build", "sim-mutants")
PARTS = ("abi", "boards", "firmware", "hal", "host_driver", "tests/sim")
FLAGS = ["-std=gnu11", "-fms-extensions", "-O1", "-w", "-D_GNU_SOURCE=",
         "-DSIM_SIZE=small", "-DSIM_SMALL_ONLY", "-Iabi", "-Ihal"]
INCLUDES = {
    "firmware": ["-Ifirmware", "-Iboards/small"],
    "host_driver/core": ["-Ihost_driver/core"],
    "tests/sim": ["-Itests/sim", "-Ihost_driver/core"],
}
SECONDS = 240
ELSEWHERE = ("provider_loop", "icrc_small", "random_small")  # another provider, other boards

# Each has: the checkers that may find it ("assert": of the firmware; "hang",
# "crash"), file, old text, new text, description.
MUTANTS = (
    ("oracle stags", "firmware/memory/access.h",
     "(stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT);",
     "(stag ^ (uint32_t)mr->pd << UNIC_MR_IDX_SHIFT);",
     "access: the protection domain is not compared"),
    ("oracle", "firmware/memory/access.h", "!(need & ~(uint32_t)mr->rights);", "1;",
     "access: rights are not compared"),
    ("oracle", "firmware/memory/access.c",
     "len <= (uint32_t)mr->length - (uint32_t)off;",
     "len <= (uint32_t)mr->length - (uint32_t)off + 1;",
     "access: one byte behind the end"),
    ("oracle", "firmware/memory/access.h",
     "mr->lock == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT)",
     "mr->lock >> 8 == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT) >> 8",
     "access: the consumer's byte of the STag is not compared"),
    ("bounds", "firmware/revoke/ask.c", "		UNIC_COUNT(nic, idle_asked);\n",
     "		UNIC_COUNT(nic, idle_asked);\n"
     "		unic_evict_revoke(nic, mr, UNIC_WHY_IDLE, UNIC_OWNER_NIL, false);\n",
     "ask: the region is taken, too"),
    ("bounds", "firmware/revoke/ask.c", "<< UNIT >= idle + MORE)", "<< UNIT > idle)",
     "ask: again up to a millisecond early"),
    ("bounds", "firmware/revoke/ask.c", "	ripe = last_use(nic, idx) + idle;\n",
     "	ripe = last_use(nic, idx) + idle / 2;\n", "ask: after half the time"),
    ("assert live oracle", "firmware/revoke/evict.c",
     "	drain_dependents(nic, idx);\n", "",
     "forms: stay open when their region drains"),
    # the assert: the index is used again with a form still in its list
    ("assert oracle pins", "firmware/memory/access.h",
     "!mr->n_tokens && !mr->deps;", "!mr->n_tokens;",
     "forms: their region does not wait for them"),
    ("oracle", "firmware/transport/responder_done.c",
     "		if (qp->dmas)\n			return; /* called again */\n",
     "", "token: ends while bytes are on their way"),
    ("once", "firmware/transport/responder_done.c",
     "!(qp->vendor & UNIC_PEER_REFUSED)", "(nic->polls & 1)",
     "token: the sender is not always told that it was refused"),
    ("once", "firmware/transport/requester_rx.c", "		wr->detail = (uint8_t)why;\n",
     "		wr->detail = (uint8_t)(why + 1);\n",
     "token: the sender hears another reason"),
    ("pins oracle", "host_driver/core/host.c",
     "unic_proc_reset(host, !host->dark);", "unic_proc_reset(host, true);",
     "driver: unpins before the NIC is reset"),
    ("pins", "host_driver/core/region/region_pin.c",
     "	if (!mr->pinned)\n		return;\n", "	return;\n",
     "driver: never unpins"),
    ("pins oracle", "host_driver/core/region/region_dereg.c",
     "	mr->waiter = req;\n	unic_region_answered(",
     "	mr->waiter = req;\n	unic_region_unpin(req->host, mr);\n"
     "	unic_region_answered(",
     "driver: unpins before the region has drained"),
    ("bounds", "firmware/arbiter/notice.c", "n->grace_us * 1000ull",
     "n->grace_us * 999ull", "grace: 0.1 % too short"),
    ("bounds", "firmware/arbiter/notice.c", "if (at <= now_ns)",
     "if (at <= now_ns + 50000)", "grace: ends 50 us early"),
    ("bounds", "firmware/arbiter/share.c", "if ((uint64_t)net * s->weights >",
     "if ((uint64_t)(net > 8 ? net - 8 : 0) * s->weights >",
     "share: 8 entries above it is not above: a waiter is not served"),
    ("once assert", "firmware/memory/token.c",
     "t->lock |= UNIC_TOKEN_LOCK(0, UNIC_TOKEN_S_CLAIMED);", "",
     "token: a claim does not cancel"),
    ("once hang live", "firmware/transport/requester_rx.c", "sq->retries--;",
     "sq->retries--; sq->una++;",
     "requester: a timeout forgets the oldest request"),
    ("once live", "host_driver/core/provider/mailbox_client.c", "	m->slot[at] = NULL;\n"
     "	m->open--;\n", "	m->open--;\n",
     "driver: a completed command stays open"),
    ("once", "firmware/revoke/evict.c",
     "if ((mr->flags & UNIC_MR_F_QUIET) ||\n	    unic_evict_events_evicted(nic, idx))",
     "unic_evict_events_evicted(nic, idx);\n	if (unic_evict_events_evicted(nic, idx))",
     "evict: EVICTED is told twice"),
    ("assert oracle", "firmware/memory/access.h", "&& !mr->dmas && ", "&& ",
     "evict: does not wait for DMA in flight"),
    ("assert oracle", "firmware/memory/access.h",
     "return !mr->holds && ", "return ",
     "evict: does not wait for operations that hold the region"),
    ("oracle assert pins live", "firmware/revoke/evict.c",
     "unic_mr_close(&nic->memory, idx); /* INV-4 */", "",
     "evict: a draining region lets new operations in"),
    ("live", "firmware/transport/rq.c", "for (n = 0; n < FLUSH_BATCH; n++) {",
     "for (n = 1; n < 2; n++) {\n		if (s & 4)\n			"
     "return true;", "receives: a flush stops in the middle"),
    ("once", "firmware/transport/qp.c", "unic_responder_part(nic, qp, evicted);",
     "(void)nic;",
     "cut: a queue pair dies without a word"),
    ("live", "firmware/transport/qp.c", "unic_requester_timeout(nic, qp);", ";",
     "requester: a timeout does nothing"),
    ("live", "firmware/command/proc.c",
     "	if (!detach_step(nic, slot) || !unic_mbox_event(&nic->base, &evt))\n"
     "		return false;", "	return false;",
     "detach: PROC_GONE never comes"),
    ("oracle crash", "firmware/transport/fastpath_tx.c",
     "!unic_window_has(win, (uint32_t)iova)))", "0))",
     "lane: a run goes on behind the end of its window"),
    ("oracle port crash", "firmware/transport/fastpath_rx.c",
     "!unic_window_has(win, iova)))", "0))",
     "lane: a WRITE goes outside the window"),
    ("oracle", "firmware/transport/fastpath_rx.c",
     "frame + UNIC_EXT_OFF + RETH_BYTES, len);",
     "frame + UNIC_EXT_OFF + RETH_BYTES, len + 1);",
     "lane: a WRITE is placed with the byte behind it"),
    # only view.c sees this byte: no other checker compares memory there
    ("oracle port", "firmware/transport/fastpath_rx.c",
     "frame + UNIC_EXT_OFF + RETH_BYTES, len);",
     "frame + UNIC_EXT_OFF + RETH_BYTES, len);\n"
     "uint8_t *low = win->host_last - win->places;\n"
     "if ((uintptr_t)low & 4095)\n	low[-1] = 0xa5;",
     "lane: a byte in front of the region is written, too"),
    ("oracle", "firmware/transport/fastpath_rx.c",
     "unic_window_write(to, frame + UNIC_EXT_OFF, len);",
     "unic_window_write((uint8_t *)((uintptr_t)to ^ 4096), "
     "frame + UNIC_EXT_OFF, len);",
     "lane: a middle packet is placed in the page beside its own"),
    ("oracle", "firmware/transport/fastpath_rx.c", "((*reth & but_low.v) ^ want->reth)",
     "(((*reth & but_low.v) ^ want->reth) & "
     "(union unic_words){ .word = { ~0u, 0, 0, ~0u } }.v)",
     "lane: in a run the STag is not compared"),
    ("assert oracle", "firmware/transport/fastpath_tx.c",
     "mr->holds = (uint16_t)(mr->holds + n);",
     "mr->holds = (uint16_t)(mr->holds + 1);",
     "lane: a run holds its region once"),
    ("once live", "firmware/transport/cq.c", "	cq->tail += n;\n", "	cq->tail++;\n",
     "completions: only the first of a run is counted"),
    ("assert oracle", "firmware/transport/qp.c",
     "	if (unic_qp_has_pending_io(qp))\n		return false;\n	free_qp",
     "	if (qp->dmas)\n		return false;\n	free_qp",
     "QP_DESTROY: does not wait for completions on their way"),
    ("conserve", "firmware/nic.c",
     "	/* counters outlive a reset, tables do not */\n	unic_roce_publish(&nic->transport);\n", "",
     "counters: frames before a reset are not counted"),
    ("conserve", "firmware/memory/token_alloc.c", "UNIC_COUNT(nic, tokens_allocated);",
     "", "counters: tokens are not counted"),
    ("conserve crash hang", "firmware/revoke/admission.c",
     "		unlink_wait(ad, &ad->ended_head, &ad->ended_tail, i);\n"
     "		slot_free(ad, i);",
     "		unlink_wait(ad, &ad->ended_head, &ad->ended_tail, i);",
     "waits: a place is not given back"),
    ("conserve assert", "firmware/revoke/evict.c",
     "unic_mr_strip(&nic->memory, idx); /* INV-3 */", "",
     "evict: the entries are not freed"),
    ("oracle pins", "firmware/memory/cache.c",
     "	close_windows(nic, idx, e);\n	e->mark = 0;", "	e->mark = 0;",
     "pages: the window outlives its entry"),
    ("oracle pins", "firmware/memory/cache.c",
     "	if (UNIC_CACHED_WINDOWS && unlikely(mr->deps))\n", "	if (0)\n",
     "pages: a memory window shows a page that was dropped"),
    ("pins oracle assert", "firmware/memory/refs.c",
     "		add_dma(nic, unic_cached_window_region(nic, mr));\n", "		;\n",
     "pages: taken while bytes go through a memory window"),
    ("pins oracle assert", "firmware/memory/cache.c",
     "!is_spared(nic, e) &&\n	       !unic_cache_busy(nic, mr);",
     "!is_spared(nic, e);", "pages: taken while bytes are on their way"),
    ("pins conserve once model", "firmware/memory/cache.c",
     "		if (tell)\n", "		if (tell && page % 3)\n",
     "pages: a drop is not told"),
    ("pins", "host_driver/core/region/region_pin.c",
     "1ull << mr->page_shift,\n				  unic_region_writable(mr));",
     "4096,\n				  unic_region_writable(mr));",
     "driver: of a large page only the first frame is pinned"),
    ("pins", "host_driver/core/region/region_fault.c",
     "for (i = done; mr && i < f->sent; i++)", "for (i = 0; mr && i < f->sent; i++)",
     "driver: a page is unpinned before its drop is read"),
    ("oracle pins", "firmware/memory/fault_answer.c",
     "r = unic_cache_insert(nic, mr, page, pages[*done],",
     "r = unic_cache_insert(nic, mr, page, pages[*done ? *done - 1 : 0],",
     "pages: the second page of an answer is the first again"),
    ("oracle", "firmware/memory/derived.c",
     "stride + unic_from_le32(p->list[i].len);",
     "stride + unic_from_le32(p->list[i].len) - 1;",
     "forms: an element may be a byte too long"),
    ("oracle pins", "firmware/memory/derived.c", "at.bus & ~(uint64_t)in_page);",
     "at.bus & ~((uint64_t)in_page << 1 | 1u));",
     "forms: a fast registration gets the page beside its own"),
    ("oracle", "firmware/memory/derived.c",
     "	if (!(kind_bit(form) & WINDOWS))\n		return rights;",
     "	if (!(kind_bit(form) & WINDOWS))\n		return 0;",
     "forms: more rights than the region"),
    ("oracle stags", "firmware/transport/local_ops.c",
     "	err = unic_derived_close(&nic->memory, stag, qp->pd, false);",
     "	return finish_local_op(nic, slot, wr, 0, 0);",
     "forms: LOCAL_INV says it is done and changes nothing"),
    ("oracle", "firmware/transport/local_ops.c",
     "		err = unic_derived_make(&nic->memory, &plan);",
     "		err = unic_derived_make(&nic->memory, &plan);\n	if (err == -UNIC_EBOUNDS || "
     "err == -UNIC_ERIGHTS)\n		err = 0;",
     "forms: a request that is refused completes well"),
    ("oracle pins once", "firmware/command/cmd_batch.c", "	*off = end;\n", "",
     "batch: all regions get the pages of the first"),
    ("once oracle conserve pins", "host_driver/core/batch.c",
     "cpl + i * UNIC_CTL_BYTES,", "cpl,",
     "batch: all get the answer to the first"),
    ("replay oracle live once", "host_driver/core/restore.c",
     "cmd.stag = unic_to_le32(mr->stag);",
     "cmd.stag = unic_to_le32(mr->stag ^ 1u << 27);",
     "restore: a region gets the STag of its neighbour"),
    ("pins replay", "host_driver/core/restore.c",
     "	if (mr->state == R_NOTIFIED)\n		mr->state = R_ACTIVE;",
     "	;", "restore: a region that was asked back is left out"),
    ("oracle", "firmware/memory/token.c",
     "end <= t->length;", "tag->payload <= t->length;",
     "token: for many, the offset is not in its bound"),
    ("oracle", "firmware/transport/responder.c",
     "m->iova = nic->tokens.token[t.index].iova + t.offset;",
     "m->iova = nic->tokens.token[t.index].iova;",
     "token: for many, all to the first byte"),
    ("live hang assert once", "firmware/transport/responder_done.c",
     "!m->refused && !m->multi)\n			unic_token_unclaim",
     "!m->refused)\n			unic_token_unclaim",
     "token: for many, is one for one after a missing page"),
    ("oracle", "firmware/transport/ud_uc_rx.c", "if (ud_uc_pull_be32(p) != qp->qkey)",
     "if (!ud_uc_pull_be32(p))", "UD: the Q_Key is not compared"),
    ("oracle once", "firmware/transport/ud_uc_rx.c",
     "(p->psn != rsp->psn || (p->flags & FIRST))", "(p->flags & FIRST)",
     "UC: a message goes on although a packet of it is missing"),
    ("lives", "firmware/transport/rx.c",
     "	return nic->qps.qp[roce->rx_qp].conn != roce->rx_conn;",
     "	return !roce;",
     "connections: the frame in hand outlives RESET"),
    ("oracle", "firmware/transport/local_ops.c",
     "	return r < 0 ? r : 0;", "	return r < 0 ? 0 : 0;",
     "lists: read on when their region's index has another owner"),
    ("stags model assert", "firmware/memory/stag.c", "	s->of[idx].step++;\n", "",
     "stags: the next region of an index has the last one's"),
    ("stags", "firmware/memory/access.c",
     "!((mr->stag ^ stag) | (mr->owner ^ proc));", "!(mr->stag ^ stag);",
     "stags: what others have is told from what nobody has"),
    ("stags", "firmware/memory/derived.c",
     "			  unic_from_le64(sge->iova), sge_span(p, i));\n	if (r < 0)\n		return r;\n",
     "			  unic_from_le64(sge->iova), sge_span(p, i));\n"
     "	of = derived_of(nic, unic_from_le32(sge->lkey) >> UNIC_MR_IDX_SHIFT);\n"
     "	if (r < 0 && nic->mrs.mr[of - nic->derived.form].stag == "
     "unic_from_le32(sge->lkey))\n		return -UNIC_ERIGHTS;\n"
     "	if (r < 0)\n		return r;\n",
     "stags: an element that another has is refused for its rights"),
    ("stags", "firmware/memory/derived.c",
     "(mr->flags & UNIC_MR_F_GONE) || mr->owner != nic->mrs.pd[pd].proc)",
     "(mr->flags & UNIC_MR_F_GONE))",
     "stags: what is to be invalidated is told from what nobody has"),
    ("oracle stags", "firmware/memory/derived.c",
     "	if (mr->pd != pd)\n		return -UNIC_EPD;\n", "",
     "names: a form of another domain is made or invalidated"),
    ("once", "firmware/memory/derived.c",
     "	UNIC_COUNT(nic, forms_refused);\n	return mr->stag == stag",
     "	UNIC_COUNT(nic, forms_refused);\n"
     "	if (mr->stag == stag && mr->state == UNIC_MR_ACTIVE)\n"
     "		unic_mr_close(nic, (uint16_t)(stag >> UNIC_MR_IDX_SHIFT));\n"
     "	return mr->stag == stag",
     "names: what a peer may not invalidate is closed, though refused"),
    ("oracle", "firmware/transport/responder.c",
     "	else if (r)\n		bad_access(nic, qp, q->psn, r);\n	return r;\n}\n\nstatic int on_send",
     "	else if (r && r != -UNIC_ESTAG)\n		bad_access(nic, qp, q->psn, r);\n"
     "	return r == -UNIC_ESTAG ? 0 : r;\n}\n\nstatic int on_send",
     "names: a SEND arrives though nobody has what it is to invalidate"),
    ("oracle stags", "firmware/memory/derived.c",
     "	if (!(kind_bit(&nic->derived.form[idx]) & CAN_INVALIDATE) ||\n"
     "	    (mr->flags & UNIC_MR_F_SHUT))",
     "	if (mr->flags & UNIC_MR_F_SHUT)",
     "names: a sub-region is invalidated"),
    ("oracle stags", "firmware/transport/local_ops.c",
     "[UNIC_WR_BIND_MW] = UNIC_DERIVED_BIT(UNIC_FORM_WINDOW2),",
     "[UNIC_WR_BIND_MW] = UNIC_DERIVED_BIT(UNIC_FORM_WINDOW2) |\n"
     "			    UNIC_DERIVED_BIT(UNIC_FORM_WINDOW1),",
     "names: BIND_MW binds a window of type 1"),
    ("oracle stags", "firmware/transport/local_ops.c",
     "		.pd = qp->pd,\n		.kinds",
     "		.pd = slot->opcode == UNIC_WR_REG_MR ?\n"
     "			      nic->mrs.mr[unic_from_le32(slot->rkey) >>\n"
     "					  UNIC_MR_IDX_SHIFT].pd :\n"
     "			      qp->pd,\n		.kinds",
     "names: REG_MR asks for the domain of what it names"),
    ("oracle stags", "firmware/memory/derived.c",
     "	if ((kind_bit(of) & WINDOWS) || is_closed",
     "	if (is_closed",
     "names: a form is made of a window"),
    ("oracle stags", "firmware/memory/derived.c",
     "	r = unic_mr_check(nic, unic_from_le32(sge->lkey), p->pd, need,\n",
     "	r = unic_mr_check(nic, unic_from_le32(sge->lkey),\n"
     "			  nic->mrs.mr[unic_from_le32(sge->lkey) >>\n"
     "				      UNIC_MR_IDX_SHIFT].proc ==\n"
     "					  nic->mrs.pd[p->pd].proc ?\n"
     "				  nic->mrs.mr[unic_from_le32(sge->lkey) >>\n"
     "					      UNIC_MR_IDX_SHIFT].pd :\n"
     "				  p->pd,\n			  need,\n",
     "names: an element may be of another domain"),
    ("oracle stags", "firmware/memory/derived.c",
     "		r = check_element(nic, form, p, p->wrong, need);\n		if (r < 0)\n",
     "		r = check_element(nic, form, p, p->wrong, need);\n"
     "		if (r < 0 && !p->wrong)\n",
     "names: only the first element is checked"),
    # not a break of the product: that the table of lives.c says when it is full
    ("sim", "tests/sim/lives.c", "#define QUEUES	 64u", "#define QUEUES	 12u",
     "lives: a table too small for the queue pairs that live"),
    ("lives once oracle live", "firmware/transport/rx.c",
     "	if (!qp || qp->dest_ipv4 != pkt.ipv4 ||\n", "	if (!qp ||\n",
     "attacker: the address of the sender is not compared"),
    ("once oracle", "firmware/transport/rx.c",
     "(qp->type == UNIC_QPT_UD || qp->dest_ipv4 == pkt->ipv4)", "1",
     "attacker: UC: the address of the sender is not compared"),
    ("lives once oracle", "firmware/transport/responder.c",
     "if (unlikely(pkt->psn != qp->rsp.psn))",
     "if (unlikely((pkt->psn ^ qp->rsp.psn) & 7))",
     "attacker: of the PSN of a request three bits are compared"),
    ("once oracle assert crash hang lives", "firmware/transport/requester_rx.c",
     "unic_psn_diff(psn, sq->psn_max) < 0)", "unic_psn_diff(psn, sq->psn_max) < 0x100000)",
     "attacker: an answer may be one to what was not asked"),
    ("oracle assert crash", "firmware/transport/requester_rx.c",
     "		   : !response_fits(sq, pkt, want, k + 1 == wr->npkt)) {",
     "		   : ((want = pkt->len - 4), pkt->len < 5)) {",
     "attacker: a READ response places as much as it has"),
    ("identity", "firmware/transport/arp.c",
     "if (e->state != UNIC_ARP_ASKED || e->ipv4 != ipv4)",
     "if (e->state == UNIC_ARP_FREE || e->ipv4 != ipv4)",
     "attacker: an answer by ARP replaces what is known"),
    ("identity", "firmware/transport/arp.c",
     "	if (unic_from_be16(arp.op) == OP_REQUEST)\n",
     "	if (unic_from_be16(arp.op) == OP_REQUEST)\n"
     "		for (uint32_t i = 0; i < UNIC_ARP_ENTRIES; i++)\n"
     "			if (nic->arps.entry[i].ipv4 == get_ipv4(arp.spa))\n"
     "				memcpy(nic->arps.entry[i].mac, arp.sha, 6);\n"
     "	if (unic_from_be16(arp.op) == OP_REQUEST)\n",
     "attacker: addresses are learned from questions by ARP"),
    ("once oracle lives", "firmware/transport/rx.c", " || !csum_ok(w)) {", ") {",
     "attacker: the sum of the addresses is not compared"),
    ("conserve", "host_driver/core/cm/cm_listen.c",
     "			unic_obj_free(&host->objects, &l->obj);\n", "			;\n",
     "attacker: the listener of a process outlives it"),
    ("conserve", "firmware/command/proc.c",
     "			nic->mrs.pd[i].proc = NO_PROC;\n", "			;\n",
     "left: the domains of a process outlive it"),
    ("wakes", "firmware/nic.c", "	unic_port_rx_arm(nic->port, on);",
     "	unic_port_rx_arm(nic->port, false);",
     "sleep: frames wake nobody"),
    ("wakes", "firmware/nic.c",
     "	} while (++i < nic->procs.n_active);",
     "	} while (++i < nic->procs.n_active && i < 2);",
     "sleep: only the doorbells of two processes are looked at"),
    ("wakes", "firmware/nic.c", "	unic_proc_sleep(&nic->command, on);\n	unic_port_rx",
     "	unic_port_rx", "sleep: processes are not told that the NIC sleeps"),
    ("wakes", "host_driver/core/provider/mailbox_client.c",
     "want_irq, unic_to_le32(on));", "want_irq, unic_to_le32(on && m->open));",
     "sleep: the driver rests and wants no doorbell"),
    ("turns", "firmware/transport/requester_rx.c", "us * NS_PER_US);", "us * 1000 * NS_PER_US);",
     "turns: RETRY_AFTER keeps a queue pair waiting for too long"),
    ("slots", "firmware/memory/fault.c",
     "	m = find_victim_slot(nic, proc, false);\n	if (!m)\n		return NULL;\n",
     "	return NULL;\n",
     "misses: slots are never taken back"),
)


def compile_one(path, suffix=""):
    """Returns the object's name; leaves its dependencies beside it."""
    obj = path.replace("/", "_")[:-2] + suffix + ".o"
    inc = next(i for folder, i in INCLUDES.items()
               if path.startswith(folder + "/"))
    if path.endswith("core_nic.c"):
        inc = ["-Itests/sim", "-Ifirmware", "-Iboards/small"]
    r = subprocess.run(["gcc", *FLAGS, *inc, "-MMD", "-c", path, "-o", obj],
                       cwd=WORK, capture_output=True, text=True)
    if r.returncode:
        sys.exit(f"mutants: {path} does not compile:\n{r.stderr}")
    return obj


def sources():
    for folder in INCLUDES:
        for path in sorted(glob.glob(f"{WORK}/{folder}/**/*.c",
                                     recursive=True)):
            if not os.path.basename(path).startswith(ELSEWHERE):
                yield os.path.relpath(path, WORK)


def depends(obj, path):
    with open(os.path.join(WORK, obj[:-2] + ".d"), encoding="utf-8") as f:
        return path in f.read().split()


def link(objects):
    subprocess.run(["gcc", *objects, "-o", "unic-sim"], cwd=WORK, check=True)


def run(seeds, *options):
    """(checker, seed) that failed, or None."""
    try:
        r = subprocess.run(["./unic-sim", "--seeds", str(seeds), "--first",
                            "--no-shrink", *options], cwd=WORK, capture_output=True,
                           text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "hangs", "?"
    if r.returncode < 0:
        return "crash", "?"
    for line in r.stdout.splitlines():
        if line.startswith("FAILED seed"):
            return line.split(",", 1)[1].split(":")[0].strip(), line.split()[2].rstrip(",")
    return None


def check(mutant, built, seeds):
    """Build with the change and run. True: one of its checkers found it."""
    checkers, path, old, new, words = mutant
    full = os.path.join(WORK, path)
    with open(full, encoding="utf-8") as f:
        text = f.read()
    if old not in text:
        sys.exit(f"mutants: {path} does not say '{old}' any more")
    with open(full, "w", encoding="utf-8") as f:
        f.write(text.replace(old, new))
    link([compile_one(source, "_mutant") if depends(obj, path) else obj
          for source, obj in built.items()])
    with open(full, "w", encoding="utf-8") as f:
        f.write(text)
    found = run(seeds, *(["--attack"] if words.startswith("attacker") else []))
    good = found is not None and found[0] in checkers.split()
    how = f"{found[0]} at seed {found[1]}" if found else "NOT FOUND"
    print(f"{'' if good else 'WRONG: '}{how:24} {words}", flush=True)
    return good


def main():
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
        return 0
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    words = sys.argv[2] if len(sys.argv) > 2 else ""
    chosen = [m for m in MUTANTS if words in m[4]]
    if not chosen:
        sys.exit(f"mutants: none has '{words}' in its description")
    shutil.rmtree(WORK, ignore_errors=True)
    for part in PARTS:
        shutil.copytree(os.path.join(ROOT, part), os.path.join(WORK, part))
    built = {s: compile_one(s) for s in sources()}
    link(built.values())
    clean = run(200)
    if clean:
        sys.exit(f"mutants: {clean} fails without any")
    failed = sum(not check(m, built, seeds) for m in chosen)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
