// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_pm.c - suspend, and errors of the bus.
 *
 * Secret: which state of the PCI function is saved, and when it is restored.
 */
#include <linux/pci.h>
#include <linux/pm.h>

#include "unic_dev.h"
#include "unic_fence.h"
#include "unic_pm.h"

/* Fences the NIC, which would write to suspended memory. Processes keep their
 * regions. */
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
	/* the PCI core restored the saved state, which ends it */
	pci_save_state(to_pci_dev(dev));
	unic_unfence(dev_get_drvdata(dev));
	return 0;
}

DEFINE_SIMPLE_DEV_PM_OPS(unic_pm_ops, unic_suspend, unic_resume);

/* The function may be unreachable: nothing waits for an answer, and no memory is
 * released. */
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
	pci_save_state(pdev); /* for the next error */
	pci_set_master(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void error_resume(struct pci_dev *pdev)
{
	unic_unfence(pci_get_drvdata(pdev));
}

const struct pci_error_handlers unic_pm_errors = {
	.error_detected = error_detected,
	.slot_reset = slot_reset,
	.resume = error_resume,
};
