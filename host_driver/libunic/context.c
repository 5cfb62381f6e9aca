/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * context.c - attaching to the driver, and the state of a context whose driver has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "context.h"
#include "event.h"
#include "fork.h"
#include "mem.h"
#include "mend_thread.h"
#include "move.h"
#include "mr.h"
#include "nics.h"
#include "owed.h"
#include "patience.h"
#include "usage.h"

void unic_ctx_dead(struct unic_ctx *ctx)
{
	__atomic_store_n(&ctx->dead, 1, __ATOMIC_RELEASE);
}

bool unic_ctx_lost(const struct unic_ctx *ctx)
{
	uint32_t epoch = unic_load_acquire(&ctx->np->epoch);

	return __atomic_load_n(&ctx->dead, __ATOMIC_ACQUIRE) ||
	       (ctx->nic_efd >= 0 && epoch && epoch != ctx->attr.epoch);
}

int unic_fail_dead(struct unic_ctx *ctx)
{
	if (ctx->forked)
		return unic_fail_forked();
	unic_ctx_dead(ctx);
	return unic_fail(-ENOTCONN, "the driver is gone or the NIC was reset; "
				    "close the context and open it again");
}

/* How long one call waits for its process's limit in all. */
#define PATIENCE_US 10000000u

/* unic_conn_call(), again when a registration was too fast. */
static int call_patiently(struct unic_conn *conn, unsigned int op,
			  struct unic_conn_call *call)
{
	uint64_t rec[UNIC_CTL_BYTES / 8];
	struct unic_ctl_too_fast_reply fast;
	struct timespec nap;
	uint32_t slept_us = 0, us;
	int status;

	memcpy(rec, call->rec, sizeof(rec));
	for (;;) {
		status = unic_conn_call(conn, op, call);
		if (status != UNIC_CTL_ST_TOO_FAST)
			return status;
		memcpy(&fast, call->rec, sizeof(fast));
		us = unic_from_le32(fast.retry_us);
		if (us > PATIENCE_US - slept_us)
			return status;
		slept_us += us;
		nap = (struct timespec){ .tv_sec = us / 1000000u,
					 .tv_nsec = us % 1000000u * 1000 };
		nanosleep(&nap, NULL);
		memcpy(call->rec, rec, sizeof(rec));
	}
}

bool unic_ctl_is_lost(int status)
{
	return status < 0 || status == UNIC_CTL_ST_RESET ||
	       status == UNIC_ST_STALE_EPOCH;
}

int unic_ctl_once(struct unic_ctx *ctx, unsigned int op,
		  struct unic_conn_call *call)
{
	struct unic_ctl_hdr *hdr = call->rec;
	int status;

	hdr->epoch = unic_to_le32(ctx->attr.epoch);
	status = call_patiently(ctx->conn, op, call);
	if (unic_ctl_is_lost(status))
		unic_ctx_dead(ctx);
	return status;
}

int unic_ctl(struct unic_ctx *ctx, unsigned int op, struct unic_conn_call *call)
{
	uint64_t rec[UNIC_CTL_BYTES / 8];
	int status;

	memcpy(rec, call->rec, sizeof(rec));
	status = unic_ctl_once(ctx, op, call);
	if (unic_ctl_is_lost(status))
		unic_owed_put(ctx, op, rec);
	return status;
}

int unic_ctl_simple(struct unic_ctx *ctx, unsigned int op, void *rec,
		    const char *what)
{
	struct unic_conn_call call = { .rec = rec };

	return unic_fail_status(what, unic_ctl(ctx, op, &call));
}

int unic_ctl_obj(struct unic_ctx *ctx, unsigned int op, uint32_t id,
		 const char *what)
{
	struct unic_ctl_obj rec = { .id = unic_to_le32(id) };

	return unic_ctl_simple(ctx, op, &rec, what);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void unic_ctx_close_fds(struct unic_ctx *ctx)
{
	close_fd(ctx->slot.fd);
	close_fd(ctx->nic_efd);
	close_fd(ctx->evt_efd);
	close_fd(ctx->upcall_efd);
	ctx->slot.fd = ctx->nic_efd = ctx->evt_efd = ctx->upcall_efd = -1;
}

void unic_ctx_init_locks(struct unic_ctx *ctx)
{
	pthread_mutex_init(&ctx->db_lock, NULL);
	pthread_mutex_init(&ctx->wake_lock, NULL);
	unic_cond_init(&ctx->wake_cond);
	unic_mender_init(&ctx->mender);
	unic_mem_init(ctx);
}

/* True if @a and @b are with different NICs of one driver, by what they named: slots of
 * one NIC are never those of another. */
static bool are_of_two_nics(const struct unic_ctx *a, const struct unic_ctx *b)
{
	size_t n = strcspn(a->socket, ",");

	return a->nic != UNIC_NIC_NONE && b->nic != UNIC_NIC_NONE &&
	       a->nic != b->nic && n == strcspn(b->socket, ",") &&
	       !memcmp(a->socket, b->socket, n);
}

/*
 * -EBUSY if an earlier context of this process, whose driver has ended, has memory: a new
 * driver may give the process the same slot, zeroed on attach, and that memory would be
 * lost. Called when the new driver of @fresh is connected: by then the end of the old one
 * is visible.
 */
static int refuse_stale_areas(const struct unic_ctx *fresh)
{
	struct unic_ctx *c;

	unic_forks_off();
	for (c = unic_ctx_first(); c; c = c->next) {
		if (!c->forked && c->conn && !are_of_two_nics(c, fresh) &&
		    __atomic_load_n(&c->areas, __ATOMIC_RELAXED) &&
		    (unic_ctx_lost(c) || unic_conn_hung_up(c->conn)))
			break;
	}
	unic_forks_on();
	return c ? unic_fail(-EBUSY, "the driver or the NIC of another context "
				     "of this process is gone, and memory is "
				     "in its slot still: close that context "
				     "first")
		 : 0;
}

/* ---------------------------------------------------------------- attaching */

static void read_comm(uint8_t name[16])
{
	char text[64] = "?";
	FILE *f = fopen("/proc/self/comm", "re");

	if (f) {
		if (!fgets(text, sizeof(text), f))
			strcpy(text, "?");
		fclose(f);
	}
	text[strcspn(text, "\n")] = '\0';
	memcpy(name, text, strnlen(text, 15));
}

/* Check the HELLO reply @r and its @n_fds descriptors, and store the facts. */
static int parse_hello(struct unic_ctx *ctx,
		       const struct unic_ctl_hello_reply *r, int n_fds)
{
	struct unic_attr *a = &ctx->attr;

	if (n_fds != 4)
		return unic_fail(-EPROTO, "attach: %d descriptors, not 4",
				 n_fds);
	a->proc = unic_from_le32(r->proc);
	a->id = unic_from_le32(r->host_id);
	a->epoch = unic_from_le32(r->hdr.epoch);
	a->tlb_entries = unic_from_le32(r->tlb_entries);
	a->grace_us = unic_from_le32(r->grace_us);
	a->deliver_us = unic_from_le32(r->deliver_us);
	a->bound_us = unic_from_le32(r->bound_us);
	a->path_mtu = unic_from_le32(r->path_mtu);
	a->ipv4 = unic_from_le32(r->ipv4);
	a->slot_bytes = unic_from_le64(r->slot_bytes);
	if (a->slot_bytes < 4 * UNIC_PAGE || a->slot_bytes > 1ull << 40)
		return unic_fail(-EPROTO, "attach: a slot of %llu bytes",
				 (unsigned long long)a->slot_bytes);
	ctx->slot.first = unic_from_le16(r->slot_at) * (0x10000u / UNIC_PAGE);
	ctx->slot.pages = (uint32_t)(a->slot_bytes / UNIC_PAGE);
	return 0;
}

/* Reads of @fd must not block: threads wait in poll(). */
static void set_nonblock(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Say what the driver's answer VERSION, @r, means. */
static int fail_version(const struct unic_ctl_hello_version *r)
{
	return unic_fail(-EPROTO,
			 "attach: the driver speaks version %u, this program "
			 "version %u; take both of one release",
			 unic_from_le32(r->version), UNIC_CTL_VERSION);
}

int unic_hello(struct unic_ctx *ctx, bool resume, int timeout_ms)
{
	union {
		struct unic_ctl_hello req;
		struct unic_ctl_hello_reply reply;
		struct unic_ctl_hello_version other;
	} rec = { .req = { .version = unic_to_le32(UNIC_CTL_VERSION) } };
	struct unic_conn_call call = { .rec = &rec,
				       .n_fds = 4,
				       .timeout_ms = timeout_ms };
	int status;
	int err;

	read_comm(rec.req.name);
	if (ctx->kept)
		rec.req.flags =
			unic_to_le32(UNIC_CTL_HELLO_KEEP |
				     (resume ? UNIC_CTL_HELLO_RESUME : 0));
	if (resume)
		rec.req.slot = unic_to_le32(ctx->attr.proc);
	status = unic_conn_call(ctx->conn, UNIC_CTL_HELLO, &call);
	err = status == UNIC_CTL_ST_VERSION
		      ? fail_version(&rec.other)
		      : unic_fail_status("attach", status);
	if (status < 0)
		return err;
	ctx->slot.fd = call.n_fds > 0 ? call.fds[0] : -1;
	ctx->nic_efd = call.n_fds > 1 ? call.fds[1] : -1;
	ctx->evt_efd = call.n_fds > 2 ? call.fds[2] : -1;
	ctx->upcall_efd = call.n_fds > 3 ? call.fds[3] : -1;
	if (err)
		return err;
	if (resume && !rec.reply.resumed)
		return -ESTALE;
	set_nonblock(ctx->evt_efd);
	set_nonblock(ctx->upcall_efd);
	return parse_hello(ctx, &rec.reply, call.n_fds);
}

static void *map_page(struct unic_ctx *ctx, unsigned int page, int prot)
{
	void *p;

	unic_forks_off();
	p = mmap(NULL, UNIC_PAGE, prot, MAP_SHARED, ctx->slot.fd,
		 unic_slot_at(&ctx->slot, page));
	if (p != MAP_FAILED)
		madvise(p, UNIC_PAGE, MADV_DONTFORK);
	unic_forks_on();
	return p == MAP_FAILED ? NULL : p;
}

static int map_pages(struct unic_ctx *ctx)
{
	ctx->db = map_page(ctx, UNIC_SLOT_DB_PAGE, PROT_READ | PROT_WRITE);
	ctx->np = map_page(ctx, UNIC_SLOT_NIC_PAGE, PROT_READ);
	ctx->upcalls = map_page(ctx, UNIC_SLOT_UPCALL_PAGE, PROT_READ);
	if (!ctx->db || !ctx->np || !ctx->upcalls)
		return unic_fail(-ENOMEM, "cannot map the slot: %s",
				 strerror(errno));
	/* The page keeps its FIFO from process to process; the NIC goes on at fifo_seq. */
	ctx->fifo_seq = unic_load_acquire(&ctx->db->fifo_seq);
	return 0;
}

static void unmap_page(const void *p)
{
	if (p)
		munmap((void *)p, UNIC_PAGE);
}

static void ctx_free(struct unic_ctx *ctx)
{
	unic_ctx_del(ctx);
	unic_owed_drop(ctx);
	unmap_page(ctx->db);
	unmap_page(ctx->np);
	unmap_page(ctx->upcalls);
	unic_ctx_close_fds(ctx);
	unic_conn_close(ctx->conn);
	pthread_mutex_destroy(&ctx->db_lock);
	pthread_mutex_destroy(&ctx->wake_lock);
	pthread_cond_destroy(&ctx->wake_cond);
	free(ctx);
}

static struct unic_ctx *ctx_new(void)
{
	struct unic_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->slot.fd = ctx->nic_efd = ctx->evt_efd = ctx->upcall_efd = -1;
	ctx->note_efd = ctx->event_fd = -1;
	ctx->nic = UNIC_NIC_NONE;
	unic_ctx_init_locks(ctx);
	unic_ctx_add(ctx);
	return ctx;
}

/* What a NIC has at most that does not say it. */
#define RING_SLOTS 1024u
#define CQ_ENTRIES 4096u

/* Query the NIC's table sizes, for unic_query() and sizes of queues. Failure is no error. */
static void query_info(struct unic_ctx *ctx)
{
	struct unic_ctl_plain rec = { 0 };
	struct unic_info info = { 0 };
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = &info,
				       .reply_room = sizeof(info) };

	ctx->attr.ring_slots = RING_SLOTS;
	ctx->attr.cq_entries = CQ_ENTRIES;
	if (unic_conn_call(ctx->conn, UNIC_CTL_INFO, &call) != UNIC_ST_OK)
		return;
	if (info.ring_slots)
		ctx->attr.ring_slots =
			(uint16_t)unic_from_le32(info.ring_slots);
	if (info.cq_entries)
		ctx->attr.cq_entries =
			(uint16_t)unic_from_le32(info.cq_entries);
	ctx->attr.mrs = unic_from_le32(info.mrs);
	ctx->attr.qps = unic_from_le32(info.qps);
	ctx->attr.cqs = unic_from_le32(info.cqs);
	ctx->attr.tokens = unic_from_le32(info.tokens);
	ctx->attr.pds = unic_from_le32(info.pds);
	ctx->attr.srqs = unic_from_le32(info.srqs);
	ctx->attr.features = unic_from_le64(info.features);
}

/* The NIC has no more part in memory of a closed context that stays in the slot. */
static void end_regions(struct unic_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < UNIC_MR_HANDLES; i++)
		if (ctx->region[i])
			unic_mem_region_drop(&ctx->region[i]->mr);
}

/* Free @ctx. Where memory cannot be moved out of the slot, as while a thread runs on it, the context
 * stays, and the slot is this process's: a driver that hears of its end gives the frames to others. */
static void end_ctx(struct unic_ctx *ctx)
{
	if (unic_mem_fini(ctx)) {
		unic_event_fini(ctx);
		ctx_free(ctx);
		return;
	}
	end_regions(ctx);
	unic_forks_off();
	ctx->left = true;
	unic_forks_on();
}

/* Free contexts that were left so, where that is possible now. */
static void end_left(void)
{
	struct unic_ctx *ctx;

	unic_forks_off();
	ctx = unic_ctx_first();
	while (ctx && !ctx->left)
		ctx = ctx->next;
	if (ctx)
		ctx->left = false;
	unic_forks_on();
	if (ctx)
		end_ctx(ctx);
}

static int open_once(const char *socket, bool kept, struct unic_ctx **out)
{
	struct unic_ctx *ctx;
	int err;

	end_left();
	ctx = ctx_new();
	if (!ctx)
		return unic_fail(-ENOMEM, "out of memory");
	ctx->kept = kept;
	strncpy(ctx->socket, socket, sizeof(ctx->socket) - 1);
	err = unic_nics_open(socket, &ctx->conn, &ctx->nic);
	if (!err && !unic_conn_kernel(ctx->conn))
		err = refuse_stale_areas(ctx);
	if (!err)
		err = unic_hello(ctx, false, 0);
	if (!err)
		err = map_pages(ctx);
	if (!err)
		err = unic_event_init(ctx);
	if (err) {
		ctx_free(ctx);
		return err;
	}
	ctx->sock = unic_conn_fd(ctx->conn);
	query_info(ctx);
	*out = ctx;
	return 0;
}

static int open_within(const char *socket, bool kept, uint32_t timeout_ms,
		       struct unic_ctx **out)
{
	uint64_t end = unic_patience_end(timeout_ms);
	int err;

	do { /* each time: /dev/unic may be there by now */
		err = open_once(socket ? socket : unic_conn_default(), kept,
				out);
	} while (err && unic_patience_again(err, end, -1));
	return err;
}

/* Waits as long as the environment says. */
static int open_ctx(const char *socket, bool kept, struct unic_ctx **out)
{
	uint32_t ms;

	if (unic_patience_read(&ms))
		return unic_fail(-EINVAL, UNIC_PATIENCE_WRONG,
				 unic_patience_text());
	return open_within(socket, kept, ms, out);
}

int unic_open(const char *socket, struct unic_ctx **out)
{
	return open_ctx(socket, false, out);
}

int unic_open_within(const char *socket, uint32_t timeout_ms,
		     struct unic_ctx **out)
{
	return open_within(socket, false, timeout_ms, out);
}

int unic_open_kept(const char *socket, struct unic_ctx **out)
{
	return open_ctx(socket, true, out);
}

void unic_close(struct unic_ctx *ctx)
{
	if (!ctx)
		return;
	unic_mender_fini(ctx);
	end_ctx(ctx);
}

void unic_query(const struct unic_ctx *ctx, struct unic_attr *out)
{
	*out = ctx->attr;
}

int unic_set_policy(struct unic_ctx *ctx, enum unic_policy policy)
{
	struct unic_ctl_own_policy rec = { .policy = unic_to_le32(policy) };

	return unic_ctl_simple(ctx, UNIC_CTL_OWN_POLICY, &rec,
			       "set the replacement policy");
}

int unic_query_usage(struct unic_ctx *ctx, struct unic_usage *out)
{
	struct unic_ctl_plain rec = { 0 };
	struct unic_cpl_usage usage = { 0 };
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = &usage,
				       .reply_room = sizeof(usage) };
	int err =
		unic_fail_status("usage", unic_ctl(ctx, UNIC_CTL_USAGE, &call));

	if (!err)
		unic_usage_parse(&usage, out);
	return err;
}

int unic_event_fd(struct unic_ctx *ctx)
{
	return ctx->event_fd;
}

int unic_alloc_pd(struct unic_ctx *ctx, struct unic_pd **out)
{
	union {
		struct unic_ctl_plain req;
		struct unic_ctl_id_reply reply;
	} rec = { .req = { .hdr = { .op = unic_to_le16(0) } } };
	struct unic_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return unic_fail(-ENOMEM, "out of memory");
	err = unic_ctl_simple(ctx, UNIC_CTL_PD_ALLOC, &rec,
			      "allocate a protection domain");
	if (err) {
		free(pd);
		return err;
	}
	pd->ctx = ctx;
	pd->id = unic_from_le32(rec.reply.id);
	pthread_mutex_lock(&ctx->evt_lock);
	pd->next = ctx->pds;
	ctx->pds = pd;
	pthread_mutex_unlock(&ctx->evt_lock);
	*out = pd;
	return 0;
}

static void remove_pd(struct unic_pd *pd)
{
	struct unic_ctx *ctx = pd->ctx;
	struct unic_pd **p = &ctx->pds;

	pthread_mutex_lock(&ctx->evt_lock);
	while (*p != pd)
		p = &(*p)->next;
	*p = pd->next;
	pthread_mutex_unlock(&ctx->evt_lock);
}

int unic_free_pd(struct unic_pd *pd)
{
	unsigned int users = __atomic_load_n(&pd->users, __ATOMIC_ACQUIRE);
	int err;

	if (users)
		return unic_fail(-EBUSY,
				 "%u regions or queues still belong to the "
				 "protection domain",
				 users);
	err = unic_ctl_obj(pd->ctx, UNIC_CTL_PD_FREE, pd->id,
			   "free a protection domain");
	if (err && err != -ENOTCONN)
		return err;
	remove_pd(pd);
	free(pd);
	return 0;
}
