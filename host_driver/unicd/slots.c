/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * slots.c - a slot's memory is not given to another process while the one that
 * had it, or anybody who got it from that one (a child), may still reach it,
 * even if that one is stopped, and even if we were killed and started again in
 * between: the owners are in a small file. What they keep over that is in
 * another one, the core's journal; only we can read or write either. Who reaches
 * a slot's memory: look.c.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
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
	if (fd >= 0 && started(o.pid) != o.started) {
		close(fd);
		fd = -1; /* its number is another's now */
	}
	os->slot_pidfd[slot] = fd < 0 ? -1 : fd;
	os->slot_pid[slot] = fd < 0 ? 0 : o.pid;
	if (!unic_host_slot_hold(os->host, slot, os->slot_pid[slot]))
		unic_os_slot_quiet(os, slot);
	if (fd >= 0)
		(void)unicd_watch(os, fd, UNICD_EV_OWNER, slot, EPOLLIN);
}

/* What a driver leaves for the next one, in the directory of the bus. */
static int open_ours(const struct unic_os *os, const char *name)
{
	int fd = openat(os->bus_dir, name,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

void unicd_slots_init(struct unic_os *os)
{
	uint32_t i;

	if (os->bus_dir < 0)
		return; /* the loop-back's memory dies with us */
	os->slots_file = open_ours(os, "unicd.slots");
	if (os->slots_file < 0) {
		unicd_say("%s/unicd.slots: %s; owners of slots are not "
			  "remembered",
			  os->opt.bus, strerror(-os->slots_file));
		return;
	}
	for (i = 0; i < os->slots; i++)
		take_over(os, i);
}

void *unicd_slots_journal(const struct unic_os *os)
{
	size_t bytes = unic_host_journal_bytes(os->slots, os->slot_bytes);
	void *p;
	int fd, err;

	if (os->bus_dir < 0)
		return NULL;
	fd = open_ours(os, "unicd.journal");
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
	return p == MAP_FAILED ? NULL : p;
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
	os->slot_pid[slot] = client->core.pid;
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
	if (!os->slot_quiet[slot]) { /* it never came back to us */
		unic_host_slot_ended(os->host, slot);
		/* once is enough; unicd_slots_check() looks again */
		epoll_ctl(os->epoll_fd, EPOLL_CTL_DEL, os->slot_pidfd[slot],
			  NULL);
		return;
	}
	if (os->slot_pidfd[slot] >= 0)
		close(os->slot_pidfd[slot]); /* leaves the event loop too */
	os->slot_pidfd[slot] = -1;
	/* unicd_slots_check() sees to the rest */
}

/* ------------------------------------------------------------ when to look */

#define LOOK_NS	  100000000ull /* between looks that nobody waits for */
#define CREDIT_NS 200000000    /* most that may be spent at once */
#define PAUSE_NS  10000000ull  /* until there is credit again */

/* Processor time: a busy machine makes a look last long, but not cost more. */
static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A quarter of our time may go there: a process that comes and goes must not
 * keep us looking all day. */
static bool afford(struct unic_os *os, uint64_t now)
{
	os->credit_ns += (int64_t)((now - os->credit_at_ns) / 4);
	if (os->credit_ns > CREDIT_NS)
		os->credit_ns = CREDIT_NS;
	os->credit_at_ns = now;
	return os->credit_ns > 0;
}

static void looked(struct unic_os *os, uint32_t found)
{
	os->held = found | os->missed;
	if (!os->missed)
		os->look_due_ns =
			unic_os_now_ns(os) + 20 * os->look_cost_ns + LOOK_NS;
	unicd_clients_looked(os, os->looks);
}

static void go_on(struct unic_os *os)
{
	uint64_t cost = spent_ns();
	uint32_t found;
	bool more = unicd_look_go_on(os, &found);

	cost = spent_ns() - cost;
	os->credit_ns -= (int64_t)cost;
	os->look_cost_ns += cost;
	if (!more)
		looked(os, found);
}

static void begin(struct unic_os *os)
{
	os->looks++;
	os->missed = 0;
	os->look_cost_ns = 0;
	unicd_look_begin(os);
}

/*
 * Whoever had nothing of a slot at some moment has nothing of it ever after, so
 * an old look that found it unused still holds.
 */
bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid)
{
	(void)pid; /* nobody at all */
	return os->slot_quiet[slot] && !(os->held >> slot & 1);
}

uint32_t unicd_slots_wait(struct unic_os *os, uint32_t pid)
{
	uint32_t i;

	for (i = 0; i < os->slots; i++)
		if (os->slot_quiet[i] && os->slot_pid[i] == pid &&
		    os->held >> i & 1)
			return os->looks_asked = os->looks + 1;
	return 0;
}

static void release(struct unic_os *os, uint32_t slot)
{
	os->slot_quiet[slot] = false;
	os->slot_pid[slot] = 0;
	remember(os, slot, (struct owner){ 0 });
	unic_host_slot_free(os->host, slot);
}

/* Mask of the quiet slots whose process is no more. */
static uint32_t orphans(struct unic_os *os)
{
	uint32_t i, over = 0;

	for (i = 0; i < os->slots; i++) {
		if (!os->slot_quiet[i])
			continue;
		if (ended(os->slot_pidfd[i])) {
			unicd_slots_ended(os, i);
			over |= 1u << i;
		} else { /* EEXIST: watched already */
			(void)unicd_watch(os, os->slot_pidfd[i], UNICD_EV_OWNER,
					  i, EPOLLIN);
		}
	}
	return over;
}

uint64_t unicd_slots_check(struct unic_os *os)
{
	uint32_t i, over = orphans(os);
	uint64_t now = unic_os_now_ns(os);

	if (!unicd_look_runs(os) &&
	    (os->looks_asked > os->looks ||
	     (over & os->held && now >= os->look_due_ns)))
		begin(os);
	if (unicd_look_runs(os) && afford(os, now))
		go_on(os);
	for (i = 0; i < os->slots; i++)
		if (over >> i & ~os->held >> i & 1)
			release(os, i);
	if (!unicd_look_runs(os))
		return UINT64_MAX;
	return os->credit_ns > 0 ? now : now + PAUSE_NS;
}
