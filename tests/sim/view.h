/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * view.h - what a core with a window into host memory does there: the writes of
 * a CPU, found afterwards.
 *
 * Secret: how they are found. Pages that a window touches are copied when it is
 * opened and compared when its use is over; a byte that has become another one
 * was written. It must lie in a window still open. What is written again as it
 * was goes unseen.
 */
#ifndef SIM_VIEW_H
#define SIM_VIEW_H

#include "sim.h"

#define VIEW_WINDOWS 64u
#define VIEW_PAGES   64u

struct view_page {
	uint8_t *host;
	uint64_t bus;
	uint8_t was[4096];
};

/* All zeroes: nothing is open, nothing watched. */
struct view {
	uint32_t windows, pages;
	struct {
		uint64_t bus;
		uint32_t len;
	} window[VIEW_WINDOWS];
	struct view_page page[VIEW_PAGES];
};

/** view_open() - the core sees [@bus, @bus + @len), which is at @host.
 * False: too much is open already, nothing happened. */
bool view_open(struct view *v, uint64_t bus, uint8_t *host, uint32_t len);

/**
 * view_written() - what the core wrote since it was asked last.
 * @tell: told of each run of bytes that one window shows.
 * The checker "port" objects to bytes that none does.
 */
void view_written(struct view *v,
		  void (*tell)(void *ctx, uint64_t bus, const void *host,
			       uint32_t len),
		  void *ctx);

/** view_close() - no window may be used any more; pages are watched still. */
void view_close(struct view *v);

/** view_moved() - somebody else wrote [@bus, @bus + @len), just now. */
void view_moved(struct view *v, uint64_t bus, uint32_t len);

/** view_end() - nothing need be watched any more. */
void view_end(struct view *v);

#endif /* SIM_VIEW_H */
