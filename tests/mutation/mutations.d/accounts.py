# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Breaks of accounts: slots that pay for the regions of another."""

CMD = "firmware/command/cmd_mr.c"
PROC = "firmware/command/proc.c"
EVICT = "firmware/revoke/evict.c"
SHARE = "firmware/arbiter/share.c"

MUTATIONS = (
    (CMD, "\ta->proc = (uint16_t)account;\n", "",
     "accounts: the owner pays all the same", "test_account"),
    (CMD, "account == a->proc ||\n\t    unic_slot_keeper(&nic->procs, account) != a->proc)",
     "account == a->proc)", "accounts: any slot pays for any process", "test_account"),
    (CMD, " || account == a->proc ||", " ||",
     "accounts: a process is its own account", "test_account"),
    (CMD, "\t    cmd->mr_class == UNIC_CLASS_CONTROL ||\n\t    (cmd->flags & UNIC_REG_RESTORE))",
     "\t    (cmd->flags & UNIC_REG_RESTORE))",
     "accounts: queues are charged to them", "test_account"),
    (CMD, "\t    cmd->mr_class == UNIC_CLASS_CONTROL ||\n\t    (cmd->flags & UNIC_REG_RESTORE))",
     "\t    cmd->mr_class == UNIC_CLASS_CONTROL)",
     "accounts: a restored region is charged to them", "test_account"),
    ("firmware/memory/pd.c",
     "\tif (unic_slot_is_account(&nic->procs, proc))\n\t\treturn -UNIC_EINVAL;\n", "",
     "accounts: they have objects", "test_account"),
    ("firmware/memory/access.c", "unic_slot_keeper(&nic->procs, mr->proc);", "mr->proc;",
     "accounts: a peer is not told that their region was taken back", "test_account"),
    ("firmware/memory/token.c", "ts->held[unic_slot_keeper(&nic->procs, mr->proc)] -= n;",
     "ts->held[mr->proc] -= n;", "accounts: tokens end for whom they are not",
     "test_account"),
    (EVICT, "return proc == slot || unic_slot_keeper(&nic->procs, proc) == slot;",
     "return proc == slot;", "accounts: their regions outlive the owner", "test_account"),
    (EVICT, "return proc == slot || unic_slot_keeper(&nic->procs, proc) == slot;",
     "return unic_slot_keeper(&nic->procs, proc) == slot;",
     "accounts: their regions outlive them", "test_account"),
    ("firmware/base/slots.h",
     " ||\n\t       (UNIC_ACCOUNTS && ps->proc[ps->proc[proc].keeper].detaching);", ";",
     "accounts: a notice to them fails the driver when the owner leaves", "test_account"),
    ("firmware/revoke/admission.c",
     " &&\n\t\t\t       unic_slot_keeper(&nic->procs, w->proc) != proc", "", "accounts: they wait for who has left", "test_account"),
    (PROC, "\t\tunic_share_claim(&nic->share, slot, 0);\n", "\t\t;\n",
     "accounts: a claim outlives them", "test_account"),
    (PROC, "\treturn UNIC_ACCOUNTS && claim <= UNIC_TLB_ENTRIES;", "\treturn true;",
     "accounts: more is claimed than there is", "test_account"),
    (PROC, "\t\treturn !claim;", "\t\treturn true;",
     "accounts: a claim that is not meant is let pass", "test_account"),
    (PROC, "if (UNIC_ACCOUNTS && (keep & UNIC_PROC_CLAIM))", "if (UNIC_ACCOUNTS)",
     "accounts: another change of a slot ends its claim", "test_account"),
    (SHARE, "(int32_t)(n - s->owner[owner].claim)", "(int32_t)n",
     "accounts: claims add up", "test_account"),
    ("firmware/arbiter/share.h", "(UNIC_ACCOUNTS ? s->owner[owner].claim : 0)", "0u",
     "accounts: a claim holds up requests of its own process", "test_account"),
)
