#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Do the tests that docs/MEMORY-TESTS.md names cover their sentences? For the rows
with a bold number a line that keeps the promise is broken, in a copy of the tree,
and the test named here must go red.

usage: promises.py [ROW | TEST ...]    only those rows, or with these tests

Prints a table; ends in "N passed, N failed".
"""
import filecmp
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WORK = os.path.join(ROOT, "build", "promises")
PARTS = ("Makefile", "abi", "boards", "firmware", "hal", "host_driver", "ld",
         "mk", "qemu", "tests", "tools")

# row, file, what stands there, what shall stand there, test that must fail
BREAKS = (
    ("1.1", "firmware/memory/tlb.h", "if (n > tlb->free)", "if (n > tlb->free + 1u)",
     "test_tlb: reserve_is_all_or_nothing"),
    ("1.2", "firmware/memory/access.c",
     "uint32_t shift = mr->page_shift, size = 1u << shift;",
     "uint32_t shift = 12, size = 1u << shift;",
     "test_mr: pieces_cover_the_region"),
    ("1.3", "host_driver/core/region/region_place.c",
     "uint32_t max = r->page_shift ? r->page_shift : 21;",
     "uint32_t max = r->page_shift ? r->page_shift : 12;",
     "test_driver_region: contiguous_frames_are_large_pages"),
    ("1.8", "firmware/revoke/admission.c", "unic_share_fair(&nic->share, proc) / 4",
     "unic_share_fair(&nic->share, proc)", "test_admission: control_class_is_capped"),
    ("1.9", "firmware/revoke/evict.c",
     "if (m->mr_class == UNIC_CLASS_CONTROL || !m->n_pages)",
     "if (!m->n_pages)", "test_evict: wrong_subjects_are_refused"),
    ("1.11", "host_driver/libunic/bufman.h", "CHUNK_MAX  64u", "CHUNK_MAX  65u",
     "test_libunic_manager: manager_respects_deadlines"),
    ("1.15b", "firmware/memory/table.c",
     "\t    UNIC_BUS_WINDOW(bus) != nic->tables.window[m->proc])", "\t    (bus & 0))",
     "test_table: a_page_of_another_window_is_none"),
    ("1.15c", "firmware/memory/table.c", "\tunic_mr_hold(nic, t->mr);\n", "",
     "test_table: the_list_is_read_no_more_after_the_end"),
    ("1.16", "firmware/transport/responder_nak.c", "qp->vendor ? UNIC_RSP_AFTER",
     "1 ? UNIC_RSP_AFTER", "test_miss: responder_answers_rnr"),
    ("1.17", "firmware/transport/ud_uc_rx.c",
     "if (qp->miss == UNIC_QPM_BOUNCE && unic_parked_keep(nic, qp))", "if (0)",
     "test_bounce: kept_until_the_page_is_there"),
    ("1.18", "firmware/transport/qp.c",
     "rq->far_none = false;\n\tunic_rq_ahead_want(nic, qp);",
     "rq->far_none = false;", "test_ahead: first_message_is_not_put_off"),
    ("2.2", "firmware/revoke/register.c",
     "(a->flags & UNIC_REG_ZERO_BASED) && a->iova >> a->page_shift", "0",
     "test_mr: each_wrong_argument"),
    ("2.3", "firmware/memory/access.h",
     "mr->lock == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT)",
     "mr->lock >> 8 == (stag ^ (uint32_t)pd << UNIC_MR_IDX_SHIFT) >> 8",
     "test_mr: each_step_of_the_check"),
    ("2.4", "firmware/memory/mr.c", "m->order[m->free - 1u] = m->order[at];\n"
     "\tm->order[at] = idx;", "m->order[m->free - 1u] = idx;\n\t(void)at;",
     "test_mr: indices_come_in_no_order"),
    ("2.5", "firmware/memory/stag.c", "s->of[idx].step++;", "",
     "test_mr: deregistered_stag_is_dead_and_changes"),
    ("2.6", "firmware/memory/stag.c", "nic->now_ns + UNIC_STAG_REST_NS",
     "nic->now_ns", "test_mr: used_up_index_rests"),
    ("2.7", "host_driver/core/region/region_place.c", "(base >> 1 & ~below)",
     "(below + 1)", "test_driver_region: base_is_random"),
    ("2.8", "firmware/memory/key_guard.c", "++p->wrong",
     "p->wrong", "test_guess: stags"),
    ("2.10", "firmware/memory/access.c", "ours = here * (own == pd)", "ours = here",
     "test_mr: each_step_of_the_check"),
    ("2.11", "firmware/memory/access.c", "!(off >> 32) && ", "",
     "test_mr: bounds_do_not_wrap"),
    ("2.13", "firmware/transport/sq.c", "wr->detail = unic_qp_refused(nic, qp, err);",
     "wr->detail = unic_qp_refused(nic, qp, err) & 0;", "test_badinput: each_step_is_told_here"),
    ("2.14", "firmware/transport/responder_nak.c",
     "unic_responder_fail(nic, qp, psn, UNIC_NAK_REM_ACCESS,\n"
     "\t\t\t    UNIC_WC_REM_ACCESS_ERR);\n}",
     "unic_responder_fail(nic, qp, psn, err == -UNIC_EBOUNDS ? UNIC_NAK_INV_REQ\n"
     "\t\t\t\t\t\t     : UNIC_NAK_REM_ACCESS,\n"
     "\t       UNIC_WC_REM_ACCESS_ERR);\n}",
     "test_badinput: a_peer_is_told_nothing"),
    ("2.16", "firmware/memory/access.c", "past = same * (", "past = (", "test_evict: tombstone_answers_evicted"),
    ("2.19", "firmware/memory/derived.c",
     "if (remote && !(mr->rights & REMOTE))", "if (0)",
     "test_window: peer_may_not_invalidate"),
    ("2.20", "firmware/memory/derived.c", "if ((p->wrong && (from & (size - 1))) ||",
     "if (", "test_fastreg: each_wrong_fast_registration"),
    ("2.20a", "firmware/memory/derived_load.c",
     "return UNIC_TABLE_READS && kind == UNIC_FORM_FAST &&",
     "return 0 && kind == UNIC_FORM_FAST &&",
     "test_fastreg: pages_without_entries_are_loaded"),
    ("2.22", "firmware/memory/derived.c", "if (!sge->len)", "if (0)",
     "test_indirect: lists_with_every_element_wrong"),
    ("2.24", "firmware/memory/derived.c", "of->depth >= UNIC_FORM_DEPTH || ", "",
     "test_indirect: nested_to_a_depth"),
    ("2.26", "firmware/memory/dependents.c", "n += 1 + ", "n += ",
     "test_derived: dependents_end_with_their_region"),
    ("2.27", "firmware/revoke/evict.c", "\tunic_token_mr_gone(&nic->memory, idx);\n", "",
     "test_token: ends_with_its_region"),
    ("2.28", "firmware/revoke/reclaim.c", "unic_to_le32(o->held > fair ? o->held - fair : 0)",
     "0", "test_limits: refusal_says_why"),
    ("3.3", "firmware/revoke/admission.c", "\t\tdequeue_wait(nic, i);\n\t\tUNIC_COUNT(nic, waits_ended);\n"
     "\t\tUNIC_TRACE(nic, WAIT_END, ad->wait[i].proc, id,",
     "\t\tif (0)\n\t\t\tdequeue_wait(nic, i);\n\t\tUNIC_COUNT(nic, waits_ended);\n"
     "\t\treturn 0;\n\t\tUNIC_TRACE(nic, WAIT_END, ad->wait[i].proc, id,",
     "test_admission: cancelled_is_never_granted"),
    ("3.4", "firmware/revoke/admission.c", "args->timeout_us * 1000ull",
     "args->timeout_us * 999ull", "test_admission: time_out_to_the_nanosecond"),
    ("3.5", "firmware/revoke/admission.c", "n > UNIC_MR_PAGES_MAX || unic_share_above_quota(o, n)",
     "n > UNIC_MR_PAGES_MAX", "test_admission: never_fitting_requests_fail_at_once"),
    ("3.6", "firmware/revoke/admission.c", "return n + kept->entries <= nic->tlb.free &&",
     "return n + kept->entries <= nic->tlb.free + 4u &&",
     "test_admission: granted_whole_or_not_at_all"),
    ("3.7", "firmware/revoke/admission.c",
     "\telse\n\t\tad->wait[*tail].next = i;\n\t*tail = i;",
     "\telse {\n\t\tad->wait[i].next = *head;\n\t\t*head = i;\n\t\treturn;\n\t}\n\t*tail = i;",
     "test_admission: fifo_inside_a_process"),
    ("3.8", "firmware/revoke/demand.c",
     "return urgent != UNIC_OWNER_NIL ? urgent : borrower;",
     "return borrower != UNIC_OWNER_NIL ? borrower : urgent;",
     "test_admission: entitled_come_first_and_oldest_first"),
    ("3.9", "firmware/revoke/admission.c", "own + kept.entries > nic->tlb.free",
     "own > nic->tlb.free", "test_admission: freed_entries_are_reserved"),
    ("3.11", "firmware/revoke/evict_answer.c", "if (!unic_demand_urgent(nic)) {", "{",
     "test_evict: nobody_extends_while_the_entitled_wait"),
    ("3.12", "firmware/revoke/reclaim.c", "unic_reclaim_pick(nic, victim, entries, !w->urgent)",
     "unic_reclaim_pick(nic, victim, entries, true)",
     "test_reclaim: young_regions_are_spared_for_borrowers_only"),
    ("3.13", "firmware/arbiter/notice.c", "n->notice[i].units = units;",
     "n->notice[i].units = units;\n\tn->notice[i].deadline_ns += 1;",
     "test_notice: replaced_subject_inherits_the_deadline"),
    ("3.14", "firmware/revoke/reclaim.c", "nic->notices.deliver_us + nic->notices.grace_us +",
     "nic->notices.deliver_us +", "test_limits: usage"),
    ("3.15", "firmware/revoke/reclaim.c", "entries = d.entitled > supply;",
     "entries = false;", "test_reclaim: borrowed_entries_are_recalled_to_the_share"),
    ("4.1", "firmware/arbiter/share.c", "o->held | o->wanted ? o->weight : 0;",
     "o->held | o->wanted ? 1 : 0;", "test_share: share_counts_who_holds_or_wants"),
    ("4.4", "firmware/revoke/admission.c", "if (unic_demand_over_quota(nic, proc, o->held, n))", "if (0)",
     "test_admission: quota_recalls_from_its_own_process"),
    ("4.5", "firmware/arbiter/share.c",
     "if ((uint64_t)net * s->weights >",
     "if (1 || (uint64_t)net * s->weights >",
     "test_share: nobody_at_or_below_its_share"),
    ("4.6", "firmware/revoke/reclaim.c", "now > residence ? now - residence : 0", "now",
     "test_reclaim: young_regions_are_spared_for_borrowers_only"),
    ("4.7", "firmware/revoke/reclaim.c", "if (pair && is_damped(nic, w->proc, victim))", "if (0)",
     "test_reclaim: borrowers_do_not_thrash"),
    ("4.7", "firmware/revoke/reclaim.c", "if (pair && is_damped(nic, w->proc, victim))\n"
     "\t\t\tUNIC_TRACE(nic, SPARED, victim, UNIC_MR_NIL, 0, 0, 0);",
     "if (pair && is_damped(nic, w->proc, victim))\n\t\t\t;",
     "test_reap: sparing_is_traced"),
    ("4.8", "firmware/memory/token_alloc.c", "if (!unic_share_entitled(&s, proc, 1))",
     "if (1)", "test_token: full_table_is_shared_fairly"),
    ("5.2", "firmware/memory/revoked.c",
     "if (r->stag[k] == stag)", "if (0)", "test_reasons: receives_are_swept"),
    ("5.3", "firmware/transport/rq.c", "return !rq->substitute || rq->room >= rq->class_bytes;",
     "return 1;", "test_rc_evict: messaging_evicted_far"),
    ("5.5", "firmware/revoke/evict.c", "\tunic_cuts_mark(&nic->memory, mr);\n}", "}",
     "test_revoke: receive_in_progress_is_cut_at_t"),
    ("5.6", "firmware/transport/rq.c", "if (err != -UNIC_EEVICTED)\n\t\treturn err;",
     "return err;", "test_rc_evict: messaging_evicted"),
    ("5.7", "firmware/revoke/evict.c", "if (m->mr_class == UNIC_CLASS_MESSAGING)\n"
     "\t\tdrain_without_grace(nic, mr);\n\telse\n", "",
     "test_evict: messaging_goes_without_notice"),
    ("5.8", "host_driver/libunic/bufman_recv.c",
     "if (mr && unic_mr_life(mr) != UNIC_MR_GONE)", "if (mr)",
     "test_libunic_manager: receives_come_back"),
    ("5.9", "firmware/transport/sq.c", "sq->stopped = wr->status != UNIC_WC_EVICTED;",
     "sq->stopped = true;",
     "test_revoke: unsent_request_of_an_evicted_region_completes_evicted"),
    ("5.10", "firmware/memory/access.h", "return !mr->holds && ", "return ",
     "test_evict: dereg_of_a_held_region_is_pending"),
    ("5.11", "firmware/revoke/evict.c", "\tunic_cuts_mark(&nic->memory, mr);\n}", "}",
     "test_revoke: unacknowledged_at_t_completes_evicted_once"),
    ("5.12", "firmware/arbiter/notice.c", "if (UNIC_HISTOGRAMS)\n\t\tt->sent_ns = now_ns;\n"
     "\tt->state = UNIC_NOTICE_GRACE;\n"
     "\tset_deadline(n, t, now_ns + n->grace_us * 1000ull);\n\treturn 0;",
     "t->state = UNIC_NOTICE_GRACE;\n"
     "\tset_deadline(n, t, t->sent_ns + n->grace_us * 1000ull);\n\treturn 0;",
     "test_notice: grace_counts_from_delivery"),
    ("5.13", "host_driver/core/region/region_notice.c",
     "\tsend_notice_ack(host, evt, mr->obj.owner, mr->obj.id);", "",
     "test_driver_notice: notice_is_told_then_acknowledged"),
    ("5.15", "firmware/revoke/evict.c", "\tnic->evict.driver_failed = true;", "",
     "test_revoke: driver_that_never_delivers_is_a_failure"),
    ("5.17", "host_driver/core/region/region_notice.c",
     "mr->deadline_ns = unic_os_now_ns(host->os) +", "mr->deadline_ns =",
     "test_driver_notice: notice_is_told_then_acknowledged"),
    ("5.18", "firmware/command/cmd.c", "nic->candidates.reaper_us = reaper;", ";",
     "test_limits: usage"),
    ("5.19", "firmware/arbiter/notice.c", "GRACE_US   20000u", "GRACE_US   25000u",
     "test_cmd: facts"),
    ("5.20", "host_driver/libunic/pace.c", "(p->grace_us / 2)",
     "(p->grace_us)", "test_libunic_manager: manager_respects_deadlines"),
    ("5.21", "host_driver/libunic/bufman_chunk.c", "us > bm->pace.grace_us", "0",
     "test_libunic_manager: manager_refuses_what_cannot_be_split"),
    ("5.22", "firmware/revoke/evict_answer.c",
     "\t\terr = unic_evict_release(nic, (uint16_t)mr);", "\t\terr = 0;",
     "test_revoke: release_by_answer"),
    ("5.23", "firmware/revoke/evict_answer.c",
     "if (offer->n_pages < nic->notices.notice[mr->notice].units)",
     "if (0)", "test_evict: each_refusal_of_an_offer"),
    ("5.24", "firmware/revoke/evict_answer.c", "if (offer->proc != mr->proc)", "if (0)",
     "test_evict: each_refusal_of_an_offer"),
    ("5.25", "firmware/arbiter/notice.c", "us > n->extend_us - t->extended_us", "0",
     "test_notice: extend_adds_up_to_its_budget"),
    ("5.26", "firmware/arbiter/notice.c", "if (t->urgent) {", "if (0) {",
     "test_notice: urgent_ones_are_not_extended"),
    ("5.27", "firmware/revoke/evict.c", "\t\tmr->evt_flags |= UNIC_EVICTED_DEADLINE;\n"
     "\t\tdrain_mr(nic, idx);", "\t\tmr->evt_flags |= UNIC_EVICTED_DEADLINE;",
     "test_revoke: silent_process_loses_at_deadline_not_before"),
    ("5.28", "firmware/revoke/evict.c", "\tunic_mr_close(&nic->memory, idx); /* INV-4 */\n", "",
     "test_evict: busy_region_is_drained"),
    ("5.29", "firmware/revoke/evict.c", "\tmr->evt_flags |= UNIC_EVICTED_WAS_BUSY;\n",
     "", "test_evict: busy_region_is_drained"),
    ("5.33", "host_driver/core/region/region.c", "\t\t.rank = evt->rank,\n", "",
     "test_driver_notice: notice_is_told_then_acknowledged"),
    ("5.34", "firmware/arbiter/notice.c", "if (seq != t->seq)", "if (0)",
     "test_revoke: stale_answers_are_refused"),
    ("5.37", "host_driver/core/upcall.c",
     "UNIC_STORE(*seq, unic_to_le32(n + 1));",
     "UNIC_STORE(*seq, unic_to_le32(n % UNIC_UPCALLS + 1));",
     "test_driver_notice: upcall_storm_is_bounded_and_loss_shows"),
    ("5.38", "host_driver/libunic/event.c",
     "if (unic_resync_regions(ctx))", "if (0)",
     "test_libunic_event: lost_upcalls_are_made_good"),
    ("5.39", "firmware/base/mailbox.c", "(eviction ? 0 : UNIC_EVT_RESERVED)", "0",
     "test_hostile: news_leave_room_for_evictions"),
    ("5.40", "firmware/revoke/evict_events.c",
     "\tif (!publish_notice(nic, idx))\n"
     "\t\tdefer_event(nic, &nic->mrs.mr[idx], UNIC_MR_EVT_NOTICE);",
     "\tpublish_notice(nic, idx);",
     "test_evict: events_are_held_back_not_lost"),
    ("5.44", "host_driver/core/restore.c", "cmd.stag = unic_to_le32(mr->stag);",
     "cmd.stag = unic_to_le32(mr->stag ^ 1u << 27);",
     "test_driver_restore: kept_region_is_restored_with_its_stag"),
    ("5.49", "host_driver/core/cm/grants.c",
     "return hold_new(host, c->obj.owner, &next);",
     "(void)next;\n\treturn UNIC_ST_OK;",
     "test_driver_grants: delegation_is_recorded"),
    ("5.50", "host_driver/core/cm/holdings.c",
     "\t\tunic_upcall_send(host, c->obj.owner, &up);", "\t\t(void)up;",
     "test_driver_grants: holder_is_told_and_answers"),
    ("5.50a", "host_driver/core/cm/grants.c",
     "\t\tn++;\n\t\task_holder(host, h, mr, unic_os_now_ns(host->os));\n", "",
     "test_driver_grants: holders_of_a_form_are_asked"),
    ("5.51", "host_driver/core/cm/grants.c",
     "\t\tif (host->held.hold[i].mr == mr->obj.id)\n\t\t\treturn;", "\t\t;",
     "test_driver_grants: silent_holder_costs_the_grace"),
    ("5.52", "firmware/transport/requester_rx.c", "psn, UNIC_WC_REM_EVICTED);",
     "psn, UNIC_WC_REM_ACCESS_ERR);", "test_rc_evict: remote_evicted"),
    ("5.53", "firmware/transport/responder_nak.c", "if (err == -UNIC_EEVICTED && qp->vendor) {",
     "if (err == -UNIC_EEVICTED) {", "test_badinput: a_peer_is_told_of_an_eviction"),
    ("6.1", "firmware/revoke/reclaim.c", "r->refilling ? r->high : nic->mrs.low", "nic->mrs.low",
     "test_reclaim: reaper_keeps_entries_free"),
    ("6.3", "firmware/arbiter/share.c", "l = net * y->weight, r = unic_share_net(s, b) * x->weight;",
     "l = net, r = unic_share_net(s, b);", "test_share: victim_has_most_for_its_weight"),
    ("6.4", "firmware/arbiter/share.c", "x->pain != y->pain ? x->pain < y->pain : a < b;",
     "a < b;", "test_share: ties_go_to_the_least_pain"),
    ("6.6", "firmware/arbiter/policy_sample.c",
     "uint32_t fresh = entries ? bytes / entries : 0;",
     "uint32_t fresh = entries ? bytes : 0;",
     "test_policy: pain_is_per_entry_and_saturates"),
    ("6.7", "firmware/revoke/evict.c",
     "UNIC_TRACE(nic, CHOSE, m->proc, mr, m->n_pages,\n"
     "\t\t   nic->candidates.pain[mr].value, why);",
     "UNIC_TRACE(nic, CHOSE, m->proc, mr, m->n_pages, 0, why);",
     "test_reap: choices_are_traced"),
    ("6.26", "firmware/arbiter/pain.c", "unic_lg(UNIC_PAIN_OP + bytes)", "unic_lg(UNIC_PAIN_OP)",
     "test_pain: use_counts_what_it_moves"),
    ("6.27", "firmware/arbiter/policy_sample.c",
     "		worth += weighted_pain(c, moved_of(c, i)->loss, n);\n", "		worth += 0;\n",
     "test_pain: least_pain_goes_first"),
    ("6.28", "firmware/revoke/reclaim.c",
     "	if (UNIC_PAIN && w->why == UNIC_WHY_REAPER && !unic_depth_pays(nic, mr))\n",
     "	if (0)\n", "test_pain: reaper_spares_what_is_used"),
    ("6.29", "firmware/arbiter/pain.c", "	if (!t->weight || !t->traffic)\n",
     "	if (!t->traffic)\n", "test_pain: reaper_without_weight_spares_nothing"),
    ("6.8", "firmware/arbiter/policy_sample.c",
     "return worth - (size < c->wanted ? size : c->wanted);",
     "return worth - 0 * size;",
     "test_policy: larger_items_give_more"),
    ("6.11", "firmware/arbiter/policy.c", "last < best && since_ns", "since_ns",
     "test_policy: lru_takes_the_longest_unused"),
    ("6.13", "firmware/arbiter/policy_sample.c", "worth += t[c->table->hint] * HINT_STEP;",
     ";", "test_policy: app_heeds_importance"),
    ("6.13", "firmware/arbiter/policy.c", "return c->kind == UNIC_POLICY_APP",
     "return c->kind == UNIC_POLICY_APP && 0",
     "test_policy: app_does_not_spare_newcomers"),
    ("6.14", "firmware/arbiter/policy_sample.c", "if (!has_frequency(g) && unic_interval_lasts(g->habit, age))",
     "if (0)", "test_policy: a_scan_does_not_make_it_forget"),
    ("6.14", "firmware/arbiter/reuse.c", "(class ? from < LATE : from) ? PRIOR : 0",
     "0 * from", "test_policy: a_habit_fades"),
    ("6.17", "firmware/memory/access.h", "\tmr->uses++;\n", "",
     "test_mr: use_is_counted"),
    ("6.17", "firmware/memory/window.h", "\tunic_mr_not_used(mr, len);\n", "",
     "test_lane: each_use_counts_once"),
    ("6.20", "host_driver/core/admin.c",
     "	cmd.policy = r.policy;\n	req->id = req->slot;", "	req->id = req->slot;",
     "test_driver_journal: policy_is_the_process_s_own"),
    ("6.21", "firmware/revoke/register.c", "	m->importance = r->importance;\n", "",
     "test_derived: importance_changes_at_any_time"),
    ("6.22", "firmware/arbiter/policy_sample.c",
     "return unic_frequency_now(habit, age);\n\tworth +=",
     "return -unic_frequency_now(habit, age);\n\tworth +=",
     "test_policy: lfu_keeps_what_is_used_most"),
    ("6.23", "firmware/revoke/ask.c", "ripe = last_use(nic, idx) + idle;",
     "ripe = mr->since_ns + idle;", "test_ask: what_is_used_is_not_asked_for"),
    ("6.23", "firmware/revoke/ask.c", "return young << 40 |", "return (63 - young) << 40 |",
     "test_ask: longest_unused_comes_first"),
    ("6.24", "firmware/revoke/ask.c", " | (uint64_t)nic->mrs.mr[idx].importance << 32", "",
     "test_ask: least_loss_comes_first"),
    ("6.25", "firmware/revoke/ask.c", "		UNIC_COUNT(nic, idle_asked);\n",
     "		unic_evict_revoke(nic, mr, UNIC_WHY_IDLE, UNIC_OWNER_NIL, false);\n",
     "test_ask: silence_keeps_the_region"),
    ("7.1", "firmware/memory/token.c", "return unic_whole(&t->key) == key &&",
     "return (uint32_t)t->key == (uint32_t)key &&",
     "test_token: each_refusal_changes_nothing"),
    ("7.2", "firmware/memory/token_alloc.c", "if (mr >= 0 && !nic->random.seeded)", "if (0)",
     "test_found: no_secret_without_entropy"),
    ("7.3", "firmware/memory/token.c", "       end <= t->length;",
     "       end <= t->length + 1u;",
     "test_token: each_refusal_changes_nothing"),
    ("7.4", "firmware/memory/token.c", "ipv4 == from->dest_ipv4)", "1)",
     "test_multi: named_sender_and_no_other"),
    ("7.8", "firmware/transport/requester_rx.c", "		wr->len = 0;\n", "",
     "test_rc_token: each_sender_is_told"),
    ("7.9", "firmware/revoke/evict_events.c", ".dependents = unic_to_le32((region)->n_tokens)",
     ".dependents = 0",
     "test_token: notice_counts_dependents"),
    ("7.12", "firmware/memory/token_alloc.c", "late ? UNIC_TOKEN_EXPIRED : UNIC_TOKEN_CANCELLED",
     "UNIC_TOKEN_EXPIRED", "test_token: cancel_names_the_end"),
    ("7.13", "firmware/memory/token.c", "\t\tdefer_end_event(nic, i);", "\t\tfree_put(nic, i);",
     "test_token: end_is_told_even_if_late"),
    ("7.16", "firmware/memory/token_alloc.c",
     "		want_back(nic, index);\n		return -UNIC_EPENDING;", "		return -UNIC_EBUSY;",
     "test_token: who_waits_is_told_each_end"),
    ("7.17", "firmware/memory/token.c",
     "[UNIC_TOKEN_TOO_LONG] = UNIC_C_token_too_long,",
     "[UNIC_TOKEN_TOO_LONG] = UNIC_C_token_bad_key,",
     "test_token: each_refusal_changes_nothing"),
    ("7.18", "firmware/memory/token.c", "(!qpn || qpn == from->dest_qpn)", "1",
     "test_delegate: bound_to_the_third"),
    ("7.19", "firmware/transport/responder.c",
     "nic->tokens.token[t.index].iova + t.offset;",
     "nic->tokens.token[t.index].iova;",
     "test_multi: each_lands_at_its_offset"),
    ("7.20", "firmware/command/cmd_batch.c", "if (n < 1 || n > UNIC_BATCH_MAX || off",
     "if (n < 1 || off", "test_batch: wrong_counts"),
    ("7.21", "firmware/transport/responder.c",
     "\t\tunic_key_guard_wrong(&nic->memory, qp->dest_ipv4, qp->proc);\n\t\tqp->rsp.guessed = true;\n", "",
     "test_guess: keys"),
    ("8.3", "firmware/memory/derived.c", "	       (form->kind != UNIC_FORM_INDIRECT || "
     "!unic_mr_physical(of));", "	       !unic_mr_physical(of);",
     "test_physical: only_one_kind_of_form"),
    ("8.4", "host_driver/kio/kio_client.c", "if (!status && io->given && ",
     "if (!status && ", "test_kio_peer: answered_without_data"),
    ("8.5", "host_driver/kio/kio_client.c",
     "return (uint64_t)c->window * c->mean_bytes;", "return c->mean_bytes;",
     "test_kio: window_shrinks_and_grows"),
    ("8.6", "host_driver/kio/kio_client.c", "c->in_window >= c->window)",
     "c->in_window >= UNIC_KIO_WINDOW)", "test_kio: window_shrinks_and_grows"),
    ("9.5", "host_driver/core/request.c",
     "\t\taudit_request(req, status);\n\t\tmemcpy(msg, rec,", "\t\tmemcpy(msg, rec,",
     "test_driver_request: each_call_is_logged"),
    ("9.6", "host_driver/core/ids.c", "gen = unic_os_count(&ids->gen[i]);", "gen = 1;",
     "test_driver_objects: ids_never_come_back"),
    ("9.8", "host_driver/core/region/frames.c", "f->pinned += !f->t->pins[frame]++;",
     "f->pinned++;\n\t\tf->t->pins[frame]++;",
     "test_driver_objects: pins_count_overlaps_once"),
    ("10.3", "host_driver/libunic/bufman.c", "\tbm->stats.offers++;\n", "",
     "test_libunic_manager: manager_offers_for_what_is_busy"),
    ("10.7", "host_driver/libunic/bufman_xfer.c",
     "\t\tunic_bm_count(w->bm, retries_local, 1);\n\t\trequeue_piece(w, p, wc);",
     "\t\tp->state = PIECE_FREE;",
     "test_libunic_manager: manager_repeats_what_was_evicted"),
    ("2.21", "host_driver/libunic/fastpool.c",
     "\tif (*out && unic_mr_usable(*out, expected_us))\n", "\tif (*out)\n",
     "test_libunic_pool: registrations_are_checked_before_use"),
    ("10.10", "host_driver/libunic/mend.c", "\t\tset_state(qp, MEND_BROKEN);\n", "",
     "test_libunic_mend: requests_are_posted_again"),
    ("10.11", "host_driver/libunic/replay.c", "\t\t\tnumber_slot(ring, recv, i);\n",
     "\t\t\t(void)recv;\n", "test_libunic_mend: requests_are_posted_again"),
    ("10.12", "host_driver/libunic/replay.c", "\t\ts->fate = FATE_DONE;", "\t\t\t;",
     "test_libunic_mend: requests_are_reported_once"),
    ("10.13", "host_driver/libunic/replay.c",
     "pos != sq->posted && sq->sent != last; pos++",
     "pos != sq->posted && sq->sent > last; pos++", "test_libunic_mend: messages_arrive_once"),
    ("10.14", "host_driver/libunic/mend_thread.c",
     "\tif (!final && !unic_qp_told(qp, UNIC_TOLD_ERROR))\n", "\tif (0)\n",
     "test_libunic_mend: gone_peers_are_reported_once"),
    ("10.15", "host_driver/libunic/mend.c", "\tcase UNIC_WC_REM_OP_ERR:\n", "",
     "test_libunic_mend: manager_hides_cuts"),
    ("11.2", "firmware/transport/sq.c", "\tuint64_t len = slot->inline_len;",
     "\tuint32_t len = slot->inline_len;", "test_badinput: lengths_of_work"),
    ("11.3", "firmware/transport/responder.c", "t->offset > UNIC_MSG_MAX || ", "",
     "test_roce: tagged_sizes_lie"),
    ("11.6", "firmware/memory/dependents.c", "if (f->form[o].stamp == f->stamp)", "if (0)",
     "test_derived: elements_that_overlap"),
    ("11.8", "firmware/memory/access.c", "4 * taken + ", "0 * taken + ",
     "test_derived: forms_over_regions_that_go"),
    ("11.9", "firmware/revoke/register.c", "if (!m || (m->flags & UNIC_MR_F_GONE))\n\t\treturn -UNIC_ENOMR;\n\tif (m->queues)",
     "if (!m)\n\t\treturn -UNIC_ENOMR;\n\tif (m->queues)",
     "test_badinput: released_twice_in_use"),
    ("11.11", "firmware/revoke/evict_answer.c", "return mr->state == UNIC_MR_NOTIFIED &&\n"
     "\t       !(mr->evt_due & UNIC_MR_EVT_NOTICE);",
     "return mr->state >= UNIC_MR_NOTIFIED;",
     "test_badinput: answers_that_come_too_late"),
    ("11.12", "firmware/revoke/evict_answer.c",
     "if (unic_from_le32(cmd->seq) != ns->notice[i].seq ||", "if (",
     "test_badinput: answers_of_another_time"),
    ("11.13", "firmware/memory/token_alloc.c", "if (t->proc != proc || t->key != key)",
     "if (t->proc != proc)", "test_badinput: cancels_of_no_token"),
    ("11.14", "firmware/memory/token.c", "if (t->key != tag->key)",
     "if ((uint32_t)t->key != (uint32_t)tag->key)",
     "test_roce: tagged_message_forged"),
    ("11.15", "firmware/memory/token.c",
     "t->lock |= UNIC_TOKEN_LOCK(0, UNIC_TOKEN_S_CLAIMED);", "",
     "test_roce: tagged_message_replayed"),
    ("11.17", "firmware/transport/responder.c", "t->ctrl > UNIC_TOKEN_CTRL_MAX ||", "",
     "test_roce: tagged_sizes_lie"),
)


def run(*args, timeout=300):
    return subprocess.run(args, cwd=WORK, capture_output=True, text=True,
                          timeout=timeout, errors="replace")


def copy():
    """The tree. What is there already and the same stays, so that only what
    changed is built; what a run left broken is new."""
    files = subprocess.run(["git", "ls-files", "-z", *PARTS], cwd=ROOT,
                           check=True, capture_output=True, text=True)
    for name in files.stdout.split("\0")[:-1]:
        src, to = os.path.join(ROOT, name), os.path.join(WORK, name)
        if os.path.exists(to) and filecmp.cmp(src, to, shallow=False):
            continue
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(src, to)
        shutil.copymode(src, to)


def build(program):
    path = f"build/unit/bin/{program}"
    made = run("make", "-s", "-j2", "VARIANT=-w -O0", path)
    if made.returncode:
        sys.exit(f"promises: {program} does not build:\n{made.stderr}")


def failing(program):
    """Names of its tests that fail."""
    try:
        ran = run(f"./build/unit/bin/{program}", timeout=120)
    except subprocess.TimeoutExpired:
        return {"(hangs)"}
    red = set(re.findall(r"\[  (?:FAILED  |ERROR   )\] (\w+)$",  # ERROR: it ended in another way
                         ran.stdout + ran.stderr, re.M))
    return red or ({"(dies)"} if ran.returncode else set())


def surely(program):
    """... each time: on a machine that is busy others may fail now and then."""
    red = failing(program)
    return red & failing(program) if red else red


def started(program, name):
    """Was @name the one that did not come back?"""
    out = run(f"./build/unit/bin/{program}", timeout=120)
    last = re.findall(r"\[ RUN      \] (\w+)", out.stdout + out.stderr)
    return bool(last) and last[-1] == name


def check(row, path, old, new, test):
    program, name = test.split(": ")
    full = os.path.join(WORK, path)
    with open(full, encoding="utf-8") as f:
        text = f.read()
    if text.count(old) != 1:
        sys.exit(f"promises: {row}: {path} does not say '{old}' once")
    try:
        with open(full, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
        build(program)
        red = surely(program)
        good = name in red or (red == {"(dies)"} and started(program, name))
    finally:
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)
    print(f"{'red' if good else 'WRONG':6} {row:6} {test}"
          + ("" if good else f"   red instead: {' '.join(sorted(red))}"),
          flush=True)
    return good


def main():
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
        return 0
    only = sys.argv[1:]
    chosen = [b for b in BREAKS if not only or b[0] in only or
              any(word in b[4] for word in only)]
    if not chosen:
        sys.exit(f"promises: no row or test: {' '.join(only)}")
    copy()
    for program in sorted({b[4].split(":")[0] for b in chosen}):
        build(program)
        red = surely(program)
        if red:
            sys.exit(f"promises: {program} is red without any: {red}")
    failed = sum(not check(*b) for b in chosen)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
