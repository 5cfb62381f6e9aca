/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_node.c - the kernel-resident page service of one host against a
 * driver that refuses requests and a NIC that does not answer: an I/O does not
 * end while the NIC may still use its pages.
 */
#include "kio_node.h"
#include "kio_os.h"
#include "unit.h"

#define BUS   0x100000000ull /* of the service's memory */
#define PAGE  0x5000u	     /* of the I/O */
#define LEN   4096u
#define QPN   77u
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
static bool leaves;
static uint16_t refuse[OPS]; /* status by request */
static uint32_t asked[OPS];
static struct unic_kio_node node;
static uint8_t slot_pages[UNIC_SLOT_FRAMES][4096]
	__attribute__((aligned(4096)));
static void *slot_mem[1] = { slot_pages };
static uint8_t *mem;
static struct unic_ctl_cq_create cq;
static struct unic_ctl_qp_create qp;
static uint32_t completions, received;
static struct unic_kio io, other;
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
	(void)fmt;
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
	struct unic_info info = { .features =
					  unic_to_le64(UNIC_FEAT_PHYSICAL) };

	(void)host;
	(void)off;
	memcpy(buf, &info, bytes);
	return true;
}

void unic_host_client_gone(struct unic_host *host, struct unic_client *client)
{
	(void)host;
	client->slot = UNIC_OS_NO_SLOT;
	leaves = true;
}

static void answer(uint16_t op, uint64_t *rec)
{
	struct unic_ctl_queue_reply queue = { .id = unic_to_le32(5),
					      .number = unic_to_le32(QPN) };
	struct unic_ctl_mr_reg_reply mr = { .id = unic_to_le32(6),
					    .stag = unic_to_le32(0x600) };
	struct unic_ctl_token_reply token = { .id = unic_to_le32(7),
					      .index = unic_to_le32(8),
					      .key = unic_to_le64(9) };
	struct unic_ctl_conn_reply conn = { .id = unic_to_le32(10),
					    .vendor = 1 };

	if (op == UNIC_CTL_QP_CREATE || op == UNIC_CTL_CQ_CREATE)
		memcpy(rec, &queue, sizeof(queue));
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
	if (op == UNIC_CTL_HELLO)
		client->slot = 0;
	answer(op, rec);
	hdr.status = unic_to_le16(refuse[op]);
	memcpy(rec, &hdr, sizeof(hdr));
	unic_kio_node_reply(&node, rec, sizeof(rec));
	return true;
}

/* ------------------------------------------------------------------ the NIC */

static void *at_bus(uint64_t bus)
{
	assert_true(bus >= BUS);
	return mem + (bus - BUS);
}

static void complete(struct unic_cqe cqe)
{
	struct unic_cqe *ring = at_bus(unic_from_le64(cq.iova));
	uint32_t at = completions % UNIC_KIO_CQES;

	cqe.qpn = unic_to_le32(QPN);
	cqe.seq = unic_to_le32(++completions);
	ring[at] = cqe;
}

/* A message of the peer. */
static void deliver(const struct unic_kio_msg *msg)
{
	struct unic_rq_slot *slot = at_bus(unic_from_le64(qp.rq_iova));

	slot += received++ % UNIC_KIO_SLOTS;
	memcpy(at_bus(unic_from_le64(slot->sge[0].iova)), msg, sizeof(*msg));
	complete((struct unic_cqe){ .wr_id = slot->wr_id,
				    .opcode = UNIC_WC_RECV,
				    .byte_len = unic_to_le32(sizeof(*msg)) });
}

static void upcall(uint32_t number, uint8_t type)
{
	struct unic_upcall_ring *ring =
		(void *)slot_pages[UNIC_SLOT_UPCALL_PAGE];
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

static void start(struct unic_kio *i, uint8_t op)
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
		.done = done,
	};
	assert_int_equal(unic_kio_node_start(&node, i, PEER), 0);
	poll(0);
}

static int setup(void **state)
{
	struct unic_kio_config config = {
		.os = &os,
		.slot_mem = slot_mem,
		.slot_bytes = sizeof(slot_pages),
		.bus = BUS,
		.bus_bytes = UINT32_MAX,
	};

	(void)state;
	mem = calloc(1, unic_kio_ring_bytes(0));
	config.mem = mem;
	memset(refuse, 0, sizeof(refuse));
	memset(asked, 0, sizeof(asked));
	memset(slot_pages, 0, sizeof(slot_pages));
	completions = received = over = 0;
	leaves = false;
	nic = UNIC_CTL_NIC_READY;
	os.now_ns = 1000 * MS;
	unic_kio_node_init(&node, &config);
	unic_kio_node_want(&node);
	poll(0);
	assert_true(node.up);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(mem);
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

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(cancel_refused), T(destroy_refused), T(message_lost),
		T(data_held_up),   T(nic_hangs),       T(nic_leaves),
		T(nic_is_removed), T(begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
