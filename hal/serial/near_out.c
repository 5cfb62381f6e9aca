/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * near_out.c - what the core did, for the host: found between two rounds by
 * comparing the near copies with what was sent.
 *
 * Secret: in which order messages are sent, and how many at a time.
 */
#include "near.h"

#include <string.h>

#include "near_box.h"

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

/* Records what the host has acknowledged. */
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

			near_set_driver_word(
				n, near_rings[ring].head,
				item.b + (off + item.len) /
						 near_rings[ring].bytes);
		}
	}
}

/* After the core's reset: rings begin anew. */
static void end_reset(struct near *n)
{
	uint32_t i;

	if (!n->resetting ||
	    unic_from_le32(near_info(n)->reset_ack) !=
		    near_driver_word(n, offsetof(struct unic_driver_page,
						 reset_req)))
		return;
	n->resetting = false;
	n->life++;
	memset(n->ring, 0, sizeof(n->ring));
	n->list_sent = 0;
	/* acknowledgements since the reset have advanced them */
	for (i = 0; i < UNIC_SERIAL_RINGS; i++)
		near_set_driver_word(n, near_rings[i].head, 0);
}

/* Sends the list page of command @k, if the core has written it. True: all is
 * sent. */
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
	uint32_t left = near_rings[ring].bytes - r->part;
	const uint8_t *at =
		n->box + near_rings[ring].records +
		r->sent % near_rings[ring].places * near_rings[ring].bytes +
		r->part;

	if (left > UNIC_SERIAL_DATA)
		left = UNIC_SERIAL_DATA;
	if (!put_to_host(n, UNIC_SERIAL_RING, ring | (uint32_t)r->part << 16,
			 r->sent, at, left, n->life & 0xffff))
		return false;
	r->part = (uint16_t)(r->part + left);
	if (r->part == near_rings[ring].bytes) {
		r->part = 0;
		r->sent++;
	}
	return true;
}

static bool send_rings(struct near *n)
{
	uint32_t i;

	for (i = 0; i < UNIC_SERIAL_RINGS; i++)
		while (n->ring[i].sent !=
		       near_nic_word(n, near_rings[i].tail)) {
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
	const uint32_t now[4] = { unic_from_le32(near_info(n)->heartbeat),
				  unic_from_le32(near_info(n)->state),
				  unic_from_le32(near_info(n)->reset_ack),
				  unic_from_le32(near_info(n)->magic) };

	if (!n->info_due && !memcmp(now, n->info_seen, sizeof(now)))
		return true;
	if (!put_to_host(n, UNIC_SERIAL_INFO, 0, 0, near_info(n),
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

/* Sends the words of a NIC page that the core has written, except `asleep`: a
 * process must always ring the host's end. */
static bool send_words(struct near *n, uint32_t i)
{
	unic_le32 *sent = (unic_le32 *)&n->watch[i].sent;
	const unic_le32 *now = (const unic_le32 *)&n->pages[i].np;
	uint32_t first = offsetof(UNIC_BOX_NIC_PAGE, cq_events) / 4, w;

	for (w = 1; w < sizeof(UNIC_BOX_NIC_PAGE) / 4; w++) {
		if (sent[w] == now[w])
			continue;
		/* rows begin at another offset in the host's page */
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

/* Sends transfers in the order in which they were submitted. */
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
	n->trace_sent = seq; /* the ring has overwritten earlier records */
	(void)put_to_host(n, UNIC_SERIAL_TRACE, 0, seq - 1, r, sizeof(*r), 0);
}

/* Sends one piece of the counters or of the usage each heartbeat. */
static void send_chunk(struct near *n)
{
	uint32_t beat = unic_from_le32(near_info(n)->heartbeat), crc;
	uint32_t c = n->chunk, len = UNIC_SERIAL_DATA;
	bool stats = c < NEAR_STATS_CHUNKS;
	uint32_t off = (stats ? c : c - NEAR_STATS_CHUNKS) * UNIC_SERIAL_DATA;
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
 * The mailbox goes first, because its deadlines are short and its messages few;
 * doorbells of processes go last, behind the records that they announce. A reset
 * waits for the DMA that is under way.
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
