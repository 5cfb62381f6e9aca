/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rig_kernel.h - process slot 0 with memory and queues of the driver, which are
 * named by bus addresses.
 */
#ifndef RIG_KERNEL_H
#define RIG_KERNEL_H

#include "rig.h"

#define AT(page) ((uint32_t)(page)*4096u)
/* offset in the window; behind the doorbell page */
#define RIG_KERNEL_FIRST AT(16)
#define RIG_KERNEL_BYTES AT(64) /* length that is registered */
#define RIG_KERNEL_BUS	 UNIC_BUS(0, RIG_KERNEL_FIRST)

/** rig_list() - return the list page of the next command. */
uint8_t *rig_list(struct rig *r);

/** rig_physical_pd() - allocate a physical protection domain of process 0. */
uint32_t rig_physical_pd(struct rig *r);

/** rig_physical_cmd() - the MR_REG of rig_reg_physical(), for a test to change. */
struct unic_cmd_mr_reg rig_physical_cmd(uint32_t pd);

/** rig_reg_physical() - register RIG_KERNEL_BYTES as one physical region. */
void rig_reg_physical(struct rig *r, uint32_t pd, struct rig_mr *out);

/** rig_physical_qp() - create a queue pair, row 1, with its rings in pages 0 to 2
 * of @mr, which are zeroed. */
void rig_physical_qp(struct rig *r, uint32_t pd, const struct rig_mr *mr,
		     struct rig_qp *qp);

#endif /* RIG_KERNEL_H */
