# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Dumps of one instant."""
NIC = "test_snapshot"
MUTATIONS = (
    ("firmware/nic.c", "	if (UNIC_SNAPSHOT && nic->state == UNIC_NIC_HELD && !value)\n"
     "		return poll_held(nic);\n", "",
     "snapshot: a NIC whose tables are held is as one in a reset", NIC),
    ("firmware/command/dump.c", "	nic->state = UNIC_NIC_HELD;\n", "",
     "snapshot: traffic goes on while one is read", NIC),
    ("firmware/command/cmd.c", "		if (hdr->opcode != UNIC_CMD_DUMP || !unic_dump_holds(nic, rec))\n",
     "		if (hdr->opcode != UNIC_CMD_DUMP)\n",
     "snapshot: a DUMP of another one does not end it", NIC),
    ("firmware/command/cmd.c", "		if (hdr->opcode != UNIC_CMD_DUMP || !unic_dump_holds(nic, rec))\n",
     "		if (!unic_dump_holds(nic, rec))\n",
     "snapshot: another command that looks like a DUMP of it does not end it", NIC),
    ("firmware/nic.c", "	if (nic->now_ns >= unic_dump_until(&nic->command)) {\n", "	if (0) {\n",
     "snapshot: a driver that stops stops the NIC", NIC),
    ("firmware/nic.c", "	nic->timers_ns = min_ns(nic->beat_ns, unic_dump_until(&nic->command));\n",
     "	nic->timers_ns = nic->beat_ns;\n",
     "snapshot: a NIC that sleeps oversleeps its end", NIC),
    ("firmware/nic.c", "	if (nic->now_ns >= nic->beat_ns)\n		publish_beat(nic);\n"
     "	unic_mbox_flush(&nic->base);\n	return worked;\n",
     "	unic_mbox_flush(&nic->base);\n	return worked;\n",
     "snapshot: the heart stands still with the tables", NIC),
    ("firmware/command/dump.c", "	nic->timers_ns = 0;\n", "",
     "snapshot: timers wait for the next heartbeat", NIC),
    ("firmware/command/dump.c", "	if (h->number && now - h->since_ns < 2ull * UNIC_SNAPSHOT_NS)\n"
     "		return -UNIC_EBUSY;\n", "",
     "snapshot: one after the other stops the NIC", NIC),
    ("firmware/command/dump.c", "	if (nic->state != UNIC_NIC_READY)\n		return -UNIC_EFAILED;\n", "",
     "snapshot: its end repairs a NIC that has failed", NIC),
    ("firmware/command/dump.c", "h->number + 1 < UNIC_SNAPSHOT_TAKE ? h->number + 1 : 1", "h->number + 1",
     "snapshot: the number of one takes the next", NIC),
    ("firmware/command/dump.c", "	return UNIC_SNAPSHOT && nic->state == UNIC_NIC_HELD\n",
     "	return 0\n", "snapshot: waiting requests grow older in it", NIC),
    ("firmware/command/dump.c", "	else if (nic->state != UNIC_NIC_HELD)\n		err = -UNIC_EEVICTED;\n", "",
     "snapshot: rows of now are told to be of one that has ended", NIC),
    ("firmware/nic.c", "		return; /* a reset runs (INV-15), or a snapshot is read */\n", "		;\n",
     "snapshot: timers run that found one in the ring", NIC),
)
