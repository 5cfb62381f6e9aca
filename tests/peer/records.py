# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The records of docs/SPEC.md that a process reads and writes, as layouts.

A layout lists the members behind the common header in the order of SPEC's
field tables: a letter of Python's struct (B 1, H 2, I 4, Q 8 bytes; "6s" six
bytes; "3x" three bytes that are 0) and a name. All of it is little-endian
("Numbers and structs"), and what is behind the last member is 0."""

import struct

from names import RECORD, Op, Up

HEADER = struct.Struct('<HHIII')    # struct unic_ctl_hdr
UPCALL = struct.Struct('<IBB2xII')  # struct unic_upcall_hdr


class Layout:
    """Packs and unpacks the members of one struct."""

    def __init__(self, text, at=0):
        """`text` as described above; the first member is at offset `at`."""
        parts = [word.split(':') for word in text.split()]
        self.names = [name for _, *name in parts for name in name]
        self.format = struct.Struct('<' + ''.join(p[0] for p in parts))
        self.at = at
        self.end = at + self.format.size

    def pack(self, **values):
        """The bytes of the members; those that are not given are 0."""
        unknown = set(values) - set(self.names)
        if unknown:
            raise TypeError(f'no such members: {sorted(unknown)}')
        codes = [c for c in self._codes()]
        return self.format.pack(*(
            values.get(name, b'' if code == 's' else 0)
            for name, code in zip(self.names, codes)))

    def _codes(self):
        """The letter of each member that has a name."""
        for code in self.format.format[1:]:
            if code.isalpha() and code != 'x':
                yield code

    def unpack(self, record):
        """A dictionary of the members of `record`."""
        return dict(zip(self.names, self.format.unpack_from(record, self.at)))


def behind_header(text):
    """A layout of what is behind the 16 bytes of a header."""
    return Layout(text, 16)


PLAIN = behind_header('')
OBJ = behind_header('I:id')
ID = behind_header('I:id')
FRAMES = behind_header('Q:va I:pages B:page_shift')
TOKEN_REPLY = behind_header('Q:key I:id I:index I:end I:placed')
QUEUE_REPLY = behind_header('I:id I:number I:state')
MR_REPLY = behind_header('I:id I:stag I:entries I:waited_us B:page_shift 7x '
                         'Q:iova')
CM = behind_header('Q:service I:ipv4 I:conn I:user I:qpn I:qkey I:timeout_us '
                   'B:qp_type B:max_dest_rd B:max_rd B:timeout B:retry_cnt '
                   'B:rnr_retry B:mtu_shift')
CONNECT = behind_header('Q:service I:ipv4 I:conn I:qp I:timeout_us B:rights '
                        'B:rnr_timer B:max_dest_rd B:max_rd B:timeout '
                        'B:retry_cnt B:rnr_retry B:mtu_shift')
CONN_REPLY = behind_header('I:id I:state I:peer_ipv4 I:peer_qpn Q:service '
                           'I:reason B:vendor B:max_rd B:max_dest_rd '
                           'B:mtu_shift I:qp B:qp_type 3x Q:transaction')
HELD_BY = behind_header('I:conn I:kind I:number I:ipv4 I:qpn')
FAULT = behind_header('I:fault I:arg')
RATE_REPLY = behind_header('Q:rate I:burst I:held')
RATE = behind_header('Q:rate I:burst I:id I:flags')

# Requests ("Requests about ..." of the Reference), by operation.
REQUESTS = {
    Op.HELLO: behind_header('I:version I:weight 16s:name I:policy I:flags '
                            'I:slot'),
    Op.FRAMES_ALLOC: FRAMES,
    Op.FRAMES_FREE: FRAMES,
    Op.MR_REG: behind_header('Q:va Q:iova Q:length I:pd I:timeout_us I:user '
                             'B:rights B:mr_class B:page_shift B:key '
                             'B:importance B:flags B:residency'),
    Op.WAIT_CANCEL: behind_header('I:wait_seq'),
    Op.NOTICE_ANSWER: behind_header('I:id I:notice_seq I:answer I:offer_id '
                                    'I:extend_us'),
    Op.RESYNC: behind_header('I:after I:what'),
    Op.MR_ADVISE: behind_header('Q:offset Q:length I:id I:advice'),
    Op.TOKEN_ALLOC: behind_header('Q:iova I:mr I:length I:ttl_us '
                                  'I:sender_ipv4 I:sender_qpn I:user I:flags'),
    Op.CQ_CREATE: behind_header('Q:iova I:mr I:entries I:db_index I:user'),
    Op.CQ_RESIZE: behind_header('Q:iova I:id I:mr I:entries'),
    Op.QP_CREATE: behind_header('Q:sq_iova Q:rq_iova I:mr I:send_cq I:recv_cq '
                                'H:sq_slots H:rq_slots I:rq_class B:db_index '
                                'B:type B:miss B:flags I:user I:pd'),
    Op.QP_MODIFY: behind_header('I:id B:state B:mtu_shift B:rnr_timer '
                                'B:max_dest_rd B:max_rd B:timeout B:retry_cnt '
                                'B:rnr_retry I:dest_qpn I:rq_psn I:dest_ipv4 '
                                '6s:dest_mac B:rights B:vendor I:sq_psn '
                                'I:qkey'),
    Op.LISTEN: behind_header('Q:service I:user I:flags'),
    Op.CONNECT: CONNECT,
    Op.ACCEPT: CONNECT,
    Op.REJECT: behind_header('I:conn'),
    Op.CM_CONNECT: CM,
    Op.CM_ACCEPT: CM,
    Op.CM_REJECT: behind_header('I:conn I:reason'),
    Op.GRANT: behind_header('I:mr I:conn I:token I:stag I:ended'),
    Op.DELEGATE: HELD_BY,
    Op.INVALIDATED: HELD_BY,
    Op.MR_ALLOC: behind_header('I:pd B:kind B:page_shift B:key B:importance '
                               'I:n I:user'),
    Op.MR_MAKE: behind_header('Q:iova I:id I:n I:repeat B:rights B:key '
                              'B:strided'),
    Op.MR_REREG: behind_header('Q:va Q:iova Q:length I:id I:pd B:what '
                               'B:rights B:importance'),
    Op.BATCH: behind_header('I:count'),
    Op.OWN_POLICY: behind_header('I:policy'),
    Op.CLAIM: behind_header('I:entries'),
    Op.OWN_RATE: RATE,
    Op.DUMP: behind_header('I:table I:first'),
    Op.PS: behind_header('I:what'),
    Op.TRACE: behind_header('I:from_'),
    Op.USES: behind_header('I:first I:count'),
    Op.SELECT: behind_header('I:number 4x 16s:name'),
    Op.FAULT: FAULT,
    Op.TRACE_MASK: FAULT,
    Op.PARAMS: behind_header('I:grace_us I:deliver_us I:reaper_us '
                             'I:low_entries I:high_entries I:residence_us '
                             'I:extend_us I:flags I:idle_us I:pain_pct '
                             'I:prefetch'),
    Op.POLICY: behind_header('I:proc I:weight I:quota I:policy I:flags'),
    Op.RATE: RATE,
    Op.LIMITS_OF: behind_header('I:proc I:flags I:limit0 I:limit1 I:limit2'),
}
for _op in (Op.PD_ALLOC, Op.USAGE, Op.INFO, Op.STATS, Op.CRASH,
            Op.NICS, Op.RESET):
    REQUESTS[_op] = PLAIN
for _op in (Op.PD_FREE, Op.MR_DEREG, Op.TOKEN_CANCEL, Op.CQ_DESTROY,
            Op.QP_DESTROY, Op.QP_QUERY, Op.UNLISTEN, Op.DISCONNECT,
            Op.CONN_QUERY, Op.CM_DISCONNECT, Op.CM_QUERY, Op.CM_FREE,
            Op.MR_INVAL, Op.EVICT):
    REQUESTS[_op] = OBJ

# Replies; all others have nothing behind the header.
REPLIES = {
    Op.HELLO: behind_header('Q:slot_bytes I:proc I:grace_us I:deliver_us '
                            'I:bound_us I:tlb_entries I:ipv4 I:path_mtu '
                            'I:frames I:host_id B:nic B:resumed H:slot_at'),
    Op.PD_ALLOC: ID,
    Op.LISTEN: ID,
    Op.MR_REG: MR_REPLY,
    Op.MR_ALLOC: MR_REPLY,
    Op.MR_MAKE: MR_REPLY,
    Op.MR_INVAL: MR_REPLY,
    Op.MR_REREG: MR_REPLY,
    Op.NOTICE_ANSWER: behind_header('Q:deadline_ns I:detail'),
    Op.RESYNC: behind_header('I:regions I:more I:next_seq'),
    Op.USAGE: behind_header('I:frames I:frames_max I:pinned I:upcalls'),
    Op.TOKEN_ALLOC: TOKEN_REPLY,
    Op.TOKEN_CANCEL: TOKEN_REPLY,
    Op.CQ_CREATE: QUEUE_REPLY,
    Op.CQ_RESIZE: behind_header('I:records'),
    Op.QP_CREATE: QUEUE_REPLY,
    Op.QP_QUERY: QUEUE_REPLY,
    Op.CONNECT: CONN_REPLY,
    Op.ACCEPT: CONN_REPLY,
    Op.CONN_QUERY: CONN_REPLY,
    Op.CM_CONNECT: ID,
    Op.CM_QUERY: behind_header('I:user I:state I:peer_ipv4 I:peer_qpn I:qkey '
                               'I:reason I:sq_psn I:rq_psn Q:service '
                               'B:qp_type B:mtu_shift B:max_rd B:max_dest_rd '
                               'B:timeout B:retry_cnt B:rnr_retry B:was_up'),
    Op.BATCH: behind_header('I:count'),
    Op.INFO: behind_header('Q:driver_ns I:driver_pid I:slots I:slots_used '
                           'I:resets I:nic_there I:host_id 16s:provider'),
    Op.STATS: behind_header('Q:time_ns I:counters I:commands I:timeouts '
                            'I:bad_records I:upcalls I:refused I:audits'),
    Op.DUMP: behind_header('I:rows I:next'),
    Op.PS: behind_header('I:procs'),
    Op.TRACE: behind_header('I:first I:records I:next 4x Q:pair_nic_ns '
                            'Q:pair_host_ns'),
    Op.USES: behind_header('Q:time_ns I:rows I:mrs'),
    Op.NICS: behind_header('I:nics I:mine I:features'),
    Op.SELECT: behind_header('I:number 4x 16s:nic'),
    Op.OWN_RATE: RATE_REPLY,
    Op.RATE: RATE_REPLY,
    Op.LIMITS_OF: behind_header('I:limit0 I:limit1 I:limit2 I:over0 I:over1 '
                                'I:over2'),
}

# What is behind the 16 bytes of an upcall's header.
_UP_MR = Layout('I:user I:stag I:notice_seq I:entries I:dependents I:rank '
                'I:flags I:grace_us Q:deadline_ns I:pain', 16)
_UP_WAIT = Layout('I:user I:stag I:status I:waited_us I:entries I:wait_seq',
                  16)
_UP_OBJ = Layout('I:user I:detail', 16)
_UP_CONN = Layout('I:user I:listener I:peer_ipv4 I:peer_qpn I:qp I:reason '
                  'I:private_bytes', 16)
UPCALLS = {
    Up.NOTICE: _UP_MR, Up.EVICTED: _UP_MR,
    Up.GRANTED: _UP_WAIT, Up.WAIT_ENDED: _UP_WAIT,
    Up.QP_ERROR: _UP_OBJ, Up.CQ_ERROR: _UP_OBJ,
    Up.RESET: _UP_OBJ, Up.DB_ERROR: _UP_OBJ,
    Up.TOKEN_END: Layout('I:user I:index I:end I:placed', 16),
    Up.CONN_REQUEST: _UP_CONN, Up.ESTABLISHED: _UP_CONN,
    Up.DISCONNECTED: _UP_CONN, Up.CM: _UP_CONN,
    Up.INVALIDATE: Layout('I:user I:qp I:kind I:number I:grace_us 4x '
                          'Q:deadline_ns', 16),
}

# Tails of replies.
USAGE = Layout('8x I:table I:used I:limit I:holding I:fair_share I:waiters '
               'I:borrowed H:top0 H:top1 H:top2 H:evictable I:held0 I:held1 I:held2 '
               'I:quota I:bound_us')
REGION = Layout('I:id I:stag I:user I:entries I:state I:notice_seq '
                'Q:deadline_ns')
OBJECT = Layout('I:id I:type I:user I:state I:number I:of I:detail')
NIC_ROW = Layout('I:number I:state I:ipv4 4x 16s:name')
PROC = Layout('I:proc I:pid I:uid I:state 16s:name I:frames I:pinned '
              'I:regions I:waits I:upcalls I:notices I:evictions I:weight '
              'I:quota I:policy I:requests I:refused')
NIC_INFO = Layout('I:magic H:abi_major H:abi_minor Q:features I:tlb_entries '
                  'I:mrs I:qps I:cqs I:tokens I:procs I:pds I:waits '
                  'I:max_frame I:path_mtu 6s:mac B:link_up B:icrc_offload '
                  '32s:build_id')
NIC_NOW = Layout('I:boot_epoch I:state I:reset_ack I:heartbeat Q:clock_ns '
                 'Q:pair_nic_ns Q:pair_host_ns I:grace_us I:deliver_us '
                 'I:reaper_us I:drain_us I:ipv4', 112)
ROW_QP = Layout('I:qpn I:proc I:pd I:state I:dest_qpn I:dest_ipv4 I:sq_psn '
                'I:una_psn I:rq_psn I:sq_posted I:sq_done I:rq_posted '
                'I:rq_done I:retries I:rnrs I:type')


def request(op, seq, epoch=0, tail=b'', **members):
    """The bytes of a request: header, members, zeros, tail."""
    layout = REQUESTS[op]
    body = HEADER.pack(op, 0, seq, epoch, len(tail)) + layout.pack(**members)
    return body.ljust(RECORD, b'\0') + bytes(tail)


def rows(layout, size, data):
    """The rows of `size` bytes that a tail consists of."""
    return [layout.unpack(data[at:at + size])
            for at in range(0, len(data) - size + 1, size)]
