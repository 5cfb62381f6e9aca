/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * virtio_mmio.h - a modern virtio device on the MMIO transport, and its split
 * virtqueues (virtio 1.1, sections 2.6 and 4.2).
 *
 * A queue is used in the simplest way that works: one descriptor per buffer,
 * descriptor number = buffer number, described once and posted again and again.
 * Memory is mapped at its own address, so a pointer is a bus address.
 *
 * What the device writes is checked: a wild buffer number is dropped.
 */
#ifndef VIRTIO_MMIO_H
#define VIRTIO_MMIO_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_types.h"

#define VIRTIO_ID_NET 1u
#define VIRTIO_ID_RNG 4u

enum virtio_mmio_status {
	VIRTIO_MMIO_OK = 0,
	VIRTIO_MMIO_EVERSION = -1,  /* legacy transport */
	VIRTIO_MMIO_EFEATURES = -2, /* device and driver cannot agree */
	VIRTIO_MMIO_EQUEUE = -3,    /* no such queue, or too short */
	VIRTIO_MMIO_ERESET = -4,    /* the device does not finish its reset */
};

#define VIRTQ_MAX	 64u /* entries, a power of two */
#define VIRTQ_DESC_WRITE 2u  /* the device writes the buffer */

struct virtq_desc {
	unic_le64 addr;
	unic_le32 len;
	unic_le16 flags;
	unic_le16 next;
};

struct virtq {
	/* shared with the device */
	struct virtq_desc desc[VIRTQ_MAX] __attribute__((aligned(16)));
	struct {
		unic_le16 flags;
		unic_le16 idx;
		unic_le16 ring[VIRTQ_MAX];
	} avail; /* the driver writes */
	struct {
		unic_le16 flags;
		unic_le16 idx;
		struct {
			unic_le32 id;
			unic_le32 len;
		} elem[VIRTQ_MAX];
	} used __attribute__((aligned(4))); /* the device writes */
	/* ours */
	uintptr_t regs;
	uint16_t number;
	uint16_t size;
	uint16_t posted; /* free-running; avail.idx lags until the kick */
	uint16_t taken;	 /* free-running */
};

/**
 * virtio_mmio_find() - the first transport that carries device @id.
 * @first: register block of transport 0; @stride, @count: of the others.
 * Returns its number, or @count.
 */
uint32_t virtio_mmio_find(uintptr_t first, uint32_t stride, uint32_t count,
			  uint32_t id);

/**
 * virtio_mmio_start() - reset the device and agree on features: VERSION_1 and
 * those of @wanted (bits 31:0) that it offers.
 * Returns an enum virtio_mmio_status.
 */
int virtio_mmio_start(uintptr_t regs, uint32_t wanted);

/**
 * virtio_mmio_queue() - set up queue @number with @size entries in @q (zeroed,
 * stays in use until the device is reset). Between start and run.
 */
int virtio_mmio_queue(uintptr_t regs, uint32_t number, struct virtq *q,
		      uint32_t size);

/** virtio_mmio_run() - the device may use its queues from now on. */
void virtio_mmio_run(uintptr_t regs);

/** virtio_mmio_quiet() - take the device's interrupt line down. */
void virtio_mmio_quiet(uintptr_t regs);

/** virtq_describe() - buffer @id is @len bytes at @addr; @flags VIRTQ_DESC_*. */
void virtq_describe(struct virtq *q, uint32_t id, const void *addr,
		    uint32_t len, uint32_t flags);

/**
 * virtq_post() - hand buffer @id, its first @len bytes, to the device; seen by
 * it at the next virtq_kick(). A buffer is posted at most once at a time.
 */
void virtq_post(struct virtq *q, uint32_t id, uint32_t len);

/** virtq_kick() - publish what was posted; notify the device if it asks. */
void virtq_kick(struct virtq *q);

/** virtq_ready() - is the device through with a buffer not yet taken? */
bool virtq_ready(const struct virtq *q);

/**
 * virtq_take() - the next buffer the device is through with.
 * @len: bytes it wrote. Returns false if there is none.
 */
bool virtq_take(struct virtq *q, uint32_t *id, uint32_t *len);

/** virtq_interrupt() - may the device interrupt for this queue? */
void virtq_interrupt(struct virtq *q, bool on);

UNIC_ABI_SIZE(virtq_desc, 16);

#endif /* VIRTIO_MMIO_H */
