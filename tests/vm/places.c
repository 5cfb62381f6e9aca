/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * places.c - threads on one descriptor of the device node, and its few places for
 * requests.
 *
 *   places NODE turns	threads wait for a place for their request, and get one in
 *			the order in which they came
 *   places NODE ended	says "waits" when threads wait for a place, and ends well
 *			when all are told that the device is gone
 *   places NODE grown	says "opened", waits for a line on stdin, says "waits" when
 *			threads wait beside a HELLO, and ends well when its answer
 *			brings places for all of them; "no slot" when it brings none
 *
 * Run by vm_check.py.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRAM "places"
#include "by_hand.h"

static int shared_fd;

#define PLACES	  2 /* of a client without a slot */
#define TURNS	  8
#define FIRST_SEQ 10 /* of a thread */
#define IN_TIME	  10000000000ull
#define SOON	  10000000ull

/* A thread that waits for a place, and what became of its request. */
struct turn {
	pthread_t thread;
	uint32_t seq;
	pid_t tid; /* stored when it runs */
	int err;
};

static void *waits_turn(void *arg)
{
	struct turn *t = arg;

	__atomic_store_n(&t->tid, gettid(), __ATOMIC_RELEASE);
	ask_until(shared_fd, UNIC_CTL_STATS, t->seq, 0);
	t->err = errno;
	return NULL;
}

/* Waits until thread @tid sleeps, which it does in its call. */
static void sleeping(const pid_t *tid)
{
	char path[64], state = 0;
	FILE *f;

	while (!__atomic_load_n(tid, __ATOMIC_ACQUIRE))
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)*tid);
	while (state != 'S') {
		f = fopen(path, "r");
		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			exit(fail(path));
		fclose(f);
	}
}

static void start_turn(struct turn *t, uint32_t seq)
{
	*t = (struct turn){ .seq = seq };
	if (pthread_create(&t->thread, NULL, waits_turn, t))
		exit(fail("pthread_create"));
	sleeping(&t->tid);
}

/* Fetches the reply to request @seq, for which it waits. Its status; -1: none came. */
static int fetch_status(int fd, uint32_t seq)
{
	_Alignas(8) uint8_t reply[UNIC_CTL_MSG_MAX];
	const struct unic_ctl_hdr *hdr = (const void *)reply;
	struct unic_ioc_call call = {
		.reply = unic_to_le64((uintptr_t)reply),
		.until_ns = unic_to_le64(now_ns() + IN_TIME),
		.room = unic_to_le32(sizeof(reply)),
		.seq = unic_to_le32(seq),
	};

	return ioctl(fd, UNIC_IOC_CALL, &call) ? -1
					       : unic_from_le16(hdr->status);
}

static bool fetch(int fd, uint32_t seq)
{
	return fetch_status(fd, seq) >= 0;
}

static void nothing(int signal)
{
	(void)signal;
}

/* Opens the device; both places are taken, by requests 1 and 2. */
static int open_full(const char *path)
{
	struct sigaction interrupt = { .sa_handler = nothing };
	uint32_t i;

	alarm(2 * PATIENCE_S);
	shared_fd = open(path, O_RDWR | O_CLOEXEC);
	if (shared_fd < 0 || sigaction(SIGUSR1, &interrupt, NULL))
		return fail(path);
	for (i = 1; i <= PLACES; i++)
		if (!ask_only(shared_fd, UNIC_CTL_STATS, i))
			return fail("not two places");
	return 0;
}

/* A call that finds no place in time is told so, whenever it comes between two ticks
 * of the kernel. */
static bool ends_in_time(void)
{
	uint64_t until, i;

	for (i = 0; i < 20; i++) {
		until = now_ns() + SOON + i * 370000;
		if (ask_until(shared_fd, UNIC_CTL_STATS, 99, until) ||
		    errno != EAGAIN || now_ns() < until)
			return false;
	}
	return true;
}

/* Requests that cannot be read leave their places to others. */
static bool unreadable(void)
{
	struct unic_ioc_call call = {
		.msg = unic_to_le64(8), /* nothing is there */
		.bytes = unic_to_le32(UNIC_CTL_BYTES),
		.room = unic_to_le32(UNIC_CTL_BYTES),
	};
	uint32_t i;

	for (i = 0; i < 2 * PLACES; i++)
		if (!ioctl(shared_fd, UNIC_IOC_CALL, &call) || errno != EFAULT)
			return false;
	return true;
}

static bool interrupted(struct turn *t)
{
	return !pthread_kill(t->thread, SIGUSR1) &&
	       !pthread_join(t->thread, NULL) && t->err == EINTR;
}

/* One place goes round: who has it is answered, and leaves it to the next. The thread
 * in the middle has been interrupted. */
static bool go_round(struct turn *turn)
{
	uint32_t i;

	for (i = 0; i < TURNS; i++)
		start_turn(&turn[i], FIRST_SEQ + i);
	if (!interrupted(&turn[TURNS / 2]) || !ends_in_time() ||
	    !fetch(shared_fd, 1))
		return false;
	for (i = 0; i < TURNS; i++)
		if (i != TURNS / 2 && !fetch(shared_fd, FIRST_SEQ + i))
			return false;
	return true;
}

static int turns(const char *path)
{
	struct turn turn[TURNS];

	if (open_full(path))
		return 1;
	if (!go_round(turn))
		return fail("not its turn");
	if (!unreadable())
		return fail("a request that cannot be read");
	if (!ask_only(shared_fd, UNIC_CTL_STATS, 3))
		return fail("a place is lost");
	if (ask_only(shared_fd, UNIC_CTL_STATS, 4) || errno != EAGAIN)
		return fail("a place too many");
	printf("places: ok\n");
	return 0;
}

#define WAITING 3

static void say_waits(void)
{
	printf("waits\n");
	fflush(stdout);
}

static int ended(const char *path)
{
	struct turn turn[WAITING];
	uint32_t i;

	if (open_full(path))
		return 1;
	for (i = 0; i < WAITING; i++)
		start_turn(&turn[i], FIRST_SEQ + i);
	say_waits();
	for (i = 0; i < WAITING; i++)
		if (pthread_join(turn[i].thread, NULL) || turn[i].err != ENODEV)
			return fail("not told that the device is gone");
	if (ask_until(shared_fd, UNIC_CTL_STATS, 3, 0) || errno != ENODEV)
		return fail("waits for a device that is gone");
	printf("places: ok\n");
	return 0;
}

/* How many requests are taken whose replies are not fetched. */
static uint32_t takes(uint32_t seq)
{
	uint32_t n = 0;

	while (n < 4 * UNIC_CTL_OPEN_MAX &&
	       ask_only(shared_fd, UNIC_CTL_STATS, seq + n))
		n++;
	return n;
}

/* Calls wait while the answer to HELLO is under way. It brings places for all of them;
 * the last is fetched first, because it must not wait for the others. */
static bool all_have_places(void)
{
	struct turn turn[WAITING];
	uint32_t i;

	for (i = 0; i < WAITING; i++)
		start_turn(&turn[i], FIRST_SEQ + i);
	say_waits();
	while (i-- > 0)
		if (!fetch(shared_fd, FIRST_SEQ + i))
			return false;
	return true;
}

static int grown(const char *path)
{
	alarm(2 * PATIENCE_S);
	shared_fd = open(path, O_RDWR | O_CLOEXEC);
	if (shared_fd < 0 || !ask_only(shared_fd, UNIC_CTL_STATS, 1))
		return fail(path);
	printf("opened\n");
	fflush(stdout);
	if (getchar() < 0 || !ask_only(shared_fd, UNIC_CTL_HELLO, 2))
		return fail("HELLO");
	if (all_have_places()) {
		if (takes(100) != 2 * UNIC_CTL_OPEN_MAX - 2 || errno != EAGAIN)
			return fail("another number of places");
		printf("places: ok\n");
	} else if (fetch_status(shared_fd, 2) > 0) {
		printf("places: no slot\n"); /* it took the NIC for dead */
	} else {
		return fail("no place for all");
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "turns"))
		return turns(argv[1]);
	if (argc == 3 && !strcmp(argv[2], "ended"))
		return ended(argv[1]);
	if (argc == 3 && !strcmp(argv[2], "grown"))
		return grown(argv[1]);
	return 2;
}
