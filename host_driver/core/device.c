/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* device.c - see device.h. */
#include "device.h"

void unic_device_info(struct unic_host *host, struct unic_info *info)
{
	struct unic_provider *p = host->provider;

	memset(info, 0, sizeof(*info));
	if (host->state == UNIC_PROVIDER_ABSENT ||
	    !p->ops->peek(p, UNIC_BAR_INFO_OFF, info, sizeof(*info)))
		memset(info, 0, sizeof(*info));
}

uint32_t unic_device_bound_us(const struct unic_info *info)
{
	return unic_from_le32(info->deliver_us) +
	       unic_from_le32(info->grace_us) +
	       unic_from_le32(info->reaper_us) + unic_from_le32(info->drain_us);
}

/* The info page pairs a host time with a NIC time that the NIC read later, when
 * HOST_TIME arrived: the result is early by the time that the command took. */
uint64_t unic_device_clock(struct unic_host *host, uint64_t nic_ns)
{
	struct unic_info info;

	unic_device_info(host, &info);
	return unic_from_le64(info.pair_host_ns) +
	       (nic_ns - unic_from_le64(info.pair_nic_ns));
}

uint32_t unic_device_state(const struct unic_host *host)
{
	if (host->state == UNIC_PROVIDER_READY && !host->ready)
		return UNIC_PROVIDER_STARTING;
	return host->state;
}

bool unic_device_peek(struct unic_host *host, uint32_t off, void *buf,
		      uint32_t bytes)
{
	return host->provider->ops->peek(host->provider, off, buf, bytes);
}
