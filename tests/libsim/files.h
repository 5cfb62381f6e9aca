/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * files.h - the descriptors of processes: events, sets of epoll, memory of slots,
 * texts of /proc, and sockets, whose messages are in socket.c.
 */
#ifndef LIBSIM_FILES_H
#define LIBSIM_FILES_H

#include <poll.h>
#include <sys/epoll.h>

#include "process.h"

#define FILES_SET 8u /* descriptors in a set of epoll, at most */

/* The inode of the memory of a slot. */
#define FILES_INODE(node, slot) (100u + (node)*32u + (slot))

enum file_kind {
	FILE_EVENT = 1,
	FILE_EPOLL,
	FILE_SLOT,
	FILE_TEXT,
	FILE_SOCKET,
};

struct world_client;

struct file {
	enum file_kind kind;
	uint32_t refs;
	struct process *proc;
	bool nonblock;
	uint64_t count;		   /* EVENT */
	struct world_client *bell; /* EVENT: writing rings its NIC; or NULL */
	uint32_t node, slot;	   /* SLOT */
	struct epoll_event set[FILES_SET];
	int member[FILES_SET]; /* EPOLL; -1: none */
	char *text;	       /* TEXT */
	size_t bytes, at;
	struct socket *socket;
};

/** sys_write() - write(), of libunic. */
ssize_t sys_write(int fd, const void *buf, size_t bytes);

/** files_new() - a file of @p, with one reference. */
struct file *files_new(struct process *p, enum file_kind kind);
/** files_put() - drop a reference. */
void files_put(struct file *f);
/** files_install() - give @f, with its reference, a descriptor. */
int files_install(struct process *p, struct file *f);
/** files_get() - the file of @fd; fails the run if there is none. */
struct file *files_get(struct process *p, int fd);
/** files_slot() - whose memory @fd is. */
void files_slot(struct process *p, int fd, uint32_t *node, uint32_t *slot);
/** files_signal() - count one event in @f. */
void files_signal(struct file *f);
/** files_changed() - descriptors of @p may be ready: those who poll look again. */
void files_changed(struct process *p);
/** files_must_be_closed() - fail if @p has a descriptor. */
void files_must_be_closed(const struct process *p);
/** files_close_all() - at the end of @p. */
void files_close_all(struct process *p);

#endif /* LIBSIM_FILES_H */
