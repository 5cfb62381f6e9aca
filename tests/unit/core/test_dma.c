/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_dma.c - splitting transfers, and pieces that complete later. */
#include "unit.h"

#include "rig.h"

static struct rig r;
static struct rig_mr mr;
static uint8_t buf[20000];

static int up(void **state)
{
	uint32_t i, pd;

	(void)state;
	rig_up(&r, 1);
	rig_attach(&r, 0, 1);
	pd = rig_pd(&r, 0);
	assert_int_equal(rig_reg(&r, 0, pd, 5, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	for (i = 0; i < 5 * 4096; i++)
		mr.mem[i] = (uint8_t)(i * 5 + (i >> 8));
	return 0;
}

static struct unic_sgl *list(uint32_t n, const uint32_t (*at)[2], bool to_host)
{
	struct unic_sgl *sgl = &r.nic.qps.roce.rx_sgl;
	uint32_t i;

	memset(sgl, 0, sizeof(*sgl));
	for (i = 0; i < n; i++) {
		sgl->span[i].iova = mr.iova + at[i][0];
		sgl->span[i].len = at[i][1];
		sgl->span[i].mr = (uint16_t)mr.mr;
	}
	sgl->n = (uint8_t)n;
	sgl->local = buf;
	sgl->to_host = to_host;
	sgl->owner = UNIC_DMA_RX;
	return sgl;
}

static void gathers_across_pages(void **state)
{
	static const uint32_t at[][2] = {
		{ 4000, 5000 }, { 7, 0 }, { 3, 1 }, { 12287, 2 }
	};

	(void)state;
	assert_int_equal(unic_dma_run(&r.nic.transport, list(4, at, false)), 0);
	assert_memory_equal(buf, mr.mem + 4000, 5000);
	assert_int_equal(buf[5000], mr.mem[3]);
	assert_memory_equal(buf + 5001, mr.mem + 12287, 2);
	assert_int_equal(r.nic.pieces, 0);
	assert_int_equal(r.nic.mrs.mr[mr.mr].dmas, 0);
}

static void scatters(void **state)
{
	static const uint32_t at[][2] = { { 4090, 10 }, { 100, 8000 } };

	(void)state;
	memset(buf, 0x77, sizeof(buf));
	assert_int_equal(unic_dma_run(&r.nic.transport, list(2, at, true)), 0);
	assert_int_equal(mr.mem[99], (uint8_t)(99 * 5));
	assert_memory_equal(mr.mem + 4090, buf, 10);
	assert_memory_equal(mr.mem + 100, buf, 8000);
}

/* Each piece in flight counts once in its region's dmas (INV-3). */
static void pieces_in_flight(void **state)
{
	static const uint32_t at[][2] = { { 0, 12288 } };
	struct unic_sgl *sgl = list(1, at, false);

	(void)state;
	memset(buf, 0, sizeof(buf));
	r.port.late_dma = true;
	assert_int_equal(unic_dma_run(&r.nic.transport, sgl), 0);
	assert_true(sgl->pending >= 2);
	assert_int_equal(r.nic.mrs.mr[mr.mr].dmas, sgl->pending);
	assert_true(unic_dma_busy(&r.nic.transport));
	assert_false(unic_dma_poll(&r.nic.transport));
	fake_dma_run(&r.port, 1);
	assert_true(unic_dma_poll(&r.nic.transport));
	fake_dma_run(&r.port, 64);
	assert_true(unic_dma_poll(&r.nic.transport));
	assert_int_equal(sgl->pending, 0);
	assert_int_equal(r.nic.mrs.mr[mr.mr].dmas, 0);
	assert_false(unic_dma_busy(&r.nic.transport));
	assert_memory_equal(buf, mr.mem, 12288);
}

/* Without a free job no piece is lost; the rest is moved later. */
static void jobs_run_out(void **state)
{
	static const uint32_t at[][2] = { { 0, 4 } };
	uint32_t n = 0;
	int err;

	(void)state;
	r.port.late_dma = true;
	for (;;) {
		err = unic_dma_run(&r.nic.transport, list(1, at, false));
		if (err)
			break;
		n++;
		assert_in_range(n, 1, UNIC_DMA_JOBS);
	}
	assert_int_equal(err, -UNIC_EAGAIN);
	assert_int_equal(r.nic.mrs.mr[mr.mr].dmas, n);
	while (fake_dma_run(&r.port, 64))
		unic_dma_poll(&r.nic.transport);
	assert_int_equal(r.nic.mrs.mr[mr.mr].dmas, 0);
}

static void gone(void **state)
{
	static const uint32_t at[][2] = { { 5 * 4096 - 8, 16 } };

	(void)state;
	assert_int_equal(unic_dma_run(&r.nic.transport, list(1, at, false)),
			 -UNIC_EEVICTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(gathers_across_pages, up),
		cmocka_unit_test_setup(scatters, up),
		cmocka_unit_test_setup(pieces_in_flight, up),
		cmocka_unit_test_setup(jobs_run_out, up),
		cmocka_unit_test_setup(gone, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
