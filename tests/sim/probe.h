/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* probe.h - checks that a NIC is empty. */
#ifndef SIM_PROBE_H
#define SIM_PROBE_H

#include "world.h"

/** probe() - dump the tables of NIC @node; fails if one has a row. */
void probe(uint32_t node);

#endif /* SIM_PROBE_H */
