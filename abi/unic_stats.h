/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_stats.h - what the NIC says about itself: counters, the binary trace,
 * the crash record. The NIC writes, the driver reads and formats.
 */
#ifndef UNIC_STATS_H
#define UNIC_STATS_H

#include "unic_types.h"

#define UNIC_TRACE_ENTRIES 4096u       /* records of the trace ring */
#define UNIC_CRASH_MAGIC   0x43494e55u /* "UNIC" */

/*
 * Counters, in this order, as unic_le64 at UNIC_BAR_STATS_OFF + 16. New ones
 * are appended. X(name, what it counts)
 */
#define UNIC_COUNTERS(X)                                                     \
	X(rx_frames, "frames received")                                      \
	X(rx_bytes, "bytes received")                                        \
	X(tx_frames, "frames sent")                                          \
	X(tx_bytes, "bytes sent")                                            \
	X(tx_no_room, "times the link had no room for a frame")              \
	X(rx_not_ours, "frames for another address or of no known protocol") \
	X(rx_short, "frames shorter than their headers")                     \
	X(rx_bad_ip, "IPv4/UDP header wrong")                                \
	X(rx_bad_icrc, "ICRC wrong")                                         \
	X(rx_bad_opcode, "opcode unknown or not allowed here")               \
	X(rx_no_qp, "no such QP, or it expects another peer")                \
	X(rx_duplicate, "requests seen before")                              \
	X(rx_out_of_seq, "requests ahead of sequence")                       \
	X(rx_stale_ack, "acknowledgements for nothing outstanding")          \
	X(rx_fault_dropped, "frames dropped on request of FAULT")            \
	X(tx_acks, "acknowledgements sent")                                  \
	X(tx_naks, "negative acknowledgements sent")                         \
	X(tx_rnr_naks, "RNR NAKs sent")                                      \
	X(tx_vacks, "vendor acknowledgements sent")                          \
	X(retransmits, "go-back rounds")                                     \
	X(timeouts, "acknowledgement timeouts")                              \
	X(access_stag, "access refused: STag")                               \
	X(access_pd, "access refused: PD")                                   \
	X(access_rights, "access refused: rights")                           \
	X(access_bounds, "access refused: bounds")                           \
	X(access_evicted, "access refused: evicted")                         \
	X(dma_bytes, "bytes moved by DMA")                                   \
	X(dma_errors, "DMA refused by the bus")                              \
	X(wqe_bad, "work requests malformed")                                \
	X(db_words, "doorbell words read")                                   \
	X(db_overruns, "doorbell FIFOs overrun and scanned")                 \
	X(db_bad, "doorbell words naming nothing")                           \
	X(cq_overflows, "completion queues overrun")                         \
	X(cq_events, "completion notifications")                             \
	X(commands, "mailbox commands")                                      \
	X(commands_failed, "mailbox commands answered with an error")        \
	X(mbox_bad_index, "mailbox indices out of range")                    \
	X(evt_stalls, "events held back: ring full")                         \
	X(mad_rx, "management datagrams received")                           \
	X(mad_rx_dropped, "management datagrams dropped: ring full")         \
	X(mr_registered, "regions registered")                               \
	X(mr_denied, "registrations denied at once")                         \
	X(waits_queued, "REGISTER_WAIT requests queued")                     \
	X(waits_granted, "REGISTER_WAIT requests granted")                   \
	X(waits_ended, "REGISTER_WAIT requests timed out or cancelled")      \
	X(wait_us_total, "microseconds waited by granted requests")          \
	X(notices, "eviction notices sent")                                  \
	X(notice_acks, "eviction notices delivered")                         \
	X(released, "notices answered by release")                           \
	X(offers_taken, "offers accepted")                                   \
	X(offers_refused, "offers refused")                                  \
	X(extends_taken, "extensions granted")                               \
	X(extends_refused, "extensions refused")                             \
	X(deadlines, "notices that ended at their deadline")                 \
	X(evicted_regions, "regions evicted")                                \
	X(evicted_entries, "entries evicted")                                \
	X(evicted_busy, "regions evicted while operations used them")        \
	X(msg_evicted, "messaging regions evicted without grace")            \
	X(rq_substituted, "receives replaced by the next posted one")        \
	X(driver_failures, "notices not delivered within H")                 \
	X(tokens_allocated, "tokens allocated")                              \
	X(tokens_used, "tokens used")                                        \
	X(tokens_cancelled, "tokens cancelled")                              \
	X(tokens_expired, "tokens expired")                                  \
	X(tokens_evicted, "tokens ended with their region")                  \
	X(tokens_aborted, "tokens aborted with their QP")                    \
	X(token_bad_key, "tagged messages refused: index or key")            \
	X(token_too_long, "tagged messages refused: length")                 \
	X(token_wrong_sender, "tagged messages refused: sender")             \
	X(token_busy, "tagged messages refused: claimed")                    \
	X(token_region, "tagged messages refused: region gone")              \
	X(resets, "resets asked by the driver")                              \
	X(polls, "poll rounds that found work")                              \
	X(sleeps, "times the NIC went to sleep")                             \
	X(guess_held, "times a peer that guessed keys was held off")         \
	X(misses, "accesses to a page of which the NIC had no entry")        \
	X(miss_events, "misses told to the driver")                          \
	X(miss_filled, "entries of DEMAND regions brought by the driver")    \
	X(miss_refused, "misses that the driver could not serve")            \
	X(miss_timeouts, "misses not served within H")                       \
	X(table_filled, "entries of TABLE regions inserted")                 \
	X(cache_dropped, "entries of DEMAND and TABLE regions dropped")      \
	X(cache_no_room, "entries refused: nothing to drop for them")        \
	X(miss_suspended, "times a send queue waited for a page")            \
	X(miss_put_off, "requests of a peer put off for a page")             \
	X(forms_made, "windows and other forms made valid")                  \
	X(forms_invalidated, "forms invalidated")                            \
	X(forms_inv_remote, "of them: by a peer")                            \
	X(forms_refused, "requests to make or invalidate a form refused")    \
	X(forms_evicted, "forms that ended with a region of theirs")         \
	X(rq_ahead, "receives whose pages were asked for before a message")  \
	X(unrel_no_receive, "UC, UD messages dropped: no receive")           \
	X(unrel_too_long, "UC, UD messages dropped: too long")               \
	X(unrel_refused, "UC, UD messages dropped: access refused")          \
	X(uc_broken, "UC messages dropped: a packet was missing")            \
	X(uc_skipped, "UC packets dropped: of a message that was")           \
	X(ud_bad_qkey, "UD messages dropped: Q_Key")                         \
	X(ud_no_route, "UD messages not sent: nobody answered ARP")          \
	X(miss_dropped, "UC, UD packets dropped for a page")                 \
	X(miss_substituted, "UC, UD messages in another receive for a page") \
	X(miss_bounced, "UC, UD packets kept for a page")                    \
	X(stag_rests, "indices of regions used up for a while")              \
	X(token_ended_used, "tagged messages refused: token used")           \
	X(token_ended_cancelled, "tagged messages refused: token cancelled") \
	X(token_ended_expired, "tagged messages refused: token expired")     \
	X(token_ended_aborted, "tagged messages refused: token aborted")     \
	X(idle_asked, "regions asked for because they lay idle")             \
	X(table_reads, "groups of words of TABLE regions read by DMA")       \
	X(table_stale, "of them not used: MR_INVALIDATE came meanwhile")     \
	X(lone_sent, "requests that were alone, sent a shorter way")         \
	X(lone_placed, "WRITEs and SENDs, alone, placed a shorter way")      \
	X(lone_other, "sent as others though alone: WRITEs of one packet")

#define UNIC_COUNTER_ENUM(name, what) UNIC_C_##name,
enum unic_counter {
	UNIC_COUNTERS(UNIC_COUNTER_ENUM) UNIC_C_COUNT
};

struct unic_stats_page {
	unic_le32 version;	/* 1 */
	unic_le32 counters;	/* how many follow */
	unic_le64 time_ns;	/* NIC time of this copy */
	unic_le64 counter[510]; /* by enum unic_counter; those from `counters`
				 * on mean nothing */
};

/* A trace event. The record of event n is at n % UNIC_TRACE_ENTRIES. */
struct unic_trace_rec {
	unic_le64 time_ns; /* NIC time of its poll round */
	unic_le32 seq;	   /* n + 1; 0: not written since the NIC started, or
			    * being written */
	unic_le16 code;	   /* enum unic_trace_code */
	unic_le16 proc;	   /* slot that it is about; 0xffff: none */
	unic_le32 arg[4];  /* %0 to %3 of its text in UNIC_TRACES */
};

#define UNIC_TG_MR    (1u << 0) /* processes, regions, misses */
#define UNIC_TG_EVICT (1u << 1) /* waits, notices, evictions */
#define UNIC_TG_TOKEN (1u << 2) /* payload tokens */
#define UNIC_TG_QP    (1u << 3) /* states, repeats of queue pairs */
#define UNIC_TG_WIRE  (1u << 4) /* frames, work completions */
#define UNIC_TG_CMD   (1u << 5) /* resets, commands */
#define UNIC_TG_REF \
	(1u << 6) /* uses of regions; looked at every reaper period */

/* Trace events, X(name, group, text). In a text %0..%3 stand for the arguments in
 * decimal, %x0..%x3 in hexadecimal. */
#define UNIC_TRACES(X)                                                         \
	X(RESET, UNIC_TG_CMD, "reset, epoch %0")                               \
	X(CMD, UNIC_TG_CMD, "command %0 cookie %1 status %2")                  \
	X(PROC_ATTACH, UNIC_TG_MR, "process attached, pid %0 weight %1")       \
	X(PROC_GONE, UNIC_TG_MR, "process gone")                               \
	X(MR_REG, UNIC_TG_MR, "mr %0 gen %1 stag %x2: %3 entries reserved")    \
	X(MR_ACTIVE, UNIC_TG_MR, "mr %0 gen %1 active")                        \
	X(MR_DEREG, UNIC_TG_MR, "mr %0 gen %1 deregistered")                   \
	X(WAIT, UNIC_TG_EVICT, "wait %0 queued for %1 entries, %2 free")       \
	X(GRANT, UNIC_TG_EVICT, "wait %0 granted after %1 us: mr %2")          \
	X(WAIT_END, UNIC_TG_EVICT, "wait %0 ended, status %1")                 \
	X(CHOSE, UNIC_TG_EVICT,                                                \
	  "victim mr %0: %1 entries, pain %2, reason %3")                      \
	X(SPARED, UNIC_TG_EVICT, "victim spared by minimum residence: mr %0")  \
	X(NOTICE, UNIC_TG_EVICT, "notice %0 for mr %1 gen %2, rank %3")        \
	X(ACKED, UNIC_TG_EVICT, "notice %0 delivered, mr %1, grace %2 us")     \
	X(RELEASE, UNIC_TG_EVICT, "notice %0 released, mr %1, %2 us left")     \
	X(OFFER, UNIC_TG_EVICT,                                                \
	  "notice %0: mr %1 offered for mr %2, answer %3")                     \
	X(EXTEND, UNIC_TG_EVICT, "notice %0: extend by %1 us, answer %2")      \
	X(DEADLINE, UNIC_TG_EVICT, "notice %0 deadline, mr %1, %2 holds")      \
	X(DRAIN, UNIC_TG_EVICT, "mr %0 draining, %1 holds %2 dmas")            \
	X(EVICTED, UNIC_TG_EVICT, "mr %0 gen %1 evicted: %2 entries, busy %3") \
	X(DRIVER_FAILED, UNIC_TG_EVICT, "notice %0 not delivered within H")    \
	X(TOKEN_ALLOC, UNIC_TG_TOKEN, "token %0 allocated, %1 bytes")          \
	X(TOKEN_CLAIM, UNIC_TG_TOKEN, "token %0 claimed by qp %1 psn %2")      \
	X(TOKEN_END, UNIC_TG_TOKEN, "token %0 ended: %1, %2 bytes placed")     \
	X(TOKEN_REFUSE, UNIC_TG_TOKEN, "token %0 refused: %1")                 \
	X(QP_STATE, UNIC_TG_QP, "qp %0 state %1 -> %2, status %3")             \
	X(QP_RETRY, UNIC_TG_QP, "qp %0 goes back to psn %1, reason %2")        \
	X(WC, UNIC_TG_QP, "qp %0 completes opcode %1 status %2 bytes %3")      \
	X(TX, UNIC_TG_WIRE, "tx opcode %x0 qp %1 psn %2 len %3")               \
	X(RX, UNIC_TG_WIRE, "rx opcode %x0 qp %1 psn %2 len %3")               \
	X(RX_DROP, UNIC_TG_WIRE, "rx dropped, counter %0")                     \
	X(MISS, UNIC_TG_MR, "mr %0 page %1: miss, %2 pages wanted, seq %3")    \
	X(CACHED, UNIC_TG_MR, "mr %0 page %1: entry brought")                  \
	X(DROPPED, UNIC_TG_MR, "mr %0 page %1: entry dropped")                 \
	X(REF, UNIC_TG_REF,                                                    \
	  "range %x0 (entries, hint %x1) used %2 times, last %3 ns ago")

#define UNIC_TRACE_ENUM(name, group, text) UNIC_T_##name,
enum unic_trace_code {
	UNIC_TRACES(UNIC_TRACE_ENUM) UNIC_T_COUNT
};

/*
 * What region i was used for, at UNIC_BAR_USE_OFF + 32 * i: written at least
 * every second while the NIC is awake. Valid if `stag` is not 0 and the same
 * before and after the rest is read.
 */
struct unic_use_row {
	unic_le64 last_use_ns; /* NIC time */
	unic_le64 bytes;       /* accessed so far */
	unic_le32 uses;	       /* accesses so far, modulo 2^32 */
	unic_le32 reported;    /* uses, by its process;
				* UNIC_PARAM_USES_REPORTED */
	unic_le32 rate;	       /* decayed bytes per entry, half-life 134 ms: its
				* pain */
	unic_le32 stag;	       /* of the region; 0: there is none, or the row is
				* being written */
};
#define UNIC_USE_ROWS 4096u /* that there is room for; unic_info.mrs are used */

enum unic_crash_kind {
	UNIC_CRASH_NONE = 0,	 /* not known: a second crash came before it
				  * was */
	UNIC_CRASH_ASSERT = 1,	 /* the firmware found a promise of its own
				  * broken */
	UNIC_CRASH_UNDEF = 2,	 /* undefined instruction */
	UNIC_CRASH_PREFETCH = 3, /* fetch of an instruction refused */
	UNIC_CRASH_DATA = 4,	 /* access to data refused */
	UNIC_CRASH_STACK = 5,	 /* as DATA, at the end of the stack */
	UNIC_CRASH_OTHER = 6,	 /* any other exception or signal */
};

/* Written once, `magic` last, by a dying firmware. */
struct unic_crash {
	unic_le32 magic;	/* UNIC_CRASH_MAGIC */
	unic_le32 kind;		/* enum unic_crash_kind */
	unic_le32 line;		/* ASSERT: line of `file`, else 0 */
	unic_le32 epoch;	/* boot_epoch when it crashed */
	unic_le64 time_ns;	/* NIC time of the crash */
	uint8_t file[56];	/* text, zero-padded; or signal and place */
	unic_le32 reg[17];	/* r0-r15, cpsr (or the host's nearest) */
	unic_le32 fault_status; /* the processor's word on it (Arm: IFSR, DFSR,
				 * CFSR); a signal: its si_code */
	unic_le32 fault_addr;	/* address that was refused, its low 32 bits;
				 * Cortex-M without one: of the saved registers;
				 * else 0 */
	unic_le32 trace_seq;	/* trace events written so far */
	unic_le32 table_sum[8]; /* CRC-32 of TLB, regions, tokens, QPs, CQs,
				 * processes, evictions, as they lie in memory;
				 * the last: 0 */
	unic_le32 rsvd[16];
};

UNIC_ABI_SIZE(unic_stats_page, 4096);
UNIC_ABI_AT(unic_use_row, stag, 28);
UNIC_ABI_SIZE(unic_use_row, 32);
UNIC_ABI_AT(unic_trace_rec, arg, 16);
UNIC_ABI_SIZE(unic_trace_rec, 32);
UNIC_ABI_AT(unic_crash, file, 24);
UNIC_ABI_AT(unic_crash, reg, 80);
UNIC_ABI_SIZE(unic_crash, 256);

#endif /* UNIC_STATS_H */
