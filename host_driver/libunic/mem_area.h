/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mem_area.h - the list of areas of a context that are made of frames, for mem.c and mem_sweep.c. */
#ifndef UNIC_LIB_MEM_AREA_H
#define UNIC_LIB_MEM_AREA_H

#include "priv.h"

struct unic_area {
	struct unic_area *next;
	uint8_t *va;
	size_t bytes;
	bool moved;	 /* from memory of the application */
	bool stale;	 /* moved, and the application has unmapped it since */
	uint32_t page[]; /* moved: of the slot file, for each page */
};

/** unic_area_at() - the area of @ctx that @va is in, or NULL. mem_lock held. */
static inline struct unic_area *unic_area_at(const struct unic_ctx *ctx,
					     const uint8_t *va)
{
	struct unic_area *a = ctx->areas;

	while (a && (va < a->va || va >= a->va + a->bytes))
		a = a->next;
	return a;
}

#endif /* UNIC_LIB_MEM_AREA_H */
