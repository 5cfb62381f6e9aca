/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * proc.h - attach and detach a process, and take its doorbells.
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

/** unic_proc_attach() - PROC_ATTACH. 0; -UNIC_EINVAL; -UNIC_EBUSY (slot in use, or
 * pages of another slot);
 * -UNIC_EBUS (doorbell pages not in a window). */
int unic_proc_attach(struct unic_command *nic,
		     const struct unic_cmd_proc_attach *cmd);

/** unic_proc_detach() - PROC_DETACH. 0: nothing of it is left. -UNIC_EPENDING:
 * PROC_GONE follows. -UNIC_ENOPROC. */
int unic_proc_detach(struct unic_command *nic, uint32_t proc);

/** unic_proc_set() - PROC_SET. 0, -UNIC_ENOPROC, -UNIC_EINVAL. */
int unic_proc_set(struct unic_command *nic,
		  const struct unic_cmd_proc_set *cmd);

/** unic_proc_take() - the doorbells of watch[@i]: fewer than UNIC_BOX_DB_FIFO words,
 * or the tails of all its queues. */
void unic_proc_take(struct unic_command *nic, uint32_t i);

/** unic_proc_detaching() - go on with slots that detach, as far as a round goes.
 * Returns when to call again, UINT64_MAX: none does. */
uint64_t unic_proc_detaching(struct unic_command *nic);

/** unic_proc_db_ack() - DB_ACK. 0, -UNIC_ENOPROC; nothing if none was sent. */
int unic_proc_db_ack(struct unic_command *nic, uint32_t proc);

/** unic_proc_db_events() - send the DB_ERROR events that are due. Returns when
 * to be called again, UINT64_MAX: none is left. */
uint64_t unic_proc_db_events(struct unic_command *nic);

/** unic_proc_sleep() - set or clear every `asleep` word. */
void unic_proc_sleep(struct unic_command *nic, bool asleep);

#endif /* UNIC_PROC_H */
