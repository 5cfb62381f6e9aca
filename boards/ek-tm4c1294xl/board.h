/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * board.h - table sizes of the EK-TM4C1294XL: what fits 256 KiB of RAM beside the
 * stack, 48 Ethernet frames and the serial link, with four times the entries of
 * the LM3S6965. The mailbox is the near copy of hal/serial, as there.
 */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#define UNIC_TLB_ENTRIES    256u
#define UNIC_MRS	    32u
#define UNIC_QPS	    32u
#define UNIC_CQS	    32u
#define UNIC_TOKENS	    128u
#define UNIC_ELEMENTS	    128u
#define UNIC_PROCS	    4u
#define UNIC_PDS	    16u
#define UNIC_WAITS	    16u
#define UNIC_GHOSTS	    64u
#define UNIC_LFU	    1
#define UNIC_TELL_REFUSED   1
#define UNIC_ASKS	    1
#define UNIC_PAIN	    1
#define UNIC_ACCOUNTS	    1
#define UNIC_EVICTABLE	    1
#define UNIC_RESTORE_FORMS  1
#define UNIC_METERS	    1
#define UNIC_HISTOGRAMS	    1
#define UNIC_SNAPSHOT	    1
#define UNIC_MR_FORMS	    1
#define UNIC_CQ_RESIZE	    1
#define UNIC_READS_IN_PARTS 1
#define UNIC_FORGIVE_READS  1
#define UNIC_LONE	    1
#define UNIC_ATOMICS	    0
#define UNIC_SRQS	    0
#define UNIC_QP_READS	    4u
#define UNIC_TABLE_READS    0
#define UNIC_CACHED_WINDOWS 1

#define UNIC_QP_WINDOW	   16u
#define UNIC_RQ_WINDOW	   8u
#define UNIC_QP_SLOTS	   256u
#define UNIC_CQ_ENTRIES	   4096u
#define UNIC_DMA_JOBS	   32u
#define UNIC_DMA_MR_LISTS  8u
#define UNIC_LIST_ELEMENTS 32u
#define UNIC_PARKED_FRAMES 4u
#define UNIC_MTU	   1024u

#define UNIC_PATHS	 1u
#define UNIC_ALWAYS_RING 0

#define UNIC_BOX_INFO	0u   /* 192 */
#define UNIC_BOX_NIC	192u /* 384 */
#define UNIC_BOX_DRIVER 576u /* 448 */
#define UNIC_BOX_CMD	1024u
#define UNIC_BOX_CPL	1536u
#define UNIC_BOX_EVT	2048u
#define UNIC_BOX_MAD	4096u
#define UNIC_BOX_LIST	6144u
#define UNIC_BOX_DROP	14336u
#define UNIC_BOX_TRACE	18432u
#define UNIC_BOX_USE	20480u
#define UNIC_BOX_STATS	21504u /* to the end */
#define UNIC_BOX_BYTES	22528u

#define UNIC_BOX_CMDS	    8u
#define UNIC_BOX_CPLS	    8u
#define UNIC_BOX_EVTS	    32u
#define UNIC_BOX_MADS	    4u
#define UNIC_BOX_DROPS	    256u
#define UNIC_BOX_TRACES	    64u
#define UNIC_BOX_LIST_BYTES 1024u

#define UNIC_BOX_DB_FIFO 64u
#define UNIC_BOX_DB_ROWS 32u
#define UNIC_BOX_DB_USED 32u

#include "../near_pages.h"

#endif /* UNIC_BOARD_H */
