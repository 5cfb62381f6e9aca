# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A guest with the distribution's kernel in QEMU: boot it, have it do commands,
end it. Everything has a time limit, QEMU itself as well."""
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import time

import initramfs
import kernel
from hosts import delayed_ns
from initramfs import Failure

QEMU = "qemu-system-x86_64"
RAM = "256M"
BOOT_S = 120
LIFE_S = 3600  # QEMU ends by itself then
# quiet: each line on a serial console costs. noreplace-smp: with one CPU the
# kernel makes plain stores of its barriers, but the NIC is another CPU.
# oops=panic: the end of the guest is seen at once.
COMMAND_LINE = ("console=ttyS0 quiet panic=-1 oops=panic noreplace-smp "
                "mitigations=off tsc=reliable no_timer_check nokaslr "
                "random.trust_cpu=on")


class Guest:
    """bus: what run_nic.bus_info() says of a unic-bus with --guest, or None for
    a machine without a NIC. Beside these: see initramfs.build()."""

    def __init__(self, tmp, bus=None, cpus=1, more=(), command_line="",
                 programs=(), modules=(), files=()):
        self.release = kernel.newest()
        if not self.release:
            raise Failure(kernel.HELP)
        if not shutil.which(QEMU):
            raise Failure(f"{QEMU} is not installed: apt-get install "
                          "qemu-system-x86")
        self.console = os.path.join(tmp, "console")
        root = os.path.join(tmp, "initramfs")
        initramfs.build(root, self.release, programs, modules, files)
        self.line, theirs = socket.socketpair()
        self.unread = b""
        self.doing = "boot"
        self.deaf = False  # an answer may come that nobody waits for
        self.tasks = 0
        os.set_inheritable(theirs.fileno(), True)
        self.log = open(self.console + ".qemu", "w+", encoding="utf-8")
        self.qemu = subprocess.Popen(
            self._machine(bus, cpus) + [
                "-kernel", kernel.unpacked(self.release), "-initrd", root,
                "-append", f"{COMMAND_LINE} {command_line}",
                "-serial", f"file:{self.console}",
                "-chardev", f"socket,id=line,fd={theirs.fileno()}",
                "-device", "virtio-serial-pci,addr=1e",
                "-device", "virtserialport,chardev=line", *more],
            stdin=subprocess.DEVNULL, stderr=self.log,
            pass_fds=[theirs.fileno()])
        theirs.close()
        start = time.monotonic()
        try:
            self.kernel_s = float(self._read_line(Patience(self, BOOT_S)))
        except BaseException:  # also when we are told to end
            self.end()
            raise
        self.boot_s = time.monotonic() - start

    @staticmethod
    def _machine(bus, cpus):
        # maxcpus=2: with one possible CPU, TCG turns barriers into nothing.
        memory = f"/proc/{bus['pid']}/fd/{bus['slot_fds'][0]}" if bus else None
        ram = (f"memory-backend-file,id=ram,share=on,mem-path={memory},"
               f"size={bus['slot_bytes']}" if bus else
               f"memory-backend-ram,id=ram,size={RAM}")
        args = ["timeout", "-k", "5", str(LIFE_S * Patience.SLOW), QEMU,
                "-M", "q35,memory-backend=ram", "-accel", "tcg",
                "-cpu", "max", "-smp", f"{cpus},maxcpus=2",
                "-m", str(bus["slot_bytes"] >> 20) if bus else RAM,
                "-object", ram, "-nodefaults", "-display", "none",
                "-no-reboot"]
        if bus:
            args += ["-chardev", f"socket,id=bus,path={bus['guest']}",
                     "-device", "ivshmem-doorbell,chardev=bus,id=unic,"
                     f"vectors={bus['vectors']},addr=1"]
        return args

    def emulator(self):
        """Process number of QEMU, a child of timeout."""
        with open(f"/proc/{self.qemu.pid}/task/{self.qemu.pid}/children",
                  encoding="ascii") as f:
            return int(f.read().split()[0])

    def delayed_s(self):
        """How long the threads of QEMU waited for a processor."""
        try:
            return delayed_ns(self.emulator()) / 1e9
        except (OSError, IndexError):  # not yet, or not any more
            return 0.0

    # -------------------------------------------------------------- the line

    def _read_some(self, patience):
        while not select.select([self.line], [], [],
                                max(0, patience.left()))[0]:
            if patience.over():
                self.deaf = True
                raise Failure(f"the guest does not answer ({self.doing}); its "
                              f"console says:\n{self.last_words()}")
        data = self.line.recv(1 << 16)
        if not data:
            raise Failure("the guest ended; its console says:\n" +
                          self.last_words())
        self.unread += data

    def _read_line(self, patience):
        while b"\n" not in self.unread:
            self._read_some(patience)
        text, self.unread = self.unread.split(b"\n", 1)
        return text.decode()

    def last_words(self):
        said = []
        for path in (self.console, self.log.name):
            if os.path.exists(path):
                with open(path, errors="replace", encoding="utf-8") as f:
                    said += f.readlines()[-60:]
        return "".join(said) or "nothing"

    def ask(self, command, seconds=30):
        """(status, text) of a command line of the guest's shell."""
        if "\n" in command:
            raise ValueError("one line, please")
        patience = Patience(self, seconds)
        self.doing = command
        self.line.sendall(command.encode() + b"\n")
        status, size = map(int, self._read_line(patience).split())
        while len(self.unread) < size:
            self._read_some(patience)
        said, self.unread = self.unread[:size], self.unread[size:]
        return status, said.decode(errors="replace")

    def run(self, command, seconds=30):
        """Output of a command; Failure unless its status is 0."""
        status, said = self.ask(command, seconds)
        if status:
            raise Failure(f"guest: {command}: exit {status}: {said.strip()}")
        return said

    def wait_for(self, command, seconds=20):
        """Repeat a command until it succeeds; returns its output."""
        patience = Patience(self, seconds)
        while True:
            status, said = self.ask(command)
            if not status:
                return said
            if patience.over():
                raise Failure(f"guest: not within {seconds} s: {command}: "
                              f"{said.strip()}")
            time.sleep(0.1)

    # --------------------------------------------------------------- the end

    def is_lost(self):
        """True if the guest cannot be asked anything any more."""
        return self.deaf or self.qemu.poll() is not None

    def power_off(self, seconds=20):
        """The guest ends itself."""
        self.line.sendall(b"poweroff -f\n")
        patience = Patience(self, seconds)
        while self.qemu.poll() is None:
            if patience.over():
                raise Failure("the guest does not power off")
            time.sleep(0.05)

    def end(self):
        if self.qemu.poll() is None:
            self.qemu.terminate()
            try:
                self.qemu.wait(5)
            except subprocess.TimeoutExpired:
                self.qemu.kill()
                self.qemu.wait()
        self.line.close()
        self.log.close()


class Patience:
    """A time limit for a guest: what its emulator waits for a processor does not
    count, within reason. UNIC_VM_SLOW: how much slower than usual its kernel is."""
    SLOW = float(os.environ.get("UNIC_VM_SLOW", "1"))
    MOST = 4  # times the limit

    def __init__(self, of, seconds):
        self.guest, self.seconds = of, seconds * self.SLOW
        self.start, self.delayed = time.monotonic(), of.delayed_s()

    def left(self):
        delayed = min(self.guest.delayed_s() - self.delayed,
                      (self.MOST - 1) * self.seconds)
        return self.start + self.seconds + max(0, delayed) - \
            time.monotonic()

    def over(self):
        return self.left() <= 0


class Task:
    """A program that runs in the guest while we do other things. Its interface
    is that of hosts.Process and, as its .child, of subprocess.Popen, as far as
    tests need it."""

    def __init__(self, guest, args, stdin=False, who=None, say=None):
        """say: called with each line when it is seen."""
        guest.tasks += 1
        self.guest, self.who = guest, who or os.path.basename(args[0])
        self.file = f"/run/task{guest.tasks}"
        self.lines, self.said, self.child, self.returncode = [], 0, self, None
        self.seen = 0  # lines that were looked at
        self.say = say or (lambda text: None)
        source = f"{self.file}.in" if stdin else "/dev/null"
        if stdin:  # `sleep` keeps the FIFO open for writing
            guest.run(f"mkfifo {source}; sleep 600 >{source} &")
        guest.run(f"{{ sh -c 'echo $$ >{self.file}.pid; exec \"$@\"' - "
                  f"{shlex.join(args)} >{self.file} 2>&1 <{source}; "
                  f"echo $? >{self.file}.end; }} &")
        self.pid = int(guest.wait_for(f"grep . {self.file}.pid"))

    def send(self, text):
        self.guest.run(f"echo {shlex.quote(text)} >{self.file}.in")

    def poll(self):
        """Its exit status (128 + n after signal n), or None while it runs."""
        if self.returncode is None:
            status, said = self.guest.ask(f"cat {self.file}.end")
            self.returncode = None if status or not said else int(said)
        return self.returncode

    def wait(self, timeout=20):
        patience = Patience(self.guest, timeout)
        while self.poll() is None:
            if patience.over():
                raise Failure(f"guest: {self.who} was not done after {timeout} "
                              f"s; last: {self.last()}")
            time.sleep(0.05)
        return self.returncode

    def take(self):
        """Read what the program has printed since the last call."""
        text = self.guest.run(f"tail -c +{self.said + 1} {self.file}")
        text = text[:text.rfind("\n") + 1]
        self.said += len(text.encode())
        for line in text.splitlines():
            self.lines.append(line)
            self.say(line)

    def last(self):
        self.take()
        return self.lines[-1] if self.lines else "nothing"

    def expect(self, pattern, seconds=20):
        """The next line that matches; Failure when none comes."""
        patience = Patience(self.guest, seconds)
        while True:
            ended = self.poll() is not None
            self.take()
            while self.seen < len(self.lines):
                self.seen += 1
                if re.search(pattern, self.lines[self.seen - 1]):
                    return self.lines[self.seen - 1]
            if ended or patience.over():
                raise Failure(f"guest: {self.who} did not say '{pattern}'"
                              f"{' before its end' if ended else ''}; last: "
                              f"{self.last()}")
            time.sleep(0.05)

    def finish(self, seconds):
        status = self.wait(seconds)
        self.take()
        if status:
            raise Failure(f"guest: {self.who} failed (exit {self.returncode}): "
                          f"{self.last()}")

    def send_signal(self, number):
        self.guest.run(f"kill -{int(number)} {self.pid}")

    def kill(self):
        self.guest.ask(f"kill -9 {self.pid}")

    def end(self):
        if self.poll() is None:
            self.kill()
            self.wait()


def interactive(guest):
    """Run each line of stdin as a command in the guest, to look for a fault."""
    for line in sys.stdin:
        status, said = guest.ask(line.rstrip("\n"), 600)
        print(said + (f"[{status}]" if status else ""), flush=True)
