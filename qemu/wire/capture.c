// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <pcap/pcap.h>
#include <string.h>
#include <time.h>

#include "capture.h"
#include "icrc.h"

const char *capture_open(struct capture *c, const char *path)
{
	memset(c, 0, sizeof(*c));
	c->pcap = pcap_open_dead_with_tstamp_precision(
		DLT_EN10MB, WIRE_FRAME_BYTES, PCAP_TSTAMP_PRECISION_NANO);
	if (!c->pcap)
		return "no memory";
	c->dump = pcap_dump_open(c->pcap, path);
	if (!c->dump)
		return pcap_geterr(c->pcap);
	capture_flush(c);
	return NULL;
}

void capture_frame(struct capture *c, struct frame *f)
{
	struct pcap_pkthdr hdr = { .caplen = f->len, .len = f->len };
	struct timespec now;

	if (!c->dump)
		return;
	if (f->no_icrc) /* of the file alone: who receives it need not look */
		(void)icrc_fill(f->data, f->len);
	clock_gettime(CLOCK_REALTIME, &now);
	hdr.ts.tv_sec = now.tv_sec;
	hdr.ts.tv_usec = now.tv_nsec; /* nanoseconds, as opened */
	pcap_dump(c->dump, &hdr, f->data);
	c->dirty = true;
	c->frames++;
}

void capture_flush(struct capture *c)
{
	if (c->dump)
		pcap_dump_flush(c->dump);
	c->dirty = false;
}

void capture_close(struct capture *c)
{
	if (c->dump)
		pcap_dump_close(c->dump);
	if (c->pcap)
		pcap_close(c->pcap);
	c->dump = NULL;
	c->pcap = NULL;
}
