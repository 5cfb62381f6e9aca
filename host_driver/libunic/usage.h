/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* usage.h - the NIC's usage record, converted to host byte order. */
#ifndef UNIC_LIB_USAGE_H
#define UNIC_LIB_USAGE_H

#include "unic.h"
#include "unic_mbox.h"

/** unic_usage_parse() - @in, as a refused MR_REG or USAGE brings it, to @out: entries
 * and microseconds, all fields set. What the numbers say is the NIC's, unchecked. */
void unic_usage_parse(const struct unic_cpl_usage *in, struct unic_usage *out);

#endif /* UNIC_LIB_USAGE_H */
