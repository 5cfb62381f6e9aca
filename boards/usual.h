/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * usual.h - default sizes and the usual mailbox; a board with little memory
 * defines its own before. Every other board.h includes this.
 */
#ifndef UNIC_USUAL_H
#define UNIC_USUAL_H

#ifndef UNIC_QP_WINDOW
#define UNIC_QP_WINDOW 32u /* send slots that the NIC keeps per QP */
#define UNIC_RQ_WINDOW 8u  /* receive slots that the NIC keeps per QP */
#define UNIC_DMA_JOBS  64u /* DMA pieces in flight; a power of two */
/* tokens made of pieces, at a time; at most 32 */
#define UNIC_DMA_MR_LISTS 32u
/* elements of an indirect region */
#define UNIC_LIST_ELEMENTS UNIC_FORM_ELEMENTS
#define UNIC_MTU	   4096u /* longest payload of a parked frame */
#endif

/* Slots of a send, receive or shared receive queue, and records of a completion queue, at most;
 * more than 1,024 or 4,096 only with both said in unic_info. */
#ifndef UNIC_QP_SLOTS
#define UNIC_QP_SLOTS 1024u
#endif
#ifndef UNIC_CQ_ENTRIES
#define UNIC_CQ_ENTRIES 4096u
#endif

/* Whether there are atomic operations (transport/atomics.h); a board without flash for
 * them defines 0. */
#ifndef UNIC_ATOMICS
#define UNIC_ATOMICS 1
#endif

/* Shared receive queues (transport/srq.h), at most; none unless a board says so. */
#ifndef UNIC_SRQS
#define UNIC_SRQS 0
#endif

/* READs and atomic operations of a queue pair that are outstanding at a time, each way,
 * at most; those of the peer are remembered. A power of two; the ABI has 4 for a board
 * without atomic operations, 16 for others. */
#ifndef UNIC_QP_READS
#define UNIC_QP_READS 16u
#endif

/* Frames of UC and UD that are parked for a page at a time. */
#ifndef UNIC_PARKED_FRAMES
#define UNIC_PARKED_FRAMES 4u
#endif

/* Whether there is the policy `lfu`; a board without flash for it defines 0. */
#ifndef UNIC_LFU
#define UNIC_LFU 1
#endif

/* The NIC tells the sender of a tagged message that it was refused, and understands
 * that; a board without flash for it defines 0. */
#ifndef UNIC_TELL_REFUSED
#define UNIC_TELL_REFUSED 1
#endif

/* A READ whose responses are lost is asked for in parts (transport/read_parts.h), or else all
 * that is missing at once; as above. */
#ifndef UNIC_READS_IN_PARTS
#define UNIC_READS_IN_PARTS 1
#endif

/* A READ that comes again when its region has gone does not end the queue pair of the
 * responder; as above. */
#ifndef UNIC_FORGIVE_READS
#define UNIC_FORGIVE_READS 1
#endif

/* A slot may be an account of another; as above. */
#ifndef UNIC_ACCOUNTS
#define UNIC_ACCOUNTS 1
#endif

/* Forms may have the STag of an earlier epoch; as above. */
#ifndef UNIC_RESTORE_FORMS
#define UNIC_RESTORE_FORMS 1
#endif

/* Whether the NIC keeps histograms (base/histogram.h); as above. */
#ifndef UNIC_HISTOGRAMS
#define UNIC_HISTOGRAMS 1
#endif

/* Whether the NIC holds its tables for a dump (command/dump.h); as above. */
#ifndef UNIC_SNAPSHOT
#define UNIC_SNAPSHOT 1
#endif

/* Whether lone messages have a way of their own (transport/fastpath_lone.h); as above. */
#ifndef UNIC_LONE
#define UNIC_LONE 1
#endif

/* Whether a completion queue can go on in another ring (CQ_RESIZE); as above. */
#ifndef UNIC_CQ_RESIZE
#define UNIC_CQ_RESIZE 1
#endif

/* Whether the NIC says which forms a region has (MR_FORMS); as above. */
#ifndef UNIC_MR_FORMS
#define UNIC_MR_FORMS 1
#endif

/* Whether there are transmit limits (transport/meter.h); as above. */
#ifndef UNIC_METERS
#define UNIC_METERS 1
#endif

/* Whether the NIC asks for idle regions (revoke/ask.h); as above. */
#ifndef UNIC_ASKS
#define UNIC_ASKS 1
#endif

/* QUERY_USAGE says how many entries can be taken back; as above. */
#ifndef UNIC_EVICTABLE
#define UNIC_EVICTABLE 1
#endif

/* Reads of translation lists that may be under way (memory/table.h); a board without
 * flash for TABLE regions defines 0. */
#ifndef UNIC_TABLE_READS
#define UNIC_TABLE_READS 8u
#endif

/* Whether there are windows over regions of residency DEMAND and TABLE
 * (memory/cached_window.h); as above. */
#ifndef UNIC_CACHED_WINDOWS
#define UNIC_CACHED_WINDOWS 1
#endif

/* Whether pain takes part in the choice of a region and in how far the reaper goes
 * (arbiter/pain.h); as above. */
#ifndef UNIC_PAIN
#define UNIC_PAIN 1
#endif

/* Queues of a link, each with room of its own, at most: see unic_port_path(). */
#ifndef UNIC_PATHS
#define UNIC_PATHS 8u
#endif

/* See firmware/base/mailbox.h; a board that needs 1 defines it before. */
#ifndef UNIC_ALWAYS_RING
#define UNIC_ALWAYS_RING 0
#endif

/*
 * Layout of the mailbox and the doorbell pages as the core sees them, in the
 * memory of unic_port_bar() and unic_port_doorbells(): here the same as for the
 * host. Indices run freely and count the same on both sides, so a port may give
 * the core a ring of fewer places, if it keeps the records that do not fit.
 */
#define UNIC_BOX_INFO	UNIC_BAR_INFO_OFF
#define UNIC_BOX_NIC	UNIC_BAR_NIC_OFF
#define UNIC_BOX_DRIVER UNIC_BAR_DRIVER_OFF
#define UNIC_BOX_CMD	UNIC_BAR_CMD_OFF
#define UNIC_BOX_CPL	UNIC_BAR_CPL_OFF
#define UNIC_BOX_EVT	UNIC_BAR_EVT_OFF
#define UNIC_BOX_MAD	UNIC_BAR_MAD_RX_OFF
#define UNIC_BOX_LIST	UNIC_BAR_LIST_OFF
#define UNIC_BOX_STATS	UNIC_BAR_STATS_OFF
#define UNIC_BOX_TRACE	UNIC_BAR_TRACE_OFF
#define UNIC_BOX_DROP	UNIC_BAR_DROP_OFF
#define UNIC_BOX_USE	UNIC_BAR_USE_OFF

#define UNIC_BOX_CMDS	    UNIC_CMD_ENTRIES
#define UNIC_BOX_CPLS	    UNIC_CPL_ENTRIES
#define UNIC_BOX_EVTS	    UNIC_EVT_ENTRIES
#define UNIC_BOX_MADS	    UNIC_MAD_RX_ENTRIES
#define UNIC_BOX_DROPS	    UNIC_DROP_ENTRIES
#define UNIC_BOX_TRACES	    UNIC_TRACE_ENTRIES
#define UNIC_BOX_LIST_BYTES UNIC_LIST_BYTES

#define UNIC_BOX_DB_PAGE  struct unic_db_page
#define UNIC_BOX_NIC_PAGE struct unic_nic_page
#define UNIC_BOX_DB_FIFO  UNIC_DB_FIFO
#define UNIC_BOX_DB_ROWS  UNIC_DB_OBJECTS
#define UNIC_BOX_DB_USED  UNIC_DB_USED

#endif /* UNIC_USUAL_H */
