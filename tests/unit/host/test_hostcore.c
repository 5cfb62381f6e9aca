/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The portable host driver against a device that is a piece of memory: the
 * test plays the NIC, well or badly. Host only.
 */
#include <pthread.h>
#include <signal.h>

#include "unit.h"

#include "upcall.h"
#include "request.h"
#include "cm/cm_conn.h"
#include "cm/cm_mad.h"
#include "region/frames_slot.h"
#include "cm/grants.h"
#include "provider/provider_loop.h"
#include "provider/provider_nic.h"
#include "host.h"
#include "provider/mailbox_client.h"
#include "region/region.h"
#include "unic_queue.h"
#include "unic_stats.h"

/* ------------------------------------------------------ the OS and the NIC */

#define SLOTS	   2u
#define SLOT_BYTES (1u << 20)
#define REPLIES	   64u

struct unic_os {
	uint64_t now_ns;
	uint32_t rings, upcalls, quiet, replies, fail_alloc, audited, randoms;
	uint32_t same_randoms; /* so many are as the one before */
	uint64_t all_random;   /* not 0: 8 bytes are drawn from it */
	char audit[128];       /* the last line of the log of calls */
	bool mapped;	       /* a process has its old slot mapped */
	long live;	       /* allocations */
	uint32_t *hide;	       /* becomes 0 when so many bytes are allocated */
	size_t hide_at;
	void (*on_ring)(void); /* somebody else at work */
	uint64_t reply[REPLIES][UNIC_CTL_MSG_MAX / 8];
	uint32_t reply_bytes[REPLIES];
};

uint64_t unic_os_now_ns(struct unic_os *os)
{
	return os->now_ns;
}

void *unic_os_alloc(struct unic_os *os, size_t bytes)
{
	if (os->fail_alloc && !--os->fail_alloc)
		return NULL;
	if (os->hide && bytes == os->hide_at)
		*os->hide = 0;
	os->live++;
	return calloc(1, bytes);
}

void unic_os_free(struct unic_os *os, void *p)
{
	os->live -= p != NULL;
	free(p);
}

void unic_os_log(struct unic_os *os, enum unic_os_level level, const char *fmt,
		 ...)
{
	va_list args;

	if (level != UNIC_LOG_AUDIT)
		return;
	os->audited++;
	va_start(args, fmt);
	vsnprintf(os->audit, sizeof(os->audit), fmt, args);
	va_end(args);
}

void unic_os_random(struct unic_os *os, void *buf, size_t bytes)
{
	memset(buf, 0x5a, bytes);
	if (os->all_random && bytes == 8) {
		os->all_random = os->all_random * 6364136223846793005ull + 1;
		memcpy(buf, &os->all_random, 8);
		return;
	}
	memcpy(buf, &os->randoms, bytes < 2 ? bytes : 2);
	if (bytes >= 8)
		memcpy((uint8_t *)buf + 4, &os->randoms, 2);
	if (os->same_randoms)
		os->same_randoms--;
	else
		os->randoms++;
}

void unic_os_ring_nic(struct unic_os *os)
{
	os->rings++;
}

void unic_os_ring_proc(struct unic_os *os, uint32_t slot)
{
	(void)slot;
	if (os->on_ring)
		os->on_ring();
}

void unic_os_upcall(struct unic_os *os, uint32_t slot)
{
	(void)slot;
	os->upcalls++;
}

void unic_os_reply(struct unic_os *os, struct unic_client *client,
		   const void *msg, uint32_t bytes, uint32_t hello_slot)
{
	(void)client;
	(void)hello_slot;
	assert_true(os->replies < REPLIES);
	memcpy(os->reply[os->replies], msg, bytes);
	os->reply_bytes[os->replies++] = bytes;
}

void unic_os_slot_zero(struct unic_os *os, uint32_t slot)
{
	(void)os;
	(void)slot;
}

void unic_os_slot_quiet(struct unic_os *os, uint32_t slot)
{
	(void)slot;
	os->quiet++;
}

bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid)
{
	(void)slot;
	(void)pid;
	return !os->mapped;
}

/* The NIC's own copies of its indices, and its memory. */
struct fake {
	struct unic_os os;
	struct unic_host *host;
	struct unic_client client;
	uint8_t *bar;
	void *slot[SLOTS], *journal;
	uint32_t cmd_head, cpl_tail, evt_tail, epoch, commands;
	uint8_t answer[64];	 /* status by opcode */
	uint64_t cpl[64][8];	 /* completion template by opcode */
	uint64_t last[64][8];	 /* last command by opcode */
	uint32_t given[64];	 /* commands by opcode */
	uint64_t modified[8][8]; /* last QP_MODIFY by state */
	bool lists;		 /* `listed` is the answer in a list page */
	uint8_t listed[UNIC_LIST_BYTES];
};

static struct unic_info *info(struct fake *f)
{
	return (void *)(f->bar + UNIC_BAR_INFO_OFF);
}

static struct unic_nic_idx *idx(struct fake *f)
{
	return (void *)(f->bar + UNIC_BAR_NIC_OFF);
}

static struct unic_driver_page *driver(struct fake *f)
{
	return (void *)(f->bar + UNIC_BAR_DRIVER_OFF);
}

static void complete(struct fake *f, const uint64_t *rec)
{
	memcpy(f->bar + UNIC_BAR_CPL_OFF + f->cpl_tail % 64 * 64, rec, 64);
	idx(f)->cpl_tail = unic_to_le32(++f->cpl_tail);
}

static void remember_modify(struct fake *f, const uint64_t *rec)
{
	struct unic_cmd_qp_modify m;

	memcpy(&m, rec, sizeof(m));
	assert_true(m.state < 8);
	memcpy(f->modified[m.state], rec, 64);
}

/* Execute what the driver asked, as the tables say. */
static void nic_run(struct fake *f)
{
	if (unic_from_le32(driver(f)->reset_req) !=
	    unic_from_le32(info(f)->reset_ack)) {
		memset(idx(f), 0, sizeof(*idx(f)));
		f->cmd_head = f->cpl_tail = f->evt_tail = 0;
		f->epoch++;
		info(f)->boot_epoch = unic_to_le32(f->epoch);
		info(f)->state = unic_to_le32(UNIC_NIC_READY);
		info(f)->reset_ack = driver(f)->reset_req;
		return;
	}
	/* a tail out of range is a driver about to reset us */
	while (unic_from_le32(driver(f)->cmd_tail) - f->cmd_head - 1 < 64) {
		struct unic_cmd_hdr hdr;
		uint64_t rec[8];

		memcpy(rec, f->bar + UNIC_BAR_CMD_OFF + f->cmd_head % 64 * 64,
		       64);
		memcpy(&hdr, rec, sizeof(hdr));
		assert_true(hdr.opcode < 64);
		memcpy(f->last[hdr.opcode], rec, 64);
		f->given[hdr.opcode]++;
		if (hdr.opcode == UNIC_CMD_QP_MODIFY)
			remember_modify(f, rec);
		if (f->lists)
			memcpy(f->bar + UNIC_BAR_LIST_OFF +
				       f->cmd_head % 64 * UNIC_LIST_BYTES,
			       f->listed, UNIC_LIST_BYTES);
		memcpy(rec, f->cpl[hdr.opcode], 64);
		hdr.status = f->answer[hdr.opcode];
		memcpy(rec, &hdr, sizeof(hdr));
		f->cmd_head++;
		f->commands++;
		complete(f, rec);
	}
}

/* Each process's count of requests that wait, or may come to, is that of the
 * regions which say so. */
static void check_waits(struct fake *f)
{
	uint32_t n[SLOTS] = { 0 }, at = 0, i;
	struct unic_region *mr;

	while ((mr = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_MR,
				   UNIC_OBJ_ANYONE)))
		n[mr->obj.owner] +=
			mr->state == R_WAITING ||
			(mr->state == R_REGISTERING && mr->may_wait);
	for (i = 0; i < SLOTS; i++)
		assert_int_equal(f->host->proc[i].waits, n[i]);
}

static void settle(struct fake *f)
{
	int i;

	for (i = 0; i < 20; i++) {
		nic_run(f);
		unic_host_poll(f->host);
		check_waits(f);
	}
}

static void start_driver(struct fake *f)
{
	struct unic_host_config config = {
		.slots = SLOTS,
		.slot_bytes = SLOT_BYTES,
		.slot_mem = f->slot,
		.journal = f->journal,
		.ipv4 = 0x0a000001,
	};

	f->host = unic_host_new(&f->os, unic_nic_provider(&f->os, f->bar),
				&config);
	assert_non_null(f->host);
	f->client = (struct unic_client){ .pid = 7,
					  .privileged = true,
					  .slot = UNIC_OS_NO_SLOT };
}

static struct fake *fake_new(void)
{
	struct fake *f = calloc(1, sizeof(*f));
	uint32_t i;

	f->os.now_ns = 1000000000;
	f->bar = aligned_alloc(4096, UNIC_BAR_BYTES);
	memset(f->bar, 0, UNIC_BAR_BYTES);
	for (i = 0; i < SLOTS; i++) {
		f->slot[i] = aligned_alloc(4096, SLOT_BYTES);
		memset(f->slot[i], 0, SLOT_BYTES);
	}
	info(f)->magic = unic_to_le32(UNIC_MAGIC);
	info(f)->abi_major = unic_to_le16(UNIC_ABI_MAJOR);
	info(f)->procs = unic_to_le32(SLOTS);
	info(f)->features = unic_to_le64(UNIC_FEAT_DEMAND | UNIC_FEAT_TABLE);
	info(f)->tokens = unic_to_le32(16);
	info(f)->path_mtu = unic_to_le32(1024);
	f->epoch = 100;
	f->journal = calloc(1, unic_host_journal_bytes(SLOTS, SLOT_BYTES));
	start_driver(f);
	unic_host_plug(f->host, true);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	return f;
}

static void fake_delete(struct fake *f)
{
	uint32_t i;

	unic_host_delete(f->host);
	assert_int_equal(f->os.live, 0);
	for (i = 0; i < SLOTS; i++)
		free(f->slot[i]);
	free(f->bar);
	free(f->journal);
	free(f);
}

/* Send one request; returns its reply's status, or -1: none yet. */
static int request(struct fake *f, uint16_t op, void *rec)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op) }, got;

	f->os.replies = 0;
	memcpy(rec, &hdr, sizeof(hdr));
	assert_true(unic_host_request(f->host, &f->client, rec, 64));
	settle(f);
	if (!f->os.replies)
		return -1;
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.op), op);
	return unic_from_le16(got.status);
}

static uint32_t reply_u32(struct fake *f, uint32_t at)
{
	unic_le32 v;

	memcpy(&v, (uint8_t *)f->os.reply[0] + at, sizeof(v));
	return unic_from_le32(v);
}

static uint32_t hello_flags; /* of the next HELLO */

static void hello(struct fake *f)
{
	struct unic_ctl_hello r = { .version = unic_to_le32(1),
				    .flags = unic_to_le32(hello_flags) };

	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), 0);
}

#define VA 0x100000ull

static uint8_t residency; /* of the next region */

/* A PD, 8 frames at VA, and a region over the first @pages of them. */
static uint32_t region(struct fake *f, uint32_t pages)
{
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(pages > 8 ? pages
								      : 8),
				      .page_shift = 12 };
	struct unic_ctl_plain pd = { 0 };
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(9),
				       .stag = unic_to_le32(0xabcd00) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(pages * 4096),
				       .user = unic_to_le32(55),
				       .residency = residency };

	hello(f);
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	assert_int_equal(reply_u32(f, 20), 0xabcd00);
	return reply_u32(f, 16);
}

static uint32_t pinned(struct fake *f)
{
	return f->host->proc[f->client.slot].frames.pinned;
}

static void put_event(struct fake *f, const void *evt)
{
	memcpy(f->bar + UNIC_BAR_EVT_OFF + f->evt_tail % 512 * 64, evt, 64);
	idx(f)->evt_tail = unic_to_le32(++f->evt_tail);
}

/* The NIC says @evt as it is. */
static void nic_says(struct fake *f, const void *evt)
{
	put_event(f, evt);
	settle(f);
}

static void event(struct fake *f, void *evt)
{
	struct unic_evt_hdr *hdr = evt;

	hdr->epoch = unic_to_le32(f->epoch);
	nic_says(f, evt);
}

static struct unic_evt_mr notice(uint32_t id, uint8_t type)
{
	return (struct unic_evt_mr){ .hdr = { .type = type,
					      .reason = UNIC_WHY_WAITER },
				     .mr = unic_to_le32(3),
				     .gen = unic_to_le32(9),
				     .user = unic_to_le32(id),
				     .stag = unic_to_le32(0x305),
				     .seq = unic_to_le32(77),
				     .entries = unic_to_le32(4),
				     .dependents = unic_to_le32(6),
				     .rank = unic_to_le32(2),
				     .pain = unic_to_le32(123),
				     .grace_us = unic_to_le32(20000) };
}

static const uint8_t *upcall(struct fake *f, uint32_t n)
{
	struct unic_upcall_ring *ring =
		(void *)((uint8_t *)f->slot[f->client.slot] + 2 * 4096);

	return ring->record[n % UNIC_UPCALLS];
}

/* --------------------------------------------------------------- objects */

static void ids_never_come_back(void **state)
{
	struct unic_os os = { 0 };
	struct unic_objects t;
	struct unic_obj *a, *b;
	uint32_t first, i;

	(void)state;
	assert_int_equal(unic_objects_init(&t, &os), 0);
	a = unic_obj_alloc(&t, UNIC_OBJ_PD, 1, sizeof(*a));
	first = a->id;
	assert_ptr_equal(unic_obj_get(&t, first, UNIC_OBJ_PD, 1), a);
	assert_null(unic_obj_get(&t, first, UNIC_OBJ_PD, 2));
	assert_null(unic_obj_get(&t, first, UNIC_OBJ_MR, 1));
	assert_null(unic_obj_get(&t, 0, UNIC_OBJ_PD, 1));
	unic_obj_free(&t, a);
	for (i = 0; i < 3 * UNIC_OBJ_MAX; i++) {
		b = unic_obj_alloc(&t, UNIC_OBJ_PD, 1, sizeof(*b));
		assert_int_not_equal(b->id, first);
		unic_obj_free(&t, b);
	}
	assert_null(unic_obj_get(&t, first, UNIC_OBJ_PD, 1));
	unic_objects_fini(&t);
	assert_int_equal(os.live, 0);
}

/* What an earlier driver used up stays so, whether its object was there at its end
 * or not. */
static void ids_that_were_used_up_do_not_come_back(void **state)
{
	const uint32_t last = UINT32_MAX << UNIC_OBJ_BITS;
	struct unic_obj_note *note = calloc(UNIC_OBJ_MAX, sizeof(*note));
	struct unic_os os = { 0 };
	struct unic_objects t;
	struct unic_obj *o;
	uint32_t n = 0;

	(void)state;
	note[5].id = last | 5;
	note[6].id = last | 6;
	note[6].live = 1;
	note[7].id = (last - UNIC_OBJ_MAX) | 7;
	assert_int_equal(unic_objects_init(&t, &os), 0);
	unic_objects_journal(&t, note);
	unic_objects_tidy(&t);
	while ((o = unic_obj_alloc(&t, UNIC_OBJ_PD, 1, sizeof(*o)))) {
		uint32_t i = o->id % UNIC_OBJ_MAX;

		assert_true(i != 5 && i != 6);
		assert_int_equal(o->id, i == 7 ? last | 7 : UNIC_OBJ_MAX + i);
		n++;
	}
	assert_int_equal(n, UNIC_OBJ_MAX - 2);
	unic_objects_fini(&t);
	free(note);
}

static void ids_run_out(void **state)
{
	struct unic_os os = { 0 };
	struct unic_objects t;
	uint32_t i;

	(void)state;
	assert_int_equal(unic_objects_init(&t, &os), 0);
	for (i = 0; i < UNIC_OBJ_MAX; i++)
		assert_non_null(unic_obj_alloc(&t, UNIC_OBJ_MR, 0,
					       sizeof(struct unic_obj)));
	assert_null(
		unic_obj_alloc(&t, UNIC_OBJ_MR, 0, sizeof(struct unic_obj)));
	unic_objects_fini(&t);
}

static void objects_are_counted_by_owner(void **state)
{
	struct unic_os os = { 0 };
	struct unic_objects t;
	struct unic_obj *a, *b;

	(void)state;
	assert_int_equal(unic_objects_init(&t, &os), 0);
	a = unic_obj_alloc(&t, UNIC_OBJ_MR, 3, sizeof(*a));
	b = unic_obj_alloc(&t, UNIC_OBJ_MR, 3, sizeof(*b));
	unic_obj_alloc(&t, UNIC_OBJ_PD, 3, sizeof(*a));
	unic_obj_alloc(&t, UNIC_OBJ_MR, 4, sizeof(*a));
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_MR, 3), 2);
	unic_obj_disown(&t, a);
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_MR, 3), 1);
	unic_obj_free(&t, a);
	unic_obj_free(&t, b);
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_MR, 3), 0);
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_MR, 4), 1);
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_PD, 3), 1);
	unic_objects_fini(&t);
}

/* ---------------------------------------------------------------- frames */

static void frames_fill_and_empty(void **state)
{
	static uint8_t mem[4 << 20];
	struct unic_os os = { 0 };
	struct unic_frames f;
	uint32_t list[1024];

	(void)state;
	assert_int_equal(unic_frames_init(&f, &os, mem, sizeof(mem), 0, 3), 0);
	assert_int_equal(unic_frames_alloc(&f, 0, 1021, 12, list), 0);
	assert_int_equal(unic_frames_alloc(&f, 1ull << 32, 1, 12, list),
			 -ENOSPC);
	assert_int_equal(unic_frames_free(&f, 0, 1021), 0);
	assert_int_equal(unic_frames_alloc(&f, 0, 512, 21, list), 0);
	assert_int_equal(list[0], 512); /* block 0 is never whole */
	assert_int_equal(unic_frames_alloc(&f, 1ull << 32, 512, 21, list),
			 -ENOSPC);
	assert_int_equal(unic_frames_free(&f, 0, 511), -ENOENT); /* half */
	assert_int_equal(unic_frames_pin(&f, 4096, 1, true), 0);
	assert_int_equal(unic_frames_free(&f, 0, 512), -EBUSY);
	unic_frames_unpin(&f, 4096, 1);
	assert_int_equal(unic_frames_free(&f, 0, 512), 0);
	assert_int_equal(f.used, 0);
	assert_int_equal(f.used, 0);
	/* the end of the address space */
	assert_int_equal(unic_frames_alloc(&f, -4096ull, 1, 12, list), 0);
	assert_int_equal(unic_frames_alloc(&f, -8192ull, 3, 12, list), -EINVAL);
	assert_int_equal(unic_frames_pin(&f, -1ull, 2, true), -ENOENT);
	assert_int_equal(unic_frames_shift(&f, -4096ull, 0, 4096, 21), 12);
	unic_frames_fini(&f);
}

/* Single frames lie apart, so they never make a large page; a run does. */
static void page_sizes_follow_the_frames(void **state)
{
	static uint8_t mem[64 * 4096] __attribute__((aligned(65536)));
	struct unic_os os = { 0 };
	struct unic_frames f;
	uint32_t list[64], i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		os.fail_alloc = i;
		assert_int_equal(unic_frames_init(&f, &os, mem, sizeof(mem), 0,
						  0),
				 -ENOMEM);
		unic_frames_fini(&f);
	}
	os.fail_alloc = 0;
	assert_int_equal(unic_frames_init(&f, &os, mem, sizeof(mem), 0, 0), 0);
	assert_int_equal(unic_frames_alloc(&f, VA, 16, 13, list), -EINVAL);
	assert_int_equal(unic_frames_alloc(&f, VA, 16, 12, list), 0);
	assert_int_equal(unic_frames_shift(&f, VA, VA, 65536, 21), 12);
	assert_int_equal(unic_frames_shift(&f, VA, VA, 65 * 4096, 21), 0);
	assert_int_equal(unic_frames_free(&f, VA, 16), 0);
	assert_int_equal(unic_frames_alloc(&f, VA, 16, 16, list), 0);
	assert_int_equal(unic_frames_shift(&f, VA, VA, 65536, 21), 16);
	assert_int_equal(unic_frames_shift(&f, VA, VA + 4096, 4096, 21), 12);
	assert_int_equal(unic_frames_shift(&f, VA, VA + 1, 4096, 21), 0);
	unic_frames_fini(&f);
	assert_int_equal(os.live, 0);
}

static void pins_count_overlaps_once(void **state)
{
	static uint8_t mem[1 << 20];
	struct unic_os os = { 0 };
	struct unic_frames f;
	uint32_t list[16], i;

	(void)state;
	assert_int_equal(unic_frames_init(&f, &os, mem, sizeof(mem), 0, 3), 0);
	assert_int_equal(unic_frames_alloc(&f, VA, 16, 12, list), 0);
	assert_int_equal(unic_frames_pin(&f, VA + 100, 2 * 4096, true), 0);
	assert_int_equal(f.pinned, 3);
	assert_int_equal(unic_frames_pin(&f, VA + 2 * 4096, 4096, true), 0);
	assert_int_equal(f.pinned, 3);
	unic_frames_unpin(&f, VA + 100, 2 * 4096);
	assert_int_equal(f.pinned, 1);
	unic_frames_unpin(&f, VA + 2 * 4096, 4096);
	assert_int_equal(f.pinned, 0);
	assert_int_equal(unic_frames_pin(&f, VA + 15 * 4096, 8192, true),
			 -ENOENT);
	assert_int_equal(f.pinned, 0);
	for (i = 0; i < 65535; i++)
		assert_int_equal(unic_frames_pin(&f, VA + 4096, 1, true), 0);
	assert_int_equal(unic_frames_pin(&f, VA, 8192, true), -EOVERFLOW);
	assert_int_equal(f.pinned, 1);
	unic_frames_fini(&f);
}

/* --------------------------------------------------- a hostile mailbox */

static void wild_indices_are_ignored(void **state)
{
	struct fake *f = fake_new();
	uint32_t bad = f->host->provider->bad_records;
	uint64_t evt[8];

	(void)state;
	(void)evt;
	idx(f)->cpl_tail = unic_to_le32(f->cpl_tail + 65);
	idx(f)->evt_tail = unic_to_le32(f->evt_tail + 513);
	idx(f)->mad_tail = unic_to_le32(0x80000000);
	unic_host_poll(f->host);
	assert_true(f->host->provider->bad_records >= bad + 3);
	idx(f)->cpl_tail = unic_to_le32(f->cpl_tail);
	idx(f)->evt_tail = unic_to_le32(f->evt_tail);
	idx(f)->mad_tail = unic_to_le32(0);
	hello(f); /* it still works */
	fake_delete(f);
}

/* A NIC that is awake answers before a sleep would have begun. */
static void answers_that_are_due_come_without_interrupt(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_HELLO) };

	(void)state;
	memcpy(&r, &op, sizeof(op));
	unic_host_request(f->host, &f->client, &r, 64);
	idx(f)->asleep = unic_to_le32(1);
	assert_true(unic_host_rest(f->host, true));
	assert_int_equal(unic_from_le32(driver(f)->want_irq), 1);
	unic_host_rest(f->host, false); /* we poll */
	assert_int_equal(unic_from_le32(driver(f)->want_irq), 0);
	unic_host_poll(f->host);
	idx(f)->asleep = unic_to_le32(0);
	idx(f)->cpl_tail = unic_to_le32(f->cpl_tail + 65); /* wild */
	assert_true(unic_host_rest(f->host, true));
	unic_host_poll(f->host);
	nic_run(f);
	assert_false(unic_host_rest(f->host, true));
	assert_int_equal(unic_from_le32(driver(f)->want_irq), 0);
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

static void foreign_completions_are_ignored(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_HELLO) };
	struct unic_cmd_hdr hdr;
	uint64_t rec[8], bad[8];
	int k;

	(void)state;
	memcpy(&r, &op, sizeof(op));
	unic_host_request(f->host, &f->client, &r, 64);
	memcpy(rec, f->bar + UNIC_BAR_CMD_OFF + f->cmd_head % 64 * 64, 64);
	f->cmd_head++;
	for (k = 0; k < 3; k++) { /* wrong epoch, cookie, opcode */
		memcpy(bad, rec, 64);
		memcpy(&hdr, bad, sizeof(hdr));
		if (k == 0)
			hdr.epoch = unic_to_le32(f->epoch + 1);
		else if (k == 1)
			hdr.cookie =
				unic_to_le16(unic_from_le16(hdr.cookie) ^ 0x40);
		else
			hdr.opcode = UNIC_CMD_NOP;
		memcpy(bad, &hdr, sizeof(hdr));
		complete(f, bad);
		unic_host_poll(f->host);
		assert_int_equal(f->os.replies, 0);
	}
	assert_int_equal(f->host->provider->bad_records, 3);
	memset(rec + 1, 0, 56);
	complete(f, rec);
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 1);
	complete(f, rec); /* the same again: nobody's */
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

static void random_device_memory(void **state)
{
	struct fake *f = fake_new();
	uint32_t seed = 12345, i, k;

	(void)state;
	region(f, 4);
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 64; k++) {
			uint32_t off;

			seed = seed * 1664525 + 1013904223;
			off = seed >> 8 & 0x1ffff;
			f->bar[off] = (uint8_t)(seed >> 3);
		}
		idx(f)->evt_tail = unic_to_le32(seed >> 5 & 0x3ff);
		idx(f)->cpl_tail = unic_to_le32(seed >> 9 & 0x7f);
		unic_host_poll(f->host);
		f->os.now_ns += 1000000;
		f->os.replies = 0;
	}
	fake_delete(f);
}

/* The driver looks every 100 ms. */
static void look_for(struct fake *f, uint32_t ms)
{
	uint32_t i;

	for (i = 0; i < ms / 100; i++) {
		f->os.now_ns += 100000000;
		unic_host_poll(f->host);
	}
}

static void silence_is_death_and_heals(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_plain pd = { 0 };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_PD_ALLOC) }, got;

	(void)state;
	hello(f);
	f->os.replies = 0;
	memcpy(&pd, &op, sizeof(op));
	unic_host_request(f->host, &f->client, &pd, 64);
	look_for(f, 3000);
	assert_int_equal(f->os.replies, 0);
	look_for(f, 100);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_DEAD);
	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.status), UNIC_CTL_ST_RESET);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd),
			 UNIC_CTL_ST_NO_NIC);
	f->os.now_ns += 2000000000ull;
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	fake_delete(f);
}

/* A driver that was away, and maybe the NIC with it, does not hold that against
 * the NIC; but a NIC that hangs is dead 3 s after the driver is back. */
static void absence_of_the_driver_is_no_silence(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_plain pd = { 0 };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_PD_ALLOC) };

	(void)state;
	hello(f);
	f->os.replies = 0;
	memcpy(&pd, &op, sizeof(op));
	unic_host_request(f->host, &f->client, &pd, 64);
	look_for(f, 2000);
	f->os.now_ns += 60000000000ull;
	unic_host_poll(f->host);
	look_for(f, 3000);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	look_for(f, 100);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_DEAD);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

static void more_commands_than_slots(void **state)
{
	struct fake *f = fake_new();
	struct unic_client c[8];
	struct unic_ctl_dump d = { .table = unic_to_le32(1) };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_DUMP) };
	uint32_t i, k, before = f->commands;

	(void)state;
	memcpy(&d, &op, sizeof(op));
	for (i = 0; i < 8; i++) {
		c[i] = (struct unic_client){ .slot = UNIC_OS_NO_SLOT,
					     .privileged = true };
		for (k = 0; k < 20; k++)
			unic_host_request(f->host, &c[i], &d, 64);
	}
	for (i = 0; i < 20; i++) {
		f->os.replies = 0;
		nic_run(f);
		unic_host_poll(f->host);
	}
	assert_int_equal(f->commands - before, 160);
	for (i = 0; i < 8; i++)
		assert_int_equal(c[i].open, 0);
	fake_delete(f);
}

static void too_many_requests(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_dump d = { .table = unic_to_le32(1) };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_DUMP) }, got;
	uint32_t i;

	(void)state;
	memcpy(&d, &op, sizeof(op));
	for (i = 0; i <= UNIC_CTL_OPEN_MAX; i++)
		unic_host_request(f->host, &f->client, &d, 64);
	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.status), UNIC_CTL_ST_TOO_MANY);
	settle(f);
	fake_delete(f);
}

/* --------------------------------------------------------------- regions */

static void list_has_our_frames(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_mr_reg cmd;
	const unic_le64 *list;
	uint64_t bus;
	uint32_t i, k;

	(void)state;
	region(f, 8);
	assert_int_equal(pinned(f), 8);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], 64);
	assert_int_equal(unic_from_le32(cmd.n_pages), 8);
	/* the command before the last poll's HOST_TIME is somewhere: search */
	for (k = 0; k < 64; k++) {
		list = (void *)(f->bar + UNIC_BAR_LIST_OFF + k * 4096);
		if (unic_from_le64(list[0]))
			break;
	}
	assert_true(k < 64);
	for (i = 0; i < 8; i++) {
		assert_int_equal(unic_frames_list(&f->host->proc[0].frames, VA,
						  12, i, 1, &bus),
				 0);
		assert_int_equal(unic_from_le64(list[i]), bus);
	}
	fake_delete(f);
}

/* The next request needs memory. */
static void no_spare(struct fake *f)
{
	unic_req_discard(&f->os, f->host->spare);
	f->host->spare = NULL;
}

/* A list that has memory, but whose pages cannot be named, does not go with the
 * command: the region is filled in before it is called good. */
static void list_without_names_is_filled_in(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg reg = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_MR_REG) },
		.va = unic_to_le64(VA),
		.iova = unic_to_le64(VA),
		.length = unic_to_le64(8 * 4096),
	};
	struct unic_cmd_mr_fill fill;
	struct unic_cmd_mr_reg cmd;
	uint32_t at = 0, *runs, was;
	const struct unic_obj *pd;

	(void)state;
	region(f, 4);
	pd = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_PD,
			   UNIC_OBJ_ANYONE);
	reg.pd = unic_to_le32(pd->id);
	runs = &f->host->proc[f->client.slot].frames.t->runs;
	was = *runs;
	no_spare(f);
	f->os.hide = runs;
	f->os.hide_at = 8 * sizeof(unic_le64);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &reg, sizeof(reg)));
	f->os.hide = NULL;
	assert_int_equal(*runs, 0);
	*runs = was;
	settle(f);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.n_pages), 8);
	assert_int_equal(cmd.flags & UNIC_REG_LIST, 0);
	memcpy(&fill, f->last[UNIC_CMD_MR_FILL], sizeof(fill));
	assert_int_equal(unic_from_le32(fill.count), 8);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

/* Whatever was asked, by whom, about what, and how it was answered. */
static void each_call_is_logged(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj dereg = { .id = unic_to_le32(0x1234) };
	struct unic_ctl_plain odd = { 0 };
	uint32_t before;

	(void)state;
	f->client.pid = 4711;
	hello(f);
	before = f->os.audited;
	assert_int_not_equal(request(f, UNIC_CTL_MR_DEREG, &dereg), 0);
	assert_int_equal(f->os.audited, before + 1);
	assert_string_equal(f->os.audit, "pid 4711 slot 0 mr-dereg id 1234: "
					 "status 7");
	assert_int_not_equal(request(f, 0x7777, &odd), 0);
	assert_int_equal(f->os.audited, before + 2);
	assert_non_null(strstr(f->os.audit, "pid 4711 slot 0 ? "));
	assert_int_equal(f->host->refused, 2);
	fake_delete(f);
}

static void notice_is_told_then_acknowledged(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4), told;
	struct unic_evt_mr evt = notice(id, UNIC_EVT_NOTICE);
	struct unic_cmd_notice_ack ack;
	struct unic_upcall_mr up;

	(void)state;
	event(f, &evt);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(unic_from_le32(up.hdr.seq), 1);
	assert_int_equal(up.hdr.type, UNIC_UP_NOTICE);
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	assert_int_equal(unic_from_le32(up.user), 55);
	assert_int_equal(unic_from_le64(up.deadline_ns),
			 f->os.now_ns + 20000000);
	assert_int_equal(unic_from_le32(up.hdr.epoch), f->epoch);
	assert_int_equal(up.hdr.reason, UNIC_WHY_WAITER);
	assert_int_equal(unic_from_le32(up.notice_seq), 77);
	assert_int_equal(unic_from_le32(up.entries), 4);
	assert_int_equal(unic_from_le32(up.dependents), 6);
	assert_int_equal(unic_from_le32(up.rank), 2);
	assert_int_equal(unic_from_le32(up.grace_us), 20000);
	assert_int_equal(unic_from_le32(up.pain), 123);
	memcpy(&ack, f->last[UNIC_CMD_NOTICE_ACK], 64);
	assert_int_equal(unic_from_le32(ack.seq), 77);
	/* late duplicate: acknowledged again, not told again */
	told = f->host->upcalls;
	event(f, &evt);
	assert_int_equal(f->host->upcalls, told);
	/* EVICTED unpins; a second one says nothing */
	evt = notice(id, UNIC_EVT_EVICTED);
	event(f, &evt);
	assert_int_equal(pinned(f), 0);
	assert_int_equal(upcall(f, 1)[4], UNIC_UP_EVICTED);
	told = f->host->upcalls;
	event(f, &evt);
	assert_int_equal(f->host->upcalls, told);
	fake_delete(f);
}

static void pace_of_the_conversation_is_kept(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_proc row;
	struct unic_ctl_plain ps = { 0 };
	uint32_t id = region(f, 2);
	struct unic_ctl_obj dereg = { .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_NOTICE);

	(void)state;
	info(f)->pair_host_ns = unic_to_le64(f->os.now_ns - 500000);
	event(f, &evt); /* decided at NIC time 0: 500 us ago */
	event(f, &evt); /* told and counted once */
	f->os.now_ns += 3000000;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &dereg), 0);
	assert_int_equal(request(f, UNIC_CTL_PS, &ps), 0);
	memcpy(&row, (uint8_t *)f->os.reply[0] + 64, sizeof(row));
	assert_int_equal(unic_from_le32(row.notices), 1);
	assert_int_equal(unic_from_le32(row.deliver_max_us), 500);
	assert_int_equal(unic_from_le32(row.deliver_mean_us), 500);
	assert_int_equal(unic_from_le32(row.answers), 1);
	assert_int_equal(unic_from_le32(row.answer_max_us), 3000);
	assert_int_equal(unic_from_le32(row.deadlines), 0);
	fake_delete(f);
}

/* ------------------------------------------------ pages that come and go */

static void miss(struct fake *f, uint32_t id, uint32_t first, uint32_t count)
{
	struct unic_evt_miss evt = { .hdr = { .type = UNIC_EVT_MISS },
				     .mr = unic_to_le32(3),
				     .gen = unic_to_le32(9),
				     .user = unic_to_le32(id),
				     .first = unic_to_le32(first),
				     .count = unic_to_le32(count),
				     .seq = unic_to_le32(5) };

	event(f, &evt);
}

static void dropped(struct fake *f, uint32_t id, uint32_t page)
{
	struct unic_drop *ring = (void *)(f->bar + UNIC_BAR_DROP_OFF);
	uint32_t tail = unic_from_le32(idx(f)->drop_tail);

	ring[tail % UNIC_DROP_ENTRIES] =
		(struct unic_drop){ .mr = unic_to_le32(3),
				    .gen = unic_to_le32(9),
				    .page = unic_to_le32(page),
				    .user = unic_to_le32(id) };
	idx(f)->drop_tail = unic_to_le32(tail + 1);
}

/* The NIC's answer to MR_FAULT from now on. */
static void fault_answer(struct fake *f, uint8_t status, uint32_t done)
{
	struct unic_cpl_mr_pages cpl = { .done = unic_to_le32(done) };

	memcpy(f->cpl[UNIC_CMD_MR_FAULT], &cpl, 64);
	f->answer[UNIC_CMD_MR_FAULT] = status;
}

static struct unic_cmd_mr_fault last_fault(struct fake *f)
{
	struct unic_cmd_mr_fault cmd;

	memcpy(&cmd, f->last[UNIC_CMD_MR_FAULT], sizeof(cmd));
	return cmd;
}

static uint32_t demand_region(struct fake *f, uint32_t pages)
{
	uint32_t id;

	residency = UNIC_DEMAND;
	id = region(f, pages);
	residency = UNIC_RESIDENT;
	return id;
}

/* The process unmapped memory under its regions: what reaches there ends. */
static void unmapped_regions_end(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 8), slot = f->client.slot;
	struct unic_ctl_obj obj = { .id = unic_to_le32(id) };
	struct unic_upcall_mr up;

	(void)state;
	unic_host_unmapped(f->host, slot, VA + 8 * 4096, 4096);
	settle(f);
	assert_int_equal(pinned(f), 8);		     /* it ends before that */
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_BUSY; /* a queue */
	unic_host_unmapped(f->host, slot, VA + 7 * 4096, 8192);
	settle(f);
	assert_int_equal(pinned(f), 8);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_OK;
	unic_host_unmapped(f->host, slot, VA + 7 * 4096, 8192);
	unic_host_unmapped(f->host, slot, VA, 4096); /* under way */
	settle(f);
	assert_int_equal(pinned(f), 0);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_EVICTED);
	assert_int_equal(up.hdr.reason, UNIC_WHY_UNMAPPED);
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	assert_int_equal(unic_from_le32(f->host->proc[slot].ring->next), 1);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_NO_MR;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), 0);
	fake_delete(f);
}

/* What is behind the last byte is 0 there. */
static void unmapped_up_to_2_to_the_64(void **state)
{
	struct fake *f = fake_new();
	uint32_t slot;

	(void)state;
	region(f, 8);
	slot = f->client.slot;
	unic_host_unmapped(f->host, slot, VA + 8 * 4096, 0 - (VA + 8 * 4096));
	unic_host_unmapped(f->host, slot, 0, 0);
	settle(f);
	assert_int_equal(pinned(f), 8);
	unic_host_unmapped(f->host, slot, VA + 7 * 4096, 0 - (VA + 7 * 4096));
	settle(f);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* Memory of a NIC that is to keep off stays what it is until it has said that it
 * does, or its bus that it is no more; meanwhile it is asked for nothing. */
static void fenced_memory_goes_back_with_the_answer(void **state)
{
	uint32_t how;

	(void)state;
	for (how = 0; how < 2; how++) {
		struct fake *f = fake_new();

		region(f, 8);
		unic_host_fence(f->host);
		assert_int_not_equal(unic_from_le32(driver(f)->fence), 0);
		f->os.now_ns += 10000000000ull;
		unic_host_poll(f->host);
		assert_int_not_equal(unic_from_le32(driver(f)->fence), 0);
		assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_DEAD);
		assert_false(unic_host_fenced(f->host));
		assert_int_equal(pinned(f), 8);
		info(f)->magic =
			unic_to_le32(0xffffffff); /* not there at all */
		assert_false(unic_host_fenced(f->host));
		if (how)
			idx(f)->fenced = driver(f)->fence;
		info(f)->magic = unic_to_le32(how ? UNIC_MAGIC : 0);
		assert_true(unic_host_fenced(f->host));
		unic_host_plug(f->host, false);
		assert_int_equal(pinned(f), 0);
		assert_int_equal(unic_from_le32(driver(f)->fence), 0);
		fake_delete(f);
	}
}

static void unmapped_pages_of_demand_go(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8), slot = f->client.slot;
	struct unic_cmd_mr_pages cmd;

	(void)state;
	unic_host_unmapped(f->host, slot, VA, 8 * 4096);
	settle(f);
	assert_int_equal(f->last[UNIC_CMD_MR_INVALIDATE][0], 0); /* not asked */
	fault_answer(f, 0, 4);
	miss(f, id, 2, 4);
	assert_int_equal(pinned(f), 4);
	f->answer[UNIC_CMD_MR_INVALIDATE] = UNIC_ST_BUSY;
	unic_host_unmapped(f->host, slot, VA + 3 * 4096, 2 * 4096);
	settle(f);
	assert_int_equal(pinned(f), 4);
	f->answer[UNIC_CMD_MR_INVALIDATE] = UNIC_ST_OK;
	unic_host_unmapped(f->host, slot, VA + 3 * 4096, 2 * 4096);
	settle(f);
	memcpy(&cmd, f->last[UNIC_CMD_MR_INVALIDATE], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.first), 3);
	assert_int_equal(unic_from_le32(cmd.count), 2);
	assert_int_equal(pinned(f), 2);
	fake_delete(f);
}

static void demand_pages_are_pinned_one_by_one(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8);
	struct unic_cmd_mr_fault cmd;
	struct unic_ctl_obj obj = { .id = unic_to_le32(id) };

	(void)state;
	assert_int_equal(pinned(f), 0);
	fault_answer(f, 0, 3);
	miss(f, id, 2, 3);
	cmd = last_fault(f);
	assert_int_equal(unic_from_le32(cmd.mr), 3);
	assert_int_equal(unic_from_le32(cmd.first), 2);
	assert_int_equal(unic_from_le32(cmd.count), 3);
	assert_int_equal(unic_from_le32(cmd.seq), 5);
	assert_int_equal(unic_from_le32(cmd.cannot), 0);
	assert_int_equal(pinned(f), 3);
	/* what is there is not sent again: only as far as the first of it */
	fault_answer(f, 0, 2);
	miss(f, id, 0, 8);
	cmd = last_fault(f);
	assert_int_equal(unic_from_le32(cmd.count), 2);
	assert_int_equal(pinned(f), 5);
	/* dropped pages are unpinned; told before the miss of the same page */
	dropped(f, id, 3);
	fault_answer(f, 0, 1);
	miss(f, id, 3, 1);
	cmd = last_fault(f);
	assert_int_equal(unic_from_le32(cmd.first), 3);
	assert_int_equal(pinned(f), 5);
	dropped(f, id, 3);
	dropped(f, id, 0);
	settle(f);
	assert_int_equal(pinned(f), 3);
	assert_int_equal(f->host->audits, 0);
	dropped(f, id, 0); /* again */
	settle(f);
	assert_int_equal(f->host->audits, 1);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), 0);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

static void faults_without_room_are_tried_again(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8), before;

	(void)state;
	fault_answer(f, UNIC_ST_BUSY,
		     2); /* two of four: the rest another time */
	miss(f, id, 0, 4);
	assert_int_equal(pinned(f), 2);
	before = f->commands;
	f->os.now_ns += 1000000;
	settle(f);
	assert_int_equal(last_fault(f).first, unic_to_le32(0));
	fault_answer(f, UNIC_ST_BUSY, 0);
	miss(f, id, 2, 4);
	assert_int_equal(pinned(f), 2);
	before = f->commands;
	f->os.now_ns += 60000;
	settle(f);
	assert_true(f->commands > before);
	fault_answer(f, 0, 4);
	f->os.now_ns += 60000;
	settle(f);
	assert_int_equal(pinned(f), 6);
	fault_answer(f, UNIC_ST_STALE,
		     0); /* asked again by the NIC, not by us */
	miss(f, id, 6, 2);
	before = f->commands;
	assert_int_equal(pinned(f), 6);
	f->os.now_ns += 60000;
	settle(f);
	assert_int_equal(f->commands, before);
	fake_delete(f);
}

static void pages_that_are_not_mapped(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8);
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA + 4 * 4096),
				      .pages = unic_to_le32(4) };

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_FRAMES_FREE, &fr), 0);
	fault_answer(f, 0, 2);
	miss(f, id, 2, 4);
	assert_int_equal(unic_from_le32(last_fault(f).count), 2);
	fault_answer(f, 0, 0);
	miss(f, id, 5, 2);
	assert_int_equal(unic_from_le32(last_fault(f).cannot), 1);
	assert_int_equal(unic_from_le32(last_fault(f).count), 1);
	assert_int_equal(pinned(f), 2);
	/* out of the region, or of a region that is gone */
	miss(f, id, 7, 2);
	assert_int_equal(f->host->audits, 1);
	miss(f, id + 1, 0, 1);
	assert_int_equal(pinned(f), 2);
	fake_delete(f);
}

static int register_table(struct fake *f)
{
	uint32_t at = 0;
	const struct unic_obj *pd = unic_obj_next(&f->host->objects, &at,
						  UNIC_OBJ_PD, UNIC_OBJ_ANYONE);
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096),
				       .pd = unic_to_le32(pd->id),
				       .residency = UNIC_TABLE };

	return request(f, UNIC_CTL_MR_REG, &reg);
}

static void page_tables_are_written_and_pinned(void **state)
{
	struct fake *f = fake_new();
	const unic_le64 *table = (void *)(f->bar + UNIC_BAR_TABLE_OFF);
	struct unic_ctl_obj obj = { 0 };
	struct unic_cmd_mr_reg cmd;
	uint64_t bus;
	uint32_t i;

	(void)state;
	residency = UNIC_TABLE;
	obj.id = unic_to_le32(region(f, 8));
	residency = UNIC_RESIDENT;
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], 64);
	assert_int_equal(cmd.residency, UNIC_TABLE);
	assert_int_equal(unic_from_le32(cmd.table) % 8, 0);
	assert_int_equal(pinned(f), 8);
	table += unic_from_le32(cmd.table) / 8;
	for (i = 0; i < 8; i++) {
		assert_int_equal(unic_frames_list(&f->host->proc[0].frames, VA,
						  12, i, 1, &bus),
				 0);
		assert_int_equal(unic_from_le64(table[i]),
				 bus | UNIC_TABLE_VALID);
	}
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), 0);
	assert_int_equal(pinned(f), 0);
	assert_int_equal(f->host->table_unit[0], 0);
	fake_delete(f);
}

/* A process has half of the tables; what it gives back is found again. */
static void tables_run_out(void **state)
{
	struct fake *f = fake_new();
	uint32_t i;

	(void)state;
	residency = UNIC_TABLE;
	region(f, 1);
	residency = UNIC_RESIDENT;
	for (i = 0; i < UNIC_TABLE_UNITS / 2 - 1; i++)
		f->host->table_unit[2 * i + 2] = 1;
	assert_int_equal(register_table(f), UNIC_CTL_ST_NO_MEMORY);
	/* somebody else's: room for one here and there, not for two */
	for (i = 0; i < UNIC_TABLE_UNITS; i++)
		f->host->table_unit[i] = i & 1 ? 2 : 0;
	assert_int_equal(register_table(f), UNIC_ST_OK);
	for (i = 0; i < UNIC_TABLE_UNITS; i++)
		f->host->table_unit[i] = 2;
	assert_int_equal(register_table(f), UNIC_CTL_ST_NO_MEMORY);
	fake_delete(f);
}

static uint32_t faults_of(const struct fake *f, uint32_t id)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_REGION_FAULTS; i++)
		n += f->host->fault[i].used && f->host->fault[i].user == id;
	return n;
}

/* Those that come twice, which is one, and those that are none. */
static void misses_without_number(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8), i, audits;

	(void)state;
	fault_answer(f, UNIC_ST_BUSY, 0);
	for (i = 0; i < 2 * UNIC_REGION_FAULTS; i++)
		miss(f, id, i % 8, 1);
	assert_int_equal(faults_of(f, id), 8);
	audits = f->host->audits;
	miss(f, id, 0, 0);
	miss(f, id, 8, 1);
	miss(f, id, 0, UNIC_LIST_MAX + 1);
	assert_int_equal(f->host->audits, audits + 3);
	/* given up at last: the NIC has long forgotten */
	for (i = 0; i < 10; i++) {
		f->os.now_ns += 30000000;
		settle(f);
	}
	for (i = 0; i < UNIC_REGION_FAULTS; i++)
		assert_false(f->host->fault[i].used);
	assert_int_equal(pinned(f), 0);
	dropped(f, id, 9);
	settle(f);
	assert_int_equal(f->host->audits, audits + 4);
	fake_delete(f);
}

static void advice_becomes_pages(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_advise r = {
		.offset = unic_to_le64(4095),
		.length = unic_to_le64(2),
		.advice = unic_to_le32(UNIC_ADVISE_WILL_NEED),
	};
	struct unic_ctl_mr_advise bad;
	struct unic_cmd_mr_pages cmd;

	(void)state;
	r.id = unic_to_le32(demand_region(f, 8));
	bad = r;
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), 0);
	memcpy(&cmd, f->last[UNIC_CMD_MR_ADVISE], 64);
	assert_int_equal(unic_from_le32(cmd.first), 0);
	assert_int_equal(unic_from_le32(cmd.count), 2);
	bad = r;
	bad.length = unic_to_le64(0);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	bad = r;
	bad.length = unic_to_le64(~0ull);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	bad = r;
	bad.advice = unic_to_le32(3);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	bad = r;
	bad.id = unic_to_le32(unic_from_le32(r.id) + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_NO_MR);
	bad = r;
	bad.offset = unic_to_le64(8 * 4096);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	bad = r;
	bad.advice = unic_to_le32(0);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	fake_delete(f);
}

/* Frames that lie together are one page of the device. */
static void contiguous_frames_are_large_pages(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(32),
				      .page_shift = 16 };
	struct unic_ctl_plain pd = { 0 };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(2 * 65536) };
	struct unic_cmd_mr_reg cmd;

	(void)state;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], 64);
	assert_int_equal(cmd.page_shift, 16);
	assert_int_equal(unic_from_le32(cmd.n_pages), 2);
	assert_int_equal(pinned(f), 32);
	fake_delete(f);
}

static void notice_of_another_life(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	/* said before the last reset */
	evt.hdr.epoch = unic_to_le32(f->epoch - 1);
	nic_says(f, &evt);
	assert_int_equal(f->host->provider->bad_records, 1);
	assert_int_equal(pinned(f), 4);
	assert_int_equal(f->host->upcalls, 0);
	evt.gen = unic_to_le32(8); /* an older registration of the index */
	event(f, &evt);
	assert_int_equal(pinned(f), 4);
	evt = notice(id + 1, UNIC_EVT_EVICTED);
	event(f, &evt);
	assert_int_equal(pinned(f), 4);
	assert_int_equal(f->host->upcalls, 0);
	fake_delete(f);
}

/* Who does not know of the reset yet does nothing to what there is now. */
static void request_of_another_life(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(UNIC_CTL_PD_ALLOC) };
	struct unic_ctl_plain r = { 0 };
	uint32_t k;

	(void)state;
	hello(f);
	for (k = 0; k < 3; k++) { /* of before; of now; not said */
		hdr.epoch = unic_to_le32(k < 2 ? f->epoch - 1 + k : 0);
		memcpy(&r, &hdr, sizeof(hdr));
		f->os.replies = 0;
		assert_true(unic_host_request(f->host, &f->client, &r, 64));
		settle(f);
		memcpy(&hdr, f->os.reply[0], sizeof(hdr));
		assert_int_equal(unic_from_le16(hdr.status),
				 k ? UNIC_ST_OK : UNIC_ST_STALE_EPOCH);
		assert_int_equal(f->host->objects.live, k);
		hdr.status = unic_to_le16(0);
	}
	fake_delete(f);
}

static void dereg_waits_for_the_drain(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), -1);
	assert_int_equal(pinned(f), 4); /* DMA may still be under way */
	evt.hdr.reason = UNIC_WHY_DEREG;
	event(f, &evt);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(pinned(f), 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), UNIC_ST_NO_MR);
	fake_delete(f);
}

/* It ends with something else, before its MR_DEREG is looked at. */
static void dereg_of_one_that_ends_just_now(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_ctl_obj r = { .hdr = { .op = unic_to_le16(
						   UNIC_CTL_MR_DEREG) },
				  .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);
	struct unic_ctl_hdr got;

	(void)state;
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_NO_MR;
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &r, 64));
	evt.hdr.reason = UNIC_WHY_DEREG;
	evt.hdr.epoch = unic_to_le32(f->epoch);
	put_event(f, &evt);
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 0);
	settle(f);
	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.status), UNIC_ST_OK);
	assert_int_equal(pinned(f), 0);
	assert_int_equal(f->host->audits, 0);
	fake_delete(f);
}

static void upcall_storm_is_bounded_and_loss_shows(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj evt = { .hdr = { .type = UNIC_EVT_DB_ERROR } };
	struct unic_ctl_resync r = { 0 };
	unic_le32 seq;
	uint32_t i;

	(void)state;
	hello(f);
	for (i = 0; i < 200; i++)
		event(f, &evt);
	memcpy(&seq, upcall(f, 0), sizeof(seq));
	assert_int_equal(unic_from_le32(seq), 1 + 3 * UNIC_UPCALLS);
	assert_int_equal(request(f, UNIC_CTL_RESYNC, &r), 0);
	assert_int_equal(reply_u32(f, 24), 201);
	fake_delete(f);
}

#define LOOKS 5000u

static struct {
	const struct unic_upcall_ring *ring;
	pthread_t driver;
	volatile sig_atomic_t at; /* the record that is written now */
	volatile uint32_t looks, wrong;
} reader;

/* A reader between any two instructions of the driver. */
static void look_at_upcall(int sig)
{
	const void *at = reader.ring->record[reader.at % UNIC_UPCALLS];
	struct unic_upcall_obj up;
	uint32_t seq;

	(void)sig;
	reader.looks++;
	memcpy(&up, at, sizeof(up));
	seq = unic_from_le32(up.hdr.seq);
	reader.wrong += seq && (unic_from_le32(up.hdr.id) != seq ||
				unic_from_le32(up.user) != seq ||
				unic_from_le32(up.detail) != seq);
}

static void *interrupt_driver(void *arg)
{
	(void)arg;
	while (reader.looks < LOOKS)
		pthread_kill(reader.driver, SIGUSR1);
	return NULL;
}

/* A record that has a number is whole, at every moment. */
static void upcalls_are_read_whole(void **state)
{
	struct fake *f = fake_new();
	pthread_t thread;
	uint32_t i;

	(void)state;
	hello(f);
	reader.looks = reader.wrong = 0;
	reader.ring = f->host->proc[f->client.slot].ring;
	reader.driver = pthread_self();
	signal(SIGUSR1, look_at_upcall);
	assert_int_equal(pthread_create(&thread, NULL, interrupt_driver, NULL),
			 0);
	for (i = 1; reader.looks < LOOKS; i++) {
		reader.at = (sig_atomic_t)(i - 1);
		unic_upcall_send_obj(f->host, f->client.slot, UNIC_UP_DB_ERROR,
				     i, i, i);
	}
	pthread_join(thread, NULL);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(reader.wrong, 0);
	fake_delete(f);
}

static void bad_doorbell_is_told_and_acknowledged(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj evt = { .hdr = { .type = UNIC_EVT_DB_ERROR },
				    .id = unic_to_le32(0x10203) };
	struct unic_upcall_obj up;
	struct unic_cmd_db_ack ack;

	(void)state;
	event(f, &evt); /* of nobody */
	evt.hdr.proc = unic_to_le16(SLOTS);
	event(f, &evt);
	memcpy(&ack, f->last[UNIC_CMD_DB_ACK], sizeof(ack));
	assert_int_equal(ack.hdr.opcode, 0);
	hello(f);
	evt.hdr.proc = unic_to_le16((uint16_t)f->client.slot);
	event(f, &evt);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_DB_ERROR);
	assert_int_equal(unic_from_le32(up.detail), 0x10203);
	memcpy(&ack, f->last[UNIC_CMD_DB_ACK], sizeof(ack));
	assert_int_equal(ack.hdr.opcode, UNIC_CMD_DB_ACK);
	assert_int_equal(unic_from_le32(ack.proc), f->client.slot);
	fake_delete(f);
}

static void client_leaves_while_waiting(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096),
				       .flags = UNIC_CTL_REG_WAIT };
	struct unic_ctl_plain pd = { 0 };
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(1),
				      .page_shift = 12 };
	struct unic_evt_obj gone = { .hdr = { .type = UNIC_EVT_PROC_GONE } };

	(void)state;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	f->answer[UNIC_CMD_PROC_DETACH] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), -1);
	assert_int_equal(pinned(f), 0);
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->os.replies, 0);
	assert_int_equal(f->os.quiet, 0); /* not before PROC_GONE */
	event(f, &gone);
	assert_int_equal(f->os.quiet, 1);
	assert_null(f->host->reqs);
	assert_int_equal(f->host->objects.live, 0);
	fake_delete(f);
}

/* Whichever allocation fails: an answer, no leak, no crash. */
static void every_allocation_fails(void **state)
{
	uint32_t k;

	(void)state;
	for (k = 1; k < 12; k++) {
		struct fake *f = fake_new();
		struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
					       .iova = unic_to_le64(VA),
					       .length = unic_to_le64(8192) };
		uint32_t id = region(f, 4);
		int status;

		(void)id;
		reg.pd = unic_to_le32(
			((struct unic_obj *)unic_obj_next(&f->host->objects,
							  &(uint32_t){ 0 },
							  UNIC_OBJ_PD, 0))
				->id);
		no_spare(f);
		f->os.fail_alloc = k;
		status = request(f, UNIC_CTL_MR_REG, &reg);
		assert_true(status == 0 || status == UNIC_CTL_ST_NO_MEMORY);
		f->os.fail_alloc = 0;
		fake_delete(f);
	}
}

/* Whichever allocation fails while the NIC is set up: it is set up later, whole,
 * and not without its address. */
static void setup_goes_on_when_there_is_memory(void **state)
{
	struct fake *f = fake_new();
	uint32_t k, late = 0;

	(void)state;
	for (k = 1; k < 12; k++) {
		unic_host_delete(f->host); /* tells nobody */
		memset(f->last, 0, sizeof(f->last));
		start_driver(f);
		f->os.fail_alloc = k;
		unic_host_plug(f->host, true);
		settle(f);
		f->os.fail_alloc = 0;
		late += unic_host_nic(f->host) != UNIC_CTL_NIC_READY;
		f->os.now_ns += 100000000;
		settle(f);
		assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
		assert_int_equal((uint8_t)f->last[UNIC_CMD_SET_ADDR][0],
				 UNIC_CMD_SET_ADDR);
		assert_int_equal((uint8_t)f->last[UNIC_CMD_ENTROPY][0],
				 UNIC_CMD_ENTROPY);
	}
	assert_in_range(late, 4, 10);
	fake_delete(f);
}

/* --------------------------------------------------------------- messages */

static void cm_messages_survive_the_wire(void **state)
{
	static const uint16_t types[] = { UNIC_CM_REQ,	UNIC_CM_REP,
					  UNIC_CM_REJ,	UNIC_CM_RTU,
					  UNIC_CM_DREQ, UNIC_CM_DREP };
	struct unic_cm_msg in, out;
	uint8_t mad[256];
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		in = (struct unic_cm_msg){ .type = types[i],
					   .tid = 0x1122334455667788,
					   .local_comm = 0xdeadbeef,
					   .remote_comm = 0xcafebabe,
					   .service = 0x0102030405060708,
					   .qpn = 0xabcdef,
					   .psn = 0x123456,
					   .src_ipv4 = 0x0a000001,
					   .dst_ipv4 = 0x0a000002,
					   .reason = UNIC_CM_CONSUMER,
					   .max_dest_rd = 3,
					   .max_rd = 2,
					   .retry_cnt = 7,
					   .rnr_retry = 5,
					   .timeout = 12,
					   .mtu_shift = 10,
					   .qp_type = UNIC_QPT_UC,
					   .priv_bytes = 3,
					   .priv = "abc" };
		unic_cm_build(&in, mad);
		assert_true(unic_cm_parse(mad, &out));
		assert_int_equal(out.type, in.type);
		assert_true(out.tid == in.tid);
		assert_int_equal(out.local_comm, in.local_comm);
		if (types[i] != UNIC_CM_REQ)
			assert_int_equal(out.remote_comm, in.remote_comm);
		else
			assert_int_equal(out.qp_type, UNIC_QPT_UC);
		if (types[i] > UNIC_CM_REP)
			continue;
		assert_int_equal(out.priv_bytes, 3);
		assert_memory_equal(out.priv, "abc", 3);
		if (types[i] == UNIC_CM_REJ) {
			assert_int_equal(out.reason, UNIC_CM_CONSUMER);
			continue;
		}
		assert_int_equal(out.qpn, in.qpn);
		assert_int_equal(out.psn, in.psn);
		assert_int_equal(out.max_dest_rd, 3);
		assert_int_equal(out.max_rd, 2);
		assert_int_equal(out.timeout, 12);
		assert_int_equal(out.rnr_retry, 5);
		assert_int_equal(out.vendor, 1);
	}
}

#define PEER 0x0a000002u

static void put_mad(struct fake *f, uint32_t ipv4, uint8_t mac,
		    const struct unic_cm_msg *msg)
{
	struct unic_mad_rx rx = { .ipv4 = unic_to_le32(ipv4),
				  .mac = { [5] = mac } };
	uint32_t n = unic_from_le32(idx(f)->mad_tail);

	unic_cm_build(msg, rx.data);
	memcpy(f->bar + UNIC_BAR_MAD_RX_OFF +
		       n % UNIC_MAD_RX_ENTRIES * sizeof(rx),
	       &rx, sizeof(rx));
	idx(f)->mad_tail = unic_to_le32(n + 1);
}

static void mad_from_mac(struct fake *f, uint32_t ipv4, uint8_t mac,
			 const struct unic_cm_msg *msg)
{
	put_mad(f, ipv4, mac, msg);
	settle(f);
}

static void mad_from(struct fake *f, uint32_t ipv4,
		     const struct unic_cm_msg *msg)
{
	mad_from_mac(f, ipv4, 0, msg);
}

/* The bytes of the datagram that the driver sent last. */
static const uint8_t *bytes_sent(struct fake *f)
{
	return f->bar + UNIC_BAR_LIST_OFF +
	       (f->cmd_head - 1) % 64 * UNIC_LIST_BYTES;
}

/* What the driver sent last, which must be a datagram. */
static struct unic_cm_msg mad_sent(struct fake *f)
{
	struct unic_cm_msg msg;

	assert_true(unic_cm_parse(bytes_sent(f), &msg));
	return msg;
}

static uint8_t upcall_type(struct fake *f, uint32_t n)
{
	struct unic_upcall_hdr hdr;

	memcpy(&hdr, upcall(f, n), sizeof(hdr));
	return unic_from_le32(hdr.seq) == n + 1 ? hdr.type : 0;
}

/* A REQ of PEER, for a listener of ours, that waits to be accepted. */
static struct fake *requested(struct unic_cm_msg *req)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct fake *f = fake_new();

	hello(f);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	*req = (struct unic_cm_msg){ .type = UNIC_CM_REQ,
				     .tid = 99,
				     .local_comm = 0x77,
				     .service = 4711,
				     .qpn = 5,
				     .mtu_shift = 10,
				     .vendor = 1 };
	mad_from(f, PEER, req);
	assert_int_equal(upcall_type(f, 0), UNIC_UP_CONN_REQUEST);
	return f;
}

static void peer_gives_up_before_it_heard_of_us(void **state)
{
	struct unic_cm_msg req, rej = { .type = UNIC_CM_REJ,
					.tid = 99,
					.local_comm = 0x77,
					.reason = UNIC_CM_TIMEOUT };
	struct fake *f = requested(&req);

	(void)state;
	mad_from(f, PEER + 1, &rej); /* not its business */
	rej.tid = 98;
	mad_from(f, PEER, &rej);
	assert_int_equal(upcall_type(f, 1), 0);
	rej.tid = 99;
	mad_from(f, PEER, &rej);
	assert_int_equal(upcall_type(f, 1), UNIC_UP_DISCONNECTED);
	fake_delete(f);
}

static void pass(struct fake *f, uint64_t ms)
{
	f->os.now_ns += ms * 1000000;
	settle(f);
}

/* The REJ of a peer that gave up was lost: its REQ does not come again. */
static void silent_peer_has_given_up(void **state)
{
	struct unic_cm_msg req;
	struct fake *f = requested(&req);
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		pass(f, 7900);
		mad_from(f, PEER, &req);
		assert_int_equal(upcall_type(f, 1), 0);
	}
	pass(f, 6000); /* 29.7 s */
	assert_int_equal(upcall_type(f, 1), 0);
	pass(f, 400); /* its consumer's time is up */
	assert_int_equal(upcall_type(f, 1), UNIC_UP_DISCONNECTED);
	fake_delete(f);
	f = requested(&req);
	pass(f, 7900);
	assert_int_equal(upcall_type(f, 1), 0);
	pass(f, 200);
	assert_int_equal(upcall_type(f, 1), UNIC_UP_DISCONNECTED);
	fake_delete(f);
}

/* A PD of physical regions, and one in it, is the driver's alone: it names memory by
 * bus address. */
static void bus_addresses_are_the_drivers_alone(void **state)
{
	struct unic_ctl_plain plain = { 0 };
	struct unic_ctl_mr_reg reg = { .iova = unic_to_le64(3 * 4096),
				       .length = unic_to_le64(4096),
				       .rights = UNIC_MR_LOCAL_WRITE,
				       .mr_class = UNIC_CLASS_CONTROL,
				       .residency = UNIC_PHYSICAL };
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .stag = unic_to_le32(0xabcd00) };
	struct fake *f = fake_new();
	struct unic_cmd_mr_reg cmd;
	struct unic_cmd_pd pd;

	(void)state;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &plain), 0);
	memcpy(&pd, f->last[UNIC_CMD_PD_ALLOC], sizeof(pd));
	assert_int_equal(unic_from_le32(pd.flags), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_INVALID);
	f->client.kernel = true;
	memset(&plain, 0, sizeof(plain));
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &plain), 0);
	memcpy(&pd, f->last[UNIC_CMD_PD_ALLOC], sizeof(pd));
	assert_int_equal(unic_from_le32(pd.flags), UNIC_PD_PHYSICAL);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	assert_int_equal(reply_u32(f, 20), 0xabcd00);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], sizeof(cmd));
	assert_int_equal(cmd.residency, UNIC_PHYSICAL);
	assert_int_equal(unic_from_le64(cmd.iova), 3 * 4096);
	assert_int_equal(unic_from_le32(cmd.n_pages), 0);
	assert_int_equal(pinned(f), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16) + 1000); /* none */
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_NO_PD;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_NO_PD);
	fake_delete(f);
}

/* Who poses as the driver's own service would be asked for its files; who connects
 * to it would not be asked who he is. */
static void own_services_are_the_drivers(void **state)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(
					     UNIC_CTL_SERVICE_OWN << 8 | 77) };
	struct unic_ctl_connect c = { .service = l.service,
				      .ipv4 = unic_to_le32(0x0a000002) };
	struct fake *f = fake_new();
	struct unic_hqp *qp;

	(void)state;
	f->client.privileged = false;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l),
			 UNIC_CTL_ST_PERMISSION);
	qp = unic_obj_alloc(&f->host->objects, UNIC_OBJ_QP, f->client.slot,
			    sizeof(*qp));
	c.qp = unic_to_le32(qp->obj.id);
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &c),
			 UNIC_CTL_ST_PERMISSION);
	assert_int_equal(qp->conn, 0);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	fake_delete(f);
}

/* Addresses, STags and bus addresses of everybody are not for anybody. */
static void tables_are_for_the_administrator(void **state)
{
	static const uint8_t ops[] = { UNIC_CTL_DUMP, UNIC_CTL_TRACE,
				       UNIC_CTL_CRASH };
	struct fake *f = fake_new();
	uint64_t rec[UNIC_REC_WORDS] = { 0 };
	uint32_t i;

	(void)state;
	f->client.privileged = false;
	for (i = 0; i < sizeof(ops); i++)
		assert_int_equal(request(f, ops[i], rec),
				 UNIC_CTL_ST_PERMISSION);
	assert_int_equal(request(f, UNIC_CTL_PS, rec), 0);
	assert_int_equal(request(f, UNIC_CTL_INFO, rec), 0);
	fake_delete(f);
}

/* ... but who has a region may know how it is used. */
static void uses_of_ones_own_regions(void **state)
{
	struct unic_ctl_uses u = { .first = unic_to_le32(2),
				   .count = unic_to_le32(4) };
	struct fake *f = fake_new();
	struct unic_use_row *row = (void *)(f->bar + UNIC_BAR_USE_OFF);
	const uint8_t *got = (const uint8_t *)f->os.reply[0] + UNIC_CTL_BYTES;
	uint32_t i;

	(void)state;
	region(f, 8); /* of index 3 */
	info(f)->mrs = unic_to_le32(64);
	for (i = 0; i < 64; i++)
		row[i].stag = unic_to_le32(i == 3 ? 0xabcd00 : 0x100 * i);
	assert_int_equal(request(f, UNIC_CTL_USES, &u), 0);
	assert_memory_equal(got, &row[2], 4 * sizeof(*row));
	f->client.privileged = false;
	assert_int_equal(request(f, UNIC_CTL_USES, &u), 0);
	assert_memory_equal(got + sizeof(*row), &row[3], sizeof(*row));
	row[0].stag = unic_to_le32(0);
	for (i = 2; i < 6; i++)
		if (i != 3)
			assert_memory_equal(got + (i - 2) * sizeof(*row), row,
					    sizeof(*row));
	fake_delete(f);
}

/* A request that comes again is the one before only if transaction, id and both
 * addresses are its own. */
static void request_of_another_is_another(void **state)
{
	struct unic_cm_msg req;
	struct fake *f = requested(&req);
	uint32_t n = f->host->upcalls;

	(void)state;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, n);
	mad_from(f, PEER + 1, &req);
	assert_int_equal(f->host->upcalls, ++n);
	mad_from_mac(f, PEER, 1, &req);
	assert_int_equal(f->host->upcalls, ++n);
	req.tid++;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, ++n);
	req.tid--;
	req.local_comm++;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, ++n);
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, n);
	fake_delete(f);
}

/* Where each request names a region by its id. */
static const struct {
	uint16_t op, at;
} names_region[] = {
	{ UNIC_CTL_MR_DEREG, offsetof(struct unic_ctl_obj, id) },
	{ UNIC_CTL_MR_INVAL, offsetof(struct unic_ctl_obj, id) },
	{ UNIC_CTL_MR_MAKE, offsetof(struct unic_ctl_mr_make, id) },
	{ UNIC_CTL_MR_REREG, offsetof(struct unic_ctl_mr_rereg, id) },
	{ UNIC_CTL_MR_ADVISE, offsetof(struct unic_ctl_mr_advise, id) },
	{ UNIC_CTL_TOKEN_ALLOC, offsetof(struct unic_ctl_token_alloc, mr) },
	{ UNIC_CTL_CQ_CREATE, offsetof(struct unic_ctl_cq_create, mr) },
	{ UNIC_CTL_QP_CREATE, offsetof(struct unic_ctl_qp_create, mr) },
};

/* What the driver answers @other, who names region @id in request @i. */
static uint32_t told_of(struct fake *f, struct unic_client *other, uint32_t i,
			uint32_t id)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(names_region[i].op) };
	unic_le32 named = unic_to_le32(id);
	uint8_t rec[64] = { 0 };

	memcpy(rec, &hdr, sizeof(hdr));
	memcpy(rec + names_region[i].at, &named, sizeof(named));
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, other, rec, sizeof(rec)));
	settle(f);
	assert_int_equal(f->os.replies, 1);
	memcpy(&hdr, f->os.reply[0], sizeof(hdr));
	return unic_from_le16(hdr.status);
}

/* INV-27: the NIC is asked about regions of the process only, so STags of others come
 * to it in MR_MAKE's list alone. */
static void ids_of_others_are_nobodys(void **state)
{
	struct unic_client other = { .pid = 8, .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello hi = { .hdr.op = unic_to_le16(UNIC_CTL_HELLO),
				     .version = unic_to_le32(1) };
	struct fake *f = fake_new();
	uint32_t i, told, asked, id = region(f, 4);

	(void)state;
	assert_true(unic_host_request(f->host, &other, &hi, sizeof(hi)));
	settle(f);
	asked = f->commands;
	for (i = 0; i < sizeof(names_region) / sizeof(*names_region); i++) {
		told = told_of(f, &other, i, id);
		assert_int_equal(told, told_of(f, &other, i, id + 1));
		assert_int_not_equal(told, 0);
	}
	assert_int_equal(f->commands, asked);
	fake_delete(f);
}

/* A process that accepts nothing fills its own queue, and nobody else's. */
static void queue_of_requests_is_ones_own(void **state)
{
	struct unic_client other = { .pid = 8, .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello hi = { .hdr.op = unic_to_le16(UNIC_CTL_HELLO),
				     .version = unic_to_le32(1) };
	struct unic_ctl_listen l = { .hdr.op = unic_to_le16(UNIC_CTL_LISTEN),
				     .service = unic_to_le64(4712) };
	struct unic_upcall_conn up;
	struct unic_cm_msg req;
	struct fake *f = requested(&req);
	uint32_t n;

	(void)state;
	assert_true(unic_host_request(f->host, &other, &hi, sizeof(hi)));
	settle(f);
	assert_true(unic_host_request(f->host, &other, &l, sizeof(l)));
	settle(f);
	for (req.tid = 100; req.tid < 163; req.tid++)
		mad_from(f, PEER, &req);
	n = f->host->upcalls;
	req.service = 4712;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, n + 1);
	req.service = 4711;
	mad_from(f, PEER, &req); /* repeated: the same one */
	assert_int_equal(f->host->upcalls, n + 1);
	req.tid++;
	mad_from(f, PEER, &req);
	assert_int_equal(f->host->upcalls, n + 3);
	memcpy(&up, upcall(f, f->host->proc[0].upcall_next - 2), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_DISCONNECTED);
	assert_int_equal(unic_from_le32(up.reason), 2);
	fake_delete(f);
}

static void late_rep_is_told_so(void **state)
{
	struct unic_cm_msg rep = { .type = UNIC_CM_REP,
				   .tid = 5,
				   .local_comm = 0x88,
				   .remote_comm = 0x12345,
				   .qpn = 7 };
	struct unic_cm_msg rej;
	struct fake *f = fake_new();

	(void)state;
	hello(f);
	mad_from(f, PEER, &rep);
	rej = mad_sent(f);
	assert_int_equal(rej.type, UNIC_CM_REJ);
	assert_int_equal(rej.remote_comm, 0x88);
	assert_int_equal(rej.tid, 5);
	assert_int_equal(rej.reason, UNIC_CM_NO_COMM);
	fake_delete(f);
}

static void cm_garbage_is_refused(void **state)
{
	struct unic_cm_msg msg = { .type = UNIC_CM_REQ, .mtu_shift = 10 };
	uint8_t mad[256], bad[256];
	uint32_t seed = 1, i, k;

	(void)state;
	unic_cm_build(&msg, mad);
	for (i = 0; i < 4; i++) { /* version, class, class version, method */
		memcpy(bad, mad, 256);
		bad[i]++;
		assert_false(unic_cm_parse(bad, &msg));
	}
	memcpy(bad, mad, 256);
	bad[24 + 50] = 7 << 4; /* no such MTU */
	assert_false(unic_cm_parse(bad, &msg));
	memcpy(bad, mad, 256);
	bad[24 + 43] |= 2 << 1; /* reliable datagram: no such thing */
	assert_false(unic_cm_parse(bad, &msg));
	memcpy(bad, mad, 256);
	bad[24 + 56] = 0xfe; /* not an IPv4 path */
	assert_false(unic_cm_parse(bad, &msg));
	for (i = 0; i < 20000; i++) {
		memcpy(bad, mad, 256);
		for (k = 0; k < 8; k++) {
			seed = seed * 1664525 + 1013904223;
			bad[8 + (seed >> 8) % 248] = (uint8_t)(seed >> 24);
		}
		if (unic_cm_parse(bad, &msg))
			assert_true(msg.priv_bytes <= UNIC_CTL_PRIVATE_MAX);
	}
}

/* Hand a request to the driver while the NIC does not look. */
static void ask(struct fake *f, uint16_t op, void *rec)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op) };

	f->os.replies = 0;
	memcpy(rec, &hdr, sizeof(hdr));
	assert_true(unic_host_request(f->host, &f->client, rec, 64));
	unic_host_poll(f->host);
}

/* An event that comes before the completions of what was asked. */
static void event_first(struct fake *f, void *evt)
{
	struct unic_evt_hdr *hdr = evt;

	hdr->epoch = unic_to_le32(f->epoch);
	memcpy(f->bar + UNIC_BAR_EVT_OFF + f->evt_tail % 512 * 64, evt, 64);
	idx(f)->evt_tail = unic_to_le32(++f->evt_tail);
	unic_host_poll(f->host);
}

static uint32_t reply_status(struct fake *f)
{
	struct unic_ctl_hdr got;

	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	return unic_from_le16(got.status);
}

static void eviction_before_the_completion(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	ask(f, UNIC_CTL_MR_DEREG, &r);
	evt.hdr.reason = UNIC_WHY_DEREG;
	event_first(f, &evt);
	assert_int_equal(f->os.replies, 0); /* its call is not back yet */
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->host->objects.live, 1); /* the PD */
	fake_delete(f);
}

static void qp_gone_before_the_completion(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj gone = { .hdr = { .type = UNIC_EVT_QP_GONE },
				     .id = unic_to_le32(5) };
	struct unic_hqp *qp;
	struct unic_ctl_obj r = { 0 };

	(void)state;
	hello(f);
	qp = unic_obj_alloc(&f->host->objects, UNIC_OBJ_QP, f->client.slot,
			    sizeof(*qp));
	qp->qpn = 5;
	r.id = unic_to_le32(qp->obj.id);
	f->answer[UNIC_CMD_QP_DESTROY] = UNIC_ST_PENDING;
	ask(f, UNIC_CTL_QP_DESTROY, &r);
	event_first(f, &gone);
	assert_int_equal(f->os.replies, 0);
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->host->objects.live, 0);
	fake_delete(f);
}

/*
 * A process that connects a queue pair which it is destroying got a connection
 * whose request was freed under it (found by fuzz_driver).
 */
static void connect_of_a_dying_qp_is_refused(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_ctl_connect c = { .ipv4 = unic_to_le32(0x0a000002) };
	struct unic_hqp *qp;

	(void)state;
	hello(f);
	qp = unic_obj_alloc(&f->host->objects, UNIC_OBJ_QP, f->client.slot,
			    sizeof(*qp));
	r.id = unic_to_le32(qp->obj.id);
	c.qp = r.id;
	ask(f, UNIC_CTL_QP_DESTROY, &r);
	ask(f, UNIC_CTL_CONNECT, &c);
	assert_int_equal(reply_status(f), UNIC_ST_STATE);
	settle(f);
	assert_int_equal(f->host->objects.live, 0);
	unic_host_plug(f->host, false);
	fake_delete(f);
}

static void proc_gone_before_the_completion(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj gone = { .hdr = { .type = UNIC_EVT_PROC_GONE } };
	uint32_t audits = f->host->audits;

	(void)state;
	hello(f);
	unic_host_client_gone(f->host, &f->client);
	event_first(f, &gone);
	assert_int_equal(f->os.quiet, 0);
	assert_int_equal(f->host->audits, audits + 1);
	settle(f);
	assert_int_equal(f->os.quiet, 1);
	fake_delete(f);
}

/* An asynchronous wait of one page that the NIC queued as wait 4. */
static uint32_t waiting(struct fake *f)
{
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(8),
				      .page_shift = 12 };
	struct unic_cpl_mr_reg cpl = { .wait = unic_to_le32(4) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096),
				       .flags = UNIC_CTL_REG_WAIT |
						UNIC_CTL_REG_ASYNC };
	struct unic_ctl_plain pd = { 0 };

	info(f)->waits = unic_to_le32(8);
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_PENDING);
	return reply_u32(f, 16);
}

static struct unic_evt_wait granted(uint32_t id)
{
	return (struct unic_evt_wait){ .hdr = { .type = UNIC_EVT_GRANTED },
				       .wait = unic_to_le32(4),
				       .user = unic_to_le32(id),
				       .mr = unic_to_le32(3),
				       .gen = unic_to_le32(9) };
}

/* The NIC granted it already, so WAIT_CANCEL comes too late; the MR_DEREG that
 * follows waits for the region and takes it. */
static void dereg_crosses_the_grant(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_ctl_wait_cancel c = { 0 };
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };
	struct unic_evt_wait evt = granted(id);

	(void)state;
	f->answer[UNIC_CMD_WAIT_CANCEL] = UNIC_ST_NO_WAIT;
	assert_int_equal(request(f, UNIC_CTL_WAIT_CANCEL, &c), UNIC_ST_NO_WAIT);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), -1);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), UNIC_ST_BUSY);
	f->os.replies = 0;
	event(f, &evt);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	assert_int_equal(pinned(f), 0);
	assert_int_equal(f->host->objects.live, 1); /* the PD */
	fake_delete(f);
}

/* The NIC granted it in the round in which its process left: completions are heard
 * before events, so the region is gone. No reason to doubt the NIC. */
static void grant_is_heard_after_the_end(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_wait evt = granted(waiting(f));
	uint32_t audits = f->host->audits;

	(void)state;
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->host->objects.live, 0);
	event(f, &evt);
	assert_int_equal(f->host->audits, audits);
	fake_delete(f);
}

/* Its pages lay together when it was asked for; they do not when it is granted, and
 * the NIC would write to what lies between. */
static void frames_are_exchanged_under_a_wait(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_frames large = { .va = unic_to_le64(VA),
					 .pages = unic_to_le32(16),
					 .page_shift = 16 },
			       small = large;
	struct unic_cpl_mr_reg cpl = { .wait = unic_to_le32(4) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(65536),
				       .flags = UNIC_CTL_REG_WAIT |
						UNIC_CTL_REG_ASYNC };
	struct unic_ctl_plain pd = { 0 };
	struct unic_upcall_wait up;
	struct unic_evt_wait evt;

	(void)state;
	info(f)->waits = unic_to_le32(8);
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &large), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_PENDING);
	evt = granted(reply_u32(f, 16));
	small.page_shift = 0;
	assert_int_equal(request(f, UNIC_CTL_FRAMES_FREE, &small), 0);
	small.page_shift = 12;
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &small), 0);
	event(f, &evt);
	assert_int_equal(f->given[UNIC_CMD_MR_FILL], 0);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 1);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_WAIT_ENDED);
	assert_int_equal(unic_from_le32(up.status), UNIC_CTL_ST_NOT_MAPPED);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

static bool frames_under_way; /* none can be pinned yet */

int __real_unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
			   bool write);
int __wrap_unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
			   bool write);

int __wrap_unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
			   bool write)
{
	return frames_under_way ? -EAGAIN
				: __real_unic_frames_pin(f, va, length, write);
}

/* @id is granted, and its frames do not come for as long as its entries may be kept
 * from others. */
static void frames_do_not_come(struct fake *f, uint32_t id)
{
	struct unic_evt_wait evt = granted(id);

	frames_under_way = true;
	event(f, &evt);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 0);
	f->os.now_ns += 1000000000;
	settle(f);
	frames_under_way = false;
	assert_int_equal(f->given[UNIC_CMD_MR_FILL], 0);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 1);
}

/* Frames take longer than entries are kept from others: the entries go back, the wait
 * goes on, and ends well. */
static void late_frames_give_entries_back(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_evt_wait evt = granted(id);
	struct unic_upcall_wait up;

	(void)state;
	frames_do_not_come(f, id);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], 2);
	assert_int_equal(f->os.upcalls, 0);
	assert_int_equal(f->host->proc[0].waits, 1);
	event(f, &evt);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_GRANTED);
	assert_int_equal(f->given[UNIC_CMD_MR_FILL], 1);
	assert_int_equal(pinned(f), 1);
	fake_delete(f);
}

/* It is deregistered while its entries are on their way back: all of it ends. */
static void late_frames_are_not_wanted(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };

	(void)state;
	frames_do_not_come(f, id);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	assert_int_equal(f->host->objects.live, 1); /* the PD */
	fake_delete(f);
}

/* A request with the time @timeout_us that was granted at once; its status when its
 * frames have not come, -1: none. */
static int late_request(struct fake *f, uint32_t timeout_us)
{
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(8),
				      .page_shift = 12 };
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(9) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096),
				       .timeout_us = unic_to_le32(timeout_us),
				       .flags = UNIC_CTL_REG_WAIT };
	struct unic_ctl_plain pd = { 0 };

	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	frames_under_way = true;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), -1);
	f->os.now_ns += 1000000000;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 1);
	frames_under_way = false;
	return f->os.replies ? (int)reply_status(f) : -1;
}

/* The time of who waits is what ends the wait, not that frames are late. */
static void late_frames_and_the_time(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_mr_reg again;

	(void)state;
	info(f)->waits = unic_to_le32(8);
	assert_int_equal(late_request(f, 1000), UNIC_ST_TIMEOUT);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);

	f = fake_new();
	assert_int_equal(late_request(f, 1500000), -1);
	memcpy(&again, f->last[UNIC_CMD_MR_REG], sizeof(again));
	assert_in_range(unic_from_le32(again.timeout_us), 1, 500001);
	f->os.now_ns += 1000000; /* when frames are looked for next */
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(pinned(f), 1);
	fake_delete(f);
}

/* Meanwhile others of the process have its places to wait. */
static void late_frames_find_no_place_to_wait(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_upcall_wait up;
	struct unic_evt_wait evt = granted(id);

	(void)state;
	frames_under_way = true;
	event(f, &evt);
	f->host->proc[0].waits += 4;
	f->os.now_ns += 1000000000;
	nic_run(f);
	unic_host_poll(f->host);
	f->host->proc[0].waits -= 4;
	settle(f);
	frames_under_way = false;
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_WAIT_ENDED);
	assert_int_equal(unic_from_le32(up.status), UNIC_ST_WAIT_FULL);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);
}

static void dereg_of_a_waiting_region_cancels(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { .id = unic_to_le32(waiting(f)) };

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(f->host->proc[0].waits, 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);
}

/* A NIC that grants what it cancels: the grant counts, nothing is freed while
 * the NIC still has it. */
static void cancelled_and_granted(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f), audits;
	struct unic_ctl_wait_cancel c = { 0 };
	struct unic_evt_wait evt = granted(id);

	(void)state;
	audits = f->host->audits;
	ask(f, UNIC_CTL_WAIT_CANCEL, &c);
	event_first(f, &evt);
	settle(f);
	assert_int_equal(f->host->audits, audits + 1);
	assert_int_equal(f->host->proc[0].regions, 1);
	assert_int_equal(f->host->proc[0].waits, 0);
	fake_delete(f);
}

/* MR_ALLOC never waits: there is nothing to cancel, and that is said. */
static void cancel_of_what_cannot_wait(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_alloc a = { .kind = UNIC_FORM_WINDOW2 };
	struct unic_ctl_wait_cancel c = { 0 };
	uint32_t at = 0;
	const struct unic_obj *pd;

	(void)state;
	region(f, 4);
	pd = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_PD,
			   UNIC_OBJ_ANYONE);
	a.pd = unic_to_le32(pd->id);
	ask(f, UNIC_CTL_MR_ALLOC, &a);
	ask(f, UNIC_CTL_WAIT_CANCEL, &c);
	settle(f);
	assert_int_equal(f->os.replies, 2);
	fake_delete(f);
}

/* Giving back is possible with UNIC_CTL_OPEN_MAX requests open. */
static void giving_back_has_its_own_room(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { .id = unic_to_le32(region(f, 4)) };
	struct unic_ctl_dump d = { .table = unic_to_le32(1) };
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_CTL_OPEN_MAX; i++)
		ask(f, UNIC_CTL_DUMP, &d);
	assert_int_equal(f->os.replies, 0);
	ask(f, UNIC_CTL_MR_DEREG, &r);
	assert_int_equal(f->os.replies, 0); /* not TOO_MANY */
	settle(f);
	assert_int_equal(f->os.replies, UNIC_CTL_OPEN_MAX + 1);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);
}

static void shares_are_kept(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_listen l = { 0 };
	struct unic_ctl_plain pd = { 0 };
	uint32_t i;

	(void)state;
	hello(f);
	f->host->share[UNIC_OBJ_PD] = 3;
	for (i = 0; i < 8; i++)
		ask(f, UNIC_CTL_PD_ALLOC, &pd); /* all under way at once */
	settle(f);
	assert_int_equal(f->host->objects.live, 3);
	for (i = 0; i < 64; i++) {
		l.service = unic_to_le64(i);
		assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	}
	l.service = unic_to_le64(i);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), UNIC_ST_QUOTA);
	fake_delete(f);
}

static void mapped_slot_is_left_alone(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	hello(f);
	assert_int_equal(f->client.slot, 0);
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	f->os.mapped = true;
	hello(f);
	assert_int_equal(f->client.slot, 1);
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	f->os.mapped = false;
	hello(f);
	assert_int_equal(f->client.slot, 0);
	fake_delete(f);
}

/* Found by tests/models/revoke.pml: a NIC that is not reset yet may still write
 * where it could (INV-14). */
static void frames_stay_pinned_till_the_end_of_a_reset(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	info(f)->state = unic_to_le32(UNIC_NIC_FAILED);
	unic_host_poll(f->host); /* asks for a reset */
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_STARTING);
	assert_int_equal(f->host->objects.live, 0);
	assert_int_equal(pinned(f), 4);
	settle(f);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* A token of the NIC's index 6 with @key; not settled yet. */
static void ask_token(struct fake *f, uint32_t mr, uint64_t key)
{
	struct unic_cpl_token cpl = { .index = unic_to_le32(6),
				      .key = unic_to_le64(key) };
	struct unic_ctl_token_alloc r = { .mr = unic_to_le32(mr),
					  .length = unic_to_le32(64),
					  .user = unic_to_le32((uint32_t)key) };

	memcpy(f->cpl[UNIC_CMD_TOKEN_ALLOC], &cpl, 64);
	ask(f, UNIC_CTL_TOKEN_ALLOC, &r);
}

/* The NIC says that token @id has ended, before anything else it will say. */
static void token_ends(struct fake *f, uint32_t id)
{
	struct unic_evt_token evt = {
		.hdr = { .type = UNIC_EVT_TOKEN_END,
			 .epoch = unic_to_le32(f->epoch) },
		.index = unic_to_le32(6),
		.user = unic_to_le32(id),
		.end = unic_to_le32(UNIC_TOKEN_EXPIRED),
	};

	memcpy(f->bar + UNIC_BAR_EVT_OFF + f->evt_tail % 512 * 64, &evt, 64);
	idx(f)->evt_tail = unic_to_le32(++f->evt_tail);
}

/* Found by tests/models/token.pml: completions are taken before the events that
 * precede them, so the index of a token that ended may be seen to be used again
 * before its end is (INV-9). */
static void end_of_a_token_whose_index_is_used_again(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), id, upcalls;

	(void)state;
	ask_token(f, mr, 1001);
	settle(f);
	id = reply_u32(f, 24);
	upcalls = f->os.upcalls;
	ask_token(f, mr, 1002);
	token_ends(f, id);
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->os.upcalls, upcalls + 1);
	assert_int_equal(f->host->objects.live, 3); /* PD, region, token */
	fake_delete(f);
}

/* Pieces have bus addresses: the driver's own client names them, no process. */
static void pieces_are_for_the_driver(void **state)
{
	struct {
		struct unic_ctl_token_alloc r;
		struct unic_token_piece piece[2];
	} m = { .r = { .length = unic_to_le32(8),
		       .flags = unic_to_le32(UNIC_TOKEN_F_PIECES) } };
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(UNIC_CTL_TOKEN_ALLOC),
				    .tail_bytes = unic_to_le32(32) };
	struct unic_cmd_token_alloc cmd;
	struct fake *f = fake_new();
	uint32_t i, sent;

	(void)state;
	m.r.mr = unic_to_le32(region(f, 4));
	for (i = 0; i < 3; i++) { /* a process; the driver; without the flag */
		f->client.kernel = i == 1;
		if (i == 2)
			m.r.flags = unic_to_le32(0);
		memset(f->last[UNIC_CMD_TOKEN_ALLOC], 0, 64);
		f->os.replies = 0;
		memcpy(&m.r.hdr, &hdr, sizeof(hdr));
		assert_true(
			unic_host_request(f->host, &f->client, &m, sizeof(m)));
		settle(f);
		memcpy(&cmd, f->last[UNIC_CMD_TOKEN_ALLOC], sizeof(cmd));
		sent = unic_from_le32(cmd.pieces);
		assert_int_equal(sent, i == 1 ? 2 : 0);
		assert_int_equal(reply_status(f), i == 1 ? 0 : UNIC_ST_INVALID);
	}
	fake_delete(f);
}

/* The same, for a cancel that finds the index in other hands. */
static void end_of_a_token_that_a_cancel_did_not_find(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), upcalls;
	struct unic_ctl_obj r = { 0 };

	(void)state;
	ask_token(f, mr, 1001);
	settle(f);
	r.id = unic_to_le32(reply_u32(f, 24));
	upcalls = f->os.upcalls;
	f->answer[UNIC_CMD_TOKEN_CANCEL] = UNIC_ST_NO_TOKEN;
	ask(f, UNIC_CTL_TOKEN_CANCEL, &r);
	token_ends(f, unic_from_le32(r.id));
	settle(f);
	assert_int_equal(reply_status(f), UNIC_ST_NO_TOKEN);
	assert_int_equal(f->os.upcalls, upcalls + 1);
	assert_int_equal(f->host->objects.live, 2);
	fake_delete(f);
}

/* However it ends, of a token no object stays; and one goes at each use. */
static void tokens_leave_no_object(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i;
	struct unic_ctl_obj r = { 0 };

	(void)state;
	for (i = 0; i < 4; i++) {
		ask_token(f, mr, 1000 + i);
		settle(f);
		assert_int_equal(f->host->objects.live, 3);
		r.id = unic_to_le32(reply_u32(f, 24));
		if (i == 0) /* it expires */
			token_ends(f, unic_from_le32(r.id));
		else if (i == 1) /* used: the NIC gives its index again */
			continue;
		else
			f->answer[UNIC_CMD_TOKEN_CANCEL] =
				i == 2 ? UNIC_ST_OK : UNIC_ST_NO_TOKEN;
		settle(f);
		if (i > 1) /* cancelled; or used, and cancelled */
			(void)request(f, UNIC_CTL_TOKEN_CANCEL, &r);
		assert_int_equal(f->host->objects.live, 2);
	}
	fake_delete(f);
}

/* ---------------------------------------------------------------- restore */

static int keep(void **state)
{
	(void)state;
	hello_flags = UNIC_CTL_HELLO_KEEP;
	return 0;
}

static int no_keep(void **state)
{
	(void)state;
	hello_flags = 0;
	return 0;
}

/* The NIC fails and is reset; @answers of a new life. */
static void fail_nic(struct fake *f)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(1),
				       .stag = unic_to_le32(0xabcd00) };

	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	memset(f->last, 0, sizeof(f->last));
	info(f)->state = unic_to_le32(UNIC_NIC_FAILED);
	unic_host_poll(f->host);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_STARTING);
}

static void reset_nic(struct fake *f)
{
	fail_nic(f);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
}

static struct unic_cmd_mr_reg last_reg(struct fake *f)
{
	struct unic_cmd_mr_reg cmd;

	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], sizeof(cmd));
	return cmd;
}

static uint32_t region_state(struct fake *f, uint32_t id)
{
	const struct unic_region *mr = unic_obj_get(
		&f->host->objects, id, UNIC_OBJ_MR, UNIC_OBJ_ANYONE);

	return mr ? mr->state : UINT32_MAX;
}

static void kept_region_is_restored_with_its_stag(void **state)
{
	struct fake *f = fake_new();
	struct unic_upcall_obj up;
	struct unic_cmd_mr_reg cmd;
	uint32_t id = region(f, 4);

	(void)state;
	reset_nic(f);
	cmd = last_reg(f);
	assert_int_equal(cmd.flags, UNIC_REG_RESTORE | UNIC_REG_LIST);
	assert_int_equal(unic_from_le32(cmd.stag), 0xabcd00);
	assert_int_equal(unic_from_le32(cmd.user), id);
	assert_int_equal(pinned(f), 4);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_RESET);
	assert_int_equal(unic_from_le32(up.detail), 0);
	memcpy(&up, upcall(f, 1), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_RESET);
	assert_int_equal(unic_from_le32(up.detail), 2);
	fake_delete(f);
}

/* Its base is nobody's to guess, and stays what it was. */
static void base_is_random(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg reg, r;
	struct unic_ctl_mr_reg_reply rep;
	const struct unic_region *mr;
	uint64_t base[2];
	uint32_t i;

	(void)state;
	mr = unic_obj_get(&f->host->objects, region(f, 1), UNIC_OBJ_MR,
			  UNIC_OBJ_ANYONE);
	memcpy(&reg, mr->made, sizeof(reg));
	reg.flags = UNIC_CTL_REG_RANDOM;
	r = reg;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &r), UNIC_ST_INVALID);
	reg.iova = unic_to_le64(0);
	for (i = 0; i < 2; i++) {
		r = reg;
		assert_int_equal(request(f, UNIC_CTL_MR_REG, &r), 0);
		memcpy(&rep, f->os.reply[0], sizeof(rep));
		base[i] = unic_from_le64(rep.iova);
		assert_true(base[i] == unic_from_le64(last_reg(f).iova));
		assert_int_equal(base[i] >> 63, 0);
		assert_int_equal((base[i] ^ VA) % (1 << 21), 0);
	}
	assert_true(base[0] != base[1]);
	fail_nic(f);
	settle(f);
	assert_true(base[1] == unic_from_le64(last_reg(f).iova));
	fake_delete(f);
}

/* None of the 42 bits stands still. */
static void bases_differ_in_all_their_bits(void **state)
{
	const uint64_t drawn = ((1ull << 42) - 1) << 21;
	uint64_t base, ones = 0, zeros = 0;
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg reg, r;
	struct unic_ctl_mr_reg_reply rep;
	const struct unic_region *mr;
	uint32_t i;

	(void)state;
	mr = unic_obj_get(&f->host->objects, region(f, 1), UNIC_OBJ_MR,
			  UNIC_OBJ_ANYONE);
	memcpy(&reg, mr->made, sizeof(reg));
	reg.flags = UNIC_CTL_REG_RANDOM;
	reg.iova = unic_to_le64(0);
	f->os.all_random = 1;
	for (i = 0; i < 1000; i++) {
		struct unic_ctl_obj end = { 0 };

		r = reg;
		assert_int_equal(request(f, UNIC_CTL_MR_REG, &r), 0);
		memcpy(&rep, f->os.reply[0], sizeof(rep));
		base = unic_from_le64(rep.iova);
		ones |= base;
		zeros |= ~base;
		end.id = rep.id;
		assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &end), 0);
	}
	assert_true((ones & zeros) == drawn);
	fake_delete(f);
}

static void notice_is_void_after_a_reset(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 2);
	struct unic_evt_mr evt = notice(id, UNIC_EVT_NOTICE);

	(void)state;
	event(f, &evt);
	assert_int_equal(region_state(f, id), R_NOTIFIED);
	reset_nic(f);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	/* words of the life before are about nothing */
	evt = notice(id, UNIC_EVT_NOTICE);
	event(f, &evt); /* generation 9 */
	assert_int_equal(region_state(f, id), R_ACTIVE);
	fake_delete(f);
}

static void region_that_cannot_be_restored_is_told(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_upcall_mr up;
	uint32_t id = region(f, 4);

	(void)state;
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_TLB_FULL;
	reset_nic(f);
	assert_int_equal(pinned(f), 0);
	memcpy(&up, upcall(f, 1), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_EVICTED);
	assert_int_equal(up.hdr.reason, UNIC_WHY_RESET);
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	r.id = unic_to_le32(id);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_NO_MR;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(region_state(f, id), UINT32_MAX);
	fake_delete(f);
}

static void dereg_under_way_is_done_by_the_reset(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_ctl_hdr hdr;
	uint32_t id = region(f, 4);

	(void)state;
	r.id = unic_to_le32(id);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), -1);
	reset_nic(f);
	assert_int_equal(f->os.replies, 1);
	memcpy(&hdr, f->os.reply[0], sizeof(hdr));
	assert_int_equal(unic_from_le16(hdr.status), 0);
	assert_int_equal(last_reg(f).hdr.opcode, 0);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

static void wait_is_queued_again_for_the_rest_of_its_time(void **state)
{
	struct fake *f = fake_new();
	struct unic_cpl_mr_reg cpl = { .wait = unic_to_le32(11) };
	struct unic_ctl_mr_reg reg = {
		.va = unic_to_le64(VA),
		.iova = unic_to_le64(VA),
		.length = unic_to_le64(4096),
		.flags = UNIC_CTL_REG_WAIT | UNIC_CTL_REG_ASYNC,
		.timeout_us = unic_to_le32(1000000),
	};
	struct unic_ctl_plain pd = { 0 };
	struct unic_cmd_mr_reg cmd;
	struct unic_evt_wait evt;
	uint32_t id;

	(void)state;
	f->host->waits = 64;
	region(f, 1);
	f->host->waits = 64;
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_PENDING);
	id = reply_u32(f, 16);
	f->os.now_ns += 400000000;
	reset_nic(f); /* both are answered PENDING: the last is the wait */
	cmd = last_reg(f);
	assert_int_equal(cmd.flags, UNIC_REG_WAIT);
	assert_int_equal(unic_from_le32(cmd.user), id);
	assert_in_range(unic_from_le32(cmd.timeout_us), 590000, 600001);
	assert_int_equal(region_state(f, id), R_WAITING);
	assert_int_equal(f->host->proc[0].waits, 1);
	evt = (struct unic_evt_wait){ .hdr = { .type = UNIC_EVT_WAIT_ENDED },
				      .status = unic_to_le32(UNIC_ST_TIMEOUT),
				      .user = unic_to_le32(id) };
	event(f, &evt);
	assert_int_equal(region_state(f, id), UINT32_MAX);
	assert_int_equal(f->host->proc[0].waits, 0);
	fake_delete(f);
}

static void reset_while_restoring_begins_again(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4), i;

	(void)state;
	for (i = 0; i < 12; i++) {
		uint32_t k;

		info(f)->state = unic_to_le32(UNIC_NIC_FAILED);
		unic_host_poll(f->host);
		for (k = 0; k < i; k++) { /* as far as it comes */
			nic_run(f);
			unic_host_poll(f->host);
		}
	}
	settle(f);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	assert_int_equal(pinned(f), 4);
	assert_null(f->host->reqs);
	assert_int_equal(f->host->audits, 0);
	fake_delete(f);
}

/* A CQ and a QP as @qp says, both number 5 of the NIC; returns the status. */
static uint8_t queues_as(struct fake *f, uint32_t mr,
			 struct unic_ctl_qp_create qp)
{
	struct unic_cpl_obj cpl = { .id = unic_to_le32(5) };
	struct unic_ctl_cq_create cq = { .entries = unic_to_le32(16) };

	memcpy(f->cpl[UNIC_CMD_CQ_CREATE], &cpl, 64);
	memcpy(f->cpl[UNIC_CMD_QP_CREATE], &cpl, 64);
	cq.mr = qp.mr = unic_to_le32(mr);
	assert_int_equal(request(f, UNIC_CTL_CQ_CREATE, &cq), 0);
	qp.send_cq = qp.recv_cq = unic_to_le32(reply_u32(f, 16));
	qp.pd = unic_to_le32(((struct unic_region *)unic_obj_get(
				      &f->host->objects, mr, UNIC_OBJ_MR, 0))
				     ->pd);
	return request(f, UNIC_CTL_QP_CREATE, &qp);
}

/* The id of the QP. */
static uint32_t queues(struct fake *f, uint32_t mr)
{
	struct unic_ctl_qp_create qp = { .sq_slots = unic_to_le16(16) };

	assert_int_equal(queues_as(f, mr, qp), 0);
	return reply_u32(f, 16);
}

/* Type, miss policy and Q_Key go to the NIC as they are, also after a reset;
 * datagrams are not connected, and their peer is not asked for. */
static void types_of_queue_pairs(void **state)
{
	struct unic_ctl_qp_create ud = { .sq_slots = unic_to_le16(16),
					 .db_index = 3,
					 .type = UNIC_QPT_UD,
					 .miss = UNIC_QPM_BOUNCE };
	struct unic_ctl_qp_modify mod = { .state = UNIC_QPS_INIT,
					  .qkey = unic_to_le32(0x1234) };
	struct unic_ctl_connect conn = { .ipv4 = unic_to_le32(2) };
	struct fake *f = fake_new();
	struct unic_cmd_qp_create made;
	struct unic_cmd_qp_modify modified;
	uint32_t mr = region(f, 4);

	(void)state;
	f->answer[UNIC_CMD_QP_CREATE] = UNIC_ST_BAD_OPCODE;
	assert_int_equal(queues_as(f, mr, ud), UNIC_CTL_ST_UNSUPPORTED);
	f->answer[UNIC_CMD_QP_CREATE] = 0;
	ud.rsvd0 = 1;
	assert_int_equal(queues_as(f, mr, ud), UNIC_ST_INVALID);
	ud.rsvd0 = 0;
	assert_int_equal(queues_as(f, mr, ud), 0);
	mod.id = conn.qp = unic_to_le32(reply_u32(f, 16));
	memcpy(&made, f->last[UNIC_CMD_QP_CREATE], sizeof(made));
	assert_int_equal(made.type, UNIC_QPT_UD);
	assert_int_equal(made.miss, UNIC_QPM_BOUNCE);
	assert_int_equal(unic_from_le32(made.db_index), 3);
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &conn), UNIC_ST_STATE);
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), 0);
	memcpy(&modified, f->last[UNIC_CMD_QP_MODIFY], sizeof(modified));
	assert_int_equal(unic_from_le32(modified.qkey), 0x1234);
	memset(f->last[UNIC_CMD_ARP_RESOLVE], 0, 64);
	mod.state = UNIC_QPS_RTR;
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), 0);
	assert_int_equal(f->last[UNIC_CMD_ARP_RESOLVE][0], 0);
	memset(f->last[UNIC_CMD_QP_CREATE], 0, 64);
	reset_nic(f);
	memcpy(&made, f->last[UNIC_CMD_QP_CREATE], sizeof(made));
	assert_int_equal(made.type, UNIC_QPT_UD);
	assert_int_equal(made.miss, UNIC_QPM_BOUNCE);
	fake_delete(f);
}

static void queues_come_back_in_error(void **state)
{
	struct fake *f = fake_new();
	struct unic_cpl_obj cpl = { .id = unic_to_le32(77) };
	struct unic_ctl_qp_modify mod = { .state = UNIC_QPS_INIT };
	struct unic_ctl_obj r = { 0 };
	uint32_t mr = region(f, 4), id = queues(f, mr);

	(void)state;
	memcpy(f->cpl[UNIC_CMD_QP_CREATE], &cpl, 64);
	reset_nic(f);
	r.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_QP_QUERY, &r), 0);
	assert_int_equal(reply_u32(f, 20), 77);
	assert_int_equal(reply_u32(f, 24), UNIC_QPS_ERR);
	mod.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), UNIC_ST_STATE);
	mod.state = UNIC_QPS_RESET;
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), 0);
	mod.state = UNIC_QPS_INIT;
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), 0);
	fake_delete(f);
}

static uint32_t resets_of_token(struct fake *f, uint32_t index)
{
	struct unic_upcall_token up;
	uint32_t i, ends = 0;

	for (i = 0; i < f->host->proc[0].upcall_next; i++) {
		memcpy(&up, upcall(f, i), sizeof(up));
		ends += up.hdr.type == UNIC_UP_TOKEN_END &&
			unic_from_le32(up.end) == UNIC_TOKEN_RESET &&
			unic_from_le32(up.index) == index;
	}
	return ends;
}

/* The row of the only object of @type, or of the last one. */
static struct unic_ctl_object row_of(struct fake *f, uint32_t type)
{
	struct unic_ctl_resync r = { .what = unic_to_le32(
					     UNIC_CTL_RESYNC_OBJECTS) };
	struct unic_ctl_object row, found = { .id = unic_to_le32(0) };
	uint32_t i;

	assert_int_equal(request(f, UNIC_CTL_RESYNC, &r), 0);
	assert_int_equal(f->os.reply_bytes[0],
			 64 + reply_u32(f, 16) * sizeof(row));
	for (i = 0; i < reply_u32(f, 16); i++) {
		memcpy(&row, (uint8_t *)f->os.reply[0] + 64 + i * sizeof(row),
		       sizeof(row));
		if (unic_from_le32(row.type) == type)
			found = row;
	}
	return found;
}

/* A storm in which nobody reads: 1,000 records, and what is true after it. */
static void resync_tells_of_everything(void **state)
{
	struct unic_evt_obj storm = { .hdr = { .type = UNIC_EVT_DB_ERROR } };
	struct unic_evt_obj full = { .hdr = { .type = UNIC_EVT_CQ_ERROR },
				     .id = unic_to_le32(5) };
	struct unic_ctl_resync bad = { .what = unic_to_le32(2) };
	struct unic_cm_msg msg;
	struct fake *f = requested(&msg);
	uint32_t mr = region(f, 4), i;
	struct unic_ctl_object row;

	(void)state;
	queues(f, mr);
	ask_token(f, mr, 99);
	settle(f);
	assert_int_equal(unic_from_le32(row_of(f, UNIC_CTL_O_CQ).state), 0);
	assert_int_equal(unic_from_le32(row_of(f, UNIC_CTL_O_QP).state),
			 UNIC_QPS_RESET);
	event(f, &full);
	full.hdr.type = UNIC_EVT_QP_ERROR;
	event(f, &full);
	for (i = 0; i < 1000; i++)
		event(f, &storm);
	assert_true(
		unic_from_le32(
			((struct unic_upcall_hdr *)(void *)upcall(f, 0))->seq) >
		UNIC_UPCALLS);
	assert_int_equal(unic_from_le32(row_of(f, UNIC_CTL_O_CQ).state), 1);
	row = row_of(f, UNIC_CTL_O_QP);
	assert_int_equal(unic_from_le32(row.state), UNIC_QPS_ERR);
	assert_int_equal(unic_from_le32(row.number), 5);
	row = row_of(f, UNIC_CTL_O_MR);
	assert_int_equal(unic_from_le32(row.id), mr);
	assert_int_equal(unic_from_le32(row.user), 55);
	assert_int_equal(unic_from_le32(row.state), UNIC_CTL_R_ACTIVE);
	assert_int_equal(unic_from_le32(row.of),
			 unic_from_le32(row_of(f, UNIC_CTL_O_PD).id));
	row = row_of(f, UNIC_CTL_O_TOKEN);
	assert_int_equal(unic_from_le32(row.user), 99);
	assert_int_equal(unic_from_le32(row.number), 6);
	row = row_of(f, UNIC_CTL_O_CONN);
	assert_int_equal(unic_from_le32(row.state), UNIC_CTL_CONN_REQUESTED);
	assert_int_equal(unic_from_le32(row.detail), PEER);
	assert_int_equal(unic_from_le32(row.of),
			 unic_from_le32(row_of(f, UNIC_CTL_O_LISTENER).id));
	assert_int_equal(reply_u32(f, 24), 1004); /* of the next upcall */
	assert_int_equal(request(f, UNIC_CTL_RESYNC, &bad), UNIC_ST_INVALID);
	fake_delete(f);
}

/* A request that waits has an id, and the number it was asked by. */
static void resync_tells_of_waits(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_ctl_object row = row_of(f, UNIC_CTL_O_MR);

	(void)state;
	assert_int_equal(unic_from_le32(row.id), id);
	assert_int_equal(unic_from_le32(row.state), UNIC_CTL_R_WAITING);
	fake_delete(f);
}

static uint32_t uc_queues(struct fake *f, uint32_t mr)
{
	struct unic_ctl_qp_create qp = { .sq_slots = unic_to_le16(16),
					 .type = UNIC_QPT_UC };

	assert_int_equal(queues_as(f, mr, qp), 0);
	return reply_u32(f, 16);
}

/* The NIC is told nothing of what its type has not. */
static void modified_as_uc(struct fake *f, uint32_t state)
{
	struct unic_cmd_qp_modify m;

	memcpy(&m, f->last[UNIC_CMD_QP_MODIFY], sizeof(m));
	assert_int_equal(m.state, state);
	assert_int_equal(m.rights & ~UNIC_MR_REMOTE_WRITE, 0);
	assert_int_equal(m.max_rd | m.max_dest_rd | m.timeout | m.retry_cnt |
				 m.rnr_retry | m.rnr_timer | m.vendor,
			 0);
}

static void unreliable_connects(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER),
				      .rights = UNIC_MR_REMOTE_READ };
	struct fake *f = fake_new();
	struct unic_cm_msg m;

	(void)state;
	r.qp = unic_to_le32(uc_queues(f, region(f, 4)));
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
	m = mad_sent(f);
	assert_int_equal(m.type, UNIC_CM_REQ);
	assert_int_equal(m.qp_type, UNIC_QPT_UC);
	m.type = UNIC_CM_REP;
	m.remote_comm = m.local_comm;
	m.vendor = 1;
	mad_from(f, PEER, &m);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(mad_sent(f).type, UNIC_CM_RTU);
	modified_as_uc(f, UNIC_QPS_RTS);
	fake_delete(f);
}

/* Which type it is the peer says; another one is refused, and he is told. */
static void unreliable_is_accepted(void **state)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct unic_cm_msg m = { .type = UNIC_CM_REQ,
				 .tid = 1,
				 .local_comm = 0x77,
				 .service = 4711,
				 .qpn = 5,
				 .mtu_shift = 10,
				 .max_rd = 4,
				 .max_dest_rd = 4,
				 .timeout = 14,
				 .qp_type = UNIC_QPT_UC };
	struct unic_ctl_connect a = { 0 };
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i;
	struct unic_upcall_hdr up;

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	for (i = 0; i < 2; i++) {
		struct unic_ctl_obj q = { 0 };

		m.tid = i;
		mad_from(f, PEER, &m);
		memcpy(&up, upcall(f, i), sizeof(up));
		assert_int_equal(up.type, UNIC_UP_CONN_REQUEST);
		q.id = a.conn = up.id;
		assert_int_equal(request(f, UNIC_CTL_CONN_QUERY, &q), 0);
		assert_int_equal(
			((struct unic_ctl_conn_reply *)(void *)f->os.reply[0])
				->qp_type,
			UNIC_QPT_UC);
		a.qp = unic_to_le32(i ? uc_queues(f, mr) : queues(f, mr));
		assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a),
				 i ? 0 : UNIC_CTL_ST_REJECTED);
		assert_int_equal(mad_sent(f).type,
				 i ? UNIC_CM_REP : UNIC_CM_REJ);
	}
	modified_as_uc(f, UNIC_QPS_RTS);
	fake_delete(f);
}

/* ---------------------------------------------------------------- holders */

struct peer {
	uint32_t ipv4, comm; /* its id of the connection */
	uint32_t conn;	     /* ours, as our process knows it */
	uint32_t ours;	     /* ours on the wire */
	uint32_t qpn;	     /* of our QP */
};

/* A connection of a peer to our listener, up. */
static void peer_connects(struct fake *f, struct peer *p, uint32_t mr)
{
	struct unic_ctl_connect accept = { .qp = unic_to_le32(queues(f, mr)) };
	struct unic_cm_msg m = { .type = UNIC_CM_REQ,
				 .tid = p->comm,
				 .local_comm = p->comm,
				 .service = 4711,
				 .qpn = p->comm,
				 .mtu_shift = 10,
				 .vendor = 1 };
	struct unic_upcall_hdr up;

	mad_from(f, p->ipv4, &m);
	memcpy(&up, upcall(f, f->host->proc[0].upcall_next - 1), sizeof(up));
	assert_int_equal(up.type, UNIC_UP_CONN_REQUEST);
	p->conn = unic_from_le32(up.id);
	accept.conn = up.id;
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &accept), 0);
	p->ours = mad_sent(f).local_comm;
	p->qpn = mad_sent(f).qpn;
	m.type = UNIC_CM_RTU;
	m.remote_comm = p->ours;
	mad_from(f, p->ipv4, &m);
}

/* A peer whose NIC is slow says how slow, and so do we: the longer of what the two
 * need is waited for, at either end. */
static void slow_nics_say_so(void **state)
{
	static const uint8_t said[] = { 5, 17 }, waited[] = { 12, 17 };
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i;
	struct unic_cmd_qp_modify m;
	struct peer p = { .ipv4 = PEER, .comm = 0x77 };
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct unic_cm_msg rep;

	(void)state;
	for (i = 0; i < 2; i++) {
		r.qp = unic_to_le32(queues(f, mr));
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		rep = mad_sent(f);
		rep.type = UNIC_CM_REP;
		rep.remote_comm = rep.local_comm;
		rep.timeout = said[i];
		mad_from(f, PEER, &rep);
		memcpy(&m, f->last[UNIC_CMD_QP_MODIFY], sizeof(m));
		assert_int_equal(m.state, UNIC_QPS_RTS);
		assert_int_equal(m.timeout, waited[i]);
	}
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	f->host->config.ack_timeout = 17;
	peer_connects(f, &p, mr);
	rep = mad_sent(f);
	assert_int_equal(rep.type, UNIC_CM_REP);
	assert_int_equal(rep.timeout, 17);
	fake_delete(f);
}

/* ------------------------------------------------------------- forged messages */

static struct conn *conn_with(struct fake *f, uint32_t ipv4)
{
	struct conn *c;
	uint32_t at = 0;

	while ((c = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_CONN,
				  UNIC_OBJ_ANYONE)))
		if (c->ipv4 == ipv4)
			return c;
	return NULL;
}

/* The REQ of a connection to PEER that one of our processes asks for. */
static struct unic_cm_msg connecting(struct fake *f)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };

	r.qp = unic_to_le32(queues(f, region(f, 4)));
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
	return mad_sent(f);
}

/* ... and the REP that PEER answers. */
static struct unic_cm_msg reply_of(const struct unic_cm_msg *req)
{
	return (struct unic_cm_msg){ .type = UNIC_CM_REP,
				     .tid = req->tid,
				     .local_comm = 0x99,
				     .remote_comm = req->local_comm,
				     .qpn = 6,
				     .psn = 0x654321,
				     .vendor = 1 };
}

static void listens(struct fake *f, uint32_t *mr)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };

	*mr = region(f, 4);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
}

/* A connection that PEER asks for, accepted; the REP. */
static struct unic_cm_msg accepted(struct fake *f)
{
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .tid = 0x1234567890,
				   .local_comm = 0x99,
				   .service = 4711,
				   .qpn = 6,
				   .psn = 0x123456,
				   .mtu_shift = 10,
				   .vendor = 1 };
	struct unic_ctl_connect a = { 0 };
	uint32_t mr;

	listens(f, &mr);
	mad_from(f, PEER, &req);
	a.conn = unic_to_le32(conn_with(f, PEER)->obj.id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
	assert_int_equal(conn_with(f, PEER)->state, C_REP_SENT);
	return mad_sent(f);
}

/* What the peer offered is not forgotten when an ACCEPT is refused. */
static void refused_accept_keeps_the_offer(void **state)
{
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .tid = 9,
				   .local_comm = 0x99,
				   .service = 4711,
				   .qpn = 6,
				   .mtu_shift = 10,
				   .max_rd = 2,
				   .max_dest_rd = 1,
				   .timeout = 17 };
	struct unic_ctl_connect a = { .rights = UNIC_MR_LOCAL_WRITE };
	struct fake *f = fake_new();
	struct unic_cmd_qp_modify m;
	uint32_t mr;

	(void)state;
	listens(f, &mr);
	mad_from(f, PEER, &req);
	a.conn = unic_to_le32(conn_with(f, PEER)->obj.id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), UNIC_ST_INVALID);
	a.rights = 0;
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
	memcpy(&m, f->last[UNIC_CMD_QP_MODIFY], sizeof(m));
	assert_int_equal(m.state, UNIC_QPS_RTS);
	assert_int_equal(m.max_rd, 1);
	assert_int_equal(m.timeout, 17);
	assert_int_equal(mad_sent(f).max_dest_rd, 2);
	fake_delete(f);
}

/* A message of PEER about the connection that @ours, of ours, is of. */
static struct unic_cm_msg message(uint16_t type, const struct unic_cm_msg *ours)
{
	return (struct unic_cm_msg){ .type = type,
				     .tid = ours->tid,
				     .local_comm = 0x99,
				     .remote_comm = ours->local_comm,
				     .qpn = 5 };
}

static struct unic_cm_msg to_confirm(struct fake *f, uint16_t type)
{
	struct unic_cm_msg rep = accepted(f);

	return message(type, &rep);
}

static struct unic_cm_msg to_answer(struct fake *f, uint16_t type)
{
	struct unic_cm_msg req = connecting(f), m = reply_of(&req);

	m.type = type;
	if (type == UNIC_CM_REJ) {
		m.local_comm = 0; /* it made no connection */
		m.reason = UNIC_CM_CONSUMER;
	}
	return m;
}

/* The connection is up, by our wish or by the peer's. */
static struct unic_cm_msg to_end(struct fake *f, uint16_t type)
{
	struct unic_cm_msg m = to_confirm(f, UNIC_CM_RTU);

	mad_from(f, PEER, &m);
	m.type = type;
	return m;
}

static struct unic_cm_msg to_end_ours(struct fake *f, uint16_t type)
{
	struct unic_cm_msg m = to_answer(f, UNIC_CM_REP);

	mad_from(f, PEER, &m);
	m.type = type;
	m.qpn = 5;
	return m;
}

static struct unic_cm_msg to_part(struct fake *f, uint16_t type)
{
	struct unic_cm_msg m = to_end(f, type);
	struct unic_ctl_obj r = { 0 };

	r.id = unic_to_le32(conn_with(f, PEER)->obj.id);
	assert_int_equal(request(f, UNIC_CTL_DISCONNECT, &r), -1);
	return m;
}

#define GONE 99

enum forgery {
	NO_LOCAL = 1u << 0,
	OTHER_LOCAL = 1u << 1,
	NO_REMOTE = 1u << 2,
	OTHER_REMOTE = 1u << 3,
	OTHER_TID = 1u << 4,
	OTHER_QPN = 1u << 5,
	OTHER_ADDRESS = 1u << 6,
	OTHER_MAC = 1u << 7,
	ANY = 0xff,
};

static void forge(struct fake *f, struct unic_cm_msg m, uint32_t what)
{
	if (what == NO_LOCAL || what == OTHER_LOCAL)
		m.local_comm = what == NO_LOCAL ? 0 : m.local_comm + 1;
	if (what == NO_REMOTE || what == OTHER_REMOTE)
		m.remote_comm = what == NO_REMOTE ? 0 : m.remote_comm ^ 1;
	if (what == OTHER_TID)
		m.tid ^= 1ull << 40;
	if (what == OTHER_QPN)
		m.qpn++;
	mad_from_mac(f, what == OTHER_ADDRESS ? PEER + 1 : PEER,
		     what == OTHER_MAC, &m);
}

/* A message that fits a connection in all but one field leaves it as it is, in
 * each of the states in which one that fits changes it. */
static void forged_messages_change_nothing(void **state)
{
	static const struct {
		struct unic_cm_msg (*begin)(struct fake *f, uint16_t type);
		uint16_t type;
		uint8_t then;	/* enum conn_state, or GONE */
		uint32_t fixed; /* enum forgery: what the peer cannot vary */
	} t[] = {
		/* who refuses a REQ need not have an id of its own */
		{ to_answer, UNIC_CM_REP, C_ESTABLISHED,
		  ANY & ~(OTHER_QPN | NO_LOCAL | OTHER_LOCAL) },
		{ to_answer, UNIC_CM_REJ, GONE,
		  ANY & ~(OTHER_QPN | NO_LOCAL | OTHER_LOCAL) },
		{ to_confirm, UNIC_CM_RTU, C_ESTABLISHED, ANY & ~OTHER_QPN },
		/* who did not hear of us names no id of ours */
		{ to_confirm, UNIC_CM_REJ, C_CLOSED,
		  ANY & ~(OTHER_QPN | NO_REMOTE) },
		{ to_confirm, UNIC_CM_DREQ, C_CLOSED, ANY },
		{ to_end, UNIC_CM_DREQ, C_CLOSED, ANY },
		{ to_end_ours, UNIC_CM_DREQ, C_CLOSED, ANY },
		{ to_part, UNIC_CM_DREP, GONE, ANY & ~OTHER_QPN },
		{ to_part, UNIC_CM_DREQ, GONE, ANY },
	};
	uint32_t i, bit, upcalls;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fake *f = fake_new();
		struct unic_cm_msg m = t[i].begin(f, t[i].type);
		struct conn *c = conn_with(f, PEER), before = *c;

		upcalls = f->host->upcalls;
		for (bit = 1; bit <= OTHER_MAC; bit <<= 1) {
			if (!(t[i].fixed & bit))
				continue;
			forge(f, m, bit);
			assert_ptr_equal(conn_with(f, PEER), c);
			assert_memory_equal(c, &before, sizeof(before));
			assert_int_equal(f->host->upcalls, upcalls);
		}
		forge(f, m, 0);
		if (t[i].then == GONE)
			assert_null(conn_with(f, PEER));
		else
			assert_int_equal(c->state, t[i].then);
		fake_delete(f);
	}
}

/* The peer that answered REP ends the connection before our QP is ready: it
 * repeats its DREQ, which is answered once there is something to end. */
static void dreq_before_the_qp_is_ready(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg m = to_answer(f, UNIC_CM_REP), dreq;
	uint32_t i, n = f->commands;

	(void)state;
	dreq = m;
	dreq.type = UNIC_CM_DREQ;
	dreq.qpn = 5;
	put_mad(f, PEER, 0, &m);
	put_mad(f, PEER, 0, &dreq);
	for (i = 0; i < 3; i++)
		unic_host_poll(f->host);
	assert_int_equal(conn_with(f, PEER)->state, C_MODIFY);
	settle(f);
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	assert_int_equal(f->commands, n + 4); /* three of the QP, and RTU */
	mad_from(f, PEER, &dreq);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	fake_delete(f);
}

/* IBTA has a DREQ begin a transaction of its own: only a peer that is unic repeats
 * the REQ's. */
static void dreq_of_a_stranger_has_its_own_transaction(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg m = to_end_ours(f, UNIC_CM_DREQ);

	(void)state;
	conn_with(f, PEER)->vendor = 0;
	forge(f, m, OTHER_QPN);
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	forge(f, m, OTHER_TID);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	fake_delete(f);
}

static void guessed_dreqs_end_nothing(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg right = to_end(f, UNIC_CM_DREQ), m = right;
	uint32_t i, seed = 1;

	(void)state;
	for (i = 0; i < 10000; i++) {
		seed = seed * 1664525 + 1013904223;
		m.remote_comm = i % 2 ? seed : 0x2000 + i / 2;
		m.local_comm = i % 3 ? 0x99 : 0;
		m.tid = i % 5 ? right.tid : m.remote_comm;
		mad_from(f, PEER, &m);
		assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	}
	/* nobody knows it: so it has ended, and the peer need not go on */
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREP);
	mad_from(f, PEER, &right);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREP);
	fake_delete(f);
}

/* An id is as random as the system's random numbers, and of one living connection;
 * what our process calls it, or the next one's, says nothing of it. */
static void ids_on_the_wire_are_random(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i, id[3];
	struct unic_cm_msg m;

	(void)state;
	f->os.same_randoms = 20;
	for (i = 0; i < 3; i++) {
		r.qp = unic_to_le32(queues(f, mr));
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		m = mad_sent(f);
		assert_int_equal(m.type, UNIC_CM_REQ);
		id[i] = m.local_comm;
		assert_int_equal(m.tid >> 48, 0x5a5a);
		assert_int_equal(id[i] >> 24, 0x5a);
	}
	assert_int_not_equal(id[0], id[1]);
	assert_int_not_equal(id[1], id[2]);
	fake_delete(f);
}

static uint32_t psn_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static struct unic_cmd_qp_modify modified_to(const struct fake *f,
					     uint32_t state)
{
	struct unic_cmd_qp_modify m;

	memcpy(&m, f->modified[state], sizeof(m));
	return m;
}

/* The 24 bits at which a peer begins are drawn for each connection, whichever side
 * asks for it. (unic_os_random() draws 0x..5axxxx here.) */
static void starting_psns_are_drawn(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i, psn[4];

	(void)state;
	for (i = 0; i < 3; i++) {
		r.qp = unic_to_le32(queues(f, mr));
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		psn[i] = mad_sent(f).psn;
	}
	fake_delete(f);
	f = fake_new();
	f->os.randoms = 1000;
	to_confirm(f, UNIC_CM_RTU);
	psn[3] = mad_sent(f).psn;
	for (i = 0; i < 4; i++) {
		assert_int_equal(psn[i] >> 16, 0x5a);
		assert_int_not_equal(psn[i], psn[(i + 1) % 4]);
	}
	fake_delete(f);
}

/* The PSN in REQ and REP is the one at which their receiver begins to send. */
static void starting_psn_is_the_other_sides(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg req = connecting(f), rep = reply_of(&req);
	uint32_t said = psn_at(bytes_sent(f) + 24 + 44);

	(void)state;
	assert_true(said);
	mad_from(f, PEER, &rep);
	assert_int_equal(unic_from_le32(modified_to(f, UNIC_QPS_RTR).rq_psn),
			 said);
	assert_int_equal(unic_from_le32(modified_to(f, UNIC_QPS_RTS).sq_psn),
			 0x654321);
	fake_delete(f);
	f = fake_new();
	accepted(f);
	said = psn_at(bytes_sent(f) + 24 + 20);
	assert_true(said);
	assert_int_equal(unic_from_le32(modified_to(f, UNIC_QPS_RTR).rq_psn),
			 said);
	assert_int_equal(unic_from_le32(modified_to(f, UNIC_QPS_RTS).sq_psn),
			 0x123456);
	fake_delete(f);
}

/* A REJ says which message is refused, and with the ids of both sides. */
static void rej_names_what_it_refuses(void **state)
{
	struct unic_cm_msg req, rep = { .type = UNIC_CM_REP,
					.tid = 5,
					.local_comm = 0x88,
					.remote_comm = 0x12345,
					.qpn = 7 };
	struct unic_ctl_reject r = { 0 };
	struct fake *f = requested(&req);

	(void)state;
	mad_from(f, PEER, &rep);
	assert_int_equal(bytes_sent(f)[24 + 8] >> 6, 1);
	assert_int_equal(mad_sent(f).local_comm, 0x12345);
	assert_int_equal(mad_sent(f).remote_comm, 0x88);
	r.conn = unic_to_le32(conn_with(f, PEER)->obj.id);
	assert_int_equal(request(f, UNIC_CTL_REJECT, &r), 0);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REJ);
	assert_int_equal(bytes_sent(f)[24 + 8] >> 6, 0);
	assert_int_equal(mad_sent(f).remote_comm, 0x77);
	fake_delete(f);
}

/* ------------------------------------------------------------ floods of REQs */

/* @n REQs that nobody means, 1 us apart. */
static void flood(struct fake *f, uint32_t n, uint32_t ipv4, uint32_t step)
{
	static uint32_t tid = 1000000;
	struct unic_cm_msg m = {
		.type = UNIC_CM_REQ, .service = 4711, .qpn = 5, .mtu_shift = 10
	};

	while (n--) {
		m.tid = m.local_comm = ++tid;
		f->os.now_ns += 1000;
		mad_from(f, ipv4, &m);
		ipv4 += step;
	}
}

static uint32_t n_conns(struct fake *f, uint32_t state)
{
	struct conn *c;
	uint32_t at = 0, n = 0;

	while ((c = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_CONN,
				  UNIC_OBJ_ANYONE)))
		n += c->state == state;
	return n;
}

static const struct unic_cm_msg meant = { .type = UNIC_CM_REQ,
					  .tid = 99,
					  .local_comm = 0x77,
					  .service = 4711,
					  .qpn = 5,
					  .mtu_shift = 10,
					  .vendor = 1 };

/* An address that asks more than others pushes out its own, the oldest first. */
static void flood_of_one_address_is_its_own_harm(void **state)
{
	struct unic_ctl_connect a = { 0 };
	struct fake *f = fake_new();
	uint32_t mr, id;
	struct conn *c;

	(void)state;
	listens(f, &mr);
	flood(f, 1000, PEER + 1, 0);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	mad_from(f, PEER, &meant);
	c = conn_with(f, PEER);
	assert_non_null(c);
	id = c->obj.id;
	flood(f, 1000, PEER + 1, 0);
	mad_from(f, PEER, &meant); /* repeated: the same request */
	flood(f, 30, PEER + 2, 0); /* one that asks less than the most */
	assert_int_equal(c->obj.id, id);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	a.conn = unic_to_le32(id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REP);
	fake_delete(f);
}

/* Two that have half of the places each: one more of either is at its own cost. */
static void one_request_more_counts(void **state)
{
	struct fake *f = fake_new();
	struct conn *c;
	uint32_t mr;

	(void)state;
	listens(f, &mr);
	mad_from(f, PEER, &meant);
	c = conn_with(f, PEER);
	flood(f, 31, PEER, 0);
	flood(f, 32 + 40, PEER + 1, 0);
	assert_ptr_equal(conn_with(f, PEER), c);
	assert_int_equal(c->tid, meant.tid);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	fake_delete(f);
}

/* Of addresses that ask the same the oldest request gives way: one stays for as
 * long as 63 others take to come, and its repetition is taken like a new one. */
static void flood_of_many_addresses_leaves_time(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, id, n;
	struct unic_upcall_hdr up;

	(void)state;
	listens(f, &mr);
	flood(f, 100, PEER + 1000, 1);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	mad_from(f, PEER, &meant);
	assert_non_null(conn_with(f, PEER));
	id = conn_with(f, PEER)->obj.id;
	flood(f, 63, PEER + 2000, 1);
	assert_non_null(conn_with(f, PEER));
	n = f->host->upcalls;
	flood(f, 1, PEER + 3000, 1);
	assert_null(conn_with(f, PEER));
	assert_int_equal(f->host->upcalls, n + 2);
	memcpy(&up, upcall(f, f->host->proc[0].upcall_next - 2), sizeof(up));
	assert_int_equal(up.type, UNIC_UP_DISCONNECTED);
	assert_int_equal(unic_from_le32(up.id), id);
	/* the peer is told nothing, so it repeats its REQ */
	mad_from(f, PEER, &meant);
	assert_int_not_equal(conn_with(f, PEER)->obj.id, id);
	assert_int_equal(n_conns(f, C_REQUESTED), 64);
	fake_delete(f);
}

static void accepts(struct fake *f, uint32_t mr, uint32_t ipv4)
{
	struct unic_ctl_connect a = { 0 };

	flood(f, 1, ipv4, 0);
	a.conn = unic_to_le32(conn_with(f, ipv4)->obj.id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
}

/* An application that accepts everybody has its QPs back after a second if more
 * than 64 peers do not confirm, else after 10. */
static void unconfirmed_ones_give_way(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, i;

	(void)state;
	listens(f, &mr);
	for (i = 0; i < 70; i++)
		accepts(f, mr, PEER + 1 + i);
	assert_int_equal(n_conns(f, C_REP_SENT), 70);
	pass(f, 900);
	accepts(f, mr, PEER + 100);
	assert_int_equal(n_conns(f, C_REP_SENT), 71);
	pass(f, 200);
	accepts(f, mr, PEER + 101);
	assert_int_equal(n_conns(f, C_REP_SENT), 70);
	assert_int_equal(conn_with(f, PEER + 1)->state, C_CLOSED);
	assert_int_equal(conn_with(f, PEER + 2)->state, C_CLOSED);
	assert_int_equal(conn_with(f, PEER + 3)->state, C_REP_SENT);
	for (i = 0; i < 10; i++) {
		pass(f, 1);
		accepts(f, mr, PEER + 102 + i);
	}
	assert_int_equal(n_conns(f, C_REP_SENT), 64);
	assert_int_equal(conn_with(f, PEER + 100)->state, C_REP_SENT);
	fake_delete(f);
}

/* ------------------------------------------ lost messages, and those who end */

/* Nothing is sent to PEER for a while that is longer than any of CM's. */
static void is_silent(struct fake *f)
{
	uint32_t n = f->given[UNIC_CMD_MAD_SEND], i;

	for (i = 0; i < 40; i++)
		pass(f, 1000);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n);
}

/* What was answered is not said again, nor is a connection that is up given up. */
static void who_was_answered_is_silent(void **state)
{
	struct unic_cm_msg m;
	struct fake *f = fake_new();

	(void)state;
	m = to_answer(f, UNIC_CM_REP);
	mad_from(f, PEER, &m);
	is_silent(f);
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	fake_delete(f);
	f = fake_new();
	m = to_confirm(f, UNIC_CM_RTU);
	mad_from(f, PEER, &m);
	is_silent(f);
	assert_int_equal(conn_with(f, PEER)->state, C_ESTABLISHED);
	m.type = UNIC_CM_DREQ;
	mad_from(f, PEER, &m);
	is_silent(f);
	fake_delete(f);
	f = fake_new();
	m = to_confirm(f, UNIC_CM_DREQ); /* RTU was lost */
	mad_from(f, PEER, &m);
	assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
	is_silent(f);
	fake_delete(f);
}

/* Of a REQ or REP that comes again, what was answered is said again at once. */
static void who_asks_again_is_answered_again(void **state)
{
	struct unic_cm_msg rep, m;
	struct fake *f = fake_new();
	uint32_t n;

	(void)state;
	rep = accepted(f);
	m = message(UNIC_CM_REQ, &rep);
	m.service = 4711;
	m.mtu_shift = 10;
	n = f->given[UNIC_CMD_MAD_SEND];
	mad_from(f, PEER, &m);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1);
	assert_int_equal(mad_sent(f).type, UNIC_CM_REP);
	assert_int_equal(mad_sent(f).psn, rep.psn);
	assert_int_equal(n_conns(f, C_REP_SENT), 1);
	fake_delete(f);
	f = fake_new();
	m = to_answer(f, UNIC_CM_REP);
	mad_from(f, PEER, &m);
	n = f->given[UNIC_CMD_MAD_SEND];
	mad_from(f, PEER, &m);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 1);
	assert_int_equal(mad_sent(f).type, UNIC_CM_RTU);
	fake_delete(f);
}

static void rejects(struct fake *f, uint16_t reason)
{
	struct unic_cm_msg rej = mad_sent(f);

	assert_int_equal(rej.type, UNIC_CM_REJ);
	assert_int_equal(rej.reason, reason);
	assert_null(conn_with(f, PEER));
}

/* Who waits no longer tells the other side, with all that it knows. */
static void who_gives_up_says_so(void **state)
{
	struct unic_cm_msg req;
	struct fake *f = fake_new();

	(void)state;
	req = connecting(f);
	pass(f, CONNECT_US / 1000 + 1);
	rejects(f, UNIC_CM_TIMEOUT);
	assert_int_equal(mad_sent(f).local_comm, req.local_comm);
	fake_delete(f);
	f = requested(&req);
	pass(f, QUIET_NS / 1000000 + 1);
	rejects(f, UNIC_CM_TIMEOUT);
	assert_int_equal(mad_sent(f).remote_comm, req.local_comm);
	fake_delete(f);
}

/* A process ends while its QP is being made ready for PEER, which has said REP. */
static void who_ends_too_early_says_so(void **state)
{
	struct fake *f = fake_new();
	struct unic_cm_msg m = to_answer(f, UNIC_CM_REP);
	uint32_t i;

	(void)state;
	put_mad(f, PEER, 0, &m);
	for (i = 0; i < 3; i++)
		unic_host_poll(f->host);
	assert_int_equal(conn_with(f, PEER)->state, C_MODIFY);
	unic_host_client_gone(f->host, &f->client);
	assert_null(conn_with(f, PEER));
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], 2);
	fake_delete(f);
}

/* However a connection ends that was up at our end, what is posted is flushed. */
static void ends_flush(void **state)
{
	static const uint16_t types[] = { 0, UNIC_CM_REJ, UNIC_CM_DREQ };
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct fake *f = fake_new();
		struct unic_cm_msg m = to_confirm(f, types[i]);

		assert_false(f->modified[UNIC_QPS_ERR][0]);
		if (types[i])
			mad_from(f, PEER, &m);
		else
			pass(f, CONNECT_US / 1000 + 1);
		assert_int_equal(conn_with(f, PEER)->state, C_CLOSED);
		assert_true(f->modified[UNIC_QPS_ERR][0]);
		fake_delete(f);
	}
}

/* A peer that is gone is told six times that we go. */
static void goodbye_is_said_six_times(void **state)
{
	struct fake *f = fake_new();
	uint32_t n, i;

	(void)state;
	to_part(f, 0);
	assert_int_equal(mad_sent(f).type, UNIC_CM_DREQ);
	n = f->given[UNIC_CMD_MAD_SEND];
	for (i = 0; i < 100; i++)
		pass(f, 100);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], n + 5);
	assert_null(conn_with(f, PEER));
	fake_delete(f);
}

static uint32_t the_cq(struct fake *f)
{
	uint32_t at = 0;
	const struct unic_obj *cq = unic_obj_next(&f->host->objects, &at,
						  UNIC_OBJ_CQ, UNIC_OBJ_ANYONE);

	return cq->id;
}

/* A process makes one connection after the other with a peer that never answers
 * DREQ, and destroys the queue pair under each: nobody's connections do not fill
 * the table of all, and each is told of once at least. */
static void goodbyes_are_bounded(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER) };
		struct unic_ctl_obj qp = { 0 }, cq = { 0 };
		struct unic_cm_msg req, rep;

		qp.id = r.qp = unic_to_le32(queues(f, mr));
		cq.id = unic_to_le32(the_cq(f));
		assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
		req = mad_sent(f);
		rep = reply_of(&req);
		mad_from(f, PEER, &rep);
		assert_int_equal(request(f, UNIC_CTL_QP_DESTROY, &qp), 0);
		assert_int_equal(request(f, UNIC_CTL_CQ_DESTROY, &cq), 0);
	}
	assert_in_range(n_conns(f, C_DREQ_SENT), 200, 300);
	for (i = 0; i < 100; i++)
		pass(f, 100);
	assert_int_equal(n_conns(f, C_DREQ_SENT), 0);
	fake_delete(f);
}

/* Which address has most counts with the request that comes: of two with as many
 * it is the one that asks for more. */
static void who_asks_for_more_gives_way(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, id;

	(void)state;
	listens(f, &mr);
	flood(f, 32, PEER, 0);
	id = conn_with(f, PEER)->obj.id;
	flood(f, 32, PEER + 1, 0);
	flood(f, 1, PEER + 1, 0);
	assert_int_equal(conn_with(f, PEER)->obj.id, id);
	fake_delete(f);
}

/* An exporter with one region and two peers. */
static struct fake *exporter(struct peer *a, struct peer *b, uint32_t *mr)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct fake *f = fake_new();

	*mr = region(f, 4);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	*a = (struct peer){ .ipv4 = PEER, .comm = 0x77 };
	*b = (struct peer){ .ipv4 = PEER + 1, .comm = 0x88 };
	peer_connects(f, a, *mr);
	peer_connects(f, b, *mr);
	return f;
}

static int grant(struct fake *f, uint32_t mr, const struct peer *p)
{
	struct unic_ctl_grant r = { .mr = unic_to_le32(mr),
				    .conn = unic_to_le32(p->conn) };

	return request(f, UNIC_CTL_GRANT, &r);
}

/* The latest message of @type that was sent to @p; false if none was. */
static bool told(struct fake *f, const struct peer *p, uint16_t type,
		 struct unic_grants_msg *msg)
{
	uint8_t mad[256];
	uint32_t i;

	for (i = 1; i <= 64; i++) {
		memcpy(mad,
		       f->bar + UNIC_BAR_LIST_OFF +
			       (f->cmd_head - i) % 64 * UNIC_LIST_BYTES,
		       sizeof(mad));
		if (unic_grants_parse(mad, msg) && msg->type == type &&
		    msg->remote_comm == p->comm)
			return true;
	}
	return false;
}

static void says(struct fake *f, const struct peer *p,
		 struct unic_grants_msg msg)
{
	struct unic_mad_rx rx = { .ipv4 = unic_to_le32(p->ipv4) };
	uint32_t n = unic_from_le32(idx(f)->mad_tail);

	if (!msg.local_comm)
		msg.local_comm = p->comm;
	if (!msg.remote_comm)
		msg.remote_comm = p->ours;
	unic_grants_build(&msg, rx.data);
	memcpy(f->bar + UNIC_BAR_MAD_RX_OFF +
		       n % UNIC_MAD_RX_ENTRIES * sizeof(rx),
	       &rx, sizeof(rx));
	idx(f)->mad_tail = unic_to_le32(n + 1);
	settle(f);
}

static void answers(struct fake *f, const struct peer *p, uint64_t nonce)
{
	struct unic_grants_msg msg = { .type = UNIC_HOLDER_INVALIDATED,
				       .nonce = nonce,
				       .kind = UNIC_CTL_HELD_STAG,
				       .number = 0xabcd00 };

	says(f, p, msg);
}

static void notice_as(struct fake *f, uint32_t mr, uint32_t seq)
{
	struct unic_evt_mr evt = { .hdr = { .type = UNIC_EVT_NOTICE,
					    .reason = UNIC_WHY_FAIR_SHARE },
				   .mr = unic_to_le32(3),
				   .gen = unic_to_le32(9),
				   .user = unic_to_le32(mr),
				   .seq = unic_to_le32(seq),
				   .grace_us = unic_to_le32(20000) };

	event(f, &evt);
}

static void notice_of(struct fake *f, uint32_t mr)
{
	notice_as(f, mr, 7);
}

static bool released_as(struct fake *f, uint32_t seq)
{
	struct unic_cmd_notice_answer cmd;

	memcpy(&cmd, f->last[UNIC_CMD_NOTICE_ANSWER], sizeof(cmd));
	return unic_from_le32(cmd.answer) == UNIC_ANSWER_RELEASE &&
	       unic_from_le32(cmd.seq) == seq && unic_from_le32(cmd.mr) == 3;
}

static bool released(struct fake *f)
{
	return released_as(f, 7);
}

/* When all have answered, and not one lie sooner. */
static void holders_end_a_grace(void **state)
{
	struct unic_grants_msg qa, qb, lie;
	struct unic_upcall_hdr up;
	struct peer a, b, none = { .ipv4 = PEER + 2, .comm = 0x99 };
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, mr, &a), 0); /* said twice, held once */
	assert_int_equal(grant(f, mr, &b), 0);
	answers(f, &a, 0); /* nobody was asked */
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &qa));
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &qb));
	assert_int_equal(qa.number, 0xabcd00);
	assert_true(qa.grace_us && qa.grace_us <= 20000);
	assert_true(qa.nonce && qb.nonce && qa.nonce != qb.nonce);
	assert_int_equal(grant(f, mr, &a), UNIC_ST_STATE);
	answers(f, &b, qb.nonce);
	answers(f, &b, qb.nonce);     /* twice is once */
	answers(f, &b, qa.nonce);     /* for another */
	answers(f, &a, qb.nonce);     /* another's number */
	answers(f, &a, qa.nonce + 1); /* a guess */
	none.ours = a.ours;
	none.comm = a.comm;
	answers(f, &none, qa.nonce); /* from elsewhere */
	lie = (struct unic_grants_msg){ .type = UNIC_HOLDER_INVALIDATED,
					.nonce = qa.nonce,
					.kind = UNIC_CTL_HELD_TOKEN,
					.number = 0xabcd00 };
	says(f, &a, lie);
	lie.kind = UNIC_CTL_HELD_STAG;
	lie.local_comm = 5;
	says(f, &a, lie);
	assert_false(released(f));
	assert_int_equal(f->host->held.refused, 8);
	answers(f, &a, qa.nonce);
	assert_true(released(f));
	assert_int_equal(f->host->held.early, 1);
	memcpy(&up, upcall(f, f->host->proc[0].upcall_next - 1), sizeof(up));
	assert_int_equal(up.type, UNIC_UP_EVICTED);
	assert_int_equal(up.reason, UNIC_WHY_HOLDERS);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* The owner of @mr asks for more time under notice 7. */
static void ask_extension(struct fake *f, uint32_t mr)
{
	struct unic_ctl_notice_answer r = {
		.id = unic_to_le32(mr),
		.notice_seq = unic_to_le32(7),
		.answer = unic_to_le32(UNIC_ANSWER_EXTEND),
		.extend_us = unic_to_le32(1000),
	};

	assert_int_equal(request(f, UNIC_CTL_NOTICE_ANSWER, &r), 0);
}

/* The grant was the owner's consent; who then asks for more time uses it himself,
 * and has his grace whatever the others say. */
static void owner_who_extends_keeps_his_grace(void **state)
{
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	ask_extension(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &a, q.nonce);
	assert_false(released(f));
	assert_int_equal(f->host->held.early, 0);
	assert_int_equal(region_state(f, mr), R_NOTIFIED);
	fake_delete(f);
}

/* ... of that notice: what he asked for then is over when the next one comes. */
static void owner_who_extended_once(void **state)
{
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	ask_extension(f, mr);
	notice_as(f, mr, 8);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &a, q.nonce);
	assert_true(released_as(f, 8));
	assert_int_equal(f->host->held.early, 1);
	fake_delete(f);
}

static void silent_holder_costs_the_grace(void **state)
{
	struct unic_grants_msg q, again;
	struct peer a, b;
	uint32_t mr, commands;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, mr, &b), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &a, q.nonce);
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	commands = f->commands;
	pass(f, 5); /* asked again, and again */
	pass(f, 5);
	assert_int_equal(f->commands, commands + 2);
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(again.nonce == q.nonce);
	assert_false(released(f));
	fake_delete(f);
}

/* Nobody is left who could use it. */
static void holder_whose_connection_ends(void **state)
{
	struct unic_cm_msg dreq = { .type = UNIC_CM_DREQ };
	struct unic_ctl_obj r = { 0 };
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	assert_false(released(f));
	dreq.tid = a.comm;
	dreq.local_comm = a.comm;
	dreq.remote_comm = a.ours;
	dreq.qpn = a.qpn;
	mad_from(f, a.ipv4, &dreq);
	r.id = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_DISCONNECT, &r), 0);
	assert_true(released(f));
	fake_delete(f);
}

static uint32_t handed(struct fake *f, const struct peer *from,
		       const struct peer *to, uint32_t number)
{
	struct unic_grants_msg msg = { .type = UNIC_HOLDER_DELEGATE,
				       .nonce = 1000 + number,
				       .kind = UNIC_CTL_HELD_STAG,
				       .number = number,
				       .ipv4 = to->ipv4,
				       .qpn = to->comm },
			       got;

	says(f, from, msg);
	assert_true(told(f, from, UNIC_HOLDER_DELEGATED, &got));
	assert_true(got.nonce == msg.nonce);
	return got.status;
}

static void delegation_is_recorded(void **state)
{
	struct peer a, b, nobody = { .ipv4 = PEER + 9, .comm = 1 };
	struct unic_grants_msg q;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(handed(f, &a, &b, 0xabcd00), UNIC_ST_NO_MR);
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(handed(f, &b, &a, 0xabcd00), UNIC_ST_NO_MR);
	assert_int_equal(handed(f, &a, &nobody, 0xabcd00), UNIC_CTL_ST_NO_CONN);
	assert_int_equal(handed(f, &a, &b, 0xabcd01), UNIC_ST_NO_MR);
	assert_int_equal(handed(f, &a, &b, 0xabcd00), 0);
	notice_of(f, mr);
	assert_int_equal(handed(f, &a, &b, 0xabcd00), UNIC_ST_STATE);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &a, q.nonce);
	assert_false(released(f));
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &b, q.nonce);
	assert_true(released(f));
	fake_delete(f);
}

/* The other side: its process is told until it answers, the peer as often as it
 * asks. */
static void holder_is_told_and_answers(void **state)
{
	struct unic_grants_msg q = { .type = UNIC_HOLDER_INVALIDATE,
				     .nonce = 4242,
				     .kind = UNIC_CTL_HELD_STAG,
				     .number = 5,
				     .grace_us = 1000 },
			       got;
	struct unic_ctl_held_by r = { .kind = unic_to_le32(UNIC_CTL_HELD_STAG),
				      .number = unic_to_le32(5) };
	struct unic_upcall_held up;
	struct peer a, b;
	uint32_t mr, n;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r.conn = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), UNIC_ST_STATE);
	n = f->host->upcalls;
	says(f, &a, q);
	assert_int_equal(f->host->upcalls, n + 1);
	memcpy(&up, upcall(f, n), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_INVALIDATE);
	assert_int_equal(unic_from_le32(up.hdr.id), a.conn);
	assert_int_equal(unic_from_le32(up.number), 5);
	says(f, &a, q);
	assert_int_equal(f->host->upcalls, n + 2);
	assert_false(told(f, &a, UNIC_HOLDER_INVALIDATED, &got));
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), 0);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATED, &got));
	assert_true(got.nonce == 4242);
	n = f->commands;
	says(f, &a, q);
	assert_int_equal(f->host->upcalls, unic_from_le32(up.hdr.seq) + 1);
	assert_true(f->commands > n);
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), UNIC_ST_STATE);
	fake_delete(f);
}

/* DELEGATE asks the exporter, now and again, and is answered by it or not. */
static void delegate_waits_for_the_exporter(void **state)
{
	struct unic_ctl_held_by r = {
		.kind = unic_to_le32(UNIC_CTL_HELD_STAG),
		.number = unic_to_le32(5),
		.ipv4 = unic_to_le32(PEER + 1),
		.qpn = unic_to_le32(9),
	};
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, i;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r.conn = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
	assert_true(told(f, &a, UNIC_HOLDER_DELEGATE, &q));
	assert_int_equal(q.ipv4, PEER + 1);
	q.type = UNIC_HOLDER_DELEGATED;
	q.local_comm = q.remote_comm = 0;
	q.status = UNIC_ST_NO_MR;
	says(f, &b, q); /* not asked */
	assert_int_equal(f->os.replies, 0);
	says(f, &a, q);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(reply_status(f), UNIC_ST_NO_MR);
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
	for (i = 0; i < 10; i++)
		pass(f, 1100);
	assert_int_equal(reply_status(f), UNIC_CTL_ST_UNREACHABLE);
	fake_delete(f);
}

/* A second region of the process of @mr: the NIC's index 4, STag 0xabcd01. */
static uint32_t second_region(struct fake *f, uint32_t mr)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(4),
				       .gen = unic_to_le32(9),
				       .stag = unic_to_le32(0xabcd01) };
	struct unic_region *r = unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR,
					     UNIC_OBJ_ANYONE);
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA + 4 * 4096),
				       .iova = unic_to_le64(VA + 4 * 4096),
				       .length = unic_to_le64(4 * 4096),
				       .pd = unic_to_le32(r->pd) };

	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	return reply_u32(f, 16);
}

/* The owner offers @other for @mr under notice 7. */
static void offer_for(struct fake *f, uint32_t mr, uint32_t other)
{
	struct unic_ctl_notice_answer r = {
		.id = unic_to_le32(mr),
		.notice_seq = unic_to_le32(7),
		.answer = unic_to_le32(UNIC_ANSWER_OFFER),
		.offer_id = unic_to_le32(other),
	};

	assert_int_equal(request(f, UNIC_CTL_NOTICE_ANSWER, &r), 0);
}

/* Who holds what is offered is asked for that, and who holds what is not asked for
 * any more, or has been asked already, is not asked. */
static void holders_of_an_offer_are_asked(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg q, again;
	struct peer a, b;
	uint32_t mr, other;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	other = second_region(f, mr);
	assert_int_equal(grant(f, other, &a), 0);
	notice_of(f, mr);
	assert_false(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	offer_for(f, mr, other);
	assert_int_equal(region_state(f, mr), R_ACTIVE);
	assert_int_equal(region_state(f, other), R_NOTIFIED);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(q.number, 0xabcd01);
	/* @mr was asked for once, and is not now */
	assert_int_equal(grant(f, mr, &b), 0);
	evt = (struct unic_evt_mr){ .hdr = { .type = UNIC_EVT_NOTICE },
				    .mr = unic_to_le32(4),
				    .gen = unic_to_le32(9),
				    .user = unic_to_le32(other),
				    .seq = unic_to_le32(8),
				    .grace_us = unic_to_le32(20000) };
	event(f, &evt);
	assert_false(told(f, &b, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	/* that @mr is asked for is no new question to @a */
	notice_as(f, mr, 9);
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(again.nonce == q.nonce);
	fake_delete(f);
}

/* The end of a token is the end of who holds by it, and of nobody else. */
static void holder_whose_token_ends(void **state)
{
	struct unic_ctl_grant r = { 0 };
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, token;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	ask_token(f, mr, 1001);
	settle(f);
	token = reply_u32(f, 24);
	r.mr = unic_to_le32(mr);
	r.conn = unic_to_le32(a.conn);
	r.token = unic_to_le32(token);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), 0);
	assert_int_equal(grant(f, mr, &b), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(q.kind, UNIC_CTL_HELD_TOKEN);
	token_ends(f, token);
	settle(f);
	assert_false(released(f));
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &b, q.nonce);
	assert_true(released(f));
	assert_int_equal(f->host->held.refused, 0);
	fake_delete(f);
	/* it is the last one */
	f = exporter(&a, &b, &mr);
	ask_token(f, mr, 1001);
	settle(f);
	token = reply_u32(f, 24);
	r.mr = unic_to_le32(mr);
	r.conn = unic_to_le32(a.conn);
	r.token = unic_to_le32(token);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), 0);
	notice_of(f, mr);
	assert_false(released(f));
	token_ends(f, token);
	settle(f);
	assert_true(released(f));
	fake_delete(f);
}

/* The question of a DELEGATE goes with its connection, and is answered so at once. */
static void delegate_over_a_connection_that_ends(void **state)
{
	struct unic_ctl_held_by r = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_DELEGATE) },
		.kind = unic_to_le32(UNIC_CTL_HELD_STAG),
		.number = unic_to_le32(5),
		.ipv4 = unic_to_le32(PEER + 1),
		.qpn = unic_to_le32(9),
	};
	struct unic_cm_msg dreq = { .type = UNIC_CM_DREQ };
	struct unic_ctl_obj d = { .hdr = { .op = unic_to_le16(
						   UNIC_CTL_DISCONNECT) } };
	struct peer a, b;
	struct unic_ctl_hdr got;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r.conn = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
	dreq.tid = a.comm;
	dreq.local_comm = a.comm;
	dreq.remote_comm = a.ours;
	dreq.qpn = a.qpn;
	mad_from(f, a.ipv4, &dreq);
	d.id = unic_to_le32(a.conn);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &d, sizeof(d)));
	assert_int_equal(f->os.replies, 2);
	memcpy(&got, f->os.reply[0],
	       sizeof(got)); /* of the two, in any order */
	if (unic_from_le16(got.op) != UNIC_CTL_DELEGATE)
		memcpy(&got, f->os.reply[1], sizeof(got));
	assert_int_equal(unic_from_le16(got.op), UNIC_CTL_DELEGATE);
	assert_int_equal(unic_from_le16(got.status), UNIC_CTL_ST_NO_CONN);
	settle(f);
	fake_delete(f);
}

/* A queue pair of another process is nobody's, and its connection stays. */
static void connections_of_others_do_not_end(void **state)
{
	struct unic_client other = { .pid = 8, .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello hi = { .hdr.op = unic_to_le16(UNIC_CTL_HELLO),
				     .version = unic_to_le32(1) };
	struct unic_ctl_obj r = { .hdr.op = unic_to_le16(UNIC_CTL_QP_DESTROY) };
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_true(unic_host_request(f->host, &other, &hi, sizeof(hi)));
	settle(f);
	r.id = unic_to_le32(conn_with(f, a.ipv4)->qp);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &other, &r, sizeof(r)));
	settle(f);
	assert_int_equal(reply_status(f), UNIC_ST_NO_QP);
	assert_int_equal(conn_with(f, a.ipv4)->state, C_ESTABLISHED);
	fake_delete(f);
}

static void wrong_grants_are_refused(void **state)
{
	struct unic_ctl_grant r = { 0 };
	struct peer a, b, old = { .ipv4 = PEER + 3, .comm = 0x66 };
	uint32_t mr, i;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_NO_MR);
	r.mr = unic_to_le32(mr);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_CTL_ST_NO_CONN);
	r.conn = unic_to_le32(a.conn);
	r.token = unic_to_le32(mr);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_NO_TOKEN);
	peer_connects(f, &old, mr);
	((struct conn *)unic_obj_get(&f->host->objects, old.conn, UNIC_OBJ_CONN,
				     0))
		->vendor = 0;
	assert_int_equal(grant(f, mr, &old), UNIC_CTL_ST_UNSUPPORTED);
	for (i = 0; i < UNIC_HOLDS; i++)
		f->host->held.hold[i] =
			(struct unic_hold){ .mr = 1, .conn = 1, .owner = 0 };
	assert_int_equal(grant(f, mr, &a), UNIC_ST_QUOTA);
	fake_delete(f);
}

/* Not before the NIC has stopped: until then bytes may arrive. */
static void tokens_end_with_the_reset_once(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4);

	(void)state;
	ask_token(f, mr, 99);
	settle(f);
	fail_nic(f);
	assert_int_equal(resets_of_token(f, 6), 0);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	assert_int_equal(resets_of_token(f, 6), 1);
	fake_delete(f);
}

/* kill -9, and a new one; the process lives. */
static void restart_driver(struct fake *f, uint32_t pid)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(1),
				       .stag = unic_to_le32(0xabcd00) };

	unic_host_delete(f->host); /* tells nobody */
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	memset(f->last, 0, sizeof(f->last));
	start_driver(f);
	if (unic_host_slot_hold(f->host, 0, pid, 0)) {
		const struct unic_hproc *p = &f->host->proc[0];
		uint32_t at = 0, n = 0, pages = 0;
		const struct unic_region *mr;

		/* counted, and pinned until the NIC is reset (INV-14) */
		while ((mr = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_MR,
					   0))) {
			n++;
			pages += mr->residency == UNIC_DEMAND ? 0 : mr->n_pages;
		}
		assert_int_equal(p->regions, n);
		assert_true(!pages == !p->frames.pinned);
	}
	unic_host_plug(f->host, true);
	f->client.pid = pid;
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
}

static void driver_that_was_killed_leaves_its_records(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_upcall_obj up;
	uint32_t id = region(f, 4), next;

	(void)state;
	next = f->host->proc[0].upcall_next;
	restart_driver(f, 7);
	assert_int_equal(last_reg(f).flags, UNIC_REG_RESTORE | UNIC_REG_LIST);
	assert_int_equal(unic_from_le32(last_reg(f).stag), 0xabcd00);
	f->client.slot = 0;
	assert_int_equal(pinned(f), 4);
	f->client.slot = UNIC_OS_NO_SLOT;
	hello_flags |= UNIC_CTL_HELLO_RESUME;
	hello(f);
	assert_int_equal(f->client.slot, 0);
	memcpy(&up, upcall(f, next), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_RESET);
	assert_int_equal(unic_from_le32(up.hdr.seq), next + 1);
	assert_int_equal(unic_from_le32(up.detail), 2);
	assert_int_equal(f->host->proc[0].frames.used, 8);
	r.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* What ended before the driver did does not come back. */
static void ended_objects_stay_ended(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA + 4 * 4096),
				      .pages = unic_to_le32(4) };
	struct unic_ctl_plain pd = { 0 };
	uint32_t id = region(f, 4);

	(void)state;
	r.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_FREE, &fr), 0);
	restart_driver(f, 7);
	assert_int_equal(last_reg(f).hdr.opcode, 0);
	assert_int_equal(f->host->objects.live, 1); /* the PD */
	assert_int_equal(f->host->proc[0].frames.used, 4);
	hello_flags |= UNIC_CTL_HELLO_RESUME;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	assert_int_not_equal(reply_u32(f, 16), id);
	fake_delete(f);
}

static void stranger_gets_nothing_of_the_dead(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	restart_driver(f, 8); /* pid 7 is no more: what unicd says of it */
	assert_int_equal(f->host->objects.live, 0);
	assert_int_equal(f->host->proc[0].frames.used, 0);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_HELD);
	hello_flags |= UNIC_CTL_HELLO_RESUME;
	f->os.mapped = true;
	hello(f); /* a slot of its own */
	assert_int_equal(f->client.slot, 1);
	assert_false(f->host->proc[1].resumed);
	fake_delete(f);
}

/* What it may have was set by an administrator, and outlives the driver. */
static void kept_process_has_the_share_that_was_set(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_policy r = {
		.weight = unic_to_le32(3),
		.quota = unic_to_le32(20),
		.policy = unic_to_le32(UNIC_POLICY_LRU),
		.flags = unic_to_le32(UNIC_CTL_POLICY_FLAGS_ALL),
	};
	struct unic_cmd_proc_attach cmd;

	(void)state;
	region(f, 4);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_POLICY, &r), 0);
	restart_driver(f, 7);
	memcpy(&cmd, f->last[UNIC_CMD_PROC_ATTACH], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.weight), 3);
	assert_int_equal(unic_from_le32(cmd.quota), 20);
	assert_int_equal(unic_from_le32(cmd.policy), UNIC_POLICY_LRU);
	assert_int_equal(unic_from_le32(cmd.host_pid), 7);
	fake_delete(f);
}

/* Its HELLO without RESUME frees what was kept at once, not after AWAY_NS. Of two
 * slots it may have one, which is that one when it is empty. */
static void one_that_starts_over_has_nothing_kept(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1),
				    .flags = unic_to_le32(hello_flags) };

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
	f->client.privileged = false;
	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), UNIC_CTL_ST_NO_SLOT);
	settle(f);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_HELD);
	assert_int_equal(f->host->objects.live, 0);
	hello(f);
	assert_int_equal(f->client.slot, 0);
	assert_false(f->host->proc[0].resumed);
	fake_delete(f);
}

/* With however many processes; what is left is for others. */
static void one_user_has_not_all_slots(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };

	(void)state;
	f->host->config.user_slots = 1;
	f->client.privileged = false;
	f->client.uid = 5;
	hello(f);
	assert_int_equal(f->client.slot, 0);
	f->client = (struct unic_client){ .pid = 8,
					  .uid = 5,
					  .slot = UNIC_OS_NO_SLOT };
	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), UNIC_CTL_ST_NO_SLOT);
	f->client.uid = 6;
	hello(f);
	assert_int_equal(f->client.slot, 1);
	fake_delete(f);
}

static uint32_t hello_as(struct fake *f, uint32_t pid, uint32_t uid)
{
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };

	f->client = (struct unic_client){ .pid = pid,
					  .uid = uid,
					  .slot = UNIC_OS_NO_SLOT };
	return request(f, UNIC_CTL_HELLO, &r);
}

static void leave(struct fake *f)
{
	uint32_t slot = f->client.slot;

	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->host->proc[slot].state, UNIC_HPROC_HELD);
}

/* Memory that cannot be exchanged: what a user left is his, whether he asks with
 * the same process or another, and nobody else's. */
static void slot_goes_back_to_its_user(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	f->host->config.slots_of_users = true;
	assert_int_equal(hello_as(f, 8, 5), 0);
	assert_int_equal(f->client.slot, 0);
	leave(f);
	/* of one that lives: not before there is no other */
	assert_int_equal(hello_as(f, 9, 5), 0);
	assert_int_equal(f->client.slot, 1);
	leave(f);
	assert_int_equal(hello_as(f, 10, 6), UNIC_CTL_ST_NO_SLOT);
	f->os.mapped = true;
	assert_int_equal(hello_as(f, 8, 5), UNIC_CTL_ST_NO_SLOT);
	f->os.mapped = false;
	assert_int_equal(hello_as(f, 9, 5), 0); /* its own, not another's */
	assert_int_equal(f->client.slot, 1);
	leave(f);
	assert_int_equal(hello_as(f, 14, 5), 0); /* the first that was left */
	assert_int_equal(f->client.slot, 0);
	leave(f);
	assert_int_equal(hello_as(f, 8, 5), 0); /* and now 1 is */
	assert_int_equal(f->client.slot, 1);
	leave(f);
	unic_host_slot_ended(f->host, 1);
	assert_int_equal(hello_as(f, 11, 5), 0);
	assert_int_equal(f->client.slot, 1); /* though 0 was left before */
	leave(f);
	unic_host_slot_free(f->host, 1);
	unic_host_slot_ended(f->host, 0);
	assert_int_equal(hello_as(f, 12, 5), 0);
	assert_int_equal(f->client.slot, 0); /* and 1 is for others */
	leave(f);
	assert_int_equal(hello_as(f, 13, 6), 0);
	assert_int_equal(f->client.slot, 1);
	fake_delete(f);
}

/* What was left counts as its user's, also after a restart of the driver. */
static void held_slot_is_of_its_user(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	unic_host_delete(f->host);
	start_driver(f);
	f->host->config.slots_of_users = true;
	f->host->config.user_slots = 1;
	unic_host_slot_hold(f->host, 0, 0, 5);
	unic_host_plug(f->host, true);
	settle(f);
	f->os.mapped = true;
	assert_int_equal(hello_as(f, 8, 5), UNIC_CTL_ST_NO_SLOT);
	assert_int_equal(hello_as(f, 9, 6), 0);
	assert_int_equal(f->client.slot, 1);
	f->os.mapped = false;
	assert_int_equal(hello_as(f, 8, 5), 0);
	assert_int_equal(f->client.slot, 0);
	fake_delete(f);
}

/* A slot that it left does not make it two. */
static void one_slot_at_a_time(void **state)
{
	struct fake *f = fake_new();
	struct unic_client second = { .pid = 8,
				      .uid = 5,
				      .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };

	(void)state;
	assert_int_equal(hello_as(f, 8, 5), 0);
	leave(f);
	f->os.mapped = true;
	assert_int_equal(hello_as(f, 8, 5), UNIC_CTL_ST_NO_SLOT);
	f->os.mapped = false;
	unic_host_slot_free(f->host, 0);
	assert_int_equal(hello_as(f, 8, 5), 0);
	unic_host_slot_hold(f->host, 1, 8, 5);
	f->client = second;
	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), UNIC_CTL_ST_NO_SLOT);
	fake_delete(f);
}

/* It may have several, of which each comes back by itself: a new one takes
 * nothing from the others. */
static void privileged_one_keeps_what_others_of_it_had(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	hello(f);
	settle(f);
	assert_int_equal(f->client.slot, 1);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
	assert_int_not_equal(f->host->objects.live, 0);
	fake_delete(f);
}

/* After a second it has no slot that somebody else asks for in vain. */
static void one_that_is_away_leaves_its_slot_to_others(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };
	uint32_t i;

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	f->host->proc[1].state = UNIC_HPROC_HELD; /* of somebody else */
	f->client.pid = 8;
	for (i = 0; i < 3; i++) { /* at 0, 0.6 and 1.2 s */
		assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
		assert_int_equal(request(f, UNIC_CTL_HELLO, &r),
				 UNIC_CTL_ST_NO_SLOT);
		f->os.now_ns += 600000000;
		settle(f);
	}
	settle(f);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_HELD);
	fake_delete(f);
}

static void process_that_does_not_come_back_is_given_up(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	restart_driver(f, 7);
	f->os.now_ns += 59000000000ull;
	settle(f);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_LIVE);
	f->os.now_ns += 2000000000ull;
	settle(f);
	settle(f);
	assert_int_equal(f->host->proc[0].state, UNIC_HPROC_HELD);
	assert_int_equal(f->host->objects.live, 0);
	fake_delete(f);
}

static void journal_of_another_board_is_nothing(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	((uint32_t *)f->journal)[1]++; /* its version */
	restart_driver(f, 7);
	assert_int_equal(f->host->objects.live, 0);
	fake_delete(f);
}

/* Killed in the middle of anything: any prefix of the stores. Here: any word of
 * it is wrong; the driver must not come to harm. */
static void any_word_of_the_journal_is_wrong(void **state)
{
	size_t words = unic_host_journal_bytes(SLOTS, SLOT_BYTES) / 4, i;
	struct fake *f = fake_new();
	uint32_t *good, *j = f->journal;

	(void)state;
	region(f, 4);
	good = malloc(words * 4);
	memcpy(good, j, words * 4);
	for (i = 0; i < words; i++) {
		if (!good[i] && i % 97)
			continue;
		unic_host_delete(f->host);
		memcpy(j, good, words * 4);
		j[i] ^= 1u << i % 32;
		start_driver(f);
		unic_host_slot_hold(f->host, 0, 7, 0);
		unic_host_plug(f->host, true);
		settle(f);
	}
	free(good);
	fake_delete(f);
}

/* A new range is pinned before the old one is let go, and whatever the NIC says
 * nothing stays pinned that no region has. */
static void rereg_pins_first(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4);
	struct unic_ctl_mr_rereg good = {
		.id = unic_to_le32(mr),
		.what = UNIC_REREG_RANGE,
		.va = unic_to_le64(VA + 2 * 4096),
		.iova = unic_to_le64(VA + 2 * 4096),
		.length = unic_to_le64(6 * 4096),
	};
	struct unic_ctl_mr_rereg r = good;
	struct unic_cmd_mr_rereg cmd;

	(void)state;
	f->answer[UNIC_CMD_MR_REREG] = UNIC_ST_BUSY;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_BUSY);
	assert_int_equal(pinned(f), 4);
	f->answer[UNIC_CMD_MR_REREG] = UNIC_ST_TLB_FULL;
	r = good;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_TLB_FULL);
	assert_int_equal(f->os.reply_bytes[0],
			 UNIC_CTL_BYTES + sizeof(struct unic_cpl_usage));
	assert_int_equal(pinned(f), 4);
	f->answer[UNIC_CMD_MR_REREG] = UNIC_ST_OK;
	r = good;
	r.length = unic_to_le64(7 * 4096); /* a frame it has not */
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r),
			 UNIC_CTL_ST_NOT_ALIGNED);
	r = good;
	r.length = unic_to_le64(0);
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	r = good;
	r.va = unic_to_le64(UINT64_MAX);
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	r = good;
	r.what = 8;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	r = good;
	r.what = UNIC_REREG_PD;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_NO_PD);
	r = good;
	r.id = unic_to_le32(mr + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_NO_MR);
	assert_int_equal(pinned(f), 4);
	r = good;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_OK);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REREG], 64);
	assert_int_equal(unic_from_le32(cmd.n_pages), 6);
	assert_int_equal(pinned(f), 6);
	fake_delete(f);
}

/* One request with a list behind it. */
static int request_list(struct fake *f, uint16_t op, void *rec, uint32_t tail)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .tail_bytes = unic_to_le32(tail) };

	f->os.replies = 0;
	memcpy(rec, &hdr, sizeof(hdr));
	assert_true(unic_host_request(f->host, &f->client, rec,
				      UNIC_CTL_BYTES + tail));
	settle(f);
	if (!f->os.replies)
		return -1;
	memcpy(&hdr, f->os.reply[0], sizeof(hdr));
	return unic_from_le16(hdr.status);
}

static uint32_t window(struct fake *f)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(5),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(0x5500) };
	struct unic_ctl_mr_alloc a = { .kind = UNIC_FORM_WINDOW2 };
	uint32_t at = 0;
	const struct unic_obj *pd = unic_obj_next(&f->host->objects, &at,
						  UNIC_OBJ_PD, UNIC_OBJ_ANYONE);

	memcpy(f->cpl[UNIC_CMD_MR_ALLOC], &cpl, 64);
	a.pd = unic_to_le32(pd->id);
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a), UNIC_ST_OK);
	return reply_u32(f, 16);
}

/* The list goes to the device as it is; the STag of its answer is the form's. */
static void lists_of_forms_are_passed_on(void **state)
{
	struct fake *f = fake_new();
	uint32_t plain = region(f, 4), id = window(f);
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(5),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(0x5507) };
	struct {
		struct unic_ctl_mr_make m;
		struct unic_sge sge[2];
	} msg, good = { .m = { .id = unic_to_le32(id), .n = unic_to_le32(1) },
			.sge = { { .iova = unic_to_le64(VA),
				   .len = unic_to_le32(99),
				   .lkey = unic_to_le32(0xabcd00) } } };
	struct unic_cmd_mr_make cmd;

	(void)state;
	memcpy(f->cpl[UNIC_CMD_MR_MAKE], &cpl, 64);
	msg = good;
	msg.m.strided = 2;
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_INVALID);
	msg = good;
	msg.m.rsvd0 = 1;
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_INVALID);
	msg = good;
	msg.m.n = unic_to_le32(UNIC_FORM_ELEMENTS + 1);
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_INVALID);
	msg = good;
	msg.m.strided = 1; /* its strides are missing */
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_INVALID);
	msg = good;
	msg.m.id = unic_to_le32(plain);
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_STATE);
	f->answer[UNIC_CMD_MR_MAKE] = UNIC_ST_BOUNDS;
	msg = good;
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_BOUNDS);
	f->answer[UNIC_CMD_MR_MAKE] = UNIC_ST_OK;
	msg = good;
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_OK);
	assert_int_equal(reply_u32(f, 20), 0x5507);
	memcpy(&cmd, f->last[UNIC_CMD_MR_MAKE], 64);
	assert_int_equal(unic_from_le32(cmd.mr), 5);
	assert_int_equal(unic_from_le32(cmd.gen), 2);
	fake_delete(f);
}

/* A device that does not know forms; a process that asks for what it has not. */
static void forms_of_an_old_device(void **state)
{
	struct fake *f = fake_new();
	uint32_t id;
	struct unic_ctl_obj o = { 0 };
	struct unic_ctl_mr_rereg r = { .what = UNIC_REREG_RIGHTS };

	(void)state;
	region(f, 4);
	id = window(f);
	o.id = unic_to_le32(id + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_INVAL, &o), UNIC_ST_NO_MR);
	o.id = unic_to_le32(id);
	f->answer[UNIC_CMD_MR_INVAL] = UNIC_ST_BAD_OPCODE;
	assert_int_equal(request(f, UNIC_CTL_MR_INVAL, &o),
			 UNIC_CTL_ST_UNSUPPORTED);
	r.id = unic_to_le32(id); /* a form is not registered anew */
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_STATE);
	r.rsvd0[1] = 1;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	fake_delete(f);
}

/* A window pins nothing; its end is told as that of any region. */
static void forms_pin_nothing(void **state)
{
	struct fake *f = fake_new();
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(5),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(0x5500) };
	struct unic_ctl_mr_alloc a = { .kind = UNIC_FORM_WINDOW2,
				       .user = unic_to_le32(66) };
	struct unic_ctl_mr_make m = { .n = unic_to_le32(1) };
	struct unic_evt_mr evt = { .hdr = { .type = UNIC_EVT_EVICTED,
					    .reason = UNIC_WHY_DEREG },
				   .mr = unic_to_le32(5),
				   .gen = unic_to_le32(2) };
	struct unic_ctl_obj o = { 0 };
	uint32_t live, id, upcalls;

	(void)state;
	region(f, 4);
	live = f->host->objects.live;
	memcpy(f->cpl[UNIC_CMD_MR_ALLOC], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a), UNIC_ST_NO_PD);
	a.pd = unic_to_le32(((struct unic_obj *)unic_obj_next(
				     &f->host->objects, &(uint32_t){ 0 },
				     UNIC_OBJ_PD, UNIC_OBJ_ANYONE))
				    ->id);
	f->answer[UNIC_CMD_MR_ALLOC] = UNIC_ST_ELEMENT_FULL;
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a),
			 UNIC_ST_ELEMENT_FULL);
	assert_int_equal(f->os.reply_bytes[0], 2 * UNIC_CTL_BYTES);
	assert_int_equal(f->host->objects.live, live);
	f->answer[UNIC_CMD_MR_ALLOC] = UNIC_ST_OK;
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a), UNIC_ST_OK);
	id = reply_u32(f, 16);
	assert_int_equal(reply_u32(f, 20), 0x5500);
	assert_int_equal(pinned(f), 4);
	/* the list is missing */
	m.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_MR_MAKE, &m), UNIC_ST_INVALID);
	o.id = unic_to_le32(id);
	f->answer[UNIC_CMD_MR_INVAL] = UNIC_ST_BUSY;
	assert_int_equal(request(f, UNIC_CTL_MR_INVAL, &o), UNIC_ST_BUSY);
	upcalls = f->os.upcalls;
	evt.user = unic_to_le32(id);
	event(f, &evt);
	settle(f);
	assert_int_equal(f->os.upcalls, upcalls + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_INVAL, &o), UNIC_ST_EVICTED);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &o), UNIC_ST_OK);
	assert_int_equal(f->host->objects.live, live);
	assert_int_equal(pinned(f), 4);
	fake_delete(f);
}

/* ----------------------------------------------------------------- batches */

/* BATCH of @n records, which are at @recs. Its status, or -1: none yet. */
static int batch(struct fake *f, uint32_t n, const void *recs)
{
	struct unic_ctl_batch r = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_BATCH),
			 .tail_bytes = unic_to_le32(n * 64) },
		.count = unic_to_le32(n),
	};
	uint8_t msg[UNIC_CTL_BYTES + UNIC_LIST_BYTES];
	struct unic_ctl_hdr got;

	memcpy(msg, &r, sizeof(r));
	memcpy(msg + sizeof(r), recs, n * 64);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, msg,
				      sizeof(r) + n * 64));
	settle(f);
	if (!f->os.replies)
		return -1;
	memcpy(&got, f->os.reply[0], sizeof(got));
	return unic_from_le16(got.status);
}

/* The @i-th answer of the reply. */
static struct unic_ctl_mr_reg_reply nth(struct fake *f, uint32_t i)
{
	struct unic_ctl_mr_reg_reply r;

	memcpy(&r, (uint8_t *)f->os.reply[0] + 64 + 64 * i, sizeof(r));
	return r;
}

static uint32_t status_of_nth(struct fake *f, uint32_t i)
{
	return unic_from_le16(nth(f, i).hdr.status);
}

static void nic_batches(struct fake *f)
{
	f->host->features |= UNIC_FEAT_BATCH;
}

static struct unic_ctl_mr_reg batch_reg(uint32_t pd, uint32_t i)
{
	return (struct unic_ctl_mr_reg){
		.hdr = { .op = unic_to_le16(UNIC_CTL_MR_REG),
			 .seq = unic_to_le32(900 + i) },
		.va = unic_to_le64(VA + i * 4096),
		.iova = unic_to_le64(VA + i * 4096),
		.length = unic_to_le64(4096),
		.pd = unic_to_le32(pd),
	};
}

static uint32_t pd_of_region(struct fake *f, uint32_t mr)
{
	struct unic_region *r = unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR,
					     UNIC_OBJ_ANYONE);

	return r->pd;
}

/* Three regions, one wrong record and one refusal: one command, and each has an
 * answer of its own. What was refused is not pinned. */
static void a_batch_is_one_command(void **state)
{
	struct fake *f = fake_new();
	uint32_t pd = pd_of_region(f, region(f, 1)), i, before;
	struct unic_ctl_mr_reg recs[5];
	struct unic_cmd_batch cmd;

	(void)state;
	nic_batches(f);
	for (i = 0; i < 5; i++)
		recs[i] = batch_reg(pd, i + 1);
	recs[1].rsvd[0] = 1;
	before = f->commands;
	f->answer[UNIC_CMD_MR_BATCH] = UNIC_ST_OK;
	for (i = 0; i < 4; i++) {
		struct unic_cpl_mr_reg cpl = {
			.hdr = { .opcode = UNIC_CMD_MR_REG,
				 .status = i == 2 ? UNIC_ST_TLB_FULL : 0 },
			.mr = unic_to_le32(20 + i),
			.gen = unic_to_le32(1),
			.stag = unic_to_le32(0x1400 + i),
		};

		memcpy(f->listed + 64 * i, &cpl, 64);
	}
	f->lists = true;
	assert_int_equal(batch(f, 5, recs), UNIC_ST_OK);
	assert_int_equal(f->commands, before + 1);
	memcpy(&cmd, f->last[UNIC_CMD_MR_BATCH], 64);
	assert_int_equal(unic_from_le32(cmd.count), 4);
	assert_int_equal(reply_u32(f, 16), 3);
	for (i = 0; i < 5; i++)
		assert_int_equal(unic_from_le32(nth(f, i).hdr.seq), 901 + i);
	assert_int_equal(status_of_nth(f, 0), UNIC_ST_OK);
	assert_int_equal(unic_from_le32(nth(f, 0).stag), 0x1400);
	assert_int_equal(status_of_nth(f, 1), UNIC_ST_INVALID);
	assert_int_equal(status_of_nth(f, 2), UNIC_ST_OK);
	assert_int_equal(status_of_nth(f, 3), UNIC_ST_TLB_FULL);
	assert_int_equal(status_of_nth(f, 4), UNIC_ST_OK);
	assert_int_equal(pinned(f), 1 + 3);
	fake_delete(f);
}

/* A NIC that knows no batches is told one by one. */
static void a_batch_for_an_old_nic(void **state)
{
	struct fake *f = fake_new();
	uint32_t pd = pd_of_region(f, region(f, 1)), i, before;
	struct unic_ctl_mr_reg recs[3];

	(void)state;
	for (i = 0; i < 3; i++)
		recs[i] = batch_reg(pd, i + 1);
	before = f->commands;
	assert_int_equal(batch(f, 3, recs), UNIC_ST_OK);
	assert_int_equal(f->commands, before + 3);
	assert_int_equal(reply_u32(f, 16), 3);
	assert_int_equal(pinned(f), 4);
	fake_delete(f);
}

static void each_wrong_batch(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj recs[3] = {
		{ .hdr = { .op = unic_to_le16(UNIC_CTL_PD_ALLOC) } },
		{ .hdr = { .op = unic_to_le16(UNIC_CTL_BATCH) } },
		{ .hdr = { .op = unic_to_le16(UNIC_CTL_MR_DEREG) },
		  .id = unic_to_le32(12345) },
	};
	struct unic_ctl_batch r = { .count = unic_to_le32(2) };

	(void)state;
	region(f, 1);
	nic_batches(f);
	assert_int_equal(batch(f, 0, recs), UNIC_ST_INVALID);
	assert_int_equal(request(f, UNIC_CTL_BATCH, &r), UNIC_ST_INVALID);
	assert_int_equal(batch(f, 3, recs), UNIC_ST_OK);
	assert_int_equal(reply_u32(f, 16), 0);
	assert_int_equal(status_of_nth(f, 0), UNIC_ST_BAD_OPCODE);
	assert_int_equal(status_of_nth(f, 1), UNIC_ST_BAD_OPCODE);
	assert_int_equal(status_of_nth(f, 2), UNIC_ST_NO_MR);
	fake_delete(f);
}

/* Whatever there is no memory for, each has an answer, and none a tail. */
static void a_batch_without_memory(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg recs[3];
	uint32_t pd = pd_of_region(f, region(f, 1)), i, k, none = 0;

	(void)state;
	nic_batches(f);
	for (i = 0; i < 3; i++) {
		recs[i] = batch_reg(pd, i + 1);
		recs[i].hdr.tail_bytes = unic_to_le32(8);
	}
	for (k = 1; k < 8; k++) {
		int status;

		no_spare(f);
		f->os.fail_alloc = k;
		status = batch(f, 3, recs);
		f->os.fail_alloc = 0;
		if (status == UNIC_CTL_ST_NO_MEMORY)
			continue;
		assert_int_equal(status, UNIC_ST_OK);
		for (i = 0; i < 3; i++) {
			assert_int_equal(unic_from_le32(nth(f, i).hdr.seq),
					 901 + i);
			assert_int_equal(
				unic_from_le32(nth(f, i).hdr.tail_bytes), 0);
			none += status_of_nth(f, i) == UNIC_CTL_ST_NO_MEMORY;
		}
	}
	assert_true(none);
	fake_delete(f);
}

/* The NIC refuses the batch, or is reset in the middle of it: each is answered,
 * nothing stays pinned, and what was allocated is free again. */
static void a_batch_that_is_cut(void **state)
{
	static const uint8_t how[] = { UNIC_ST_FAILED, UNIC_ST_INVALID };
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct fake *f = fake_new();
		uint32_t pd = pd_of_region(f, region(f, 1));
		struct unic_ctl_mr_reg recs[2] = { batch_reg(pd, 1),
						   batch_reg(pd, 2) };

		nic_batches(f);
		f->answer[UNIC_CMD_MR_BATCH] = how[i];
		assert_int_equal(batch(f, 2, recs), UNIC_ST_OK);
		assert_int_equal(reply_u32(f, 16), 0);
		for (k = 0; k < 2; k++)
			assert_int_equal(status_of_nth(f, k),
					 UNIC_CTL_ST_RESET);
		assert_int_equal(pinned(f), 1);
		fake_delete(f);
	}
}

/* Who asked is gone before the answer: nobody is told, nothing is left. */
static void a_batch_of_somebody_who_left(void **state)
{
	struct fake *f = fake_new();
	uint32_t pd = pd_of_region(f, region(f, 1));
	struct unic_ctl_mr_reg recs[2] = { batch_reg(pd, 1), batch_reg(pd, 2) };
	struct unic_ctl_batch r = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_BATCH),
			 .tail_bytes = unic_to_le32(sizeof(recs)) },
		.count = unic_to_le32(2),
	};
	uint8_t msg[64 + sizeof(recs)];

	(void)state;
	nic_batches(f);
	memcpy(msg, &r, 64);
	memcpy(msg + 64, recs, sizeof(recs));
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, msg, sizeof(msg)));
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->os.replies, 0);
	assert_null(f->host->reqs);
	fake_delete(f);
}

/* Pages of one process are slow, and the NIC does not wait for all that it asked
 * for: they take no place from another's, which are answered at once. */
static void slow_pages_of_another(void **state)
{
	struct fake *f = fake_new();
	uint32_t slow = demand_region(f, UNIC_REGION_FAULTS + 40), id, i,
		 audits;

	(void)state;
	fault_answer(f, UNIC_ST_BUSY, 0);
	audits = f->host->audits;
	for (i = 0; i < UNIC_REGION_FAULTS + 40; i++) {
		miss(f, slow, i, 1);
		assert_int_equal(last_fault(f).first, unic_to_le32(i));
		f->os.now_ns += 100; /* none is tried again yet */
	}
	assert_int_equal(faults_of(f, slow), UNIC_REGION_FAULTS);
	for (i = 0; i < UNIC_REGION_FAULTS; i++) /* the oldest gave way */
		assert_true(f->host->fault[i].first >= 40);
	f->client = (struct unic_client){ .slot = UNIC_OS_NO_SLOT };
	id = demand_region(f, 8);
	for (i = 0; i < 8; i++) {
		miss(f, id, i, 1);
		assert_int_equal(last_fault(f).first, unic_to_le32(i));
		assert_int_equal(faults_of(f, id), i + 1);
	}
	assert_int_equal(faults_of(f, slow), UNIC_REGION_FAULTS - 8);
	/* and who has few keeps them; the oldest of who has most go */
	miss(f, slow, 0, 1);
	assert_int_equal(faults_of(f, id), 8);
	assert_int_equal(f->host->audits, audits);
	fault_answer(f, 0, 1);
	miss(f, id, 3, 1);
	assert_int_equal(pinned(f), 1);
	fake_delete(f);
}

/* ------------------------------- loop-back: a writer that laps the reader */

#define LAP_WORDS (3 * UNIC_DB_FIFO)

static struct loop looped;
static struct unic_db_page looped_db;
static struct unic_nic_page looped_np;
static uint32_t looped_more; /* words that come while others are read */
static bool looped_half;     /* and one more that is not published yet */

static void looped_store(enum unic_db_kind kind, uint32_t row)
{
	uint32_t seq = unic_from_le32(looped_db.fifo_seq);

	looped_db.fifo[seq % UNIC_DB_FIFO] =
		unic_to_le32(UNIC_DB_WORD(kind, row, 0));
}

static void looped_append(enum unic_db_kind kind, uint32_t row)
{
	looped_store(kind, row);
	looped_db.fifo_seq =
		unic_to_le32(unic_from_le32(looped_db.fifo_seq) + 1);
}

static void looped_go_on(void)
{
	uint32_t n;

	looped.p.os->on_ring = NULL;
	for (n = looped_more; n; n--)
		looped_append(UNIC_DB_SQ, 9);
	if (looped_half)
		looped_store(UNIC_DB_SQ, 9);
}

/* Two completion queues of one process: to arm the first is answered at once. */
static void looped_up(struct unic_os *os)
{
	uint32_t i;

	memset(&looped, 0, sizeof(looped));
	memset(&looped_db, 0, sizeof(looped_db));
	looped.p.os = os;
	looped.slots = 1;
	looped.proc[0].db = &looped_db;
	looped.proc[0].np = &looped_np;
	for (i = 0; i < 2; i++)
		looped.cq[i] = (struct loop_cq){
			.used = true,
			.db = i,
			.written = !i,
		};
}

/* However far the process rings on while the words are read, and if it is in the
 * midst of one: no arming is lost. */
static void loop_back_loses_no_arming(void **state)
{
	struct unic_os os = { 0 };
	uint32_t n;

	(void)state;
	for (n = 0; n < 2 * LAP_WORDS; n++) {
		looped_up(&os);
		looped_append(UNIC_DB_ARM, 0);
		looped_append(UNIC_DB_ARM, 1);
		looped_more = n / 2;
		looped_half = n & 1;
		os.on_ring = looped_go_on;
		while (looped.proc[0].db_seen !=
		       unic_from_le32(looped_db.fifo_seq))
			loop_data_poll(&looped);
		assert_null(os.on_ring);
		assert_true(looped.cq[1].armed);
	}
}

/* Nor one that is the oldest of a full FIFO, while the next word is stored. */
static void loop_back_and_the_next_word(void **state)
{
	struct unic_os os = { 0 };
	uint32_t n;

	(void)state;
	for (n = 0; n < LAP_WORDS; n++) {
		looped_up(&os);
		looped_append(UNIC_DB_ARM, 1);
		looped_more = n;
		looped_half = true;
		looped_go_on();
		while (looped.proc[0].db_seen !=
		       unic_from_le32(looped_db.fifo_seq))
			loop_data_poll(&looped);
		assert_true(looped.cq[1].armed);
	}
}

/* ------------------------------------------------------ loop-back: its STags */

static void looped_done(struct unic_call *call)
{
	(void)call;
}

/* One command of it, carried out. Its completion. */
static const void *looped_call(struct loop *l, struct unic_call *call,
			       uint8_t opcode, const void *cmd)
{
	struct unic_cmd_hdr hdr;

	memcpy(call->cmd, cmd, sizeof(call->cmd));
	memcpy(&hdr, cmd, sizeof(hdr));
	hdr.opcode = opcode;
	memcpy(call->cmd, &hdr, sizeof(hdr));
	call->done = looped_done;
	call->state = UNIC_CALL_TAKEN;
	assert_int_equal(l->p.ops->command(&l->p, call), 0);
	l->p.ops->poll(&l->p, 0);
	assert_int_equal(call->state, UNIC_CALL_IDLE);
	memcpy(&hdr, call->cpl, sizeof(hdr));
	assert_int_equal(hdr.status, UNIC_ST_OK);
	return call->cpl;
}

/* A region of one page in domain 0. */
static struct unic_cpl_mr_reg looped_reg(struct loop *l, uint8_t flags,
					 uint32_t stag)
{
	unic_le64 page = unic_to_le64(0);
	struct unic_call call = { .list = &page, .list_bytes = sizeof(page) };
	struct unic_cmd_mr_reg cmd = { .length = unic_to_le64(100),
				       .rights = UNIC_MR_REMOTE_WRITE,
				       .page_shift = 12,
				       .n_pages = unic_to_le32(1),
				       .key = 7,
				       .flags = flags | UNIC_REG_LIST,
				       .stag = unic_to_le32(stag) };
	struct unic_cpl_mr_reg cpl;

	memcpy(&cpl, looped_call(l, &call, UNIC_CMD_MR_REG, &cmd), sizeof(cpl));
	return cpl;
}

static void looped_dereg(struct loop *l, const struct unic_cpl_mr_reg *mr)
{
	struct unic_cmd_mr cmd = { .mr = mr->mr, .gen = mr->gen };
	struct unic_call call = { 0 };

	looped_call(l, &call, UNIC_CMD_MR_DEREG, &cmd);
}

static struct loop *looped_ready(struct fake *f)
{
	void *mem = f; /* nothing is read there */
	struct unic_provider *p = unic_loop_provider(&f->os, 1, &mem, 4096);
	struct loop *l = (struct loop *)(void *)p;

	p->host = f->host;
	l->state = UNIC_PROVIDER_READY;
	l->pd[0] = 0;
	return l;
}

static void looped_end(struct fake *f, struct loop *l)
{
	l->p.ops->fini(&l->p);
	unic_os_free(&f->os, l);
}

/* 24 bits of an STag are drawn, the low ones the consumer's. Of a source that
 * repeats itself no index has its STag twice in succession. */
static void loop_back_draws_stags(void **state)
{
	uint32_t ones = 0, zeros = 0, i, stag, last;
	struct fake *f = fake_new();
	struct loop *l = looped_ready(f);
	struct unic_cpl_mr_reg mr;

	(void)state;
	f->os.all_random = 1;
	for (i = 0; i < 1000; i++) {
		mr = looped_reg(l, 0, 0);
		stag = unic_from_le32(mr.stag);
		assert_ptr_equal(loop_mr_of(l, stag),
				 &l->mr[unic_from_le32(mr.mr)]);
		assert_null(loop_mr_of(l, stag ^ 0x100));
		assert_null(loop_mr_of(l, stag ^ 1));
		looped_dereg(l, &mr);
		assert_null(loop_mr_of(l, stag));
		ones |= stag;
		zeros |= ~stag;
	}
	assert_int_equal(ones & zeros, 0xffffff00);
	assert_int_equal(ones & 0xff, 7);
	for (i = 0, last = 0; i < 8; i++, last = stag) {
		f->os.all_random = 1;
		mr = looped_reg(l, 0, 0);
		stag = unic_from_le32(mr.stag);
		looped_dereg(l, &mr);
		assert_int_not_equal(stag, last);
	}
	/* after a reset they are what they were */
	mr = looped_reg(l, UNIC_REG_RESTORE, stag);
	assert_int_equal(unic_from_le32(mr.stag), stag);
	looped_end(f, l);
	fake_delete(f);
}

/* All of its regions at once: each has an index of its own. */
static void loop_back_gives_each_index_once(void **state)
{
	struct fake *f = fake_new();
	struct loop *l = looped_ready(f);
	uint32_t i;

	(void)state;
	f->os.all_random = 1;
	for (i = 0; i < LOOP_MRS; i++)
		looped_reg(l, 0, 0);
	for (i = 0; i < LOOP_MRS; i++)
		assert_ptr_equal(loop_mr_of(l, l->mr[i].stag), &l->mr[i]);
	looped_end(f, l);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_is_one_command),
		cmocka_unit_test(a_batch_for_an_old_nic),
		cmocka_unit_test(each_wrong_batch),
		cmocka_unit_test(a_batch_without_memory),
		cmocka_unit_test(a_batch_that_is_cut),
		cmocka_unit_test(a_batch_of_somebody_who_left),
		cmocka_unit_test(ids_never_come_back),
		cmocka_unit_test(tables_run_out),
		cmocka_unit_test(misses_without_number),
		cmocka_unit_test(lists_of_forms_are_passed_on),
		cmocka_unit_test(forms_of_an_old_device),
		cmocka_unit_test(ids_that_were_used_up_do_not_come_back),
		cmocka_unit_test(ids_run_out),
		cmocka_unit_test(objects_are_counted_by_owner),
		cmocka_unit_test(frames_fill_and_empty),
		cmocka_unit_test(page_sizes_follow_the_frames),
		cmocka_unit_test(pins_count_overlaps_once),
		cmocka_unit_test(wild_indices_are_ignored),
		cmocka_unit_test(answers_that_are_due_come_without_interrupt),
		cmocka_unit_test(foreign_completions_are_ignored),
		cmocka_unit_test(random_device_memory),
		cmocka_unit_test(silence_is_death_and_heals),
		cmocka_unit_test(absence_of_the_driver_is_no_silence),
		cmocka_unit_test(more_commands_than_slots),
		cmocka_unit_test(too_many_requests),
		cmocka_unit_test(list_has_our_frames),
		cmocka_unit_test(list_without_names_is_filled_in),
		cmocka_unit_test(each_call_is_logged),
		cmocka_unit_test(notice_is_told_then_acknowledged),
		cmocka_unit_test(pace_of_the_conversation_is_kept),
		cmocka_unit_test(unmapped_regions_end),
		cmocka_unit_test(unmapped_up_to_2_to_the_64),
		cmocka_unit_test(fenced_memory_goes_back_with_the_answer),
		cmocka_unit_test(unmapped_pages_of_demand_go),
		cmocka_unit_test(demand_pages_are_pinned_one_by_one),
		cmocka_unit_test(faults_without_room_are_tried_again),
		cmocka_unit_test(pages_that_are_not_mapped),
		cmocka_unit_test(page_tables_are_written_and_pinned),
		cmocka_unit_test(advice_becomes_pages),
		cmocka_unit_test(contiguous_frames_are_large_pages),
		cmocka_unit_test(notice_of_another_life),
		cmocka_unit_test(request_of_another_life),
		cmocka_unit_test(bus_addresses_are_the_drivers_alone),
		cmocka_unit_test(own_services_are_the_drivers),
		cmocka_unit_test(tables_are_for_the_administrator),
		cmocka_unit_test(uses_of_ones_own_regions),
		cmocka_unit_test(dereg_waits_for_the_drain),
		cmocka_unit_test(dereg_of_one_that_ends_just_now),
		cmocka_unit_test(upcall_storm_is_bounded_and_loss_shows),
		cmocka_unit_test(upcalls_are_read_whole),
		cmocka_unit_test(bad_doorbell_is_told_and_acknowledged),
		cmocka_unit_test(client_leaves_while_waiting),
		cmocka_unit_test(every_allocation_fails),
		cmocka_unit_test(setup_goes_on_when_there_is_memory),
		cmocka_unit_test(cm_messages_survive_the_wire),
		cmocka_unit_test(cm_garbage_is_refused),
		cmocka_unit_test(peer_gives_up_before_it_heard_of_us),
		cmocka_unit_test(silent_peer_has_given_up),
		cmocka_unit_test(request_of_another_is_another),
		cmocka_unit_test(ids_of_others_are_nobodys),
		cmocka_unit_test(queue_of_requests_is_ones_own),
		cmocka_unit_test(late_rep_is_told_so),
		cmocka_unit_test(forged_messages_change_nothing),
		cmocka_unit_test(dreq_before_the_qp_is_ready),
		cmocka_unit_test(dreq_of_a_stranger_has_its_own_transaction),
		cmocka_unit_test(guessed_dreqs_end_nothing),
		cmocka_unit_test(ids_on_the_wire_are_random),
		cmocka_unit_test(starting_psn_is_the_other_sides),
		cmocka_unit_test(starting_psns_are_drawn),
		cmocka_unit_test(rej_names_what_it_refuses),
		cmocka_unit_test(flood_of_one_address_is_its_own_harm),
		cmocka_unit_test(one_request_more_counts),
		cmocka_unit_test(flood_of_many_addresses_leaves_time),
		cmocka_unit_test(unconfirmed_ones_give_way),
		cmocka_unit_test(who_was_answered_is_silent),
		cmocka_unit_test(who_asks_again_is_answered_again),
		cmocka_unit_test(who_gives_up_says_so),
		cmocka_unit_test(who_ends_too_early_says_so),
		cmocka_unit_test(ends_flush),
		cmocka_unit_test(goodbye_is_said_six_times),
		cmocka_unit_test(goodbyes_are_bounded),
		cmocka_unit_test(who_asks_for_more_gives_way),
		cmocka_unit_test(eviction_before_the_completion),
		cmocka_unit_test(qp_gone_before_the_completion),
		cmocka_unit_test(connect_of_a_dying_qp_is_refused),
		cmocka_unit_test(proc_gone_before_the_completion),
		cmocka_unit_test(dereg_crosses_the_grant),
		cmocka_unit_test(grant_is_heard_after_the_end),
		cmocka_unit_test(frames_are_exchanged_under_a_wait),
		cmocka_unit_test(late_frames_give_entries_back),
		cmocka_unit_test(late_frames_are_not_wanted),
		cmocka_unit_test(late_frames_and_the_time),
		cmocka_unit_test(late_frames_find_no_place_to_wait),
		cmocka_unit_test(dereg_of_a_waiting_region_cancels),
		cmocka_unit_test(cancelled_and_granted),
		cmocka_unit_test(cancel_of_what_cannot_wait),
		cmocka_unit_test(giving_back_has_its_own_room),
		cmocka_unit_test(shares_are_kept),
		cmocka_unit_test(mapped_slot_is_left_alone),
		cmocka_unit_test(frames_stay_pinned_till_the_end_of_a_reset),
		cmocka_unit_test(end_of_a_token_whose_index_is_used_again),
		cmocka_unit_test(pieces_are_for_the_driver),
		cmocka_unit_test(end_of_a_token_that_a_cancel_did_not_find),
		cmocka_unit_test(tokens_leave_no_object),
		cmocka_unit_test_setup_teardown(
			kept_region_is_restored_with_its_stag, keep, no_keep),
		cmocka_unit_test_setup_teardown(notice_is_void_after_a_reset,
						keep, no_keep),
		cmocka_unit_test_setup_teardown(
			region_that_cannot_be_restored_is_told, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			dereg_under_way_is_done_by_the_reset, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			wait_is_queued_again_for_the_rest_of_its_time, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			reset_while_restoring_begins_again, keep, no_keep),
		cmocka_unit_test_setup_teardown(queues_come_back_in_error, keep,
						no_keep),
		cmocka_unit_test_setup_teardown(types_of_queue_pairs, keep,
						no_keep),
		cmocka_unit_test(unreliable_connects),
		cmocka_unit_test(refused_accept_keeps_the_offer),
		cmocka_unit_test(slow_nics_say_so),
		cmocka_unit_test(unreliable_is_accepted),
		cmocka_unit_test(resync_tells_of_everything),
		cmocka_unit_test(resync_tells_of_waits),
		cmocka_unit_test(holders_end_a_grace),
		cmocka_unit_test(owner_who_extends_keeps_his_grace),
		cmocka_unit_test(owner_who_extended_once),
		cmocka_unit_test(silent_holder_costs_the_grace),
		cmocka_unit_test(holder_whose_connection_ends),
		cmocka_unit_test(delegation_is_recorded),
		cmocka_unit_test(holder_is_told_and_answers),
		cmocka_unit_test(delegate_waits_for_the_exporter),
		cmocka_unit_test(holders_of_an_offer_are_asked),
		cmocka_unit_test(holder_whose_token_ends),
		cmocka_unit_test(delegate_over_a_connection_that_ends),
		cmocka_unit_test(connections_of_others_do_not_end),
		cmocka_unit_test(wrong_grants_are_refused),
		cmocka_unit_test_setup_teardown(tokens_end_with_the_reset_once,
						keep, no_keep),
		cmocka_unit_test_setup_teardown(
			driver_that_was_killed_leaves_its_records, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(ended_objects_stay_ended, keep,
						no_keep),
		cmocka_unit_test_setup_teardown(
			stranger_gets_nothing_of_the_dead, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			kept_process_has_the_share_that_was_set, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			one_that_starts_over_has_nothing_kept, keep, no_keep),
		cmocka_unit_test(one_user_has_not_all_slots),
		cmocka_unit_test(slot_goes_back_to_its_user),
		cmocka_unit_test(held_slot_is_of_its_user),
		cmocka_unit_test(one_slot_at_a_time),
		cmocka_unit_test_setup_teardown(
			privileged_one_keeps_what_others_of_it_had, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			one_that_is_away_leaves_its_slot_to_others, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			process_that_does_not_come_back_is_given_up, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			journal_of_another_board_is_nothing, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			any_word_of_the_journal_is_wrong, keep, no_keep),
		cmocka_unit_test(rereg_pins_first),
		cmocka_unit_test_setup_teardown(base_is_random, keep, no_keep),
		cmocka_unit_test(bases_differ_in_all_their_bits),
		cmocka_unit_test(forms_pin_nothing),
		cmocka_unit_test(slow_pages_of_another),
		cmocka_unit_test(loop_back_loses_no_arming),
		cmocka_unit_test(loop_back_and_the_next_word),
		cmocka_unit_test(loop_back_draws_stags),
		cmocka_unit_test(loop_back_gives_each_index_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
