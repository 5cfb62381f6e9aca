/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* crash_text.h - the firmware's crash record in words. */
#ifndef CRASH_TEXT_H
#define CRASH_TEXT_H

#include "host.h"

/**
 * unicd_crash_report() - print the crash record, if there is one, and the last
 * trace events before it: to stderr, and to @file if not NULL.
 */
void unicd_crash_report(struct unic_host *host, const char *file);

/**
 * unicd_crash_check() - refuse a @file (or NULL) that unicd_crash_report() could not write.
 *
 * Return: 0, or -errno after a line that says what to do.
 */
int unicd_crash_check(const char *file);

#endif /* CRASH_TEXT_H */
