/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* world.c - see world.h. */
#include "world.h"

#include <stdlib.h>

#define HEAD_BYTES  0x8000u /* of the BAR: info, indices, commands, answers */
#define ROUNDS_MAX  20000u
#define FULL_CHECKS 64u /* all of memory is compared once in so many inputs */

struct world world;
struct world_knobs world_knobs;

/* The world as it was built. */
static struct world built;
static struct rig peer;
static bool ready;
static uint32_t inputs;
static uint64_t dirty[FAKE_WINDOWS][WORLD_PAGES / 64];
static struct unic_driver_page driver; /* as the driver left it */

#define PORT_HEAD offsetof(struct unic_port, rx)
#define NIC_TAIL  (sizeof(struct rig) - offsetof(struct rig, nic))

static struct unic_driver_page *driver_page(void)
{
	return (void *)(world.rig.port.bar + UNIC_BAR_DRIVER_OFF);
}

static const struct unic_nic_idx *nic_idx(void)
{
	return (const void *)(world.rig.port.bar + UNIC_BAR_NIC_OFF);
}

/* ------------------------------------------------------------------ building */

static void on_panic(struct unic_port *port, const char *file, uint32_t line)
{
	(void)port;
	fprintf(stderr, "%s:%u: assertion of the firmware failed\n", file,
		line);
	abort();
}

/* Delivers frames that the NIC sends to itself; all others are lost. */
static void on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	must(len >= UNIC_ETH_BYTES && len <= FAKE_FRAME_BYTES - 16);
	if (!memcmp(frame, port->mac, 6))
		fake_deliver(port, frame, len, flags);
}

static void build_regions(struct rig *r)
{
	static const struct {
		uint8_t proc, pages, mr_class, flags;
	} make[WORLD_MRS] = {
		[W_FOUR] = { 0, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST },
		[W_MESSAGES] = { 0, 1, UNIC_CLASS_MESSAGING, UNIC_REG_LIST },
		[W_OTHER] = { 1, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST },
		[W_OTHER_MSG] = { 1, 1, UNIC_CLASS_MESSAGING, UNIC_REG_LIST },
		[W_LOADING] = { 0, 2, UNIC_CLASS_RDMA, 0 },
		[W_SAFE] = { 1, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST },
	};
	uint32_t i;

	for (i = 0; i < WORLD_MRS; i++) {
		must(rig_reg(r, make[i].proc, world.pd[make[i].proc],
			     make[i].pages, make[i].mr_class, make[i].flags, 0,
			     &world.mr[i]) == UNIC_ST_OK);
		if (world.mr[i].mem)
			memset(world.mr[i].mem, 0x11 * (int)(i + 1),
			       make[i].pages * 4096u);
	}
	/* no single command fills a region and leaves it without rights; this
	 * is what the check of the rights would have stored */
	r->nic.mrs.mr[world.mr[W_SAFE].mr].rights = 0;
}

static void build_token(struct rig *r, uint32_t i, uint32_t pd,
			const struct rig_mr *mr, uint32_t length,
			uint32_t sender, uint32_t flags)
{
	struct unic_cpl_token cpl;
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova + 100),
		.length = unic_to_le32(length),
		.ttl_us = unic_to_le32(sender ? 5000 : 0),
		.sender_ipv4 = unic_to_le32(sender),
		.flags = unic_to_le32(flags),
	};

	must(rig_cmd(r, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl) == UNIC_ST_OK);
	world.token[i].index = unic_from_le32(cpl.index);
	world.token[i].length = length;
	world.token[i].key = unic_from_le64(cpl.key);
}

/* The NIC at the other end, which is used only to connect. */
static void build_peer(struct rig *r)
{
	struct rig_qp far[2];
	uint32_t i, pd;

	rig_up(&peer, 2);
	rig_attach(&peer, 0, 1);
	pd = rig_pd(&peer, 0);
	for (i = 0; i < 2; i++) {
		rig_qp(&peer, 0, pd, i, &far[i]);
		rig_connect(r, &world.qp[2 + i], &peer, &far[i]);
		world.peer_qpn[i] = far[i].qpn;
	}
	memcpy(world.peer_mac, peer.port.mac, 6);
}

static void build_receives(struct rig *r)
{
	uint32_t i;

	for (i = 0; i < 4; i++) {
		rig_recv(r, &world.qp[1], i, &world.mr[W_MESSAGES], i * 64, 64);
		rig_recv(r, &world.qp[2], i, &world.mr[W_MESSAGES],
			 1024 + i * 512, 512);
		rig_recv(r, &world.qp[3], 4 + i, &world.mr[W_OTHER_MSG],
			 i * 600, 600);
	}
}

/* The queue pairs of UC and UD, with receives: the first is in a DEMAND region,
 * so its message may have to wait for a page. */
static void build_unreliable(struct rig *r)
{
	uint32_t i, k;

	for (i = 4; i < 6; i++) {
		struct rig_qp *q = &world.qp[i];

		rig_qp_of(r, 0, world.pd[0], i,
			  i == 4 ? UNIC_QPT_UC : UNIC_QPT_UD,
			  i == 4 ? UNIC_QPM_BOUNCE : UNIC_QPM_SUBSTITUTE, 512,
			  q);
		rig_connect(r, q, r, q);
		for (k = 0; k < 4; k++)
			rig_recv(r, q, 4 * (i - 2) + k,
				 k ? &world.mr[W_MESSAGES] : &world.paged[0],
				 k * 600, 600);
	}
}

static void build(bool icrc)
{
	struct rig *r = &world.rig;
	uint32_t i;

	rig_up(r, 1);
	r->port.icrc = icrc;
	r->nic.link.icrc_offload = !icrc;
	r->port.on_frame = on_frame;
	r->port.on_panic = on_panic;
	for (i = 0; i < 2; i++) {
		rig_attach(r, i, 1 + i);
		world.pd[i] = rig_pd(r, i);
	}
	for (i = 0; i < 4; i++)
		rig_qp(r, i == 3, world.pd[i == 3], i, &world.qp[i]);
	rig_connect(r, &world.qp[0], r, &world.qp[1]);
	build_peer(r);
	build_regions(r);
	world_build_changes(r);
	build_token(r, 0, world.pd[0], &world.mr[W_FOUR], 8192, 0, 0);
	build_token(r, 1, world.pd[0], &world.mr[W_FOUR], 100, WORLD_PEER_IP,
		    0);
	build_token(r, 2, world.pd[1], &world.mr[W_OTHER], 4000, 0, 0);
	build_token(r, 3, world.pd[0], &world.mr[W_FOUR], 6000, 0,
		    UNIC_TOKEN_F_MULTI);
	build_receives(r);
	build_unreliable(r);
	rig_poll(r);
	sane(&r->nic);
}

/* -------------------------------------------------------------- putting back */

void world_dirty(uint32_t window, uint64_t off, uint64_t bytes)
{
	uint64_t page, last;

	if (!bytes || window >= FAKE_WINDOWS || off >= FAKE_WINDOW_BYTES)
		return;
	last = (off + bytes - 1) / 4096;
	for (page = off / 4096; page <= last && page < WORLD_PAGES; page++)
		dirty[window][page / 64] |= 1ull << page % 64;
}

bool world_is_dirty(uint32_t window, uint32_t page)
{
	return dirty[window][page / 64] >> page % 64 & 1;
}

static void restore_windows(void)
{
	uint32_t w, p;

	for (w = 0; w < FAKE_WINDOWS; w++)
		for (p = 0; p < WORLD_PAGES; p++) {
			if (!dirty[w][p / 64]) {
				p |= 63;
				continue;
			}
			if (world_is_dirty(w, p))
				memcpy(world.rig.port.window[w] + p * 4096,
				       built.rig.port.window[w] + p * 4096,
				       4096);
		}
	memset(dirty, 0, sizeof(dirty));
	/* the NIC pages of the processes that are attached from the start */
	world_dirty(0, 4096, 4096);
	world_dirty(1, 4096, 4096);
}

uint64_t *world_words(uint32_t at, uint32_t n)
{
	world_dirty(UNIC_BUS_WINDOW(RIG_LIST),
		    UNIC_BUS_OFFSET(RIG_LIST) + at * 8ull, n * 8ull);
	return (uint64_t *)(void *)(rig_words(&world.rig) + at);
}

static void restore_from_built(uint64_t off, uint64_t bytes)
{
	memcpy(world.rig.port.bar + off, built.rig.port.bar + off, bytes);
}

/* Restores what the NIC reads of the BAR: its head, the list pages of the commands of
 * the last input and of the next one, which may be half written. */
static void restore_bar(void)
{
	uint32_t n = world.rig.cmd_tail - built.rig.cmd_tail + 1, i;

	restore_from_built(0, HEAD_BYTES);
	for (i = 0; i < n && i < UNIC_CMD_ENTRIES; i++)
		restore_from_built(UNIC_BAR_LIST_OFF + (built.rig.cmd_tail +
							i) % UNIC_CMD_ENTRIES *
							       UNIC_LIST_BYTES,
				   UNIC_LIST_BYTES);
}

void world_begin(bool icrc)
{
	if (!ready) {
		build(icrc);
		memcpy(&built, &world, sizeof(world));
		ready = true;
	} else {
		restore_bar();
		memcpy(&world.rig.port, &built.rig.port, PORT_HEAD);
		memcpy(&world.rig.nic, &built.rig.nic, NIC_TAIL);
		memcpy(&world.pd, &built.pd,
		       sizeof(world) - offsetof(struct world, pd));
	}
	restore_windows();
	memset(&world_knobs, 0, sizeof(world_knobs));
	memcpy(&driver, driver_page(), sizeof(driver));
	inputs++;
}

void world_mode(uint8_t mode)
{
	struct rig *r = &world.rig;

	if (mode & 1)
		r->nic.trace.mask = ~0u;
	world_knobs.deaf = (mode & 6) == 6;
	if ((mode & 24) == 24) /* the event ring is almost full */
		r->nic.mbox.evt_tail = r->nic.mbox.evt_head + UNIC_EVT_ENTRIES -
				       UNIC_EVT_RESERVED - 1;
	if ((mode & 0xe0) == 0xe0)
		r->nic.ipv4 = 0;
}

/* ------------------------------------------------------------------ checking */

static void check_windows(void)
{
	uint32_t w, p;

	for (w = 0; w < FAKE_WINDOWS; w++)
		for (p = 0; p < WORLD_PAGES; p++)
			must(world_is_dirty(w, p) ||
			     !memcmp(world.rig.port.window[w] + p * 4096,
				     built.rig.port.window[w] + p * 4096,
				     4096));
}

void world_check(void)
{
	sane(&world.rig.nic);
	must(!memcmp(&driver, driver_page(), sizeof(driver)));
	if (inputs % FULL_CHECKS == 1 || getenv("FUZZ_REPLAY"))
		check_windows();
}

/* ------------------------------------------------------------------- driving */

bool world_cmd(const void *rec)
{
	struct rig *r = &world.rig;
	struct unic_cmd_hdr hdr;
	uint8_t *slot = r->port.bar + UNIC_BAR_CMD_OFF +
			r->cmd_tail % UNIC_CMD_ENTRIES * 64;

	if (r->cmd_tail - r->nic.mbox.cmd_head >= UNIC_CMD_ENTRIES)
		return false;
	memcpy(slot, rec, 64);
	memcpy(&hdr, rec, sizeof(hdr));
	hdr.cookie = unic_to_le16(++r->cookie);
	hdr.status = 0;
	hdr.epoch = unic_to_le32(r->nic.epoch);
	memcpy(slot, &hdr, sizeof(hdr));
	driver.cmd_tail = unic_to_le32(++r->cmd_tail);
	driver_page()->cmd_tail = driver.cmd_tail;
	return true;
}

/* Takes all records, as a driver does; each status must be a known one. */
static void take_records(void)
{
	struct rig *r = &world.rig;
	uint32_t tail = unic_from_le32(nic_idx()->cpl_tail);
	struct unic_cmd_hdr hdr;

	must(tail - r->cpl_head <= UNIC_CPL_ENTRIES);
	for (; r->cpl_head != tail; r->cpl_head++) {
		memcpy(&hdr,
		       r->port.bar + UNIC_BAR_CPL_OFF +
			       r->cpl_head % UNIC_CPL_ENTRIES * 64,
		       sizeof(hdr));
		must(hdr.status <= UNIC_ST_STALE);
	}
	must(unic_from_le32(nic_idx()->evt_tail) - r->evt_head <=
	     UNIC_EVT_ENTRIES);
	if (!world_knobs.deaf)
		r->evt_head = unic_from_le32(nic_idx()->evt_tail);
	driver.cpl_head = unic_to_le32(r->cpl_head);
	driver.evt_head = unic_to_le32(r->evt_head);
	if (!world_knobs.deaf)
		driver.mad_head = nic_idx()->mad_tail;
	driver.drop_head = nic_idx()->drop_tail;
	memcpy(driver_page(), &driver, sizeof(driver));
}

bool world_rounds(uint32_t n)
{
	bool rests = false;

	while (n-- && !rests) {
		rests = unic_nic_poll(&world.rig.nic) != 0;
		if (!world.rig.nic.armed)
			world.rig.nic.idle_since_ns = 0;
	}
	take_records();
	return rests;
}

void world_dma(uint32_t n)
{
	struct unic_port *port = &world.rig.port;
	uint32_t i, judged = 0;

	for (i = 0; i < port->n_transfers && judged < n; i++) {
		const struct fake_transfer *t =
			&port->transfer[(port->next_transfer + i) %
					FAKE_PENDING];

		if (t->done)
			continue;
		memory_judge(port, t->bus, t->len);
		judged++;
	}
	fake_dma_run(port, n);
}

void world_settle(uint64_t ns)
{
	struct unic_port *port = &world.rig.port;
	uint64_t end = port->now_ns + ns, until;
	uint32_t i;

	for (i = 0; i < ROUNDS_MAX; i++) {
		until = unic_nic_poll(&world.rig.nic);
		if (fake_dma_waiting(port))
			world_dma(1);
		else if (until && port->now_ns >= end)
			break;
		else if (until)
			port->now_ns = until < end ? until : end;
		if (!world.rig.nic.armed)
			world.rig.nic.idle_since_ns = 0;
	}
	must(i < ROUNDS_MAX); /* the NIC comes to rest */
	take_records();
}
