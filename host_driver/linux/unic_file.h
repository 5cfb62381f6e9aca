/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_file.h - an open file of /dev/unicN or /dev/unic: one process as a client of the core
 * of one NIC. */
#ifndef UNIC_FILE_H
#define UNIC_FILE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "host.h"

struct unic_mem;
struct unic_os;
struct unic_reply;

struct unic_file {
	struct unic_client core;
	struct unic_os *os;    /* NULL: not chosen yet (/dev/unic) */
	struct mutex choice;   /* of os, while it is NULL */
	struct mm_struct *mm;  /* of the process that opened it; a reference */
	struct list_head node; /* of os->files, while it is a client */
	struct unic_mem *mem;
	bool ended; /* the client has ended; written under unic_os.lock */
	u32 slot;   /* the slot that the client has or had */

	/* of unic_wake.c */
	wait_queue_head_t wait;
	struct fasync_struct *fasync;
	bool upcalls, cqs; /* the flags that a read clears */

	/* of unic_call.c */
	spinlock_t queue_lock;	/* of the next two */
	struct list_head queue; /* calls that wait for a place */
	u32 places;		/* that are taken */
	wait_queue_head_t answered;
	/* memory without and with a reply, under unic_os.lock */
	struct list_head open, replies;
	struct unic_reply *spare;
};

/** unic_file_fops - what a process does with /dev/unicN. */
extern const struct file_operations unic_file_fops;

/** unic_file_any_fops - what a process does with /dev/unic: the same, once its first request
 * has chosen a NIC. */
extern const struct file_operations unic_file_any_fops;

/** unic_file_of() - the file of @client, which is a process. */
struct unic_file *unic_file_of(struct unic_client *client);

/** unic_file_end() - end @f as a client of the core and wake its waiters; a second call
 * does nothing. The caller holds unic_os.lock and keeps @f. */
void unic_file_end(struct unic_file *f);

#endif /* UNIC_FILE_H */
