// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_file.c - an open file of /dev/unicN: see abi/unic_ioctl.h.
 *
 * Secret: how long an open file is a client of the core: until the first of: its last
 * reference goes, the address space of its process ends, the device goes. No other
 * process gets its slot before the last reference goes.
 */
#include <linux/capability.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "unic_call.h"
#include "unic_dev.h"
#include "unic_file.h"
#include "unic_ioctl.h"
#include "unic_mem.h"
#include "unic_slot.h"
#include "unic_vector.h"
#include "unic_wake.h"

struct unic_file *unic_file_of(struct unic_client *client)
{
	return container_of(client, struct unic_file, core);
}

void unic_file_end(struct unic_file *f)
{
	if (f->ended)
		return;
	f->ended = true;
	list_del(&f->node);
	if (f->os->host)
		unic_host_client_gone(f->os->host, &f->core);
	unic_wake_all(f);
	unic_call_wake(f);
	unic_dev_kick(f->os);
}

/* The process has lost its address space. */
static void mem_ended(struct unic_mem *mem)
{
	struct unic_file *f = mem->owner;
	unsigned int noio;

	noio = unic_lock(f->os);
	unic_file_end(f);
	unic_unlock(f->os, noio);
}

/* The user whose limits count: the ids inside a user namespace count for the user that
 * created it. */
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
	/* a process without the capability is no event for the audit log */
	f->core.privileged = ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN);
	unic_wake_init(f);
	unic_call_init(f);
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

/* A descriptor is closed. The client ends when its process exits or executes another
 * program, though a worker that waits for a page may keep the old memory, and with it
 * this file. */
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
	unic_file_end(f);
	if (f->slot != UNIC_OS_NO_SLOT)
		unic_slot_leave(os, f->slot);
	unic_unlock(os, noio);
	unic_call_free(f);
	kfree(f);
	put_device(&os->dev);
	return 0;
}

/* ---------------------------------------------------------- requests and slot */

/* Only the process that opened the file may use it. */
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
		return unic_call(f, (void __user *)arg);
	case UNIC_IOC_CQ_FD:
		return unic_wake_cq_fd(file);
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
	unic_vector_ring(f->os, 1 + slot);
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

const struct file_operations unic_file_fops = {
	.owner = THIS_MODULE,
	.open = unic_open,
	.flush = unic_flush,
	.release = unic_release,
	.unlocked_ioctl = unic_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.read = unic_wake_read,
	.write = unic_write,
	.poll = unic_wake_poll,
	.mmap = unic_mmap,
	.fasync = unic_wake_fasync,
	.llseek = noop_llseek,
};
