# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
MUTATIONS = (
    ("firmware/revoke/evict.c", "unic_mr_strip(nic, idx); /* INV-3 */", "",
     "evict: the entries are not freed"),
    ("firmware/memory/access.h", "return !mr->holds && ", "return ",
     "evict: does not wait for operations that hold the region"),
    ("firmware/memory/access.h", "&& !mr->dmas && ", "&& ",
     "evict: does not wait for DMA in flight"),
    ("firmware/memory/access.h", " && !mr->n_tokens && !mr->deps;", " && !mr->deps;",
     "evict: does not wait for messages that have claimed a token"),
)
