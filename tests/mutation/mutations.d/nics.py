# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Several NICs of a host: which one, ids, and that one does not touch another. See mutations.py."""
IDS = "host_driver/core/ids.c"
OBJECTS = "host_driver/core/objects.c"
UNIT = "test_driver_objects"

MUTATIONS = (
    (OBJECTS, "	t->own = ids ? NULL : unic_os_alloc(t->os, sizeof(*t->own));\n"
     "	t->ids = ids ? ids : t->own;",
     "	t->own = unic_os_alloc(t->os, sizeof(*t->own));\n	t->ids = t->own;",
     "nics: each NIC gives ids of its own", UNIT),
    (IDS, "if (ids->magic != MAGIC || ids->boot[0] != boot[0] ||\n	    ids->boot[1] != boot[1]) {",
     "if (true || ids->boot[0] != boot[0] || ids->boot[1] != boot[1]) {",
     "nics: ids begin anew with each driver", UNIT),
    (IDS, " || ids->boot[0] != boot[0] ||\n	    ids->boot[1] != boot[1]", " || ids->boot[0] != boot[0]",
     "nics: ids of another boot count", UNIT),
    (IDS, "	if (ids->gen[i] < gen)\n		ids->gen[i] = gen;", "	ids->gen[i] = gen;",
     "nics: an id of long ago brings later ones back", UNIT),
)
