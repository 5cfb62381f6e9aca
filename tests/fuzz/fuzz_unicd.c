/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fuzz_unicd.c - hostile processes at the socket of unicd: datagrams of every
 * size, descriptors sent along, replies that are not read, connections that end
 * at any moment, and random bytes in the memory shared with unicd. In one
 * process: the socket layer (clients.c), the access layer and the loop-back
 * provider, which also reads the processes' queues.
 *
 * Not covered: which processes may still have a slot mapped (slots.c), since
 * there is one process only; tests/qemu/test_unicd.py tests that.
 *
 * Checked: replies are well-formed and at most one per request, descriptors
 * come with HELLO and nothing else, and neither descriptors nor memory are
 * leaked.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clients.h"
#include "state.h"
#include "host.h"
#include "kio.h"
#include "nic.h"
#include "provider/provider_loop.h"
#include "ctl.h"
#include "region/frames_slot.h"
#include "slots.h"
#include "unicd_os.h"
#include "unic_queue.h"

#define SLOTS	   2u
#define GUESTS	   3u /* the last one has no prologue */
#define PAGES	   48u
#define SLOT_BYTES (PAGES * 4096u)
#define STEPS	   64u

uint64_t __wrap_unic_os_now_ns(struct unic_os *o);
void __wrap_unic_os_random(struct unic_os *o, void *buf, size_t bytes);
void __wrap_unic_os_log(struct unic_os *o, enum unic_os_level level,
			const char *fmt, ...);
void __wrap_unicd_say(const char *fmt, ...);
void __real_unic_os_upcall(struct unic_os *o, uint32_t s);
void __wrap_unic_os_upcall(struct unic_os *o, uint32_t s);

struct guest {
	int fd; /* the process's end of the socket; -1: not connected */
	struct ctl ctl;
	uint32_t sq_tail[2], rq_tail[2];
};

static struct unicd d;
static struct unic_os *const os = &d.nic[0];
static struct guest guest[GUESTS];
static uint64_t now_ns;
static int slot_fd[SLOTS], epoll_fd = -1;
static uint8_t *slot_mem[SLOTS];

/* -------------------------------------------------------- the system, in part */

uint64_t __wrap_unic_os_now_ns(struct unic_os *o)
{
	(void)o;
	return now_ns;
}

void __wrap_unic_os_random(struct unic_os *o, void *buf, size_t bytes)
{
	(void)o;
	memset(buf, 0x5a, bytes);
}

void __wrap_unic_os_log(struct unic_os *o, enum unic_os_level level,
			const char *fmt, ...)
{
	(void)o;
	(void)level;
	(void)fmt;
}

void __wrap_unicd_say(const char *fmt, ...)
{
	(void)fmt;
}

/* To punch a hole in the file would be slow. */
void unic_os_slot_zero(struct unic_os *o, uint32_t s)
{
	(void)o;
	memset(slot_mem[s], 0, SLOT_BYTES);
}

/* The grammar learns the ids of connections from upcalls. */
void __wrap_unic_os_upcall(struct unic_os *o, uint32_t s)
{
	const struct unic_upcall_ring *ring = (void *)(slot_mem[s] + 2 * 4096);
	struct unic_upcall_hdr hdr;
	uint32_t i;

	__real_unic_os_upcall(o, s);
	memcpy(&hdr,
	       ring->record[(o->host->proc[s].upcall_next - 1) % UNIC_UPCALLS],
	       sizeof(hdr));
	for (i = 0; i < GUESTS && hdr.type == UNIC_UP_CONN_REQUEST; i++)
		if (o->d->client[i].core.slot == s)
			ctl_learn(&guest[i].ctl, CTL_CONN,
				  unic_from_le32(hdr.id));
}

int peer_pidfd(int sock)
{
	(void)sock;
	return eventfd(0, EFD_CLOEXEC);
}

void unicd_slots_own(struct unic_os *o, uint32_t s,
		     const struct unicd_client *client)
{
	o->slot_state[s] = UNICD_SLOT_OWNED;
	o->slot_pidfd[s] = 0; /* any process */
	must(client->core.slot == s);
}

void unic_os_slot_quiet(struct unic_os *o, uint32_t s)
{
	o->slot_state[s] = UNICD_SLOT_LEFT;
	unicd_wakes_end(o, s);
}

uint32_t unicd_nic_rows(struct unicd *o, struct unic_ctl_nic_row *row)
{
	*row = (struct unic_ctl_nic_row){ .number = unic_to_le32(0),
					  .name = "unic0" };
	return o->nics;
}

/* With some pids, a slot stays in use. */
bool unic_os_slot_unused(struct unic_os *o, uint32_t s, uint32_t pid)
{
	return pid % 3 && o->slot_state[s] == UNICD_SLOT_LEFT;
}

/* -------------------------------------------------------------- the processes */

static void connect_guest(uint32_t i)
{
	struct unicd_client *c = &d.client[i];
	int fd[2];

	if (guest[i].fd >= 0 || d.client[i].fd >= 0)
		return; /* its last connection is not reaped yet */
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
			 0, fd));
	memset(c, 0, sizeof(*c));
	c->fd = fd[0];
	c->pidfd = -1;
	c->core.pid = 100 + i;
	c->core.uid = i ? 1000 : 0;
	c->core.privileged = !i;
	c->core.slot = UNIC_OS_NO_SLOT;
	must(!unicd_watch_any(&d, fd[0], UNICD_EV_CLIENT, i, EPOLLIN));
	memset(&guest[i], 0, sizeof(guest[i]));
	guest[i].fd = fd[1];
}

/* Takes one reply; false: there is none. */
static bool take(struct guest *g)
{
	uint64_t msg[UNIC_CTL_MSG_MAX / 8];
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(16 * sizeof(int))];
	} ctl;
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(msg) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.buf,
			    .msg_controllen = sizeof(ctl.buf) };
	struct unic_ctl_hdr hdr;
	struct cmsghdr *c;
	int fd[4], i;
	ssize_t n;

	if (g->fd < 0)
		return false;
	n = recvmsg(g->fd, &m, MSG_DONTWAIT);
	if (n <= 0)
		return false;
	memcpy(&hdr, msg, sizeof(hdr));
	c = CMSG_FIRSTHDR(&m);
	must(!(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)));
	must(!c == (unic_from_le16(hdr.op) != UNIC_CTL_HELLO || hdr.status));
	if (c) {
		must(c->cmsg_len == CMSG_LEN(sizeof(fd)));
		memcpy(fd, CMSG_DATA(c), sizeof(fd));
		for (i = 0; i < 4; i++)
			must(!close(fd[i]));
	}
	ctl_answer(&g->ctl, msg, (uint32_t)n);
	return true;
}

static void send_with_fds(int to, const void *msg, size_t bytes, uint32_t fds)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(4 * sizeof(int))];
	} ctl = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)msg,
			     .iov_len = bytes };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd[4];
	uint32_t i;

	for (i = 0; i < fds; i++)
		fd[i] = slot_fd[0];
	if (fds) {
		m.msg_control = ctl.buf;
		m.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		ctl.hdr.cmsg_level = SOL_SOCKET;
		ctl.hdr.cmsg_type = SCM_RIGHTS;
		ctl.hdr.cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(&ctl.hdr), fd, fds * sizeof(int));
	}
	if (sendmsg(to, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
	    errno == EPERM) { /* no descriptors: unicd_refuse_fds() */
		m.msg_control = NULL;
		m.msg_controllen = 0;
		(void)!sendmsg(to, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

/* Sends a request, unless one with the same number is open: the replies to the
 * two could not be told apart. */
static void send_request(struct guest *g, const void *msg, size_t bytes,
			 uint32_t fds)
{
	uint32_t seq = g->ctl.seq & 255;

	if (g->fd < 0 || g->ctl.open[seq / 64] >> seq % 64 & 1)
		return;
	g->ctl.open[seq / 64] |= 1ull << seq % 64;
	g->ctl.sent++;
	send_with_fds(g->fd, msg, bytes, fds);
}

static void request(struct input *in, struct guest *g)
{
	static uint64_t msg[UNIC_CTL_KIO_MSG_MAX / 8 + 2];
	uint32_t how = in_u8(in), bytes;

	memset(msg, 0, UNIC_CTL_MSG_MAX); /* the rest is always 0 */
	bytes = ctl_request(in, &g->ctl, msg);
	if (how == 255)
		bytes = UNIC_CTL_KIO_MSG_MAX + 8; /* more than unicd takes */
	send_request(g, msg, bytes, how >= 251 ? how - 251 : 0);
}

static void leave(uint32_t i)
{
	if (guest[i].fd < 0)
		return;
	close(guest[i].fd);
	guest[i].fd = -1;
}

/* ------------------------------------------------------------- unicd, by hand */

static void turn(void)
{
	struct epoll_event ev[16];
	int n, i;
	uint32_t s;

	unic_host_poll(os->host);
	unicd_clients_reap(&d);
	unicd_kio_poll(os);
	for (s = 0; s < SLOTS; s++)
		if (os->slot_state[s] == UNICD_SLOT_LEFT) {
			os->slot_state[s] = UNICD_SLOT_FRESH;
			os->slot_pidfd[s] = -1;
			unic_host_slot_free(os->host, s);
		}
	n = epoll_wait(d.epoll_fd, ev, 16, 0);
	for (i = 0; i < n; i++)
		if (ev[i].data.u32 >> 24 == UNICD_EV_CLIENT)
			unicd_clients_event(&d, ev[i].data.u32 & 0xffff,
					    ev[i].events);
}

static void turns(uint32_t n)
{
	while (n--)
		turn();
}

/* -------------------------------------------------------- the shared memory */

/* Where page @page of the prologue's frames is in slot @s. */
static uint8_t *frame_at(uint32_t s, uint32_t page)
{
	const struct unic_frame_tables *f = os->host->proc[s].frames.t;
	uint32_t i;

	for (i = 0; f && i < f->runs; i++)
		if (f->run[i].page == (CTL_VA >> 12) + page)
			return slot_mem[s] + f->run[i].frame * 4096ull;
	return slot_mem[s]; /* freed: the doorbell page instead */
}

static void ring(uint32_t s, enum unic_db_kind kind, uint32_t row, uint32_t v)
{
	struct unic_db_page *db = (void *)slot_mem[s];
	uint32_t seq = unic_from_le32(db->fifo_seq);

	if (kind == UNIC_DB_SQ)
		db->tail[row].sq = unic_to_le32(v);
	else if (kind == UNIC_DB_RQ)
		db->tail[row].rq = unic_to_le32(v);
	else
		db->tail[row].arm = unic_to_le32(v);
	db->fifo[seq % UNIC_DB_FIFO] = unic_to_le32(UNIC_DB_WORD(kind, row, v));
	db->fifo_seq = unic_to_le32(seq + 1);
}

/* An STag of a region of the process in slot @s, rarely of any process; rarely with one
 * bit inverted. */
static uint32_t some_stag(struct input *in, uint32_t s)
{
	const struct ctl *c = &guest[in_odd(in) ? in_below(in, GUESTS) : s].ctl;
	uint32_t stag = c->number[CTL_MR][in_below(in, CTL_IDS)];

	return in_odd(in) ? stag ^ 1u << in_below(in, 32) : stag;
}

static void post(struct input *in, uint32_t s)
{
	struct guest *g = &guest[s];
	uint32_t q = in_below(in, 2), i, how = in_u8(in);
	uint32_t row = q + 1, at = g->sq_tail[q]++ % CTL_SLOTS;
	struct unic_sq_slot *sq = (void *)frame_at(s, 1);
	struct unic_rq_slot *rq = (void *)frame_at(s, 2);

	if (how & 1) {
		struct unic_rq_slot *r = &rq[g->rq_tail[q]++ % CTL_SLOTS];

		memset(r, 0, sizeof(*r));
		r->num_sge = (uint8_t)in_below(in, how >= 200 ? 5 : 3);
		for (i = 0; i < UNIC_RQ_SGE_MAX; i++) {
			r->sge[i].iova = unic_to_le64(CTL_VA + in_u16(in));
			r->sge[i].len = unic_to_le32(in_u16(in) % 9000u);
			r->sge[i].lkey = unic_to_le32(some_stag(in, s));
		}
		ring(s, UNIC_DB_RQ, row, g->rq_tail[q]);
		return;
	}
	memset(&sq[at], 0, sizeof(*sq));
	sq[at].opcode = (uint8_t)(1 + in_below_or(in, 6, 10));
	sq[at].flags = in_u8(in) & (how >= 240 ? 0xff : UNIC_WR_FLAGS_ALL);
	if (sq[at].flags & UNIC_WR_INLINE)
		sq[at].inline_len = in_u8(in) % 100;
	else
		sq[at].num_sge = (uint8_t)in_below(in, how >= 200 ? 8 : 3);
	sq[at].remote = unic_to_le64(CTL_VA + in_u16(in));
	sq[at].rkey = unic_to_le32(some_stag(in, s));
	for (i = 0; i < UNIC_SQ_SGE_BASE; i++) {
		sq[at].sge[i].iova = unic_to_le64(CTL_VA + in_u16(in));
		sq[at].sge[i].len = unic_to_le32(in_u16(in) % 9000u);
		sq[at].sge[i].lkey = unic_to_le32(some_stag(in, s));
	}
	ring(s, UNIC_DB_SQ, row, g->sq_tail[q]);
}

static void scribble(struct input *in, uint32_t s)
{
	struct unic_db_page *db = (void *)slot_mem[s];
	uint32_t off = in_u16(in) % (in_below(in, 2) ? 4096u : SLOT_BYTES - 64);

	in_bytes(in, slot_mem[s] + off, 1 + in_below(in, 32));
	db->fifo_seq =
		unic_to_le32(unic_from_le32(db->fifo_seq) + in_below(in, 4));
}

/* ---------------------------------------------------------- a regular start */

static void ask(struct guest *g, uint16_t op, void *rec)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .seq = unic_to_le32(++g->ctl.seq) };

	memcpy(rec, &hdr, sizeof(hdr));
	send_request(g, rec, UNIC_CTL_BYTES, 0);
	turns(4);
	while (take(g))
		;
}

/* Connects the two queue pairs of @g to each other. */
static void connect_pair(struct guest *g)
{
	uint32_t i, state;

	for (i = 0; i < 2; i++)
		for (state = UNIC_QPS_INIT; state <= UNIC_QPS_RTS; state++) {
			struct unic_ctl_qp_modify m = {
				.id = unic_to_le32(g->ctl.id[CTL_QP][i]),
				.state = (uint8_t)state,
			};

			if (state == UNIC_QPS_INIT)
				m.rights = 6;
			if (state == UNIC_QPS_RTR) {
				m.mtu_shift = 10;
				m.dest_qpn = unic_to_le32(
					g->ctl.number[CTL_QP][1 - i]);
				m.dest_ipv4 = unic_to_le32(0x0a000001);
				m.dest_mac[0] = 2;
			}
			if (state == UNIC_QPS_RTS)
				m.timeout = 10;
			ask(g, UNIC_CTL_QP_MODIFY, &m);
		}
}

static void prologue(struct guest *g, bool pair)
{
	uint64_t msg[UNIC_REC_WORDS];
	uint32_t n, bytes;

	for (n = 0; (bytes = ctl_script(&g->ctl, n, msg)); n++) {
		send_request(g, msg, bytes, 0);
		turns(4);
		while (take(g))
			;
	}
	if (pair)
		connect_pair(g);
}

/* The second process connects to the first, which learns it from an upcall. */
static void call_first(void)
{
	struct unic_ctl_connect c = {
		.service = unic_to_le64(1),
		.ipv4 = unic_to_le32(0x0a000001),
		.qp = unic_to_le32(guest[1].ctl.id[CTL_QP][0]),
	};

	ask(&guest[1], UNIC_CTL_CONNECT, &c);
}

static void accept_call(void)
{
	struct unic_ctl_connect c = {
		.conn = unic_to_le32(guest[0].ctl.id[CTL_CONN][0]),
		.qp = unic_to_le32(guest[0].ctl.id[CTL_QP][0]),
	};

	ask(&guest[0], UNIC_CTL_ACCEPT, &c);
	turns(8);
	take(&guest[1]);
}

/* ------------------------------------------------------------------ an input */

static void make_slots(void)
{
	uint32_t i;

	for (i = 0; i < SLOTS; i++) {
		slot_fd[i] = memfd_create("slot", MFD_CLOEXEC);
		must(slot_fd[i] >= 0 && !ftruncate(slot_fd[i], SLOT_BYTES));
		slot_mem[i] = mmap(NULL, SLOT_BYTES, PROT_READ | PROT_WRITE,
				   MAP_SHARED, slot_fd[i], 0);
		must(slot_mem[i] != MAP_FAILED);
	}
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	must(epoll_fd >= 0);
}

static void begin(void)
{
	struct unic_host_config config = { .slots = SLOTS,
					   .slot_bytes = SLOT_BYTES,
					   .ipv4 = 0x0a000001 };
	uint32_t i;

	if (epoll_fd < 0)
		make_slots();
	memset(&d, 0, sizeof(d));
	d.nics = 1;
	os->d = &d;
	os->opt.name = "unic0";
	d.epoll_fd = epoll_fd;
	d.listen_fd = os->bus_fd = os->slots_file = -1;
	os->slots = SLOTS;
	os->slot_bytes = SLOT_BYTES;
	now_ns = 1000000000;
	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		d.client[i].fd = -1;
	for (i = 0; i < SLOTS; i++) {
		memset(slot_mem[i], 0, SLOT_BYTES);
		os->slot_fd[i] = slot_fd[i];
		os->slot_mem[i] = slot_mem[i];
		os->slot_pidfd[i] = -1;
		os->cq_wake[i] = os->upcall_wake[i] = os->doorbell[i] =
			(struct unicd_wake){ -1, -1 };
		os->nic_ev[1 + i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
	os->nic_ev[0] = -1;
	config.slot_mem = os->slot_mem;
	os->host = unic_host_new(
		os, unic_loop_provider(os, SLOTS, os->slot_mem, SLOT_BYTES),
		&config);
	must(os->host && !unicd_kio_init(os));
	unic_host_plug(os->host, true);
	for (i = 0; i < GUESTS; i++) {
		guest[i].fd = -1;
		connect_guest(i);
	}
	turns(8);
}

static void step(struct input *in)
{
	uint32_t kind = in_u8(in), i = in_below(in, GUESTS), s = i % SLOTS;

	if (kind < 110)
		request(in, &guest[i]);
	else if (kind < 150)
		turns(1 + in_below(in, 4));
	else if (kind < 170)
		while (take(&guest[i]))
			;
	else if (kind < 210)
		post(in, s);
	else if (kind < 228)
		scribble(in, s);
	else if (kind < 234)
		now_ns += 1000000ull * in_u16(in);
	else if (kind < 240)
		leave(i);
	else if (kind < 246)
		connect_guest(in_below(in, GUESTS));
	else if (kind < 248)
		unicd_clients_ended(&d, i);
	else
		turns(8);
}

static void close_pair(struct unicd_wake *w)
{
	if (w->ours < 0)
		return;
	close(w->ours);
	close(w->theirs);
}

static void end(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < GUESTS; i++) {
		leave(i);
		for (; d.client[i].fd >= 0; n++) {
			must(n < 1000); /* unicd reads all requests first */
			turn();
		}
	}
	turns(4);
	unicd_clients_fini(&d);
	unicd_kio_fini(os);
	unic_host_delete(os->host);
	for (i = 0; i < SLOTS; i++) {
		close_pair(&os->cq_wake[i]);
		close_pair(&os->upcall_wake[i]);
		close_pair(&os->doorbell[i]);
		close(os->nic_ev[1 + i]);
	}
}

/* The lowest descriptor that is free. */
static int free_fd(void)
{
	int fd = dup(STDERR_FILENO);

	must(fd >= 0 && !close(fd));
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint32_t i, first;
	int fd;

	if (epoll_fd < 0)
		make_slots();
	fd = free_fd();
	begin();
	first = in_u8(&in);
	for (i = 0; i < SLOTS; i++)
		if (first >> i & 1)
			prologue(&guest[i], first >> (2 + i) & 1);
	if (first & 16)
		call_first();
	if (first & 32)
		accept_call();
	for (i = 0; i < STEPS && in.left; i++)
		step(&in);
	end();
	must(free_fd() == fd); /* none is left open */
	return 0;
}
