/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * view.h - the writes of a core through a window into host memory.
 *
 * Secret: how they are found. Pages of a window are copied when it is opened and
 * compared when its use is over; a byte that differs was written. It must lie in
 * a window that is still open. A byte that was overwritten with the same value is
 * not found.
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

/* All zeroes: no window is open, no page is watched. */
struct view {
	uint32_t windows, pages;
	struct {
		uint64_t bus;
		uint32_t len;
	} window[VIEW_WINDOWS];
	struct view_page page[VIEW_PAGES];
};

/** view_open() - the core sees [@bus, @bus + @len), which is at @host. False: too
 * many windows are open, and nothing happened. */
bool view_open(struct view *v, uint64_t bus, uint8_t *host, uint32_t len);

/**
 * view_written() - find the writes of the core since the last call. @tell: called
 * for each run of bytes that one window shows. The checker "port" fails for bytes
 * outside all windows.
 */
void view_written(struct view *v,
		  void (*tell)(void *ctx, uint64_t bus, const void *host,
			       uint32_t len),
		  void *ctx);

/** view_close() - close all windows; their pages are still watched. */
void view_close(struct view *v);

/** view_moved() - another writer than the core has written [@bus, @bus + @len). */
void view_moved(struct view *v, uint64_t bus, uint32_t len);

/** view_end() - watch no page. */
void view_end(struct view *v);

#endif /* SIM_VIEW_H */
