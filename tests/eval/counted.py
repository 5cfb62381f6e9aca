# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""counted.py - whose instructions: a run of unic-eval under callgrind, those
between mark_start() and mark_stop() summed by the folder of their source line.

What a call inlines counts where its source is; copies by memcpy() that the
compiler did not expand are nobody's. A NIC that spins (spin() of nic.c), and a
driver that looks for an answer before it sleeps (unic_mbox_client_soon()), do so
for want of work: that is not counted, it would measure time.
"""
import os
import re
import subprocess
import tempfile

FILE = re.compile(r"^(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?$")
FUNCTION = re.compile(r"^fn=\((\d+)\)(?: (.*))?$")
CALLEE = re.compile(r"^cfn=\((\d+)\) (.*)$")
COST = re.compile(r"^(?:[+-]?\d+|\*) (\d+)$")
IDLE = ("spin", "unic_mbox_client_soon")
PARTS = (("nic", "firmware/"), ("driver", "host_driver/core/"),
         ("kio", "host_driver/kio/"))


def costs(lines):
    """{path of a source: instructions of its lines alone}"""
    names, functions, found = {}, {}, {}
    path, skip, idle = "", False, False
    for line in lines:
        m = CALLEE.match(line)
        if m:
            functions[m[1]] = m[2]
            continue
        m = FUNCTION.match(line)
        if m:
            if m[2]:
                functions[m[1]] = m[2]
            idle = functions[m[1]] in IDLE
            continue
        m = FILE.match(line)
        if m:
            if m[3]:
                names[m[2]] = m[3]
            if not m[1].startswith("c"):  # that is the callee's
                path = names[m[2]]
        elif line.startswith("calls="):
            skip = True  # the next line is what the callee costs
        elif skip:
            skip = False
        else:
            m = COST.match(line)
            if m and not idle:
                found[path] = found.get(path, 0) + int(m[1])
    return found


def by_part(found):
    return {f"{part}_insn": sum(n for path, n in found.items()
                                if folder in path) for part, folder in PARTS}


def run(argv):
    """Standard output of a program, and its instructions by part."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.out")
        p = subprocess.run(["valgrind", "--tool=callgrind",
                            "--instr-atstart=no",
                            f"--callgrind-out-file={out}", *argv],
                           capture_output=True, text=True, timeout=600)
        if p.returncode:
            raise RuntimeError(f"{' '.join(argv)}: {p.stdout[-500:]}"
                               f"{p.stderr[-2000:]}")
        with open(out, encoding="utf-8") as file:
            return p.stdout, by_part(costs(file))
