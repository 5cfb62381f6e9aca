# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Ends: SPEC "The end of a process", "A reset of the NIC", "After a reset". A
reset meets all processes of the NIC."""

from check import Skipped, Suite
from control_world import (Op, Qps, St, Up, check, completion, gone,
                           free_entries, hog, no_upcall, pair, refused, same,
                           upcall, wait_for)
from names import PAGE, Hello, Why
from process import Gone, Late

suite = Suite()

SERVICE = 0x7065657200000020
KEEP = Hello.KEEP
TOKEN_RESET = 6             # enum unic_token_end
BACK, KEPT = 1, 2           # `detail` of upcall RESET


# the end of a process

@suite.case('a process ends')
def process_ends(world):
    """Its entries, its queue pairs and its service are free, and its slot."""
    stays, leaves = world.process(), world.process()
    before = free_entries(stays)
    hog(leaves, 128)
    leaves.qp()
    leaves.listen(SERVICE)
    check(free_entries(stays) <= before - 128, 'it holds nothing')
    leaves.close()
    check(wait_for(lambda: free_entries(stays) >= before, 3.0),
          'its entries are not free')
    stays.listen(SERVICE)


@suite.case('a process ends in the middle')
def process_ends_busy(world):
    """It leaves a wait, an open notice and posted work behind: the slots
    come free, and others are served."""
    greedy, meek, stays = (world.process() for _ in range(3))
    hog(greedy, world.nic['tlb_entries'])
    one, two = pair(world, greedy)
    for _ in range(4):
        two.post_recv([])
        one.send(inline=b'x' * 90)
    meek.register_later(meek.frames(PAGE), PAGE)
    upcall(greedy, Up.NOTICE)
    greedy.send(Op.PD_ALLOC)
    greedy.close()
    meek.close()
    check(wait_for(lambda: free_entries(stays)
                   == world.nic['tlb_entries'], 3.0), 'entries are missing')
    stays.region(PAGE)


@suite.case('the process that connected ends')
def owner_ends(world):
    """The slot ends with the process that connected, although somebody else
    still has the socket."""
    process = world.nobody()
    process.child.communicate()
    process.child = None

    def ended():
        try:
            process.call(Op.PD_ALLOC, within=0.2)
        except (Gone, OSError):
            return True
        except Late:
            return False
        return False
    check(wait_for(ended, 2.0), 'the connection is there still')


@suite.case('memory of a slot is not handed on')
def memory_is_new(world):
    """The next owner of the slot finds zeros, and the one before sees
    nothing of it in what it has mapped still."""
    first = world.process()
    region = first.region(16 * PAGE)
    region.fill(b'secret' * 1000)
    proc = first.hello_reply.proc
    first.socket.close()
    second = world.process()
    memory = second.frames(1 << 20)
    check(not any(memory.view), 'frames are not 0')
    if second.hello_reply.proc == proc:
        memory.view[:1 << 20] = b'\xa5' * (1 << 20)
        check(b'\xa5\xa5' not in region.bytes(), 'the same memory')


# a reset of the NIC

def reset(world, *processes):
    """An administrator resets the NIC; waits until it is back."""
    admin = world.admin()
    before = admin.info()
    admin.must(Op.RESET)

    def back():
        info = admin.info()
        return info.nic_there == 2 and info.resets > before.resets
    check(wait_for(back, 5.0), 'the NIC does not come back')
    now = admin.info()
    same('boot_epoch', now.now['boot_epoch'],
         before.now['boot_epoch'] % 0xffffffff + 1)
    for process in processes:
        same('epoch of the NIC page', process.slot.epoch[0],
             now.now['boot_epoch'])
    return now.now['boot_epoch']


def told_of_reset(process, detail):
    """Upcalls RESET: 0 when it began, then `detail`."""
    same('RESET', upcall(process, Up.RESET).detail, 0)
    found = upcall(process, Up.RESET)
    same('RESET', found.detail, detail)
    check(found.epoch, 'epoch is 0')


@suite.case('reset')
def plain_reset(world):
    """Nothing is left but slot and frames: the ids are unknown, HELLO gives
    the same slot, and all can be made anew."""
    process = world.process()
    region, qp = process.region(2 * PAGE), process.qp()
    token, pd = process.token_alloc(region), process.domain
    region.fill(b'here')
    old, slot = process.hello_reply.epoch, process.hello_reply.proc
    listener = process.listen(SERVICE)
    reset(world, process)
    told_of_reset(process, BACK)
    refused(process, St.STALE_EPOCH, Op.PD_ALLOC, epoch=old)
    same('slot', process.hello().proc, slot)
    for op, made, status in (
            (Op.PD_FREE, pd, St.NO_PD), (Op.MR_DEREG, region.id, St.NO_MR),
            (Op.QP_QUERY, qp.id, St.NO_QP),
            (Op.CQ_DESTROY, qp.send_cq.id, St.NO_CQ),
            (Op.TOKEN_CANCEL, token.id, St.NO_TOKEN),
            (Op.UNLISTEN, listener, St.NO_CONN)):
        refused(process, status, op, id=made)
    same('memory', region.bytes(0, 4), b'here')
    process._pd = None
    again = process.register(region.memory, 0, PAGE)
    same('memory', again.bytes(0, 4), b'here')


@suite.case('reset: requests without reply')
def reset_requests(world):
    """One that waits is answered RESET; with HELLO_KEEP it goes on waiting,
    and is granted when there is room."""
    world.parameters(grace_us=1_000_000)
    greedy, meek = world.process(), world.process()
    kept = world.process(hello=False)
    kept.hello(flags=KEEP)
    greedy.domain, kept.domain
    hog(greedy, world.nic['tlb_entries'])
    waits = meek.register_later(meek.frames(PAGE), PAGE)
    memory = kept.frames(PAGE)
    stays = kept.register_later(memory, PAGE)
    check(wait_for(lambda: greedy.must(Op.USAGE).usage['waiters'] == 2),
          'not two that wait')
    reset(world, greedy, meek, kept)
    same('MR_REG', meek.wait(waits).status, St.RESET)
    region = kept.granted(stays, memory, PAGE)
    check(region.stag, 'no STag')


@suite.case('reset with HELLO_KEEP')
def kept_reset(world):
    """Domains and regions are as before, with their ids and STags; queues
    are empty; queue pairs are in ERR with another number; forms are evicted,
    tokens ended; the listener stays. After QP_MODIFY to RESET all of it
    works."""
    process = world.process(hello=False)
    process.hello(flags=KEEP)
    region = process.region(2 * PAGE, key=7, user=5)
    region.fill(b'kept')
    qp, other = process.qp(), process.qp()
    rig, numbers = world.rig, (qp.number, other.number)
    qp.up(other.number, rig.ip, rig.mac, 1, 2)
    token = process.token_alloc(region, user=4)
    form = process.must(Op.MR_ALLOC, pd=process.domain, kind=3)
    process.listen(SERVICE)
    reset(world, process)
    same('TOKEN_END', upcall(process, Up.TOKEN_END, id=token.id).end,
         TOKEN_RESET)
    same('EVICTED', upcall(process, Up.EVICTED, id=form.id).reason,
         Why.RESET)
    told_of_reset(process, KEPT)
    row = [r for r in process.resync().rows if r['id'] == region.id][0]
    same('region', (row['stag'], row['state'], row['user']),
         (region.stag, 2, 5))
    refused(process, St.IN_USE, Op.LISTEN, service=SERVICE)
    for made, number in zip((qp, other), numbers):
        query = made.query()
        same('state', query.state, Qps.ERR)
        check(query.number != number, 'the same number')
        refused(process, St.STATE, Op.QP_MODIFY, id=made.id, state=Qps.INIT)
        made.reset()
        made.send_cq.clear()
        made.number = query.number
    qp.up(other.number, rig.ip, rig.mac, 100, 200)
    other.up(qp.number, rig.ip, rig.mac, 200, 100)
    other.post_recv([region.sge(PAGE, 64)])
    qp.send([region.sge(0, 4)])
    completion(qp, status=0, seq=1)
    completion(other, status=0, seq=1)
    same('memory', region.bytes(PAGE, 4), b'kept')
    region.dereg()


@suite.case('reset: an open notice is void')
def reset_notice(world):
    """With HELLO_KEEP the region is ACTIVE again, and an answer is STATE."""
    world.parameters(grace_us=2_000_000)
    process = world.process(hello=False)
    process.hello(flags=KEEP)
    region = process.region(PAGE)
    world.admin().evict(region.id)
    notice = upcall(process, Up.NOTICE, id=region.id)
    reset(world, process)
    row = [r for r in process.resync().rows if r['id'] == region.id][0]
    same('state', row['state'], 2)
    same('EXTEND', process.answer(notice, 3, extend_us=5).status, St.STATE)
    no_upcall(process, Up.EVICTED)


@suite.case('reset: parameters')
def reset_parameters(world):
    """The NIC forgets them ("States, reset, epoch"). What an administrator
    said by PARAMS is set anew by the driver, or not: SPEC does not say."""
    admin = world.admin()
    before = admin.info().now['grace_us']
    admin.must(Op.PARAMS, grace_us=before + 1000)
    same('PARAMS', admin.info().now['grace_us'], before + 1000)
    reset(world)
    check(admin.info().now['grace_us'] in (before, before + 1000), 'T')
    admin.must(Op.PARAMS, grace_us=before)


# another driver

def driver_again(world):
    """The driver ends and is started again; Skipped where it is not ours."""
    if not world.rig.own:
        raise Skipped('the driver is not ours to end')
    world.rig.restart_driver()


@suite.case('the driver ends')
def driver_ends(world):
    """The socket ends. HELLO with KEEP and RESUME: the same slot, `resumed`
    1, and all is as after a reset."""
    process = world.process(hello=False)
    process.hello(flags=KEEP)
    region = process.region(2 * PAGE)
    region.fill(b'kept')
    slot = process.hello_reply.proc
    driver_again(world)
    gone(process, 'the driver ended')
    again = world.process(hello=False)
    check(wait_for(lambda: again.info().nic_there == 2, 5), 'no NIC')
    reply = again.call(Op.HELLO, version=1, flags=KEEP | Hello.RESUME,
                       slot=slot)
    same('HELLO', (reply.status, reply.resumed, reply.proc),
         (St.OK, 1, slot))
    row = [r for r in again.resync().rows if r['id'] == region.id][0]
    same('region', (row['stag'], row['state']), (region.stag, 2))
    same('memory', region.bytes(0, 4), b'kept')
    refused(again, St.NO_MR, Op.MR_DEREG, id=99)
    again.must(Op.MR_DEREG, id=region.id)


@suite.case('the driver ends: nothing to resume')
def driver_ends_plain(world):
    """Without HELLO_KEEP before, RESUME gives another slot with nothing in
    it: `resumed` 0."""
    process = world.process()
    process.region(PAGE)
    slot = process.hello_reply.proc
    driver_again(world)
    gone(process, 'the driver ended')
    again = world.process(hello=False)
    check(wait_for(lambda: again.info().nic_there == 2, 5), 'no NIC')

    def hello():
        reply = again.call(Op.HELLO, version=1, flags=KEEP | Hello.RESUME,
                           slot=slot)
        return reply if reply.status == St.OK else None
    reply = wait_for(hello, 3.0)
    check(reply, 'no slot')
    same('resumed', reply.resumed, 0)
    same('rows', again.resync().rows, [])

