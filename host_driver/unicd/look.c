/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * look.c - who can reach the memory of which slot, by a look at /proc that is
 * made in small pieces. The machine may run thousands of processes, with as
 * many threads and descriptors as their limits let them have, whoever they are;
 * the NIC does not wait for that (it stops itself when a notice is not delivered
 * within H).
 *
 * Seen are descriptors and mappings of the slots' memory files, in every process
 * but us, the bus and the NICs. Those are the processes that have the mailbox
 * memory too, which no client ever gets. What this cannot see: processes of
 * other users, if we do not run as root; other PID namespaces than ours and
 * those inside it; and a descriptor that lies unreceived in a socket, or is
 * handed to and fro, while we look, so processes that conspire can keep a slot's
 * memory beyond their end. A child is seen even if it is made meanwhile: the
 * numbers of processes rise, and /proc lists them in order.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "unicd.h"

#define SLICE_NS 500000u /* one piece after the other, that long */

static bool same(const struct unicd_file *f, dev_t dev, ino_t ino)
{
	return f->ino && f->dev == dev && f->ino == ino;
}

/* Slots in one file: a mapping says which, and whoever has the mailbox mapped is
 * the board. A descriptor says nothing; every process has the same one. */
static void note_joint(struct unic_os *os, uint64_t from, uint64_t to)
{
	struct unicd_look *l = &os->look;
	uint32_t i;

	l->board |= from < os->slots_at;
	for (i = 0; i < os->slots; i++)
		if (from < unicd_slot_at(os, i + 1) &&
		    to > unicd_slot_at(os, i))
			l->has |= 1u << i;
}

static void note(struct unic_os *os, dev_t dev, ino_t ino)
{
	struct unicd_look *l = &os->look;
	uint32_t i;

	l->board |= same(&os->bar_file, dev, ino);
	for (i = 0; i < os->slots; i++)
		if (same(&os->slot_file[i], dev, ino))
			l->has |= 1u << i;
}

/* After a call that failed. Mostly it has ended meanwhile, or is not ours to see;
 * but when the trouble is ours, what was not seen may be there. */
static void note_error(struct unicd_look *l)
{
	l->unsure |= errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		     errno == EINTR;
}

static int open_at(struct unicd_look *l, int at, const char *name, int flags)
{
	int fd = openat(at, name, O_RDONLY | O_CLOEXEC | flags);

	if (fd < 0)
		note_error(l);
	return fd;
}

static DIR *open_dir(struct unicd_look *l, int at, const char *name)
{
	int fd = open_at(l, at, name, O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0) {
		note_error(l);
		close(fd);
	}
	return dir;
}

/* The next name that is a number; NULL, and @dir closed: there is none. */
static const char *next_in(DIR **dir)
{
	struct dirent *e;

	while ((e = readdir(*dir)))
		if (e->d_name[0] >= '0' && e->d_name[0] <= '9')
			return e->d_name;
	closedir(*dir);
	*dir = NULL;
	return NULL;
}

/* ------------------------------------------------------------ of a thread */

static void end_thread(struct unicd_look *l)
{
	close(l->thread);
	l->thread = -1;
}

/* Returns false after the last line. A process without any has no memory (any
 * more). */
static bool line(struct unic_os *os)
{
	struct unicd_look *l = &os->look;
	unsigned long from, to, at, ino;
	unsigned int maj, min;

	errno = 0; /* the end of the file leaves it so */
	if (getline(&l->line, &l->room, l->maps) <= 0) {
		note_error(l);
		fclose(l->maps);
		l->maps = NULL;
		return false;
	}
	l->mapped = true;
	if (!strstr(l->line, "/memfd:unic-") ||
	    sscanf(l->line, "%lx-%lx %*s %lx %x:%x %lu", &from, &to, &at, &maj,
		   &min, &ino) != 6)
		return true;
	if (!os->slots_at)
		note(os, makedev(maj, min), (ino_t)ino);
	else if (same(&os->bar_file, makedev(maj, min), (ino_t)ino))
		note_joint(os, at, at + (to - from));
	return true;
}

static void begin_maps(struct unicd_look *l)
{
	int fd = open_at(l, l->thread, "maps", 0);

	l->maps = fd < 0 ? NULL : fdopen(fd, "r");
	if (!l->maps && fd >= 0) {
		note_error(l);
		close(fd);
	}
}

/* Only files with our name are looked at closer: asking about others may take
 * as long as their file system likes. */
static void descriptor(struct unic_os *os, int dir, const char *name)
{
	static const char ours[] = "/memfd:unic-";
	char text[sizeof(ours)];
	struct stat st;

	ssize_t n = readlinkat(dir, name, text, sizeof(text));

	if (n >= 0 &&
	    (n < (ssize_t)sizeof(text) || memcmp(text, ours, sizeof(ours) - 1)))
		return;
	if (n < 0 || fstatat(dir, name, &st, 0))
		note_error(&os->look);
	else if (!os->slots_at)
		note(os, st.st_dev, st.st_ino);
}

/* Descriptors before mappings: a descriptor can become a mapping behind our
 * back, but not the other way round. */
static void thread_piece(struct unic_os *os)
{
	struct unicd_look *l = &os->look;
	const char *name;

	if (l->maps) {
		if (!line(os))
			end_thread(l);
		return;
	}
	name = l->fds ? next_in(&l->fds) : NULL;
	if (name) {
		descriptor(os, dirfd(l->fds), name);
		return;
	}
	if (!l->mapped)
		begin_maps(l);
	if (!l->maps)
		end_thread(l);
}

/* ----------------------------------------------------------- of a process */

static void begin_process(struct unicd_look *l, const char *pid)
{
	int dir = open_at(l, dirfd(l->proc), pid, O_DIRECTORY);

	l->tasks = dir < 0 ? NULL : open_dir(l, dir, "task");
	if (dir >= 0)
		close(dir);
}

static void end_process(struct unicd_look *l)
{
	if (!l->board)
		l->found |= l->unsure ? UINT32_MAX : l->has;
	l->has = 0;
	l->board = false;
	l->unsure = false;
	l->mapped = false;
}

/* Threads may have descriptors of their own, and the first one may have ended
 * before the others. */
static void process_piece(struct unicd_look *l)
{
	const char *tid = next_in(&l->tasks);

	if (!tid) {
		end_process(l);
		return;
	}
	l->thread = open_at(l, dirfd(l->tasks), tid, O_DIRECTORY);
	if (l->thread >= 0)
		l->fds = open_dir(l, l->thread, "fd");
}

/* Returns false when there is no more. */
static bool piece(struct unic_os *os)
{
	struct unicd_look *l = &os->look;
	const char *pid;

	if (l->thread >= 0) {
		thread_piece(os);
		return true;
	}
	if (l->tasks) {
		process_piece(l);
		return true;
	}
	pid = next_in(&l->proc);
	if (!pid)
		return false;
	if (atoi(pid) != getpid()) {
		begin_process(l, pid);
		if (!l->tasks)
			end_process(l);
	}
	return true;
}

/* -------------------------------------------------------------- the whole */

void unicd_look_begin(struct unic_os *os)
{
	os->look = (struct unicd_look){
		.proc = opendir("/proc"),
		.thread = -1,
		.runs = true,
	};
	if (!os->look.proc)
		os->look.found = UINT32_MAX; /* nobody can say */
}

bool unicd_look_runs(const struct unic_os *os)
{
	return os->look.runs;
}

bool unicd_look_go_on(struct unic_os *os, uint32_t *found)
{
	struct unicd_look *l = &os->look;
	uint64_t until = unic_os_now_ns(os) + SLICE_NS;

	while (l->proc && piece(os))
		if (unic_os_now_ns(os) >= until)
			return true;
	*found = l->found;
	unicd_look_end(os);
	return false;
}

void unicd_look_end(struct unic_os *os)
{
	struct unicd_look *l = &os->look;

	if (!l->runs)
		return;
	if (l->maps)
		fclose(l->maps);
	if (l->fds)
		closedir(l->fds);
	if (l->thread >= 0)
		close(l->thread);
	if (l->tasks)
		closedir(l->tasks);
	if (l->proc)
		closedir(l->proc);
	free(l->line);
	memset(l, 0, sizeof(*l));
}
