#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Do the tests in the guest notice? A line of the Linux module is broken, the module
built anew among its links, and the named test must fail.

    vm_breaks.py [TEST ...]    only those of these tests

Ends in "N passed, N failed".
"""
import argparse
import contextlib
import os
import subprocess
import sys

import kernel
from pair import MODULES, ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
# The programs of tests that are not in vm_check.py
PROGRAMS = {"test_nic_dies": ["vm_blk.py"],
            "test_lies_to_disk": ["vm_endure.py", "--quick"]}
# With the lock of the device held.
NOW_AND_THEN = ("{ static u64 at; if (ktime_get_ns() > at) "
                "{ %s; at = ktime_get_ns() + 8000000000; } }")
SPIN = "for (u64 i = 0; i < 2000000000; i++) barrier()"  # work, not time
SLEEP = "schedule_timeout_uninterruptible(4 * HZ)"
# file, what stands there, what shall stand there, test that must fail
BREAKS = (
    ("unic_mem.c", "*added = last - first + 1 - covered(mem, first, last);",
     "*added = last - first + 1;", "test_pins"),  # overlaps count twice
    ("unic_mem.c", "mark_stale(mem, &mem->live, first, last, true);", "",
     "test_pins"),  # what is unmapped stays registered
    ("unic_mem.c", "rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT", "U32_MAX",
     "test_memlock"),
    ("unic_mem.c", "	unpin_user_pages_dirty_lock(p->page, p->n, p->write);",
     "", "test_forms"),  # leaked
    ("unic_mem.c", "p->charged = last - first + 1 - covered(mem, first, last);",
     "p->charged = 0;", "test_memlock"),  # what is under way does not count
    ("unic_mem.c", "in_span(&mem->doubt, first, last) ||", "",
     "test_pins"),  # what was dropped an instant ago
    ("unic_mem.c", "return !got || got == -EBUSY ? -EAGAIN",
     "return got == -EBUSY ? -EAGAIN", "test_pins"),  # nobody waits for a page
    ("unic_mem.c", """VM_MAYWRITE | VM_READ)) ==
	    (VM_MAYWRITE | VM_READ)""", "VM_MAYWRITE)) == VM_MAYWRITE",
     "test_pins"),  # guard pages can be read
    ("unic_mem.c", " || (p->write && is_tracked(vma))", "", "test_file"),
    ("unic_cdev.c", "	.flush = unic_flush,", "",
     "test_hostage"),  # a process that is gone keeps its pins
    ("frames_user.c", "if (PTR_ERR_OR_ZERO(p) == -EAGAIN)",
     "if (PTR_ERR_OR_ZERO(p) == -EAGAIN && first == last)",
     "test_pins"),  # a granted region's pages are nobody's to fetch
    ("../kio/kio_node.c", "next = expire(n);", "next = UINT64_MAX;",
     "test_nic_dies"),  # I/Os wait for ever
    ("unic_engine.c", "	trace_nic(os);", NOW_AND_THEN % SPIN,
     "test_lies_to_disk"),  # keeps a processor
    ("unic_engine.c", "	trace_nic(os);", NOW_AND_THEN % SLEEP,
     "test_lies_to_disk"),  # keeps the lock
)


def build():
    """With what stands in the links' folder, not among the sources."""
    return subprocess.run(
        ["make", "-s", "-C", f"{kernel.modules(kernel.newest())}/build",
         f"M={MODULES}", "modules"], stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT, check=False).returncode == 0


def red(test):
    """Does it fail, and not the loading before it?"""
    program, *how = PROGRAMS.get(test, ["vm_check.py"])
    said = subprocess.run(
        [os.path.join(HERE, program), *how, "--only", test],
        capture_output=True, text=True, check=False).stdout
    return f"FAILED  {test}:" in said


def broken(name, old, new, test):
    """Why the break was not noticed, or None."""
    link = os.path.join(MODULES, name)
    with open(link, encoding="utf-8") as f:
        text = f.read()
    if text.count(old) != 1:
        return f"{name} has '{old.strip()}' {text.count(old)} times"
    source = os.path.realpath(link)
    os.unlink(link)
    try:
        with open(link, "w", encoding="utf-8") as f:
            f.write(text.replace(old, new))
        if not build():
            return "does not compile"
        return None if red(test) else "not noticed"
    finally:
        os.unlink(link)
        os.symlink(source, link)
        # a link's age is that of its source: what was built is of the break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.splitext(link)[0] + ".o")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("test", nargs="*", help="only the breaks for these")
    tests = p.parse_args().test
    chosen = [b for b in BREAKS if not tests or b[3] in tests]
    failed = 0
    for entry in chosen:
        why = broken(*entry)
        failed += why is not None
        print("FAILED " if why else "ok     ", f"{entry[3]}: {entry[0]}:",
              " ".join(entry[1].split())[:50], f": {why}" if why else "",
              flush=True)
    build()
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
