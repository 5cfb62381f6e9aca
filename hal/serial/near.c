/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* near.c - see near.h. */
#include "near.h"

#include <string.h>

#include "near_box.h"

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
			       NEAR_STATS_CHUNKS * UNIC_SERIAL_DATA &&
		       UNIC_BOX_STATS - UNIC_BOX_USE <=
			       (NEAR_CHUNKS - NEAR_STATS_CHUNKS) *
				       UNIC_SERIAL_DATA,
	       "a chunk for each piece");
_Static_assert(UNIC_BOX_DROPS >= UNIC_TLB_ENTRIES, "INV-17");

const struct near_place near_rings[UNIC_SERIAL_RINGS] = {
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

/* A window has one pair of doorbell pages, of its process. */
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

/* The host has restarted: DMA under way fails, and all state of the NIC is sent
 * anew. A driver that starts asks for a reset, so records that did not arrive are
 * dropped. */
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
		n->ring[i].sent = near_nic_word(n, near_rings[i].tail);
		n->ring[i].part = 0;
		near_set_driver_word(n, near_rings[i].head, n->ring[i].sent);
	}
	for (i = 0; i < UNIC_PROCS; i++)
		n->watch[i].told = false;
	n->list_sent = 0;
	n->life++;
	n->info_due = true;
}

static bool take_command(struct near *n, const struct stream_msg *m)
{
	uint32_t tail = near_driver_word(n, offsetof(struct unic_driver_page,
						     cmd_tail));
	uint32_t at = m->b % UNIC_BOX_CMDS;

	if (m->b != tail || m->len != 64 || n->resetting ||
	    tail - near_nic_word(n, offsetof(struct unic_nic_idx, cmd_head)) >=
		    UNIC_BOX_CMDS)
		return false;
	memcpy(n->box + UNIC_BOX_CMD + at * 64, m->bytes, 64);
	n->list_crc[at] =
		frame_crc(n->box + UNIC_BOX_LIST + at * UNIC_BOX_LIST_BYTES,
			  UNIC_BOX_LIST_BYTES);
	unic_wmb();
	near_set_driver_word(n, offsetof(struct unic_driver_page, cmd_tail),
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

/* The driver zeroes its page before it asks for a reset (unic_driver_page). */
static void take_reset(struct near *n, uint32_t req)
{
	uint32_t i;

	if (req ==
	    near_driver_word(n, offsetof(struct unic_driver_page, reset_req)))
		return;
	near_set_driver_word(n, offsetof(struct unic_driver_page, cmd_tail), 0);
	for (i = 0; i < UNIC_SERIAL_RINGS; i++)
		near_set_driver_word(n, near_rings[i].head, 0);
	near_set_driver_word(n, offsetof(struct unic_driver_page, reset_req),
			     req);
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

/* An invalid message is dropped, not refused: the stream would repeat it
 * unchanged. */
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
