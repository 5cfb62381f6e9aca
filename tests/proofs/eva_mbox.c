// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * eva_mbox.c - the rings of the mailbox, from any indices, with any BAR. The
 * decoding of commands is in eva_cmd.c.
 */
#include <string.h>

#include "hostile.h"
#include "nic.h"

#define UNIC_BUILD_ID "proof"
#include "base/mailbox.c"

static struct unic_nic nic;

/* Polls as nic.c does. In place of the execution of a command, reads both ends
 * of its list page and writes a completion. */
static void poll_commands(void)
{
	uint32_t n, ready = unic_mbox_ready(&nic.base);
	struct unic_mbox_record rec;
	const uint8_t *list;

	for (n = 0; n < ready; n++) {
		list = unic_mbox_take(&nic.base, &rec);
		if (!list)
			break;
		rec.word[0] = rec.word[REC_BYTES / 8 - 1] + list[0] +
			      list[UNIC_LIST_BYTES - 1];
		unic_mbox_complete(&nic.base, &rec);
	}
}

void *unic_port_bar(struct unic_port *port)
{
	(void)port;
	return hostile(UNIC_BAR_BYTES);
}

void unic_port_ring(struct unic_port *port, uint32_t vector)
{
	(void)port, (void)vector;
}

static void any_state(void)
{
	Frama_C_make_unknown((char *)&nic.mbox, sizeof(nic.mbox));
	Frama_C_make_unknown((char *)nic.counter, sizeof(nic.counter));
	nic.mbox.irq_due = below(2);
	nic.mbox.bar = hostile(UNIC_BAR_BYTES);
	nic.epoch = any32();
	nic.now_ns = any64();
	nic.state = any8();
	nic.trace.mask = any32();
	nic.link.max_frame = Frama_C_unsigned_int_interval(256, 16384);
	nic.link.icrc_offload = below(2);
	nic.ipv4 = any32();
}

void mbox_all(void)
{
	struct unic_evt_hdr evt[8];
	struct unic_mad_rx mad;
	struct unic_mbox_times times;

	any_state();
	Frama_C_make_unknown((char *)&times, sizeof(times));
	Frama_C_make_unknown((char *)evt, sizeof(evt));
	Frama_C_make_unknown((char *)&mad, sizeof(mad));
	switch (below(8)) {
	case 0:
		unic_mbox_power_on(&nic.base, sizeof(nic));
		unic_mbox_publish(&nic.base, &times);
		unic_mbox_open(&nic.base);
		break;
	case 1:
		unic_mbox_reset(&nic.base, any32());
		break;
	case 2:
		poll_commands();
		break;
	case 3:
		unic_mbox_event(&nic.base, evt);
		break;
	case 4:
		unic_mbox_mad(&nic.base, &mad);
		break;
	case 5:
		unic_mbox_flush(&nic.base);
		break;
	case 6:
		unic_mbox_sleep(&nic.base, below(2));
		break;
	default:
		unic_mbox_beat(&nic.base);
		break;
	}
}
