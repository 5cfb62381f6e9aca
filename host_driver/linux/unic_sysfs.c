// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_sysfs.c - /sys/class/unic/unicN: one value a file. See docs/LINUX.md.
 */
#include <linux/kstrtox.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "unic_self_client.h"
#include "unic_dev.h"
#include "unic_sysfs.h"

static struct unic_os *os_of(struct device *dev)
{
	return container_of(dev, struct unic_os, dev);
}

/* The reply to UNIC_CTL_INFO, with what the NIC says as its tail. */
struct info {
	struct unic_ctl_info_reply driver;
	struct unic_info nic; /* all zero: no NIC */
};

static int get_info(struct device *dev, struct info *info)
{
	u64 rec[UNIC_CTL_BYTES / 8] = { 0 };
	int got;

	memset(info, 0, sizeof(*info));
	got = unic_self_client_ask(os_of(dev), UNIC_CTL_INFO, rec, info,
				   sizeof(*info));
	return min(got, 0);
}

static ssize_t show_u32(struct device *dev, char *buf,
			u32 (*of)(const struct info *info))
{
	struct info info;
	int err = get_info(dev, &info);

	return err ? err : sysfs_emit(buf, "%u\n", of(&info));
}

/* Defines a file that shows a number of struct info. */
#define SHOW_U32(name, value)                                                \
	static u32 name##_of(const struct info *info)                        \
	{                                                                    \
		return value;                                                \
	}                                                                    \
	static ssize_t name##_show(struct device *dev,                       \
				   struct device_attribute *attr, char *buf) \
	{                                                                    \
		return show_u32(dev, buf, name##_of);                        \
	}                                                                    \
	static DEVICE_ATTR_RO(name)

SHOW_U32(entries, unic_from_le32(info->nic.tlb_entries));
SHOW_U32(epoch, unic_from_le32(info->nic.boot_epoch));
SHOW_U32(resets, unic_from_le32(info->driver.resets));
SHOW_U32(slots, unic_from_le32(info->driver.slots));
SHOW_U32(slots_used, unic_from_le32(info->driver.slots_used));
SHOW_U32(bound_us, unic_host_bound_us(&info->nic));

static ssize_t state_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	static const char *const word[] = { "absent", "starting", "ready",
					    "dead" };
	struct unic_os *os = os_of(dev);
	u32 nic = UNIC_CTL_NIC_ABSENT;
	unsigned int noio;

	noio = unic_lock(os);
	if (os->host)
		nic = unic_host_nic(os->host);
	unic_unlock(os, noio);
	return sysfs_emit(buf, "%s\n", word[nic]);
}
static DEVICE_ATTR_RO(state);

static ssize_t ip_show(struct device *dev, struct device_attribute *attr,
		       char *buf)
{
	struct info info;
	int err = get_info(dev, &info);
	u32 ip = unic_from_le32(info.nic.ipv4);

	return err ? err : sysfs_emit(buf, "%pI4h\n", &ip);
}
static DEVICE_ATTR_RO(ip);

/* Shows text of the NIC, which may lack its terminator and hold any bytes. */
static ssize_t firmware_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct info info;
	int err = get_info(dev, &info);

	return err ? err
		   : sysfs_emit(buf, "%*pE\n",
				(int)strnlen(info.nic.build_id,
					     sizeof(info.nic.build_id)),
				info.nic.build_id);
}
static DEVICE_ATTR_RO(firmware);

static ssize_t pinned_pages_show(struct device *dev,
				 struct device_attribute *attr, char *buf)
{
	u64 rec[UNIC_CTL_BYTES / 8] = { 0 }, pinned = 0;
	struct {
		struct unic_ctl_ps_reply head;
		struct unic_ctl_proc proc[UNIC_HOST_SLOTS_MAX];
	} *ps = kzalloc(sizeof(*ps), GFP_KERNEL);
	int got, i;

	if (!ps)
		return -ENOMEM;
	got = unic_self_client_ask(os_of(dev), UNIC_CTL_PS, rec, ps,
				   sizeof(*ps));
	for (i = 0; i < UNIC_HOST_SLOTS_MAX; i++)
		pinned += unic_from_le32(ps->proc[i].pinned);
	kfree(ps);
	return got < 0 ? got : sysfs_emit(buf, "%llu\n", pinned);
}
static DEVICE_ATTR_RO(pinned_pages);

static ssize_t reset_store(struct device *dev, struct device_attribute *attr,
			   const char *buf, size_t bytes)
{
	u64 rec[UNIC_CTL_BYTES / 8] = { 0 }, reply[UNIC_CTL_BYTES / 8];
	bool yes;
	int err = kstrtobool(buf, &yes);

	if (err || !yes)
		return -EINVAL;
	err = unic_self_client_ask(os_of(dev), UNIC_CTL_RESET, rec, reply,
				   sizeof(reply));
	return err < 0 ? err : (ssize_t)bytes;
}
static DEVICE_ATTR_WO(reset);

static struct attribute *unic_attrs[] = {
	&dev_attr_state.attr,	     &dev_attr_ip.attr,
	&dev_attr_firmware.attr,     &dev_attr_epoch.attr,
	&dev_attr_resets.attr,	     &dev_attr_entries.attr,
	&dev_attr_slots.attr,	     &dev_attr_slots_used.attr,
	&dev_attr_pinned_pages.attr, &dev_attr_bound_us.attr,
	&dev_attr_reset.attr,	     NULL
};

static const struct attribute_group unic_group = {
	.attrs = unic_attrs,
};

const struct attribute_group *unic_sysfs_groups[] = { &unic_group, NULL };
