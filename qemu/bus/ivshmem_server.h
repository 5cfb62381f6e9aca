/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ivshmem_server.h - the server side of QEMU's ivshmem protocol, version 0 (QEMU
 * docs/specs/ivshmem-spec, "Client-Server protocol").
 *
 * The server itself is peer 0: a virtual peer with doorbells, so that clients can
 * ring the program that runs the server. Clients get the lowest free number from
 * 1 on. With a second socket the server leaves number 0 to the client that
 * connects there: a host that is a machine of its own.
 *
 * The doorbells belong to the number, not to its holder: they are made once, each
 * client gets them once, and the next holder of the number is rung by the same
 * ones. No client gets a message that a peer left. QEMU (7.2) frees the doorbells
 * of a peer that left and writes into the freed memory when that number joins
 * again (hw/misc/ivshmem.c: close_peer_eventfds() frees, resize_peers()
 * allocates, for numbers above all seen so far), which damages its heap. QEMU's
 * server hardly ever gives a number twice; here the numbers are ports.
 *
 * A third socket is for peers that exchange memory (UNIC_BUS_WINDOW in
 * abi/unic_bus.h): "mapping" peers.
 *
 * No callbacks: the user polls one descriptor and asks what happened.
 */
#ifndef IVSHMEM_SERVER_H
#define IVSHMEM_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#define IVSHMEM_PEERS_MAX   8
#define IVSHMEM_VECTORS_MAX 32
#define IVSHMEM_WINDOWS_MAX 24

struct ivshmem_server {
	int listen_fd;
	int host_fd; /* listens for peer 0; -1: the server is peer 0 */
	int map_fd;  /* listens for mapping peers, -1: there are none */
	const int *window_fd;
	int windows;
	bool mapped; /* to be reported */
	int epoll_fd;
	int shm_fd;
	int vectors;
	int peers; /* highest number + 1 that may be given */
	int extra; /* a number with doorbells that only peer 0 has; 0: none */
	struct ivshmem_peer {
		int fd;	       /* connection, -1: no peer */
		int process;   /* pidfd of the client; negative: none */
		uint32_t told; /* bit q: the peer has the doorbells of peer q */
		bool maps;
		/* windows sent that the peer has not mapped yet */
		uint8_t owes[IVSHMEM_WINDOWS_MAX];
		int event[IVSHMEM_VECTORS_MAX]; /* -1: no holder yet */
	} peer[IVSHMEM_PEERS_MAX];
	uint32_t refused; /* connections that were refused, ... */
	/* the reason of the last: EUSERS: no number free, EPERM: another
	 * user */
	int refused_errno;
};

enum ivshmem_event_type {
	IVSHMEM_JOINED = 1,
	IVSHMEM_LEFT = 2,
	/* a peer mapped a window: see ivshmem_server_owed() */
	IVSHMEM_MAPPED = 3,
};

struct ivshmem_event {
	enum ivshmem_event_type type;
	int peer;
};

/**
 * ivshmem_server_init() - start serving.
 * @listen_fd: a listening, non-blocking Unix stream socket; now the server's.
 * @shm_fd: the memory given to every client; stays the caller's.
 * @vectors: doorbells per peer, 1..IVSHMEM_VECTORS_MAX.
 * @peers: numbers to give, peer 0 included, 2..IVSHMEM_PEERS_MAX.
 * Returns 0 or -errno; on an error @listen_fd is closed.
 */
int ivshmem_server_init(struct ivshmem_server *srv, int listen_fd, int shm_fd,
			int vectors, int peers);

/**
 * ivshmem_server_admit_host() - a client that connects to @listen_fd is peer 0,
 * one at a time. @listen_fd: as in ivshmem_server_init(); the server's afterwards,
 * whatever is returned.
 * Returns 0 or -errno.
 */
int ivshmem_server_admit_host(struct ivshmem_server *srv, int listen_fd);

/**
 * ivshmem_server_admit_mapping() - a client that connects to @listen_fd gets
 * @windows memory files at @window_fd, the caller's, which must outlive @srv.
 * @listen_fd: as in ivshmem_server_init(); the server's afterwards, whatever is
 * returned.
 * Returns 0 or -errno.
 */
int ivshmem_server_admit_mapping(struct ivshmem_server *srv, int listen_fd,
				 const int *window_fd, int windows);

/** ivshmem_server_all_map() - can every peer map other files? */
bool ivshmem_server_all_map(const struct ivshmem_server *srv);

/** ivshmem_server_expel() - hang up all peers that are not mapping peers;
 * ivshmem_server_next() reports their end. */
void ivshmem_server_expel(struct ivshmem_server *srv);

/** ivshmem_server_window() - window @w is another file: send it to all mapping
 * peers. A peer whose socket has no room for it is hung up. */
void ivshmem_server_window(struct ivshmem_server *srv, int w);

/** ivshmem_server_owed() - is there a mapping peer that has not yet answered that
 * it maps the latest file of window @w and no other? */
bool ivshmem_server_owed(const struct ivshmem_server *srv, int w);

/**
 * ivshmem_server_add_number() - make doorbells for number @p, above those of
 * clients, for this program to read, and send them to peer 0.
 * Returns the event fd of vector 0, the server's still, or -errno.
 */
int ivshmem_server_add_number(struct ivshmem_server *srv, int p);

/** ivshmem_server_end() - kill the processes of all peers but 0. ivshmem_server_next()
 * reports their end. Returns how many could not be killed. */
int ivshmem_server_end(struct ivshmem_server *srv);

/** ivshmem_server_fd() - readable when ivshmem_server_next() has work. */
int ivshmem_server_fd(const struct ivshmem_server *srv);

/**
 * ivshmem_server_next() - carry out one pending step. Never blocks: a client that
 * does not read counts as one that left. Ringing a peer that LEFT does nothing;
 * doorbells of a number without a peer are drained before the next one joins.
 * Returns false if the step brought no event; further steps keep
 * ivshmem_server_fd() readable.
 */
bool ivshmem_server_next(struct ivshmem_server *srv, struct ivshmem_event *evt);

/**
 * ivshmem_server_doorbell() - event fd of a peer's vector: those of peer 0 are
 * read by this program, the others' written. Stays the server's.
 * Returns -1 if there is no such vector or no peer of that number.
 */
int ivshmem_server_doorbell(const struct ivshmem_server *srv, int peer,
			    int vector);

/** ivshmem_server_ring() - ring vector 0 of each peer p with bit p in @mask. */
void ivshmem_server_ring(const struct ivshmem_server *srv, uint32_t mask);

/** ivshmem_server_fini() - close every connection and doorbell. */
void ivshmem_server_fini(struct ivshmem_server *srv);

#endif /* IVSHMEM_SERVER_H */
