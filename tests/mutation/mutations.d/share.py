# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
MUTATIONS = (
    ("firmware/arbiter/share.c", "net * s->weights >", "net * s->weights >=",
     "share: who holds just his share is a victim"),
    ("firmware/arbiter/share.c", "if ((uint64_t)net * s->weights >",
     "if (wanter == UNIC_OWNER_NIL || (uint64_t)net * s->weights >",
     "share: for a watermark anybody gives"),
    ("firmware/arbiter/share.c", "if (with > s->capacity)", "if (0)",
     "share: a product of units and weight wraps"),
)
