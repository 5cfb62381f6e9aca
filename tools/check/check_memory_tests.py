#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Each test and each source file that docs/MEMORY-TESTS.md names is there, each
test is run by somebody, and the rows with a bold number are those that
tests/mutation/promises.py breaks. See there for how they are named. Each test that
docs/SECURITY.md names is there, too.

usage: check_memory_tests.py [--list]    --list prints the tests, one a line
"""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "mutation"))
from promises import BREAKS  # noqa: E402

TABLE = "docs/MEMORY-TESTS.md"
ROW = re.compile(r"^\| (\*\*)?(\d+\.\d+[a-z]?)(?:\*\*)? \| (.+?) \| (.*?) \| (.+) \|$")
NAMED = re.compile(r"`([\w-]+): ([\w., -]+?)`")


def text(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            return f.read()
    except OSError:
        return None


def is_run(program):
    """Somebody makes it, or runs it."""
    lists = ["Makefile", "mk/linux.mk", "tests/unit/sources.mk",
             "tests/runner/levels.py"]
    return any(re.search(rf"\b{re.escape(program)}(?!\w)", text(path))
               for path in lists)


def c_function(path, name):
    """A function that is defined and named once more: in a table of tests, or
    called."""
    code = text(path) or ""
    defined = re.search(rf"^(?:static )?\w[\w *]*\b{name}\(", code, re.M)
    return defined and len(re.findall(rf"\b{name}\b", code)) > 1


def py_function(path, name):
    """Called or listed there; some programs find each test_ by its name."""
    code = text(path) or ""
    return is_run(os.path.basename(path)) and re.search(
        rf"^ *def {name}\(", code, re.M) and (
            len(re.findall(rf"\b{name}\b", code)) > 1
            or name.startswith("test_") and "globals()" in code)


def unit(program, name):
    folders = ("core", "driver", "host")
    path = next((p for p in (f"tests/unit/{folder}/{program}.c"
                             for folder in folders) if text(p)), "")
    return c_function(path, name) and is_run(program) and re.search(
        rf"^static void {name}\(void \*\*state\)", text(path), re.M)


def has(path, part):
    return part in (text(path) or "")


# who is named before the colon -> is what is named behind it there?
KINDS = {
    "sim": lambda n: has(f"tests/sim/{n}.c", f'sim_fail("{n}"'),
    "eval": lambda n: has("tests/eval/goals.py", f'"{n}"')
    or re.fullmatch(r"replace-stream-(one|shares)", n),
    "models": lambda n: text(f"tests/models/{n}.pml"),
    "proofs": lambda n: has("tests/proofs/proofs.py", f'"{n}":'),
    "fuzz": lambda n: text(f"tests/fuzz/fuzz_{n}.c"),
    "pool": lambda n: c_function("tests/pool/main.c", n),
    "forms": lambda n: c_function("tests/qemu/forms.c", n),
    "insn": lambda n: has("tests/bench/insn.json", f'"{n}":'),
    "demo": lambda n: py_function("tests/qemu/demo.py", n),
    "soak": lambda n: py_function("tests/qemu/soak.py", n),
    "vm_check": lambda n: has("tests/vm/vm_check.py", f"def {n}(c)"),
    **{vm: lambda n, vm=vm: has(f"tests/vm/{vm}.py", f"def {n}(c)")
       for vm in ("vm_blk", "vm_look", "vm_faults", "vm_endure", "vm_kmem", "vm_leave", "vm_nics")},
    "pins": lambda n: c_function("tests/vm/pins.c", n),
    "static": lambda n: text(f"tools/check/{n}.py"),
}


def there(kind, name):
    if kind in KINDS:
        return KINDS[kind](name)
    return kind.startswith("test_") and (
        unit(kind, name) or py_function(f"tests/qemu/{kind}.py", name))


def source(name):
    return any(glob.glob(os.path.join(ROOT, folder, name))
               for folder in ("firmware", "firmware/*", "host_driver", ""))


def check_row(number, bold, where, by):
    """What is wrong with it, in words."""
    for name in re.findall(r"`([^`]+)`", where):
        if not source(name):
            yield f"{number}: no source file {name}"
    named = NAMED.findall(by)
    if by.count("`") != 2 * (len(named) + len(re.findall(r"`\w+\(\)`", by))):
        yield f"{number}: not understood: {by}"
    tests = [f"{kind}: {name}" for kind, names in named
             for name in names.split(", ")]
    for test in tests:
        if not there(*test.split(": ")):
            yield f"{number}: no test '{test}', or nobody runs it"
    if not named and not re.search(r"\*\*(no test|not built)\*\*", by):
        yield f"{number}: neither a test nor a word about why there is none"
    broken = [b[4] for b in BREAKS if b[0] == number]
    if bool(broken) != bool(bold):
        yield f"{number}: bold, or broken in promises.py, but not both"
    for test in broken:
        if test not in tests:
            yield f"{number}: promises.py expects '{test}', which is not named"


def odds():
    """What STATUS.md says of guessing an STag follows from key_guard.h (row 2.9):
    half of 2^24, 256 regions at once, and all places of a process at once."""
    code = text("firmware/memory/key_guard.h")
    free, ns, places = (int(re.search(rf"#define UNIC_KEY_GUARD_{n}\s+(\d+)u",
                                      code)[1])
                        for n in ("FREE", "NS", "PEERS"))
    seconds = 2**23 / (free * 1e9 / ns)
    said = " ".join(text("docs/STATUS.md").split())
    for words in (f"limited to {free} in {ns // 10**6} ms",
                  f"after {seconds / 3600:.0f} hours in the mean",
                  f"{seconds / 256 / 60:.1f} minutes where one of 256",
                  f"up to {places + 1} times"):
        if words not in said:
            yield f"2.9: docs/STATUS.md does not say '{words}'"


def security():
    """`x` and `test_x` are how the page says what names look like."""
    said = " ".join(text("docs/SECURITY.md").split())
    for kind, names in NAMED.findall(said):
        for name in names.split(", "):
            if name != "x" and kind != "test_x" and not there(kind, name):
                yield f"docs/SECURITY.md: no test '{kind}: {name}'"


def main():
    rows = [m.groups() for m in map(ROW.match, text(TABLE).splitlines()) if m]
    numbers = [number for _, number, _, _, _ in rows]
    bad = [b for bold, number, _, where, by in rows
           for b in check_row(number, bold, where, by)]
    bad += odds()
    bad += security()
    bad += [f"{n} is there twice" for n in sorted(set(numbers))
            if numbers.count(n) > 1]
    bad += [f"promises.py breaks {b[0]}, which is no row" for b in BREAKS
            if b[0] not in numbers]
    bad += [f"promises.py: {b[0]}: {b[1]} does not say '{b[2]}' once"
            for b in BREAKS if (text(b[1]) or "").count(b[2]) != 1]
    if len(rows) < 100:
        bad.append(f"{len(rows)} rows: the table is not read")
    for line in bad:
        print(f"{TABLE}: {line}")
    if bad:
        return 1
    print(f"MEMORY.md: {len(rows)} sentences; "
          f"{sum('**no test**' in r[4] for r in rows)} without a test, "
          f"{sum('**not built**' in r[4] for r in rows)} not built, "
          f"{len({b[0] for b in BREAKS})} broken on purpose")
    return 0


if __name__ == "__main__":
    sys.exit(main())
