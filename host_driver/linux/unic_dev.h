/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_dev.h - the host driver as a Linux module: what its files share.
 *
 *   unic_pci.c     how a NIC is found, reached and left
 *   unic_engine.c  when the core runs
 *   unic_fence.c   how the NIC is kept from memory, and what happens until it is
 *   unic_os.c      what the core asks of a kernel
 *   unic_slot.c    the control pages of processes, and who has them
 *   unic_cdev.c    /dev/unicN
 *   unic_mem.c     the memory of a process: pins, and what becomes of it
 *   unic_later.c   ... what of it takes time
 *   frames_user.c  ... as the core sees it
 *   unic_ahead.c   what a request is about to register, before the lock
 *   unic_ask.c     the driver as a client of its own core
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
#include "unic_ask.h"

#define UNIC_SLOT_PAGES 3u /* UNIC_SLOT_FRAMES: doorbell, NIC, upcalls */
/* offsets for mmap, and the pages that the NIC translates, are of 4 KiB */
static_assert(PAGE_SIZE == UNIC_FRAME_BYTES);

struct unic_file;
struct unic_frame_tables;
struct unic_mem;

/* One process slot. */
struct unic_kslot {
	struct unic_os *os;
	struct page *pages; /* UNIC_SLOT_PAGES of them, one after the other */
	dma_addr_t bus;
	struct unic_frame_tables *frames; /* frames_user.c's */
	spinlock_t lock;	/* of file, which is used by interrupts */
	struct unic_file *file; /* whose it is; NULL: nobody's */
	bool kernel;		/* it is unic_os.kclient's */
	bool quiet;		/* the core is done with it */
};

/* A user of the device that is part of the kernel; called under unic_os.lock. */
struct unic_kclient {
	struct unic_client core;
	/** reply() - what unic_os_reply() says to it. */
	void (*reply)(struct unic_kclient *kc, const void *msg, u32 bytes);
	/** poll() - after each unic_host_poll(). Returns when to call again. */
	u64 (*poll)(struct unic_kclient *kc);
	/** leave() - the driver is about to leave the device: nothing is begun any
	 * more. */
	void (*leave)(struct unic_kclient *kc);
	/** gone() - the device is, and reaches no memory: nothing is called any
	 * more. */
	void (*gone)(struct unic_kclient *kc);
	/** pages() - that the NIC may use. */
	u64 (*pages)(struct unic_kclient *kc);
};

/* One NIC: what the core is given as its surroundings. */
struct unic_os {
	struct device dev; /* unicN; its end frees this */
	struct cdev cdev;
	struct pci_dev *pdev; /* has a reference; bound, or in quarantine */
	struct list_head
		node;	   /* of those that are bound, or leave quarantine */
	struct mutex lock; /* around every call of the core */
	struct unic_host *host; /* NULL: gone */
	bool leaving;		/* no process comes any more */
	struct unic_kclient *kclient;
	struct list_head orphans; /* unic_resident.c's */
	struct unic_ask ask;
	struct dentry *debugfs;
	struct list_head files;

	spinlock_t ring_lock; /* of regs, which interrupts use */
	void __iomem *regs;   /* NULL: gone */
	void *bar;
	u32 vectors;

	/* the engine */
	struct task_struct *thread;
	wait_queue_head_t wake;
	atomic_t kicked;
	u64 wakes_ns; /* its next turn, unless it is kicked; 0: at once */
	bool plugged;
	bool fenced; /* the NIC is kept off, or is to be: it is not looked for */
	u32 nic;     /* enum unic_ctl_nic, as it was told to who traces */

	/* in quarantine: nobody's device any more */
	struct list_head kept;
	struct delayed_work quarantine;
	bool held; /* the module, too */

	u32 slots;
	struct unic_kslot slot[UNIC_HOST_SLOTS_MAX];
	void *slot_mem[UNIC_HOST_SLOTS_MAX];
};

/*
 * unic_lock() - what holds off the core. Who holds it may be what a page waits for
 * that the system writes out to get memory (a disk may be behind the NIC), so
 * memory that is allocated meanwhile must not wait for I/O.
 */
static inline unsigned int unic_lock(struct unic_os *os)
{
	unsigned int flags = memalloc_noio_save();

	mutex_lock(&os->lock);
	return flags;
}

/** unic_unlock() - @flags: of unic_lock(). */
static inline void unic_unlock(struct unic_os *os, unsigned int flags)
{
	mutex_unlock(&os->lock);
	memalloc_noio_restore(flags);
}

/* --- unic_pci.c */

/** unic_pci_ring() - vector @vector of the NIC; none there: nothing. Any
 * context. */
void unic_pci_ring(struct unic_os *os, u32 vector);

/** unic_pci_ring_at() - vector @vector of the NIC, whoever has @regs. */
void unic_pci_ring_at(void __iomem *regs, u32 vector);

/** unic_pci_end_nic() - ask the bus to end the NIC. */
void unic_pci_end_nic(struct unic_os *os);

/** unic_pci_leave_all() - no NIC is used any more. False: one may still write to
 * memory. */
bool unic_pci_leave_all(void);

/** unic_pci_tear_down() - the NIC reaches no memory: nothing of it is left. */
void unic_pci_tear_down(struct unic_os *os);

/** unic_pci_error() - what would happen if the bus told of an error, for tests. */
void unic_pci_error(struct unic_os *os);

/* --- unic_fence.c */

/** unic_fence_init(), unic_fence_exit() - once each. The end waits for a NIC that
 * does not answer, for seconds. */
int unic_fence_init(void);
void unic_fence_exit(void);

/** unic_fence() - keep the NIC from all memory, for as long as it takes it to answer,
 * or its bus to end it: seconds. True: all that it could reach has been given back.
 * False: nothing of that is, and nothing has begun since. */
bool unic_fence(struct unic_os *os);

/** unic_unfence() - it is reset, and used again. */
void unic_unfence(struct unic_os *os);

/** unic_quarantine() - unic_fence() said false, and the driver leaves: @os, with a
 * reference, ends when the NIC has let go. */
void unic_quarantine(struct unic_os *os);

/** unic_quarantine_settle() - nothing of this place on the bus is in quarantine, or
 * it goes back now. -EBUSY: the NIC does not answer. */
int unic_quarantine_settle(struct pci_dev *pdev, void *bar, void __iomem *regs);

/** unic_quarantined() - pages. */
u64 unic_quarantined(void);

/* --- unic_engine.c */

/** unic_engine_start() - from now on the core runs. 0 or -errno. */
int unic_engine_start(struct unic_os *os);

/** unic_engine_stop() - it runs no more, unless somebody calls it. */
void unic_engine_stop(struct unic_os *os);

/** unic_engine_spin() - poll the NIC, for spin_us at most, until @over says that
 * it is enough. unic_os.lock is held, but not all the while; os->host is there. */
void unic_engine_spin(struct unic_os *os, bool (*over)(void *arg), void *arg);

/** unic_dev_kick() - have the core run soon. Any context. */
void unic_dev_kick(struct unic_os *os);

/* --- unic_slot.c */

/** unic_slots_init() - control pages for os->slots. 0 or -errno. */
int unic_slots_init(struct unic_os *os);

/** unic_slots_unmap() - the device cannot reach them any more. */
void unic_slots_unmap(struct unic_os *os);

/** unic_slots_free() - the end of them; processes may have them mapped still. */
void unic_slots_free(struct unic_os *os);

/** unic_pages() - that the NIC may use, at most. */
u64 unic_pages(struct unic_os *os);

/** unic_slot_take() - @file said HELLO and has @slot; unic_os.lock is held. */
void unic_slot_take(struct unic_os *os, u32 slot, struct unic_file *file);

/** unic_slot_leave() - the last reference to its file went. */
void unic_slot_leave(struct unic_os *os, u32 slot);

/** unic_slots_poll() - tell the core which slots may be given away, and what
 * memory is not there any more. Returns when to call again. */
u64 unic_slots_poll(struct unic_os *os);

/** unic_slot_wake() - completions are there for the process. Any context. */
void unic_slot_wake(struct unic_os *os, u32 slot);

/** unic_slot_map() - mmap of a process that has @slot. 0 or -errno. */
int unic_slot_map(struct unic_os *os, u32 slot, struct vm_area_struct *vma);

/* --- unic_cdev.c */

/** unic_cdev_init(), unic_cdev_exit() - numbers and class. */
int unic_cdev_init(void);
void unic_cdev_exit(void);

/** unic_cdev_prepare() - os->dev, with one reference; then it is freed with
 * put_device(). 0 or -errno (@os is the caller's still). */
int unic_cdev_prepare(struct unic_os *os, struct device *parent);

/** unic_cdev_add() - /dev/unicN appears. 0 or -errno. */
int unic_cdev_add(struct unic_os *os);

/** unic_cdev_cut() - open files are cut off, and no process comes any more. */
void unic_cdev_cut(struct unic_os *os);

/** unic_cdev_del() - it disappears; open files are cut off. */
void unic_cdev_del(struct unic_os *os);

/** unic_dev_get() - unic@number, until unic_dev_put(); NULL: there is none. */
struct unic_os *unic_dev_get(unsigned int number);
void unic_dev_put(struct unic_os *os);

/** unic_file_reply() - @msg for the process; unic_os.lock is held. */
void unic_file_reply(struct unic_file *f, const void *msg, u32 bytes);

/** unic_file_has_slot() - from now on, until its last reference goes. */
void unic_file_has_slot(struct unic_file *f, u32 slot);

/** unic_file_upcall(), unic_file_cq() - wake who waits for that. Any context. */
void unic_file_upcall(struct unic_file *f);
void unic_file_cq(struct unic_file *f);

/** unic_file_of() - the file of a client that is a process. */
struct unic_file *unic_file_of(struct unic_client *client);

/** unic_file_mem() - the memory of its process. */
struct unic_mem *unic_file_mem(struct unic_file *f);

/* --- frames_user.c */

/** unic_pins_bind() - @t is about the memory @mem from now on. */
void unic_pins_bind(struct unic_frame_tables *t, struct unic_mem *mem);

/** unic_pins_ready() - the request that comes brought these; NULL: it is over.
 * What is left of them is the caller's. */
void unic_pins_ready(struct unic_frame_tables *t, struct list_head *pins);

/** unic_pins_poll() - tell the core what the process of @slot unmapped. Returns
 * when to call again. */
u64 unic_pins_poll(struct unic_frame_tables *t, u32 slot);

/** unic_pins_pages() - of @t. */
u32 unic_pins_pages(const struct unic_frame_tables *t);

/** unic_pins_unbind() - nothing is pinned, and nobody's memory is meant. */
void unic_pins_unbind(struct unic_frame_tables *t);

/* --- unic_ahead.c */

/** unic_ahead() - fetch what a request, not vetted yet, would register, for
 * unic_pins_ready(). May take as long as a disk does. 0, or -ERESTARTSYS before
 * anything was fetched. */
int unic_ahead(struct unic_mem *mem, struct unic_client *client,
	       const void *msg, u32 bytes, struct list_head *pins);

/** unic_ahead_drop() - what is left of them. */
void unic_ahead_drop(struct unic_mem *mem, struct list_head *pins);

/* --- unic_resident.c */

/** unic_resident_free_orphans() - the NIC reaches no memory: what nobody had any more
 * is freed. */
void unic_resident_free_orphans(struct unic_os *os);

/* --- unic_sysfs.c */

/** unic_sysfs_groups - attributes of unic_os.dev. */
extern const struct attribute_group *unic_sysfs_groups[];

/* --- unic_debugfs.c */

/** unic_debugfs_init(), unic_debugfs_exit() - the folder of all NICs. */
void unic_debugfs_init(void);
void unic_debugfs_exit(void);

/** unic_debugfs_add() - the tables of @os can be read. */
void unic_debugfs_add(struct unic_os *os);

/** unic_debugfs_del() - nobody reads them any more. Waits for who does, for as
 * long as unic_ask() may take. */
void unic_debugfs_del(struct unic_os *os);

/* --- unic_os.c */

#define unic_dev_dma(os) (&(os)->pdev->dev)

#endif /* UNIC_DEV_H */
