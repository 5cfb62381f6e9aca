/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kmem_priv.h - inside unic_kmem*.c: a handle, and what its files do.
 *
 *   unic_kmem.c       regions, and calls of the module
 *   unic_kmem_call.c  requests to the core and their replies
 *   unic_kmem_link.c  the slot: set-up, upcalls, resets
 *   unic_kmem_conn.c  connections
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

#define UNIC_KMEM_QUIET_MS 5000u /* until the NIC has answered */
#define UNIC_KMEM_REQUESTS 8u	 /* for connections, that wait */

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
	bool noticed, ended, told; /* told: gone() was called */
	u32 why;
	u64 deadline_ns;
	bool absent;   /* the NIC has refused it */
	bool unmapped; /* the pages are given back */
	enum dma_data_direction dir;
	struct scatterlist *sg;
	int n, mapped;
	u64 bytes;
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
	bool up, leaving, over, closing, closed, lost;
	u32 gen; /* of all objects: another one after a reset */
	u32 seq, upcall, tags, left, pd;
	u64 retry_ns, pages;
	struct list_head asks, regions;
	struct task_struct *runner;	  /* of a function of the module ... */
	struct unic_kmem_region *running; /* ... about this one */
	void *mem;			  /* of the queues */
	dma_addr_t bus;
	u32 cq, mr; /* ids */
	struct unic_kmem_conn conn[UNIC_KMEM_CONNS];
	struct unic_upcall_conn request[UNIC_KMEM_REQUESTS];
	u32 requests;
};

/* unic_kmem_call.c */

/** unic_kmem_send() - send @op: @rec of UNIC_CTL_BYTES, and @tail bytes behind it. 0, and
 * @ask->done follows; -ENODEV. Takes unic_os.lock. */
int unic_kmem_send(struct unic_kmem *k, struct unic_kmem_ask *ask, u32 op,
		   void *rec, u32 tail);
/** unic_kmem_wait() - wait for @ask. Returns its status; -ENODEV; -ETIMEDOUT: no answer
 * came within seconds, and the slot is given up. */
int unic_kmem_wait(struct unic_kmem *k, struct unic_kmem_ask *ask);
/** unic_kmem_call() - both. */
int unic_kmem_call(struct unic_kmem *k, struct unic_kmem_ask *ask, u32 op,
		   void *rec, u32 tail);
/** unic_kmem_end_asks() - end all requests with @status; the caller holds unic_os.lock. */
void unic_kmem_end_asks(struct unic_kmem *k, int status);
void unic_kmem_reply(struct unic_kclient *kc, const void *msg, u32 bytes);
/** unic_kmem_errno() - what a module is told of @status. */
int unic_kmem_errno(int status);

/* unic_kmem_link.c: those without a comment are of struct unic_kclient */

/** unic_kmem_set_up() - get a slot and what is needed in it, unless that is done, or must
 * wait. 0 or a status; takes both locks. */
int unic_kmem_set_up(struct unic_kmem *k);
/** unic_kmem_may_touch() - true while the NIC may use pages of before a reset. */
bool unic_kmem_may_touch(const struct unic_kmem *k);
/** unic_kmem_restart() - give the slot up: its state is not known. With unic_os.lock. */
void unic_kmem_restart(struct unic_kmem *k);
u64 unic_kmem_poll(struct unic_kclient *kc);

/* unic_kmem_conn.c */

/** unic_kmem_begin_listen() - after set-up: queues and the listener. Status. */
int unic_kmem_begin_listen(struct unic_kmem *k);
/** unic_kmem_conns() - handle a request or the end of a connection. False: there was
 * none. */
bool unic_kmem_conns(struct unic_kmem *k);
/** unic_kmem_requested(), unic_kmem_ended() - note what an upcall says; unic_os.lock is
 * held. */
void unic_kmem_requested(struct unic_kmem *k,
			 const struct unic_upcall_conn *up);
void unic_kmem_ended(struct unic_kmem *k, u32 conn, u32 qp);

/* unic_kmem.c */

/** unic_kmem_enter(), unic_kmem_exit() - around a call of the module, about @r or NULL. */
void unic_kmem_enter(struct unic_kmem *k, struct unic_kmem_region *r);
void unic_kmem_exit(struct unic_kmem *k);

#endif /* UNIC_KMEM_PRIV_H */
