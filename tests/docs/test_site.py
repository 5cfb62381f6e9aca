#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The documentation site: each command of the tutorial and of the how-to, run in order by
one shell for each page, with what is installed; and what the pages say that it prints. The
block "One adapter, by hand" of README.md, pasted. The diagrams are what their program draws; a terminal is
recorded.

A block ```sh is what somebody types, a block ```text behind it what is printed then: its
lines stand there in this order, with other numbers perhaps, and "..." is anything.

    test_site.py [--only NAME] [--show]
"""
import argparse
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SITE = os.path.join(ROOT, "docs", "site")
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "install"))

import test_install  # noqa: E402

PATIENCE_S = 120
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.M | re.S)
# The host of the third lesson is what the recipes need.
BEFORE = {"howto": ("tutorial/3-full-table", 1)}
# Who types takes longer from one block to the next than a region lies idle before it is asked for.
SLOWLY, SLOWLY_S = ("tutorial/3-full-table", "tutorial/5-look-inside"), 2
MARK = "<<<{}>>>"
# A recipe is for process 0: there is one.
PRELUDE = {"howto": "unic-hog --answer release --max 100 > hog.log &\n"
                    "until grep -q holds hog.log; do sleep 0.1; done\n"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def blocks(page):
    """[(commands, the lines that they print, or None)]"""
    out = []
    for kind, text in BLOCK.findall(read(os.path.join(SITE, page + ".md"))):
        if kind == "sh":
            out.append([text, None])
        else:
            out[-1][1] = text.splitlines()
    return out


def pattern(line):
    """Of a line of a page: other numbers, and as much space as it takes."""
    line = re.escape(line.strip()).replace(r"\.\.\.", ".*")
    line = re.sub(r"\d+(\\\.\d+)?", r"[\\d.]+", line)
    return re.sub(r"(\\ )+", r" +", line)


def environment(it):
    return {**os.environ, "UNIC": ROOT, "PATH": f"{it.bin}:{os.environ['PATH']}",
            "LD_LIBRARY_PATH": it.lib, "PKG_CONFIG_PATH": it.lib + "/pkgconfig",
            "PKG_CONFIG_SYSROOT_DIR": it.dest, "LC_ALL": "C"}


def run_shell(it, script, folder):
    """What a shell says, which types @script; all that it started has ended then."""
    env = environment(it)
    env.pop("UNIC_SOCKET", None)
    with open(os.path.join(folder, "said"), "w+", encoding="utf-8") as said:
        child = subprocess.Popen(["bash", "-c", script], cwd=folder, stdout=said, stderr=said,
                                 stdin=subprocess.DEVNULL, env=env, start_new_session=True)
        try:
            code = child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            code = "none in time"
        end_session(child.pid)
        said.seek(0)
        return code, said.read()


def end_session(leader):
    """SIGTERM, and after a while SIGKILL, for each process of a session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(leader, number)
        except ProcessLookupError:
            return
        subprocess.run(["sleep", "0.3"], check=False)


def check_output(page, n, lines, said):
    at = 0
    for line in lines or []:
        if not line.strip() or line.strip() == "...":
            continue
        found = re.compile("^ *" + pattern(line), re.M).search(said, at)
        assert found, f"{page}, block {n + 1}: no line {line!r} in:\n{said}"
        at = found.end()


def try_page(it, page, show=False, pause_s=0):
    todo = blocks(page)
    before, number = BEFORE.get(page, (None, 0))
    first = [[text, None] for text, _ in blocks(before)[:number]] if before else []
    script = "set -eu\n" + "".join(
        text + f"sleep {pause_s}\necho '{MARK.format(n)}'\n" + (PRELUDE.get(page, "") if n == len(first) - 1 else "")
        for n, (text, _) in enumerate(first + todo))
    # Sockets have short paths.
    with tempfile.TemporaryDirectory(prefix="unic-site-", dir="/tmp") as folder:
        code, said = run_shell(it, script, folder)
    if show:
        print(said)
    assert code == 0, f"{page}: exit status {code}:\n{said}"
    for n, (_, lines) in enumerate(todo, len(first)):
        start = said.index(MARK.format(n - 1)) if n else 0
        check_output(page, n, lines, said[start:said.index(MARK.format(n))])


def in_one_shell(it):
    """Who types the lessons one after the other, in one shell and folder, meets nothing that an earlier one left."""
    lessons = ("tutorial/3-full-table", "tutorial/5-look-inside")
    script = "set -eu\n" + "".join(text for page in lessons for text, _ in blocks(page))
    with tempfile.TemporaryDirectory(prefix="unic-site-", dir="/tmp") as folder:
        code, said = run_shell(it, script, folder)
    assert code == 0, (code, said)


def pages():
    return ["howto", *sorted("tutorial/" + os.path.basename(p)[:-3]
                             for p in glob.glob(SITE + "/tutorial/*.md"))]


def by_hand(it):
    """The block of the README, as it stands there, by a shell in the root of the tree. The
    NIC is a process, as its remark says, so that no QEMU is needed."""
    text = re.search(r"^One adapter, by hand:\n\n((?:    .*\n)+)", read(ROOT + "/README.md"), re.M)[1]
    script = re.sub(r"^    ", "", text, flags=re.M)
    script = script.replace("qemu/run_nic.py ", "qemu/run_nic.py --board soft ")
    with tempfile.TemporaryDirectory(prefix="unic-site-", dir="/tmp") as folder:
        code, said = run_shell(it, f"cd {ROOT}\nset -eu\nexport TMPDIR={folder}\n" + script, folder)
    assert code == 0 and re.search(r"unic-hog +live +1024", said), (code, said)


def diagrams(_):
    done = subprocess.run([ROOT + "/tools/docs/diagrams.py", "--check"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def terminal(_):
    """A recording plays what was on the screen; its last screen needs no player."""
    with tempfile.TemporaryDirectory() as folder:
        out = folder + "/terminal.svg"
        argv = [ROOT + "/tools/docs/terminal.py", "--out", out, "sh", "-c"]
        subprocess.run([*argv, r"printf 'wait <1>'; sleep 0.5; printf '\r\033[Kdone <2>\n'"], check=True)
        shown = read(out)
        assert re.search(r'visibility="hidden"[^>]*>wait &lt;1&gt;<set [^>]*to="visible"', shown), shown
        assert re.search(r'<text (?![^>]*hidden)[^>]*>done &lt;2&gt;', shown), shown
        os.remove(out)
        assert subprocess.run([*argv, "exit 3"], check=False).returncode == 3
        assert not os.path.exists(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--show", action="store_true", help="what each page's commands say")
    args = p.parse_args()
    it = test_install.Installed()
    tests = {page: lambda it, page=page: try_page(it, page, args.show) for page in pages()}
    tests |= {page + ", slowly": lambda it, page=page: try_page(it, page, args.show, SLOWLY_S) for page in SLOWLY}
    tests |= {"in one shell": in_one_shell, "by hand": by_hand, "diagrams": diagrams, "terminal": terminal}
    tests = {name: t for name, t in tests.items() if args.only in name}
    failed = 0
    for name, test in tests.items():
        try:
            test(it)
            print(f"ok      {name}", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED  {name}: {type(e).__name__} {e}", flush=True)
    it.end()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
