/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "virtio_mmio.h"

#include "unic_port.h"

/* Registers, virtio 1.1 table 4.1 */
#define REG_MAGIC	 0x000u
#define REG_VERSION	 0x004u
#define REG_DEVICE	 0x008u
#define REG_FEATURES	 0x010u
#define REG_FEATURES_SEL 0x014u
#define REG_ACCEPT	 0x020u
#define REG_ACCEPT_SEL	 0x024u
#define REG_QUEUE_SEL	 0x030u
#define REG_QUEUE_MAX	 0x034u
#define REG_QUEUE_SIZE	 0x038u
#define REG_QUEUE_READY	 0x044u
#define REG_QUEUE_NOTIFY 0x050u
#define REG_INT_STATUS	 0x060u
#define REG_INT_ACK	 0x064u
#define REG_STATUS	 0x070u
#define REG_DESC	 0x080u
#define REG_AVAIL	 0x090u
#define REG_USED	 0x0a0u

#define MAGIC		   0x74726976u /* "virt" */
#define STATUS_ACKNOWLEDGE 1u
#define STATUS_DRIVER	   2u
#define STATUS_DRIVER_OK   4u
#define STATUS_FEATURES_OK 8u
#define VERSION_1	   (1u << 0) /* feature 32 */
#define RESET_PATIENCE	   10000u

#define AVAIL_NO_INTERRUPT 1u
#define USED_NO_NOTIFY	   1u

_Static_assert(!(VIRTQ_MAX & (VIRTQ_MAX - 1)), "queue size: a power of two");

static volatile uint32_t *mmio_reg(uintptr_t regs, uint32_t off)
{
	return (volatile uint32_t *)(regs + off);
}

uint32_t virtio_mmio_find(uintptr_t first, uint32_t stride, uint32_t count,
			  uint32_t id)
{
	for (uint32_t i = 0; i < count; i++) {
		uintptr_t regs = first + i * stride;

		if (*mmio_reg(regs, REG_MAGIC) == MAGIC &&
		    *mmio_reg(regs, REG_DEVICE) == id)
			return i;
	}
	return count;
}

static bool virtio_mmio_reset(uintptr_t regs)
{
	*mmio_reg(regs, REG_STATUS) = 0;
	for (uint32_t i = 0; i < RESET_PATIENCE; i++)
		if (!*mmio_reg(regs, REG_STATUS))
			return true;
	return false;
}

int virtio_mmio_start(uintptr_t regs, uint32_t wanted)
{
	uint32_t low;

	if (*mmio_reg(regs, REG_VERSION) != 2)
		return VIRTIO_MMIO_EVERSION;
	if (!virtio_mmio_reset(regs))
		return VIRTIO_MMIO_ERESET;
	*mmio_reg(regs, REG_STATUS) = STATUS_ACKNOWLEDGE;
	*mmio_reg(regs, REG_STATUS) = STATUS_ACKNOWLEDGE | STATUS_DRIVER;
	*mmio_reg(regs, REG_FEATURES_SEL) = 0;
	low = *mmio_reg(regs, REG_FEATURES) & wanted;
	*mmio_reg(regs, REG_FEATURES_SEL) = 1;
	if (!(*mmio_reg(regs, REG_FEATURES) & VERSION_1))
		return VIRTIO_MMIO_EFEATURES;
	*mmio_reg(regs, REG_ACCEPT_SEL) = 0;
	*mmio_reg(regs, REG_ACCEPT) = low;
	*mmio_reg(regs, REG_ACCEPT_SEL) = 1;
	*mmio_reg(regs, REG_ACCEPT) = VERSION_1;
	*mmio_reg(regs, REG_STATUS) |= STATUS_FEATURES_OK;
	if (!(*mmio_reg(regs, REG_STATUS) & STATUS_FEATURES_OK))
		return VIRTIO_MMIO_EFEATURES;
	return VIRTIO_MMIO_OK;
}

static void virtio_mmio_address(uintptr_t regs, uint32_t off, const void *at)
{
	*mmio_reg(regs, off) = (uint32_t)(uintptr_t)at;
	*mmio_reg(regs, off + 4) = 0;
}

int virtio_mmio_queue(uintptr_t regs, uint32_t number, struct virtq *q,
		      uint32_t size)
{
	*mmio_reg(regs, REG_QUEUE_SEL) = number;
	if (size > VIRTQ_MAX || *mmio_reg(regs, REG_QUEUE_MAX) < size)
		return VIRTIO_MMIO_EQUEUE;
	q->regs = regs;
	q->number = (uint16_t)number;
	q->size = (uint16_t)size;
	q->posted = 0;
	q->taken = 0;
	virtq_interrupt(q, false);
	*mmio_reg(regs, REG_QUEUE_SIZE) = size;
	virtio_mmio_address(regs, REG_DESC, q->desc);
	virtio_mmio_address(regs, REG_AVAIL, &q->avail);
	virtio_mmio_address(regs, REG_USED, &q->used);
	*mmio_reg(regs, REG_QUEUE_READY) = 1;
	return VIRTIO_MMIO_OK;
}

void virtio_mmio_run(uintptr_t regs)
{
	*mmio_reg(regs, REG_STATUS) |= STATUS_DRIVER_OK;
}

void virtio_mmio_quiet(uintptr_t regs)
{
	*mmio_reg(regs, REG_INT_ACK) = *mmio_reg(regs, REG_INT_STATUS);
}

void virtq_describe(struct virtq *q, uint32_t id, const void *addr,
		    uint32_t len, uint32_t flags)
{
	q->desc[id].addr = unic_to_le64((uintptr_t)addr);
	q->desc[id].len = unic_to_le32(len);
	q->desc[id].flags = unic_to_le16((uint16_t)flags);
}

void virtq_post(struct virtq *q, uint32_t id, uint32_t len)
{
	q->desc[id].len = unic_to_le32(len);
	q->avail.ring[q->posted++ & (q->size - 1)] = unic_to_le16((uint16_t)id);
}

void virtq_kick(struct virtq *q)
{
	unic_wmb();
	UNIC_WRITE_ONCE(q->avail.idx, unic_to_le16(q->posted));
	unic_mb(); /* the index before the device's flag */
	if (unic_from_le16(UNIC_READ_ONCE(q->used.flags)) & USED_NO_NOTIFY)
		return;
	*mmio_reg(q->regs, REG_QUEUE_NOTIFY) = q->number;
}

bool virtq_ready(const struct virtq *q)
{
	return unic_from_le16(UNIC_READ_ONCE(q->used.idx)) != q->taken;
}

bool virtq_take(struct virtq *q, uint32_t *id, uint32_t *len)
{
	while (virtq_ready(q)) {
		uint32_t slot = q->taken & (q->size - 1u);

		unic_rmb();
		q->taken++;
		*id = unic_from_le32(q->used.elem[slot].id);
		*len = unic_from_le32(q->used.elem[slot].len);
		if (*id < q->size)
			return true;
	}
	return false;
}

void virtq_interrupt(struct virtq *q, bool on)
{
	UNIC_WRITE_ONCE(q->avail.flags,
			unic_to_le16(on ? 0 : AVAIL_NO_INTERRUPT));
	unic_mb(); /* the flag before the caller's last poll */
}
