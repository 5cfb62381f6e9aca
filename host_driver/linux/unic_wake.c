// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_wake.c - what wakes the process of an open file: upcalls and completions.
 *
 * Secret: that an event is one flag, which a read clears: no event is lost
 * between reading the rings and the wait.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/uaccess.h>

#include "unic_file.h"
#include "unic_wake.h"

void unic_wake_init(struct unic_file *f)
{
	init_waitqueue_head(&f->wait);
}

void unic_wake_upcall(struct unic_file *f)
{
	WRITE_ONCE(f->upcalls, true);
	wake_up_interruptible_poll(&f->wait, EPOLLIN);
	kill_fasync(&f->fasync, SIGIO, POLL_IN);
}

void unic_wake_cq(struct unic_file *f)
{
	WRITE_ONCE(f->cqs, true);
	wake_up_interruptible_poll(&f->wait, EPOLLIN);
}

void unic_wake_all(struct unic_file *f)
{
	wake_up_all(&f->wait);
}

/* ---------------------------------------------------------- read, poll: upcalls */

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

ssize_t unic_wake_read(struct file *file, char __user *buf, size_t bytes,
		       loff_t *at)
{
	struct unic_file *f = file->private_data;

	return read_flag(f, &f->upcalls, buf, bytes,
			 !(file->f_flags & O_NONBLOCK));
}

__poll_t unic_wake_poll(struct file *file, poll_table *table)
{
	struct unic_file *f = file->private_data;

	return poll_flag(f, &f->upcalls, file, table);
}

int unic_wake_fasync(int fd, struct file *file, int on)
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

int unic_wake_cq_fd(struct file *file)
{
	int fd = anon_inode_getfd("[unic-cq]", &cq_fops, get_file(file),
				  O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fput(file);
	return fd;
}
