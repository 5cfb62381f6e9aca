/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_dev.h - the host driver as a Linux module: what its files share.
 *
 *   unic_pci.c     how a NIC is found, reached and left
 *   unic_config.c  ... what the administrator sets of it
 *   unic_vector.c  ... how it is rung, and rings
 *   unic_pm.c      ... suspend, and errors of the bus
 *   unic_engine.c  when the core runs
 *   unic_fence.c   how the NIC is kept from memory, and what happens until it is
 *   unic_os.c      what the core asks of a kernel
 *   unic_slot.c    the control pages of processes, and who has them
 *   unic_cdev.c    /dev/unicN and /dev/unic as devices
 *   unic_file.c    ... an open file of it as a client of the core
 *   unic_call.c    ... one request and its reply
 *   unic_wake.c    ... what wakes its process
 *   unic_mem.c     the memory of a process, and what its address space tells
 *   unic_pin.c     ... its pins
 *   unic_gup.c     ... how pages are got for them
 *   unic_pin_work.c   ... what of it takes time
 *   frames_user.c  ... as the core sees it
 *   unic_prefetch.c   what a request is about to register, before the lock
 *   unic_kclient.c    the users that are part of the kernel
 *   unic_resident.c   ... the page service
 *   unic_kmem*.c      ... memory of other modules
 *   unic_self_client.c     the driver as a client of its own core
 *   unic_sysfs.c   what is seen of a NIC in sysfs
 *   unic_debugfs.c ... and in debugfs
 */
#ifndef UNIC_DEV_H
#define UNIC_DEV_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "region/frames.h"
#include "host.h"
#include "unic_self_client.h"

#define UNIC_SLOT_PAGES 3u /* UNIC_SLOT_FRAMES: doorbell, NIC, upcalls */
/* offsets for mmap, and the pages that the NIC translates, are of 4 KiB */
static_assert(PAGE_SIZE == UNIC_FRAME_BYTES);

struct unic_file;
struct unic_frame_tables;
struct unic_mem;
struct unic_resident;

/* One process slot. */
struct unic_kslot {
	struct unic_os *os;
	struct page *pages; /* UNIC_SLOT_PAGES of them, one after the other */
	dma_addr_t bus;
	struct unic_frame_tables *frames; /* of frames_user.c */
	spinlock_t lock;	/* of file, which interrupt handlers read */
	struct unic_file *file; /* the owner; NULL: none */
	bool kernel;		/* the owner is one of unic_os.kclients */
	bool quiet;		/* the core has finished with the slot */
};

/* One NIC: the struct unic_os of the core. */
struct unic_os {
	struct device dev; /* unicN; its release frees the unic_os */
	struct cdev cdev;
	struct pci_dev *pdev; /* holds a reference; bound, or in quarantine */
	struct list_head
		node;	   /* of those that are bound, or leave quarantine */
	struct mutex lock; /* around every call of the core */
	struct unic_host *host;	   /* NULL: gone */
	bool leaving;		   /* no process becomes a client */
	struct list_head kclients; /* unic_kclient.h */
	struct list_head orphans;  /* likewise, of which nobody is the user */
	struct unic_resident *resident; /* one of kclients; NULL: none */
	struct unic_self_client ask;
	struct dentry *debugfs;
	struct list_head files;

	spinlock_t ring_lock; /* of regs, which interrupt handlers use */
	void __iomem *regs;   /* NULL: gone */
	void *bar;
	u32 vectors;

	/* the engine */
	struct task_struct *thread;
	wait_queue_head_t wake;
	atomic_t kicked;
	/* the engine's next turn, unless it is kicked; 0: at once */
	u64 wakes_ns;
	bool plugged;
	bool fenced; /* the NIC is kept from memory, or about to be: no detection */
	u32 nic;     /* enum unic_ctl_nic, as last traced */
	u32 ipv4; /* of the NIC */

	/* in quarantine, without a driver */
	struct list_head kept;
	struct delayed_work quarantine;
	bool held; /* the quarantine has a reference to the module */

	u32 slots;
	struct unic_kslot slot[UNIC_HOST_SLOTS_MAX];
	void *slot_mem[UNIC_HOST_SLOTS_MAX];
};

/*
 * unic_lock() - take the lock of the core. The system may be writing out a page through a
 * disk behind this NIC, which needs the lock: so no allocation under it waits for I/O.
 * Returns flags for unic_unlock().
 */
static inline unsigned int unic_lock(struct unic_os *os)
{
	unsigned int flags = memalloc_noio_save();

	mutex_lock(&os->lock);
	return flags;
}

/** unic_unlock() - release the lock. @flags: what unic_lock() returned. */
static inline void unic_unlock(struct unic_os *os, unsigned int flags)
{
	mutex_unlock(&os->lock);
	memalloc_noio_restore(flags);
}

/** unic_dev_kick() - wake the engine's thread, so that the core runs soon. Any context,
 * any lock. */
static inline void unic_dev_kick(struct unic_os *os)
{
	atomic_set(&os->kicked, 1);
	wake_up(&os->wake);
}

/** unic_dev_dma() - the device that DMA mappings of @os are made for. */
#define unic_dev_dma(os) (&(os)->pdev->dev)

#endif /* UNIC_DEV_H */
