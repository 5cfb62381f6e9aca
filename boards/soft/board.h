/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* board.h - table sizes of the soft NIC: those of the emulated board, so that the
 * same tests fit both. */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#define UNIC_SRQS	256u
#define UNIC_QP_SLOTS	4096u
#define UNIC_CQ_ENTRIES 16384u

#include "../usual.h"

#define UNIC_BOARD_NAME "soft"

#define UNIC_TLB_ENTRIES 1024u
#define UNIC_MRS	 256u
#define UNIC_QPS	 64u
#define UNIC_CQS	 64u
#define UNIC_TOKENS	 1024u
#define UNIC_ELEMENTS	 1024u
#define UNIC_PROCS	 8u
#define UNIC_PDS	 64u
#define UNIC_WAITS	 64u
#define UNIC_GHOSTS	 256u /* regions remembered after they are gone */

#endif /* UNIC_BOARD_H */
