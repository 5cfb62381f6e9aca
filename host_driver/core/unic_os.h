/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_os.h - all functions of its environment that the portable host driver calls.
 *
 * Outside itself the core calls these functions, memcpy, memset, memcmp and memmove.
 * unicd, the Linux module, the simulator and the unit tests define the functions, which
 * are bound at link time. Each implementation defines `struct unic_os`. The core runs
 * under one lock of its user, so no function here needs a lock; none may call back
 * into the core.
 */
#ifndef UNIC_OS_H
#define UNIC_OS_H

#ifdef __KERNEL__
#include <asm/barrier.h>
#include <linux/atomic.h>
#include <linux/build_bug.h>
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
	UNIC_LOG_ERROR = 0, /* an operator must act */
	UNIC_LOG_INFO = 1,
	UNIC_LOG_AUDIT = 2, /* one line per request of a process */
};

/** unic_os_now_ns() - CLOCK_MONOTONIC, nanoseconds. */
uint64_t unic_os_now_ns(struct unic_os *os);

/** unic_os_alloc() - allocate @bytes, zeroed, 16-aligned, to be freed with
 * unic_os_free(); or NULL. Does not sleep. */
void *unic_os_alloc(struct unic_os *os, size_t bytes);

/** unic_os_free() - free @p of unic_os_alloc(); nothing if NULL. */
void unic_os_free(struct unic_os *os, void *p);

/** unic_os_log() - log one line of text; printf formats. */
void unic_os_log(struct unic_os *os, enum unic_os_level level, const char *fmt,
		 ...) __attribute__((format(printf, 3, 4)));

/** unic_os_random() - fill @buf with @bytes unpredictable bytes. Never fails. */
void unic_os_random(struct unic_os *os, void *buf, size_t bytes);

/** unic_os_ring_nic() - ring the NIC's doorbell of vector 0. Without a NIC: nothing. */
void unic_os_ring_nic(struct unic_os *os);

/** unic_os_ring_proc() - wake the waiters on completion queues of @slot. */
void unic_os_ring_proc(struct unic_os *os, uint32_t slot);

/** unic_os_upcall() - make the upcall descriptor of @slot readable. */
void unic_os_upcall(struct unic_os *os, uint32_t slot);

/**
 * unic_os_reply() - send one message to process @client, or queue the message.
 * @msg: copied. @hello_slot: the slot whose descriptors go along, or
 * UNIC_OS_NO_SLOT. The core has at most 2 * UNIC_CTL_OPEN_MAX replies a client
 * under way, so the queue is bounded.
 */
void unic_os_reply(struct unic_os *os, struct unic_client *client,
		   const void *msg, uint32_t bytes, uint32_t hello_slot);
#define UNIC_OS_NO_SLOT 0xffffffffu

/** unic_os_slot_zero() - set every byte of the memory of @slot to 0. */
void unic_os_slot_zero(struct unic_os *os, uint32_t slot);

/**
 * unic_os_slot_quiet() - neither core nor NIC has an object of the process that had
 * @slot. Until the OS calls unic_host_slot_free(), the slot is HELD.
 */
void unic_os_slot_quiet(struct unic_os *os, uint32_t slot);

/**
 * unic_os_slot_unused() - true if the memory of quiet @slot may be zeroed for process
 * @pid, which had the slot, or, with config.slots_of_users, is of the same user. False
 * if another process may still use the memory.
 */
bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid);

/* ------------------------------------------- memory shared with others */

/* Barriers towards a device, effective on one processor, too. The kernel has its own. */
#ifndef __KERNEL__
#define dma_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define dma_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define mb()	  __atomic_thread_fence(__ATOMIC_SEQ_CST) /* all before all */
#endif

/* Order reads of an index or flag before reads of the data that it guards. */
static inline void unic_os_rmb(void)
{
	dma_rmb(); /* with the device's unic_wmb() */
}

/* Order writes of a record before the write that publishes the record. */
static inline void unic_os_wmb(void)
{
	dma_wmb(); /* with the device's unic_rmb() */
}

/* Order a write of this side before a read of the other side's word. */
static inline void unic_os_mb(void)
{
	mb(); /* with the device's unic_mb() */
}

/* Add 1 to @n, which others may count up at the same time, and return the result. */
static inline uint32_t unic_os_count(uint32_t *n)
{
#ifdef __KERNEL__
	static_assert(sizeof(atomic_t) == sizeof(*n));
	return (uint32_t)atomic_inc_return((atomic_t *)n);
#else
	return __atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
#endif
}

/* Exactly one access: the compiler neither tears, repeats nor invents it. */
#define UNIC_LOAD(x)	 (*(const volatile __typeof__(x) *)&(x))
#define UNIC_STORE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

#endif /* UNIC_OS_H */
