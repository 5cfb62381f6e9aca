/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* tables.h - table sizes of the LM3S6965, for its mailbox (board.h) and for one
 * of the usual size (boards/tiny). */
#ifndef UNIC_TABLES_H
#define UNIC_TABLES_H

#define UNIC_TLB_ENTRIES 64u
#define UNIC_MRS	 16u
#define UNIC_QPS	 8u
#define UNIC_CQS	 8u
#define UNIC_TOKENS	 32u
#define UNIC_ELEMENTS	 32u
#define UNIC_PROCS	 2u
#define UNIC_PDS	 8u
#define UNIC_WAITS	 8u
#define UNIC_GHOSTS	 16u

#define UNIC_LFU	    0
#define UNIC_TELL_REFUSED   0
#define UNIC_READS_IN_PARTS 0
#define UNIC_FORGIVE_READS  0
#define UNIC_ASKS	    0
#define UNIC_PAIN	    0
#define UNIC_ACCOUNTS	    0
#define UNIC_EVICTABLE	    0
#define UNIC_RESTORE_FORMS  0
#define UNIC_METERS	    0
#define UNIC_LONE	    0
#define UNIC_HISTOGRAMS	    0
#define UNIC_SNAPSHOT	    0
#define UNIC_ATOMICS	    0
#define UNIC_SRQS	    0
#define UNIC_QP_READS	    4u
#define UNIC_MR_FORMS	    0
#define UNIC_CACHED_WINDOWS 0
#define UNIC_CQ_RESIZE	    0

#define UNIC_QP_WINDOW	   8u
#define UNIC_RQ_WINDOW	   4u
#define UNIC_QP_SLOTS	   256u
#define UNIC_CQ_ENTRIES	   4096u
#define UNIC_DMA_JOBS	   16u
#define UNIC_DMA_MR_LISTS  2u
#define UNIC_LIST_ELEMENTS 16u
#define UNIC_PARKED_FRAMES 1u
#define UNIC_MTU	   1024u

#endif /* UNIC_TABLES_H */
