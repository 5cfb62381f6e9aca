/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* progress.c - see progress.h. */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define MIB	    1048576.0
#define LINE_MAX    101 /* of 100 columns */
#define COLUMNS	    80	/* of a terminal that does not say how many it has */
#define BAR	    16
#define QUIET_NS    500000000ull /* what is over sooner shows nothing */
#define ON_TTY_NS   100000000ull /* between two lines */
#define IN_LINES_NS 500000000ull

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void progress_begin(struct progress *p, enum progress_how how,
		    const char *program, const char *what, const char *name,
		    uint64_t size)
{
	*p = (struct progress){
		.program = program, .what = what, .name = name, .size = size
	};
	p->tty = how != PROGRESS_NONE && isatty(STDERR_FILENO);
	p->lines = how == PROGRESS_LINES && !p->tty;
	p->began_ns = monotonic_ns();
	p->shown_ns = p->began_ns;
}

double progress_seconds(const struct progress *p)
{
	return (double)(monotonic_ns() - p->began_ns + 1) / 1e9;
}

static int room_on_terminal(void)
{
	struct winsize size = { 0 };

	ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
	if (!size.ws_col)
		return COLUMNS - 1;
	return size.ws_col < LINE_MAX ? size.ws_col - 1 : LINE_MAX - 1;
}

static void make_line(const struct progress *p, uint64_t done, char *line)
{
	uint64_t size = p->size ? p->size : 1;
	double rate = (double)done / progress_seconds(p);
	double left = done ? (double)(p->size - done) / rate : 0;
	uint32_t s = left < 359999 ? (uint32_t)(left + 0.5) : 359999;
	char bar[BAR + 1] = { 0 };
	int i;

	for (i = 0; i < BAR; i++)
		bar[i] = (uint64_t)i * size < done * BAR ? '#' : '.';
	i = snprintf(line, LINE_MAX,
		     "%s %.20s %3u %% [%s] %.1f of %.1f MiB, %.1f MiB/s",
		     p->what, p->name, (uint32_t)(done * 100 / size), bar,
		     (double)done / MIB, (double)p->size / MIB, rate / MIB);
	if (done && i < LINE_MAX)
		snprintf(line + i, (size_t)(LINE_MAX - i), ", %u:%02u left",
			 s / 60, s % 60);
}

void progress_show(struct progress *p, uint64_t done)
{
	uint64_t now = monotonic_ns();
	char line[LINE_MAX] = "";

	if (done > p->size || now - p->began_ns < QUIET_NS ||
	    now - p->shown_ns < (p->tty ? ON_TTY_NS : IN_LINES_NS) ||
	    (!p->tty && !p->lines))
		return;
	p->shown_ns = now;
	make_line(p, done, line);
	if (p->tty)
		fprintf(stderr, "\r%.*s\033[K", room_on_terminal(), line);
	else
		fprintf(stderr, "%s: %s\n", p->program, line);
}

void progress_end(struct progress *p)
{
	if (p->tty && p->shown_ns != p->began_ns)
		fputs("\r\033[K", stderr);
	p->tty = p->lines = false;
}
