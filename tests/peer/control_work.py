# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Work of a process: SPEC "Queues". Two queue pairs of this host are connected
to each other; odd work requests, receives and doorbells meet the NIC."""

import os
import select
import struct

from check import Suite
from control_world import (Op, Qps, Rights, St, Up, check, completion,
                           no_upcall, pair, refused, same, upcall,
                           wait_for)
from names import (DB_ARM, DB_RQ, DB_SQ, PAGE, Qpt, Wc, Wcs, Wd, Wr, WrFlag)
from queues import SGE, ring, send_slots

suite = Suite()

USED = 1                    # enum unic_token_end


@suite.case('SEND, WRITE, READ, tagged message')
def work(world):
    """Each with its completion at both sides, between two processes."""
    one, two = world.process(), world.process()
    source, sink = one.region(8 * PAGE), two.region(8 * PAGE)
    qp, peer = pair(world, one, two)
    source.fill(bytes(range(256)) * 128)
    peer.post_recv([sink.sge(0, PAGE)], wr_id=7)
    qp.send([source.sge(1, 88)], wr_id=5)
    completion(qp, wr_id=5, byte_len=88, opcode=Wc.SEND, qpn=qp.number,
               status=0, seq=1)
    completion(peer, wr_id=7, byte_len=88, opcode=Wc.RECV, status=0,
               qpn=peer.number, seq=1)
    same('SEND', sink.bytes(0, 88), source.bytes(1, 88))
    qp.write(sink.iova + PAGE, sink.stag, [source.sge(3, 5000)])
    completion(qp, opcode=Wc.WRITE, byte_len=5000, status=0)
    same('WRITE', sink.bytes(PAGE, 5000), source.bytes(3, 5000))
    qp.read(sink.iova + PAGE, sink.stag, [source.sge(4 * PAGE, 4500)])
    completion(qp, opcode=Wc.READ, byte_len=4500, status=0)
    same('READ', source.bytes(4 * PAGE, 4500), source.bytes(3, 4500))
    token = two.token_alloc(sink, 4 * PAGE, PAGE)
    peer.post_recv([sink.sge(0, 128)], wr_id=8)
    qp.tagged(token.index, token.key, 10, [source.sge(0, 110)])
    completion(qp, opcode=Wc.TOKEN, byte_len=110, status=0)
    completion(peer, opcode=Wc.RECV_TOKEN, byte_len=10, imm=100,
               token=token.index, detail=0, wr_id=8)
    same('payload', sink.bytes(4 * PAGE, 100), source.bytes(10, 100))


@suite.case('CQ_RESIZE')
def resized(world):
    """Records go on in the new ring, in order, and an armed queue stays armed; BUSY while
    more are unread than fit, STATE when it has failed."""
    one, two = world.process(), world.process()
    source, sink = one.region(PAGE), two.region(PAGE)
    qp, _ = pair(world, one, two)
    queue, wanted, found = qp.send_cq, 0, []

    def write(count):
        nonlocal wanted
        for _ in range(count):
            wanted += 1
            qp.write(sink.iova, sink.stag, [source.sge(0, 8)], wr_id=wanted)
        check(wait_for(lambda: queue.written() == wanted, 2.0), 'records are missing')

    for entries, count in ((4, 3), (16, 3), (64, 10), (8, 9)):
        write(count)
        if entries == 4:
            refused(one, St.BUSY, Op.CQ_RESIZE, id=queue.id, mr=queue.control.id,
                    iova=queue.control.iova + one.rings.take(64), entries=2)
        if count > entries:
            found += queue.poll(3)
        found += queue.resize(entries)
        found += queue.poll(1)
    queue.arm()
    before = queue.events
    found += queue.resize(32)
    write(1)
    check(wait_for(lambda: queue.events == before + 1, 2.0), 'no event')
    found += queue.poll()
    found += queue.resize(2)
    for wr_id in range(wanted + 1, wanted + 5):
        qp.write(sink.iova, sink.stag, [source.sge(0, 8)], wr_id=wr_id)
    upcall(one, Up.CQ_ERROR, id=queue.id)
    found += queue.poll()
    wanted += 2
    refused(one, St.STATE, Op.CQ_RESIZE, id=queue.id, mr=queue.control.id,
            iova=queue.control.iova + one.rings.take(64), entries=2)
    same('wr_ids', [cqe.wr_id for cqe in found], list(range(1, wanted + 1)))
    same('numbers', [cqe.seq for cqe in found], list(range(1, wanted + 1)))


@suite.case('a used token')
def used_token(world):
    """Another message to it delivers its control part alone, and the detail
    says how the token ended ("Tagged messages")."""
    one, two = world.process(), world.process()
    source, sink = one.region(PAGE), two.region(PAGE)
    qp, peer = pair(world, one, two)
    token = two.token_alloc(sink, 0, 64)
    for wanted in (0, USED):
        peer.post_recv([sink.sge(1024, 128)])
        qp.tagged(token.index, token.key, 8, [source.sge(0, 40)])
        completion(qp, status=0)
        completion(peer, opcode=Wc.RECV_TOKEN, byte_len=8, detail=wanted,
                   imm=0 if wanted else 32)
    no_upcall(two, Up.TOKEN_END)


@suite.case('TOKEN_CANCEL of a used token')
def cancel_used(world):
    """OK once, and it says that it was used; NO_TOKEN then."""
    one, two = world.process(), world.process()
    sink = two.region(PAGE)
    qp, peer = pair(world, one, two)
    token = two.token_alloc(sink, 0, 64)
    peer.post_recv([sink.sge(1024, 128)])
    qp.tagged(token.index, token.key, 0, [one.region(PAGE).sge(0, 40)])
    completion(peer, opcode=Wc.RECV_TOKEN, imm=40)
    same('end', two.token_cancel(token.id).end, USED)
    refused(two, St.NO_TOKEN, Op.TOKEN_CANCEL, id=token.id)


@suite.case('inline data, lists, unsignaled')
def shapes(world):
    """Inline bytes in one and two slots, six SGEs, and no record for what is
    not SIGNALED; the ring goes round."""
    process = world.process()
    region, sink = process.region(4 * PAGE), process.region(4 * PAGE)
    qp, _ = pair(world, process)
    region.fill(os.urandom(4 * PAGE))
    for length in (0, 1, 32, 33, 96):
        data = os.urandom(length)
        qp.write(sink.iova, sink.stag, inline=data, wr_id=length)
        completion(qp, wr_id=length, byte_len=length, status=0)
        same(f'{length} inline bytes', sink.bytes(0, length), data)
    for count in (1, 2, 3, 6):
        parts = [region.sge(n * 700, 100 + n) for n in range(count)]
        qp.write(sink.iova, sink.stag, parts)
        record = completion(qp, status=0)
        want = b''.join(region.bytes(n * 700, 100 + n)
                        for n in range(count))
        same(f'{count} SGEs', sink.bytes(0, record.byte_len), want)
    for n in range(20):
        qp.write(sink.iova, sink.stag, inline=b'x', wr_id=n,
                 flags=WrFlag.SIGNALED if n % 5 == 4 else 0)
        if n % 5 == 4:
            completion(qp, wr_id=n, status=0)


@suite.case('ERR flushes')
def flush(world):
    """All that is posted, sends and receives, completes WR_FLUSH_ERR, and
    what is posted in ERR, too."""
    process = world.process()
    region = process.region(PAGE)
    qp, _ = pair(world, process)
    for n in range(3):
        qp.post_recv([region.sge()], wr_id=n)
    qp.error()
    found = qp.wait(3)
    same('receives', [(c.wr_id, c.status) for c in found],
         [(n, Wcs.WR_FLUSH_ERR) for n in range(3)])
    qp.send([region.sge(0, 8)], wr_id=9)
    completion(qp, wr_id=9, status=Wcs.WR_FLUSH_ERR, byte_len=0)
    qp.post_recv([region.sge()], wr_id=10)
    completion(qp, wr_id=10, status=Wcs.WR_FLUSH_ERR)


ODD_WORK = {
    'opcode 0': ({'opcode': 0}, Wd.OPCODE),
    'opcode 14': ({'opcode': 14}, Wd.OPCODE),
    'opcode 255': ({'opcode': 255}, Wd.OPCODE),
    'flag 16': ({'opcode': 1, 'flags': 17}, Wd.FLAGS),
    'READ with INLINE': ({'opcode': 5, 'inline': b'x' * 8}, Wd.FLAGS),
    '7 SGEs': ({'opcode': 1, 'num_sge': 7}, Wd.SGE),
    'SGEs and INLINE': ({'opcode': 1, 'num_sge': 1, 'inline': b'x'}, Wd.SGE),
    '97 inline bytes': ({'opcode': 1, 'inline': b'x' * 97}, Wd.SGE),
    'second slot not posted': ({'opcode': 1, 'num_sge': 3}, Wd.SGE),
    'ctrl_len of a SEND': ({'opcode': 1, 'ctrl_len': 1}, Wd.LENGTH),
    'control part of 129 bytes': ({'opcode': 6, 'ctrl_len': 129,
                                   'length': 200}, Wd.LENGTH),
    'control part longer than all': ({'opcode': 6, 'ctrl_len': 9,
                                      'length': 8}, Wd.LENGTH),
    'above 2^30 bytes': ({'opcode': 1, 'length': (1 << 30) + 1},
                         Wd.LENGTH)}


@suite.rows('odd work request', ODD_WORK)
def odd_work(world, members, detail):
    """LOC_QP_OP_ERR with this detail, the queue pair goes to ERR, and an
    upcall says so. It is counted (`wqe_bad`) elsewhere."""
    process = world.process()
    region = process.region(PAGE)
    qp, _ = pair(world, process)
    members = dict(members)
    opcode, length = members.pop('opcode'), members.pop('length', 8)
    sges = [] if 'inline' in members else [
        SGE.pack(region.iova, length, region.stag)]
    qp.write_send(send_slots(opcode, sges, wr_id=3, **members)[:64])
    qp.ring_send()
    completion(qp, wr_id=3, status=Wcs.LOC_QP_OP_ERR, detail=detail,
               byte_len=0)
    told = upcall(process, Up.QP_ERROR, id=qp.id)
    same('detail', told.detail, Wcs.LOC_QP_OP_ERR)
    same('state', qp.state, Qps.ERR)
    qp.send(inline=b'', wr_id=4)
    completion(qp, wr_id=4, status=Wcs.WR_FLUSH_ERR)


@suite.case('work requests of the wrong queue pair')
def wrong_kind(world):
    """Detail OPCODE: READ where max_rd is 0, TOKEN where the peer is not
    unic, READ of UC, WRITE of UD."""
    process = world.process()
    region = process.region(PAGE)
    for qpt, up, opcode in ((Qpt.RC, {'max_rd': 0}, Wr.READ),
                            (Qpt.RC, {'vendor': 0}, Wr.TOKEN),
                            (Qpt.UC, {}, Wr.READ), (Qpt.UC, {}, Wr.TOKEN),
                            (Qpt.UC, {}, Wr.SEND_INV),
                            (Qpt.UD, {}, Wr.WRITE)):
        qp = process.qp(qpt)
        qp.up(5, world.rig.ip, world.rig.mac, **up)
        qp.post_send(opcode, [region.sge(0, 8)], wr_id=2)
        completion(qp, wr_id=2, status=Wcs.LOC_QP_OP_ERR, detail=Wd.OPCODE)


@suite.case('access of an SGE')
def sge_access(world):
    """LOC_PROT_ERR with the step that refused."""
    process, other = world.process(), world.process()
    plain, foreign = process.region(PAGE), other.region(PAGE)
    apart = process.region(PAGE, pd=process.pd())
    fixed = process.region(PAGE, Rights.REMOTE_READ)
    for bad, opcode, detail in (
            (SGE.pack(foreign.iova, 8, foreign.stag), Wr.SEND, Wd.STAG),
            (SGE.pack(plain.iova, 8, plain.stag ^ 0xff), Wr.SEND, Wd.STAG),
            (SGE.pack(plain.iova, 8, 0), Wr.SEND, Wd.STAG),
            (apart.sge(0, 8), Wr.SEND, Wd.PD),
            (fixed.sge(0, 8), Wr.READ, Wd.RIGHTS),
            (SGE.pack(plain.iova + PAGE - 7, 8, plain.stag), Wr.SEND,
             Wd.BOUNDS),
            (SGE.pack(plain.iova - 1, 8, plain.stag), Wr.SEND, Wd.BOUNDS)):
        qp, _ = pair(world, process)
        qp.post_send(opcode, [bad], wr_id=6, remote=plain.iova,
                     rkey=plain.stag)
        completion(qp, wr_id=6, status=Wcs.LOC_PROT_ERR, detail=detail)
        upcall(process, Up.QP_ERROR, id=qp.id)
        same('state', qp.state, Qps.ERR)


@suite.case('an SGE of no bytes')
def sge_empty(world):
    """Its STag is not looked at."""
    process = world.process()
    qp, peer = pair(world, process)
    peer.post_recv([SGE.pack(0, 0, 0x1234)])
    qp.send([SGE.pack(5, 0, 0xffffffff)])
    completion(qp, status=0, byte_len=0)
    completion(peer, status=0, byte_len=0)


@suite.case('regions that are evicted')
def evicted_work(world):
    """A SEND from one completes EVICTED, and the queue goes on: the next one
    is done. A WRITE to one completes REM_EVICTED, likewise."""
    process, admin = world.process(), world.admin()
    gone_soon, region = process.region(PAGE), process.region(PAGE)
    qp, peer = pair(world, process)
    admin.evict(gone_soon.id)
    upcall(process, Up.EVICTED, id=gone_soon.id)
    qp.send([gone_soon.sge(0, 8)], wr_id=1)
    completion(qp, wr_id=1, status=Wcs.EVICTED)
    qp.write(gone_soon.iova, gone_soon.stag, [region.sge(0, 8)], wr_id=2)
    completion(qp, wr_id=2, status=Wcs.REM_EVICTED)
    peer.post_recv([region.sge(64, 64)], wr_id=4)
    qp.send([region.sge(0, 8)], wr_id=3)
    completion(qp, wr_id=3, status=0)
    completion(peer, wr_id=4, status=0)


@suite.rows('odd receive', {
    'rsvd': ({'rsvd': b'\0\0\0\0\0\0\1'}, Wcs.LOC_QP_OP_ERR, Wd.FLAGS),
    '4 SGEs': ({'num_sge': 4}, Wcs.LOC_QP_OP_ERR, Wd.SGE),
    'too short': ({'length': 7}, Wcs.LOC_LEN_ERR, 0)})
def odd_receive(world, members, status, detail):
    """A message that meets it ends the queue pair."""
    process = world.process()
    region = process.region(PAGE)
    qp, peer = pair(world, process)
    length = dict(members).pop('length', 64)
    more = {k: v for k, v in members.items() if k != 'length'}
    peer.post_recv([region.sge(64, length)], wr_id=4, **more)
    qp.send([region.sge(0, 8)])
    completion(peer, wr_id=4, status=status, detail=detail)
    check(wait_for(lambda: peer.state == Qps.ERR), 'not in ERR')
    check(completion(qp).status, 'the SEND succeeded')


# doorbells, arming, overruns

@suite.case('a doorbell that names nothing')
def bad_doorbell(world):
    """Upcall DB_ERROR with the word; queues that there are go on."""
    process = world.process()
    qp, peer = pair(world, process)
    for kind, row in ((DB_SQ, 50), (DB_RQ, 51), (DB_ARM, 52), (3, 0),
                      (DB_SQ, 200)):
        ring(process.slot, kind, row, 5)
    told = upcall(process, Up.DB_ERROR)
    same('detail', told.detail & 0x3ff, DB_SQ << 8 | 50)
    peer.post_recv([])
    qp.send(inline=b'')
    completion(qp, status=0)


@suite.case('a count that is too far')
def bad_count(world):
    """More than the ring ahead, or behind: the queue pair goes to ERR with
    LOC_QP_OP_ERR."""
    process = world.process()
    for count in (17, 0xffffffff):
        qp, _ = pair(world, process)
        process.slot.rows[4 * qp.row] = count
        ring(process.slot, DB_SQ, qp.row, count)
        told = upcall(process, Up.QP_ERROR, id=qp.id)
        same('detail', told.detail, Wcs.LOC_QP_OP_ERR)
        same('state', qp.state, Qps.ERR)


@suite.case('a full doorbell FIFO')
def fifo_overrun(world):
    """300 words at once: the NIC looks at all rows, and nothing is lost."""
    process = world.process()
    qp, peer = pair(world, process)
    for n in range(8):
        peer.post_recv([], wr_id=n, ring_now=False)
        qp.write_send(send_slots(Wr.SEND, inline=b'', wr_id=n))
    rows, slot = process.slot.rows, process.slot
    rows[4 * peer.row + 1], rows[4 * qp.row] = 8, 8
    seq = slot.fifo_seq[0]
    for n in range(256):
        slot.fifo[n] = peer.row | DB_RQ << 8
    slot.fifo_seq[0] = seq + 299
    ring(slot, DB_RQ, peer.row, 8)
    same('sends', [c.wr_id for c in qp.wait(8)], list(range(8)))
    same('receives', [c.wr_id for c in peer.wait(8)], list(range(8)))


def readable(fd, seconds):
    """Whether the descriptor is readable in time."""
    return bool(select.select([fd], [], [], seconds)[0])


@suite.case('arming and waking')
def arming(world):
    """An armed queue notifies once: cq_events goes up by 1 and the third
    descriptor is readable; without arming nothing comes."""
    process = world.process()
    qp, peer = pair(world, process)
    fd, queue = process.slot.completions, peer.recv_cq
    for n in range(6):
        peer.post_recv([], wr_id=n)
    qp.send(inline=b'')
    completion(peer)
    check(not readable(fd, 0.05), 'a wake-up without arming')
    queue.arm()
    check(not readable(fd, 0.05), 'a wake-up without a record')
    before = queue.events
    for _ in range(2):
        qp.send(inline=b'')
        completion(qp)
    check(readable(fd, 2), 'no wake-up')
    same('bytes', len(os.read(fd, 8)), 8)
    same('cq_events', queue.events, before + 1)
    check(not readable(fd, 0.05), 'two wake-ups')
    peer.wait(2)


@suite.case('a row of another queue before')
def row_again(world):
    """cq_events of the row goes on from where the queue before left it."""
    process = world.process()
    for had in range(2):
        qp, peer = pair(world, process)
        queue = peer.recv_cq
        if not had:
            row = queue.row
        same('row', queue.row, row)
        same('cq_events', queue.events, had)
        peer.post_recv([])
        queue.arm()
        qp.send(inline=b'')
        completion(qp)
        completion(peer)
        check(wait_for(lambda: queue.events == had + 1), 'no event')
        qp.destroy()
        peer.destroy()


@suite.case('armed late')
def armed_late(world):
    """Armed for record n when there are more than n: told at once."""
    process = world.process()
    qp, peer = pair(world, process)
    queue = peer.recv_cq
    peer.post_recv([])
    qp.send(inline=b'')
    completion(qp)
    check(wait_for(lambda: struct.unpack_from(
        '<I', queue.view, queue.at + 28)[0] == 1), 'no record')
    queue.arm()
    check(readable(process.slot.completions, 2), 'no wake-up')


@suite.case('solicited')
def solicited(world):
    """Armed for solicited ones: a plain SEND does not wake, one with
    SOLICITED does, and so does an error."""
    process = world.process()
    qp, peer = pair(world, process)
    fd, queue = process.slot.completions, peer.recv_cq
    for n in range(4):
        peer.post_recv([], wr_id=n)
    queue.arm(solicited=True)
    qp.send(inline=b'')
    completion(peer, flags=0)
    check(not readable(fd, 0.05), 'a wake-up without SOLICITED')
    qp.send(inline=b'', flags=WrFlag.SIGNALED | WrFlag.SOLICITED)
    completion(peer, flags=2)
    check(readable(fd, 2), 'no wake-up')
    os.read(fd, 8)
    queue.arm(solicited=True)
    peer.error()
    check(readable(fd, 2), 'no wake-up for an error')


@suite.case('a completion queue that is full')
def cq_full(world):
    """CQ_ERROR with detail 1, and the queue pairs that use it go to ERR."""
    process = world.process()
    queue = process.cq(2, user=12)
    qp = process.qp(send_cq=queue)
    other = process.qp()
    rig = world.rig
    qp.up(other.number, rig.ip, rig.mac, 1, 2)
    other.up(qp.number, rig.ip, rig.mac, 2, 1)
    region = process.region(PAGE)
    for n in range(4):
        qp.write(region.iova, region.stag, inline=b'y', wr_id=n)
    told = upcall(process, Up.CQ_ERROR, id=queue.id)
    same('CQ_ERROR', (told.detail, told.user), (1, 12))
    told = upcall(process, Up.QP_ERROR, id=qp.id)
    same('QP_ERROR', told.detail, Wcs.LOC_QP_OP_ERR)
    same('state', qp.state, Qps.ERR)
    same('records', [c.wr_id for c in queue.poll()], [0, 1])
    same('state of the queue', {row['id']: row['state'] for row in
         process.resync(1).rows}[queue.id], 1)
    no_upcall(process, Up.CQ_ERROR)
