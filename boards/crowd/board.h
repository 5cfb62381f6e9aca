/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Table sizes of the unit tests, but for 15 processes that hoard 64 entries and the
 * driver's own beside them (tests/unit/host/kio_rig.h). */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#define UNIC_SRQS 4

#include "../usual.h"

#define UNIC_TLB_ENTRIES 64
#define UNIC_MRS	 64
#define UNIC_PDS	 32
#define UNIC_WAITS	 16
#define UNIC_QPS	 8
#define UNIC_CQS	 8
#define UNIC_TOKENS	 16
#define UNIC_ELEMENTS	 64
#define UNIC_PROCS	 16
#define UNIC_GHOSTS	 32

/* One thread: nothing writes between two looks. */
#define UNIC_SPIN_LOOKS 2u

#endif /* UNIC_BOARD_H */
