#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""check_abi.py [--rewrite] - the layout of every ABI struct, on every machine.

Compiles tests/abi/layout.c with -Wpadded for each machine below, takes the
layout of each struct out of the debug information (gdb's ptype /o) and
compares it with abi/golden/<header>.txt: one dump for all, because the layout
must be the same on all. A dump without a header that has structs is an error.
i386 lays out {u32; u64} in 12 bytes without a padding warning, so asserts and
warnings alone would not do.

--rewrite makes the golden dumps anew from x86-64 and removes the others. Do that
for an addition behind a feature bit; for anything else the major version must
change.
"""
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

CHECK_FILE = "tests/abi/layout.c"
GOLDEN = "abi/golden"
ARM = ["arm-none-eabi-gcc"]
MACHINES = {
    "x86-64": ["gcc"],
    "i386": ["gcc", "-m32"],
    "Cortex-A15": ARM + ["-mcpu=cortex-a15"],
    "Cortex-M3": ARM + ["-mcpu=cortex-m3", "-mthumb"],
    "Arm big-endian": ARM + ["-mcpu=cortex-a15", "-mbig-endian"],
}
FLAGS = ["-std=gnu11", "-ffreestanding", "-g", "-gdwarf-4", "-Wall", "-Wextra",
         "-Wpadded", "-Werror", "-fno-eliminate-unused-debug-types", "-Iabi"]


def structs_of(header):
    with open(header, encoding="utf-8") as file:
        return re.findall(r"^struct (\w+) \{", file.read(), re.M)


def dump(compiler, structs):
    """{struct: layout text} for one machine."""
    with tempfile.TemporaryDirectory() as tmp:
        obj = os.path.join(tmp, "layout.o")
        made = subprocess.run(compiler + FLAGS + ["-c", CHECK_FILE, "-o", obj],
                              check=False)
        if made.returncode:
            sys.exit(f"{CHECK_FILE} does not compile with "
                     f"{' '.join(compiler)}, see above")
        script = []
        for name in structs:
            script += ["-ex", f"echo \\n@{name}\\n",
                       "-ex", f"ptype /o struct {name}"]
        run = subprocess.run(["gdb-multiarch", "-nx", "-batch", *script, obj],
                             check=True, text=True, capture_output=True)
    found = {}
    for part in run.stdout.split("\n@")[1:]:
        name, text = part.split("\n", 1)
        found[name] = "\n".join(l.rstrip() for l in text.strip().split("\n"))
    missing = [n for n in structs if "total size" not in found.get(n, "")]
    if missing:
        sys.exit(f"no layout of {', '.join(missing)}: {run.stderr}")
    return found


def golden_path(header):
    base = os.path.splitext(os.path.basename(header))[0]
    return os.path.join(GOLDEN, base + ".txt")


def texts(headers, compiler):
    """{golden file: text} for one machine."""
    names = {h: structs_of(h) for h in headers}
    layouts = dump(compiler, [n for h in headers for n in names[h]])
    return {golden_path(h): "\n\n".join(layouts[n] for n in names[h]) + "\n"
            for h in headers if names[h]}


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def left_over(headers):
    """{golden file: why it should not be there}"""
    found = {}
    for path in sorted(glob.glob(os.path.join(GOLDEN, "*.txt"))):
        header = f"abi/{os.path.basename(path)[:-4]}.h"
        if header not in headers:
            found[path] = f"there is no {header}"
        elif not structs_of(header):
            found[path] = f"{header} has no struct"
    return found


def rewrite(headers):
    os.makedirs(GOLDEN, exist_ok=True)
    for path in left_over(headers):
        os.remove(path)
    for path, text in texts(headers, MACHINES["x86-64"]).items():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"abi-golden: {len(headers)} headers written to {GOLDEN}/")


def compare(machine, headers):
    """Number of headers whose layout on this machine is not the golden one."""
    bad = 0
    for path, text in texts(headers, MACHINES[machine]).items():
        if text == read(path):
            continue
        bad += 1
        print(f"{path}: another layout on {machine}:")
        sys.stdout.writelines(difflib.unified_diff(
            read(path).splitlines(True), text.splitlines(True),
            "golden", machine, n=2))
    return bad


def main():
    headers = sorted(glob.glob("abi/*.h"))
    included = re.findall(r'"(\w+\.h)"', read(CHECK_FILE))
    forgotten = {os.path.basename(h) for h in headers} - set(included)
    if forgotten:
        sys.exit(f"{CHECK_FILE} does not include {', '.join(forgotten)}")
    if sys.argv[1:] == ["--rewrite"]:
        return rewrite(headers)
    stale = left_over(headers)
    for path, why in stale.items():
        print(f"{path}: {why}")
    bad = len(stale) + sum(compare(machine, headers) for machine in MACHINES)
    print(f"{len(MACHINES)} machines, {len(headers)} headers, "
          f"{bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
