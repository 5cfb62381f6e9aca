// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_fence.c - how a NIC is kept from memory, and where memory is until it is.
 *
 * Secret: what proves that the NIC does not write. Bus mastering does not: the NIC has a
 * path of its own to the machine's memory. The driver writes a word in the BAR, which
 * the NIC reads before it touches memory, and answers. If the NIC does not answer, the
 * driver asks the bus to end it. Until one of the two has happened, no memory that the
 * NIC may write to is freed: the device is in quarantine, with all pins, mappings and
 * pages, and outlives the driver.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/reboot.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "unic_dev.h"
#include "unic_fence.h"
#include "unic_pci.h"
#include "unic_slot.h"
#include "unic_vector.h"

#define ANSWER_MS 2000u /* a working NIC answers within, and a working bus */
#define LOOK_MS	  200u
#define LAST_MS	  10000u /* before memory is given up for good */

/* Devices whose NIC did not answer; no bound device is among them. */
static LIST_HEAD(kept);
static DEFINE_MUTEX(kept_lock);
static struct workqueue_struct *keeper;

/* ------------------------------------------------------------------- the fence */

static bool is_fenced(struct unic_os *os)
{
	unsigned int noio = unic_lock(os);
	bool yes = unic_host_fenced(os->host);

	unic_unlock(os, noio);
	return yes;
}

static bool wait_fenced(struct unic_os *os)
{
	unsigned long until = jiffies + msecs_to_jiffies(ANSWER_MS);

	while (!is_fenced(os)) {
		if (time_after(jiffies, until))
			return false;
		fsleep(500);
	}
	return true;
}

/* The NIC is kept off: the core releases all memory that it had. */
static void unplug_nic(struct unic_os *os)
{
	unsigned int noio = unic_lock(os);

	unic_host_plug(os->host, false);
	unic_unlock(os, noio);
}

bool unic_fence(struct unic_os *os)
{
	unsigned int noio = unic_lock(os);
	bool kept_off;

	os->fenced = true;
	os->plugged = false;
	unic_host_fence(os->host);
	unic_unlock(os, noio);
	kept_off = wait_fenced(os);
	if (!kept_off) {
		dev_warn(&os->dev, "the NIC does not answer: its end is asked "
				   "for\n");
		unic_vector_end_nic(os);
		kept_off = wait_fenced(os);
	}
	if (kept_off)
		unplug_nic(os);
	return kept_off;
}

void unic_unfence(struct unic_os *os)
{
	unsigned int noio = unic_lock(os);

	/* detect_nic() plugs the NIC again, and the core resets it */
	os->fenced = false;
	os->plugged = false;
	unic_unlock(os, noio);
	unic_dev_kick(os);
}

/* ------------------------------------------------------------------ quarantine */

static void free_quarantined(struct unic_os *os)
{
	u64 pages = unic_pages(os);

	unplug_nic(os);
	unic_pci_tear_down(os);
	dev_info(&os->dev, "the NIC has let go: %llu pages leave quarantine\n",
		 pages);
	put_device(&os->dev);
}

/* A removed PCI address may belong to another device: its BAR is not read. */
static bool can_poll_nic(struct unic_os *os)
{
	return device_is_registered(&os->pdev->dev);
}

static void quarantine_work(struct work_struct *work)
{
	struct unic_os *os =
		container_of(work, struct unic_os, quarantine.work);
	bool over;

	mutex_lock(&kept_lock);
	over = !list_empty(&os->kept) && can_poll_nic(os) && is_fenced(os);
	if (over)
		list_del_init(&os->kept);
	else if (!list_empty(&os->kept))
		queue_delayed_work(keeper, &os->quarantine,
				   msecs_to_jiffies(LOOK_MS));
	mutex_unlock(&kept_lock);
	if (!over)
		return;
	free_quarantined(os);
	/* unic_fence_exit() waits until this function has returned */
	module_put(THIS_MODULE);
}

void unic_quarantine(struct unic_os *os)
{
	dev_err(&os->dev,
		"the NIC may still write to %llu pages: they stay in "
		"quarantine\n",
		unic_pages(os));
	INIT_DELAYED_WORK(&os->quarantine, quarantine_work);
	mutex_lock(&kept_lock);
	list_add(&os->kept, &kept);
	os->held = try_module_get(THIS_MODULE);
	/* else the module is being unloaded: unic_fence_exit() polls the NIC */
	if (os->held)
		queue_delayed_work(keeper, &os->quarantine,
				   msecs_to_jiffies(LOOK_MS));
	mutex_unlock(&kept_lock);
}

static bool same_pci_addr(const struct pci_dev *a, const struct pci_dev *b)
{
	return pci_domain_nr(a->bus) == pci_domain_nr(b->bus) &&
	       a->bus->number == b->bus->number && a->devfn == b->devfn;
}

/* Fences through the BAR that a new probe has mapped: no core runs on it yet. */
static bool fence_via_bar(void *bar, void __iomem *regs)
{
	struct unic_driver_page *page = bar + UNIC_BAR_DRIVER_OFF;
	struct unic_nic_idx *nic = bar + UNIC_BAR_NIC_OFF;
	const struct unic_info *info = bar + UNIC_BAR_INFO_OFF;
	u32 value = unic_from_le32(UNIC_LOAD(nic->fenced)) + 1, ms;

	value += !value;
	UNIC_STORE(page->fence, unic_to_le32(value));
	unic_os_mb();
	unic_vector_ring_at(regs, 0);
	for (ms = 0; ms < ANSWER_MS; ms++) {
		if (!unic_from_le32(UNIC_LOAD(info->magic)) ||
		    unic_from_le32(UNIC_LOAD(nic->fenced)) == value)
			return true;
		fsleep(1000);
	}
	return false;
}

int unic_quarantine_settle(struct pci_dev *pdev, void *bar, void __iomem *regs)
{
	struct unic_os *os, *next;
	LIST_HEAD(over);
	int err = 0;

	mutex_lock(&kept_lock);
	list_for_each_entry_safe(os, next, &kept, kept) {
		if (!same_pci_addr(os->pdev, pdev))
			continue;
		err = err ?: fence_via_bar(bar, regs) ? 0 : -EBUSY;
		if (err)
			continue;
		/* quarantine_work() leaves a device alone that is not in `kept` */
		list_del_init(&os->kept);
		list_add(&os->node, &over);
	}
	mutex_unlock(&kept_lock);
	list_for_each_entry_safe(os, next, &over, node) {
		cancel_delayed_work_sync(&os->quarantine);
		free_quarantined(os);
		/* not the last reference: the caller has one */
		module_put(THIS_MODULE);
	}
	return err;
}

u64 unic_quarantined(void)
{
	struct unic_os *os;
	u64 pages = 0;

	mutex_lock(&kept_lock);
	list_for_each_entry(os, &kept, kept)
		pages += unic_pages(os);
	mutex_unlock(&kept_lock);
	return pages;
}

/* ------------------------------------------------------------------------ kexec */

/*
 * The next kernel uses all memory. No driver can refuse kexec, but the machine goes on
 * until this notifier returns, so the caller of kexec waits here. Any other restart
 * loses the memory anyway: unic_pci.c only logs it.
 */
static int on_reboot(struct notifier_block *nb, unsigned long action, void *cmd)
{
	bool said = false;

	if (!cmd || strcmp(cmd, "kexec reboot"))
		return NOTIFY_DONE;
	while (!unic_pci_leave_all() || unic_quarantined()) {
		if (!said)
			pr_emerg("unic: kexec waits: a NIC may still write to "
				 "memory\n");
		said = true;
		schedule_timeout_idle(msecs_to_jiffies(LOOK_MS));
	}
	return NOTIFY_DONE;
}

static struct notifier_block reboot = { .notifier_call = on_reboot };

int unic_fence_init(void)
{
	int err;

	keeper = alloc_workqueue("unic_kept", WQ_UNBOUND, 0);
	if (!keeper)
		return -ENOMEM;
	err = register_reboot_notifier(&reboot);
	if (err)
		destroy_workqueue(keeper);
	return err;
}

/* Only control pages are left: a device with pins holds a reference to the module. */
static void end_quarantine(struct unic_os *os)
{
	unsigned long until = jiffies + msecs_to_jiffies(LAST_MS);

	while (!is_fenced(os) && time_before(jiffies, until))
		fsleep(1000);
	list_del_init(&os->kept);
	if (is_fenced(os))
		free_quarantined(os);
	else
		dev_emerg(&os->dev, "%llu pages are lost until a restart\n",
			  unic_pages(os));
}

void unic_fence_exit(void)
{
	struct unic_os *os, *next;

	unregister_reboot_notifier(&reboot);
	list_for_each_entry_safe(os, next, &kept, kept)
		end_quarantine(os);
	destroy_workqueue(keeper);
}
