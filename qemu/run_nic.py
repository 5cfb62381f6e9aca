#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Start one NIC: the firmware in stock QEMU (--board virt, mps2-an385 or
lm3s6965evb), on a model of its board (--board ek-tm4c1294xl, or lm3s6965evb with
--model), or as a process (--board soft), attached to a running unic-bus and, if
wanted, to a wire.

    run_nic.py --bus DIR [--wire DIR] [--board BOARD] [--model]
               [--link shm|virtio|lan|none] [--netdev-dgram LOCAL,REMOTE]
               [--netdev-stream PATH] [--mac MAC] [--image FILE] [--icount]
               [--console FILE] [--dry-run] [-- MORE ARGUMENTS]

The process becomes the NIC (exec): its pid is the NIC's, a signal ends it.
As a module: command() gives the argument list, start() a running process.

Socket paths without a slash are inside the wire's directory. LOCAL is QEMU's
socket and REMOTE the switch's, the other way round than for unic-wire.
"""
import argparse
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "tools", "install"))
import board_file  # noqa: E402
import flash_slots  # noqa: E402

QEMU = "qemu-system-arm"
QEMU_MIN = (7, 2)  # -netdev dgram and stream
BIN = os.environ.get("UNIC_BIN", "build/bin")
LINKS = ("shm", "virtio", "lan", "none")
IMAGES = {"virt": "build/virt/unic.elf",
          "mps2-an385": "build/mps2-an385/unic.elf",
          "lm3s6965evb": "build/lm3s6965evb/unic.elf",
          "ek-tm4c1294xl": "build/ek-tm4c1294xl/flash.bin",
          "soft": os.path.join(BIN, "unic-nic")}
# Boards that tests/board_model has: the chip, the rate of the host link, and how many
# processes; QEMU lacks those of ONLY_MODELS.
MODELS = {"lm3s6965evb": ("lm3s6965", 921600, 2),
          "ek-tm4c1294xl": ("tm4c1294", 115200, 4)}
ONLY_MODELS = ("ek-tm4c1294xl",)
BOARDS = tuple(sorted(IMAGES))
# What the mps2-an385 shares with its host is all the RAM that QEMU lets one
# choose: the mailbox, then the slots (hal/mps2/memlayout.h).
MPS2_RAM = {"joint": True, "bar_bytes": 2 << 20, "slot_bytes": 2 << 20,
            "vectors": 8}
INSTALL = "apt-get install qemu-system-arm"
WAIT_MAX_S = 86400


class Problem(Exception):
    """Something the user can put right; the text says what to do."""


class Missing(Problem):
    """A daemon that does not run: it may be starting."""


def read_json(directory, name, daemon):
    path = os.path.join(directory, name)
    try:
        st = os.lstat(directory)
        if st.st_uid not in (0, os.geteuid()) or st.st_mode & 0o022 or \
                not stat.S_ISDIR(st.st_mode):
            raise Problem(f"{directory}: it is another user's, others may "
                          "write to it, or it is a link")
        with open(path, encoding="utf-8") as f:
            info = json.load(f)
        os.kill(info["pid"], 0)
        return info
    except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
        raise Missing(f"no {daemon} runs in {directory}; start it first: "
                      f"build/bin/{daemon} --dir {directory}") from None
    except PermissionError:
        raise Problem(f"no right to use {path}, or its {daemon}") from None


def bus_info(directory):
    """Read bus.json of unic-bus."""
    return read_json(directory, "bus.json", "unic-bus")


def wire_info(directory):
    """Read wire.json of unic-wire."""
    return read_json(directory, "wire.json", "unic-wire")


def windows(bus):
    """Memory files of the process slots, in order."""
    return [f"/proc/{bus['pid']}/fd/{fd}" for fd in bus["slot_fds"]]


def links(board):
    """What a board can have for a link, the usual one first."""
    return {"virt": ("shm", "virtio"), "mps2-an385": ("lan",),
            "lm3s6965evb": ("lan",), "ek-tm4c1294xl": ("lan",),
            "soft": ("shm",)}[board]


def bus_options(board):
    """Options of unic-bus for such a NIC."""
    if board in MODELS:
        return ["--slots", str(MODELS[board][2])]
    if board != "mps2-an385":
        return []
    return ["--joint", "--slots", str(MPS2_RAM["vectors"] - 1),
            "--slot-size", str(MPS2_RAM["slot_bytes"]),
            "--bar-size", str(MPS2_RAM["bar_bytes"])]


def uart(directory):
    """The socket of the UART of a NIC that shares no memory."""
    return os.path.join(directory, "uart")


def driver_options(board, directory):
    """Options of unicd for such a NIC, beside its bus."""
    return (["--link", uart(directory), "--baud", str(MODELS[board][1])]
            if board in MODELS else [])


def check_qemu():
    """Raises Problem unless a QEMU that is new enough is installed."""
    if not shutil.which(QEMU):
        raise Problem(f"{QEMU} is not installed; {INSTALL}")
    text = subprocess.run([QEMU, "--version"], capture_output=True, text=True,
                          check=True).stdout
    found = re.search(r"version (\d+)\.(\d+)", text)
    version = tuple(map(int, found.groups())) if found else (0, 0)
    if version < QEMU_MIN:
        raise Problem(f"{QEMU} is version {version[0]}.{version[1]}, but "
                      f"{QEMU_MIN[0]}.{QEMU_MIN[1]} or newer is needed; "
                      f"{INSTALL}")


def find_image(board, image):
    path = image or os.path.join(ROOT, IMAGES[board])
    if not os.path.exists(path):
        raise Problem(f"{path} is missing; build it: make BOARD={board} image")
    return path


def inside(wire, path):
    return path if "/" in path else os.path.join(wire or ".", path)


def qemu_machine(icount):
    # maxcpus=2: with one possible CPU, TCG turns guest barriers and exclusives
    # into nothing, and memory shared with the host breaks. Never KVM.
    args = [QEMU, "-M", "virt,highmem=off,gic-version=2", "-accel", "tcg",
            "-cpu", "cortex-a15", "-smp", "1,maxcpus=2", "-m", "128M",
            "-nodefaults", "-display", "none", "-no-reboot",
            "-global", "virtio-mmio.force-legacy=false",
            "-object", "rng-builtin,id=rng",
            "-device", "virtio-rng-device,rng=rng"]
    return args + (["-icount", "shift=0"] if icount else [])


def qemu_bus(bus):
    args = ["-chardev", f"socket,id=bus,path={bus['ivshmem']}", "-device",
            f"ivshmem-doorbell,chardev=bus,vectors={bus['vectors']},addr=1"]
    for k, path in enumerate(windows(bus)):
        args += ["-object", f"memory-backend-file,id=slot{k},share=on,"
                 f"mem-path={path},size={bus['slot_bytes']}",
                 "-device", f"ivshmem-plain,memdev=slot{k},addr={k + 2:x}"]
    return args


def qemu_shm_link(wire, addr):
    return ["-chardev", f"socket,id=link,path={wire_info(wire)['ivshmem']}",
            "-device", f"ivshmem-doorbell,chardev=link,vectors=1,addr={addr:x}"]


def qemu_netdev(wire, dgram, stream):
    if dgram:
        local, remote = (inside(wire, p) for p in dgram.split(","))
        net = (f"dgram,id=net,local.type=unix,local.path={local},"
               f"remote.type=unix,remote.path={remote}")
    elif stream:
        net = (f"stream,id=net,server=off,addr.type=unix,"
               f"addr.path={inside(wire, stream)}")
    else:
        raise Problem("this link needs --netdev-dgram or --netdev-stream")
    return ["-netdev", net]


def virt_command(bus, wire, link, image, icount, mac, console, dgram, stream):
    check_qemu()
    args = qemu_machine(icount) + qemu_bus(bus)
    if link == "shm":
        args += qemu_shm_link(wire, len(bus["slot_fds"]) + 2)
    elif link == "virtio":
        args += qemu_netdev(wire, dgram, stream)
        args += ["-device", "virtio-net-device,netdev=net" +
                 (f",mac={mac}" if mac else "")]
    args += ["-serial", f"file:{console}" if console else "null"]
    return args + (["-kernel", image] if image else [])


def mps2_command(bus, wire, link, image, icount, mac, console, dgram, stream):
    """One CPU is all that this machine can have, so its barriers are none:
    see hal/mps2/port.c."""
    check_qemu()
    if any(bus[key] != value for key, value in MPS2_RAM.items()):
        raise Problem("an mps2-an385 needs a bus of its own kind: unic-bus " +
                      " ".join(bus_options("mps2-an385")))
    ram = MPS2_RAM["bar_bytes"] + \
        (MPS2_RAM["vectors"] - 1) * MPS2_RAM["slot_bytes"]
    args = [os.path.join(ROOT, BIN, "unic-uart"), "--bus", bus["ivshmem"],
            "--vectors", str(bus["vectors"]), "--",
            QEMU, "-M", "mps2-an385,memory-backend=shared", "-accel", "tcg",
            "-nodefaults", "-display", "none", "-no-reboot",
            "-object", "memory-backend-file,id=shared,share=on,"
            f"mem-path=/proc/{bus['pid']}/fd/{bus['bar_fd']},size={ram}",
            "-chardev", "socket,id=bells,fd=3",
            "-serial", f"file:{console}" if console else "null",
            "-serial", "chardev:bells"]
    if icount:
        args += ["-icount", "shift=0"]
    if link == "lan":
        args += qemu_netdev(wire, dgram, stream)
        args += ["-net", "nic,netdev=net" + (f",macaddr={mac}" if mac else "")]
    else:
        args += ["-net", "none"]
    return args + (["-kernel", image] if image else [])


def lm3s_command(bus, wire, link, image, icount, mac, console, dgram, stream):
    """The UART that is the bus is a socket in the directory of the bus, where
    unicd finds it. The board has its Ethernet controller on board: -net nic."""
    check_qemu()
    path = uart(os.path.dirname(bus["ivshmem"]))
    if os.path.exists(path):
        os.unlink(path)
    args = [QEMU, "-M", "lm3s6965evb", "-accel", "tcg", "-nodefaults",
            "-display", "none", "-chardev",
            f"socket,id=uart,path={path},server=on,wait=off",
            "-serial", "chardev:uart",
            "-serial", f"file:{console}" if console else "null"]
    if link == "lan":
        args += qemu_netdev(wire, dgram, stream)
        args += ["-net", "nic,netdev=net" + (f",macaddr={mac}" if mac else "")]
    args += ["-icount", "shift=4"] if icount else []
    return args + (["-kernel", image] if image else [])


def own_address(flash, board, mac):
    """Writes the address into the flash, as make flash gives a board one of its
    own."""
    at = board_file.BoardFile(board).layout.identity
    if mac and at is not None:
        with open(flash, "r+b") as f:
            f.seek(at)
            f.write(flash_slots.make_identity(bytes.fromhex(mac.replace(":", ""))))


def model_command(board, bus, wire, link, image, mac, console, stream):
    """The board as its data sheet has it (tests/board_model), with a copy of the
    image, because it writes its flash back at its end."""
    directory = os.path.dirname(bus["ivshmem"])
    flash = os.path.join(directory, "flash")
    shutil.copyfile(image, flash)
    own_address(flash, board, mac)
    chip, baud, _ = MODELS[board]
    args = [os.path.join(ROOT, BIN, "board-model"), "--chip", chip, "--flash",
            flash, "--uart0", uart(directory), "--baud0", str(baud)]
    if link == "lan":
        args += ["--wire", inside(wire, stream)]
    return args + (["--console", console] if console else [])


def soft_command(bus, wire, link, image, mac):
    args = [image, "--bus", bus["nic"]]
    if link == "shm":
        args += ["--wire", wire_info(wire)["ivshmem"]]
    return args + (["--mac", mac] if mac else [])


def command(board, bus_dir, wire_dir=None, link=None, image=None, icount=False,
            mac=None, console=None, dgram=None, stream=None, more=(),
            need_image=True, model=False):
    """The argument list that starts a NIC. Raises Problem.

    link: one of links(board), whose first is the default with a wire, or none.
    need_image=False leaves the image out of a QEMU that is not to run
    (more=["-S"]). model: on tests/board_model, not in QEMU.
    """
    link = link or (links(board)[0] if wire_dir else "none")
    if link not in links(board) + ("none",):
        raise Problem(f"the links of {board} are {', '.join(links(board))}")
    if link == "shm" and not wire_dir:
        raise Problem("--link shm needs --wire DIR")
    bus = bus_info(bus_dir)
    model = model or board in ONLY_MODELS
    if model and not image:
        image = os.path.join(ROOT, "build", board, "flash.bin")
    path = find_image(board, image) if need_image else None
    if board == "soft":
        args = soft_command(bus, wire_dir, link, path, mac)
    elif model:
        args = model_command(board, bus, wire_dir, link, path, mac, console,
                             stream)
    else:
        qemu = {"mps2-an385": mps2_command, "lm3s6965evb": lm3s_command,
                "virt": virt_command}[board]
        args = qemu(bus, wire_dir, link, path, icount, mac, console, dgram,
                    stream)
    return args + list(more)


def start(board, bus_dir, wire_dir=None, stdout=subprocess.DEVNULL, **how):
    """A running NIC (subprocess.Popen); to be ended with terminate()."""
    return subprocess.Popen(command(board, bus_dir, wire_dir, **how),
                            stdin=subprocess.DEVNULL, stdout=stdout)


def parse(argv):
    more = []
    if "--" in argv:
        at = argv.index("--")
        argv, more = argv[:at], argv[at + 1:]
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--board", choices=BOARDS, default="virt")
    p.add_argument("--bus", required=True, metavar="DIR")
    p.add_argument("--wire", metavar="DIR")
    p.add_argument("--model", action="store_true",
                   help="on a model that is as strict as the data sheet")
    p.add_argument("--link", choices=LINKS)
    p.add_argument("--netdev-dgram", metavar="LOCAL,REMOTE", dest="dgram")
    p.add_argument("--netdev-stream", metavar="PATH", dest="stream")
    p.add_argument("--mac")
    p.add_argument("--image", metavar="FILE")
    p.add_argument("--icount", action="store_true",
                   help="deterministic time, one instruction per ns")
    p.add_argument("--console", metavar="FILE",
                   help="where the firmware's UART goes (nowhere)")
    p.add_argument("--dry-run", action="store_true",
                   help="print the command line and end")
    o = p.parse_args(argv)
    if o.dgram and o.dgram.count(",") != 1:
        p.error("--netdev-dgram wants LOCAL,REMOTE")
    return o, more


def wait_s():
    """For how long $UNIC_WAIT says to wait for bus and wire."""
    text = os.environ.get("UNIC_WAIT") or "0"
    if not re.fullmatch("[0-9]+", text) or int(text) > WAIT_MAX_S:
        raise Problem(f"UNIC_WAIT is `{text}': a number of seconds from 0 to "
                      f"{WAIT_MAX_S} is needed")
    return int(text)


def patient_command(end, *args, **how):
    """command(), again until bus and wire are there or it is @end."""
    while True:
        try:
            return command(*args, **how)
        except Missing:
            if time.monotonic() >= end:
                raise
            time.sleep(0.05)


def main(argv):
    o, more = parse(argv)
    try:
        args = patient_command(time.monotonic() + wait_s(), o.board, o.bus,
                               o.wire, o.link, o.image, o.icount, o.mac,
                               o.console, o.dgram, o.stream, more,
                               model=o.model)
    except Problem as e:
        sys.exit(f"run_nic.py: {e}")
    if o.dry_run:
        print(subprocess.list2cmdline(args))
        return
    os.execvp(args[0], args)


if __name__ == "__main__":
    main(sys.argv[1:])
