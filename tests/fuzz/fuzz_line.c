/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fuzz_line.c - a hostile party at the other end of a UART: a false driver for
 * the NIC's end (near.h), a false NIC for the driver's end (far.h). It sends
 * random messages in valid frames, in order and with the right session, so that
 * they are parsed; or bytes that are no frames.
 *
 * Checked: nothing is written outside the near box and pages, the memory of a
 * transfer that is open, the host's mailbox and windows; a transfer ends once;
 * a command is taken only where there is room.
 */
#include "far.h"
#include "input.h"
#include "near.h"

#define WINDOWS	     2u
#define WINDOW_BYTES 0x4000u
#define GUARD	     256u
#define STEPS	     64u
#define LOCAL	     1024u

static struct near near;
static struct far far;
static struct {
	uint8_t before[GUARD] __attribute__((aligned(4096)));
	uint8_t bar[UNIC_BAR_BYTES] __attribute__((aligned(4096)));
	uint8_t slot[WINDOWS][WINDOW_BYTES];
	uint8_t after[GUARD];
} host;
static struct {
	uint8_t before[GUARD];
	uint8_t bytes[UNIC_DMA_JOBS][LOCAL];
	uint8_t after[GUARD];
} local;
static const uint8_t zeros[GUARD];
static void *windows[WINDOWS] = { host.slot[0], host.slot[1] };
static uint64_t now_ns;
static uint32_t open_jobs; /* bit per tag */

static unic_le32 *box_word(uint32_t off)
{
	return (unic_le32 *)(void *)(near.box + off);
}

static uint32_t cmd_head(void)
{
	return unic_from_le32(*box_word(
		UNIC_BOX_NIC + offsetof(struct unic_nic_idx, cmd_head)));
}

static uint32_t cmd_tail(void)
{
	return unic_from_le32(*box_word(
		UNIC_BOX_DRIVER + offsetof(struct unic_driver_page, cmd_tail)));
}

/* A hostile party with nonce @nonce, which writes to stream @to. */
struct liar {
	uint32_t nonce;
	const struct stream *to;
};

static uint32_t framed(struct liar *l, uint8_t type, const uint8_t *body,
		       uint32_t len, uint8_t *line)
{
	static uint8_t frame[FRAME_ALL + 4];
	uint32_t mixed = l->nonce ^ l->to->nonce;
	struct unic_serial_hdr hdr = {
		.type = type,
		.seq = type < UNIC_SERIAL_FIRST ? 0 : l->to->expect,
		.ack = l->to->sent,
		.session = unic_to_le16((uint16_t)(mixed ^ mixed >> 16)),
	};

	memcpy(frame, &hdr, sizeof(hdr));
	memcpy(frame + sizeof(hdr), body, len);
	return frame_encode(frame, sizeof(hdr) + len, line);
}

static uint32_t greeting(struct liar *l, struct input *in, uint8_t *line)
{
	struct unic_serial_syn syn = {
		.w.a = unic_to_le32(l->nonce),
		.w.b = unic_to_le32(l->to->nonce),
		.magic = unic_to_le16(UNIC_SERIAL_MAGIC),
		.version = unic_to_le16(UNIC_SERIAL_VERSION),
		.windows = unic_to_le32(WINDOWS),
		.window_bytes = unic_to_le32(WINDOW_BYTES),
		.cmds = unic_to_le16(4),
		.list_bytes = unic_to_le16(512),
		.pages = unic_to_le16(2),
		.rows = unic_to_le16(16),
		.fifo = unic_to_le16(16),
	};

	if (in_odd(in)) { /* sizes that no NIC has */
		syn.cmds = unic_to_le16((uint16_t)in_u32(in));
		syn.list_bytes = unic_to_le16((uint16_t)in_u32(in));
		syn.pages = unic_to_le16((uint16_t)in_u32(in));
		syn.rows = unic_to_le16((uint16_t)in_u32(in));
		syn.fifo = unic_to_le16((uint16_t)in_u32(in));
	}
	return framed(l, UNIC_SERIAL_SYN, (const uint8_t *)&syn, sizeof(syn),
		      line);
}

static uint32_t message(struct liar *l, struct input *in, uint8_t *line)
{
	static uint8_t body[UNIC_SERIAL_BODY];
	struct unic_serial_words w;
	uint32_t len = in_u16(in) % (UNIC_SERIAL_DATA + 1u), i;

	w.a = unic_to_le32(in_odd(in) ? in_u32(in) : in_u16(in) % 1024u);
	w.b = unic_to_le32(in_odd(in) ? in_u32(in) : in_below(in, 8));
	memcpy(body, &w, sizeof(w));
	for (i = 0; i < len; i++)
		body[sizeof(w) + i] = i < 32 ? in_u8(in) : 0;
	return framed(l, (uint8_t)(UNIC_SERIAL_FIRST + in_below(in, 24)), body,
		      sizeof(w) + len, line);
}

/* A command with the number that the NIC's end expects. */
static uint32_t command(struct liar *l, struct input *in, uint8_t *line)
{
	struct {
		struct unic_serial_words w;
		uint8_t bytes[64];
	} body = { .w.b = unic_to_le32(cmd_tail()) };

	body.bytes[0] = in_u8(in);
	return framed(l, UNIC_SERIAL_CMD, (const uint8_t *)&body, sizeof(body),
		      line);
}

static uint32_t junk(struct input *in, uint8_t *line)
{
	uint32_t n = in_below(in, 64), i;

	for (i = 0; i < n; i++)
		line[i] = in_u8(in);
	return n;
}

static uint32_t lie(struct liar *l, struct input *in, uint8_t *line)
{
	switch (in_below(in, 8)) {
	case 0:
		return greeting(l, in, line);
	case 1:
		return junk(in, line);
	case 2:
		return command(l, in, line);
	default:
		return message(l, in, line);
	}
}

/* Acknowledges a reset, some rounds later and once no transfer is open, and
 * sets the core's indices to 0. True: no reset is pending. A driver may
 * withdraw its request: its command indices then begin at 0, the core's do
 * not. */
static bool core_reset(struct input *in)
{
	unic_le32 req = *box_word(UNIC_BOX_DRIVER +
				  offsetof(struct unic_driver_page, reset_req));
	unic_le32 *ack =
		box_word(UNIC_BOX_INFO + offsetof(struct unic_info, reset_ack));

	if (unic_from_le32(req) == unic_from_le32(*ack))
		return true;
	if (open_jobs || !in_odd(in))
		return false;
	memset(near.box + UNIC_BOX_NIC, 0, sizeof(struct unic_nic_idx));
	*ack = req;
	return true;
}

/* Completes a command, if the input says so. The core takes none from a ring
 * with an impossible tail. */
static void core_command(struct input *in)
{
	uint32_t cmds = cmd_tail() - cmd_head();
	unic_le32 head = unic_to_le32(cmd_head() + 1);

	if (!cmds || cmds > UNIC_BOX_CMDS || !in_odd(in))
		return;
	*box_word(UNIC_BOX_NIC + offsetof(struct unic_nic_idx, cmd_head)) =
		head;
	*box_word(UNIC_BOX_NIC + offsetof(struct unic_nic_idx, cpl_tail)) =
		head;
}

/* The core starts a transfer, maps doorbell pages, and takes the transfers that
 * have ended. While a reset is due it takes no command. */
static void core(struct input *in)
{
	uint32_t tag = in_below(in, UNIC_DMA_JOBS);
	int status;

	if (!(open_jobs & 1u << tag) &&
	    near_dma(&near, in_odd(in), UNIC_BUS(in_below(in, 3), in_u16(in)),
		     local.bytes[tag], 1 + in_u16(in) % LOCAL,
		     tag) == UNIC_PORT_PENDING)
		open_jobs |= 1u << tag;
	(void)near_doorbells(&near, UNIC_BUS(in_below(in, 3), 0x1000));
	while (near_dma_poll(&near, &tag, &status)) {
		must(tag < UNIC_DMA_JOBS && open_jobs & 1u << tag);
		open_jobs &= ~(1u << tag);
	}
	if (core_reset(in))
		core_command(in);
}

/* Gives the near end bytes with at most one message; it takes a command only if
 * its ring has room. */
static void to_nic_end(const uint8_t *line, uint32_t n)
{
	uint32_t tail = cmd_tail();

	near_input(&near, line, n, now_ns);
	if (cmd_tail() == tail)
		return;
	if (cmd_tail() == tail + 1)
		must(tail - cmd_head() < UNIC_BOX_CMDS);
	else
		must(!cmd_tail() && near.resetting);
}

/* The driver or a process writes a random value to its page. */
static void driver(struct input *in)
{
	struct unic_driver_page *page =
		(void *)(host.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_db_page *db = (void *)(host.slot[0] + 0x1000);

	switch (in_below(in, 4)) {
	case 0:
		page->cmd_tail = unic_to_le32(in_u32(in));
		break;
	case 1:
		page->reset_req = unic_to_le32(in_below(in, 4));
		break;
	case 2:
		db->fifo_seq = unic_to_le32(in_u32(in));
		break;
	default:
		db->tail[in_below(in, UNIC_DB_OBJECTS)].sq =
			unic_to_le32(in_u32(in));
		break;
	}
}

static void begin(void)
{
	const struct far_config config = { .bar = host.bar,
					   .window = windows,
					   .windows = WINDOWS,
					   .window_bytes = WINDOW_BYTES,
					   .nonce = 0x1111,
					   .baud = 921600 };

	memset(&host, 0, sizeof(host));
	memset(&local, 0, sizeof(local));
	now_ns = 1000000000;
	open_jobs = 0;
	near_init(&near, 0x2222, 921600);
	far_init(&far, &config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct liar to_nic, to_host;
	uint8_t line[FRAME_LINE + 64];
	uint32_t step, n;

	begin();
	to_nic = (struct liar){ .nonce = 0x3333, .to = &near.stream };
	to_host = (struct liar){ .nonce = 0x4444, .to = &far.stream };
	for (step = 0; step < STEPS && in.left; step++) {
		now_ns += 1000000;
		n = lie(&to_nic, &in, line);
		to_nic_end(line, n);
		core(&in);
		(void)near_output(&near, now_ns, line, sizeof(line));
		n = lie(&to_host, &in, line);
		far_input(&far, line, n, now_ns);
		driver(&in);
		(void)far_output(&far, now_ns, line, sizeof(line));
	}
	must(!memcmp(host.before, zeros, GUARD));
	must(!memcmp(host.after, zeros, GUARD));
	must(!memcmp(local.before, zeros, GUARD));
	must(!memcmp(local.after, zeros, GUARD));
	return 0;
}
