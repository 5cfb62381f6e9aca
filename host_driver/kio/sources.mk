# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The kernel-resident page service, and its two ends.
KIO      := $(addprefix host_driver/kio/,kio_account.c kio_client.c kio_conn.c kio_lend.c kio_link.c kio_node.c kio_pages.c kio_ring.c kio_server.c kio_user.c)
KIO_ENDS := $(addprefix host_driver/kio/,kio_client.c kio_pages.c kio_server.c)

INC_host_driver/kio = -Ihost_driver/kio -Ihost_driver/core
