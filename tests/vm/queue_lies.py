# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Lies in the driver's own queues, those of a disk: completions, doorbell page,
message buffers. These queues are in the guest's memory, not in a process slot.
The commands that make them tell where: objects of a protection domain with a
PHYSICAL region have bus addresses, which are the guest's own.

A driver must be able to detect the lies of KINDS. It cannot detect those of
TRUE_TO_LIFE: it reads bytes then that nobody sent.
"""
import struct

# abi/unic_mbox.h: commands, by opcode
PROC_ATTACH, PD_ALLOC, MR_REG, CQ_CREATE, QP_CREATE = 8, 12, 16, 28, 32
PD_PHYSICAL, MR_PHYSICAL = 1, 3
# abi/unic_queue.h
SLOT_BYTES, CQE_BYTES, RQ_SGE, SQ_SGE = 64, 32, 16, 32
TAILS, TAIL_BYTES = 1088, 16  # of the doorbell page: struct unic_db_tail
CQE = struct.Struct("<QIIIBBBBII")
WR_SEND, WC_SEND, WC_RECV, WC_RECV_TOKEN = 1, 1, 128, 130
# abi/unic_kio.h
MESSAGE = struct.Struct("<BBHIIIQQQII")
READ, WRITE, ANSWER, GRANT = 1, 2, 16, 17


class Queues:
    """liar: its word() and put() write the lies."""

    def __init__(self, liar):
        self.liar, self.ram, self.random = liar, liar.ram, liar.random
        self.doorbells = {}  # by process slot
        self.epoch = self.pd = self.proc = self.cq = None
        self.made = {}  # queue pairs that have no number yet, by cookie
        self.pairs = {}  # the others, by number: (SQ, slots, RQ, slots, row)

    # ------------------------------------------------------- where they are

    def _inside(self, at, size):
        return 0 < at <= len(self.ram) - size and at % 64 == 0

    def command(self, record):
        """Look at a command; commands may come in any order."""
        op, _, cookie, epoch, first = struct.unpack_from("<BBHII", record)
        if op == PROC_ATTACH:
            self.doorbells[first] = struct.unpack_from("<Q", record, 16)[0]
        elif op == PD_ALLOC and record[16] & PD_PHYSICAL:
            self.proc = first
        elif op == MR_REG and record[14] == MR_PHYSICAL and \
                (epoch, first) != (self.epoch, self.pd):
            self.epoch, self.pd = epoch, first
            self.cq, self.made, self.pairs = None, {}, {}
        elif (epoch, first) != (self.epoch, self.pd):
            return
        elif op == CQ_CREATE:
            at, entries, row = struct.unpack_from("<QII", record, 16)
            if self._inside(at, entries * CQE_BYTES):
                self.cq = at, entries, row
        elif op == QP_CREATE:
            sq, rq, sqs, rqs, _, row = struct.unpack_from("<QQHHII", record, 24)
            if self._inside(sq, sqs * SLOT_BYTES) and \
                    self._inside(rq, rqs * SLOT_BYTES):
                self.made[cookie] = sq, sqs, rq, rqs, row

    def completion(self, record):
        op, status, cookie, epoch, number = struct.unpack_from("<BBHII", record)
        if op == QP_CREATE and not status and epoch == self.epoch and \
                cookie in self.made:
            self.pairs[number] = self.made.pop(cookie)

    def known(self):
        return self.cq and self.pairs and self._inside(
            self.doorbells.get(self.proc, 0), 8192)

    def _tail(self, row, word):
        """sq, rq, cq_ci, arm."""
        return self.liar.get(self.ram, self.doorbells[self.proc] + TAILS +
                             TAIL_BYTES * row + 4 * word)

    # ----------------------------------------------------------- completions

    def _cqe_at(self, n):
        at, entries, _ = self.cq
        return at + n % entries * CQE_BYTES

    def _complete(self, fields):
        """The next completion, and the driver is rung for it."""
        n = self._tail(self.cq[2], 2)
        at = self._cqe_at(n)
        self.ram[at:at + CQE_BYTES - 4] = CQE.pack(*fields, 0)[:-4]
        self.liar.put(self.ram, at + CQE_BYTES - 4, n + 1)
        self.liar.ring(1 + self.proc)

    def cqe_word(self):
        n = self._tail(self.cq[2], 2) + self.random.randrange(-2, 4)
        self.liar.put(self.ram, self._cqe_at(n) +
                      4 * self.random.randrange(CQE_BYTES // 4), self.liar.word())

    def cqe_again(self):
        """A completion that the driver has taken before."""
        n = self._tail(self.cq[2], 2) - 1 - self.random.randrange(64)
        at = self._cqe_at(n)
        self._complete(CQE.unpack(self.ram[at:at + CQE_BYTES])[:-1])

    def cqe_of_nothing(self):
        """A completion of a request that is or was posted, with one wrong
        word."""
        number, pair = self.random.choice(list(self.pairs.items()))
        sq, sqs, _, _, row = pair
        opcode = self.random.choice((WC_SEND, WC_RECV))
        at = self._receive(pair) if opcode == WC_RECV else \
            sq + (self._tail(row, 0) - 1 - self.random.randrange(4)) % sqs * \
            SLOT_BYTES
        wr_id = struct.unpack_from("<Q", self.ram, at + 8)[0]
        fields = [wr_id, 48, 0, number, opcode, 0, 0, 0, 0]
        wrong = self.random.choice((0, 1, 3, 4, 5, 8))
        fields[wrong] = self.liar.word() & (0xff if wrong in (4, 5) else
                                            0xffffffff)
        self._complete(fields)

    # -------------------------------------------------------------- messages

    def _any_receive(self, pair):
        _, _, rq, rqs, _ = pair
        return rq + self.random.randrange(rqs) * SLOT_BYTES

    def _receive(self, pair):
        """Mostly the oldest receive: in a ring that is always full it is where
        the driver posts next. The driver rejects completions of any other."""
        _, _, rq, rqs, row = pair
        if self.random.random() < 0.2:
            return self._any_receive(pair)
        return rq + self._tail(row, 1) % rqs * SLOT_BYTES

    def _buffer(self, at):
        """(wr_id, address, bytes) of a receive."""
        wr_id, buffer, size = struct.unpack_from("<QQI", self.ram, at + 8)
        return (wr_id, buffer, size) if self._inside(buffer, size) else None

    def message_word(self):
        found = self._buffer(self._any_receive(
            self.random.choice(list(self.pairs.values()))))
        if not found:
            return False
        self.liar.put(self.ram, found[1] + 4 * self.random.randrange(
            MESSAGE.size // 4), self.liar.word())
        return True

    def _asked(self):
        """(queue pair, a READ or WRITE that may be open)."""
        number, pair = self.random.choice(list(self.pairs.items()))
        sq, sqs, _, _, row = pair
        n = self._tail(row, 0) - 1 - self.random.randrange(8)
        at = sq + n % sqs * SLOT_BYTES
        buffer = struct.unpack_from("<Q", self.ram, at + SQ_SGE)[0]
        if self.ram[at] != WR_SEND or not self._inside(buffer, MESSAGE.size):
            return None
        message = MESSAGE.unpack_from(self.ram, buffer)
        return (number, pair, message) if message[0] in (READ, WRITE) else None

    def _answer(self, opcode, op=ANSWER, status=0, payload=0, token=0,
                size=MESSAGE.size, of=(READ, WRITE)):
        """payload, token: how far from the truth; size: of the message."""
        asked = self._asked()
        found = asked and self._buffer(self._receive(asked[1]))
        if not found or asked[2][0] not in of:
            return False
        number, _, message = asked
        ident, length, named = message[3], message[5], message[9]
        wr_id, buffer, _ = found
        self.ram[buffer:buffer + MESSAGE.size] = MESSAGE.pack(
            op, 0, 0, ident, status, length, 0, 0,
            self.random.getrandbits(64), self.liar.word(), 0)
        placed = max(0, length + payload) if opcode == WC_RECV_TOKEN else 0
        self._complete((wr_id, size, placed, number, opcode, 0, 0, 0,
                        named + token & 0xffffffff))
        return True

    def other_token(self):
        return self._answer(WC_RECV_TOKEN, of=(READ,),
                            token=self.random.choice((1, -1, 1 << 20)))

    def other_length(self):
        return self._answer(WC_RECV_TOKEN, of=(READ,),
                            payload=self.random.choice((-512, 1, 1 << 30)))

    def nothing_moved(self):
        """An answer without an error, but no payload was placed or fetched."""
        return self._answer(WC_RECV)

    def error(self):
        return self._answer(WC_RECV, status=self.liar.word() or 5)

    def cut_message(self):
        return self._answer(WC_RECV, size=self.random.choice(
            (0, 47, 49, 512, 513, 0xffffffff)))

    def grant(self):
        return self._answer(WC_RECV, GRANT, of=(WRITE,))

    def bytes_that_are_there(self):
        return self._answer(WC_RECV_TOKEN, of=(READ,))

    KINDS = ((cqe_word, 10), (cqe_again, 5), (cqe_of_nothing, 10),
             (message_word, 10), (other_token, 5), (other_length, 5),
             (nothing_moved, 10), (error, 2), (cut_message, 3), (grant, 5))
    TRUE_TO_LIFE = ((bytes_that_are_there, 5),)
