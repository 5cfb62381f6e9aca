// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_vector.c - how the machine and a NIC ring each other.
 *
 * Secret: the registers of ivshmem-doorbell, through which peers are rung by number, and
 * which handler an interrupt vector has.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/pci.h>

#include "unic_bus.h"
#include "unic_dev.h"
#include "unic_slot.h"
#include "unic_trace.h"
#include "unic_vector.h"

#define REG_ID	 0x08 /* number of this peer */
#define REG_RING 0x0c

/* ------------------------------------------------------------------- doorbells */

void unic_vector_ring_at(void __iomem *regs, u32 vector)
{
	iowrite32(UNIC_BUS_PEER_NIC << 16 | vector, regs + REG_RING);
}

void unic_vector_ring(struct unic_os *os, u32 vector)
{
	unsigned long flags;

	trace_unic_ring(os, vector);
	spin_lock_irqsave(&os->ring_lock, flags);
	if (os->regs)
		unic_vector_ring_at(os->regs, vector);
	spin_unlock_irqrestore(&os->ring_lock, flags);
}

void unic_vector_end_nic(struct unic_os *os)
{
	unsigned long flags;

	spin_lock_irqsave(&os->ring_lock, flags);
	if (os->regs)
		iowrite32(UNIC_BUS_PEER_END << 16, os->regs + REG_RING);
	spin_unlock_irqrestore(&os->ring_lock, flags);
}

void unic_vector_set_regs(struct unic_os *os, void __iomem *regs)
{
	unsigned long flags;

	spin_lock_irqsave(&os->ring_lock, flags);
	os->regs = regs;
	spin_unlock_irqrestore(&os->ring_lock, flags);
}

bool unic_vector_is_host(void __iomem *regs)
{
	return ioread32(regs + REG_ID) == UNIC_BUS_PEER_HOST;
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

/* The argument of a vector's handler, which says the vector: looking it up may sleep. */
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

int unic_vector_request(struct unic_os *os)
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

void unic_vector_free(struct unic_os *os)
{
	free_irqs(os, os->vectors);
}
