/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * wild.h - a host that keeps no rule, on a node of its own. A driver and a rogue process
 * are there; the commands of the driver are changed before its NIC sees them, earlier
 * ones come again, and anything is written anywhere in the mailbox, the doorbells and
 * the memory of processes, at any time. Its NIC must not crash, and reach no other
 * memory; the driver must not crash either, whatever it is answered. The NICs of the
 * others hear what it sends as frames of an attacker. No checker believes what is in
 * this mailbox.
 *
 * Secret: what is written, and when.
 */
#ifndef SIM_WILD_H
#define SIM_WILD_H

#include "scenario.h"

/** wild_start() - let the last node of @s go wild, if there is to be one.
 * wild_stop() - power off. */
void wild_start(const struct scenario *s);
void wild_stop(void);
/** wild_commands() - before the NIC of wild node @n is polled. */
void wild_commands(struct node *n);

#endif /* SIM_WILD_H */
