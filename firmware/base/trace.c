/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* trace.c - binary trace events into the BAR. */
#include "base/base.h"

/* Groups recorded from the start: all but frames and work completions, which would
 * flood the ring; or what `make image-trace` says. */
#ifndef UNIC_TRACE_START
#define UNIC_TRACE_START \
	(UNIC_TG_MR | UNIC_TG_EVICT | UNIC_TG_TOKEN | UNIC_TG_CMD)
#endif

void unic_trace_init(struct unic_base *nic)
{
	uint8_t *bar = unic_port_bar(nic->port);
	uint32_t i;

	nic->trace.ring = (struct unic_trace_rec *)(bar + UNIC_BOX_TRACE);
	nic->trace.mask = UNIC_TRACE_START;
	/* the mailbox may have the events of the NIC that was here before */
	for (i = 0; i < UNIC_BOX_TRACES; i++)
		UNIC_WRITE_ONCE(nic->trace.ring[i].seq, unic_to_le32(0));
}

void unic_trace_write(struct unic_base *nic, uint32_t code, uint32_t proc,
		      uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3)
{
	uint32_t n = nic->trace.seq++;
	struct unic_trace_rec *r = &nic->trace.ring[n % UNIC_BOX_TRACES];

	/* a reader that reads the same seq before and after has a whole record */
	UNIC_WRITE_ONCE(r->seq, unic_to_le32(0));
	unic_wmb();
	r->time_ns = unic_to_le64(nic->now_ns);
	r->code = unic_to_le16((uint16_t)code);
	r->proc = unic_to_le16((uint16_t)proc);
	r->arg[0] = unic_to_le32(a0);
	r->arg[1] = unic_to_le32(a1);
	r->arg[2] = unic_to_le32(a2);
	r->arg[3] = unic_to_le32(a3);
	unic_wmb();
	UNIC_WRITE_ONCE(r->seq, unic_to_le32(n + 1));
}
