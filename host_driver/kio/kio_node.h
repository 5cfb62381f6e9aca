/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_node.h - the kernel-resident page service of one host: the calls of its user
 * (unicd, a kernel module).
 *
 * The driver has a process slot of its own and sends requests to the access layer as a
 * process does (kio_node.c). The service connects to the services of other hosts, again
 * after each end, and accepts their connections (kio_link.c).
 *
 *   kio_node   set-up of the slot, requests and their answers
 *   kio_account  who is charged for an I/O's entries, and the windows
 *   kio_user   places and buffers for I/Os of users that have none
 *   kio_link   the states of connections
 *   kio_lend   the access of peers to the memory of an I/O
 *   kio_conn   the link functions of clients and servers
 *   kio_ring   the memory of the slot, the queues in it
 *   kio_client, kio_server   the states of an I/O on either side
 *
 * Portable: allocates nothing, never blocks; the user calls unic_kio_node_poll().
 */
#ifndef UNIC_KIO_NODE_H
#define UNIC_KIO_NODE_H

#include "host.h"
#include "kio_account.h"
#include "kio_client.h"
#include "kio_ring.h"
#include "kio_server.h"

#define UNIC_KIO_USERS	 16u /* I/Os of users under way */
#define UNIC_KIO_ASKS	 24u /* requests to the driver without answer */
#define UNIC_KIO_REPLIES 64u

/* The hosts whose first @bits of the address are those of @ipv4. */
struct unic_kio_net {
	uint32_t ipv4, bits;
};

struct unic_kio_config {
	struct unic_os *os;
	struct unic_host *host;
	void *const *slot_mem; /* as in struct unic_host_config */
	uint64_t slot_bytes;
	void *mem; /* unic_kio_ring_bytes(0) for the queues, at bus address
		    * `bus`; NULL: queues and buffers are in the slot */
	uint64_t bus;
	uint64_t bus_first,
		bus_bytes; /* with `mem`: range of pieces and `mem` */
	uint32_t pid;	   /* of the driver */
	struct unic_kio_store *store;	  /* exported; NULL: none */
	const struct unic_kio_net *allow; /* may connect; not copied */
	uint32_t allows;		  /* 0: every host */
	bool rdma; /* I/Os of this host go by RDMA, if the NIC can */
};

enum unic_kio_conn_state {
	UNIC_KIO_C_FREE = 0,
	UNIC_KIO_C_WAIT,    /* until retry_ns, and until an I/O waits */
	UNIC_KIO_C_CREATE,  /* send QP_CREATE */
	UNIC_KIO_C_CONNECT, /* send CONNECT or ACCEPT */
	UNIC_KIO_C_UP,
	UNIC_KIO_C_DOWN,  /* send QP_DESTROY */
	UNIC_KIO_C_DRAIN, /* wait for the end of tokens */
};

struct unic_kio_node;

/* A connection. Of the first UNIC_KIO_OUT this host is the client. */
struct unic_kio_conn {
	struct unic_kio_node *node;
	uint8_t state; /* enum unic_kio_conn_state */
	bool asked;    /* the request of the state is sent, not answered */
	bool gone;     /* the connection ended before that answer */
	uint32_t ipv4;
	uint32_t qp, id;  /* ids of the driver; 0: none */
	uint32_t fails;	  /* in a row */
	uint32_t refused; /* status of the last one */
	uint64_t retry_ns, heard_ns;
	uint64_t ping_ns; /* outgoing, UP: when the next ping is due */
	uint32_t pings;	  /* sent since the peer was heard */
	uint32_t want_token, want_cancel; /* bit per place in the window */
	uint32_t token_id[UNIC_KIO_JOBS]; /* ids of the driver */
	uint64_t cancel_ns;		  /* earliest next cancel */
};

/* A request to the driver without an answer. */
struct unic_kio_ask {
	uint32_t seq;
	uint16_t op; /* 0: none */
	uint8_t link, at;
};
#define UNIC_KIO_OF_ACCOUNT UNIC_KIO_LINKS /* as `link`: `at` is an account */

struct unic_kio_reply {
	uint64_t rec[UNIC_REC_WORDS];
};

/* An I/O of a user of the service. */
struct unic_kio_user {
	struct unic_kio io; /* the user's, but for pieces and done() */
	void *buf;	    /* UNIC_KIO_MAX bytes for its data */
	void *of;	    /* of the user */
	/* of the service */
	struct unic_kio_node *node;
	bool used;
};

struct unic_kio_node {
	struct unic_kio_config config;
	/** done() - the I/O of @user has ended, see struct unic_kio; put it back. */
	void (*done)(struct unic_kio_user *user, int status, uint32_t bytes);
	struct unic_client core; /* the service, for the core */
	bool wanted, up;
	bool rdma; /* config.rdma, and the NIC can */
	bool lost; /* I/Os of before a reset are left: may_touch_lost() */
	/* an MR_REG was answered RESET: the NIC may have that region */
	bool unsure;
	bool asked; /* the request of `step` is sent */
	uint8_t step;
	uint32_t why; /* enum unic_ctl_status of the last set-up that failed */
	uint64_t now_ns, retry_ns;
	uint32_t seq, upcall;
	uint32_t left;	     /* the slot given up, see `lost` */
	uint32_t pd, mr, cq; /* ids */
	uint32_t forms_open; /* requests without answer */
	struct unic_kio_ring ring;
	struct unic_kio_ask ask[UNIC_KIO_ASKS];
	struct unic_kio_reply reply[UNIC_KIO_REPLIES];
	uint32_t replies, taken; /* free-running */
	struct unic_kio_conn conn[UNIC_KIO_LINKS];
	struct unic_kio_client client[UNIC_KIO_OUT];
	struct unic_kio_server server[UNIC_KIO_IN];
	struct unic_kio_user user[UNIC_KIO_USERS];
	struct unic_kio_account account[UNIC_KIO_ACCOUNTS];
	uint32_t entries;		/* of the NIC */
	uint32_t window;		/* of each connection */
	uint32_t buf_wanted, buf_short; /* bit per link with a job that found no
					 * buffer: since the last poll of the
					 * links, and before it */
	uint32_t notices;
	uint64_t window_ns;
	bool window_opens; /* one has become larger, or less full; or a form has
			    * come back */
	uint64_t ios, failed, served;
};

/** unic_kio_node_init() - make @n empty. @config: copied; its pointers live as long as
 * @n. */
void unic_kio_node_init(struct unic_kio_node *n,
			const struct unic_kio_config *config);

/** unic_kio_node_fini() - give up the slot of @n. done() is not called afterwards, and
 * the access layer has ended all objects of @n. */
void unic_kio_node_fini(struct unic_kio_node *n);

/** unic_kio_node_gone() - NIC and driver are gone: all I/Os end with -ENODEV, and no
 * new one begins. */
void unic_kio_node_gone(struct unic_kio_node *n);

/** unic_kio_node_want() - set up the slot, unless that has been done. */
void unic_kio_node_want(struct unic_kio_node *n);

/** unic_kio_node_reply() - take @msg, an answer of the driver (unic_os_reply() for a
 * client that is `kernel`); copied. */
void unic_kio_node_reply(struct unic_kio_node *n, const void *msg,
			 uint32_t bytes);

/** unic_kio_ask() - for the rest of the service: send a request about @link (or place @at
 * of its window), or of account @at (UNIC_KIO_OF_ACCOUNT), to the driver: @rec, and behind it @tail bytes. False: too many requests are
 * open; call again later. */
bool unic_kio_ask(struct unic_kio_node *n, uint16_t op, void *rec,
		  uint32_t tail, uint32_t link, uint32_t at);

/** unic_kio_node_poll() - do bounded work. Returns when to call again at the latest
 * (CLOCK_MONOTONIC, ns); a time that is over means at once. */
uint64_t unic_kio_node_poll(struct unic_kio_node *n);

/**
 * unic_kio_node_start() - begin @io, the caller's until io->done(), with pieces of the
 * caller. A WRITE has more than UNIC_KIO_GATHER pieces only with config.mem. 0, and
 * io->done() follows; -EINVAL; -EBUSY as unic_kio_user_start().
 */
int unic_kio_node_start(struct unic_kio_node *n, struct unic_kio *io,
			uint32_t ipv4);

/** unic_kio_node_status() - why there is no connection to @ipv4, as a status of the
 * driver: of the slot's set-up, or of the last attempt; 0: connected, or not tried. */
uint32_t unic_kio_node_status(const struct unic_kio_node *n, uint32_t ipv4);

/** unic_kio_node_demand() - the bytes of buffer that all clients can use. */
uint64_t unic_kio_node_demand(const struct unic_kio_node *n);

#endif /* UNIC_KIO_NODE_H */
