#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Host side of hal_selftest.c: the board `virt`, below hal/unic_port.h.

usage: hal_selftest.py [IMAGE]        (default build/virt/hal_selftest.elf)

Plays the bus, the wire and the driver with none of our programs, so that a
fault of unic-bus or unic-wire cannot hide one of the board. Ends in
"N passed, N failed"; exit code 0 only if none failed.
"""
import array
import json
import mmap
import os
import random
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from hosts import least_share

PROCS = 8
VECTORS = 1 + PROCS
BAR_BYTES = 0x200000
CRASH_OFF = 0xC0000
TALK_OFF = 0xD0000
WINDOWS = [16 << 20, 1 << 20, 4 << 20]
LINK_BYTES = 1 << 20
LINK_NONE, LINK_RING, LINK_NET = 0, 1, 2
CHECK, COUNT, COPY, NOTHING = 1, 2, 3, 4
MAGIC = 0x43494E55
(ASSERT, UNDEF, PREFETCH, DATA, STACK, OTHER) = range(1, 7)
PATIENCE = 60
# Instructions with those of the call (about 12), exact: more is a regression.
BUDGETS = {'dma_from_host_8': 15, 'dma_from_host_64': 24, 'dma_to_host_8': 17,
           'dma_to_host_32': 36, 'dma_to_host_64': 36, 'now_ns': 16}

passed = failed = 0


def check(name, good, detail=''):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f'{"ok" if good else "FAIL"} {name}{" " + detail if detail else ""}',
          flush=True)


class Memory:
    """A memory file that QEMU maps too."""

    def __init__(self, name, size):
        self.fd = os.memfd_create(name)
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        self.path = f'/proc/{os.getpid()}/fd/{self.fd}'

    def get(self, off):
        return struct.unpack_from('<I', self.map, off)[0]

    def put(self, off, value):
        struct.pack_into('<I', self.map, off, value)

    def close(self):
        self.map.close()
        os.close(self.fd)


class IvshmemServer(threading.Thread):
    """Protocol version 0 for one client: peer 1. Peer 0 is this script."""

    def __init__(self, path, memory, vectors):
        super().__init__(daemon=True)
        self.memory, self.vectors = memory, vectors
        self.host = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(vectors)]
        self.nic = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(vectors)]
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.client = None
        self.start()

    def run(self):
        try:
            self.client, _ = self.listener.accept()
        except OSError:
            return
        for value, fd in [(0, None), (1, None), (-1, self.memory.fd)] + \
                [(0, fd) for fd in self.host] + [(1, fd) for fd in self.nic]:
            self.client.sendmsg(
                [struct.pack('<q', value)],
                [] if fd is None else
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [fd]))])

    def ring(self, vector):
        os.eventfd_write(self.nic[vector], 1)

    def rung(self, vector, timeout):
        if not select.select([self.host[vector]], [], [], timeout)[0]:
            return False
        os.eventfd_read(self.host[vector])
        return True

    def close(self):
        if self.client:
            self.client.close()
        self.listener.close()
        for fd in self.host + self.nic:
            os.close(fd)


class RingEcho:
    """Port 0 of a two-port link (abi/unic_link.h): frames go back."""
    SLOTS, SLOT_BYTES, PORT_OFF, RING_OFF = 32, 2048, 256, 4096
    RING_BYTES = (128 + 32 * 2048 + 4095) & ~4095

    def __init__(self, directory):
        self.memory = Memory('link', LINK_BYTES)
        struct.pack_into('<9I', self.memory.map, 0, 0x4B4E4C55, 1, 2,
                         self.SLOTS, self.SLOT_BYTES, 0, self.PORT_OFF,
                         self.RING_OFF, self.RING_BYTES)
        path = f'{directory}/link.sock'
        self.server = IvshmemServer(path, self.memory, 1)
        self.arguments = ['-chardev', f'socket,path={path},id=link',
                          '-device', 'ivshmem-doorbell,chardev=link,vectors=1']
        self.taken = self.sent = self.rings = 0
        self.memory.put(self.PORT_OFF + 64, 1)  # this port sleeps: ring it

    def slot(self, ring, n):
        return self.RING_OFF + ring * self.RING_BYTES + 128 + \
            n % self.SLOTS * self.SLOT_BYTES

    def one(self):
        m, at = self.memory, self.slot(2, self.taken)
        back = self.sent - m.get(self.RING_OFF + self.RING_BYTES)
        if m.get(at) != self.taken + 1 or back >= self.SLOTS:
            return False
        length = struct.unpack_from('<H', m.map, at + 4)[0]
        frame = bytes(m.map[at + 18:at + 18 + length])
        self.taken += 1
        m.put(self.RING_OFF + 2 * self.RING_BYTES, self.taken)
        if not length:
            return True
        to = self.slot(1, self.sent)
        m.map[to + 18:to + 18 + length] = frame[6:12] + frame[:6] + frame[12:]
        struct.pack_into('<HH', m.map, to + 4, length, 0)
        self.sent += 1
        m.put(to, self.sent)
        if m.get(self.PORT_OFF + 128 + 64):
            self.server.ring(0)
        return True

    def serve(self, stop):
        while not stop.is_set():
            self.rings += self.server.rung(0, 0.01)
            while self.one():
                pass

    def close(self):
        self.server.close()
        self.memory.close()


class NetEcho:
    """The far end of -netdev dgram: frames go back."""

    def __init__(self, directory):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f'{directory}/host.net')
        self.socket.settimeout(0.1)
        self.peer = f'{directory}/nic.net'
        self.arguments = [
            '-netdev', 'dgram,id=n0,local.type=unix,'
            f'local.path={self.peer},remote.type=unix,'
            f'remote.path={directory}/host.net',
            '-device', 'virtio-net-device,netdev=n0,mac=02:00:00:00:00:07']

    def give_back(self, frame, stop):
        while not stop.is_set():
            try:
                return self.socket.sendto(frame, self.peer)
            except TimeoutError:  # the socket is full: QEMU does not get to run
                continue
            except OSError:
                break
        return 0

    def serve(self, stop):
        while not stop.is_set():
            try:
                frame = self.socket.recv(65536)
            except TimeoutError:
                continue
            if not self.give_back(frame[6:12] + frame[:6] + frame[12:], stop):
                return

    def close(self):
        self.socket.close()


class Machine:
    """One QEMU with the image, its memory and its peers."""

    def __init__(self, image, mode, link=LINK_NONE, icount=False,
                 mailbox=True, bar_bytes=BAR_BYTES, spoil=None):
        self.directory = tempfile.mkdtemp(prefix='unic-hal-')
        self.box = Memory('mailbox', bar_bytes)
        self.bus = None
        self.windows = [Memory('window', size) for size in WINDOWS]
        self.link = {LINK_RING: RingEcho, LINK_NET: NetEcho}[link](
            self.directory) if link else None
        if spoil is not None:  # a word of the link's header
            self.link.memory.put(4 * spoil, 77)
        for k, window in enumerate(self.windows):
            window.put(0, 0x57000000 + k)
            window.put(WINDOWS[k] - 4, 0x58000000 + k)
        if bar_bytes == BAR_BYTES:
            struct.pack_into('<4I', self.box.map, TALK_OFF, mode, len(WINDOWS),
                             link, 0)
        arguments = ['qemu-system-arm', '-M',
                     'virt,highmem=off,gic-version=2', '-accel', 'tcg',
                     '-cpu', 'cortex-a15', '-smp', '1,maxcpus=2',
                     '-nodefaults', '-display', 'none',
                     '-global', 'virtio-mmio.force-legacy=false',
                     '-semihosting-config', 'enable=on,target=native',
                     '-serial', f'file:{self.directory}/console',
                     '-qmp', f'unix:{self.directory}/qmp,server=on,wait=off',
                     '-kernel', image]
        if icount:
            arguments += ['-icount', 'shift=0']
        if mailbox:
            path = f'{self.directory}/bus.sock'
            self.bus = IvshmemServer(path, self.box, VECTORS)
            arguments += ['-chardev', f'socket,path={path},id=bus', '-device',
                          f'ivshmem-doorbell,chardev=bus,vectors={VECTORS}']
        for k, window in enumerate(self.windows):
            arguments += ['-object', f'memory-backend-file,id=w{k},'
                          f'size={WINDOWS[k]},mem-path={window.path},share=on',
                          '-device', f'ivshmem-plain,memdev=w{k}']
        arguments += ['-object', 'rng-builtin,id=r0',
                      '-device', 'virtio-rng-device,rng=r0']
        arguments += self.link.arguments if self.link else []
        self.stop = threading.Event()
        if self.link:
            self.echo = threading.Thread(target=self.link.serve,
                                         args=[self.stop], daemon=True)
            self.echo.start()
        self.output = open(f'{self.directory}/output', 'w+b')
        self.qemu = subprocess.Popen(arguments, stdin=subprocess.DEVNULL,
                                     stdout=self.output,
                                     stderr=subprocess.STDOUT)

    def talk(self, word):
        return self.box.get(TALK_OFF + 4 * word)

    def await_word(self, word, value, timeout=PATIENCE):
        until = time.monotonic() + timeout
        while self.talk(word) != value:
            if time.monotonic() > until or self.qemu.poll() is not None:
                return False
            time.sleep(0)
        return True

    def reset(self):
        """The reset button."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f'{self.directory}/qmp')
            with s.makefile('rw') as qmp:
                qmp.readline()
                for command in 'qmp_capabilities', 'system_reset':
                    qmp.write(json.dumps({'execute': command}) + '\n')
                    qmp.flush()
                    while 'return' not in qmp.readline():
                        pass

    def finish(self, timeout=PATIENCE):
        """Wait for the end; returns exit code, output, console."""
        try:
            code = self.qemu.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        return code, self.said('output'), self.said('console')

    def said(self, name):
        with open(f'{self.directory}/{name}', encoding='utf-8',
                  errors='replace') as f:
            return f.read()

    def says(self, name, text):
        """Does the image print this line before long?"""
        until = time.monotonic() + PATIENCE
        while text not in self.said(name):
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def close(self):
        if self.qemu.poll() is None:
            self.qemu.kill()
            self.qemu.wait()
        self.stop.set()
        if self.link:
            self.echo.join()
            self.link.close()
        self.output.close()
        if self.bus:
            self.bus.close()
        for memory in [self.box] + self.windows:
            memory.close()
        shutil.rmtree(self.directory)


def report(prefix, output):
    """Count the verdicts of the image."""
    for line in output.splitlines():
        word, _, rest = line.partition(' ')
        if word in ('ok', 'FAIL'):
            check(f'{prefix}: {rest}', word == 'ok')
        elif line:
            print(f'   {prefix}: {line}', flush=True)


def host_bar(m):
    if not m.await_word(4, 1):
        return False
    want = [i * 2654435761 & 0xFFFFFFFF for i in range(4096)]
    good = list(struct.unpack_from('<4096I', m.box.map, 0xE0000)) == want
    struct.pack_into('<4096I', m.box.map, 0xE0000,
                     *[~w & 0xFFFFFFFF for w in want])
    return good


def host_ring(m, n, vector):
    m.box.put(TALK_OFF + 12, n)
    m.bus.ring(vector)


def host_doorbells(m):
    if not m.await_word(4, 2):
        return False
    for v in range(VECTORS):
        if not m.await_word(6, v + 1):
            return False
        time.sleep(0.01)
        host_ring(m, v + 1, v)
    return True


def host_race(m, seed=1):
    """Ring at random instants around the NIC's falling asleep."""
    rng, n = random.Random(seed), VECTORS
    if not m.await_word(4, 3):
        return 0
    for count in range(3000):
        n += 1
        for _ in range(rng.randrange(200)):
            pass
        host_ring(m, n, count % VECTORS)
        if not m.bus.rung(count % VECTORS, PATIENCE):
            return count
    return 3000


def test_board(image, link, name):
    start = time.monotonic()
    m = Machine(image, CHECK, link)
    try:
        m.await_word(4, 1)
        print(f'   {name}: up {(time.monotonic() - start) * 1000:.0f} ms after '
              'the start of QEMU', flush=True)
        check(f'{name}: host: memory as the NIC wrote it', host_bar(m))
        check(f'{name}: host: rang each vector', host_doorbells(m))
        start = time.monotonic()
        count = host_race(m)
        check(f'{name}: host: rung back each time', count == 3000, f'{count}')
        print(f'   {name}: doorbell there and back '
              f'{(time.monotonic() - start) / 3000 * 1e6:.0f} us', flush=True)
        code, output, _ = m.finish()
        report(name, output)
        check(f'{name}: image ends well', code == 0, f'exit {code}')
        if link == LINK_RING:
            check(f'{name}: host: the NIC rings a sleeping peer',
                  m.link.rings > 0)
    finally:
        m.close()


def test_idle(image):
    """WFI: a sleeping NIC costs nothing. The image waits for a doorbell."""
    m = Machine(image, CHECK)
    try:
        host_bar(m)
        m.await_word(6, 1)
        share = 100 * least_share(m.qemu.pid, seconds=0.2)
        check('idle: under 2 % of a core', share < 2, f'{share:.2f} %')
    finally:
        m.close()


def test_crash(image, mode, kind, name, more=lambda m: True):
    m = Machine(image, mode)
    try:
        m.await_word(6, 1)
        m.bus.ring(VECTORS - 1)
        rang = m.bus.rung(0, PATIENCE)
        record = struct.unpack_from('<4IQ56s17IIII', m.box.map, CRASH_OFF)
        magic, got, line, epoch = record[:4]
        file = record[5].split(b'\0')[0].decode()
        check(f'crash: {name}: the host is rung', rang)
        check(f'crash: {name}: record', magic == MAGIC and got == kind and
              epoch == 4711, f'kind {got}')
        check(f'crash: {name}: details', more(
            {'line': line, 'file': file, 'reg': record[6:23],
             'status': record[23], 'addr': record[24]}))
        check(f'crash: {name}: machine stays up for the host to reset',
              m.qemu.poll() is None)
        check(f'crash: {name}: console',
              m.says('console', f'kind={kind:08x}'))
        m.box.put(TALK_OFF, NOTHING)
        m.reset()
        check(f'crash: {name}: a reset brings the NIC back',
              m.finish()[0] == 0)
    finally:
        m.close()


def test_crashes(image):
    text, ram = range(0x40100000, 0x40120000), range(0x40300000, 0x40380000)
    test_crash(image, 10, ASSERT, 'assert', lambda r: r['line'] == 42 and
               r['file'] == 'tests/qemu/hal_selftest.c' and
               r['reg'][15] in text and r['reg'][13] in ram)
    test_crash(image, 11, UNDEF, 'undefined instruction',
               lambda r: r['reg'][15] in text)
    test_crash(image, 12, PREFETCH, 'data executed',
               lambda r: r['reg'][15] == r['addr'] and r['addr'] in ram)
    test_crash(image, 13, DATA, 'wild pointer',
               lambda r: r['addr'] == 0x60000010 and r['reg'][15] in text)
    test_crash(image, 14, STACK, 'stack overflow',
               lambda r: 0x40200000 <= r['addr'] < 0x40300000)
    test_crash(image, 15, DATA, 'write to text',
               lambda r: r['addr'] == 0x40100000)


def test_refusals(image):
    """On a machine that cannot be a NIC the image says why, and ends."""
    for name, arguments, why in [
            ('no mailbox', {'mailbox': False}, 'there is no mailbox'),
            ('short mailbox', {'bar_bytes': 0x10000}, 'too small'),
            ('link without magic', {'link': LINK_RING, 'spoil': 0},
             'two mailboxes'),
            ('link of another version', {'link': LINK_RING, 'spoil': 1},
             'link cannot be used')]:
        m = Machine(image, CHECK, **arguments)
        try:
            code, output, _ = m.finish()
            check(f'refused: {name}', code == 3 and why in output)
        finally:
            m.close()


def test_figures(image):
    for mode, icount, name in (COUNT, True, 'count'), (COPY, False, 'copy'):
        m = Machine(image, mode, icount=icount)
        try:
            code, output, _ = m.finish()
            report(name, output)
            facts = dict(re.findall(r'fact (\S+) (\d+)', output))
            check(f'{name}: measured', code == 0 and facts)
            for what, most in BUDGETS.items() if icount else ():
                check(f'{name}: {what} in at most {most} instructions',
                      int(facts.get(what, most + 1)) <= most)
        finally:
            m.close()


def main():
    image = sys.argv[1] if len(sys.argv) > 1 else \
        'build/virt/hal_selftest.elf'
    if not os.path.exists(image):
        sys.exit(f'{image}: not there: build it first')
    if not shutil.which('qemu-system-arm'):
        sys.exit('qemu-system-arm is missing: apt-get install qemu-system-arm')
    test_board(image, LINK_NET, 'net')
    test_board(image, LINK_RING, 'ring')
    test_idle(image)
    test_crashes(image)
    test_refusals(image)
    test_figures(image)
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
