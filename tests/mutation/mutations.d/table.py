# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Translation lists in host memory: what a miss reads, believes and keeps."""
MUTATIONS = (
    ("firmware/memory/table.c", "	    UNIC_BUS_WINDOW(bus) != nic->tables.window[m->proc])",
     "	    (bus & 0))", "table: a page of another window", "test_table"),
    ("firmware/memory/table.c", "	if (t->seq != nic->cache.of[t->mr].seq) {",
     "	if (0 && t->seq != nic->cache.of[t->mr].seq) {",
     "table: an old line is used", "test_table"),
    ("firmware/memory/table.c", "	unic_mr_hold(nic, t->mr);\n", "",
     "table: a read holds nothing", "test_table"),
    ("firmware/memory/table.c", "	nic->pieces++;\n", "",
     "table: a read is not counted as DMA", "test_table"),
    ("firmware/memory/table.c", "		if (find_read(nic, mr, first))\n"
     "			return -UNIC_EPENDING;\n", "",
     "table: a group is read twice", "test_table"),
    ("firmware/memory/table.c", "		if (page - from >= keep && !unic_cache_spare(nic, t->mr))\n",
     "		if (0)\n", "table: prefetch displaces entries", "test_table"),
    ("firmware/memory/cache.c", "	return (!o->quota || o->held < o->quota) && has_unclaimed",
     "	return has_unclaimed", "table: prefetch beyond the quota", "test_table"),
    ("firmware/command/proc.c", "		unic_table_attach(&nic->memory, slot, bus);",
     "		unic_table_attach(&nic->memory, slot, 0);",
     "table: every process has window 0", "test_admission"),
    ("host_driver/core/region/region_pin.c",
     "		UNIC_STORE(mr->list[i], unic_to_le64(0));\n", "		(void)i;\n",
     "table: a list is given back with its words", "test_driver_fault"),
    ("host_driver/core/region/frames.c",
     "	return *page >= LISTS_END || *page + *pages <= LIST_PAGES;", "	return true;",
     "table: a process names lists", "test_driver_objects"),
)
