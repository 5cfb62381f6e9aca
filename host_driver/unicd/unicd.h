/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unicd.h - the host driver as a daemon: what its files share.
 *
 *   unicd_main.c  options, start, the event loop, the end
 *   unicd_os.c    what the portable core asks of the system (unic_os.h)
 *   board.c       the memory and doorbells: from unic-bus, or our own
 *   clients.c     the socket of the processes
 *   slots.c       who may still have which slot's memory mapped
 */
#ifndef UNICD_H
#define UNICD_H

#include <sys/types.h>

#include "host.h"

#define UNICD_CLIENTS_MAX 128

struct unicd_options {
	const char *bus; /* directory of unic-bus */
	const char *socket;
	const char *provider;
	const char *crash_file;
	uint32_t ipv4;
	uint32_t slots; /* loop only */
	uint64_t slot_bytes;
	uint32_t spin_us; /* poll that long before sleeping */
	bool audit;
	struct unic_cmd_set_params params;
};

/* A reply that the process has not taken yet. */
struct unicd_reply {
	struct unicd_reply *next;
	uint32_t bytes;
	uint32_t slot; /* whose descriptors go along */
	uint64_t msg[];
};

struct unicd_client {
	struct unic_client core;
	int fd, pidfd; /* fd -1: no client here */
	bool dead;     /* to be ended by the loop */
	bool waits;    /* for room in its socket: not read meanwhile */
	struct unicd_reply *head, *tail;
};

/* The core's view of us. */
struct unic_os {
	struct unicd_options opt;
	struct unic_host *host;
	int epoll_fd, signal_fd, listen_fd, bus_fd, spare_fd;
	uint32_t slots;
	uint64_t slot_bytes;
	void *bar;
	int slot_fd[UNIC_HOST_SLOTS_MAX];
	void *slot_mem[UNIC_HOST_SLOTS_MAX];
	int host_ev[1 + UNIC_HOST_SLOTS_MAX]; /* we and processes wait */
	int nic_ev[1 + UNIC_HOST_SLOTS_MAX];  /* the NIC waits; -1: none */
	int upcall_ev[UNIC_HOST_SLOTS_MAX];
	int slot_pidfd[UNIC_HOST_SLOTS_MAX];  /* -1: nobody */
	bool slot_quiet[UNIC_HOST_SLOTS_MAX]; /* told by the core */
	int slots_file;			      /* -1: none */
	struct unicd_client client[UNICD_CLIENTS_MAX];
};

/* What an epoll event is about: kind << 16 | number. */
enum unicd_event {
	UNICD_EV_SIGNAL = 1,
	UNICD_EV_LISTEN,
	UNICD_EV_BUS,
	UNICD_EV_NIC,	 /* the driver's doorbell */
	UNICD_EV_LOOP,	 /* a process rang the loop-back, number = slot */
	UNICD_EV_CLIENT, /* number = index */
	UNICD_EV_OWNER,	 /* a process ended, number = slot */
};

/** unicd_watch() - add @fd to the event loop, level-triggered. 0 or -errno. */
int unicd_watch(struct unic_os *os, int fd, enum unicd_event kind,
		uint32_t number, uint32_t events);

/** unicd_say() - one line to stderr, "unicd: ...". */
void unicd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- board.c */

/** unicd_board_attach() - memory and doorbells from unic-bus. 0, or -errno with
 * the reason said. */
int unicd_board_attach(struct unic_os *os);

/** unicd_board_own() - memory and doorbells of our own, for the loop-back. */
int unicd_board_own(struct unic_os *os);

/** unicd_board_event() - the bus has something to say: plugs the NIC. -EPIPE
 * when it is gone. */
int unicd_board_event(struct unic_os *os);

/* --- clients.c */

/** unicd_clients_listen() - serve opt.socket. 0 or -errno, said. */
int unicd_clients_listen(struct unic_os *os);

/** unicd_clients_accept() - a process connects. */
void unicd_clients_accept(struct unic_os *os);

/** unicd_clients_event() - client @i can be read or written, or left. */
void unicd_clients_event(struct unic_os *os, uint32_t i, uint32_t events);

/** unicd_clients_reap() - end the clients that were found dead. */
void unicd_clients_reap(struct unic_os *os);

/** unicd_clients_fini() - end all, remove the socket. */
void unicd_clients_fini(struct unic_os *os);

/* --- slots.c */

/** unicd_slots_init() - take over what an earlier unicd remembered. */
void unicd_slots_init(struct unic_os *os);

/** unicd_slots_own() - @client gets @slot; remembered beyond our death. */
void unicd_slots_own(struct unic_os *os, uint32_t slot,
		     const struct unicd_client *client);

/** unicd_slots_check() - free the quiet slots whose process is no more. */
void unicd_slots_check(struct unic_os *os);

/** unicd_slots_ended() - the owner of @slot ended. */
void unicd_slots_ended(struct unic_os *os, uint32_t slot);

/** unicd_pidfd() - a descriptor of a process, or -errno. */
int unicd_pidfd(pid_t pid);

#endif /* UNICD_H */
