/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * slots.c - whose a slot's memory is. A process that had it may keep it for ever:
 * mapped, as a descriptor that lies in a socket, as a page in a pipe. So no other
 * process gets the same memory: a slot that its owner left gets a new file, and is
 * free then. Where a NIC cannot exchange memory only the user who had the slot gets it
 * again, until that NIC is gone.
 *
 *   FRESH -> OWNED -> LEFT -> ASKED -> FRESH
 *              ^        ^       | no
 *              |        |       v
 *              +--------+---- KEPT      (LEFT again when the NIC left)
 *
 * The owners of slots are in a small file, unicd.slots, for the next unicd; what
 * processes keep when a driver ends is in another one, the core's journal. Only the
 * user of the driver can read or write either.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slots.h"
#include "journal.h"
#include "board.h"
#include "unicd_os.h"

/* One per slot in the file; pid 0: the slot has no owner. */
struct owner {
	uint64_t started; /* of the process, clock ticks since boot */
	uint32_t pid, uid;
};

/* A descriptor of process @pid, or -errno. */
static int open_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

/* Field 22 of /proc/PID/stat, or 0; with the pid it names one process only. */
static uint64_t process_start_time(uint32_t pid)
{
	char path[64], text[1024], *p;
	ssize_t n;
	int fd, field;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	p = strrchr(text, ')'); /* the name may hold anything */
	for (field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

static void store_slot_owner(struct unic_os *os, uint32_t slot, struct owner o)
{
	off_t at = (off_t)(slot * sizeof(o));

	if (os->slots_file >= 0 &&
	    pwrite(os->slots_file, &o, sizeof(o), at) != sizeof(o))
		unicd_say("cannot remember who has slot %u", slot);
}

static void restore_slot_owner(struct unic_os *os, uint32_t slot)
{
	struct owner o;
	int fd;

	if (pread(os->slots_file, &o, sizeof(o), (off_t)(slot * sizeof(o))) !=
		    sizeof(o) ||
	    !o.pid)
		return;
	fd = open_pidfd((pid_t)o.pid);
	if (fd >= 0 && process_start_time(o.pid) != o.started) {
		close(fd);
		fd = -1; /* another process has its number */
	}
	os->slot_pidfd[slot] = fd < 0 ? -1 : fd;
	os->slot_state[slot] = UNICD_SLOT_OWNED;
	if (!unic_host_slot_hold(os->host, slot, fd < 0 ? 0 : o.pid, o.uid))
		unic_os_slot_quiet(os, slot);
	else
		(void)unicd_watch(os, fd, UNICD_EV_OWNER, slot, EPOLLIN);
}

/* Opens a file that a unicd leaves for the next one, in the directory of the bus. */
static int open_driver_file(const struct unic_os *os, const char *name)
{
	int fd = openat(os->bus_dir, name,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

void unicd_slots_init(struct unic_os *os)
{
	uint32_t i;

	if (os->bus_dir < 0)
		return; /* the loop-back's memory ends with the process */
	os->slots_file = open_driver_file(os, "unicd.slots");
	if (os->slots_file < 0) {
		unicd_say("%s/unicd.slots: %s; owners of slots are not "
			  "remembered",
			  os->opt.bus, strerror(-os->slots_file));
		return;
	}
	for (i = 0; i < os->slots; i++)
		restore_slot_owner(os, i);
}

void *unicd_slots_journal(const struct unic_os *os)
{
	size_t bytes = unic_host_journal_bytes(os->slots, os->slot_bytes);
	uint32_t version;
	void *p;
	int fd, err;

	if (os->bus_dir < 0)
		return NULL;
	fd = open_driver_file(os, "unicd.journal");
	err = fd < 0 ? fd : -posix_fallocate(fd, 0, (off_t)bytes);
	if (err) {
		unicd_say("%s/unicd.journal: %s; processes will not outlive us",
			  os->opt.bus, strerror(-err));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	version = unic_journal_foreign(p);
	if (!version)
		return p;
	unicd_say("%s/unicd.journal is of another version (%u): a unicd of "
		  "that "
		  "version can go on with its processes; or end them and "
		  "remove that file",
		  os->opt.bus, version);
	munmap(p, bytes);
	return MAP_FAILED;
}

/* The process ended, or is not known. */
static bool is_process_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd < 0 || poll(&p, 1, 0) > 0;
}

void unicd_slots_own(struct unic_os *os, uint32_t slot,
		     const struct unicd_client *client)
{
	if (os->slot_pidfd[slot] >= 0)
		close(os->slot_pidfd[slot]);
	os->slot_state[slot] = UNICD_SLOT_OWNED;
	/*
	 * Not a duplicate: epoll drops a descriptor only when its open file is
	 * closed. The pid is still that of the client if the client's own
	 * descriptor says afterwards that its process lives.
	 */
	os->slot_pidfd[slot] = open_pidfd((pid_t)client->core.pid);
	if (os->slot_pidfd[slot] >= 0 && is_process_ended(client->pidfd)) {
		close(os->slot_pidfd[slot]);
		os->slot_pidfd[slot] = -1;
	} else if (os->slot_pidfd[slot] < 0) {
		os->slot_pidfd[slot] = -1;
	}
	store_slot_owner(os, slot,
			 (struct owner){ .pid = client->core.pid,
					 .uid = client->core.uid,
					 .started = process_start_time(
						 client->core.pid) });
}

void unicd_slots_ended(struct unic_os *os, uint32_t slot)
{
	unic_host_slot_ended(os->host, slot);
	epoll_ctl(os->d->epoll_fd, EPOLL_CTL_DEL, os->slot_pidfd[slot], NULL);
}

/* ------------------------------------------------------------ other memory */

#define AGAIN_NS 100000000ull /* until the next attempt to ask */

void unic_os_slot_quiet(struct unic_os *os, uint32_t slot)
{
	os->slot_state[slot] = UNICD_SLOT_LEFT;
	unicd_wakes_end(os, slot);
}

bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid)
{
	(void)pid; /* the core asks for the user that had the slot */
	return os->slot_state[slot] == UNICD_SLOT_KEPT;
}

/* The memory stays: the slot is for its user only, once its process has ended. */
static void keep_slot(struct unic_os *os, uint32_t slot)
{
	os->slot_state[slot] = UNICD_SLOT_KEPT;
	if (is_process_ended(os->slot_pidfd[slot]))
		unic_host_slot_ended(os->host, slot);
	else /* EEXIST: watched already */
		(void)unicd_watch(os, os->slot_pidfd[slot], UNICD_EV_OWNER,
				  slot, EPOLLIN);
}

static void release_slot(struct unic_os *os, uint32_t slot)
{
	if (os->slot_pidfd[slot] >= 0)
		close(os->slot_pidfd[slot]);
	os->slot_pidfd[slot] = -1;
	os->slot_state[slot] = UNICD_SLOT_FRESH;
	store_slot_owner(os, slot, (struct owner){ 0 });
	unic_host_slot_free(os->host, slot);
}

void unicd_slots_renewed(struct unic_os *os, uint32_t slot, int fd)
{
	bool asked = os->slot_state[slot] == UNICD_SLOT_ASKED;

	if (asked && fd >= 0 && !unicd_board_exchange(os, slot, fd)) {
		release_slot(os, slot);
		return;
	}
	if (asked && fd < 0)
		keep_slot(os, slot);
	else if (asked) /* the bus has another file than is mapped: ask again */
		os->slot_state[slot] = UNICD_SLOT_LEFT;
	if (fd >= 0)
		close(fd);
}

static void ask_later(struct unic_os *os, uint32_t slot)
{
	os->slot_state[slot] = UNICD_SLOT_LEFT;
	os->slots_again_ns = unic_os_now_ns(os) + AGAIN_NS;
}

void unicd_slots_lost(struct unic_os *os, uint32_t slot)
{
	if (os->slot_state[slot] == UNICD_SLOT_ASKED)
		ask_later(os, slot);
}

void unicd_slots_nic_left(struct unic_os *os)
{
	uint32_t i;

	for (i = 0; i < os->slots; i++)
		if (os->slot_state[i] == UNICD_SLOT_KEPT)
			os->slot_state[i] = UNICD_SLOT_LEFT;
}

uint64_t unicd_slots_check(struct unic_os *os)
{
	uint32_t i;

	if (unic_os_now_ns(os) < os->slots_again_ns)
		return os->slots_again_ns;
	for (i = 0; i < os->slots; i++) {
		if (os->slot_state[i] != UNICD_SLOT_LEFT)
			continue;
		os->slot_state[i] = UNICD_SLOT_ASKED;
		if (!unicd_board_renew(os, i))
			continue;
		ask_later(os, i);
		return os->slots_again_ns;
	}
	return UINT64_MAX;
}
