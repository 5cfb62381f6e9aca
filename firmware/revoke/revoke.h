/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * revoke.h - what revoke/ and later rooms see of the NIC: evictions in progress,
 * and waiting requests; see base/base.h.
 */
#ifndef UNIC_REVOKE_H
#define UNIC_REVOKE_H

#include "memory/memory.h"
#include "revoke/admission.h"
#include "revoke/ask.h"
#include "revoke/demand.h"
#include "revoke/depth.h"
#include "revoke/evict.h"
#include "revoke/reclaim.h"

struct unic_revoke {
	union {
		struct unic_memory memory;
		struct unic_memory;
	};
	struct unic_evict evict;
	struct unic_reclaim reclaim;
	struct unic_admission admission;
	struct unic_demands demands;
	/* a page on boards of the usual size: it keeps the low bits of the offsets
	 * behind it, and with them the instructions of the paths that use these */
	union {
		struct {
			struct unic_asks asks;
			struct unic_depth depth;
		};
		uint8_t asks_page[UNIC_MRS < 256 ? 1 : 4096];
	};
};

#endif /* UNIC_REVOKE_H */
