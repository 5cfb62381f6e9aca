/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_pm.h - suspend, and errors of the bus. */
#ifndef UNIC_PM_H
#define UNIC_PM_H

#include <linux/pci.h>
#include <linux/pm.h>

/** unic_pm_ops, unic_pm_errors - for the struct pci_driver, whose driver data is a
 * struct unic_os. */
extern const struct dev_pm_ops unic_pm_ops;
extern const struct pci_error_handlers unic_pm_errors;

#endif /* UNIC_PM_H */
