// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unicblk_class.c - block devices on files that other hosts export (unicd --kio-export):
 * network memory, if the file lies in memory there.
 *
 *   echo nic=0 addr=10.0.0.2 file=disk.img size=64M > /sys/class/unicblk/add
 *   echo 0 > /sys/class/unicblk/remove
 *
 * Secret: the words that name a disk, and which disks there are.
 */
#include <linux/blkdev.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "unicblk.h"
#include "unicblk_disk.h"
#include "unicblk_file.h"

#define TIMEOUT_MS     10000u
#define TIMEOUT_MS_MAX 600000u

struct workqueue_struct *unicblk_later;

static char *data = "rdma";
module_param(data, charp, 0444);
MODULE_PARM_DESC(data, "how bytes of disks are moved: rdma to a region of each "
		       "I/O, or token");

static DEFINE_MUTEX(disks_lock);
static LIST_HEAD(disks);

/* ------------------------------------------------------------ words of a disk */

/* What follows "@key=" in @word, or NULL. */
static const char *value_of(const char *word, const char *key)
{
	size_t n = strlen(key);

	return !strncmp(word, key, n) && word[n] == '=' ? word + n + 1 : NULL;
}

static int parse_word(struct unicblk *b, const char *word)
{
	const char *v;
	__be32 ip;

	if (!strcmp(word, "ro")) {
		b->read_only = true;
		return 0;
	}
	v = value_of(word, "nic");
	if (v)
		return kstrtou32(v, 0, &b->nic);
	v = value_of(word, "timeout_ms");
	if (v)
		return kstrtou32(v, 0, &b->timeout_ms);
	v = value_of(word, "size");
	if (v) {
		b->bytes = memparse(v, (char **)&v) & ~(u64)(PAGE_SIZE - 1);
		return *v || !b->bytes ? -EINVAL : 0;
	}
	v = value_of(word, "file");
	if (v)
		return strscpy(b->file, v, sizeof(b->file)) > 0 ? 0 : -EINVAL;
	v = value_of(word, "addr");
	if (!v || !in4_pton(v, -1, (u8 *)&ip, -1, NULL))
		return -EINVAL;
	b->ipv4 = be32_to_cpu(ip);
	return 0;
}

static int parse_disk_spec(struct unicblk *b, char *text)
{
	char *word;
	int err;

	b->timeout_ms = TIMEOUT_MS;
	b->rdma = !strcmp(data, "rdma");
	while ((word = strsep(&text, "\n "))) {
		err = *word ? parse_word(b, word) : 0;
		if (err)
			return err;
	}
	return b->ipv4 && *b->file && b->timeout_ms &&
			       b->timeout_ms <= TIMEOUT_MS_MAX
		       ? 0
		       : -EINVAL;
}

/* ------------------------------------------------------ add and remove files */

/* Makes @b a disk, after the size of its file is read; on error frees @b. */
static int add_or_free_disk(struct unicblk *b)
{
	int err = unicblk_disk_add(b);

	if (err) {
		unic_resident_put(b->resident);
		unicblk_disk_release(b);
		kfree(b);
		return err;
	}
	list_add(&b->list, &disks);
	pr_info("unicblk%u: %s of %pI4h, %llu KiB\n", b->number, b->file,
		&b->ipv4, b->bytes >> 10);
	return 0;
}

/* Gives @b its number, its page service and the size of its file, for
 * unicblk_disk_add(). */
static int acquire_source(struct unicblk *b)
{
	int err = unicblk_disk_reserve(b);

	if (err)
		return err;
	b->resident = unic_resident_get(b->nic);
	err = PTR_ERR_OR_ZERO(b->resident);
	if (!err) {
		err = unicblk_file_open(b);
		if (err && b->resident)
			unic_resident_put(b->resident);
	}
	if (err)
		unicblk_disk_release(b);
	return err;
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define CLASS_ARGS const struct class *class, const struct class_attribute *attr
#else
#define CLASS_ARGS struct class *class, struct class_attribute *attr
#endif

static ssize_t add_store(CLASS_ARGS, const char *buf, size_t count)
{
	struct unicblk *b = kzalloc(sizeof(*b), GFP_KERNEL);
	char *text = kstrndup(buf, count, GFP_KERNEL);
	int err = b && text ? parse_disk_spec(b, text) : -ENOMEM;

	kfree(text);
	if (!err)
		err = acquire_source(b);
	if (err) {
		kfree(b);
		return err;
	}
	mutex_lock(&disks_lock);
	err = add_or_free_disk(b);
	mutex_unlock(&disks_lock);
	return err ? err : count;
}
static CLASS_ATTR_WO(add);

static void remove_listed(struct unicblk *b)
{
	list_del(&b->list);
	unicblk_disk_remove(b);
}

static int remove_number(unsigned int number)
{
	struct unicblk *b;

	list_for_each_entry(b, &disks, list) {
		if (b->number != number)
			continue;
		if (disk_openers(b->disk))
			return -EBUSY;
		remove_listed(b);
		return 0;
	}
	return -ENODEV;
}

static ssize_t remove_store(CLASS_ARGS, const char *buf, size_t count)
{
	unsigned int number;
	int err = kstrtouint(buf, 0, &number);

	if (err)
		return err;
	if (mutex_lock_interruptible(&disks_lock))
		return -EINTR;
	err = remove_number(number);
	mutex_unlock(&disks_lock);
	return err ? err : count;
}
static CLASS_ATTR_WO(remove);

static struct attribute *class_attrs[] = {
	&class_attr_add.attr,
	&class_attr_remove.attr,
	NULL,
};
ATTRIBUTE_GROUPS(class);

static struct class unicblk_class = { .name = "unicblk",
				      .class_groups = class_groups };

static int __init unicblk_init(void)
{
	int err;

	if (strcmp(data, "token") && strcmp(data, "rdma")) {
		pr_err("unicblk: data=%s: token or rdma\n", data);
		return -EINVAL;
	}
	unicblk_later = alloc_workqueue("unicblk", WQ_UNBOUND, 0);
	if (!unicblk_later)
		return -ENOMEM;
	err = class_register(&unicblk_class);
	if (err)
		destroy_workqueue(unicblk_later);
	return err;
}

static void __exit unicblk_exit(void)
{
	struct unicblk *b, *next;

	class_unregister(&unicblk_class);
	list_for_each_entry_safe(b, next, &disks, list)
		remove_listed(b);
	destroy_workqueue(unicblk_later);
	unicblk_disk_exit();
}

module_init(unicblk_init);
module_exit(unicblk_exit);
MODULE_DESCRIPTION("block devices on memory of other hosts, over unic");
MODULE_VERSION(UNIC_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
