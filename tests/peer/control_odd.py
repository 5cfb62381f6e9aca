# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Odd requests: what SPEC "Connection", "Requests", "HELLO and the slot" and
"Versions" say of messages that are not as they should be."""

import struct

import records
from check import Skipped, Suite
from control_world import (Op, St, Up, answered, check, gone, refused, same,
                           wait_for)
from process import Gone, Refused

suite = Suite()

SERVICE = 0x7065657200000001

UNKNOWN = (0, 6, 7, 15, 18, 19, 27, 47, 56, 63, 74, 79, 88,
           0x7fff, 0xffff)
PRIVILEGED = (Op.DUMP, Op.TRACE, Op.CRASH, Op.FAULT, Op.PARAMS, Op.POLICY,
              Op.EVICT, Op.TRACE_MASK, Op.RATE, Op.LIMITS_OF, Op.RESET)
FREE = (Op.INFO, Op.STATS, Op.PS, Op.USES, Op.NICS, Op.SELECT, Op.HELLO,
        *PRIVILEGED)
NEED_HELLO = tuple(op for op in records.REQUESTS if op not in FREE)
# Their rsvd in front of the last ones is looked at with what they name.
BETWEEN = (Op.MR_MAKE, Op.MR_REREG)


def header(op, status=0, seq=77, epoch=0, tail_bytes=0):
    """A header of any kind."""
    return records.HEADER.pack(op, status, seq, epoch, tail_bytes)


def whole(op, **members):
    """A record with this header; all else is 0 but the version of HELLO."""
    version = bytes([1]) if op == Op.HELLO else b''
    return (header(op, **members) + version).ljust(64, b'\0')


@suite.rows('short record', {f'{n} bytes': (n,) for n in (1, 4, 15)})
def short_record(world, length):
    """Fewer than 16 bytes: the connection ends."""
    process = world.process(hello=False)
    process.raw(header(Op.INFO)[:length])
    gone(process, f'{length} bytes')


@suite.rows('cut record', {f'{n} bytes': (n,) for n in (16, 17, 63)})
def cut_record(world, length):
    """16 to 63 bytes: INVALID, and the connection goes on."""
    process = world.process(hello=False)
    answered(process, header(Op.INFO).ljust(64, b'\0')[:length], Op.INFO, 77,
             St.INVALID)
    process.info()


@suite.case('unknown operations')
def unknown_operations(world):
    """BAD_OPCODE, by the number alone: also of a record that is too short,
    has a status, a wrong tail and bytes that are not 0."""
    process = world.process(hello=False)
    for op in UNKNOWN:
        answered(process, header(op).ljust(64, b'\0'), op, 77, St.BAD_OPCODE)
        answered(process, header(op), op, 77, St.BAD_OPCODE)
        answered(process, header(op, 5, 78, 9, 1000).ljust(64, b'\1'), op,
                 78, St.BAD_OPCODE)


@suite.case('status is not 0')
def status_set(world):
    """INVALID, also before NO_HELLO."""
    process = world.process(hello=False)
    for op in records.REQUESTS:
        answered(process, whole(op, status=1), op, 77, St.INVALID)


@suite.case('a byte behind the last member is not 0')
def reserved_set(world):
    """INVALID: the last byte of each record that has one to spare, without
    HELLO; with HELLO, each byte behind the members."""
    spare = {op: layout.end for op, layout in records.REQUESTS.items()
             if layout.end < 64}
    all_reserved(world.process(hello=False), [(op, 63) for op in spare])
    all_reserved(world.process(), [
        (op, at) for op, end in spare.items() if op not in BETWEEN
        for at in range(end, 64)])


def all_reserved(process, places):
    """As reserved(), of many, 16 at a time."""
    for first in range(0, len(places), 16):
        some = places[first:first + 16]
        for seq, (op, at) in enumerate(some):
            process.raw(odd_byte(op, at, seq))
        for _ in some:
            reply = process.receive(5.0)
            op, at = some[reply.seq]
            same(f'{op.name}, byte {at}', (reply.op, reply.status),
                 (op, St.INVALID))
            check(not any(reply.body), f'{reply.name}: body is not 0')


@suite.rows('rsvd between named fields, no HELLO', {
    'FRAMES_ALLOC byte 29': (Op.FRAMES_ALLOC, 29),
    'MR_MAKE byte 39': (Op.MR_MAKE, 39),
    'MR_REREG byte 51': (Op.MR_REREG, 51)})
def reserved_between(world, op, at):
    """NO_HELLO: the operation looks at it, later."""
    answered(world.process(hello=False), odd_byte(op, at, 77), op, 77,
             St.NO_HELLO)


def odd_byte(op, at, seq):
    """A request of which one byte is not 0."""
    data = bytearray(whole(op, seq=seq))
    data[at] = 1
    return bytes(data)


def reserved(process, op, at):
    """One byte that is not 0: INVALID."""
    answered(process, odd_byte(op, at, 77), op, 77, St.INVALID)


@suite.rows('wrong tail', {
    'said, not there': (Op.INFO, 8, 0),
    'there, not said': (Op.INFO, 0, 8),
    'longer than said': (Op.CONNECT, 4, 8),
    'shorter than said': (Op.CONNECT, 8, 4),
    'of a request without one': (Op.PD_ALLOC, 4, 4),
    'private data of 57 bytes': (Op.CONNECT, 57, 57),
    'private data of 57 bytes (ACCEPT)': (Op.ACCEPT, 57, 57),
    'private data of 57 bytes (REJECT)': (Op.REJECT, 57, 57),
    'private data of 57 bytes (DISCONNECT)': (Op.DISCONNECT, 57, 57),
    'batch of 4097 bytes': (Op.BATCH, 4097, 4097),
    'list of 4097 bytes': (Op.MR_MAKE, 4097, 4097),
    'more than 8192 bytes in all': (Op.BATCH, 8192, 8192),
    '2^32 - 1 said': (Op.BATCH, 0xffffffff, 64)})
def wrong_tail(world, op, said, there):
    """INVALID, before NO_HELLO."""
    process = world.process(hello=False)
    data = header(op, tail_bytes=said).ljust(64, b'\0') + bytes(there)
    answered(process, data, op, 77, St.INVALID)
    process.info()


@suite.case('seq and op come back')
def echo(world):
    """Each reply has op and seq of its request, whatever that is."""
    process = world.process(hello=False)
    for seq in (0, 1, 0x80000000, 0xffffffff):
        data = records.request(Op.INFO, seq)
        reply = answered(process, data, Op.INFO, seq, St.OK)
        same('tail_bytes', reply.tail_bytes, len(reply.tail))
    for seq in (5, 5):      # the same one twice is no error
        process.raw(records.request(Op.INFO, seq))
    same('two replies', [process.receive(2).seq for _ in range(2)], [5, 5])


@suite.case('HELLO first')
def no_hello(world):
    """Each request that needs HELLO: NO_HELLO without it. The record is
    good else, so all checks before it pass."""
    process = world.process(hello=False)
    for op in NEED_HELLO:
        refused(process, St.NO_HELLO, op)


@suite.case('what anybody may ask')
def anybody(world):
    """INFO, STATS, PS and USES need neither HELLO nor privilege. Rows of
    USES of others are 0."""
    process = world.nobody(False, False)
    for op in (Op.INFO, Op.STATS, Op.PS):
        process.must(op)
    reply = process.call(Op.USES, first=0, count=4)
    check(reply.status in (St.OK, St.UNSUPPORTED), f'USES: {reply.status}')
    check(not any(reply.tail), 'USES shows rows of others')


def row_of_ours(process, world):
    """The row of NICS of the NIC under test."""
    reply = process.must(Op.NICS)
    rows = records.rows(records.NIC_ROW, 32, reply.tail)
    same('rows', (len(rows), len(reply.tail)), (reply.nics, 32 * reply.nics))
    same('FEAT_NICS', reply.features & 1, 1)
    numbers = [row['number'] for row in rows]
    same('numbers', numbers, sorted(set(numbers)))
    mine = rows[numbers.index(reply.mine)]
    same('address', mine['ipv4'], world.rig.ip)
    check(not mine['name'][:1].isdigit(), 'a name that is a number')
    return mine


@suite.case('NICS and SELECT')
def select(world):
    """A connection chooses its NIC by number or by name, once."""
    with world.process(hello=False) as process:
        row = row_of_ours(process, world)
        number, name = row['number'], row['name']
        refused(process, St.NO_SUCH_NIC, Op.SELECT, number=number + 16)
        refused(process, St.NO_SUCH_NIC, Op.SELECT, name=b'no such')
        refused(process, St.INVALID, Op.SELECT, number=number + 1, name=b'a')
        reply = process.must(Op.SELECT, number=number)
        same('SELECT', (reply.number, reply.nic), (number, name))
        if name.strip(b'\0'):
            same('by name', process.must(Op.SELECT, name=name).number, number)
        process.hello()
        process.must(Op.SELECT, number=number)
        same('NICS after HELLO', row_of_ours(process, world), row)


@suite.case('rows of USES')
def uses(world):
    """An administrator sees the row of any region; another its own, and 0 in
    the place of others."""
    admin, other = world.admin(), world.nobody()
    regions = [world.process().region(8192), other.region(8192)]

    def row_of(process, region):
        """Its place in the table; None: no row has its STag."""
        for first in range(0, process.call(Op.USES, count=1).mrs, 128):
            tail = process.must(Op.USES, first=first, count=128).tail
            stags = [row[0] for row in struct.iter_unpack('<28xI', tail)]
            if region.stag in stags:
                return first + stags.index(region.stag)
        return None

    if admin.call(Op.USES, first=0, count=1).status == St.UNSUPPORTED:
        raise Skipped('the NIC shows none')
    check(wait_for(lambda: None not in [row_of(admin, r) for r in regions],
                   5.0), 'no row')
    check(wait_for(lambda: row_of(other, regions[1]) is not None, 5.0),
          'no row of its own')
    same('STag of another', row_of(other, regions[0]), None)
    at = row_of(admin, regions[0])
    same('row of another', other.must(Op.USES, first=at, count=1).tail,
         bytes(32))


@suite.case('permission')
def permission(world):
    """What only root or the driver's user may: PERMISSION for another, also
    where the request has faults that are looked at later."""
    process = world.nobody(False, False)
    for op in PRIVILEGED:
        refused(process, St.PERMISSION, op)
    reply = process.call(Op.HELLO, version=1, weight=2)
    same('weight 2', reply.status, St.PERMISSION)


@suite.case('CLAIM is of the driver alone')
def claim_of_others(world):
    """PERMISSION, also to root."""
    process = world.process()
    refused(process, St.PERMISSION, Op.CLAIM, entries=1)


@suite.case('INVALID goes before PERMISSION')
def invalid_before_permission(world):
    """Step 3 before step 5 of the driver's checks."""
    process = world.nobody(False, False)
    for op in PRIVILEGED:
        answered(process, header(op, 1).ljust(64, b'\0'), op, 77, St.INVALID)


@suite.case('epoch')
def epoch(world):
    """0 or the NIC's: taken. Another: STALE_EPOCH, before what the operation
    itself looks at; not of requests that need no HELLO."""
    process = world.process()
    now = process.hello_reply.epoch
    check(now, 'epoch of the reply is 0')
    same('own epoch', process.call(Op.PD_ALLOC, epoch=now).status, St.OK)
    same('no epoch', process.call(Op.PD_ALLOC, epoch=0).status, St.OK)
    for wrong in (now + 1 & 0xffffffff, now - 1, 0xffffffff):
        refused(process, St.STALE_EPOCH, Op.PD_ALLOC, epoch=wrong)
        refused(process, St.STALE_EPOCH, Op.MR_DEREG, epoch=wrong, id=99)
    same('INFO', process.call(Op.INFO, epoch=now + 1).status, St.OK)


@suite.rows('HELLO of version', {str(n): (n,) for n in (0, 2, 0xffffffff)})
def hello_version(world, version):
    """VERSION with the driver's, whatever the rest holds; no slot. HELLO of that
    version is taken."""
    process = world.process(hello=False)
    for members in ({}, {'flags': 1 << 31, 'policy': 99, 'weight': 65536}):
        reply = process.call(Op.HELLO, version=version, **members)
        same('status', reply.status, St.VERSION)
        same('record', reply.body[:48], bytes([1]).ljust(48, b'\0'))
        same('descriptors', len(reply.fds), 0)
    refused(process, St.NO_HELLO, Op.PD_ALLOC)
    process.hello()


@suite.rows('HELLO refused', {
    'flag 4': ({'flags': 4},), 'flag 2^31': ({'flags': 1 << 31},),
    'policy 99': ({'policy': 99},),
    'slot without RESUME': ({'slot': 1},),
    'weight 65536': ({'weight': 65536},)})
def hello_refused(world, members):
    """INVALID, and the connection has no slot then."""
    process = world.process(hello=False)
    refused(process, St.INVALID, Op.HELLO, **{'version': 1, **members})
    refused(process, St.NO_HELLO, Op.PD_ALLOC)
    process.hello()


@suite.case('HELLO is answered')
def hello(world):
    """The reply says what INFO says; four descriptors come along."""
    process = world.process()
    reply, info = process.hello_reply, process.info()
    same('descriptors', len(reply.fds), 4)
    for name in ('grace_us', 'deliver_us', 'ipv4'):
        same(name, getattr(reply, name), info.now[name])
    now = info.now
    same('B', reply.bound_us, sum(now[name] for name in (
        'deliver_us', 'grace_us', 'reaper_us', 'drain_us')))
    same('entries', reply.tlb_entries, info.nic['tlb_entries'])
    same('path_mtu', reply.path_mtu, info.nic['path_mtu'])
    same('frames', reply.frames, reply.slot_bytes // 4096 - 3)
    same('host_id', reply.host_id, info.host_id)
    same('epoch', reply.epoch, now['boot_epoch'])
    same('resumed', reply.resumed, 0)
    same('descriptors of another reply', process.info().fds, [])


@suite.case('a new slot')
def new_slot(world):
    """Zeros but for `entries` of the upcall ring, and what the NIC says in
    its page."""
    process = world.process()
    slot = process.slot
    check(not any(slot.pages.view()[:4096]), 'the doorbell page is not 0')
    same('entries', slot.upcalls[1], 63)
    same('next', slot.upcalls[0], 0)
    same('epoch of the NIC page', slot.epoch[0], process.hello_reply.epoch)
    memory = process.frames(1 << 20)
    check(not any(memory.view), 'frames are not 0')


@suite.case('HELLO again')
def hello_again(world):
    """The same slot with descriptors of the same files; nothing changes."""
    process = world.process()
    region = process.region(8192)
    region.fill(b'here')
    first = process.hello_reply
    again = process.hello(weight=1)
    for name in ('proc', 'slot_at', 'slot_bytes', 'host_id', 'epoch'):
        same(name, getattr(again, name), getattr(first, name))
    same('region', process.resync().rows[0]['id'], region.id)
    same('memory', region.bytes(0, 4), b'here')
    same('another version', process.call(Op.HELLO, version=2).status,
         St.VERSION)
    region.dereg()


@suite.case('a slot for each connection')
def two_slots(world):
    """Two connections have two slots; ids are unique on the host."""
    one, two = world.process(), world.process()
    check(one.hello_reply.proc != two.hello_reply.proc, 'the same slot')
    ids = [p.pd() for p in (one, two, one, two)]
    same('different ids', len(set(ids)), 4)


@suite.case('one slot without privilege')
def one_slot(world):
    """A process without privilege has one live slot: NO_SLOT for another
    connection of it. Another process of that user gets one."""
    process = world.nobody()
    world.nobody().close()
    same('weight 1', process.call(Op.HELLO, version=1, weight=1).status,
         St.OK)


@suite.case('slots for one user')
def user_slots(world):
    """A user without privilege has all but a quarter of the slots; then
    NO_SLOT, and an administrator still gets one."""
    slots = world.process(hello=False).info().slots
    taken = [world.nobody() for _ in range(slots - slots // 4)]
    late = world.nobody(hello=False)
    refused(late, St.NO_SLOT, Op.HELLO, version=1)
    world.process()
    for process in taken:
        process.close()
    check(wait_for(lambda: late.call(Op.HELLO, version=1).status == St.OK,
                   3.0), 'no slot comes free')


@suite.case('no slot left')
def no_slot(world):
    """All slots taken: NO_SLOT; when one is given back it comes free, after a
    moment in which its memory may be exchanged."""
    def taken():
        process = world.process(hello=False)
        check(wait_for(lambda: said_hello(process), 3.0), 'no slot is free')
        return process

    slots = world.process(hello=False).info().slots
    first = [taken() for _ in range(slots)][0]
    late = world.process(hello=False)
    refused(late, St.NO_SLOT, Op.HELLO, version=1)
    first.close()
    check(wait_for(lambda: said_hello(late), 3.0), 'no slot comes free')
    same('frames are 0', any(late.frames(65536).view), False)


def said_hello(process):
    """The reply to HELLO, or None: it was refused."""
    try:
        return process.hello()
    except Refused:
        return None


@suite.case('RESUME of nothing')
def resume_nothing(world):
    """RESUME of a slot that is not there: another slot, `resumed` 0."""
    process = world.process(hello=False)
    reply = process.hello(flags=3, slot=5)
    same('resumed', reply.resumed, 0)


def open_many(world, make, most):
    """Connects until one is turned away: how many were not."""
    for count in range(most + 1):
        process = make()
        try:
            process.info()
        except (Gone, OSError):
            return count
    return most + 1


@suite.case('32 connections of a user')
def many_of_user(world):
    """The 33rd connection of a user without privilege is closed without a
    message; others are served."""
    check(open_many(world, lambda: world.nobody(False, False), 33) == 32,
          'not 32 connections of a user')
    world.process()


@suite.case('128 connections')
def many(world):
    """The 129th connection is closed without a message."""
    same('connections', open_many(
        world, lambda: world.process(False), 130), 128)


@suite.case('32 requests without reply')
def too_many(world):
    """CONNECTs that a listener lets wait: the 33rd request is TOO_MANY, one
    that gives something back is taken, and INVALID goes before it."""
    process, other = world.process(), world.process()
    if world.nic['qps'] < 64:
        raise Skipped('too few queue pairs')
    other.listen(SERVICE)
    queue = process.cq(64)
    pairs = [process.qp(send_cq=queue, sq_slots=2, rq_slots=2)
             for _ in range(32)]
    waiting = [process.connect_later(SERVICE, world.rig.ip, qp)
               for qp in pairs]
    for _ in pairs:
        check(other.upcall(Up.CONN_REQUEST), 'no CONN_REQUEST')
    for op in (Op.PD_ALLOC, Op.INFO, Op.TOKEN_CANCEL, Op.RESET):
        refused(process, St.TOO_MANY, op)
    refused(process, St.TOO_MANY, Op.HELLO, version=1)
    refused(process, St.NO_MR, Op.MR_DEREG, id=1)
    refused(process, St.NO_WAIT, Op.WAIT_CANCEL, wait_seq=1)
    refused(process, St.NO_MR, Op.NOTICE_ANSWER, id=1, answer=1)
    refused(process, St.NO_CONN, Op.INVALIDATED, conn=1, kind=1)
    answered(process, header(Op.INFO, 1).ljust(64, b'\0'), Op.INFO, 77,
             St.INVALID)
    other.close()
    for seq in waiting:
        reply = process.wait(seq, 5)
        same('the listener ends', (reply.status, reply.reason),
             (St.REJECTED, 28))
    process.pd()


@suite.case('20 CONNECTs to one host that is not there')
def connect_crowd(world):
    """UNREACHABLE; BUSY beyond 16, as each asks by ARP for itself."""
    process = world.process()
    queue = process.cq(64)
    nobody = world.rig.ip ^ 0x7f
    waiting = [process.connect_later(SERVICE, nobody, process.qp(
        send_cq=queue, sq_slots=2, rq_slots=2)) for _ in range(20)]
    found = [process.wait(seq, 5).status.name for seq in waiting]
    same('CONNECT', found, 16 * ['UNREACHABLE'] + 4 * ['BUSY'])


@suite.rows('admin refused', {
    'DUMP table 0': (Op.DUMP, {'table': 0}),
    'DUMP table 9': (Op.DUMP, {'table': 9}),
    'DUMP behind histograms': (Op.DUMP, {'table': 8, 'first': 6}),
    'DUMP of elements': (Op.DUMP, {'table': 16}),
    'DUMP behind the end': (Op.DUMP, {'table': 4, 'first': 1 << 20}),
    'FAULT 0': (Op.FAULT, {'fault': 0}),
    'FAULT 99': (Op.FAULT, {'fault': 99}),
    'TRACE_MASK with a fault': (Op.TRACE_MASK, {'fault': 1}),
    'PARAMS grace too long': (Op.PARAMS, {'grace_us': 10_000_001}),
    'PARAMS reaper too short': (Op.PARAMS, {'reaper_us': 99}),
    'PARAMS watermark without flag': (Op.PARAMS, {'low_entries': 1}),
    'PARAMS idle too short': (Op.PARAMS, {'idle_us': 999}),
    'PARAMS idle too long': (Op.PARAMS, {'idle_us': 10**9 + 1}),
    'PARAMS too much pain': (Op.PARAMS, {'pain_pct': 401}),
    'PARAMS unknown flag': (Op.PARAMS, {'flags': 1 << 31}),
    'USES of none': (Op.USES, {'count': 0}),
    'USES of 129': (Op.USES, {'count': 129})})
def admin_invalid(world, op, members):
    """INVALID, and nothing is changed."""
    refused(world.admin(), St.INVALID, op, **members)


@suite.case('POLICY refused')
def policy_refused(world):
    """NO_PROC of a slot that is not live; INVALID of a value."""
    admin = world.admin()
    refused(admin, St.NO_PROC, Op.POLICY, proc=4, weight=1)
    proc = world.process().hello_reply.proc
    refused(admin, St.INVALID, Op.POLICY, proc=proc, weight=65536)
    refused(admin, St.INVALID, Op.POLICY, proc=proc, flags=4)
    refused(admin, St.INVALID, Op.POLICY, proc=proc, flags=2, policy=99)
    refused(admin, St.INVALID, Op.POLICY, proc=proc, flags=1, quota=1 << 30)
    same('good', admin.call(Op.POLICY, proc=proc, flags=3, policy=2,
                            quota=100, weight=3).status, St.OK)


@suite.case('CRASH of a NIC that has not')
def crash_none(world):
    """NONE: there is no crash record."""
    refused(world.admin(), St.NONE, Op.CRASH)


@suite.case('DUMP of histograms')
def histograms(world):
    """Three of 24 buckets, twelve in a row, by one request."""
    reply = world.admin().call(Op.DUMP, table=8)
    if reply.status == St.INVALID:
        raise Skipped('the NIC keeps no histograms')
    same('reply', (reply.status, reply.rows, reply.next), (St.OK, 6, 0))
    rows = [struct.unpack('<16I', reply.tail[i:i + 64]) for i in range(0, 384, 64)]
    same('rows', [row[:4] for row in rows],
         [(n, first, 0, 0) for n in range(3) for first in (0, 12)])


@suite.case('DUMP, TRACE, PS, STATS')
def shows(world):
    """Tails are as long as the counts in the record say."""
    admin, process = world.admin(), world.process()
    reply = admin.must(Op.DUMP, table=6)
    same('rows of DUMP', len(reply.tail), 64 * reply.rows)
    reply = admin.must(Op.PS)
    same('rows of PS', len(reply.tail), 104 * reply.procs)
    row = [r for r in admin.ps()
           if r['proc'] == process.hello_reply.proc][0]
    same('name', row['name'].rstrip(b'\0'), b'peer')
    same('state', row['state'], 2)
    reply = admin.must(Op.PS, what=1)
    same('rows of PS, graces', len(reply.tail), 16 * reply.procs)
    refused(admin, St.INVALID, Op.PS, what=2)
    reply = admin.must(Op.STATS)
    same('counters', len(reply.tail), 8 * reply.counters)
    reply = admin.must(Op.TRACE)
    same('trace', len(reply.tail), 32 * reply.records)
