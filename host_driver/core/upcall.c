/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * upcall.c - write one record to the ring of a process. The sequence number is written
 * last, so that a reader gets a whole record or none.
 */
#include "upcall.h"

#include "limit.h"

/* Of one poll, to all processes. The rest of a ring is for those that cannot wait: more
 * of the last record, a reset. */
#define ENOUGH (UNIC_UPCALLS / 4)

/* These have a deadline, or end all that the process has. */
static bool is_urgent(uint8_t type)
{
	return type == UNIC_UP_NOTICE || type == UNIC_UP_RESET ||
	       type == UNIC_UP_INVALIDATE;
}

/* Wake the process in @slot for an upcall of @type; or note when, if it was woken more
 * often than its limit. */
static void wake_process(struct unic_host *host, uint32_t slot, uint8_t type)
{
	struct unic_hproc *proc = &host->proc[slot];
	struct unic_limit *limit = &proc->limit[UNIC_CTL_LIMIT_UPCALLS];
	uint64_t now = limit->rate ? unic_os_now_ns(host->os) : 0;
	uint64_t at = unic_limit_at(limit);

	if (at <= now || is_urgent(type)) {
		unic_limit_take(limit, now, 1);
		proc->wake_ns = 0;
		unic_os_upcall(host->os, slot);
		return;
	}
	limit->over += !proc->wake_ns;
	proc->wake_ns = at;
	if (at < host->wakes_ns)
		host->wakes_ns = at;
}

/* Returns when the next process is to be woken. */
static uint64_t wake_due(struct unic_host *host, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < host->config.slots; i++) {
		struct unic_hproc *proc = &host->proc[i];

		if (!proc->wake_ns || proc->state != UNIC_HPROC_LIVE)
			continue;
		if (now >= proc->wake_ns)
			wake_process(host, i, UNIC_UP_NOTICE);
		else if (proc->wake_ns < next)
			next = proc->wake_ns;
	}
	return next;
}

uint64_t unic_upcall_poll(struct unic_host *host, uint64_t now, uint64_t next)
{
	if (now >= host->wakes_ns)
		host->wakes_ns = wake_due(host, now);
	return host->wakes_ns < next ? host->wakes_ns : next;
}

bool unic_upcall_enough(const struct unic_host *host)
{
	return host->upcalls - host->told >= ENOUGH;
}

void unic_upcall_send(struct unic_host *host, uint32_t slot, void *rec)
{
	struct unic_hproc *proc = &host->proc[slot];
	uint32_t n = proc->upcall_next;
	uint8_t *to = proc->ring->record[n % UNIC_UPCALLS];
	unic_le32 *seq = (void *)to;
	struct unic_upcall_hdr hdr;

	if (proc->state != UNIC_HPROC_LIVE)
		return;
	memcpy(&hdr, rec, sizeof(hdr));
	hdr.epoch = unic_to_le32(host->epoch);
	memcpy(rec, &hdr, sizeof(hdr));
	/* a reader that is copying the old record sees that it is gone */
	UNIC_STORE(*seq, unic_to_le32(0));
	unic_os_wmb();
	memcpy(to + 4, (uint8_t *)rec + 4, 60);
	unic_os_wmb();
	UNIC_STORE(*seq, unic_to_le32(n + 1));
	proc->upcall_next = n + 1;
	if (proc->note)
		UNIC_STORE(proc->note->upcall_next, n + 1);
	UNIC_STORE(proc->ring->next, unic_to_le32(n + 1));
	proc->upcalls++;
	host->upcalls++;
	wake_process(host, slot, hdr.type);
}

void unic_upcall_send_obj(struct unic_host *host, uint32_t slot, uint8_t type,
			  uint32_t id, uint32_t user, uint32_t detail)
{
	struct unic_upcall_obj up = {
		.hdr = { .type = type, .id = unic_to_le32(id) },
		.user = unic_to_le32(user),
		.detail = unic_to_le32(detail),
	};

	unic_upcall_send(host, slot, &up);
}
