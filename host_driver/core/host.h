/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * host.h - the portable host driver of one NIC: what its user (unicd, a kernel
 * module, a test) calls.
 *
 * One instance, one lock held by the user around every call. Nothing waits:
 * the user calls unic_host_poll() when the NIC rings, when a request came, and
 * at the time the last call asked for.
 */
#ifndef UNIC_HOST_H
#define UNIC_HOST_H

#include "host_config.h"

struct unic_host;

/**
 * unic_host_new() - a driver with no process and no device yet.
 * @provider: becomes the host's. Returns NULL when out of memory (then
 * @provider is still the caller's).
 */
struct unic_host *unic_host_new(struct unic_os *os,
				struct unic_provider *provider,
				const struct unic_host_config *config);

/** unic_host_delete() - forget everything, @host and its provider too. The NIC
 * is left as it is; whoever starts next resets it. */
void unic_host_delete(struct unic_host *host);

/** unic_host_plug() - the NIC joined or left the bus. Joined: it is reset. */
void unic_host_plug(struct unic_host *host, bool there);

/**
 * unic_host_fence() - the device is to keep off all memory, and is asked for nothing
 * any more. What it may still write to stays what it is (INV-14) until
 * unic_host_fenced(): it has answered, or its bus says that it is no more. Then
 * unic_host_plug(), not @there, gives all of it back. With @there instead, whatever it
 * answered, the device is reset.
 */
void unic_host_fence(struct unic_host *host);
bool unic_host_fenced(struct unic_host *host);

/** unic_host_poll() - bounded work. Returns when to call again at the latest
 * (CLOCK_MONOTONIC, ns); a time that is over means at once. */
uint64_t unic_host_poll(struct unic_host *host);

/** unic_host_soon() - wait for what a NIC that is awake owes us, for no longer than
 * going to sleep and being woken would take. True: it is there, poll. */
bool unic_host_soon(struct unic_host *host);

/** unic_host_rest() - call with @on before waiting for the NIC's doorbell. False:
 * there is work already. Without @on by who is about to poll, so that the NIC does
 * not ring; any poll says so as well. */
bool unic_host_rest(struct unic_host *host, bool on);

/**
 * unic_host_request() - one datagram of a process. Answered now or later by
 * unic_os_reply().
 * Returns false if the connection must be ended (not even a header).
 */
bool unic_host_request(struct unic_host *host, struct unic_client *client,
		       const void *msg, size_t bytes);

/** unic_host_client_gone() - the connection ended; no reply will be sent to
 * @client any more, its objects end. unic_os_slot_quiet() follows. */
void unic_host_client_gone(struct unic_host *host, struct unic_client *client);

/**
 * unic_host_slot_hold() - at start, before the first unic_host_plug(): @slot may
 * still be mapped by process @pid of user @uid, which an earlier driver served; 0:
 * that one ended.
 * Returns true if the journal has what it kept: then it is served again, and
 * may come back for it (HELLO_RESUME) within a minute; else it is waited for its
 * end.
 */
bool unic_host_slot_hold(struct unic_host *host, uint32_t slot, uint32_t pid,
			 uint32_t uid);

/** unic_host_slot_ended() - the process of a slot that is served without a
 * connection, or that was left, ended. */
void unic_host_slot_ended(struct unic_host *host, uint32_t slot);

/** unic_host_journal_bytes() - of config.journal. */
size_t unic_host_journal_bytes(uint32_t slots, uint64_t slot_bytes);

/** unic_host_slot_free() - nobody that had this quiet slot has its memory: anybody
 * may have it. */
void unic_host_slot_free(struct unic_host *host, uint32_t slot);

/** unic_host_quiet() - no slot is a process's, nor is the NIC still letting go of
 * one that was: it uses nobody's memory. */
bool unic_host_quiet(const struct unic_host *host);

/** unic_host_slot_leaves() - who had @slot is gone, and the NIC may still use what
 * was theirs. */
bool unic_host_slot_leaves(const struct unic_host *host, uint32_t slot);

/**
 * unic_host_unmapped() - the process of @slot has [@va, @va + @length) no longer
 * mapped, or something else there: its regions on that end, of DEMAND ones the
 * pages. To be called again as long as pins are left there: what is in use just
 * now, or has a queue in it, does not go.
 */
void unic_host_unmapped(struct unic_host *host, uint32_t slot, uint64_t va,
			uint64_t length);

/** unic_host_region() - where region @id of the process of @client lies. False: it
 * has no such one. */
bool unic_host_region(struct unic_host *host, const struct unic_client *client,
		      uint32_t id, uint64_t *va, uint64_t *length);

/** unic_host_notices() - regions asked back from processes so far: how crowded the
 * table is. Free-running. */
uint32_t unic_host_notices(const struct unic_host *host);

/** unic_host_bound_us() - B = H + T + reaper period + drain bound, of a copy of
 * the device's info page. */
uint32_t unic_host_bound_us(const struct unic_info *info);

/** unic_host_nic() - enum unic_ctl_nic, for messages. */
uint32_t unic_host_nic(const struct unic_host *host);

/** unic_host_peek() - see struct unic_provider_ops. */
bool unic_host_peek(struct unic_host *host, uint32_t off, void *buf,
		    uint32_t bytes);

/* --- what a provider calls; all from poll() or start() only */

/** unic_host_state() - the provider changed state. @epoch counts with READY. */
void unic_host_state(struct unic_host *host, enum unic_provider_state state,
		     uint32_t epoch);

/** unic_host_done() - @call is executed; its cpl is filled in. */
void unic_host_done(struct unic_host *host, struct unic_call *call);

/** unic_host_event() - one 64-byte event, a copy. */
void unic_host_event(struct unic_host *host, const uint64_t *evt);

/** unic_host_drop() - a drop record, a copy. All that the device wrote before an
 * event or completion are told before that is. */
void unic_host_drop(struct unic_host *host, const struct unic_drop *drop);

/** unic_host_settled() - all events that precede what unic_host_done() was told
 * so far have been passed on. Completions may come before the events that
 * precede them, never after those that follow. */
void unic_host_settled(struct unic_host *host);

/** unic_host_mad() - a management datagram came, a copy. */
void unic_host_mad(struct unic_host *host, const struct unic_mad_rx *mad);

#endif /* UNIC_HOST_H */
