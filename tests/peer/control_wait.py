# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Waiting for entries and being asked for them: SPEC "Registering memory", "A
notice that nobody answers", "Answers to a notice", "Upcalls"."""

import time

import records
from check import Suite
from control_world import (Class, Op, Reg, St, Up, check, hog, no_upcall,
                           refused, same, upcall, wait_for)
from names import PAGE, Answer, Refusal, Residency, Why

suite = Suite()

DEADLINE, TOMBSTONE = 2, 4              # UNIC_EVICTED_*
WAITING, ACTIVE, NOTIFIED, EVICTED = 1, 2, 3, 4     # unic_ctl_region_state
PAGES = 128                             # of each region of a hog
# Somebody waits who is below its share: SPEC names one or the other reason.
ASKED = (Why.WAITER, Why.FAIR_SHARE)
LONG_US = 1_000_000                     # a grace in which a wait stays one


def full_table(world):
    """A hog that holds every entry, and a process that has none."""
    greedy, meek = world.process(), world.process()
    regions = hog(greedy, world.nic['tlb_entries'], PAGES)
    return greedy, meek, regions


def ask(process, pages=16, **more):
    """MR_REG with WAIT of some pages: the seq and the frames."""
    memory = process.frames(pages * PAGE)
    return process.register_later(memory, memory.length, **more), memory


def noticed(world, process, region, grace_us=LONG_US):
    """An administrator asks the region back: the upcall NOTICE. The grace is
    so long that the case is done before it ends."""
    world.parameters(grace_us=grace_us)
    world.admin().evict(region.id)
    return upcall(process, Up.NOTICE, id=region.id)


def row_of(process, region_id):
    """The row of RESYNC about a region, or None."""
    for row in process.resync().rows:
        if row['id'] == region_id:
            return row
    return None


def bound_s(process):
    """B in seconds, with what a busy machine may add to it."""
    return 3 * process.hello_reply.bound_us / 1e6


# waiting

@suite.case('WAIT with room')
def wait_with_room(world):
    """Answered OK at once; nobody is asked."""
    process = world.process()
    seq, memory = ask(process, user=4)
    region = process.granted(seq, memory, memory.length)
    same('entries', region.entries, 16)
    check(region.stag and region.iova, 'no STag or IOVA')
    no_upcall(process, Up.GRANTED, 0.02)


@suite.case('WAIT, and a hog that releases')
def wait_release(world):
    """NOTICE to who borrowed, RELEASE, and the request is answered OK. The
    region that was released leaves nothing: no upcall, NO_MR."""
    world.parameters(grace_us=LONG_US)
    greedy, meek, _ = full_table(world)
    begin = time.monotonic_ns()
    seq, memory = ask(meek)
    notice = upcall(greedy, Up.NOTICE)
    now = time.monotonic_ns()
    check(notice.reason in ASKED, f'reason {notice.reason}')
    same('entries', notice.entries, PAGES)
    same('grace', notice.grace_us, LONG_US)
    check(begin < notice.deadline_ns <= now
          + 1000 * (notice.grace_us + greedy.hello_reply.deliver_us),
          'deadline_ns is not within H + T')
    row = row_of(greedy, notice.id)
    same('RESYNC', (row['state'], row['notice_seq'], row['stag']),
         (NOTIFIED, notice.notice_seq, notice.stag))
    check(abs(row['deadline_ns'] - notice.deadline_ns) < 10 ** 9, 'deadline')
    greedy.release(notice)
    region = meek.granted(seq, memory, memory.length)
    check(region.waited_us > 0, 'waited_us is 0')
    refused(greedy, St.NO_MR, Op.MR_DEREG, id=notice.id)
    no_upcall(greedy, Up.EVICTED)


@suite.case('WAIT, and a hog that says nothing')
def wait_deadline(world):
    """The region is taken when T is over, not before: EVICTED with DEADLINE
    and TOMBSTONE. Its row stays until MR_DEREG. The wait is B at most."""
    greedy, meek, _ = full_table(world)
    begin = time.monotonic()
    seq, memory = ask(meek)
    notice = upcall(greedy, Up.NOTICE)
    told = upcall(greedy, Up.EVICTED, id=notice.id)
    check(time.monotonic() - begin >= notice.grace_us / 1e6, 'before T')
    same('EVICTED', (told.notice_seq, told.flags, told.entries, told.stag,
                     told.reason),
         (notice.notice_seq, DEADLINE | TOMBSTONE, PAGES, notice.stag,
          notice.reason))
    region = meek.granted(seq, memory, memory.length)
    check(region.waited_us / 1e6 <= bound_s(meek),
          f'waited {region.waited_us} us, longer than B')
    same('state', row_of(greedy, notice.id)['state'], EVICTED)
    reply = greedy.answer(notice, Answer.EXTEND, extend_us=1000)
    same('an answer that is too late', reply.status, St.STATE)
    greedy.must(Op.MR_DEREG, id=notice.id)
    same('row', row_of(greedy, notice.id), None)
    refused(greedy, St.NO_MR, Op.MR_DEREG, id=notice.id)


@suite.case('WAIT and ASYNC')
def wait_async(world):
    """PENDING with the id at once, upcall GRANTED when it has its region."""
    greedy, meek, _ = full_table(world)
    seq, _ = ask(meek, flags=Reg.WAIT | Reg.ASYNC | Reg.RANDOM, user=8)
    reply = meek.wait(seq)
    same('status', reply.status, St.PENDING)
    same('stag', reply.stag, 0)
    same('state', row_of(meek, reply.id)['state'], WAITING)
    greedy.release(upcall(greedy, Up.NOTICE))
    told = upcall(meek, Up.GRANTED, id=reply.id)
    same('GRANTED', (told.user, told.wait_seq, told.entries, told.status),
         (8, seq, 16, 0))
    row = row_of(meek, reply.id)
    same('RESYNC', (row['state'], row['stag']), (ACTIVE, told.stag))
    meek.must(Op.MR_DEREG, id=reply.id)


def stuck(world):
    """A process whose requests wait: the hog beside it has a grace of a
    second, and says nothing."""
    world.parameters(grace_us=LONG_US)
    return full_table(world)[1]


@suite.case('WAIT: TIMEOUT')
def wait_timeout(world):
    """A request waits until its time is over, not less."""
    process = stuck(world)
    begin = time.monotonic()
    seq, memory = ask(process, timeout_us=60000)
    reply = process.wait(seq)
    check(time.monotonic() - begin >= 0.06, 'early')
    same('status', reply.status, St.TIMEOUT)
    memory.free()           # it is not pinned


@suite.case('WAIT and ASYNC: TIMEOUT')
def wait_async_timeout(world):
    """PENDING, then upcall WAIT_ENDED with TIMEOUT; the id is unknown."""
    process = stuck(world)
    seq, _ = ask(process, timeout_us=30000,
                 flags=Reg.WAIT | Reg.ASYNC | Reg.RANDOM, user=6)
    reply = process.wait(seq)
    same('status', reply.status, St.PENDING)
    told = upcall(process, Up.WAIT_ENDED, id=reply.id)
    same('WAIT_ENDED', (told.status, told.user, told.wait_seq),
         (St.TIMEOUT, 6, seq))
    refused(process, St.NO_MR, Op.MR_DEREG, id=reply.id)


@suite.case('WAIT_CANCEL')
def wait_cancel(world):
    """OK, and the MR_REG is answered CANCELLED; NO_WAIT when none waits."""
    process = stuck(world)
    refused(process, St.NO_WAIT, Op.WAIT_CANCEL, wait_seq=12345)
    seq, memory = ask(process)
    cancel = process.send(Op.WAIT_CANCEL, wait_seq=seq)
    same('WAIT_CANCEL', process.wait(cancel).status, St.OK)
    same('MR_REG', process.wait(seq).status, St.CANCELLED)
    refused(process, St.NO_WAIT, Op.WAIT_CANCEL, wait_seq=seq)
    memory.free()


@suite.case('MR_DEREG of a wait')
def wait_dereg(world):
    """The wait ends; the id is gone."""
    process = stuck(world)
    seq, memory = ask(process, flags=Reg.WAIT | Reg.ASYNC | Reg.RANDOM)
    waiting = process.wait(seq).id
    process.must(Op.MR_DEREG, id=waiting)
    same('row', row_of(process, waiting), None)
    memory.free()


@suite.case('WAIT_FULL')
def wait_full(world):
    """A process has its part of the places to wait: waits / slots. From the
    driver it comes without a tail."""
    process = stuck(world)
    slots = process.info().slots
    places = max(1, world.nic['waits'] // slots)
    memory = process.frames(16 * PAGE)
    waiting = [process.register_later(memory, memory.length)
               for _ in range(places)]
    reply = process.wait(process.register_later(memory, memory.length))
    same('one more', reply.status, St.WAIT_FULL)
    for seq in waiting:
        process.must(Op.WAIT_CANCEL, wait_seq=seq)
        same('MR_REG', process.wait(seq).status, St.CANCELLED)


@suite.case('a wait ends with its process')
def wait_and_leave(world):
    """Who closes its socket while it waits gets nothing, and nobody else is
    asked for it in vain for ever."""
    greedy, meek, _ = full_table(world)
    ask(meek)
    upcall(greedy, Up.NOTICE)
    meek.close()
    other = world.process()
    seq, memory = ask(other)
    other.granted(seq, memory, memory.length)


# notices and their answers

@suite.case('EVICT')
def evict(world):
    """NOTICE with reason ADMIN; INVALID of class control and of a region
    without entries; STATE while a notice is open; NO_MR."""
    process, admin = world.process(), world.admin()
    region = process.region(4 * PAGE, user=77)
    notice = noticed(world, process, region, 200_000)
    same('NOTICE', (notice.reason, notice.user, notice.stag, notice.entries),
         (Why.ADMIN, 77, region.stag, 4))
    refused(admin, St.STATE, Op.EVICT, id=region.id)
    refused(admin, St.INVALID, Op.EVICT, id=process.rings.region.id)
    demand = process.region(4 * PAGE, residency=Residency.DEMAND)
    refused(admin, St.INVALID, Op.EVICT, id=demand.id)
    refused(admin, St.NO_MR, Op.EVICT, id=99)
    refused(admin, St.NO_MR, Op.EVICT, id=process.domain)
    told = upcall(process, Up.EVICTED, id=region.id)
    same('EVICTED', (told.reason, told.user, told.notice_seq),
         (Why.ADMIN, 77, notice.notice_seq))
    refused(admin, St.STATE, Op.EVICT, id=region.id)


@suite.case('MR_DEREG answers a notice')
def dereg_answers(world):
    """OK, and nothing more is heard of the region."""
    process = world.process()
    region = process.region(4 * PAGE)
    noticed(world, process, region)
    region.dereg()
    no_upcall(process, Up.EVICTED)
    same('rows', process.resync().rows, [])


@suite.case('RELEASE looks at the id alone')
def release_fields(world):
    """`notice_seq`, `offer_id` and `extend_us` may be anything; a region
    without a notice may be released, too."""
    process = world.process()
    region = process.region(4 * PAGE)
    same('RELEASE', process.call(
        Op.NOTICE_ANSWER, id=region.id, answer=Answer.RELEASE,
        notice_seq=4711, offer_id=9, extend_us=3).status, St.OK)
    refused(process, St.NO_MR, Op.MR_DEREG, id=region.id)


@suite.case('EXTEND')
def extend(world):
    """30 ms more, and the region is there until then; above 40 ms in sum
    REFUSED with BUDGET. The deadline of the answer is one of the NIC's clock
    and may be early ("Times and units"), so only what happens is timed."""
    process = world.process()
    region = process.region(4 * PAGE)
    notice = noticed(world, process, region, 200_000)
    first = process.answer(notice, Answer.EXTEND, extend_us=30000)
    same('EXTEND', (first.status, first.detail), (St.OK, Refusal.NONE))
    same('state', row_of(process, region.id)['state'], NOTIFIED)
    reply = process.answer(notice, Answer.EXTEND, extend_us=20000)
    same('30 ms and 20 ms', (reply.status, reply.detail),
         (St.REFUSED, Refusal.BUDGET))
    upcall(process, Up.EVICTED, id=region.id)
    now = time.monotonic_ns()
    check(now >= first.deadline_ns, 'before the deadline of the answer')
    check(now >= notice.deadline_ns + 29_000_000, 'not 30 ms later')


@suite.case('EXTEND, and somebody waits')
def extend_waiter(world):
    """REFUSED with WAITER: no more time while a process below its share
    waits."""
    world.parameters(grace_us=LONG_US)
    greedy, meek, _ = full_table(world)
    seq, memory = ask(meek)
    notice = upcall(greedy, Up.NOTICE)
    reply = greedy.answer(notice, Answer.EXTEND, extend_us=5000)
    same('EXTEND', (reply.status, reply.detail),
         (St.REFUSED, Refusal.WAITER))
    greedy.release(notice)
    meek.granted(seq, memory, memory.length)


@suite.case('OFFER')
def offer(world):
    """The notice is about the offered region then: that one is NOTIFIED, has
    the same deadline, and is taken; the first one stays."""
    process = world.process()
    region, spare = process.region(4 * PAGE), process.region(8 * PAGE)
    notice = noticed(world, process, region, 200_000)
    reply = process.answer(notice, Answer.OFFER, offer_id=spare.id)
    same('OFFER', reply.status, St.OK)
    check(reply.deadline_ns, 'no deadline')
    same('first', row_of(process, region.id)['state'], ACTIVE)
    same('spare', row_of(process, spare.id)['state'], NOTIFIED)
    told = upcall(process, Up.EVICTED)
    same('EVICTED', (told.id, told.entries), (spare.id, 8))
    same('first', row_of(process, region.id)['state'], ACTIVE)


@suite.case('OFFER refused')
def offer_refused(world):
    """REFUSED, and `detail` says why."""
    process = world.process()
    region, small = process.region(4 * PAGE), process.region(PAGE)
    demand = process.region(8 * PAGE, residency=Residency.DEMAND)
    control = process.rings.region
    second = process.region(8 * PAGE)
    noticed(world, process, second)
    notice = noticed(world, process, region)
    for offered, detail in ((small, Refusal.SMALLER), (region, Refusal.SAME),
                            (demand, Refusal.CLASS), (control, Refusal.CLASS),
                            (second, Refusal.NOT_ACTIVE)):
        reply = process.answer(notice, Answer.OFFER, offer_id=offered.id)
        same(f'OFFER of {offered.length}', (reply.status, reply.detail),
             (St.REFUSED, detail))


@suite.rows('NOTICE_ANSWER refused', {
    'answer 0': ({'answer': 0}, St.INVALID),
    'answer 4': ({'answer': 4}, St.INVALID),
    'EXTEND by 0': ({'answer': 3}, St.INVALID),
    'EXTEND with an offer': ({'answer': 3, 'extend_us': 5, 'offer_id': 5},
                             St.INVALID),
    'OFFER with a time': ({'answer': 2, 'extend_us': 5}, St.INVALID),
    'another notice': ({'answer': 3, 'extend_us': 5, 'notice_seq': 0x7777},
                       St.STATE),
    'OFFER for another notice': ({'answer': 2, 'offer_id': 1,
                                  'notice_seq': 0x7777}, St.STATE),
    'no region': ({'answer': 3, 'extend_us': 5, 'id': 99}, St.NO_MR)})
def answer_refused(world, members, status):
    """The notice stays open: MR_DEREG answers it."""
    process = world.process()
    region = process.region(4 * PAGE)
    notice = noticed(world, process, region)
    if members.get('offer_id') == 1:
        members = {**members, 'offer_id': process.region(4 * PAGE).id}
    reply = process.call(Op.NOTICE_ANSWER, **{
        'id': region.id, 'notice_seq': notice.notice_seq, **members})
    same('NOTICE_ANSWER', reply.status.name, status.name)
    region.dereg()


@suite.case('an answer without a notice')
def answer_without(world):
    """STATE."""
    process = world.process()
    region = process.region(4 * PAGE)
    for members in ({'answer': 3, 'extend_us': 5},
                    {'answer': 2, 'offer_id': process.region(8 * PAGE).id}):
        reply = process.call(Op.NOTICE_ANSWER, id=region.id, **members)
        same(f'{members}', reply.status, St.STATE)


@suite.case('class messaging')
def messaging(world):
    """Taken at once: EVICTED without a NOTICE; its STag opens nothing."""
    process = world.process()
    region = process.region(4 * PAGE, mr_class=Class.MESSAGING)
    world.admin().evict(region.id)
    told = upcall(process, Up.EVICTED, id=region.id)
    same('EVICTED', (told.reason, told.entries), (Why.ADMIN, 4))
    no_upcall(process, Up.NOTICE, 0.01)
    process.must(Op.MR_DEREG, id=region.id)


@suite.case('lost upcalls')
def lost_upcalls(world):
    """128 upcalls that nobody reads, of tokens that expire: the reader sees
    that some are lost, and RESYNC says where to go on."""
    process = world.process()
    region = process.region(PAGE)
    tokens = b''.join(records.request(
        Op.TOKEN_ALLOC, n, mr=region.id, iova=region.iova, length=1,
        ttl_us=1) for n in range(64))
    for _ in range(2):
        process.must(Op.BATCH, tail=tokens, count=64)
    check(wait_for(lambda: process.must(Op.USAGE).upcalls >= 128, 5.0),
          'not 128 upcalls')
    same('upcalls', process.must(Op.USAGE).upcalls, 128)
    same('next_seq', process.resync().next_seq, 129)
    same('read', process.upcalls(), [])
    same('times lost', process.lost, 1)
    token = process.token_alloc(region, ttl_us=1)
    upcall(process, Up.TOKEN_END, id=token.id)


@suite.case('RESYNC')
def resync(world):
    """Rows of all objects; `after` goes on behind an id; INVALID of another
    `what`."""
    process = world.process()
    qp, region = process.qp(), process.region(PAGE, user=5)
    token = process.token_alloc(region)
    listener = process.listen(0x7065657200000003, user=6)
    rows = {row['id']: row for row in process.resync(1).rows}
    for made, kind, number in (
            (process.domain, 1, None), (region.id, 2, region.stag),
            (qp.send_cq.id, 3, qp.send_cq.number), (qp.id, 4, qp.number),
            (token.id, 5, token.index), (listener, 6, None)):
        same('type', rows[made]['type'], kind)
        if number is not None:
            same('number', rows[made]['number'], number)
    same('detail of the listener', rows[listener]['detail'], 3)
    same('user', (rows[region.id]['user'], rows[listener]['user']), (5, 6))
    later = process.resync(1, after=qp.id).rows
    check(later and all(row['id'] > qp.id for row in later), 'after')
    refused(process, St.INVALID, Op.RESYNC, what=2)
    same('after the end', process.resync(1, after=0xffffffff).rows, [])
