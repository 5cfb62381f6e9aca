# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What one user, or a NIC, takes from the others. As root. See mutations.py."""
KIO = "host_driver/unicd/kio.c"
PART = "test_kio.py one_user_has_a_part"
LIMITS = """	return places >= UNIC_KIO_USERS / 2 ||
	       (j == hosts && hosts >= UNIC_KIO_OUT / 2);"""

MUTATIONS = (
    (KIO, LIMITS, "	return j == hosts && hosts >= UNIC_KIO_OUT / 2;",
     "unicd: one user has all places for remote files", PART),
    (KIO, LIMITS, "	return places >= UNIC_KIO_USERS / 2;",
     "unicd: one user has all connections for remote files", PART),
    (KIO, "if (!user->used || o->uid != r->uid)", "if (!user->used)",
     "unicd: what one user has of remote files counts for all", PART),
    ("qemu/bus/ivshmem_server.c", "preadv2(fd, &iov, 1, -1, RWF_NOWAIT)",
     "preadv2(fd, &iov, 1, -1, 0)", "bus: the doorbell of a NIC makes it wait",
     "test_bus.py --only doorbell_blocks"),
    ("host_driver/unicd/clients.c", "	if (!cred.pid)\n		return -ENXIO;\n", "",
     "unicd: processes without a number are one",
     "test_host.py --only without_a_number"),
)
