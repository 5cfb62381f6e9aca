# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the cases of the control socket share: a NIC with its driver, the
processes that a case starts, and how it says what it expects."""

import os
import time

from check import Skipped, check, same, wait_for
from names import Class, Op, Qps, Reg, Rights, St, Table, Up
from process import Gone, Late

NOBODY = 65534
HELD = 4                    # UNIC_CTL_P_HELD


class ControlWorld:
    """One NIC with its driver. after_case() ends the case's processes."""

    def __init__(self, rig):
        self.rig = rig.__enter__()
        self.slow = rig.image != 'soft'
        self.patience = 5.0
        self.open, self.changed, self.keeps = [], {}, None
        with rig.process(hello=False) as process:
            dump = process.call(Op.DUMP, table=Table.PROC)
            self.privileged = dump.status != St.PERMISSION
            info = process.info()
            self.nic, self.now = info.nic, info.now

    def process(self, hello=True, **more):
        """A process of our user."""
        made = self.rig.process(hello, **more)
        self.open.append(made)
        return made

    def nobody(self, hello=True, apart=True):
        """A process of a user without privilege; needs root, and a slot
        that is not kept for us: a NIC that cannot exchange the memory of a
        slot leaves it to the user that had it ("The end of a process")."""
        if os.geteuid():
            raise Skipped('needs root, to be another user')
        if hello and self._keeps():
            raise Skipped('slots are kept for one user here')
        return self.process(hello, uid=NOBODY, apart=apart)

    def _keeps(self):
        """True if a slot is kept for the user that had it; a process of ours
        finds out, before another user has one for ever."""
        if self.keeps is None:
            self.rig.process().close()
            self._slots_free()
        return self.keeps

    def admin(self):
        """A connection that may ask what only administrators may."""
        if not self.privileged:
            raise Skipped('needs privilege')
        return self.process(hello=False)

    def parameters(self, **members):
        """PARAMS, for this case."""
        self.changed.update((name, self.now[name]) for name in members)
        self.admin().must(Op.PARAMS, **members)

    def close(self):
        """Ends everything."""
        for process in self.open:
            process.close()
        self.rig.close()

    def after_case(self):
        """Ends the processes, and waits until their slots are free: what
        they held is there again for the next case."""
        if self.changed:
            self.admin().must(Op.PARAMS, **self.changed)
            self.changed = {}
        done, self.open = self.open, []
        for process in done:
            process.close()
        self.rig.check()
        if any(process.hello_reply for process in done):
            self._slots_free()

    def mend(self):
        """After a failure: the same, when the NIC serves again."""
        with self.rig.process(hello=False) as process:
            wait_for(lambda: process.info().nic_there == 2, self.patience)
        self.after_case()

    def _slots_free(self):
        """Waits until nobody has a slot. Where memory cannot be exchanged
        the slots are kept for us, which is as good."""
        with self.rig.process(hello=False) as process:
            if not self.keeps:
                self.keeps = not wait_for(
                    lambda: not process.info().slots_used, 2.0)
            wait_for(lambda: all(row['state'] == HELD
                                 for row in process.ps()), self.patience)


def refused(process, status, op, **members):
    """The request is answered with this status, and with nothing else: "if
    status is neither OK nor PENDING nothing happened, and the record behind
    the header is 0"."""
    reply = process.call(op, **members)
    same(f'{Op(op).name} {members}', reply.status.name, status.name)
    if op not in (Op.CONNECT, Op.ACCEPT, Op.NOTICE_ANSWER, Op.KIO):
        check(not any(reply.body), f'{reply.name} {status.name}: the record '
              f'behind the header is {reply.body.hex()}, not 0')
    return reply


def answered(process, data, op, seq, status):
    """These bytes are answered with this op, seq and status."""
    process.raw(data)
    reply = process.receive(2.0)
    same('op of the reply', reply.op, op)
    same('seq of the reply', reply.seq, seq)
    same(f'status of {data[:64].hex()}', reply.status.name, status.name)
    return reply


def gone(process, what):
    """The driver ends this connection without another message."""
    try:
        reply = process.receive(2.0)
    except Gone:
        return
    except Late:
        raise AssertionError(f'{what}: the connection is still there') \
            from None
    raise AssertionError(f'{what}: answered {reply.status.name}')


def upcall(process, kind, timeout=3.0, **members):
    """An upcall that must come."""
    found = process.upcall(kind, timeout, **members)
    check(found, f'no upcall {kind.name} {members or ""}')
    return found


def no_upcall(process, kind, seconds=0.05):
    """An upcall that must not come."""
    found = process.upcall(kind, seconds)
    check(not found, f'upcall {found}')


def hog(process, entries, pages=128):
    """Registers regions of `pages` pages until `entries` are held."""
    found = []
    while entries > 0:
        part = min(pages, entries)
        found.append(process.region(part * 4096))
        entries -= part
    return found


def free_entries(process):
    """Entries of the NIC that nobody holds, as USAGE says."""
    usage = process.must(Op.USAGE).usage
    return usage['limit'] - usage['used']


def pair(world, process, other=None, **more):
    """Two queue pairs of this host that are each other's peer."""
    other = other or process
    one, two = process.qp(), other.qp()
    rig = world.rig
    more.setdefault('vendor', 1)
    one.up(two.number, rig.ip, rig.mac, 100, 200, **more)
    two.up(one.number, rig.ip, rig.mac, 200, 100, **more)
    return one, two


def completion(queue, timeout=2.0, **fields):
    """The next record of a queue pair or completion queue."""
    found = queue.wait(1, timeout)
    check(found, 'no completion record')
    for name, value in fields.items():
        same(f'{name} of {found[0]}', int(getattr(found[0], name)),
             int(value))
    return found[0]


__all__ = ['Class', 'ControlWorld', 'NOBODY', 'Op', 'Qps', 'Reg', 'Rights',
           'Skipped', 'St', 'Up', 'answered', 'check', 'completion',
           'free_entries', 'gone', 'hog', 'no_upcall', 'pair', 'refused',
           'same', 'time', 'upcall', 'wait_for']
