# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What cases of the connection manager work with: a host whose process
listens or connects, and our side of the connection."""

import cm
import rc
from check import check, same, wait_for
from names import Op, Qps, Qpt, Up
from world import World

SERVICE = 0x7065657200000000


class CmWorld(World):
    """A World with a manager of datagrams, listeners and connections."""

    def __init__(self, rig):
        super().__init__(rig)
        self.manager = cm.Manager(self.station)
        self.service = SERVICE
        self.listeners = []
        self.sides = []
        self.qps = []
        self.open = []

    def listen(self, user=0):
        """A service of this case, and its listener: the service."""
        self.service += 1
        self.listeners.append(self.process.listen(self.service, user))
        return self.service

    def side(self, vendor=True, **wishes):
        """Our side of a connection of this case."""
        side = cm.Side(self.manager, self.new_qpn(), vendor, **wishes)
        self.station.open(side.qpn)
        self.sides.append(side)
        return side

    def qp(self, qpt=Qpt.RC):
        """A queue pair in RESET."""
        qp = self.process.qp(qpt)
        self.qps.append(qp)
        return qp

    def request(self, side=None, **fields):
        """Sends a REQ to a new listener; (side, upcall CONN_REQUEST)."""
        side = side or self.side()
        service = fields.pop("service", None) or self.listen()
        side.req(service, **fields)
        upcall = self.process.upcall(Up.CONN_REQUEST, self.patience,
                                     peer_qpn=fields.get("qpn", side.qpn))
        check(upcall, "no upcall CONN_REQUEST")
        self.open.append(upcall.id)
        return side, upcall

    def accept(self, side, upcall, private=b"", **wishes):
        """The process accepts; (REP, queue pair, reply of ACCEPT)."""
        qp = self.qp()
        reply = self.process.wait(self.process.accept_later(
            upcall.id, qp, private, **wishes))
        same("status of ACCEPT", reply.status.name, "OK")
        rep = side.recv(cm.REP, self.patience)
        check(rep, "no REP")
        side.take_rep(rep)
        return rep, qp, reply

    def passive(self, vendor=True, rtu=True, **fields):
        """A connection that we began: (side, connection id, queue pair)."""
        side, upcall = self.request(self.side(vendor), **fields)
        _, qp, _ = self.accept(side, upcall)
        if rtu:
            side.rtu()
            check(self.process.upcall(Up.ESTABLISHED, id=upcall.id),
                  "no upcall ESTABLISHED")
            self.settle()
        return side, upcall.id, qp

    def connect(self, side=None, qp=None, **wishes):
        """The process connects to us; (side, seq of CONNECT, REQ, qp)."""
        side = side or self.side()
        qp = qp or self.qp()
        self.service += 1
        wishes.setdefault("timeout", 18)
        seq = self.process.connect_later(self.service, self.station.ip, qp,
                                         **wishes)
        req = self.manager.recv(self.patience, cm.REQ)
        while req and req.service != self.service:
            req = self.manager.recv(self.patience, cm.REQ)
        check(req, "no REQ")
        side.take_req(req)
        return side, seq, req, qp

    def result(self, seq, timeout=5.0):
        """The reply of a request; the station is served meanwhile."""
        check(wait_for(lambda: self.station.poll(0.002) and False
                       or self.process.answered(seq), timeout),
              "no reply of the driver")
        return self.process.wait(seq)

    def active(self, vendor=True, **wishes):
        """A connection that the process began: (side, conn id, qp)."""
        side, seq, _, qp = self.connect(self.side(vendor), **wishes)
        side.rep()
        reply = self.result(seq)
        same("status of CONNECT", reply.status.name, "OK")
        check(side.recv(cm.RTU, self.patience), "no RTU")
        self.settle()
        self.open.append(reply.id)
        return side, reply.id, qp

    def settle(self):
        """What the driver repeated before is taken from the wire."""
        self.station.barrier()
        self.manager.forget()

    def peer(self, side, mtu=1024):
        """The wire side of a connection that is up."""
        peer = rc.Peer(self.station, side.qpn, mtu, psn=side.peer_psn,
                       epsn=side.psn, vendor=side.vendor)
        # The PSN that a side names is the one that its receiver sends with.
        peer.psn = peer.una = side.peer_psn
        peer.epsn = side.psn
        peer.dqpn = side.peer_qpn
        return peer

    def works(self, side, qp):
        """Data pass on the connection: an empty WRITE is acknowledged, and
        a SEND of the NIC comes with the PSN that we named."""
        peer = self.peer(side)
        request = peer.write(0, 0, b"")
        same("empty WRITE", peer.finish(request), "ok")
        qp.send(inline=b"data", wr_id=77)
        check(peer.run(lambda: peer.messages), "no SEND of the NIC")
        first = [p for p in peer.requests if p.opcode == 4][0]
        same("its PSN", first.psn, side.psn)
        done = qp.wait(1)
        check(done and done[0].status == 0, "completion %s" % (done,))

    def gone(self, conn):
        """The connection id is nobody's any more."""
        return self.process.call(
            Op.CONN_QUERY, id=conn).status.name == "NO_CONN"

    def state(self, conn):
        """State of a connection, as CONN_QUERY says."""
        return self.process.conn_query(conn).state

    def disconnected(self, conn, reason=0, timeout=2.0):
        """Upcall DISCONNECTED with this reason."""
        upcall = self.process.upcall(Up.DISCONNECTED, timeout, id=conn)
        check(upcall, "no upcall DISCONNECTED")
        same("reason of DISCONNECTED", upcall.reason, reason)

    def in_error(self, qp):
        """The queue pair is in ERR at the NIC."""
        def state():
            return self.process.dump_qp(qp.number)["state"]
        check(wait_for(lambda: state() == Qps.ERR),
              "the queue pair is in state %d" % state())

    def after_case(self):
        """Listeners, connections and queue pairs of the case end."""
        self.station.answers_arp = True
        for listener in self._all("listeners"):
            self.process.unlisten(listener)
        seqs = []
        for conn in self._all("open"):
            if self.process.call(Op.REJECT, conn=conn).status.name == "OK":
                continue
            seqs.append(self.process.disconnect_later(conn))
        for side in self._all("sides"):
            if seqs:
                side.drep()
            self.station.forget(side.qpn)
        for seq in seqs:
            self._answer_dreqs(seq)
        for qp in self._all("qps"):
            self.process.wait(self.process.send(Op.QP_DESTROY, id=qp.id))
            qp.process.qp_rows.add(qp.row)
            qp.process.rings.give(qp.at, qp.size)
            qp.send_cq.destroy()
        self.manager.forget()
        super().after_case()

    def _answer_dreqs(self, seq):
        while not self.process.answered(seq):
            dreq = self.manager.recv(0.02, cm.DREQ)
            if dreq:
                self.manager.send(cm.build(
                    cm.DREP, tid=dreq.tid, local_id=dreq.remote_id,
                    remote_id=dreq.local_id))
        self.process.wait(seq)
