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

#endif /* CRASH_TEXT_H */
