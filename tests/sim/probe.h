/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* probe.h - is a NIC empty? */
#ifndef SIM_PROBE_H
#define SIM_PROBE_H

#include "world.h"

/** probe() - ask NIC @node for its tables; objects if there is a row in one. */
void probe(uint32_t node);

#endif /* SIM_PROBE_H */
