# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Memory of a process at the control socket: frames, domains, regions that
are registered at once, forms, batches, tokens (SPEC "Registering memory",
"Memory", "Requests about regions", "Requests about tokens and queues")."""

import struct
import time

import records
from check import Suite
from control_world import (Op, Reg, Rights, St, Up, check, no_upcall,
                           refused, same, upcall)
from names import PAGE, TOKEN_MULTI, Residency
from process import Refused

suite = Suite()

VA = 0x7000001be000         # an address that no case allocates
CANCELLED, EXPIRED, TOKEN_EVICTED = 2, 3, 4         # enum unic_token_end
SUB, WINDOW1, WINDOW2, FAST, INDIRECT = 1, 2, 3, 4, 5


# frames

@suite.rows('FRAMES_ALLOC refused', {
    'va not aligned': ({'va': VA + 1, 'pages': 1}, St.INVALID),
    'va not aligned to 64 KiB': (
        {'va': VA + 4096, 'pages': 16, 'page_shift': 16}, St.INVALID),
    'pages no multiple of a run': (
        {'va': 1 << 40, 'pages': 15, 'page_shift': 16}, St.INVALID),
    'page size 8 KiB': ({'va': 1 << 40, 'pages': 2, 'page_shift': 13},
                        St.INVALID),
    'page size 0': ({'va': VA, 'pages': 1, 'page_shift': 0}, St.INVALID),
    'no pages': ({'va': VA, 'pages': 0}, St.INVALID),
    '1025 runs': ({'va': VA, 'pages': 1025}, St.INVALID),
    'va wraps': ({'va': (1 << 64) - 4096, 'pages': 2}, St.INVALID),
    '2^32 - 1 pages': ({'va': VA, 'pages': 0xffffffff}, St.INVALID)})
def frames_refused(world, members, status):
    """The range or the runs are not possible."""
    members.setdefault('page_shift', 12)
    refused(world.process(), status, Op.FRAMES_ALLOC, **members)


@suite.case('FRAMES_ALLOC')
def frames(world):
    """A page number for each run, of frames that are all different and lie
    behind the three pages of the slot; runs are aligned."""
    process = world.process()
    for shift, runs in ((12, 64), (16, 4), (21, 1)):
        reply = process.must(Op.FRAMES_ALLOC, va=VA & -(1 << 21),
                             pages=runs << shift - 12, page_shift=shift)
        pages = struct.unpack(f'<{runs}I', reply.tail)
        same('different', len(set(pages)), runs)
        check(min(pages) >= 3, 'a frame is one of the first three pages')
        check(not any(p % (1 << shift - 12) for p in pages), 'not aligned')
        limit = process.hello_reply.slot_bytes >> 12
        check(max(pages) + (1 << shift - 12) <= limit, 'behind the slot')
        usage = process.must(Op.USAGE)
        same('frames', usage.frames, runs << shift - 12)
        process.must(Op.FRAMES_FREE, va=VA & -(1 << 21),
                     pages=runs << shift - 12)


@suite.case('FRAMES_ALLOC: taken, too many')
def frames_taken(world):
    """IN_USE: the range overlaps what it has. NO_FRAMES: not that many."""
    process = world.process()
    process.must(Op.FRAMES_ALLOC, va=VA, pages=4, page_shift=12)
    for pages, at in ((4, 0), (1, 3), (2, -1)):
        refused(process, St.IN_USE, Op.FRAMES_ALLOC, va=VA + at * PAGE,
                pages=pages, page_shift=12)
    left = process.hello_reply.frames - 4
    at = VA + (1 << 32)
    while left:
        part = min(left, 1024)
        process.must(Op.FRAMES_ALLOC, va=at, pages=part, page_shift=12)
        left, at = left - part, at + part * PAGE
    refused(process, St.NO_FRAMES, Op.FRAMES_ALLOC, va=at, pages=1,
            page_shift=12)


@suite.case('FRAMES_FREE')
def frames_free(world):
    """Any sub-range of runs; NOT_MAPPED if a part is not there; BUSY while a
    region pins one; INVALID with a page size."""
    process = world.process()
    memory = process.frames(8 * PAGE)
    region = process.register(memory, 0, PAGE)
    refused(process, St.BUSY, Op.FRAMES_FREE, va=memory.va, pages=8)
    refused(process, St.INVALID, Op.FRAMES_FREE, va=memory.va, pages=8,
            page_shift=12)
    refused(process, St.NOT_MAPPED, Op.FRAMES_FREE, va=memory.va + 4 * PAGE,
            pages=5)
    process.must(Op.FRAMES_FREE, va=memory.va + 4 * PAGE, pages=2)
    refused(process, St.NOT_MAPPED, Op.FRAMES_FREE, va=memory.va + 4 * PAGE,
            pages=1)
    region.dereg(free=False)
    process.must(Op.FRAMES_FREE, va=memory.va, pages=4)
    same('frames left', process.must(Op.USAGE).frames, 2)


# domains

@suite.case('protection domains')
def domains(world):
    """BUSY while something is in it, NO_PD when it is gone; QUOTA above half
    of the NIC's table."""
    process = world.process()
    pd = process.pd()
    region = process.region(PAGE, pd=pd)
    refused(process, St.BUSY, Op.PD_FREE, id=pd)
    region.dereg()
    process.must(Op.PD_FREE, id=pd)
    refused(process, St.NO_PD, Op.PD_FREE, id=pd)
    have = 1                # the one of region()
    process.domain
    for _ in range((world.nic['pds'] + 1) // 2 - have):
        process.pd()
    refused(process, St.QUOTA, Op.PD_ALLOC)


# registration

@suite.rows('MR_REG refused', {
    'length 0': ({'length': 0}, St.INVALID),
    'iova and length wrap': ({'iova': (1 << 64) - 4096}, St.INVALID),
    'unknown right': ({'rights': 0x20}, St.INVALID),
    'REMOTE_WRITE without LOCAL_WRITE': ({'rights': 4}, St.INVALID),
    'class 3': ({'mr_class': 3}, St.INVALID),
    'flag 8': ({'flags': 8}, St.INVALID),
    'ASYNC without WAIT': ({'flags': 2}, St.INVALID),
    'RANDOM with an iova': ({'flags': 4, 'iova': 4096}, St.INVALID),
    'page size 8 KiB': ({'page_shift': 13}, St.INVALID),
    'residency 4': ({'residency': 4}, St.INVALID),
    'residency PHYSICAL': ({'residency': 3}, St.INVALID),
    'DEMAND of class control': ({'residency': 1, 'mr_class': 2},
                                St.INVALID),
    'no such domain': ({'pd': 0xffff}, St.NO_PD),
    'domain 0': ({'pd': 0}, St.NO_PD),
    'page behind the frames': ({'length': 3 * PAGE}, St.NOT_MAPPED),
    'no frames there': ({'va': VA, 'iova': VA}, St.NOT_MAPPED),
    'pages of 64 KiB of such of 4': ({'page_shift': 16}, St.NOT_ALIGNED),
    'pages of 2 MiB of such of 4': ({'page_shift': 21}, St.NOT_ALIGNED)})
def register_refused(world, members, status):
    """Nothing is registered: no region, and the frames are not pinned."""
    process = world.process()
    memory = process.frames(2 * PAGE)
    members = {'va': memory.va, 'length': 2 * PAGE, 'rights': 7,
               'pd': process.domain,
               'iova': 0 if members.get('flags', 0) & 4 else memory.va,
               **members}
    reply = refused(process, status, Op.MR_REG, **members)
    same('tail', reply.tail, b'')
    same('regions', process.resync().rows, [])
    memory.free()


@suite.case('MR_REG')
def register(world):
    """The STag ends in the key, the IOVA is the one that was asked for, an
    entry for each page."""
    process = world.process()
    memory = process.frames(16 * PAGE)
    region = process.register(memory, 100, 5000, key=0xab, flags=0,
                              iova=0x12345000 + 100, user=9)
    same('key', region.stag & 0xff, 0xab)
    same('iova', region.iova, 0x12345064)
    same('entries', region.entries, 2)
    same('page size', region.page_shift, 12)
    row = process.resync().rows[0]
    same('row', (row['id'], row['stag'], row['user'], row['entries'],
                 row['state']), (region.id, region.stag, 9, 2, 2))
    same('pinned', process.must(Op.USAGE).pinned, 2)
    region.dereg(free=False)
    same('pinned', process.must(Op.USAGE).pinned, 0)
    same('rows', process.resync().rows, [])
    refused(process, St.NO_MR, Op.MR_DEREG, id=region.id)


@suite.case('MR_REG with RANDOM')
def register_random(world):
    """The driver draws the IOVA; its remainder by the page is that of va,
    and it is another one each time, as the STag is."""
    process = world.process()
    memory = process.frames(2 * PAGE)
    seen = set()
    for _ in range(8):
        region = process.register(memory, 300, 4096)
        same('offset in the page', region.iova % PAGE, 300)
        seen.add((region.iova, region.stag))
        region.dereg(free=False)
    same('different', (len({i for i, _ in seen}), len({s for _, s in seen})),
         (8, 8))


@suite.case('large pages')
def large_pages(world):
    """page_shift 0 takes the largest page for which frames and IOVA are
    aligned; a smaller one may be asked for."""
    process = world.process()
    memory = process.frames(1 << 18, 16)
    for members, shift, entries in (
            ({'iova': memory.va}, 16, 4),
            ({'iova': memory.va, 'page_shift': 12}, 12, 64),
            ({'iova': (1 << 40) + PAGE}, 12, 64)):
        region = process.register(memory, 0, 1 << 18, flags=0, **members)
        same(f'{members}', (region.page_shift, region.entries),
             (shift, entries))
        region.dereg(free=False)


@suite.case('too large')
def too_large(world):
    """More entries than the table has: TOO_LARGE, also with WAIT, with the
    NIC's struct unic_cpl_usage behind it."""
    process = world.process()
    entries = world.nic['tlb_entries']
    memory = process.frames((entries + 1) * PAGE)
    for flags in (Reg.RANDOM, Reg.RANDOM | Reg.WAIT):
        reply = refused(process, St.TOO_LARGE, Op.MR_REG, va=memory.va,
                        length=memory.length, pd=process.domain, flags=flags)
        same('tail', len(reply.tail), 64)
        same('table', reply.usage['table'], 1)
        same('limit', reply.usage['limit'], entries)


@suite.case('table full')
def table_full(world):
    """Without WAIT: TLB_FULL at once, and the tail says who holds it."""
    process = world.process()
    entries = world.nic['tlb_entries']
    process.region(entries // 2 * PAGE)
    process.region(entries // 2 * PAGE)
    reply = refused(process, St.TLB_FULL, Op.MR_REG,
                    va=process.frames(PAGE).va, length=PAGE,
                    pd=process.domain, flags=Reg.RANDOM)
    usage = reply.usage
    same('usage', [usage[name] for name in (
        'table', 'used', 'limit', 'holding', 'top0', 'held0')],
        [1, entries, entries, entries, process.hello_reply.proc, entries])


@suite.case('quota')
def quota(world):
    """An administrator's quota: QUOTA above it, TOO_LARGE for what alone is
    more."""
    admin, process = world.admin(), world.process()
    admin.must(Op.POLICY, proc=process.hello_reply.proc, flags=1, quota=8)
    process.region(6 * PAGE)
    memory = process.frames(9 * PAGE)
    for length, status in ((3, St.QUOTA), (9, St.TOO_LARGE)):
        reply = refused(process, status, Op.MR_REG, va=memory.va,
                        length=length * PAGE, pd=process.domain,
                        flags=Reg.RANDOM)
        same('quota in the tail', reply.usage['quota'], 8)
    process.register(memory, 0, 2 * PAGE)


@suite.case('share of regions')
def share_of_regions(world):
    """A process has half of the region table, then QUOTA without a tail."""
    process = world.process()
    memory = process.frames(PAGE)
    record = records.request(Op.MR_REG, 1, va=memory.va, length=64,
                             pd=process.domain, flags=Reg.RANDOM)
    left = (world.nic['mrs'] + 1) // 2
    while left:
        part = min(left, 64)
        same('registered', process.must(Op.BATCH, tail=part * record,
                                        count=part).count, part)
        left -= part
    reply = refused(process, St.QUOTA, Op.MR_REG, va=memory.va, length=64,
                    pd=process.domain, flags=Reg.RANDOM)
    same('tail', reply.tail, b'')


@suite.case('cap of class control')
def control_cap(world):
    """Class control may have a quarter of the fair share: CTRL_CAP."""
    process = world.process()
    entries = world.nic['tlb_entries'] // 2
    memory = process.frames(entries * PAGE)
    reply = refused(process, St.CTRL_CAP, Op.MR_REG, va=memory.va,
                    length=memory.length, pd=process.domain, mr_class=2,
                    rights=1, flags=Reg.RANDOM)
    same('table', reply.usage['table'], 1)


@suite.case('residency DEMAND, TABLE')
def demand(world):
    """Both are active at once and hold no entry of the table."""
    process = world.process()
    used = process.must(Op.USAGE).usage['used']
    for residency in (Residency.DEMAND, Residency.TABLE):
        region = process.region(64 * PAGE, residency=residency)
        same('used', process.must(Op.USAGE).usage['used'], used)
        region.dereg()


@suite.rows('MR_ADVISE', {
    'needed': ({'length': PAGE, 'advice': 1}, St.OK),
    'not needed': ({'length': 4 * PAGE, 'advice': 2}, St.OK),
    'advice 0': ({'length': PAGE, 'advice': 0}, St.INVALID),
    'advice 3': ({'length': PAGE, 'advice': 3}, St.INVALID),
    'length 0': ({'length': 0, 'advice': 1}, St.INVALID),
    'behind the end': ({'length': PAGE, 'offset': 3 * PAGE + 1,
                        'advice': 1}, St.INVALID),
    'wraps': ({'length': 1 << 63, 'offset': 1 << 63, 'advice': 1},
              St.INVALID),
    'no region': ({'length': 1, 'advice': 1, 'id': 99}, St.NO_MR)})
def advise(world, members, status):
    """Of a DEMAND region and of a resident one."""
    process = world.process()
    for residency in (Residency.DEMAND, Residency.RESIDENT):
        region = process.region(4 * PAGE, residency=residency)
        reply = process.call(Op.MR_ADVISE, **{'id': region.id, **members})
        same('MR_ADVISE', reply.status.name, status.name)


# forms, batches

@suite.rows('MR_ALLOC refused', {
    'kind 0': ({'kind': 0},), 'kind 6': ({'kind': 6},),
    'window with n': ({'kind': WINDOW2, 'n': 1},),
    'window with a page size': ({'kind': WINDOW2, 'page_shift': 12},),
    'fast without a page size': ({'kind': FAST, 'n': 1},),
    'fast of 0 pages': ({'kind': FAST, 'page_shift': 12},),
    'fast of 257 pages': ({'kind': FAST, 'page_shift': 12, 'n': 257},),
    'indirect of 0': ({'kind': INDIRECT},),
    'indirect of 129': ({'kind': INDIRECT, 'n': 129},)})
def alloc_refused(world, members):
    """INVALID."""
    process = world.process()
    refused(process, St.INVALID, Op.MR_ALLOC, pd=process.domain, **members)


@suite.case('a window')
def window(world):
    """MR_ALLOC, MR_MAKE over a range of a region, again after MR_INVAL with
    another key, and its end with the region."""
    process = world.process()
    region = process.region(4 * PAGE, Rights.ALL | Rights.MW_BIND)
    form = process.must(Op.MR_ALLOC, pd=process.domain, kind=WINDOW2, key=1)
    same('key', form.stag & 0xff, 1)
    refused(process, St.STATE, Op.MR_INVAL, id=form.id)

    def make(**more):
        members = {'id': form.id, 'n': 1, 'rights': 6, 'key': 2,
                   'iova': region.iova, **more}
        return process.call(Op.MR_MAKE, tail=region.sge(0, PAGE), **members)
    same('unknown right', make(rights=0x26).status, St.INVALID)
    same('LOCAL_WRITE', make(rights=7).status, St.RIGHTS)
    same('n is not the tail', make(n=2).status, St.INVALID)
    same('strided', make(strided=2).status, St.INVALID)
    same('no form', make(id=region.id).status, St.STATE)
    same('nothing', make(id=99).status, St.NO_MR)
    made = make()
    same('MR_MAKE', made.status, St.OK)
    same('new key', made.stag & 0xff, 2)
    same('valid already', make().status, St.STATE)
    process.must(Op.MR_INVAL, id=form.id)
    same('again', make(key=3).stag & 0xff, 3)
    process.must(Op.MR_DEREG, id=form.id)
    region.dereg()


@suite.case('a form ends with its region')
def form_ends(world):
    """The region is released while a window is bound to it: the window gets
    an upcall EVICTED of its own."""
    process = world.process()
    region = process.region(4 * PAGE, Rights.ALL | Rights.MW_BIND)
    form = process.must(Op.MR_ALLOC, pd=process.domain, kind=WINDOW2,
                        user=55)
    process.must(Op.MR_MAKE, tail=region.sge(0, PAGE), id=form.id, n=1,
                 rights=2, iova=region.iova)
    region.dereg()
    same('user', upcall(process, Up.EVICTED, id=form.id).user, 55)
    process.must(Op.MR_DEREG, id=form.id)


@suite.case('MR_REREG')
def rereg(world):
    """Other rights, the same STag; refused when nothing or too much is to be
    changed, or when rsvd is not 0."""
    process = world.process()
    region = process.region(2 * PAGE)
    same('rights', process.must(Op.MR_REREG, id=region.id, what=1,
                                rights=1).stag, region.stag)
    for members, status in (
            ({'what': 0}, St.INVALID), ({'what': 16}, St.INVALID),
            ({'what': 9, 'rights': 1}, St.INVALID),
            ({'what': 1, 'rights': 1, 'importance': 1}, St.INVALID),
            ({'what': 1, 'rights': 4}, St.INVALID),
            ({'what': 1, 'rights': 0x10}, St.INVALID),
            ({'what': 2, 'pd': 99}, St.NO_PD),
            ({'what': 4, 'va': VA, 'iova': VA, 'length': 0}, St.INVALID),
            ({'what': 1, 'id': 99}, St.NO_MR)):
        refused(process, status, Op.MR_REREG, **{'id': region.id, **members})
    data = bytearray(records.request(Op.MR_REREG, 5, id=region.id, what=1))
    data[51] = 1
    process.raw(bytes(data))
    same('rsvd0', process.receive(2).status, St.INVALID)
    control = process.rings.region
    refused(process, St.INVALID, Op.MR_REREG, id=control.id, what=1,
            rights=1)
    demand_region = process.region(PAGE, residency=Residency.DEMAND)
    same('rights on demand', process.must(Op.MR_REREG, id=demand_region.id, what=1,
                                          rights=1).stag, demand_region.stag)
    refused(process, St.STATE, Op.MR_REREG, id=demand_region.id, what=4, va=VA, iova=VA,
            length=PAGE)


@suite.case('LIMITS_OF, TOO_FAST')
def limits(world):
    """Ten registrations in a second: two at once, then TOO_FAST, with the time to the
    next; another process has its own; ends of regions have no limit."""
    process, other = world.process(), world.process()
    admin, slot = world.process(hello=False), process.hello_reply.proc
    before = admin.must(Op.LIMITS_OF, proc=slot)
    told = admin.must(Op.LIMITS_OF, proc=slot, flags=2, limit1=10)
    same('limits', (told.limit0, told.limit1, told.limit2),
         (before.limit0, 10, before.limit2))
    for _ in range(2):
        refused(process, St.NO_MR, Op.MR_MAKE, id=99)
    reply = process.call(Op.MR_MAKE, id=99)
    same('status', reply.status, St.TOO_FAST)
    retry_us = int.from_bytes(reply.body[:4], 'little')
    check(0 < retry_us <= 100000, f'again after {retry_us} us')
    same('record', reply.body[4:48], bytes(44))
    refused(process, St.NO_MR, Op.MR_DEREG, id=99)
    refused(other, St.NO_MR, Op.MR_MAKE, id=99)
    time.sleep(retry_us / 1e6)
    refused(process, St.NO_MR, Op.MR_MAKE, id=99)
    for members in ({'flags': 8}, {'limit0': 1}, {'flags': 1, 'limit0': 1000001}):
        refused(admin, St.INVALID, Op.LIMITS_OF, proc=slot, **members)
    refused(admin, St.NO_PROC, Op.LIMITS_OF, proc=0xfffffffe)
    same('over', admin.must(Op.LIMITS_OF, proc=slot, flags=2).over1, 1)


@suite.case('MR_REREG HINT, OWN_POLICY')
def importance(world):
    """What matters to a process is its own to say: with policy `app` the
    less important of two regions is asked back, whichever it is."""
    process = world.process()
    for policy in (1, 2, 3, 0, 4):
        process.must(Op.OWN_POLICY, policy=policy)
    refused(process, St.INVALID, Op.OWN_POLICY, policy=1 << 16)
    regions = [process.region(PAGE), process.region(PAGE, residency=Residency.DEMAND)]
    for region in regions:
        for hint in (0, 255):
            same('stag', process.must(Op.MR_REREG, id=region.id, what=8,
                                      importance=hint).stag, region.stag)
    control = process.rings.region
    refused(process, St.INVALID, Op.MR_REREG, id=control.id, what=8)
    process.must(Op.MR_DEREG, id=regions[0].id)
    refused(process, St.NO_MR, Op.MR_REREG, id=regions[0].id, what=8)


@suite.case('BATCH')
def batch(world):
    """Each record has its own answer, in order; `count` says how many are
    OK. A record that does not belong there is BAD_OPCODE."""
    process = world.process()
    memory = process.frames(2 * PAGE)
    make = dict(va=memory.va, length=PAGE, pd=process.domain, rights=7,
                flags=Reg.RANDOM)
    old = process.register(memory, 0, PAGE)
    tail = b''.join((
        records.request(Op.MR_REG, 11, **make),
        records.request(Op.MR_DEREG, 12, id=old.id),
        records.request(Op.PD_ALLOC, 13),
        records.request(Op.MR_REG, 14, **{**make, 'length': 0}),
        records.request(Op.TOKEN_CANCEL, 15, id=99)))
    reply = process.call(Op.BATCH, tail=tail, count=5)
    same('BATCH', reply.status, St.OK)
    same('count', reply.count, 2)
    heads = [records.HEADER.unpack_from(reply.tail, 64 * n)[:3]
             for n in range(5)]
    same('answers', heads, [(8, 0, 11), (9, 0, 12), (4, St.BAD_OPCODE, 13),
                            (8, St.INVALID, 14), (17, St.NO_TOKEN, 15)])
    for count, length in ((0, 0), (5, 256), (65, 65 * 64), (1, 63)):
        refused(process, St.INVALID, Op.BATCH, count=count,
                tail=bytes(length))


# tokens

@suite.rows('TOKEN_ALLOC refused', {
    'length 0': ({'length': 0}, St.INVALID),
    'length 2^30 + 1': ({'length': (1 << 30) + 1}, St.INVALID),
    'behind the region': ({'length': 2 * PAGE + 1}, St.BOUNDS),
    'before the region': ({'iova': PAGE}, St.BOUNDS),
    'sender_qpn without sender_ipv4': ({'sender_qpn': 5}, St.INVALID),
    'sender_qpn of 25 bits': ({'sender_ipv4': 1, 'sender_qpn': 1 << 24},
                              St.INVALID),
    'unknown flag': ({'flags': 4}, St.INVALID),
    'no region': ({'mr': 99}, St.NO_MR),
    'a tail': ({'tail': bytes(16)}, St.INVALID)})
def token_refused(world, members, status):
    """No token is made."""
    process = world.process()
    region = process.region(2 * PAGE)
    refused(process, status, Op.TOKEN_ALLOC, **{
        'mr': region.id, 'iova': region.iova, 'length': PAGE, **members})


@suite.case('TOKEN_ALLOC without LOCAL_WRITE')
def token_rights(world):
    """The region needs LOCAL_WRITE, else RIGHTS."""
    process = world.process()
    region = process.region(PAGE, Rights.REMOTE_READ)
    refused(process, St.RIGHTS, Op.TOKEN_ALLOC, mr=region.id,
            iova=region.iova, length=1)


@suite.case('TOKEN_CANCEL')
def token_cancel(world):
    """The answer says how it ended; then NO_TOKEN. No upcall tells of it."""
    process = world.process()
    region = process.region(PAGE)
    token = process.token_alloc(region)
    again = process.token_alloc(region, flags=TOKEN_MULTI)
    check(token.key != again.key and token.index != again.index,
          'two tokens are alike')
    reply = process.token_cancel(token.id)
    same('end', (reply.end, reply.placed, reply.key), (CANCELLED, 0, 0))
    refused(process, St.NO_TOKEN, Op.TOKEN_CANCEL, id=token.id)
    no_upcall(process, Up.TOKEN_END)


@suite.case('a token expires')
def token_expires(world):
    """When ttl_us are over: upcall TOKEN_END with EXPIRED, not early."""
    process = world.process()
    region = process.region(PAGE)
    begin = time.monotonic()
    token = process.token_alloc(region, ttl_us=30000, user=3)
    told = upcall(process, Up.TOKEN_END, id=token.id)
    check(time.monotonic() - begin >= 0.03, 'early')
    same('TOKEN_END', (told.end, told.index, told.user, told.placed),
         (EXPIRED, token.index, 3, 0))
    refused(process, St.NO_TOKEN, Op.TOKEN_CANCEL, id=token.id)


@suite.case('a token ends with its region')
def token_ends(world):
    """The owner gives the region back: TOKEN_END, once."""
    process = world.process()
    region = process.region(PAGE)
    token = process.token_alloc(region)
    region.dereg()
    told = upcall(process, Up.TOKEN_END, id=token.id)
    same('end', told.end, TOKEN_EVICTED)
    no_upcall(process, Up.TOKEN_END)


# objects of others

@suite.case('ids of another process')
def ids_of_others(world):
    """Answered as one that does not exist, whatever is asked of it."""
    one, two = world.process(), world.process()
    region, other = one.region(PAGE), two.region(PAGE)
    qp, token = one.qp(), one.token_alloc(region)
    listener = one.listen(0x7065657200000002)
    control, cq = one.rings.region, qp.send_cq
    own = two.qp()
    for status, op, members in (
            (St.NO_PD, Op.PD_FREE, {'id': one.domain}),
            (St.NO_MR, Op.MR_DEREG, {'id': region.id}),
            (St.NO_MR, Op.NOTICE_ANSWER, {'id': region.id, 'answer': 1}),
            (St.NO_MR, Op.MR_INVAL, {'id': region.id}),
            (St.NO_TOKEN, Op.TOKEN_CANCEL, {'id': token.id}),
            (St.NO_CQ, Op.CQ_DESTROY, {'id': cq.id}),
            (St.NO_QP, Op.QP_DESTROY, {'id': qp.id}),
            (St.NO_QP, Op.QP_QUERY, {'id': qp.id}),
            (St.NO_QP, Op.QP_MODIFY, {'id': qp.id, 'state': 1}),
            (St.NO_QP, Op.CONNECT, {'qp': qp.id, 'ipv4': world.rig.ip}),
            (St.NO_CONN, Op.UNLISTEN, {'id': listener}),
            (St.NO_CONN, Op.CONN_QUERY, {'id': listener}),
            (St.NO_CONN, Op.DISCONNECT, {'id': listener}),
            (St.NO_MR, Op.TOKEN_ALLOC, {'mr': region.id, 'length': 1}),
            (St.NO_MR, Op.CQ_CREATE, {'mr': control.id, 'entries': 2}),
            (St.NO_PD, Op.MR_REG, {'pd': one.domain, 'length': 64,
                                   'va': other.memory.va}),
            (St.NO_CQ, Op.QP_CREATE, {
                'mr': own.control.id, 'send_cq': cq.id, 'recv_cq': cq.id,
                'sq_slots': 2, 'rq_slots': 2, 'pd': two.domain,
                'sq_iova': own.control.iova, 'db_index': 9,
                'rq_iova': own.control.iova})):
        refused(two, status, op, **members)
    for kind, status in ((Op.MR_DEREG, St.NO_MR), (Op.QP_QUERY, St.NO_QP),
                         (Op.CQ_DESTROY, St.NO_CQ), (Op.PD_FREE, St.NO_PD)):
        refused(one, status, kind, id=listener)
    try:
        qp.query()
    except Refused as refusal:
        raise AssertionError('the other process changed something') \
            from refusal

