/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kernel.h - a part of the driver that uses the NIC itself: a process slot whose
 * queues and buffers are named by bus addresses (docs/DESIGN.md section 6.4), one
 * queue pair in it, and commands by the driver's mailbox.
 */
#ifndef EVAL_KERNEL_H
#define EVAL_KERNEL_H

#include "actor.h"

#define KERNEL_SLOTS 32u /* of each work queue */

struct kernel {
	struct actor a; /* first; its own slot */
	uint32_t pd, stag, cq, qpn;
	uint8_t rights; /* that its peer gets; set before kernel_connect() */
	uint32_t sq_tail, rq_tail, cq_ci;
	/* a work request completed */
	void (*done)(struct kernel *k, const struct unic_cqe *c);
};

/* A command ended; @cpl is its completion. */
typedef void (*kernel_reply)(struct kernel *k, uint32_t arg, uint32_t status,
			     const void *cpl);

/** kernel_start() - @pages of memory in runs of 16, ACTOR_ENDS among them; `a.up`
 * says when it is there. */
void kernel_start(struct kernel *k, uint32_t node, uint32_t pid,
		  uint32_t pages);

/** kernel_open() - what it needs to have a queue pair. Waits. */
void kernel_open(struct kernel *k);

/** kernel_window() - all memory of another process of this node; returns the
 * STag. Waits. */
uint32_t kernel_window(struct kernel *k, const struct actor *other);

/** kernel_connect() - with each other. Waits. */
void kernel_connect(struct kernel *k, struct kernel *peer);

/** kernel_command() - @cmd is a struct unic_cmd_*, @list @bytes of a list page or
 * NULL. */
void kernel_command(struct kernel *k, uint8_t opcode, const void *cmd,
		    const void *list, uint32_t bytes, uint32_t arg,
		    kernel_reply reply);

/** kernel_bus() - bus address of byte @at of a process's memory. */
uint64_t kernel_bus(const struct actor *a, uint32_t at);

/** kernel_post() / kernel_recv() - at most KERNEL_SLOTS of each are open. */
void kernel_post(struct kernel *k, const struct unic_sq_slot *s);
void kernel_recv(struct kernel *k, const struct unic_rq_slot *s);

#endif /* EVAL_KERNEL_H */
