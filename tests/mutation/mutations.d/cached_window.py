# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Memory windows over regions whose entries come and go."""
MUTATIONS = (
    ("firmware/memory/cached_window.c", "		nic->mrs.mr[of->shown].win_bytes = 0;\n", "		;\n",
     "windows over pages that go: two have a page", "test_cached_window"),
    ("firmware/memory/cache.c", "		over->win_bytes = 0;\n", "		;\n",
     "windows over pages that go: a window keeps a page that was dropped", "test_cached_window"),
    ("firmware/memory/cached_window.c", "		of->shown = UNIC_MR_NIL;\n", "		;\n",
     "windows over pages that go: one that left has a page", "test_cached_window"),
    ("firmware/memory/cached_window.c", "	nic->mrs.mr[mr].flags ^= UNIC_MR_F_CACHED; /* which it had */\n", "",
     "windows over pages that go: one that left is over them still", "test_cached_window"),
    ("firmware/memory/cached_window.c", "	*iova += e->iova - nic->mrs.mr[mr].iova;\n", "	(void)iova;\n	(void)nic;\n",
     "windows over pages that go: the address is the window's", "test_sizes"),
    ("firmware/memory/refs.c", "		add_dma(nic, unic_cached_window_region(nic, mr));\n", "		;\n",
     "windows over pages that go: a page goes under DMA", "test_cached_window"),
    ("firmware/memory/cache.c", "		     unic_cached_window_region(nic, c->held[i].mr) == mr))", "		     0))",
     "windows over pages that go: a page goes under a frame that waits", "test_cached_window"),
    ("firmware/memory/access.c", "	int r = lookup_cached(nic, of, iova, len, &e);\n\n",
     "	int r = unic_mr_opens(&nic->mrs.mr[idx], nic->mrs.mr[idx].stag, nic->mrs.mr[idx].pd) ?\n"
     "		lookup_cached(nic, of, iova, len, &e) : -UNIC_EEVICTED;\n\n",
     "windows over pages that go: what is under way ends with them", "test_window_miss"),
    ("firmware/memory/fault.c", "		mr = unic_cached_window_find(nic, mr, &end);\n", "		;\n",
     "windows over pages that go: what is left is not asked for", "test_cached_window"),
    ("firmware/memory/fault_answer.c", " &&\n	     unic_dependents_copied(nic, of.mr)))", "))",
     "windows over pages that go: they keep pages from being taken out", "test_cached_window"),
    ("firmware/memory/mr.h", "	       !(UNIC_CACHED_WINDOWS && mr->page_shift == UNIC_MR_NO_PAGES);", "	       true;",
     "windows over pages that go: one is a region with pages", "test_cached_window"),
)
