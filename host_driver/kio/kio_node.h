/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_node.h - the kernel-resident page service of one host: what its user (unicd,
 * a kernel module) calls.
 *
 * The driver takes a process slot for itself and asks the access layer for what it
 * needs as a process would (kio_node.c); it connects to the services of other
 * hosts, and again when a connection ends, and accepts theirs (kio_link.c).
 *
 *   kio_node   set-up of the slot, requests and their answers
 *   kio_user   places and buffers for I/Os of users that have none
 *   kio_link   connections: their life
 *   kio_conn   what an end of an I/O has its connection do
 *   kio_ring   the memory of the slot, the queues in it
 *   kio_client, kio_server   the life of an I/O on either side
 *
 * Portable: allocates nothing, waits for nothing; the user calls poll.
 */
#ifndef UNIC_KIO_NODE_H
#define UNIC_KIO_NODE_H

#include "host.h"
#include "kio_client.h"
#include "kio_ring.h"
#include "kio_server.h"

#define UNIC_KIO_USERS	 16u /* I/Os of users under way */
#define UNIC_KIO_ASKS	 24u /* requests to the driver without answer */
#define UNIC_KIO_REPLIES 64u

/* Hosts whose address has these first @bits. */
struct unic_kio_net {
	uint32_t ipv4, bits;
};

struct unic_kio_config {
	struct unic_os *os;
	struct unic_host *host;
	void *const *slot_mem; /* as in struct unic_host_config */
	uint64_t slot_bytes;
	void *mem; /* unic_kio_ring_bytes(0) for the queues, at bus address
		    * `bus`; NULL: they lie in the slot, with buffers */
	uint64_t bus;
	uint64_t bus_first,
		bus_bytes; /* with `mem`: what pieces may be, it too */
	uint32_t pid;	   /* the driver's */
	struct unic_kio_store *store;	  /* what is exported; NULL: nothing */
	const struct unic_kio_net *allow; /* to those; for the node's life */
	uint32_t allows;		  /* 0: to every host */
};

enum unic_kio_conn_state {
	UNIC_KIO_C_FREE = 0,
	UNIC_KIO_C_WAIT,    /* until retry_ns, and for something to do */
	UNIC_KIO_C_CREATE,  /* a queue pair is to be made */
	UNIC_KIO_C_CONNECT, /* it was; it is to be connected, or accepted */
	UNIC_KIO_C_UP,
	UNIC_KIO_C_DOWN,  /* the queue pair is to be destroyed */
	UNIC_KIO_C_DRAIN, /* tokens are to end */
};

struct unic_kio_node;

/* A connection; of the first UNIC_KIO_OUT we are the client. */
struct unic_kio_conn {
	struct unic_kio_node *node;
	uint8_t state; /* enum unic_kio_conn_state */
	bool asked;    /* for what the state says: wait for the answer */
	bool gone;     /* it ended before that answer */
	uint32_t ipv4;
	uint32_t qp, id;  /* of the driver; 0: none */
	uint32_t fails;	  /* in a row */
	uint32_t refused; /* status of the last one */
	uint64_t retry_ns, heard_ns;
	uint32_t want_token, want_cancel; /* bit per place in the window */
	uint32_t token_id[UNIC_KIO_JOBS]; /* of the driver */
	uint64_t cancel_ns;		  /* not before */
};

/* A request to the driver that is not answered. */
struct unic_kio_ask {
	uint32_t seq;
	uint16_t op; /* 0: none */
	uint8_t link, at;
};

struct unic_kio_reply {
	uint64_t rec[UNIC_REC_WORDS];
};

/* An I/O of a user of ours. */
struct unic_kio_user {
	struct unic_kio io; /* what and when; not its pieces and done() */
	void *buf;	    /* UNIC_KIO_MAX bytes for its data */
	void *of;	    /* the user's own */
	/* the service's */
	struct unic_kio_node *node;
	bool used;
};

struct unic_kio_node {
	struct unic_kio_config config;
	/** done() - @user is over, see struct unic_kio; put it back. */
	void (*done)(struct unic_kio_user *user, int status, uint32_t bytes);
	struct unic_client core; /* we, as the access layer sees us */
	bool wanted, up;
	bool lost;  /* what we had: I/Os that the NIC had end when it lets go */
	bool asked; /* for step */
	uint8_t step;
	uint32_t why; /* enum unic_ctl_status of the last set-up that failed */
	uint64_t now_ns, retry_ns;
	uint32_t seq, upcall;
	uint32_t left;	     /* a slot that we gave up, see lost */
	uint32_t pd, mr, cq; /* ids */
	uint32_t forms_open; /* asked for */
	struct unic_kio_ring ring;
	struct unic_kio_ask ask[UNIC_KIO_ASKS];
	struct unic_kio_reply reply[UNIC_KIO_REPLIES];
	uint32_t replies, taken; /* free-running */
	struct unic_kio_conn conn[UNIC_KIO_LINKS];
	struct unic_kio_client client[UNIC_KIO_OUT];
	struct unic_kio_server server[UNIC_KIO_IN];
	struct unic_kio_user user[UNIC_KIO_USERS];
	uint32_t window; /* of each connection */
	uint32_t notices;
	uint64_t window_ns;
	uint64_t ios, failed, served;
};

/** unic_kio_node_init() - nothing is set up. */
void unic_kio_node_init(struct unic_kio_node *n,
			const struct unic_kio_config *config);

/** unic_kio_node_fini() - give up the slot; done() is not called any more. The
 * access layer forgets us. */
void unic_kio_node_fini(struct unic_kio_node *n);

/** unic_kio_node_gone() - there is no NIC any more, nor a driver to be asked: all
 * I/Os end, -ENODEV, and none is begun. */
void unic_kio_node_gone(struct unic_kio_node *n);

/** unic_kio_node_want() - set up the slot, if that has not happened. */
void unic_kio_node_want(struct unic_kio_node *n);

/** unic_kio_node_reply() - what the driver answers us (unic_os_reply() for a client
 * that is `kernel`). */
void unic_kio_node_reply(struct unic_kio_node *n, const void *msg,
			 uint32_t bytes);

/** unic_kio_ask() - for kio_link.c: send a request about @link (or place @at of its
 * window) to the driver: @rec, and behind it @tail bytes. False: too many are open;
 * again later. */
bool unic_kio_ask(struct unic_kio_node *n, uint16_t op, void *rec,
		  uint32_t tail, uint32_t link, uint32_t at);

/** unic_kio_node_poll() - bounded work. Returns when to call again at the latest;
 * now: at once. */
uint64_t unic_kio_node_poll(struct unic_kio_node *n);

/**
 * unic_kio_node_start() - begin an I/O that is the caller's own, with pieces; of a
 * WRITE more than UNIC_KIO_GATHER with config.mem only. 0, and io->done() follows;
 * -EINVAL; -EBUSY.
 */
int unic_kio_node_start(struct unic_kio_node *n, struct unic_kio *io,
			uint32_t ipv4);

/** unic_kio_node_status() - why nothing goes to @ipv4, as a status of the driver: of
 * our slot, or of the last connection; 0: connected, or not tried yet. */
uint32_t unic_kio_node_status(const struct unic_kio_node *n, uint32_t ipv4);

/** unic_kio_node_demand() - bytes of buffer that all would use. */
uint64_t unic_kio_node_demand(const struct unic_kio_node *n);

#endif /* UNIC_KIO_NODE_H */
