/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * board.h - table sizes of Arm's MPS2 with AN385: those of QEMU's `virt`, but
 * with as many processes as slots of 2 MiB fit 16 MiB beside the mailbox, and no
 * more entries than half of the pages of a slot. ld/mps2-an385.ld is the budget
 * that they must fit; the memory map is in hal/mps2/memlayout.h.
 */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#define UNIC_TLB_ENTRIES 256u
#define UNIC_MRS	 256u
#define UNIC_QPS	 64u
#define UNIC_CQS	 64u
#define UNIC_TOKENS	 1024u
#define UNIC_ELEMENTS	 512u
#define UNIC_PROCS	 7u
#define UNIC_PDS	 64u
#define UNIC_WAITS	 64u
#define UNIC_GHOSTS	 256u /* regions remembered after they are gone */

/* In QEMU, no barrier of this processor orders what the host sees. */
#define UNIC_ALWAYS_RING 1

#include "../usual.h"

#endif /* UNIC_BOARD_H */
