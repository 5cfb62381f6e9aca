/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * slots.c - a slot's memory is not given to another process while the one that
 * had it may still have it mapped, even if that one is stopped, and even if we
 * were killed and started again in between: the owners are in a small file.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unicd.h"

/* One per slot in the file; pid 0: nobody. */
struct owner {
	uint64_t started; /* of the process, clock ticks since boot */
	uint32_t pid;
	uint32_t rsvd;
};

int unicd_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

/* Field 22 of /proc/PID/stat; with the pid it names a process for ever. */
static uint64_t started(uint32_t pid)
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

static void remember(struct unic_os *os, uint32_t slot, struct owner o)
{
	off_t at = (off_t)(slot * sizeof(o));

	if (os->slots_file >= 0 &&
	    pwrite(os->slots_file, &o, sizeof(o), at) != sizeof(o))
		unicd_say("cannot remember who has slot %u", slot);
}

static void take_over(struct unic_os *os, uint32_t slot)
{
	struct owner o;
	int fd;

	if (pread(os->slots_file, &o, sizeof(o), (off_t)(slot * sizeof(o))) !=
		    sizeof(o) ||
	    !o.pid)
		return;
	fd = unicd_pidfd((pid_t)o.pid);
	if (fd < 0 || started(o.pid) != o.started) {
		if (fd >= 0)
			close(fd);
		remember(os, slot, (struct owner){ 0 });
		return;
	}
	os->slot_pidfd[slot] = fd;
	os->slot_quiet[slot] = true;
	unic_host_slot_hold(os->host, slot, o.pid);
	(void)unicd_watch(os, fd, UNICD_EV_OWNER, slot, EPOLLIN);
}

void unicd_slots_init(struct unic_os *os)
{
	char path[256];
	uint32_t i;

	os->slots_file = -1;
	if (!os->opt.bus)
		return; /* the loop-back's memory dies with us */
	snprintf(path, sizeof(path), "%s/unicd.slots", os->opt.bus);
	os->slots_file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (os->slots_file < 0) {
		unicd_say("%s: %s; owners of slots are not remembered", path,
			  strerror(errno));
		return;
	}
	for (i = 0; i < os->slots; i++)
		take_over(os, i);
}

static bool ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd < 0 || poll(&p, 1, 0) > 0;
}

void unicd_slots_own(struct unic_os *os, uint32_t slot,
		     const struct unicd_client *client)
{
	if (os->slot_pidfd[slot] >= 0)
		close(os->slot_pidfd[slot]);
	os->slot_quiet[slot] = false;
	/*
	 * Not a duplicate: the event loop must forget it when it is closed. It
	 * is the same process if the client's own descriptor says afterwards
	 * that that one still lives.
	 */
	os->slot_pidfd[slot] = unicd_pidfd((pid_t)client->core.pid);
	if (os->slot_pidfd[slot] >= 0 && ended(client->pidfd)) {
		close(os->slot_pidfd[slot]);
		os->slot_pidfd[slot] = -1;
	} else if (os->slot_pidfd[slot] < 0) {
		os->slot_pidfd[slot] = -1;
	}
	remember(os, slot,
		 (struct owner){ .pid = client->core.pid,
				 .started = started(client->core.pid) });
}

void unicd_slots_ended(struct unic_os *os, uint32_t slot)
{
	if (!os->slot_quiet[slot])
		return;
	if (os->slot_pidfd[slot] >= 0)
		close(os->slot_pidfd[slot]); /* leaves the event loop too */
	os->slot_pidfd[slot] = -1;
	os->slot_quiet[slot] = false;
	remember(os, slot, (struct owner){ 0 });
	unic_host_slot_free(os->host, slot);
}

void unicd_slots_check(struct unic_os *os)
{
	uint32_t i;

	for (i = 0; i < os->slots; i++) {
		if (!os->slot_quiet[i])
			continue;
		if (ended(os->slot_pidfd[i]))
			unicd_slots_ended(os, i);
		else /* EEXIST: watched already */
			(void)unicd_watch(os, os->slot_pidfd[i], UNICD_EV_OWNER,
					  i, EPOLLIN);
	}
}
