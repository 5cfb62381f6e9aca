#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The levels of tests: which programs each runs, and how. Runs them by run.py.

    levels.py [--name NAME] [--list NAME=WORDS]... GROUP...
    levels.py --show [--list NAME=WORDS]... GROUP...

A GROUP is a name of GROUPS, such as unit or e2e, or check: all that `make check`
runs. --list says what is behind $(NAME) in a command, from the lists of the
Makefile: a command is made for each of its words. --show prints what run.py is
given, a word on a line.
"""
import argparse
import os
import sys

import boards
import run

AGAIN = "tests again on another board"
# The long ones first: nothing is left to do beside the last one of a level.
STATIC = ("kmod-lint", "check-layers", "lint-cppcheck", "lint-format",
          "lint-sparse", "check-purity", "check-endian", "check-shared",
          "check-abi", "check-spec", "check-sources", "check-packages",
          "check-memory-tests", "check-breaks", "check-docs", "check-style",
          "check-commits")
# Side by side with the levels before. Programs that mostly wait: more at a time.
BUSY = {"jobs": 2, "beside": True}
WAITS = {"jobs": 3, "beside": True}


def level(name, *commands, **options):
    """options: those of run.py; True: one without a word."""
    return name, commands, options


def qemu(*scripts):
    return [f"tests/qemu/{s}" for s in scripts]


def peer(image, more=""):
    return [f"tests/peer/test_{part}.py --image {image}{more}"
            for part in ("control", "wire", "cm")]


# group: its levels.
GROUPS = {
    "build": [
        level("build", "make -s -k -j2 check-build", needed=True,
              apart="build", timeout=3000)],
    "static": [
        level("static checks", *(f"make -s {t}" for t in STATIC),
              "tests/runner/test_spec.py", "tests/runner/test_run.py",
              "tests/runner/test_layers.py", "tests/runner/test_style.py",
              "tests/runner/test_abi.py", "tests/runner/test_peer.py",
              "tests/runner/test_version.py", "tests/runner/test_figures.py",
              "tests/runner/test_coverage.py", "tests/interop/test_rxe.py",
              "tests/mutation/test_mutants.py", "make -s docs",
              "tests/abi/test_vectors.py", "tests/abi/test_dissector.py", jobs=2)],
    "unit": [level("unit host", "$(UNIT_PROGS)", **BUSY)],
    "corpora": [
        level("fuzz corpora",
              "build/unit/bin/fuzz_$(FUZZERS) tests/fuzz/corpus/$(FUZZERS) "
              "tests/fuzz/found/$(FUZZERS)",
              "build/large/bin/fuzz_$(FUZZ_LARGE) "
              "tests/fuzz/corpus/$(FUZZ_LARGE) tests/fuzz/found/$(FUZZ_LARGE)",
              apart="inputs of fuzzers", **BUSY)],
    "coverage": [level("branches that unit tests take", "make -s check-coverage", **BUSY)],
    "unit-target": [
        level("unit host, tables of virt", "$(UNIT_VIRT)", apart=AGAIN, **BUSY),
        level("unit target (Cortex-A15)", "$(TARGET_ELF)", apart=AGAIN, **BUSY)],
    "unit-m3": [
        level("unit target (Cortex-M3)",
              "tests/runner/boards.py --board mps2-an385 --kind unit",
              "tests/runner/boards.py --board lm3s6965evb --kind unit",
              "tests/runner/boards.py --only test_same", apart=AGAIN, **BUSY)],
    "insn": [
        level("instruction counts, sizes", "tests/bench/insn.py --no-budget",
              "tests/bench/lookup.py", "tests/bench/steps.py",
              "tests/bench/sizes.py", "tests/bench/parts.py", by_exit=True, **BUSY)],
    "sim": [
        level("simulated systems", "build/bin/unic-sim --seeds 1000",
              "build/bin/unic-sim --from 1000001 --seeds 100 --twice",
              "build/bin/unic-sim --stand --seeds 300",
              "build/bin/unic-sim --attack --seeds 200",
              "build/bin/unic-libsim --seeds 500",
              "build/bin/unic-libsim --from 1000001 --seeds 50 --twice",
              apart="seeds", **BUSY)],
    "policies": [
        level("trace simulator", "tests/eval/test_policysim.py",
              by_exit=True, **BUSY)],
    "pool": [
        level("a pool of connections", "build/bin/unic-pool", by_exit=True, **BUSY)],
    "crowd": [
        level("the page service beside 15 hoarders", "build/bin/kio-crowd",
              "build/bin/kio-crowd-peer", "build/bin/kio-crowd-queue",
              "build/bin/kio-crowd-move", "build/bin/kio-crowd-rdma",
              "build/bin/kio-crowd-write",
              apart="tests again beside hoarders", **BUSY)],
    "stags": [
        level("STags: 2^25 of them, and a solver", "build/bin/stags")],
    "stags-again": [  # test_stags has counted them
        level("STags: 2^25 of them, and a solver", "build/bin/stags",
              apart="tests again in full size", **BUSY)],
    "eval": [
        level("evaluation, a small one", "tests/eval/eval.py --quick", **BUSY),
        level("the evaluation's judge", "tests/eval/test_eval.py", **BUSY)],
    "fair": [
        level("fairness matrix", "tests/eval/test_fair.py",
              apart="cells of the fairness matrix", **BUSY)],
    "models": [
        level("models", "tests/models/check.py small", timeout=1200, **BUSY)],
    "proofs": [
        level("proofs (a few)", "tests/proofs/proofs.py --if-installed bits "
              "mailbox access-memory", **BUSY)],
    "litmus": [level("litmus", "tests/qemu/test_litmus.py", jobs=3)],
    "e2e": [
        level("boards as data sheets have them",
              "tests/board_model/test_board_model.py",
              "tests/board_model/test_lm3s.py",
              "tests/board_model/test_tm4c_rules.py",
              "tests/board_model/test_tm4c.py", **WAITS),
        level("flash, by OpenOCD over a model", "tests/flash/test_choose.py",
              "tests/flash/test_console.py", "tests/flash/test_flash.py", **WAITS),
        level("what is installed, seen from outside", "tests/install/test_install.py",
              "tests/install/test_examples.py", "tests/docs/test_site.py", **WAITS),
        level("labs: unsolved and solved", "tests/labs/test_labs.py", **WAITS),
        level("parts: board, bus, wire, driver", *qemu(
            "hal_selftest.py", "test_cortexm.py", "test_mps2.py",
            "test_line.py", "test_tty.py", "test_template.py", "test_debug.py",
            "test_boot.py", "test_bus.py", "test_wire.py", "test_host.py",
            "test_unicd.py", "test_unicd_slots.py", "test_unicd_notice.py",
            "test_unicd_restart.py", "test_nics.py", "test_faults.py", "test_soak.py",
            "test_stops.py", "test_forms.py", "test_rates.py", "test_holders.py",
            "test_lending.py --rounds 5", "test_datagrams.py", "test_copy.py",
            "test_cuts.py", "test_paused.py", "test_kio.py", "test_memory.py", "test_process.py", "test_example.py",
            "test_driver.py", "test_tools.py", "test_demo.py",
            "test_verbs.py", "test_pages.py"), **WAITS),
        level("whole: two hosts, soft NICs", *qemu(
            "demo.py --board soft",
            "demo.py --board soft --loss 5%",
            "demo.py --board soft --mode demand --policy s3fifo",
            "demo.py --board soft --mode table --loss 5%"), by_exit=True, **WAITS),
        level("parts again, NICs in QEMU", *qemu(
            "test_forms.py --board virt",
            "test_cuts.py --board virt --blocks 60",
            "test_kio.py --board virt sizes loss",
            "test_paused.py --board virt sends responds switch_sends",
            "test_debug.py --board virt",
            "test_unicd.py --board virt",
            "test_unicd_slots.py --board virt",
            "test_unicd_notice.py --board virt",
            "test_unicd_restart.py --board virt",
            "test_unicd.py --board mps2-an385",
            "test_unicd_slots.py --board mps2-an385",
            "test_unicd_notice.py --board mps2-an385",
            "test_unicd_restart.py --board mps2-an385",
            "test_faults.py --board virt",
            "test_faults.py --board mps2-an385",
            "test_memory.py --board mps2-an385",
            "test_kio.py --board mps2-an385 sizes loss"), apart=AGAIN, **WAITS),
        level("whole again: two hosts, NICs in QEMU", *qemu(
            "demo.py --board virt",
            "demo.py --board virt --mode demand",
            "demo.py --board virt --loss 5%",
            "demo.py --board virt --link virtio --loss 5%",
            "demo.py --board lm3s6965evb",
            "demo.py --board lm3s6965evb --model --loss 1%",
            "demo.py --board mps2-an385",
            "demo.py --board mps2-an385 --peer soft"), apart=AGAIN,
            by_exit=True, **WAITS),
        # nothing runs beside them: a driver that comes to no processor loses its NIC
        level("benchmarks, small",
              "tests/bench/bench.py --part miss --only soft --accept-missed",
              "tests/bench/bench.py --part reg --only soft --accept-missed",
              "tests/bench/bench.py --part evict --only soft --ops 100000 --accept-missed",
              by_exit=True),
        # what a demo has left
        level("other builds of the NIC", "tests/qemu/test_builds.py"),
        level("the wire, seen by strangers", "tests/qemu/test_pcap.py")],
    "eval-left": [  # by the small one
        level("a small evaluation is as hard as a whole one",
              "tests/eval/test_eval.py --left")],
    "conformance-soft": [
        level("a peer written from SPEC.md alone", *peer("soft"), **WAITS)],
    "conformance-virt": [
        level("that peer again, NIC in QEMU", *peer("virt"), apart=AGAIN, **WAITS)],
    **{f"conformance-{image}-long": [
        level("a peer written from SPEC.md alone", *peer(image, " --long"))]
       for image in ("soft", "virt")},
    "vm": [
        level("Linux in a guest", "tests/vm/vm_leave.py",
              "tests/vm/vm_blk.py", "tests/vm/vm_check.py",
              "tests/vm/vm_look.py", "tests/vm/vm_nics.py",
              "tests/vm/vm_kmem.py", "tests/vm/vm_systemd.py", timeout=1200, **WAITS)],
    "interop": [
        level("a stranger on the wire: Linux's rdma_rxe", "tests/interop/rxe.py --quick",
              **WAITS)],
    "faults": [
        level("calls of the system that fail (a sample)",
              "tests/faults/faults.py --sample 100", apart="failing calls", **WAITS)],
    "vm-debug": [
        level("Linux in a guest that looks for faults",
              "tests/vm/vm_faults.py", "tests/vm/vm_check.py",
              "tests/vm/vm_blk.py", "tests/vm/vm_endure.py --quick",
              "tests/vm/vm_look.py", "tests/vm/vm_nics.py", timeout=7200, jobs=2)],
}
# In this order: what is quick and what others stand on comes first; but guests,
# which run longest, begin before what waits most of its time.
CHECK = ("build", "static", "unit", "corpora", "coverage", "unit-target", "unit-m3",
         "insn", "sim", "policies", "pool", "crowd", "stags-again", "eval",
         "fair", "models", "proofs", "litmus", "vm", "interop", "conformance-soft",
         "conformance-virt", "faults", "e2e", "eval-left")
# All that start processes of which each waits for others.
STEADY = ("litmus", "e2e", "conformance-soft", "conformance-virt", "vm", "interop")


def made(command, lists):
    """The commands that one of the table stands for: one, or one for each word of
    the list that it names. Inputs that no fuzzer found are not there."""
    names = [n for n in lists if f"$({n})" in command]
    for word in lists[names[0]] if names else [""]:
        line = command.replace(f"$({names[0]})", word) if names else command
        yield " ".join(w for w in line.split()
                       if not w.startswith("tests/fuzz/found/")
                       or os.path.isdir(w))


def words(groups, lists):
    """The arguments of run.py for the levels of these groups."""
    out = []
    for name, commands, options in [lv for g in groups for lv in GROUPS[g]]:
        out += ["--level", name]
        for option, value in options.items():
            out += ["--" + option.replace("_", "-")]
            out += [] if value is True else [str(value)]
        out += [c for command in commands for c in made(command, lists)]
    return ["--qemu", " ".join(boards.QEMU["virt"]), *out]


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--name")
    p.add_argument("--show", action="store_true")
    p.add_argument("--list", action="append", default=[])
    p.add_argument("groups", nargs="+", choices=[*GROUPS, "check"])
    args = p.parse_args()
    lists = {name: value.split() for name, value in
             (item.split("=", 1) for item in args.list)}
    groups = CHECK if args.groups == ["check"] else args.groups
    given = ["--name", args.name] * bool(args.name) + words(groups, lists)
    if args.show:
        print("\n".join(given))
        return 0
    return run.main(given)


if __name__ == "__main__":
    sys.exit(main())
