// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "switch.h"

#include "icrc.h"

/* ---------------------------------------------------------------- output */

static void send_to(struct wire_switch *sw, int port, struct frame *f)
{
	bool sent;

	if (port < WIRE_FIRST_SOCK) {
		sent = link_side_send(&sw->link, port, f);
	} else {
		icrc_finish(f);
		sent = socket_port_send(&sw->sock[port - WIRE_FIRST_SOCK], f);
	}
	if (!sent) {
		sw->count[port].tx_dropped++;
		return;
	}
	sw->count[port].tx_frames++;
	sw->count[port].tx_bytes += f->len;
}

/* Sends to the link first: its frames may go without an ICRC, those of sockets
 * may not. */
static void flood_frame(struct wire_switch *sw, struct frame *f)
{
	int p;

	sw->flooded++;
	for (p = 1; p < WIRE_FIRST_SOCK; p++)
		if (p != f->from && link_side_there(&sw->link, p))
			send_to(sw, p, f);
	for (p = WIRE_FIRST_SOCK; p < WIRE_FIRST_SOCK + sw->socks; p++)
		if (p != f->from)
			send_to(sw, p, f);
}

static void forward_frame(struct wire_switch *sw, struct frame *f,
			  uint64_t now_ns)
{
	int to = mac_table_find(&sw->macs, f->data, now_ns);

	if (!to)
		flood_frame(sw, f);
	else if (to != f->from)
		send_to(sw, to, f);
}

/* ----------------------------------------------------------------- input */

static void receive_frame(struct wire_switch *sw, struct frame *f,
			  uint64_t now_ns)
{
	struct port_count *count = &sw->count[f->from];
	struct faults *faults = &sw->faults[f->from];

	if (!f->len)
		/* the sender gave the buffer back, or the length is invalid */
		return;
	if (f->len < WIRE_FRAME_MIN) {
		count->rx_bad++;
		return;
	}
	count->rx_frames++;
	count->rx_bytes += f->len;
	mac_table_learn(&sw->macs, f->data + 6, f->from, now_ns);
	capture_frame(&sw->capture, f);
	if (faults_active(faults))
		faults_push(faults, f, now_ns);
	else
		forward_frame(sw, f, now_ns);
}

int switch_link(struct wire_switch *sw, int budget, uint64_t now_ns)
{
	int n;

	for (n = 0; n < budget; n++) {
		if (!link_side_receive(&sw->link, &sw->frame))
			break;
		receive_frame(sw, &sw->frame, now_ns);
	}
	return n;
}

int switch_socket(struct wire_switch *sw, int s, int budget, uint64_t now_ns)
{
	enum socket_port_result got;
	int n;

	for (n = 0; n < budget; n++) {
		got = socket_port_receive(&sw->sock[s], &sw->frame);
		if (got == SOCKET_PORT_NONE)
			break;
		sw->frame.from = WIRE_FIRST_SOCK + s;
		if (got == SOCKET_PORT_FRAME)
			receive_frame(sw, &sw->frame, now_ns);
		else
			sw->count[WIRE_FIRST_SOCK + s].rx_bad++;
	}
	return n;
}

int switch_delayed(struct wire_switch *sw, uint64_t now_ns)
{
	int p, n = 0;

	for (p = 1; p < WIRE_PORTS; p++)
		while (faults_pop(&sw->faults[p], now_ns, &sw->frame)) {
			forward_frame(sw, &sw->frame, now_ns);
			n++;
		}
	for (p = 0; p < sw->socks; p++)
		(void)socket_port_drain(&sw->sock[p], now_ns);
	return n;
}

uint64_t switch_due(const struct wire_switch *sw, uint64_t now_ns)
{
	uint64_t due = UINT64_MAX, d;
	int p;

	for (p = 0; p < sw->socks; p++) {
		d = socket_port_due(&sw->sock[p], now_ns);
		if (d < due)
			due = d;
	}
	for (p = 1; p < WIRE_PORTS; p++) {
		d = faults_due(&sw->faults[p]);
		if (d < due)
			due = d;
	}
	return due;
}
