#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_shared.py - words that another processor reads or writes at the same
time are accessed once and on purpose.

ThreadSanitizer does not see memory that is shared with another process. So: in
firmware/, hal/ and host_driver/, a member reached through a pointer to one of
the structs of SHARED must be inside of one of ACCESSORS (one access, or a copy
out of which is decided), or have its address taken (for one of those). What is
right all the same is in ALLOWED, with the reason.
"""
import glob
import re
import sys

# Structs of abi/ that live in shared memory and hold words that change there.
SHARED = ("unic_db_page", "unic_db_tail", "unic_nic_page", "unic_upcall_ring",
          "unic_nic_idx", "unic_driver_page", "unic_link_header",
          "unic_link_port", "unic_link_ring", "unic_link_slot", "unic_info",
          "unic_crash")
ACCESSORS = ("UNIC_READ_ONCE", "UNIC_WRITE_ONCE", "UNIC_LOAD", "UNIC_STORE",
             "unic_load_acquire", "unic_store_release", "unic_store_relaxed",
             "read_idx", "write_idx", "memcpy", "memset", "sizeof", "offsetof")
ALLOWED = {
    ("hal/soft/port.c", "crash"): "published by its magic, after a barrier",
    ("hal/soft/port.c", "info"): "the reading side is dead: our own word",
    ("hal/soft/crash.c", "*"): "published by its magic, after a barrier; and "
                               "the signal's own facts",
    ("hal/drivers/crash_record.c", "*"): "a private copy",
    ("hal/serial/near.c", "db"): "the near copy: nobody else sees it",
    ("firmware/command/dump.c", "out"): "a private copy",
    ("hal/virt/crash.c", "*"): "a private copy",
    ("hal/drivers/link_ring.c", "slot"): "an array: its address",
    ("host_driver/core/proc.c", "ring"): "record: an array, its address; "
                                         "entries: before anybody is told",
    ("host_driver/libunic/event.c", "upcalls"): "an array: its address",
    ("firmware/base/mailbox.c", "i"): "facts, before magic and state publish them; "
                              "later the NIC alone writes, nothing hangs on it",
    ("firmware/command/cmd.c", "info"): "a pair of clocks to show; nothing hangs on it",
    ("host_driver/tools/ctl_fetch.c", "*"): "a private copy: a reply's tail",
    ("host_driver/unicd/crash_text.c", "*"): "a private copy",
    ("host_driver/core/admin.c", "*"): "a private copy of the device's facts",
    ("host_driver/core/device.c", "*"): "a private copy of the device's facts",
    ("host_driver/core/request.c", "info"): "a private copy of the device's facts",
    ("host_driver/core/upcall.c", "ring"): "an array: its address",
    ("host_driver/core/provider/provider_nic.c", "info"): "a private copy",
    ("host_driver/core/provider/provider_loop_cmd.c", "*"): "the loop-back is the only one there",
}
DECLARED = re.compile(r"(?:struct )?(\bUNIC_BOX_\w+_PAGE|" + "|".join(SHARED) +
                      r")\s*\*\s*(?:const\s+)?(\w+)")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.S)


def blank(m):
    return re.sub(r"[^\n]", " ", m.group())


def guarded(text, at):
    """Is the expression at @at an argument of an accessor?"""
    depth, k = 0, at
    while k > 0 and text[k] not in ";{}":
        k -= 1
        if text[k] == ")":
            depth += 1
        elif text[k] == "(":
            if depth:
                depth -= 1
                continue
            name = re.search(r"(\w+)\s*$", text[:k])
            if name and name[1] in ACCESSORS:
                return True
    return False


def address(text, at):
    """&x[y].p->a."""
    return re.search(r"(?<!&)&[\w\s\].>\[-]*$", text[:at]) is not None


def code(path):
    with open(path, encoding="utf-8") as f:
        return COMMENT.sub(blank, f.read())


def complaints(path, members):
    text = code(path)
    own = {m[2] for m in DECLARED.finditer(text)}
    for name in sorted(own | members):
        if (path, name) in ALLOWED or (path, "*") in ALLOWED:
            continue
        before = r"\b" if name in own else r"(?:->|\.)"
        for m in re.finditer(rf"{before}{name}->(\w+)", text):
            if guarded(text, m.start()) or address(text, m.start()):
                continue
            line = text.count("\n", 0, m.start()) + 1
            yield f"{path}:{line}: {m.group()} is not accessed once"


def main():
    found = 0
    paths = sorted(p for root in ("firmware", "hal", "host_driver", "qemu")
                   for p in glob.glob(root + "/**/*.[ch]", recursive=True))
    # what headers declare is a member, used in other files as x->name->word
    members = {m[2] for p in paths if p.endswith(".h")
               for m in DECLARED.finditer(code(p))}
    for path in paths:
        for text in complaints(path, members):
            found += 1
            print(text)
    print(f"{len(paths)} files seen, {found} complaints")
    return found != 0


if __name__ == "__main__":
    sys.exit(main())
