/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unicd.h - the host driver as a daemon: what its files share.
 *
 *   unicd_main.c  options, start, the event loop, the end
 *   unicd_os.c    what the portable core asks of the system (unic_os.h)
 *   board.c       the memory and doorbells: from unic-bus, or our own
 *   line.c        a NIC at the other end of a UART
 *   clients.c     the socket of the processes
 *   slots.c       whose a slot's memory is
 *   kio.c         the page service: what processes ask of it
 *   kio_files.c   ... and the files that it exports
 *   kio_worker.c  ... in a thread of their own
 */
#ifndef UNICD_H
#define UNICD_H

#include <stdio.h>
#include <sys/types.h>

#include "host.h"
#include "kio_node.h"

#define UNICD_CLIENTS_MAX  128
#define UNICD_KIO_RULES	   16u
#define UNICD_CLIENTS_ROOT 16 /* of them kept for the privileged */
#define UNICD_CLIENTS_USER 32 /* most of one other user */

struct unicd_options {
	const char *bus;  /* directory of unic-bus */
	const char *link; /* of a NIC on a UART; NULL: it is on the bus */
	uint32_t baud;
	const char *socket;
	const char *provider;
	const char *crash_file;
	uint32_t ipv4;
	uint32_t slots;	     /* loop only */
	uint32_t user_slots; /* 0: all but a quarter */
	uint64_t slot_bytes;
	uint32_t spin_us; /* poll that long before sleeping */
	bool audit;
	const char *kio_export; /* folder or file; NULL: nothing */
	bool kio_writable;
	uint64_t kio_max_bytes;
	struct unic_kio_net kio_allow[UNICD_KIO_RULES];
	uint32_t kio_allows; /* 0: every host */
	uint32_t kio_user[UNICD_KIO_RULES];
	uint32_t kio_users; /* 0: every user */
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
	uint32_t kio;  /* of its UNIC_CTL_KIO without reply */
	struct unicd_reply *head, *tail;
};

/*
 * What makes a descriptor of a process readable, or us when it rings: a pair of
 * datagram sockets. Not an eventfd, because all who hold one share its flags
 * and its counter: a process could make our write to it wait, that of the NIC,
 * and the read of QEMU's I/O thread. The other end is kept, for HELLO again, until
 * the slot is quiet.
 */
struct unicd_wake {
	int ours, theirs; /* -1: none */
};

enum unicd_slot_state {
	UNICD_SLOT_FRESH = 0, /* nobody had its memory */
	UNICD_SLOT_OWNED,
	UNICD_SLOT_LEFT,  /* by its process: it needs other memory, ... */
	UNICD_SLOT_ASKED, /* ... which the bus was asked for, ... */
	UNICD_SLOT_KEPT,  /* ... and cannot exchange now */
};

/* The core's view of us. */
struct unic_os {
	struct unicd_options opt;
	struct unic_host *host;
	int epoll_fd, signal_fd, listen_fd, bus_fd, spare_fd;
	int bus_dir;	/* opt.bus, run_dir_open(); -1: none */
	int socket_dir; /* in which opt.socket is */
	uint32_t slots;
	uint64_t slot_bytes;
	uint64_t slots_at; /* 0: a file each; else where they begin in the
			    * mailbox's */
	void *bar;
	int slot_fd[UNIC_HOST_SLOTS_MAX];
	uint64_t board; /* names the memory of the bus */
	void *slot_mem[UNIC_HOST_SLOTS_MAX];
	int host_ev[1 + UNIC_HOST_SLOTS_MAX]; /* we wait */
	int nic_ev[1 + UNIC_HOST_SLOTS_MAX];  /* the NIC waits; -1: none */
	struct unicd_wake cq_wake[UNIC_HOST_SLOTS_MAX];
	struct unicd_wake upcall_wake[UNIC_HOST_SLOTS_MAX];
	struct unicd_wake doorbell[UNIC_HOST_SLOTS_MAX]; /* rung by a process */
	int slot_pidfd[UNIC_HOST_SLOTS_MAX];		 /* -1: nobody */
	uint8_t slot_state[UNIC_HOST_SLOTS_MAX]; /* enum unicd_slot_state */
	int slots_file;				 /* -1: none */
	uint64_t slots_again_ns; /* nothing is asked for before */
	uint64_t turned_ns;	 /* last line about somebody turned away */
	uint32_t turned;	 /* so many since */
	struct unicd_client client[UNICD_CLIENTS_MAX];
	struct unicd_kio *kio;	 /* NULL: none, out of memory */
	struct unicd_line *line; /* NULL: the NIC is on the bus */
};

/* What an epoll event is about: kind << 16 | number. */
enum unicd_event {
	UNICD_EV_SIGNAL = 1,
	UNICD_EV_LISTEN,
	UNICD_EV_BUS,
	UNICD_EV_NIC,	 /* the driver's doorbell */
	UNICD_EV_RING,	 /* a process rang, number = slot */
	UNICD_EV_CLIENT, /* number = index */
	UNICD_EV_OWNER,	 /* a process ended, number = slot */
	UNICD_EV_SLOT,	 /* the NIC rang for a process, number = slot */
	UNICD_EV_ENDED,	 /* the process of a client ended, number = index */
	UNICD_EV_LINE,	 /* bytes of the UART */
	UNICD_EV_KIO,	 /* the worker did something, number = descriptor */
};

/** unicd_watch() - add @fd to the event loop, level-triggered. 0 or -errno. */
int unicd_watch(struct unic_os *os, int fd, enum unicd_event kind,
		uint32_t number, uint32_t events);

/** unicd_say() - one line to stderr, "unicd: ...". Never waits (say.h). */
void unicd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** unicd_wake_new() - a fresh pair, not readable. 0 or -errno. */
int unicd_wake_new(struct unicd_wake *w);

/** unicd_wake() - make the process's end readable: one read of 8 bytes clears
 * it. Never waits, whatever the process does with its end. */
void unicd_wake(const struct unicd_wake *w);

/** unicd_drain() - make an eventfd unreadable. Never waits. */
void unicd_drain(int fd);

/**
 * unicd_refuse_fds() - nobody can send descriptors to socket @fd, nor to those
 * that it accepts. Who drops the last descriptor of a file waits for its end,
 * which may be as long as a process likes (SO_LINGER). Nothing before Linux
 * 6.16.
 */
void unicd_refuse_fds(int fd);

/** unicd_doorbell_new() - a fresh one for the process of @slot. 0 or -errno. */
int unicd_doorbell_new(struct unic_os *os, uint32_t slot);

/** unicd_wakes_end() - the process of @slot left: close what woke it. */
void unicd_wakes_end(struct unic_os *os, uint32_t slot);

/** unicd_ring() - the process of @slot rang: pass it on to the NIC. Takes a
 * bounded number of what it sent; what is left is told again. */
void unicd_ring(struct unic_os *os, uint32_t slot);

/* --- board.c */

/** unicd_board_attach() - memory and doorbells from unic-bus. 0, or -errno with
 * the reason said. */
int unicd_board_attach(struct unic_os *os);

/** unicd_slot_at() - where slot @i begins in its file. */
uint64_t unicd_slot_at(const struct unic_os *os, uint32_t i);

/** unicd_board_renew() - ask for other memory for @slot; unicd_slots_renewed()
 * follows, perhaps at once. 0; -errno: not now. */
int unicd_board_renew(struct unic_os *os, uint32_t slot);

/** unicd_board_exchange() - map file @fd, ours if 0 is returned, in place of the
 * memory of @slot. -ENOMEM: nothing changed, said. */
int unicd_board_exchange(struct unic_os *os, uint32_t slot, int fd);

/** unicd_board_own() - memory and doorbells of our own, for the loop-back. */
int unicd_board_own(struct unic_os *os);

/** unicd_board_event() - the bus has something to say: plugs the NIC. -EPIPE when
 * it is gone, -EMFILE when a NIC came that cannot be had; both were said. */
int unicd_board_event(struct unic_os *os);

/* --- line.c */

/** unicd_line_init() - the NIC is at opt.link, with the memory that the board
 * gave; the path may come later. 0 or -ENOMEM. */
int unicd_line_init(struct unic_os *os);

/** unicd_line_event() - there is something to read. */
void unicd_line_event(struct unic_os *os);

/** unicd_line_turn() - look for what the driver and the processes wrote, send it,
 * tell them what came. Returns when to call again at the latest. */
uint64_t unicd_line_turn(struct unic_os *os);

void unicd_line_fini(struct unic_os *os);

/* --- clients.c */

/** unicd_clients_listen() - serve opt.socket. 0 or -errno, said. */
int unicd_clients_listen(struct unic_os *os);

/** unicd_clients_accept() - a process connects. */
void unicd_clients_accept(struct unic_os *os);

/** unicd_clients_event() - client @i can be read or written, or left. */
void unicd_clients_event(struct unic_os *os, uint32_t i, uint32_t events);

/** unicd_clients_ended() - the process that connected client @i ended; others
 * that inherited the socket do not keep it alive. */
void unicd_clients_ended(struct unic_os *os, uint32_t i);

/** unicd_clients_reap() - end the clients that were found dead. */
void unicd_clients_reap(struct unic_os *os);

/** unicd_clients_fini() - end all, remove the socket. */
void unicd_clients_fini(struct unic_os *os);

/* --- slots.c */

/** unicd_slots_init() - take over what an earlier unicd remembered. */
void unicd_slots_init(struct unic_os *os);

/** unicd_slots_journal() - for config.journal; NULL: none, and said why. */
void *unicd_slots_journal(const struct unic_os *os);

/** unicd_slots_own() - @client gets @slot; remembered beyond our death. */
void unicd_slots_own(struct unic_os *os, uint32_t slot,
		     const struct unicd_client *client);

/** unicd_slots_check() - ask for other memory for the slots that were left. Returns
 * when to call it again even if nothing happens. */
uint64_t unicd_slots_check(struct unic_os *os);

/** unicd_slots_renewed() - @slot has another file @fd, now ours; or, -1, the memory
 * that it had. */
void unicd_slots_renewed(struct unic_os *os, uint32_t slot, int fd);

/** unicd_slots_nic_left() - what a NIC could not exchange can be, perhaps. */
void unicd_slots_nic_left(struct unic_os *os);

/** unicd_slots_ended() - the owner of @slot ended. */
void unicd_slots_ended(struct unic_os *os, uint32_t slot);

/** unicd_pidfd() - a descriptor of a process, or -errno. */
int unicd_pidfd(pid_t pid);

/* --- kio.c */

/** unicd_kio_init() - the page service, with what opt.kio_export names. 0 or
 * -errno, said. */
int unicd_kio_init(struct unic_os *os);

/** unicd_kio_fini() - nobody is answered any more. */
void unicd_kio_fini(struct unic_os *os);

/** unicd_kio_reply() - what the driver answers its own process. */
void unicd_kio_reply(struct unic_os *os, const void *msg, uint32_t bytes);

/** unicd_kio_request() - a UNIC_CTL_KIO of process @c: @msg has @bytes, a header at
 * least, and perhaps had more. Answered by unic_os_reply(). */
void unicd_kio_request(struct unic_os *os, struct unicd_client *c,
		       const void *msg, size_t bytes);

/** unicd_kio_gone() - no reply to @c any more. */
void unicd_kio_gone(struct unic_os *os, const struct unicd_client *c);

/** unicd_kio_poll() - bounded work. Returns when to call again. */
uint64_t unicd_kio_poll(struct unic_os *os);

/* --- kio_files.c: in the worker's thread, but for open and close */

struct unicd_files;
struct unic_kio_task;
struct unic_kio_store;

/** unicd_files_open() - the folder, or the one file, @path. NULL: said why.
 * @writable: may be written and made longer, shorter and anew, up to @max_bytes. */
struct unicd_files *unicd_files_open(const char *path, bool writable,
				     uint64_t max_bytes);

void unicd_files_close(struct unicd_files *files);

/** unicd_files_run() - do @task, whose buffer is ours; op 0: the connection of
 * @task->server is over. Returns its n, sets its size and boot id. */
int unicd_files_run(struct unicd_files *files, struct unic_kio_task *task);

/* --- kio_worker.c */

/** unicd_worker_start() - a thread that does what the page service asks of @files;
 * UNICD_EV_KIO comes when something is done. NULL: said why. */
struct unic_kio_store *unicd_worker_start(struct unic_os *os,
					  struct unicd_files *files);

/** unicd_worker_stop() - what it has begun is done, the rest is not. False: it does
 * not come to an end, and uses its files; leave them and end. */
bool unicd_worker_stop(struct unic_kio_store *store);

#endif /* UNICD_H */
