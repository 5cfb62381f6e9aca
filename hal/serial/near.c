/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* near.c - see near.h. */
#include "near.h"

#include <string.h>

#define STATS_CHUNKS 4u /* of UNIC_SERIAL_DATA bytes, then the uses */

#define FITS(what, next, bytes)                             \
	_Static_assert(UNIC_BOX_##what + (bytes) <= (next), \
		       "board.h: " #what " in the box")
FITS(INFO, UNIC_BOX_NIC, sizeof(struct unic_info));
FITS(NIC, UNIC_BOX_DRIVER, sizeof(struct unic_nic_idx));
FITS(DRIVER, UNIC_BOX_CMD, sizeof(struct unic_driver_page));
FITS(CMD, UNIC_BOX_CPL, UNIC_BOX_CMDS * 64);
FITS(CPL, UNIC_BOX_EVT, UNIC_BOX_CPLS * 64);
FITS(EVT, UNIC_BOX_MAD, UNIC_BOX_EVTS * 64);
FITS(MAD, UNIC_BOX_LIST, UNIC_BOX_MADS * sizeof(struct unic_mad_rx));
FITS(LIST, UNIC_BOX_DROP, UNIC_BOX_CMDS *UNIC_BOX_LIST_BYTES);
FITS(DROP, UNIC_BOX_TRACE, UNIC_BOX_DROPS * sizeof(struct unic_drop));
FITS(TRACE, UNIC_BOX_USE, UNIC_BOX_TRACES * sizeof(struct unic_trace_rec));
FITS(USE, UNIC_BOX_STATS, UNIC_MRS * sizeof(struct unic_use_row));
FITS(STATS, UNIC_BOX_BYTES, 16 + UNIC_C_COUNT * 8);
_Static_assert(UNIC_BOX_BYTES - UNIC_BOX_STATS <=
			       STATS_CHUNKS * UNIC_SERIAL_DATA &&
		       UNIC_BOX_STATS - UNIC_BOX_USE <=
			       (NEAR_CHUNKS - STATS_CHUNKS) * UNIC_SERIAL_DATA,
	       "a chunk for each piece");
_Static_assert(UNIC_BOX_DROPS >= UNIC_TLB_ENTRIES, "INV-17");

/* The rings that the core writes, by enum unic_serial_ring. */
static const struct {
	uint16_t records, bytes, places;
	uint16_t tail, head; /* words: of the NIC's page, of the driver's */
} rings[UNIC_SERIAL_RINGS] = {
	[UNIC_SERIAL_CPL] = { UNIC_BOX_CPL, 64, UNIC_BOX_CPLS,
			      offsetof(struct unic_nic_idx, cpl_tail),
			      offsetof(struct unic_driver_page, cpl_head) },
	[UNIC_SERIAL_EVT] = { UNIC_BOX_EVT, 64, UNIC_BOX_EVTS,
			      offsetof(struct unic_nic_idx, evt_tail),
			      offsetof(struct unic_driver_page, evt_head) },
	[UNIC_SERIAL_MAD] = { UNIC_BOX_MAD, sizeof(struct unic_mad_rx),
			      UNIC_BOX_MADS,
			      offsetof(struct unic_nic_idx, mad_tail),
			      offsetof(struct unic_driver_page, mad_head) },
	[UNIC_SERIAL_DROP] = { UNIC_BOX_DROP, sizeof(struct unic_drop),
			       UNIC_BOX_DROPS,
			       offsetof(struct unic_nic_idx, drop_tail),
			       offsetof(struct unic_driver_page, drop_head) },
};

static unic_le32 *word_at(struct near *n, uint32_t off)
{
	return (unic_le32 *)(void *)(n->box + off);
}

static uint32_t nic_word(struct near *n, uint32_t off)
{
	return unic_from_le32(*word_at(n, UNIC_BOX_NIC + off));
}

static void set_driver_word(struct near *n, uint32_t off, uint32_t v)
{
	*word_at(n, UNIC_BOX_DRIVER + off) = unic_to_le32(v);
}

static uint32_t driver_word(struct near *n, uint32_t off)
{
	return unic_from_le32(*word_at(n, UNIC_BOX_DRIVER + off));
}

static const struct unic_info *nic_info(struct near *n)
{
	return (const struct unic_info *)(void *)(n->box + UNIC_BOX_INFO);
}

static bool put_to_host(struct near *n, uint8_t type, uint32_t a, uint32_t b,
			const void *from, uint32_t len, uint32_t who)
{
	const struct stream_item item = { .from = from,
					  .a = a,
					  .b = b,
					  .len = (uint16_t)len,
					  .who = (uint16_t)who,
					  .type = type };

	if (!stream_room(&n->stream))
		return false;
	stream_put(&n->stream, &item);
	return true;
}

void near_init(struct near *n, uint32_t nonce, uint32_t baud)
{
	const struct unic_serial_syn ours = {
		.cmds = unic_to_le16(UNIC_BOX_CMDS),
		.list_bytes = unic_to_le16(UNIC_BOX_LIST_BYTES),
		.pages = unic_to_le16(UNIC_PROCS),
		.rows = unic_to_le16(UNIC_BOX_DB_ROWS),
		.fifo = unic_to_le16(UNIC_BOX_DB_FIFO),
	};

	memset(n, 0, sizeof(*n));
	stream_init(&n->stream, nonce, baud, &ours);
}

/* ------------------------------------------------------------ for the core */

static bool is_on_bus(const struct near *n, uint64_t bus, uint32_t len)
{
	const struct unic_serial_syn *syn = &n->stream.theirs;
	uint64_t off = UNIC_BUS_OFFSET(bus);

	return UNIC_BUS_WINDOW(bus) < unic_from_le32(syn->windows) &&
	       off + len <= unic_from_le32(syn->window_bytes);
}

/* A window has one pair of pages: it is a process's. */
void *near_doorbells(struct near *n, uint64_t bus)
{
	uint32_t i, at = UNIC_PROCS;

	if (bus & 4095 || !is_on_bus(n, bus, 2 * 4096))
		return NULL;
	for (i = UNIC_PROCS; i--;)
		if (!n->watch[i].used)
			at = i;
	for (i = 0; i < UNIC_PROCS; i++)
		if (n->watch[i].used &&
		    UNIC_BUS_WINDOW(n->watch[i].bus) == UNIC_BUS_WINDOW(bus))
			at = i;
	if (at == UNIC_PROCS)
		return NULL;
	memset(&n->watch[at], 0, sizeof(n->watch[at]));
	memset(&n->pages[at], 0, sizeof(n->pages[at]));
	n->watch[at].bus = bus;
	n->watch[at].used = true;
	return &n->pages[at];
}

int near_dma(struct near *n, enum unic_port_dma_dir dir, uint64_t bus,
	     void *local, uint32_t len, uint32_t tag)
{
	struct near_job *job = &n->job[n->job_tail % UNIC_DMA_JOBS];

	if (len - 1 >= UNIC_DMA_MAX || !is_on_bus(n, bus, len))
		return UNIC_PORT_EFAULT;
	if (!n->stream.up || n->job_tail - n->job_head == UNIC_DMA_JOBS)
		return UNIC_PORT_EAGAIN;
	*job = (struct near_job){ .local = local,
				  .bus = bus,
				  .tag = tag,
				  .len = (uint16_t)len,
				  .to_host = dir == UNIC_DMA_TO_HOST };
	n->job_tail++;
	return UNIC_PORT_PENDING;
}

bool near_dma_poll(struct near *n, uint32_t *tag, int *status)
{
	uint32_t i;

	while (n->job_head != n->job_tail &&
	       n->job[n->job_head % UNIC_DMA_JOBS].ended == NEAR_REPORTED)
		n->job_head++;
	for (i = n->job_head; i != n->job_tail; i++) {
		struct near_job *job = &n->job[i % UNIC_DMA_JOBS];

		if (job->ended != NEAR_MOVED && job->ended != NEAR_FAILED)
			continue;
		*tag = job->tag;
		*status = job->ended == NEAR_MOVED ? UNIC_PORT_OK
						   : UNIC_PORT_EFAULT;
		job->ended = NEAR_REPORTED;
		return true;
	}
	return false;
}

void near_ring(struct near *n, uint32_t vector)
{
	n->bells |= 1u << (vector & 31);
}

/* ---------------------------------------------------------- from the host */

static uint32_t load_le32(const uint8_t *p)
{
	unic_le32 v;

	memcpy(&v, p, sizeof(v));
	return unic_from_le32(v);
}

/* The other side is another one: what was under way failed, what it does not
 * know of us it is told. A driver that starts asks for a reset, so records that
 * did not come through are nobody's. */
static void host_restarted(struct near *n)
{
	uint32_t i;

	n->stream.restarted = false;
	n->news = true;
	for (i = n->job_head; i != n->job_tail; i++)
		if (n->job[i % UNIC_DMA_JOBS].ended == NEAR_OPEN)
			n->job[i % UNIC_DMA_JOBS].ended = NEAR_FAILED;
	n->job_send = n->job_tail;
	for (i = 0; i < UNIC_SERIAL_RINGS; i++) {
		n->ring[i].sent = nic_word(n, rings[i].tail);
		n->ring[i].part = 0;
		set_driver_word(n, rings[i].head, n->ring[i].sent);
	}
	for (i = 0; i < UNIC_PROCS; i++)
		n->watch[i].told = false;
	n->list_sent = 0;
	n->life++;
	n->info_due = true;
}

static bool take_command(struct near *n, const struct stream_msg *m)
{
	uint32_t tail =
		driver_word(n, offsetof(struct unic_driver_page, cmd_tail));
	uint32_t at = m->b % UNIC_BOX_CMDS;

	if (m->b != tail || m->len != 64 || n->resetting ||
	    tail - nic_word(n, offsetof(struct unic_nic_idx, cmd_head)) >=
		    UNIC_BOX_CMDS)
		return false;
	memcpy(n->box + UNIC_BOX_CMD + at * 64, m->bytes, 64);
	n->list_crc[at] =
		frame_crc(n->box + UNIC_BOX_LIST + at * UNIC_BOX_LIST_BYTES,
			  UNIC_BOX_LIST_BYTES);
	unic_wmb();
	set_driver_word(n, offsetof(struct unic_driver_page, cmd_tail),
			tail + 1);
	return true;
}

static bool take_cmd_list(struct near *n, const struct stream_msg *m)
{
	if (m->a > UNIC_BOX_LIST_BYTES || m->len > UNIC_BOX_LIST_BYTES - m->a)
		return false;
	memcpy(n->box + UNIC_BOX_LIST +
		       m->b % UNIC_BOX_CMDS * UNIC_BOX_LIST_BYTES + m->a,
	       m->bytes, m->len);
	return true;
}

/* The driver zeroed its page before it asked (unic_driver_page). */
static void take_reset(struct near *n, uint32_t req)
{
	uint32_t i;

	if (req == driver_word(n, offsetof(struct unic_driver_page, reset_req)))
		return;
	set_driver_word(n, offsetof(struct unic_driver_page, cmd_tail), 0);
	for (i = 0; i < UNIC_SERIAL_RINGS; i++)
		set_driver_word(n, rings[i].head, 0);
	set_driver_word(n, offsetof(struct unic_driver_page, reset_req), req);
	n->resetting = true;
}

static bool take_doorbell(struct near *n, const struct stream_msg *m)
{
	uint32_t page = m->a & 0xff, rows = m->a >> 8 & 0xff;
	uint32_t words = m->a >> 16, i;
	const uint8_t *p = m->bytes;
	UNIC_BOX_DB_PAGE *db;

	if (page >= UNIC_PROCS || !n->watch[page].used ||
	    words > UNIC_BOX_DB_FIFO ||
	    m->len != rows * sizeof(struct unic_serial_row) + words * 4)
		return false;
	db = &n->pages[page].db;
	for (i = 0; i < rows; i++, p += sizeof(struct unic_serial_row)) {
		struct unic_serial_row row;

		memcpy(&row, p, sizeof(row));
		if (unic_from_le32(row.row) >= UNIC_BOX_DB_ROWS)
			return false;
		db->tail[unic_from_le32(row.row)] =
			(struct unic_db_tail){ row.sq, row.rq, row.cq_ci,
					       row.arm };
	}
	for (i = 0; i < words; i++, p += 4)
		db->fifo[(m->b - words + i) % UNIC_BOX_DB_FIFO] =
			unic_to_le32(load_le32(p));
	unic_wmb();
	UNIC_WRITE_ONCE(db->fifo_seq, unic_to_le32(m->b));
	return true;
}

static bool take_answer(struct near *n, const struct stream_msg *m)
{
	uint32_t at = m->a & 0xffff, off = m->a >> 16;
	struct near_job *job = &n->job[at % UNIC_DMA_JOBS];

	if (at >= UNIC_DMA_JOBS || job->to_host || job->ended != NEAR_OPEN ||
	    off != job->done || off >= job->sent || !m->len ||
	    m->len > job->len - job->done)
		return false;
	memcpy(job->local + job->done, m->bytes, m->len);
	job->done = (uint16_t)(job->done + m->len);
	if (job->done == job->len)
		job->ended = NEAR_MOVED;
	return true;
}

static bool take_from_host(struct near *n, const struct stream_msg *m)
{
	switch (m->type) {
	case UNIC_SERIAL_CMD:
		return take_command(n, m);
	case UNIC_SERIAL_CMD_LIST:
		return take_cmd_list(n, m);
	case UNIC_SERIAL_RESET:
		take_reset(n, m->b);
		return true;
	case UNIC_SERIAL_DOORBELL:
		return take_doorbell(n, m);
	case UNIC_SERIAL_ANSWER:
		return take_answer(n, m);
	default:
		return false;
	}
}

/* What makes no sense is not refused but forgotten: it would come again, and
 * make no more sense. */
void near_input(struct near *n, const uint8_t *bytes, uint32_t len,
		uint64_t now_ns)
{
	struct stream_msg msg;

	while (stream_input(&n->stream, &bytes, &len, now_ns, &msg)) {
		if (n->stream.restarted)
			host_restarted(n);
		if (take_from_host(n, &msg))
			n->news = true;
		else
			n->stream.counts.dropped++;
	}
	if (n->stream.restarted)
		host_restarted(n);
}

/* ------------------------------------------------------------- to the host */

/* What the host has now. */
static void take_done(struct near *n)
{
	struct stream_item item;

	while (stream_done(&n->stream, &item)) {
		n->news = true;
		if (item.type == UNIC_SERIAL_WRITE) {
			struct near_job *job = &n->job[item.who];

			job->done = (uint16_t)(job->done + item.len);
			if (job->done == job->len)
				job->ended = NEAR_MOVED;
		} else if (item.type == UNIC_SERIAL_RING &&
			   item.who == (uint16_t)n->life) {
			uint32_t ring = item.a & 0xffff, off = item.a >> 16;

			set_driver_word(n, rings[ring].head,
					item.b + (off + item.len) /
							 rings[ring].bytes);
		}
	}
}

/* The core's reset is over: rings begin anew. */
static void end_reset(struct near *n)
{
	uint32_t i;

	if (!n->resetting ||
	    unic_from_le32(nic_info(n)->reset_ack) !=
		    driver_word(n,
				offsetof(struct unic_driver_page, reset_req)))
		return;
	n->resetting = false;
	n->life++;
	memset(n->ring, 0, sizeof(n->ring));
	n->list_sent = 0;
	for (i = 0; i < UNIC_SERIAL_RINGS; i++) /* acknowledged meanwhile */
		set_driver_word(n, rings[i].head, 0);
}

/* The list page of command @k, if the core has written it. True: through. */
static bool send_cpl_list(struct near *n, uint32_t k)
{
	uint32_t at = k % UNIC_BOX_CMDS, len = UNIC_SERIAL_DATA;
	uint8_t *list = n->box + UNIC_BOX_LIST + at * UNIC_BOX_LIST_BYTES;

	if (!n->list_sent &&
	    n->list_crc[at] == frame_crc(list, UNIC_BOX_LIST_BYTES))
		return true;
	while (n->list_sent < UNIC_BOX_LIST_BYTES) {
		if (!put_to_host(n, UNIC_SERIAL_LIST, n->list_sent, k,
				 list + n->list_sent, len, 0))
			return false;
		n->list_sent = (uint16_t)(n->list_sent + len);
	}
	n->list_crc[at] = frame_crc(list, UNIC_BOX_LIST_BYTES);
	n->list_sent = 0;
	return true;
}

static bool send_record(struct near *n, uint32_t ring)
{
	struct near_ring *r = &n->ring[ring];
	uint32_t left = rings[ring].bytes - r->part;
	const uint8_t *at = n->box + rings[ring].records +
			    r->sent % rings[ring].places * rings[ring].bytes +
			    r->part;

	if (left > UNIC_SERIAL_DATA)
		left = UNIC_SERIAL_DATA;
	if (!put_to_host(n, UNIC_SERIAL_RING, ring | (uint32_t)r->part << 16,
			 r->sent, at, left, n->life & 0xffff))
		return false;
	r->part = (uint16_t)(r->part + left);
	if (r->part == rings[ring].bytes) {
		r->part = 0;
		r->sent++;
	}
	return true;
}

static bool send_rings(struct near *n)
{
	uint32_t i;

	for (i = 0; i < UNIC_SERIAL_RINGS; i++)
		while (n->ring[i].sent != nic_word(n, rings[i].tail)) {
			if (i == UNIC_SERIAL_CPL &&
			    !send_cpl_list(n, n->ring[i].sent))
				return false;
			if (!send_record(n, i))
				return false;
		}
	return true;
}

static bool send_info(struct near *n)
{
	const uint32_t now[4] = { unic_from_le32(nic_info(n)->heartbeat),
				  unic_from_le32(nic_info(n)->state),
				  unic_from_le32(nic_info(n)->reset_ack),
				  unic_from_le32(nic_info(n)->magic) };

	if (!n->info_due && !memcmp(now, n->info_seen, sizeof(now)))
		return true;
	if (!put_to_host(n, UNIC_SERIAL_INFO, 0, 0, nic_info(n),
			 sizeof(struct unic_info), 0))
		return false;
	memcpy(n->info_seen, now, sizeof(now));
	n->info_due = false;
	return true;
}

static bool send_watch(struct near *n, uint32_t i)
{
	struct near_watch *w = &n->watch[i];
	const struct stream_item item = { .a = (uint32_t)w->bus,
					  .b = (uint32_t)(w->bus >> 32),
					  .own = unic_to_le32(i),
					  .len = 4,
					  .type = UNIC_SERIAL_WATCH };

	if (w->told)
		return true;
	if (!stream_room(&n->stream))
		return false;
	stream_put(&n->stream, &item);
	w->told = true;
	memset(&w->sent, 0, sizeof(w->sent));
	return true;
}

/* The words of its NIC page that the core has written, but for `asleep`: the
 * host's end is always to be rung. */
static bool send_words(struct near *n, uint32_t i)
{
	unic_le32 *sent = (unic_le32 *)&n->watch[i].sent;
	const unic_le32 *now = (const unic_le32 *)&n->pages[i].np;
	uint32_t first = offsetof(UNIC_BOX_NIC_PAGE, cq_events) / 4, w;

	for (w = 1; w < sizeof(UNIC_BOX_NIC_PAGE) / 4; w++) {
		if (sent[w] == now[w])
			continue;
		/* the rows begin elsewhere in the host's page */
		if (!put_to_host(
			    n, UNIC_SERIAL_WORD,
			    i << 16 |
				    (w < first ? w
					       : w - first +
							 offsetof(struct
								  unic_nic_page,
								  cq_events) /
								 4),
			    unic_from_le32(now[w]), NULL, 0, 0))
			return false;
		sent[w] = now[w];
	}
	return true;
}

static bool send_nic_pages(struct near *n)
{
	uint32_t i;

	for (i = 0; i < UNIC_PROCS; i++)
		if (n->watch[i].used &&
		    (!send_watch(n, i) || !send_words(n, i)))
			return false;
	return true;
}

static bool send_bells(struct near *n)
{
	for (; n->bells; n->bells &= n->bells - 1)
		if (!put_to_host(n, UNIC_SERIAL_BELL,
				 (uint32_t)__builtin_ctz(n->bells), 0, NULL, 0,
				 0))
			return false;
	return true;
}

static bool send_read(struct near *n, struct near_job *job, uint32_t at)
{
	const struct stream_item item = {
		.a = (uint32_t)job->bus,
		.b = (uint32_t)(job->bus >> 32),
		.own = unic_to_le32(at | (uint32_t)job->len << 16),
		.len = sizeof(struct unic_serial_read),
		.type = UNIC_SERIAL_READ,
	};

	if (!stream_room(&n->stream))
		return false;
	stream_put(&n->stream, &item);
	job->sent = job->len;
	return true;
}

static bool send_write(struct near *n, struct near_job *job, uint32_t at)
{
	while (job->sent < job->len) {
		uint64_t bus = job->bus + job->sent;
		uint32_t left = job->len - job->sent;

		if (left > UNIC_SERIAL_DATA)
			left = UNIC_SERIAL_DATA;
		if (!put_to_host(n, UNIC_SERIAL_WRITE, (uint32_t)bus,
				 (uint32_t)(bus >> 32), job->local + job->sent,
				 left, at))
			return false;
		job->sent = (uint16_t)(job->sent + left);
	}
	return true;
}

/* In the order in which they were submitted. */
static bool send_jobs(struct near *n)
{
	for (; n->job_send != n->job_tail; n->job_send++) {
		uint32_t at = n->job_send % UNIC_DMA_JOBS;
		struct near_job *job = &n->job[at];

		if (!(job->to_host ? send_write(n, job, at)
				   : send_read(n, job, at)))
			return false;
	}
	return true;
}

static void send_trace(struct near *n)
{
	const struct unic_trace_rec *r =
		(const struct unic_trace_rec *)(const void *)(n->box +
							      UNIC_BOX_TRACE) +
		n->trace_sent % UNIC_BOX_TRACES;
	uint32_t seq = unic_from_le32(r->seq);

	if (seq <= n->trace_sent)
		return;
	n->trace_sent = seq; /* those before it are lost, if there were any */
	(void)put_to_host(n, UNIC_SERIAL_TRACE, 0, seq - 1, r, sizeof(*r), 0);
}

/* One piece of the counters or of the uses each heartbeat. */
static void send_chunk(struct near *n)
{
	uint32_t beat = unic_from_le32(nic_info(n)->heartbeat), crc;
	uint32_t c = n->chunk, len = UNIC_SERIAL_DATA;
	bool stats = c < STATS_CHUNKS;
	uint32_t off = (stats ? c : c - STATS_CHUNKS) * UNIC_SERIAL_DATA;
	uint32_t all = stats ? UNIC_BOX_BYTES - UNIC_BOX_STATS
			     : UNIC_BOX_STATS - UNIC_BOX_USE;
	const uint8_t *at =
		n->box + (stats ? UNIC_BOX_STATS : UNIC_BOX_USE) + off;

	if (beat == n->chunk_beat)
		return;
	n->chunk_beat = beat;
	n->chunk = (c + 1) % NEAR_CHUNKS;
	if (off >= all)
		return;
	if (len > all - off)
		len = all - off;
	crc = frame_crc(at, len);
	if (crc == n->chunk_crc[c])
		return;
	n->chunk_crc[c] = crc;
	(void)put_to_host(n, stats ? UNIC_SERIAL_STATS : UNIC_SERIAL_USE,
			  stats ? off
				: off / (uint32_t)sizeof(struct unic_use_row),
			  0, at, len, 0);
}

/*
 * The mailbox first, for its deadlines are short and its messages few; what
 * rings a process last, behind what it is to look at. A reset waits for the DMA
 * that is under way.
 */
static void send_news(struct near *n)
{
	take_done(n);
	end_reset(n);
	if (!send_info(n) || (!n->resetting && !send_rings(n)) ||
	    !send_nic_pages(n) || !send_jobs(n) || !send_bells(n))
		return;
	if (n->crash && put_to_host(n, UNIC_SERIAL_CRASH, 0, 0, n->crash,
				    sizeof(*n->crash), 0))
		n->crash = NULL;
	if (!stream_idle(&n->stream))
		return;
	send_chunk(n);
	send_trace(n);
}

uint32_t near_output(struct near *n, uint64_t now_ns, uint8_t *bytes,
		     uint32_t max)
{
	if (n->stream.up)
		send_news(n);
	return stream_output(&n->stream, now_ns, bytes, max);
}
