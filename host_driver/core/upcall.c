/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * upcall.c - write one record to the ring of a process. The sequence number is written
 * last, so that a reader gets a whole record or none.
 */
#include "upcall.h"

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
	unic_os_upcall(host->os, slot);
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
