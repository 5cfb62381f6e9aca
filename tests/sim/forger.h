/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * forger.h - an attacker on the wire. He hears all frames, sends any frame in anybody's
 * name, and repeats frames that he heard. He has no key: no STag, token or Q_Key that
 * he sends is one that a process gave away, but in frames that he repeats as they were.
 * Numbers and PSNs he has from what he hears, and guesses beside them.
 *
 * Secret: what he makes of what he hears. identity.c decides what it may change.
 */
#ifndef SIM_FORGER_H
#define SIM_FORGER_H

#include "scenario.h"

/** forger_start() - the attacker of @s hears and sends from now on.
 * forger_stop() - he does nothing any more. */
void forger_start(const struct scenario *s);
void forger_stop(void);

#endif /* SIM_FORGER_H */
