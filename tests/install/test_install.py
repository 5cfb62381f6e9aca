#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""`make install` into a folder, and what those see of it who have nothing else: programs
that are built against it with pkg-config alone, and a user who starts two hosts with what
lies there.

    test_install.py [--only WORDS]
"""
import argparse
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "runner"))
import functions  # noqa: E402
NOBODY = 65534
PREFIX = "/opt/unic"
HEADERS = ("unic.h", "bufman.h", "pace.h")
# A header for itself, and all of them.
DIALECTS = ("cc -std=c99 -pedantic", "cc -std=c11 -pedantic", "cc -std=gnu17",
            "c++ -x c++ -std=c++11 -pedantic", "c++ -x c++ -std=c++17 -pedantic")
# Of programs that handle text of others at least one function is a checked one.
FORTIFIED = re.compile(r"__\w+_chk\b")
PATIENCE_S = 20
EPOCH = 1_000_000_000  # the date of the sources, for those who pack them


def run(*argv, **more):
    done = subprocess.run(argv, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stdout}{done.stderr}"
    return done.stdout


def make(*words, **more):
    return run("make", "-s", "-j2", "-C", ROOT, f"PREFIX={PREFIX}", *words,
               env={k: v for k, v in os.environ.items()
                    if not k.startswith("MAKE") and k != "MFLAGS"} | {"SOURCE_DATE_EPOCH": str(EPOCH)}, **more)


def install(dest, *targets):
    """`make` of them into a folder. Manual pages are made anew each time: one test at a time."""
    os.makedirs(os.path.join(ROOT, "build"), exist_ok=True)
    with open(os.path.join(ROOT, "build", "install.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        make(*targets, f"DESTDIR={dest}")


class Installed:
    """What `make install` left below a folder."""

    def __init__(self):
        self.dest = tempfile.mkdtemp(prefix="unic-install-")
        os.chmod(self.dest, 0o755)
        install(self.dest, "install")
        self.at = self.dest + PREFIX
        self.bin, self.lib = self.at + "/bin", self.at + "/lib"
        self.programs = sorted(glob.glob(self.bin + "/*"))

    def files(self):
        return sorted(os.path.relpath(os.path.join(d, f), self.at)
                      for d, _, names in os.walk(self.dest) for f in names)

    def pkg_config(self, *words):
        env = dict(os.environ, PKG_CONFIG_PATH=self.lib + "/pkgconfig",
                   PKG_CONFIG_SYSROOT_DIR=self.dest)
        return run("pkg-config", *words, "unic", env=env).split()

    def end(self):
        shutil.rmtree(self.dest)


def prototypes():
    """The functions that the headers declare, without those that they define."""
    found = set()
    for header in HEADERS:
        with open(os.path.join(ROOT, "host_driver", "libunic", header),
                  encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        text = re.sub(r"^#define.*?[^\\]$", "", text, flags=re.S | re.M)
        text = re.sub(r"static inline[^{;]*\{.*?^\}", "", text, flags=re.S | re.M)
        found |= set(re.findall(r"\b(unic_\w+)\(", text))
    return found


def test_files(it):
    """Programs, library, headers, images; all have modes that others can use."""
    names = it.files()
    for name in ("bin/unicd", "bin/unicctl", "bin/unic-nic", "lib/libunic.a",
                 "lib/libunic.so", "lib/pkgconfig/unic.pc", "include/unic/unic.h",
                 "lib/unic/libunic-rdmav34.so", "share/unic/images/unic-virt.elf",
                 "share/doc/unic/examples/two_hosts.c", "lib/udev/rules.d/70-unic.rules",
                 "lib/sysusers.d/unic.conf", "lib/tmpfiles.d/unic.conf"):
        assert name in names, name
    for name in names:
        path = os.path.join(it.at, name)
        mode = os.stat(path).st_mode & 0o777
        assert mode == (0o755 if name.startswith("bin/") else 0o644), (name, oct(mode))


def test_symbols(it):
    """libunic.so has what the headers declare, under one version, and no more."""
    said = run("nm", "-D", "--defined-only", os.path.realpath(it.lib + "/libunic.so"))
    there = {line.split()[2] for line in said.splitlines() if line.split()[1] == "T"}
    assert there == {f"{n}@@UNIC_1.0" for n in prototypes()}, \
        there ^ {f"{n}@@UNIC_1.0" for n in prototypes()}
    said = run("readelf", "-d", it.lib + "/libunic.so")
    assert "Library soname: [libunic.so.0]" in said
    needed = set(re.findall(r"NEEDED.*\[(.*?)\]", said))
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2"}, needed


def test_abi_is_watched(it):
    """abidiff says what became of libunic.so since it was recorded: a report now; from ABI 2 on a
    break is an error, and an addition is none."""
    if not shutil.which("abidiff"):
        print("skipped: abidiff is not installed; apt-get install abigail-tools")
        return
    check = os.path.join(ROOT, "tools", "check", "abi_library.py")
    run(check, os.path.realpath(it.lib + "/libunic.so"))
    before = "struct s { int a; }; int f(struct s *p); int f(struct s *p) { return p->a; }"
    with tempfile.TemporaryDirectory() as folder:
        for name, source in (("before", before), ("more", before + " int g(void); int g(void) { return 1; }"),
                             ("fewer", before.replace("f(", "h(")), ("same", before)):
            run("cc", "-g", "-shared", "-fPIC", "-x", "c", "-", "-o", f"{folder}/{name}.so", input=source)
        record = folder + "/record"
        run(check, "--rewrite", "--record", record, folder + "/before.so")
        for name, major, code, words in (("same", 2, 0, ""), ("more", 2, 0, "grew"), ("fewer", 1, 0, "changed"),
                                         ("fewer", 2, 1, "would break")):
            done = subprocess.run([check, "--record", record, "--major", str(major), f"{folder}/{name}.so"],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == code and words in done.stdout, (name, major, done)


def test_headers(it):
    """Each header compiles alone, in C and C++, without a warning."""
    flags = it.pkg_config("--cflags")
    for dialect in DIALECTS:
        for path in glob.glob(it.at + "/include/unic/*.h"):
            run(*dialect.split(), "-Wall", "-Wextra", "-Werror", *flags, "-fsyntax-only",
                "-include", path, "/dev/null")


def test_headers_without_mailbox(it):
    """No record between driver and NIC is in them: that interface is none of programs."""
    names = sorted(os.path.basename(p) for p in glob.glob(it.at + "/include/unic/*.h"))
    assert names == ["bufman.h", "pace.h", "unic.h", "unic_queue.h", "unic_types.h", "unic_words.h"], names
    for name in names:
        found = re.findall(r"^struct unic_(?:cmd|cpl|evt|row|info|bar|driver|nic_idx)\w*",
                           text(f"{it.at}/include/unic/{name}"), re.M)
        assert not found, (name, found)


def test_hardened(it):
    """Programs are position independent, bound at start, and check what they copy."""
    fortified = 0
    for path in [*it.programs, *glob.glob(it.lib + "/*.so"), *glob.glob(it.lib + "/unic/*.so")]:
        said = run("readelf", "-hldW", path)
        assert re.search(r"Type:\s+DYN", said), f"{path} is not PIE"
        for want in ("GNU_RELRO", "BIND_NOW"):
            assert want in said, f"{path}: no {want}"
        for bad in ("RPATH", "RUNPATH", "TEXTREL"):
            assert bad not in said, f"{path}: {bad}"
        names = run("nm", "-D", path)
        assert "__stack_chk_fail" in names, f"{path}: no stack protector"
        fortified += bool(FORTIFIED.search(names))
    assert fortified >= len(it.programs) - 2, f"{fortified} programs are fortified"


def test_no_traces_of_the_build(it):
    """No file names the folder that it was built in."""
    for name in it.files():
        with open(os.path.join(it.at, name), "rb") as f:
            assert ROOT.encode() not in f.read(), name
        if name.endswith(".elf"):  # not even those of another build, as a cache of the compiler has them
            assert "DW_AT_comp_dir" not in run("readelf", "--debug-dump=info", os.path.join(it.at, name)), name


def test_flags_of_a_packager(_):
    """CPPFLAGS, CFLAGS and LDFLAGS reach compiler and linker, and break neither."""
    said = make("-n", "-B", "release", "CPPFLAGS=-DFIRST", "CFLAGS=-O1 -DSECOND",
                "LDFLAGS=-Wl,-z,third")
    compiled = [x for x in said.splitlines() if " -c " in x and "host_driver" in x]
    linked = [x for x in said.splitlines() if x.endswith("bin/unicd")]
    assert compiled and linked
    for line in compiled:
        assert all(w in line for w in ("-DFIRST", "-O1 -DSECOND", "-std=gnu11")), line
    assert all("-Wl,-z,third" in line for line in linked), linked


def test_versions(it):
    """Every program says its version, has a help, and refuses what it does not know."""
    with open(os.path.join(ROOT, "mk", "rules.mk"), encoding="utf-8") as f:
        version = re.search(r"^VERSION +:= (\S+)", f.read(), re.M)[1]
    assert run("pkg-config", "--modversion", it.lib + "/pkgconfig/unic.pc").strip() == version
    for path in it.programs:
        assert run(path, "--version") == f"unic {version}\n", path
        assert "Usage: " + os.path.basename(path) in run(path, "--help"), path
        done = subprocess.run([path, "--no-such-option"], capture_output=True,
                              check=False, text=True)
        assert done.returncode == 64 and "--help" in done.stderr, (path, done)


EXAMPLE = re.compile(r"^\.RS\n\.nf\n(.*?)\n\.fi", re.M | re.S)
STAY = ("unicd", "unic-bus", "unic-nic", "unic-wire", "unic-hog", "unic-ping serve", "unic-perf serve",
        "unic-copy serve", "unicctl top", "unicctl events")
SCREENS = ("unicctl top",)  # want a terminal


def examples(page):
    with open(page, encoding="utf-8") as f:
        for lines in EXAMPLE.findall(f.read()):
            yield lines.replace("\\-", "-").replace("\\\\", "\\").replace("\\e", "\\")


def test_manuals(it):
    """Every program has a page, in order, with what its exit status says."""
    for path in it.programs:
        name = os.path.basename(path)
        page = f"{it.at}/share/man/man1/{name}.1"
        said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], text=True,
                              capture_output=True, check=False)
        assert not said.stdout + said.stderr, said.stdout + said.stderr
        shown = run("mandoc", "-T", "ascii", page, env={**os.environ, "LC_ALL": "C"})
        shown = re.sub(".\b", "", shown)
        for section in ("NAME", "SYNOPSIS", "EXIT STATUS", "SEE ALSO"):
            assert re.search(f"^{section}$", shown, re.M), (name, section)
        assert list(examples(page)), f"{name}: no example"
        said = shown.split("EXIT STATUS")[1]
        assert "64" in said and "74" in said, f"{name}: {said}"
        assert name != "unic-nic" or "70" in said, said


def test_manuals_of_formats(it):
    """Formats have pages, with what goes wrong and examples; the options that unic.conf(5) shows are
    some that the programs take."""
    pages = sorted(glob.glob(it.at + "/share/man/man5/*.5"))
    assert [os.path.basename(p) for p in pages] == ["unic-trace.5", "unic.conf.5"], pages
    said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], text=True,
                          capture_output=True, check=False)
    assert not said.stdout + said.stderr, said.stdout + said.stderr
    for page in pages:
        assert "\n.SH ERRORS\n" in text(page) and list(examples(page)), page
    shown = text(pages[1]).replace("\\-", "-")
    for program in ("unicd", "nic"):
        options = re.search(rf"default-{program}\.conf:\n.*?^OPTIONS=(.*?)$", shown, re.M | re.S)[1]
        run(f"{it.bin}/{program if program == 'unicd' else 'unic-nic'}", *options.split(), "--version")
    for unit in glob.glob(it.at + "/lib/systemd/system/*"):
        name = re.search(r"^EnvironmentFile=-(.*)$", text(unit), re.M)[1]
        assert name.replace("%i", "WIRE" if "wire@" in unit else "HOST") in shown, name


EXPOSED_MAX = 20  # of 100, as systemd-analyze has it
# What each service says besides: a limit that is lost costs less than a point there.
SERVICE = ("Type=notify", "User=unic", "Restart=on-failure", "RestartPreventExitStatus=64", "NoNewPrivileges=yes",
           "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "PrivateNetwork=yes",
           "RestrictAddressFamilies=AF_UNIX", "RestrictNamespaces=yes", "MemoryDenyWriteExecute=yes",
           "SystemCallFilter=@system-service")
# Who ends when that one ends, and begins again with it.
WITH_BUS = ("unic-nic@.service", "unicd@.service")


def test_services(it):
    """systemd takes the units, and each may do little. The users and files are made."""
    root = it.dest + "/root"
    shutil.copytree(it.dest + PREFIX, root + "/usr", symlinks=True)
    units = sorted(glob.glob(it.at + "/lib/systemd/system/*"))
    assert len(units) == 4, units
    for unit in units:
        with open(unit, encoding="utf-8") as f:
            said = f.read()
        assert "@" not in re.sub(r"@\.service|@%i|unic-wire@lan|@system-service", "", said), unit
        lines = said.splitlines()
        assert set(SERVICE) <= set(lines), (unit, set(SERVICE) - set(lines))
        assert ("BindsTo=unic-bus@%i.service" in lines) == (os.path.basename(unit) in WITH_BUS), unit
        os.makedirs(root + "/etc/systemd/system", exist_ok=True)
        with open(f"{root}/etc/systemd/system/{os.path.basename(unit)}", "w",
                  encoding="utf-8") as f:
            f.write(said.replace(PREFIX + "/", "/usr/"))
    done = subprocess.run(["systemd-analyze", "verify", f"--root={root}", "--man=no",
                           "--recursive-errors=no",
                           *(os.path.basename(u).replace("@.", "@default.") for u in units)],
                          capture_output=True, text=True, check=False)
    assert not done.returncode and not done.stderr.strip(), done
    run("systemd-analyze", "security", f"--root={root}", "--offline=yes", "--no-pager",
        f"--threshold={EXPOSED_MAX}", *(os.path.basename(u).replace("@.", "@default.") for u in units))
    run("systemd-sysusers", f"--root={root}", it.at + "/lib/sysusers.d/unic.conf")
    assert text(root + "/etc/passwd").startswith("unic:"), text(root + "/etc/passwd")
    if not os.geteuid():  # files of other users are root's to make
        run("systemd-tmpfiles", f"--root={root}", "--create", it.at + "/lib/tmpfiles.d/unic.conf")
        assert os.readlink(root + "/run/unic/unicd.sock") == "default/unicd.sock"
    rules = text(it.at + "/lib/udev/rules.d/70-unic.rules")
    for names in ('SUBSYSTEM=="unic", KERNEL=="unic[0-9]*"', 'SUBSYSTEM=="misc", KERNEL=="unic"'):
        assert f'\n{names}, MODE="0666"\n' in rules, rules
    shutil.rmtree(root)


def ready_by_notice(it, argv, folder, mark):
    """Start a daemon as systemd does, and wait for its notice. Return it and its log."""
    path, log = folder + "/notify", os.path.join(folder, os.path.basename(argv[0]) + ".log")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices, open(log, "wb") as f:
        notices.bind(path)
        notices.settimeout(PATIENCE_S)
        at = os.fstat(f.fileno())
        env = {**os.environ, "NOTIFY_SOCKET": path}
        if mark:
            env["JOURNAL_STREAM"] = f"{at.st_dev}:{at.st_ino}"
        process = subprocess.Popen([f"{it.bin}/{argv[0]}", *argv[1:]], stdout=f, stderr=f, env=env)
        try:
            said = notices.recv(4096).decode().split("\n")
        except BaseException:
            process.kill()
            raise
        assert said[0] == "READY=1", said
    os.remove(path)
    return process, log


def test_notices(it):
    """Each daemon tells systemd when it is ready, not before; its lines have ranks in the
    journal, by what they say, and none elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        running = []
        try:
            for argv, there in (
                    (["unic-wire", "--dir", folder + "/wire"], "wire/wire.json"),
                    (["unic-bus", "--dir", folder + "/bus"], "bus/bus.json"),
                    (["unic-nic", "--bus", folder + "/bus/nic"], "bus/nic"),
                    (["unicd", "--bus", folder + "/bus"], "bus/unicd.sock")):
                process, log = ready_by_notice(it, argv, folder, argv[0] != "unic-bus")
                running.append(process)
                assert os.path.exists(f"{folder}/{there}"), there
                until(f"{argv[0]} said so", lambda log=log: "ready" in text(log))
                ranks = {line[:3] for line in text(log).splitlines()}
                assert ranks == ({"<6>"} if argv[0] != "unic-bus" else {"uni"}), ranks
            # an operator must look at a NIC that crashes, and the driver says so before it is gone
            subprocess.run([it.bin + "/unicctl", "--socket", folder + "/bus/unicd.sock", "fault", "crash"],
                           stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False)
            until("unicd said that", lambda: "\n<3>unicd: NIC: the firmware crashed" in text(log) and
                  "\n<6>unicd: NIC left" in text(log))
            assert running[2].wait(PATIENCE_S) == os.EX_SOFTWARE
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait(PATIENCE_S)


# What is typed, the last word not to its end; what bash offers then.
COMPLETIONS = (
    ("unicctl --j", "--json"), ("unicctl po", "policy"), ("unicctl --uses = ", "counted reported"),
    ("unic-perf ba", "bandwidth"), ("unic-perf --operation wr", "write"),
    ("unicctl eve", "events"), ("unicctl fault ", "crash drop-events drop-rx"), ("unicctl limits ", "all"),
    ("unic-copy --mode rp", "rpc"), ("unic-copy ", "get put serve"), ("unicd --prov", "--provider"),
    ("unic-kio --quiet l", "ls"), ("unic-copy put fil", "file"), ("unicd --bus fold", "folder"),
    ("unic-run --ne", "--net"), ("unic-run --net lab mkfif", "mkfifo"))


def test_completion(it):
    """bash completes options, commands, choices and files of each program."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/folder")
        with open(folder + "/file", "wb"):
            pass
        for typed, offered in COMPLETIONS:
            program = typed.split()[0]
            said = run("bash", "-c", """
                . "$1"; set -- $2; COMP_WORDS=("$@"); [ "$TYPED" = "$*" ] || COMP_WORDS+=("")
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                $(complete -p "$1" | sed 's/.*-F \\([a-z_]*\\).*/\\1/') "$1"
                printf '%s\\n' "${COMPREPLY[@]}" | sort""", "-",
                       f"{it.at}/share/bash-completion/completions/{program}", typed, cwd=folder,
                       env={"PATH": f"{it.bin}:{os.environ['PATH']}", "TYPED": typed})
            assert said.split() == offered.split(), (typed, said)
    for path in it.programs:
        name = os.path.basename(path)
        run("bash", "-c", '. "$1" && complete -p "$2"', "-", f"{it.at}/share/bash-completion/completions/{name}", name)


def test_manuals_of_functions(it):
    """Every function that the headers declare has a page, in order, which is found by its
    name and shows how it is called; unic(7) names them all."""
    folder = it.at + "/share/man/man3/"
    names = prototypes() | {"unic_inc_rkey"}
    assert {n[:-2] for n in os.listdir(folder)} == names
    pages = [folder + n + ".3" for n in sorted(names)]
    said = subprocess.run(["mandoc", "-T", "lint", "-W", "warning",
                           it.at + "/share/man/man7/unic.7",
                           *(p for p in pages if not os.path.islink(p))],
                          text=True, capture_output=True, check=False)
    assert not said.stdout + said.stderr, said.stdout + said.stderr
    overview = text(it.at + "/share/man/man7/unic.7")
    assert "\n.SH ERRORS\n" in overview
    for name, page in zip(sorted(names), pages):
        shown = text(page)
        summary = re.search(r"^\.SH NAME\n(.*?) \\- (.+)", shown, re.M)
        assert name in summary[1].split(", ") and len(summary[2].split()) > 1, summary[0]
        assert re.search(rf"\b{name}\(", shown.split(".SH DESCRIPTION")[0]), name
        assert re.match(r"#include <unic/\w+\.h>", shown.split(".nf\n")[1]), name
        assert os.path.islink(page) or f"\\fB{name}\\fR(3)" in overview, name
        assert "\n.SH ERRORS\n" in shown, f"{name}: does it fail?"
        assert not re.search(r"^\.B E\w+\n\(", shown, re.M), f"{name}: a reason in brackets"
        source, example = re.search(r"^From \\fI(\S+)\\fR:\n\.PP\n\.RS\n\.nf\n(.*?)\n\.fi", shown, re.M | re.S).groups()
        plain = example.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
        assert "".join(plain.split()) in "".join(sources_of(source).split()), (name, plain)
        assert any(f"{n}(" in plain for n in summary[1].split(", ")), (name, plain)


def test_pages_of_manuals(it):
    """All pages have the date of the sources, and the pages of unic that they name are there."""
    pages = glob.glob(it.at + "/share/man/man*/*")
    there = {os.path.basename(page) for page in pages}
    for page in pages:
        date = re.search(r'^\.TH \S+ "?\d"? "([\d-]+)"', text(page), re.M)[1]
        assert date == time.strftime("%Y-%m-%d", time.gmtime(EPOCH)), (page, date)
        plain = re.sub(r"\\f[BIR]", "", text(page)).replace("\\-", "-")
        named = {f"{name}.{section}" for name, section in re.findall(r"\b(unic[\w.-]*)\((\d)\)", plain)}
        assert named <= there, (page, named - there)


# Of these pages: what an error means there, if that is another thing than by convention; None: it is none.
MEANT = {("unic_reg_mr", "EACCES"): "It is another mapping, ", ("unic_reg_mr", "EFAULT"): "No memory is there",
         ("unic_reg_mr", "E2BIG"): "The request can never fit", ("unic_set_rate", "EDQUOT"): "It would rise",
         ("unic_qp_set_rate", "EDQUOT"): None, ("unic_post_desc", "ERANGE"): "Not in ", ("unic_open", "ENODEV"): "No such NIC"}


def test_meaning_of_errors(it):
    """A page says what an error of its functions means, not what it means of others."""
    for (name, error), words in MEANT.items():
        said = re.search(rf"^\.B {error}\n(.*)", text(f"{it.at}/share/man/man3/{name}.3"), re.M)
        assert said[1].startswith(words) if words else not said, (name, error, said and said[1])


def sources_of(name):
    """The sources of that name, without macros: what tests compile and run."""
    found = run("git", "-C", ROOT, "ls-files", f"*/{name}").split()
    return "".join(re.sub(r"^#define .*$", "", text(os.path.join(ROOT, f)), flags=re.M) for f in found)


def try_example(it, line, folder, socket):
    """Those that stay must still be there after a while; the others must succeed."""
    env = {**os.environ, "PATH": f"{it.bin}:{os.environ['PATH']}", "UNIC_SOCKET": socket}
    stays = line.startswith(STAY)
    if line in SCREENS:
        line, env["TERM"] = f"script -qec '{line}' /dev/null", "xterm"
    done = subprocess.run(["timeout", "1", "sh", "-c", "exec " + line] if stays else
                          ["timeout", str(PATIENCE_S), "sh", "-c", line], text=True, env=env,
                          cwd=folder, capture_output=True, check=False)
    assert done.returncode == (124 if stays else 0), (line, done)


def test_examples(it):
    """What the pages show works: on two hosts, and daemons in an empty folder."""
    pair = Pair(it)
    try:
        with open(pair.dir + "/served/file", "wb") as f:
            f.write(os.urandom(300_000))
        host = pair.hosts[1]
        host.start("unic-copy", "--socket", host.sock, "--dir", pair.dir + "/served", "serve")
        host.start("unic-ping", "--socket", host.sock, "serve")
        host.start("unic-perf", "--socket", host.sock, "serve")
        for path in it.programs:
            name = os.path.basename(path)
            for line in examples(f"{it.at}/share/man/man1/{name}.1"):
                alone = name in ("unicd", "unic-bus", "unic-nic", "unic-wire", "unic-uart")
                with tempfile.TemporaryDirectory(dir=pair.dir) as folder:
                    if alone:
                        furnish(it, name, folder)
                    try_example(it, line, folder if alone else pair.dir, pair.hosts[0].sock)
                    stop_furniture()
        for line in examples(it.at + "/share/man/man5/unic-trace.5"):
            try_example(it, line, pair.dir, pair.hosts[0].sock)
    finally:
        stop_furniture()
        pair.end()


furniture = []


def furnish(it, name, folder):
    """What a daemon's example takes for granted: a bus, a wire, a folder."""
    os.mkdir(folder + "/export")
    for daemon, dirname in (("unic-bus", "bus"), ("unic-wire", "wire")):
        if name != daemon:
            furniture.append(subprocess.Popen(
                [f"{it.bin}/{daemon}", "--dir", f"{folder}/{dirname}"], stdout=subprocess.DEVNULL))
            until(f"{daemon} is there", lambda d=dirname: os.path.exists(f"{folder}/{d}/{d}.json"))


def stop_furniture():
    while furniture:
        process = furniture.pop()
        process.terminate()
        process.wait(PATIENCE_S)


class Host:
    """A host, started from what is installed alone: bus, NIC, driver."""

    def __init__(self, it, folder, name, ip, *more):
        self.dir, self.it, self.running = os.path.join(folder, name), it, []
        self.sock = self.dir + "/unicd.sock"
        bus = self.dir + "/bus"
        os.mkdir(self.dir)
        self.start("unic-bus", "--dir", bus)
        self.start("unic-nic", "--bus", bus + "/nic", "--wire", folder + "/wire/ivshmem")
        self.start("unicd", "--bus", bus, "--socket", self.sock, "--ip", ip, *more)

    def start(self, name, *words):
        log = os.path.join(self.dir, name + ".log")
        with open(log, "w", encoding="utf-8") as f:
            self.running.append(subprocess.Popen(
                [os.path.join(self.it.bin, name), *words], stdout=f, stderr=f,
                cwd=self.dir))
        until(f"{name} is ready", lambda: re.search(r"ready|attached", text(log)))

    def end(self):
        for process in reversed(self.running):
            process.terminate()
            process.wait(PATIENCE_S)


def text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def until(what, test):
    end = time.monotonic() + PATIENCE_S
    while not test():
        assert time.monotonic() < end, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.02)


class Pair:
    """Two hosts on a wire, all below a folder."""

    def __init__(self, it):
        self.dir = tempfile.mkdtemp(prefix="unic-pair-")
        os.mkdir(self.dir + "/served")
        self.wire = subprocess.Popen([it.bin + "/unic-wire", "--dir", self.dir + "/wire"],
                                     stdout=subprocess.DEVNULL)
        until("the wire is there", lambda: os.path.exists(self.dir + "/wire/wire.json"))
        self.hosts = [Host(it, self.dir, f"host{n}", f"10.0.0.{n + 1}", "--kio-export",
                           self.dir + "/served") for n in range(2)]

    def end(self):
        for host in self.hosts:
            host.end()
        self.wire.terminate()
        self.wire.wait(PATIENCE_S)
        shutil.rmtree(self.dir)


def built(it, folder, compiler, *, static):
    """program.c, built by someone who has pkg-config and nothing of this tree."""
    out = os.path.join(folder, "program")
    shutil.copy(os.path.join(HERE, "program.c"), folder)
    libs = it.pkg_config("--libs", *(["--static"] if static else []))
    if static:
        assert "-pthread" in libs, libs
        libs = [w.replace("-lunic", "-l:libunic.a") for w in libs]
    run(*compiler.split(), "-Wall", "-Wextra", "-Werror", *it.pkg_config("--cflags"), "-o", out,
        "program.c", "-x", "none", *libs, cwd=folder)
    return out


def test_programs(it):
    """A C and a C++ program, linked both ways, register memory; so does one that is built as
    unic(7) says."""
    pair = Pair(it)
    try:
        for compiler in ("cc -std=c99 -pedantic", "c++ -x c++ -std=c++17"):
            for static in (False, True):
                program = built(it, pair.dir, compiler, static=static)
                env = {} if static else {"LD_LIBRARY_PATH": it.lib}
                said = run(program, pair.hosts[0].sock, env=env)
                assert re.fullmatch(r"table of \d\d+ entries, region of 1\n", said), said
        command, = examples(it.at + "/share/man/man7/unic.7")
        run("sh", "-c", command, cwd=pair.dir, env={**os.environ, "PKG_CONFIG_PATH": it.lib + "/pkgconfig",
                                                    "PKG_CONFIG_SYSROOT_DIR": it.dest})
        assert run(pair.dir + "/a.out", pair.hosts[0].sock, env={"LD_LIBRARY_PATH": it.lib}) == said
    finally:
        pair.end()


def move_a_file(it):
    pair = Pair(it)
    try:
        served = os.path.join(pair.dir, "served")
        path = os.path.join(pair.dir, "file")
        with open(path, "wb") as f:
            f.write(os.urandom(300_000))
        pair.hosts[1].start("unic-copy", "--socket", pair.hosts[1].sock, "--dir", served, "serve")
        run(it.bin + "/unic-copy", "--socket", pair.hosts[0].sock, "--peer", "10.0.0.2", "put", path)
        digests = []
        for name in (path, served + "/file"):
            with open(name, "rb") as f:
                digests.append(hashlib.sha256(f.read()).digest())
        assert digests[0] == digests[1]
    finally:
        pair.end()


def test_two_hosts(it):
    """An ordinary user, who cannot read the tree, moves a file between two hosts."""
    if os.geteuid():
        return move_a_file(it)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.environ.clear()
            os.environ["HOME"] = "/"
            os.chdir("/")
            move_a_file(it)
            status = 0
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc()
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0, "see above"
    return None


def block_of(section):
    """The commands under a heading of docs/CONTAINERS.md."""
    said = text(ROOT + "/docs/CONTAINERS.md").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return "\n".join(line[4:] for line in said.splitlines() if line.startswith("    "))


def shell(it, commands, folder, *before):
    done = subprocess.run([*before, "bash", "-e", "-c", commands], text=True, check=False,
                          capture_output=True, cwd=folder, timeout=6 * PATIENCE_S,
                          env={**os.environ, "PATH": f"{it.bin}:{os.environ['PATH']}"})
    assert not done.returncode, (commands, done)
    return done.stdout


def test_recipe(it):
    """What CONTAINERS.md shows for CI works as it stands there, and leaves nothing; so do its
    commands about metrics."""
    commands = block_of("RDMA without hardware, in CI")
    assert len(commands.splitlines()) <= 10, commands
    with tempfile.TemporaryDirectory() as folder:
        said = shell(it, f"TMPDIR={folder}; export TMPDIR; {commands}", folder)
        assert "10 sent, 10 answered" in said, said
        assert not os.listdir(folder), os.listdir(folder)
        said = shell(it, block_of("Monitoring"), folder)
        assert said.endswith("# EOF\n"), said


def test_container(it):
    """A program in namespaces of its own, with the socket alone, uses the driver of the
    machine; the driver sees it, and when it ends."""
    if os.geteuid():
        return
    pair = Pair(it)
    try:
        pair.hosts[1].start("unic-ping", "--socket", pair.hosts[1].sock, "serve")
        apart = ("unshare", "--fork", "--pid", "--mount-proc", "--net", "--ipc", "--uts", "--cgroup")
        said = shell(it, f"unic-ping --socket {pair.hosts[0].sock} --interval 0 10.0.0.2; echo $$", "/", *apart)
        assert "10 answered" in said and int(said.split()[-1]) < 10, said
        ps = run(it.bin + "/unicctl", "--socket", pair.hosts[0].sock, "ps")
        assert "unic-ping" not in ps or "detaching" in ps, ps
    finally:
        pair.end()


def test_dissector_is_found(it):
    """tshark of an ordinary user loads the dissector from the folder of plugins where it lies; tshark
    of root loads no scripts."""
    more = {"user": NOBODY, "group": NOBODY} if not os.geteuid() else {}
    said = run("tshark", "-G", "plugins", cwd="/", **more,
               env={"PATH": os.environ["PATH"], "HOME": "/", "WIRESHARK_PLUGIN_DIR": it.lib + "/wireshark/plugins"})
    assert re.search(r"^unic\.lua\s+lua script\s", said, re.M), said


def test_dashboard(it):
    """The dashboard for Grafana asks for metrics that there are, and for no label that they
    do not have."""
    with open(it.at + "/share/unic/grafana.json", encoding="utf-8") as f:
        board = json.load(f)
    asked = [t["expr"] for p in board["panels"] for t in p["targets"]]
    legends = {n for p in board["panels"] for t in p["targets"]
               for n in re.findall(r"{{(\w+)}}", t["legendFormat"])}
    pair = Pair(it)
    try:
        pair.hosts[0].start("unic-ping", "--socket", pair.hosts[0].sock, "serve")
        said = run(it.bin + "/unicctl", "--socket", pair.hosts[0].sock, "metrics")
    finally:
        pair.end()
    there = set(re.findall(r"^(\w+)[{ ]", said, re.M))
    labels = set(re.findall(r"[{,](\w+)=", said))
    for expr in asked:
        names = re.findall(r"unic_\w+", expr)
        assert names and set(names) <= there, (expr, set(names) - there)
    assert len(asked) > 8 and legends <= labels, (legends, labels)


def test_loader_knows(_):
    """`make install` has the loader look for the library, but for a folder of a packager; or says what to do."""
    with tempfile.TemporaryDirectory() as folder:
        for code in (0, 1):
            with open(folder + "/ldconfig", "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\n: > {folder}/told\nexit {code}\n")
            os.chmod(folder + "/ldconfig", 0o755)
            env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
            env["PATH"] = f"{folder}:{env['PATH']}"
            words = ("make", "-s", "-C", ROOT, f"PREFIX={PREFIX}", "install-loader")
            assert run(*words, f"DESTDIR={folder}", env=env) == "" and not os.path.exists(folder + "/told")
            said = run(*words, env=env)
            assert ("root has run ldconfig, or with LD_LIBRARY_PATH=/opt/unic/lib" in said) == bool(code), said
            os.unlink(folder + "/told")


def test_uninstall(it):
    """`make uninstall` leaves no file. It runs last."""
    make("uninstall", f"DESTDIR={it.dest}")
    assert not it.files(), it.files()
    left = [d for d, _, _ in os.walk(it.at) if "unic" in os.path.relpath(d, it.at)]
    assert not left, left


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    only = p.parse_args().only
    it = Installed()
    code = functions.run(functions.of_module(globals(), only), it)
    it.end()
    return code


if __name__ == "__main__":
    sys.exit(main())
