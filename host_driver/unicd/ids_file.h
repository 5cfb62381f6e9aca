/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ids_file.h - the ids of objects that were given on this host (ids.h), in a file that a
 * unicd leaves for the next one: unicd.ids, in the directory of a NIC's bus.
 */
#ifndef UNICD_IDS_FILE_H
#define UNICD_IDS_FILE_H

#include "unicd.h"

/**
 * unicd_ids_open() - those in the directory of NIC @os, mapped until the process ends. The
 * loop-back has no directory: no id comes back until the process ends. The same if the
 * file cannot be had, which is logged.
 * Returns NULL when out of memory.
 */
struct unic_ids *unicd_ids_open(struct unic_os *os);

/** unicd_ids_add() - ids that the directory of NIC @os has from a unicd of which this was
 * the first NIC do not come back either. Without such a file: nothing. */
void unicd_ids_add(struct unic_os *os);

#endif /* UNICD_IDS_FILE_H */
