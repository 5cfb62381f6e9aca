/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fuzz_frame.c - a hostile peer: frames made by a small grammar that knows the
 * live STags, tokens and QP numbers, the PSN expected next and those not yet
 * acknowledged, with every checksum right unless the input says otherwise.
 *
 * The processes behave well here, so more is checked: each work request
 * completes exactly once (INV-10), a region without rights is unchanged, and
 * the NIC comes to rest.
 */
#include "base/icrc.h"
#include "world.h"

#define STEPS	 40u
#define WORKS	 256u
#define BODY_MAX 1100u
#define QPS	 4u
#define UC	 2u /* index of the UC queue pair, connected to itself */
#define UD	 3u

enum {
	OFF_IP = UNIC_ETH_BYTES,
	OFF_UDP = 34,
	OFF_BTH = 42,
	OFF_EXT = 54
};

static uint8_t room[2 + FAKE_FRAME_BYTES] __attribute__((aligned(4)));
static uint8_t *const frame = room + 2;

/* Work requests by wr_id: posted and not completed. */
static struct {
	bool open[WORKS];
	uint32_t posted, done;
	uint32_t busy[QPS]; /* of queue pairs 2 to 5: open, both directions */
	uint8_t slot[QPS][RIG_SLOTS]; /* wr_id in each receive slot */
	uint32_t head[QPS]; /* first receive slot that is not free again */
} work;

static uint32_t proc_of(uint32_t i)
{
	return i == 1;
}

static void put(uint32_t off, uint32_t bytes, uint32_t v)
{
	while (bytes--) {
		frame[off + bytes] = (uint8_t)v;
		v >>= 8;
	}
}

static const struct rig_qp *far_qp(uint32_t i)
{
	return &world.qp[2 + i];
}

static struct unic_qp_ctx *near_qp(uint32_t i)
{
	return &world.rig.nic.qps.qp[far_qp(i)->qpn & 0xff];
}

/* ------------------------------------------------------------------- grammar */

static void put_reth(struct input *in, uint32_t off, uint32_t payload)
{
	static const uint8_t target[] = { W_FOUR, W_FOUR, W_OTHER, W_MESSAGES };
	const struct rig_mr *mr = &world.mr[target[in_below(in, 4)]];
	uint32_t how = in_u8(in), len = payload;
	uint64_t va;

	if (how >= 200)
		len = in_u16(in);
	if (how >= 240)
		mr = &world.mr[in_below(in, WORLD_MRS)];
	else if (how & 1)
		mr = world_changing(in);
	va = mr->iova + in_u16(in) % 17000u;
	if (how >= 250)
		va = in_u64(in);
	put(off, 4, (uint32_t)(va >> 32));
	put(off + 4, 4, (uint32_t)va);
	put(off + 8, 4, world_stag(mr) ^ (how == 249 ? in_u32(in) : 0));
	put(off + 12, 4, how >= 252 ? in_u32(in) : len);
}

/* AtomicETH; the address is mostly aligned. */
static void put_atomic(struct input *in, uint32_t off)
{
	uint32_t i;

	put_reth(in, off, 8);
	if (!in_odd(in))
		frame[off + 7] &= 0xf8;
	for (i = 12; i < 28; i += 8)
		put(off + i, 4, 0);
	put(off + 16, 4, in_u8(in));
	put(off + 24, 4, in_u8(in));
}

static void put_tketh(struct input *in, uint32_t off, uint32_t payload)
{
	const struct world_token *t = &world.token[in_below(in, WORLD_TOKENS)];
	uint32_t how = in_u8(in), ctrl = in_below(in, 136), len = payload;
	uint64_t key = t->key;

	if (ctrl > len && how < 250)
		ctrl = len;
	len -= ctrl;
	if (how >= 180)
		len = in_u16(in);
	if (how >= 245)
		key ^= in_u64(in);
	put(off, 4, how == 244 ? in_u32(in) : t->index);
	put(off + 4, 4, (uint32_t)(key >> 32));
	put(off + 8, 4, (uint32_t)key);
	put(off + 12, 4, len);
	put(off + 16, 4, ctrl);
	put(off + 20, 4, t == &world.token[3] ? in_u16(in) : how == 243);
}

/* Extension headers that @op needs; returns their bytes. */
static uint32_t put_ext(struct input *in, uint32_t i, uint8_t op,
			uint32_t payload)
{
	switch (op) {
	case UNIC_OP_WRITE_FIRST:
	case UNIC_OP_WRITE_ONLY:
	case UNIC_OP_READ_REQUEST:
		put_reth(in, OFF_EXT, payload);
		return 16;
	case UNIC_OP_UC_WRITE_FIRST:
	case UNIC_OP_UC_WRITE_ONLY:
		put_reth(in, OFF_EXT, payload);
		return 16;
	case UNIC_OP_UC_WRITE_ONLY_IMM:
	case UNIC_OP_WRITE_ONLY_IMM:
		put_reth(in, OFF_EXT, payload);
		put(OFF_EXT + 16, 4, in_u32(in));
		return 20;
	case UNIC_OP_SEND_LAST_IMM:
	case UNIC_OP_SEND_ONLY_IMM:
	case UNIC_OP_WRITE_LAST_IMM:
	case UNIC_OP_UC_SEND_FIRST + 3:
	case UNIC_OP_UC_SEND_ONLY + 1:
	case UNIC_OP_UC_WRITE_LAST + 1:
		put(OFF_EXT, 4, in_u32(in));
		return 4;
	case UNIC_OP_TOKEN_FIRST:
	case UNIC_OP_TOKEN_ONLY:
		put_tketh(in, OFF_EXT, payload);
		return 24;
	case UNIC_OP_SEND_LAST_INV:
	case UNIC_OP_SEND_ONLY_INV:
		put(OFF_EXT, 4, world_stag(world_changing(in)));
		return 4;
	case UNIC_OP_ACK:
	case UNIC_OP_READ_RESP_FIRST:
	case UNIC_OP_READ_RESP_LAST:
	case UNIC_OP_READ_RESP_ONLY:
		put(OFF_EXT, 1, in_odd(in) ? in_u8(in) : 0x1f);
		put(OFF_EXT + 1, 3, in_u8(in));
		return 4;
	case UNIC_OP_ATOMIC_ACK:
		put(OFF_EXT, 4, 0x1f000000 | in_u8(in));
		put(OFF_EXT + 4, 4, in_u8(in));
		put(OFF_EXT + 8, 4, in_u8(in));
		return 12;
	case UNIC_OP_COMPARE_SWAP:
	case UNIC_OP_FETCH_ADD:
		put_atomic(in, OFF_EXT);
		return 28;
	case UNIC_OP_VACK:
		put(OFF_EXT, 4, in_below(in, 4));
		put(OFF_EXT + 4, 4, in_u16(in));
		return 8;
	case UNIC_OP_UD_SEND_ONLY:
	case UNIC_OP_UD_SEND_ONLY_IMM:
		put(OFF_EXT, 4,
		    in_odd(in) ? in_u32(in)
		    : i == UD  ? far_qp(i)->qkey
			       : UNIC_QKEY_GSI);
		put(OFF_EXT + 4, 4, 1);
		if (op == UNIC_OP_UD_SEND_ONLY)
			return 8;
		put(OFF_EXT + 8, 4, in_u32(in));
		return 12;
	default:
		return 0;
	}
}

static bool is_answer(uint8_t op)
{
	return (op >= UNIC_OP_READ_RESP_FIRST && op <= UNIC_OP_ATOMIC_ACK) ||
	       op == UNIC_OP_VACK;
}

static uint32_t pick_psn(struct input *in, uint8_t op, uint32_t i)
{
	const struct unic_qp_ctx *qp = near_qp(i);
	uint32_t psn = is_answer(op) ? qp->sq.psn_una : qp->rsp.psn;
	uint32_t how = in_u8(in);

	if (how >= 252)
		return in_u32(in) & UNIC_PSN_MASK;
	if (how >= 200)
		psn += (uint32_t)(int8_t)in_u8(in);
	else if (is_answer(op))
		psn += how % 4;
	return psn & UNIC_PSN_MASK;
}

static void put_ip(uint32_t from, uint32_t len)
{
	uint32_t sum = 0, i;

	memcpy(frame, world.rig.port.mac, 6);
	memcpy(frame + 6, world.peer_mac, 6);
	put(12, 2, UNIC_ETHERTYPE_IP);
	put(OFF_IP, 2, 0x4500);
	put(OFF_IP + 2, 2, len - UNIC_ETH_BYTES);
	put(OFF_IP + 4, 4, 0x4000);
	put(OFF_IP + 8, 4, 0x40110000);
	put(OFF_IP + 12, 4, from);
	put(OFF_IP + 16, 4, 0x0a000001);
	for (i = OFF_IP; i < OFF_UDP; i += 2)
		sum += (uint32_t)frame[i] << 8 | frame[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	put(OFF_IP + 10, 2, ~sum);
	put(OFF_UDP, 2, 0xc000);
	put(OFF_UDP + 2, 2, UNIC_ROCE_PORT);
	put(OFF_UDP + 4, 2, len - OFF_UDP);
	put(OFF_UDP + 6, 2, 0);
}

/* As the fast path expects: addresses and source port of the connection. */
static void put_headers(uint32_t i, uint32_t len)
{
	const struct unic_roce_tmpl *t = &near_qp(i)->tmpl;

	put_ip(i == UC ? 0x0a000001 : WORLD_PEER_IP, len);
	memcpy(frame + OFF_UDP, &t->h.word[8], 2);
}

static uint32_t payload_bytes(struct input *in, uint8_t op)
{
	uint32_t how = in_u8(in);

	if (op == UNIC_OP_READ_REQUEST || op == UNIC_OP_VACK ||
	    (op >= UNIC_OP_ACK && op <= UNIC_OP_FETCH_ADD))
		return how >= 250 ? in_u8(in) : 0;
	if (op == UNIC_OP_UD_SEND_ONLY)
		return how >= 240 ? in_u16(in) % BODY_MAX : UNIC_MAD_BYTES;
	if (op % 3 == 0 || how >= 128) /* a first packet is mostly full */
		return how & 1 ? in_u16(in) % BODY_MAX : 1024;
	return how;
}

/* The length in an extension header: a READ or a first packet names more bytes
 * than the packet carries. */
static uint32_t claimed_bytes(struct input *in, uint8_t op, uint32_t payload)
{
	if (op == UNIC_OP_READ_REQUEST || op == UNIC_OP_WRITE_FIRST ||
	    op == UNIC_OP_TOKEN_FIRST)
		return payload + in_u16(in) % 4096u;
	return payload;
}

/* Returns the bytes of the frame, ICRC not yet filled in. */
static uint32_t make_roce(struct input *in)
{
	static const uint8_t ops[] = {
		0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
		0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
		0x10, 0x11, 0x64, 0xc0, 0xc1, 0xc2, 0xc3, 0xd0,
		0x04, 0x0a, 0x0c, 0x17, 0xc3, 0xc0, 0x06, 0x16,
	};
	/* these came after the corpora, which keep their meaning */
	static const uint8_t atomic[] = { 0x12, 0x13, 0x14, 0x13 };
	uint32_t how = in_u8(in), i = in_below(in, 2);
	uint8_t op = ops[how % sizeof(ops)];
	uint32_t flags = in_u8(in), payload, ext, body, pad, dqpn;

	if (how >= 204)
		op = atomic[how % sizeof(atomic)];
	if (how >= 208) { /* to the queue pair of UC, or of UD */
		i = how % 4 ? UC : UD;
		op = i == UD ? UNIC_OP_UD_SEND_ONLY + (flags >> 2 & 1)
			     : UNIC_OP_UC_SEND_FIRST + in_below(in, 12);
	}
	dqpn = far_qp(i)->qpn;
	payload = payload_bytes(in, op);
	ext = put_ext(in, i, op, claimed_bytes(in, op, payload));
	in_bytes(in, frame + OFF_EXT + ext, payload < 8 ? payload : 8);
	body = (ext + payload + 3) & ~3u;
	pad = flags & 16 && in_odd(in) ? 3 : body - ext - payload;
	if (flags & 64 && in_odd(in)) /* the frame ends within its headers */
		body = 4 * in_below(in, 7);
	if ((op == UNIC_OP_UD_SEND_ONLY && i != UD) ||
	    (flags & 32 && in_odd(in)))
		dqpn = 1;
	put(OFF_BTH, 1, op);
	put(OFF_BTH + 1, 1, pad << UNIC_BTH_PAD_SHIFT | (flags & 0x80));
	put(OFF_BTH + 2, 2, 0xffff);
	put(OFF_BTH + 4, 4, dqpn);
	put(OFF_BTH + 8, 4,
	    pick_psn(in, op, i) | (flags & 1 ? UNIC_BTH_ACKREQ : 0));
	put_headers(i, OFF_EXT + body + UNIC_ICRC_BYTES);
	return OFF_EXT + body + UNIC_ICRC_BYTES;
}

static uint32_t make_arp(struct input *in)
{
	memset(frame, 0, 60);
	memset(frame, 0xff, 6);
	memcpy(frame + 6, world.peer_mac, 6);
	put(12, 2, UNIC_ETHERTYPE_ARP);
	put(14, 4, 0x00010800);
	put(18, 4, 0x06040000 | (1 + in_below(in, 3)));
	memcpy(frame + 22, world.peer_mac, 6);
	put(28, 4, WORLD_PEER_IP + in_below(in, 3));
	put(38, 4, 0x0a000001);
	if (in_odd(in)) /* one wrong field */
		frame[14 + in_below(in, 28)] ^= (uint8_t)(1 + in_u8(in));
	return 60;
}

static void seal(uint32_t len)
{
	uint32_t icrc = unic_icrc(frame, len - UNIC_ICRC_BYTES);

	memcpy(frame + len - UNIC_ICRC_BYTES, &icrc, 4);
}

/* Delivers one frame, with at most one more fault. */
static void receive(struct input *in)
{
	uint32_t how = in_u8(in), flags = 0, len, at;

	memset(frame, 0xee, OFF_EXT + BODY_MAX + 32);
	len = how == 255 ? make_arp(in) : make_roce(in);
	at = in_u16(in) % len;
	if (how >= 224 && how < 248) /* a wrong header, with a right ICRC */
		frame[at % 80] ^= (uint8_t)(1u << in_below(in, 8));
	if (how != 255 && how < 252)
		seal(len);
	if (how == 253)
		len = at; /* cut short, anywhere */
	if (how == 250)	  /* one bit on the way */
		frame[at] ^= 1;
	if (how >= 200 && how < 216)
		flags = UNIC_FRAME_NO_ICRC;
	fake_deliver(&world.rig.port, frame, len, flags);
}

/* ------------------------------------------------------------------ work */

static void take_completions(void)
{
	struct unic_cqe cqe;
	uint32_t i;
	uint64_t id;

	for (i = 0; i < QPS; i++) {
		world_dirty(proc_of(i), 0, 4096); /* rig_cqe() writes cq_ci */
		while (rig_cqe(&world.rig, &world.qp[2 + i], &cqe)) {
			id = unic_from_le64(cqe.wr_id);
			must(id < WORKS && work.open[id]);
			work.open[id] = false;
			work.busy[i]--;
			work.done++;
		}
	}
}

static uint64_t new_work(uint32_t i)
{
	work.open[work.posted] = true;
	work.busy[i]++;
	return work.posted++;
}

static const struct rig_mr *region_of(uint32_t i, bool receive)
{
	if (receive)
		return &world.mr[proc_of(i) ? W_OTHER_MSG : W_MESSAGES];
	return &world.mr[proc_of(i) ? W_OTHER : W_FOUR];
}

/* Receives may complete out of order; their slots are free in order. */
static bool recv_room(uint32_t i)
{
	uint32_t tail = world.qp[2 + i].rq_tail, *head = &work.head[i];

	while (*head != tail && !work.open[work.slot[i][*head % RIG_SLOTS]])
		++*head;
	return tail - *head < RIG_SLOTS;
}

static void post_recv(struct input *in, uint32_t i, const struct rig_mr *mr)
{
	struct rig_qp *q = &world.qp[2 + i];

	if (!recv_room(i))
		return;
	work.slot[i][q->rq_tail % RIG_SLOTS] = (uint8_t)work.posted;
	rig_recv(&world.rig, q, new_work(i), mr, in_below(in, 200) * 8,
		 in_u16(in) % 2048u);
}

static void post(struct input *in)
{
	uint32_t how = in_u8(in), kind = in_below(in, 8);
	uint32_t i = how < 208 ? how % 2 : 2 + how % 2;
	struct rig_qp *q = &world.qp[2 + i];
	const struct rig_mr *mr = region_of(i, kind >= 6);
	uint64_t remote = 0x5000;
	uint32_t rkey = 0x1234;

	if (work.posted == WORKS || work.busy[i] >= RIG_SLOTS)
		return;
	world_dirty(proc_of(i), 0, 4096);
	world_dirty(
		proc_of(i),
		(uint64_t)(q->rings.mem - world.rig.port.window[proc_of(i)]),
		8192);
	if (in_u8(in) & 1) /* its pages may not be on the NIC */
		mr = &world.paged[proc_of(i)];
	if (i == UD) { /* to itself, or to an address that needs ARP */
		remote = UNIC_UD_TO(0x0a000001 + (how & 6), 1u << 31);
		rkey = q->qpn;
	}
	if (kind >= 6)
		post_recv(in, i, mr);
	else
		rig_send(&world.rig, q, (uint8_t)(1 + kind), new_work(i), mr,
			 in_u8(in), in_u16(in) % 4000u, remote, rkey);
}

static void acknowledge(const struct rig_mr *m)
{
	struct unic_cmd_notice_ack c = {
		.hdr = { .opcode = UNIC_CMD_NOTICE_ACK },
		.mr = unic_to_le32(m->mr),
		.gen = unic_to_le32(m->gen),
		.seq = unic_to_le32(world.rig.nic.mrs.mr[m->mr].seq),
	};

	world_cmd(&c);
}

/* Evicts a region, acknowledges its notice, or deregisters it. */
static void command(struct input *in)
{
	const struct rig_mr *m = &world.mr[in_below(in, 4)];
	uint32_t what = in_below(in, 4);
	struct unic_cmd_mr c = {
		.hdr = { .opcode = what ? UNIC_CMD_MR_EVICT
					: UNIC_CMD_MR_DEREG },
		.mr = unic_to_le32(m->mr),
		.gen = unic_to_le32(m->gen),
	};

	if (what == 3)
		acknowledge(m);
	else
		world_cmd(&c);
}

static void late_dma(struct input *in)
{
	if (in_odd(in))
		world_knobs.fail_dma = in_below(in, 4);
	world_dma(1 + in_below(in, 8));
}

static void step(struct input *in)
{
	uint32_t kind = in_u8(in);

	take_completions();
	if (kind < 128)
		receive(in);
	else if (kind < 140)
		world_change(in);
	else if (kind < 180)
		post(in);
	else if (kind < 210)
		world_rounds(1 + in_below(in, 8));
	else if (kind < 228)
		world_settle(1000ull * in_u16(in));
	else if (kind < 231)
		command(in);
	else if (kind < 236)
		world_change(in);
	else if (kind < 242)
		world.rig.port.late_dma = kind & 1;
	else
		late_dma(in);
}

/* ---------------------------------------------------------------- the end */

/* True if completions may be missing: the NIC has failed, or a completion queue
 * is in error (CQ_ERROR). */
static bool excused(void)
{
	const struct unic_nic *nic = &world.rig.nic;

	return nic->state == UNIC_NIC_FAILED ||
	       nic->cqs.cq[near_qp(0)->send_cq].error ||
	       nic->cqs.cq[near_qp(1)->send_cq].error ||
	       nic->cqs.cq[near_qp(UC)->send_cq].error ||
	       nic->cqs.cq[near_qp(UD)->send_cq].error;
}

/* Sets all queue pairs to the error state; each request must complete. */
static void end_queues(void)
{
	uint32_t i;

	for (i = 0; i < 4; i++)
		acknowledge(&world.mr[i]);
	world_settle(50000000);
	take_completions();

	for (i = 0; i < QPS; i++) {
		struct unic_cmd_qp_modify cmd = {
			.hdr = { .opcode = UNIC_CMD_QP_MODIFY },
			.proc = unic_to_le32(proc_of(i)),
			.qpn = unic_to_le32(far_qp(i)->qpn),
			.state = UNIC_QPS_ERR,
		};

		must(world_cmd(&cmd));
	}
	for (i = 0; i < 8; i++) {
		world_settle(10000000);
		take_completions();
	}
	must(work.done == work.posted || excused());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	const uint8_t *safe;
	uint32_t i;

	world_begin(true);
	memset(&work, 0, sizeof(work));
	for (i = 0; i < 4 * QPS; i++) { /* receives that the world posted */
		work.open[i] = true;
		work.busy[i / 4]++;
		work.slot[i / 4][i % 4] = (uint8_t)i;
	}
	work.posted = 4 * QPS;
	world_mode(in_u8(&in));
	for (i = 0; i < STEPS && in.left; i++)
		step(&in);
	world.rig.port.late_dma = false;
	world_knobs.deaf = false;
	end_queues();
	world_check();
	safe = world.mr[W_SAFE].mem;
	must(safe[0] == 0x66 && !memcmp(safe, safe + 1, 4095));
	return 0;
}
