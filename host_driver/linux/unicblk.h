/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unicblk.h - block devices on files that other hosts export: what its files share.
 *
 *   unicblk_class.c  how disks are added and removed
 *   unicblk_file.c   the file on the other host
 *   unicblk_disk.c   the disk
 *   unicblk_rq.c     how a request becomes an I/O
 */
#ifndef UNICBLK_H
#define UNICBLK_H

#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/list.h>
#include <linux/workqueue.h>

#include "unic_resident.h"

#define UNICBLK_AGAIN_MS 10u /* pause before a failed I/O begins again */

struct unicblk {
	unsigned int number;
	struct unic_resident *resident;
	struct blk_mq_tag_set tags;
	struct gendisk *disk;
	struct list_head list;
	u32 nic, ipv4, timeout_ms;
	u64 bytes;
	bool read_only;
	bool rdma; /* by RDMA where that can be, else by tokens */
	/* I/Os begun again; requests ended in error */
	atomic64_t again, failed;
	/* flushes of writes that the other host has lost */
	atomic64_t lost;
	struct unic_resident_watch watch;
	struct work_struct dead;
	char file[UNIC_KIO_NAME_MAX + 1];
	struct unic_kio_file written; /* under the lock of the service */
};

/* Runs work that no caller waits for; destroyed at unload, before the module's
 * code goes. */
extern struct workqueue_struct *unicblk_later;

#endif /* UNICBLK_H */
