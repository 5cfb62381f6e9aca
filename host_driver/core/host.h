/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * host.h - the portable host driver of one NIC: the calls of its user (unicd, the
 * kernel module, a test).
 *
 * The user has one instance and holds one lock around every call. No call blocks,
 * except unic_host_soon(): the user calls unic_host_poll() when the NIC rings, when a
 * request came, and at the time that the last unic_host_poll() returned.
 */
#ifndef UNIC_HOST_H
#define UNIC_HOST_H

#include "host_config.h"

struct unic_host;

/**
 * unic_host_new() - create a driver without processes and without a device.
 * @provider: the host owns it. @config: copied; its memory is the caller's and stays.
 * Returns NULL when out of memory, or if config.slots is out of range; then @provider is
 * still the caller's.
 */
struct unic_host *unic_host_new(struct unic_os *os,
				struct unic_provider *provider,
				const struct unic_host_config *config);

/** unic_host_delete() - free @host, its provider and all objects. The NIC stays as it
 * is; the next driver resets it. */
void unic_host_delete(struct unic_host *host);

/** unic_host_list_bytes() - the list pages of the NIC that joins next have @bytes, 64 at
 * least; more than UNIC_LIST_BYTES counts as that, which is what they have by default. */
void unic_host_list_bytes(struct unic_host *host, uint32_t bytes);

/** unic_host_plug() - the NIC joined or left the bus. Joined: it is reset. */
void unic_host_plug(struct unic_host *host, bool there);

/**
 * unic_host_fence() - have the device stop all access to memory; no further command
 * goes to the device. Memory that the device may still write stays pinned (INV-14)
 * until unic_host_fenced() is true: the device has answered, or the bus shows none.
 * Then unic_host_plug() with @there false unpins and frees the memory. With @there
 * true, unic_host_plug() resets the device instead, answered or not.
 */
void unic_host_fence(struct unic_host *host);
bool unic_host_fenced(struct unic_host *host);

/** unic_host_poll() - do bounded work: completions, events, timers. What NIC and peers
 * say in one call does not fill an upcall ring: who reads a ring after each call misses
 * nothing of it. Returns when to call again at the latest (CLOCK_MONOTONIC, ns); a time in the
 * past means at once. */
uint64_t unic_host_poll(struct unic_host *host);

/** unic_host_soon() - spin for the answers that an awake NIC owes, for no longer than
 * a sleep and a wake-up would take. True: an answer came, poll. */
bool unic_host_soon(struct unic_host *host);

/** unic_host_rest() - @on: have the NIC ring its doorbell for new work; call before
 * waiting for the doorbell. False: there is work already, poll. Not @on: the NIC need
 * not ring, because the caller is about to poll; unic_host_poll() implies the same. */
bool unic_host_rest(struct unic_host *host, bool on);

/** unic_host_request() - handle one datagram of a process. unic_os_reply() sends the
 * answer, within the call or later. Returns false if the caller must end the
 * connection: @msg is shorter than a header. */
bool unic_host_request(struct unic_host *host, struct unic_client *client,
		       const void *msg, size_t bytes);

/** unic_host_client_gone() - the connection ended: end the objects of the process. No
 * reply goes to @client from here on; unic_os_slot_quiet() follows. */
void unic_host_client_gone(struct unic_host *host, struct unic_client *client);

/**
 * unic_host_slot_hold() - at start, before the first unic_host_plug(): process @pid of
 * user @uid, which an earlier driver served, may still map @slot. @pid 0: the process
 * has ended.
 * Returns true if the journal has the objects of the process: the slot is LIVE again,
 * and the process may come back (HELLO_RESUME) within a minute. False: the slot is HELD
 * until the process ends.
 */
bool unic_host_slot_hold(struct unic_host *host, uint32_t slot, uint32_t pid,
			 uint32_t uid);

/** unic_host_slot_ended() - the process of @slot ended, which is LIVE without a
 * connection, or HELD. */
void unic_host_slot_ended(struct unic_host *host, uint32_t slot);

/** unic_host_journal_bytes() - the size that config.journal must have. */
size_t unic_host_journal_bytes(uint32_t slots, uint64_t slot_bytes);

/** unic_host_slot_free() - no process maps the memory of quiet @slot any more: any
 * process may get the slot. */
void unic_host_slot_free(struct unic_host *host, uint32_t slot);

/** unic_host_quiet() - true if each slot is FREE or HELD: the NIC accesses the memory
 * of no process. */
bool unic_host_quiet(const struct unic_host *host);

/** unic_host_slot_leaves() - true if the process of @slot is gone, and the NIC may
 * still access its memory. */
bool unic_host_slot_leaves(const struct unic_host *host, uint32_t slot);

/**
 * unic_host_unmapped() - the process of @slot has unmapped or replaced
 * [@va, @va + @length): end its regions there; of DEMAND regions, only the pages. A
 * region that holds a queue, or a page under DMA, stays: call again while frames there
 * are pinned.
 */
void unic_host_unmapped(struct unic_host *host, uint32_t slot, uint64_t va,
			uint64_t length);

/** unic_host_region() - store address and length of region @id of the process of
 * @client. False: the process has no region @id. */
bool unic_host_region(struct unic_host *host, const struct unic_client *client,
		      uint32_t id, uint64_t *va, uint64_t *length);

/** unic_host_notices() - notices delivered to processes so far, modulo 2^32: a measure
 * of how full the NIC's table is. */
uint32_t unic_host_notices(const struct unic_host *host);

/** unic_host_bound_us() - B = H + T + reaper period + drain bound, in us, from @info,
 * a copy of the device's info page. */
uint32_t unic_host_bound_us(const struct unic_info *info);

/** unic_host_nic() - the state of the device, enum unic_ctl_nic, for messages. */
uint32_t unic_host_nic(const struct unic_host *host);

/** unic_host_peek() - see struct unic_provider_ops. */
bool unic_host_peek(struct unic_host *host, uint32_t off, void *buf,
		    uint32_t bytes);

/* --- calls of a provider, from its poll() or start() only */

/** unic_host_state() - the provider changed state. @epoch counts with READY. */
void unic_host_state(struct unic_host *host, enum unic_provider_state state,
		     uint32_t epoch);

/** unic_host_done() - the device has executed @call; call->cpl is the completion. */
void unic_host_done(struct unic_host *host, struct unic_call *call);

/** unic_host_event() - handle one 64-byte event; @evt is a copy in host memory. */
void unic_host_event(struct unic_host *host, const uint64_t *evt);

/** unic_host_drop() - handle one drop record; @drop is a copy in host memory. A
 * provider passes the drop records that the device wrote before an event or completion
 * before that event or completion. */
void unic_host_drop(struct unic_host *host, const struct unic_drop *drop);

/** unic_host_settled() - the provider has passed on all events that precede the
 * completions passed to unic_host_done() so far. A completion may be passed on before
 * the events that precede it, never after those that follow it. */
void unic_host_settled(struct unic_host *host);

/** unic_host_mad() - handle one management datagram; @mad is a copy in host memory. */
void unic_host_mad(struct unic_host *host, const struct unic_mad_rx *mad);

/** unic_host_told_enough() - true if this unic_host_poll() has sent so many upcalls that
 * the provider is to leave further events and datagrams for the next one. */
bool unic_host_told_enough(const struct unic_host *host);

#endif /* UNIC_HOST_H */
