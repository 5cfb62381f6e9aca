# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Several NICs of a host: which one, ids, and that one does not touch another. See mutations.py."""
IDS = "host_driver/core/ids.c"
OBJECTS = "host_driver/core/objects.c"
NICS = "host_driver/core/nics.c"
WHERE = "host_driver/libunic/where.c"
UNIT = "test_driver_objects"
CHOICE = "test_driver_nics"
UNICD = "host_driver/unicd/"
E2E = "test_nics.py --only "

MUTATIONS = (
    (OBJECTS, "	t->own = ids ? NULL : unic_os_alloc(t->os, sizeof(*t->own));\n"
     "	t->ids = ids ? ids : t->own;",
     "	t->own = unic_os_alloc(t->os, sizeof(*t->own));\n	t->ids = t->own;",
     "nics: each NIC gives ids of its own", UNIT),
    (IDS, "	if (!is_of_boot(ids, boot)) {", "	if (true) {",
     "nics: ids begin anew with each driver", UNIT),
    (IDS, "ids->boot[0] == boot[0] &&\n	       ids->boot[1] == boot[1];", "ids->boot[0] == boot[0];",
     "nics: ids of another boot count", UNIT),
    (IDS, "	if (ids->gen[i] < gen)\n		ids->gen[i] = gen;", "	ids->gen[i] = gen;",
     "nics: an id of long ago brings later ones back", UNIT),
    (NICS, "	if (unic_from_le32(row[i].number) != req->host->config.number) {\n"
     "		unic_req_status(req, UNIC_ST_BUSY);\n		return;\n	}\n", "",
     "nics: a connection seems to change its NIC", CHOICE),
    (NICS, "		i = bytes == sizeof(s) ? find_nic(row, n, &s) : -ENOENT;\n		return i < 0 ? -ENOENT : i;",
     "		i = bytes == sizeof(s) ? find_nic(row, n, &s) : -ENOENT;\n		return i < 0 ? 0 : i;",
     "nics: who names none that is there is with the first", CHOICE),
    (NICS, "	case UNIC_CTL_NICS:\n		return -ENOENT;", "	case UNIC_CTL_NICS:\n		return 0;",
     "nics: who looks at the list is with the first", CHOICE),
    (NICS, "	if ((by_name && s->number) || s->rsvd0)", "	if (s->rsvd0)",
     "nics: a name and a number at once", CHOICE),
    (NICS, "by_name ? !memcmp(row[i].name, s->name, sizeof(s->name))", "by_name ? !memcmp(row[i].name, s->name, 4)",
     "nics: the beginning of a name is enough", CHOICE),
    (NICS, "letter || (other && i)", "letter || other", "nics: a name is a number", CHOICE),
    (WHERE, "	const char *comma = strrchr(where, ',');", "	const char *comma = strchr(where, ',');",
     "where: the first comma ends a path", "test_where"),
    (WHERE, "		return n <= 3;", "		return true;", "where: any number is a NIC", "test_where"),
    (UNICD + "clients.c", "		c->os = &d->nic[unic_from_le32(row[i].number)];", "		c->os = &d->nic[0];",
     "unicd: all connections are with the first NIC", E2E + "choice"),
    (UNICD + "nic.c", "		if (!os->host || os->gone)\n			continue;\n", "",
     "unicd: a NIC whose bus is gone is listed, and used", E2E + "bus"),
    (UNICD + "nic.c", "		unicd_clients_lose(os->d, os);\n", "",
     "unicd: the clients of a NIC that is gone are kept", E2E + "bus"),
    (UNICD + "clients.c", "d->client[i].os == os)", "true)",
     "unicd: a bus that ends takes the clients of all NICs", E2E + "bus"),
    (UNICD + "unicd_main.c", "		if (!d->nic[i].gone)\n			return true;\n	return false;",
     "		if (d->nic[i].gone)\n			return false;\n	return true;",
     "unicd: it ends with the first bus that is gone", E2E + "bus"),
    (UNICD + "nic.c", "		.ids = os->d->ids,\n", "", "unicd: each NIC has ids of its own", E2E + "ids"),
    (UNICD + "ids_file.c", "os->bus_dir < 0 ? NULL : map_ids(os)", "NULL",
     "unicd: ids begin anew with each unicd", E2E + "ids"),
    (UNICD + "nic.c", "	else\n		unicd_ids_add(os);\n", "",
     "unicd: NICs in another order bring ids back", E2E + "ids"),
    (UNICD + "options.c", "	d->nic[d->nics].opt = p->all;\n", "	if (!d->nics)\n		d->nic[d->nics].opt = p->all;\n",
     "unicd: options of all are of the first NIC only", E2E + "kio"),
    (UNICD + "options.c", "	if (a->ipv4 == b->ipv4)", "	if (0)",
     "unicd: two NICs with one address", E2E + "command"),
    (UNICD + "unicd_main.c", "		for (k = 0; k < d->nics; k++) {", "		for (k = 0; k < 2 && k < d->nics; k++) {",
     "unicd: the third NIC is never polled", E2E + "3"),
)
