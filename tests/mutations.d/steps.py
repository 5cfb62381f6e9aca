# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What is cut into rounds. See tests/mutations.py."""

MUTATIONS = (
    ("firmware/proc.c",
     "return unic_ration_left(&nic->endings.leaving, nic->polls,\n"
     "\t\t\t\tUNIC_LEAVE_ROUND);", "return true;",
     "steps: a process leaves in one round", "test_nic"),
    ("firmware/proc.c",
     "unic_proc_may_leave(nic) ? nic->now_ns + DETACH_NS : nic->now_ns",
     "nic->now_ns + DETACH_NS",
     "steps: a detach that was cut waits for nothing", "test_nic"),
    ("firmware/proc.c", "\tnic->endings.mr_at[slot] = 0;\n", "",
     "steps: a detach begins where the slot's last one ended", "test_nic"),
    ("firmware/proc.c",
     "\tif (!unic_qp_proc_gone(nic, slot))\n\t\treturn false;\n",
     "\tunic_qp_proc_gone(nic, slot);\n\tnic->endings.leaving.left = 512;\n",
     "steps: regions leave before queue pairs", "test_nic"),
    ("firmware/mr.c",
     " ||\n\t    nic->procs.proc[m->proc].detaching)", ")",
     "steps: a command finds a region whose process detaches", "test_nic"),
    ("firmware/token.c", "\tunic_ration_spend(told, 1);\n", "",
     "steps: the ends of all tokens are told in one round", "test_token"),
    ("firmware/token.c",
     "\tset_state(t, UNIC_TOKEN_S_FREE);\n\tt->end = end;\n\tUNIC_TRACE",
     "\tt->end = end;\n\tUNIC_TRACE",
     "steps: a token outlives its region", "test_token"),
    ("firmware/token.c", "region_put(nic, i); /* its message ends it */", ";",
     "steps: a claimed token is on no list of its region", "test_token"),
    ("hal/drivers/link_ring.c", "unlikely(len > lr->max_frame)",
     "unlikely(len >= lr->max_frame)",
     "steps: the longest frame of a link is none", "test_link_ring"),
)
