/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * device.h - what the device says about itself: a copy of its info page, its clock,
 * its state.
 */
#ifndef UNIC_DEVICE_H
#define UNIC_DEVICE_H

#include "state.h"

/** unic_device_info() - a copy of the device's info page; zeros if none. */
void unic_device_info(struct unic_host *host, struct unic_info *info);

/** unic_device_bound_us() - B, as unic_host_bound_us(). */
uint32_t unic_device_bound_us(const struct unic_info *info);

/** unic_device_clock() - CLOCK_MONOTONIC of a NIC time; never later than true. */
uint64_t unic_device_clock(struct unic_host *host, uint64_t nic_ns);

/** unic_device_state() - enum unic_ctl_nic: a device that is not set up yet is
 * STARTING. */
uint32_t unic_device_state(const struct unic_host *host);

/** unic_device_peek() - see struct unic_provider_ops. */
bool unic_device_peek(struct unic_host *host, uint32_t off, void *buf,
		      uint32_t bytes);

#endif /* UNIC_DEVICE_H */
