/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rogue.h - a process that keeps no rule. It attaches, makes queues and connects them to
 * another rogue or to a number that it guesses; then it writes anything anywhere in the
 * memory that it shares with NIC and driver, posts any work requests, also with the STags
 * of the other processes of its host, and asks its driver for anything. It answers no
 * notice. Nobody may notice: the checkers are told no more than that the bytes in its
 * own pages may be any.
 *
 * Secret: what it does, and when.
 */
#ifndef SIM_ROGUE_H
#define SIM_ROGUE_H

#include "scenario.h"

/** rogue_start() - start the rogues of @s. rogue_stop() - kill them. */
void rogue_start(const struct scenario *s);
void rogue_stop(void);

#endif /* SIM_ROGUE_H */
