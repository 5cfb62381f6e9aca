// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_pci.c - how a NIC is found, reached and left.
 *
 * It is a function that shares memory with its peers and rings them (QEMU's
 * ivshmem-doorbell): BAR 0 has its registers, BAR 2 is the mailbox, the vectors
 * are 0 for the driver and 1 + n for process slot n.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/inet.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "provider/provider_nic.h"
#include "unic_ask.h"
#include "unic_bus.h"
#include "unic_cdev.h"
#include "unic_debugfs.h"
#include "unic_dev.h"
#include "unic_engine.h"
#include "unic_fence.h"
#include "unic_later.h"
#include "unic_pci.h"
#include "unic_resident.h"
#include "unic_slot.h"
#include "unic_trace.h"

#define BAR_REGS   0
#define BAR_SHARED 2
#define REG_ID	   0x08 /* our number among the peers */
#define REG_RING   0x0c
#define UNIC_NICS  16

static uint probe_wait_ms = 3000;
module_param(probe_wait_ms, uint, 0644);
MODULE_PARM_DESC(probe_wait_ms, "ms that a NIC may take to show its magic");

static char *nic[UNIC_NICS];
static int nics;
module_param_array(nic, charp, &nics, 0444);
MODULE_PARM_DESC(nic, "PCI addresses of NICs; also those whose driver_override "
		      "says unic");

static char *ip = "10.0.0.1";
module_param(ip, charp, 0444);
MODULE_PARM_DESC(ip, "IPv4 address of the first NIC; those of others follow");

static uint grace_us, deliver_us, reaper_us, residence_us;
module_param(grace_us, uint, 0444);
MODULE_PARM_DESC(grace_us, "T, us to give a region back; 0: the NIC's own");
module_param(deliver_us, uint, 0444);
MODULE_PARM_DESC(deliver_us, "H, us to deliver an upcall; 0: the NIC's own");
module_param(reaper_us, uint, 0444);
MODULE_PARM_DESC(reaper_us, "period of the reaper, us; 0: the NIC's own");
module_param(residence_us, uint, 0444);
MODULE_PARM_DESC(residence_us, "minimum residence, us; 0: the NIC's own");

static int low = -1, high = -1;
module_param(low, int, 0444);
MODULE_PARM_DESC(low, "reap when fewer entries are free; -1: the NIC's own");
module_param(high, int, 0444);
MODULE_PARM_DESC(high, "... until as many are free");

static uint user_slots;
module_param(user_slots, uint, 0444);
MODULE_PARM_DESC(user_slots, "process slots of one user; 0: all but a quarter");

void unic_pci_ring_at(void __iomem *regs, u32 vector)
{
	iowrite32(UNIC_BUS_PEER_NIC << 16 | vector, regs + REG_RING);
}

void unic_pci_ring(struct unic_os *os, u32 vector)
{
	unsigned long flags;

	trace_unic_ring(os, vector);
	spin_lock_irqsave(&os->ring_lock, flags);
	if (os->regs)
		unic_pci_ring_at(os->regs, vector);
	spin_unlock_irqrestore(&os->ring_lock, flags);
}

void unic_pci_end_nic(struct unic_os *os)
{
	unsigned long flags;

	spin_lock_irqsave(&os->ring_lock, flags);
	if (os->regs)
		iowrite32(UNIC_BUS_PEER_END << 16, os->regs + REG_RING);
	spin_unlock_irqrestore(&os->ring_lock, flags);
}

static void set_regs(struct unic_os *os, void __iomem *regs)
{
	unsigned long flags;

	spin_lock_irqsave(&os->ring_lock, flags);
	os->regs = regs;
	spin_unlock_irqrestore(&os->ring_lock, flags);
}

/* ------------------------------------------------------------------ interrupts */

static irqreturn_t handle_nic_irq(int irq, void *arg)
{
	trace_unic_rang(arg, 0);
	unic_dev_kick(arg);
	return IRQ_HANDLED;
}

static irqreturn_t handle_slot_irq(int irq, void *arg)
{
	struct unic_kslot *s = arg;
	u32 slot = s - s->os->slot;

	trace_unic_rang(s->os, 1 + slot);
	unic_slot_wake(s->os, slot);
	return IRQ_HANDLED;
}

/* What the handler of a vector is given: asking the system which vector an
 * interrupt is may sleep. */
static void *irq_cookie(struct unic_os *os, u32 vector)
{
	if (!vector)
		return os;
	os->slot[vector - 1].os = os;
	return &os->slot[vector - 1];
}

static void free_irqs(struct unic_os *os, u32 n)
{
	while (n--)
		free_irq(pci_irq_vector(os->pdev, n), irq_cookie(os, n));
	pci_free_irq_vectors(os->pdev);
}

static int request_irqs(struct unic_os *os)
{
	u32 i;
	int err;

	for (i = 0; i < os->vectors; i++) {
		err = request_irq(pci_irq_vector(os->pdev, i),
				  i ? handle_slot_irq : handle_nic_irq, 0,
				  dev_name(&os->dev), irq_cookie(os, i));
		if (err) {
			free_irqs(os, i);
			return err;
		}
	}
	return 0;
}

/* ----------------------------------------------------------------------- probe */

/* Its number is that of any shared memory, and what lies in that can be forged by who
 * shares it: who has the machine says which one is a NIC. */
static bool is_named(const struct pci_dev *pdev)
{
	const char *name = pci_name(pdev);
	int i;

	if (pdev->driver_override)
		return true; /* or we would not be asked */
	for (i = 0; i < nics; i++)
		if (!strcmp(nic[i], name) ||
		    (!pci_domain_nr(pdev->bus) && !strcmp(nic[i], name + 5)))
			return true;
	return false;
}

/* One that does not run yet shows nothing. */
static int wait_magic(const void *bar)
{
	const struct unic_info *info = bar + UNIC_BAR_INFO_OFF;
	unsigned long until = jiffies + msecs_to_jiffies(probe_wait_ms);

	while (unic_from_le32(UNIC_LOAD(info->magic)) != UNIC_MAGIC) {
		if (time_after(jiffies, until))
			return -ENODEV;
		msleep(20);
	}
	return 0;
}

/* What of the function is mapped: of a NIC in quarantine, longer than it is bound. */
struct reach {
	void __iomem *regs;
	void *bar;
};

static void unmap_bars(struct reach *r)
{
	if (r->bar)
		memunmap(r->bar);
	if (r->regs)
		iounmap(r->regs);
}

static int map_bars(struct pci_dev *pdev, struct reach *r)
{
	r->regs = pci_iomap(pdev, BAR_REGS, 0);
	r->bar = memremap(pci_resource_start(pdev, BAR_SHARED),
			  pci_resource_len(pdev, BAR_SHARED), MEMREMAP_WB);
	if (r->regs && r->bar)
		return 0;
	unmap_bars(r);
	return -ENXIO;
}

static int check_nic(struct pci_dev *pdev, const struct reach *r)
{
	int err = wait_magic(r->bar);

	if (err)
		return err;
	if (ioread32(r->regs + REG_ID) != UNIC_BUS_PEER_HOST)
		return -ENODEV; /* the NIC would ring somebody else */
	err = unic_quarantine_settle(pdev, r->bar, r->regs);
	if (err) {
		pci_err(pdev, "its NIC has memory still, and does not "
			      "answer\n");
		return err;
	}
	/* a bus address is an offset in window 0 */
	return dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(48));
}

static void release_pci_function(struct pci_dev *pdev)
{
	pci_clear_master(pdev);
	pci_release_regions(pdev);
	pci_disable_device(pdev);
}

static int claim_pci_function(struct pci_dev *pdev, struct reach *r)
{
	int err;

	if (!pdev->msix_cap ||
	    pci_resource_len(pdev, BAR_SHARED) < UNIC_BAR_BYTES)
		return -ENODEV;
	err = pci_enable_device(pdev);
	if (err)
		return err;
	err = pci_request_regions(pdev, "unic");
	if (err) {
		pci_disable_device(pdev);
		return err;
	}
	err = map_bars(pdev, r);
	if (!err) {
		err = check_nic(pdev, r);
		if (err)
			unmap_bars(r);
	}
	if (err)
		release_pci_function(pdev);
	return err;
}

/* Of those that the NIC and its vectors make. */
static u32 max_user_slots(const struct unic_os *os)
{
	const struct unic_info *info = os->bar + UNIC_BAR_INFO_OFF;
	u32 slots = min(unic_from_le32(UNIC_LOAD(info->procs)), os->slots);

	return user_slots ? user_slots : max(slots - slots / 4, 1u);
}

static int make_host(struct unic_os *os)
{
	u64 ram = (u64)totalram_pages() << PAGE_SHIFT;
	struct unic_host_config config = {
		.slots = os->slots,
		.user_slots = max_user_slots(os),
		.slot_bytes = ram + UNIC_SLOT_PAGES * PAGE_SIZE,
		.slot_mem = os->slot_mem,
		.params = {
			.grace_us = unic_to_le32(grace_us),
			.deliver_us = unic_to_le32(deliver_us),
			.reaper_us = unic_to_le32(reaper_us),
			.residence_us = unic_to_le32(residence_us),
		},
	};
	struct unic_provider *p;
	__be32 addr;

	if (low >= 0 || high >= 0) {
		config.params.flags = unic_to_le32(UNIC_PARAM_WATERMARKS);
		config.params.low_entries = unic_to_le32(max(low, 0));
		config.params.high_entries = unic_to_le32(max3(low, high, 0));
	}
	if (!in4_pton(ip, -1, (u8 *)&addr, -1, NULL))
		return -EINVAL;
	config.ipv4 = be32_to_cpu(addr) + os->dev.id;
	p = unic_nic_provider(os, os->bar);
	os->host = p ? unic_host_new(os, p, &config) : NULL;
	if (os->host)
		return 0;
	unic_os_free(os, p);
	return -ENOMEM;
}

static int set_up_nic(struct unic_os *os)
{
	int n = pci_alloc_irq_vectors(os->pdev, 2, 1 + UNIC_HOST_SLOTS_MAX,
				      PCI_IRQ_MSIX);
	int err;

	if (n < 0)
		return n;
	os->vectors = n;
	os->slots = n - 1;
	pci_set_master(os->pdev);
	err = unic_slots_init(os);
	if (!err)
		err = make_host(os);
	if (!err)
		err = request_irqs(os);
	else
		pci_free_irq_vectors(os->pdev);
	if (err)
		return err;
	err = unic_engine_start(os);
	if (err) {
		free_irqs(os, os->vectors);
		return err;
	}
	err = unic_cdev_add(os);
	if (!err)
		unic_debugfs_add(os);
	return err;
}

static struct unic_os *os_new(struct pci_dev *pdev)
{
	struct unic_os *os = kvzalloc(sizeof(*os), GFP_KERNEL);
	int err;

	if (!os)
		return ERR_PTR(-ENOMEM);
	os->pdev = pci_dev_get(pdev);
	mutex_init(&os->lock);
	unic_ask_init(&os->ask);
	spin_lock_init(&os->ring_lock);
	init_waitqueue_head(&os->wake);
	INIT_LIST_HEAD(&os->files);
	INIT_LIST_HEAD(&os->orphans);
	err = unic_cdev_prepare(os, &pdev->dev);
	if (!err)
		return os;
	pci_dev_put(pdev);
	kvfree(os);
	return ERR_PTR(err);
}

/* ----------------------------------------------------------------------- leave */

/* Who is on the way to this list, or from it to quarantine, has the lock: so kexec
 * finds each NIC in one of them. */
static LIST_HEAD(bound);
static DEFINE_MUTEX(bound_lock);

/* Nothing new begins, and what the NIC has is taken from it. False: it may still
 * write there. */
static bool quiesce_nic(struct unic_os *os)
{
	unsigned int noio;

	unic_cdev_cut(os);
	noio = unic_lock(os);
	if (os->kclient)
		os->kclient->leave(os->kclient);
	unic_unlock(os, noio);
	return unic_fence(os);
}

static void stop_engine_and_irqs(struct unic_os *os)
{
	unic_engine_stop(os);
	free_irqs(os, os->vectors);
}

void unic_pci_tear_down(struct unic_os *os)
{
	struct unic_host *host = os->host;
	struct reach r = { os->regs, os->bar };
	unsigned int noio;

	set_regs(os, NULL);
	noio = unic_lock(os);
	if (os->kclient)
		os->kclient->gone(os->kclient);
	os->kclient = NULL; /* and none comes any more */
	os->host = NULL;
	unic_unlock(os, noio);
	if (host)
		unic_host_delete(host);
	unic_resident_free_orphans(os);
	unic_later_flush();
	unic_slots_unmap(os);
	unmap_bars(&r);
}

bool unic_pci_leave_all(void)
{
	struct unic_os *os;
	bool all = true;

	mutex_lock(&bound_lock);
	list_for_each_entry(os, &bound, node)
		all &= quiesce_nic(os);
	mutex_unlock(&bound_lock);
	return all;
}

/* All of it goes, or what the NIC may write to stays in quarantine. */
static void unbind_nic(struct unic_os *os)
{
	bool let_go = true;

	if (os->thread) {
		let_go = quiesce_nic(os);
		stop_engine_and_irqs(os);
	}
	release_pci_function(os->pdev);
	if (let_go) {
		unic_pci_tear_down(os);
		put_device(&os->dev);
	} else {
		unic_quarantine(os);
	}
}

/* Set up, and in the list; or ended. */
static int bind_nic(struct unic_os *os)
{
	int err;

	mutex_lock(&bound_lock);
	err = set_up_nic(os);
	if (err)
		unbind_nic(os);
	else
		list_add(&os->node, &bound);
	mutex_unlock(&bound_lock);
	return err;
}

static int unic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct reach r = { NULL, NULL };
	struct unic_os *os;
	int err = is_named(pdev) ? claim_pci_function(pdev, &r) : -ENODEV;

	if (err)
		return err;
	os = os_new(pdev);
	if (IS_ERR(os)) {
		unmap_bars(&r);
		release_pci_function(pdev);
		return PTR_ERR(os);
	}
	os->bar = r.bar;
	set_regs(os, r.regs);
	pci_set_drvdata(pdev, os);
	pci_save_state(pdev); /* an error may take it */
	err = bind_nic(os);
	if (!err)
		dev_info(&os->dev, "%u process slots\n", os->slots);
	return err;
}

static void unic_remove(struct pci_dev *pdev)
{
	struct unic_os *os = pci_get_drvdata(pdev);

	unic_debugfs_del(os);
	unic_cdev_del(os);
	mutex_lock(&bound_lock);
	list_del(&os->node);
	unbind_nic(os);
	mutex_unlock(&bound_lock);
}

/* The machine stops, or another kernel begins (see unic_fence.c). */
static void unic_shutdown(struct pci_dev *pdev)
{
	struct unic_os *os = pci_get_drvdata(pdev);

	if (!quiesce_nic(os))
		dev_emerg(&os->dev, "the NIC may still write to memory: what "
				    "runs next on this machine may find its "
				    "own changed\n");
}

/* ----------------------------------------------------------- suspend and errors */

/* A NIC would write to memory that sleeps. Processes keep what they have. */
static int unic_suspend(struct device *dev)
{
	struct unic_os *os = dev_get_drvdata(dev);

	if (unic_fence(os))
		return 0;
	dev_err(dev, "not suspended: the NIC does not let go of memory\n");
	unic_unfence(os);
	return -EBUSY;
}

static int unic_resume(struct device *dev)
{
	pci_save_state(to_pci_dev(dev)); /* what was saved before was used */
	unic_unfence(dev_get_drvdata(dev));
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(pm_ops, unic_suspend, unic_resume);

/* The function may not be reachable: nothing is waited for, nothing goes back. */
static pci_ers_result_t error_detected(struct pci_dev *pdev,
				       pci_channel_state_t state)
{
	struct unic_os *os = pci_get_drvdata(pdev);
	unsigned int noio = unic_lock(os);

	os->fenced = true;
	os->plugged = false;
	unic_host_fence(os->host);
	unic_unlock(os, noio);
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT
						    : PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	pci_save_state(pdev); /* for the next time */
	pci_set_master(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void error_resume(struct pci_dev *pdev)
{
	unic_unfence(pci_get_drvdata(pdev));
}

void unic_pci_error(struct unic_os *os)
{
	struct pci_dev *pdev = os->pdev;

	if (error_detected(pdev, pci_channel_io_frozen) ==
		    PCI_ERS_RESULT_NEED_RESET &&
	    slot_reset(pdev) == PCI_ERS_RESULT_RECOVERED)
		error_resume(pdev);
}

static const struct pci_error_handlers error_handlers = {
	.error_detected = error_detected,
	.slot_reset = slot_reset,
	.resume = error_resume,
};

static ssize_t quarantined_pages_show(struct device_driver *driver, char *buf)
{
	return sysfs_emit(buf, "%llu\n", unic_quarantined());
}
static DRIVER_ATTR_RO(quarantined_pages);

static struct attribute *driver_attrs[] = {
	&driver_attr_quarantined_pages.attr,
	NULL,
};
ATTRIBUTE_GROUPS(driver);

static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110) }, /* ivshmem */
	{}
};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver driver = {
	.name = "unic",
	.id_table = ids,
	.probe = unic_probe,
	.remove = unic_remove,
	.shutdown = unic_shutdown,
	.err_handler = &error_handlers,
	.groups = driver_groups,
	.driver = { .probe_type = PROBE_PREFER_ASYNCHRONOUS,
		    .pm = pm_sleep_ptr(&pm_ops),
		    },
};

static int __init unic_init(void)
{
	int err = unic_later_init();

	if (err)
		return err;
	err = unic_fence_init();
	if (err)
		goto no_fence;
	err = unic_cdev_init();
	if (err)
		goto no_cdev;
	unic_debugfs_init();
	err = pci_register_driver(&driver);
	if (!err)
		return 0;
	unic_debugfs_exit();
	unic_cdev_exit();
no_cdev:
	unic_fence_exit();
no_fence:
	unic_later_exit();
	return err;
}
module_init(unic_init);

static void __exit unic_exit(void)
{
	pci_unregister_driver(&driver);
	unic_fence_exit();
	unic_later_exit(); /* what is being fetched has a device */
	unic_debugfs_exit();
	unic_cdev_exit();
}
module_exit(unic_exit);

MODULE_DESCRIPTION("host driver of the unic RDMA NIC");
MODULE_VERSION(UNIC_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
