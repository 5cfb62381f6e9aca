/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* nic.c - power-on, reset, and the poll loop. */
#include <string.h>

#include "command/cmd.h"
#include "command/dump.h"
#include "command/proc.h"
#include "nic.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/rq_ahead.h"
#include "transport/rx.h"
#include "transport/tx.h"

/* Default idle time before the NIC sleeps. */
#define SPIN_NS 20000u

static __attribute__((noinline, cold)) void init_tables(struct unic_nic *nic)
{
	unic_random_init(&nic->base);
	unic_tlb_init(&nic->tlb);
	unic_mr_init(&nic->memory);
	unic_cuts_init(&nic->memory);
	unic_revoked_init(&nic->memory);
	unic_idle_init(&nic->memory);
	unic_evict_init(&nic->revoke);
	unic_usage_init(&nic->memory);
	unic_cache_init(&nic->memory);
	unic_token_init(&nic->memory);
	unic_dma_mr_init(&nic->memory);
	unic_cq_init(&nic->transport);
	unic_qp_init(&nic->transport);
	unic_dma_init(&nic->transport);
	if (UNIC_ATOMICS)
		unic_atomics_init(&nic->transport);
	if (UNIC_SRQS)
		unic_srq_init(&nic->transport);
	unic_arp_init(&nic->transport);
	unic_slot_init(&nic->base);
	unic_key_guard_init(&nic->memory);
}

static uint32_t next_epoch(uint32_t epoch)
{
	return epoch + 1 ? epoch + 1 : 1;
}

void unic_nic_init(struct unic_nic *nic, struct unic_port *port)
{
	memset(nic, 0, sizeof(*nic));
	nic->port = port;
	nic->now_ns = unic_port_now_ns(port);
	nic->idle_since_ns = nic->now_ns;
	nic->spin_ns = SPIN_NS;
	unic_port_link(port, &nic->link);
	unic_trace_init(&nic->base);
	init_tables(nic);
	nic->epoch = next_epoch(unic_random_u32(&nic->base) & 0x7fffffff);
	nic->state = UNIC_NIC_RESET; /* until a driver asks for a reset */
	unic_mbox_power_on(&nic->base, sizeof(*nic));
	unic_cmd_publish(&nic->command);
	unic_mbox_open(&nic->base);
}

static void publish_epoch(struct unic_nic *nic)
{
	struct unic_procs *ps = &nic->procs;
	uint32_t i;

	for (i = 0; i < ps->n_active; i++)
		UNIC_WRITE_ONCE(ps->proc[ps->watch[i].slot].np->epoch,
				unic_to_le32(nic->epoch));
}

/*
 * Executes a reset (unic_driver_page.reset_req = @req): starts no DMA, waits for
 * DMA in flight, which may take several poll rounds, forgets every object, adds 1
 * to the epoch, goes to READY.
 */
static __attribute__((noinline, cold)) void handle_reset(struct unic_nic *nic,
							 uint32_t req)
{
	nic->state = UNIC_NIC_RESET;
	if (unic_dma_busy(&nic->transport))
		return; /* no answer yet: the next poll calls again */
	nic->epoch = next_epoch(nic->epoch);
	publish_epoch(nic);
	unic_proc_sleep(&nic->command, false);
	/* counters outlive a reset, tables do not */
	unic_roce_publish(&nic->transport);
	init_tables(nic);
	unic_mbox_reset(&nic->base, req);
	nic->ipv4 = 0;
	nic->rx_fault = 0;
	nic->timers_ns = 0;
	nic->state = UNIC_NIC_READY;
	UNIC_COUNT(nic, resets);
	UNIC_TRACE(nic, RESET, 0xffff, nic->epoch, 0, 0, 0);
	unic_cmd_publish(&nic->command);
	nic->mbox.irq_due = true;
}

/* Answers fence @value, by which the driver takes its memory back: no DMA, every
 * object forgotten. Doorbell pages are not written, because they are such memory,
 * too. */
static __attribute__((noinline, cold)) void handle_fence(struct unic_nic *nic,
							 uint32_t value)
{
	nic->state = UNIC_NIC_RESET;
	if (unic_dma_busy(&nic->transport) || unic_mbox_said(&nic->base, value))
		return;
	nic->epoch = next_epoch(nic->epoch);
	unic_roce_publish(&nic->transport);
	init_tables(nic);
	unic_cmd_publish(&nic->command);
	unic_mbox_fenced(&nic->base, value);
}

void unic_nic_quiesce(struct unic_nic *nic)
{
	unic_qp_quiesce(&nic->transport);
	nic->state = UNIC_NIC_FAILED;
	unic_cmd_publish(&nic->command);
	nic->mbox.irq_due = true;
}

/* Executes a reset request, or a bounded number of commands. Returns true if
 * there was work. */
static __attribute__((noinline)) bool poll_mailbox(struct unic_nic *nic)
{
	struct unic_mbox_record cmd, cpl;
	uint32_t req, ready, n;
	void *list;

	if (unlikely(unic_mbox_reset_due(&nic->mbox, &req))) {
		handle_reset(nic, req);
		return true;
	}
	ready = unic_mbox_ready(&nic->base);
	for (n = 0; n < ready; n++) {
		list = unic_mbox_take(&nic->base, &cmd);
		if (!list)
			break;
		unic_cmd_execute(&nic->command, &cmd, &cpl, list);
		unic_mbox_complete(&nic->base, &cpl);
	}
	return n > 0;
}

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Publishes the heartbeat with the modules' counts up to this instant. */
static void publish_beat(struct unic_nic *nic)
{
	unic_roce_publish(&nic->transport);
	unic_mbox_beat(&nic->base);
}

/* Runs the eviction step and returns the time of the next one. Between its two
 * halves, operations on regions whose grace is over end, so that the entries they
 * free are granted in the same round (INV-8). If the driver has failed, the NIC
 * stops here, before it sends or receives anything else. */
static uint64_t run_evictions(struct unic_nic *nic)
{
	if (!unic_evict_deadlines(&nic->revoke))
		return nic->evict.next_ns;
	if (nic->cuts.fresh)
		unic_cut_run(&nic->transport);
	if (unlikely(nic->evict.driver_failed)) {
		unic_nic_quiesce(nic);
		return UINT64_MAX;
	}
	return unic_evict_poll(&nic->revoke);
}

/* Wakes the queue pairs whose faults ended, with a page or without, and continues
 * prefetching for receives. */
static __attribute__((noinline)) void hand_out_faults(struct unic_nic *nic)
{
	uint16_t qp;

	while ((qp = unic_fault_take_woken(&nic->memory)) !=
	       UNIC_FAULT_NOBODY) {
		unic_requester_filled(&nic->transport, qp);
		unic_responder_filled(&nic->transport, qp);
		unic_parked_filled(&nic->transport, qp);
	}
	if (unic_fault_take_ended(&nic->memory))
		unic_rq_ahead_more(&nic->transport);
}

static inline void wake_faulted(struct unic_nic *nic)
{
	if (nic->faults.any_woken || nic->faults.ended)
		hand_out_faults(nic);
}

/* Runs all work that is due by time; timers_ns becomes the next such time. */
static __attribute__((noinline)) void run_timers(struct unic_nic *nic)
{
	uint64_t next;
	uint32_t i;

	/* deadlines that start here need the exact time (INV-6) */
	nic->now_ns = unic_port_now_ns(nic->port);
	/* answers already in the ring count as in time */
	for (i = 0; i < UNIC_BOX_CMDS && unic_mbox_due(&nic->mbox); i++)
		if (!poll_mailbox(nic))
			break;
	if (nic->state != UNIC_NIC_READY)
		return; /* a reset runs (INV-15), or a snapshot is read */
	wake_faulted(nic);
	if (nic->now_ns >= nic->beat_ns) {
		publish_beat(nic);
		nic->usages.next_ns = 0;
	}
	next = unic_proc_detaching(&nic->command);
	nic->timers_ns = UINT64_MAX; /* calls below may set an earlier time */
	next = min_ns(next, run_evictions(nic));
	next = min_ns(next, unic_usage_sweep(&nic->memory));
	next = min_ns(next, unic_fault_poll(&nic->memory));
	wake_faulted(nic);
	next = min_ns(next, unic_token_poll(&nic->memory));
	next = min_ns(next, unic_qp_timers(&nic->transport));
	next = min_ns(next, unic_arp_timers(&nic->transport));
	if (nic->db_errors.due)
		next = min_ns(next, unic_proc_db_events(&nic->command));
	unic_evict_settle(&nic->revoke);
	wake_faulted(nic);
	next = min_ns(next, nic->beat_ns);
	nic->timers_ns = min_ns(nic->timers_ns, next);
}

static inline void flush_records(struct unic_nic *nic)
{
	if (unlikely(nic->mbox.irq_due))
		unic_mbox_flush(&nic->base);
}

/* One round while a snapshot is read: but for the mailbox, nothing is looked at, so no
 * table changes, and all else waits where it is. Timers run as much later as the snapshot
 * lasts (INV-6). */
static __attribute__((noinline, cold)) bool poll_held(struct unic_nic *nic)
{
	bool worked = false;

	nic->now_ns = unic_port_now_ns(nic->port);
	if (nic->now_ns >= unic_dump_until(&nic->command)) {
		unic_dump_resume(&nic->command);
		return true;
	}
	nic->timers_ns = min_ns(nic->beat_ns, unic_dump_until(&nic->command));
	if (unic_mbox_due(&nic->mbox))
		worked = poll_mailbox(nic);
	if (nic->now_ns >= nic->beat_ns)
		publish_beat(nic);
	flush_records(nic);
	return worked;
}

/* One round while a snapshot is read (poll_held()), or while a reset runs or after a
 * failure: then nothing is accepted or started (nic.h). */
static __attribute__((noinline, cold)) bool poll_not_ready(struct unic_nic *nic)
{
	uint32_t value = unic_mbox_fence(&nic->mbox);
	bool worked;

	if (UNIC_SNAPSHOT && nic->state == UNIC_NIC_HELD && !value)
		return poll_held(nic);
	worked = nic->pieces && unic_dma_poll(&nic->transport);
	unic_evict_settle(&nic->revoke);
	if (value)
		handle_fence(nic, value);
	nic->now_ns = unic_port_now_ns(nic->port);
	if (unic_mbox_due(&nic->mbox))
		worked |= poll_mailbox(nic);
	if (nic->now_ns >= nic->beat_ns)
		publish_beat(nic);
	nic->timers_ns = nic->beat_ns;
	flush_records(nic);
	return worked;
}

/* What a round did so far, and how it is; the first two are those of unic_rx_poll(). */
#define WORKED	  1u
#define DID_LONE  UNIC_RX_LONE
#define NOT_QUICK 4u
#define NOT_READY 8u
#define QUICK	  16u

/* 0: nobody rang. DID_LONE: whoever rang did so for one request, which is sent. */
static inline uint32_t take_doorbells(struct unic_nic *nic)
{
	uint32_t i = 0, did = 0;

	do { /* without a process, watch[0] never changes */
		if (unic_watch_moved(&nic->procs.watch[i]))
			did |= unic_proc_take(&nic->command, i) ? DID_LONE
								: WORKED;
	} while (++i < nic->procs.n_active);
	return did;
}

/* May this round end behind doorbells and frames, if all of them were lone messages? Then
 * the words of the driver, and what is due by time, wait for UNIC_CLOCK_ROUNDS rounds with
 * work at most. The first round after one without work is none of these, nor is any of a
 * NIC that slept. */
static inline bool is_quick(const struct unic_nic *nic)
{
	return !((nic->state ^ (uint32_t)UNIC_NIC_READY) | nic->pieces |
		 nic->stale / UNIC_CLOCK_ROUNDS);
}

/* The start of a round that is not quick: the clock, finished DMA. NOT_READY: the NIC is not
 * ready, or fenced. */
static inline uint32_t begin_round(struct unic_nic *nic)
{
	uint32_t did = NOT_QUICK;

	if (unlikely(nic->state != UNIC_NIC_READY ||
		     unic_mbox_fence(&nic->mbox)))
		return NOT_READY;
	if (nic->stale >= UNIC_CLOCK_ROUNDS) {
		nic->now_ns = unic_port_now_ns(nic->port);
		nic->stale = nic->armed ? UNIC_CLOCK_ROUNDS : 0;
	}
	if (unlikely(nic->pieces)) {
		did |= unic_dma_poll(&nic->transport); /* WORKED */
		wake_faulted(nic);
	}
	return did;
}

/* A round that did something hands out what it made. */
static inline void end_round(struct unic_nic *nic)
{
	flush_records(nic);
	unic_port_tx_flush(nic->port);
	nic->stale++;
}

/* What a round does behind doorbells and frames: the words of the driver, what there is to
 * send, and what is due by time. @worked: not 0, if it did something before. */
static inline uint32_t rest_of_round(struct unic_nic *nic, uint32_t worked)
{
	if (unlikely(unic_mbox_fence(&nic->mbox))) {
		unic_port_tx_flush(nic->port); /* of messages that were alone */
		return poll_not_ready(nic) | worked;
	}
	if (unlikely(unic_mbox_due(&nic->mbox))) {
		worked |= poll_mailbox(nic);
		if (unlikely(nic->state != UNIC_NIC_READY)) { /* INV-15 */
			unic_port_tx_flush(nic->port);
			(void)poll_not_ready(nic);
			return WORKED;
		}
		wake_faulted(nic);
	}
	worked |= unic_qp_poll(&nic->transport);
	if (unlikely(nic->now_ns >= nic->timers_ns)) {
		run_timers(nic);
		worked = WORKED; /* timers may have sent frames and records */
	}
	if (worked)
		end_round(nic);
	return worked;
}

/* Reads only words that others write: true if a command, doorbell word or frame
 * is there. */
static inline bool has_input(const struct unic_nic *nic)
{
	const struct unic_watch *w = nic->procs.watch;
	const struct unic_watch *end = w + nic->procs.n_active;

	if (unlikely(unic_mbox_called(&nic->mbox)))
		return true;
	do { /* without a process, watch[0] never changes */
		if (unlikely(unic_watch_moved(w)))
			return true;
	} while (++w < end);
	return unic_port_rx_ready(nic->port);
}

/*
 * Looks for input UNIC_SPIN_LOOKS times, as an idle NIC mostly does. Returns
 * false if there was none.
 */
static __attribute__((noinline)) bool spin_for_input(const struct unic_nic *nic)
{
	uint32_t looks;

	for (looks = UNIC_SPIN_LOOKS / 2; looks; looks--)
		if (has_input(nic) || has_input(nic))
			return true;
	return false;
}

static __attribute__((noinline)) void set_armed(struct unic_nic *nic, bool on)
{
	nic->armed = on;
	nic->stale = UNIC_CLOCK_ROUNDS;
	unic_mbox_sleep(&nic->base, on);
	unic_proc_sleep(&nic->command, on);
	unic_port_rx_arm(nic->port, on);
	/* set flags before the next look: writers do the reverse (INV-1) */
	unic_mb();
}

/* After a round without work: returns the time until which the caller may sleep,
 * or 0 to poll again. The asleep flags are set first; only a further idle round
 * lets the caller sleep. */
static uint64_t prepare_sleep(struct unic_nic *nic)
{
	unic_roce_count(&nic->transport);
	if (nic->armed) { /* this round looked after the flags were set */
		UNIC_COUNT(nic, sleeps);
		return nic->timers_ns;
	}
	nic->stale = UNIC_CLOCK_ROUNDS;
	if (nic->now_ns - nic->idle_since_ns >= nic->spin_ns)
		set_armed(nic, true);
	return 0;
}

/*
 * One poll round; returns QUICK if it was that, else 0 if there was no work. The order:
 * finished DMA, which frees what the others need; doorbells before the wire, so that a
 * receive posted before its message was sent is there when the message comes; the wire,
 * because its buffer is not the NIC's and acknowledgements free send windows; commands;
 * transmit, which sees all of the above, so that one acknowledgement answers a whole batch
 * of received frames; timers last: only deadlines need exact time, and they must not come
 * early.
 */
static inline uint32_t poll_round(struct unic_nic *nic)
{
	uint32_t did = UNIC_LONE && is_quick(nic) ? 0 : begin_round(nic);

	if (unlikely(did == NOT_READY))
		return poll_not_ready(nic);
	did |= take_doorbells(nic);
	if (did != DID_LONE) {
		did |= unic_rx_poll(&nic->transport);
		if (did != DID_LONE || unic_qp_due(&nic->transport))
			return rest_of_round(nic, did & ~NOT_QUICK);
	}
	end_round(nic);
	return QUICK;
}

uint64_t unic_nic_poll(struct unic_nic *nic)
{
	bool spun = false;
	uint32_t did;

	while (!(did = poll_round(nic))) {
		if (spun || nic->armed || !spin_for_input(nic))
			return prepare_sleep(nic);
		spun = true;
	}
	if (did != QUICK) { /* else awake, and busy in one of the last rounds */
		if (unlikely(nic->armed))
			set_armed(nic, false);
		nic->idle_since_ns = nic->now_ns;
	}
	nic->polls++;
	return 0;
}
