// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_file.c - an open file of /dev/unicN, or of /dev/unic: see abi/unic_ioctl.h.
 *
 * Secret: which NIC an open file is with, from when on, and how long it is a client of
 * the core: until its last reference goes, the address space of its process ends, or the
 * device goes, whichever is first. No other process gets its slot before the last
 * reference goes.
 */
#include <linux/capability.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "nics.h"
#include "unic_call.h"
#include "unic_cdev.h"
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

	noio = unic_lock(mem->os);
	unic_file_end(f);
	unic_unlock(mem->os, noio);
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

static struct unic_file *file_new(void)
{
	struct unic_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return NULL;
	mutex_init(&f->choice);
	f->mm = current->mm;
	if (f->mm)
		mmgrab(f->mm);
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

/* The NIC of @f, or NULL; with a NIC, all members of @f are set. */
static struct unic_os *nic_of(const struct unic_file *f)
{
	/* pairs with the release of file_bind(), which fills the members first */
	return smp_load_acquire(&f->os);
}

/* Makes @f a client of @os, for its life. */
static int file_bind(struct unic_file *f, struct unic_os *os)
{
	struct unic_mem *mem = unic_mem_new(os, f, f->core.uid, mem_ended);
	unsigned int noio;

	if (IS_ERR(mem))
		return PTR_ERR(mem);
	f->mem = mem;
	get_device(&os->dev);
	noio = unic_lock(os);
	smp_store_release(&f->os, os); /* with nic_of() */
	if (!os->leaving)
		list_add(&f->node, &os->files);
	else
		f->ended = true;
	unic_unlock(os, noio);
	return 0;
}

/* Ends @f, which nobody uses any more. */
static void file_free(struct unic_file *f)
{
	struct unic_os *os = f->os;
	unsigned int noio;

	if (os) {
		unic_mem_leave(f->mem);
		noio = unic_lock(os);
		unic_file_end(f);
		if (f->slot != UNIC_OS_NO_SLOT)
			unic_slot_leave(os, f->slot);
		unic_unlock(os, noio);
	}
	unic_call_free(f);
	if (f->mm)
		mmdrop(f->mm);
	kfree(f);
	if (os)
		put_device(&os->dev);
}

static int unic_open(struct inode *inode, struct file *file)
{
	struct unic_os *os = container_of(inode->i_cdev, struct unic_os, cdev);
	struct unic_file *f = file_new();
	int err = f ? file_bind(f, os) : -ENOMEM;

	if (err) {
		if (f)
			file_free(f);
		return err;
	}
	file->private_data = f;
	return stream_open(inode, file);
}

/* With no NIC yet. */
static int open_any(struct inode *inode, struct file *file)
{
	struct unic_file *f = file_new();

	if (!f)
		return -ENOMEM;
	file->private_data = f;
	return stream_open(inode, file);
}

/* A descriptor is closed. The client ends when its process exits or executes another
 * program, though a worker that waits for a page may keep the old memory, and with it
 * this file. */
static int unic_flush(struct file *file, fl_owner_t id)
{
	struct unic_file *f = file->private_data;

	if (nic_of(f) && task_tgid_nr(current) == f->core.pid &&
	    current->mm != f->mm)
		mem_ended(f->mem);
	return 0;
}

static int unic_release(struct inode *inode, struct file *file)
{
	file_free(file->private_data);
	return 0;
}

/* ------------------------------------------------------------ choosing a NIC */

/* Has the first NIC answer a request that chooses none (NICS, a SELECT that is refused):
 * by a client that ends with it. */
static long call_once(struct unic_file *f, u32 number,
		      struct unic_ioc_call __user *arg)
{
	struct unic_os *os = unic_dev_get(number);
	struct unic_file *once = os ? file_new() : NULL;
	long err = os ? -ENOMEM : -ENODEV;

	if (once) {
		once->core.uid = f->core.uid;
		once->core.privileged = f->core.privileged;
		err = file_bind(once, os);
		if (!err)
			err = unic_call(once, arg);
		file_free(once);
	}
	if (os)
		unic_dev_put(os);
	return err;
}

static int bind_number(struct unic_file *f, u32 number)
{
	struct unic_os *os = unic_dev_get(number);
	int err = os ? file_bind(f, os) : -ENODEV;

	if (os)
		unic_dev_put(os);
	return err;
}

/* The first request of @f. Returns 0: it has a NIC now; -EAGAIN: it has none, and NIC
 * *@number answers the request; -errno. The caller holds f->choice. */
static int choose_nic(struct unic_file *f, const struct unic_ioc_call *call,
		      u32 *number)
{
	struct unic_ctl_nic_row row[UNIC_CTL_NICS_MAX];
	u32 n = unic_dev_rows(row), bytes = unic_from_le32(call->bytes);
	u64 rec[UNIC_CTL_BYTES / 8];
	int i;

	if (!n)
		return -ENODEV;
	if (bytes < sizeof(rec))
		return -EINVAL;
	if (copy_from_user(rec, u64_to_user_ptr(unic_from_le64(call->msg)),
			   sizeof(rec)))
		return -EFAULT;
	i = unic_nics_choose(row, n, rec, bytes);
	*number = unic_from_le32(row[max(i, 0)].number);
	return i < 0 ? -EAGAIN : bind_number(f, *number);
}

static long call_any(struct unic_file *f, struct unic_ioc_call __user *arg)
{
	struct unic_ioc_call call;
	u32 number = 0;
	int err = 0;

	if (nic_of(f))
		return unic_call(f, arg);
	if (copy_from_user(&call, arg, sizeof(call)))
		return -EFAULT;
	mutex_lock(&f->choice);
	if (!f->os)
		err = choose_nic(f, &call, &number);
	mutex_unlock(&f->choice);
	if (err == -EAGAIN)
		return call_once(f, number, arg);
	return err ? err : unic_call(f, arg);
}

/* ---------------------------------------------------------- requests and slot */

/* Only the process that opened the file may use it. */
static bool is_owner_mm(const struct unic_file *f)
{
	return current->mm == f->mm;
}

static long unic_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct unic_file *f = file->private_data;

	if (!is_owner_mm(f))
		return -EPERM;
	switch (cmd) {
	case UNIC_IOC_CALL:
		return call_any(f, (void __user *)arg);
	case UNIC_IOC_CQ_FD:
		return nic_of(f) ? unic_wake_cq_fd(file) : -EINVAL;
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

#define FILE_OPERATIONS(how)                                              \
	{                                                                 \
		.owner = THIS_MODULE, .open = how, .flush = unic_flush,   \
		.release = unic_release, .unlocked_ioctl = unic_ioctl,    \
		.compat_ioctl = compat_ptr_ioctl, .read = unic_wake_read, \
		.write = unic_write, .poll = unic_wake_poll,              \
		.mmap = unic_mmap, .fasync = unic_wake_fasync,            \
		.llseek = noop_llseek,                                    \
	}

const struct file_operations unic_file_fops = FILE_OPERATIONS(unic_open);
const struct file_operations unic_file_any_fops = FILE_OPERATIONS(open_any);
