// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_pci.c - how a NIC is found, reached and left.
 *
 * Secret: which PCI functions are NICs, and the order in which one is set up and taken
 * down. A NIC is a function that shares memory with its peers and rings them (QEMU's
 * ivshmem-doorbell): BAR 0 has its registers, BAR 2 is the mailbox.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "unic_self_client.h"
#include "unic_cdev.h"
#include "unic_config.h"
#include "unic_debugfs.h"
#include "unic_dev.h"
#include "unic_engine.h"
#include "unic_fence.h"
#include "unic_pin_work.h"
#include "unic_pci.h"
#include "unic_pm.h"
#include "unic_kclient.h"
#include "unic_slot.h"
#include "unic_vector.h"

#define BAR_REGS   0
#define BAR_SHARED 2
#define UNIC_NICS  16

static uint probe_wait_ms = 3000;
module_param(probe_wait_ms, uint, 0644);
MODULE_PARM_DESC(probe_wait_ms, "ms that a NIC may take to show its magic");

static char *nic[UNIC_NICS];
static int nics;
module_param_array(nic, charp, &nics, 0444);
MODULE_PARM_DESC(nic, "PCI addresses of NICs; also those whose driver_override "
		      "says unic");

/* ----------------------------------------------------------------------- probe */

/* Any shared memory has this PCI ID, and its peers can forge the contents: so the
 * administrator says which function is a NIC. */
static bool is_named(const struct pci_dev *pdev)
{
	const char *name = pci_name(pdev);
	int i;

	if (pdev->driver_override)
		/* the administrator has bound this driver to the function */
		return true;
	for (i = 0; i < nics; i++)
		if (!strcmp(nic[i], name) ||
		    (!pci_domain_nr(pdev->bus) && !strcmp(nic[i], name + 5)))
			return true;
	return false;
}

/* A NIC shows its magic once it runs. */
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

/* The mapped BARs of the function; a NIC in quarantine keeps them after unbind. */
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
	if (!unic_vector_is_host(r->regs))
		return -ENODEV; /* BAR 0 would ring another peer */
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
		err = unic_config_host(os);
	if (!err)
		err = unic_vector_request(os);
	else
		pci_free_irq_vectors(os->pdev);
	if (err)
		return err;
	err = unic_engine_start(os);
	if (err) {
		unic_vector_free(os);
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
	unic_self_client_init(&os->ask);
	spin_lock_init(&os->ring_lock);
	init_waitqueue_head(&os->wake);
	INIT_LIST_HEAD(&os->files);
	INIT_LIST_HEAD(&os->kclients);
	INIT_LIST_HEAD(&os->orphans);
	err = unic_cdev_prepare(os, &pdev->dev);
	if (!err)
		return os;
	pci_dev_put(pdev);
	kvfree(os);
	return ERR_PTR(err);
}

/* ----------------------------------------------------------------------- leave */

/* The bound NICs. A NIC enters the list, or goes from it to quarantine, under the lock:
 * so kexec finds each NIC in one of the two. */
static LIST_HEAD(bound);
static DEFINE_MUTEX(bound_lock);

/* Ends all clients and fences the NIC. False: it may still write to their memory. */
static bool quiesce_nic(struct unic_os *os)
{
	unsigned int noio;

	unic_cdev_cut(os);
	noio = unic_lock(os);
	unic_kclients_leave(os);
	unic_unlock(os, noio);
	return unic_fence(os);
}

static void stop_engine_and_irqs(struct unic_os *os)
{
	unic_engine_stop(os);
	unic_vector_free(os);
}

void unic_pci_tear_down(struct unic_os *os)
{
	struct unic_host *host = os->host;
	struct reach r = { os->regs, os->bar };
	unsigned int noio;

	unic_vector_set_regs(os, NULL);
	noio = unic_lock(os);
	unic_kclients_gone(os);
	/* os->host is NULL, so no user is added again */
	os->resident = NULL;
	os->host = NULL;
	unic_unlock(os, noio);
	if (host)
		unic_host_delete(host);
	unic_kclients_free_orphans(os);
	unic_pin_work_flush();
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

/* Frees @os, or leaves it to the quarantine if the NIC may still write to memory. */
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

/* Sets @os up and adds it to the list; on error @os is freed. */
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
	unic_vector_set_regs(os, r.regs);
	pci_set_drvdata(pdev, os);
	/* pci_restore_state() after a bus error needs a saved state */
	pci_save_state(pdev);
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
	.err_handler = &unic_pm_errors,
	.groups = driver_groups,
	.driver = { .probe_type = PROBE_PREFER_ASYNCHRONOUS,
		    .pm = pm_sleep_ptr(&unic_pm_ops),
		    },
};

static int __init unic_init(void)
{
	int err = unic_pin_work_init();

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
	unic_pin_work_exit();
	return err;
}
module_init(unic_init);

static void __exit unic_exit(void)
{
	pci_unregister_driver(&driver);
	unic_fence_exit();
	/* a fetch under way holds a reference to its device */
	unic_pin_work_exit();
	unic_debugfs_exit();
	unic_cdev_exit();
}
module_exit(unic_exit);

MODULE_DESCRIPTION("host driver of the unic RDMA NIC");
MODULE_VERSION(UNIC_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
