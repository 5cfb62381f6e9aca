/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kclient.h - the users of a NIC that are part of the kernel: the page service and
 * the handles of unic_kmem.h. The caller of each function holds unic_os.lock, unless it
 * says otherwise.
 *
 * Secret: how a reply of the core finds its user.
 */
#ifndef UNIC_KCLIENT_H
#define UNIC_KCLIENT_H

#include "unic_dev.h"

/* A user: its functions run under unic_os.lock. */
struct unic_kclient {
	struct list_head node; /* of unic_os.kclients, or of unic_os.orphans */
	/* where its clients of the core are: struct unic_client */
	const void *at;
	size_t bytes;
	/** reply() - take a reply of the core to one of them. */
	void (*reply)(struct unic_kclient *kc, const void *msg, u32 bytes);
	/** poll() - after each unic_host_poll(). Returns when to call again. */
	u64 (*poll)(struct unic_kclient *kc);
	/** leave() - begin nothing more: the driver is about to leave the device. */
	void (*leave)(struct unic_kclient *kc);
	/** gone() - the last call: the device reaches no memory. */
	void (*gone)(struct unic_kclient *kc);
	/** pages() - count the pages that the NIC may use. */
	u64 (*pages)(struct unic_kclient *kc);
	/** orphan() - of one in unic_os.orphans: the device reaches no memory, free
	 * @kc. Without unic_os.lock. */
	void (*orphan)(struct unic_kclient *kc);
};

/** unic_kclient_add() - @kc, whose members are set, is a user of @os until
 * unic_kclient_del() or its gone(). */
void unic_kclient_add(struct unic_os *os, struct unic_kclient *kc);
void unic_kclient_del(struct unic_kclient *kc);

/** unic_kclient_leave_behind() - @kc has no user any more, but the NIC may reach its
 * memory: orphan() frees it. Not after gone(). */
void unic_kclient_leave_behind(struct unic_os *os, struct unic_kclient *kc);

/** unic_kclient_reply() - pass @msg to the user that @client is of. */
void unic_kclient_reply(struct unic_os *os, const struct unic_client *client,
			const void *msg, u32 bytes);

/** unic_kclient_quiet_ms() - within so many ms a NIC that works has answered, and has
 * finished with a slot that was given up: an access that has begun may take its bound. */
u32 unic_kclient_quiet_ms(struct unic_os *os);

/** unic_kclients_poll() - poll all users. Returns when to call again. */
u64 unic_kclients_poll(struct unic_os *os);

/** unic_kclients_leave() - as leave(), of all users. */
void unic_kclients_leave(struct unic_os *os);

/** unic_kclients_gone() - as gone(), of all users; none is left. */
void unic_kclients_gone(struct unic_os *os);

/** unic_kclients_pages() - the sum of pages() of all users. */
u64 unic_kclients_pages(struct unic_os *os);

/** unic_kclients_free_orphans() - as orphan(), of all. @os has no other user; without
 * unic_os.lock. */
void unic_kclients_free_orphans(struct unic_os *os);

#endif /* UNIC_KCLIENT_H */
