# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""One end of a reliable connection on the wire (SPEC "The responder of RC",
"The requester of RC", "Vendor acknowledgements", "Tagged messages").

`Peer` is both: it repeats what was lost, places what comes, and answers. With
`vendor` it is a unic peer, without it a conventional one, which neither sends
a vendor opcode nor understands one. The methods of `Bare` send single packets
as they are told, right or wrong."""

import time

import frame as fr

ACK, RNR, NAK_SEQ, NAK_INV, NAK_ACCESS, NAK_OP = (
    0x1f, 0x20, 0x60, 0x61, 0x62, 0x63)
EVICTED, RETRY_AFTER, REFUSED = 1, 2, 3
ANSWERS = (fr.READ_FIRST, fr.READ_MIDDLE, fr.READ_LAST, fr.READ_ONLY, fr.ACK,
           fr.ATOMIC_ACK, fr.VACK)
MSG_MAX = 1 << 30

# SPEC "The requester of RC": RNR timer codes, in ms
RNR_MS = (655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32,
          0.48, 0.64, 0.96, 1.28, 1.92, 2.56, 3.84, 5.12, 7.68, 10.24, 15.36,
          20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68,
          491.52)


def ahead(psn, of):
    """How far `psn` is ahead of `of`; negative if it is past (SPEC "PSNs")."""
    diff = (psn - of) & fr.PSN_MASK
    return diff - (1 << 24) if diff >= 1 << 23 else diff


def next_psn(psn, count=1):
    """The PSN `count` behind `psn`, modulo 2^24."""
    return (psn + count) & fr.PSN_MASK


def packets_of(length, mtu):
    """PSNs that a message or READ of `length` bytes takes."""
    return max(1, -(-length // mtu))


def slices(data, mtu):
    """`data` in payloads: all but the last of `mtu` bytes."""
    return [data[i * mtu:(i + 1) * mtu]
            for i in range(packets_of(len(data), mtu))]


def chain(data, mtu, opcodes, head=b"", tail=b"", base=0):
    """A message as [(opcode, body)]. `opcodes` are (first, middle, last,
    only); `head` goes into the first packet, `tail` (an immediate or key)
    before the payload of the last one."""
    parts = slices(data, mtu)
    if len(parts) == 1:
        return [(base + opcodes[3], head + tail + parts[0])]
    done = [(base + opcodes[0], head + parts[0])]
    done += [(base + opcodes[1], part) for part in parts[1:-1]]
    return done + [(base + opcodes[2], tail + parts[-1])]


def send_chain(data, mtu, imm=None, inv=None, base=0):
    """A SEND, with immediate or with invalidate (SPEC "Opcodes")."""
    last, only, tail = fr.SEND_LAST, fr.SEND_ONLY, b""
    if imm is not None:
        last, only, tail = (fr.SEND_LAST_IMM, fr.SEND_ONLY_IMM,
                            fr.pack("imm", imm))
    if inv is not None:
        last, only, tail = (fr.SEND_LAST_INV, fr.SEND_ONLY_INV,
                            fr.pack("ieth", inv))
    return chain(data, mtu, (fr.SEND_FIRST, fr.SEND_MIDDLE, last, only),
                 tail=tail, base=base)


def write_chain(va, key, data, mtu, imm=None, base=0):
    """A WRITE, with or without immediate: the RETH is in its first packet."""
    last, only, tail = fr.WRITE_LAST, fr.WRITE_ONLY, b""
    if imm is not None:
        last, only, tail = (fr.WRITE_LAST_IMM, fr.WRITE_ONLY_IMM,
                            fr.pack("imm", imm))
    return chain(data, mtu, (fr.WRITE_FIRST, fr.WRITE_MIDDLE, last, only),
                 fr.pack("reth", va, key, len(data)), tail, base)


def token_chain(index, key, control, payload, mtu, offset=0):
    """A tagged message: TKETH, control part, payload (SPEC "Tagged
    messages")."""
    head = fr.pack("tketh", index, key, len(payload), len(control), offset)
    return chain(control + payload, mtu,
                 (fr.TOKEN_FIRST, fr.TOKEN_MIDDLE, fr.TOKEN_LAST,
                  fr.TOKEN_ONLY), head)


class Bare:
    """Single packets of one queue pair number, to and from a NIC."""

    def __init__(self, station, qpn, mtu=1024, psn=0x100, epsn=0x200):
        self.station = station
        self.qpn = qpn
        self.dqpn = None
        self.mtu = mtu
        self.psn = psn
        self.epsn = epsn
        self.timeout = 0.5
        station.open(qpn)

    def close(self):
        """Frames to this number are dropped from now on."""
        self.station.forget(self.qpn)

    def raw(self, opcode, body=b"", psn=None, **fields):
        """Sends one packet at `psn`, or at the next PSN, which stays so."""
        values = {"opcode": opcode, "body": body, "dqpn": self.dqpn,
                  "psn": self.psn if psn is None else psn,
                  "sport": fr.source_port(self.qpn, self.dqpn)}
        values.update(fields)
        self.station.send(**values)

    def put(self, opcode, body=b"", **fields):
        """Sends one packet at the next PSN and takes it."""
        self.raw(opcode, body, **fields)
        self.psn = next_psn(self.psn)

    def put_chain(self, packets, ackreq=True):
        """Sends a whole message; the last packet asks for an ACK."""
        for at, (opcode, body) in enumerate(packets):
            last = at == len(packets) - 1
            self.put(opcode, body, ackreq=ackreq and last)

    def put_read(self, va, key, length):
        """Sends a READ request and takes the PSNs of its responses."""
        self.raw(fr.READ_REQUEST, fr.pack("reth", va, key, length),
                 ackreq=True)
        self.psn = next_psn(self.psn, packets_of(length, self.mtu))

    def ack(self, psn, syndrome=ACK, msn=0):
        """An acknowledgement of the NIC's request `psn`: ACK, NAK or RNR."""
        self.raw(fr.ACK, fr.pack("aeth", syndrome << 24 | msn), psn=psn)

    def vack(self, psn, reason, delay=0):
        """A vendor acknowledgement (opcode d0) for the NIC's `psn`."""
        self.raw(fr.VACK, fr.pack("evth", reason, delay), psn=psn)

    def respond(self, psn, data, skip=(), msn=0):
        """READ responses from `psn` on; those numbered in `skip` are lost."""
        head = fr.pack("aeth", ACK << 24 | msn)
        parts = chain(data, self.mtu, (fr.READ_FIRST, fr.READ_MIDDLE,
                                       fr.READ_LAST, fr.READ_ONLY),
                      head)
        if len(parts) > 1:
            parts[-1] = (parts[-1][0], head + parts[-1][1])
        for at, (opcode, body) in enumerate(parts):
            if at not in skip:
                self.raw(opcode, body, psn=next_psn(psn, at))

    def recv(self, timeout=None):
        """The next packet of the NIC to us, or None."""
        return self.station.recv(self.qpn, self.timeout if timeout is None
                                 else timeout)


class Request:
    """A request of ours under way: packets by PSN, and how it ended."""

    def __init__(self, packets, psn, read=None):
        self.packets = packets
        self.psn = psn
        self.read = read
        self.data = b""
        self.status = None
        self.why = 0
        self.count = len(packets)
        if read:
            self.count = read[3]

    @property
    def last(self):
        """Its last PSN."""
        return next_psn(self.psn, self.count - 1)


class Requester(Bare):
    """Sends requests until they are answered (SPEC "The requester of RC")."""

    def __init__(self, *args, vendor=True, **kwargs):
        super().__init__(*args, **kwargs)
        self.vendor = vendor
        self.pending = []
        self.una = self.psn
        self.retry_s = 1.0
        self.retries = 7
        self.rounds = 0
        self.rnrs = 0
        self.put_off = 0
        self.not_before = 0.0
        self.again = False

    def _begin(self, packets, read=None):
        request = Request(packets, self.psn, read)
        if not self.pending:
            self.una = self.psn
        self.pending.append(request)
        self._send_from(request, self.psn)
        self.psn = next_psn(self.psn, request.count)
        return request

    def send(self, data, imm=None, inv=None):
        """Begins a SEND."""
        return self._begin(send_chain(data, self.mtu, imm, inv))

    def write(self, va, key, data, imm=None):
        """Begins a WRITE."""
        return self._begin(write_chain(va, key, data, self.mtu, imm))

    def tagged(self, index, key, control, payload, offset=0):
        """Begins a tagged message; only to a unic peer."""
        return self._begin(token_chain(index, key, control, payload,
                                       self.mtu, offset))

    def read(self, va, key, length):
        """Begins a READ; `data` of the request grows as responses come."""
        return self._begin([], (va, key, length,
                                packets_of(length, self.mtu)))

    def _send_from(self, request, psn):
        """(Again) all of a request from `psn` on, with the PSNs it had; of a
        READ what is missing, by another address and length."""
        skip = max(0, ahead(psn, request.psn))
        if request.read:
            va, key, length, _ = request.read
            body = fr.pack("reth", va + skip * self.mtu, key,
                           length - skip * self.mtu)
            self.raw(fr.READ_REQUEST, body,
                     psn=next_psn(request.psn, skip), ackreq=True)
            return
        for at in range(skip, request.count):
            opcode, body = request.packets[at]
            where = next_psn(request.psn, at)
            self.raw(opcode, body, psn=where,
                     ackreq=at == request.count - 1 or where & 31 == 31)

    def go_back(self):
        """Sends everything from the oldest PSN not acknowledged again."""
        self.again = False
        for request in self.pending:
            self._send_from(request, self.una)

    def _finish(self, status):
        request = self.pending.pop(0)
        request.status = request.status or status
        self.una = next_psn(request.last)
        self.rounds = 0

    def _acknowledge(self, upto):
        """All before PSN `upto` is acknowledged, but for a READ that misses
        responses: then it is asked for again (implied NAK)."""
        while self.pending and ahead(upto, self.una) > 0:
            request = self.pending[0]
            if request.read:
                self.go_back()
                return
            if ahead(upto, request.last) <= 0:
                self.una = upto
                self.rounds = 0
                return
            self._finish("ok")

    def _in_flight(self, psn):
        if not self.pending:
            return False
        return (ahead(psn, self.una) >= 0
                and ahead(self.pending[-1].last, psn) >= 0)

    def _wait(self, seconds):
        self.not_before = time.monotonic() + seconds
        self.again = True

    def on_answer(self, packet):
        """Takes an answer of the NIC (table "What the NIC as requester does
        with an answer", from our side)."""
        if not self._in_flight(packet.psn):
            return
        if packet.opcode == fr.VACK:
            self._on_vack(packet)
        elif packet.opcode == fr.ACK:
            self._on_ack(packet)
        else:
            self._on_response(packet)

    def _on_ack(self, packet):
        syndrome = packet.syndrome
        if syndrome < 0x20:
            self._acknowledge(next_psn(packet.psn))
            return
        self._acknowledge(packet.psn)
        if self.una != packet.psn:
            return
        if syndrome & 0x60 == RNR:
            self.rnrs += 1
            self._wait(RNR_MS[syndrome & 31] / 1000)
        elif syndrome == NAK_SEQ:
            self._retry()
        else:
            self._finish("nak %02x" % syndrome)

    def _on_vack(self, packet):
        reason, delay = packet.header("evth")
        if not self.vendor:
            return
        self._acknowledge(packet.psn)
        if reason == RETRY_AFTER:
            self.put_off += 1
            self._wait(min(max(delay, 10), 1000000) / 1e6)
            return
        request = self.pending[0]
        request.status = "refused" if reason == REFUSED else "evicted"
        request.why = delay
        self._blank(request, packet.psn)
        self.go_back()

    def _blank(self, request, psn):
        """From `psn` on each PSN of an evicted request is an empty WRITE."""
        empty = (fr.WRITE_ONLY, fr.pack("reth", 0, 0, 0))
        skip = ahead(psn, request.psn)
        request.packets = request.packets[:skip]
        request.packets += [empty] * (request.count - len(request.packets))
        request.read = None
        request.evicted = True

    def _on_response(self, packet):
        request = self.pending[0]
        if packet.psn != self.una:
            self._acknowledge(packet.psn)
            request = self.pending[0] if self.pending else None
        if not request or not request.read or packet.psn != self.una:
            return
        left = request.read[2] - len(request.data)
        if len(packet.payload) != min(left, self.mtu):
            return
        request.data += packet.payload
        self.una = next_psn(self.una)
        self.rounds = 0
        if len(request.data) == request.read[2]:
            self._finish("ok")

    def _retry(self):
        self.rounds += 1
        if self.rounds > self.retries:
            self._finish("retries")
        self.go_back()


class Region:
    """Memory of ours that a NIC may name: rights, and whether it is there."""

    def __init__(self, va, size, write=True, read=True):
        self.va = va
        self.bytes = bytearray(size)
        self.may_write = write
        self.may_read = read
        self.evicted = False
        self.missing = 0

    def at(self, va, length):
        """Offset of a range, or None if it is not all inside."""
        offset = va - self.va
        if offset < 0 or length > len(self.bytes) - offset:
            return None
        return offset


class Responder(Requester):
    """Executes requests of a NIC (SPEC "The responder of RC")."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.regions = {}
        self.tokens = {}
        self.receives = None
        self.rnr_code = 1
        self.messages = []
        self.requests = []
        self.msn = 0
        self.gap = False
        self.open_message = None
        self.reads = []

    def answer(self, psn, syndrome):
        """One acknowledgement with our MSN."""
        self.ack(psn, syndrome, self.msn)

    def on_request(self, packet):
        """Executes a request at the expected PSN; answers what is past; of
        what is ahead once NAK 60."""
        self.requests.append(packet)
        distance = ahead(packet.psn, self.epsn)
        if distance > 0:
            if not self.gap:
                self.gap = True
                self.answer(self.epsn, NAK_SEQ)
            return
        if distance < 0:
            self._again(packet)
            return
        self.gap = False
        if packet.opcode == fr.READ_REQUEST:
            self._read(packet)
        elif packet.opcode in (fr.WRITE_FIRST, fr.WRITE_ONLY,
                               fr.WRITE_ONLY_IMM):
            self._write(packet)
        elif packet.opcode in (fr.TOKEN_FIRST, fr.TOKEN_ONLY):
            self._token(packet)
        else:
            self._send_or_more(packet)

    def _refuse(self, packet, syndrome):
        self.gap = True
        self.answer(packet.psn, syndrome)

    def _again(self, packet):
        if packet.opcode != fr.READ_REQUEST:
            self.answer(next_psn(self.epsn, -1), ACK)
            return
        va, key, length = packet.header("reth")
        region = self.regions.get(key)
        offset = region.at(va, length) if region else None
        if offset is not None:
            self.respond(packet.psn, bytes(
                region.bytes[offset:offset + length]), msn=self.msn)

    def _region(self, packet, right):
        """The region and offset that a RETH names, or None when it was
        refused: NAK 62, or a vendor acknowledgement, or RNR in its place."""
        va, key, length = packet.header("reth")
        region = self.regions.get(key)
        if length == 0:
            return Region(va, 0), 0
        if region and region.evicted:
            self.gap = True
            if self.vendor:
                self.vack(packet.psn, EVICTED)
            else:
                self._refuse(packet, NAK_ACCESS)
            return None
        offset = region.at(va, length) if region else None
        if offset is None or not getattr(region, right):
            self._refuse(packet, NAK_ACCESS)
            return None
        if region.missing:
            region.missing -= 1
            self.gap = True
            if self.vendor:
                self.vack(packet.psn, RETRY_AFTER, 50)
            else:
                self._refuse(packet, RNR | self.rnr_code)
            return None
        return region, offset

    def _read(self, packet):
        found = self._region(packet, "may_read")
        if not found:
            return
        region, offset = found
        length = packet.header("reth")[2]
        self.msn += 1
        self.epsn = next_psn(self.epsn, packets_of(length, self.mtu))
        self.respond(packet.psn, bytes(region.bytes[offset:offset + length]),
                     msn=self.msn)

    def _write(self, packet):
        found = self._region(packet, "may_write")
        if not found:
            return
        self.open_message = ["write", found[0].bytes, found[1], b"",
                             packet.header("reth")[2]]
        self._more(packet, packet.opcode != fr.WRITE_FIRST)

    def _token(self, packet):
        """A tagged message is acknowledged also if its token is refused."""
        index, key, payload, control, offset = packet.header("tketh")
        if not self.vendor:
            self._refuse(packet, NAK_INV)
            return
        if not self._take_receive(packet):
            return
        token = self.tokens.get(index)
        fits = (token and token[0] == key
                and offset + payload <= len(token[1]))
        buffer = token[1] if fits else bytearray(offset + payload)
        self.open_message = ["token", buffer, offset, b"", control]
        self._more(packet, packet.opcode == fr.TOKEN_ONLY)

    def _take_receive(self, packet):
        if self.receives == 0:
            self._refuse(packet, RNR | self.rnr_code)
            return False
        if self.receives is not None:
            self.receives -= 1
        return True

    def _send_or_more(self, packet):
        opcode = packet.opcode
        starts = (fr.SEND_FIRST, fr.SEND_ONLY, fr.SEND_ONLY_IMM,
                  fr.SEND_ONLY_INV)
        if opcode in starts:
            if not self._take_receive(packet):
                return
            self.open_message = ["send", None, 0, b"", 0]
        if self.open_message is None:
            self._refuse(packet, NAK_INV)
            return
        self._more(packet, opcode not in (
            fr.SEND_FIRST, fr.SEND_MIDDLE, fr.WRITE_MIDDLE, fr.TOKEN_MIDDLE))

    def _more(self, packet, last):
        message = self.open_message
        message[3] += packet.payload
        self.epsn = next_psn(self.epsn)
        if last:
            self._complete(packet)
        if packet.ackreq:
            self.answer(packet.psn, ACK)

    def _complete(self, packet):
        kind, buffer, offset, data, extra = self.open_message
        self.open_message = None
        self.msn += 1
        imm = packet.header("imm")
        if kind == "write":
            buffer[offset:offset + len(data)] = data
        elif kind == "token":
            rest = data[extra:]
            buffer[offset:offset + len(rest)] = rest
            data = data[:extra]
        self.messages.append((kind, data, imm and imm[0]))


class Peer(Responder):
    """Requester and responder of one connection."""

    def step(self, timeout):
        """Takes one packet and does what it asks for; False if none came."""
        packet = self.recv(timeout)
        if packet is None:
            return False
        if packet.opcode in ANSWERS:
            self.on_answer(packet)
        else:
            self.on_request(packet)
        return True

    def run(self, done, timeout=2.0):
        """Goes on until done() is true; False if the time is over first.
        Repeats go out after a silence of `retry_s`, or when an RNR NAK or
        vendor acknowledgement is over."""
        end = time.monotonic() + timeout
        moved = time.monotonic()
        while not done():
            now = time.monotonic()
            if now > end:
                return False
            if self.again and now >= self.not_before:
                self.go_back()
            if self.step(0.0 if self.again else min(0.01, end - now)):
                moved = time.monotonic()
            elif (self.pending and not self.again
                  and now - moved > self.retry_s):
                moved = now
                self._retry()
        return True

    def finish(self, request, timeout=2.0):
        """Runs until a request has ended; its status, or "no answer"."""
        self.run(lambda: request not in self.pending, timeout)
        return request.status or "no answer"
