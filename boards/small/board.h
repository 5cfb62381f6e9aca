/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Table sizes of the simulator: those of the unit tests, with so few fault slots
 * that two queue pairs can take all of them (firmware/memory/fault.h).
 */
#ifndef UNIC_BOARD_SMALL_H
#define UNIC_BOARD_SMALL_H

#define UNIC_FAULTS 3u

#include "../fake/board.h"

#endif /* UNIC_BOARD_SMALL_H */
