// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unicblk.c - block devices on files that other hosts export (unicd --kio-export):
 * network memory, if the file lies in memory there.
 *
 *   echo nic=0 addr=10.0.0.2 file=disk.img size=64M > /sys/class/unicblk/add
 *   echo 0 > /sys/class/unicblk/remove
 *
 * Secret: how a request becomes an I/O of the page service. Its pages are moved where
 * they are, all at once: to them by a payload token that names them, from them by a
 * form that is made of them.
 *
 * What the service could not do for now (no token, no connection, the NIC was
 * reset) is begun again until the request's time is over: then, and only then, or
 * when the other host says so, it fails. Each I/O may be done twice.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/idr.h>
#include <linux/inet.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "unic_resident.h"

#define DEPTH	       64u /* requests open; the service takes what it can */
#define AGAIN_MS       10u
#define TIMEOUT_MS     10000u
#define TIMEOUT_MS_MAX 600000u
#define SET_UP_MS      10000u

struct unicblk {
	unsigned int number;
	struct unic_resident *resident;
	struct blk_mq_tag_set tags;
	struct gendisk *disk;
	struct list_head list;
	u32 nic, ipv4, timeout_ms;
	u64 bytes;
	bool read_only;
	atomic64_t again, failed; /* begun again; ended in error */
	atomic64_t lost;	  /* flushes of what the other host has lost */
	struct unic_resident_watch watch;
	struct work_struct dead;
	char file[UNIC_KIO_NAME_MAX + 1];
	struct unic_kio_file written; /* under the lock of the service */
};

/* Behind each request. */
struct unicblk_pdu {
	struct unic_resident_io io;
	blk_status_t status;
	struct scatterlist sg[UNIC_TOKEN_PIECES];
};

static DEFINE_MUTEX(disks_lock);
static LIST_HEAD(disks);
static DEFINE_IDA(numbers);
static struct workqueue_struct
	*later; /* what nobody waits for; ends before us */

/* -------------------------------------------- the block layer, by its version */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define map_sg(rq, sg) blk_rq_map_sg(rq, sg)
#else
#define map_sg(rq, sg) blk_rq_map_sg((rq)->q, rq, sg)
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define MERGE 0 /* always */
#else
#define MERGE BLK_MQ_F_SHOULD_MERGE
#endif

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

/* It has a cache, which a flush empties, and no heads. */
static void set_features(struct request_queue *q)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_write_cache(q, true, false);
#endif
}

/* ------------------------------------------------------------------- ends */

static void end_rq(struct request *rq, blk_status_t status)
{
	struct unicblk *b = rq->q->queuedata;
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (status)
		atomic64_inc(&b->failed);
	pdu->status = status;
	/* a lock of the driver is held: so who waits is told as if by an
	 * interrupt, and begins nothing new in our place */
	local_bh_disable();
	blk_mq_complete_request(rq);
	local_bh_enable();
}

static void unicblk_complete(struct request *rq)
{
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	blk_mq_end_request(rq, pdu->status);
}

/* The block layer gives it to us again. */
static void retry_or_end(struct request *rq)
{
	struct request_queue *q = rq->q;
	struct unicblk *b = q->queuedata;
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);

	if (ktime_get_ns() >= pdu->io.io.deadline_ns) {
		end_rq(rq, BLK_STS_TIMEOUT);
		return;
	}
	atomic64_inc(&b->again);
	blk_mq_requeue_request(rq, false);
	blk_mq_delay_kick_requeue_list(q, AGAIN_MS);
}

/* What was answered since the flush before is not there, or not for long: the server
 * was another one in between, or its disk failed. */
static void flush_failed(struct request *rq)
{
	struct unicblk *b = rq->q->queuedata;

	atomic64_inc(&b->lost);
	pr_err_ratelimited("unicblk%u: the other host lost writes\n",
			   b->number);
	end_rq(rq, BLK_STS_IOERR);
}

static void rq_io_done(struct unic_resident_io *io, int status, u32 bytes)
{
	struct unicblk_pdu *pdu = container_of(io, struct unicblk_pdu, io);
	struct request *rq = blk_mq_rq_from_pdu(pdu);

	if (!status) /* else the file has become shorter */
		end_rq(rq, bytes == io->io.len ? BLK_STS_OK : BLK_STS_IOERR);
	else if (status == -EREMOTEIO && io->io.op == UNIC_KIO_SYNC)
		flush_failed(rq);
	else if (status == -EREMOTEIO) /* its word means nothing else to us */
		end_rq(rq,
		       io->io.remote == ENOSPC ? BLK_STS_NOSPC : BLK_STS_IOERR);
	else if (status == -ENODEV)
		end_rq(rq, BLK_STS_IOERR);
	else
		retry_or_end(rq);
}

/* ----------------------------------------------------------------- blk-mq */

static int op_of(const struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return UNIC_KIO_READ;
	case REQ_OP_WRITE:
		return UNIC_KIO_WRITE;
	case REQ_OP_FLUSH:
		return UNIC_KIO_SYNC;
	default:
		return -EOPNOTSUPP;
	}
}

static void name_file(const struct unicblk *b, struct unic_kio *io)
{
	io->name_bytes = strlen(b->file);
	memcpy(io->name, b->file, io->name_bytes);
}

/* Once, however often it is begun. */
static blk_status_t prepare_rq(struct unicblk *b, struct request *rq)
{
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	struct unic_resident_io *r = &pdu->io;
	struct unic_kio *io = &r->io;
	int op = op_of(rq);

	if (op < 0)
		return BLK_STS_NOTSUPP;
	io->op = op;
	io->len = op == UNIC_KIO_SYNC ? 0 : blk_rq_bytes(rq);
	io->offset = io->len ? (u64)blk_rq_pos(rq) << SECTOR_SHIFT : 0;
	name_file(b, io);
	io->file = op == UNIC_KIO_READ ? NULL : &b->written;
	io->deadline_ns = ktime_get_ns() + (u64)b->timeout_ms * NSEC_PER_MSEC;
	sg_init_table(pdu->sg, UNIC_TOKEN_PIECES);
	r->sg = pdu->sg;
	r->elements = io->len ? map_sg(rq, pdu->sg) : 0;
	r->dir = rq_dma_dir(rq);
	r->done = rq_io_done;
	rq->rq_flags |= RQF_DONTPREP;
	return BLK_STS_OK;
}

static blk_status_t unicblk_queue_rq(struct blk_mq_hw_ctx *hctx,
				     const struct blk_mq_queue_data *bd)
{
	struct unicblk *b = hctx->queue->queuedata;
	struct request *rq = bd->rq;
	struct unicblk_pdu *pdu = blk_mq_rq_to_pdu(rq);
	blk_status_t status;
	int err;

	if (!(rq->rq_flags & RQF_DONTPREP)) {
		status = prepare_rq(b, rq);
		if (status)
			return status;
	}
	blk_mq_start_request(rq);
	err = unic_resident_start(b->resident, &pdu->io, b->ipv4);
	if (err == -EBUSY)
		retry_or_end(rq);
	else if (err)
		end_rq(rq, errno_to_blk_status(err));
	return BLK_STS_OK;
}

/* It has a deadline of its own, and the NIC has its pages until it ends. */
static enum blk_eh_timer_return unicblk_timeout(struct request *rq)
{
	return BLK_EH_RESET_TIMER;
}

static const struct blk_mq_ops mq_ops = {
	.queue_rq = unicblk_queue_rq,
	.complete = unicblk_complete,
	.timeout = unicblk_timeout,
};

/* --------------------------------------------- the file, before it is a disk */

/* Who asked may be gone before the answer: then it is the answer's. As long as there is
 * one, the module stays. */
enum question_state {
	ASKED,
	ANSWERED,
	LEFT,
};

struct question {
	struct unic_resident_io io;
	struct completion over;
	atomic_t state;
	int status;
	struct unic_resident *of; /* LEFT: its, too */
	struct work_struct end;
};

static void question_free(struct question *q)
{
	kfree(q);
	module_put(THIS_MODULE); /* for our last steps unicblk_exit() waits */
}

static void question_end(struct work_struct *work)
{
	struct question *q = container_of(work, struct question, end);

	unic_resident_put(q->of);
	question_free(q);
}

/* A peer's word: not one of our kernel's own, nor none. */
static int error_of(u32 remote)
{
	return remote && remote <= EHWPOISON ? -(int)remote : -EIO;
}

static void question_done(struct unic_resident_io *io, int status, u32 bytes)
{
	struct question *q = container_of(io, struct question, io);

	q->status = status == -EREMOTEIO ? error_of(io->io.remote) : status;
	if (status == -ENOLINK || status == -EIO)
		q->status = -EAGAIN;
	if (atomic_cmpxchg(&q->state, ASKED, ANSWERED) == LEFT)
		queue_work(later, &q->end);
	else
		complete(&q->over);
}

static struct question *question_new(struct unicblk *b, u8 op, u64 offset,
				     u64 deadline_ns)
{
	struct question *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q || !try_module_get(THIS_MODULE)) {
		kfree(q);
		return NULL;
	}
	init_completion(&q->over);
	INIT_WORK(&q->end, question_end);
	q->of = b->resident;
	q->io.io.op = op;
	name_file(b, &q->io.io);
	q->io.io.offset = offset;
	q->io.io.deadline_ns = deadline_ns;
	q->io.done = question_done;
	return q;
}

/* -EINTR: somebody does not want to wait any more, for a NIC that is dead perhaps;
 * b->resident is not the caller's then. */
static int do_file_op_once(struct unicblk *b, u8 op, u64 offset,
			   u64 deadline_ns, u64 *size)
{
	struct question *q = question_new(b, op, offset, deadline_ns);
	int err;

	if (!q)
		return -ENOMEM;
	err = unic_resident_start(b->resident, &q->io, b->ipv4);
	if (!err && wait_for_completion_interruptible(&q->over)) {
		if (atomic_cmpxchg(&q->state, ASKED, LEFT) == ASKED) {
			b->resident = NULL;
			return -EINTR;
		}
		wait_for_completion(&q->over); /* it is being answered */
	}
	if (!err)
		err = q->status;
	*size = q->io.io.size;
	question_free(q);
	return err;
}

/* STAT or CUT, asked again until SET_UP_MS are over. 0 or a negative errno. */
static int do_file_op(struct unicblk *b, u8 op, u64 offset, u64 *size)
{
	u64 deadline = ktime_get_ns() + (u64)SET_UP_MS * NSEC_PER_MSEC;
	int err;

	do {
		err = do_file_op_once(b, op, offset, deadline, size);
		if ((err == -EAGAIN || err == -EBUSY) &&
		    msleep_interruptible(AGAIN_MS))
			err = -EINTR;
	} while ((err == -EAGAIN || err == -EBUSY) &&
		 ktime_get_ns() < deadline);
	return err;
}

/* As long as is wanted: a file that is shorter, or none yet, is made so long; one
 * that is longer stays as it is. */
static int stat_or_extend_file(struct unicblk *b)
{
	u64 size = 0;
	int err = do_file_op(b, UNIC_KIO_STAT, 0, &size);

	if (b->bytes && !b->read_only &&
	    (err == -ENOENT || (!err && size < b->bytes))) {
		err = do_file_op(b, UNIC_KIO_CUT, b->bytes, &size);
		size = b->bytes;
	}
	if (!err && (!b->bytes || size < b->bytes))
		b->bytes = size;
	/* a peer's word, too: what the system counts bytes of a disk with is signed */
	if (!err && (b->bytes < PAGE_SIZE || b->bytes > S64_MAX))
		err = -EINVAL;
	return err;
}

/* -------------------------------------------------------------------- disks */

static ssize_t again_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct unicblk *b = dev_to_disk(dev)->private_data;

	return sysfs_emit(buf, "%lld\n", (s64)atomic64_read(&b->again));
}
static DEVICE_ATTR_RO(again);

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
	&dev_attr_again.attr,  &dev_attr_failed.attr, &dev_attr_lost.attr,
	&dev_attr_source.attr, &dev_attr_window.attr, NULL,
};

static const struct attribute_group disk_group = { .name = "unicblk",
						   .attrs = disk_attrs };
static const struct attribute_group *disk_groups[] = { &disk_group, NULL };

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

/* The disk has @b from then on, for as long as somebody has the disk. */
static int make_disk(struct unicblk *b)
{
	struct gendisk *disk;
	int err;

	b->tags.ops = &mq_ops;
	b->tags.nr_hw_queues = 1;
	b->tags.queue_depth = DEPTH;
	b->tags.numa_node = NUMA_NO_NODE;
	b->tags.cmd_size = sizeof(struct unicblk_pdu);
	b->tags.flags = MERGE | BLK_MQ_F_BLOCKING;
	err = blk_mq_alloc_tag_set(&b->tags);
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

/* Nobody waits for a NIC that is gone, nor has to find out I/O by I/O. */
static void nic_gone(struct unic_resident_watch *watch)
{
	queue_work(later, &container_of(watch, struct unicblk, watch)->dead);
}

/* The rest of @b goes with the last reference to the disk. */
static void remove_disk(struct unicblk *b)
{
	list_del(&b->list);
	unic_resident_unwatch(b->resident, &b->watch);
	flush_work(&b->dead);
	del_gendisk(b->disk);
	blk_mq_free_tag_set(&b->tags);
	unic_resident_put(b->resident);
	put_disk(b->disk);
}

static int add_disk_of(struct unicblk *b)
{
	int err = make_disk(b);

	if (err)
		return err;
	err = device_add_disk(NULL, b->disk, disk_groups);
	if (err) { /* then nobody calls unicblk_free() */
		put_disk(b->disk);
		blk_mq_free_tag_set(&b->tags);
		return err;
	}
	b->watch.gone = nic_gone;
	if (!unic_resident_watch(b->resident, &b->watch))
		queue_work(later, &b->dead);
	return 0;
}

/* @b, its file known, becomes a disk, or is freed. */
static int add_or_free_disk(struct unicblk *b)
{
	int err = add_disk_of(b);

	if (err) {
		unic_resident_put(b->resident);
		ida_free(&numbers, b->number);
		kfree(b);
		return err;
	}
	list_add(&b->list, &disks);
	pr_info("unicblk%u: %s of %pI4h, %llu KiB\n", b->number, b->file,
		&b->ipv4, b->bytes >> 10);
	return 0;
}

/* ------------------------------------------------------ add and remove files */

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

	INIT_WORK(&b->dead, dead_work);
	b->timeout_ms = TIMEOUT_MS;
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

/* A number, the service, and the file: what make_disk() wants. */
static int acquire_source(struct unicblk *b)
{
	int n = ida_alloc(&numbers, GFP_KERNEL), err;

	if (n < 0)
		return n;
	b->number = n;
	b->resident = unic_resident_get(b->nic);
	err = PTR_ERR_OR_ZERO(b->resident);
	if (!err) {
		err = stat_or_extend_file(b);
		if (err && b->resident)
			unic_resident_put(b->resident);
	}
	if (err)
		ida_free(&numbers, n);
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

static int remove_number(unsigned int number)
{
	struct unicblk *b;

	list_for_each_entry(b, &disks, list) {
		if (b->number != number)
			continue;
		if (disk_openers(b->disk))
			return -EBUSY;
		remove_disk(b);
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

	later = alloc_workqueue("unicblk", WQ_UNBOUND, 0);
	if (!later)
		return -ENOMEM;
	err = class_register(&unicblk_class);
	if (err)
		destroy_workqueue(later);
	return err;
}

static void __exit unicblk_exit(void)
{
	struct unicblk *b, *next;

	class_unregister(&unicblk_class);
	list_for_each_entry_safe(b, next, &disks, list)
		remove_disk(b);
	destroy_workqueue(later);
	ida_destroy(&numbers);
}

module_init(unicblk_init);
module_exit(unicblk_exit);
MODULE_DESCRIPTION("block devices on memory of other hosts, over unic");
MODULE_VERSION(UNIC_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
