/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_node.c - the kernel-resident page service of one host against a
 * driver that refuses requests and a NIC that does not answer: an I/O does not
 * end while the NIC may still use its pages.
 */
#include "kio_link.h"
#include "kio_node.h"
#include "kio_os.h"
#include "kio_pages.h"
#include "kio_user.h"
#include "unit.h"

#define BUS   0x100000000ull /* of the service's memory */
#define PAGE  0x5000u	     /* of the I/O */
#define LEN   4096u
#define QPN   77u
#define IOVA  0x123456789000ull
#define PEER  0x0a000002u
#define MS    1000000ull
#define OPS   64u
#define WHEN  (1000 * MS) /* the deadline of an I/O */
#define LATER (10 * MS)	  /* a refused request is repeated within */

struct unic_os {
	uint64_t now_ns;
};

static struct unic_os os;
static uint32_t nic; /* enum unic_ctl_nic */
static uint64_t features;
static uint32_t said; /* lines about tokens */
static bool leaves;
static uint16_t refuse[OPS];	 /* status by request */
static uint16_t unanswered;	 /* a request that the driver keeps; 0: none */
static struct unic_ctl_hdr kept; /* the last of them */
static uint8_t vendor;		 /* of the peer: 1: it is unic */
static uint32_t asked[OPS];
static struct unic_kio_node node;
static uint8_t slot_pages[UNIC_SLOT_FRAMES][4096]
	__attribute__((aligned(4096)));
static void *slot_mem[2] = { slot_pages };
static uint32_t next_slot; /* that HELLO gives */
static uint8_t *mem;
static uint8_t *at_zero; /* where bus address 0 would be */
static uint8_t
	*big_slot; /* with queues and buffers; NULL: `mem` has the queues */
static struct unic_ctl_cq_create cq;
static struct unic_ctl_qp_create qp;
static struct unic_ctl_connect connect;
static struct {
	struct unic_ctl_mr_reg r;
	unic_le64 page[UNIC_KIO_PAGES];
} reg; /* the last MR_REG */
static uint32_t reg_tail;
static uint32_t completions, received;
static struct unic_kio io, other, first;
static uint32_t over;
static int why;

/* -------------------------------------------------- what the service calls */

uint64_t unic_os_now_ns(struct unic_os *o)
{
	return o->now_ns;
}

void unic_os_log(struct unic_os *o, enum unic_os_level level, const char *fmt,
		 ...)
{
	(void)o;
	(void)level;
	said += strstr(fmt, "goes by token") != NULL;
}

void unic_os_ring_slot(struct unic_os *o, uint32_t slot)
{
	(void)o;
	(void)slot;
}

uint32_t unic_host_nic(const struct unic_host *host)
{
	(void)host;
	return nic;
}

uint32_t unic_host_notices(const struct unic_host *host)
{
	(void)host;
	return 0;
}

bool unic_host_slot_leaves(const struct unic_host *host, uint32_t slot)
{
	(void)host;
	assert_int_equal(slot, 0);
	return leaves;
}

bool unic_host_peek(struct unic_host *host, uint32_t off, void *buf,
		    uint32_t bytes)
{
	struct unic_info info = { .features = unic_to_le64(features) };

	(void)host;
	(void)off;
	memcpy(buf, &info, bytes);
	return true;
}

void unic_host_client_gone(struct unic_host *host, struct unic_client *client)
{
	(void)host;
	client->slot = UNIC_OS_NO_SLOT;
	memset(slot_pages[UNIC_SLOT_UPCALL_PAGE], 0, 4096);
	leaves = true;
}

static void answer(uint16_t op, uint64_t *rec)
{
	struct unic_ctl_queue_reply queue = { .id = unic_to_le32(5),
					      .number = unic_to_le32(QPN) };
	struct unic_ctl_mr_reg_reply mr = { .id = unic_to_le32(6),
					    .stag = unic_to_le32(0x600),
					    .iova = unic_to_le64(IOVA) };
	struct unic_ctl_mr_reg_reply form = { .stag = unic_to_le32(0x100 *
								   asked[op]) };
	struct unic_ctl_token_reply token = { .id = unic_to_le32(7),
					      .index = unic_to_le32(8),
					      .key = unic_to_le64(9) };
	struct unic_ctl_conn_reply conn = { .id = unic_to_le32(10),
					    .vendor = vendor };

	if (op == UNIC_CTL_ACCEPT)
		memcpy(rec, &conn, sizeof(conn));
	else if (op == UNIC_CTL_QP_CREATE || op == UNIC_CTL_CQ_CREATE)
		memcpy(rec, &queue, sizeof(queue));
	else if (op == UNIC_CTL_MR_ALLOC)
		memcpy(rec, &form, sizeof(form));
	else if (op == UNIC_CTL_TOKEN_ALLOC)
		memcpy(rec, &token, sizeof(token));
	else if (op == UNIC_CTL_CONNECT)
		memcpy(rec, &conn, sizeof(conn));
	else
		memcpy(rec, &mr, sizeof(mr));
}

/* The driver: answers at once, with the status in `refuse`. */
bool unic_host_request(struct unic_host *host, struct unic_client *client,
		       const void *msg, size_t bytes)
{
	uint64_t rec[UNIC_REC_WORDS];
	struct unic_ctl_hdr hdr;
	uint16_t op;

	(void)host;
	assert_true(bytes >= UNIC_CTL_BYTES);
	memcpy(&hdr, msg, sizeof(hdr));
	op = unic_from_le16(hdr.op);
	assert_true(op < OPS);
	asked[op]++;
	if (op == UNIC_CTL_CQ_CREATE)
		memcpy(&cq, msg, sizeof(cq));
	if (op == UNIC_CTL_QP_CREATE)
		memcpy(&qp, msg, sizeof(qp));
	if (op == UNIC_CTL_CONNECT || op == UNIC_CTL_ACCEPT)
		memcpy(&connect, msg, sizeof(connect));
	if (op == UNIC_CTL_MR_REG) {
		assert_true(bytes <= sizeof(reg));
		memcpy(&reg, msg, bytes);
		reg_tail = (uint32_t)bytes - UNIC_CTL_BYTES;
	}
	if (op == UNIC_CTL_HELLO)
		client->slot = next_slot;
	kept = hdr;
	if (op == unanswered)
		return true;
	answer(op, rec);
	hdr.status = unic_to_le16(refuse[op]);
	memcpy(rec, &hdr, sizeof(hdr));
	unic_kio_node_reply(&node, rec, sizeof(rec));
	return true;
}

/* ------------------------------------------------------------------ the NIC */

static void *at_bus(uint64_t bus)
{
	assert_true(big_slot || bus >= BUS);
	return at_zero + bus;
}

static void complete(struct unic_cqe cqe)
{
	struct unic_cqe *ring = at_bus(unic_from_le64(cq.iova));
	uint32_t at = completions % UNIC_KIO_CQES;

	cqe.qpn = unic_to_le32(QPN);
	cqe.seq = unic_to_le32(++completions);
	ring[at] = cqe;
}

/* A message of the peer. A request has a name of one letter. */
static void deliver(const struct unic_kio_msg *msg)
{
	struct unic_rq_slot *slot = at_bus(unic_from_le64(qp.rq_iova));
	uint32_t bytes = sizeof(*msg) + msg->name_bytes;
	uint8_t *to;

	slot += received++ % UNIC_KIO_SLOTS;
	to = at_bus(unic_from_le64(slot->sge[0].iova));
	memcpy(to, msg, sizeof(*msg));
	to[sizeof(*msg)] = 'f';
	complete((struct unic_cqe){ .wr_id = slot->wr_id,
				    .opcode = UNIC_WC_RECV,
				    .byte_len = unic_to_le32(bytes) });
}

static void upcall(uint32_t number, uint8_t type)
{
	uint8_t *slot = big_slot ? big_slot : slot_pages[0];
	struct unic_upcall_ring *ring =
		(void *)(slot + UNIC_SLOT_UPCALL_PAGE * 4096);
	struct unic_upcall_obj up = { .hdr = { .seq = unic_to_le32(number + 1),
					       .type = type,
					       .id = unic_to_le32(5) } };

	memcpy(ring->record[number % UNIC_UPCALLS], &up, sizeof(up));
}

/* ---------------------------------------------------------------- the user */

static void done(struct unic_kio *i, int status, uint32_t bytes)
{
	(void)bytes;
	if (i != &io)
		return;
	over++;
	why = status;
}

static void poll(uint64_t ms)
{
	uint32_t i;

	os.now_ns += ms * MS;
	for (i = 0; i < 30; i++)
		unic_kio_node_poll(&node);
}

static void begin(struct unic_kio *i, uint8_t op)
{
	*i = (struct unic_kio){
		.op = op,
		.name_bytes = 1,
		.name = "f",
		.len = op == UNIC_KIO_SYNC ? 0 : LEN,
		.pieces = op != UNIC_KIO_SYNC,
		.piece = { { .bus = unic_to_le64(PAGE),
			     .len = unic_to_le32(op == UNIC_KIO_SYNC ? 0
								     : LEN) } },
		.deadline_ns = os.now_ns + WHEN,
		.clean = true,
		.done = done,
	};
	assert_int_equal(unic_kio_node_start(&node, i, PEER), 0);
}

static void start(struct unic_kio *i, uint8_t op)
{
	begin(i, op);
	poll(0);
}

#define BIG (8u << 20) /* bytes of a slot with queues and buffers */

static bool rdma;
static struct unic_kio_task task;
static bool queued, slow;

static bool store_begin(struct unic_kio_store *s, const struct unic_kio_task *t)
{
	(void)s;
	task = *t;
	queued = true;
	return true;
}

static bool store_next(struct unic_kio_store *s, struct unic_kio_task *t)
{
	static uint8_t bytes[UNIC_KIO_MAX];

	(void)s;
	if (!queued || slow)
		return false;
	queued = false;
	memset(bytes, 0x77, sizeof(bytes));
	*t = task;
	t->buf = bytes;
	t->n = (int)t->len;
	return true;
}

static struct unic_kio_store store = { .begin = store_begin,
				       .next = store_next };

static int setup(void **state)
{
	struct unic_kio_config config = {
		.rdma = rdma,
		.os = &os,
		.slot_mem = slot_mem,
		.slot_bytes = sizeof(slot_pages),
		.bus = BUS,
		.bus_bytes = UINT32_MAX,
	};

	(void)state;
	if (big_slot) {
		slot_mem[0] = big_slot;
		at_zero = big_slot;
		config.slot_bytes = BIG;
		config.store = &store;
	} else {
		mem = calloc(1, unic_kio_ring_bytes(0));
		at_zero = mem - BUS;
		config.mem = mem;
	}
	memset(refuse, 0, sizeof(refuse));
	memset(asked, 0, sizeof(asked));
	memset(&connect, 0, sizeof(connect));
	memset(&task, 0, sizeof(task));
	queued = false;
	memset(slot_pages, 0, sizeof(slot_pages));
	completions = received = over = next_slot = 0;
	unanswered = said = 0;
	vendor = 1;
	features = UNIC_FEAT_PHYSICAL | UNIC_FEAT_ACCOUNTS;
	leaves = slow = false;
	nic = UNIC_CTL_NIC_READY;
	os.now_ns = 1000 * MS;
	unic_kio_node_init(&node, &config);
	unic_kio_node_want(&node);
	poll(0);
	assert_true(node.up);
	return 0;
}

/* As setup_rdma(), with buffers for its own users and for peers, and a file. */
static int setup_slot(void **state)
{
	rdma = true;
	big_slot = aligned_alloc(4096, BIG);
	memset(big_slot, 0, BIG);
	return setup(state);
}

static int setup_rdma(void **state)
{
	rdma = true;
	return setup(state);
}

static int teardown(void **state)
{
	(void)state;
	rdma = false;
	free(big_slot);
	big_slot = NULL;
	slot_mem[0] = slot_pages;
	free(mem);
	mem = NULL;
	return 0;
}

/* Starts a READ and sends its token to the server. */
static void start_read(void)
{
	start(&io, UNIC_KIO_READ);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
	assert_int_equal(asked[UNIC_CTL_TOKEN_ALLOC], 1);
}

/* Starts a WRITE whose data the NIC sends, without a completion. */
static void start_write(void)
{
	struct unic_kio_msg grant = { .op = UNIC_KIO_GRANT };

	start(&io, UNIC_KIO_WRITE);
	grant.id = unic_to_le32(io.id);
	grant.len = unic_to_le32(LEN);
	deliver(&grant);
	poll(0);
	assert_int_equal(io.state, UNIC_KIO_FLYING);
}

/* not_yet(): @io has not ended; now_over(): it has, with status @want. */
static void not_yet(void)
{
	poll(0);
	assert_int_equal(over, 0);
}

static void now_over(int want)
{
	poll(0);
	assert_int_equal(over, 1);
	assert_int_equal(why, want);
}

/* ---------------------------------------------------------------- the tests */

/* The driver refuses to cancel the token, which the peer may still use: the I/O
 * ends when the token is gone. */
static void cancel_refused(void **state)
{
	static const uint16_t all[] = { UNIC_CTL_ST_NO_MEMORY, UNIC_ST_BUSY,
					UNIC_CTL_ST_TOO_MANY,
					UNIC_CTL_ST_RESET };
	uint32_t i;

	(void)state;
	start_read();
	os.now_ns += WHEN;
	for (i = 0; i < 4; i++) {
		refuse[UNIC_CTL_TOKEN_CANCEL] = all[i];
		poll(LATER / MS);
		not_yet();
		assert_int_equal(asked[UNIC_CTL_TOKEN_CANCEL], i + 1);
	}
	refuse[UNIC_CTL_TOKEN_CANCEL] = UNIC_ST_NO_TOKEN;
	poll(LATER / MS);
	now_over(-ETIMEDOUT);
}

/* The driver refuses to destroy the queue pair, from which the NIC may still
 * send the data: the I/O ends when the queue pair is gone. */
static void destroy_refused(void **state)
{
	static const uint16_t all[] = { UNIC_CTL_ST_NO_MEMORY,
					UNIC_CTL_ST_TOO_MANY,
					UNIC_CTL_ST_RESET };
	uint32_t i;

	(void)state;
	start_write();
	upcall(0, UNIC_UP_QP_ERROR);
	for (i = 0; i < 3; i++) {
		refuse[UNIC_CTL_QP_DESTROY] = all[i];
		poll(LATER / MS);
		not_yet();
		assert_int_equal(asked[UNIC_CTL_QP_DESTROY], i + 1);
	}
	refuse[UNIC_CTL_QP_DESTROY] = 0;
	poll(LATER / MS);
	now_over(-ENOLINK);
}

/* A receive that completes before an earlier one shows that a message was lost:
 * the link fails, and its I/Os end. */
static void message_lost(void **state)
{
	struct unic_kio_msg next = { .op = UNIC_KIO_GRANT };

	(void)state;
	start(&io, UNIC_KIO_WRITE);
	received++;
	deliver(&next);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	now_over(-ENOLINK);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 1);
}

/* A peer sends messages but takes no data (endless RNR NAKs): half a second
 * after the deadline, the queue pair is destroyed and the I/O ends. */
static void data_held_up(void **state)
{
	struct unic_kio_msg nothing = { .op = UNIC_KIO_ANSWER,
					.id = unic_to_le32(99) };
	uint32_t i;

	(void)state;
	start_write();
	for (i = 0; i < 14; i++) {
		deliver(&nothing);
		poll(100);
		not_yet();
	}
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	deliver(&nothing);
	poll(150);
	now_over(-ETIMEDOUT);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 1);
}

/* The NIC does not answer, but may still write: an I/O that it knows does not
 * end. An I/O that was not passed to the NIC ends in time. */
static void nic_hangs(void **state)
{
	static const uint32_t states[] = { UNIC_CTL_NIC_STARTING,
					   UNIC_CTL_NIC_DEAD,
					   UNIC_CTL_NIC_STARTING };
	uint32_t i;

	(void)state;
	start_read();
	upcall(0, UNIC_UP_RESET);
	for (i = 0; i < 3; i++) {
		nic = states[i];
		poll(0);
		start(&other, UNIC_KIO_READ);
		poll(2 * WHEN / MS);
		assert_int_equal(other.state, UNIC_KIO_DONE);
		not_yet();
		assert_int_equal(asked[UNIC_CTL_HELLO], 1);
	}
	nic = UNIC_CTL_NIC_READY;
	now_over(-ENOLINK);
	poll(1000);
	assert_true(node.up);
}

static void nic_leaves(void **state)
{
	(void)state;
	start_read();
	upcall(0, UNIC_UP_RESET);
	nic = UNIC_CTL_NIC_ABSENT;
	now_over(-ENOLINK);
}

static void nic_is_removed(void **state)
{
	(void)state;
	start_read();
	upcall(0, UNIC_UP_RESET);
	nic = UNIC_CTL_NIC_DEAD;
	not_yet();
	unic_kio_node_gone(&node);
	now_over(-ENODEV);
}

/* Upcalls were lost, so the service gives up its slot; the I/O ends when the
 * NIC has released the slot. */
static void begins_anew(void **state)
{
	(void)state;
	start_read();
	upcall(UNIC_UPCALLS, UNIC_UP_QP_ERROR);
	poll(2 * WHEN / MS);
	assert_true(leaves);
	not_yet();
	assert_int_equal(asked[UNIC_CTL_HELLO], 1);
	leaves = false;
	now_over(-ENOLINK);
	assert_int_equal(asked[UNIC_CTL_HELLO], 2);
}

/* Pages of others are theirs through any reset: what the NIC was not told of waits for
 * the next connection. */
static void what_waits_stays(void **state)
{
	(void)state;
	refuse[UNIC_CTL_QP_CREATE] = UNIC_CTL_ST_NO_MEMORY;
	start(&io, UNIC_KIO_READ);
	assert_int_equal(io.state, UNIC_KIO_QUEUED);
	upcall(0, UNIC_UP_RESET);
	not_yet();
	assert_int_equal(asked[UNIC_CTL_HELLO], 2);
	upcall(1 + UNIC_UPCALLS, UNIC_UP_QP_ERROR);
	poll(0);
	leaves = false;
	not_yet();
	assert_int_equal(asked[UNIC_CTL_HELLO], 3);
	refuse[UNIC_CTL_QP_CREATE] = 0;
	poll(100);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
}

/* ------------------------------------------------------------------ by RDMA */

/* The message that was posted last. */
static struct unic_kio_msg posted(void)
{
	const struct unic_sq_slot *slot = at_bus(unic_from_le64(qp.sq_iova));
	struct unic_kio_msg msg;
	uint32_t link = 0;

	while (node.conn[link].ipv4 != PEER)
		link++;
	slot += (node.ring.link[link].posted - 1) % UNIC_KIO_SLOTS;
	assert_int_equal(slot->opcode, UNIC_WR_SEND);
	memcpy(&msg, at_bus(unic_from_le64(slot->sge[0].iova)), sizeof(msg));
	return msg;
}

/* Starts an I/O whose region the peer may use. */
static void start_lent(uint8_t op)
{
	uint32_t regs = asked[UNIC_CTL_MR_REG];

	start(&io, op);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
	assert_int_equal(asked[UNIC_CTL_MR_REG], regs + 1);
	assert_int_equal(asked[UNIC_CTL_TOKEN_ALLOC], 0);
}

/* Answers @io with @len bytes moved. */
static void answer_io(uint32_t len)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER,
				    .how = UNIC_KIO_BY_RDMA,
				    .id = unic_to_le32(io.id),
				    .len = unic_to_le32(len) };

	deliver(&msg);
	poll(0);
}

/* The driver is asked for a region of the bytes of the I/O, with the one right that
 * its server needs; the server is told how to find it. */
static void region_of_one_io(void **state)
{
	static const uint8_t ops[] = { UNIC_KIO_READ, UNIC_KIO_WRITE };
	struct unic_kio_msg msg;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		over = 0;
		start_lent(ops[i]);
		assert_int_equal(connect.rights,
				 UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE);
		assert_int_equal(unic_from_le64(reg.r.va), PAGE);
		assert_int_equal(unic_from_le64(reg.r.iova), 0);
		assert_int_equal(unic_from_le64(reg.r.length), LEN);
		assert_int_equal(unic_from_le32(reg.r.pd), node.pd);
		assert_int_equal(reg.r.rights,
				 i ? UNIC_MR_REMOTE_READ
				   : UNIC_MR_LOCAL_WRITE |
						 UNIC_MR_REMOTE_WRITE);
		assert_int_equal(reg.r.mr_class, UNIC_CLASS_RDMA);
		assert_int_equal(reg.r.residency, UNIC_RESIDENT);
		assert_int_equal(reg.r.flags, UNIC_CTL_REG_RANDOM);
		assert_int_equal(reg.r.page_shift, 16);
		assert_int_equal(reg_tail, 8);
		assert_int_equal(unic_from_le64(reg.page[0]), PAGE & ~0xffffu);
		msg = posted();
		assert_int_equal(msg.how, UNIC_KIO_BY_RDMA);
		assert_int_equal(unic_from_le32(msg.token), 0x600);
		assert_int_equal(unic_from_le64(msg.key), IOVA);
		answer_io(LEN);
		assert_int_equal(asked[UNIC_CTL_MR_DEREG], i + 1);
		now_over(0);
	}
	assert_int_equal(asked[UNIC_CTL_TOKEN_CANCEL], 0);
}

/* The driver refuses to end the region, which the peer may still use, of an I/O that
 * is late, and of one that was answered: each ends when the region has. */
static void dereg_refused(void **state)
{
	static const uint16_t all[] = {
		UNIC_CTL_ST_NO_MEMORY, UNIC_ST_BUSY,	 UNIC_CTL_ST_TOO_MANY,
		UNIC_CTL_ST_NO_NIC,    UNIC_ST_NO_TOKEN, UNIC_CTL_ST_RESET
	};
	uint32_t i, k, n = 0;

	(void)state;
	for (k = 0; k < 2; k++) {
		over = 0;
		start_lent(k ? UNIC_KIO_READ : UNIC_KIO_WRITE);
		refuse[UNIC_CTL_MR_DEREG] = all[0];
		if (k)
			answer_io(LEN);
		else
			os.now_ns += WHEN;
		for (i = 0; i < 6; i++) {
			refuse[UNIC_CTL_MR_DEREG] = all[i];
			poll(LATER / MS);
			not_yet();
			assert_true(asked[UNIC_CTL_MR_DEREG] > n);
			n = asked[UNIC_CTL_MR_DEREG];
		}
		refuse[UNIC_CTL_MR_DEREG] = k ? 0 : UNIC_ST_NO_MR;
		poll(LATER / MS);
		now_over(k ? 0 : -ETIMEDOUT);
	}
}

/* The connection's end is not that of a region: its pages are the NIC's until the
 * driver has answered. */
static void region_outlives_its_connection(void **state)
{
	static const uint8_t ops[] = { UNIC_KIO_READ, UNIC_KIO_WRITE };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		over = 0;
		start(&io, ops[i]);
		poll(100); /* it connects, again */
		assert_int_equal(io.state, UNIC_KIO_ASKED);
		refuse[UNIC_CTL_MR_DEREG] = UNIC_CTL_ST_NO_MEMORY;
		upcall(i, UNIC_UP_QP_ERROR);
		poll(LATER / MS);
		assert_int_equal(asked[UNIC_CTL_QP_DESTROY], i + 1);
		not_yet();
		refuse[UNIC_CTL_MR_DEREG] = 0;
		poll(LATER / MS);
		now_over(-ENOLINK);
	}
}

/* ------------------------------------------------- a peer that does not get to run */

#define LONG  60000u /* ms that an I/O may take */
#define PING  1000u  /* ms without a message until the peer is asked for one */
#define PINGS 10u    /* in a row without an answer: the peer is gone */

/* As start_lent(), and there is time. */
static void start_patient(uint8_t op)
{
	start_lent(op);
	io.deadline_ns = os.now_ns + LONG * MS;
}

/* True if the last message posted can be answered at once, about nothing. */
static bool is_ping(void)
{
	struct unic_kio_msg msg = posted();

	return msg.op == UNIC_KIO_READ && !unic_from_le32(msg.len) &&
	       unic_from_le32(msg.id) != io.id && !msg.name_bytes;
}

/* What any live server says to a ping. */
static void answer_ping(void)
{
	struct unic_kio_msg msg = posted();

	msg.op = UNIC_KIO_ANSWER;
	msg.status = unic_to_le32(EINVAL);
	deliver(&msg);
	poll(0);
}

/* A server whose answer takes its time, but which is there: nothing is ended. */
static void slow_peer_is_waited_for(void **state)
{
	uint32_t i;

	(void)state;
	start_patient(UNIC_KIO_READ);
	for (i = 0; i < 2 * PINGS; i++) {
		poll(PING + 1);
		assert_true(is_ping());
		if (i % 2)
			answer_ping();
		not_yet();
	}
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	answer_io(LEN);
	now_over(0);
}

/* A peer that does not get to run for seconds, though its NIC acknowledges: the I/O is put
 * off. One that never runs again is gone. */
static void starved_peer_is_put_off(void **state)
{
	uint32_t i;

	(void)state;
	start_patient(UNIC_KIO_READ);
	for (i = 0; i < PINGS; i++) {
		assert_int_equal(node.ring.link[UNIC_KIO_OUT - 1].posted,
				 1 + i);
		poll(PING + 1);
		not_yet();
		assert_true(is_ping());
	}
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	poll(PING - 10);
	answer_io(LEN); /* at the last moment */
	now_over(0);
	over = 0;
	start_patient(UNIC_KIO_READ);
	for (i = 0; i < PINGS; i++)
		poll(PING + 1);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	poll(PING + 1);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 1);
	now_over(-ENOLINK);
}

/* This host stood still, not the peer: however long, the peer gets its time. */
static void own_stop_is_no_silence(void **state)
{
	(void)state;
	start_patient(UNIC_KIO_READ);
	poll(3 * PINGS * PING);
	not_yet();
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	assert_true(is_ping());
	answer_io(LEN);
	now_over(0);
}

/* Nothing was asked of the peer for a long time: its silence says nothing. */
static void idle_is_no_silence(void **state)
{
	(void)state;
	start_patient(UNIC_KIO_READ);
	answer_io(LEN);
	now_over(0);
	poll(3 * PINGS * PING);
	assert_true(unic_kio_node_poll(&node) > os.now_ns + 2 * PING * MS);
	os.now_ns += PINGS * PING * MS; /* without a poll */
	over = 0;
	start_patient(UNIC_KIO_READ);
	assert_false(is_ping());
	poll(PING - 1);
	assert_false(is_ping());
	answer_io(LEN);
	now_over(0);
	os.now_ns += PINGS * PING * MS;
	start(&other, UNIC_KIO_SYNC); /* asked at once, before a poll */
	assert_false(is_ping());
}

/* The I/O waits for entries: that is no silence of the peer, which was asked nothing. */
static void waiting_for_entries_is_no_silence(void **state)
{
	uint32_t i;

	(void)state;
	start(&other, UNIC_KIO_SYNC);
	assert_int_equal(node.ring.link[UNIC_KIO_OUT - 1].posted, 1);
	other.deadline_ns = os.now_ns;
	poll(1);
	assert_int_equal(other.state, UNIC_KIO_DONE);
	unanswered = UNIC_CTL_MR_REG;
	start(&io, UNIC_KIO_READ);
	io.deadline_ns = os.now_ns + LONG * MS;
	assert_int_equal(io.state, UNIC_KIO_TOKEN);
	for (i = 0; i < 2 * PINGS; i++)
		poll(PING + 1);
	not_yet();
	assert_int_equal(node.ring.link[UNIC_KIO_OUT - 1].posted, 1);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
}

/* ... nor is it if the driver takes its time to end the region: no other I/O of the
 * connection is hurt. */
static void waiting_for_the_end_of_a_region(void **state)
{
	uint32_t i;

	(void)state;
	start_lent(UNIC_KIO_READ);
	refuse[UNIC_CTL_MR_DEREG] = UNIC_CTL_ST_NO_MEMORY;
	poll(WHEN / MS);
	for (i = 0; i < 2 * PINGS; i++)
		poll(PING + 1);
	not_yet();
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	refuse[UNIC_CTL_MR_DEREG] = 0;
	poll(LATER / MS);
	now_over(-ETIMEDOUT);
}

/* The time of an I/O is over: the server is told to do nothing more for it, so the
 * connection goes on. */
static void late_io_is_given_up(void **state)
{
	struct unic_kio_msg msg;
	uint32_t id;

	(void)state;
	start_lent(UNIC_KIO_READ);
	id = io.id;
	poll(WHEN / MS);
	now_over(-ETIMEDOUT);
	msg = posted();
	assert_int_equal(msg.op, UNIC_KIO_DATA);
	assert_int_equal(msg.name_bytes, 0);
	assert_int_equal(unic_from_le32(msg.id), id);
	assert_int_equal(asked[UNIC_CTL_MR_DEREG], 1);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
}

/* Nobody answers CONNECT, for seconds: what waits is not refused, but waits on. A refusal
 * is one. */
static void no_answer_is_no_refusal(void **state)
{
	static const uint16_t all[] = { UNIC_CTL_ST_UNREACHABLE,
					UNIC_CTL_ST_REJECTED };
	uint32_t i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		refuse[UNIC_CTL_CONNECT] = all[k];
		begin(&io, UNIC_KIO_READ);
		io.deadline_ns = os.now_ns + LONG * MS;
		for (i = 0; i < 30 && !over; i++)
			poll(1300);
		assert_int_equal(over, k);
		if (k) {
			now_over(-ECONNREFUSED);
			break;
		}
		refuse[UNIC_CTL_CONNECT] = 0;
		poll(1300);
		assert_int_equal(io.state, UNIC_KIO_ASKED);
		answer_io(LEN);
		now_over(0);
		over = 0;
		upcall(0, UNIC_UP_QP_ERROR);
		poll(LATER / MS);
	}
}

#define PIECES (UNIC_KIO_GATHER + 1u) /* more than a work request has */

static bool token_only; /* of the next start_pieces() */

/* Begins @w, a WRITE of pieces of @len bytes, at pages, to host @ipv4. */
static void start_pieces_at(struct unic_kio *w, uint32_t len, uint32_t ipv4)
{
	uint32_t i;

	*w = (struct unic_kio){ .op = UNIC_KIO_WRITE,
				.name_bytes = 1,
				.name = "f",
				.len = PIECES * len,
				.pieces = PIECES,
				.token_only = token_only,
				.deadline_ns = os.now_ns + WHEN,
				.done = done };
	for (i = 0; i < PIECES; i++)
		w->piece[i] = (struct unic_token_piece){
			.bus = unic_to_le64(PAGE + i * 4096u),
			.len = unic_to_le32(len),
		};
	assert_int_equal(unic_kio_node_start(&node, w, ipv4), 0);
	poll(0);
}

static void start_pieces(struct unic_kio *w, uint32_t len)
{
	start_pieces_at(w, len, PEER);
}

/* It connects, and all forms are out. */
static void take_forms(void)
{
	start(&first, UNIC_KIO_SYNC);
	while (unic_kio_ring_form(&node.ring))
		;
}

/* Pieces that no region has go by token, from a form. With all forms out the WRITE
 * waits, and nobody looks all the time whether one has come back. */
static void a_form_is_waited_for(void **state)
{
	(void)state;
	take_forms();
	start_pieces(&io, 512);
	assert_int_equal(io.state, UNIC_KIO_QUEUED);
	assert_true(unic_kio_node_poll(&node) > os.now_ns);
	assert_int_equal(unic_kio_account_demand(&node), 0);
	unic_kio_ring_form_put(&node.ring, node.ring.form[3]);
	poll(0);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
	assert_int_equal(io.form, node.ring.form[3]);
}

/* The WRITE of one host ends in a poll, after another host, which waits for a form, was
 * polled: that one is looked at again at once. */
static void a_form_comes_back_for_another_host(void **state)
{
	uint64_t next;

	(void)state;
	take_forms();
	unic_kio_ring_form_put(&node.ring, node.ring.form[3]);
	token_only = true; /* of no account, whose window would open */
	start_pieces(&io, 512);
	assert_int_equal(io.form, node.ring.form[3]);
	start_pieces_at(&other, 512, PEER + 1);
	token_only = false;
	assert_int_equal(other.state, UNIC_KIO_QUEUED);
	other.deadline_ns = os.now_ns + 2 * WHEN;
	os.now_ns = io.deadline_ns;
	next = unic_kio_node_poll(&node);
	assert_int_equal(over, 1);
	assert_true(next <= os.now_ns);
	unic_kio_node_poll(&node);
	assert_int_equal(other.form, node.ring.form[3]);
}

/* The server answers @io with @status; by an old one, `how` is reserved. */
static void refuse_io(uint32_t status, uint8_t how)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER,
				    .how = how,
				    .id = unic_to_le32(io.id),
				    .status = unic_to_le32(status) };

	deliver(&msg);
	poll(0);
}

/* @io is not under way, and the next free form is its own. */
static void waits_for_a_form(void)
{
	uint32_t regs = asked[UNIC_CTL_MR_REG];

	not_yet();
	assert_int_equal(io.state, UNIC_KIO_QUEUED);
	assert_int_equal(node.account[1].busy, 0);
	assert_true(unic_kio_node_poll(&node) > os.now_ns);
	unic_kio_ring_form_put(&node.ring, node.ring.form[3]);
	poll(0);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
	assert_int_equal(io.how, UNIC_KIO_BY_TOKEN);
	assert_int_equal(io.form, node.ring.form[3]);
	assert_int_equal(node.account[1].busy, 1);
	assert_int_equal(asked[UNIC_CTL_MR_REG], regs);
}

/* @io ends, and its user begins it again: that it was by token is forgotten. */
static void begins_by_rdma_again(void)
{
	refuse_io(ENOSPC, 0);
	now_over(-EREMOTEIO);
	refuse[UNIC_CTL_MR_REG] = 0;
	assert_int_equal(unic_kio_node_start(&node, &io, PEER), 0);
	poll(0);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
	assert_int_equal(io.how, UNIC_KIO_BY_RDMA);
}

/* By RDMA a WRITE needs no form, of however many pieces. */
static void a_region_needs_no_form(void **state)
{
	(void)state;
	take_forms();
	start_pieces(&io, 4096);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
	assert_int_equal(io.how, UNIC_KIO_BY_RDMA);
	assert_int_equal(io.form, 0);
	answer_io(PIECES * 4096);
	now_over(0);
	assert_int_equal(node.ring.free_forms, 0);
}

/* ... until it goes by token, because there is no room for its region. */
static void no_room_and_no_form(void **state)
{
	(void)state;
	take_forms();
	refuse[UNIC_CTL_MR_REG] = UNIC_CTL_ST_NO_MEMORY;
	start_pieces(&io, 4096);
	start(&other, UNIC_KIO_SYNC); /* is behind it */
	assert_int_equal(other.state, UNIC_KIO_QUEUED);
	waits_for_a_form();
	assert_int_equal(other.state, UNIC_KIO_ASKED);
	assert_null(node.client[UNIC_KIO_OUT - 1].head);
	begins_by_rdma_again();
}

/* ... or because regions are taken back all the time. It comes before those that have not
 * begun. */
static void taken_back_and_no_form(void **state)
{
	uint32_t i;

	(void)state;
	take_forms();
	start_pieces(&io, 4096);
	start_pieces(&other, 512);
	assert_int_equal(other.state, UNIC_KIO_QUEUED);
	for (i = 0; i < UNIC_KIO_AGAIN; i++) {
		assert_int_equal(io.how, UNIC_KIO_BY_RDMA);
		refuse_io(ESTALE, UNIC_KIO_BY_RDMA);
	}
	waits_for_a_form();
	assert_int_equal(other.state, UNIC_KIO_QUEUED);
	begins_by_rdma_again();
}

/* ... or because the server is an old one. It ends in time. */
static void an_old_server_and_no_form(void **state)
{
	(void)state;
	take_forms();
	start_pieces(&io, 4096);
	refuse_io(EINVAL, 0);
	assert_int_equal(io.state, UNIC_KIO_QUEUED);
	poll(WHEN / MS);
	now_over(-ETIMEDOUT);
	assert_int_equal(node.ring.free_forms, 0);
	assert_int_equal(asked[UNIC_CTL_MR_DEREG], 1);
}

/* A WRITE that waits for the window of its user keeps no form from others. */
static void who_waits_has_no_form(void **state)
{
	uint32_t forms;

	(void)state;
	start_pieces(&other, 512);
	forms = node.ring.free_forms;
	node.account[1].window = node.account[1].busy;
	node.account[1].window_ns = os.now_ns;
	start_pieces(&io, 512);
	assert_int_equal(io.state, UNIC_KIO_QUEUED);
	assert_int_equal(node.ring.free_forms, forms);
}

/* MR_REG is answered RESET, but there was no reset: the NIC may have a region, whose
 * number nobody knows. The I/O ends when the slot has, in which it would be. */
static void region_that_nobody_knows(void **state)
{
	(void)state;
	refuse[UNIC_CTL_MR_REG] = UNIC_CTL_ST_RESET;
	start(&io, UNIC_KIO_READ);
	assert_true(leaves);
	refuse[UNIC_CTL_MR_REG] = 0;
	poll(2 * WHEN / MS);
	not_yet();
	assert_int_equal(asked[UNIC_CTL_HELLO], 1);
	leaves = false;
	now_over(-ENOLINK);
	assert_int_equal(asked[UNIC_CTL_HELLO], 2);
}

/* MR_REG is answered RESET, and there was one: the I/O ends when it is certain that the
 * NIC has let go, and the slot is kept. */
static void reset_at_a_registration(void **state)
{
	(void)state;
	refuse[UNIC_CTL_MR_REG] = UNIC_CTL_ST_RESET;
	nic = UNIC_CTL_NIC_STARTING;
	upcall(0, UNIC_UP_RESET);
	start(&io, UNIC_KIO_READ);
	refuse[UNIC_CTL_MR_REG] = 0;
	poll(2 * WHEN / MS);
	assert_false(leaves);
	assert_false(node.unsure);
	nic = UNIC_CTL_NIC_READY;
	poll(1000);
	assert_true(node.up);
	assert_int_equal(over, 1);
	assert_true(why);
}

/* The same, but so many answers are there that the upcall waits for the next call. */
static void reset_behind_many_answers(void **state)
{
	struct unic_ctl_hdr old = { .op = unic_to_le16(UNIC_CTL_MR_REG),
				    .seq = unic_to_le32(UINT32_MAX) };
	uint64_t rec[UNIC_REC_WORDS] = { 0 };
	uint32_t i;

	(void)state;
	start(&other, UNIC_KIO_SYNC); /* it connects */
	refuse[UNIC_CTL_MR_REG] = UNIC_CTL_ST_RESET;
	begin(&io, UNIC_KIO_READ);
	unic_kio_node_poll(&node);
	memcpy(rec, &old, sizeof(old));
	for (i = 1; i < UNIC_KIO_REPLIES; i++)
		unic_kio_node_reply(&node, rec, sizeof(rec));
	nic = UNIC_CTL_NIC_STARTING;
	upcall(0, UNIC_UP_RESET);
	unic_kio_node_poll(&node);
	assert_true(node.unsure);
	poll(0);
	assert_false(leaves);
	assert_false(node.unsure);
}

/* A NIC that is not answering has the region: no I/O ends by a reset that was not. */
static void nic_hangs_with_a_region(void **state)
{
	(void)state;
	start_lent(UNIC_KIO_READ);
	upcall(0, UNIC_UP_RESET);
	nic = UNIC_CTL_NIC_DEAD;
	poll(2 * WHEN / MS);
	not_yet();
	nic = UNIC_CTL_NIC_READY;
	now_over(-ENOLINK);
	poll(1000);
	assert_true(node.up);
	assert_int_equal(asked[UNIC_CTL_HELLO], 2);
}

/* A NIC that keeps no accounts: all goes by token, which is said once; also what was
 * started before, at a NIC that could. */
static void nic_without_accounts(void **state)
{
	(void)state;
	refuse[UNIC_CTL_QP_CREATE] = UNIC_CTL_ST_NO_MEMORY;
	start(&io, UNIC_KIO_READ);
	assert_true(io.whole);
	features = UNIC_FEAT_PHYSICAL;
	upcall(0, UNIC_UP_RESET);
	poll(0);
	refuse[UNIC_CTL_QP_CREATE] = 0;
	poll(100);
	assert_int_equal(said, 1);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
	assert_int_equal(io.how, UNIC_KIO_BY_TOKEN);
	assert_int_equal(asked[UNIC_CTL_MR_REG], 2); /* of the service itself */
	assert_int_equal(connect.rights, 0);
	assert_int_equal(node.client[UNIC_KIO_OUT - 1].in_window, 1);
	upcall(1, UNIC_UP_RESET);
	poll(100);
	now_over(-ENOLINK);
	assert_int_equal(said, 1);
	features |= UNIC_FEAT_ACCOUNTS;
	upcall(2, UNIC_UP_RESET);
	poll(100);
	over = 0;
	start(&io, UNIC_KIO_READ);
	poll(100);
	assert_int_equal(io.state, UNIC_KIO_ASKED);
	assert_int_equal(io.how, UNIC_KIO_BY_RDMA);
}

/* ------------------------------------------------ by RDMA, for users and peers */

/* A buffer keeps nothing of an earlier I/O where the other host may write, or say that
 * it has written; what is to be sent stays as it is. */
static void buffers_are_zeroed(void **state)
{
	struct unic_kio_user *user;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 3; i++) {
		user = unic_kio_user_get(&node);
		assert_non_null(user);
		memset(user->buf, 0xa5, UNIC_KIO_MAX);
		user->io = (struct unic_kio){
			.op = i ? i == 1 ? UNIC_KIO_LIST : UNIC_KIO_WRITE
				: UNIC_KIO_READ,
			.len = LEN,
			.deadline_ns = os.now_ns + WHEN,
		};
		assert_int_equal(unic_kio_user_start(user, PEER), 0);
		assert_int_equal(user->io.clean, i < 2);
		for (k = 0; k < UNIC_KIO_MAX; k++)
			assert_int_equal(((uint8_t *)user->buf)[k],
					 i < 2 && k < LEN ? 0 : 0xa5);
	}
	poll(0);
	assert_int_equal(node.client[UNIC_KIO_OUT - 1].by_rdma, 3);
	assert_int_equal(unic_from_le64(reg.r.va),
			 unic_from_le64(user->io.piece[0].bus));
}

static void nothing_is_zeroed_for_tokens(void **state)
{
	struct unic_kio_user *user;

	(void)state;
	node.rdma = false;
	user = unic_kio_user_get(&node);
	memset(user->buf, 0xa5, UNIC_KIO_MAX);
	user->io = (struct unic_kio){ .op = UNIC_KIO_READ,
				      .len = LEN,
				      .deadline_ns = os.now_ns + WHEN };
	assert_int_equal(unic_kio_user_start(user, PEER), 0);
	assert_false(user->io.clean);
	assert_int_equal(*(uint8_t *)user->buf, 0xa5);
}

static void user_over(struct unic_kio_user *user, int status, uint32_t bytes)
{
	(void)bytes;
	over++;
	why = status;
	assert_in_range((uint8_t *)user->buf - node.ring.mem, 0, BIG);
	unic_kio_user_put(user);
}

#define WAITING 3u /* users */

/* WRITEs of users wait for a connection, in buffers of theirs. */
static void users_wait(void)
{
	uint32_t i;

	node.done = user_over;
	refuse[UNIC_CTL_QP_CREATE] = UNIC_CTL_ST_NO_MEMORY;
	for (i = 0; i < WAITING; i++) {
		struct unic_kio_user *user = unic_kio_user_get(&node);

		user->io = (struct unic_kio){ .op = UNIC_KIO_WRITE,
					      .len = LEN,
					      .deadline_ns = os.now_ns + WHEN };
		assert_int_equal(unic_kio_user_start(user, PEER), 0);
	}
	poll(0);
	assert_int_equal(over, 0);
}

/* No buffer of the ring that begins anew is one of an earlier I/O. */
static void no_buffer_is_taken(uint32_t hellos)
{
	uint32_t i;

	poll(0);
	assert_true(node.up);
	assert_int_equal(asked[UNIC_CTL_HELLO], hellos);
	assert_int_equal(over, WAITING);
	assert_int_equal(why, -ENOLINK);
	for (i = 0; i < UNIC_KIO_OUT; i++)
		assert_null(node.client[i].head);
	for (i = 0; i < UNIC_KIO_USERS; i++)
		assert_false(node.user[i].used);
	assert_int_equal(node.ring.free, UINT32_MAX);
	poll(2 * WHEN / MS);
	assert_int_equal(over, WAITING);
}

/* The NIC is reset: buffers are free then, and what waited with one would send what
 * another user has put there. */
static void buffers_end_with_a_reset(void **state)
{
	(void)state;
	users_wait();
	upcall(0, UNIC_UP_RESET);
	no_buffer_is_taken(2);
}

/* The service gets another slot, and the buffers of the old one become memory of some
 * process. */
static void buffers_end_with_their_slot(void **state)
{
	uint8_t *other_slot = aligned_alloc(4096, BIG);

	(void)state;
	memset(other_slot, 0, BIG);
	slot_mem[1] = other_slot;
	users_wait();
	next_slot = 1;
	upcall(UNIC_UPCALLS, UNIC_UP_QP_ERROR);
	no_buffer_is_taken(2);
	assert_ptr_equal(node.ring.slot_mem, other_slot);
	slot_mem[1] = NULL;
	free(other_slot);
}

/* The peer asks for @len bytes by RDMA. */
static void ask_len(uint8_t op, uint32_t len)
{
	struct unic_kio_msg msg = { .op = op,
				    .how = UNIC_KIO_BY_RDMA,
				    .name_bytes = 1,
				    .id = unic_to_le32(3),
				    .len = unic_to_le32(len),
				    .key = unic_to_le64(IOVA),
				    .token = unic_to_le32(0x600) };

	deliver(&msg);
	poll(0);
}

static void ask_again(uint8_t op)
{
	ask_len(op, LEN);
}

/* A peer connects, and asks for LEN bytes by RDMA. */
static void peer_asks(uint8_t op)
{
	struct unic_upcall_conn up = { .hdr = { .seq = unic_to_le32(1),
						.type = UNIC_UP_CONN_REQUEST,
						.id = unic_to_le32(44) },
				       .peer_ipv4 = unic_to_le32(PEER) };
	struct unic_upcall_ring *ring =
		(void *)(big_slot + UNIC_SLOT_UPCALL_PAGE * 4096);

	memcpy(ring->record[0], &up, sizeof(up));
	poll(0);
	assert_int_equal(node.conn[UNIC_KIO_OUT].state, UNIC_KIO_C_UP);
	ask_again(op);
}

/* The last request that was posted for the peer. */
static const struct unic_sq_slot *for_peer(void)
{
	const struct unic_sq_slot *slot = at_bus(unic_from_le64(qp.sq_iova));

	return &slot[(node.ring.link[UNIC_KIO_OUT].posted - 1) %
		     UNIC_KIO_SLOTS];
}

static struct unic_kio_msg answer_to_peer(void)
{
	struct unic_kio_msg msg;

	poll(0);
	assert_int_equal(for_peer()->opcode, UNIC_WR_SEND);
	memcpy(&msg, at_bus(unic_from_le64(for_peer()->sge[0].iova)),
	       sizeof(msg));
	assert_int_equal(msg.op, UNIC_KIO_ANSWER);
	return msg;
}

static void move_done(uint8_t status)
{
	complete((struct unic_cqe){ .wr_id = for_peer()->wr_id,
				    .opcode = UNIC_WC_WRITE,
				    .status = status });
	poll(0);
}

static void peer_has_its_bytes_written(void **state)
{
	const struct unic_sq_slot *s;
	const uint8_t *from;

	(void)state;
	peer_asks(UNIC_KIO_READ);
	assert_int_equal(connect.rights, 0); /* of the queue pair of a server */
	s = for_peer();
	assert_int_equal(s->opcode, UNIC_WR_WRITE);
	assert_int_equal(unic_from_le64(s->remote), IOVA);
	assert_int_equal(unic_from_le32(s->rkey), 0x600);
	assert_int_equal(unic_from_le32(s->sge[0].len), LEN);
	from = at_bus(unic_from_le64(s->sge[0].iova));
	assert_int_equal(from[0], 0x77);
	assert_int_equal(from[LEN - 1], 0x77);
	move_done(UNIC_WC_SUCCESS);
	assert_int_equal(unic_from_le32(answer_to_peer().status), 0);
	assert_int_equal(unic_from_le32(answer_to_peer().len), LEN);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
}

/* What was taken back is told; the connection goes on. */
static void peer_has_taken_it_back(void **state)
{
	(void)state;
	peer_asks(UNIC_KIO_WRITE);
	assert_int_equal(for_peer()->opcode, UNIC_WR_READ);
	assert_false(queued);
	move_done(UNIC_WC_REM_EVICTED);
	assert_int_equal(unic_from_le32(answer_to_peer().status), ESTALE);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	assert_int_equal(node.conn[UNIC_KIO_OUT].state, UNIC_KIO_C_UP);
}

/* Any other end of it is one of the connection, and nothing is stored. */
static void peer_has_not_lent_it(void **state)
{
	(void)state;
	peer_asks(UNIC_KIO_WRITE);
	move_done(UNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 1);
	assert_false(queued);
	assert_int_equal(task.op, 0);
}

/* A peer may hold the data up as long as nobody else needs the buffer: then it loses the
 * connection, after a while. */
static void peer_holds_it_up(void **state)
{
	uint32_t free_before, i;

	(void)state;
	free_before = node.ring.free;
	peer_asks(UNIC_KIO_READ);
	for (i = 0; i < 20; i++)
		poll(1900); /* it is starved: its data is put off */
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	node.buf_wanted = 1u << UNIC_KIO_OUT; /* by the same connection */
	unic_kio_node_poll(&node);
	unic_kio_node_poll(&node);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	node.buf_wanted = 2u << UNIC_KIO_OUT;
	refuse[UNIC_CTL_QP_DESTROY] = UNIC_CTL_ST_NO_MEMORY;
	poll(LATER / MS);
	assert_true(asked[UNIC_CTL_QP_DESTROY] > 0);
	assert_true(node.ring.free != free_before); /* the NIC may read it */
	refuse[UNIC_CTL_QP_DESTROY] = 0;
	poll(LATER / MS);
	assert_int_equal(node.ring.free, free_before);
}

/* Nobody loses a connection for a buffer before the peer has had its time. */
static void peer_has_its_time(void **state)
{
	(void)state;
	peer_asks(UNIC_KIO_READ);
	poll(1900);
	node.buf_wanted = 2u << UNIC_KIO_OUT;
	poll(0);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
}

/* A job that finds no buffer says so, for those of others. */
static void who_waits_for_a_buffer_is_seen(void **state)
{
	(void)state;
	node.ring.free = 0;
	peer_asks(UNIC_KIO_READ);
	assert_int_equal(node.conn[UNIC_KIO_OUT].state, UNIC_KIO_C_UP);
	assert_int_equal(node.buf_wanted, 1u << UNIC_KIO_OUT);
	node.ring.free = UINT32_MAX;
	poll(LATER / MS);
	assert_int_equal(node.buf_wanted, 0);
}

/* The peer gives the request up. */
static void peer_gives_up(void)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA,
				    .id = unic_to_le32(3) };

	deliver(&msg);
	poll(0);
}

/* Nothing was posted since @posts, no buffer is kept, and the connection is there. */
static void nothing_is_done_for_it(uint32_t posts)
{
	uint32_t i;

	assert_int_equal(node.ring.link[UNIC_KIO_OUT].posted, posts);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 0);
	assert_int_equal(node.ring.free, UINT32_MAX);
	for (i = 0; i < UNIC_KIO_JOBS; i++)
		assert_int_equal(node.server[0].job[i].state,
				 UNIC_KIO_JOB_FREE);
}

/* What a peer has given up is not done any more, wherever it is: waiting for a buffer, in
 * the store, or under way. So its region may end, and the connection goes on. */
static void given_up_is_not_done(void **state)
{
	uint32_t posts;

	(void)state;
	node.ring.free = 0;
	peer_asks(UNIC_KIO_WRITE);
	peer_gives_up();
	node.ring.free = UINT32_MAX;
	poll(LATER / MS);
	nothing_is_done_for_it(0);
	slow = true;
	ask_again(UNIC_KIO_READ);
	assert_true(queued);
	peer_gives_up();
	slow = false;
	poll(LATER / MS);
	nothing_is_done_for_it(0);
	ask_again(UNIC_KIO_WRITE);
	posts = node.ring.link[UNIC_KIO_OUT].posted;
	assert_int_equal(for_peer()->opcode, UNIC_WR_READ);
	task.op = 0;
	peer_gives_up();
	move_done(UNIC_WC_SUCCESS);
	nothing_is_done_for_it(posts);
	assert_int_equal(task.op, 0);
	ask_again(UNIC_KIO_READ); /* the next one is done */
	assert_int_equal(for_peer()->opcode, UNIC_WR_WRITE);
}

/* A ping is answered without the store. */
static void ping_is_answered(void **state)
{
	(void)state;
	slow = true;
	peer_asks(UNIC_KIO_WRITE);
	ask_len(UNIC_KIO_READ, 0);
	assert_int_equal(unic_from_le32(answer_to_peer().status), EINVAL);
}

/* -------------------------------------------------------------- other hosts */

/* The next upcall, about connection or object @id, of @ipv4. */
static void tell(uint8_t type, uint32_t id, uint32_t ipv4)
{
	uint8_t *slot = big_slot ? big_slot : slot_pages[0];
	struct unic_upcall_ring *ring =
		(void *)(slot + UNIC_SLOT_UPCALL_PAGE * 4096);
	struct unic_upcall_conn up = { .hdr = { .seq = unic_to_le32(
							node.upcall + 1),
						.type = type,
						.id = unic_to_le32(id) },
				       .peer_ipv4 = unic_to_le32(ipv4) };

	memcpy(ring->record[node.upcall % UNIC_UPCALLS], &up, sizeof(up));
	poll(0);
}

/* The driver answers the request that it kept. */
static void answer_kept(uint16_t status)
{
	uint64_t rec[UNIC_REC_WORDS];

	unanswered = 0;
	answer(unic_from_le16(kept.op), rec);
	kept.status = unic_to_le16(status);
	memcpy(rec, &kept, sizeof(kept));
	unic_kio_node_reply(&node, rec, sizeof(rec));
	poll(0);
}

static uint32_t incoming(enum unic_kio_conn_state state)
{
	uint32_t i, n = 0;

	for (i = UNIC_KIO_OUT; i < UNIC_KIO_LINKS; i++)
		n += node.conn[i].state == state;
	return n;
}

/* Only hosts of the networks that are allowed connect; a network of no bits is all. */
static void hosts_that_may_connect(void **state)
{
	static struct unic_kio_net nets[] = { { 0x0a010000, 16 },
					      { 0x0a000002, 32 } };

	(void)state;
	node.config.allow = nets;
	node.config.allows = 2;
	tell(UNIC_UP_CONN_REQUEST, 50, 0x0a020001);
	assert_int_equal(asked[UNIC_CTL_REJECT], 1);
	assert_int_equal(incoming(UNIC_KIO_C_FREE), UNIC_KIO_IN);
	tell(UNIC_UP_CONN_REQUEST, 51, 0x0a01ffff);
	tell(UNIC_UP_CONN_REQUEST, 52, 0x0a000002);
	assert_int_equal(incoming(UNIC_KIO_C_UP), 2);
	nets[1].bits = 0;
	tell(UNIC_UP_CONN_REQUEST, 53, 0x0a020001);
	assert_int_equal(incoming(UNIC_KIO_C_UP), 3);
	assert_int_equal(asked[UNIC_CTL_REJECT], 1);
}

/* A host has one connection: a new request ends the old one first. */
static void host_connects_again(void **state)
{
	(void)state;
	tell(UNIC_UP_CONN_REQUEST, 50, PEER);
	assert_int_equal(incoming(UNIC_KIO_C_UP), 1);
	tell(UNIC_UP_CONN_REQUEST, 51, PEER);
	poll(0);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 1);
	assert_int_equal(incoming(UNIC_KIO_C_UP), 1);
	assert_int_equal(node.conn[UNIC_KIO_OUT + 1].id, 51);
}

/* All places are taken: a new host is refused, and finds the place of the one that was
 * silent the longest when it comes again. */
static void no_place_for_a_host(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < UNIC_KIO_IN; i++) {
		tell(UNIC_UP_CONN_REQUEST, 50 + i, PEER + i);
		poll(1);
	}
	assert_int_equal(incoming(UNIC_KIO_C_UP), UNIC_KIO_IN);
	for (k = 0; k < 2; k++) {
		tell(UNIC_UP_CONN_REQUEST, 60, PEER + 20 + k);
		assert_int_equal(asked[UNIC_CTL_REJECT], k + 1);
		poll(1);
		assert_int_equal(asked[UNIC_CTL_QP_DESTROY], k + 1);
		tell(UNIC_UP_CONN_REQUEST, 61, PEER + 20 + k);
		assert_int_equal(incoming(UNIC_KIO_C_UP), UNIC_KIO_IN);
		assert_int_equal(node.conn[UNIC_KIO_OUT + k].ipv4,
				 PEER + 20 + k);
	}
	/* none is up: nobody makes room */
	unanswered = UNIC_CTL_QP_DESTROY;
	for (i = 0; i < UNIC_KIO_IN; i++)
		tell(UNIC_UP_DISCONNECTED, 61, 0);
	for (i = UNIC_KIO_OUT; i < UNIC_KIO_LINKS; i++)
		tell(UNIC_UP_DISCONNECTED, node.conn[i].id, 0);
	tell(UNIC_UP_CONN_REQUEST, 62, PEER + 30);
	assert_int_equal(asked[UNIC_CTL_REJECT], 3);
	assert_int_equal(incoming(UNIC_KIO_C_DOWN), UNIC_KIO_IN);
}

static void ask_host(struct unic_kio *i, uint32_t ipv4, int want)
{
	*i = (struct unic_kio){
		.op = UNIC_KIO_SYNC,
		.name_bytes = 1,
		.name = "f",
		.deadline_ns = os.now_ns + WHEN,
		.clean = true,
		.done = done,
	};
	assert_int_equal(unic_kio_node_start(&node, i, ipv4), want);
	poll(0);
}

/* Connections to other hosts: a place is taken of one that waits for nothing; else one
 * that is up and idle ends, and its place is there the next time. */
static void places_for_other_hosts(void **state)
{
	static struct unic_kio more[UNIC_KIO_OUT];
	uint32_t i;
	int place;

	(void)state;
	start_lent(UNIC_KIO_READ);
	answer_io(LEN);
	now_over(0);
	place = unic_kio_link_of(&node, PEER);
	assert_int_equal(node.conn[place].state, UNIC_KIO_C_UP);
	for (i = 1; i < UNIC_KIO_OUT; i++)
		assert_int_not_equal(unic_kio_link_of(&node, PEER + i), place);
	/* nothing waits for them */
	i = (uint32_t)unic_kio_link_of(&node, PEER + 9);
	assert_true(i < UNIC_KIO_OUT && i != (uint32_t)place);
	assert_int_equal(unic_kio_link_of(&node, PEER + 9), i);
	refuse[UNIC_CTL_QP_CREATE] = UNIC_CTL_ST_NO_MEMORY;
	for (i = 1; i < UNIC_KIO_OUT; i++)
		ask_host(&more[i], PEER + i, 0);
	ask_host(&more[0], PEER + 9, -EBUSY);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 1);
	ask_host(&more[0], PEER + 9, 0);
	assert_int_equal(node.conn[place].ipv4, PEER + 9);
	ask_host(&other, PEER, -EBUSY);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 1);
}

/* Why there is no connection to a host. */
static void status_of_a_host(void **state)
{
	(void)state;
	assert_int_equal(unic_kio_node_status(&node, PEER), 0);
	refuse[UNIC_CTL_CONNECT] = UNIC_CTL_ST_UNREACHABLE;
	start(&io, UNIC_KIO_READ);
	assert_int_equal(unic_kio_node_status(&node, PEER),
			 UNIC_CTL_ST_UNREACHABLE);
	assert_int_equal(unic_kio_node_status(&node, PEER + 1), 0);
	/* a peer that is not unic */
	refuse[UNIC_CTL_CONNECT] = 0;
	vendor = 0;
	poll(100);
	assert_int_equal(unic_kio_node_status(&node, PEER),
			 UNIC_CTL_ST_UNSUPPORTED);
	vendor = 1;
	poll(500);
	assert_int_equal(unic_kio_node_status(&node, PEER), 0);
	assert_int_equal(node.conn[unic_kio_link_of(&node, PEER)].state,
			 UNIC_KIO_C_UP);
	unic_kio_node_gone(&node);
	assert_int_equal(unic_kio_node_status(&node, PEER), UNIC_CTL_ST_NO_NIC);
	node.why = UNIC_CTL_ST_NO_MEMORY;
	assert_int_equal(unic_kio_node_status(&node, PEER),
			 UNIC_CTL_ST_NO_MEMORY);
}

/* A connection that ends while a request about it is open: it goes when that is
 * answered. */
static void ends_before_the_answer(void **state)
{
	static const uint16_t ops[] = { UNIC_CTL_QP_CREATE, UNIC_CTL_ACCEPT };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		unanswered = ops[i];
		tell(UNIC_UP_CONN_REQUEST, 50 + i, PEER);
		tell(UNIC_UP_DISCONNECTED, 50 + i, 0);
		assert_int_equal(asked[UNIC_CTL_QP_DESTROY], i);
		answer_kept(0);
		poll(0);
		assert_int_equal(asked[UNIC_CTL_QP_DESTROY], i + 1);
		assert_int_equal(incoming(UNIC_KIO_C_FREE), UNIC_KIO_IN);
	}
	/* a queue pair that is gone already need not be destroyed */
	tell(UNIC_UP_CONN_REQUEST, 52, PEER);
	refuse[UNIC_CTL_QP_DESTROY] = UNIC_ST_NO_QP;
	tell(UNIC_UP_DISCONNECTED, 52, 0);
	poll(0);
	assert_int_equal(incoming(UNIC_KIO_C_FREE), UNIC_KIO_IN);
	/* twice: once */
	unanswered = UNIC_CTL_QP_DESTROY;
	tell(UNIC_UP_CONN_REQUEST, 53, PEER);
	tell(UNIC_UP_DISCONNECTED, 53, 0);
	tell(UNIC_UP_DISCONNECTED, 53, 0);
	assert_int_equal(asked[UNIC_CTL_QP_DESTROY], 4);
}

/* Events of a kind that takes the slot down, and of kinds that are not the service's. */
static void events_of_queues(void **state)
{
	static const uint8_t types[] = { UNIC_UP_CQ_ERROR, UNIC_UP_DB_ERROR };
	uint32_t i;

	(void)state;
	tell(UNIC_UP_NOTICE, 1, 0);
	tell(UNIC_UP_TOKEN_END, 1, 0);
	assert_true(node.up);
	for (i = 0; i < 2; i++) {
		tell(types[i], 5, 0);
		assert_int_equal(asked[UNIC_CTL_HELLO], i + 1);
		leaves = false;
		poll(1);
		assert_int_equal(asked[UNIC_CTL_HELLO], i + 2);
		poll(1);
		assert_true(node.up);
	}
}

/* A message that is longer or shorter than any ends its connection. */
static void message_of_another_length(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		over = 0;
		start(&io, UNIC_KIO_WRITE);
		poll(100); /* again */
		assert_int_equal(io.state, UNIC_KIO_ASKED);
		msg.name_bytes = i ? 1000 : 1;
		received = i ? 0 : received;
		deliver(&msg);
		now_over(-ENOLINK);
		assert_int_equal(asked[UNIC_CTL_QP_DESTROY], i + 1);
	}
}

/* So many requests are open that no other is sent. */
static void requests_without_room(void **state)
{
	static const struct unic_kio_net nobody = { 0x7f000001, 32 };
	uint32_t i;

	(void)state;
	node.config.allow = &nobody;
	node.config.allows = 1;
	unanswered = UNIC_CTL_REJECT;
	for (i = 0; i < UNIC_KIO_ASKS + 3; i++)
		tell(UNIC_UP_CONN_REQUEST, 50 + i, PEER);
	assert_int_equal(asked[UNIC_CTL_REJECT], UNIC_KIO_ASKS);
}

/* ------------------------------------------------------------------- set-up */

/* A service that begins anew over the same driver. */
static void init_again(void)
{
	struct unic_kio_config config = node.config;

	completions = received = 0;
	memset(big_slot ? big_slot : slot_pages[0], 0, 4096 * 3);
	unic_kio_node_init(&node, &config);
	unic_kio_node_want(&node);
	poll(0);
}

/* A device that cannot serve: said once, looked for again. */
static void device_without_physical_regions(void **state)
{
	uint32_t hellos = asked[UNIC_CTL_HELLO];

	(void)state;
	features = 0;
	init_again();
	assert_false(node.up);
	poll(5000);
	assert_int_equal(unic_kio_node_status(&node, PEER),
			 UNIC_CTL_ST_UNSUPPORTED);
	assert_int_equal(asked[UNIC_CTL_HELLO], hellos);
	features = UNIC_FEAT_PHYSICAL;
	poll(5000);
	assert_true(node.up);
}

static void slots_that_are_too_small(void **state)
{
	uint32_t hellos = asked[UNIC_CTL_HELLO];

	(void)state;
	node.config.slot_bytes = 1u << 16;
	init_again();
	poll(5000);
	assert_false(node.up);
	assert_int_equal(unic_kio_node_status(&node, PEER),
			 UNIC_CTL_ST_UNSUPPORTED);
	assert_int_equal(asked[UNIC_CTL_HELLO], hellos);
}

/* Each step of the set-up is refused for a while. */
static void steps_that_are_refused(void **state)
{
	static const uint16_t ops[] = { UNIC_CTL_HELLO, UNIC_CTL_PD_ALLOC,
					UNIC_CTL_MR_REG, UNIC_CTL_MR_ALLOC,
					UNIC_CTL_CQ_CREATE };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		refuse[ops[i]] = UNIC_CTL_ST_NO_MEMORY;
		init_again();
		poll(5000);
		assert_false(node.up);
		assert_int_equal(unic_kio_node_status(&node, PEER),
				 UNIC_CTL_ST_NO_MEMORY);
		refuse[ops[i]] = 0;
		poll(5000);
		assert_true(node.up);
		assert_int_equal(node.why, 0);
	}
}

/* -------------------------------------------------------------------- users */

static void places_for_users(void **state)
{
	struct unic_kio_user *user[UNIC_KIO_USERS];
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_KIO_USERS; i++) {
		user[i] = unic_kio_user_get(&node);
		assert_non_null(user[i]);
	}
	assert_null(unic_kio_user_get(&node));
	unic_kio_user_put(user[3]);
	while (unic_kio_ring_get(&node.ring))
		;
	assert_null(unic_kio_user_get(&node));
	unic_kio_user_put(user[4]);
	assert_ptr_equal(unic_kio_user_get(&node), user[3]);
	node.up = false;
	unic_kio_user_put(user[5]);
	assert_null(unic_kio_user_get(&node));
}

/* Bytes of an earlier I/O are gone from the buffer of what is read, and of names. */
static void names_are_zeroed(void **state)
{
	struct unic_kio_user *user;

	(void)state;
	user = unic_kio_user_get(&node);
	memset(user->buf, 0xa5, UNIC_KIO_MAX);
	user->io = (struct unic_kio){ .op = UNIC_KIO_LIST,
				      .len = LEN,
				      .deadline_ns = os.now_ns + WHEN };
	assert_int_equal(unic_kio_user_start(user, PEER), 0);
	assert_true(user->io.clean);
	assert_int_equal(*(uint8_t *)user->buf, 0);
}

/* What is gathered in the slot has few pieces. */
static void too_many_pieces(void **state)
{
	(void)state;
	io = (struct unic_kio){ .op = UNIC_KIO_WRITE,
				.pieces = UNIC_KIO_GATHER + 1 };
	assert_int_equal(unic_kio_node_start(&node, &io, PEER), -EINVAL);
}

/* What I/Os by token can use, of the hosts that they go to. */
static void demand_by_token(void **state)
{
	(void)state;
	assert_int_equal(unic_kio_node_demand(&node), 0);
	refuse[UNIC_CTL_QP_CREATE] = UNIC_CTL_ST_NO_MEMORY;
	start(&io, UNIC_KIO_READ);
	assert_true(unic_kio_node_demand(&node) >= LEN);
}

/* ------------------------------------------------------- a peer that has tokens */

/* The peer asks for, or has, LEN bytes that go by token. */
static void ask_by_token(uint8_t op)
{
	struct unic_kio_msg msg = { .op = op,
				    .name_bytes = 1,
				    .id = unic_to_le32(3),
				    .len = unic_to_le32(LEN),
				    .key = unic_to_le64(99),
				    .token = unic_to_le32(98) };

	deliver(&msg);
	poll(0);
}

static void peer_has_its_bytes_by_token(void **state)
{
	const struct unic_sq_slot *s;

	(void)state;
	tell(UNIC_UP_CONN_REQUEST, 44, PEER);
	ask_by_token(UNIC_KIO_READ);
	s = for_peer();
	assert_int_equal(s->opcode, UNIC_WR_TOKEN);
	assert_int_equal(unic_from_le64(s->remote), 99);
	assert_int_equal(unic_from_le32(s->rkey), 98);
}

/* A WRITE by token: the server makes a token of a buffer of its own, and takes it back
 * when the peer is gone. */
static void peer_writes_by_token(void **state)
{
	struct unic_kio_msg msg;

	(void)state;
	tell(UNIC_UP_CONN_REQUEST, 44, PEER);
	ask_by_token(UNIC_KIO_WRITE);
	assert_int_equal(asked[UNIC_CTL_TOKEN_ALLOC], 1);
	assert_int_equal(for_peer()->opcode, UNIC_WR_SEND);
	memcpy(&msg, at_bus(unic_from_le64(for_peer()->sge[0].iova)),
	       sizeof(msg));
	assert_int_equal(msg.op, UNIC_KIO_GRANT);
	assert_int_equal(unic_from_le32(msg.token), 8);
	refuse[UNIC_CTL_TOKEN_CANCEL] = UNIC_CTL_ST_NO_MEMORY;
	tell(UNIC_UP_DISCONNECTED, 44, 0);
	poll(LATER / MS);
	assert_true(asked[UNIC_CTL_TOKEN_CANCEL] > 0);
	assert_int_equal(incoming(UNIC_KIO_C_DRAIN), 1);
	refuse[UNIC_CTL_TOKEN_CANCEL] = 0;
	poll(LATER / MS);
	poll(LATER / MS);
	assert_int_equal(incoming(UNIC_KIO_C_FREE), UNIC_KIO_IN);
}

/* Its connection ends while a file is slow: nothing is sent. */
static void peer_leaves_a_slow_file(void **state)
{
	uint32_t i, posted_before;

	(void)state;
	for (i = 0; i < 3; i++) {
		slow = true;
		tell(UNIC_UP_CONN_REQUEST, 50 + i, PEER);
		if (i)
			ask_by_token(i == 1 ? UNIC_KIO_READ : UNIC_KIO_WRITE);
		else
			ask_again(UNIC_KIO_READ);
		posted_before = node.ring.link[UNIC_KIO_OUT].posted;
		unanswered = UNIC_CTL_QP_DESTROY;
		tell(UNIC_UP_DISCONNECTED, 50 + i, 0);
		slow = false;
		poll(0);
		assert_int_equal(node.ring.link[UNIC_KIO_OUT].posted,
				 posted_before);
		answer_kept(0);
		poll(LATER / MS);
		poll(LATER / MS);
		received = 0;
	}
}

/* Over a link that is down nothing is sent, and who asks is told so. */
static void links_that_are_down(void **state)
{
	struct unic_kio_msg msg = { 0 };
	struct unic_kio_client *k;
	struct unic_kio_server *s = &node.server[0];

	(void)state;
	refuse[UNIC_CTL_QP_CREATE] = UNIC_CTL_ST_NO_MEMORY;
	begin(&io, UNIC_KIO_READ);
	k = &node.client[unic_kio_link_of(&node, PEER)];
	assert_false(k->link->send(k, &msg, NULL));
	assert_false(k->link->data(k, 0, &msg, &io));
	assert_false(s->link->send(s, &msg));
	assert_false(s->link->data(s, 0, &msg, LEN));
	assert_false(s->link->move(s, 0, LEN));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define R(f) cmocka_unit_test_setup_teardown(f, setup_rdma, teardown)
#define S(f) cmocka_unit_test_setup_teardown(f, setup_slot, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(cancel_refused),
		T(destroy_refused),
		T(message_lost),
		T(data_held_up),
		T(nic_hangs),
		T(nic_leaves),
		T(nic_is_removed),
		T(begins_anew),
		T(what_waits_stays),
		R(region_of_one_io),
		R(dereg_refused),
		R(region_outlives_its_connection),
		R(slow_peer_is_waited_for),
		R(starved_peer_is_put_off),
		R(own_stop_is_no_silence),
		R(idle_is_no_silence),
		R(waiting_for_entries_is_no_silence),
		R(waiting_for_the_end_of_a_region),
		R(late_io_is_given_up),
		R(no_answer_is_no_refusal),
		R(a_form_is_waited_for),
		R(a_form_comes_back_for_another_host),
		R(who_waits_has_no_form),
		R(a_region_needs_no_form),
		R(no_room_and_no_form),
		R(taken_back_and_no_form),
		R(an_old_server_and_no_form),
		R(region_that_nobody_knows),
		R(reset_at_a_registration),
		R(reset_behind_many_answers),
		R(nic_hangs_with_a_region),
		R(nic_without_accounts),
		S(buffers_are_zeroed),
		S(nothing_is_zeroed_for_tokens),
		S(buffers_end_with_a_reset),
		S(buffers_end_with_their_slot),
		S(peer_has_its_bytes_written),
		S(peer_has_taken_it_back),
		S(peer_has_not_lent_it),
		S(peer_holds_it_up),
		S(peer_has_its_time),
		S(who_waits_for_a_buffer_is_seen),
		S(given_up_is_not_done),
		S(ping_is_answered),
		S(links_that_are_down),
		S(peer_has_its_bytes_by_token),
		S(peer_writes_by_token),
		S(peer_leaves_a_slow_file),
		S(hosts_that_may_connect),
		S(host_connects_again),
		S(no_place_for_a_host),
		R(places_for_other_hosts),
		T(status_of_a_host),
		S(ends_before_the_answer),
		R(events_of_queues),
		T(message_of_another_length),
		S(requests_without_room),
		T(device_without_physical_regions),
		S(slots_that_are_too_small),
		R(steps_that_are_refused),
		S(places_for_users),
		S(names_are_zeroed),
		S(too_many_pieces),
		T(demand_by_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
