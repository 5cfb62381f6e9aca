// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_cdev.c - /dev/unicN: see abi/unic_ioctl.h.
 *
 * An open file is a client of the core until the first of: its last reference
 * goes, the address space of its process ends, the device goes. Its slot, if it
 * has one, is nobody else's before the last reference goes.
 */
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>
#include <linux/version.h>

#include "frames_user.h"
#include "unic_ahead.h"
#include "unic_cdev.h"
#include "unic_dev.h"
#include "unic_engine.h"
#include "unic_ioctl.h"
#include "unic_mem.h"
#include "unic_pci.h"
#include "unic_slot.h"
#include "unic_sysfs.h"
#include "unic_trace.h"

#define MINORS 64
/* Requests under way and replies that nobody fetched; of who has said HELLO. */
#define STRANGER_MAX 2
#define REPLIES_MAX  (2 * UNIC_CTL_OPEN_MAX)

/* A place for the reply to a request: who asks makes it, before the lock and at his
 * own expense, so that the answer finds it. */
struct unic_reply {
	struct list_head node;
	u32 seq, room, bytes;
	u8 *msg; /* room for as much as is asked for, a record at least */
};

struct unic_file {
	struct unic_client core;
	struct unic_os *os;
	struct list_head node; /* of os->files, while it is a client */
	struct unic_mem *mem;
	bool ended; /* no client any more */
	u32 slot;   /* that it has or had, not that it has asked for */
	wait_queue_head_t wait, answered; /* for upcalls; for replies */
	struct fasync_struct *fasync;
	bool upcalls, cqs;		/* to be read */
	struct list_head open, replies; /* places: to be filled, to be read */
	u32 places;
	struct unic_reply *spare;
};

static dev_t first_dev;
static struct class *unic_class;
static DEFINE_IDA(minors);

/* ---------------------------------------------------- what others do to it */

struct unic_file *unic_file_of(struct unic_client *client)
{
	return container_of(client, struct unic_file, core);
}

struct unic_mem *unic_file_mem(struct unic_file *f)
{
	return f->mem;
}

void unic_file_upcall(struct unic_file *f)
{
	WRITE_ONCE(f->upcalls, true);
	wake_up_interruptible_poll(&f->wait, EPOLLIN);
	kill_fasync(&f->fasync, SIGIO, POLL_IN);
}

void unic_file_cq(struct unic_file *f)
{
	WRITE_ONCE(f->cqs, true);
	wake_up_interruptible_poll(&f->wait, EPOLLIN);
}

/* Its connection ends; os->lock is held. */
static void end_client(struct unic_file *f)
{
	if (f->ended)
		return;
	f->ended = true;
	list_del(&f->node);
	if (f->os->host)
		unic_host_client_gone(f->os->host, &f->core);
	wake_up_all(&f->wait);
	wake_up_all(&f->answered);
	unic_dev_kick(f->os);
}

static struct unic_reply *find_reply(struct list_head *places, u32 seq)
{
	struct unic_reply *r;

	list_for_each_entry(r, places, node)
		if (r->seq == seq)
			return r;
	return NULL;
}

void unic_file_reply(struct unic_file *f, const void *msg, u32 bytes)
{
	struct unic_reply *r;
	struct unic_ctl_hdr hdr;

	memcpy(&hdr, msg, sizeof(hdr));
	r = find_reply(&f->open, unic_from_le32(hdr.seq));
	if (WARN_ON_ONCE(!r)) /* each request brings its place */
		return;
	r->bytes = min(bytes, r->room);
	memcpy(r->msg, msg, r->bytes);
	list_move_tail(&r->node, &f->replies);
	if (wq_has_sleeper(&f->answered))
		wake_up_interruptible_all(&f->answered);
}

void unic_file_has_slot(struct unic_file *f, u32 slot)
{
	WRITE_ONCE(f->slot, slot);
}

static void reply_discard(struct unic_reply *r)
{
	if (r)
		free_pages_exact(r->msg, r->room);
	kfree(r);
}

/* The next one may use it. */
static void reply_free(struct unic_file *f, struct unic_reply *r)
{
	reply_discard(r ? xchg(&f->spare, r) : NULL);
}

/* For a reply of @room bytes at most; no lock is held. */
static struct unic_reply *reply_new(struct unic_file *f, u32 room)
{
	struct unic_reply *r = xchg(&f->spare, NULL);

	if (r && r->room >= room)
		return r;
	reply_discard(r);
	r = kzalloc(sizeof(*r), GFP_KERNEL_ACCOUNT);
	if (!r)
		return NULL;
	r->room = room;
	/* most make room for the longest, which is whole pages */
	r->msg = alloc_pages_exact(room, GFP_KERNEL_ACCOUNT);
	if (r->msg)
		return r;
	kfree(r);
	return NULL;
}

static void discard_all(struct list_head *places)
{
	struct unic_reply *r, *next;

	list_for_each_entry_safe(r, next, places, node)
		reply_discard(r);
}

/* --------------------------------------------------------------- open, release */

/* The process has no memory any more. */
static void mem_ended(struct unic_mem *mem)
{
	struct unic_file *f = mem->owner;
	unsigned int noio;

	noio = unic_lock(f->os);
	end_client(f);
	unic_unlock(f->os, noio);
}

/* Whose limits count: the ids that a user made up in a namespace of his own are that
 * user's. */
static u32 accounting_uid(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_euid();

	for (; ns != &init_user_ns; ns = ns->parent)
		uid = ns->owner;
	return from_kuid_munged(&init_user_ns, uid);
}

static struct unic_file *file_new(struct unic_os *os)
{
	struct unic_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return NULL;
	f->os = os;
	f->slot = UNIC_OS_NO_SLOT;
	f->core.slot = UNIC_OS_NO_SLOT;
	f->core.pid = task_tgid_nr(current);
	f->core.uid = accounting_uid();
	/* it is no offence not to be privileged */
	f->core.privileged = ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
	init_waitqueue_head(&f->wait);
	init_waitqueue_head(&f->answered);
	INIT_LIST_HEAD(&f->open);
	INIT_LIST_HEAD(&f->replies);
	return f;
}

static int unic_open(struct inode *inode, struct file *file)
{
	struct unic_os *os = container_of(inode->i_cdev, struct unic_os, cdev);
	struct unic_file *f = file_new(os);
	unsigned int noio;

	if (!f)
		return -ENOMEM;
	f->mem = unic_mem_new(os, f, f->core.uid, mem_ended);
	if (IS_ERR(f->mem)) {
		int err = PTR_ERR(f->mem);

		kfree(f);
		return err;
	}
	noio = unic_lock(os);
	if (!os->leaving)
		list_add(&f->node, &os->files);
	else
		f->ended = true;
	unic_unlock(os, noio);
	get_device(&os->dev);
	file->private_data = f;
	return stream_open(inode, file);
}

/* A descriptor is closed. When its process ends, or is another program now, it is no
 * client any more, though its memory, and with it this file, may be kept by who
 * waits for a page of it. */
static int unic_flush(struct file *file, fl_owner_t id)
{
	struct unic_file *f = file->private_data;

	if (task_tgid_nr(current) == f->core.pid && current->mm != f->mem->mm)
		mem_ended(f->mem);
	return 0;
}

static int unic_release(struct inode *inode, struct file *file)
{
	struct unic_file *f = file->private_data;
	struct unic_os *os = f->os;
	unsigned int noio;

	unic_mem_leave(f->mem);
	noio = unic_lock(os);
	end_client(f);
	if (f->slot != UNIC_OS_NO_SLOT)
		unic_slot_leave(os, f->slot);
	unic_unlock(os, noio);
	discard_all(&f->open);
	discard_all(&f->replies);
	reply_discard(f->spare);
	kfree(f);
	put_device(&os->dev);
	return 0;
}

/* -------------------------------------------------------------------- a call */

/* Its reply, if it is there: it is the caller's. */
static struct unic_reply *dequeue_reply(struct unic_file *f, u32 seq)
{
	struct unic_reply *r = find_reply(&f->replies, seq);

	if (r) {
		list_del(&r->node);
		f->places--;
	}
	return r;
}

struct awaited {
	struct unic_file *f;
	u32 seq;
	struct unic_reply *place; /* for the reply, until it is asked */
	struct unic_reply *reply;
	int err; /* it was not asked */
};

static bool is_call_done(void *arg)
{
	struct awaited *a = arg;

	a->reply = dequeue_reply(a->f, a->seq);
	return a->reply || a->f->ended || a->err;
}

static bool is_full(const struct unic_file *f)
{
	return READ_ONCE(f->places) >= (READ_ONCE(f->slot) == UNIC_OS_NO_SLOT
						? STRANGER_MAX
						: REPLIES_MAX);
}

/* @pins: what was fetched for it; what is left of them stays there. */
static int issue_request(struct awaited *a, const void *msg, u32 bytes,
			 struct list_head *pins)
{
	struct unic_file *f = a->f;
	struct unic_os *os = f->os;
	struct unic_frame_tables *t = NULL;
	struct unic_reply *r = a->place;

	if (is_full(f))
		return -EAGAIN;
	if (f->core.slot != UNIC_OS_NO_SLOT) {
		t = os->slot[f->core.slot].frames;
		unic_pins_ready(t, pins);
	}
	a->place = NULL;
	f->places++;
	list_add_tail(&r->node, &f->open);
	trace_unic_request(os, f->core.pid, msg, bytes);
	/* a record is there, so it is answered */
	unic_host_request(os->host, &f->core, msg, bytes);
	if (t)
		unic_pins_ready(t, NULL);
	return 0;
}

/* Who asks polls, so the NIC does not ring. */
static int issue_and_spin(struct awaited *a, const void *msg, u32 bytes,
			  struct list_head *pins)
{
	struct unic_os *os = a->f->os;
	unsigned int noio = unic_lock(os);

	if (!a->f->ended) {
		unic_host_rest(os->host, false);
		a->err = issue_request(a, msg, bytes, pins);
		unic_engine_spin(os, is_call_done, a);
	} else {
		a->err = -ENODEV;
	}
	unic_unlock(os, noio);
	return a->err;
}

/* With a place for the reply, and what is to be registered, at hand. */
static int submit_msg(struct awaited *a, const void *msg, u32 bytes, u32 room)
{
	struct unic_ctl_hdr hdr;
	LIST_HEAD(pins);
	int err;

	if (is_full(a->f))
		return -EAGAIN; /* nor is memory taken for it */
	a->place = reply_new(a->f, room);
	if (!a->place)
		return -ENOMEM;
	memcpy(&hdr, msg, sizeof(hdr));
	a->place->seq = unic_from_le32(hdr.seq);
	err = unic_ahead(a->f->mem, &a->f->core, msg, bytes, &pins);
	if (!err)
		err = issue_and_spin(a, msg, bytes, &pins);
	unic_ahead_drop(a->f->mem, &pins);
	reply_free(a->f, a->place);
	return err;
}

static int submit_user_msg(struct awaited *a, const struct unic_ioc_call *call)
{
	u32 bytes = unic_from_le32(call->bytes);
	u32 room = min(unic_from_le32(call->room), UNIC_CTL_MSG_MAX);
	const void __user *from = u64_to_user_ptr(unic_from_le64(call->msg));
	u64 record[UNIC_CTL_BYTES / 8];
	void *msg = record;
	int err;

	if (bytes < sizeof(record) || room < sizeof(record))
		return -EINVAL;
	if (bytes > UNIC_CTL_MSG_MAX)
		return -EMSGSIZE;
	if (bytes > sizeof(record))
		msg = memdup_user(from, bytes);
	else if (copy_from_user(record, from, sizeof(record)))
		return -EFAULT;
	if (IS_ERR(msg))
		return PTR_ERR(msg);
	err = submit_msg(a, msg, bytes, room);
	if (msg != record)
		kfree(msg);
	return err;
}

static bool poll_reply(struct awaited *a)
{
	unsigned int noio = unic_lock(a->f->os);
	bool over = is_call_done(a);

	unic_unlock(a->f->os, noio);
	return over;
}

/* Looks again whenever anybody is answered; sleeps with its state set before it
 * looks, so that no reply is slept through. */
static int wait_reply(struct awaited *a, u64 until_ns)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long left = MAX_SCHEDULE_TIMEOUT;
	int err = 0;

	add_wait_queue(&a->f->answered, &wait);
	while (!poll_reply(a) && !err) {
		u64 now = ktime_get_ns();

		if (until_ns && now < until_ns)
			left = nsecs_to_jiffies(until_ns - now) + 1;
		if (signal_pending(current))
			err = -ERESTARTSYS;
		else if (until_ns && now >= until_ns)
			err = -ETIMEDOUT;
		else
			wait_woken(&wait, TASK_INTERRUPTIBLE, left);
	}
	remove_wait_queue(&a->f->answered, &wait);
	if (a->reply)
		return 0;
	return err ? err : -ENODEV;
}

/* The record, and of the tail what there is room for. */
static int copy_reply_to_user(const struct unic_reply *r,
			      struct unic_ioc_call *call)
{
	u8 __user *to = u64_to_user_ptr(unic_from_le64(call->reply));
	u32 got = min(r->bytes, unic_from_le32(call->room));

	if (got < UNIC_CTL_BYTES)
		return -EINVAL;
	if (copy_to_user(to, r->msg, got))
		return -EFAULT;
	call->got = unic_to_le32(got);
	return 0;
}

static long ioc_call(struct unic_file *f, struct unic_ioc_call __user *arg)
{
	struct unic_ioc_call call;
	struct awaited a = { .f = f };
	int err = 0;

	if (copy_from_user(&call, arg, sizeof(call)))
		return -EFAULT;
	a.seq = unic_from_le32(call.seq);
	if (call.bytes)
		err = submit_user_msg(&a, &call);
	if (!err && !a.reply)
		err = put_user(0, (u32 __user *)&arg->bytes);
	if (!err && !a.reply)
		err = wait_reply(&a, unic_from_le64(call.until_ns));
	if (!err)
		err = copy_reply_to_user(a.reply, &call);
	reply_free(f, a.reply);
	if (!err && put_user((__force u32)call.got, (u32 __user *)&arg->got))
		err = -EFAULT;
	return err;
}

/* ------------------------------------------------------- read, poll: upcalls */

static bool is_client_ended(const struct unic_file *f)
{
	return READ_ONCE(f->ended);
}

static bool may_read(const struct unic_file *f, const bool *flag)
{
	return READ_ONCE(*flag) || is_client_ended(f);
}

static ssize_t read_flag(struct unic_file *f, bool *flag, char __user *buf,
			 size_t bytes, bool wait)
{
	u64 one = 1;
	int err = 0;

	if (bytes < sizeof(one))
		return -EINVAL;
	while (!xchg(flag, false)) {
		if (is_client_ended(f))
			return -ENODEV;
		if (!wait)
			return -EAGAIN;
		err = wait_event_interruptible(f->wait, may_read(f, flag));
		if (err)
			return err;
	}
	return copy_to_user(buf, &one, sizeof(one)) ? -EFAULT : sizeof(one);
}

static __poll_t poll_flag(struct unic_file *f, const bool *flag,
			  struct file *file, poll_table *table)
{
	__poll_t mask = 0;

	poll_wait(file, &f->wait, table);
	if (READ_ONCE(*flag))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (is_client_ended(f))
		mask |= EPOLLHUP | EPOLLRDHUP | EPOLLERR;
	return mask;
}

static ssize_t unic_read(struct file *file, char __user *buf, size_t bytes,
			 loff_t *at)
{
	struct unic_file *f = file->private_data;

	return read_flag(f, &f->upcalls, buf, bytes,
			 !(file->f_flags & O_NONBLOCK));
}

static __poll_t unic_poll(struct file *file, poll_table *table)
{
	struct unic_file *f = file->private_data;

	return poll_flag(f, &f->upcalls, file, table);
}

static int unic_fasync(int fd, struct file *file, int on)
{
	struct unic_file *f = file->private_data;

	return fasync_helper(fd, file, on, &f->fasync);
}

/* ------------------------------------------------- a descriptor for completions */

static ssize_t cq_read(struct file *file, char __user *buf, size_t bytes,
		       loff_t *at)
{
	struct unic_file *f = ((struct file *)file->private_data)->private_data;

	return read_flag(f, &f->cqs, buf, bytes, !(file->f_flags & O_NONBLOCK));
}

static __poll_t cq_poll(struct file *file, poll_table *table)
{
	struct unic_file *f = ((struct file *)file->private_data)->private_data;

	return poll_flag(f, &f->cqs, file, table);
}

static int cq_release(struct inode *inode, struct file *file)
{
	fput(file->private_data);
	return 0;
}

static const struct file_operations cq_fops = {
	.owner = THIS_MODULE,
	.read = cq_read,
	.poll = cq_poll,
	.release = cq_release,
	.llseek = noop_llseek,
};

static int cq_fd(struct file *file)
{
	int fd = anon_inode_getfd("[unic-cq]", &cq_fops, get_file(file),
				  O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fput(file);
	return fd;
}

/* --------------------------------------------------------- the device itself */

/* It is for the process that opened it. */
static bool is_owner_mm(const struct unic_file *f)
{
	return current->mm == f->mem->mm;
}

static long unic_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct unic_file *f = file->private_data;

	if (!is_owner_mm(f))
		return -EPERM;
	switch (cmd) {
	case UNIC_IOC_CALL:
		return ioc_call(f, (void __user *)arg);
	case UNIC_IOC_CQ_FD:
		return cq_fd(file);
	default:
		return -ENOTTY;
	}
}

static ssize_t unic_write(struct file *file, const char __user *buf,
			  size_t bytes, loff_t *at)
{
	struct unic_file *f = file->private_data;
	u32 slot = READ_ONCE(f->slot);

	if (!is_owner_mm(f))
		return -EPERM;
	if (READ_ONCE(f->ended))
		return -ENODEV;
	if (bytes != sizeof(u64) || slot == UNIC_OS_NO_SLOT)
		return -EINVAL;
	unic_pci_ring(f->os, 1 + slot);
	return bytes;
}

static int unic_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct unic_file *f = file->private_data;
	u32 slot = READ_ONCE(f->slot);

	if (!is_owner_mm(f))
		return -EPERM;
	if (slot == UNIC_OS_NO_SLOT)
		return -EINVAL;
	return unic_slot_map(f->os, slot, vma);
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.open = unic_open,
	.flush = unic_flush,
	.release = unic_release,
	.unlocked_ioctl = unic_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = unic_read,
	.write = unic_write,
	.poll = unic_poll,
	.mmap = unic_mmap,
	.fasync = unic_fasync,
	.llseek = noop_llseek,
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
	cdev_init(&os->cdev, &fops);
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
	os->leaving = true; /* who was opening it just now comes too late */
	list_for_each_entry_safe(f, next, &os->files, node)
		end_client(f);
	unic_unlock(os, noio);
}

int unic_cdev_add(struct unic_os *os)
{
	int err = cdev_device_add(&os->cdev, &os->dev);

	if (err) /* somebody may have found it in between */
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

/* What a request may do is decided by who makes it, so all may open it. */
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
	int err = alloc_chrdev_region(&first_dev, 0, MINORS, "unic");

	if (err)
		return err;
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
	return 0;
}

void unic_cdev_exit(void)
{
	class_destroy(unic_class);
	unregister_chrdev_region(first_dev, MINORS);
	ida_destroy(&minors);
}
