/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run_net.c - see run_net.h.
 *
 * Locks in the folder of a net: `door`, of whoever joins or ends it; `members`, shared by
 * the runs on it; `keeper`, of the process that keeps the wire; `host<n>`, of the run with
 * that number. A process that ends leaves none.
 */
#define _GNU_SOURCE
#include "run_net.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run_place.h"

#define HOSTS	"7" /* ports of a wire */
#define N_HOSTS 7u
#define LOOK_NS 100000000

static void nap_keeper(void)
{
	const struct timespec t = { .tv_nsec = LOOK_NS };

	nanosleep(&t, NULL);
}

/* True if no run is on the net; then @door is held, so that none joins. Both were opened when
 * the net began: somebody may have removed its folder since. */
static bool is_deserted(int members, int door)
{
	bool deserted = !flock(members, LOCK_EX | LOCK_NB) &&
			!flock(door, LOCK_EX | LOCK_NB);

	flock(members, LOCK_UN);
	return deserted;
}

static bool is_removed(int file)
{
	struct stat st;

	return !fstat(file, &st) && !st.st_nlink;
}

/* The keeper. @told: where it says that the wire is ready. */
static void keep_wire(const char *dir, int told)
{
	char wire[RUN_PATH];
	/* A switch drops what a host has no room for, and of UC and UD nobody
	 * sends that again: past the switch the sender waits. */
	char *argv[] = { "unic-wire", "--dir",	  wire, "--nics",
			 HOSTS,	      "--direct", NULL };
	struct run_child child = { .pid = 0 };
	int lock = run_place_lock(dir, "keeper", LOCK_EX | LOCK_NB);
	int members = run_place_lock(dir, "members", LOCK_UN);
	int door = run_place_lock(dir, "door", LOCK_UN);

	snprintf(wire, sizeof(wire), "%.200s/wire", dir);
	if (lock < 0 || members < 0 || door < 0 ||
	    run_child_start(&child, NULL, dir, argv))
		_exit(1);
	dup2(STDIN_FILENO, STDERR_FILENO); /* others may wait for its end */
	if (write(told, "", 1) != 1)
		_exit(1);
	close(told);
	while (run_child_alive(&child) && !is_deserted(members, door))
		nap_keeper();
	run_child_end(&child);
	if (!is_removed(door)) /* another run may have made the net again */
		run_place_remove(wire);
	/* before the door opens: at the end of a process Linux releases its
	 * files in any order, and who comes in would wait for no wire */
	close(lock);
	_exit(0);
}

/* Keep nothing of the process that forked this one: neither its terminal nor its locks.
 * Returns what @told is then. */
static int leave(int told)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	signal(SIGHUP, SIG_IGN);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	told = dup3(told, STDERR_FILENO + 1, O_CLOEXEC);
	close_range(STDERR_FILENO + 2, ~0u, 0);
	return told;
}

static int start_keeper(const char *dir)
{
	int told[2];
	char byte;
	pid_t pid;
	int ok;

	if (pipe2(told, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		if (fork())
			_exit(0);
		keep_wire(dir, leave(told[1]));
	}
	close(told[1]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	ok = read(told[0], &byte, 1) == 1;
	close(told[0]);
	return ok ? 0 : -1;
}

static int take_number(struct run_net *net, const char *name)
{
	char file[16];
	unsigned int n;

	for (n = 1; n <= N_HOSTS; n++) {
		snprintf(file, sizeof(file), "host%u", n);
		if (run_place_lock(net->dir, file, LOCK_EX | LOCK_NB) >= 0) {
			net->host = n;
			return 0;
		}
	}
	fprintf(stderr, "unic-run: net %s has " HOSTS " hosts already\n", name);
	return -1;
}

int run_net_join(struct run_net *net, const char *name)
{
	int door, keeper;
	int err = 0;

	if (run_place_net(name, net->dir))
		return -1;
	snprintf(net->wire, sizeof(net->wire), "%.200s/wire/ivshmem", net->dir);
	door = run_place_lock(net->dir, "door", LOCK_EX);
	keeper = run_place_lock(net->dir, "keeper", LOCK_SH | LOCK_NB);
	if (keeper >= 0) { /* nobody keeps it */
		close(keeper);
		err = start_keeper(net->dir);
	}
	if (!err)
		err = take_number(net, name);
	if (!err && run_place_lock(net->dir, "members", LOCK_SH) < 0)
		err = -1;
	close(door);
	return err;
}
