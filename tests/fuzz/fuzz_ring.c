/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fuzz_ring.c - a hostile neighbour on the shared-memory link: it writes random
 * bytes over the header, the port table, the heads and the slots, before we
 * attach and while we send and receive.
 *
 * Checked: frames handed out lie wholly in the memory of the link, calls return
 * in bounded time (libFuzzer's clock), and nothing around it is written.
 */
#include "input.h"
#include "link_layout.h"
#include "link_ring.h"

#define PORTS	   3u
#define SLOTS	   8u
#define SLOT_BYTES 128u
#define STEPS	   96u
#define MEM_BYTES  (4096u + PORTS * PORTS * 4096u)
#define US	   1u
#define GUARD	   4096u

static struct {
	uint8_t before[GUARD] __attribute__((aligned(4096)));
	uint8_t mem[MEM_BYTES];
	uint8_t after[GUARD];
} shared;
static const uint8_t zeros[GUARD];
static struct link_ring us, them;
static const uint8_t mac[PORTS][6] = { { 0 },
				       { 2, 0, 0, 0, 0, 1 },
				       { 2, 0, 0, 0, 0, 2 } };

/* Frames we hold. */
static struct {
	uint8_t *tx[UNIC_TX_BUFS];
	uint32_t n_tx, n_rx;
} held;

static void in_memory(const uint8_t *frame, uint32_t len)
{
	must(frame >= shared.mem + UNIC_LINK_FRAME_OFF);
	must(frame <= shared.mem + MEM_BYTES - len);
	must((uintptr_t)frame % 4 == 2);
}

static void get(struct input *in)
{
	uint32_t path = in_odd(in) ? in_u32(in) : in_below(in, PORTS);
	uint8_t *f = link_ring_tx_get(&us, path);

	if (!f)
		return;
	must(held.n_tx < UNIC_TX_BUFS);
	in_memory(f, us.max_frame);
	memset(f, 0xaa, us.max_frame);
	held.tx[held.n_tx++] = f;
}

static void put(struct input *in)
{
	uint32_t i, len;

	if (!held.n_tx)
		return;
	i = in_below(in, held.n_tx);
	len = in_u16(in) % (us.max_frame + 1);
	link_ring_tx_put(&us, held.tx[i], len, in_u8(in));
	held.tx[i] = held.tx[--held.n_tx];
}

static void take(void)
{
	struct unic_rx rx;

	if (held.n_rx == UNIC_RX_BUFS || !link_ring_rx_next(&us, &rx))
		return;
	must(rx.len <= us.max_frame);
	in_memory(rx.frame, rx.len);
	held.n_rx++;
}

static void done(void)
{
	link_ring_rx_done(&us);
	held.n_rx = 0;
}

static struct unic_link_ring *ring(uint32_t from, uint32_t to)
{
	return (void *)(shared.mem + 4096 + (from * PORTS + to) * 4096);
}

/* Writes a word of a ring or a slot, mostly close to its right value. */
static void lie(struct input *in)
{
	struct unic_link_ring *r =
		ring(in_below(in, PORTS), in_below(in, PORTS));
	struct unic_link_slot *s = (void *)((uint8_t *)r + UNIC_LINK_SLOT0 +
					    in_below(in, SLOTS) * SLOT_BYTES);
	uint32_t what = in_below(in, 5), v = in_u8(in);

	if (in_odd(in))
		v = in_u32(in);
	if (what == 0)
		r->head = unic_to_le32(v);
	else if (what == 1)
		s->seq = unic_to_le32(v);
	else if (what == 2)
		s->len = unic_to_le16((uint16_t)v);
	else if (what == 3)
		s->seq = unic_to_le32(unic_from_le32(s->seq) + SLOTS);
	else
		s->flags = unic_to_le16((uint16_t)v);
}

static void scribble(struct input *in)
{
	uint32_t off = in_u16(in) % (MEM_BYTES - 64);

	if (in_below(in, 2))
		off %= 64 + PORTS * (uint32_t)sizeof(struct unic_link_port);
	in_bytes(in, shared.mem + off, 1 + in_below(in, 32));
}

/* The neighbour sends a correct frame. */
static void send_to_us(struct input *in)
{
	uint8_t *f = link_ring_tx_get(&them, US);

	if (f)
		link_ring_tx_put(&them, f, in_below(in, 111), 0);
}

static void step(struct input *in)
{
	switch (in_below(in, 16)) {
	case 0:
	case 1:
		get(in);
		break;
	case 2:
	case 3:
		put(in);
		break;
	case 4:
	case 5:
	case 6:
		take();
		break;
	case 7:
	case 8:
		done();
		break;
	case 9:
		must(!(link_ring_flush(&us) >> PORTS));
		break;
	case 10:
		link_ring_sleep(&us, in_below(in, 2));
		break;
	case 11:
		must(link_ring_path(&us, mac[in_below(in, PORTS)]) < PORTS);
		break;
	case 12:
		scribble(in);
		break;
	case 13:
		lie(in);
		break;
	default:
		send_to_us(in);
	}
}

/* Changes up to three words of the header that the switch wrote. */
static void spoil_header(struct input *in)
{
	unic_le32 *w = (void *)shared.mem;
	uint32_t n = in_below(in, 4);

	while (n--)
		w[in_below(in, 9)] = unic_to_le32(in_u32(in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct unic_link facts;
	uint32_t i, bytes = MEM_BYTES;

	memset(&shared, 0, sizeof(shared));
	memset(&held, 0, sizeof(held));
	memset(&them, 0, sizeof(them));
	must(!link_layout_format(shared.mem, MEM_BYTES, PORTS, SLOTS,
				 SLOT_BYTES,
				 UNIC_LINK_DIRECT | UNIC_LINK_NO_ICRC));
	must(!link_ring_attach(&them, shared.mem, MEM_BYTES, 2, mac[2]));
	if (in_odd(&in))
		spoil_header(&in);
	if (in_odd(&in))
		bytes = in_u16(&in) % (MEM_BYTES + 1);
	for (i = in_below(&in, 8); i; i--)
		lie(&in);
	if (link_ring_attach(&us, shared.mem, bytes, US, mac[US]))
		return 0;
	if (us.ports != PORTS || us.slot_bytes != SLOT_BYTES ||
	    us.slots != SLOTS)
		memset(&them, 0, sizeof(them)); /* its rings are not ours */
	else
		link_ring_path(&us, mac[US]);
	for (i = 0; i < STEPS && in.left; i++)
		if (them.ports || in.at[0] % 16 < 14)
			step(&in);
		else
			in_u8(&in);
	link_ring_info(&us, &facts);
	must(facts.max_frame == us.max_frame);
	link_ring_detach(&us);
	must(!memcmp(shared.before, zeros, GUARD));
	must(!memcmp(shared.after, zeros, GUARD));
	return 0;
}
