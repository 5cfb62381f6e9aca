/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_os.h - everything the portable host driver asks of its surroundings.
 *
 * The core calls these functions, memcpy, memset, memcmp and memmove, and
 * nothing else outside itself. unicd, a Linux module, the simulator and the
 * unit tests define them; they are bound at link time. `struct unic_os` is the
 * implementation's own. The core runs under one lock of its user, so nothing
 * here needs to lock; nothing here may call back into the core.
 */
#ifndef UNIC_OS_H
#define UNIC_OS_H

#ifdef __KERNEL__
#include <asm/barrier.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/string.h>
#include <linux/types.h>
#ifndef UINT32_MAX
#define UINT32_MAX U32_MAX
#endif
#ifndef UINT64_MAX
#define UINT64_MAX U64_MAX
#endif
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

struct unic_os;
struct unic_client;

enum unic_os_level {
	UNIC_LOG_ERROR = 0, /* somebody must do something */
	UNIC_LOG_INFO = 1,
	UNIC_LOG_AUDIT = 2, /* one line per request of a process */
};

/** unic_os_now_ns() - CLOCK_MONOTONIC, nanoseconds. */
uint64_t unic_os_now_ns(struct unic_os *os);

/** unic_os_alloc() - zeroed memory, 16-aligned, or NULL. May not wait. */
void *unic_os_alloc(struct unic_os *os, size_t bytes);

/** unic_os_free() - @p from unic_os_alloc(), or NULL. */
void unic_os_free(struct unic_os *os, void *p);

/** unic_os_log() - one line of text for a human; printf formats. */
void unic_os_log(struct unic_os *os, enum unic_os_level level, const char *fmt,
		 ...) __attribute__((format(printf, 3, 4)));

/** unic_os_random() - @bytes unpredictable bytes. Never fails. */
void unic_os_random(struct unic_os *os, void *buf, size_t bytes);

/** unic_os_ring_nic() - the NIC's doorbell of vector 0; none there: nothing. */
void unic_os_ring_nic(struct unic_os *os);

/** unic_os_ring_proc() - wake who waits on completion queues in @slot. */
void unic_os_ring_proc(struct unic_os *os, uint32_t slot);

/** unic_os_upcall() - make the upcall descriptor of @slot readable. */
void unic_os_upcall(struct unic_os *os, uint32_t slot);

/**
 * unic_os_reply() - send one message to a process, or queue it.
 * @msg: copied. @hello_slot: the slot whose descriptors go along, or
 * UNIC_OS_NO_SLOT. The core has at most 2 * UNIC_CTL_OPEN_MAX replies a client
 * under way, so the queue is bounded.
 */
void unic_os_reply(struct unic_os *os, struct unic_client *client,
		   const void *msg, uint32_t bytes, uint32_t hello_slot);
#define UNIC_OS_NO_SLOT 0xffffffffu

/** unic_os_slot_zero() - every byte of the memory of @slot is 0 afterwards. */
void unic_os_slot_zero(struct unic_os *os, uint32_t slot);

/**
 * unic_os_slot_quiet() - nothing of the process that had @slot is left on our
 * side and on the NIC. Until the OS calls unic_host_slot_free() nobody but the same process may have it again.
 */
void unic_os_slot_quiet(struct unic_os *os, uint32_t slot);

/**
 * unic_os_slot_unused() - @slot is quiet, and its memory may be zeroed for process
 * @pid: the one that had it, or, with slots_of_users, another of its user. False if
 * somebody else may still use it.
 */
bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid);

/* ------------------------------------------- memory shared with others */

/* The other side is a device: a kernel has barriers of its own for those, which are
 * there with one processor, too. */
#ifndef __KERNEL__
#define dma_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define dma_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define mb()	  __atomic_thread_fence(__ATOMIC_SEQ_CST) /* all before all */
#endif

/* Reads that decide before reads of what they guard. */
static inline void unic_os_rmb(void)
{
	dma_rmb(); /* with the device's unic_wmb() */
}

/* Writes of a record before the write that publishes it. */
static inline void unic_os_wmb(void)
{
	dma_wmb(); /* with the device's unic_rmb() */
}

/* A word of ours before the read of a word of theirs. */
static inline void unic_os_mb(void)
{
	mb(); /* with the device's unic_mb() */
}

/* One access, neither torn, repeated nor invented by the compiler. */
#define UNIC_LOAD(x)	 (*(const volatile __typeof__(x) *)&(x))
#define UNIC_STORE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

#endif /* UNIC_OS_H */
