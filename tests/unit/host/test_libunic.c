/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic.c - the library against a driver and a NIC that are played by the
 * test: what it writes into rings and doorbell page, and what it makes of
 * nonsense from the other side. (With the real driver and NIC: tests/qemu.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "bufman.h"
#include "doorbell.h"
#include "error.h"
#include "queue.h"
#include "unic.h"
#include "unic_ctl.h"
#include "unic_stats.h"

#define PAGE	   4096u
#define SLOT_PAGES 512u

/* ------------------------------------------------------- the played driver */

static void upcall(void *rec, uint8_t type);

struct driver {
	char path[64];
	int listener, sock;
	int slot_fd, db_efd, evt_efd, up_efd;
	uint8_t *slot;
	pthread_t thread;
	pthread_mutex_t lock;
	uint32_t next_id;
	uint32_t next_frame; /* handed out from the end: never contiguous */
	uint32_t upcalls;
	/* what to answer, and what was asked */
	uint16_t reg_status;
	uint32_t bad_frame;
	uint32_t last_user, last_mr, deregs, offers, resyncs, extends;
	uint16_t offer_status, dereg_status;
	uint32_t freed; /* frames given back */
	bool taken;	/* the addresses of the next are, until then */
	uint32_t region_state;
	struct unic_ctl_object object[4]; /* in the answer to RESYNC */
	uint32_t objects;
	/* full: registrations wait, for a deregistration or this end */
	bool full;
	uint16_t wait_end;
	uint32_t waiting; /* user of the one that does */
	/* the last requests, the last base drawn, and how often */
	struct unic_ctl_mr_reg reg;
	struct unic_ctl_mr_rereg rereg;
	uint64_t base;
	uint32_t regs, drawn;
	uint32_t batches;	    /* whose answers are missing, unless ... */
	bool in_batches;	    /* tokens are allocated, but the third */
	uint32_t tokens, cancelled; /* the last two that were, 4 bits each */
	struct unic_use_row uses;   /* of the region that is asked for */
	uint32_t uses_asked, uses_rows;
};

static struct driver drv;

static struct unic_db_page *db(void)
{
	return (void *)drv.slot;
}

static struct unic_nic_page *np(void)
{
	return (void *)(drv.slot + PAGE);
}

static size_t frames_reply(const void *req, uint8_t *out)
{
	const struct unic_ctl_frames *f = req;
	uint32_t run = 1u << (f->page_shift - 12);
	uint32_t n = unic_from_le32(f->pages) / run;
	unic_le32 *tail = (void *)(out + UNIC_CTL_BYTES);
	uint32_t i;

	for (i = 0; i < n; i++) {
		drv.next_frame -= run;
		drv.next_frame &= ~(run - 1);
		tail[i] = unic_to_le32(drv.bad_frame ? drv.bad_frame
						     : drv.next_frame);
	}
	return n * sizeof(*tail);
}

/* As the driver does it. */
static uint64_t base_of(const struct unic_ctl_mr_reg *r)
{
	uint64_t below = (1ull << 21) - 1;

	drv.regs++;
	if (!(r->flags & UNIC_CTL_REG_RANDOM))
		return unic_from_le64(r->iova);
	drv.drawn++;
	drv.base = (0x2badcafe5eull + drv.drawn * 0x1000001ull) << 21 |
		   (unic_from_le64(r->va) & below);
	return drv.base;
}

static size_t reg_reply(const void *req, uint8_t *out)
{
	const struct unic_ctl_mr_reg *r = req;
	struct unic_ctl_mr_reg_reply *reply = (void *)out;
	struct unic_cpl_usage *usage = (void *)(out + UNIC_CTL_BYTES);
	uint32_t entries = (uint32_t)(unic_from_le64(r->length) / PAGE);

	drv.last_user = unic_from_le32(r->user);
	memcpy(&drv.reg, r, sizeof(drv.reg));
	if (drv.full)
		drv.reg_status = r->flags & UNIC_CTL_REG_WAIT
					 ? UNIC_ST_PENDING
					 : UNIC_ST_TLB_FULL;
	drv.waiting = drv.full && r->flags & UNIC_CTL_REG_WAIT ? drv.last_user
							       : 0;
	reply->hdr.status = unic_to_le16(drv.reg_status);
	if (drv.reg_status && drv.reg_status != UNIC_ST_PENDING) {
		memset(usage, 0, sizeof(*usage));
		usage->limit = unic_to_le32(1024);
		usage->used = unic_to_le32(1000);
		usage->fair_share = unic_to_le32(256);
		return sizeof(*usage);
	}
	drv.last_mr = ++drv.next_id;
	reply->id = unic_to_le32(drv.last_mr);
	reply->stag = unic_to_le32(0x1000 + drv.last_mr);
	reply->entries = unic_to_le32(entries ? entries : 1);
	reply->iova = unic_to_le64(base_of(r));
	return 0;
}

static size_t objects_reply(uint8_t *out)
{
	struct unic_ctl_resync_reply *reply = (void *)out;
	size_t bytes = drv.objects * sizeof(drv.object[0]);

	memcpy(out + UNIC_CTL_BYTES, drv.object, bytes);
	reply->regions = unic_to_le32(drv.objects);
	reply->next_seq = unic_to_le32(drv.upcalls + 1);
	return bytes;
}

static size_t resync_reply(uint8_t *out)
{
	struct unic_ctl_resync_reply *reply = (void *)out;
	struct unic_ctl_region *row = (void *)(out + UNIC_CTL_BYTES);

	drv.resyncs++;
	reply->regions = unic_to_le32(drv.region_state != 0);
	reply->next_seq = unic_to_le32(drv.upcalls + 1);
	memset(row, 0, sizeof(*row));
	row->id = unic_to_le32(drv.last_mr);
	row->user = unic_to_le32(drv.last_user);
	row->state = unic_to_le32(drv.region_state);
	return drv.region_state ? sizeof(*row) : 0;
}

static size_t answer_reply(const void *req, uint8_t *out)
{
	const struct unic_ctl_notice_answer *a = req;
	struct unic_ctl_notice_reply *reply = (void *)out;

	if (unic_from_le32(a->answer) == UNIC_ANSWER_OFFER) {
		drv.offers++;
		reply->hdr.status = unic_to_le16(drv.offer_status);
		reply->detail = unic_to_le32(UNIC_REFUSED_SMALLER);
	} else {
		drv.extends++;
	}
	reply->deadline_ns = unic_to_le64(UINT64_MAX / 2);
	return 0;
}

/* The registration that waits is granted, or ends with drv.wait_end. */
static void end_wait(void)
{
	struct unic_upcall_wait up = {
		.hdr.id = unic_to_le32(drv.last_mr),
		.user = unic_to_le32(drv.waiting),
		.status = unic_to_le32(drv.wait_end),
		.entries = unic_to_le32(1),
	};

	if (drv.waiting)
		upcall(&up,
		       drv.wait_end ? UNIC_UP_WAIT_ENDED : UNIC_UP_GRANTED);
	drv.waiting = 0;
}

static size_t batch_reply(const void *req, uint8_t *out)
{
	const struct unic_ctl_batch *b = req;
	uint32_t n = unic_from_le32(b->count), i;
	const uint8_t *in = (const uint8_t *)req + UNIC_CTL_BYTES;

	for (i = 0; i < n; i++) {
		struct unic_ctl_token_reply t = { .id = unic_to_le32(1 + i) };
		struct unic_ctl_obj c;

		memcpy(&c, in + 64 * i, sizeof(c));
		if (unic_from_le16(c.hdr.op) == UNIC_CTL_TOKEN_CANCEL)
			drv.cancelled = drv.cancelled << 4 |
					unic_from_le32(c.id);
		else if (++drv.tokens == 3)
			t.hdr.status = unic_to_le16(UNIC_ST_TOKEN_FULL);
		memcpy(out + UNIC_CTL_BYTES + 64 * i, &t, sizeof(t));
	}
	return 64 * n;
}

static size_t uses_reply(const void *req, uint8_t *out)
{
	struct unic_ctl_uses_reply *reply = (void *)out;

	drv.uses_asked =
		unic_from_le32(((const struct unic_ctl_uses *)req)->first);
	memset(out + sizeof(struct unic_ctl_hdr), 0,
	       UNIC_CTL_BYTES - sizeof(struct unic_ctl_hdr));
	reply->time_ns = unic_to_le64(1000);
	memcpy(out + UNIC_CTL_BYTES, &drv.uses, sizeof(drv.uses));
	return drv.uses_rows * sizeof(drv.uses);
}

static size_t reply_to(uint16_t op, const void *req, uint8_t *out)
{
	struct unic_ctl_queue_reply *q = (void *)out;

	switch (op) {
	case UNIC_CTL_HELLO: {
		struct unic_ctl_hello_reply *h = (void *)out;

		h->slot_bytes = unic_to_le64((uint64_t)SLOT_PAGES * PAGE);
		h->grace_us = unic_to_le32(20000);
		h->tlb_entries = unic_to_le32(1024);
		return 0;
	}
	case UNIC_CTL_FRAMES_ALLOC:
		if (!drv.taken)
			return frames_reply(req, out);
		((struct unic_ctl_hdr *)out)->status =
			unic_to_le16(UNIC_CTL_ST_IN_USE);
		return 0;
	case UNIC_CTL_MR_REG:
		return reg_reply(req, out);
	case UNIC_CTL_MR_REREG:
		memcpy(&drv.rereg, req, sizeof(drv.rereg));
		return 0;
	case UNIC_CTL_FRAMES_FREE:
		drv.taken = false;
		drv.freed += unic_from_le32(
			((const struct unic_ctl_frames *)req)->pages);
		return 0;
	case UNIC_CTL_MR_DEREG:
		drv.deregs++;
		((struct unic_ctl_hdr *)out)->status =
			unic_to_le16(drv.dereg_status);
		end_wait();
		return 0;
	case UNIC_CTL_RESYNC:
		return unic_from_le32(
			       ((const struct unic_ctl_resync *)req)->what)
			       ? objects_reply(out)
			       : resync_reply(out);
	case UNIC_CTL_NOTICE_ANSWER:
		return answer_reply(req, out);
	case UNIC_CTL_PD_ALLOC:
	case UNIC_CTL_CQ_CREATE:
	case UNIC_CTL_QP_CREATE:
		q->id = unic_to_le32(++drv.next_id);
		q->number = unic_to_le32(77);
		return 0;
	case UNIC_CTL_BATCH:
		drv.batches++;
		return drv.in_batches ? batch_reply(req, out) : 0;
	case UNIC_CTL_USES:
		return uses_reply(req, out);
	case UNIC_CTL_USAGE:
		memset(out + UNIC_CTL_BYTES, 0, sizeof(struct unic_cpl_usage));
		return sizeof(struct unic_cpl_usage);
	default:
		return 0;
	}
}

static void send_reply(int sock, const uint8_t *out, size_t len, bool fds)
{
	int fd[4] = { drv.slot_fd, drv.db_efd, drv.evt_efd, drv.up_efd };
	_Alignas(8) char ctrl[CMSG_SPACE(sizeof(fd))] = { 0 };
	struct iovec iov = { (void *)out, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fds) {
		mh.msg_control = ctrl;
		mh.msg_controllen = sizeof(ctrl);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), fd, sizeof(fd));
	}
	sendmsg(sock, &mh, MSG_NOSIGNAL);
}

static void *drive(void *arg)
{
	_Alignas(8) uint8_t in[UNIC_CTL_MSG_MAX];
	_Alignas(8) uint8_t out[UNIC_CTL_MSG_MAX];
	struct unic_ctl_hdr *hdr = (void *)out;
	uint16_t op;
	size_t tail;

	(void)arg;
	drv.sock = accept(drv.listener, NULL, NULL);
	while (recv(drv.sock, in, sizeof(in), 0) >= (ssize_t)UNIC_CTL_BYTES) {
		pthread_mutex_lock(&drv.lock);
		memset(out, 0, UNIC_CTL_BYTES);
		memcpy(out, in, sizeof(*hdr));
		hdr->epoch = unic_to_le32(1);
		op = unic_from_le16(hdr->op);
		tail = reply_to(op, in, out);
		hdr->tail_bytes = unic_to_le32((uint32_t)tail);
		send_reply(drv.sock, out, UNIC_CTL_BYTES + tail,
			   op == UNIC_CTL_HELLO);
		pthread_mutex_unlock(&drv.lock);
	}
	return NULL;
}

static int driver_up(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	(void)state;
	memset(&drv, 0, sizeof(drv));
	pthread_mutex_init(&drv.lock, NULL);
	snprintf(drv.path, sizeof(drv.path), "/tmp/test_libunic.%d",
		 (int)getpid());
	strcpy(addr.sun_path, drv.path);
	unlink(drv.path);
	drv.listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	drv.slot_fd = memfd_create("slot", 0);
	drv.db_efd = eventfd(0, EFD_NONBLOCK);
	drv.evt_efd = eventfd(0, EFD_NONBLOCK);
	drv.up_efd = eventfd(0, EFD_NONBLOCK);
	drv.next_frame = SLOT_PAGES;
	drv.region_state = UNIC_CTL_R_EVICTED;
	if (ftruncate(drv.slot_fd, SLOT_PAGES * PAGE) ||
	    bind(drv.listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(drv.listener, 1))
		return -1;
	drv.slot = mmap(NULL, SLOT_PAGES * PAGE, PROT_READ | PROT_WRITE,
			MAP_SHARED, drv.slot_fd, 0);
	np()->epoch = unic_to_le32(1);
	return pthread_create(&drv.thread, NULL, drive, NULL);
}

static int driver_down(void **state)
{
	(void)state;
	shutdown(drv.sock, SHUT_RDWR); /* a test that failed left it open */
	pthread_join(drv.thread, NULL);
	munmap(drv.slot, SLOT_PAGES * PAGE);
	close(drv.sock);
	close(drv.listener);
	close(drv.slot_fd);
	close(drv.db_efd);
	close(drv.evt_efd);
	close(drv.up_efd);
	unlink(drv.path);
	return 0;
}

static void upcall(void *rec, uint8_t type)
{
	struct unic_upcall_ring *ring = (void *)(drv.slot + 2 * PAGE);
	struct unic_upcall_hdr *hdr = rec;
	uint8_t *at = ring->record[drv.upcalls % UNIC_UPCALLS];
	uint64_t one = 1;

	hdr->type = type;
	hdr->seq = unic_to_le32(++drv.upcalls);
	memcpy(at + 4, (uint8_t *)rec + 4, 60);
	__atomic_store_n((uint32_t *)at, hdr->seq, __ATOMIC_RELEASE);
	assert_int_equal(write(drv.up_efd, &one, sizeof(one)), sizeof(one));
}

static void upcall_mr(uint8_t type, uint32_t user, uint64_t deadline_ns)
{
	struct unic_upcall_mr up = {
		.user = unic_to_le32(user),
		.notice_seq = unic_to_le32(5),
		.entries = unic_to_le32(4),
		.deadline_ns = unic_to_le64(deadline_ns),
	};

	upcall(&up, type);
}

/* ------------------------------------------------------------------ helpers */

struct rig {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_qp *qp;
};

static void rig_up(struct rig *r)
{
	struct unic_qp_attr attr = { .sq_slots = 4, .rq_slots = 4 };

	assert_int_equal(unic_open(drv.path, &r->ctx), 0);
	assert_int_equal(unic_alloc_pd(r->ctx, &r->pd), 0);
	assert_int_equal(unic_create_cq(r->pd, 8, &r->cq), 0);
	attr.send_cq = attr.recv_cq = r->cq;
	assert_int_equal(unic_create_qp(r->pd, &attr, &r->qp), 0);
}

static void rig_down(struct rig *r)
{
	assert_int_equal(unic_destroy_qp(r->qp), 0);
	assert_int_equal(unic_destroy_cq(r->cq), 0);
	assert_int_equal(unic_free_pd(r->pd), 0);
	unic_close(r->ctx);
}

/* Rings were allocated in this order: CQ one page, QP one page; frames from the
 * end of the slot. */
static struct unic_cqe *cq_ring(void)
{
	return (void *)(drv.slot + (SLOT_PAGES - 1) * PAGE);
}

static struct unic_sq_slot *sq_ring(void)
{
	return (void *)(drv.slot + (SLOT_PAGES - 2) * PAGE);
}

static struct unic_rq_slot *rq_ring(void)
{
	return (void *)(sq_ring() + 4);
}

static void complete(uint32_t n, uint32_t qpn, uint8_t opcode, uint64_t wr_id)
{
	struct unic_cqe *cqe = &cq_ring()[n % 8];

	cqe->qpn = unic_to_le32(qpn);
	cqe->opcode = opcode;
	cqe->wr_id = unic_to_le64(wr_id);
	__atomic_store_n((uint32_t *)&cqe->seq, unic_to_le32(n + 1),
			 __ATOMIC_RELEASE);
}

static struct unic_mr *reg(struct rig *r, void *mem, size_t len)
{
	struct unic_mr_attr attr = { .addr = mem, .length = len };
	struct unic_mr *mr;

	assert_int_equal(unic_reg_mr(r->pd, &attr, &mr), 0);
	return mr;
}

/* --------------------------------------------------------------------- tests */

static void no_driver_is_said(void **state)
{
	struct unic_ctx *ctx;

	(void)state;
	assert_int_equal(unic_open("/nonexistent/sock", &ctx), -ENOENT);
	assert_non_null(strstr(unic_last_error(), "start unicd"));
}

static void every_status_has_words(void **state)
{
	int s;

	(void)state;
	for (s = UNIC_ST_BAD_OPCODE; s <= UNIC_ST_NO_ROUTE; s++) {
		assert_true(unic_fail_status("x", s) < 0);
		assert_string_not_equal(unic_status_str((unsigned int)s), "unkn"
									  "own "
									  "stat"
									  "us");
	}
	for (s = UNIC_CTL_ST_NO_HELLO; s <= UNIC_CTL_ST_REMOTE; s++)
		assert_string_not_equal(unic_status_str((unsigned int)s), "unkn"
									  "own "
									  "stat"
									  "us");
	assert_int_equal(unic_fail_status("x", 4711), -EPROTO);
}

static void memory_is_contiguous_and_frames_are_not(void **state)
{
	struct rig r;
	uint8_t *mem;
	unsigned int i;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 3 * PAGE, PAGE);
	assert_non_null(mem);
	for (i = 0; i < 3 * PAGE; i++)
		mem[i] = (uint8_t)(i / PAGE + 1);
	for (i = 0; i < 3; i++)
		assert_int_equal(drv.slot[(SLOT_PAGES - 3 - i) * PAGE], i + 1);
	assert_int_equal(unic_free(r.ctx, mem + PAGE), -EINVAL);
	assert_int_equal(unic_free(r.ctx, mem), 0);
	assert_null(unic_alloc(r.ctx, 1, 5000));
	rig_down(&r);
}

static void a_wild_frame_is_refused(void **state)
{
	struct rig r;

	(void)state;
	rig_up(&r);
	drv.bad_frame = SLOT_PAGES;
	assert_null(unic_alloc(r.ctx, PAGE, PAGE));
	drv.bad_frame = 1; /* the NIC's own page */
	assert_null(unic_alloc(r.ctx, PAGE, PAGE));
	assert_int_equal(errno, EPROTO);
	drv.bad_frame = 0;
	rig_down(&r);
}

static volatile int spin_stop;

static void *spin(void *arg)
{
	volatile uint32_t *word = arg;

	while (!spin_stop)
		(*word)++;
	return NULL;
}

static void foreign_memory_is_moved(void **state)
{
	uint8_t *mem = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t other;
	const volatile uint32_t *written;
	struct unic_mr *mr;
	struct rig r;
	uint32_t before, i;

	(void)state;
	rig_up(&r);
	memset(mem + PAGE, 0x5a, PAGE);
	spin_stop = 0;
	pthread_create(&other, NULL, spin, mem + 2 * PAGE);
	mr = reg(&r, mem + PAGE + 8, PAGE + 16);
	assert_int_equal(mem[PAGE], 0x5a);
	mem[PAGE] = 1;
	/* It is the slot's memory now, and the other thread writes there. */
	assert_int_equal(drv.slot[drv.next_frame * PAGE + PAGE], 1);
	written = (void *)(drv.slot + drv.next_frame * PAGE);
	before = *written;
	for (i = 0; i < 10000 && *written == before; i++)
		usleep(1000); /* it gets to run some time */
	assert_int_not_equal(*written, before);
	spin_stop = 1;
	pthread_join(other, NULL);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
	assert_int_equal(mem[PAGE], 1); /* and the process's own again */
	munmap(mem, 4 * PAGE);
}

static void files_and_stacks_are_not(void **state)
{
	uint8_t on_stack[PAGE];
	struct unic_mr_attr attr = { .addr = on_stack, .length = 1 };
	void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EACCES);
	assert_non_null(strstr(unic_last_error(), "stack"));
	attr.addr = shared;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EACCES);
	assert_non_null(strstr(unic_last_error(), "shared"));
	attr.addr = (void *)(uintptr_t)files_and_stacks_are_not;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EACCES);
	assert_non_null(strstr(unic_last_error(), "file"));
	munmap(shared, PAGE);
	rig_down(&r);
}

static uint8_t *own_pages(void *at, size_t n)
{
	uint8_t *mem = mmap(at, n * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS |
				    (at ? MAP_FIXED_NOREPLACE : 0),
			    -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	assert_true(!at || mem == at);
	return mem;
}

/* Registered once, so that its pages are the slot's. */
static void move_in(struct rig *r, void *mem, size_t n)
{
	assert_int_equal(unic_dereg_mr(reg(r, mem, n * PAGE)), 0);
}

/* The driver has memory at addresses that the application unmapped, and the kernel
 * gives those again. */
static void addresses_that_came_back_can_be_had(void **state)
{
	uint8_t *mem = own_pages(NULL, 1), *other;
	struct rig r;

	(void)state;
	rig_up(&r);
	move_in(&r, mem, 1);
	munmap(mem, PAGE);
	drv.taken = true;
	other = unic_alloc(r.ctx, PAGE, PAGE);
	assert_non_null(other);
	assert_int_equal(drv.freed, 1);
	assert_int_equal(unic_free(r.ctx, other), 0);
	/* nothing of it is ours to give back */
	drv.taken = true;
	assert_null(unic_alloc(r.ctx, PAGE, PAGE));
	assert_int_equal(errno, EADDRINUSE);
	drv.taken = false;
	rig_down(&r);
}

static void memory_that_came_back_is_new(void **state)
{
	uint8_t *mem = own_pages(NULL, 4);
	struct rig r;

	(void)state;
	rig_up(&r);
	move_in(&r, mem, 4);
	munmap(mem + PAGE, 2 * PAGE);
	own_pages(mem + PAGE, 2);
	memset(mem, 0x77, 4 * PAGE);
	move_in(&r, mem, 4);
	/* Two pages were moved anew, the frames of before given back. */
	assert_int_equal(drv.freed, 2);
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 0x77);
	mem[2 * PAGE] = 0x78;
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 0x78);
	move_in(&r, mem, 4);
	assert_int_equal(drv.freed, 2);
	rig_down(&r);
	assert_int_equal(mem[0], 0x77);
	assert_int_equal(mem[2 * PAGE], 0x78);
	munmap(mem, 4 * PAGE);
}

static void memory_that_went_elsewhere_is_found(void **state)
{
	uint8_t *mem = own_pages(NULL, 2);
	uint8_t *there = own_pages(NULL, 2);
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem[0] = 1;
	mem[PAGE] = 2;
	move_in(&r, mem, 2);
	/* As realloc() does. */
	assert_ptr_equal(mremap(mem, 2 * PAGE, 2 * PAGE,
				MREMAP_MAYMOVE | MREMAP_FIXED, there),
			 there);
	mr = reg(&r, there, 2 * PAGE);
	assert_int_equal(drv.freed, 2);
	assert_int_equal(there[0], 1);
	there[PAGE] = 3;
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 3);
	assert_int_equal(unic_dereg_mr(mr), 0);
	/* Elsewhere again when the context ends. */
	mem = own_pages(mem, 2);
	assert_ptr_equal(mremap(there, 2 * PAGE, 2 * PAGE,
				MREMAP_MAYMOVE | MREMAP_FIXED, mem),
			 mem);
	rig_down(&r);
	drv.slot[drv.next_frame * PAGE] = 4;
	assert_int_equal(mem[0], 1);
	assert_int_equal(mem[PAGE], 3);
	munmap(mem, 2 * PAGE);
}

static void close_leaves_foreign_memory_alone(void **state)
{
	uint8_t *mem = own_pages(NULL, 3);
	void *ro;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem[2 * PAGE] = 9;
	move_in(&r, mem, 3);
	munmap(mem, 2 * PAGE);
	ro = mmap(mem, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		  -1, 0);
	assert_ptr_equal(ro, mem);
	/* Its page in the slot stays readable for close, whatever it is here. */
	mprotect(mem + 2 * PAGE, PAGE, PROT_NONE);
	rig_down(&r);
	assert_int_equal(mem[0], 0);
	mprotect(mem + 2 * PAGE, PAGE, PROT_READ);
	assert_int_equal(mem[2 * PAGE], 9);
	munmap(mem, PAGE);
	munmap(mem + 2 * PAGE, PAGE);
}

/* The library's own lists lie in the heap that is moved. */
static void a_heap_is_moved(void **state)
{
	uint8_t *top = sbrk(0);
	uint8_t *mem = (void *)(((uintptr_t)top + PAGE - 1) & ~(PAGE - 1ul));
	struct rig r;

	(void)state;
	assert_ptr_equal(sbrk(3 * PAGE + (mem - top)), top);
	rig_up(&r);
	memset(mem, 0x31, 3 * PAGE);
	move_in(&r, mem, 3);
	assert_int_equal(drv.slot[drv.next_frame * PAGE], 0x31);
	sbrk(-(intptr_t)PAGE);
	rig_down(&r);
	assert_int_equal(mem[PAGE], 0x31);
	sbrk(-(2 * PAGE + (mem - top)));
}

struct stack_use {
	struct rig *r;
	int err;
};

static __attribute__((noinline)) int reg_deep(struct rig *r, void *mem,
					      size_t len)
{
	struct unic_mr_attr attr = { .addr = mem, .length = len };
	volatile uint8_t depth[8 * PAGE];
	struct unic_mr *mr;

	depth[0] = depth[8 * PAGE - 1] = 0;
	return unic_reg_mr(r->pd, &attr, &mr);
}

static void *reg_own_stack(void *arg)
{
	struct stack_use *use = arg;
	uint8_t mem[4 * PAGE];

	memset(mem, 1, sizeof(mem));
	use->err = reg_deep(use->r, mem, sizeof(mem));
	return NULL;
}

static void *sleep_until_stop(void *arg)
{
	while (!__atomic_load_n(&spin_stop, __ATOMIC_RELAXED))
		usleep(1000);
	return arg;
}

/* Below its stack pointer, too: it will be there later. */
static void stacks_of_threads_are_not(void **state)
{
	struct rig r;
	struct stack_use use = { .r = &r };
	size_t len = 64 * PAGE;
	uint8_t *stack = own_pages(NULL, 64 + 4);
	pthread_attr_t attr;
	pthread_t t;

	(void)state;
	rig_up(&r);
	assert_int_equal(pthread_create(&t, NULL, reg_own_stack, &use), 0);
	pthread_join(t, NULL);
	assert_int_equal(use.err, -EACCES);
	spin_stop = 0;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, len);
	assert_int_equal(pthread_create(&t, &attr, sleep_until_stop, NULL), 0);
	assert_int_equal(reg_deep(&r, stack + 4 * PAGE, PAGE), -EACCES);
	assert_non_null(strstr(unic_last_error(), "stack"));
	/* One mapping with it, and yet no part of it. */
	move_in(&r, stack + len + PAGE, 2);
	spin_stop = 1;
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	move_in(&r, stack + 4 * PAGE, 1);
	rig_down(&r);
	munmap(stack, len + 4 * PAGE);
}

static bool is_parents(int err)
{
	return err == -ENOTCONN && strstr(unic_last_error(), "forked");
}

/* What a child can do with what it has of its parent; the memory is its own. */
static bool child_is_alone(struct rig *r, uint8_t *mem)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	struct unic_recv_wr rwr = { .num_sge = 0 };
	struct unic_mr_attr attr = { .addr = mem, .length = PAGE };
	struct unic_event ev;
	struct unic_wc wc;
	struct unic_mr *mr;
	bool ok = unic_ctx_lost(r->ctx) && mem[0] == 5;

	mem[0] = 6;
	ok &= !unic_alloc(r->ctx, 1, PAGE) && is_parents(-errno);
	ok &= unic_cq_fd(r->ctx) < 0 && unic_event_fd(r->ctx) < 0;
	ok &= is_parents(unic_reg_mr(r->pd, &attr, &mr));
	ok &= is_parents(unic_post_send(r->qp, &wr, 1));
	ok &= is_parents(unic_post_recv(r->qp, &rwr, 1));
	ok &= is_parents(unic_poll_cq(r->cq, 1, &wc));
	ok &= is_parents(unic_req_notify(r->cq, false));
	ok &= is_parents(unic_wait_cq(r->cq, 1000));
	ok &= is_parents(unic_get_event(r->ctx, &ev));
	ok &= is_parents(unic_recover(r->ctx, 1000));
	return ok;
}

static void *hang_up(void *listener)
{
	close(accept(*(int *)listener, NULL, NULL));
	return NULL;
}

/* It gets to the driver, who hangs up; not -EBUSY. */
static bool child_may_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct unic_ctx *own;
	pthread_t t;
	int err;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/test_libunic.%d.s",
		 (int)getpid());
	if (bind(listener, (void *)&addr, sizeof(addr)) ||
	    listen(listener, 1) || pthread_create(&t, NULL, hang_up, &listener))
		return false;
	err = unic_open(addr.sun_path, &own);
	pthread_join(t, NULL);
	unlink(addr.sun_path);
	return err == -ENOTCONN;
}

static void a_child_has_no_part_in_it(void **state)
{
	uint8_t *mem;
	struct rig r;
	pid_t child;
	int status;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, PAGE, PAGE);
	mem[0] = 5;
	assert_int_equal(madvise(mem, PAGE, MADV_DOFORK), 0);
	pthread_mutex_lock(&r.cq->lock); /* as another thread might */
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		bool ok;

		alarm(20);
		ok = child_is_alone(&r, mem) && child_may_open();
		ok &= !unic_destroy_qp(r.qp) && !unic_free(r.ctx, mem) &&
		      madvise(mem, PAGE, MADV_NORMAL) && errno == ENOMEM;
		unic_close(r.ctx);
		_exit(ok ? 0 : 1);
	}
	pthread_mutex_unlock(&r.cq->lock);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_false(unic_ctx_lost(r.ctx));
	assert_int_equal(mem[0], 5);
	assert_int_equal(unic_free(r.ctx, mem), 0);
	rig_down(&r);
}

/* Its backlog is full and it accepts nobody. */
static void a_stopped_driver_is_not_waited_for(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct unic_ctx *ctx;
	int sock[8];
	int n = 0;

	(void)state;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/test_libunic.%d.s",
		 (int)getpid());
	assert_int_equal(bind(listener, (void *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	do {
		sock[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	} while (!connect(sock[n++], (void *)&addr, sizeof(addr)) && n < 8);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(unic_open(addr.sun_path, &ctx), -ENOTCONN);
	assert_non_null(strstr(unic_last_error(), "stopped"));
	while (n)
		close(sock[--n]);
	close(listener);
	unlink(addr.sun_path);
}

static void leftovers_are_not_given_to_a_new_driver(void **state)
{
	uint8_t *mem = own_pages(NULL, 1);
	struct unic_ctx *again;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem[0] = 6;
	move_in(&r, mem, 1);
	shutdown(drv.sock, SHUT_RDWR);
	/* Nobody has looked yet; the listener is there, as if started again. */
	assert_int_equal(unic_open(drv.path, &again), -EBUSY);
	assert_non_null(strstr(unic_last_error(), "close that context"));
	assert_int_equal(mem[0], 6);
	rig_down(&r);
	assert_int_equal(mem[0], 6);
	munmap(mem, PAGE);
}

static void a_region_that_does_not_end_stays(void **state)
{
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	drv.dereg_status = UNIC_CTL_ST_TOO_MANY;
	assert_int_equal(unic_dereg_mr(mr), -EAGAIN);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_LIVE);
	assert_int_equal(unic_release(mr), -EAGAIN);
	drv.dereg_status = UNIC_ST_NO_MR;
	assert_int_equal(unic_release(mr), 0);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_GONE);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

static void a_refused_registration_says_why(void **state)
{
	struct unic_mr_attr attr = { .length = PAGE };
	struct unic_usage usage;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	attr.addr = unic_alloc(r.ctx, PAGE, PAGE);
	drv.reg_status = UNIC_ST_TLB_FULL;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -ENOMEM);
	assert_true(unic_last_usage(&usage));
	assert_int_equal(usage.used, 1000);
	assert_non_null(strstr(unic_last_error(), "1000 of 1024"));
	drv.reg_status = UNIC_ST_OK;
	rig_down(&r);
}

static struct unic_mr *reg_based(struct rig *r, void *mem, unsigned int flags)
{
	struct unic_mr_attr attr = { .addr = mem,
				     .length = 2 * PAGE,
				     .rights = UNIC_MR_LOCAL_WRITE,
				     .flags = flags };
	struct unic_mr *mr;

	assert_int_equal(unic_reg_mr(r->pd, &attr, &mr), 0);
	return mr;
}

/* Nobody asked for it. Rings are regions, too. */
static void bases_are_drawn(void **state)
{
	static const unsigned int flags[] = { 0, 0, UNIC_MR_RANDOM_BASE,
					      UNIC_MR_WAIT,
					      UNIC_MR_WAIT | UNIC_MR_ASYNC };
	uint8_t *mem;
	uint64_t last = 0;
	struct rig r;
	size_t i;

	(void)state;
	rig_up(&r);
	assert_int_equal(drv.regs, 2);
	assert_int_equal(drv.drawn, 2);
	mem = unic_alloc(r.ctx, 2 * PAGE, PAGE);
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct unic_mr *mr;

		if (flags[i] & UNIC_MR_ASYNC)
			drv.reg_status = UNIC_ST_PENDING;
		mr = reg_based(&r, mem, flags[i]);
		drv.reg_status = UNIC_ST_OK;
		assert_true(drv.reg.flags & UNIC_CTL_REG_RANDOM);
		assert_true(!unic_from_le64(drv.reg.iova));
		assert_true(mr->iova == drv.base);
		assert_true(mr->iova != (uintptr_t)mem && mr->iova != last);
		last = mr->iova;
		assert_int_equal(unic_dereg_mr(mr), 0);
	}
	rig_down(&r);
}

static void bases_can_be_had_otherwise(void **state)
{
	static const unsigned int wrong[] = {
		UNIC_MR_VA_BASE | UNIC_MR_RANDOM_BASE,
		UNIC_MR_VA_BASE | UNIC_MR_ZERO_BASED,
		UNIC_MR_ZERO_BASED | UNIC_MR_RANDOM_BASE,
	};
	struct unic_mr_attr attr = { .length = PAGE };
	struct unic_mr *mr;
	uint8_t *mem;
	struct rig r;
	size_t i;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 4 * PAGE, PAGE);
	mr = reg_based(&r, mem + 100, UNIC_MR_VA_BASE);
	assert_false(drv.reg.flags & UNIC_CTL_REG_RANDOM);
	assert_true(unic_from_le64(drv.reg.iova) == (uintptr_t)mem + 100);
	assert_true(mr->iova == (uintptr_t)mem + 100);
	assert_int_equal(unic_dereg_mr(mr), 0);
	mr = reg_based(&r, mem + 100, UNIC_MR_ZERO_BASED);
	assert_false(drv.reg.flags & UNIC_CTL_REG_RANDOM);
	assert_int_equal(unic_from_le64(drv.reg.iova), 100);
	assert_int_equal(mr->iova, 100);
	assert_int_equal(unic_dereg_mr(mr), 0);
	attr.addr = mem;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		attr.flags = wrong[i];
		assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EINVAL);
	}
	rig_down(&r);
}

/* The request has what the region then says. */
static void move(struct unic_mr *mr, uint8_t *to, uint64_t iova)
{
	struct unic_rereg_attr attr = { .what = UNIC_REREG_RANGE,
					.addr = to,
					.length = 2 * PAGE };

	assert_int_equal(unic_rereg_mr(mr, &attr, NULL), 0);
	assert_true(unic_from_le64(drv.rereg.va) == (uintptr_t)to);
	assert_true(unic_from_le64(drv.rereg.iova) == iova);
	assert_true(mr->iova == iova);
}

static void bases_stay_what_they_were(void **state)
{
	struct unic_mr *mr;
	uint64_t base;
	uint8_t *mem;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 8 * PAGE, PAGE);
	mr = reg_based(&r, mem + 2 * PAGE, 0);
	base = mr->iova;
	move(mr, mem + 5 * PAGE + 8, base + 3 * PAGE + 8);
	move(mr, mem, base - 2 * PAGE);
	move(mr, mem + 2 * PAGE, base);
	assert_int_equal(unic_dereg_mr(mr), 0);
	mr = reg_based(&r, mem, UNIC_MR_VA_BASE);
	move(mr, mem + 3 * PAGE, (uintptr_t)mem + 3 * PAGE);
	assert_int_equal(unic_dereg_mr(mr), 0);
	mr = reg_based(&r, mem, UNIC_MR_ZERO_BASED);
	move(mr, mem + 3 * PAGE + 7, 7);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* What a request calls them; nothing outside has a name. */
static void bytes_have_an_address(void **state)
{
	const struct unic_sg none = { (void *)1, 2, 3 };
	struct unic_sg sg = none;
	struct unic_mr *mr, *mw, big;
	uint8_t *mem;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 4 * PAGE, PAGE);
	mr = reg_based(&r, mem + PAGE, 0);
	assert_int_equal(unic_alloc_mw(r.pd, 1, &mw), 0);
	assert_int_equal(unic_sg_of(mr, mem, 1, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem, 2 * PAGE, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem + PAGE, 2 * PAGE + 1, &sg),
			 -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem + 3 * PAGE - 1, 2, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem + 3 * PAGE + 1, 0, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem + PAGE + 1, SIZE_MAX, &sg),
			 -ERANGE);
	assert_int_equal(unic_sg_of(mr, NULL, 1, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, (void *)(uintptr_t)mr->iova, 1, &sg),
			 -ERANGE);
	assert_int_equal(unic_sg_of(mw, mem, 1, &sg), -ERANGE);
	big = *mr;
	big.length = 1ull << 33;
	assert_int_equal(unic_sg_of(&big, mem + PAGE, 1ull << 32, &sg),
			 -ERANGE); /* more than an SGE counts */
	assert_non_null(strstr(unic_last_error(), "not in the region"));
	assert_memory_equal(&sg, &none, sizeof(sg));
	assert_int_equal(unic_sg_of(mr, mem + PAGE, 2 * PAGE, &sg), 0);
	assert_true((uintptr_t)sg.addr == mr->iova);
	assert_int_equal(sg.len, 2 * PAGE);
	assert_int_equal(sg.lkey, mr->stag);
	assert_int_equal(unic_sg_of(mr, mem + 3 * PAGE - 1, 1, &sg), 0);
	assert_true((uintptr_t)sg.addr == mr->iova + 2 * PAGE - 1);
	assert_int_equal(unic_sg_of(mr, mem + 3 * PAGE, 0, &sg), 0);
	assert_int_equal(unic_dereg_mr(mw), 0);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* Forms are made of what is in the region, and called so. */
static void forms_stay_inside(void **state)
{
	struct unic_sg sg[20];
	const struct unic_list list = { .sg = sg, .n = 20 };
	struct unic_mr *mr, *mw, *x;
	uint8_t *mem;
	struct rig r;
	int i;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 2 * PAGE, PAGE);
	mr = reg_based(&r, mem, 0);
	assert_int_equal(unic_reg_sub(mr, mem + PAGE, PAGE + 1, 0, &x),
			 -ERANGE);
	assert_int_equal(unic_reg_sub(mr, mem + PAGE, PAGE, 0, &x), 0);
	assert_true(x->iova == mr->iova + PAGE);
	assert_int_equal(unic_sg_of(x, mem, 1, sg), -ERANGE);
	assert_int_equal(unic_sg_of(x, mem + PAGE, 1, sg), 0);
	assert_int_equal(unic_dereg_mr(x), 0);
	assert_int_equal(unic_alloc_mw(r.pd, 1, &mw), 0);
	assert_int_equal(unic_bind_mw(mw, mr, mem - 1, 2, 0), -ERANGE);
	assert_int_equal(unic_post_bind_mw(r.qp, 1, 0, mw, mr, mem - 1, 2, 0),
			 -ERANGE);
	assert_int_equal(unic_bind_mw(mw, mr, mem + 8, 2, 0), 0);
	assert_true(mw->iova == mr->iova + 8);
	assert_int_equal(unic_dereg_mr(mw), 0);
	for (i = 0; i < 20; i++)
		assert_int_equal(unic_sg_of(mr, mem + i, 1, &sg[i]), 0);
	assert_int_equal(unic_alloc_indirect(r.pd, 20, &x), 0);
	assert_int_equal(unic_post_reg_indirect(r.qp, 1, 0, x, &list, mr, NULL),
			 -EINVAL);
	assert_int_equal(unic_post_reg_indirect(r.qp, 1, 0, x, &list, mr,
						mem + 2 * PAGE - 319),
			 -ERANGE);
	assert_int_equal(mem[2 * PAGE - 319], 0);
	assert_int_equal(unic_post_reg_indirect(r.qp, 1, 0, x, &list, mr,
						mem + 2 * PAGE - 320),
			 0);
	assert_true(unic_from_le64(sq_ring()[0].sge[0].iova) ==
		    mr->iova + 2 * PAGE - 320);
	assert_memory_equal(mem + 2 * PAGE - 320, &sg[0].addr, 8);
	assert_int_equal(unic_dereg_mr(x), 0);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

static void posts_reach_the_ring(void **state)
{
	struct unic_sg sg[3] = { { (void *)0x1000, 5, 9 },
				 { (void *)0x2000, 6, 9 },
				 { (void *)0x3000, 7, 8 } };
	struct unic_send_wr wr[2] = { { .wr_id = 42,
					.opcode = UNIC_WR_WRITE,
					.num_sge = 3,
					.remote = 0xabc,
					.rkey = 3,
					.sg = sg } };
	struct unic_sq_ext *ext;
	uint64_t n;
	struct rig r;

	(void)state;
	rig_up(&r);
	wr[1] = wr[0];
	ext = (void *)&sq_ring()[1];
	assert_int_equal(unic_post_send(r.qp, wr, 1), 1);
	assert_int_equal(sq_ring()[0].opcode, UNIC_WR_WRITE);
	assert_int_equal(unic_from_le64(sq_ring()[0].remote), 0xabc);
	assert_int_equal(unic_from_le64(ext->sge[0].iova), 0x3000);
	assert_int_equal(unic_from_le32(ext->sge[0].lkey), 8);
	/* rows: 0 is the CQ's, 1 the QP's; two slots posted */
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 2);
	assert_int_equal(unic_from_le32(db()->fifo[0]),
			 UNIC_DB_WORD(UNIC_DB_SQ, 1, 2));
	assert_int_equal(unic_from_le32(db()->fifo_seq), 1);
	assert_int_equal(read(drv.db_efd, &n, 8), -1); /* it was awake */
	np()->asleep = unic_to_le32(1);
	assert_int_equal(unic_post_send(r.qp, wr, 2), 1); /* room for one */
	assert_int_equal(read(drv.db_efd, &n, 8), 8);
	assert_int_equal(unic_post_send(r.qp, wr, 1), -EAGAIN);
	wr[0].num_sge = 7;
	assert_int_equal(unic_post_send(r.qp, wr, 1), -EINVAL);
	rig_down(&r);
}

/* What a caller forgot is said before anything is dereferenced or sent. */
static void connections_say_what_is_missing(void **state)
{
	static const uint8_t bytes[UNIC_PRIVATE_MAX + 1];
	struct unic_conn_param none = { .private_len = 4 };
	struct unic_conn_param big = { .private_data = bytes,
				       .private_len = sizeof(bytes) };
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_connect(r.qp, 1, 2, NULL, 10, NULL, NULL),
			 -EINVAL);
	assert_non_null(strstr(unic_last_error(), "parameters"));
	assert_int_equal(unic_accept(r.ctx, 3, r.qp, NULL), -EINVAL);
	assert_non_null(strstr(unic_last_error(), "parameters"));
	assert_int_equal(unic_connect(r.qp, 1, 2, &none, 10, NULL, NULL),
			 -EINVAL);
	assert_non_null(strstr(unic_last_error(), "private data"));
	assert_int_equal(unic_accept(r.ctx, 3, r.qp, &big), -EINVAL);
	assert_non_null(strstr(unic_last_error(), "private data"));
	assert_int_equal(unic_reject(r.ctx, 3, NULL, 4), -EINVAL);
	assert_int_equal(unic_reject(r.ctx, 3, bytes, sizeof(bytes)), -EINVAL);
	assert_false(unic_conn_dead(r.ctx->conn));
	rig_down(&r);
}

static void inline_data_is_copied(void **state)
{
	char text[97] = "0123456789abcdefghijklmnopqrstuvwxyzABCD";
	struct unic_sg sg = { text, 40, 0 };
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_INLINE,
				   .num_sge = 1,
				   .sg = &sg };
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(sq_ring()[0].inline_len, 40);
	assert_memory_equal(sq_ring()[0].sge, text, 32);
	assert_memory_equal(&sq_ring()[1], text + 32, 8);
	sg.len = 97;
	assert_int_equal(unic_post_send(r.qp, &wr, 1), -EINVAL);
	rig_down(&r);
}

static void completions_are_not_believed(void **state)
{
	struct unic_send_wr wr = { .wr_id = 42, .opcode = UNIC_WR_SEND };
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	complete(0, 78, UNIC_WC_SEND, 0); /* no such QP */
	complete(1, 77, UNIC_WC_SEND, 1); /* not posted */
	complete(2, 77, UNIC_WC_SEND, 1ull << 32);
	complete(3, 77, UNIC_WC_RECV, 0); /* no receive posted */
	complete(4, 77, UNIC_WC_SEND, 0); /* right */
	complete(5, 77, UNIC_WC_SEND, 0); /* once more */
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 42);
	assert_ptr_equal(wc[0].qp, r.qp);
	assert_int_equal(unic_from_le32(db()->tail[0].cq_ci), 6);
	rig_down(&r);
}

static void receives_end_in_any_order(void **state)
{
	struct unic_recv_wr wr[4] = {
		{ .wr_id = 1 }, { .wr_id = 2 }, { .wr_id = 3 }, { .wr_id = 4 }
	};
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_recv(r.qp, wr, 4), 4);
	complete(0, 77, UNIC_WC_RECV, 1);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 2);
	/* The oldest is still out: its slot is not free. */
	assert_int_equal(unic_post_recv(r.qp, wr, 1), -EAGAIN);
	complete(1, 77, UNIC_WC_RECV, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	assert_int_equal(unic_post_recv(r.qp, wr, 4), 2);
	rig_down(&r);
}

static void no_wake_up_is_lost(void **state)
{
	struct unic_send_wr wr = { .wr_id = 1, .opcode = UNIC_WR_SEND };
	uint64_t one = 1;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(unic_wait_cq(r.cq, 10), -ETIME);
	assert_int_equal(unic_from_le32(db()->tail[0].arm), 0);
	/* Written, but rung before anybody slept. */
	complete(0, 77, UNIC_WC_SEND, 0);
	assert_int_equal(unic_wait_cq(r.cq, 1000), 0);
	assert_int_equal(unic_req_notify(r.cq, false), 1);
	assert_int_equal(write(drv.evt_efd, &one, 8), 8);
	assert_int_equal(unic_wait_cq(r.cq, 1000), 0);
	rig_down(&r);
}

/* Between two looks of a thread another one was woken for both: it looks again. */
static void a_wake_up_is_for_all(void **state)
{
	uint64_t one = 1, from;
	struct pollfd pfd = { .fd = drv.evt_efd, .events = POLLIN };
	struct rig r;
	uint32_t seq;

	(void)state;
	rig_up(&r);
	seq = unic_wake_seq(r.ctx);
	assert_int_equal(write(drv.evt_efd, &one, 8), 8);
	assert_int_equal(unic_wake_wait(r.ctx, seq, -1), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(unic_wake_seq(r.ctx), seq + 1);
	from = unic_now_ns();
	assert_int_equal(unic_wake_wait(r.ctx, seq, -1), 0);
	/* without a sleep, whose end counts */
	assert_int_equal(unic_wake_seq(r.ctx), seq + 1);
	assert_true(unic_now_ns() - from < 10000000000ull);
	/* and who sleeps next does so at the descriptor */
	assert_int_equal(write(drv.evt_efd, &one, 8), 8);
	assert_int_equal(unic_wake_wait(r.ctx, seq + 1, -1), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	rig_down(&r);
}

struct sleeper {
	struct unic_ctx *ctx;
	uint32_t seq;
	uint64_t woke_ns;
	bool asleep;
};

static void *sleep_once(void *arg)
{
	struct sleeper *s = arg;

	__atomic_store_n(&s->asleep, true, __ATOMIC_RELEASE);
	unic_wake_wait(s->ctx, s->seq, -1);
	s->woke_ns = unic_now_ns();
	return NULL;
}

/* Of the threads that sleep one is at the descriptor, and all are woken. */
static void all_that_sleep_wake(void **state)
{
	struct sleeper s[3];
	pthread_t thread[3];
	uint64_t one = 1, from, last, best = UINT64_MAX;
	struct rig r;
	int try, i;

	(void)state;
	rig_up(&r);
	/* the best of some: a busy machine may be late, one that forgets always
	 * is, by half a second */
	for (try = 0; try < 10 && best > 200000000; try++) {
		for (i = 0; i < 3; i++) {
			s[i] = (struct sleeper){ .ctx = r.ctx,
						 .seq = unic_wake_seq(r.ctx) };
			pthread_create(&thread[i], NULL, sleep_once, &s[i]);
		}
		for (i = 0; i < 3; i++)
			while (!__atomic_load_n(&s[i].asleep, __ATOMIC_ACQUIRE))
				usleep(100);
		usleep(20000);
		from = unic_now_ns();
		assert_int_equal(write(drv.evt_efd, &one, 8), 8);
		for (i = 0, last = 0; i < 3; i++) {
			pthread_join(thread[i], NULL);
			last = s[i].woke_ns > last ? s[i].woke_ns : last;
		}
		if (last - from < best)
			best = last - from;
	}
	assert_true(best < 200000000);
	rig_down(&r);
}

#define ROUNDS 5000u

static uint32_t round_of_nic; /* completions that are to be, atomic */

/* Others want the processor, too. */
static void spin_once(uint32_t *turns)
{
	if (!(++*turns % 256))
		sched_yield();
}

static void jitter(uint32_t *seed)
{
	uint32_t i;

	*seed = *seed * 1664525 + 1013904223;
	for (i = *seed >> 24; i; i--)
		__asm__ volatile("" ::: "memory");
}

/* Writes a completion at any time, and rings if the queue is armed for it: as the
 * NIC does, which keeps no interrupt for later. */
static void *complete_and_ring(void *arg)
{
	uint32_t n, seed = 7, turns = 0;
	uint64_t one = 1;

	(void)arg;
	for (n = 0; n < ROUNDS; n++) {
		while (__atomic_load_n(&round_of_nic, __ATOMIC_ACQUIRE) <= n)
			spin_once(&turns);
		jitter(&seed);
		complete(n, 77, UNIC_WC_SEND, n);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (unic_from_le32(*(volatile unic_le32 *)&db()->tail[0].arm) ==
		    n)
			assert_int_equal(write(drv.evt_efd, &one, 8), 8);
	}
	return NULL;
}

static void a_completion_meets_the_arming(void **state)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	struct pollfd pfd = { .events = POLLIN };
	struct unic_wc wc;
	pthread_t nic;
	uint32_t n, seed = 3, turns = 0;
	struct rig r;

	(void)state;
	rig_up(&r);
	pfd.fd = unic_cq_fd(r.ctx);
	round_of_nic = 0;
	db()->tail[0].arm = unic_to_le32(UINT32_MAX);
	pthread_create(&nic, NULL, complete_and_ring, NULL);
	for (n = 0; n < ROUNDS; n++) {
		assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
		__atomic_store_n(&round_of_nic, n + 1, __ATOMIC_RELEASE);
		jitter(&seed);
		if (!unic_req_notify(r.cq, false))
			assert_int_equal(poll(&pfd, 1, 60000), 1);
		while (unic_poll_cq(r.cq, 1, &wc) != 1)
			spin_once(&turns); /* rung for the one before */
		unic_drain(drv.evt_efd);
	}
	pthread_join(nic, NULL);
	rig_down(&r);
}

static void upcalls_change_regions(void **state)
{
	struct unic_event ev;
	struct unic_mr *mr;
	struct rig r;
	struct pollfd pfd = { .events = POLLIN };

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN);
	pfd.fd = unic_event_fd(r.ctx);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_true(unic_mr_usable(mr, 1000));
	assert_int_equal(unic_mr_life(mr), UNIC_MR_ASKED);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_NOTICE);
	assert_ptr_equal(ev.mr, mr);
	unic_ack_event(&ev);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	upcall_mr(UNIC_UP_EVICTED, drv.last_user + (1u << 16), 0);
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN); /* stale */
	upcall_mr(UNIC_UP_EVICTED, drv.last_user, 0);
	assert_false(unic_mr_usable(mr, 0));
	/* The event keeps the object alive, dereg forgets queued ones. */
	assert_int_equal(unic_dereg_mr(mr), 0);
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN);
	rig_down(&r);
}

/* An upcall of a later driver: taken, and nothing is said. */
#define UP_UNKNOWN 200

static void bad_doorbell_is_told(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0x10203) };
	struct unic_event ev;
	struct rig r;

	(void)state;
	rig_up(&r);
	upcall(&up, UNIC_UP_DB_ERROR);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_DB_ERROR);
	assert_int_equal(ev.status, 0x10203);
	unic_ack_event(&ev);
	rig_down(&r);
}

/* Where nothing is known of any, none is cancelled: the numbers would be others'. */
static void tokens_that_are_not_known(void **state)
{
	struct unic_pay_attr attr[2];
	struct unic_pay_token token[2];
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	attr[0] = attr[1] = (struct unic_pay_attr){ .mr = mr,
						    .addr = mr->addr,
						    .length = 64 };
	assert_int_equal(unic_alloc_tokens(r.pd, attr, 2, token), -EPROTO);
	assert_int_equal(drv.batches, 1);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* One that is refused is the end of all of them, of those behind it, too. */
static void tokens_of_a_batch_go_together(void **state)
{
	struct unic_pay_attr attr[4];
	struct unic_pay_token token[4];
	struct unic_mr *mr;
	struct rig r;
	uint32_t i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	for (i = 0; i < 4; i++)
		attr[i] = (struct unic_pay_attr){ .mr = mr,
						  .addr = mr->addr,
						  .length = 64 };
	drv.in_batches = true;
	assert_int_equal(unic_alloc_tokens(r.pd, attr, 2, token), 0);
	assert_int_equal(token[0].id, 1);
	assert_int_equal(token[1].id, 2);
	assert_int_equal(drv.cancelled, 0);
	drv.tokens = 0;
	assert_int_not_equal(unic_alloc_tokens(r.pd, attr, 4, token), 0);
	assert_int_equal(drv.cancelled, 0x124);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* A row of the table is of the region that has the index now. */
static void uses_are_those_of_the_region(void **state)
{
	struct unic_use use;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	mr->stag = 0x00c01234;
	assert_int_equal(unic_query_use(mr, &use), -EOPNOTSUPP);
	r.ctx->attr.mrs = 1024;
	drv.uses = (struct unic_use_row){
		.last_use_ns = unic_to_le64(400),
		.bytes = unic_to_le64(70000),
		.uses = unic_to_le32(5),
		.reported = unic_to_le32(2),
		.rate = unic_to_le32(9),
		.stag = unic_to_le32(0x00c01234),
	};
	assert_int_equal(unic_query_use(mr, &use), -EAGAIN); /* no row */
	drv.uses_rows = 1;
	assert_int_equal(unic_query_use(mr, &use), 0);
	assert_int_equal(drv.uses_asked, 3);
	assert_int_equal(use.uses, 5);
	assert_int_equal(use.reported, 2);
	assert_int_equal(use.bytes, 70000);
	assert_int_equal(use.rate, 9);
	assert_int_equal(use.idle_ns, 600);
	drv.uses.stag = unic_to_le32(0x00c01134); /* one of before */
	assert_int_equal(unic_query_use(mr, &use), -EAGAIN);
	unic_report_use(mr);
	unic_report_use(mr);
	assert_int_equal(unic_from_le32(db()->used[3]), 2);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* What is readable says that there is an event, as long as there is one. */
static void queued_events_keep_it_readable(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	struct pollfd pfd = { .events = POLLIN };
	struct unic_event ev;
	unsigned int i;
	struct rig r;

	(void)state;
	rig_up(&r);
	pfd.fd = unic_event_fd(r.ctx);
	for (i = 0; i < 3; i++)
		upcall(&up, UNIC_UP_DB_ERROR);
	for (i = 0; i < 3; i++) {
		assert_int_equal(poll(&pfd, 1, 0), 1);
		assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	}
	assert_int_equal(poll(&pfd, 1, 0), 0);
	rig_down(&r);
}

#define TEARS	  80000u
#define TEAR_STEP (2 * UNIC_UPCALLS) /* the same place of the ring */

static struct {
	uint32_t n; /* the record that is written now, atomic */
	bool over;
} tearing;

static void tear(uint32_t seq, uint32_t mark)
{
	struct unic_upcall_ring *ring = (void *)(drv.slot + 2 * PAGE);
	uint8_t *at = ring->record[(seq - 1) % UNIC_UPCALLS];
	struct unic_upcall_mr up = { .hdr = { .type = UNIC_UP_NOTICE },
				     .user = unic_to_le32(drv.last_user),
				     .notice_seq = unic_to_le32(mark),
				     .entries = unic_to_le32(mark),
				     .rank = unic_to_le32(mark),
				     .pain = unic_to_le32(mark),
				     .deadline_ns = unic_to_le64(mark) };

	__atomic_store_n((uint32_t *)at, 0, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(at + 4, (uint8_t *)&up + 4, 60);
	__atomic_store_n((uint32_t *)at, unic_to_le32(seq), __ATOMIC_RELEASE);
}

/* A driver that laps the reader at the record that he is at, sooner or later. No
 * number comes again, as from a driver: what is read between two laps is whole. */
static void *write_over(void *arg)
{
	uint32_t n, last = 0, wait;

	(void)arg;
	while (!__atomic_load_n(&tearing.over, __ATOMIC_ACQUIRE)) {
		n = __atomic_load_n(&tearing.n, __ATOMIC_ACQUIRE);
		if (n == last) {
			sched_yield();
			continue;
		}
		last = n;
		tear(n, 1);
		for (wait = n / TEAR_STEP % 256; wait; wait--)
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
		tear(n + UNIC_UPCALLS, 2);
	}
	return NULL;
}

/* Whatever comes until the record is read or found to be lapped. */
static void read_one(struct rig *r, uint32_t n)
{
	struct unic_event ev;
	uint32_t tries = 0;

	while (r->ctx->upcall_next == n) {
		if (++tries % 64 == 0)
			sched_yield();
		if (unic_get_event(r->ctx, &ev))
			continue;
		if (ev.type == UNIC_EV_NOTICE && ev.seq) {
			assert_int_equal(ev.seq, 1);
			assert_int_equal(ev.entries, 1);
			assert_int_equal(ev.rank, 1);
			assert_int_equal(ev.pain, 1);
			assert_int_equal(ev.deadline_ns, 1);
		}
		unic_ack_event(&ev);
	}
}

static void torn_upcalls_are_not_believed(void **state)
{
	struct unic_event ev;
	struct unic_mr *mr;
	pthread_t thread;
	struct rig r;
	uint32_t i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	drv.region_state = UNIC_CTL_R_ACTIVE;
	while (!unic_get_event(r.ctx, &ev))
		unic_ack_event(&ev);
	tearing.over = false;
	tearing.n = 0;
	pthread_create(&thread, NULL, write_over, NULL);
	for (i = 1; i <= TEARS; i++) {
		uint32_t n = i * TEAR_STEP;

		r.ctx->upcall_next = n;
		drv.upcalls = n + 1;
		__atomic_store_n(&tearing.n, n + 1, __ATOMIC_RELEASE);
		read_one(&r, n);
	}
	__atomic_store_n(&tearing.over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

static void lost_upcalls_are_made_good(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	struct unic_event ev;
	struct unic_mr *mr;
	struct rig r;
	unsigned int i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	for (i = 0; i < 2 * UNIC_UPCALLS; i++)
		upcall(&up, UP_UNKNOWN);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_EVICTED);
	assert_int_equal(drv.resyncs, 1);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_GONE);
	unic_ack_event(&ev);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

static void has_object(uint32_t type, uint32_t id, uint32_t user,
		       uint32_t state, uint32_t of)
{
	drv.object[drv.objects++] = (struct unic_ctl_object){
		.id = unic_to_le32(id),
		.type = unic_to_le32(type),
		.user = unic_to_le32(user),
		.state = unic_to_le32(state),
		.of = unic_to_le32(of),
	};
}

/* How many events of each type there are now. */
static unsigned int events(struct rig *r, unsigned int *of_type)
{
	struct unic_event ev;
	unsigned int n = 0;

	memset(of_type, 0, 16 * sizeof(*of_type));
	while (!unic_get_event(r->ctx, &ev)) {
		of_type[ev.type]++;
		n++;
		unic_ack_event(&ev);
	}
	return n;
}

/*
 * A thousand notices while nobody reads, and among them the only word about a
 * queue pair, a completion queue, connections. After it all is known, once.
 */
static void a_storm_is_survived(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	unsigned int i, of_type[16];
	struct unic_object list[8];
	struct unic_listener *l;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	assert_int_equal(unic_listen(r.ctx, 5, &l), 0);
	for (i = 0; i < 1000; i++)
		upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	drv.region_state = UNIC_CTL_R_NOTIFIED;
	has_object(UNIC_CTL_O_QP, r.qp->id, r.qp->db, UNIC_QPS_ERR, 0);
	has_object(UNIC_CTL_O_CQ, r.cq->id, r.cq->db, 1, 0);
	has_object(UNIC_CTL_O_CONN, 900, 0, UNIC_CTL_CONN_REQUESTED, l->id);
	has_object(UNIC_CTL_O_CONN, 901, r.qp->db, UNIC_CTL_CONN_CLOSED,
		   r.qp->id);
	events(&r, of_type);
	assert_int_equal(drv.resyncs, 1); /* the gap was seen, once */
	assert_int_equal(of_type[UNIC_EV_NOTICE], 1);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_ASKED);
	assert_int_equal(of_type[UNIC_EV_QP_ERROR], 1);
	assert_int_equal(of_type[UNIC_EV_CQ_ERROR], 1);
	assert_int_equal(of_type[UNIC_EV_CONNECT], 1);
	assert_int_equal(of_type[UNIC_EV_DISCONNECTED], 1);
	assert_int_equal(of_type[UNIC_EV_RESYNC], 1);
	assert_int_equal(unic_list_objects(r.ctx, list, 8), 4);
	assert_int_equal(list[2].id, 900);
	assert_int_equal(list[3].of, r.qp->id);
	/* another one: nothing is told again */
	for (i = 0; i < 1000; i++)
		upcall(&up, UP_UNKNOWN);
	assert_int_equal(events(&r, of_type), 1);
	assert_int_equal(of_type[UNIC_EV_RESYNC], 1);
	assert_int_equal(drv.resyncs, 2);
	assert_int_equal(unic_unlisten(l), 0);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* A request that ended before anybody looked is not told of: a peer that asks and
 * asks fills no list. */
static void requests_that_ended_are_not_told(void **state)
{
	struct unic_upcall_conn up = { 0 };
	struct unic_listener *l;
	struct unic_event ev;
	unsigned int i;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_listen(r.ctx, 5, &l), 0);
	up.listener = unic_to_le32(l->id);
	for (i = 0; i < 4; i++) {
		up.hdr.id = unic_to_le32(900 + i);
		upcall(&up, UNIC_UP_CONN_REQUEST);
	}
	up.listener = unic_to_le32(0);
	up.hdr.id = unic_to_le32(901);
	upcall(&up, UNIC_UP_DISCONNECTED);
	up.hdr.id = unic_to_le32(903);
	upcall(&up, UNIC_UP_DISCONNECTED);
	for (i = 0; i < 4; i += 2) {
		assert_int_equal(unic_get_event(r.ctx, &ev), 0);
		assert_int_equal(ev.type, UNIC_EV_CONNECT);
		assert_int_equal(ev.conn, 900 + i);
		unic_ack_event(&ev);
	}
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN);
	assert_int_equal(unic_unlisten(l), 0);
	rig_down(&r);
}

static void the_upcall_after_a_resync_is_read(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	struct unic_event ev;
	struct unic_mr *mr;
	struct rig r;
	unsigned int i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	drv.region_state = UNIC_CTL_R_ACTIVE;
	for (i = 0; i < UNIC_UPCALLS + 7; i++)
		upcall(&up, UP_UNKNOWN);
	/* The played driver told of this region only, not of the queues'. */
	while (!unic_get_event(r.ctx, &ev)) {
		assert_ptr_not_equal(ev.mr, mr);
		unic_ack_event(&ev);
	}
	assert_int_equal(drv.resyncs, 1);
	upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_NOTICE);
	assert_int_equal(drv.resyncs, 1);
	unic_ack_event(&ev);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* The driver tells of no region: what waited waits no more. */
static void lost_ends_are_told(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	struct unic_mr_attr attr = { .length = PAGE,
				     .flags = UNIC_MR_WAIT | UNIC_MR_ASYNC };
	struct unic_event ev;
	struct unic_mr *live;
	struct unic_mr *mr;
	struct rig r;
	unsigned int i;

	(void)state;
	rig_up(&r);
	attr.addr = unic_alloc(r.ctx, PAGE, PAGE);
	live = reg(&r, attr.addr, PAGE);
	drv.reg_status = UNIC_ST_PENDING;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), 0);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_WAITING);
	drv.region_state = 0;
	for (i = 0; i < UNIC_UPCALLS + 7; i++)
		upcall(&up, UP_UNKNOWN);
	/* And the regions of both queues. */
	for (i = 0; !unic_get_event(r.ctx, &ev); i++) {
		if (ev.type == UNIC_EV_RESYNC)
			break; /* the last one */
		assert_int_equal(ev.type == UNIC_EV_WAIT_ENDED, ev.mr == mr);
		if (ev.mr == mr)
			assert_int_equal(ev.status, UNIC_ST_NO_WAIT);
		else
			assert_int_equal(ev.type, UNIC_EV_EVICTED);
		unic_ack_event(&ev);
	}
	assert_int_equal(i, 4);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_GONE);
	assert_int_equal(unic_mr_life(live), UNIC_MR_GONE);
	assert_int_equal(unic_dereg_mr(mr), 0);
	assert_int_equal(unic_dereg_mr(live), 0);
	drv.reg_status = UNIC_ST_OK;
	rig_down(&r);
}

static void a_dead_driver_is_seen(void **state)
{
	struct unic_event ev;
	struct rig r;
	struct pollfd pfd = { .events = POLLIN };

	(void)state;
	rig_up(&r);
	shutdown(drv.sock, SHUT_RDWR);
	pfd.fd = unic_event_fd(r.ctx);
	assert_int_equal(poll(&pfd, 1, 10000), 1);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_RESET);
	assert_int_equal(poll(&pfd, 1, 0), 0); /* told once */
	assert_true(unic_ctx_lost(r.ctx));
	assert_int_equal(unic_wait_cq(r.cq, 1000), -ENOTCONN);
	rig_down(&r);
}

static void wait_until(const uint32_t *what, uint32_t value)
{
	int i;

	for (i = 0;
	     i < 10000 && __atomic_load_n(what, __ATOMIC_ACQUIRE) != value; i++)
		usleep(1000);
	assert_int_equal(*what, value);
}

static void manager_up(struct rig *r, struct unic_bm **bm)
{
	struct unic_bm_attr attr = { .rights = UNIC_MR_LOCAL_WRITE };

	rig_up(r);
	assert_int_equal(unic_bm_open(r->pd, &attr, bm), 0);
}

static void manager_releases_what_is_idle(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t user;
	void *mem;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, 3 * PAGE);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, false, &h), 0);
	user = drv.last_user;
	unic_bm_drop(bm, &h);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, false, &h), 0);
	assert_int_equal(drv.last_user, user); /* the cache had it */
	unic_bm_drop(bm, &h);
	upcall_mr(UNIC_UP_NOTICE, user, UINT64_MAX / 2);
	wait_until(&drv.deregs, 1);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, false, &h), 0);
	assert_int_not_equal(drv.last_user, user);
	unic_bm_drop(bm, &h);
	unic_bm_query(bm, &s);
	assert_int_equal(s.released, 1);
	assert_int_equal(s.misses, 2);
	assert_int_equal(s.hits, 3);
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_offers_for_what_is_busy(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold busy;
	struct unic_bm_hold idle;
	struct unic_bm *bm;
	struct rig r;
	uint32_t user;
	void *a;
	void *b;

	(void)state;
	manager_up(&r, &bm);
	a = unic_bm_get(bm, PAGE);
	b = unic_bm_get(bm, PAGE);
	assert_int_equal(unic_bm_hold(bm, a, PAGE, 0, false, &busy), 0);
	user = drv.last_user;
	assert_int_equal(unic_bm_hold(bm, b, PAGE, 0, false, &idle), 0);
	unic_bm_drop(bm, &idle);
	upcall_mr(UNIC_UP_NOTICE, user, UINT64_MAX / 2);
	wait_until(&drv.deregs, 1);
	assert_int_equal(drv.offers, 1);
	/* Asked again with nothing to offer: extend, and release when done. */
	upcall_mr(UNIC_UP_NOTICE, user, UINT64_MAX / 2);
	wait_until(&drv.extends, 1);
	assert_int_equal(unic_bm_hold(bm, a, PAGE, 0, true, &idle), -EBUSY);
	usleep(20000);
	unic_bm_drop(bm, &busy);
	wait_until(&drv.deregs, 2);
	unic_bm_query(bm, &s);
	assert_int_equal(s.offers, 1);
	assert_int_equal(s.extends, 1);
	assert_int_equal(s.released_late, 1);
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_reaps_before_it_waits(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	void *mem;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, PAGE);
	drv.reg_status = UNIC_ST_TLB_FULL;
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, true, &h), -EBUSY);
	unic_bm_query(bm, &s);
	assert_int_equal(s.waits, 0);
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), -ENOMEM);
	unic_bm_query(bm, &s);
	assert_int_equal(s.waits, 1);
	drv.reg_status = UNIC_ST_OK;
	unic_bm_close(bm);
	rig_down(&r);
}

/* Two idle chunks of one page, then the table is full. */
static void two_idle(struct unic_bm *bm)
{
	struct unic_bm_hold h[2];
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(unic_bm_hold(bm, unic_bm_get(bm, PAGE), PAGE,
					      0, false, &h[i]),
				 0);
	unic_bm_drop(bm, &h[0]);
	unic_bm_drop(bm, &h[1]);
	drv.full = true;
}

/* The request is there before an idle chunk is given up, and only one is. */
static void manager_asks_before_it_gives(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	two_idle(bm);
	assert_int_equal(
		unic_bm_hold(bm, unic_bm_get(bm, PAGE), PAGE, 0, false, &h), 0);
	assert_int_equal(drv.deregs, 1);
	assert_int_equal(unic_mr_life(h.mr), UNIC_MR_LIVE);
	assert_int_equal(h.mr->id, drv.last_mr);
	unic_bm_query(bm, &s);
	assert_int_equal(s.waits, 1);
	assert_int_equal(s.trimmed, 1);
	unic_bm_drop(bm, &h);
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_tells_why_a_wait_ended(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	void *mem;

	(void)state;
	manager_up(&r, &bm);
	two_idle(bm);
	mem = unic_bm_get(bm, PAGE);
	drv.wait_end = UNIC_ST_TIMEOUT;
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), -ETIME);
	unic_bm_query(bm, &s);
	assert_int_equal(s.reg_failed, 1);
	drv.wait_end = UNIC_ST_OK;
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), 0);
	unic_bm_drop(bm, &h);
	unic_bm_close(bm);
	rig_down(&r);
}

/* Who has a lock of the manager, or its thread, is not in the child. */
static void a_child_has_no_part_in_a_manager(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t i;
	pid_t child;
	void *mem;
	int status;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, PAGE);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		bool ok = is_parents(unic_bm_hold(bm, mem, PAGE, 0, false, &h));

		ok &= !unic_bm_get(bm, PAGE) && is_parents(-errno);
		ok &= is_parents(unic_bm_recover(bm, 1000));
		unic_bm_put(bm, mem, PAGE);
		unic_bm_close(bm);
		unic_close(r.ctx);
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* its thread goes on: it answers a notice, and another */
	for (i = 1; i < 3; i++) {
		assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), 0);
		unic_bm_drop(bm, &h);
		upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
		wait_until(&drv.deregs, i);
	}
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_keeps_what_does_not_end(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t user, tries = 5000;
	void *mem;
	int err;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, PAGE);
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), 0);
	user = drv.last_user;
	unic_bm_drop(bm, &h);
	drv.dereg_status = UNIC_CTL_ST_TOO_MANY;
	upcall_mr(UNIC_UP_NOTICE, user, UINT64_MAX / 2);
	wait_until(&drv.deregs, 1);
	/* busy: the manager has not read its answer yet */
	do {
		err = unic_bm_hold(bm, mem, PAGE, 0, true, &h);
	} while (err == -EBUSY && --tries && !usleep(1000));
	assert_int_equal(err, -EAGAIN);
	drv.dereg_status = 0;
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), 0);
	assert_int_not_equal(drv.last_user, user);
	unic_bm_drop(bm, &h);
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_respects_deadlines(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	/* T is 20 ms: at 1 byte per microsecond two pages in half of it. */
	unic_pace_measured(unic_bm_pace(bm), 1000, 1000000);
	assert_int_equal(unic_pace_piece(unic_bm_pace(bm), 1), 2 * PAGE);
	assert_int_equal(unic_pace_piece(unic_bm_pace(bm), 2), PAGE);
	assert_int_equal(unic_pace_expect(unic_bm_pace(bm), 5000), 5000);
	assert_int_equal(unic_bm_hold(bm, unic_bm_get(bm, 65 * PAGE), 65 * PAGE,
				      0, false, &h),
			 0);
	assert_int_equal(h.len, 64 * PAGE); /* chunks of 64 entries */
	unic_bm_drop(bm, &h);
	unic_bm_close(bm);
	rig_down(&r);
}

/* What has to go in one must be done within T, and lie in one region. */
static void manager_refuses_what_cannot_be_split(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t deregs, i;
	void *mem;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, 65 * PAGE);
	unic_pace_measured(unic_bm_pace(bm), 1000,
			   1000000); /* T is 20,000 bytes */
	assert_int_equal(unic_bm_hold_whole(bm, mem, 20000, &h), 0);
	assert_int_equal(h.len, 20000);
	unic_bm_drop(bm, &h);
	assert_int_equal(unic_bm_hold_whole(bm, mem, 20001, &h), -EMSGSIZE);
	assert_non_null(strstr(unic_last_error(), "20001 us"));
	for (i = 0; i < 50; i++)
		unic_pace_measured(unic_bm_pace(bm), 1 << 20, 1000000);
	assert_int_equal(unic_bm_hold_whole(bm, mem, 64 * PAGE, &h), 0);
	unic_bm_drop(bm, &h);
	assert_int_equal(unic_bm_hold_whole(bm, mem, 64 * PAGE + 1, &h),
			 -EMSGSIZE);
	assert_non_null(strstr(unic_last_error(), "64 entries"));
	/* and holds nothing: it goes at once when it is asked for */
	deregs = drv.deregs;
	upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	wait_until(&drv.deregs, deregs + 1);
	unic_bm_close(bm);
	rig_down(&r);
}

static void on_credit(void *arg, unsigned int credits)
{
	__atomic_store_n((uint32_t *)arg, credits, __ATOMIC_RELEASE);
}

/* Half of the receives are evicted: that is told at once, and undone when the
 * last of them has come back. */
static void receives_come_back(void **state)
{
	uint32_t credits = 0, user;
	struct unic_bm_recv_attr attr = { .count = 4,
					  .bytes = 100,
					  .on_credit = on_credit,
					  .arg = &credits };
	struct unic_bm_stats s;
	struct unic_bm_recv *rx;
	struct unic_wc wc[2];
	struct unic_bm *bm;
	struct rig r;
	uint32_t i;

	(void)state;
	manager_up(&r, &bm);
	attr.count = 3;
	assert_int_equal(unic_bm_recv_open(bm, &attr, &rx), -EINVAL);
	attr.count = 4;
	assert_int_equal(unic_bm_recv_open(bm, &attr, &rx), 0);
	assert_int_equal(unic_bm_recv_credits(rx), 0);
	assert_int_equal(unic_bm_recv_start(rx, r.qp), 0);
	assert_int_equal(credits, 4);
	assert_true(unic_from_le64(rq_ring()[3].sge[0].iova) == drv.base + 100);
	user = drv.last_user;
	upcall_mr(UNIC_UP_EVICTED, user - 1, 0); /* the first half */
	wait_until(&credits, 2);
	for (i = 0; i < 2; i++) {
		cq_ring()[i].status = UNIC_WC_EVICTED;
		complete(i, 77, UNIC_WC_RECV, i);
	}
	assert_int_equal(unic_poll_cq(r.cq, 2, wc), 2);
	assert_int_equal(unic_bm_recv_done(rx, wc[0].wr_id), 0);
	assert_int_equal(drv.last_user, user);
	assert_int_equal(unic_bm_recv_credits(rx), 2);
	assert_int_equal(unic_bm_recv_done(rx, wc[1].wr_id), 0);
	assert_int_not_equal(drv.last_user, user); /* registered again */
	assert_int_equal(credits, 4);
	assert_int_equal(unic_bm_recv_done(rx, 4), -EINVAL);
	assert_true((uint8_t *)unic_bm_recv_buf(rx, 1) ==
		    (uint8_t *)unic_bm_recv_buf(rx, 0) + 100);
	unic_bm_query(bm, &s);
	assert_int_equal(s.recv_evicted, 1);
	assert_int_equal(s.recv_renewed, 1);
	unic_bm_recv_close(rx);
	unic_bm_close(bm);
	rig_down(&r);
}

/* A NIC that answers work requests as it is told. */
#define NIC_MAX 32u
static struct {
	pthread_t thread;
	const uint8_t *say; /* statuses, success behind the last one */
	uint32_t says, done, stop;
	uint32_t nap_us; /* after each */
	struct unic_sq_slot seen[NIC_MAX];
} nic;

static void *play(void *arg)
{
	struct unic_cqe *cqe;
	uint64_t one = 1;

	while (!__atomic_load_n(&nic.stop, __ATOMIC_ACQUIRE)) {
		uint32_t tail = unic_from_le32(
			__atomic_load_n(&db()->tail[1].sq, __ATOMIC_ACQUIRE));

		for (; nic.done != tail && nic.done < NIC_MAX; nic.done++) {
			nic.seen[nic.done] = sq_ring()[nic.done % 4];
			cqe = &cq_ring()[nic.done % 8];
			cqe->status = nic.done < nic.says ? nic.say[nic.done]
							  : 0;
			complete(nic.done, 77, UNIC_WC_WRITE,
				 unic_from_le64(nic.seen[nic.done].wr_id));
			if (write(drv.evt_efd, &one, 8) != 8)
				return arg;
			usleep(nic.nap_us);
		}
		usleep(200);
	}
	return NULL;
}

static void nic_up(const uint8_t *say, uint32_t says)
{
	memset(&nic, 0, sizeof(nic));
	nic.say = say;
	nic.says = says;
	assert_int_equal(pthread_create(&nic.thread, NULL, play, NULL), 0);
}

static void nic_down(void)
{
	void *failed;

	__atomic_store_n(&nic.stop, 1, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(nic.thread, &failed), 0);
	assert_null(failed);
}

#define OLD_KEY 0x1100u
#define NEW_KEY 0x2200u
#define OLD_AT	0x100000u
#define NEW_AT	0x900000u

static int new_key(void *arg, uint64_t *remote, uint32_t *rkey)
{
	++*(uint32_t *)arg;
	*remote = NEW_AT;
	*rkey = NEW_KEY;
	return 0;
}

/* What was posted and taken, as parts of the transfer: each page once. */
static void check_parts(uint32_t pages)
{
	uint32_t i, at, n, taken[8] = { 0 };

	for (i = 0; i < nic.done; i++) {
		const struct unic_sq_slot *s = &nic.seen[i];
		bool old = unic_from_le32(s->rkey) == OLD_KEY;

		if (i < nic.says && nic.say[i])
			continue;
		assert_true(old || unic_from_le32(s->rkey) == NEW_KEY);
		at = (uint32_t)unic_from_le64(s->remote) -
		     (old ? OLD_AT : NEW_AT);
		for (n = unic_from_le32(s->sge[0].len); n;
		     n -= PAGE, at += PAGE)
			taken[at / PAGE]++;
	}
	for (i = 0; i < pages; i++)
		assert_int_equal(taken[i], 1);
}

/* An eviction here is repeated, one there asks for a new key first; what was
 * done is not done again. */
static void manager_repeats_what_was_evicted(void **state)
{
	static const uint8_t say[] = { UNIC_WC_EVICTED, 0, UNIC_WC_REM_EVICTED,
				       UNIC_WC_EVICTED };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE,
				  .remote = OLD_AT,
				  .rkey = OLD_KEY,
				  .len = 6 * PAGE,
				  .window = 1,
				  .refresh = new_key };
	struct unic_bm_stats s;
	struct unic_bm *bm;
	uint32_t asked = 0;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	unic_pace_measured(unic_bm_pace(bm), 1000,
			   1000000); /* so pieces are of two pages */
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, 6 * PAGE);
	x.arg = &asked;
	nic_up(say, sizeof(say));
	assert_int_equal(unic_bm_transfer(bm, &x), 0);
	nic_down();
	assert_int_equal(nic.done, 3 + 3);
	check_parts(6);
	assert_int_equal(asked, 1);
	assert_int_equal(unic_from_le32(nic.seen[3].rkey), NEW_KEY);
	unic_bm_query(bm, &s);
	assert_int_equal(s.retries_local, 2);
	assert_int_equal(s.retries_remote, 1);
	assert_int_equal(s.ops, 3);
	assert_int_equal(s.bytes, 6 * PAGE);
	assert_int_equal(s.splits, 2);
	unic_bm_close(bm);
	rig_down(&r);
}

/* A new key is asked for over the same connection, so nothing of the transfer may
 * complete meanwhile: who asks would take it for an answer. */
static int key_over_the_same_queue(void *arg, uint64_t *remote, uint32_t *rkey)
{
	struct unic_bm_xfer *x = arg;
	struct unic_wc wc;

	usleep(20 * nic.nap_us);
	assert_int_equal(unic_poll_cq(x->cq, 1, &wc), 0);
	*remote = NEW_AT;
	*rkey = NEW_KEY;
	return 0;
}

static void manager_asks_when_nothing_flies(void **state)
{
	static const uint8_t say[] = { UNIC_WC_REM_EVICTED, 0,
				       UNIC_WC_REM_EVICTED };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE,
				  .remote = OLD_AT,
				  .rkey = OLD_KEY,
				  .len = 8 * PAGE,
				  .window = 3,
				  .refresh = key_over_the_same_queue };
	struct unic_bm_stats s;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	unic_pace_measured(unic_bm_pace(bm), 3000,
			   1000000); /* so pieces are of two pages */
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, 8 * PAGE);
	x.arg = &x;
	nic_up(say, sizeof(say));
	nic.nap_us = 2000;
	assert_int_equal(unic_bm_transfer(bm, &x), 0);
	nic_down();
	assert_int_equal(nic.done, 4 + 2);
	check_parts(8);
	unic_bm_query(bm, &s);
	assert_int_equal(s.retries_remote, 2);
	unic_bm_close(bm);
	rig_down(&r);
}

/* As much flies as is over within T/2. Who was too slow all the same, and lost his
 * connection for it, tries it with less. */
static void manager_takes_less_after_a_cut(void **state)
{
	static const uint8_t say[] = { 0, UNIC_WC_WR_FLUSH_ERR };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE,
				  .len = 4 * PAGE,
				  .window = 4 };
	struct unic_bm *bm;
	struct rig r;
	uint32_t i;

	(void)state;
	manager_up(&r, &bm);
	unic_pace_measured(unic_bm_pace(bm), 1000, 1000000);
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, 4 * PAGE);
	nic_up(say, sizeof(say));
	nic.nap_us = 20000;
	assert_int_equal(unic_bm_transfer(bm, &x), -EIO);
	nic_down();
	assert_int_equal(nic.done, 3); /* two flew, a third when one was done */
	for (i = 0; i < 3; i++)
		assert_true(unic_from_le64(nic.seen[i].sge[0].iova) ==
			    drv.base + unic_from_le64(nic.seen[i].remote));
	assert_int_equal(unic_pace_expect(unic_bm_pace(bm), 1000), 2000);
	for (i = 0; i < 20; i++)
		unic_pace_cut(unic_bm_pace(bm));
	assert_in_range(unic_pace_expect(unic_bm_pace(bm), PAGE), 19000, 20000);
	assert_int_equal(unic_pace_piece(unic_bm_pace(bm), 4), PAGE);
	unic_bm_close(bm);
	rig_down(&r);
}

/* With nobody to ask it ends, and says why. */
static void manager_has_nobody_to_ask(void **state)
{
	static const uint8_t say[] = { UNIC_WC_REM_EVICTED };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE, .len = PAGE };
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, PAGE);
	nic_up(say, sizeof(say));
	assert_int_equal(unic_bm_transfer(bm, &x), -EOWNERDEAD);
	nic_down();
	assert_int_equal(nic.done, 1);
	assert_non_null(strstr(unic_last_error(), "evicted"));
	unic_bm_close(bm);
	rig_down(&r);
}

#define WITH_DRIVER(test) \
	cmocka_unit_test_setup_teardown(test, driver_up, driver_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_driver_is_said),
		cmocka_unit_test(every_status_has_words),
		WITH_DRIVER(memory_is_contiguous_and_frames_are_not),
		WITH_DRIVER(a_wild_frame_is_refused),
		WITH_DRIVER(foreign_memory_is_moved),
		WITH_DRIVER(files_and_stacks_are_not),
		WITH_DRIVER(addresses_that_came_back_can_be_had),
		WITH_DRIVER(memory_that_came_back_is_new),
		WITH_DRIVER(memory_that_went_elsewhere_is_found),
		WITH_DRIVER(close_leaves_foreign_memory_alone),
		WITH_DRIVER(a_heap_is_moved),
		WITH_DRIVER(stacks_of_threads_are_not),
		WITH_DRIVER(a_child_has_no_part_in_it),
		cmocka_unit_test(a_stopped_driver_is_not_waited_for),
		WITH_DRIVER(leftovers_are_not_given_to_a_new_driver),
		WITH_DRIVER(a_region_that_does_not_end_stays),
		WITH_DRIVER(a_refused_registration_says_why),
		WITH_DRIVER(bases_are_drawn),
		WITH_DRIVER(bases_can_be_had_otherwise),
		WITH_DRIVER(bases_stay_what_they_were),
		WITH_DRIVER(bytes_have_an_address),
		WITH_DRIVER(forms_stay_inside),
		WITH_DRIVER(posts_reach_the_ring),
		WITH_DRIVER(connections_say_what_is_missing),
		WITH_DRIVER(inline_data_is_copied),
		WITH_DRIVER(completions_are_not_believed),
		WITH_DRIVER(receives_end_in_any_order),
		WITH_DRIVER(no_wake_up_is_lost),
		WITH_DRIVER(a_wake_up_is_for_all),
		WITH_DRIVER(all_that_sleep_wake),
		WITH_DRIVER(a_completion_meets_the_arming),
		WITH_DRIVER(upcalls_change_regions),
		WITH_DRIVER(bad_doorbell_is_told),
		WITH_DRIVER(tokens_that_are_not_known),
		WITH_DRIVER(queued_events_keep_it_readable),
		WITH_DRIVER(tokens_of_a_batch_go_together),
		WITH_DRIVER(uses_are_those_of_the_region),
		WITH_DRIVER(torn_upcalls_are_not_believed),
		WITH_DRIVER(lost_upcalls_are_made_good),
		WITH_DRIVER(a_storm_is_survived),
		WITH_DRIVER(requests_that_ended_are_not_told),
		WITH_DRIVER(the_upcall_after_a_resync_is_read),
		WITH_DRIVER(lost_ends_are_told),
		WITH_DRIVER(a_dead_driver_is_seen),
		WITH_DRIVER(a_child_has_no_part_in_a_manager),
		WITH_DRIVER(manager_releases_what_is_idle),
		WITH_DRIVER(manager_offers_for_what_is_busy),
		WITH_DRIVER(manager_reaps_before_it_waits),
		WITH_DRIVER(manager_asks_before_it_gives),
		WITH_DRIVER(manager_tells_why_a_wait_ended),
		WITH_DRIVER(manager_keeps_what_does_not_end),
		WITH_DRIVER(manager_respects_deadlines),
		WITH_DRIVER(manager_refuses_what_cannot_be_split),
		WITH_DRIVER(receives_come_back),
		WITH_DRIVER(manager_repeats_what_was_evicted),
		WITH_DRIVER(manager_asks_when_nothing_flies),
		WITH_DRIVER(manager_takes_less_after_a_cut),
		WITH_DRIVER(manager_has_nobody_to_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
