#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the peer is plugged into: a NIC with its driver, and a wire.

Either the programs of this repository, started here in a directory of their
own and ended again, or others that run already (--control, --wire): then
nothing of this repository runs but the tests."""

import argparse
import atexit
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from process import Gone, Late, Process, Refused

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'tests' / 'qemu'))
import stops  # noqa: E402

NIC_IP = '10.0.0.1'
NIC_MAC = '52:55:00:00:00:01'
START_S = 20.0              # until a NIC is set up (QEMU on a busy machine)
END_S = 5.0                 # from SIGTERM to the end


class RigError(Exception):
    """Something did not start, or ended by itself."""


def ip_number(text):
    """10.0.0.1 is 0x0a000001 ("Numbers and structs")."""
    parts = [int(part) for part in text.split('.')]
    if len(parts) != 4 or not all(0 <= part < 256 for part in parts):
        raise argparse.ArgumentTypeError(f'{text!r} is no IPv4 address')
    return int.from_bytes(bytes(parts), 'big')


def mac_bytes(text):
    """Six bytes in the order of the wire."""
    data = bytes(int(part, 16) for part in text.split(':'))
    if len(data) != 6:
        raise argparse.ArgumentTypeError(f'{text!r} is no MAC address')
    return data


def end_with_parent(number=signal.SIGKILL):
    """This process gets a signal when the one that started it ends (Linux's
    PR_SET_PDEATHSIG), so that nothing outlives a test that is killed."""
    ctypes.CDLL(None).prctl(1, int(number), 0, 0, 0)


def leave(*_):
    """SIGTERM ends a test as an exception does, and the rig with it."""
    raise SystemExit('ended by a signal')


class Program:
    """One program of the rig; what it says goes to a file."""

    def __init__(self, directory, name, command):
        self.name, self.log = name, Path(directory) / f'{name}.log'
        with open(self.log, 'wb') as out:
            self.process = subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, cwd=directory,
                start_new_session=True, preexec_fn=end_with_parent)

    def check(self):
        """RigError with its last words, if it has ended."""
        code = self.process.poll()
        if code is not None:
            raise RigError(f'{self.name} ended ({code}): {self.words()}')

    def words(self):
        """The last lines that it said."""
        lines = self.log.read_text(errors='replace').strip().splitlines()
        return ' | '.join(lines[-5:]) or 'it said nothing'

    def end(self):
        """SIGTERM, then SIGKILL, to it and what it started."""
        for number, wait in ((signal.SIGTERM, END_S), (signal.SIGKILL, END_S)):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(wait)
                return
            except ProcessLookupError:
                self.process.wait(wait)
                return
            except subprocess.TimeoutExpired:
                pass


class Rig:
    """The NIC under test. As a context: `control` is the path of the control
    socket, `wire` that of the peer's port (a stream of frames), `ip` and
    `mac` are the NIC's, as a number and as bytes."""

    def __init__(self, image='soft', control=None, wire=None, ip=None,
                 mac=None, wire_args=(), driver_args=()):
        self.image, self.control, self.wire = image, control, wire
        self.ip, self.mac = ip, mac
        self.own = control is None
        self.wire_args, self.driver_args = wire_args, driver_args
        self.programs, self.directory = [], None

    def __enter__(self):
        signal.signal(signal.SIGTERM, leave)
        atexit.register(self.close)
        try:
            if self.own:
                self._start()
            self._await_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def _program(self, name, *command, ready=None):
        """Starts a program, and waits for a file that says it is there."""
        try:
            program = Program(self.directory, name, command)
        except OSError as error:
            raise RigError(f'{name}: {error}') from None
        self.programs.append(program)
        if name in ('nic', 'unicd'):
            stops.watch_pid(program.process.pid)
        end = time.monotonic() + START_S
        while ready and not Path(ready).exists():
            program.check()
            if time.monotonic() > end:
                raise RigError(f'{name}: no {ready} after {START_S:.0f} s: '
                               f'{program.words()}')
            time.sleep(0.005)

    def _start(self):
        """Bus, wire, NIC and driver. The control socket lies where other
        users reach it, for the cases about privilege."""
        self.directory = tempfile.mkdtemp(prefix='unic-peer-')
        os.chmod(self.directory, 0o711)
        bins, here = ROOT / 'build' / 'bin', Path(self.directory)
        bus, wire = here / 'bus', here / 'wire'
        self.wire, self.control = here / 'wire' / 'peer', here / 'control'
        self._program('unic-wire', bins / 'unic-wire', '--dir', wire,
                      '--stream', 'peer', *self.wire_args, ready=self.wire)
        self._program('unic-bus', bins / 'unic-bus', '--dir', bus,
                      ready=bus / 'nic')
        if self.image == 'soft':
            self._program('nic', bins / 'unic-nic', '--bus', bus / 'nic',
                          '--wire', wire / 'ivshmem', '--mac', NIC_MAC)
        else:
            self._program('nic', ROOT / 'qemu' / 'run_nic.py', '--bus', bus,
                          '--wire', wire, '--board', self.image,
                          '--mac', NIC_MAC)
        self._start_driver()

    def _start_driver(self):
        """The driver, which serves when its socket is there."""
        self._program('unicd', ROOT / 'build' / 'bin' / 'unicd', '--bus',
                      Path(self.directory) / 'bus', '--ip', NIC_IP,
                      '--socket', self.control, *self.driver_args,
                      ready=self.control)

    def restart_driver(self):
        """Kills the driver and starts it again: its sockets end. (One that
        ends by SIGTERM gives up what processes had.)"""
        driver = self.programs.pop()
        driver.process.kill()
        driver.process.wait()
        Path(self.control).unlink(missing_ok=True)
        self._start_driver()

    def _await_ready(self):
        """Waits until INFO says that the NIC serves requests, and takes its
        addresses from there where none were given. A driver that is said
        to run already is not waited for if nobody listens."""
        end, last = time.monotonic() + START_S, 'INFO has none'
        while True:
            self.check()
            try:
                with Process(str(self.control)) as process:
                    info = process.info()
                if info.nic_there == 2:
                    break
            except (OSError, Gone, Late, Refused) as error:
                last = error
            nobody = not self.own and isinstance(last, (
                FileNotFoundError, ConnectionRefusedError, PermissionError))
            if nobody or time.monotonic() > end:
                raise RigError('; '.join(
                    [f'no NIC is ready at {self.control}: {last}']
                    + self.words()))
            time.sleep(0.01)
        self.control, self.wire = str(self.control), str(self.wire or '')
        self.ip = self.ip or info.now['ipv4']
        self.mac = self.mac or info.nic['mac']
        self.info = info

    def check(self):
        """RigError, if one of the programs has ended."""
        for program in self.programs:
            program.check()

    def words(self):
        """What the programs said last: a line for each."""
        return [f'{p.name}: {p.words()}' for p in self.programs]

    def process(self, hello=True, **more):
        """A new process at this NIC. A slot comes free some time after the
        process that left it: NO_SLOT and NO_NIC are tried again."""
        end = time.monotonic() + 5.0
        while True:
            made = Process(self.control, **more)
            try:
                if hello:
                    made.hello()
                return made
            except Refused as refused:
                made.close()
                if (time.monotonic() > end or refused.status.name
                        not in ('NO_SLOT', 'NO_NIC')):
                    raise
                time.sleep(0.01)

    def close(self):
        """Ends what was started, the driver first."""
        for program in reversed(self.programs):
            program.end()
        self.programs = []
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = None


def add_arguments(parser):
    """The options that choose the NIC."""
    parser.add_argument('--image', default='soft', help='the NIC to start: '
                        'soft, or a board of run_nic.py (virt) [%(default)s]')
    parser.add_argument('--control', metavar='PATH', help='control socket of '
                        'a driver that runs already; nothing is started')
    parser.add_argument('--wire', metavar='PATH', help='with --control: '
                        'stream socket of a port of its wire')
    parser.add_argument('--ip', type=ip_number, metavar='A.B.C.D',
                        help='address of the NIC [as INFO says]')
    parser.add_argument('--mac', type=mac_bytes, help='likewise')


def from_arguments(args, **more):
    """The Rig that the options name."""
    if args.wire and not args.control:
        sys.exit('--wire is the port of a NIC whose driver --control names')
    return Rig(args.image, args.control, args.wire, args.ip, args.mac, **more)


def main():
    """Starts a rig, says where it is, and waits for a signal or a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    with from_arguments(parser.parse_args()) as rig:
        print(f'--control {rig.control} --wire {rig.wire}', flush=True)
        sys.stdin.readline()


if __name__ == '__main__':
    main()
