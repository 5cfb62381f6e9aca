/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * metrics_text.h - the metrics of a NIC as text, for a program that is no client of a driver
 * otherwise.
 */
#ifndef UNIC_METRICS_TEXT_H
#define UNIC_METRICS_TEXT_H

#include <stddef.h>

/** metrics_text() - what ctl_metrics() writes of the NIC @where: PATH or PATH,NIC of a
 * driver's socket. *@text has *@bytes, and is the caller's (free()). 0; -ENODEV: the driver
 * has no such NIC; -errno. After an error *@text says why, or is NULL. */
int metrics_text(const char *where, char **text, size_t *bytes);

#endif /* UNIC_METRICS_TEXT_H */
