// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "capture.h"
#include "icrc.h"

const char *capture_open(struct capture *c, const char *path)
{
	int err;

	memset(c, 0, sizeof(*c));
	c->pcap = pcap_open_dead_with_tstamp_precision(
		DLT_EN10MB, WIRE_FRAME_BYTES, PCAP_TSTAMP_PRECISION_NANO);
	if (!c->pcap)
		return "no memory";
	c->dump = pcap_dump_open(c->pcap, path);
	if (!c->dump)
		return pcap_geterr(c->pcap);
	err = capture_flush(c);
	return err ? strerror(-err) : NULL;
}

void capture_frame(struct capture *c, struct frame *f)
{
	struct pcap_pkthdr hdr = { .caplen = f->len, .len = f->len };
	struct timespec now;

	if (!c->dump || c->err)
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

int capture_flush(struct capture *c)
{
	c->dirty = false;
	/* what the file did not take before a frame that it takes is a hole all the same */
	if (!c->dump || c->err ||
	    (!pcap_dump_flush(c->dump) && !ferror(pcap_dump_file(c->dump))))
		return 0;
	c->err = errno ? -errno : -EIO;
	return c->err;
}

int capture_close(struct capture *c)
{
	(void)capture_flush(c);
	if (c->dump)
		pcap_dump_close(c->dump);
	if (c->pcap)
		pcap_close(c->pcap);
	c->dump = NULL;
	c->pcap = NULL;
	return c->err;
}
