# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Opcodes that no responder executes. See mutations.py."""
RESPONDER = "firmware/transport/responder.c"
RX = "firmware/transport/rx.c"

MUTATIONS = (
    (RX, "if (is_unsupported(pkt) && unic_responder_unsupported(nic, qp, pkt))",
     "if (is_unsupported(pkt) && !qp)",
     "opcode: one that nobody executes is met with silence", "test_opcodes"),
    (RX, "(is_request(pkt) || is_unsupported(pkt)) &&", "is_request(pkt) &&",
     "opcode: that it is not executed is said once only", "test_opcodes"),
    (RX, "pkt->opcode > UNIC_OP_ATOMIC_ACK &&", "pkt->opcode >= UNIC_OP_ATOMIC_ACK &&",
     "opcode: an answer that nobody asked for is a request", "test_opcodes"),
    (RX, "? pkt->opcode != UNIC_OP_VACK", "? true",
     "opcode: a vendor acknowledgement is a request", "test_opcodes"),
    (RX, "pkt->opcode < UNIC_OP_UC_SEND_FIRST;", "true;",
     "opcode: a packet of another service is refused", "test_opcodes"),
    (RESPONDER, "\tif (ahead < 0)\n\t\treturn false;\n\tif (ahead)\n", "\tif (ahead > 0)\n",
     "opcode: a duplicate is refused", "test_opcodes"),
    (RESPONDER, "\tif (ahead)\n\t\task_for_missing(nic, qp);\n\telse\n\t\tbad_request",
     "\tbad_request",
     "opcode: one that nobody executes is refused before its turn", "test_opcodes"),
)
