# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What cases of the wire work with: a NIC with its driver, a process of that
host, and a station on the wire that plays the other host."""

import os
import signal
import time
from contextlib import contextmanager

import frame as fr
import rc
from check import Failed, Skipped, check, same, wait_for
from names import Op, Qps, Qpt, Residency, Rights, Up
from port import Port, Station
from process import Refused

PEER_IP = fr.ipv4("10.0.0.9")
PEER_MAC = fr.mac_bytes("02:77:00:00:00:09")
OTHER_IP = fr.ipv4("10.0.0.77")
OTHER_MAC = fr.mac_bytes("02:77:00:00:00:77")
MTU = 1024
MTU_SHIFT = 10
RECEIVE = 4096


class Conn:
    """A queue pair of the NIC, and a Peer at its other end, connected by
    QP_MODIFY without the connection manager."""

    def __init__(self, world, vendor=True, qpt=Qpt.RC, *, recvs=0,
                 rights=Rights.REMOTE, state=Qps.RTS, rq_class=0,
                 recv_size=RECEIVE, recv_region=None, miss=0, dest_mac=None,
                 psn=0x100, epsn=0x200, mtu=MTU, qkey=0, slots=16,
                 **wishes):
        self.world = world
        process = world.process
        self.buffers = recv_region or world.buffers
        self.posted = 0
        self.qp = process.qp(qpt, rq_class=rq_class, miss=miss,
                             rq_slots=slots)
        world.conns.append(self)
        self.peer = rc.Peer(world.station, world.new_qpn(), mtu, psn, epsn,
                            vendor=vendor)
        self.peer.dqpn = self.qp.number
        self._up(qpt, rights, state, qkey, dest_mac, int(vendor), wishes)
        for _ in range(recvs):
            self.post_recv(recv_size)

    def _up(self, qpt, rights, state, qkey, dest_mac, vendor, wishes):
        shift = self.peer.mtu.bit_length() - 1
        rtr = {name: wishes.pop(name) for name in ("rnr_timer", "max_dest_rd")
               if name in wishes}
        if state >= Qps.INIT:
            self.qp.init(rights, qkey)
        if state >= Qps.RTR:
            self.qp.rtr(self.peer.qpn, PEER_IP, dest_mac or PEER_MAC,
                        self.peer.psn, mtu_shift=shift, vendor=vendor, **rtr)
        if state >= Qps.RTS:
            self.qp.rts(self.peer.epsn, **wishes)

    def close(self):
        """Destroys the queue pair."""
        self.peer.close()
        self.qp.destroy()

    def post_recv(self, size=RECEIVE, wr_id=None, region=None):
        """Posts a receive of `size` bytes, which the next frame finds there; its
        offset in the buffers. Its wr_id is its number."""
        region = region or self.buffers
        at = self.posted * RECEIVE % region.length
        wr_id = self.posted if wr_id is None else wr_id
        self.qp.post_recv([region.sge(at, size)], wr_id=wr_id)
        self.posted += 1
        # A round takes doorbells, then frames, then commands: without this, one that
        # looked for doorbells just before may take the frame.
        self.world.process.must(Op.USAGE)
        return at

    # what the NIC answers

    def recv(self, timeout=None):
        """The next packet of the NIC, which must come."""
        packet = self.peer.recv(timeout or self.world.patience)
        check(packet is not None, "the NIC sent nothing")
        return packet

    def expect(self, opcode, psn=None, body=None, ackreq=None):
        """The next packet has this opcode, and PSN and headers if given."""
        packet = self.recv()
        if packet.opcode != opcode:
            raise Failed("the NIC sent %s, not %s" % (
                packet, fr.NAMES.get(opcode, hex(opcode))))
        if psn is not None:
            same("PSN of %s" % packet, packet.psn, psn & fr.PSN_MASK)
        if body is not None:
            same("body of %s" % packet, packet.body.hex(), body.hex())
        if ackreq is not None:
            same("ackreq of %s" % packet, packet.ackreq, ackreq)
        return packet

    def answer(self, syndrome, psn=None):
        """The next packet is an acknowledgement with this syndrome."""
        packet = self.expect(fr.ACK)
        same("syndrome of %s" % packet, packet.syndrome, syndrome)
        if psn is not None:
            same("PSN of %s" % packet, packet.psn, psn & fr.PSN_MASK)
        return packet

    def ack(self, psn=None):
        """ACK without credits, by default of the PSN before our next."""
        return self.answer(rc.ACK, self.peer.psn - 1 if psn is None else psn)

    def nak(self, syndrome, psn=None):
        """NAK of the PSN that is our next."""
        return self.answer(syndrome, self.peer.psn if psn is None else psn)

    def rnr(self, psn=None, code=12):
        """RNR NAK with the timer code of the queue pair."""
        return self.nak(rc.RNR | code, psn)

    def vack(self, reason, psn=None, delay=None):
        """Vendor acknowledgement: EVICTED with delay 0, RETRY_AFTER 50,
        REFUSED with the reason in its place."""
        psn = self.peer.psn if psn is None else psn
        if delay is None:
            delay = 50 if reason == rc.RETRY_AFTER else 0
        return self.expect(fr.VACK, psn, fr.pack("evth", reason, delay))

    def dead_nak(self):
        """An empty WRITE at the PSN of the last word is answered NAK 63. A
        last word that was said before may come first."""
        while self.peer.recv(self.world.silence):
            pass
        self.peer.raw(fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0), ackreq=True)
        packet = self.recv()
        while packet.opcode == fr.VACK or packet.syndrome != rc.NAK_OP:
            same("PSN of %s" % packet, packet.psn, self.peer.psn)
            packet = self.recv()
        same("PSN of %s" % packet, packet.psn, self.peer.psn)

    def silent(self, seconds=None):
        """The NIC sends nothing for a while."""
        packet = self.peer.recv(self.world.silence if seconds is None
                                else seconds)
        if packet is not None:
            raise Failed("not silent, but %s" % packet)

    # how the queue pair is

    @property
    def state(self):
        """State in the NIC's own table."""
        row = self.world.process.dump_qp(self.qp.number)
        return row["state"] if row else None

    def alive(self):
        """The queue pair is up: an empty WRITE, whose key and address nobody
        looks at, is acknowledged."""
        with self.world.harmless():
            self.peer.put(fr.WRITE_ONLY, fr.pack("reth", 1, 2, 0),
                          ackreq=True)
            self.ack()

    def dead(self):
        """The queue pair is in ERR, at the NIC and at the driver."""
        same("state at the NIC", self.state, Qps.ERR)
        check(wait_for(lambda: self.qp.state == Qps.ERR),
              "the driver has it in %s" % self.qp.state.name)

    def completion(self, timeout=None, **fields):
        """The next completion record, with these fields."""
        found = self.qp.wait(1, timeout or self.world.patience)
        check(found, "no completion record")
        for name, value in fields.items():
            same("%s of completion %s" % (name, found[0]),
                 getattr(found[0], name), value)
        return found[0]

    def no_completion(self):
        """No completion record is there."""
        found = self.qp.poll()
        check(not found, "completion %s" % (found,))


class World:
    """One NIC, one driver, one process, one station. Cases make what they
    need with conn() and region(); after_case() takes it away."""

    def __init__(self, rig):
        self.image = rig.image
        self.rig = rig.__enter__()
        check(rig.wire, "these cases need --wire, too")
        slow = rig.image != "soft"
        self.patience = 3.0 if slow else 1.0
        self.silence = 0.1 if slow else 0.02
        self.grace = 1.0
        self.process = rig.process()
        self.station = Station(Port(rig.wire), PEER_MAC, PEER_IP,
                               nic_ip=rig.ip)
        check(self.station.learn(), "the NIC does not answer ARP")
        self.next_qpn = 0x1000
        self.conns = []
        self.regions = []
        self.orphans = []
        self.forms = []
        self.other_pd = self.process.pd()
        self.snapshot = None
        self.before = {}
        self.data = self.process.region(64 << 10)
        self.buffers = self.process.region(64 << 10)

    def close(self):
        """Ends everything."""
        self.rig.close()

    def new_qpn(self):
        """A queue pair number of ours that no case had."""
        self.next_qpn += 7
        return self.next_qpn

    def conn(self, vendor=True, qpt=Qpt.RC, **more):
        """A connected pair for this case."""
        return Conn(self, vendor, qpt, **more)

    def region(self, length=16384, rights=Rights.ALL, **more):
        """A region for this case."""
        region = self.process.region(length, rights, **more)
        self.regions.append(region)
        return region

    def demand(self, length=16384, **more):
        """A region of residency DEMAND: no page of it is on the NIC."""
        return self.region(length, residency=Residency.DEMAND, **more)

    def evict(self, region):
        """An administrator asks a region back; it is gone when T is over.
        Nobody answers the notice."""
        self.process.evict(region.id)
        check(self.process.upcall(Up.EVICTED, id=region.id),
              "no upcall EVICTED")

    def _all(self, name):
        """Takes all of a list, newest first."""
        found = getattr(self, name)
        setattr(self, name, [])
        return reversed(found)

    @contextmanager
    def long_grace(self):
        """T is a second in here, so that there is time to do something
        between a notice and the end of the region."""
        self.process.must(Op.PARAMS, grace_us=int(self.grace * 1e6))
        try:
            yield
        finally:
            self.process.must(Op.PARAMS, grace_us=20000)

    @contextmanager
    def driver_stopped(self):
        """The driver does nothing in here (SIGSTOP)."""
        pids = [program.process.pid for program in self.rig.programs
                if program.name == "unicd"]
        if not pids:
            raise Skipped("the driver is not ours to stop")
        os.kill(pids[0], signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pids[0], signal.SIGCONT)

    def guess_rest(self):
        """Wrong keys are forgiven after 100 ms, and 6.25 ms for each."""
        time.sleep(0.35)

    def after_case(self):
        """Ends what the case made, and looks for frames of the NIC that are
        not as SPEC "A frame" says."""
        for conn in self._all("conns"):
            conn.close()
        for form in self._all("forms"):
            self.process.call(Op.MR_DEREG, id=form)
        for region in self._all("regions"):
            region.dereg()
        for region in self._all("orphans"):
            region.dereg(free=False)
        while self.station.poll(0):
            pass
        self.station.arps.clear()
        self.process.upcalls()
        self.process.seen = []
        faults, self.station.faults = self.station.faults, []
        check(not faults, "frames of the NIC: " + "; ".join(faults[:3]))

    def mend(self):
        """After a failure: the same, whatever comes."""
        try:
            self.after_case()
        except (Refused, Failed, OSError, ValueError) as error:
            print("         (clearing up: %s)" % error)

    # counters

    def _stats(self):
        reply = self.process.must(Op.STATS)
        return reply.time_ns

    def fresh(self):
        """Counters that the NIC wrote after it took all that was sent before
        (it writes them every 50 ms). The station is served meanwhile."""
        with self.harmless():
            check(self.station.barrier(), "the NIC answers no ARP request")
        begin = self._stats()
        end = time.monotonic() + 2
        while self._stats() == begin:
            check(time.monotonic() < end, "the NIC writes no counters")
            self.station.poll(0.003)
        return self.process.stats()

    @contextmanager
    def harmless(self):
        """What is sent in here changes no counter that a case looks at."""
        clean = self.snapshot == self.station.port.sent
        yield
        if clean:
            self.snapshot = self.station.port.sent

    @contextmanager
    def counts(self, **wanted):
        """These counters go up by so much."""
        if self.snapshot != self.station.port.sent:
            self.before = self.fresh()
        before = self.before
        yield
        self.before = after = self.fresh()
        self.snapshot = self.station.port.sent
        for name, value in wanted.items():
            if value is not None:
                same("counter " + name, after[name] - before[name], value)
