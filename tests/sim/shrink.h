/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* shrink.h - a smaller scenario that fails in the same way. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "scenario.h"

/** shrink() - leave out the parts of *s that are not needed for a failure of *v's
 * checker; *v: the verdict of the smaller scenario. Bounded work. */
void shrink(struct scenario *s, struct sim_verdict *v);

#endif /* SIM_SHRINK_H */
