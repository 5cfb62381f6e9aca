# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""scale.py - instructions of unic-scale's operations, counted by callgrind."""
import os
import re
import subprocess

NAME = re.compile(r"^c?fn=\((\d+)\)(?: (.*))?$")


def counts(out):
    """{operation: (calls, instructions)} of a callgrind file: the calls of
    op_*() and what they cost, all that they call included."""
    names, callee, waits = {}, None, 0
    found = {}
    for line in out.splitlines():
        m = NAME.match(line)
        if m:
            if m[2]:
                names[m[1]] = m[2]
            if line.startswith("cfn"):
                callee = names[m[1]]
        elif line.startswith("calls="):
            waits = int(line[6:].split()[0])
        elif waits:
            if callee.startswith("op_"):
                n, cost = found.get(callee, (0, 0))
                found[callee] = (n + waits, cost + int(line.split()[1]))
            waits = 0
    return found


def run(program, folder):
    """Rows {operation, instructions} of one size."""
    out = os.path.join(folder, "callgrind.out")
    p = subprocess.run(["valgrind", "--tool=callgrind",
                        f"--callgrind-out-file={out}", program],
                       capture_output=True, text=True, timeout=300)
    if p.returncode:
        raise RuntimeError(f"{program}: {p.stdout}{p.stderr}")
    with open(out, encoding="utf-8") as file:
        found = counts(file.read())
    return [{"operation": name[3:], "instructions": f"{cost / n:.1f}"}
            for name, (n, cost) in sorted(found.items())]
