/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * slots.c - a slot's memory is not given to another process while the one that
 * had it, or anybody who got it from that one (a child), may still reach it,
 * even if that one is stopped, and even if we were killed and started again in
 * between: the owners are in a small file.
 *
 * Who reaches it is seen in /proc: descriptors and mappings of its memory file,
 * in every process but us, the bus and the NICs. Those are the processes that
 * have the mailbox memory too, which no client ever gets. What this cannot see:
 * processes of other users, if we do not run as root; other PID namespaces than
 * ours and those inside it; and a descriptor that lies unreceived in a socket at
 * that moment, so processes that conspire can keep a slot's memory beyond their
 * end.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
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
	os->slot_quiet[slot] = true;
	os->held_old = true;
	unic_host_slot_hold(os->host, slot, fd < 0 ? 0 : o.pid);
	if (fd >= 0)
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
	/* unicd_slots_check() sees to the rest */
}

/* ------------------------------------------------------- who has what: /proc */

#define LOOK_NS	  100000000ull /* between looks that nobody waits for */
#define CREDIT_NS 200000000    /* most that may be spent at once */

/* What one process has. */
struct has {
	const struct unic_os *os;
	uint32_t slots; /* mask */
	bool board;	/* it is the bus or a NIC */
	bool unsure;	/* we had not what it takes to look at it all */
};

static bool same(const struct unicd_file *f, dev_t dev, ino_t ino)
{
	return f->ino && f->dev == dev && f->ino == ino;
}

static void note(struct has *has, dev_t dev, ino_t ino)
{
	uint32_t i;

	has->board |= same(&has->os->bar_file, dev, ino);
	for (i = 0; i < has->os->slots; i++)
		if (same(&has->os->slot_file[i], dev, ino))
			has->slots |= 1u << i;
}

/* After a call that failed. Mostly it has ended meanwhile, or is not ours to see;
 * but when the trouble is ours, what was not seen may be there. */
static void note_error(struct has *has)
{
	has->unsure |= errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		       errno == EINTR;
}

/* Only files with our name are looked at closer: asking about others may take
 * as long as their file system likes. */
static void note_fd(struct has *has, int dir, const char *name)
{
	static const char ours[] = "/memfd:unic-";
	char text[sizeof(ours)];
	struct stat st;

	ssize_t n = readlinkat(dir, name, text, sizeof(text));

	if (n >= 0 &&
	    (n < (ssize_t)sizeof(text) || memcmp(text, ours, sizeof(ours) - 1)))
		return;
	if (n < 0 || fstatat(dir, name, &st, 0))
		note_error(has);
	else
		note(has, st.st_dev, st.st_ino);
}

static int open_at(struct has *has, int at, const char *name, int flags)
{
	int fd = openat(at, name, O_RDONLY | O_CLOEXEC | flags);

	if (fd < 0)
		note_error(has);
	return fd;
}

static DIR *open_dir(struct has *has, int at, const char *name)
{
	int fd = open_at(has, at, name, O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0) {
		note_error(has);
		close(fd);
	}
	return dir;
}

static void note_fds(struct has *has, int task)
{
	DIR *dir = open_dir(has, task, "fd");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			note_fd(has, dirfd(dir), e->d_name);
	if (dir)
		closedir(dir);
}

/* Returns false if it has no memory (any more). */
static bool note_maps(struct has *has, int task)
{
	int fd = open_at(has, task, "maps", 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned int maj, min;
	unsigned long ino;
	char *line = NULL;
	bool any = false;
	size_t room = 0;

	if (fd >= 0 && !f)
		note_error(has);
	errno = 0; /* the end of the file leaves it so */
	while (f && getline(&line, &room, f) > 0) {
		any = true;
		if (strstr(line, "/memfd:unic-") &&
		    sscanf(line, "%*s %*s %*s %x:%x %lu", &maj, &min, &ino) ==
			    3)
			note(has, makedev(maj, min), (ino_t)ino);
	}
	note_error(has);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	free(line);
	return any;
}

/*
 * Threads may have descriptors of their own, and the first one may have ended
 * before the others. Descriptors before mappings: a descriptor can become a
 * mapping behind our back, but not the other way round.
 */
static void note_process(struct has *has, int proc, const char *pid)
{
	int dir = open_at(has, proc, pid, O_DIRECTORY);
	DIR *tasks = dir < 0 ? NULL : open_dir(has, dir, "task");
	bool mapped = false;
	struct dirent *e;
	int task;

	while (tasks && (e = readdir(tasks))) {
		if (e->d_name[0] == '.')
			continue;
		task = open_at(has, dirfd(tasks), e->d_name, O_DIRECTORY);
		if (task < 0)
			continue;
		note_fds(has, task);
		if (!mapped)
			mapped = note_maps(has, task);
		close(task);
	}
	if (tasks)
		closedir(tasks);
	if (dir >= 0)
		close(dir);
}

/* Mask of the slots whose memory somebody can reach; all if nobody can say. */
static uint32_t look(const struct unic_os *os)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	uint32_t held = 0;

	if (!proc)
		return UINT32_MAX;
	while ((e = readdir(proc))) {
		struct has has = { .os = os };

		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    atoi(e->d_name) == getpid())
			continue;
		note_process(&has, dirfd(proc), e->d_name);
		if (!has.board)
			held |= has.unsure ? UINT32_MAX : has.slots;
	}
	closedir(proc);
	return held;
}

/* Processor time: a busy machine makes a look last long, but not cost more. */
static uint64_t spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Look again, unless a quarter of our time went there: a process that comes and
 * goes must not keep us looking all day. */
static bool look_again(struct unic_os *os)
{
	uint64_t start = unic_os_now_ns(os), cost;

	os->credit_ns += (int64_t)((start - os->look_ns) / 4);
	if (os->credit_ns > CREDIT_NS)
		os->credit_ns = CREDIT_NS;
	os->look_ns = start;
	if (os->credit_ns <= 0)
		return false;
	cost = spent_ns();
	os->held = look(os);
	os->held_old = false;
	cost = spent_ns() - cost;
	os->credit_ns -= (int64_t)cost;
	os->look_ns = unic_os_now_ns(os);
	os->quiet_ns = os->look_ns + 20 * cost + LOOK_NS;
	return true;
}

bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid)
{
	(void)pid; /* nobody at all */
	if (!os->slot_quiet[slot] || (!look_again(os) && os->held_old))
		return false;
	return !(os->held >> slot & 1);
}

static void release(struct unic_os *os, uint32_t slot)
{
	os->slot_quiet[slot] = false;
	remember(os, slot, (struct owner){ 0 });
	unic_host_slot_free(os->host, slot);
}

void unicd_slots_check(struct unic_os *os)
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
	if (!over || (!os->held_old && unic_os_now_ns(os) < os->quiet_ns) ||
	    !look_again(os))
		return;
	for (i = 0; i < os->slots; i++)
		if (over >> i & ~os->held >> i & 1)
			release(os, i);
}
