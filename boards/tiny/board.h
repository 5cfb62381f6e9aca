/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Table sizes of the LM3S6965 with a mailbox of the usual size, for the simulator
 * and the fuzzers. */
#ifndef UNIC_BOARD_TINY_H
#define UNIC_BOARD_TINY_H

#include "../lm3s6965evb/tables.h"

#include "../usual.h"

/* One thread: nothing writes between two looks. */
#define UNIC_SPIN_LOOKS 2u

#endif /* UNIC_BOARD_TINY_H */
