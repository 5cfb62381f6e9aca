/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_top.c - see ctl_top.h.
 */
#include "ctl_top.h"

#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl_json.h"
#include "ctl_sample.h"
#include "error.h"

#define LINE_MAX_BYTES 512
#define BAR_MIN	       4
#define FIXED	       69 /* columns of a process beside its bar */
#define FIRST_ROW      6

static void put_line(int row, const char *line)
{
	if (row < LINES)
		mvaddnstr(row, 0, line, COLS);
}

/*
 * A bar of @width in @out, of @entries: `#` for each that is held within @share, `+` above
 * it, a `|` where the share ends.
 */
static void draw_bar(char *out, int width, uint64_t entries, uint64_t held,
		     uint64_t share)
{
	uint64_t of = entries ? entries : 1;
	int filled = (int)((held * (uint64_t)width + of - 1) / of);
	int at = (int)(share * (uint64_t)width / of);
	int i;

	for (i = 0; i < width; i++) {
		if (i < filled)
			out[i] = i < at ? '#' : '+';
		else
			out[i] = i == at && share ? '|' : '.';
	}
	out[width] = '\0';
}

/* Writes the time that the first grace of process @p has left, or "-" if none runs. */
static void grace_text(char out[12], struct json_object *p)
{
	struct json_object *left;

	snprintf(out, 12, "-");
	if (json_object_object_get_ex(p, "grace_left_us", &left))
		snprintf(out, 12, "%.1fms",
			 (double)json_object_get_int64(left) / 1000);
}

static int bar_width(int fixed)
{
	int width = COLS - fixed;

	if (width > LINE_MAX_BYTES / 2)
		width = LINE_MAX_BYTES / 2;
	return width < BAR_MIN ? BAR_MIN : width;
}

static void draw_head(const struct ctl_sampler *s)
{
	const struct ctl_sample *now = &s->now;
	char bar[LINE_MAX_BYTES], line[LINE_MAX_BYTES * 2];
	char rate[CTL_RATES][CTL_RATE_TEXT];
	int i;

	for (i = 0; i < CTL_RATES; i++)
		ctl_rate_text(rate[i], now->rate[i]);
	snprintf(line, sizeof(line),
		 "NIC %s %s   grace %" PRIu64 " ms   waiting %" PRIu64
		 "   open notices %" PRIu64,
		 ctl_text_of(s->info, "ipv4"), ctl_text_of(s->info, "nic"),
		 ctl_u64_of(s->info, "grace_us") / 1000, now->waiting,
		 now->notices);
	put_line(0, line);
	draw_bar(bar, bar_width(32), now->entries, now->held, now->entries);
	snprintf(line, sizeof(line),
		 "table %7" PRIu64 " of %7" PRIu64 " held [%s]", now->held,
		 now->entries, bar);
	put_line(1, line);
	snprintf(line, sizeof(line),
		 "in a second: %s granted, %s notices, %s evicted, %s misses",
		 rate[CTL_RATE_GRANTED], rate[CTL_RATE_NOTICES],
		 rate[CTL_RATE_EVICTED], rate[CTL_RATE_MISSES]);
	put_line(2, line);
	snprintf(line, sizeof(line), "             %sB sent, %sB received",
		 rate[CTL_RATE_TX], rate[CTL_RATE_RX]);
	put_line(3, line);
}

static void draw_titles(void)
{
	char line[LINE_MAX_BYTES];

	snprintf(line, sizeof(line),
		 "%4s %7s %-15s %6s %6s %6s %5s %7s %4s  %s", "PROC", "PID",
		 "NAME", "HELD", "SHARE", "WANTS", "ASKED", "GRACE", "LATE",
		 "ENTRIES");
	attron(A_REVERSE);
	mvhline(FIRST_ROW - 1, 0, ' ', COLS);
	put_line(FIRST_ROW - 1, line);
	attroff(A_REVERSE);
}

static void draw_process(int row, const struct ctl_sample *now,
			 struct json_object *p)
{
	char bar[LINE_MAX_BYTES], line[LINE_MAX_BYTES * 2], grace[12];
	uint64_t held = ctl_u64_of(p, "held");
	uint64_t share = ctl_u64_of(p, "fair_share");

	draw_bar(bar, bar_width(FIXED + 2), now->entries, held, share);
	grace_text(grace, p);
	snprintf(line, sizeof(line),
		 "%4" PRIu64 " %7" PRIu64 " %-15.15s %6" PRIu64 " %6" PRIu64
		 " %6" PRIu64 " %5" PRIu64 " %7s %4" PRIu64 " [%s]",
		 ctl_u64_of(p, "proc"), ctl_u64_of(p, "pid"),
		 ctl_text_of(p, "name"), held, share, ctl_u64_of(p, "wanted"),
		 ctl_u64_of(p, "open_notices"), grace, ctl_u64_of(p, "late"),
		 bar);
	put_line(row, line);
}

static int by_held(const void *a, const void *b)
{
	struct json_object *const *x = a;
	struct json_object *const *y = b;
	uint64_t i = ctl_u64_of(*x, "held");
	uint64_t j = ctl_u64_of(*y, "held");

	return i == j ? 0 : i < j ? 1 : -1;
}

static void draw(struct ctl_sampler *s)
{
	struct json_object *procs = s->now.procs;
	size_t i;

	erase();
	draw_head(s);
	draw_titles();
	json_object_array_sort(procs, by_held);
	for (i = 0; i < json_object_array_length(procs); i++)
		draw_process(FIRST_ROW + (int)i, &s->now,
			     json_object_array_get_idx(procs, i));
	refresh();
}

/* Look and draw until somebody ends it. */
static int show(struct ctl_sampler *s, const volatile int *stop)
{
	int err = 0, key = 0;

	while (!err && !*stop && key != 'q') {
		err = ctl_sampler_look(s);
		if (!err)
			draw(s);
		key = getch();
		while (key == KEY_RESIZE) {
			draw(s);
			key = getch();
		}
	}
	return err;
}

int ctl_top(struct unic_conn *conn, uint32_t interval_ms,
	    const volatile int *stop)
{
	struct ctl_sampler s;
	SCREEN *screen;
	int err;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return unic_fail(-ENOTTY, "top needs a terminal; `unicctl "
					  "watch' prints lines");
	if (ctl_sampler_init(&s, conn))
		return -1;
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		ctl_sampler_fini(&s);
		return unic_fail(-ENOTTY,
				 "top: no terminal is known as `%s' "
				 "($TERM)",
				 getenv("TERM") ? getenv("TERM") : "");
	}
	cbreak();
	noecho();
	keypad(stdscr, true);
	curs_set(0);
	timeout((int)interval_ms);
	err = show(&s, stop);
	endwin();
	delscreen(screen);
	ctl_sampler_fini(&s);
	return err;
}
