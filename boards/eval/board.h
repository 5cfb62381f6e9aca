/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Table sizes of the evaluation: a TLB of 1,024 entries shared by sixteen
 * processes. The experiment on scale sets other sizes by -D.
 */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#include "../usual.h"

#ifndef UNIC_TLB_ENTRIES
#define UNIC_TLB_ENTRIES 1024
#endif
#ifndef UNIC_MRS
#define UNIC_MRS 2048
#endif
#ifndef UNIC_PROCS
#define UNIC_PROCS 16
#endif
#define UNIC_PDS (UNIC_PROCS <= 32 ? 32 : UNIC_PROCS)
#ifndef UNIC_WAITS
#define UNIC_WAITS (UNIC_PROCS <= 32 ? 64 : 2 * UNIC_PROCS)
#endif
#define UNIC_QPS      64
#define UNIC_CQS      64
#define UNIC_TOKENS   1024
#define UNIC_GHOSTS   256u
#define UNIC_ELEMENTS 512u

#endif /* UNIC_BOARD_H */
