/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rig_port.h - the machine under the rig: the fake port. The benchmarks use
 * another one (tests/bench/rig_port.h). */
#ifndef RIG_PORT_H
#define RIG_PORT_H

#include "fake_port.h"

#endif /* RIG_PORT_H */
