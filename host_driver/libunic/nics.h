/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* nics.h - a connection that is with one of the NICs of a driver. */
#ifndef UNIC_LIB_NICS_H
#define UNIC_LIB_NICS_H

#include <stdint.h>

struct unic_conn;

#define UNIC_NIC_NONE UINT32_MAX /* no NIC was named */

/**
 * unic_nics_open() - unic_conn_open() for @where, PATH or PATH,NIC (where.h).
 * @number: of the NIC that was named, or UNIC_NIC_NONE; may be NULL.
 * Errors as there, and -ENODEV: the driver has no such NIC; -EOPNOTSUPP: it knows no names
 * of NICs. Then there is no connection.
 */
int unic_nics_open(const char *where, struct unic_conn **out, uint32_t *number);

#endif /* UNIC_LIB_NICS_H */
