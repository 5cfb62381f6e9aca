// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_config.c - what the administrator sets of a NIC.
 *
 * Secret: which parameters of the module there are, and what they become for the core.
 */
#include <linux/inet.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>

#include "provider/provider_nic.h"
#include "unic_cdev.h"
#include "unic_config.h"
#include "unic_dev.h"

static char *ip = "10.0.0.1";
module_param(ip, charp, 0444);
MODULE_PARM_DESC(ip, "IPv4 address of the first NIC; those of others follow");

static int grace_us = -1;
module_param(grace_us, int, 0444);
MODULE_PARM_DESC(grace_us, "T, us to give a region back; -1: the NIC's own");

static uint deliver_us, reaper_us, residence_us;
module_param(deliver_us, uint, 0444);
MODULE_PARM_DESC(deliver_us, "H, us to deliver an upcall; 0: the NIC's own");
module_param(reaper_us, uint, 0444);
MODULE_PARM_DESC(reaper_us, "period of the reaper, us; 0: the NIC's own");
module_param(residence_us, uint, 0444);
MODULE_PARM_DESC(residence_us, "minimum residence, us; 0: the NIC's own");

static uint idle_us = 1000000;
module_param(idle_us, uint, 0444);
MODULE_PARM_DESC(idle_us, "ask for regions unused for so long, us; 0: for "
			  "none");

static uint table_prefetch;
module_param_named(prefetch, table_prefetch, uint, 0444);
MODULE_PARM_DESC(prefetch, "translations that a miss of a table region keeps, "
			   "if there are free entries, 1 to 8; 0: the NIC's "
			   "own");

static int low = -1, high = -1;
module_param(low, int, 0444);
MODULE_PARM_DESC(low, "reap when fewer entries are free; -1: the NIC's own");
module_param(high, int, 0444);
MODULE_PARM_DESC(high, "... until as many are free");

static uint user_slots;
module_param(user_slots, uint, 0444);
MODULE_PARM_DESC(user_slots, "process slots of one user; 0: all but a quarter");

static uint faults_per_s = UNIC_LIMIT_FAULTS;
module_param(faults_per_s, uint, 0444);
MODULE_PARM_DESC(faults_per_s, "missed pages of a process; 0: any number");

static uint registrations_per_s = UNIC_LIMIT_REGISTRATIONS;
module_param(registrations_per_s, uint, 0444);
MODULE_PARM_DESC(registrations_per_s, "of a process; 0: any number");

static uint upcalls_per_s = UNIC_LIMIT_UPCALLS;
module_param(upcalls_per_s, uint, 0444);
MODULE_PARM_DESC(upcalls_per_s, "wakes of a process; 0: any number");

static u32 limit_of(uint per_s)
{
	return min_t(uint, per_s, UNIC_CTL_LIMIT_MAX);
}

/* The limit of one user: a quarter of the slots is kept for others by default. */
static u32 max_user_slots(const struct unic_os *os)
{
	const struct unic_info *info = os->bar + UNIC_BAR_INFO_OFF;
	u32 slots = min(unic_from_le32(UNIC_LOAD(info->procs)), os->slots);

	return user_slots ? user_slots : max(slots - slots / 4, 1u);
}

static u32 list_nics(struct unic_os *os, struct unic_ctl_nic_row *row)
{
	return unic_dev_rows(row);
}

int unic_config_host(struct unic_os *os)
{
	u64 ram = (u64)totalram_pages() << PAGE_SHIFT;
	struct unic_host_config config = {
		.slots = os->slots,
		.user_slots = max_user_slots(os),
		.slot_bytes = ram + UNIC_SLOT_PAGES * PAGE_SIZE,
		.slot_mem = os->slot_mem,
		.limit = {
			limit_of(faults_per_s),
			limit_of(registrations_per_s),
			limit_of(upcalls_per_s),
		},
		.params = {
			.grace_us = unic_to_le32(max(grace_us, 0)),
			.deliver_us = unic_to_le32(deliver_us),
			.reaper_us = unic_to_le32(reaper_us),
			.residence_us = unic_to_le32(residence_us),
			.idle_us = unic_to_le32(idle_us),
			.prefetch = unic_to_le32(table_prefetch),
		},
	};
	u32 flags = grace_us ? 0 : UNIC_PARAM_GRACE;
	struct unic_provider *p;
	__be32 addr;

	if (low >= 0 || high >= 0) {
		flags |= UNIC_PARAM_WATERMARKS;
		config.params.low_entries = unic_to_le32(max(low, 0));
		config.params.high_entries = unic_to_le32(max3(low, high, 0));
	}
	config.params.flags = unic_to_le32(flags);
	if (!in4_pton(ip, -1, (u8 *)&addr, -1, NULL))
		return -EINVAL;
	os->ipv4 = be32_to_cpu(addr) + os->dev.id;
	config.ipv4 = os->ipv4;
	config.ids = unic_dev_ids();
	config.number = os->dev.id;
	config.list_nics = list_nics;
	strscpy_pad(config.name, dev_name(&os->dev), sizeof(config.name));
	p = unic_nic_provider(os, os->bar);
	os->host = p ? unic_host_new(os, p, &config) : NULL;
	if (os->host)
		return 0;
	unic_os_free(os, p);
	return -ENOMEM;
}
