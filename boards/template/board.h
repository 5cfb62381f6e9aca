/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * board.h - table sizes to begin with: the smallest NIC there is. A board with
 * more memory has sizes of its own, and includes ../usual.h
 * (boards/mps2-an385/board.h).
 */
#include "../lm3s6965evb/board.h"
