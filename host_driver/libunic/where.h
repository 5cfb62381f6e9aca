/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * where.h - PATH[,NIC]: how a user names a driver, and one of its NICs.
 */
#ifndef UNIC_LIB_WHERE_H
#define UNIC_LIB_WHERE_H

#include <stdbool.h>
#include <stddef.h>

#include "unic_ctl.h"

#define UNIC_WHERE_MAX 128 /* bytes of a PATH,NIC with its 0 */

/**
 * unic_where_split() - take @where apart. NIC is what follows the last comma, if it is a
 * name (a letter, then letters, digits, - and _, 15 in all) or a number; else there is
 * none, and the comma is a part of the path.
 * @path: gets the path, of @room bytes; cut if it is longer, which the caller finds by
 * its length. @select: gets the request for the NIC, without its header.
 * Returns true if there is a NIC.
 */
bool unic_where_split(const char *where, char *path, size_t room,
		      struct unic_ctl_select *select);

#endif /* UNIC_LIB_WHERE_H */
