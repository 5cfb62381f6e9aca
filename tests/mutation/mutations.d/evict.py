# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
MUTATIONS = (
    ("firmware/revoke/evict.c", "unic_mr_strip(&nic->memory, idx); /* INV-3 */", "",
     "evict: the entries are not freed"),
    ("firmware/memory/access.h", "return !mr->holds && ", "return ",
     "evict: does not wait for operations that hold the region"),
    ("firmware/memory/access.h", "&& !mr->dmas && ", "&& ",
     "evict: does not wait for DMA in flight"),
    ("firmware/memory/access.h", " && !mr->n_tokens && !mr->deps;", " && !mr->deps;",
     "evict: does not wait for messages that have claimed a token"),
    ("firmware/command/cmd.c", "\tif (unlikely(nic->evict_due))\n\t\tunic_evict_settle(&nic->revoke);\n", "",
     "evict: a command finds a region that is idle and has not ended", "test_evict"),
    ("firmware/revoke/evict.c",
     "\tunic_evict_settle(nic); /* before its deadline cuts what is idle */\n", "",
     "evict: what is idle is cut at its deadline", "test_evict"),
    ("firmware/nic.c", "\n\tunic_evict_settle(&nic->revoke);\n\tif (value)", "\n\tif (value)",
     "evict: a NIC that has failed forgets a region that drains", "test_evict"),
)
