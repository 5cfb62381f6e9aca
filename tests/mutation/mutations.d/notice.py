# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
MUTATIONS = (
    ("firmware/arbiter/notice.c", "if (at <= now_ns)", "if (at <= now_ns + 1)",
     "grace: ends 1 ns early"),
    ("firmware/arbiter/notice.c", "if (at <= now_ns)", "if (at < now_ns)",
     "grace: ends 1 ns late"),
    ("firmware/arbiter/notice.c", "n->grace_us * 1000ull", "n->grace_us * 999ull",
     "grace: 0.1 % too short"),
)
