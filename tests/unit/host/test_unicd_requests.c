/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_unicd_requests.c - what is read of a process that is connected, and what waits for
 * it. Host only.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "clients.h"
#include "unicd_os.h"
#include "unicd_rig.h"

static struct unic_os *const os = &d.nic[0];

static void ask(int fd, uint16_t op, size_t bytes)
{
	uint8_t msg[UNIC_CTL_BYTES] = { 0 };
	unic_le16 le = unic_to_le16(op);

	memcpy(msg + offsetof(struct unic_ctl_hdr, op), &le, sizeof(le));
	assert_int_equal(send(fd, msg, bytes, 0), bytes);
}

/* ----------------------------------------------------------------- requests */

static void one_request_at_a_time(void **state)
{
	int fd = become(0);

	(void)state;
	ask(fd, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	ask(fd, UNIC_CTL_KIO, UNIC_CTL_BYTES);
	ask(fd, UNIC_CTL_INFO, sizeof(struct unic_ctl_hdr));
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_int_equal(said.requests, 1);
	assert_int_equal(said.bytes, UNIC_CTL_BYTES);
	assert_int_equal(said.kio, 0);
	assert_ptr_equal(d.client[0].os, os);
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_int_equal(said.kio, 1);
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_int_equal(said.requests, 2);
	assert_int_equal(said.bytes, sizeof(struct unic_ctl_hdr));
	unicd_clients_event(&d, 0, EPOLLIN); /* there is none */
	assert_int_equal(said.requests, 2);
	assert_false(d.client[0].dead);
	/* shorter than a header: the connection ends, and nothing is asked */
	ask(fd, UNIC_CTL_INFO, sizeof(struct unic_ctl_hdr) - 1);
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_int_equal(said.requests, 2);
	assert_true(d.client[0].dead);
	ask(fd, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	unicd_clients_event(&d, 0, EPOLLIN); /* nothing more of it is read */
	assert_int_equal(said.requests, 2);
	unicd_clients_reap(&d);
	assert_int_equal(said.gone, 1);
	assert_int_equal(said.kio_gone, 1);
	assert_int_equal(d.client[0].fd, -1);
	unicd_clients_reap(&d);
	assert_int_equal(said.gone, 1);
	close(fd);
}

static void a_connection_ends(void **state)
{
	int closed = become(0), wrong = become(1), hung = become(2),
	    ended = become(3), stays = become(4);

	(void)state;
	close(closed);
	unicd_clients_event(&d, 0, EPOLLIN | EPOLLHUP);
	assert_true(d.client[0].dead);
	said.ends = true;
	ask(wrong, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	unicd_clients_event(&d, 1, EPOLLIN);
	assert_true(d.client[1].dead);
	unicd_clients_event(&d, 2, EPOLLHUP);
	assert_true(d.client[2].dead);
	unicd_clients_ended(&d, 3);
	assert_true(d.client[3].dead);
	unicd_clients_ended(&d, 9);
	unicd_clients_reap(&d);
	assert_int_equal(d.client[3].fd, -1);
	assert_true(d.client[4].fd >= 0 && !d.client[4].dead);
	close(wrong);
	close(hung);
	close(ended);
	close(stays);
}

/* The first request decides with which NIC a client is, if it can. */
static void a_client_is_with_one_nic(void **state)
{
	int fd = become(0), lost;

	(void)state;
	said.rows = 2;
	said.nic = -1;
	ask(fd, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_int_equal(said.requests, 1); /* the first one answers */
	assert_null(d.client[0].os);
	said.nic = 1;
	ask(fd, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_ptr_equal(d.client[0].os, &d.nic[1]);
	said.nic = 0; /* it stays there */
	ask(fd, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_ptr_equal(d.client[0].os, &d.nic[1]);
	lost = become(1);
	said.rows = 0;
	said.nic = -1;
	ask(lost, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	unicd_clients_event(&d, 1, EPOLLIN);
	assert_true(d.client[1].dead); /* there is none */
	unicd_clients_lose(&d, &d.nic[0]);
	assert_true(d.client[0].fd >= 0);
	unicd_clients_lose(&d, &d.nic[1]);
	assert_int_equal(d.client[0].fd, -1);
	close(fd);
	close(lost);
}

/* ------------------------------------------------------------------ replies */

/* Reply @n, 4096 bytes, to client 0. */
static void reply(uint32_t n)
{
	static uint32_t msg[1024];

	msg[0] = n;
	unic_os_reply(os, &d.client[0].core, msg, sizeof(msg), UNIC_OS_NO_SLOT);
}

static uint32_t next_reply(int fd)
{
	static uint32_t msg[1024];

	return recv(fd, msg, sizeof(msg), 0) == sizeof(msg) ? msg[0]
							    : UINT32_MAX;
}

/* What a process does not take waits, in order, and it is asked nothing meanwhile. */
static void replies_wait_for_room(void **state)
{
	int fd = become(0);
	uint32_t n, i;

	(void)state;
	ask(fd, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	unicd_clients_event(&d, 0, EPOLLIN);
	for (n = 0; n < 10000 && !d.client[0].head; n++)
		reply(n);
	assert_non_null(d.client[0].head);
	reply(n++);
	reply(n++);
	assert_true(d.client[0].waits);
	ask(fd, UNIC_CTL_INFO, UNIC_CTL_BYTES);
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_int_equal(said.requests, 1);
	unicd_clients_event(&d, 0, EPOLLOUT); /* no room yet */
	assert_non_null(d.client[0].head);
	assert_false(d.client[0].dead);
	for (i = 0; i + 3 < n; i++)
		assert_int_equal(next_reply(fd), i);
	reply(n++); /* there is room, but not for this one first */
	unicd_clients_event(&d, 0, EPOLLOUT);
	assert_null(d.client[0].head);
	assert_false(d.client[0].waits);
	for (; i < n; i++)
		assert_int_equal(next_reply(fd), i);
	assert_int_equal(next_reply(fd), UINT32_MAX);
	unicd_clients_event(&d, 0, EPOLLIN);
	assert_int_equal(said.requests, 2);
	/* what waits when it ends is freed (LeakSanitizer) */
	for (n = 0; n < 10000 && !d.client[0].head; n++)
		reply(n);
	close(fd);
	unicd_clients_event(&d, 0, EPOLLOUT);
	assert_true(d.client[0].dead);
	unicd_clients_reap(&d);
}

static void a_reply_to_nobody_ends_the_client(void **state)
{
	struct unic_client kernel = { .kernel = true };
	int fd = become(0);
	uint32_t msg = 5;

	(void)state;
	close(fd);
	reply(1);
	assert_true(d.client[0].dead);
	reply(2);
	assert_null(d.client[0].head);
	/* one that is to end has no answer, either */
	fd = become(1);
	unicd_clients_ended(&d, 1);
	unic_os_reply(os, &d.client[1].core, &msg, sizeof(msg),
		      UNIC_OS_NO_SLOT);
	assert_int_equal(recv(fd, &msg, sizeof(msg), 0), -1);
	close(fd);
	/* the page service has no socket */
	unic_os_reply(os, &kernel, &msg, sizeof(msg), UNIC_OS_NO_SLOT);
	assert_int_equal(said.kio, 1);
	assert_int_equal(said.bytes, sizeof(msg));
}

/* The descriptors that came with the next reply of @fd; true: so many as @n. */
static bool fds_come(int fd, int *got, int n)
{
	_Alignas(8) char ctrl[CMSG_SPACE(4 * sizeof(int))] = { 0 };
	uint32_t msg;
	struct iovec iov = { &msg, sizeof(msg) };
	struct msghdr mh = { .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = ctrl,
			     .msg_controllen = sizeof(ctrl) };
	struct cmsghdr *c;

	assert_int_equal(recvmsg(fd, &mh, 0), sizeof(msg));
	c = CMSG_FIRSTHDR(&mh);
	if (!c)
		return !n;
	memcpy(got, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return c->cmsg_len == CMSG_LEN((size_t)n * sizeof(int));
}

static bool is_same(int a, int b)
{
	struct stat one, two;

	return !fstat(a, &one) && !fstat(b, &two) && one.st_ino == two.st_ino &&
	       one.st_dev == two.st_dev;
}

/* HELLO comes with the memory, the doorbell, and what wakes the process: fresh ones for a
 * new owner, which is written down first; the same for HELLO again. */
static void hello_brings_descriptors(void **state)
{
	int fd = become(0), got[4], i, first;
	uint32_t msg = 5;

	(void)state;
	os->slot_fd[1] = open(dir, O_RDONLY);
	unic_os_reply(os, &d.client[0].core, &msg, sizeof(msg), 1);
	assert_int_equal(said.owned, 1);
	assert_true(fds_come(fd, got, 4));
	assert_true(is_same(got[0], os->slot_fd[1]));
	assert_true(is_same(got[1], os->doorbell[1].theirs));
	assert_true(is_same(got[2], os->cq_wake[1].theirs));
	assert_true(is_same(got[3], os->upcall_wake[1].theirs));
	unicd_wake(&os->cq_wake[1]);
	assert_int_equal(recv(got[2], &msg, sizeof(msg), MSG_DONTWAIT),
			 sizeof(msg));
	first = os->upcall_wake[1].theirs;
	for (i = 0; i < 4; i++)
		close(got[i]);
	unic_os_reply(os, &d.client[0].core, &msg, sizeof(msg), 1);
	assert_int_equal(said.owned, 1);
	assert_int_equal(os->upcall_wake[1].theirs, first);
	assert_true(fds_come(fd, got, 4));
	for (i = 0; i < 4; i++)
		close(got[i]);
	/* without HELLO there are none */
	unic_os_reply(os, &d.client[0].core, &msg, sizeof(msg),
		      UNIC_OS_NO_SLOT);
	assert_true(fds_come(fd, got, 0));
	/* one that comes back to a slot of before is woken: there may be upcalls */
	unicd_wakes_end(os, 1);
	unic_os_reply(os, &d.client[0].core, &msg, sizeof(msg), 1);
	assert_int_equal(said.owned, 2);
	assert_true(fds_come(fd, got, 4));
	assert_int_equal(recv(got[3], &msg, sizeof(msg), MSG_DONTWAIT),
			 sizeof(msg));
	for (i = 0; i < 4; i++)
		close(got[i]);
	close(os->slot_fd[1]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SOCKET(one_request_at_a_time),
		WITH_SOCKET(a_connection_ends),
		WITH_SOCKET(a_client_is_with_one_nic),
		WITH_SOCKET(replies_wait_for_room),
		WITH_SOCKET(a_reply_to_nobody_ends_the_client),
		WITH_SOCKET(hello_brings_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
