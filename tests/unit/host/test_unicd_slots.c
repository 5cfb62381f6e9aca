/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_unicd_slots.c - whose a slot's memory is, over a core and a bus that the test plays:
 * no process gets memory that another one may keep, and an owner is remembered. Host only.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "board.h"
#include "slots.h"
#include "unicd_os.h"

#define SLOTS 3

/* ------------------------------------------------- the core, and the bus */

static bool hold = true; /* the core finds objects in its journal */
static struct {
	unsigned int held, freed, ended, renewed, exchanged;
	uint32_t slot, pid, uid; /* of the last of them */
	int renew, exchange;	 /* what the bus answers */
	int fd;
} said;

bool unic_host_slot_hold(struct unic_host *h, uint32_t slot, uint32_t pid,
			 uint32_t uid)
{
	(void)h;
	said.held++;
	said.slot = slot;
	said.pid = pid;
	said.uid = uid;
	return hold;
}

void unic_host_slot_free(struct unic_host *h, uint32_t slot)
{
	(void)h;
	said.freed++;
	said.slot = slot;
}

void unic_host_slot_ended(struct unic_host *h, uint32_t slot)
{
	(void)h;
	said.ended++;
	said.slot = slot;
}

size_t unic_host_journal_bytes(uint32_t slots, uint64_t slot_bytes)
{
	return slots * (size_t)slot_bytes;
}

int unicd_board_renew(struct unic_os *os, uint32_t slot)
{
	(void)os;
	said.renewed++;
	said.slot = slot;
	return said.renew;
}

int unicd_board_exchange(struct unic_os *os, uint32_t slot, int fd)
{
	(void)os;
	said.exchanged++;
	said.slot = slot;
	said.fd = fd;
	return said.exchange;
}

/* --------------------------------------------------------------- the driver */

static struct unicd d;
static struct unic_os *const os = &d.nic[0];
static char dir[] = "/tmp/test_unicd_slots.XXXXXX";

static void start(void)
{
	uint32_t i;

	memset(&d, 0, sizeof(d));
	memset(&said, 0, sizeof(said));
	d.nics = 1;
	d.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	os->d = &d;
	os->opt.bus = dir;
	os->bus_dir = open(dir, O_RDONLY | O_DIRECTORY);
	os->slots = SLOTS;
	os->slot_bytes = 4096;
	os->slots_file = -1;
	for (i = 0; i < SLOTS; i++) {
		os->slot_pidfd[i] = -1;
		os->doorbell[i].ours = -1;
		os->cq_wake[i].ours = os->upcall_wake[i].ours = -1;
	}
	unicd_slots_init(os);
}

static void stop(void)
{
	uint32_t i;

	for (i = 0; i < SLOTS; i++) {
		if (os->slot_pidfd[i] >= 0)
			close(os->slot_pidfd[i]);
		unicd_wakes_end(os, i);
	}
	close(os->slots_file);
	close(os->bus_dir);
	close(d.epoll_fd);
}

static int begin(void **state)
{
	(void)state;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	start();
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlinkat(os->bus_dir, "unicd.slots", 0);
	unlinkat(os->bus_dir, "unicd.journal", 0);
	stop();
	return rmdir(dir);
}

/* A process that waits for its end. */
static pid_t begin_process(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
		pause();
		_exit(0);
	}
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* As unicd after HELLO: @slot is that of process @pid, whose descriptor is @pidfd. */
static void own(uint32_t slot, pid_t pid, int pidfd)
{
	struct unicd_client c = { .core = { .pid = (uint32_t)pid, .uid = 12 },
				  .pidfd = pidfd };

	unicd_slots_own(os, slot, &c);
}

static int state_of(uint32_t slot)
{
	return os->slot_state[slot];
}

/* True if the loop is told that the owner of @slot ended. */
static bool is_end_told(uint32_t slot)
{
	struct epoll_event ev;

	return epoll_wait(d.epoll_fd, &ev, 1, 500) == 1 &&
	       ev.data.u32 == ((uint32_t)UNICD_EV_OWNER << 24 | slot);
}

/* ------------------------------------------------------------------- tests */

/* An end of a pipe that no process ended at: as the descriptor of one that lives. */
static int living(int fd[2])
{
	assert_int_equal(pipe(fd), 0);
	return fd[0];
}

static void memory_is_exchanged_before_it_is_free(void **state)
{
	int fd[2], lives = living(fd), file = open(dir, O_RDONLY);

	(void)state;
	own(1, getpid(), lives);
	assert_int_equal(state_of(1), UNICD_SLOT_OWNED);
	assert_true(os->slot_pidfd[1] >= 0);
	assert_int_equal(unicd_slots_check(os), UINT64_MAX);
	assert_int_equal(said.renewed, 0);
	unic_os_slot_quiet(os, 1);
	assert_int_equal(state_of(1), UNICD_SLOT_LEFT);
	assert_false(unic_os_slot_unused(os, 1, 0));
	assert_int_equal(said.freed, 0);
	assert_int_equal(unicd_slots_check(os), UINT64_MAX);
	assert_int_equal(said.renewed, 1);
	assert_int_equal(said.slot, 1);
	assert_int_equal(state_of(1), UNICD_SLOT_ASKED);
	/* once */
	assert_int_equal(unicd_slots_check(os), UINT64_MAX);
	assert_int_equal(said.renewed, 1);
	unicd_slots_renewed(os, 1, file);
	assert_int_equal(said.exchanged, 1);
	assert_int_equal(said.fd, file);
	assert_int_equal(said.freed, 1);
	assert_int_equal(state_of(1), UNICD_SLOT_FRESH);
	assert_int_equal(os->slot_pidfd[1], -1);
	assert_int_equal(fcntl(file, F_GETFD), 0); /* the board has it */
	close(file);
	close(fd[0]);
	close(fd[1]);
}

/* A file that nobody asked for changes nothing, and is closed. */
static void files_that_nobody_asked_for_are_closed(void **state)
{
	int file = open(dir, O_RDONLY);

	(void)state;
	unicd_slots_renewed(os, 0, file);
	assert_int_equal(fcntl(file, F_GETFD), -1);
	assert_int_equal(said.exchanged, 0);
	assert_int_equal(said.freed, 0);
	unicd_slots_renewed(os, 0, -1);
	assert_int_equal(state_of(0), UNICD_SLOT_FRESH);
	/* one that cannot be mapped: asked for again */
	unic_os_slot_quiet(os, 0);
	unicd_slots_check(os);
	said.exchange = -ENOMEM;
	file = open(dir, O_RDONLY);
	unicd_slots_renewed(os, 0, file);
	assert_int_equal(fcntl(file, F_GETFD), -1);
	assert_int_equal(said.freed, 0);
	assert_int_equal(state_of(0), UNICD_SLOT_LEFT);
}

/* No other memory: the slot is for its user, once its process has ended. */
static void kept_memory_stays_with_its_user(void **state)
{
	pid_t pid = begin_process();
	int fd[2], lives = living(fd);

	(void)state;
	own(2, pid, lives);
	unic_os_slot_quiet(os, 2);
	unicd_slots_check(os);
	unicd_slots_renewed(os, 2, -1);
	assert_int_equal(state_of(2), UNICD_SLOT_KEPT);
	assert_true(unic_os_slot_unused(os, 2, 0));
	assert_int_equal(said.freed, 0);
	assert_int_equal(said.ended, 0);
	end_process(pid);
	assert_true(is_end_told(2));
	unicd_slots_ended(os, 2);
	assert_int_equal(said.ended, 1);
	assert_false(is_end_told(2)); /* it is watched no more */
	/* it is not asked for again until the NIC left */
	unicd_slots_check(os);
	assert_int_equal(said.renewed, 1);
	unicd_slots_nic_left(os);
	assert_int_equal(state_of(2), UNICD_SLOT_LEFT);
	assert_int_equal(state_of(0), UNICD_SLOT_FRESH);
	unicd_slots_check(os);
	assert_int_equal(said.renewed, 2);
	/* its process has ended before the answer: at once */
	unicd_slots_renewed(os, 2, -1);
	assert_int_equal(said.ended, 2);
	close(fd[0]);
	close(fd[1]);
}

/* The bus has no room for a question: again after a while, not at once. */
static void a_busy_bus_is_asked_later(void **state)
{
	uint64_t again;

	(void)state;
	unic_os_slot_quiet(os, 0);
	unic_os_slot_quiet(os, 1);
	said.renew = -EAGAIN;
	again = unicd_slots_check(os);
	assert_int_equal(said.renewed, 1);
	assert_int_equal(state_of(0), UNICD_SLOT_LEFT);
	assert_true(again > unic_os_now_ns(os));
	assert_true(again < unic_os_now_ns(os) + 200000000ull);
	said.renew = 0;
	assert_int_equal(unicd_slots_check(os), again);
	assert_int_equal(said.renewed, 1);
	os->slots_again_ns = 0;
	assert_int_equal(unicd_slots_check(os), UINT64_MAX);
	assert_int_equal(said.renewed, 3);
	/* an answer without a file is lost, and asked for later, too */
	unicd_slots_lost(os, 1);
	assert_int_equal(state_of(1), UNICD_SLOT_LEFT);
	assert_true(unicd_slots_check(os) > unic_os_now_ns(os));
	unicd_slots_lost(os, 2);
	assert_int_equal(state_of(2), UNICD_SLOT_FRESH);
}

/* What the driver writes down is what the next one holds. */
static void owners_are_remembered(void **state)
{
	pid_t one = begin_process(), two = begin_process();
	int fd[2], lives = living(fd);
	struct stat st;

	(void)state;
	own(0, one, lives);
	own(2, two, lives);
	assert_int_equal(fstatat(os->bus_dir, "unicd.slots", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	stop();
	start();
	assert_int_equal(said.held, 2);
	assert_int_equal(said.slot, 2);
	assert_int_equal(said.pid, two);
	assert_int_equal(said.uid, 12);
	assert_int_equal(state_of(0), UNICD_SLOT_OWNED);
	assert_int_equal(state_of(1), UNICD_SLOT_FRESH);
	assert_int_equal(state_of(2), UNICD_SLOT_OWNED);
	end_process(one);
	assert_true(is_end_told(0));
	stop();
	start();
	/* the one that has ended is held for its user, by no process */
	assert_int_equal(said.held, 2);
	assert_int_equal(os->slot_pidfd[0], -1);
	assert_true(os->slot_pidfd[2] >= 0);
	/* a slot that was freed is of nobody */
	unic_os_slot_quiet(os, 2);
	unicd_slots_check(os);
	unicd_slots_renewed(os, 2, open(dir, O_RDONLY));
	close(said.fd);
	stop();
	start();
	assert_int_equal(said.held, 1);
	assert_int_equal(said.slot, 0);
	assert_int_equal(said.pid, 0);
	end_process(two);
	close(fd[0]);
	close(fd[1]);
}

/* Where the core finds nothing to hold, the memory was left. */
static void what_is_not_held_was_left(void **state)
{
	pid_t pid = begin_process();
	int fd[2], lives = living(fd);

	(void)state;
	own(1, pid, lives);
	stop();
	hold = false;
	start();
	hold = true;
	assert_int_equal(said.held, 1);
	assert_int_equal(said.pid, pid);
	assert_int_equal(state_of(1), UNICD_SLOT_LEFT);
	end_process(pid);
	close(fd[0]);
	close(fd[1]);
}

/* Another process has the number of one that ended: it is not the owner. */
static void a_number_is_no_process(void **state)
{
	uint64_t started = 5; /* no process of now did, 50 ms after the boot */
	int fd[2], lives = living(fd);
	pid_t pid = begin_process();

	(void)state;
	own(0, pid, lives);
	assert_int_equal(pwrite(os->slots_file, &started, sizeof(started), 0),
			 sizeof(started));
	stop();
	start();
	assert_int_equal(said.held, 1);
	assert_int_equal(said.pid, 0);
	assert_int_equal(said.uid, 12);
	assert_int_equal(os->slot_pidfd[0], -1);
	end_process(pid);
	close(fd[0]);
	close(fd[1]);
}

/* A process that has ended meanwhile owns nothing that is watched; and a slot that has a
 * new owner does not keep the descriptor of the one before. */
static void an_owner_may_have_ended(void **state)
{
	int fd[2], lives = living(fd), first;

	(void)state;
	own(1, getpid(), lives);
	first = os->slot_pidfd[1];
	own(1, getpid(), lives);
	assert_int_equal(os->slot_pidfd[1], first); /* closed, so free again */
	close(fd[1]);				    /* "it has ended" */
	own(1, getpid(), lives);
	assert_int_equal(os->slot_pidfd[1], -1);
	assert_int_equal(fcntl(first, F_GETFD), -1);
	assert_int_equal(state_of(1), UNICD_SLOT_OWNED);
	close(fd[0]);
}

static void a_journal_is_of_the_user(void **state)
{
	uint8_t *journal = unicd_slots_journal(os);
	struct stat st;
	int was = os->bus_dir;

	(void)state;
	assert_non_null(journal);
	assert_int_equal(fstatat(os->bus_dir, "unicd.journal", &st, 0), 0);
	assert_int_equal(st.st_size, SLOTS * 4096);
	assert_int_equal(st.st_mode & 0777, 0600);
	journal[SLOTS * 4096 - 1] = 7;
	os->bus_dir = -1;
	assert_null(unicd_slots_journal(os));
	os->bus_dir = was;
	/* a link is not followed */
	assert_int_equal(unlinkat(os->bus_dir, "unicd.journal", 0), 0);
	assert_int_equal(symlinkat("elsewhere", os->bus_dir, "unicd.journal"),
			 0);
	assert_null(unicd_slots_journal(os));
	assert_int_equal(faccessat(os->bus_dir, "elsewhere", F_OK, 0), -1);
}

#define WITH_DIR(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(memory_is_exchanged_before_it_is_free),
		WITH_DIR(files_that_nobody_asked_for_are_closed),
		WITH_DIR(kept_memory_stays_with_its_user),
		WITH_DIR(a_busy_bus_is_asked_later),
		WITH_DIR(owners_are_remembered),
		WITH_DIR(what_is_not_held_was_left),
		WITH_DIR(a_number_is_no_process),
		WITH_DIR(an_owner_may_have_ended),
		WITH_DIR(a_journal_is_of_the_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
