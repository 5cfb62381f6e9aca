/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_id.h - ids of the connection manager: what one is, and how it is named, used and
 * ended.
 *
 * Secret: which numbers are ids, and when the memory of one ends: who has one from
 * unic_ucma_id_get() keeps it, and the lock of its commands; its end waits for them.
 */
#ifndef UNIC_UCMA_ID_H
#define UNIC_UCMA_ID_H

#include <infiniband/verbs.h>
#include <pthread.h>

#include "ucma_chan.h"
#include "ucma_dev.h"
#include "wire.h"

enum unic_ucma_state {
	UCMA_IDLE,
	UCMA_BOUND,
	UCMA_ADDR_RESOLVED,
	UCMA_ROUTE_RESOLVED,
	UCMA_LISTEN,
	UCMA_REQUESTED, /* it came by CONNECT_REQUEST */
	UCMA_CONNECT,	/* asked for, and not established yet */
	UCMA_ACCEPTED,	/* answered, and not established yet */
	UCMA_ESTABLISHED,
	UCMA_ENDED,
};

struct unic_ucma_addr {
	uint32_t ipv4; /* host order, 0: any, or none */
	uint16_t port;
	bool set;
};

/* A device that an id listens on. */
struct unic_ucma_listen {
	struct unic_wire *wire;
	uint32_t id;
	uint32_t ipv4;
	uint8_t guid[8];
};

struct unic_ucma_id {
	uint32_t handle;
	uint64_t uid; /* 0: a request that is not accepted yet */
	struct unic_ucma_chan *chan;
	unsigned int users;
	bool ending;
	bool unread; /* its CONNECT_REQUEST, which names it, is in the channel */
	pthread_mutex_t turn; /* one command of an id at a time */

	/* Commands write these with `turn` and the lock of all, and so need only one to
	 * read. */
	enum unic_ucma_state state;
	uint16_t ps;
	uint8_t qp_type; /* enum ibv_qp_type */
	bool active;
	bool was_up; /* ESTABLISHED was told */
	uint8_t ack_timeout;
	struct unic_ucma_addr src, dst;
	struct unic_wire *wire; /* NULL: it has no device */
	uint8_t guid[8];
	uint32_t conn;		   /* 0: none */
	struct unic_wire_event at; /* where `conn` stands */
	struct unic_ucma_listen on[UNIC_UCMA_DEVICES];
	int n_on;
	uint32_t backlog, waiting; /* requests that it may have, and has */
	uint32_t reported;	   /* events that the program has read */
};

static inline bool unic_ucma_is_ud(const struct unic_ucma_id *id)
{
	return id->qp_type == IBV_QPT_UD;
}

/** unic_ucma_id_new() - an id of @chan. NULL: no number or no memory.
 * With the lock. */
struct unic_ucma_id *unic_ucma_id_new(struct unic_ucma_chan *chan);
/** unic_ucma_id_get() - id @handle of @chan and its turn, until unic_ucma_id_put(). 0,
 * -ENOENT no such id, or none that the program knows; -EINVAL of another channel. Without the lock. */
int unic_ucma_id_get(const struct unic_ucma_chan *chan, uint32_t handle,
		     struct unic_ucma_id **out);
void unic_ucma_id_put(struct unic_ucma_id *id);
/** unic_ucma_id_end() - the number of an id that one has from unic_ucma_id_get() is none any
 * more. False: another thread did that. Waits until nobody else uses it; its memory stays
 * until unic_ucma_id_free(). Without the lock. */
bool unic_ucma_id_end(struct unic_ucma_id *id);
void unic_ucma_id_free(struct unic_ucma_id *id);

/** unic_ucma_id_undo() - free an id that unic_ucma_id_new() has just made. With the lock. */
void unic_ucma_id_undo(struct unic_ucma_id *id);

/** unic_ucma_id_at() - the id at place @i, or NULL: to look at all. With the lock. */
struct unic_ucma_id *unic_ucma_id_at(unsigned int i);
#define UNIC_UCMA_IDS 4096u /* places */

#endif /* UNIC_UCMA_ID_H */
