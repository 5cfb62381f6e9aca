/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * proc.h - attaches and detaches processes, and takes their doorbells.
 *
 * Secret: how a doorbell reaches its queue (abi/unic_queue.h); the order of a
 * detach. The table of the slots is base/slots.h.
 */
#ifndef UNIC_PROC_H
#define UNIC_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_mbox.h"

struct unic_command;
struct unic_qp_ctx;

/** unic_proc_attach() - PROC_ATTACH. Returns 0, -UNIC_EINVAL, -UNIC_EBUSY (slot
 * in use, or pages of another slot), -UNIC_EBUS (doorbell pages not in a
 * window). */
int unic_proc_attach(struct unic_command *nic,
		     const struct unic_cmd_proc_attach *cmd);

/** unic_proc_detach() - PROC_DETACH. Returns 0 (nothing of the process is left),
 * -UNIC_EPENDING (PROC_GONE follows), -UNIC_ENOPROC. */
int unic_proc_detach(struct unic_command *nic, uint32_t proc);

/** unic_proc_set() - PROC_SET. Returns 0, -UNIC_ENOPROC, -UNIC_EINVAL. */
int unic_proc_set(struct unic_command *nic,
		  const struct unic_cmd_proc_set *cmd);

/** unic_proc_take() - takes the doorbells of watch[@i]: fewer than
 * UNIC_BOX_DB_FIFO words, or the tails of all its queues. True if it was one request, which
 * is sent (fastpath_lone.h). */
bool unic_proc_take(struct unic_command *nic, uint32_t i);

/** unic_proc_ring_qp() - takes the tails of @qp that its process stored while it was in
 * RESET. */
void unic_proc_ring_qp(struct unic_command *nic, const struct unic_qp_ctx *qp);

/** unic_proc_detaching() - continues the detaches, as much as a round allows.
 * Returns when to call again, UINT64_MAX: no slot detaches. */
uint64_t unic_proc_detaching(struct unic_command *nic);

/** unic_proc_db_ack() - DB_ACK. Returns 0 (also if no DB_ERROR was sent), or
 * -UNIC_ENOPROC. */
int unic_proc_db_ack(struct unic_command *nic, uint32_t proc);

/** unic_proc_db_events() - sends the DB_ERROR events that are due. Returns when
 * to call again, UINT64_MAX: none is left. */
uint64_t unic_proc_db_events(struct unic_command *nic);

/** unic_proc_sleep() - sets or clears the `asleep` word of every attached
 * process. */
void unic_proc_sleep(struct unic_command *nic, bool asleep);

#endif /* UNIC_PROC_H */
