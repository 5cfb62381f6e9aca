# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Completion queues and queue pairs at the control socket: SPEC "Completion
queue and queue pair", and QP_MODIFY as its command in "Commands about
transport" says."""

import records
from check import Skipped, Suite
from control_world import Op, Qps, Rights, St, refused, same
from names import PAGE, Class, Qpt

suite = Suite()


def rings(process):
    """Members of a good CQ_CREATE and QP_CREATE in the control region."""
    queue = process.cq()
    region = process.rings.region
    at = region.iova + process.rings.take(8192)
    return ({'mr': region.id, 'iova': at, 'entries': 16, 'db_index': 40},
            {'mr': region.id, 'sq_iova': at, 'rq_iova': at + 1024,
             'send_cq': queue.id, 'recv_cq': queue.id, 'sq_slots': 16,
             'rq_slots': 16, 'db_index': 40, 'pd': process.domain})


@suite.rows('CQ_CREATE refused', {
    '0 entries': ({'entries': 0}, St.INVALID),
    '1 entry': ({'entries': 1}, St.INVALID),
    '3 entries': ({'entries': 3}, St.INVALID),
    '32768 entries': ({'entries': 32768}, St.INVALID),
    'row 64': ({'db_index': 64}, St.INVALID),
    'row with a queue': ({'db_index': 0}, St.BUSY),
    'behind the region': ({'entries': 4096}, St.BOUNDS),
    'no region': ({'mr': 99}, St.NO_MR)})
def cq_refused(world, members, status):
    """No queue is made."""
    process = world.process()
    good, _ = rings(process)
    refused(process, status, Op.CQ_CREATE, **{**good, **members})


@suite.case('CQ_CREATE: ring')
def cq_ring(world):
    """INVALID when it does not begin at a multiple of 64, or its region is
    not of class control; RIGHTS without LOCAL_WRITE."""
    process = world.process()
    good, _ = rings(process)
    refused(process, St.INVALID, Op.CQ_CREATE,
            **{**good, 'iova': good['iova'] + 32})
    plain = process.region(PAGE)
    refused(process, St.INVALID, Op.CQ_CREATE,
            **{**good, 'mr': plain.id, 'iova': plain.iova})
    fixed = process.region(PAGE, Rights(0), Class.CONTROL)
    refused(process, St.RIGHTS, Op.CQ_CREATE,
            **{**good, 'mr': fixed.id, 'iova': fixed.iova})


def other_ring(process, queue):
    """Members of a good CQ_RESIZE of `queue`."""
    region = process.rings.region
    return {'id': queue.id, 'mr': region.id, 'iova': region.iova + process.rings.take(512),
            'entries': 16}


@suite.rows('CQ_RESIZE refused', {
    '0 entries': ({'entries': 0}, St.INVALID),
    '1 entry': ({'entries': 1}, St.INVALID),
    '3 entries': ({'entries': 3}, St.INVALID),
    '32768 entries': ({'entries': 32768}, St.INVALID),
    'behind the region': ({'entries': 4096}, St.BOUNDS),
    'no region': ({'mr': 99}, St.NO_MR),
    'no queue': ({'id': 99}, St.NO_CQ)})
def resize_refused(world, members, status):
    """The queue is as it was."""
    process = world.process()
    refused(process, status, Op.CQ_RESIZE,
            **{**other_ring(process, process.cq(16)), **members})


@suite.case('CQ_RESIZE: ring')
def resize_ring(world):
    """INVALID when it does not begin at a multiple of 64, or its region is not of class
    control; RIGHTS without LOCAL_WRITE; NO_MR: of another process; NO_PD: of another
    domain; NO_CQ: a queue of another process, or one that has ended."""
    process, other = world.process(), world.process()
    queue = process.cq(16)
    good = other_ring(process, queue)
    refused(process, St.INVALID, Op.CQ_RESIZE, **{**good, 'iova': good['iova'] + 32})
    plain = process.region(PAGE)
    refused(process, St.INVALID, Op.CQ_RESIZE,
            **{**good, 'mr': plain.id, 'iova': plain.iova})
    fixed = process.region(PAGE, Rights(0), Class.CONTROL)
    refused(process, St.RIGHTS, Op.CQ_RESIZE,
            **{**good, 'mr': fixed.id, 'iova': fixed.iova})
    apart = process.region(PAGE, Rights.LOCAL_WRITE, Class.CONTROL,
                           pd=process.must(Op.PD_ALLOC).id)
    refused(process, St.NO_PD, Op.CQ_RESIZE,
            **{**good, 'mr': apart.id, 'iova': apart.iova})
    foreign = other.region(PAGE, Rights.LOCAL_WRITE, Class.CONTROL)
    refused(process, St.NO_MR, Op.CQ_RESIZE,
            **{**good, 'mr': foreign.id, 'iova': foreign.iova})
    refused(other, St.NO_CQ, Op.CQ_RESIZE,
            **{**good, 'mr': foreign.id, 'iova': foreign.iova})
    queue.destroy()
    refused(process, St.NO_CQ, Op.CQ_RESIZE, **good)


@suite.rows('QP_CREATE refused', {
    '0 send slots': ({'sq_slots': 0}, St.INVALID),
    '1 send slot': ({'sq_slots': 1}, St.INVALID),
    '3 receive slots': ({'rq_slots': 3}, St.INVALID),
    '8192 receive slots': ({'rq_slots': 8192}, St.INVALID),
    'row 64': ({'db_index': 64}, St.INVALID),
    'type 3': ({'type': 3}, St.INVALID),
    'miss 3': ({'miss': 3, 'type': 2}, St.INVALID),
    'miss 1 of RC': ({'miss': 1}, St.INVALID),
    'behind the region': ({'sq_slots': 1024, 'rq_slots': 1024}, St.BOUNDS),
    'no region': ({'mr': 99}, St.NO_MR),
    'no send queue': ({'send_cq': 99}, St.NO_CQ),
    'no receive queue': ({'recv_cq': 99}, St.NO_CQ),
    'no domain': ({'pd': 99}, St.NO_PD)})
def qp_refused(world, members, status):
    """No queue pair is made."""
    process = world.process()
    _, good = rings(process)
    refused(process, status, Op.QP_CREATE, **{**good, **members})


@suite.case('QP_CREATE: rings')
def qp_rings(world):
    """INVALID: not aligned to 64, not of class control, an unknown flag; NO_PD: the
    region is of another domain; BUSY: the row has one."""
    process = world.process()
    _, good = rings(process)
    for name in ('sq_iova', 'rq_iova'):
        refused(process, St.INVALID, Op.QP_CREATE,
                **{**good, name: good[name] + 32})
    plain = process.region(2 * PAGE)
    refused(process, St.INVALID, Op.QP_CREATE,
            **{**good, 'mr': plain.id, 'sq_iova': plain.iova,
               'rq_iova': plain.iova + 1024})
    refused(process, St.NO_PD, Op.QP_CREATE,
            **{**good, 'pd': process.pd()})
    data = bytearray(records.request(Op.QP_CREATE, 7, **good))
    data[55] = 2  # QP_SRQ is 1
    process.raw(bytes(data))
    same('flags', process.receive(2).status, St.INVALID)
    process.must(Op.QP_CREATE, **good)
    refused(process, St.BUSY, Op.QP_CREATE, **good)


def rate_of(process, **members):
    """What OWN_RATE says of the process, or of queue pair `id`."""
    reply = process.call(Op.OWN_RATE, **members)
    if reply.status == St.UNSUPPORTED:
        raise Skipped('the NIC has no transmit limits')
    same('status', reply.status, St.OK)
    return reply.rate, reply.burst


@suite.case('OWN_RATE')
def own_rate(world):
    """A queue pair's limit is set as one likes, that of the process only
    lowered (QUOTA); NO_QP: of another; both are told without SET."""
    process, other = world.process(), world.process()
    qp = process.qp()
    same('at first', rate_of(process), (0, 0))
    for rate, burst, told in ((1000, 0, 16384), (10 ** 11, 0, 10 ** 11 // 128),
                              (1000, 65536, 65536), (0, 0, 0)):
        same('set', rate_of(process, id=qp.id, rate=rate, burst=burst, flags=1),
             (rate, told))
        same('told', rate_of(process, id=qp.id), (rate, told))
    for members in ({'rate': 999}, {'rate': 10 ** 11 + 1}, {'burst': 1},
                    {'rate': 70000, 'burst': 70001}):
        refused(process, St.INVALID, Op.OWN_RATE, id=qp.id, flags=1, **members)
    for flags in (2, 3, 4):
        refused(process, St.INVALID, Op.OWN_RATE, id=qp.id, rate=1000,
                flags=flags)
    refused(process, St.INVALID, Op.OWN_RATE, rate=1000)
    refused(other, St.NO_QP, Op.OWN_RATE, id=qp.id)
    rate_of(process, rate=10 ** 9, flags=1)
    for rate in (0, 10 ** 9 + 1):
        refused(process, St.QUOTA, Op.OWN_RATE, rate=rate, flags=1)
    same('lowered', rate_of(process, rate=10 ** 8, flags=1),
         (10 ** 8, 10 ** 8 // 128))
    same('of the other', rate_of(other), (0, 0))


@suite.case('RATE')
def rate_of_process(world):
    """An administrator raises and lowers the limit of any process."""
    process = world.process()
    rate_of(process, rate=10 ** 6, flags=1)
    slot = process.hello_reply.proc
    for rate in (10 ** 7, 10 ** 5, 0):
        reply = process.must(Op.RATE, id=slot, rate=rate, flags=1)
        same('rate', reply.rate, rate)
        same('told', rate_of(process)[0], rate)
    refused(process, St.INVALID, Op.RATE, id=slot, rate=1, flags=1)
    refused(process, St.INVALID, Op.RATE, id=slot, rate=10 ** 6, flags=2)
    refused(process, St.NO_PROC, Op.RATE, id=0xffffffff)


@suite.case('what is in use stays')
def in_use(world):
    """BUSY: a completion queue with a queue pair, a region with a queue, a
    domain with a region. In the right order all of them end."""
    process = world.process()
    qp = process.qp()
    control = process.rings.region
    refused(process, St.BUSY, Op.CQ_DESTROY, id=qp.send_cq.id)
    refused(process, St.BUSY, Op.MR_DEREG, id=control.id)
    refused(process, St.BUSY, Op.PD_FREE, id=process.domain)
    qp.destroy()
    refused(process, St.NO_QP, Op.QP_DESTROY, id=qp.id)
    refused(process, St.NO_CQ, Op.CQ_DESTROY, id=qp.send_cq.id)
    process.must(Op.MR_DEREG, id=control.id)
    process.must(Op.PD_FREE, id=process.domain)


@suite.case('half of the queues')
def half_of_queues(world):
    """QUOTA above half of the NIC's table, of completion queues and of queue
    pairs."""
    process = world.process()
    first = process.cq(2)
    for _ in range((world.nic['cqs'] + 1) // 2 - 1):
        process.cq(2)
    good, _ = rings_after(process)
    refused(process, St.QUOTA, Op.CQ_CREATE, **good)
    for _ in range((world.nic['qps'] + 1) // 2):
        process.qp(send_cq=first, sq_slots=2, rq_slots=2)
    _, good = rings_after(process)
    refused(process, St.QUOTA, Op.QP_CREATE,
            **{**good, 'send_cq': first.id, 'recv_cq': first.id})


def rings_after(process):
    """As rings(), without another completion queue."""
    region = process.rings.region
    at = region.iova + process.rings.take(2048)
    return ({'mr': region.id, 'iova': at, 'entries': 2, 'db_index': 60},
            {'mr': region.id, 'sq_iova': at, 'rq_iova': at + 1024,
             'sq_slots': 2, 'rq_slots': 2, 'db_index': 60,
             'pd': process.domain})


# states

@suite.rows('QP_MODIFY refused', {
    'RESET to RTR': ((), {'state': 2}, St.STATE),
    'RESET to RTS': ((), {'state': 3}, St.STATE),
    'RESET to ERR': ((), {'state': 5}, St.STATE),
    'SQE': (('init',), {'state': 4}, St.INVALID),
    'state 6': (('init',), {'state': 6}, St.INVALID),
    'INIT twice': (('init',), {'state': 1}, St.STATE),
    'INIT to RTS': (('init',), {'state': 3}, St.STATE),
    'INIT: right LOCAL_WRITE': ((), {'state': 1, 'rights': 1}, St.INVALID),
    'INIT: right MW_BIND': ((), {'state': 1, 'rights': 8}, St.INVALID),
    'RTR: MTU 128': (('init',), {'mtu_shift': 7}, St.INVALID),
    'RTR: MTU 8192': (('init',), {'mtu_shift': 13}, St.INVALID),
    'RTR: dest_qpn 1': (('init',), {'dest_qpn': 1}, St.INVALID),
    'RTR: dest_qpn of 25 bits': (('init',), {'dest_qpn': 1 << 24},
                                 St.INVALID),
    'RTR: rq_psn of 25 bits': (('init',), {'rq_psn': 1 << 24}, St.INVALID),
    'RTR: rnr_timer 32': (('init',), {'rnr_timer': 32}, St.INVALID),
    'RTR: max_dest_rd 17': (('init',), {'max_dest_rd': 17}, St.INVALID),
    'RTR: vendor 2': (('init',), {'vendor': 2}, St.INVALID),
    'RTR: group address': (('init',), {'dest_mac': b'\1\0\0\0\0\1'},
                           St.INVALID),
    'RTS: sq_psn of 25 bits': (('init', 'rtr'), {'sq_psn': 1 << 24},
                               St.INVALID),
    'RTS: max_rd 17': (('init', 'rtr'), {'max_rd': 17}, St.INVALID),
    'RTS: timeout 0': (('init', 'rtr'), {'timeout': 0}, St.INVALID),
    'RTS: timeout 32': (('init', 'rtr'), {'timeout': 32}, St.INVALID),
    'RTS: retry_cnt 8': (('init', 'rtr'), {'retry_cnt': 8}, St.INVALID),
    'RTS: rnr_retry 8': (('init', 'rtr'), {'rnr_retry': 8}, St.INVALID)})
def modify_refused(world, steps, members, status):
    """The queue pair stays in its state, and goes on from it."""
    process = world.process()
    qp = process.qp()
    rtr = {'state': 2, 'mtu_shift': 10, 'dest_qpn': 5, 'dest_mac':
           world.rig.mac, 'dest_ipv4': world.rig.ip}
    rts = {'state': 3, 'timeout': 14}
    for step in steps:
        if step == 'init':
            qp.init()
        else:
            process.must(Op.QP_MODIFY, id=qp.id, **rtr)
    wanted = members.get('state', 3 if len(steps) > 1 else 2)
    default = {2: rtr, 3: rts}.get(wanted, {})
    before = qp.state
    refused(process, status, Op.QP_MODIFY,
            **{'id': qp.id, **default, **members})
    same('state', qp.state, before)


@suite.case('states of a queue pair')
def states(world):
    """RESET, INIT, RTR, RTS, ERR and RESET again; QP_QUERY says it each
    time, and the number stays."""
    process = world.process()
    for qpt in (Qpt.RC, Qpt.UC, Qpt.UD):
        qp = process.qp(qpt)
        seen = [qp.state]
        qp.init()
        seen.append(qp.state)
        qp.rtr(5, world.rig.ip, world.rig.mac)
        seen.append(qp.state)
        qp.rts()
        seen.append(qp.state)
        qp.error()
        seen.append(qp.state)
        qp.reset()
        seen.append(qp.state)
        same(f'{qpt.name}', seen, [Qps.RESET, Qps.INIT, Qps.RTR, Qps.RTS,
                                   Qps.ERR, Qps.RESET])
        same('number', qp.query().number, qp.number)


@suite.case('a peer that nobody knows')
def no_peer(world):
    """A `dest_mac` of zeros is asked for by ARP: UNREACHABLE after about a
    second without an answer; the queue pair is in INIT still."""
    process = world.process()
    qp = process.qp()
    qp.init()
    reply = process.call(Op.QP_MODIFY, id=qp.id, state=2, mtu_shift=10,
                         dest_qpn=5, dest_ipv4=world.rig.ip ^ 0x7e)
    same('RTR', reply.status, St.UNREACHABLE)
    same('state', qp.state, Qps.INIT)
