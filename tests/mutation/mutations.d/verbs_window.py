# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Memory windows of verbs."""
MUTATIONS = (
    ("host_driver/verbs/mw.c", "	mw_of(mw)->lib->stag = rkey;\n", "	(void)mw;\n	(void)rkey;\n",
     "verbs: a window has the name of before", "test_verbs_window"),
    ("host_driver/verbs/post.c", "if (wr->opcode == IBV_WR_BIND_MW)", "if (0)",
     "verbs: a request names a window as before the one ahead of it", "test_verbs_window"),
    ("host_driver/verbs/mw.c", "(mw->rkey ^ rkey) >> 8", "0",
     "verbs: a window under any name", "test_verbs_window"),
    ("host_driver/verbs/mw.c", "	if (!unic_ibv_post_room(qp))\n		return -ENOMEM;\n", "",
     "verbs: a window is bound, and nothing completes", "test_verbs_window"),
    ("host_driver/verbs/mw.c", "		unic_bind_mw(mw->lib, NULL, NULL, 0, 0);\n", "		;\n",
     "verbs: a window is bound for which nothing can complete", "test_verbs_window"),
    ("host_driver/verbs/mr.c", "	       (access & IBV_ACCESS_MW_BIND ? UNIC_MR_MW_BIND : 0) |\n", "",
     "verbs: no window can be bound to a region", "test_verbs_device"),
)
