/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_move.c - the server of the kernel-resident page service by RDMA: data that
 * it moves to and from a region of the client's. The test is the client.
 */
#include "unit.h"

#include "kio_rig.h"
#include "kio_server.h"

/* A region of the client's NIC: @len bytes from offset @at of its memory on, which is
 * congruent to 0 modulo a page. */
static void lend(uint32_t at, uint32_t len, uint8_t rights, struct rig_mr *out)
{
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(qa.pd),
		.rights = rights,
		.page_shift = 12,
		.iova = unic_to_le64(0x5000000000ull),
		.length = unic_to_le64(len),
		.n_pages = unic_to_le32((len + 4095) / 4096),
		.flags = UNIC_REG_LIST,
	};
	unic_le64 *list = (void *)rig_list(&ra);
	struct unic_cpl_mr_reg cpl;
	uint32_t i;

	for (i = 0; i < (len + 4095) / 4096; i++)
		list[i] = unic_to_le64(RIG_KERNEL_BUS + at + i * 4096);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_REG, &cmd, &cpl), 0);
	*out = (struct rig_mr){ .mr = unic_from_le32(cpl.mr),
				.gen = unic_from_le32(cpl.gen),
				.stag = unic_from_le32(cpl.stag),
				.iova = 0x5000000000ull,
				.mem = pa.mem + at };
}

#define WRITES (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE)

/* A request of @op for @len bytes of file `r', from offset 77 on, by RDMA. */
static struct unic_kio_msg asks(uint8_t op, const struct rig_mr *mr,
				uint32_t len)
{
	return (struct unic_kio_msg){ .op = op,
				      .name_bytes = 1,
				      .how = UNIC_KIO_BY_RDMA,
				      .id = unic_to_le32(5),
				      .len = unic_to_le32(len),
				      .offset = unic_to_le64(77),
				      .key = unic_to_le64(mr->iova),
				      .token = unic_to_le32(mr->stag) };
}

static void says(const struct unic_kio_msg *msg)
{
	uint8_t text[sizeof(*msg) + 1];

	memcpy(text, msg, sizeof(*msg));
	text[sizeof(*msg)] = 'r';
	assert_true(unic_kio_server_message(&server, text, sizeof(text), 0, 0));
}

/* Steps until the client's NIC has an answer. Returns its status. */
static uint32_t answered(struct message *m)
{
	uint32_t i;

	still = true; /* the client does not take it */
	for (i = 0; i < 100; i++) {
		step();
		if (message(&ra, &qa, &pa, m))
			break;
	}
	assert_in_range(i, 0, 99);
	assert_int_equal(m->msg.op, UNIC_KIO_ANSWER);
	assert_int_equal(unic_from_le32(m->msg.id), 5);
	assert_int_equal(m->payload, 0);
	return unic_from_le32(m->msg.status);
}

static void expect_file(const uint8_t *p, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		assert_int_equal(p[i], content('r', 77 + i));
}

/* A READ is answered when its bytes are in the pages, and says that it knew of
 * regions. */
static void answer_is_behind_its_data(void **state)
{
	struct unic_kio_msg msg;
	struct rig_mr mr;
	struct message m;

	(void)state;
	memset(pa.mem + PAGES, 0xa5, PAYLOAD);
	lend(PAGES, 5000, WRITES, &mr);
	msg = asks(UNIC_KIO_READ, &mr, 5000);
	says(&msg);
	assert_int_equal(answered(&m), 0);
	assert_int_equal(unic_from_le32(m.msg.len), 5000);
	assert_int_equal(unic_from_le64(m.msg.size), FILE_END);
	assert_int_equal(unic_from_le64(m.msg.key), boot);
	assert_int_equal(m.msg.how, UNIC_KIO_BY_RDMA);
	expect_file(mr.mem, 5000);
	assert_int_equal(pa.mem[PAGES + 5000], 0xa5);
	assert_int_equal(rig_dereg(&ra, &mr), 0);
	nothing_left();
}

/* At its end a file has fewer bytes than the region, or none: nothing else is
 * written. */
static void ends_of_files(void **state)
{
	struct unic_kio_msg msg;
	struct rig_mr mr;
	struct message m;

	(void)state;
	memset(pa.mem + PAGES, 0xa5, PAYLOAD);
	lend(PAGES, 5000, WRITES, &mr);
	msg = asks(UNIC_KIO_READ, &mr, 5000);
	msg.offset = unic_to_le64(FILE_END - 10);
	says(&msg);
	assert_int_equal(answered(&m), 0);
	assert_int_equal(unic_from_le32(m.msg.len), 10);
	assert_int_equal(mr.mem[9], content('r', FILE_END - 1));
	assert_int_equal(mr.mem[10], 0xa5);
	msg.offset = unic_to_le64(FILE_END);
	says(&msg);
	assert_int_equal(answered(&m), 0);
	assert_int_equal(unic_from_le32(m.msg.len), 0);
	assert_int_equal(rig_dereg(&ra, &mr), 0);
	nothing_left();
}

/* The bytes of a WRITE are read from the region, no more than it names, and are in the
 * file when it is answered. */
static void written_bytes_are_read(void **state)
{
	struct unic_kio_msg msg;
	struct rig_mr mr;
	struct message m;
	uint32_t i;

	(void)state;
	for (i = 0; i < 5000; i++)
		pa.mem[PAGES + i] = content('r', 77 + i);
	lend(PAGES, 5000, UNIC_MR_REMOTE_READ, &mr);
	msg = asks(UNIC_KIO_WRITE, &mr, 5000);
	says(&msg);
	assert_int_equal(answered(&m), 0);
	assert_int_equal(unic_from_le32(m.msg.len), 5000);
	assert_int_equal(m.msg.how, UNIC_KIO_BY_RDMA);
	expect_file(written + 77, 5000);
	assert_int_equal(written[77 + 5000], 0);
	assert_int_equal(rig_dereg(&ra, &mr), 0);
	nothing_left();
}

/* A region that was taken back: nothing is moved, the answer says so, and the
 * connection goes on. */
static void taken_back(void **state)
{
	static const uint8_t ops[] = { UNIC_KIO_READ, UNIC_KIO_LIST,
				       UNIC_KIO_WRITE };
	struct unic_kio_msg msg;
	struct rig_mr mr;
	struct message m;
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		lend(PAGES, 5000, WRITES | UNIC_MR_REMOTE_READ, &mr);
		memset(pa.mem + PAGES, 0xa5, 5000);
		take_back(&mr);
		msg = asks(ops[i], &mr, 5000);
		says(&msg);
		assert_int_equal(answered(&m), ESTALE);
		assert_int_equal(m.msg.how, UNIC_KIO_BY_RDMA);
		assert_int_equal(unic_from_le32(m.msg.len), 0);
		assert_int_equal(pa.mem[PAGES], 0xa5);
		assert_int_equal(written[77], 0);
		rig_dereg(&ra, &mr);
	}
	assert_int_equal(runs, 2); /* the two that read */
	lend(PAGES, 100, WRITES, &mr);
	msg = asks(UNIC_KIO_READ, &mr, 100);
	says(&msg);
	assert_int_equal(answered(&m), 0);
	assert_int_equal(rig_dereg(&ra, &mr), 0);
	nothing_left();
}

#define WRONG(field, value)                             \
	do {                                            \
		msg = asks(UNIC_KIO_READ, &mr, 5000);   \
		msg.field = value;                      \
		says(&msg);                             \
		assert_int_equal(answered(&m), EINVAL); \
	} while (0)

/* A request is believed only as far as the server's own buffer goes. */
static void requests_that_lie(void **state)
{
	struct unic_kio_msg msg;
	struct rig_mr mr;
	struct message m;

	(void)state;
	lend(PAGES, 5000, WRITES, &mr);
	WRONG(how, UNIC_KIO_BY_RDMA + 1);
	WRONG(rsvd, 1);
	WRONG(rsvd2, unic_to_le32(1));
	WRONG(len, unic_to_le32(0));
	WRONG(len, unic_to_le32(UNIC_KIO_MAX + 1));
	WRONG(len, unic_to_le32(UINT32_MAX));
	WRONG(key, unic_to_le64(UINT64_MAX - 4999));
	WRONG(op, UNIC_KIO_STAT);
	msg = asks(UNIC_KIO_STAT, &mr, 0); /* has no bytes */
	says(&msg);
	assert_int_equal(answered(&m), EINVAL);
	assert_int_equal(runs, 0);
	assert_int_equal(rig_dereg(&ra, &mr), 0);
	nothing_left();
}

/* A region that is smaller than its request, or has not the right: the connection
 * ends, no byte is moved, and the buffer is free afterwards. */
static void region_that_is_too_small(void **state)
{
	static const struct {
		uint8_t op, rights;
		uint32_t has;
	} wrong[] = { { UNIC_KIO_READ, WRITES, 4999 },
		      { UNIC_KIO_READ, UNIC_MR_REMOTE_READ, 5000 },
		      { UNIC_KIO_WRITE, UNIC_MR_REMOTE_READ, 4999 },
		      { UNIC_KIO_WRITE, WRITES, 5000 } };
	struct unic_kio_msg msg;
	struct rig_mr mr;
	uint32_t i, k;

	for (i = 0; i < 4; i++) {
		up(state);
		memset(pa.mem + PAGES, 0xa5, PAYLOAD);
		lend(PAGES, wrong[i].has, wrong[i].rights, &mr);
		msg = asks(wrong[i].op, &mr, 5000);
		says(&msg);
		for (k = 0; k < 1000 && !broken; k++)
			step();
		assert_true(broken);
		assert_int_equal(runs, wrong[i].op == UNIC_KIO_READ);
		for (k = 0; k < PAYLOAD; k++)
			assert_int_equal(pa.mem[PAGES + k], 0xa5);
		assert_int_equal(buffers_used, 1);
		unic_kio_server_down(&server, false);
		assert_int_equal(buffers_used, 0);
	}
}

/* The client's NIC does not take, or give, the data: after a while the connection is
 * to be ended, and only then is the buffer free. */
static void client_that_holds_data_up(void **state)
{
	static const uint8_t ops[] = { UNIC_KIO_READ, UNIC_KIO_WRITE };
	struct unic_kio_msg msg;
	struct rig_mr mr;
	uint64_t from;
	uint32_t i;

	(void)state;
	lend(PAGES, 5000, WRITES | UNIC_MR_REMOTE_READ, &mr);
	for (i = 0; i < 2; i++) {
		msg = asks(ops[i], &mr, 5000);
		says(&msg);
		/* the rig's store and NIC stand still from here on */
		unic_kio_server_poll(&server, rb.nic.now_ns);
		if (ops[i] == UNIC_KIO_READ)
			step();
		assert_int_equal(server.job[0].state, UNIC_KIO_JOB_MOVING);
		from = rb.nic.now_ns;
		unic_kio_server_poll(&server, from);
		unic_kio_server_poll(&server, from + 1999 * MS);
		assert_false(unic_kio_server_stuck(&server));
		unic_kio_server_poll(&server, from + 2001 * MS);
		assert_true(unic_kio_server_stuck(&server));
		assert_int_equal(buffers_used, 1);
		unic_kio_server_down(&server, false);
		assert_false(unic_kio_server_stuck(&server));
		assert_int_equal(buffers_used, 0);
	}
}

/* The host asks for another connection while the bytes of a WRITE are on their way: it
 * is not executed any more, and is not answered. */
static void stopped_while_it_moves(void **state)
{
	static const uint8_t ops[] = { UNIC_KIO_READ, UNIC_KIO_WRITE };
	struct unic_kio_msg msg;
	struct rig_mr mr;
	uint32_t i, k, ran;

	(void)state;
	lend(PAGES, 5000, WRITES | UNIC_MR_REMOTE_READ, &mr);
	for (i = 0; i < 2; i++) {
		msg = asks(ops[i], &mr, 5000);
		says(&msg);
		unic_kio_server_poll(&server, rb.nic.now_ns);
		for (k = 0; k < 9 && server.job[0].state != UNIC_KIO_JOB_MOVING;
		     k++)
			step();
		assert_int_equal(server.job[0].state, UNIC_KIO_JOB_MOVING);
		ran = runs;
		unic_kio_server_stop(&server);
		assert_int_equal(buffers_used, 1);
		for (k = 0; k < 100; k++)
			step();
		assert_int_equal(runs, ran);
		assert_int_equal(buffers_used, 0);
		unic_kio_server_poll(&server, rb.nic.now_ns);
		unic_kio_server_down(&server, false);
	}
	assert_int_equal(rig_dereg(&ra, &mr), 0);
	nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(answer_is_behind_its_data, up),
		cmocka_unit_test_setup(ends_of_files, up),
		cmocka_unit_test_setup(written_bytes_are_read, up),
		cmocka_unit_test_setup(taken_back, up),
		cmocka_unit_test_setup(requests_that_lie, up),
		cmocka_unit_test_setup(region_that_is_too_small, up),
		cmocka_unit_test_setup(client_that_holds_data_up, up),
		cmocka_unit_test_setup(stopped_while_it_moves, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
