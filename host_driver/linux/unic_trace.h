/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_trace.h - tracepoints, /sys/kernel/tracing/events/unic. See docs/LINUX.md.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM unic

#if !defined(UNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define UNIC_TRACE_H

#include <linux/tracepoint.h>

#include "unic_dev.h"

/* clang-format off */

#ifndef UNIC_TRACE_NAMES
#define UNIC_TRACE_NAMES

#define UNIC_TRACE_OPS(X) \
	X(HELLO) X(FRAMES_ALLOC) X(FRAMES_FREE) X(PD_ALLOC) X(PD_FREE) \
	X(MR_REG) X(MR_DEREG) X(WAIT_CANCEL) X(NOTICE_ANSWER) X(RESYNC) \
	X(USAGE) X(MR_ADVISE) X(TOKEN_ALLOC) X(TOKEN_CANCEL) X(CQ_CREATE) \
	X(CQ_DESTROY) X(CQ_RESIZE) X(QP_CREATE) X(QP_MODIFY) X(QP_DESTROY) X(QP_QUERY) \
	X(LISTEN) X(UNLISTEN) X(CONNECT) X(ACCEPT) X(REJECT) X(DISCONNECT) \
	X(CONN_QUERY) X(SRQ_CREATE) X(SRQ_MODIFY) X(SRQ_DESTROY) \
	X(GRANT) X(DELEGATE) X(INVALIDATED) X(MR_ALLOC) \
	X(MR_MAKE) X(MR_INVAL) X(MR_REREG) X(BATCH) X(OWN_POLICY) X(OWN_RATE) X(INFO) \
	X(STATS) X(DUMP) X(PS) X(TRACE) X(CRASH) X(USES) X(KIO) X(FAULT) X(PARAMS) \
	X(POLICY) X(EVICT) X(TRACE_MASK) X(RESET) X(RATE) X(LIMITS_OF)

#define UNIC_TRACE_UPCALLS(X) \
	X(NOTICE) X(EVICTED) X(GRANTED) X(WAIT_ENDED) X(QP_ERROR) \
	X(CQ_ERROR) X(TOKEN_END) X(CONN_REQUEST) X(ESTABLISHED) \
	X(DISCONNECTED) X(RESET) X(DB_ERROR) X(INVALIDATE) X(IDLE) \
	X(SRQ_LIMIT) X(SRQ_ERROR) X(LAST_WQE)

#define UNIC_TRACE_NICS(X) X(ABSENT) X(STARTING) X(READY) X(DEAD)
#endif

/* A program that reads the formats sees numbers only: these give it the names. */
#define X(name) TRACE_DEFINE_ENUM(UNIC_CTL_##name);
UNIC_TRACE_OPS(X)
#undef X
#define X(name) TRACE_DEFINE_ENUM(UNIC_UP_##name);
UNIC_TRACE_UPCALLS(X)
#undef X
#define X(name) TRACE_DEFINE_ENUM(UNIC_CTL_NIC_##name);
UNIC_TRACE_NICS(X)
#undef X

#undef UNIC_OP_NAME
#undef UNIC_UPCALL_NAME
#undef UNIC_NIC_NAME
#define UNIC_OP_NAME(name)     { UNIC_CTL_##name, #name },
#define UNIC_UPCALL_NAME(name) { UNIC_UP_##name, #name },
#define UNIC_NIC_NAME(name)    { UNIC_CTL_NIC_##name, #name },

/* Fields of a request and of its reply: the process, and which request. */
#undef UNIC_MSG_FIELDS
#define UNIC_MSG_FIELDS \
	__field(u32, nic) __field(u32, pid) __field(u32, op) __field(u32, seq)

TRACE_EVENT(unic_request,
	TP_PROTO(const struct unic_os *os, u32 pid, const void *msg, u32 bytes),
	TP_ARGS(os, pid, msg, bytes),
	TP_STRUCT__entry(
		UNIC_MSG_FIELDS
		__field(u32, bytes)
	),
	TP_fast_assign(
		struct unic_ctl_hdr hdr = { };

		memcpy(&hdr, msg, min_t(size_t, bytes, sizeof(hdr)));
		__entry->nic = os->dev.id;
		__entry->pid = pid;
		__entry->op = unic_from_le16(hdr.op);
		__entry->seq = unic_from_le32(hdr.seq);
		__entry->bytes = bytes;
	),
	TP_printk("unic%u pid=%u op=%s seq=%u bytes=%u", __entry->nic,
		  __entry->pid,
		  __print_symbolic(__entry->op, UNIC_TRACE_OPS(UNIC_OP_NAME)
				   { 0, "?" }),
		  __entry->seq, __entry->bytes)
);

TRACE_EVENT(unic_reply,
	TP_PROTO(const struct unic_os *os, u32 pid, const void *msg, u32 bytes),
	TP_ARGS(os, pid, msg, bytes),
	TP_STRUCT__entry(
		UNIC_MSG_FIELDS
		__field(u32, status)
		__field(u32, bytes)
	),
	TP_fast_assign(
		struct unic_ctl_hdr hdr;

		memcpy(&hdr, msg, sizeof(hdr));
		__entry->nic = os->dev.id;
		__entry->pid = pid;
		__entry->op = unic_from_le16(hdr.op);
		__entry->seq = unic_from_le32(hdr.seq);
		__entry->status = unic_from_le16(hdr.status);
		__entry->bytes = bytes;
	),
	TP_printk("unic%u pid=%u op=%s seq=%u status=%u bytes=%u", __entry->nic,
		  __entry->pid,
		  __print_symbolic(__entry->op, UNIC_TRACE_OPS(UNIC_OP_NAME)
				   { 0, "?" }),
		  __entry->seq, __entry->status, __entry->bytes)
);

/* The newest record of the upcall ring of a process. */
TRACE_EVENT(unic_upcall,
	TP_PROTO(const struct unic_os *os, u32 slot),
	TP_ARGS(os, slot),
	TP_STRUCT__entry(
		__field(u32, nic)
		__field(u32, slot)
		__field(u32, type)
		__field(u32, reason)
		__field(u32, id)
		__field(u32, epoch)
	),
	TP_fast_assign(
		const struct unic_upcall_ring *ring = os->slot_mem[slot] +
			UNIC_SLOT_UPCALL_PAGE * PAGE_SIZE;
		u32 n = unic_from_le32(UNIC_LOAD(ring->next)) - 1;
		struct unic_upcall_hdr hdr;

		memcpy(&hdr, ring->record[n % UNIC_UPCALLS], sizeof(hdr));
		__entry->nic = os->dev.id;
		__entry->slot = slot;
		__entry->type = hdr.type;
		__entry->reason = hdr.reason;
		__entry->id = unic_from_le32(hdr.id);
		__entry->epoch = unic_from_le32(hdr.epoch);
	),
	TP_printk("unic%u slot=%u type=%s reason=%u id=%#x epoch=%#x",
		  __entry->nic, __entry->slot,
		  __print_symbolic(__entry->type,
				   UNIC_TRACE_UPCALLS(UNIC_UPCALL_NAME)
				   { 0, "?" }),
		  __entry->reason, __entry->id, __entry->epoch)
);

DECLARE_EVENT_CLASS(unic_pages,
	TP_PROTO(const struct unic_os *os, u32 pid, unsigned long first,
		 unsigned long last, bool write, u64 counted),
	TP_ARGS(os, pid, first, last, write, counted),
	TP_STRUCT__entry(
		__field(u32, nic)
		__field(u32, pid)
		__field(unsigned long, va)
		__field(unsigned long, pages)
		__field(bool, write)
		__field(u64, counted)
	),
	TP_fast_assign(
		__entry->nic = os->dev.id;
		__entry->pid = pid;
		__entry->va = first << PAGE_SHIFT;
		__entry->pages = last - first + 1;
		__entry->write = write;
		__entry->counted = counted;
	),
	TP_printk("unic%u pid=%u va=%#lx pages=%lu %s counted=%llu",
		  __entry->nic, __entry->pid, __entry->va, __entry->pages,
		  __entry->write ? "rw" : "ro", __entry->counted)
);

#undef DEFINE_UNIC_PAGES
#define DEFINE_UNIC_PAGES(name) \
	DEFINE_EVENT(unic_pages, name, \
		TP_PROTO(const struct unic_os *os, u32 pid, unsigned long first, \
			 unsigned long last, bool write, u64 counted), \
		TP_ARGS(os, pid, first, last, write, counted))

/* counted: pages that no other pin of the process covers */
DEFINE_UNIC_PAGES(unic_pin);
DEFINE_UNIC_PAGES(unic_unpin);

/* A worker fetches a missed page that is not present. */
DEFINE_UNIC_PAGES(unic_later);

/* The owner unmapped or exchanged pinned pages. */
DEFINE_UNIC_PAGES(unic_unmapped);

DECLARE_EVENT_CLASS(unic_vector,
	TP_PROTO(const struct unic_os *os, u32 vector),
	TP_ARGS(os, vector),
	TP_STRUCT__entry(
		__field(u32, nic)
		__field(u32, vector)
	),
	TP_fast_assign(
		__entry->nic = os->dev.id;
		__entry->vector = vector;
	),
	TP_printk("unic%u vector=%u", __entry->nic, __entry->vector)
);

/* The driver or a process rings the NIC. */
DEFINE_EVENT(unic_vector, unic_ring,
	TP_PROTO(const struct unic_os *os, u32 vector),
	TP_ARGS(os, vector));

/* The NIC interrupts the host. */
DEFINE_EVENT(unic_vector, unic_rang,
	TP_PROTO(const struct unic_os *os, u32 vector),
	TP_ARGS(os, vector));

/* The NIC joined, left, is being reset, or died. */
TRACE_EVENT(unic_nic,
	TP_PROTO(const struct unic_os *os, u32 state),
	TP_ARGS(os, state),
	TP_STRUCT__entry(
		__field(u32, nic)
		__field(u32, state)
	),
	TP_fast_assign(
		__entry->nic = os->dev.id;
		__entry->state = state;
	),
	TP_printk("unic%u %s", __entry->nic,
		  __print_symbolic(__entry->state,
				   UNIC_TRACE_NICS(UNIC_NIC_NAME)
				   { ~0u, "?" }))
);

/* clang-format on */

#endif /* UNIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE unic_trace
#include <trace/define_trace.h>
