/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_unicd_clients.c - the socket of the processes: where it is, who may connect, and how
 * many. Host only.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

#include "clients.h"
#include "unicd_rig.h"

#define USER 4711u /* neither root nor the user of the driver */

/* ------------------------------------------------------------------- listen */

static mode_t mode_of_socket(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	return st.st_mode & 0777;
}

static void everybody_may_connect(void **state)
{
	(void)state;
	assert_int_equal(unicd_clients_listen(&d), 0);
	assert_int_equal(mode_of_socket(), 0666);
}

/* A process with one slot could map the memory of all. */
static void joint_memory_is_of_the_driver(void **state)
{
	(void)state;
	d.nics = 2;
	d.nic[1].slots_at = 4096;
	assert_int_equal(unicd_clients_listen(&d), 0);
	assert_int_equal(mode_of_socket(), 0600);
}

static void a_name_is_taken_from_nobody(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int other = socket(AF_UNIX, SOCK_SEQPACKET, 0), file;

	(void)state;
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	assert_int_equal(bind(other, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(other, 5), 0);
	assert_int_equal(unicd_clients_listen(&d), -EADDRINUSE);
	close(d.socket_dir);
	/* of one that has ended */
	close(other);
	assert_int_equal(unicd_clients_listen(&d), 0);
	unicd_clients_fini(&d);
	close(d.listen_fd);
	close(d.socket_dir);
	close(d.spare_fd);
	d.listen_fd = d.spare_fd = -1;
	file = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(unicd_clients_listen(&d), -EEXIST);
	close(file);
	assert_int_equal(unlink(path), 0);
}

static void a_path_is_a_path(void **state)
{
	char longest[200];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	d.socket = longest;
	assert_int_equal(unicd_clients_listen(&d), -ENAMETOOLONG);
	d.socket = "/no/such/folder/s";
	assert_int_equal(unicd_clients_listen(&d), -ENOENT);
	d.socket = path;
}

/* --------------------------------------------------------------- who is it? */

static void a_client_is_who_it_is(void **state)
{
	int own = become(0), root, user, nobody;

	(void)state;
	assert_int_equal(d.client[0].core.pid, getpid());
	assert_int_equal(d.client[0].core.uid, geteuid());
	assert_true(d.client[0].core.privileged);
	assert_int_equal(d.client[0].core.slot, UNIC_OS_NO_SLOT);
	assert_true(d.client[0].pidfd >= 0);
	caller.uid = 0;
	root = become(1);
	assert_true(d.client[1].core.privileged);
	caller.uid = USER;
	user = become(2);
	assert_int_equal(d.client[2].core.uid, USER);
	assert_false(d.client[2].core.privileged);
	assert_false(d.client[2].dead);
	caller.pid = 0; /* of another PID namespace */
	nobody = become(3);
	assert_true(d.client[3].dead);
	unicd_clients_reap(&d);
	assert_int_equal(d.client[3].fd, -1);
	assert_true(d.client[2].fd >= 0);
	close(own);
	close(root);
	close(user);
	close(nobody);
}

/* Connect as user @uid until one is turned away; @n: how many were not. */
static uint32_t connect_all(uint32_t uid, int *fd)
{
	uint32_t n = 0, i, dead = 0;

	caller.uid = uid;
	while (!dead) {
		fd[n] = call();
		unicd_clients_accept(&d);
		for (i = 0; i < UNICD_CLIENTS_MAX; i++)
			dead += d.client[i].fd >= 0 && d.client[i].dead;
		for (i = 0; i < UNICD_CLIENTS_MAX && d.client[i].fd >= 0; i++)
			;
		unicd_clients_reap(&d);
		if (!dead)
			n++;
		if (!dead && i == UNICD_CLIENTS_MAX)
			return n;
	}
	close(fd[n]);
	return n;
}

/* One user has so many connections; the last ones are for the privileged. */
static void connections_are_limited(void **state)
{
	static int fd[UNICD_CLIENTS_MAX + 1];
	uint32_t n, i;
	int more;

	(void)state;
	n = connect_all(USER, fd);
	assert_int_equal(n, UNICD_CLIENTS_USER);
	n += connect_all(USER + 1, fd + n);
	assert_int_equal(n, 2 * UNICD_CLIENTS_USER);
	n += connect_all(USER + 2, fd + n);
	n += connect_all(USER + 3, fd + n);
	assert_int_equal(n, UNICD_CLIENTS_MAX - UNICD_CLIENTS_ROOT);
	assert_int_equal(connect_all(USER + 4, fd + n), 0);
	n += connect_all(geteuid(), fd + n);
	assert_int_equal(n, UNICD_CLIENTS_MAX);
	more = call(); /* there is no place for it */
	unicd_clients_accept(&d);
	assert_int_equal(recv(more, &n, sizeof(n), 0), 0);
	close(more);
	assert_int_equal(said.gone, 0); /* none was with a NIC */
	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		close(fd[i]);
}

/* Those that have closed their end count no more: they are ended first. */
static void closed_ends_make_room(void **state)
{
	static int fd[UNICD_CLIENTS_USER + 1];
	uint32_t i;
	int next;

	(void)state;
	caller.uid = USER;
	for (i = 0; i < UNICD_CLIENTS_USER; i++)
		fd[i] = become(i);
	close(fd[5]);
	next = call();
	unicd_clients_accept(&d);
	assert_int_equal(d.client[UNICD_CLIENTS_USER].fd, -1);
	unicd_clients_event(&d, 5, EPOLLHUP);
	unicd_clients_reap(&d);
	unicd_clients_accept(&d);
	assert_true(d.client[5].fd >= 0 && !d.client[5].dead);
	for (i = 0; i < UNICD_CLIENTS_USER; i++)
		if (i != 5)
			close(fd[i]);
	close(next);
}

/* Without descriptors the spare one takes the connection, and is there again. */
static void descriptors_may_be_short(void **state)
{
	struct rlimit was, low;
	int fd = call();
	char byte;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	low = was;
	low.rlim_cur = (rlim_t)fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	unicd_clients_accept(&d);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	assert_true(d.spare_fd >= 0);
	assert_int_equal(fcntl(d.spare_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(d.client[0].fd, -1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DIR(everybody_may_connect),
		WITH_DIR(joint_memory_is_of_the_driver),
		WITH_DIR(a_name_is_taken_from_nobody),
		WITH_DIR(a_path_is_a_path),
		WITH_SOCKET(a_client_is_who_it_is),
		WITH_SOCKET(connections_are_limited),
		WITH_SOCKET(closed_ends_make_room),
		WITH_SOCKET(descriptors_may_be_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
