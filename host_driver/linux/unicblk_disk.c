// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unicblk_disk.c - a disk of the block layer, and what sysfs shows of it.
 *
 * Secret: how the block layer's functions differ from kernel to kernel, and how long a
 * disk lasts whose NIC is gone.
 */
#include <linux/blkdev.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "unicblk.h"
#include "unicblk_disk.h"
#include "unicblk_rq.h"

static DEFINE_IDA(numbers);

/* -------------------------------------------- the block layer, by its version */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
static struct gendisk *disk_new(struct unicblk *b)
{
	struct queue_limits limits = {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
		.features = BLK_FEAT_WRITE_CACHE,
#endif
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = PAGE_SIZE,
		.max_hw_sectors = unic_resident_max(b->resident) >>
				  SECTOR_SHIFT,
		.max_segments = UNIC_TOKEN_PIECES,
		.max_segment_size = UNIC_KIO_MAX,
	};

	return blk_mq_alloc_disk(&b->tags, &limits, b);
}
#else
static struct gendisk *disk_new(struct unicblk *b)
{
	struct gendisk *disk = blk_mq_alloc_disk(&b->tags, b);
	struct request_queue *q;

	if (IS_ERR(disk))
		return disk;
	q = disk->queue;
	blk_queue_logical_block_size(q, SECTOR_SIZE);
	blk_queue_physical_block_size(q, PAGE_SIZE);
	blk_queue_max_hw_sectors(q, unic_resident_max(b->resident) >>
					    SECTOR_SHIFT);
	blk_queue_max_segments(q, UNIC_TOKEN_PIECES);
	blk_queue_max_segment_size(q, UNIC_KIO_MAX);
	return disk;
}
#endif

/* The disk has a write cache, which a flush empties, and does not rotate. */
static void set_features(struct request_queue *q)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_write_cache(q, true, false);
#endif
}

/* --------------------------------------------------------------------- sysfs */

static ssize_t again_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct unicblk *b = dev_to_disk(dev)->private_data;

	return sysfs_emit(buf, "%lld\n", (s64)atomic64_read(&b->again));
}
static DEVICE_ATTR_RO(again);

static ssize_t data_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct unicblk *b = dev_to_disk(dev)->private_data;

	return sysfs_emit(buf, "%s\n", b->rdma ? "rdma" : "token");
}
static DEVICE_ATTR_RO(data);

static ssize_t failed_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct unicblk *b = dev_to_disk(dev)->private_data;

	return sysfs_emit(buf, "%lld\n", (s64)atomic64_read(&b->failed));
}
static DEVICE_ATTR_RO(failed);

static ssize_t lost_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct unicblk *b = dev_to_disk(dev)->private_data;

	return sysfs_emit(buf, "%lld\n", (s64)atomic64_read(&b->lost));
}
static DEVICE_ATTR_RO(lost);

static ssize_t source_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct unicblk *b = dev_to_disk(dev)->private_data;

	return sysfs_emit(buf, "nic=%u addr=%pI4h file=%s\n", b->nic, &b->ipv4,
			  b->file);
}
static DEVICE_ATTR_RO(source);

static ssize_t window_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct unicblk *b = dev_to_disk(dev)->private_data;

	return sysfs_emit(buf, "%u\n", unic_resident_window(b->resident));
}
static DEVICE_ATTR_RO(window);

static struct attribute *disk_attrs[] = {
	&dev_attr_again.attr,
	&dev_attr_data.attr,
	&dev_attr_failed.attr,
	&dev_attr_lost.attr,
	&dev_attr_source.attr,
	&dev_attr_window.attr,
	NULL,
};

static const struct attribute_group disk_group = { .name = "unicblk",
						   .attrs = disk_attrs };
static const struct attribute_group *disk_groups[] = { &disk_group, NULL };

/* ----------------------------------------------------------------- lifetime */

static void unicblk_free(struct gendisk *disk)
{
	struct unicblk *b = disk->private_data;

	ida_free(&numbers, b->number);
	kfree(b);
}

static const struct block_device_operations disk_ops = {
	.owner = THIS_MODULE,
	.free_disk = unicblk_free,
};

/* Makes the disk of @b, which frees @b with the last reference to the disk. */
static int make_disk(struct unicblk *b)
{
	struct gendisk *disk;
	int err = unicblk_rq_tags(&b->tags);

	if (err)
		return err;
	disk = disk_new(b);
	if (IS_ERR(disk)) {
		blk_mq_free_tag_set(&b->tags);
		return PTR_ERR(disk);
	}
	b->disk = disk;
	set_features(disk->queue);
	disk->private_data = b;
	disk->fops = &disk_ops;
	snprintf(disk->disk_name, sizeof(disk->disk_name), "unicblk%u",
		 b->number);
	set_capacity(disk, b->bytes >> SECTOR_SHIFT);
	set_disk_ro(disk, b->read_only);
	return 0;
}

static void dead_work(struct work_struct *work)
{
	blk_mark_disk_dead(container_of(work, struct unicblk, dead)->disk);
}

/* Marks the disk dead, so that all its I/O fails at once. */
static void nic_gone(struct unic_resident_watch *watch)
{
	queue_work(unicblk_later,
		   &container_of(watch, struct unicblk, watch)->dead);
}

void unicblk_disk_remove(struct unicblk *b)
{
	unic_resident_unwatch(b->resident, &b->watch);
	flush_work(&b->dead);
	del_gendisk(b->disk);
	blk_mq_free_tag_set(&b->tags);
	unic_resident_put(b->resident);
	put_disk(b->disk);
}

int unicblk_disk_add(struct unicblk *b)
{
	int err = make_disk(b);

	if (err)
		return err;
	err = device_add_disk(NULL, b->disk, disk_groups);
	if (err) { /* free_disk() is not called for a disk that was not added */
		put_disk(b->disk);
		blk_mq_free_tag_set(&b->tags);
		return err;
	}
	b->watch.gone = nic_gone;
	if (!unic_resident_watch(b->resident, &b->watch))
		queue_work(unicblk_later, &b->dead);
	return 0;
}

int unicblk_disk_reserve(struct unicblk *b)
{
	int n = ida_alloc(&numbers, GFP_KERNEL);

	if (n < 0)
		return n;
	b->number = n;
	INIT_WORK(&b->dead, dead_work);
	return 0;
}

void unicblk_disk_release(struct unicblk *b)
{
	ida_free(&numbers, b->number);
}

void unicblk_disk_exit(void)
{
	ida_destroy(&numbers);
}
