/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_chan.h - a channel: one opening of /dev/infiniband/rdma_cm, and the events that
 * wait in it.
 *
 * Secret: the descriptor is one end of a pair of sockets, in which a byte lies as long as
 * an event waits. So it polls, blocks, is interrupted and obeys O_NONBLOCK as the device
 * does.
 */
#ifndef UNIC_UCMA_CHAN_H
#define UNIC_UCMA_CHAN_H

#include <netinet/in.h> /* before the kernel's, which has the same structs */
#include <stdbool.h>
#include <stdint.h>

#include <rdma/rdma_user_cm.h>

struct unic_ucma_id;

struct unic_ucma_event {
	struct unic_ucma_event *next;
	struct unic_ucma_id *of;      /* whose event it is */
	struct unic_ucma_id *request; /* CONNECT_REQUEST: the new id */
	struct rdma_ucm_event_resp resp;
};

struct unic_ucma_chan {
	int rfd, wfd; /* the program's, and the other end */
	int pid;
	/* of both: with another one, something else has the number now */
	uint64_t inode, winode;
	unsigned int users;
	struct unic_ucma_event *first, **last;
};

/** unic_ucma_lock() - the lock of all channels and ids; nobody waits for a driver with it.
 * unic_ucma_unlock(). */
void unic_ucma_lock(void);
void unic_ucma_unlock(void);

/** unic_ucma_chan_open() - a channel, opened with @flags of open(): its descriptor, or
 * -errno. */
int unic_ucma_chan_open(int flags);
/** unic_ucma_chan_owns() - true if @fd may be one. Takes no lock, calls nothing. */
bool unic_ucma_chan_owns(int fd);
/** unic_ucma_chan_get() - the channel of @fd, which stays until unic_ucma_chan_put(). NULL:
 * it is none, or of the process that forked this one. */
struct unic_ucma_chan *unic_ucma_chan_get(int fd);
void unic_ucma_chan_put(struct unic_ucma_chan *c);
/** unic_ucma_chan_leave() - @fd is about to be closed, or was: its channel, with the
 * reference of its opening, or NULL. A child of vfork() has its own descriptors and its
 * parent's memory: NULL, and nothing has changed. */
struct unic_ucma_chan *unic_ucma_chan_leave(int fd);
/** unic_ucma_chan_stale() - a descriptor that was a channel's, and that the program has
 * closed by a call which this library does not see; -1: there is none. */
int unic_ucma_chan_stale(void);

/** unic_ucma_chan_in() - the lowest descriptor from @first to @last that may be a channel,
 * or -1. */
int unic_ucma_chan_in(unsigned int first, unsigned int last);
/** unic_ucma_chan_other() - the lowest descriptor from @first to @last that is the other end
 * of a channel, or -1. */
int unic_ucma_chan_other(unsigned int first, unsigned int last);

/** unic_ucma_chan_wait() - until an event waits in @c. 0; -EAGAIN, -EINTR as the
 * descriptor has it. A thread may be cancelled in it. Without the lock. */
int unic_ucma_chan_wait(struct unic_ucma_chan *c);
/** unic_ucma_chan_add() - add @ev, whose memory @c takes. With the lock, as all below. */
void unic_ucma_chan_add(struct unic_ucma_chan *c, struct unic_ucma_event *ev);
/** unic_ucma_chan_take() - take the first event out of @c, for the caller to free; NULL:
 * there is none. */
struct unic_ucma_event *unic_ucma_chan_take(struct unic_ucma_chan *c);
/** unic_ucma_chan_take_of() - likewise, the first of @id. */
struct unic_ucma_event *unic_ucma_chan_take_of(struct unic_ucma_chan *c,
					       const struct unic_ucma_id *id);

#endif /* UNIC_UCMA_CHAN_H */
