/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kmem_priv.h - inside unic_kmem*.c: a handle, and what its files do.
 *
 *   unic_kmem.c       regions, and calls of the module
 *   unic_kmem_call.c  requests to the core and their replies
 *   unic_kmem_link.c  the slot: set-up, upcalls, resets
 *   unic_kmem_conn.c  connections
 *   unic_kmem_work.c  calls of the module
 *
 * `turn` is taken before unic_os.lock. No function of the module is called with either.
 */
#ifndef UNIC_KMEM_PRIV_H
#define UNIC_KMEM_PRIV_H

#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>

#include "unic_kclient.h"
#include "unic_kmem.h"

#define UNIC_KMEM_REQUESTS 8u /* for connections, that wait */

/* A request to the core, on the stack of who waits for it. */
struct unic_kmem_ask {
	struct list_head node; /* of kmem.asks; empty: answered */
	u32 seq;
	int status; /* enum unic_ctl_status, or -errno */
	u64 rec[UNIC_REC_WORDS];
	u8 tail[UNIC_KMEM_PRIVATE];
	u32 tail_bytes;
	struct completion done;
};

struct unic_kmem_region {
	struct unic_kmem_mr mr;
	struct unic_kmem *k;
	struct list_head node;
	u32 tag, id, gen;	   /* gen: unic_kmem.gen at its MR_REG */
	bool handed_over;	   /* the module has it: it is told */
	bool noticed, ended, told; /* told: gone() was called */
	u32 why;
	u64 deadline_ns;
	bool absent;   /* the NIC has refused it */
	bool unmapped; /* the pages are given back */
	enum dma_data_direction dir;
	struct scatterlist *sg;
	int n, mapped;
	u64 bytes, pages;
};

struct unic_kmem_conn {
	u32 qp; /* id; 0: free */
	u32 conn;
	bool ended;
};

struct unic_kmem {
	struct unic_kclient kc;
	struct unic_client core;
	struct unic_os *os;
	struct device *dma;
	const struct unic_kmem_ops *ops;
	void *of;
	char name[16];
	struct workqueue_struct *wq;
	struct work_struct work;
	wait_queue_head_t wait;
	struct mutex turn; /* of set-up and connections */
	int (*allow)(void *of, struct unic_kmem_request *r);
	u64 service;
	/* under unic_os.lock */
	/* closing: nothing is begun, closed: nothing is asked */
	bool opened, up, leaving, over, closing, closed, lost;
	bool deaf; /* up, but it does not listen yet, for another does */
	u32 gen;   /* of all objects: another one after a reset */
	u32 seq, upcall, tags, left, pd;
	u64 retry_ns, pages;
	struct list_head asks, regions;
	struct task_struct *runner;	  /* of a function of the module ... */
	struct unic_kmem_region *running; /* ... about this one */
	void *mem;			  /* of the queues */
	dma_addr_t bus;
	u32 cq, mr; /* ids; 0: not made yet. Under `turn` */
	struct unic_kmem_conn conn[UNIC_KMEM_CONNS];
	struct unic_upcall_conn request[UNIC_KMEM_REQUESTS];
	u32 requests;
};

#endif /* UNIC_KMEM_PRIV_H */
