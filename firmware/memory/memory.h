/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * memory.h - what memory/ and later rooms see of the NIC: regions, their entries
 * and what opens them; see base/base.h.
 */
#ifndef UNIC_MEMORY_H
#define UNIC_MEMORY_H

#include "arbiter/notice.h"
#include "arbiter/share.h"
#include "base/base.h"
#include "memory/cache.h"
#include "memory/candidates.h"
#include "memory/cuts.h"
#include "memory/dependents.h"
#include "memory/derived_load.h"
#include "memory/dma_mr.h"
#include "memory/fault.h"
#include "memory/idle.h"
#include "memory/key_guard.h"
#include "memory/mr.h"
#include "memory/pd.h"
#include "memory/refs.h"
#include "memory/revoked.h"
#include "memory/stag.h"
#include "memory/table.h"
#include "memory/tlb.h"
#include "memory/token.h"
#include "memory/usage.h"

struct unic_memory {
	union {
		struct unic_base base;
		struct unic_base;
	};
	_Alignas(64) struct unic_mrs mrs; /* an offset of few bits: one add */
	_Alignas(256) struct unic_tlb tlb;
	struct unic_revoked revoked;
	_Alignas(64) struct unic_tokens tokens; /* as for mrs; 64 bytes each */
	struct unic_share share;		/* of TLB entries */
	struct unic_notices notices;
	struct unic_candidates candidates;
	struct unic_idle idle;
	struct unic_derived_regions derived;
	struct unic_cache cache;
	struct unic_promises promises;
	struct unic_faults faults;
	struct unic_dma_mrs dma_mrs;
	struct unic_usages usages;
	struct unic_key_guards key_guards;
	struct unic_stags stags;
	struct unic_cuts cuts;
	struct unic_tables tables;
	/* whole pages on boards of the usual size: as for asks, revoke.h */
	union {
		struct {
			struct unic_pains pains;
			struct unic_derived_loading loading;
		};
		uint8_t pains_pages[UNIC_MRS < 256 ? 1 : 8192];
	};
};

#endif /* UNIC_MEMORY_H */
