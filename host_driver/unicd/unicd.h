/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unicd.h - the host driver as a daemon, of one NIC or of several: the state that its
 * files share. What a file does for the others is in the header of its name.
 *
 *   unicd_main.c  start, the event loop, the end
 *   options.c     what the command line says of each NIC
 *   nic.c         one NIC: its driver core, from the start to the end
 *   ids_file.c    the ids of objects, for the next unicd
 *   unicd_os.c    services of the system, for the core (unic_os.h) and for the others
 *   board.c       the memory and the doorbells: from unic-bus, or unicd's own
 *   line.c        a NIC at the other end of a UART
 *   clients.c     the socket of the processes
 *   slots.c       whose a slot's memory is
 *   kio.c         the page service: what processes ask of it
 *   kio_files.c   ... and the files that it exports
 *   kio_worker.c  ... in a thread of their own
 *   metrics.c     what the NICs count, by HTTP
 *   crash_text.c  the firmware's crash record in words
 */
#ifndef UNICD_H
#define UNICD_H

#include <stdio.h>
#include <sys/types.h>

#include "host.h"
#include "kio_node.h"

#define UNICD_NICS_MAX	   UNIC_CTL_NICS_MAX
#define UNICD_CLIENTS_MAX  128
#define UNICD_KIO_RULES	   16u
#define UNICD_CLIENTS_ROOT 16 /* of these, for the privileged only */
#define UNICD_CLIENTS_USER 32 /* connections of one other user, at most */

/* Of one NIC. */
struct unicd_options {
	const char *name; /* of the NIC */
	const char *bus;  /* directory of unic-bus */
	const char *link; /* path of the UART; NULL: the NIC is on the bus */
	uint32_t baud;
	const char *provider;
	const char *crash_file;
	uint32_t ipv4;
	uint32_t slots;			 /* loop only */
	uint32_t user_slots;		 /* 0: all but a quarter */
	uint32_t limit[UNIC_CTL_LIMITS]; /* of each process */
	uint64_t slot_bytes;
	const char *kio_export; /* folder or file; NULL: nothing */
	bool kio_writable;
	uint64_t kio_max_bytes;
	struct unic_kio_net kio_allow[UNICD_KIO_RULES];
	uint32_t kio_allows; /* 0: every host */
	uint32_t kio_user[UNICD_KIO_RULES];
	uint32_t kio_users; /* 0: every user */
	bool kio_rdma;	    /* not --data=token */
	struct unic_cmd_set_params params;
};

/* A reply for which the socket of its process had no room. */
struct unicd_reply {
	struct unicd_reply *next;
	uint32_t bytes;
	uint32_t slot; /* its descriptors go along; UNIC_OS_NO_SLOT: none */
	uint64_t msg[];
};

struct unicd_client {
	struct unic_client core;
	struct unic_os *os; /* the NIC that it is with; NULL: not chosen yet */
	int fd, pidfd;	    /* fd -1: no client here */
	bool dead;	    /* unicd_clients_reap() ends it */
	bool waits;   /* for room in its socket; no request is read meanwhile */
	uint32_t kio; /* its UNIC_CTL_KIO without reply */
	struct unicd_reply *head, *tail;
};

/*
 * A pair of datagram sockets, by which unicd wakes a process, or a process rings unicd.
 * Not an eventfd: all holders of one share its flags and its counter, so a process
 * could make a write of unicd or of the NIC wait, and the read of QEMU's I/O thread.
 * The process's end is kept, for another HELLO, until the slot is quiet.
 */
struct unicd_wake {
	int ours, theirs; /* -1: none */
};

enum unicd_slot_state {
	UNICD_SLOT_FRESH = 0, /* no process had its memory */
	UNICD_SLOT_OWNED,
	UNICD_SLOT_LEFT,  /* its process left: it needs other memory */
	UNICD_SLOT_ASKED, /* ... and the bus was asked for it */
	UNICD_SLOT_KEPT,  /* ... but cannot exchange it at the moment */
};

/* One NIC; its core has a pointer to it. */
struct unic_os {
	struct unicd *d;
	uint32_t number; /* its place in d->nic */
	struct unicd_options opt;
	struct unic_host *host; /* NULL: gone, and it does not come back */
	bool gone;		/* its bus is: nic.c ends it */
	uint32_t shown;		/* its state that was said */
	bool announced;		/* that it is ready */
	bool absence_told;	/* that none has come */
	uint64_t started_ns;
	int bus_fd;
	int bus_dir; /* opt.bus, run_dir_open(); -1: none */
	uint32_t slots;
	uint64_t slot_bytes;
	uint64_t slots_at; /* 0: a file each; else where they begin in the
			    * mailbox's */
	void *bar;
	int slot_fd[UNIC_HOST_SLOTS_MAX];
	uint64_t board; /* names the memory of the bus */
	void *slot_mem[UNIC_HOST_SLOTS_MAX];
	int host_ev[1 + UNIC_HOST_SLOTS_MAX]; /* rung by the NIC; -1: none */
	int nic_ev[1 + UNIC_HOST_SLOTS_MAX];  /* ring the NIC; -1: none */
	struct unicd_wake cq_wake[UNIC_HOST_SLOTS_MAX];
	struct unicd_wake upcall_wake[UNIC_HOST_SLOTS_MAX];
	struct unicd_wake doorbell[UNIC_HOST_SLOTS_MAX]; /* rung by a process */
	int slot_pidfd[UNIC_HOST_SLOTS_MAX];	 /* its owner; -1: none */
	uint8_t slot_state[UNIC_HOST_SLOTS_MAX]; /* enum unicd_slot_state */
	int slots_file;				 /* -1: none */
	uint64_t slots_again_ns; /* unicd_slots_check() asks then */
	struct unicd_kio *kio;	 /* NULL: none, out of memory */
	struct unicd_line *line; /* NULL: the NIC is on the bus */
};

/* The state of the process. */
struct unicd {
	const char *socket;
	const char *metrics; /* socket; NULL: none */
	uint32_t spin_us;    /* poll that long before sleeping */
	uint32_t wait_ms;    /* for a bus that is not there yet */
	bool audit;
	int epoll_fd, signal_fd, listen_fd, spare_fd;
	int socket_dir;	    /* in which `socket` is */
	uint64_t turned_ns; /* last line about rejected processes */
	uint32_t turned;    /* rejected since that line */
	struct unic_ids *ids;
	uint32_t nics;
	struct unic_os nic[UNICD_NICS_MAX];
	struct unicd_client client[UNICD_CLIENTS_MAX];
};

/* What an epoll event is about: kind << 24 | number of the NIC << 16 | number. */
enum unicd_event {
	/* of no NIC */
	UNICD_EV_SIGNAL = 1,
	UNICD_EV_LISTEN,
	UNICD_EV_CLIENT, /* number = index */
	UNICD_EV_ENDED,	 /* the process of a client ended, number = index */
	UNICD_EV_KIO,	 /* a worker did something, number = descriptor */
	/* of one */
	UNICD_EV_BUS,
	UNICD_EV_NIC,	/* the driver's doorbell */
	UNICD_EV_RING,	/* a process rang, number = slot */
	UNICD_EV_OWNER, /* a process ended, number = slot */
	UNICD_EV_SLOT,	/* the NIC rang for a process, number = slot */
	UNICD_EV_LINE,	/* bytes of the UART */
};

#endif /* UNICD_H */
