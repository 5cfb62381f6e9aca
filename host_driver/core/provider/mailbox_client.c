/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "provider/mailbox_client.h"

/* Some microseconds: a command takes half of one, a sleep and a wake-up five. */
#define SOON_LOOKS 4096u

static struct unic_nic_idx *nic_page(const struct unic_mbox_client *m)
{
	return (struct unic_nic_idx *)(void *)(m->bar + UNIC_BAR_NIC_OFF);
}

static struct unic_driver_page *driver_page(const struct unic_mbox_client *m)
{
	return (struct unic_driver_page *)(void *)(m->bar +
						   UNIC_BAR_DRIVER_OFF);
}

static void count_bad_record(struct unic_mbox_client *m)
{
	++*m->bad;
	m->bad_epoch++;
}

void unic_mbox_client_init(struct unic_mbox_client *m, struct unic_os *os,
			   void *bar, uint32_t *refused)
{
	memset(m, 0, sizeof(*m));
	m->os = os;
	m->bar = bar;
	m->bad = refused;
}

void unic_mbox_client_zero(struct unic_mbox_client *m)
{
	struct unic_driver_page *page = driver_page(m);

	UNIC_STORE(page->cmd_tail, unic_to_le32(0));
	UNIC_STORE(page->cpl_head, unic_to_le32(0));
	UNIC_STORE(page->evt_head, unic_to_le32(0));
	UNIC_STORE(page->mad_head, unic_to_le32(0));
	UNIC_STORE(page->drop_head, unic_to_le32(0));
	UNIC_STORE(page->want_irq, unic_to_le32(1));
	UNIC_STORE(page->fence, unic_to_le32(0));
}

void unic_mbox_client_reset(struct unic_mbox_client *m)
{
	m->cmd_tail = 0;
	m->cpl_head = 0;
	m->evt_head = 0;
	m->mad_head = 0;
	m->drop_head = 0;
	m->evt_seen = 0;
	m->bad_epoch = 0;
	m->epoch = 0;
	m->alone = false;
}

void unic_mbox_client_epoch(struct unic_mbox_client *m, uint32_t epoch)
{
	m->epoch = epoch;
}

/* --------------------------------------------------------------- commands */

/* Write the command of @call, which the NIC sees from tell_nic() on. */
static void put_command(struct unic_mbox_client *m, struct unic_call *call)
{
	uint32_t at = m->cmd_tail % UNIC_CMD_ENTRIES;
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, call->cmd, sizeof(hdr));
	hdr.status = 0;
	hdr.cookie = unic_to_le16((uint16_t)(m->turn++ << 6 | at));
	hdr.epoch = unic_to_le32(m->epoch);
	memcpy(call->cmd, &hdr, sizeof(hdr));
	m->cookie[at] = unic_from_le16(hdr.cookie);
	m->slot[at] = call;
	if (!m->open++)
		m->oldest = m->cmd_tail;
	call->submitted_ns = unic_os_now_ns(m->os);
	if (call->list)
		memcpy(m->bar + UNIC_BAR_LIST_OFF + at * UNIC_LIST_BYTES,
		       call->list, call->list_bytes);
	memcpy(m->bar + UNIC_BAR_CMD_OFF + at * 64, call->cmd, 64);
	m->cmd_tail++;
	if (call->order != UNIC_CALL_IN_TURN)
		m->alone = call->order != UNIC_CALL_LAST;
}

static void tell_nic(struct unic_mbox_client *m)
{
	unic_os_wmb();
	UNIC_STORE(driver_page(m)->cmd_tail, unic_to_le32(m->cmd_tail));
	unic_os_mb(); /* write cmd_tail before reading `asleep` */
	if (UNIC_LOAD(nic_page(m)->asleep))
		unic_os_ring_nic(m->os);
}

static bool has_room(const struct unic_mbox_client *m)
{
	return m->epoch && m->open < UNIC_CMD_ENTRIES &&
	       !m->slot[m->cmd_tail % UNIC_CMD_ENTRIES];
}

/* True if @call goes before those that wait. */
static bool is_ahead(const struct unic_call *call)
{
	return call->order > UNIC_CALL_FIRST;
}

static bool may_go(const struct unic_mbox_client *m,
		   const struct unic_call *call)
{
	return has_room(m) && (!m->alone || is_ahead(call));
}

static void wait_for_turn(struct unic_mbox_client *m, struct unic_call *call)
{
	call->submitted_ns = unic_os_now_ns(m->os);
	if (is_ahead(call))
		call->next = m->wait_head;
	else if (m->wait_head)
		m->wait_tail->next = call;
	if (!m->wait_head || !is_ahead(call))
		m->wait_tail = call;
	if (!m->wait_head || is_ahead(call))
		m->wait_head = call;
}

static struct unic_call *take_waiting(struct unic_mbox_client *m)
{
	struct unic_call *call = m->wait_head;

	if (call)
		m->wait_head = call->next;
	return call;
}

static void put_waiting(struct unic_mbox_client *m)
{
	while (m->wait_head && may_go(m, m->wait_head))
		put_command(m, take_waiting(m));
}

static void send_waiting(struct unic_mbox_client *m)
{
	uint32_t before = m->cmd_tail;

	put_waiting(m);
	if (m->cmd_tail != before)
		tell_nic(m);
}

void unic_mbox_client_submit(struct unic_mbox_client *m, struct unic_call *call)
{
	call->next = NULL;
	if ((!m->wait_head || is_ahead(call)) && may_go(m, call)) {
		put_command(m, call);
		put_waiting(m); /* the NIC sees all of them at once */
		tell_nic(m);
		return;
	}
	wait_for_turn(m, call);
}

/* How far index @theirs of the device is ahead of @ours; 0, counted in *m->bad, if that
 * is more than @entries. */
static uint32_t ring_distance(struct unic_mbox_client *m, unic_le32 *theirs,
			      uint32_t ours, uint32_t entries)
{
	uint32_t n = unic_from_le32(UNIC_LOAD(*theirs)) - ours;

	if (n <= entries)
		return n;
	count_bad_record(m);
	return 0;
}

static void close_slot(struct unic_mbox_client *m, uint32_t at)
{
	m->slot[at] = NULL;
	m->open--;
	while (m->open && !m->slot[m->oldest % UNIC_CMD_ENTRIES])
		m->oldest++;
}

static bool answers_in_list(uint8_t opcode)
{
	return opcode == UNIC_CMD_DUMP || opcode == UNIC_CMD_MR_BATCH ||
	       opcode == UNIC_CMD_TOKEN_BATCH || opcode == UNIC_CMD_MR_FORMS;
}

/* The call that completion @rec is for; NULL, and counted in *m->bad: none. */
static struct unic_call *match_call(struct unic_mbox_client *m,
				    const uint64_t *rec)
{
	struct unic_cmd_hdr hdr, asked;
	struct unic_call *call;
	uint32_t cookie, at;

	memcpy(&hdr, rec, sizeof(hdr));
	cookie = unic_from_le16(hdr.cookie);
	at = cookie % UNIC_CMD_ENTRIES;
	call = m->slot[at];
	if (call)
		memcpy(&asked, call->cmd, sizeof(asked));
	if (!call || m->cookie[at] != cookie ||
	    unic_from_le32(hdr.epoch) != m->epoch ||
	    hdr.opcode != asked.opcode) {
		count_bad_record(m);
		return NULL;
	}
	close_slot(m, at);
	if (hdr.status &&
	    (call->order == UNIC_CALL_FIRST || call->order == UNIC_CALL_NEXT))
		m->alone = false;
	if (call->list && answers_in_list(asked.opcode))
		memcpy(call->list,
		       m->bar + UNIC_BAR_LIST_OFF + at * UNIC_LIST_BYTES,
		       UNIC_LIST_BYTES);
	return call;
}

struct unic_call *unic_mbox_client_reap(struct unic_mbox_client *m)
{
	struct unic_nic_idx *nic = nic_page(m);
	struct unic_call *call = NULL;

	if (!m->epoch)
		return NULL;
	m->evt_seen =
		m->evt_head +
		ring_distance(m, &nic->evt_tail, m->evt_head, UNIC_EVT_ENTRIES);
	unic_os_rmb();
	while (!call &&
	       ring_distance(m, &nic->cpl_tail, m->cpl_head, m->open)) {
		uint32_t at = m->cpl_head % UNIC_CPL_ENTRIES;
		uint64_t rec[UNIC_REC_WORDS];

		unic_os_rmb();
		memcpy(rec, m->bar + UNIC_BAR_CPL_OFF + at * 64, 64);
		call = match_call(m, rec);
		if (call)
			memcpy(call->cpl, rec, sizeof(rec));
		m->cpl_head++;
		unic_os_mb(); /* read the record before freeing its room */
		UNIC_STORE(driver_page(m)->cpl_head, unic_to_le32(m->cpl_head));
	}
	send_waiting(m);
	return call;
}

/* ------------------------------------------------------------------ fence */

void unic_mbox_client_fence(struct unic_mbox_client *m)
{
	uint32_t before = unic_from_le32(UNIC_LOAD(nic_page(m)->fenced));

	m->fence = before + 1 ? before + 1 : 1;
	UNIC_STORE(driver_page(m)->fence, unic_to_le32(m->fence));
	unic_os_mb(); /* write the fence before ringing */
	unic_os_ring_nic(m->os);
}

bool unic_mbox_client_fenced(const struct unic_mbox_client *m)
{
	return m->fence &&
	       unic_from_le32(UNIC_LOAD(nic_page(m)->fenced)) == m->fence;
}

/* ----------------------------------------------------------------- events */

bool unic_mbox_client_event(struct unic_mbox_client *m, uint64_t *evt)
{
	uint32_t at = m->evt_head % UNIC_EVT_ENTRIES;
	struct unic_evt_hdr hdr;

	if (m->evt_head == m->evt_seen)
		return false;
	memcpy(evt, m->bar + UNIC_BAR_EVT_OFF + at * 64, 64);
	m->evt_head++;
	unic_os_mb();
	UNIC_STORE(driver_page(m)->evt_head, unic_to_le32(m->evt_head));
	memcpy(&hdr, evt, sizeof(hdr));
	if (unic_from_le32(hdr.epoch) == m->epoch)
		return true;
	count_bad_record(m);
	memset(evt, 0, 64); /* type 0: ignored */
	return true;
}

bool unic_mbox_client_dropped(struct unic_mbox_client *m,
			      struct unic_drop *drop)
{
	uint32_t at = m->drop_head % UNIC_DROP_ENTRIES;

	if (!m->epoch || !ring_distance(m, &nic_page(m)->drop_tail,
					m->drop_head, UNIC_DROP_ENTRIES))
		return false;
	unic_os_rmb();
	memcpy(drop, m->bar + UNIC_BAR_DROP_OFF + at * sizeof(*drop),
	       sizeof(*drop));
	m->drop_head++;
	unic_os_mb();
	UNIC_STORE(driver_page(m)->drop_head, unic_to_le32(m->drop_head));
	return true;
}

bool unic_mbox_client_mad(struct unic_mbox_client *m, struct unic_mad_rx *mad)
{
	uint32_t at = m->mad_head % UNIC_MAD_RX_ENTRIES;

	if (!m->epoch || !ring_distance(m, &nic_page(m)->mad_tail, m->mad_head,
					UNIC_MAD_RX_ENTRIES))
		return false;
	unic_os_rmb();
	memcpy(mad, m->bar + UNIC_BAR_MAD_RX_OFF + at * sizeof(*mad),
	       sizeof(*mad));
	m->mad_head++;
	unic_os_mb();
	UNIC_STORE(driver_page(m)->mad_head, unic_to_le32(m->mad_head));
	return true;
}

/* ------------------------------------------------------------------- rest */

struct unic_call *unic_mbox_client_drop(struct unic_mbox_client *m)
{
	uint32_t at = m->oldest % UNIC_CMD_ENTRIES;
	struct unic_call *call = m->slot[at];

	if (!m->open)
		return take_waiting(m);
	close_slot(m, at);
	return call;
}

bool unic_mbox_client_soon(struct unic_mbox_client *m)
{
	struct unic_nic_idx *nic = nic_page(m);
	uint32_t looks;

	if (!m->epoch || !m->open || UNIC_LOAD(nic->asleep))
		return false;
	for (looks = SOON_LOOKS; looks; looks--)
		if (unic_from_le32(UNIC_LOAD(nic->cpl_tail)) - m->cpl_head - 1 <
		    m->open)
			return true;
	return false;
}

bool unic_mbox_client_irq(struct unic_mbox_client *m, bool on)
{
	struct unic_nic_idx *nic = nic_page(m);

	UNIC_STORE(driver_page(m)->want_irq, unic_to_le32(on));
	if (!on || !m->epoch)
		return false;
	unic_os_mb(); /* write the flag before reading the indices */
	return ring_distance(m, &nic->cpl_tail, m->cpl_head, m->open) ||
	       ring_distance(m, &nic->evt_tail, m->evt_head,
			     UNIC_EVT_ENTRIES) ||
	       ring_distance(m, &nic->drop_tail, m->drop_head,
			     UNIC_DROP_ENTRIES) ||
	       ring_distance(m, &nic->mad_tail, m->mad_head,
			     UNIC_MAD_RX_ENTRIES);
}

uint64_t unic_mbox_client_oldest(const struct unic_mbox_client *m)
{
	const struct unic_call *sent = m->slot[m->oldest % UNIC_CMD_ENTRIES];
	uint64_t oldest = m->open ? sent->submitted_ns : UINT64_MAX;

	if (m->wait_head && m->wait_head->submitted_ns < oldest)
		oldest = m->wait_head->submitted_ns;
	return oldest;
}
