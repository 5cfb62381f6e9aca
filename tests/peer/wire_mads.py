# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Cases: SPEC "Odd packets: UD and management", the rows of management: what
a NIC hands to its driver."""

import cm
import frame as fr
from check import Suite, same

SUITE = Suite()
GOOD = bytes(256)       # base version 0: taken by the NIC, not by the driver


@SUITE.rows("management", {
    "opcode 65": (dict(opcode=fr.UD_SEND_IMM), "rx_bad_opcode"),
    "opcode 04": (dict(opcode=fr.SEND_ONLY), "rx_bad_opcode"),
    "opcode 24": (dict(opcode=0x24), "rx_bad_opcode"),
    "252 bytes": (dict(data=bytes(252)), "rx_short"),
    "260 bytes": (dict(data=bytes(260)), "rx_short"),
    "0 bytes": (dict(data=b""), "rx_short"),
    "nothing behind BTH": (dict(body=b""), "rx_short"),
    "Q_Key 0": (dict(qkey=0), "rx_no_qp"),
    "Q_Key 80010001": (dict(qkey=0x80010001), "rx_no_qp"),
    "to queue pair 0": (dict(dqpn=0), "rx_no_qp"),
    "as it should be": ({}, "mad_rx"),
    "source queue pair 5": (dict(sqpn=5), "mad_rx"),
    "PSN 77": (dict(psn=77), "mad_rx"),
    "from an unknown address": (dict(src_ip=0x0a0000fe), "mad_rx")})
def management(world, fields, counter):
    """Datagrams to queue pair 1; nothing is answered to any of these."""
    manager = cm.Manager(world.station)
    manager.forget()
    values = dict(fields)
    with world.counts(**{counter: 1}):
        manager.send(values.pop("data", GOOD), **values)
    same("answer", world.station.recv(1, 0), None)


@SUITE.case("management: the driver has not read the last 64")
def management_full(world):
    """mad_rx_dropped; the driver is stopped meanwhile."""
    manager = cm.Manager(world.station)
    with world.counts(mad_rx_dropped=6):
        with world.driver_stopped():
            for _ in range(70):
                manager.send(GOOD)
            world.station.barrier()
