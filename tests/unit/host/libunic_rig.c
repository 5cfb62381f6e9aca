/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

#include "libunic_rig.h"

struct driver drv;

struct unic_db_page *db(void)
{
	return (void *)drv.slot;
}

struct unic_nic_page *np(void)
{
	return (void *)(drv.slot + PAGE);
}

static bool has_frames(const struct unic_ctl_frames *f)
{
	uint32_t n = unic_from_le32(f->pages);

	if (drv.frames && drv.taken_frames + n > drv.frames)
		return false;
	drv.taken_frames += n;
	return true;
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

/* The base as the driver chooses it. */
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

/* Ends the waiting registration: grants it, or ends it with drv.wait_end. */
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

static size_t hello_reply(uint8_t *out)
{
	struct unic_ctl_hello_reply *h = (void *)out;
	struct unic_ctl_hello_version *v = (void *)out;

	if (drv.version) {
		v->hdr.status = unic_to_le16(UNIC_CTL_ST_VERSION);
		v->version = unic_to_le32(drv.version);
		return 0;
	}
	h->slot_bytes = unic_to_le64((uint64_t)SLOT_PAGES * PAGE);
	h->grace_us = unic_to_le32(20000);
	h->tlb_entries = unic_to_le32(1024);
	return 0;
}

static size_t reply_to(uint16_t op, const void *req, uint8_t *out)
{
	struct unic_ctl_queue_reply *q = (void *)out;

	switch (op) {
	case UNIC_CTL_HELLO:
		return hello_reply(out);
	case UNIC_CTL_FRAMES_ALLOC:
		if (!drv.taken && has_frames(req))
			return frames_reply(req, out);
		((struct unic_ctl_hdr *)out)->status = unic_to_le16(
			drv.taken ? UNIC_CTL_ST_IN_USE : UNIC_CTL_ST_NO_FRAMES);
		return 0;
	case UNIC_CTL_MR_REG:
		return reg_reply(req, out);
	case UNIC_CTL_MR_REREG:
		memcpy(&drv.rereg, req, sizeof(drv.rereg));
		return 0;
	case UNIC_CTL_FRAMES_FREE:
		drv.taken = false;
		drv.taken_frames -= unic_from_le32(
			((const struct unic_ctl_frames *)req)->pages);
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
		((struct unic_ctl_hdr *)out)->status = unic_to_le16(drv.status);
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
	ssize_t len;
	size_t tail;
	int first;

	(void)arg;
	drv.sock = accept(drv.listener, NULL, NULL);
	while ((len = recv(drv.sock, in, sizeof(in), 0)) >=
	       (ssize_t)UNIC_CTL_BYTES) {
		pthread_mutex_lock(&drv.lock);
		memset(out, 0, UNIC_CTL_BYTES);
		memcpy(drv.last, in, sizeof(drv.last));
		memcpy(out, in, sizeof(*hdr));
		hdr->epoch = unic_to_le32(1);
		op = unic_from_le16(hdr->op);
		first = drv.first ? drv.first(op, in, (size_t)len, out) : -1;
		tail = first < 0 ? reply_to(op, in, out) : (size_t)first;
		hdr->tail_bytes = unic_to_le32((uint32_t)tail);
		send_reply(drv.sock, out, UNIC_CTL_BYTES + tail,
			   op == UNIC_CTL_HELLO && !hdr->status);
		pthread_mutex_unlock(&drv.lock);
	}
	return NULL;
}

int driver_up(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	(void)state;
	memset(&drv, 0, sizeof(drv));
	pthread_mutex_init(&drv.lock, NULL);
	snprintf(drv.path, sizeof(drv.path), "/tmp/libunic_rig.%d",
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

int driver_down(void **state)
{
	(void)state;
	shutdown(drv.sock, SHUT_RDWR); /* left open by a test that failed */
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

void upcall(void *rec, uint8_t type)
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

void upcall_mr(uint8_t type, uint32_t user, uint64_t deadline_ns)
{
	struct unic_upcall_mr up = {
		.user = unic_to_le32(user),
		.notice_seq = unic_to_le32(5),
		.entries = unic_to_le32(4),
		.deadline_ns = unic_to_le64(deadline_ns),
	};

	upcall(&up, type);
}

void rig_up(struct rig *r)
{
	rig_up_as(r, UNIC_QP_CUT_ENDS);
}

void rig_up_as(struct rig *r, uint8_t cut)
{
	struct unic_qp_attr attr = { .sq_slots = 4, .rq_slots = 4, .cut = cut };

	assert_int_equal(unic_open(drv.path, &r->ctx), 0);
	r->ctx->heap = UNIC_HEAP_OF_C; /* with sanitizers it is not */
	assert_int_equal(unic_alloc_pd(r->ctx, &r->pd), 0);
	assert_int_equal(unic_create_cq(r->pd, 8, &r->cq), 0);
	attr.send_cq = attr.recv_cq = r->cq;
	assert_int_equal(unic_create_qp(r->pd, &attr, &r->qp), 0);
}

void rig_down(struct rig *r)
{
	assert_int_equal(unic_destroy_qp(r->qp), 0);
	assert_int_equal(unic_destroy_cq(r->cq), 0);
	assert_int_equal(unic_free_pd(r->pd), 0);
	unic_close(r->ctx);
}

struct unic_cqe *cq_ring(void)
{
	return (void *)(drv.slot + (SLOT_PAGES - 1) * PAGE);
}

struct unic_sq_slot *sq_ring(void)
{
	return (void *)(drv.slot + (SLOT_PAGES - 2) * PAGE);
}

void complete(uint32_t n, uint32_t qpn, uint8_t opcode, uint64_t wr_id)
{
	struct unic_cqe *cqe = &cq_ring()[n % 8];

	cqe->qpn = unic_to_le32(qpn);
	cqe->opcode = opcode;
	cqe->wr_id = unic_to_le64(wr_id);
	__atomic_store_n((uint32_t *)&cqe->seq, unic_to_le32(n + 1),
			 __ATOMIC_RELEASE);
}

struct unic_mr *reg(struct rig *r, void *mem, size_t len)
{
	struct unic_mr_attr attr = { .addr = mem, .length = len };
	struct unic_mr *mr;

	assert_int_equal(unic_reg_mr(r->pd, &attr, &mr), 0);
	return mr;
}

uint8_t *own_pages(void *at, size_t n)
{
	uint8_t *mem = mmap(at, n * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS |
				    (at ? MAP_FIXED_NOREPLACE : 0),
			    -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	assert_true(!at || mem == at);
	return mem;
}

void move_in(struct rig *r, void *mem, size_t n)
{
	assert_int_equal(unic_dereg_mr(reg(r, mem, n * PAGE)), 0);
}

bool is_parents(int err)
{
	return err == -ENOTCONN && strstr(unic_last_error(), "forked");
}
