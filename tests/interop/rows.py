# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The rows of matrix.py, done: each moves bytes from one end to the other and compares all
of both arenas, the bytes around the message included."""
import itertools
import time

from ends import ARENA
from hosts import Failure

FROM, TO = 4099, 8197  # odd, and not the same in a page
BACK_HERE, BACK_THERE = 1001, 1002  # patterns of the background
GRH = 40
SMALL, AT_ONCE = 4097, 8  # of messages that small so many at once
MANY = 40  # datagrams, or messages of UC, over a wire that loses some
# At 5 % about 28 of 40 messages of five packets come through, and rxe drops the SEND behind
# each that was cut as well: 20 are to be expected.
LEAST = MANY // 4
QUIET_MS = 1000  # nothing comes any more
WAIT_S = 240
PSN_LAST = 0xffffff
TIMEOUT = 16  # 268 ms
# rxe waits for it at each second NAK in a row, and repeats without end (CONFORMANCE.md).
TIMEOUT_RXE = 14
LONG, LONG_MTU = 1 << 18, 4096  # over a wire that loses: fewer packets
RNR_TIMER = 12  # 0.64 ms
ATOMIC_AT = 4096
NO_ATOMICS = ("unic does not advertise atomic operations (UNIC_FEAT_ATOMICS, "
              "feature bit 34)")
_psns = itertools.count(0x1234, 0x10001)
_seeds = itertools.count(1)


class Missing(Exception):
    """A row that cannot be done yet, and why."""


class Link:
    """Two ends, and a connection from here to there at a time."""

    def __init__(self, here, there):
        self.here, self.there, self.kind, self.mtu = here, there, None, 0
        self.lossy = False
        self.qpn = {}

    def connect(self, kind="rc", mtu=1024, psn=None, rnr_retry=7, again=False):
        if (self.kind, self.mtu) == (kind, mtu) and not again and psn is None:
            return
        self.drop()
        ends = (self.here, self.there)
        psns = [next(_psns) & PSN_LAST if psn is None else psn for _ in ends]
        self.qpn = {e: e.number("qp", kind) for e in ends}
        for end, other, own, theirs in zip(ends, ends[::-1], psns, psns[::-1]):
            end.must("connect", other.ipv4, self.qpn[other], mtu, theirs, own,
                     RNR_TIMER, TIMEOUT_RXE if end.who == "rxe" else TIMEOUT, 7,
                     rnr_retry, 4)
        self.kind, self.mtu = kind, mtu

    def forget(self):
        """After a failure: end what there is, as far as the ends still answer."""
        try:
            self.drop()
            for end in (self.here, self.there):
                while end.poll(0):
                    pass
        except Failure:
            pass

    def drop(self):
        for end in self.qpn:
            end.must("drop")
        self.kind, self.qpn = None, {}

    # ------------------------------------------------------------ transfers

    def fill(self, size):
        self.here.must("fill", BACK_HERE, size)
        self.there.must("fill", BACK_THERE, size)

    def compare(self, size, seed, length, here=FROM, there=TO):
        """Both arenas: the message where it belongs, and nothing else changed."""
        self.here.must("check", BACK_HERE, size, seed, here, length)
        self.there.must("check", BACK_THERE, size, seed, there, length)

    def post(self, op, n, length, **more):
        """Request @n of a series of messages of @length."""
        self.here.send(op, n, FROM + n * length, length, imm=n + 77,
                       **{"remote": self.there.remote + TO + n * length,
                          "rkey": self.there.rkey, **more})

    def take(self, n, length, op):
        """The completion of receive @n of such a series."""
        found = self.there.completion(n, seconds=WAIT_S)
        imm = n + 77 if op.endswith("_imm") else None
        if (found["bytes"], found["imm"]) != (length, imm):
            raise Failure(f"receive {n} of {length} bytes: {found}")
        return found

    def move(self, op, length, count=1, **more):
        """@count messages by @op, one behind the other in memory."""
        seed, total = next(_seeds), count * length
        size = min(ARENA, max(FROM, TO) + total + 4096)
        self.fill(size)
        source, at = (self.there, TO) if op == "read" else (self.here, FROM)
        source.must("put", seed, at, total)
        receives = op.startswith("send") or op == "write_imm"
        for n in range(count if receives else 0):
            where = TO + n * length
            self.there.recv(n, where, length if op.startswith("send") else 0)
        for n in range(count):
            self.post(op, n, length, **more)
        for n in range(count):
            self.here.completion(n, seconds=WAIT_S)
        found = [self.take(n, length, op) for n in range(count if receives else 0)]
        self.compare(size, seed, total)
        return found


# ----------------------------------------------------------------- RC


def rc(link, op, length):
    link.connect(mtu=LONG_MTU if link.lossy and length > LONG else 1024)
    if op == "send_inv":
        invalidate(link, length)
    else:
        link.move(op, length, AT_ONCE if length <= SMALL else 1)


def invalidate(link, length):
    """A window takes a WRITE, is taken away by a SEND, and takes none then."""
    key = link.there.number("window", 99, TO, length)
    link.there.completion(99)
    try:
        link.move("write", length, rkey=key)
        found, = link.move("send_inv", length, rkey=key)
        if found["inv"] != key:
            raise Failure(f"window {key:x}: {found}")
        refused(link, "write", rkey=key)
    finally:
        link.drop()
        link.there.must("unwindow")


def refused(link, op, status="remote-access", **how):
    """A request that the other end refuses, and nothing has changed on either side."""
    length, size = 1000, 16384
    link.fill(size)
    link.here.send(op, 7, FROM, length, **{"remote": link.there.remote + TO, **how})
    link.here.completion(7, status, seconds=WAIT_S)
    link.compare(size, BACK_HERE, 0)
    link.drop()


def psn_wrap(link, op, length):
    """The PSNs of both directions wrap within the message."""
    link.connect(psn=PSN_LAST - 20)
    link.move(op, length)
    link.drop()


def path_mtu(link, op, mtu):
    link.connect(mtu=mtu)
    link.move(op, 65537)


# ------------------------------------------------------------- errors


def error(link, name, _):
    globals()[name.replace(" ", "_")](link)


def rnr_waits(link):
    """A SEND comes before its receive."""
    link.connect(again=True)
    seed, length, size = next(_seeds), 5001, 32768
    link.fill(size)
    link.here.must("put", seed, FROM, length)
    link.post("send", 0, length)
    time.sleep(0.3)
    if link.here.poll(0):
        raise Failure("a SEND completed for which there was no receive")
    link.there.recv(0, TO, length)
    link.here.completion(0, seconds=WAIT_S)
    link.take(0, length, "send")
    link.compare(size, seed, length)


def rnr_ends(link):
    """... and its receive never comes."""
    link.connect(again=True, rnr_retry=2)
    link.fill(16384)
    link.post("send", 0, 999)
    link.here.completion(0, "rnr-retries", seconds=WAIT_S)
    link.compare(16384, BACK_HERE, 0)
    link.drop()


def key_write(link):
    link.connect()
    refused(link, "write", rkey=link.there.rkey ^ 1)


def key_read(link):
    link.connect()
    refused(link, "read", rkey=link.there.rkey ^ 0x10000)


def bounds_write(link):
    link.connect()
    refused(link, "write", rkey=link.there.rkey, remote=link.there.remote + ARENA - 999)


def bounds_read(link):
    link.connect()
    refused(link, "read", rkey=link.there.rkey, remote=link.there.remote - 1)


# ------------------------------------------------------------ atomics


def atomic(link, op, _):
    if not (link.here.atomics and link.there.atomics):
        raise Missing(NO_ATOMICS)
    link.connect()
    link.fill(16384)
    globals()["atomic_" + op](link)


def do_atomic(link, op, operand, swap=0):
    """What the operation returned, and what is there now."""
    link.here.send(op, 7, ATOMIC_AT, 8, link.there.remote + ATOMIC_AT, link.there.rkey,
                   0, operand, swap)
    link.here.completion(7, seconds=WAIT_S)
    return link.here.number("word", ATOMIC_AT), link.there.number("word", ATOMIC_AT)


def around_atomic(link):
    """Nothing beside the 8 bytes has changed."""
    for end, back in ((link.here, BACK_HERE), (link.there, BACK_THERE)):
        end.must("same", back, 0, 0, ATOMIC_AT)
        end.must("same", back, ATOMIC_AT + 8, ATOMIC_AT + 8, 8192)


def atomic_cas(link):
    old, new = 0x0123456789abcdef, 0xfedcba9876543210
    link.there.must("poke", ATOMIC_AT, old)
    found = do_atomic(link, "cas", old, new)
    if found != (old, new):
        raise Failure(f"compare and swap: {found}")
    around_atomic(link)


def atomic_cas_other(link):
    old = 0x0123456789abcdef
    link.there.must("poke", ATOMIC_AT, old)
    found = do_atomic(link, "cas", old + 1, 5)
    if found != (old, old):
        raise Failure(f"compare and swap of another value: {found}")
    around_atomic(link)


def atomic_faa(link):
    """Each adds once, whatever is lost and sent again; the sum goes over 2^64."""
    value, add = (1 << 64) - 100, 7
    link.there.must("poke", ATOMIC_AT, value)
    for _ in range(MANY):
        found = do_atomic(link, "faa", add)
        if found != (value, (value + add) % (1 << 64)):
            raise Failure(f"fetch and add of {value:x}: {found}")
        value = found[1]
    around_atomic(link)


def atomic_unaligned(link):
    """rxe does not even send it: its post says EINVAL."""
    words = ("send", "faa", 7, ATOMIC_AT, 8, link.there.remote + ATOMIC_AT + 4,
             link.there.rkey, 0, 1, 0, "0.0.0.0")
    if link.here.who == "rxe":
        link.here.must(*words, answer="-22")
    else:
        link.here.must(*words, answer="0")
        link.here.completion(7, "invalid-request", seconds=WAIT_S)
    link.compare(16384, BACK_HERE, 0)
    link.drop()


# ----------------------------------------------------------- UC and UD


def series(link, kind, op, length):
    """MANY messages of which some may be lost. Each that arrives must be one that was sent:
    its immediate says which. Returns the completions."""
    head = GRH if kind == "ud" else 0
    seed, size = next(_seeds), TO + MANY * (length + head) + 8192
    link.fill(size)
    link.here.must("put", seed, FROM, MANY * length)
    # rxe takes no WRITE of UC any more after one that was cut (docs/CONFORMANCE.md)
    stuck = op == "write_imm" and link.there.who == "rxe"
    found = []
    for batch in [[n] for n in range(MANY)] if stuck else [range(MANY)]:
        link.connect(kind, mtu=4096 if kind == "ud" else 1024, again=True)
        found += send_batch(link, op, batch, length, head)
    for one in found:
        message, at = one["imm"] - 77, TO + one["id"] * (length + head) + head
        if op == "write_imm":
            at = TO + message * length
        link.there.must("same", seed, message * length, at, length)
    link.here.must("check", BACK_HERE, size, seed, FROM, MANY * length)
    if len(found) < LEAST:
        raise Failure(f"{len(found)} of {MANY} arrived")
    return found


def send_batch(link, op, batch, length, head):
    """The completions of those that arrive of the messages of @batch."""
    for n in batch:
        link.there.recv(n, TO + n * (length + head), length + head)
    for n in batch:
        to = {"rkey": link.qpn[link.there], "to": link.there.ipv4} if head else {}
        link.post(op, n, length, **to)
    for n in batch:
        link.here.completion(n, seconds=WAIT_S)
    found = []
    while len(found) < len(batch) and (one := link.there.poll(QUIET_MS)):
        if one["status"] != "ok" or one["imm"] is None:
            raise Failure(f"receive: {one}")
        found.append(one)
    return found


def uc(link, op, length):
    link.connect("uc", again=True)
    if link.lossy:
        series(link, "uc", op, length)
    elif op == "write":
        write_uc(link, length)
    else:
        link.move(op, length, AT_ONCE if length <= SMALL else 1)
    link.drop()


def write_uc(link, length):
    """Nobody is told that a WRITE of UC has arrived: a SEND behind it is."""
    seed, size = next(_seeds), TO + length + 8192
    link.fill(size)
    link.here.must("put", seed, FROM, length)
    link.there.recv(1, 0, 0)
    link.post("write", 0, length)
    link.here.send("send", 1, 0, 0)
    link.here.completion(0, seconds=WAIT_S)
    link.here.completion(1, seconds=WAIT_S)
    link.there.completion(1, seconds=WAIT_S)
    link.compare(size, seed, length)


def ud(link, op, length):
    link.connect("ud", mtu=4096, again=True)
    if link.lossy:
        found = series(link, "ud", op, length)
    else:
        found = datagrams(link, op, length)
    for one in found:
        check_grh(link, one, length)
    link.drop()


def datagrams(link, op, length):
    """AT_ONCE datagrams, all of which arrive."""
    seed, step = next(_seeds), length + GRH
    size = TO + AT_ONCE * step + 8192
    link.fill(size)
    link.here.must("put", seed, FROM, AT_ONCE * length)
    for n in range(AT_ONCE):
        link.there.recv(n, TO + n * step, step)
    for n in range(AT_ONCE):
        link.post(op, n, length, rkey=link.qpn[link.there], to=link.there.ipv4)
    for n in range(AT_ONCE):
        link.here.completion(n, seconds=WAIT_S)
    found = [link.take(n, step, op) for n in range(AT_ONCE)]
    for n in range(AT_ONCE):
        link.there.must("same", seed, n * length, TO + n * step + GRH, length)
    end = TO + AT_ONCE * step
    link.there.must("same", BACK_THERE, 0, 0, TO)
    link.there.must("same", BACK_THERE, end, end, size - end)
    link.here.must("check", BACK_HERE, size, seed, FROM, AT_ONCE * length)
    return found


def check_grh(link, one, length):
    """What is before a datagram: 20 bytes, and the IPv4 header (IBTA A17.4.5.2)."""
    if not one["grh"] or one["sender"] != link.qpn[link.here] or \
            one["bytes"] != length + GRH:
        raise Failure(f"datagram of {length} bytes: {one}")
    data = bytes.fromhex(link.there.ask("peek", TO + one["id"] * (length + GRH), GRH))
    found = data[20], data[29], data[32:36], data[36:40]
    if found != (0x45, 17, address(link.here), address(link.there)):
        raise Failure(f"the header before a datagram is {data.hex()}")


def address(end):
    return bytes(map(int, end.ipv4.split(".")))


DO = {"RC": rc, "atomic": atomic, "PSN wrap": psn_wrap, "MTU": path_mtu, "error": error,
      "UC": uc, "UD": ud}
