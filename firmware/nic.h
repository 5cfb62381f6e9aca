/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * nic.h - one NIC: all of its state, and the poll loop.
 *
 * Secret: the order of work in a poll round and when the NIC may sleep. All state
 * of the core is in struct unic_nic; its size is a constant of the board.
 */
#ifndef UNIC_NIC_H
#define UNIC_NIC_H

#include "command/command.h"

struct unic_nic {
	union {
		struct unic_command command;
		struct unic_command;
	};
};

/**
 * unic_nic_init() - power-on: empty tables, random epoch, info page published,
 * state RESET until a driver asks for a reset. @port must outlive @nic.
 */
void unic_nic_init(struct unic_nic *nic, struct unic_port *port);

/* Further looks for input of an idle unic_nic_poll(); even. A board on which
 * nobody writes while the NIC polls needs no more than two. */
#ifndef UNIC_SPIN_LOOKS
#define UNIC_SPIN_LOOKS 128u
#endif

/**
 * unic_nic_poll() - does one round of bounded work; if there is none, looks for
 * input UNIC_SPIN_LOOKS times, for the next call.
 *
 * docs/evidence/rounds.md states the length of a round in instructions, by step;
 * `make bench-insn` measures the worst case of each. A step that grows with a
 * table there does one round's work for the whole table.
 *
 * Returns 0 if there may be more work: poll again at once. Otherwise returns the
 * NIC time in ns until which the caller may sleep: all asleep flags are set, the
 * link is armed and a further look found nothing, so any later input interrupts
 * (INV-1). The heartbeat bounds the time; it is never UINT64_MAX.
 */
uint64_t unic_nic_poll(struct unic_nic *nic);

/**
 * unic_nic_quiesce() - stops all operations because the driver did not answer
 * within H: QPs go to error, nothing is received, sent or moved, state FAILED,
 * the driver is interrupted. Objects stay until the driver asks for a reset.
 */
void unic_nic_quiesce(struct unic_nic *nic);

#endif /* UNIC_NIC_H */
