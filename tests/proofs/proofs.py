#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Run the proofs of tests/proofs/ with Frama-C, and count.

usage: proofs.py [--quick] [--if-installed] [--tree DIR] [NAME...]
    NAME: of a proof, or PROOF:FUNCTION for one function of a WP proof; else
    all of them. --quick: give up a goal earlier. --if-installed: without
    frama-c say so, and succeed (make check).

A WP proof passes if all of its goals are proved, an Eva proof if it raises no
alarm and every check it reached holds, bits if each of its axioms has no
counterexample. Ends in "N passed, N failed".
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
HERE = "tests/proofs"
INCLUDE = ("abi", "hal", "hal/drivers", "firmware", "boards/virt", HERE)
EVA = ["-eva", "-eva-alloc-builtin", "fresh_weak",
       "-eva-no-alloc-returns-null", "-eva-split-return", "full",
       "-eva-ilevel", "64", "-eva-plevel", "300"]
WP = ["-wp", "-wp-rte", "-wp-model", "Typed+ref", "-wp-prover", "cvc4,z3",
      "-wp-par", "2"]
# What a prover may spend on a goal: steps, so that a busy machine proves as much
# as an idle one; seconds only for one that counts none.
STEPS = {"all": "3000000", "quick": "1500000"}
SECONDS = {"all": "600", "quick": "60"}
EFFORT = ["all"]
ACCESS = ("unic_mr_opens unic_mr_grants unic_mr_in_window unic_mr_used "
          "unic_mr_not_used is_in_bounds "
          "unic_whole unic_count unic_access_refused refuse_bounds access_zero_len "
          "unic_tlb_hit page_of set_page lookup_tlb min_offset clip_to_region set_first set_window derived_page "
          "unic_access unic_mr_check")
PATHS = "unic_access_inline unic_access_page"
TOKEN = ("unic_token_state unic_token_set_state unic_token_waiting unic_token_claimed can_open_token is_expired has_room sent_by "
         "free_put region_put unic_token_link region_unlink mark_ended "
         "defer_end_event finish_end_event try_publish_end end_region_token unic_mr_physical "
         "unic_ration_left unic_ration_spend "
         "counter_of count_end report_end unic_token_end end_last end_claim "
         "unic_token_finish unic_token_abort unic_token_stop unic_token_unclaim refuse_token refusal_reason "
         "claim_slow unic_token_claim want_back unic_token_cancel take_free_token "
         "check_place recall_token ensure_free_token set_ttl check_token_args place_of "
         "set_token_match activate_token fill_token count_token_alloc make_token unic_token_alloc")
WINDOW = ("unic_window_near unic_window_has unic_window_at unic_window_turn "
          "unic_window_show unic_window_open")

# name: kind, file, functions to prove or entry point; slevel of Eva, or of WP:
# whether goals are proved part by part
PROOFS = {
    "bits": ("smt", "bits.smt2", "", 0),
    "access": ("wp", "wp_access.c", ACCESS, 0),
    "access-paths": ("wp", "wp_access.c", PATHS, 1),
    "token": ("wp", "wp_token.c", TOKEN, 1),
    "window": ("wp", "wp_window.c", WINDOW, 0),
    "ring-receive": ("eva", "eva_link_ring.c", "receive_all", 5000),
    "ring-run": ("eva", "eva_link_ring.c", "run_all", 5000),
    "ring-attach": ("eva", "eva_link_ring.c", "attach_all", 1000),
    "ring-send": ("eva", "eva_link_ring.c", "send_all", 2000),
    "mailbox": ("eva", "eva_mbox.c", "mbox_all", 100),
    "commands": ("eva", "eva_cmd.c", "cmd_all", 600),
    "batches": ("eva", "eva_cmd.c", "batch_all", 600),
    "frames": ("eva", "eva_roce_rx.c", "roce_rx_all", 1000),
    "access-memory": ("eva", "eva_access.c", "access_all", 5000),
}


def output(command, cwd):
    run = subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False,
                         env={**os.environ, "PWD": cwd})  # Frama-C asks this
    return run.stdout, run.returncode


def frama_c(tree, machine, file, *more):
    include = " ".join(f"-I{tree}/{folder}" for folder in INCLUDE)
    return output(["frama-c", "-c11", "-machdep", machine, "-cpp-extra-args="
                   f"-include {tree}/{HERE}/prelude.h {include}",
                   "-kernel-warn-key", "typing:implicit-conv-void-ptr=inactive",
                   f"{HERE}/{file}", *more], tree)


def smt(tree, _machine, file, _what, _slevel):
    """Both provers find no counterexample to any axiom."""
    wanted, said = 0, []
    with open(os.path.join(tree, HERE, file), encoding="utf-8") as text:
        wanted = text.read().count("(check-sat)")
    for prover in (["z3"], ["cvc4", "--incremental"]):
        said.append(output(prover + [f"{HERE}/{file}"], tree)[0].split())
    good = all(s == ["unsat"] * wanted for s in said)
    return good, f"{wanted} axioms, no counterexample" if good else str(said)


def wp(tree, machine, file, what, split):
    more = ["-wp-split"] if split else []
    text, code = frama_c(tree, machine, file, *WP, *more, "-wp-steps",
                         STEPS[EFFORT[0]], "-wp-timeout", SECONDS[EFFORT[0]],
                         "-wp-fct", ",".join(what.split()))
    proved = re.search(r"Proved goals:\s*(\d+) / (\d+)", text)
    if code or not proved:
        return False, "\n".join(text.splitlines()[-12:])
    failed = re.findall(r"\[Failed\] Goal (\w+)|Goal (\w+) : Timeout", text)
    note = f"{proved[1]}/{proved[2]} goals"
    return proved[1] == proved[2], "\n      ".join(
        [note] + [a or b for a, b in failed[:8]])


def eva(tree, machine, file, what, slevel):
    more = []
    for part, functions in (("cmd", "unic_cmd_list:0,fetch_list_bytes:0,"
                             "unic_cmd_fetch:0,run_batch:0,unic_cmd_mr_rereg:0"),
                            ("ring", "adopt_tx:0,skip_published:0")):
        if part in file:
            more = ["-eva-slevel-function", functions]
    text, code = frama_c(tree, machine, file, *EVA, *more, "-eva-slevel",
                         str(slevel), "-main", what)
    alarms = re.search(r"(\d+) alarms? generated by the analysis", text)
    reached = re.search(r"(\d+) functions? analyzed \(out of (\d+)\)", text)
    if code or not alarms:
        return False, "\n".join(text.splitlines()[-12:])
    lines = re.sub(r"\s*\n {2,}", " ", text).splitlines()  # it wraps them
    wrong = [line.strip() for line in lines
             if ("eva:alarm" in line or "got status" in line) and
             "loop invariant" not in line and
             "'by_wp'" not in line]  # those are goals of WP
    note = f"{alarms[1]} alarms, {reached[1]} functions"
    return alarms[1] == "0" and not wrong, "\n      ".join([note] + wrong[:8])


def prove(tree, name, machine):
    """Runs one proof and prints how it went. Returns whether it passed."""
    name, _, one = name.partition(":")
    kind, file, what, slevel = PROOFS[name]
    start = time.monotonic()
    good, note = {"smt": smt, "wp": wp, "eva": eva}[kind](
        tree, machine, file, one or what, slevel)
    print(f"  {'ok' if good else 'FAILED':<7}{kind:<4}{name:<14}"
          f"{machine if kind != 'smt' else '':<12}{note}"
          f"  {time.monotonic() - start:.0f} s", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", default=ROOT)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--if-installed", action="store_true")
    args = parser.parse_args()
    missing = [p for p in ("frama-c", "why3", "z3", "cvc4")
               if not shutil.which(p)]
    if missing and args.if_installed:
        print(f"skipped: {len(args.names or PROOFS)} proofs: {missing[0]} is "
              "not installed\n0 passed, 0 failed")
        return 0
    if args.quick:
        EFFORT[0] = "quick"
    output(["why3", "config", "detect"], ROOT)
    passed = failed = 0
    for name in args.names or PROOFS:
        # 32 bits as the boards have; Eva also 64 bits, as the soft NIC has
        machines = ["gcc_x86_32"]
        if not args.names and PROOFS[name][0] == "eva":
            machines.append("gcc_x86_64")
        for machine in machines:
            if prove(os.path.abspath(args.tree), name, machine):
                passed += 1
            else:
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
