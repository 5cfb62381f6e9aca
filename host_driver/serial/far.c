/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* far.c - see far.h. */
#include "far.h"

#include <string.h>

#include "unic_port.h"

#define LIST_STEP 64u /* bytes of a list page that are compared at a time */

/* The rings that the NIC writes, by enum unic_serial_ring. */
static const struct {
	uint32_t records, bytes, places;
	/* offsets: in the NIC's page, in the driver's page */
	uint32_t tail, head;
} rings[UNIC_SERIAL_RINGS] = {
	[UNIC_SERIAL_CPL] = { UNIC_BAR_CPL_OFF, 64, UNIC_CPL_ENTRIES,
			      offsetof(struct unic_nic_idx, cpl_tail),
			      offsetof(struct unic_driver_page, cpl_head) },
	[UNIC_SERIAL_EVT] = { UNIC_BAR_EVT_OFF, 64, UNIC_EVT_ENTRIES,
			      offsetof(struct unic_nic_idx, evt_tail),
			      offsetof(struct unic_driver_page, evt_head) },
	[UNIC_SERIAL_MAD] = { UNIC_BAR_MAD_RX_OFF, sizeof(struct unic_mad_rx),
			      UNIC_MAD_RX_ENTRIES,
			      offsetof(struct unic_nic_idx, mad_tail),
			      offsetof(struct unic_driver_page, mad_head) },
	[UNIC_SERIAL_DROP] = { UNIC_BAR_DROP_OFF, sizeof(struct unic_drop),
			       UNIC_DROP_ENTRIES,
			       offsetof(struct unic_nic_idx, drop_tail),
			       offsetof(struct unic_driver_page, drop_head) },
};

static uint8_t *far_bar(const struct far *f)
{
	return f->config.bar;
}

static uint32_t bar_load(const struct far *f, uint32_t off)
{
	return unic_from_le32(
		UNIC_READ_ONCE(*(const unic_le32 *)(void *)(far_bar(f) + off)));
}

static void bar_store(struct far *f, uint32_t off, uint32_t v)
{
	UNIC_WRITE_ONCE(*(unic_le32 *)(void *)(far_bar(f) + off),
			unic_to_le32(v));
}

static uint32_t load_driver_word(const struct far *f, uint32_t off)
{
	return bar_load(f, UNIC_BAR_DRIVER_OFF + off);
}

/* The memory of bus range [@bus, @bus + @len), or NULL if it is not inside one
 * window. */
static uint8_t *memory_at(const struct far *f, uint64_t bus, uint32_t len)
{
	uint64_t off = UNIC_BUS_OFFSET(bus);
	uint32_t w = UNIC_BUS_WINDOW(bus);

	if (w >= f->config.windows || off + len > f->config.window_bytes)
		return NULL;
	return (uint8_t *)f->config.window[w] + off;
}

/* Clears what is kept of the NIC's rings. The driver always rings after a write. */
static void clear_rings(struct far *f)
{
	uint32_t i;

	for (i = 0; i < UNIC_SERIAL_RINGS; i++) {
		f->got[i] = 0;
		f->part[i] = 0;
		bar_store(f, UNIC_BAR_NIC_OFF + rings[i].tail, 0);
	}
	f->cmd_sent = 0;
	bar_store(f, UNIC_BAR_NIC_OFF + offsetof(struct unic_nic_idx, asleep),
		  1);
}

static void mark_nic_gone(struct far *f)
{
	f->left = f->left || f->here;
	f->here = false;
	bar_store(f, UNIC_BAR_INFO_OFF, 0);
}

void far_init(struct far *f, const struct far_config *config)
{
	const struct unic_serial_syn ours = {
		.windows = unic_to_le32(config->windows),
		.window_bytes = unic_to_le32(config->window_bytes),
	};

	memset(f, 0, sizeof(*f));
	f->config = *config;
	stream_init(&f->stream, config->nonce, config->baud, &ours);
	bar_store(f, UNIC_BAR_INFO_OFF, 0);
	clear_rings(f);
}

void far_silent(struct far *f)
{
	mark_nic_gone(f);
}

/* ----------------------------------------------------------- from the NIC */

/* Forgets the rings and pages of a NIC that has restarted, or that another NIC
 * has replaced. */
static void nic_restarted(struct far *f)
{
	const struct unic_serial_syn *syn = &f->stream.theirs;

	f->stream.restarted = false;
	mark_nic_gone(f);
	f->cmds = unic_from_le16(syn->cmds);
	f->list_bytes = unic_from_le16(syn->list_bytes);
	f->pages = unic_from_le16(syn->pages);
	f->rows = unic_from_le16(syn->rows);
	f->fifo = unic_from_le16(syn->fifo);
	if (f->cmds > FAR_CMDS || f->list_bytes > UNIC_LIST_BYTES ||
	    f->pages > FAR_WINDOWS || f->rows > UNIC_DB_OBJECTS ||
	    f->fifo > UNIC_SERIAL_DATA / 4)
		f->cmds = f->list_bytes = f->pages = f->rows = f->fifo = 0;
	f->read_head = f->read_tail;
	f->asked = false;
	memset(f->page, 0, sizeof(f->page));
	memset(f->near_list, 0, sizeof(f->near_list));
	clear_rings(f);
}

/* Stores the magic last: a reader that sees the magic sees the rest of the info
 * page, and READY. */
static bool take_info(struct far *f, const struct stream_msg *m)
{
	const uint32_t ack_at = offsetof(struct unic_info, reset_ack);
	struct unic_info now;

	if (m->a || m->len != sizeof(now))
		return false;
	memcpy(&now, m->bytes, sizeof(now));
	if (!f->here || unic_from_le32(now.reset_ack) != f->reset_ack) {
		f->reset_ack = unic_from_le32(now.reset_ack);
		clear_rings(f);
		if (f->asked && f->reset_ack == f->reset_sent)
			f->asked = false;
	}
	memcpy(far_bar(f) + UNIC_BAR_INFO_OFF + 4, m->bytes + 4, ack_at - 4);
	memcpy(far_bar(f) + UNIC_BAR_INFO_OFF + ack_at + 4,
	       m->bytes + ack_at + 4, sizeof(now) - ack_at - 4);
	unic_wmb();
	bar_store(f, UNIC_BAR_INFO_OFF + ack_at, unic_from_le32(now.reset_ack));
	unic_wmb();
	bar_store(f, UNIC_BAR_INFO_OFF, unic_from_le32(now.magic));
	if (!f->here && unic_from_le32(now.magic) == UNIC_MAGIC)
		f->here = f->joined = true;
	return true;
}

/* Returns 1: the record is stored; 0: the message is invalid; -1: the ring is
 * full. */
static int take_ring(struct far *f, const struct stream_msg *m)
{
	uint32_t r = m->a & 0xffff, off = m->a >> 16;
	uint32_t n = r < UNIC_SERIAL_RINGS ? f->got[r] : 0;

	/* a reset is requested and the driver has zeroed its heads: the record is
	 * from before it */
	if (load_driver_word(f, offsetof(struct unic_driver_page, reset_req)) !=
	    f->reset_ack)
		return 1;
	if (r >= UNIC_SERIAL_RINGS || m->b != n || off != f->part[r] ||
	    !m->len || m->len > rings[r].bytes - off)
		return 0;
	if (n - load_driver_word(f, rings[r].head) >= rings[r].places)
		return -1;
	memcpy(far_bar(f) + rings[r].records +
		       n % rings[r].places * rings[r].bytes + off,
	       m->bytes, m->len);
	f->part[r] = (uint16_t)(off + m->len);
	if (f->part[r] < rings[r].bytes)
		return 1;
	f->part[r] = 0;
	f->got[r]++;
	unic_wmb();
	bar_store(f, UNIC_BAR_NIC_OFF + rings[r].tail, f->got[r]);
	return 1;
}

static bool take_nic_list(struct far *f, const struct stream_msg *m)
{
	uint32_t off =
		UNIC_BAR_LIST_OFF + m->b % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;

	if (!f->cmds || m->a > f->list_bytes || m->len > f->list_bytes - m->a)
		return false;
	memcpy(far_bar(f) + off + m->a, m->bytes, m->len);
	memcpy(f->near_list[m->b % f->cmds] + m->a, m->bytes, m->len);
	return true;
}

/* Stores bytes of an area that only people read: counters, usage. */
static bool take_bytes(struct far *f, const struct stream_msg *m, uint32_t off,
		       uint64_t at, uint32_t room)
{
	if (at > room || m->len > room - at)
		return false;
	memcpy(far_bar(f) + off + at, m->bytes, m->len);
	return true;
}

static uint32_t trace_seq_at(uint32_t n)
{
	return UNIC_BAR_TRACE_OFF +
	       n % UNIC_TRACE_ENTRIES *
		       (uint32_t)sizeof(struct unic_trace_rec) +
	       (uint32_t)offsetof(struct unic_trace_rec, seq);
}

/* Stores event m->b. A NIC sends its events in order: if the ring has the event behind this
 * one, then all that it has are of the NIC that was here before, and are cleared. */
static bool take_trace(struct far *f, const struct stream_msg *m)
{
	unic_le32 seq;
	uint32_t i;

	if (m->len != sizeof(struct unic_trace_rec))
		return false;
	memcpy(&seq, far_bar(f) + trace_seq_at(m->b + 1), sizeof(seq));
	if (unic_from_le32(seq) > m->b + 1)
		for (i = 0; i < UNIC_TRACE_ENTRIES; i++)
			bar_store(f, trace_seq_at(i), 0);
	memcpy(far_bar(f) + trace_seq_at(m->b) -
		       offsetof(struct unic_trace_rec, seq),
	       m->bytes, m->len);
	return true;
}

static bool take_crash(struct far *f, const struct stream_msg *m)
{
	if (m->len != sizeof(struct unic_crash))
		return false;
	memcpy(far_bar(f) + UNIC_BAR_CRASH_OFF, m->bytes, m->len);
	f->crashed = true;
	return true;
}

/* Stores a DMA write, its last word after the rest, as each port does. */
static bool take_write(struct far *f, const struct stream_msg *m)
{
	uint64_t bus = (uint64_t)m->b << 32 | m->a;
	uint8_t *to = memory_at(f, bus, m->len);
	uint32_t body = m->len, word;

	if (!to || !m->len)
		return false;
	unic_wmb();
	if (((uintptr_t)to | body) & 3) {
		memcpy(to, m->bytes, body);
		return true;
	}
	body -= sizeof(word);
	memcpy(to, m->bytes, body);
	memcpy(&word, m->bytes + body, sizeof(word));
	unic_wmb();
	UNIC_WRITE_ONCE(*(uint32_t *)(void *)(to + body), word);
	return true;
}

static int take_read(struct far *f, const struct stream_msg *m)
{
	uint64_t bus = (uint64_t)m->b << 32 | m->a;
	struct unic_serial_read req;
	uint32_t len;

	if (m->len != sizeof(req))
		return 0;
	if (f->read_tail - f->read_head == FAR_READS)
		return -1;
	memcpy(&req, m->bytes, sizeof(req));
	len = unic_from_le16(req.len);
	if (!memory_at(f, bus, len) || !len)
		return 0; /* invalid: a NIC only reads inside the windows */
	f->read[f->read_tail++ % FAR_READS] =
		(struct far_read){ .from = memory_at(f, bus, len),
				   .len = len,
				   .tag = unic_from_le16(req.tag) };
	return 1;
}

static bool take_watch(struct far *f, const struct stream_msg *m)
{
	uint64_t bus = (uint64_t)m->b << 32 | m->a;
	uint8_t *at = memory_at(f, bus, 2 * 4096);
	unic_le32 number;
	struct far_page *p;

	memcpy(&number, m->bytes, sizeof(number));
	if (m->len != sizeof(number) || !at || bus & 4095 ||
	    unic_from_le32(number) >= f->pages)
		return false;
	p = &f->page[unic_from_le32(number)];
	memset(p, 0, sizeof(*p));
	p->at = at;
	p->whole = true;
	/* a process must always ring: this end reads the doorbell, not the NIC */
	UNIC_WRITE_ONCE(((struct unic_nic_page *)(void *)(at + 4096))->asleep,
			unic_to_le32(1));
	return true;
}

static bool take_word(struct far *f, const struct stream_msg *m)
{
	uint32_t page = m->a >> 16, word = m->a & 0xffff;

	if (page >= f->pages || !f->page[page].at || !word ||
	    word >= offsetof(struct unic_nic_page, rsvd2) / 4)
		return false;
	unic_wmb();
	UNIC_WRITE_ONCE(((unic_le32 *)(void *)(f->page[page].at + 4096))[word],
			unic_to_le32(m->b));
	return true;
}

static int take_from_nic(struct far *f, const struct stream_msg *m)
{
	switch (m->type) {
	case UNIC_SERIAL_INFO:
		return take_info(f, m);
	case UNIC_SERIAL_RING:
		return take_ring(f, m);
	case UNIC_SERIAL_LIST:
		return take_nic_list(f, m);
	case UNIC_SERIAL_STATS:
		return take_bytes(f, m, UNIC_BAR_STATS_OFF, m->a,
				  sizeof(struct unic_stats_page));
	case UNIC_SERIAL_TRACE:
		return take_trace(f, m);
	case UNIC_SERIAL_USE:
		return take_bytes(f, m, UNIC_BAR_USE_OFF,
				  (uint64_t)m->a * sizeof(struct unic_use_row),
				  UNIC_USE_ROWS * sizeof(struct unic_use_row));
	case UNIC_SERIAL_CRASH:
		return take_crash(f, m);
	case UNIC_SERIAL_WRITE:
		return take_write(f, m);
	case UNIC_SERIAL_READ:
		return take_read(f, m);
	case UNIC_SERIAL_WATCH:
		return take_watch(f, m);
	case UNIC_SERIAL_WORD:
		return take_word(f, m);
	case UNIC_SERIAL_BELL:
		f->rung |= 1u << (m->a & 31);
		return 1;
	default:
		return 0;
	}
}

void far_input(struct far *f, const uint8_t *bytes, uint32_t len,
	       uint64_t now_ns)
{
	struct stream_msg msg;
	int r;

	while (stream_input(&f->stream, &bytes, &len, now_ns, &msg)) {
		if (f->stream.restarted)
			nic_restarted(f);
		r = take_from_nic(f, &msg);
		if (r < 0)
			stream_refuse(&f->stream);
		f->wrong += !r;
	}
	if (f->stream.restarted)
		nic_restarted(f);
}

/* -------------------------------------------------------------- to the NIC */

/* The buffer of the next message, at most UNIC_SERIAL_DATA bytes, kept until it
 * is acknowledged. */
static uint8_t *message_buffer(struct far *f)
{
	return f->own[f->stream.next % UNIC_SERIAL_WINDOW];
}

static void put_to_nic(struct far *f, uint8_t type, uint32_t a, uint32_t b,
		       const void *from, uint32_t len)
{
	const struct stream_item item = {
		.from = from, .a = a, .b = b, .len = (uint16_t)len, .type = type
	};

	stream_put(&f->stream, &item);
}

static void send_reset(struct far *f)
{
	uint32_t req = load_driver_word(f, offsetof(struct unic_driver_page,
						    reset_req));

	if (!f->here || req == f->reset_ack ||
	    (f->asked && req == f->reset_sent) || !stream_room(&f->stream))
		return;
	f->reset_sent = req;
	f->asked = true;
	put_to_nic(f, UNIC_SERIAL_RESET, 0, req, NULL, 0);
}

/* Sends the next bytes of the list page of command @n that differ from the NIC's
 * copy. True: the copies are equal. */
static bool send_cmd_list(struct far *f, uint32_t n)
{
	const uint8_t *list = far_bar(f) + UNIC_BAR_LIST_OFF +
			      n % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	uint8_t *near = f->near_list[n % f->cmds];
	uint32_t at = 0, len;

	while (at + LIST_STEP <= f->list_bytes) {
		for (len = 0;
		     at + len + LIST_STEP <= f->list_bytes &&
		     len < UNIC_SERIAL_DATA &&
		     memcmp(list + at + len, near + at + len, LIST_STEP);
		     len += LIST_STEP)
			;
		if (!len) {
			at += LIST_STEP;
			continue;
		}
		if (!stream_room(&f->stream))
			return false;
		memcpy(near + at, list + at, len);
		memcpy(message_buffer(f), near + at, len);
		put_to_nic(f, UNIC_SERIAL_CMD_LIST, at, n, message_buffer(f),
			   len);
		at += len;
	}
	return true;
}

static void send_commands(struct far *f)
{
	uint32_t tail = load_driver_word(f, offsetof(struct unic_driver_page,
						     cmd_tail));

	if (!f->here || f->asked || !f->cmds ||
	    tail - f->cmd_sent > UNIC_CMD_ENTRIES)
		return;
	unic_rmb();
	while (f->cmd_sent != tail && stream_room(&f->stream) &&
	       f->cmd_sent - f->got[UNIC_SERIAL_CPL] < f->cmds &&
	       send_cmd_list(f, f->cmd_sent) && stream_room(&f->stream)) {
		memcpy(message_buffer(f),
		       far_bar(f) + UNIC_BAR_CMD_OFF +
			       f->cmd_sent % UNIC_CMD_ENTRIES * 64,
		       64);
		put_to_nic(f, UNIC_SERIAL_CMD, 0, f->cmd_sent,
			   message_buffer(f), 64);
		f->cmd_sent++;
	}
}

/* Copies to @to the rows that differ from the NIC's, as many as fit, and returns
 * their number; *@all: there are no more. */
static uint32_t changed_rows(struct far *f, struct far_page *p, uint8_t *to,
			     bool *all)
{
	const struct unic_db_page *db = (const void *)p->at;
	const uint32_t most = UNIC_SERIAL_DATA / sizeof(struct unic_serial_row);
	uint32_t n = 0, i;

	*all = true;
	for (i = 0; i < f->rows; i++) {
		struct unic_db_tail t = {
			.sq = UNIC_READ_ONCE(db->tail[i].sq),
			.rq = UNIC_READ_ONCE(db->tail[i].rq),
			.cq_ci = UNIC_READ_ONCE(db->tail[i].cq_ci),
			.arm = UNIC_READ_ONCE(db->tail[i].arm),
		};
		struct unic_serial_row row = { unic_to_le32(i), t.sq, t.rq,
					       t.cq_ci, t.arm };

		if (!memcmp(&t, &p->tail[i], sizeof(t)))
			continue;
		if (n == most) {
			*all = false;
			return n;
		}
		p->tail[i] = t;
		memcpy(to + n++ * sizeof(row), &row, sizeof(row));
	}
	return n;
}

/* A process that laps this reader has written more words by the next turn than the
 * near FIFO takes: an overrun, after which the NIC scans all rows (INV-1). So no
 * word has to be read twice. */
_Static_assert(UNIC_DB_FIFO >= 2u * UNIC_SERIAL_DATA / 4u, "a lap is an "
							   "overrun of the "
							   "near FIFO");

/* Copies the words of the FIFO from p->seq to @seq and returns their number; 0:
 * they overrun the NIC's FIFO, after which the NIC scans all rows, or @room is
 * too small. */
static uint32_t new_words(struct far *f, struct far_page *p, uint32_t seq,
			  uint8_t *to, uint32_t room)
{
	const struct unic_db_page *db = (const void *)p->at;
	uint32_t n = seq - p->seq, i;
	unic_le32 word;

	if (n >= f->fifo || n * 4 > room)
		return 0;
	for (i = 0; i < n; i++) {
		word = UNIC_READ_ONCE(db->fifo[(p->seq + i) % UNIC_DB_FIFO]);
		memcpy(to + 4 * i, &word, sizeof(word));
	}
	return n;
}

/* The FIFO index to send: @seq with its words, or without them for an overrun;
 * else the index stays, and the words go with a later message. */
static uint32_t seq_for(const struct far *f, const struct far_page *p,
			uint32_t seq, uint32_t words)
{
	return words || seq - p->seq >= f->fifo ? seq : p->seq;
}

static void send_page(struct far *f, uint32_t i)
{
	struct far_page *p = &f->page[i];
	const struct unic_db_page *db = (const void *)p->at;
	uint32_t seq = unic_from_le32(UNIC_READ_ONCE(db->fifo_seq));
	uint32_t rows, words = 0, used;
	uint8_t *to = message_buffer(f);
	bool all;

	unic_rmb();
	rows = changed_rows(f, p, to, &all);
	used = rows * (uint32_t)sizeof(struct unic_serial_row);
	if (all && seq != p->seq)
		words = new_words(f, p, seq, to + used,
				  UNIC_SERIAL_DATA - used);
	seq = all ? seq_for(f, p, seq, words) : p->seq;
	if (!rows && seq == p->seq && !p->whole)
		return;
	p->seq = seq;
	p->whole = false;
	put_to_nic(f, UNIC_SERIAL_DOORBELL, i | rows << 8 | words << 16, seq,
		   to, used + words * 4);
}

static void send_doorbell_pages(struct far *f)
{
	uint32_t i;

	for (i = 0; i < f->pages && stream_room(&f->stream); i++)
		if (f->page[i].at)
			send_page(f, i);
}

static void send_answers(struct far *f)
{
	while (f->read_head != f->read_tail && stream_room(&f->stream)) {
		struct far_read *r = &f->read[f->read_head % FAR_READS];
		uint32_t len = r->len - r->done;

		if (len > UNIC_SERIAL_DATA)
			len = UNIC_SERIAL_DATA;
		put_to_nic(f, UNIC_SERIAL_ANSWER, r->tag | r->done << 16, 0,
			   r->from + r->done, len);
		r->done += len;
		f->read_head += r->done == r->len;
	}
}

uint32_t far_output(struct far *f, uint64_t now_ns, uint8_t *bytes,
		    uint32_t max)
{
	struct stream_item item;

	while (stream_done(&f->stream, &item))
		;
	if (f->stream.up) {
		send_reset(f);
		send_commands(f);
		send_doorbell_pages(f);
		send_answers(f);
	}
	return stream_output(&f->stream, now_ns, bytes, max);
}
