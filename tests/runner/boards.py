#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Which test ran on which board, how, and what came of it.

    boards.py [--board BOARD ...] [--kind unit|system] [--only TEXT]

A row is a board, a test and a runner: `host` is a process, `qemu` the board's own
machine in stock QEMU, `model` the board as its data sheet has it
(tests/board_model). `build-only` is a test that was built for the board and not
run, and says why. Everything is to be built before (make boards-report). Prints a
table; build/boards has it as text, JSON and JUnit. No row says anything about
silicon. Exit 1 if a test failed.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import run as runner

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
OUT = os.path.join(ROOT, "build", "boards")
SEMIHOST = ["-nodefaults", "-display", "none", "-semihosting-config",
            "enable=on,target=native", "-kernel"]
QEMU = {
    "virt": ["qemu-system-arm", "-M", "virt,highmem=off,gic-version=2",
             "-accel", "tcg", "-cpu", "cortex-a15", "-smp", "1,maxcpus=2",
             "-m", "128M"] + SEMIHOST,
    "mps2-an385": ["qemu-system-arm", "-M", "mps2-an385", "-accel", "tcg"] +
    SEMIHOST,
    "lm3s6965evb": ["qemu-system-arm", "-M", "lm3s6965evb", "-accel", "tcg"] +
    SEMIHOST,
}
# Folder of the unit tests of a board, and the end of what they may have of its
# RAM: the rest is heap and stack (mk/rules.mk).
UNIT = {"soft": ("build/unit/bin/test_*", None),
        "virt": ("build/target/bin/test_*.elf", None),
        "mps2-an385": ("build/m3/bin/test_*.elf", None),
        "lm3s6965evb": ("build/lm3s/bin/test_*.elf", 0x2000e000)}


def unicd(board):
    return [f"tests/qemu/test_unicd{part}.py --board {board}"
            for part in ("", "_slots", "_notice", "_restart")]


SYSTEM = {
    "soft": [*unicd("soft"),
             "tests/qemu/test_forms.py", "tests/qemu/test_holders.py",
             "tests/qemu/demo.py --board soft"],
    "virt": ["tests/qemu/hal_selftest.py",
             *unicd("virt"),
             "tests/qemu/test_forms.py --board virt",
             "tests/qemu/demo.py --board virt"],
    "mps2-an385": ["tests/qemu/test_mps2.py",
                   *unicd("mps2-an385"),
                   "tests/qemu/test_forms.py --board mps2-an385",
                   "tests/qemu/test_holders.py --board mps2-an385",
                   "tests/qemu/demo.py --board mps2-an385"],
    "lm3s6965evb": ["tests/qemu/test_cortexm.py", "tests/qemu/test_line.py",
                    "tests/qemu/test_boot.py",
                    "tests/qemu/demo.py --board lm3s6965evb",
                    "tests/qemu/demo.py --board lm3s6965evb --model --loss 1%",
                    "tests/board_model/test_lm3s.py"],
    "ek-tm4c1294xl": ["tests/board_model/test_tm4c.py"],
}
TIMEOUT_S = {"unit": 300, "system": 600}


def end_of(elf):
    """Where the data of an image ends."""
    said = subprocess.run(["arm-none-eabi-nm", elf], capture_output=True,
                          text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in said.splitlines()
                if line.split()[1:] == ["B", "_end"])


def rows(board):
    """(kind, test, command or None, why it does not run) of everything."""
    pattern, limit = UNIT.get(board, ("", None))
    for path in sorted(glob.glob(os.path.join(ROOT, pattern)) if pattern else []):
        name = os.path.basename(path).removesuffix(".elf")
        end = end_of(path) if limit else 0
        if limit and end > limit:
            need = (end - 0x20000000) // 1024
            yield ("unit", name, None, f"needs {need} KiB of RAM; the same "
                   "program runs on mps2-an385, the same processor")
        else:
            yield "unit", name, path, ""
    for command in SYSTEM[board]:
        yield "system", os.path.basename(command), command, ""


def run(board, kind, test, command, why):
    how = ("model" if command and "model" in command else
           "host" if board == "soft" else "qemu")
    row = {"board": board, "kind": kind, "test": test, "runner": how,
           "result": "passed", "passed": 0, "failed": 0, "seconds": 0.0,
           "why": why, "same": None, "skipped": []}
    if not command:
        row |= {"runner": "build-only", "result": "not run"}
        return row
    result = runner.run(command, QEMU.get(board), TIMEOUT_S[kind],
                        "demo.py" in command)
    for what in ("passed", "failed", "seconds", "skipped"):
        row[what] = getattr(result, what)
    lines = result.output.splitlines()
    row["same"] = next((text for text in lines if text.startswith("same: ")),
                       None)
    if row["failed"]:
        row["result"] = "failed"
        row["why"] = "\n".join([x for x in lines[:-3] if "FAIL" in x] +
                               lines[-3:])
    return row


def same_bytes(done):
    """test_same says in one line what all of its bytes were: see there."""
    lines = {r["board"]: r["same"] for r in done if r["same"]}
    good = len(set(lines.values())) == 1
    return {"board": "all", "kind": "unit", "same": None, "skipped": [], "test":
            "the same bytes: " + " ".join(lines), "runner": "compared",
            "result": "passed" if good else "failed", "passed": int(good),
            "failed": int(not good), "seconds": 0.0,
            "why": "" if good else "\n".join(map(str, lines.items()))}


# ------------------------------------------------------------------ reports

def table(all_rows):
    text = [f"{'board':<13}{'test':<46}{'runner':<12}{'result':<9}"
            f"{'passed':>7}{'failed':>7}{'s':>7}"]
    for r in all_rows:
        text.append(f"{r['board']:<13}{r['test'][:45]:<46}{r['runner']:<12}"
                    f"{r['result']:<9}{r['passed']:>7}{r['failed']:>7}"
                    f"{r['seconds']:>7.1f}")
        if r["runner"] == "build-only" or r["failed"]:
            text += ["             " + line for line in r["why"].splitlines()]
    text.append("")
    for board in dict.fromkeys(r["board"] for r in all_rows):
        mine = [r for r in all_rows if r["board"] == board]
        text.append(f"{board:<13}{sum(r['passed'] for r in mine)} passed, "
                    f"{sum(r['failed'] for r in mine)} failed, "
                    f"{sum(r['runner'] == 'build-only' for r in mine)} "
                    "programs build-only")
    return "\n".join(text) + "\n"


def junit(all_rows):
    top = ET.Element("testsuites")
    for board in dict.fromkeys(r["board"] for r in all_rows):
        mine = [r for r in all_rows if r["board"] == board]
        suite = ET.SubElement(
            top, "testsuite", name=board, tests=str(len(mine)),
            failures=str(sum(bool(r["failed"]) for r in mine)),
            skipped=str(sum(r["runner"] == "build-only" for r in mine)))
        for r in mine:
            case = ET.SubElement(suite, "testcase", name=r["test"],
                                 classname=f"{board}.{r['runner']}",
                                 time=f"{r['seconds']:.1f}")
            if r["failed"]:
                ET.SubElement(case, "failure").text = r["why"]
            elif r["runner"] == "build-only":
                ET.SubElement(case, "skipped", message="build-only: " +
                              r["why"])
    ET.indent(top)
    return ET.tostring(top, encoding="unicode") + "\n"


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)
                                 [0])
    ap.add_argument("--board", action="append", choices=sorted(SYSTEM))
    ap.add_argument("--kind", choices=sorted(TIMEOUT_S))
    ap.add_argument("--only", default="", metavar="TEXT",
                    help="tests with that in their name")
    o = ap.parse_args()
    os.chdir(ROOT)
    os.makedirs(OUT, exist_ok=True)
    boards, done = o.board or list(SYSTEM), []
    for board in boards:
        for kind, test, command, why in rows(board):
            if o.only in test and o.kind in (None, kind):
                done.append(run(board, kind, test, command, why))
                print(f"  {board:<12} {test:<44} {done[-1]['result']}",
                      flush=True)
    if sum(r["same"] is not None for r in done) > 1:
        done.append(same_bytes(done))
    text = table(done)
    for name, what in (("report.txt", text), ("report.xml", junit(done)),
                       ("report.json", json.dumps(done, indent=1) + "\n")):
        with open(os.path.join(OUT, name), "w", encoding="utf-8") as f:
            f.write(what)
    print("\n" + text, end="")
    for board in boards:
        n = sum(r["board"] == board and r["runner"] == "build-only"
                for r in done)
        if n:
            print(f"skipped: {n} programs are build-only on {board}")
    for r in done:
        for n, what in r["skipped"]:
            print(f"skipped: {n} {what}: {r['test']} on {r['board']}")
    failed = sum(r["failed"] for r in done)
    print(f"{sum(r['passed'] for r in done)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
