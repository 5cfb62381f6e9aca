/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* view.c - see view.h. */
#include "view.h"

#include <string.h>

#define PAGE 4096u

static bool watched(const struct view *v, uint64_t page)
{
	uint32_t i;

	for (i = 0; i < v->pages; i++)
		if (v->page[i].bus == page)
			return true;
	return false;
}

bool view_open(struct view *v, uint64_t bus, uint8_t *host, uint32_t len)
{
	uint64_t first = bus & ~(uint64_t)(PAGE - 1), page;

	if (v->windows == VIEW_WINDOWS ||
	    v->pages + (bus + len - first) / PAGE + 1 > VIEW_PAGES)
		return false;
	host -= bus - first;
	for (page = first; page < bus + len; page += PAGE, host += PAGE) {
		struct view_page *p = &v->page[v->pages];

		if (watched(v, page))
			continue;
		p->host = host;
		p->bus = page;
		memcpy(p->was, host, PAGE);
		v->pages++;
	}
	v->window[v->windows].bus = bus;
	v->window[v->windows++].len = len;
	return true;
}

/* Bytes from @bus on that one window shows. */
static uint32_t shown(const struct view *v, uint64_t bus)
{
	uint32_t i, most = 0;

	for (i = 0; i < v->windows; i++) {
		uint64_t off = bus - v->window[i].bus;

		if (off < v->window[i].len && v->window[i].len - off > most)
			most = v->window[i].len - (uint32_t)off;
	}
	return most;
}

/* Finds the next written bytes of @p from @at on. Returns their offset,
 * *@len: how many there are, 0 at the end. */
static uint32_t next_written(const struct view_page *p, uint32_t at,
			     uint32_t *len)
{
	uint32_t end;

	while (at < PAGE && p->host[at] == p->was[at])
		at++;
	for (end = at; end < PAGE && p->host[end] != p->was[end]; end++)
		;
	*len = end - at;
	return at;
}

static void compare(const struct view *v, struct view_page *p,
		    void (*tell)(void *ctx, uint64_t bus, const void *host,
				 uint32_t len),
		    void *ctx)
{
	uint32_t at, len, room;

	if (!memcmp(p->host, p->was, PAGE))
		return;
	for (at = next_written(p, 0, &len); len;
	     at = next_written(p, at + len, &len)) {
		room = shown(v, p->bus + at);
		if (!room)
			sim_fail("port",
				 "%u bytes at bus address %llx are written "
				 "through no window",
				 len, (unsigned long long)(p->bus + at));
		if (len > room)
			len = room;
		tell(ctx, p->bus + at, p->host + at, len);
	}
	memcpy(p->was, p->host, PAGE);
}

void view_written(struct view *v,
		  void (*tell)(void *ctx, uint64_t bus, const void *host,
			       uint32_t len),
		  void *ctx)
{
	uint32_t i;

	for (i = 0; i < v->pages; i++)
		compare(v, &v->page[i], tell, ctx);
}

void view_close(struct view *v)
{
	v->windows = 0;
}

void view_moved(struct view *v, uint64_t bus, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < v->pages; i++)
		if (v->page[i].bus < bus + len && bus < v->page[i].bus + PAGE)
			memcpy(v->page[i].was, v->page[i].host, PAGE);
}

void view_end(struct view *v)
{
	v->windows = 0;
	v->pages = 0;
}
