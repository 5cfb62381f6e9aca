// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_cdev.c - /dev/unicN as a device: its number, its class, and how long it
 * lasts; and /dev/unic, which stands for all of them.
 *
 * Secret: what holds references to a device whose NIC is gone.
 */
#include <linux/idr.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "ids.h"
#include "unic_cdev.h"
#include "unic_dev.h"
#include "unic_file.h"
#include "unic_slot.h"
#include "unic_sysfs.h"

#define MINORS 64

static dev_t first_dev;
static struct class *unic_class;
static DEFINE_IDA(minors);
static struct unic_ids ids;

static struct miscdevice any_nic = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "unic",
	.mode = 0666,
	.fops = &unic_file_any_fops,
};

static void dev_release(struct device *dev)
{
	struct unic_os *os = container_of(dev, struct unic_os, dev);

	unic_slots_free(os);
	ida_free(&minors, MINOR(dev->devt) - MINOR(first_dev));
	pci_dev_put(os->pdev);
	kvfree(os);
}

int unic_cdev_prepare(struct unic_os *os, struct device *parent)
{
	int minor = ida_alloc_max(&minors, MINORS - 1, GFP_KERNEL), err;

	if (minor < 0)
		return minor;
	device_initialize(&os->dev);
	os->dev.class = unic_class;
	os->dev.parent = parent;
	os->dev.release = dev_release;
	os->dev.devt = first_dev + minor;
	os->dev.id = minor;
	cdev_init(&os->cdev, &unic_file_fops);
	os->cdev.owner = THIS_MODULE;
	err = dev_set_name(&os->dev, "unic%d", minor);
	if (err)
		ida_free(&minors, minor);
	return err;
}

void unic_cdev_cut(struct unic_os *os)
{
	struct unic_file *f, *next;
	unsigned int noio;

	noio = unic_lock(os);
	os->leaving = true; /* an open under way fails to become a client */
	list_for_each_entry_safe(f, next, &os->files, node)
		unic_file_end(f);
	unic_unlock(os, noio);
}

int unic_cdev_add(struct unic_os *os)
{
	int err = cdev_device_add(&os->cdev, &os->dev);

	if (err) /* a process may have opened the device in between */
		unic_cdev_cut(os);
	return err;
}

void unic_cdev_del(struct unic_os *os)
{
	cdev_device_del(&os->cdev, &os->dev);
	unic_cdev_cut(os);
}

struct unic_os *unic_dev_get(unsigned int number)
{
	struct device *dev;

	if (number >= MINORS)
		return NULL;
	dev = class_find_device_by_devt(unic_class, first_dev + number);
	return dev ? container_of(dev, struct unic_os, dev) : NULL;
}

void unic_dev_put(struct unic_os *os)
{
	put_device(&os->dev);
}

/* The state is that of the engine's last turn: the lock of another NIC is not taken. */
u32 unic_dev_rows(struct unic_ctl_nic_row *row)
{
	unsigned int i;
	u32 n = 0;

	for (i = 0; i < MINORS && n < UNIC_CTL_NICS_MAX; i++) {
		struct unic_os *os = unic_dev_get(i);

		if (!os)
			continue;
		if (!READ_ONCE(os->leaving)) {
			row[n] = (struct unic_ctl_nic_row){
				.number = unic_to_le32(i),
				.state = unic_to_le32(READ_ONCE(os->nic)),
				.ipv4 = unic_to_le32(os->ipv4),
			};
			strscpy_pad(row[n++].name, dev_name(&os->dev),
				    sizeof(row->name));
		}
		unic_dev_put(os);
	}
	return n;
}

struct unic_ids *unic_dev_ids(void)
{
	return &ids;
}

/* Every user may open the device: the core checks the rights of each request. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
static char *class_devnode(const struct device *dev, umode_t *mode)
#else
static char *class_devnode(struct device *dev, umode_t *mode)
#endif
{
	if (mode)
		*mode = 0666;
	return NULL;
}

int unic_cdev_init(void)
{
	static const u64 boot[2]; /* the module does not outlive it */
	int err = alloc_chrdev_region(&first_dev, 0, MINORS, "unic");

	if (err)
		return err;
	unic_ids_init(&ids, NULL, boot);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	unic_class = class_create("unic");
#else
	unic_class = class_create(THIS_MODULE, "unic");
#endif
	if (IS_ERR(unic_class)) {
		unregister_chrdev_region(first_dev, MINORS);
		return PTR_ERR(unic_class);
	}
	unic_class->devnode = class_devnode;
	unic_class->dev_groups = unic_sysfs_groups;
	err = misc_register(&any_nic);
	if (!err)
		return 0;
	class_destroy(unic_class);
	unregister_chrdev_region(first_dev, MINORS);
	return err;
}

void unic_cdev_exit(void)
{
	misc_deregister(&any_nic);
	class_destroy(unic_class);
	unregister_chrdev_region(first_dev, MINORS);
	ida_destroy(&minors);
}
