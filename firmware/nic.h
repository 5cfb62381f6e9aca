/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * nic.h - one NIC: all of its state, and the poll loop.
 *
 * Secret: the order of work in a poll round and when the NIC may sleep. Nothing
 * of the core lives outside struct unic_nic; its size is a constant of the
 * board.
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
 * unic_nic_init() - power-on: everything empty, info page published, state
 * READY, epoch random. @port must live as long as @nic.
 */
void unic_nic_init(struct unic_nic *nic, struct unic_port *port);

/* Looks around of an idle unic_nic_poll(), beside the first one; even. A board
 * on which nobody writes while the NIC polls needs no more than two. */
#ifndef UNIC_SPIN_LOOKS
#define UNIC_SPIN_LOOKS 128u
#endif

/**
 * unic_nic_poll() - one round of bounded work; if there is none, some more
 * looks for it.
 *
 * How long a round can be, in instructions and by step, is stated in
 * docs/evidence/rounds.md; `make bench-insn` measures the worst case of each.
 * What grows with a table there is one round's work for all of it.
 *
 * Returns 0: there may be more, poll again at once. Otherwise the NIC time in
 * ns until which the caller may sleep: all asleep flags are set, the link is
 * armed and a further look found nothing, so whatever happens from now on
 * interrupts (INV-1). UINT64_MAX never comes: the heartbeat bounds it.
 */
uint64_t unic_nic_poll(struct unic_nic *nic);

/**
 * unic_nic_quiesce() - stop all operations: QPs to error, nothing is received,
 * sent or moved any more, state FAILED, the driver interrupted. For a driver that does not answer (H). Objects stay
 * until the driver asks for a reset.
 */
void unic_nic_quiesce(struct unic_nic *nic);

#endif /* UNIC_NIC_H */
