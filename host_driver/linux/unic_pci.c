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

#include "unic_bus.h"
#include "unic_dev.h"
#include "unic_mem.h"
#include "unic_trace.h"

#define BAR_REGS   0
#define BAR_SHARED 2
#define REG_ID	   0x08 /* our number among the peers */
#define REG_RING   0x0c
#define LEAVE_MS   3500 /* a NIC that is well lets go of all within */
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

void unic_pci_ring(struct unic_os *os, u32 vector)
{
	unsigned long flags;

	trace_unic_ring(os, vector);
	spin_lock_irqsave(&os->ring_lock, flags);
	if (os->regs)
		iowrite32(UNIC_BUS_PEER_NIC << 16 | vector,
			  os->regs + REG_RING);
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

static irqreturn_t nic_rang(int irq, void *arg)
{
	trace_unic_rang(arg, 0);
	unic_dev_kick(arg);
	return IRQ_HANDLED;
}

static irqreturn_t slot_rang(int irq, void *arg)
{
	struct unic_kslot *s = arg;
	u32 slot = s - s->os->slot;

	trace_unic_rang(s->os, 1 + slot);
	unic_slot_wake(s->os, slot);
	return IRQ_HANDLED;
}

/* What the handler of a vector is given: asking the system which vector an
 * interrupt is may sleep. */
static void *cookie(struct unic_os *os, u32 vector)
{
	if (!vector)
		return os;
	os->slot[vector - 1].os = os;
	return &os->slot[vector - 1];
}

static void free_irqs(struct unic_os *os, u32 n)
{
	while (n--)
		free_irq(pci_irq_vector(os->pdev, n), cookie(os, n));
	pci_free_irq_vectors(os->pdev);
}

static int take_irqs(struct unic_os *os)
{
	u32 i;
	int err;

	for (i = 0; i < os->vectors; i++) {
		err = request_irq(pci_irq_vector(os->pdev, i),
				  i ? slot_rang : nic_rang, 0,
				  dev_name(&os->dev), cookie(os, i));
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

static int reach(struct pci_dev *pdev, void __iomem **regs, void **bar)
{
	int err = pcim_enable_device(pdev);

	if (err)
		return err;
	if (!pdev->msix_cap ||
	    pci_resource_len(pdev, BAR_SHARED) < UNIC_BAR_BYTES)
		return -ENODEV;
	err = pci_request_regions(pdev, "unic");
	if (err)
		return err;
	*regs = pcim_iomap(pdev, BAR_REGS, 0);
	*bar = devm_memremap(&pdev->dev, pci_resource_start(pdev, BAR_SHARED),
			     pci_resource_len(pdev, BAR_SHARED), MEMREMAP_WB);
	if (!*regs || IS_ERR(*bar))
		err = -ENXIO;
	if (!err)
		err = wait_magic(*bar);
	if (!err && ioread32(*regs + REG_ID) != UNIC_BUS_PEER_HOST)
		err = -ENODEV; /* the NIC would ring somebody else */
	if (!err)	       /* a bus address is an offset in window 0 */
		err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(48));
	return err;
}

/* Of those that the NIC and its vectors make. */
static u32 most_of_user(const struct unic_os *os)
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
		.user_slots = most_of_user(os),
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

static int set_up(struct unic_os *os)
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
		err = take_irqs(os);
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
	os->pdev = pdev;
	mutex_init(&os->lock);
	unic_ask_init(&os->ask);
	spin_lock_init(&os->ring_lock);
	init_waitqueue_head(&os->wake);
	INIT_LIST_HEAD(&os->files);
	err = unic_cdev_prepare(os, &pdev->dev);
	if (!err)
		return os;
	kvfree(os);
	return ERR_PTR(err);
}

/* ----------------------------------------------------------------------- leave */

static bool all_quiet(struct unic_os *os)
{
	bool quiet;
	unsigned int noio;

	noio = unic_lock(os);
	quiet = unic_host_quiet(os->host);
	unic_unlock(os, noio);
	return quiet;
}

/* A NIC that still uses memory of processes is given time to let go of it, then
 * it is kept from reaching any. */
static void leave(struct unic_os *os)
{
	unsigned long until = jiffies + msecs_to_jiffies(LEAVE_MS);

	while (!all_quiet(os) && time_before(jiffies, until))
		fsleep(2000);
	if (!all_quiet(os))
		dev_warn(&os->dev, "the NIC does not let go of memory\n");
	unic_engine_stop(os);
	free_irqs(os, os->vectors);
	pci_clear_master(os->pdev);
}

static void tear_down(struct unic_os *os)
{
	struct unic_host *host = os->host;
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
	unic_later_flush();
	unic_slots_unmap(os);
}

static int unic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	void __iomem *regs;
	struct unic_os *os;
	void *bar;
	int err = is_named(pdev) ? reach(pdev, &regs, &bar) : -ENODEV;

	if (err)
		return err;
	os = os_new(pdev);
	if (IS_ERR(os))
		return PTR_ERR(os);
	os->bar = bar;
	set_regs(os, regs);
	err = set_up(os);
	if (err) {
		if (os->thread)
			leave(os);
		tear_down(os);
		put_device(&os->dev);
		return err;
	}
	pci_set_drvdata(pdev, os);
	dev_info(&os->dev, "%u process slots\n", os->slots);
	return 0;
}

static void unic_remove(struct pci_dev *pdev)
{
	struct unic_os *os = pci_get_drvdata(pdev);

	unic_debugfs_del(os);
	unic_cdev_del(os);
	leave(os);
	tear_down(os);
	put_device(&os->dev);
}

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
	.driver = { .probe_type = PROBE_PREFER_ASYNCHRONOUS },
};

static int __init unic_init(void)
{
	int err = unic_later_init();

	if (err)
		return err;
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
	unic_later_exit();
	return err;
}
module_init(unic_init);

static void __exit unic_exit(void)
{
	pci_unregister_driver(&driver);
	unic_later_exit(); /* what is being fetched has a device */
	unic_debugfs_exit();
	unic_cdev_exit();
}
module_exit(unic_exit);

MODULE_DESCRIPTION("host driver of the unic RDMA NIC");
MODULE_VERSION(UNIC_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
