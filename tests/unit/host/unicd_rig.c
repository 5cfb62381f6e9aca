/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

#include "clients.h"
#include "kio.h"
#include "nic.h"
#include "nics.h"
#include "slots.h"
#include "unicd_os.h"
#include "unicd_rig.h"

/* ------------------------------------------- the core, and the other files */

struct said said;

bool unic_host_request(struct unic_host *host, struct unic_client *client,
		       const void *msg, size_t bytes)
{
	(void)host;
	(void)client;
	(void)msg;
	said.requests++;
	said.bytes = bytes;
	return !said.ends;
}

void unic_host_client_gone(struct unic_host *host, struct unic_client *client)
{
	(void)host;
	(void)client;
	said.gone++;
}

void unicd_kio_request(struct unic_os *os, struct unicd_client *c,
		       const void *msg, size_t bytes)
{
	(void)os;
	(void)c;
	(void)msg;
	(void)bytes;
	said.kio++;
}

void unicd_kio_reply(struct unic_os *os, const void *msg, uint32_t bytes)
{
	(void)os;
	(void)msg;
	said.kio++;
	said.bytes = bytes;
}

void unicd_kio_gone(struct unic_os *os, const struct unicd_client *c)
{
	(void)os;
	(void)c;
	said.kio_gone++;
}

uint32_t unicd_nic_rows(struct unicd *of, struct unic_ctl_nic_row *row)
{
	uint32_t i;

	(void)of;
	for (i = 0; i < said.rows; i++)
		row[i].number = unic_to_le32(i);
	return said.rows;
}

int unic_nics_choose(const struct unic_ctl_nic_row *row, uint32_t n,
		     const void *msg, size_t bytes)
{
	(void)row;
	(void)n;
	(void)msg;
	(void)bytes;
	return said.nic;
}

void unicd_slots_own(struct unic_os *os, uint32_t slot,
		     const struct unicd_client *client)
{
	(void)client;
	said.owned++;
	os->slot_state[slot] = UNICD_SLOT_OWNED;
	os->slot_pidfd[slot] = 0;
}

struct ucred caller;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	int err = __real_getsockopt(fd, level, name, value, len);

	if (!err && level == SOL_SOCKET && name == SO_PEERCRED)
		memcpy(value, &caller, sizeof(caller));
	return err;
}

/* --------------------------------------------------------------- the driver */

struct unicd d;
char dir[] = "/tmp/test_unicd_clients.XXXXXX", path[64];

int begin(void **state)
{
	uint32_t i;

	(void)state;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/sock", dir);
	memset(&d, 0, sizeof(d));
	memset(&said, 0, sizeof(said));
	said.rows = 1;
	caller = (struct ucred){ .pid = getpid(), .uid = geteuid() };
	d.nics = 1;
	d.socket = path;
	d.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	d.listen_fd = d.socket_dir = d.spare_fd = -1;
	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		d.client[i].fd = -1;
	d.nic[0].d = &d;
	for (i = 0; i < UNIC_HOST_SLOTS_MAX; i++) {
		d.nic[0].slot_fd[i] = -1;
		d.nic[0].slot_pidfd[i] = -1;
		d.nic[0].cq_wake[i].ours = d.nic[0].upcall_wake[i].ours = -1;
		d.nic[0].doorbell[i].ours = -1;
	}
	return 0;
}

int end(void **state)
{
	uint32_t i;

	(void)state;
	unicd_clients_fini(&d);
	assert_int_equal(access(path, F_OK), -1);
	for (i = 0; i < 2; i++)
		unicd_wakes_end(&d.nic[0], i);
	if (d.listen_fd >= 0)
		close(d.listen_fd);
	if (d.spare_fd >= 0)
		close(d.spare_fd);
	if (d.socket_dir >= 0)
		close(d.socket_dir);
	close(d.epoll_fd);
	return rmdir(dir);
}

int begin_listening(void **state)
{
	return begin(state) || unicd_clients_listen(&d);
}

int call(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

int become(uint32_t i)
{
	int fd = call();

	unicd_clients_accept(&d);
	assert_true(d.client[i].fd >= 0);
	return fd;
}
