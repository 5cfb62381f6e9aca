/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * node.c - the device node by hand: moments that libunic does not meet.
 *
 *   node NODE deadline	nobody answers: each call ends at its time, also if that
 *			comes while the call looks at the clock
 *   node NODE comers	until it is killed: opens the node, and asks until it is
 *			told that the device is gone. Threads of low priority
 *			wait for each other in open(), so that some are there
 *			when the device goes.
 *   node NODE unread N	opens the node N times, asks as often as it may each
 *			time, and reads no answer; then lives on
 *   node NODE ids	how many slots a user gets by making up users in a
 *			namespace
 *   node NODE early	asks for a slot of a NIC that stands still, and for
 *			something that the driver answers itself: there is no
 *			slot to map yet
 *   node NODE threads N	N threads ask on one descriptor; each is answered
 *
 * Run by vm_check.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "node"
#include "by_hand.h"

#define CALLS	800
#define OPENERS 100

/* A call that waits for a reply to nothing, for so long at most. How long it took;
 * 0: it did not end as it must. */
static uint64_t waits(int fd, uint64_t ns)
{
	uint64_t start = now_ns();
	struct unic_ioc_call call = { .until_ns = unic_to_le64(start + ns),
				      .seq = unic_to_le32(1) };

	if (!ioctl(fd, UNIC_IOC_CALL, &call) || errno != ETIMEDOUT)
		return 0;
	return now_ns() - start;
}

/* A time that is over when the call looks at the clock ends it at once, a
 * later one at a tick. The loop searches for the time between the two. */
static int deadline(const char *path)
{
	uint64_t ns = 5000, step = 1000, took;
	int fd = open(path, O_RDWR | O_CLOEXEC), i;

	if (fd < 0)
		return fail(path);
	for (i = 0; i < CALLS; i++) {
		alarm(PATIENCE_S);
		took = waits(fd, ns);
		if (!took)
			return fail("not its time");
		if (took > 500000)
			ns = ns > step ? ns - step : 0;
		else
			ns += step;
		if (step > 20)
			step -= step / 8;
	}
	printf("node: ok, near %llu ns\n", (unsigned long long)ns);
	return 0;
}

/* Sends a request. False: the device is gone, or not ready yet. */
static bool ask(int fd, uint16_t op)
{
	struct unic_ctl_hello rec = { .hdr = { .op = unic_to_le16(op) } };
	_Alignas(8) uint8_t reply[UNIC_CTL_MSG_MAX];
	const struct unic_ctl_hdr *hdr = (const void *)reply;
	struct unic_ioc_call call = {
		.msg = unic_to_le64((uintptr_t)&rec),
		.reply = unic_to_le64((uintptr_t)reply),
		.bytes = unic_to_le32(sizeof(rec)),
		.room = unic_to_le32(sizeof(reply)),
	};

	if (op == UNIC_CTL_HELLO)
		rec.version = unic_to_le32(UNIC_CTL_VERSION);
	return !ioctl(fd, UNIC_IOC_CALL, &call) && !unic_from_le16(hdr->status);
}

/* A client whose device has lost its node goes on asking. */
static void *opens(void *path)
{
	int fd;

	for (;;) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0) {
			usleep(1000);
			continue;
		}
		while (access(path, F_OK) && ask(fd, UNIC_CTL_INFO))
			usleep(1000);
		close(fd);
	}
	return NULL;
}

/* Has a slot, so that a device that goes has something to wait for. */
static void *holds(void *path)
{
	int fd;

	for (;; usleep(1000)) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (ask(fd, UNIC_CTL_HELLO))
			while (ask(fd, UNIC_CTL_INFO))
				usleep(20000);
		close(fd);
	}
	return NULL;
}

static int comers(char *path)
{
	struct sched_param even = { 0 };
	pthread_t thread;
	int i;

	if (pthread_create(&thread, NULL, holds, path))
		return fail("pthread_create");
	if (sched_setscheduler(0, SCHED_IDLE, &even))
		return fail("sched_setscheduler");
	for (i = 0; i < OPENERS; i++)
		if (pthread_create(&thread, NULL, opens, path))
			return fail("pthread_create");
	for (;;)
		pause();
}

#define ASKS 100

static int unread(const char *path, uint32_t n)
{
	struct rlimit files = { n + 16, n + 16 };
	uint32_t asked = 0, seq;
	int fd;

	if (setrlimit(RLIMIT_NOFILE, &files))
		return fail("setrlimit");
	while (n--) {
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return fail(path);
		for (seq = 1; seq < ASKS && ask_only(fd, UNIC_CTL_STATS, seq);
		     seq++)
			asked++;
		if (seq == ASKS || errno != EAGAIN)
			return fail("there is no end of it");
	}
	printf("node: %u unread\n", asked);
	fflush(stdout);
	for (;;)
		pause();
}

static int early(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return fail(path);
	if (!ask_only(fd, UNIC_CTL_HELLO, 1) || !ask(fd, UNIC_CTL_INFO))
		return fail("asking");
	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) !=
	    MAP_FAILED)
		return fail("has the doorbells of a slot that is not its own");
	printf("node: ok\n");
	return 0;
}

static int shared_fd;

static void *asks(void *arg)
{
	struct unic_ctl_plain rec = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_INFO) },
	};
	_Alignas(8) uint8_t reply[UNIC_CTL_MSG_MAX];
	const struct unic_ctl_hdr *hdr = (const void *)reply;
	uint32_t i = 0;

	while (i < ASKS) {
		struct unic_ioc_call call = {
			.msg = unic_to_le64((uintptr_t)&rec),
			.reply = unic_to_le64((uintptr_t)reply),
			.bytes = unic_to_le32(sizeof(rec)),
			.room = unic_to_le32(sizeof(reply)),
		};

		rec.hdr.seq =
			unic_to_le32((uint32_t)(uintptr_t)arg * ASKS + ++i);
		call.seq = rec.hdr.seq;
		while (ioctl(shared_fd, UNIC_IOC_CALL, &call)) {
			if (errno != EAGAIN && errno != EINTR)
				return "refused";
			sched_yield();
		}
		if (unic_from_le32(hdr->seq) != unic_from_le32(rec.hdr.seq))
			return "another's answer";
	}
	return NULL;
}

static int threads(const char *path, uintptr_t n)
{
	pthread_t thread[n];
	uintptr_t i;
	void *why;

	shared_fd = open(path, O_RDWR | O_CLOEXEC);
	if (shared_fd < 0)
		return fail(path);
	alarm(PATIENCE_S);
	for (i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, asks, (void *)i))
			return fail("pthread_create");
	for (i = 0; i < n; i++)
		if (pthread_join(thread[i], &why) || why)
			return fail(why);
	printf("node: ok\n");
	return 0;
}

#define IDS 16

/* Writes @text to /proc/@pid/@file. Returns an exit code. */
static int put(pid_t pid, const char *file, const char *text)
{
	char path[64];
	int fd, ok;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) > 0;
	close(fd);
	return ok ? 0 : fail(path);
}

/* Each process is another user of the namespace. */
static int made_up(const char *path)
{
	int i, fd, got[2], n = 0;
	pid_t pid[IDS];
	char c;

	if (pipe(got))
		return fail("pipe");
	for (i = 0; i < IDS; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			if (setresuid((uid_t)i, (uid_t)i, (uid_t)i))
				_exit(fail("setresuid"));
			fd = open(path, O_RDWR | O_CLOEXEC);
			c = fd >= 0 && ask(fd, UNIC_CTL_HELLO);
			if (write(got[1], &c, 1) == 1)
				pause();
			_exit(1);
		}
		if (read(got[0], &c, 1) != 1)
			return fail("read");
		n += c;
	}
	while (i--)
		kill(pid[i], SIGKILL);
	printf("node: %d slots\n", n);
	return 0;
}

static int ids(const char *path)
{
	int go[2], made[2], status;
	char c = 0;
	pid_t pid;

	if (pipe(go) || pipe(made))
		return fail("pipe");
	pid = fork();
	if (!pid) {
		if (setresuid(1000, 1000, 1000) || unshare(CLONE_NEWUSER) ||
		    prctl(PR_SET_DUMPABLE, 1) || write(made[1], &c, 1) != 1 ||
		    read(go[0], &c, 1) != 1 || setresuid(0, 0, 0))
			_exit(fail("namespace"));
		status = made_up(path);
		fflush(stdout);
		_exit(status);
	}
	close(made[1]); /* so that read() returns if the child ends early */
	if (read(made[0], &c, 1) != 1 || put(pid, "uid_map", "0 100000 100") ||
	    write(go[1], &c, 1) != 1 || waitpid(pid, &status, 0) != pid)
		return fail("namespace");
	return status;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "ids"))
		return ids(argv[1]);
	if (argc == 4 && !strcmp(argv[2], "unread"))
		return unread(argv[1], (uint32_t)atoi(argv[3]));
	if (argc == 4 && !strcmp(argv[2], "threads"))
		return threads(argv[1], (uintptr_t)atoi(argv[3]));

	if (argc == 3 && !strcmp(argv[2], "early"))
		return early(argv[1]);
	if (argc == 3 && !strcmp(argv[2], "deadline"))
		return deadline(argv[1]);
	if (argc == 3 && !strcmp(argv[2], "comers"))
		return comers(argv[1]);
	return 2;
}
