/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ring_mem.h - the memory of queues: regions of class control. */
#ifndef UNIC_LIB_RING_MEM_H
#define UNIC_LIB_RING_MEM_H

#include "priv.h"

/** unic_reg_control() - allocate @bytes of slot memory and register a region of class
 * control on it, for the ring of a queue. *@out is the caller's until
 * unic_dereg_control(). 0, or -errno with words and nothing allocated. */
int unic_reg_control(struct unic_pd *pd, size_t bytes, struct unic_mr **out);
/** unic_dereg_control() - deregister @mr; its memory is freed only if the driver took
 * the region back, or its NIC is away. */
void unic_dereg_control(struct unic_mr *mr);

#endif /* UNIC_LIB_RING_MEM_H */
