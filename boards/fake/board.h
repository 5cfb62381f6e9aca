/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Table sizes of the unit tests: small, so that full tables are reached. */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#define UNIC_PARKED_FRAMES 2u

#define UNIC_SRQS 4

#include "../usual.h"

#define UNIC_TLB_ENTRIES 64
#define UNIC_MRS	 32
#define UNIC_PDS	 8
#define UNIC_WAITS	 8
#define UNIC_QPS	 8
#define UNIC_CQS	 8
#define UNIC_TOKENS	 16
#define UNIC_ELEMENTS	 64
#define UNIC_PROCS	 3
#define UNIC_GHOSTS	 32

/* One thread: nothing writes between two looks. */
#define UNIC_SPIN_LOOKS 2u

#endif /* UNIC_BOARD_H */
