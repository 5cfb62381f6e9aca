# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
MUTATIONS = (
    ("firmware/memory/window.h", "return w->last - iova <= w->places;",
     "return (int32_t)(w->last - iova) >= 0;",
     "run: its window has no beginning"),
    ("firmware/memory/window.h", "return w->last - iova <= w->places;",
     "return (int32_t)(w->last - iova) <= (int32_t)w->places;",
     "run: one may end behind its window"),
    ("firmware/transport/fastpath_tx.c",
     "unic_from_le32(slot->sge[0].lkey) != win->stag ||", "",
     "run: only the first local STag is compared"),
    ("firmware/transport/fastpath_rx.c", "((*reth & but_low.v) ^ want->reth)",
     "((*reth ^ want->reth) & ~but_low.v & 0)",
     "run: only the first RETH is compared"),
    ("firmware/transport/fastpath_rx.c", "{ ~0u, 0, ~0u, ~0u }", "{ 0, 0, ~0u, ~0u }",
     "run: the upper half of a remote address is not compared"),
)
