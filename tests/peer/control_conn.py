# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Connections as a process sees them: SPEC "A connection", "Disconnect",
"Requests about connections", "Holders". Both ends are of this host; the wire
side of them is in test_cm.py."""

import time

from check import Suite
from control_world import (Op, Qps, Rights, St, Up, check, completion,
                           no_upcall, refused, same, upcall,
                           wait_for)
from names import PAGE, Conn, Qpt, Why

suite = Suite()

SERVICE = 0x7065657200000010
OWN_SERVICE = 0x756e69636b696f02        # one of the driver's ("unickio")
STAG, TOKEN = 1, 2                      # enum unic_ctl_held


class Pair:
    """A listener and who connects to it, up to the upcall CONN_REQUEST."""

    def __init__(self, world, private=b'', qpt=Qpt.RC, **more):
        self.world = world
        self.active, self.passive = world.process(), world.process()
        self.listener = self.passive.listen(SERVICE, user=21)
        self.one = self.active.qp(qpt, user=22)
        self.seq = self.active.connect_later(SERVICE, world.rig.ip, self.one,
                                             private, **more)
        self.request = upcall(self.passive, Up.CONN_REQUEST)
        self.conn = self.request.id

    def accept(self, private=b'', qpt=Qpt.RC, **more):
        """ACCEPT with a new queue pair: its reply."""
        self.two = self.passive.qp(qpt, user=23)
        return self.passive.wait(self.passive.accept_later(
            self.conn, self.two, private, **more))

    def connected(self):
        """The reply of CONNECT."""
        return self.active.wait(self.seq)

    def up(self, **more):
        """Both sides: replies of ACCEPT and CONNECT, which are OK."""
        accepted, connected = self.accept(**more), self.connected()
        same('ACCEPT', accepted.status, St.OK)
        same('CONNECT', connected.status, St.OK)
        upcall(self.passive, Up.ESTABLISHED, id=self.conn)
        return accepted, connected


@suite.case('CONNECT and ACCEPT')
def connect(world):
    """CONN_REQUEST, ACCEPT, ESTABLISHED, and what each side is told. Both
    queue pairs are in RTS and move data."""
    pair = Pair(world, b'knock')
    request = pair.request
    same('CONN_REQUEST', (request.user, request.listener, request.peer_ipv4,
                          request.peer_qpn, request.private_bytes,
                          request.qp),
         (21, pair.listener, world.rig.ip, pair.one.number, 5, 0))
    asked = pair.passive.conn_query(pair.conn)
    same('CONN_QUERY', (asked.state, asked.service, asked.tail,
                        asked.qp_type, asked.vendor),
         (Conn.REQUESTED, SERVICE, b'knock', 0, 1))
    accepted = pair.accept(b'come in', max_rd=3, max_dest_rd=2)
    connected = pair.connected()
    same('statuses', (accepted.status, connected.status), (St.OK, St.OK))
    same('CONNECT', (connected.state, connected.peer_qpn, connected.vendor,
                     connected.tail, connected.qp, connected.max_rd,
                     connected.max_dest_rd, connected.peer_ipv4),
         (Conn.ESTABLISHED, pair.two.number, 1, b'come in', pair.one.id, 2,
          3, world.rig.ip))
    told = upcall(pair.passive, Up.ESTABLISHED, id=pair.conn)
    same('ESTABLISHED', (told.user, told.qp, told.peer_qpn),
         (23, pair.two.id, pair.one.number))
    same('states', (pair.one.state, pair.two.state), (Qps.RTS, Qps.RTS))
    same('CONN_QUERY', pair.passive.conn_query(pair.conn).state,
         Conn.ESTABLISHED)
    pair.two.post_recv([])
    pair.one.send(inline=b'')
    completion(pair.one, status=0)
    completion(pair.two, status=0)


@suite.case('QP_MODIFY of a connected queue pair')
def modify_connected(world):
    """STATE: the connection has it."""
    pair = Pair(world)
    pair.up()
    for qp in (pair.one, pair.two):
        for state in (Qps.ERR, Qps.RESET, Qps.RTS):
            refused(qp.process, St.STATE, Op.QP_MODIFY, id=qp.id,
                    state=state)


@suite.case('DISCONNECT')
def disconnect(world):
    """The other side gets DISCONNECTED, reason 0; both queue pairs are in
    ERR; its DISCONNECT is OK at once, and the id is gone then."""
    pair = Pair(world)
    _, connected = pair.up()
    pair.two.post_recv([], wr_id=3)
    same('DISCONNECT', pair.active.wait(
        pair.active.disconnect_later(connected.id)).status, St.OK)
    told = upcall(pair.passive, Up.DISCONNECTED, id=pair.conn)
    same('DISCONNECTED', (told.reason, told.user), (0, 23))
    completion(pair.two, wr_id=3, status=4)
    refused(pair.active, St.NO_CONN, Op.CONN_QUERY, id=connected.id)
    same('CONN_QUERY', pair.passive.conn_query(pair.conn).state, Conn.CLOSED)
    pair.passive.must(Op.DISCONNECT, id=pair.conn)
    refused(pair.passive, St.NO_CONN, Op.DISCONNECT, id=pair.conn)
    no_upcall(pair.active, Up.DISCONNECTED)
    for qp in (pair.one, pair.two):
        qp.reset()
        same('state', qp.state, Qps.RESET)


@suite.case('QP_QUERY after DISCONNECT')
def query_disconnected(world):
    """Both queue pairs are in ERR, and QP_QUERY says so."""
    pair = Pair(world)
    _, connected = pair.up()
    pair.active.must(Op.DISCONNECT, id=connected.id)
    upcall(pair.passive, Up.DISCONNECTED, id=pair.conn)
    same('states', (pair.one.state, pair.two.state), (Qps.ERR, Qps.ERR))


@suite.rows('private data', {f'{n} bytes': (n,) for n in (0, 1, 55, 56)})
def private_data(world, length):
    """Between unic peers the length comes along, both ways."""
    data = bytes(range(length))
    pair = Pair(world, data)
    same('private_bytes', pair.request.private_bytes, length)
    same('CONN_QUERY', pair.passive.conn_query(pair.conn).tail, data)
    pair.accept(data[::-1])
    connected = pair.connected()
    same('CONNECT', connected.tail, data[::-1])
    last = data[:length // 2]
    pair.active.must(Op.DISCONNECT, tail=last, id=connected.id)
    upcall(pair.passive, Up.DISCONNECTED, id=pair.conn)
    same('CONN_QUERY', pair.passive.conn_query(pair.conn).tail, last)


@suite.case('transaction')
def transaction(world):
    """The two ends of a connection have the same one, others another."""
    ids = []
    for _ in range(2):
        pair = Pair(world)
        _, connected = pair.up()
        same('transaction', pair.passive.conn_query(pair.conn).transaction,
             connected.transaction)
        ids.append(connected.transaction)
        pair.active.close()
        pair.passive.close()
    check(len({0, *ids}) == 3, f'transactions {ids}')


@suite.case('REJECT')
def reject(world):
    """REJECTED with reason 28 and the private data; the id is gone, and the
    queue pair of the active side can be used again."""
    pair = Pair(world)
    pair.passive.reject(pair.conn, b'no')
    reply = pair.connected()
    same('CONNECT', (reply.status, reply.reason, reply.state, reply.tail),
         (St.REJECTED, 28, Conn.REJECTED, b'no'))
    refused(pair.passive, St.NO_CONN, Op.REJECT, conn=pair.conn)
    same('state', pair.one.state, Qps.RESET)
    pair.seq = pair.active.connect_later(SERVICE, world.rig.ip, pair.one)
    pair.conn = upcall(pair.passive, Up.CONN_REQUEST).id
    pair.up()


@suite.case('nobody listens')
def nobody_listens(world):
    """REJECTED with reason 8."""
    process = world.process()
    reply = process.wait(process.connect_later(0x1234567, world.rig.ip,
                                               process.qp()))
    same('CONNECT', (reply.status, reply.reason), (St.REJECTED, 8))


@suite.case('another type of queue pair')
def other_type(world):
    """RC is asked for, UC accepts: REJECTED to both, reason 9."""
    pair = Pair(world)
    reply = pair.accept(qpt=Qpt.UC)
    same('ACCEPT', reply.status, St.REJECTED)
    reply = pair.connected()
    same('CONNECT', (reply.status, reply.reason), (St.REJECTED, 9))


@suite.case('a smaller MTU')
def smaller_mtu(world):
    """ACCEPT below the MTU of the peer: REJECTED to both, reason 26. Above
    it, and where CONNECT asks for less, the smaller one counts."""
    pair = Pair(world)
    same('ACCEPT', pair.accept(mtu_shift=8).status, St.REJECTED)
    reply = pair.connected()
    same('CONNECT', (reply.status, reply.reason), (St.REJECTED, 26))
    pair.seq = pair.active.connect_later(SERVICE, world.rig.ip,
                                         pair.active.qp(), mtu_shift=9)
    pair.conn = upcall(pair.passive, Up.CONN_REQUEST).id
    for reply in pair.up(mtu_shift=12):
        same('mtu_shift', reply.mtu_shift, 9)


@suite.case('a connection of UC')
def connect_uc(world):
    """Both queue pairs are of UC; what one sends the other receives."""
    pair = Pair(world, qpt=Qpt.UC)
    same('qp_type', pair.passive.conn_query(pair.conn).qp_type, 1)
    pair.up(qpt=Qpt.UC)
    pair.two.post_recv([])
    pair.one.send(inline=b'')
    completion(pair.two, status=0)


@suite.rows('CONNECT refused', {
    'no queue pair': ({'qp': 99}, St.NO_QP),
    'MTU of 2 bytes': ({'mtu_shift': 1}, St.INVALID),
    'MTU of 128 bytes': ({'mtu_shift': 7}, St.INVALID)})
def connect_refused(world, members, status):
    """Nothing is sent, and the queue pair stays in RESET."""
    process = world.process()
    qp = process.qp()
    refused(process, status, Op.CONNECT,
            **{'qp': qp.id, 'ipv4': world.rig.ip, **members})
    same('state', qp.state, Qps.RESET)


@suite.case('CONNECT: state and type')
def connect_state(world):
    """STATE: the queue pair is of UD, or has a connection already."""
    pair = Pair(world)
    process = pair.active
    for qp in (process.qp(Qpt.UD), pair.one):
        refused(process, St.STATE, Op.CONNECT, qp=qp.id,
                ipv4=world.rig.ip, service=SERVICE)


@suite.case('CONNECT of a queue pair in INIT')
def connect_init(world):
    """STATE, and no REQ is sent."""
    one, two = world.process(), world.process()
    two.listen(SERVICE)
    qp = one.qp()
    qp.init()
    seq = one.connect_later(SERVICE, world.rig.ip, qp, timeout_us=200000)
    no_upcall(two, Up.CONN_REQUEST)
    same('CONNECT', one.wait(seq).status, St.STATE)


@suite.case('ACCEPT with a queue pair in INIT')
def accept_init(world):
    """STATE, and nothing happened: the request waits on."""
    pair = Pair(world)
    used = pair.passive.qp()
    used.init()
    refused(pair.passive, St.STATE, Op.ACCEPT, conn=pair.conn, qp=used.id)
    same('CONN_QUERY', pair.passive.call(
        Op.CONN_QUERY, id=pair.conn).status, St.OK)


@suite.case('ACCEPT refused')
def accept_refused(world):
    """NO_CONN, NO_QP, STATE; the request waits on."""
    pair = Pair(world)
    process = pair.passive
    datagram = process.qp(Qpt.UD)
    for members, status in (
            ({'conn': 99}, St.NO_CONN), ({'qp': 99}, St.NO_QP),
            ({'qp': datagram.id}, St.STATE), ({'mtu_shift': 3}, St.INVALID)):
        refused(process, status, Op.ACCEPT, **{
            'conn': pair.conn, 'qp': process.qp().id, **members})
    refused(pair.active, St.NO_CONN, Op.ACCEPT, conn=pair.conn,
            qp=pair.one.id)
    pair.up()
    refused(process, St.STATE, Op.ACCEPT, conn=pair.conn,
            qp=process.qp().id)
    refused(process, St.STATE, Op.REJECT, conn=pair.conn)


@suite.case('CONNECT times out')
def connect_timeout(world):
    """Nobody accepts: UNREACHABLE when timeout_us are over, and the passive
    side is told DISCONNECTED."""
    begin = time.monotonic()
    pair = Pair(world, timeout_us=150000)
    reply = pair.connected()
    check(time.monotonic() - begin >= 0.15, 'early')
    same('CONNECT', reply.status, St.UNREACHABLE)
    upcall(pair.passive, Up.DISCONNECTED, id=pair.conn)


@suite.case('CONNECT to no host')
def connect_no_host(world):
    """Nobody answers ARP: UNREACHABLE after about three seconds."""
    process = world.process()
    reply = process.wait(process.connect_later(
        SERVICE, world.rig.ip ^ 0x7d, process.qp()))
    same('CONNECT', reply.status, St.UNREACHABLE)


@suite.case('listeners')
def listeners(world):
    """IN_USE for a service that somebody has, also this process; free again
    after UNLISTEN; QUOTA above 64."""
    one, two = world.process(), world.process()
    listener = one.listen(SERVICE)
    for process in (one, two):
        refused(process, St.IN_USE, Op.LISTEN, service=SERVICE)
    one.unlisten(listener)
    refused(one, St.NO_CONN, Op.UNLISTEN, id=listener)
    two.listen(SERVICE)
    for n in range(64):
        one.listen(SERVICE + 0x1000 + n)
    refused(one, St.QUOTA, Op.LISTEN, service=SERVICE + 0x2000)
    one.close()
    check(wait_for(lambda: two.call(
        Op.LISTEN, service=SERVICE + 0x1000).status == St.OK, 2.0),
        'the listeners outlive their process')


@suite.case('services of the driver')
def driver_services(world):
    """PERMISSION without privilege, to LISTEN and to CONNECT."""
    process = world.nobody()
    refused(process, St.PERMISSION, Op.LISTEN, service=OWN_SERVICE)
    refused(process, St.PERMISSION, Op.CONNECT, service=OWN_SERVICE,
            ipv4=world.rig.ip, qp=process.qp().id)


@suite.case('a peer that ends')
def peer_ends(world):
    """Its process closes the socket: DISCONNECTED."""
    pair = Pair(world)
    pair.up()
    pair.active.close()
    told = upcall(pair.passive, Up.DISCONNECTED, id=pair.conn)
    same('reason', told.reason, 0)
    pair.two.post_recv([])
    completion(pair.two, status=4)


@suite.case('QP_DESTROY of a connected queue pair')
def destroy_connected(world):
    """Its connection ends, too: the peer gets DISCONNECTED."""
    pair = Pair(world)
    _, connected = pair.up()
    pair.one.destroy()
    upcall(pair.passive, Up.DISCONNECTED, id=pair.conn)
    refused(pair.active, St.NO_CONN, Op.DISCONNECT, id=connected.id)


# holders

def granted(world):
    """A connection over which the passive side granted an STag."""
    world.parameters(grace_us=1_000_000)
    pair = Pair(world)
    _, connected = pair.up()
    region = pair.passive.region(4 * PAGE)
    pair.passive.grant(region, pair.conn)
    return pair, connected, region


@suite.case('GRANT and INVALIDATED')
def holders(world):
    """The holder is asked by INVALIDATE; when it has answered the region is
    released: EVICTED with reason HOLDERS, long before T is over."""
    pair, connected, region = granted(world)
    world.admin().evict(region.id)
    upcall(pair.passive, Up.NOTICE, id=region.id)
    told = upcall(pair.active, Up.INVALIDATE, id=connected.id)
    same('INVALIDATE', (told.kind, told.number, told.qp, told.user),
         (STAG, region.stag, pair.one.id, 22))
    check(0 < told.grace_us <= 1_000_000, f'grace_us {told.grace_us}')
    refused(pair.active, St.STATE, Op.INVALIDATED, conn=connected.id,
            kind=STAG, number=region.stag ^ 0x100)
    pair.active.invalidated(connected.id, STAG, region.stag)
    ended = upcall(pair.passive, Up.EVICTED, 0.8, id=region.id)
    same('reason', ended.reason, Why.HOLDERS)
    pair.passive.must(Op.MR_DEREG, id=region.id)


@suite.case('a holder whose connection ends')
def holder_leaves(world):
    """Counts as an answer."""
    pair, connected, region = granted(world)
    world.admin().evict(region.id)
    upcall(pair.active, Up.INVALIDATE, id=connected.id)
    pair.active.must(Op.DISCONNECT, id=connected.id)
    ended = upcall(pair.passive, Up.EVICTED, 0.8, id=region.id)
    same('reason', ended.reason, Why.HOLDERS)


@suite.case('EXTEND of a region with holders')
def holders_extend(world):
    """Its owner uses it: the notice runs its course, whatever they answer."""
    world.parameters(grace_us=200_000)
    pair = Pair(world)
    _, connected = pair.up()
    region = pair.passive.region(4 * PAGE)
    pair.passive.grant(region, pair.conn)
    world.admin().evict(region.id)
    notice = upcall(pair.passive, Up.NOTICE, id=region.id)
    same('EXTEND', pair.passive.answer(notice, 3, extend_us=10000).status,
         St.OK)
    upcall(pair.active, Up.INVALIDATE, id=connected.id)
    pair.active.invalidated(connected.id, STAG, region.stag)
    ended = upcall(pair.passive, Up.EVICTED, id=region.id)
    same('reason', ended.reason, Why.ADMIN)
    check(time.monotonic_ns() >= notice.deadline_ns, 'before the deadline')


@suite.case('GRANT of a token')
def grant_token(world):
    """The holder is asked about the token's index."""
    world.parameters(grace_us=1_000_000)
    pair = Pair(world)
    _, connected = pair.up()
    region = pair.passive.region(4 * PAGE)
    token = pair.passive.token_alloc(region)
    pair.passive.grant(region, pair.conn, token.id)
    world.admin().evict(region.id)
    told = upcall(pair.active, Up.INVALIDATE, id=connected.id)
    same('INVALIDATE', (told.kind, told.number), (TOKEN, token.index))
    pair.active.invalidated(connected.id, TOKEN, token.index)
    upcall(pair.passive, Up.EVICTED, 0.8, id=region.id)


@suite.case('DELEGATE')
def delegate(world):
    """A holder hands the STag on to another peer of the exporter: both are
    asked then, and both must answer. NO_CONN: the exporter has no such
    peer; NO_MR: we do not hold it."""
    pair, connected, region = granted(world)
    third = world.process()
    qp = third.qp()
    seq = third.connect_later(SERVICE, world.rig.ip, qp)
    pair.conn = upcall(pair.passive, Up.CONN_REQUEST).id
    same('ACCEPT', pair.accept().status, St.OK)
    other = third.wait(seq)
    good = {'conn': connected.id, 'kind': STAG, 'number': region.stag,
            'ipv4': world.rig.ip, 'qpn': qp.number}
    refused(pair.active, St.NO_CONN, Op.DELEGATE,
            **{**good, 'qpn': qp.number ^ 0x100})
    refused(third, St.NO_MR, Op.DELEGATE, **{**good, 'conn': other.id})
    pair.active.must(Op.DELEGATE, **good)
    world.admin().evict(region.id)
    for process, conn in ((pair.active, connected), (third, other)):
        upcall(process, Up.INVALIDATE, id=conn.id, number=region.stag)
    pair.active.invalidated(connected.id, STAG, region.stag)
    no_upcall(pair.passive, Up.EVICTED)
    third.invalidated(other.id, STAG, region.stag)
    ended = upcall(pair.passive, Up.EVICTED, 0.8, id=region.id)
    same('reason', ended.reason, Why.HOLDERS)


@suite.case('GRANT refused')
def grant_refused(world):
    """NO_MR, NO_CONN, NO_TOKEN; STATE before the connection is up and when
    the region is asked back already."""
    world.parameters(grace_us=1_000_000)
    pair = Pair(world)
    process = pair.passive
    region = process.region(PAGE)
    good = {'mr': region.id, 'conn': pair.conn}
    refused(process, St.STATE, Op.GRANT, **good)
    pair.up()
    for members, status in (
            ({'mr': 99}, St.NO_MR), ({'conn': 99}, St.NO_CONN),
            ({'token': 99}, St.NO_TOKEN)):
        refused(process, status, Op.GRANT, **{**good, **members})
    refused(process, St.STATE, Op.INVALIDATED, conn=pair.conn, kind=STAG,
            number=region.stag)
    refused(process, St.NO_MR, Op.DELEGATE, conn=pair.conn, kind=STAG,
            number=region.stag, ipv4=world.rig.ip, qpn=5)
    world.admin().evict(region.id)
    upcall(process, Up.NOTICE, id=region.id)
    refused(process, St.STATE, Op.GRANT, **good)


@suite.case('GRANT of a token of another region')
def grant_foreign_token(world):
    """It is taken: the driver does not look of which region `token` is."""
    pair = Pair(world)
    pair.up()
    process = pair.passive
    token = process.token_alloc(process.region(PAGE))
    process.must(Op.GRANT, mr=process.region(PAGE).id, conn=pair.conn,
                 token=token.id)


@suite.case('max_rd 0 is a default')
def defaults(world):
    """0 in the one-byte fields: 4 READs each way, the MTU of the path."""
    pair = Pair(world, rights=Rights(0))
    for reply in pair.up(rights=Rights(0)):
        same('defaults', (reply.max_rd, reply.max_dest_rd,
                          1 << reply.mtu_shift),
             (4, 4, world.nic['path_mtu']))
