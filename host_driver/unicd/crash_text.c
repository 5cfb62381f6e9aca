/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "crash_text.h"
#include "output.h"
#include "say.h"
#include "trace_text.h"
#include "unic_stats.h"
#include "unicd_os.h"

#define LAST_EVENTS 16u

static const char *const kind_text[] = {
	[UNIC_CRASH_NONE] = "?",
	[UNIC_CRASH_ASSERT] = "assertion",
	[UNIC_CRASH_UNDEF] = "undefined instruction",
	[UNIC_CRASH_PREFETCH] = "prefetch abort",
	[UNIC_CRASH_DATA] = "data abort",
	[UNIC_CRASH_STACK] = "stack overflow",
	[UNIC_CRASH_OTHER] = "other",
};

static void print_event(FILE *to, const struct unic_trace_rec *rec)
{
	uint32_t arg[4];
	char text[160];
	int i;

	for (i = 0; i < 4; i++)
		arg[i] = unic_from_le32(rec->arg[i]);
	trace_text(unic_from_le16(rec->code), arg, text, sizeof(text));
	fprintf(to, "  %.9f %s\n", (double)unic_from_le64(rec->time_ns) / 1e9,
		*text ? text : "?");
}

static void print_trace(struct unic_host *host, FILE *to, uint32_t seq)
{
	uint32_t n = seq < LAST_EVENTS ? 0 : seq - LAST_EVENTS;

	fprintf(to, "last events:\n");
	for (; n != seq; n++) {
		struct unic_trace_rec rec;
		uint32_t off = UNIC_BAR_TRACE_OFF +
			       n % UNIC_TRACE_ENTRIES * (uint32_t)sizeof(rec);

		if (unic_host_peek(host, off, &rec, sizeof(rec)) &&
		    unic_from_le32(rec.seq) == n + 1)
			print_event(to, &rec);
	}
}

static void print_crash(struct unic_host *host, FILE *to,
			const struct unic_crash *c)
{
	uint32_t kind = unic_from_le32(c->kind), i;

	fprintf(to, "firmware crash: %s, ",
		kind <= UNIC_CRASH_OTHER ? kind_text[kind] : "?");
	if (c->file[0])
		fprintf(to, "%.56s", (const char *)c->file);
	if (unic_from_le32(c->line))
		fprintf(to, ":%u", unic_from_le32(c->line));
	fprintf(to, ", epoch %x, NIC time %.9f\n", unic_from_le32(c->epoch),
		(double)unic_from_le64(c->time_ns) / 1e9);
	for (i = 0; i < 17; i++)
		fprintf(to, "%s%-4s %08x",
			i % 4 ? "  "
			: i   ? "\n  "
			      : "  ",
			i == 16	  ? "cpsr"
			: i == 15 ? "pc"
			: i == 14 ? "lr"
			: i == 13 ? "sp"
				  : "r",
			unic_from_le32(c->reg[i]));
	fprintf(to, "\nfault status %08x address %08x\ntable sums",
		unic_from_le32(c->fault_status), unic_from_le32(c->fault_addr));
	for (i = 0; i < 8; i++)
		fprintf(to, " %08x", unic_from_le32(c->table_sum[i]));
	fputc('\n', to);
	print_trace(host, to, unic_from_le32(c->trace_seq));
}

static void log_crash(struct unic_host *host, const struct unic_crash *c)
{
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (!to) {
		unicd_say("out of memory for what the firmware says");
		return;
	}
	print_crash(host, to, c);
	if (!fclose(to))
		say_text(STDERR_FILENO, text, bytes);
	free(text);
}

void unicd_crash_report(struct unic_host *host, const char *file)
{
	struct unic_crash c;
	FILE *to;
	int lost;

	if (!unic_host_peek(host, UNIC_BAR_CRASH_OFF, &c, sizeof(c)) ||
	    unic_from_le32(c.magic) != UNIC_CRASH_MAGIC)
		return;
	log_crash(host, &c);
	if (!file)
		return;
	to = fopen(file, "w");
	if (!to) {
		unicd_say("%s: %s", file, strerror(errno));
		return;
	}
	print_crash(host, to, &c);
	lost = ferror(to);
	if (fclose(to) || lost)
		unicd_say("%s: the crash record is not complete: %s", file,
			  strerror(errno));
}

int unicd_crash_check(const char *file)
{
	int err = file ? output_check_path(file) : 0;

	if (err)
		unicd_say("--crash-file %s: %s: " OUTPUT_PATH_HINT, file,
			  strerror(-err));
	return err;
}
