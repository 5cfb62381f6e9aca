/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* board.c - where the memory of the slots and the doorbells come from. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "board.h"
#include "patience.h"
#include "run_dir.h"
#include "slots.h"
#include "unic_bus.h"
#include "unicd_os.h"

#define FDS_MAX (2 * (1 + UNIC_BUS_SLOTS_MAX))

struct bus_msg {
	union {
		struct unic_bus_hdr hdr;
		struct unic_bus_hello hello;
		struct unic_bus_refused refused;
		struct unic_bus_nic nic;
		struct unic_bus_slot slot;
	} u;
	int fd[FDS_MAX];
	uint32_t fds;
};

static void close_all(const int *fd, uint32_t n)
{
	while (n--)
		close(fd[n]);
}

/* Check the @n bytes of @msg, received with @flags. 0, or an error of
 * receive_bus_msg(). */
static int check_bus_msg(const struct bus_msg *msg, ssize_t n, int flags)
{
	uint32_t version;

	if (!n)
		return -EPIPE;
	version = unic_from_le16(msg->u.hdr.version);
	if (n >= (ssize_t)sizeof(msg->u.hdr) && version != UNIC_BUS_VERSION) {
		unicd_say("unic-bus speaks version %u, this unicd %u: take "
			  "both of one release",
			  version, UNIC_BUS_VERSION);
		return -EPROTONOSUPPORT;
	}
	if (n != sizeof(msg->u))
		return -EPROTO;
	if (flags & MSG_CTRUNC)
		return -EMFILE;
	return unic_from_le32(msg->u.hdr.fds) == msg->fds ? 0 : -EPROTO;
}

/* Receives one message of the bus with its descriptors. 0; -EPIPE: the bus is gone;
 * -EPROTONOSUPPORT: the message is of another version, and both versions are logged;
 * -EPROTO: it is malformed; -EMFILE: its descriptors found no room, and are closed;
 * -errno. */
static int receive_bus_msg(int from, struct bus_msg *msg, int flags)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} ctl = { 0 };
	struct iovec iov = { .iov_base = &msg->u, .iov_len = sizeof(msg->u) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.buf,
			    .msg_controllen = sizeof(ctl.buf) };
	struct cmsghdr *c;
	ssize_t n = recvmsg(from, &m, flags | MSG_CMSG_CLOEXEC);
	int err;

	msg->fds = 0;
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		msg->fds =
			(uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(msg->fd, CMSG_DATA(c), msg->fds * sizeof(int));
	}
	err = check_bus_msg(msg, n, m.msg_flags);
	if (err)
		close_all(msg->fd, msg->fds);
	return err;
}

static void *map_shared(int fd, uint64_t bytes, uint64_t at)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       (off_t)at);

	return p == MAP_FAILED ? NULL : p;
}

/* Where slot @i begins in its file. */
static uint64_t slot_offset(const struct unic_os *os, uint32_t i)
{
	return os->slots_at ? os->slots_at + i * os->slot_bytes : 0;
}

static int map_slots(struct unic_os *os)
{
	uint32_t i;

	for (i = 0; i < os->slots; i++) {
		os->slot_mem[i] = map_shared(os->slot_fd[i], os->slot_bytes,
					     slot_offset(os, i));
		if (!os->slot_mem[i]) {
			unicd_say("cannot map process slot %u: %s", i,
				  strerror(errno));
			return -ENOMEM;
		}
	}
	return 0;
}

static int take_hello(struct unic_os *os, const struct bus_msg *msg)
{
	const struct unic_bus_hello *h = &msg->u.hello;
	uint32_t n = unic_from_le32(h->slots), i;
	struct stat st;

	if (n < 1 || n > UNIC_HOST_SLOTS_MAX || msg->fds != 2 * (1 + n) ||
	    unic_from_le32(h->bar_bytes) < UNIC_BAR_BYTES ||
	    unic_from_le64(h->slot_bytes) < 16 * 4096) {
		unicd_say("unic-bus offers memory that makes no sense: use one "
			  "of the same build");
		close_all(msg->fd, msg->fds);
		return -EPROTO;
	}
	os->slots = n;
	os->slot_bytes = unic_from_le64(h->slot_bytes);
	if (unic_from_le32(h->joint))
		os->slots_at = unic_from_le32(h->bar_bytes);
	if (!fstat(msg->fd[0], &st))
		os->board = st.st_ino;
	os->bar = map_shared(msg->fd[0], UNIC_BAR_BYTES, 0);
	close(msg->fd[0]);
	if (!os->bar) {
		unicd_say("cannot map the mailbox: %s", strerror(errno));
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		os->slot_fd[i] = msg->fd[1 + i];
	for (i = 0; i <= n; i++)
		os->host_ev[i] = msg->fd[1 + n + i];
	return map_slots(os);
}

static int report_no_bus(const struct unic_os *os, int err)
{
	if (err == -EPERM && os->bus_dir < 0)
		unicd_say("%s: %s", os->opt.bus, run_dir_why(-EPERM));
	else if (err == -EACCES || err == -EPERM)
		unicd_say("no right to use the unic-bus at %s", os->opt.bus);
	else
		unicd_say("no unic-bus at %s (%s): start `unic-bus --dir %s' "
			  "first",
			  os->opt.bus, strerror(-err), os->opt.bus);
	return err;
}

static bool signal_came(const struct unicd *d)
{
	struct pollfd pfd = { .fd = d->signal_fd, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}

/* One attempt; the directory may be another one each time. */
static int try_bus(struct unic_os *os, int fd)
{
	if (os->bus_dir >= 0)
		close(os->bus_dir);
	os->bus_dir = run_dir_open(os->opt.bus);
	return os->bus_dir < 0 ? os->bus_dir
			       : run_dir_connect(fd, os->bus_dir, "attach");
}

/* Waits for a bus that is starting, unless a signal comes. */
static int connect_bus(struct unic_os *os)
{
	struct timeval patience = { .tv_sec = 5 };
	uint64_t end = unic_patience_end(os->d->wait_ms);
	int err, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return report_no_bus(os, -errno);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	do {
		err = try_bus(os, fd);
	} while (err && unic_patience_again(err, end, os->d->signal_fd));
	if (!err) {
		os->bus_fd = fd;
		return 0;
	}
	close(fd);
	return signal_came(os->d) ? -EINTR : report_no_bus(os, err);
}

int unicd_board_attach(struct unic_os *os)
{
	struct timeval patience = { .tv_sec = 5 };
	struct bus_msg msg;
	uint32_t i;
	int err = connect_bus(os);

	if (err)
		return err;
	setsockopt(os->bus_fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		   sizeof(patience));
	do { /* SIGSTOP and SIGCONT interrupt it, too */
		err = receive_bus_msg(os->bus_fd, &msg, 0);
	} while (err == -EINTR);
	if (err && err != -EPROTONOSUPPORT)
		unicd_say("unic-bus does not answer: %s", strerror(-err));
	if (err)
		return err;
	if (unic_from_le16(msg.u.hdr.type) == UNIC_BUS_REFUSED) {
		unicd_say("another driver (process %u) serves %s: end it first",
			  unic_from_le32(msg.u.refused.holder_pid),
			  os->opt.bus);
		return -EBUSY;
	}
	if (unic_from_le16(msg.u.hdr.type) != UNIC_BUS_HELLO)
		return -EPROTO;
	err = take_hello(os, &msg);
	if (!err)
		err = unicd_watch(os, os->host_ev[0], UNICD_EV_NIC, 0, EPOLLIN);
	for (i = 0; i < os->slots && !err; i++)
		err = unicd_watch(os, os->host_ev[1 + i], UNICD_EV_SLOT, i,
				  EPOLLIN);
	if (!err)
		err = unicd_watch(os, os->bus_fd, UNICD_EV_BUS, 0, EPOLLIN);
	return err;
}

static void drop_doorbells(struct unic_os *os)
{
	uint32_t i;

	for (i = 0; i <= os->slots; i++) {
		if (os->nic_ev[i] >= 0)
			close(os->nic_ev[i]);
		os->nic_ev[i] = -1;
	}
}

/* Peer 1 is the NIC, unless that is on a UART; doorbells of other peers are closed. */
static void nic_joined(struct unic_os *os, const struct bus_msg *msg)
{
	uint32_t peer = unic_from_le32(msg->u.nic.peer);

	if (os->opt.link || peer != UNIC_BUS_PEER_NIC ||
	    msg->fds != 1 + os->slots) {
		close_all(msg->fd, msg->fds);
		return;
	}
	drop_doorbells(os);
	memcpy(os->nic_ev, msg->fd, msg->fds * sizeof(int));
	unicd_tell(os, "NIC joined");
	unic_host_plug(os->host, true);
}

/* The bus has exchanged the memory of a slot (one descriptor) or cannot (none). */
static void slot_renewed(struct unic_os *os, const struct bus_msg *msg)
{
	uint32_t slot = unic_from_le32(msg->u.slot.slot);

	if (slot < os->slots && msg->fds <= 1)
		unicd_slots_renewed(os, slot, msg->fds ? msg->fd[0] : -1);
	else
		close_all(msg->fd, msg->fds);
}

/* The bus has exchanged the memory of a slot, and its descriptor found no room here. */
static bool lost_slot(struct unic_os *os, const struct bus_msg *msg)
{
	uint32_t slot = unic_from_le32(msg->u.slot.slot);

	if (unic_from_le16(msg->u.hdr.type) != UNIC_BUS_RENEWED)
		return false;
	if (slot < os->slots)
		unicd_slots_lost(os, slot);
	return true;
}

/* True if the connection is of no use after error @err of receive_bus_msg(). */
static bool is_end(int err)
{
	return err == -EPIPE || err == -EMFILE || err == -EPROTO ||
	       err == -EPROTONOSUPPORT;
}

int unicd_board_event(struct unic_os *os)
{
	struct bus_msg msg;
	int err = receive_bus_msg(os->bus_fd, &msg, MSG_DONTWAIT);

	if (err == -EMFILE && lost_slot(os, &msg))
		return 0;
	/* The NIC's doorbells are lost: the bus does not send them twice. */
	if (err == -EMFILE)
		unicd_say("a NIC that joined cannot be had: %s (ulimit -n)",
			  strerror(EMFILE));
	if (err == -EPIPE)
		unicd_tell(os, "unic-bus is gone");
	if (err == -EPROTO)
		unicd_tell(os, "unic-bus sent a malformed message");
	if (err)
		return is_end(err) ? err : 0;
	switch (unic_from_le16(msg.u.hdr.type)) {
	case UNIC_BUS_NIC_JOINED:
		nic_joined(os, &msg);
		return 0;
	case UNIC_BUS_NIC_LEFT:
		if (!os->opt.link &&
		    unic_from_le32(msg.u.nic.peer) == UNIC_BUS_PEER_NIC) {
			unicd_tell(os, "NIC left");
			drop_doorbells(os);
			unic_host_plug(os->host, false);
		}
		unicd_slots_nic_left(os);
		close_all(msg.fd, msg.fds);
		return 0;
	case UNIC_BUS_RENEWED:
		slot_renewed(os, &msg);
		return 0;
	case UNIC_BUS_REFUSED:
		unicd_tell(os, "unic-bus ends the connection, reason %u",
			   unic_from_le32(msg.u.refused.reason));
		return -EPIPE;
	default:
		close_all(msg.fd, msg.fds);
		return 0;
	}
}

/* A hole reads as zeros in every mapping of the file, and its pages are free. */
void unic_os_slot_zero(struct unic_os *os, uint32_t slot)
{
	if (fallocate(os->slot_fd[slot],
		      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)slot_offset(os, slot), (off_t)os->slot_bytes))
		memset(os->slot_mem[slot], 0, os->slot_bytes);
}

/* ------------------------------------------------------------ other memory */

/* The new file is mapped at the address of the old one: pointers into it stay valid. */
int unicd_board_exchange(struct unic_os *os, uint32_t slot, int fd)
{
	void *p = map_shared(fd, os->slot_bytes, 0);

	if (!p || mremap(p, os->slot_bytes, os->slot_bytes,
			 MREMAP_MAYMOVE | MREMAP_FIXED,
			 os->slot_mem[slot]) == MAP_FAILED) {
		unicd_say("cannot map process slot %u: %s", slot,
			  strerror(errno));
		if (p)
			munmap(p, os->slot_bytes);
		return -ENOMEM;
	}
	close(os->slot_fd[slot]);
	os->slot_fd[slot] = fd;
	return 0;
}

static int make_slot_file(const struct unic_os *os)
{
	int fd = memfd_create("unic-slot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)os->slot_bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int unicd_board_renew(struct unic_os *os, uint32_t slot)
{
	struct unic_bus_slot msg = {
		.hdr = { .type = unic_to_le16(UNIC_BUS_RENEW),
			 .version = unic_to_le16(UNIC_BUS_VERSION) },
		.slot = unic_to_le32(slot),
	};
	int fd;

	if (os->bus_fd >= 0)
		return send(os->bus_fd, &msg, sizeof(msg),
			    MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(msg)
			       ? 0
			       : -errno;
	fd = make_slot_file(os);
	if (fd < 0)
		return fd;
	unicd_slots_renewed(os, slot, fd);
	return 0;
}

/* ------------------------------------------------------------------- detach */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void unicd_board_detach(struct unic_os *os)
{
	uint32_t i;

	for (i = 0; i < os->slots; i++) {
		unicd_wakes_end(os, i);
		close_fd(&os->slot_pidfd[i]);
		close_fd(&os->slot_fd[i]);
		if (os->slot_mem[i])
			munmap(os->slot_mem[i], os->slot_bytes);
		os->slot_mem[i] = NULL;
	}
	for (i = 0; i <= os->slots; i++) {
		close_fd(&os->host_ev[i]);
		close_fd(&os->nic_ev[i]);
	}
	if (os->bar)
		munmap(os->bar, UNIC_BAR_BYTES);
	os->bar = NULL;
	close_fd(&os->slots_file);
	close_fd(&os->bus_fd);
	close_fd(&os->bus_dir);
}

/* -------------------------------------------------------------- loop-back */

int unicd_board_own(struct unic_os *os)
{
	uint32_t i;

	os->slots = os->opt.slots;
	os->slot_bytes = os->opt.slot_bytes;
	for (i = 0; i < os->slots; i++) {
		os->slot_fd[i] = make_slot_file(os);
		if (os->slot_fd[i] >= 0)
			continue;
		unicd_say("cannot make process slots: %s",
			  strerror(-os->slot_fd[i]));
		return os->slot_fd[i];
	}
	return map_slots(os);
}
