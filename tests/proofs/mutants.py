#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Deliberate breaks of what is proved, each in a copy of the tree: the proof
named must fail there, and hold here. Ends in "N passed, N failed".
"""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
WORK = os.path.join(ROOT, "build", "proof-mutants")
PARTS = ("abi", "boards", "firmware", "hal", "tests/proofs")

# proof, file, what stands there, what shall stand there, in words
MUTANTS = (
    ("ring-receive", "hal/drivers/link_ring.c", "	out->len = len;",
     "	out->len = read_le32(slot_len_flags(slot)) & 0xffff;",
     "ring: the length is fetched again after its check"),
    ("ring-receive", "hal/drivers/link_ring.c", "next == rx->end ?",
     "next > rx->end ?", "ring: the lap ends one slot late"),
    ("ring-send", "hal/drivers/link_ring.c", "room > lr->slots - at)",
     "0)", "ring: room behind the end of the lap"),
    ("commands", "firmware/command/cmd_mr.c", "count > UNIC_BOX_LIST_MAX)",
     "count > UNIC_BOX_LIST_MAX + 1)", "commands: one page too many"),
    ("commands", "firmware/command/cmd.c", "opcode < sizeof(commands)",
     "opcode <= sizeof(commands)", "commands: one opcode too many"),
    ("batches", "firmware/command/cmd_batch.c",
     "opcode == UNIC_CMD_MR_DEREG;",
     "opcode == UNIC_CMD_MR_DEREG || opcode > UNIC_CMD_MR_BATCH;",
     "batches: one takes opcodes that there are not"),
    ("batches", "firmware/command/cmd_batch.c", " || end > UNIC_BOX_LIST_BYTES", "",
     "batches: lists go on behind the page"),
    ("frames", "firmware/transport/rx.c", "if (pad > body)", "if (0)",
     "frames: more padding than there is body"),
    ("frames", "firmware/transport/rx.c", "(len > rx->len - UNIC_ETH_BYTES ||",
     "((word_at(rx->frame, UNIC_ETH_BYTES) & 0xffff) >\n"
     "		rx->len - UNIC_ETH_BYTES ||",
     "frames: the length checked is fetched once more"),
    ("access:unic_mr_in_window", "firmware/memory/access.h", "len <= room;", "len <= room + 1;",
     "access: one byte behind the window"),
    ("access:is_in_bounds", "firmware/memory/access.c", "!(off >> 32) && ", "",
     "access: wraps at 2^32"),
    ("access:is_in_bounds", "firmware/memory/access.c",
     "len <= (uint32_t)mr->length - (uint32_t)off", "1",
     "access: the end is not checked"),
    ("access:derived_page", "firmware/memory/access.c",
     "	at.len = 1u + min_offset(at.len - 1u, UINT32_MAX - low);\n", "",
     "access: a form's piece goes beyond its window"),
    ("access:clip_to_region", "firmware/memory/access.c", "at->len = min_offset(at->len, mr->length - off)",
     "(void)min_offset", "access: all of the page, not of the region"),
    ("access:set_window", "firmware/memory/access.c", "at->len + at->before;",
     "at->len + at->before + 1u;", "access: the window begins a byte early"),
    ("access-paths:unic_access_inline", "firmware/memory/access.h",
     "!unic_mr_grants(mr, need)))", "0))", "access: no rights are asked for"),
    ("access-paths:unic_access_inline", "firmware/memory/access.h",
     "mr->win_hi != (uint32_t)(iova >> 32) ||", "0 ||",
     "access: half of the address is compared"),
    ("window:unic_window_turn", "firmware/memory/window.h",
     "return piece.len == len ? 0 : -UNIC_EAGAIN;", "return 0;",
     "window: of a piece of the bytes"),
    ("window:unic_window_show", "firmware/memory/window.h", "w->places = bytes - len;",
     "w->places = bytes;", "window: as many places as bytes"),
    ("window:unic_window_has", "firmware/memory/window.h", "iova <= w->places",
     "iova <= w->places + 1", "window: one byte behind it"),
    ("window:unic_window_near", "firmware/memory/window.h",
     "unic_mr_grants(mr, need) &&", "1 &&", "window: no rights are asked for"),
    ("token:can_open_token", "firmware/memory/token.c", "unic_whole(&t->key) == key",
     "(uint32_t)unic_whole(&t->key) == (uint32_t)key",
     "token: half of the key is compared"),
    ("token:end_claim", "firmware/memory/token.c",
     "		UNIC_ASSERT(nic, unic_token_state(t) >= UNIC_TOKEN_S_WANTED);\n", "",
     "token: finished without a claim"),
    ("token:take_free_token", "firmware/memory/token_alloc.c",
     "UNIC_ASSERT(nic, unic_token_state(t) == UNIC_TOKEN_S_FREE);\n"
     "	ts->free_head", "	ts->free_head", "token: given away while it lives"),
    ("token:end_region_token", "firmware/memory/token.c",
     "unic_dma_mr_unlist(nic, t->mr, t->iova);\n	unic_token_set_state",
     "unic_dma_mr_unlist(nic, i, t->iova);\n	unic_token_set_state",
     "token: its pieces are looked for by its own number"),
    ("token:recall_token", "firmware/memory/token_alloc.c",
     "		unic_token_end(nic, i, UNIC_TOKEN_EVICTED, false);",
     "		unic_token_end(nic, i, UNIC_TOKEN_EVICTED, true);",
     "token: told of twice, when another gets its place"),
    ("token:report_end", "firmware/memory/token.c", "if (!tell || try_publish_end(nic, i))",
     "if (try_publish_end(nic, i) || !tell)",
     "token: its process is told what it knows"),
    ("token:try_publish_end", "firmware/memory/token.c",
     "	unic_ration_spend(told, 1);\n	return true;",
     "	nic->tokens.token[i].evt_due = true;\n"
     "	unic_ration_spend(told, 1);\n	return true;",
     "token: told of, and due all the same"),
    ("token:has_room", "firmware/memory/token.c",
     "!__builtin_add_overflow(tag->payload, tag->offset, &end) &&",
     "((end = tag->payload + tag->offset), 1) &&",
     "token: payload and offset wrap at 2^32"),
    ("token:has_room", "firmware/memory/token.c", "end <= t->length",
     "tag->payload <= t->length", "token: the offset is not counted"),
    ("token:refusal_reason", "firmware/memory/token.c", "if (!has_room(t, tag))", "if (0)",
     "token: one for many messages is as long as they like"),
)


def prove(proof, tree):
    return subprocess.run(
        [sys.executable, "tests/proofs/proofs.py", "--quick", "--tree", tree,
         proof], cwd=ROOT, text=True, capture_output=True, check=False)


def caught(proof, file, old, new):
    """Returns what is wrong with the mutant, "" if the proof fails for it."""
    shutil.rmtree(WORK, ignore_errors=True)
    for part in PARTS:
        shutil.copytree(os.path.join(ROOT, part), os.path.join(WORK, part))
    path = os.path.join(WORK, file)
    with open(path, encoding="utf-8") as source:
        text = source.read()
    if text.count(old) != 1:
        return f"{text.count(old)} places"
    with open(path, "w", encoding="utf-8") as source:
        source.write(text.replace(old, new))
    run = prove(proof, WORK)
    # a proof that could not be run has shown nothing
    if "aborted" in run.stdout or "rror:" in run.stdout:
        return "does not compile"
    return "" if run.returncode else "NOT CAUGHT"


def main():
    failed = 0
    # what fails unbroken, too, catches nothing
    weak = {p for p in {m[0] for m in MUTANTS} if prove(p, ROOT).returncode}
    for proof, file, old, new, words in MUTANTS:
        wrong = ("fails unbroken" if proof in weak else
                 caught(proof, file, old, new))
        failed += bool(wrong)
        print(f"  {wrong or 'caught':<11}{words}  [{proof}]", flush=True)
    shutil.rmtree(WORK, ignore_errors=True)
    print(f"{len(MUTANTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
