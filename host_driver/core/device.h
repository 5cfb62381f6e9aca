/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* device.h - what the device says about itself. */
#ifndef UNIC_DEVICE_H
#define UNIC_DEVICE_H

#include "state.h"

/** unic_host_info() - a copy of the device's info page; zeros if none. */
void unic_host_info(struct unic_host *host, struct unic_info *info);
/** unic_host_clock() - CLOCK_MONOTONIC of a NIC time; never later than true. */
uint64_t unic_host_clock(struct unic_host *host, uint64_t nic_ns);

#endif /* UNIC_DEVICE_H */
