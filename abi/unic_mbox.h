/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_mbox.h - the mailbox between host driver and firmware: the layout of the
 * BAR, and, in the headers that it includes, every command, completion and event.
 *
 * Three rings of 64-byte records: commands (driver writes), completions and
 * events (NIC writes). Indices are free-running 32-bit counts; each lives in a
 * page that one side alone writes. Whoever reads an index trusts it only while
 * tail - head <= entries; a wild index is counted and ignored. Each record is
 * copied out once and the copy is validated. Fields named rsvd are written 0
 * and a command in which one is not 0 is refused (UNIC_ST_INVALID).
 *
 * Commands are executed in order and each gets exactly one completion, with
 * the same cookie. Driver start: see unic_driver_page.reset_req.
 */
#ifndef UNIC_MBOX_H
#define UNIC_MBOX_H

#include "unic_cmd.h"
#include "unic_cmd_dump.h"
#include "unic_cmd_mr.h"
#include "unic_cmd_queue.h"
#include "unic_evt.h"
#include "unic_types.h"
#include "unic_words.h"

#define UNIC_MAGIC     0x43494e55u /* "UNIC" */
#define UNIC_ABI_MAJOR 1u	   /* a driver refuses a NIC of another */
#define UNIC_ABI_MINOR 16u /* raised by additions, see unic_info.features */

/* ------------------------------------------------------- layout of BAR2 */

#define UNIC_BAR_BYTES	    0x200000u /* of the BAR, at least; a power of two */
#define UNIC_BAR_INFO_OFF   0x0000u   /* struct unic_info, NIC writes */
#define UNIC_BAR_NIC_OFF    0x1000u   /* struct unic_nic_idx, NIC writes */
#define UNIC_BAR_DRIVER_OFF 0x2000u /* struct unic_driver_page, driver writes */
#define UNIC_BAR_CMD_OFF    0x4000u /* 64 command records */
#define UNIC_BAR_CPL_OFF    0x5000u /* 64 completion records */
#define UNIC_BAR_EVT_OFF    0x8000u /* 512 event records */
#define UNIC_BAR_MAD_RX_OFF 0x10000u /* 64 x 512 bytes, NIC writes */
#define UNIC_BAR_LIST_OFF \
	0x20000u /* 64 x 4096: list page of each command slot */
#define UNIC_BAR_STATS_OFF 0x60000u  /* struct unic_stats_page, NIC writes */
#define UNIC_BAR_TRACE_OFF 0x80000u  /* trace ring, NIC writes */
#define UNIC_BAR_CRASH_OFF 0xc0000u  /* struct unic_crash, NIC writes */
#define UNIC_BAR_DROP_OFF  0x100000u /* 8192 drop records, NIC writes */
#define UNIC_BAR_USE_OFF \
	0x120000u /* struct unic_use_row by region, NIC writes */
/* 0x140000 to the end: not used; up to ABI 1.12 the page tables of TABLE regions */

#define UNIC_CMD_ENTRIES 64u /* places of the command ring, and list pages */
#define UNIC_CPL_ENTRIES 64u /* places of the completion ring */
#define UNIC_EVT_ENTRIES \
	512u /* places of the event ring, 1/4 kept for NOTICE, EVICTED */
#define UNIC_MAD_RX_ENTRIES 64u	  /* places of the management ring */
#define UNIC_DROP_ENTRIES   8192u /* places of the ring of drop records */
#define UNIC_LIST_BYTES	    4096u /* of the list page of a command slot */
#define UNIC_LIST_MAX \
	(UNIC_LIST_BYTES / 8u) /* bus addresses of one list page */

enum unic_nic_state {
	UNIC_NIC_RESET = 0,   /* resetting: nothing is accepted or sent */
	UNIC_NIC_READY = 1,   /* commands are executed, frames sent and
			       * received */
	UNIC_NIC_FAILED = 2,  /* the driver did not answer within H: quiesced,
			       * waiting for reset_req */
	UNIC_NIC_CRASHED = 3, /* see struct unic_crash */
};

/* NIC writes, `magic` last; fixed from then on but for the fields below the
 * line.
 */
struct unic_info {
	unic_le32 magic;       /* UNIC_MAGIC; 0: there is no NIC */
	unic_le16 abi_major;   /* another major: the driver refuses */
	unic_le16 abi_minor;   /* a driver goes by features, not by this */
	unic_le64 features;    /* UNIC_FEAT_* */
	unic_le32 tlb_entries; /* TLB entries, for all processes together */
	unic_le32 mrs;	       /* regions, at most, forms included */
	unic_le32 qps;	       /* queue pairs, at most */
	unic_le32 cqs;	       /* completion queues, at most */
	unic_le32 tokens;      /* payload tokens at a time */
	unic_le32 procs;       /* process slots, numbered from 0 on */
	unic_le32 pds;	       /* protection domains, at most */
	unic_le32 waits;       /* REGISTER_WAIT requests that may be queued */
	unic_le32 max_frame;   /* of the link, bytes; 0: there is no link */
	unic_le32 path_mtu;    /* largest payload per packet it allows, 256 to
				* 4096; 0: there is no link, or one with no room
				* for 256 */
	uint8_t mac[6];	       /* Ethernet address of the NIC */
	uint8_t link_up;       /* 1 if it is up, as far as the board can tell;
				* may change, too */
	uint8_t icrc_offload;  /* 1: the link lets NICs leave the ICRC out; else
				* 0 */
	uint8_t build_id[32];  /* of the firmware, text, zero-padded */
	unic_le32 nic_bytes;   /* sizeof(struct unic_nic), the state of the
				* firmware */
	unic_le32 srqs;	       /* shared receive queues, at most; 0 without
				* UNIC_FEAT_SRQ */
	unic_le32 ring_slots;  /* of a send, receive or shared receive queue, at
				* most; 0: not said, 1,024 or fewer */
	unic_le32 cq_entries;  /* records of a completion queue, at most; 0: not
				* said, 4,096 */
	/* ---- may change while running */
	unic_le32 boot_epoch;	/* +1 at each reset; starts random, never 0 */
	unic_le32 state;	/* enum unic_nic_state */
	unic_le32 reset_ack;	/* = reset_req when that reset is complete */
	unic_le32 heartbeat;	/* +1 every 50 ms, also while the NIC sleeps */
	unic_le64 clock_ns;	/* NIC time at the last heartbeat */
	unic_le64 pair_nic_ns;	/* NIC time at which ... */
	unic_le64 pair_host_ns; /* ... the host's CLOCK_MONOTONIC was this */
	unic_le32 grace_us;	/* T: an owner has so long from NOTICE_ACK on */
	unic_le32 deliver_us;	/* H: the driver has so long for NOTICE_ACK,
				 * MR_FAULT */
	unic_le32 reaper_us;	/* reaper period: the NIC tries again after
				 * it */
	unic_le32 drain_us;	/* drain bound: DMA that is cut off ends in it;
				 * B = H + T + reaper + drain */
	unic_le32 ipv4;		/* our address, host order; 0: none yet */
	unic_le32 bus_lost;	/* times that bytes of a serial line to the host
				 * were lost or damaged; 0 without one */
	unic_le32 wire_lost;	/* frames that the board's Ethernet lost, either
				 * way, as far as the board counts them */
	unic_le32 rsvd1;
};

/* NIC writes. One cache line per index. */
struct unic_nic_idx {
	unic_le32 cmd_head; /* commands taken */
	unic_le32 rsvd0[15];
	unic_le32 cpl_tail; /* completions written */
	unic_le32 rsvd1[15];
	unic_le32 evt_tail; /* events written */
	unic_le32 rsvd2[15];
	unic_le32 mad_tail; /* management datagrams written */
	unic_le32 rsvd3[15];
	unic_le32 asleep; /* not 0: ring vector 0 after a command */
	unic_le32 rsvd4[15];
	unic_le32 drop_tail; /* drop records written */
	unic_le32 fenced;    /* = unic_driver_page.fence: see there */
	unic_le32 rsvd5[14];
};

/* Driver writes. */
struct unic_driver_page {
	unic_le32 cmd_tail; /* commands written */
	unic_le32 rsvd0[15];
	unic_le32 cpl_head; /* completions consumed */
	unic_le32 rsvd1[15];
	unic_le32 evt_head; /* events consumed */
	unic_le32 rsvd2[15];
	unic_le32 mad_head; /* management datagrams consumed */
	unic_le32 rsvd3[15];
	/*
	 * Interrupt suppression: the NIC rings vector 0 after a record only
	 * while this is not 0. The driver sets it before it sleeps (then, full
	 * barrier, looks once more) and clears it when it polls.
	 */
	unic_le32 want_irq;
	unic_le32 rsvd4[15];
	/*
	 * A value that differs from unic_info.reset_ack asks for a reset: the
	 * NIC quiesces, forgets all objects, sets all indices of both pages to 0
	 * in its own copies (the driver zeroes its page before it asks), adds 1
	 * to boot_epoch and answers in reset_ack. A starting driver does this
	 * first.
	 */
	unic_le32 reset_req;
	/*
	 * Not 0: the NIC starts no DMA from its next look on, which is the first
	 * thing it does in each round and after each wait. When none is under way it
	 * forgets all objects, as by a reset, and answers with the same value in
	 * unic_nic_idx.fenced: from then on it touches no memory but the mailbox,
	 * until reset_req asks for a reset (the driver zeroes its page before).
	 */
	unic_le32 fence;
	unic_le32 rsvd5[14];
	unic_le32 drop_head; /* drop records consumed */
	unic_le32 rsvd6[15];
};

UNIC_ABI_AT(unic_info, features, 8);
UNIC_ABI_AT(unic_info, mac, 56);
UNIC_ABI_AT(unic_info, build_id, 64);
UNIC_ABI_AT(unic_info, boot_epoch, 112);
UNIC_ABI_AT(unic_info, clock_ns, 128);
UNIC_ABI_AT(unic_info, grace_us, 152);
UNIC_ABI_SIZE(unic_info, 184);
UNIC_ABI_AT(unic_nic_idx, asleep, 256);
UNIC_ABI_AT(unic_nic_idx, drop_tail, 320);
UNIC_ABI_AT(unic_nic_idx, fenced, 324);
UNIC_ABI_SIZE(unic_nic_idx, 384);
UNIC_ABI_AT(unic_driver_page, want_irq, 256);
UNIC_ABI_AT(unic_driver_page, reset_req, 320);
UNIC_ABI_AT(unic_driver_page, drop_head, 384);
UNIC_ABI_AT(unic_driver_page, fence, 324);
UNIC_ABI_SIZE(unic_driver_page, 448);

#endif /* UNIC_MBOX_H */
