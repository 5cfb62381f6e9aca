/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_recover.c - unic_recover() against a fake driver: the NIC is reset, the
 * driver ends and comes back, with or without the state of the process. (With
 * real drivers: test_unicd_restart.py, survivor.)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

#include "mend.h"
#include "unic.h"
#include "unic_ctl.h"

#define PAGE	   4096u
#define SLOT_PAGES 64u
#define SLOT	   3u /* the process's */
#define REGIONS	   8u

struct region {
	uint32_t id, user, state;
};

static struct {
	char path[64];
	int listener, sock;
	int slot_fd, other_fd, efd[3];
	uint8_t *slot;
	pthread_t thread;
	pthread_mutex_t lock; /* of all fields below */
	bool over, away;      /* away: no connection is accepted */
	bool forgot, elsewhere;
	uint32_t epoch, next_id, next_frame, qpn, upcalls;
	uint32_t behind; /* answers of the old epoch before those of @epoch */
	uint16_t hang_up_at, silent_at; /* ops: hang up, no reply; 0: none */
	struct region region[REGIONS];
	uint32_t regions;
	/* ends of objects: operation << 16 | id, or pages */
	uint32_t end[16], ends;
	bool no_nic; /* the answer to MR_DEREG */
	/* in the list of objects */
	struct unic_ctl_object object[12];
	uint32_t objects;
	/* requests received */
	uint32_t hellos, resumes, resyncs, queries, resets, stale;
} drv;

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp;

/* --------------------------------------------------------- the fake driver */

static struct unic_db_page *db(void)
{
	return (void *)drv.slot;
}

static struct unic_nic_page *np(void)
{
	return (void *)(drv.slot + PAGE);
}

static void hello(const struct unic_ctl_hello *req,
		  struct unic_ctl_hello_reply *r)
{
	bool resume = unic_from_le32(req->flags) & UNIC_CTL_HELLO_RESUME;

	drv.hellos++;
	drv.resumes += resume && unic_from_le32(req->slot) == SLOT;
	r->slot_bytes = unic_to_le64((uint64_t)SLOT_PAGES * PAGE);
	r->proc = unic_to_le32(SLOT);
	r->resumed = resume && !drv.forgot;
}

static size_t frames(const struct unic_ctl_frames *req, uint8_t *out)
{
	uint32_t i, n = unic_from_le32(req->pages);
	unic_le32 *tail = (void *)(out + UNIC_CTL_BYTES);

	for (i = 0; i < n; i++)
		tail[i] = unic_to_le32(--drv.next_frame);
	return n * sizeof(*tail);
}

static void reg(const struct unic_ctl_mr_reg *req,
		struct unic_ctl_mr_reg_reply *r)
{
	struct region *mr = &drv.region[drv.regions++];

	assert_true(drv.regions <= REGIONS);
	*mr = (struct region){ .id = ++drv.next_id,
			       .user = unic_from_le32(req->user),
			       .state = UNIC_CTL_R_ACTIVE };
	r->id = unic_to_le32(mr->id);
	r->stag = unic_to_le32(0x1000 + mr->id);
	r->entries = unic_to_le32(1);
	r->iova = unic_to_le64(0x10000);
}

static size_t list_objects(uint8_t *out)
{
	size_t bytes = drv.objects * sizeof(drv.object[0]);

	memcpy(out + UNIC_CTL_BYTES, drv.object, bytes);
	return bytes;
}

static size_t resync(const struct unic_ctl_resync *req, uint8_t *out)
{
	struct unic_ctl_resync_reply *r = (void *)out;
	struct unic_ctl_region *row = (void *)(out + UNIC_CTL_BYTES);
	uint32_t i;

	if (req->what)
		return list_objects(out);
	drv.resyncs++;
	if (drv.behind) {
		drv.behind--;
		r->hdr.epoch = unic_to_le32(drv.epoch - 1);
	}
	r->regions = unic_to_le32(drv.regions);
	r->next_seq = unic_to_le32(drv.upcalls + 1);
	for (i = 0; i < drv.regions; i++)
		row[i] = (struct unic_ctl_region){
			.id = unic_to_le32(drv.region[i].id),
			.user = unic_to_le32(drv.region[i].user),
			.state = unic_to_le32(drv.region[i].state),
			.entries = unic_to_le32(1),
		};
	return drv.regions * sizeof(*row);
}

static void ended(uint16_t op, uint32_t what)
{
	assert_true(drv.ends < 16);
	drv.end[drv.ends++] = (uint32_t)op << 16 | what;
}

static size_t reply_to(uint16_t op, const void *req, uint8_t *out)
{
	const struct unic_ctl_qp_modify *mod = req;
	struct unic_ctl_queue_reply *q = (void *)out;

	switch (op) {
	case UNIC_CTL_HELLO:
		hello(req, (void *)out);
		return 0;
	case UNIC_CTL_FRAMES_ALLOC:
		return frames(req, out);
	case UNIC_CTL_MR_REG:
		reg(req, (void *)out);
		return 0;
	case UNIC_CTL_RESYNC:
		return resync(req, out);
	case UNIC_CTL_QP_QUERY:
		drv.queries++;
		q->number = unic_to_le32(drv.qpn);
		return 0;
	case UNIC_CTL_QP_MODIFY:
		drv.resets += mod->state == UNIC_QPS_RESET;
		return 0;
	case UNIC_CTL_PD_ALLOC:
	case UNIC_CTL_CQ_CREATE:
	case UNIC_CTL_QP_CREATE:
		q->id = unic_to_le32(++drv.next_id);
		q->number = unic_to_le32(drv.qpn);
		return 0;
	case UNIC_CTL_MR_DEREG:
		if (drv.no_nic) {
			q->hdr.status = unic_to_le16(UNIC_CTL_ST_NO_NIC);
			return 0;
		}
		/* fall through */
	case UNIC_CTL_PD_FREE:
	case UNIC_CTL_CQ_DESTROY:
	case UNIC_CTL_QP_DESTROY:
	case UNIC_CTL_UNLISTEN:
		ended(op,
		      unic_from_le32(((const struct unic_ctl_obj *)req)->id));
		return 0;
	case UNIC_CTL_FRAMES_FREE:
		ended(op,
		      unic_from_le32(
			      ((const struct unic_ctl_frames *)req)->pages));
		return 0;
	default:
		return 0;
	}
}

static void send_reply(const uint8_t *out, size_t len, bool fds)
{
	int fd[4] = { drv.elsewhere ? drv.other_fd : drv.slot_fd, drv.efd[0],
		      drv.efd[1], drv.efd[2] };
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
	sendmsg(drv.sock, &mh, MSG_NOSIGNAL);
}

/* Answers one request; counts it in @stale if its epoch is an old one. */
static void answer(const uint8_t *in)
{
	_Alignas(8) uint8_t out[UNIC_CTL_MSG_MAX];
	struct unic_ctl_hdr *hdr = (void *)out;
	uint16_t op;
	size_t tail;

	memset(out, 0, UNIC_CTL_BYTES);
	memcpy(out, in, sizeof(*hdr));
	op = unic_from_le16(hdr->op);
	if (op == drv.silent_at)
		return;
	if (op == drv.hang_up_at) {
		drv.hang_up_at = 0;
		np()->epoch = unic_to_le32(++drv.epoch);
		shutdown(drv.sock, SHUT_RDWR);
		return;
	}
	drv.stale += hdr->epoch && unic_from_le32(hdr->epoch) != drv.epoch;
	hdr->epoch = unic_to_le32(drv.epoch);
	tail = reply_to(op, in, out);
	hdr->tail_bytes = unic_to_le32((uint32_t)tail);
	send_reply(out, UNIC_CTL_BYTES + tail, op == UNIC_CTL_HELLO);
}

static bool let_in(void)
{
	struct pollfd p = { .fd = drv.listener, .events = POLLIN };
	bool may, over;

	do {
		poll(&p, 1, 1);
		pthread_mutex_lock(&drv.lock);
		over = drv.over;
		may = !drv.away && p.revents;
		pthread_mutex_unlock(&drv.lock);
	} while (!over && !may);
	if (!over)
		drv.sock = accept(drv.listener, NULL, NULL);
	return !over;
}

static void *drive(void *arg)
{
	_Alignas(8) uint8_t in[UNIC_CTL_MSG_MAX];

	(void)arg;
	while (let_in()) {
		while (recv(drv.sock, in, sizeof(in), 0) >=
		       (ssize_t)UNIC_CTL_BYTES) {
			pthread_mutex_lock(&drv.lock);
			answer(in);
			pthread_mutex_unlock(&drv.lock);
		}
		close(drv.sock);
	}
	return NULL;
}

/* Ends the driver, and with it the epoch: the next driver resets the NIC. */
static void driver_ends(void)
{
	pthread_mutex_lock(&drv.lock);
	drv.epoch++;
	drv.away = true;
	shutdown(drv.sock, SHUT_RDWR);
	pthread_mutex_unlock(&drv.lock);
}

static void driver_comes(void)
{
	pthread_mutex_lock(&drv.lock);
	drv.away = false;
	np()->epoch = unic_to_le32(drv.epoch);
	pthread_mutex_unlock(&drv.lock);
}

static void nic_is_reset(void)
{
	pthread_mutex_lock(&drv.lock);
	drv.epoch++;
	drv.qpn++;
	np()->epoch = unic_to_le32(drv.epoch);
	pthread_mutex_unlock(&drv.lock);
}

/* ------------------------------------------------------------------- life */

static int memory_file(void)
{
	int fd = memfd_create("slot", 0);

	return ftruncate(fd, SLOT_PAGES * PAGE) ? -1 : fd;
}

static uint8_t cut; /* enum unic_qp_cut of the queue pair */

static void make_queues(bool kept)
{
	struct unic_qp_attr attr = { .sq_slots = 4, .rq_slots = 4, .cut = cut };

	if (kept)
		assert_int_equal(unic_open_kept(drv.path, &ctx), 0);
	else
		assert_int_equal(unic_open(drv.path, &ctx), 0);
	assert_int_equal(unic_alloc_pd(ctx, &pd), 0);
	assert_int_equal(unic_create_cq(pd, 8, &cq), 0);
	attr.send_cq = attr.recv_cq = cq;
	assert_int_equal(unic_create_qp(pd, &attr, &qp), 0);
}

static int up(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int i;

	(void)state;
	memset(&drv, 0, sizeof(drv));
	pthread_mutex_init(&drv.lock, NULL);
	snprintf(drv.path, sizeof(drv.path), "/tmp/test_recover.%d",
		 (int)getpid());
	strcpy(addr.sun_path, drv.path);
	unlink(drv.path);
	drv.listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	drv.slot_fd = memory_file();
	drv.other_fd = memory_file();
	for (i = 0; i < 3; i++)
		drv.efd[i] = eventfd(0, EFD_NONBLOCK);
	drv.next_frame = SLOT_PAGES;
	drv.epoch = 1;
	drv.qpn = 77;
	if (bind(drv.listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(drv.listener, 4))
		return -1;
	drv.slot = mmap(NULL, SLOT_PAGES * PAGE, PROT_READ | PROT_WRITE,
			MAP_SHARED, drv.slot_fd, 0);
	np()->epoch = unic_to_le32(1);
	return pthread_create(&drv.thread, NULL, drive, NULL);
}

static int down(void **state)
{
	int i;

	(void)state;
	pthread_mutex_lock(&drv.lock);
	drv.over = true;
	shutdown(drv.sock, SHUT_RDWR);
	pthread_mutex_unlock(&drv.lock);
	pthread_join(drv.thread, NULL);
	munmap(drv.slot, SLOT_PAGES * PAGE);
	for (i = 0; i < 3; i++)
		close(drv.efd[i]);
	close(drv.listener);
	close(drv.slot_fd);
	close(drv.other_fd);
	unlink(drv.path);
	return 0;
}

static void end_queues(void)
{
	assert_int_equal(unic_destroy_qp(qp), 0);
	assert_int_equal(unic_destroy_cq(cq), 0);
	assert_int_equal(unic_free_pd(pd), 0);
	unic_close(ctx);
}

/* ---------------------------------------------------------------- helpers */

/* The CQ's page was the first to be allocated, from the end of the slot. */
static void complete(uint32_t n, uint64_t wr_id)
{
	struct unic_cqe *ring = (void *)(drv.slot + (SLOT_PAGES - 1) * PAGE);
	struct unic_cqe *cqe = &ring[n % 8];

	cqe->qpn = unic_to_le32(drv.qpn);
	cqe->opcode = UNIC_WC_SEND;
	cqe->wr_id = unic_to_le64(wr_id);
	__atomic_store_n((uint32_t *)&cqe->seq, unic_to_le32(n + 1),
			 __ATOMIC_RELEASE);
}

static void post(uint64_t first, unsigned int n)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };

	for (wr.wr_id = first; n--; wr.wr_id++)
		assert_int_equal(unic_post_send(qp, &wr, 1), 1);
}

static unsigned int events_of(enum unic_ev_type type)
{
	struct unic_event ev;
	unsigned int n = 0;

	while (!unic_get_event(ctx, &ev)) {
		n += ev.type == type;
		unic_ack_event(&ev);
	}
	return n;
}

static bool readable(void)
{
	struct pollfd p = { .fd = unic_event_fd(ctx), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* After a reset of the NIC, the library begins at slot 0 of each ring, as the
 * NIC does; the queue pair has number @number. */
static void goes_on(uint32_t number)
{
	struct unic_wc wc[8];

	assert_int_equal(unic_qp_num(qp), number);
	assert_false(unic_ctx_lost(ctx));
	assert_int_equal(unic_poll_cq(cq, 8, wc), 0);
	post(50, 4); /* the ring is empty */
	assert_int_equal(unic_from_le32(db()->tail[qp->db].sq), 4);
	complete(0, 0);
	assert_int_equal(unic_poll_cq(cq, 8, wc), 1);
	assert_int_equal(wc[0].wr_id, 50);
	assert_int_equal(wc[0].status, UNIC_WC_SUCCESS);
	assert_int_equal(unic_from_le32(db()->tail[cq->db].cq_ci), 1);
}

/* --------------------------------------------------------------------- tests */

static void nothing_was_the_matter(void **state)
{
	struct unic_wc wc;

	(void)state;
	make_queues(true);
	post(1, 1);
	assert_int_equal(unic_recover(ctx, 1000), 0);
	assert_int_equal(drv.resyncs + drv.queries + drv.resets, 0);
	assert_int_equal(unic_poll_cq(cq, 1, &wc), 0); /* still under way */
	assert_int_equal(events_of(UNIC_EV_QP_ERROR), 0);
	end_queues();
}

static void only_what_is_kept(void **state)
{
	(void)state;
	make_queues(false);
	nic_is_reset();
	assert_int_equal(unic_recover(ctx, 1000), -EINVAL);
	assert_true(unic_ctx_lost(ctx));
	end_queues();
}

/* A flushed request completes under the opcode that the NIC would have given it. */
static void flushed_requests_keep_their_opcodes(void **state)
{
	static const uint8_t of[][2] = {
		{ UNIC_WR_WRITE_IMM, UNIC_WC_WRITE },
		{ UNIC_WR_BIND_MW, UNIC_WC_BIND_MW },
		{ UNIC_WR_LOCAL_INV, UNIC_WC_LOCAL_INV },
		{ UNIC_WR_SEND_INV, UNIC_WC_SEND },
	};
	struct unic_wc wc[4];
	unsigned int i;

	(void)state;
	make_queues(true);
	for (i = 0; i < 4; i++) {
		struct unic_send_wr wr = { .opcode = of[i][0] };

		assert_int_equal(unic_post_send(qp, &wr, 1), 1);
	}
	nic_is_reset();
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(unic_poll_cq(cq, 4, wc), 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(wc[i].status, UNIC_WC_WR_FLUSH_ERR);
		assert_int_equal(wc[i].opcode, of[i][1]);
	}
	end_queues();
}

/* Completed requests stay completed, all others are flushed once. The library
 * asks until the driver answers in the new epoch. */
static void reset_of_the_nic(void **state)
{
	struct unic_wc wc[8];
	unsigned int i;

	(void)state;
	make_queues(true);
	post(10, 4);
	complete(0, 0);
	cq->overrun = true; /* reported already */
	nic_is_reset();
	assert_int_equal(events_of(UNIC_EV_RESET), 1);
	drv.behind = 3;
	drv.stale = 0;
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(drv.behind, 0);
	assert_int_equal(drv.stale, 0);
	assert_int_equal(drv.hellos, 1);
	assert_int_equal(drv.resets, 1);
	assert_false(cq->overrun); /* a next one is reported */
	assert_int_equal(unic_req_notify(cq, false), 1); /* flushed requests */
	assert_int_equal(unic_wait_cq(cq, 1000), 0);
	assert_int_equal(unic_poll_cq(cq, 8, wc), 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(wc[i].wr_id, 10 + i);
		assert_int_equal(wc[i].status,
				 i ? UNIC_WC_WR_FLUSH_ERR : UNIC_WC_SUCCESS);
		assert_ptr_equal(wc[i].qp, qp);
	}
	assert_int_equal(events_of(UNIC_EV_QP_ERROR), 1);
	goes_on(78);
	assert_false(readable());
	nic_is_reset(); /* a second reset is reported, too */
	assert_int_equal(events_of(UNIC_EV_RESET), 1);
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(unic_poll_cq(cq, 8, wc), 3);
	assert_int_equal(wc[0].wr_id, 51);
	goes_on(79);
	driver_ends(); /* a reset does not hide this end */
	assert_true(readable());
	assert_int_equal(events_of(UNIC_EV_RESET), 1);
	end_queues();
}

/* What the library held back, to connect again, when the NIC was reset: it is flushed
 * with the rest, once, and the queue pair is its owner's. */
static void reset_while_it_is_mended(void **state)
{
	struct unic_cqe *cqe = (void *)(drv.slot + (SLOT_PAGES - 1) * PAGE);
	struct unic_wc wc[8];
	unsigned int i;

	(void)state;
	cut = UNIC_QP_CUT_REPLAY;
	make_queues(true);
	cut = UNIC_QP_CUT_ENDS;
	qp->mend.state = MEND_UP; /* as if it was connected */
	post(10, 4);
	cqe->status = UNIC_WC_REM_OP_ERR;
	complete(0, 0); /* and the others do not come */
	assert_int_equal(unic_poll_cq(cq, 8, wc), 0);
	while (!__atomic_load_n(&qp->mend.busy, __ATOMIC_ACQUIRE))
		usleep(1000);
	nic_is_reset();
	assert_int_equal(events_of(UNIC_EV_RESET), 1);
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_false(qp->mend.busy);
	assert_int_equal(unic_poll_cq(cq, 8, wc), 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(wc[i].wr_id, 10 + i);
		assert_int_equal(wc[i].status, UNIC_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(events_of(UNIC_EV_QP_ERROR), 1);
	cqe->status = 0;
	goes_on(78);
	end_queues();
}

/* After a reset, a region that the driver could not register again is gone, and
 * an earlier notice is void. */
static void regions_after_a_reset(void **state)
{
	struct unic_mr_attr attr = { .length = PAGE };
	struct unic_upcall_mr up = { .hdr = { .type = UNIC_UP_NOTICE },
				     .deadline_ns =
					     unic_to_le64(UINT64_MAX / 2) };
	struct unic_upcall_ring *ring = (void *)(drv.slot + 2 * PAGE);
	struct unic_mr *asked, *lost;

	(void)state;
	make_queues(true);
	attr.addr = unic_alloc(ctx, PAGE, PAGE);
	assert_int_equal(unic_reg_mr(pd, &attr, &asked), 0);
	up.user = unic_to_le32(drv.region[drv.regions - 1].user);
	assert_int_equal(unic_reg_mr(pd, &attr, &lost), 0);
	up.hdr.seq = unic_to_le32(++drv.upcalls);
	memcpy(ring->record[0], &up, sizeof(up));
	assert_int_equal(events_of(UNIC_EV_NOTICE), 1);
	assert_int_equal(unic_mr_life(asked), UNIC_MR_ASKED);
	nic_is_reset();
	drv.region[drv.regions - 1].state = UNIC_CTL_R_EVICTED;
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(unic_mr_life(asked), UNIC_MR_LIVE);
	assert_int_equal(unic_mr_life(lost), UNIC_MR_GONE);
	assert_int_equal(events_of(UNIC_EV_EVICTED), 1);
	assert_int_equal(unic_dereg_mr(asked), 0);
	assert_int_equal(unic_dereg_mr(lost), 0);
	end_queues();
}

static void driver_that_comes_back(void **state)
{
	struct unic_wc wc;

	(void)state;
	make_queues(true);
	post(10, 1);
	driver_ends();
	assert_int_equal(events_of(UNIC_EV_RESET), 1);
	assert_int_equal(unic_recover(ctx, 20), -ETIME); /* no answer */
	assert_true(unic_ctx_lost(ctx));
	driver_comes();
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_in_range(drv.resumes, 1, 2); /* the call that gave up, too */
	assert_int_equal(drv.stale, 0);
	assert_int_equal(events_of(UNIC_EV_QP_ERROR), 1);
	assert_int_equal(events_of(UNIC_EV_RESET), 0);
	assert_false(readable());
	driver_ends(); /* the end of this driver is seen, too */
	while (!readable())
		usleep(1000);
	assert_int_equal(events_of(UNIC_EV_RESET), 1);
	driver_comes();
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_in_range(drv.resumes, 2, 3);
	assert_int_equal(unic_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 10);
	goes_on(77);
	end_queues();
}

/* A new driver that ends at any step of unic_recover() does not fail it. */
static void driver_that_goes_again(void **state)
{
	static const uint16_t at[] = { UNIC_CTL_HELLO, UNIC_CTL_RESYNC,
				       UNIC_CTL_QP_QUERY, UNIC_CTL_QP_MODIFY };
	unsigned int i;

	(void)state;
	make_queues(true);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		driver_ends();
		drv.hang_up_at = at[i];
		driver_comes();
		assert_int_equal(unic_recover(ctx, 60000), 0);
		assert_int_equal(drv.hang_up_at, 0);
		assert_false(unic_ctx_lost(ctx));
	}
	end_queues();
}

/* Objects that ended while there was no driver end at the one that comes back, once and in
 * their order, also if it goes again meanwhile. */
static void ends_are_told_later(void **state)
{
	uint32_t end[8] = { 0 }, i;

	(void)state;
	make_queues(true);
	end[0] = UNIC_CTL_QP_DESTROY << 16 | qp->id;
	end[1] = UNIC_CTL_MR_DEREG << 16 | qp->mr->id;
	end[2] = UNIC_CTL_FRAMES_FREE << 16 | 1;
	end[3] = UNIC_CTL_CQ_DESTROY << 16 | cq->id;
	end[4] = UNIC_CTL_MR_DEREG << 16 | cq->mr->id;
	end[5] = end[2];
	end[6] = UNIC_CTL_PD_FREE << 16 | pd->id;
	driver_ends();
	assert_int_equal(unic_destroy_qp(qp), 0);
	assert_int_equal(unic_destroy_cq(cq), 0);
	assert_int_equal(unic_free_pd(pd), 0);
	assert_int_equal(drv.ends, 0);
	drv.hang_up_at = UNIC_CTL_CQ_DESTROY;
	driver_comes();
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(drv.hang_up_at, 0);
	assert_int_equal(drv.ends, 7);
	for (i = 0; i < 7; i++)
		assert_int_equal(drv.end[i], end[i]);
	unic_close(ctx);
}

/* A queue whose region cannot end, because the NIC is away, leaves nothing behind. */
static void queues_end_while_the_nic_is_away(void **state)
{
	uint32_t end[5] = { 0 }, i;

	(void)state;
	make_queues(true);
	end[0] = UNIC_CTL_QP_DESTROY << 16 | qp->id;
	end[1] = UNIC_CTL_CQ_DESTROY << 16 | cq->id;
	end[2] = UNIC_CTL_PD_FREE << 16 | pd->id;
	end[3] = UNIC_CTL_MR_DEREG << 16 | qp->mr->id;
	end[4] = UNIC_CTL_FRAMES_FREE << 16 | 1;
	drv.no_nic = true;
	assert_int_equal(unic_destroy_qp(qp), 0);
	assert_int_equal(unic_destroy_cq(cq), 0);
	assert_int_equal(unic_free_pd(pd), 0);
	assert_int_equal(drv.ends, 3);
	drv.no_nic = false;
	nic_is_reset();
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(drv.ends, 7);
	for (i = 0; i < 5; i++)
		assert_int_equal(drv.end[i], end[i]);
	assert_int_equal(drv.end[6], end[4]);
	unic_close(ctx);
}

static void has_object(uint32_t type, uint32_t id)
{
	drv.object[drv.objects++] =
		(struct unic_ctl_object){ .id = unic_to_le32(id),
					  .type = unic_to_le32(type) };
}

/* What the driver made, and the process never heard of, ends; all else stays. */
static void objects_without_an_answer_end(void **state)
{
	static const uint32_t ends[] = {
		UNIC_CTL_QP_DESTROY << 16 | 504,
		UNIC_CTL_CQ_DESTROY << 16 | 503,
		UNIC_CTL_UNLISTEN << 16 | 505,
		UNIC_CTL_MR_DEREG << 16 | 502,
		UNIC_CTL_PD_FREE << 16 | 501,
	};
	struct unic_listener *l;
	uint32_t i;

	(void)state;
	make_queues(true);
	assert_int_equal(unic_listen(ctx, 7, &l), 0);
	has_object(UNIC_CTL_O_PD, pd->id);
	has_object(UNIC_CTL_O_MR, cq->mr->id);
	has_object(UNIC_CTL_O_MR, qp->mr->id);
	has_object(UNIC_CTL_O_CQ, cq->id);
	has_object(UNIC_CTL_O_QP, qp->id);
	has_object(UNIC_CTL_O_LISTENER, l->id);
	has_object(UNIC_CTL_O_PD, 501);
	has_object(UNIC_CTL_O_MR, 502);
	has_object(UNIC_CTL_O_CQ, 503);
	has_object(UNIC_CTL_O_QP, 504);
	has_object(UNIC_CTL_O_LISTENER, 505);
	has_object(UNIC_CTL_O_CONN, 506);
	nic_is_reset();
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(drv.ends, 5);
	for (i = 0; i < 5; i++)
		assert_int_equal(drv.end[i], ends[i]);
	drv.ends = 0;
	assert_int_equal(unic_unlisten(l), 0);
	end_queues();
}

/* Frames, too, which no list has. */
static void frames_without_an_answer_end(void **state)
{
	(void)state;
	make_queues(true);
	drv.hang_up_at = UNIC_CTL_FRAMES_ALLOC;
	assert_null(unic_alloc(ctx, 3 * PAGE, PAGE));
	assert_int_equal(drv.hang_up_at, 0);
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(drv.ends, 1);
	assert_int_equal(drv.end[0], UNIC_CTL_FRAMES_FREE << 16 | 3);
	end_queues();
}

/* Regions that ended in a batch, too; and what is owed is forgotten at the end. */
static void ends_of_a_batch_are_told_later(void **state)
{
	struct unic_mr_attr attr = { .length = PAGE,
				     .rights = UNIC_MR_LOCAL_WRITE };
	struct unic_mr *mr[2];
	uint32_t id[2], i;

	(void)state;
	make_queues(true);
	for (i = 0; i < 2; i++) {
		attr.addr = unic_alloc(ctx, PAGE, PAGE);
		assert_int_equal(unic_reg_mr(pd, &attr, &mr[i]), 0);
		id[i] = mr[i]->id;
	}
	driver_ends();
	assert_int_equal(unic_dereg_mr_batch(ctx, mr, 2), -ENOTCONN);
	driver_comes();
	assert_int_equal(unic_recover(ctx, 60000), 0);
	assert_int_equal(drv.ends, 2);
	for (i = 0; i < 2; i++)
		assert_int_equal(drv.end[i], UNIC_CTL_MR_DEREG << 16 | id[i]);
	driver_ends();
	end_queues();
}

/* unic_recover() ends in time if a driver does not answer. */
static void driver_that_does_not_answer(void **state)
{
	static const uint16_t at[] = { UNIC_CTL_HELLO, UNIC_CTL_RESYNC };
	unsigned int i;
	uint64_t from;

	(void)state;
	make_queues(true);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		driver_ends();
		drv.silent_at = at[i];
		driver_comes();
		from = unic_now_ns();
		assert_int_equal(unic_recover(ctx, 100), -ETIME);
		assert_true(unic_now_ns() - from < 5000000000ull);
		assert_true(unic_ctx_lost(ctx));
		drv.silent_at = 0;
		assert_int_equal(unic_recover(ctx, 60000), 0);
	}
	end_queues();
}

/* unic_recover() fails if the driver has forgotten the process, or passes it
 * other memory, which may be that of another process. */
static void driver_that_forgot(void **state)
{
	(void)state;
	make_queues(true);
	driver_ends();
	assert_int_equal(unic_recover(ctx, 20), -ETIME);
	assert_true(unic_ctx_lost(ctx));
	drv.forgot = true;
	driver_comes();
	assert_int_equal(unic_recover(ctx, 60000), -ENOTCONN);
	assert_true(unic_ctx_lost(ctx));
	drv.forgot = false;
	drv.elsewhere = true;
	assert_int_equal(unic_recover(ctx, 60000), -ENOTCONN);
	assert_true(unic_ctx_lost(ctx));
	assert_int_equal(drv.resyncs, 0);
	drv.elsewhere = false;
	assert_int_equal(unic_recover(ctx, 60000), 0);
	end_queues();
}

#define WITH_DRIVER(test) cmocka_unit_test_setup_teardown(test, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(nothing_was_the_matter),
		WITH_DRIVER(only_what_is_kept),
		WITH_DRIVER(flushed_requests_keep_their_opcodes),
		WITH_DRIVER(reset_of_the_nic),
		WITH_DRIVER(reset_while_it_is_mended),
		WITH_DRIVER(regions_after_a_reset),
		WITH_DRIVER(driver_that_comes_back),
		WITH_DRIVER(driver_that_goes_again),
		WITH_DRIVER(ends_are_told_later),
		WITH_DRIVER(ends_of_a_batch_are_told_later),
		WITH_DRIVER(queues_end_while_the_nic_is_away),
		WITH_DRIVER(objects_without_an_answer_end),
		WITH_DRIVER(frames_without_an_answer_end),
		WITH_DRIVER(driver_that_does_not_answer),
		WITH_DRIVER(driver_that_forgot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
