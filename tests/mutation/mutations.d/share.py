# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
MUTATIONS = (
    ("firmware/arbiter/share.c", "net * s->weights >", "net * s->weights >=",
     "share: who holds just his share is a victim"),
    ("firmware/arbiter/share.c", "if ((uint64_t)net * s->weights >",
     "if (wanter == UNIC_OWNER_NIL || (uint64_t)net * s->weights >",
     "share: for a watermark anybody gives"),
    ("firmware/arbiter/share.c", "if (with > s->capacity)", "if (0)",
     "share: a product of units and weight wraps"),
    ("firmware/memory/cache.c", "if (nic->promises.all == nic->tlb.free)",
     "if (0)", "share: a page leaves the promise that it used up", "test_fuzzed"),
    ("firmware/revoke/register.c",
     "\tunic_demand_trim(nic, nic->tlb.free - args->n_pages);\n", "",
     "share: a restored region leaves a promise of its entries", "test_fuzzed"),
)
