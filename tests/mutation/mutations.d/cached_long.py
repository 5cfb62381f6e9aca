# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Long messages from and to regions whose entries are cached. See mutations.py."""
LONG = "test_cached_long"
TX = "firmware/transport/fastpath_tx.c"
RX = "firmware/transport/fastpath_rx.c"
MUTATIONS = (
    (TX, "if (unlikely(!n) && UNIC_TABLE_READS)", "if (0)",
     "long: a source with cached entries takes the slow path", LONG),
    (RX, "if (unlikely(!to) && UNIC_TABLE_READS)", "if (0)",
     "long: the ends of a WRITE to cached entries take the slow path", LONG),
    (RX, "if (unlikely(!done) && UNIC_TABLE_READS)", "if (0)",
     "long: the middle of a WRITE to cached entries takes the slow path", LONG),
    ("firmware/memory/access.c", " || size - ((uint32_t)iova & (size - 1u)) < len)", ")",
     "long: a packet over two pages goes into one", LONG),
    ("firmware/memory/access.c", "e = unic_cache_hit(nic, idx, page_of(mr, iova));",
     "e = unic_cache_hit(nic, idx, page_of(mr, mr->iova));",
     "long: all packets are of the first page", LONG),
    ("firmware/memory/cache.c", "return i == UNIC_TLB_NIL ? NULL : used_entry(nic, i);",
     "return i == UNIC_TLB_NIL ? NULL : &nic->tlb.entry[i];",
     "long: entries that long messages use go as those that nobody does", LONG),
)
