/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_vector.h - the vectors between the machine and a NIC: 0 for the driver, 1 + n for
 * process slot n. */
#ifndef UNIC_VECTOR_H
#define UNIC_VECTOR_H

#include <linux/compiler.h>
#include <linux/types.h>

struct unic_os;

/** unic_vector_set_regs() - use @regs for doorbells; NULL: none. When it returns,
 * no caller uses the registers of before. Takes os->ring_lock. */
void unic_vector_set_regs(struct unic_os *os, void __iomem *regs);

/** unic_vector_ring() - ring doorbell vector @vector of the NIC; does nothing without
 * registers. Any context; takes os->ring_lock. */
void unic_vector_ring(struct unic_os *os, u32 vector);

/** unic_vector_ring_at() - ring doorbell vector @vector through @regs, the registers of
 * a function that no unic_os has yet. Any context, no lock. */
void unic_vector_ring_at(void __iomem *regs, u32 vector);

/** unic_vector_end_nic() - ask the bus to end the NIC, and return before it has. Any
 * context; takes os->ring_lock. */
void unic_vector_end_nic(struct unic_os *os);

/** unic_vector_is_host() - do @regs say that the function is the host among its peers?
 * Otherwise the NIC would ring another one. */
bool unic_vector_is_host(void __iomem *regs);

/** unic_vector_request() - install the handlers of os->vectors interrupt vectors, which
 * the caller allocated. Returns 0 or -errno; on error the vectors are freed. */
int unic_vector_request(struct unic_os *os);

/** unic_vector_free() - remove the handlers, wait for those that run, and free the
 * vectors. */
void unic_vector_free(struct unic_os *os);

#endif /* UNIC_VECTOR_H */
