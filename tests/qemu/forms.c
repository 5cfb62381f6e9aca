/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * forms SOCKET - windows, sub-regions, fast and indirect registration through
 * libunic, a driver and a NIC that talks to itself. Says "forms: ok" or what
 * went wrong. Run by test_forms.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRAM "forms"
#include "own_pair.h"

#define BYTES (16u * PAGE)

static uint8_t *mem, *src;
static struct unic_mr *mr, *src_mr;

static void reg(uint8_t **at, struct unic_mr **out)
{
	struct unic_mr_attr a = { .length = BYTES,
				  .rights = RW | UNIC_MR_MW_BIND };

	*at = a.addr = unic_alloc(ctx, BYTES, PAGE);
	IS(*at);
	OK(unic_reg_mr(pd, &a, out));
}

static void set_up(const char *socket)
{
	uint32_t i;

	open_pair(socket);
	reg(&mem, &mr);
	reg(&src, &src_mr);
	for (i = 0; i < BYTES; i++)
		src[i] = (uint8_t)(i * 13 + i / 251);
}

/* qp[0] writes @len bytes of src to @iova of @stag; how that ends. */
static unsigned int write_to(uint64_t iova, uint32_t stag, uint32_t len)
{
	struct unic_sg sg = sg_of(src_mr, src, len);
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = iova,
				   .rkey = stag };

	IS(unic_post_send(qp[0], &wr, 1) == 1);
	return next().status;
}

static void sub_regions(void)
{
	struct unic_mr *sub, *wrong;

	OK(unic_reg_sub(mr, mem + 100, 5000, RW, &sub));
	IS(sub->entries == 0);
	IS(write_to(sub->iova, sub->stag, 5000) == UNIC_WC_SUCCESS);
	IS(!memcmp(mem + 100, src, 5000));
	IS(unic_reg_sub(mr, mem + 100, BYTES, RW, &wrong) == -ERANGE);
	OK(unic_dereg_mr(sub));
}

static void windows(void)
{
	struct unic_sg sg;
	struct unic_recv_wr recv = { .num_sge = 1, .sg = &sg };
	struct unic_send_wr inv = { .opcode = UNIC_WR_SEND_INV,
				    .flags = UNIC_WR_SIGNALED,
				    .num_sge = 1,
				    .sg = &sg };
	struct unic_mr *w1, *w2;
	struct unic_mw_bind bind;
	struct unic_wc wc;
	int i;

	OK(unic_alloc_mw(pd, 1, &w1));
	OK(unic_bind_mw(w1, mr, mem, 3000, UNIC_MR_REMOTE_WRITE));
	IS(write_to(w1->iova + 1, w1->stag, 2999) == UNIC_WC_SUCCESS);
	IS(!memcmp(mem + 1, src, 2999));
	OK(unic_bind_mw(w1, mr, mem + PAGE, 3000, UNIC_MR_REMOTE_WRITE));
	OK(unic_bind_mw(w1, NULL, NULL, 0, 0));
	OK(unic_dereg_mr(w1));
	/* bound and used in one go; the peer closes it */
	OK(unic_alloc_mw(pd, 2, &w2));
	bind = (struct unic_mw_bind){ .mr = mr,
				      .addr = mem,
				      .length = PAGE,
				      .rights = UNIC_MR_REMOTE_WRITE };
	OK(unic_post_bind_mw(qp[1], 7, UNIC_WR_SIGNALED, w2, &bind));
	wc = next();
	IS(wc.status == UNIC_WC_SUCCESS && wc.opcode == UNIC_WC_BIND_MW &&
	   wc.wr_id == 7);
	IS(write_to(w2->iova, w2->stag, PAGE) == UNIC_WC_SUCCESS);
	sg = sg_of(mr, mem + 2 * PAGE, PAGE);
	IS(unic_post_recv(qp[1], &recv, 1) == 1);
	sg = sg_of(src_mr, src, 100);
	inv.rkey = w2->stag;
	IS(unic_post_send(qp[0], &inv, 1) == 1);
	for (i = 0; i < 2; i++) {
		wc = next();
		IS(wc.status == UNIC_WC_SUCCESS);
		if (wc.opcode == UNIC_WC_RECV)
			IS(wc.flags & UNIC_WC_WITH_INV && wc.imm == w2->stag &&
			   wc.byte_len == 100);
	}
	OK(unic_post_bind_mw(qp[1], 8, UNIC_WR_SIGNALED, w2, &bind));
	IS(next().status == UNIC_WC_SUCCESS);
	OK(unic_post_local_inv(qp[1], 9, UNIC_WR_SIGNALED, w2));
	IS(next().status == UNIC_WC_SUCCESS);
	OK(unic_dereg_mr(w2));
}

static void fast(void)
{
	struct unic_sg sg[2] = {
		sg_of(mr, mem + PAGE + 100, 2 * PAGE - 100),
		sg_of(mr, mem + 8 * PAGE, PAGE + 50),
	};
	struct unic_list list = {
		.sg = sg, .n = 2, .rights = RW, .iova = 0x700000 + 100
	};
	struct unic_fast_pool *pool;
	struct unic_mr *f;
	int i;

	OK(unic_fast_pool_create(pd, 4, PAGE, &pool));
	for (i = 0; i < 3; i++) {
		OK(unic_fast_pool_get(pool, 1000, &f));
		OK(unic_post_reg_mr(qp[1], 1, UNIC_WR_SIGNALED, f, &list));
		IS(next().status == UNIC_WC_SUCCESS);
		memset(mem, 0, BYTES);
		IS(write_to(f->iova, f->stag, 3 * PAGE - 50) ==
		   UNIC_WC_SUCCESS);
		IS(!memcmp(mem + PAGE + 100, src, 2 * PAGE - 100));
		IS(!memcmp(mem + 8 * PAGE, src + 2 * PAGE - 100, PAGE + 50));
		OK(unic_post_local_inv(qp[1], 2, UNIC_WR_SIGNALED, f));
		IS(next().status == UNIC_WC_SUCCESS);
		unic_fast_pool_put(pool, f);
	}
	IS(unic_fast_pool_trim(pool) == 1);
	unic_fast_pool_destroy(pool);
}

/* Protection information: 8 bytes for each 512, from elsewhere. */
static void t10(void)
{
	static const uint32_t stride[2] = { 512, 8 };
	struct unic_sg sg[2] = { sg_of(mr, mem, 512),
				 sg_of(mr, mem + 10 * PAGE + 3, 8) };
	struct unic_list list = {
		.sg = sg, .n = 2, .strides = stride, .repeat = 16, .rights = RW
	};
	struct unic_mr *x;
	uint32_t i;

	OK(unic_reg_indirect(pd, &list, &x));
	IS(write_to(0, x->stag, 16 * 520) == UNIC_WC_SUCCESS);
	for (i = 0; i < 16; i++) {
		IS(!memcmp(mem + 512 * i, src + 520 * i, 512));
		IS(!memcmp(mem + 10 * PAGE + 3 + 8 * i, src + 520 * i + 512,
			   8));
	}
	OK(unic_invalidate(x));
	OK(unic_dereg_mr(x));
}

static void indirect(void)
{
	struct unic_sg sg[20];
	struct unic_list list = { .sg = sg, .n = 20, .rights = RW };
	struct unic_mr *x;
	uint32_t i, off;

	for (i = 0; i < 20; i++)
		sg[i] = sg_of(mr, mem + 1000 * i + 7, 100 + i);
	OK(unic_alloc_indirect(pd, 20, &x));
	IS(unic_post_reg_indirect(qp[1], 1, 0, x, &list, src_mr,
				  src + 16 * PAGE - 319) == -ERANGE);
	OK(unic_post_reg_indirect(qp[1], 1, UNIC_WR_SIGNALED, x, &list, src_mr,
				  src + 15 * PAGE));
	IS(next().status == UNIC_WC_SUCCESS);
	memset(mem, 0, BYTES);
	IS(write_to(0, x->stag, 2190) == UNIC_WC_SUCCESS);
	for (i = off = 0; i < 20; off += 100 + i++)
		IS(!memcmp(mem + 1000 * i + 7, src + off, 100 + i));
	OK(unic_post_local_inv(qp[1], 2, UNIC_WR_SIGNALED, x));
	IS(next().status == UNIC_WC_SUCCESS);
	OK(unic_dereg_mr(x));
}

/* A derived region ends with its region, and its owner gets an event. */
static void ends(void)
{
	struct timespec nap = { 0, 1000000 };
	struct unic_event ev = { 0 };
	struct unic_mr *sub;
	int i, seen = 0;

	OK(unic_reg_sub(mr, mem, 100, RW, &sub));
	OK(unic_dereg_mr(mr));
	for (i = 0; i < 30000 && !seen; i++) {
		while (!unic_get_event(ctx, &ev)) {
			seen |= ev.type == UNIC_EV_EVICTED && ev.mr == sub;
			unic_ack_event(&ev);
		}
		nanosleep(&nap, NULL);
	}
	IS(seen && unic_mr_life(sub) == UNIC_MR_GONE);
	OK(unic_dereg_mr(sub));
}

static void reregister(void)
{
	struct unic_rereg_attr a = { .what = UNIC_REREG_RANGE,
				     .addr = src + PAGE,
				     .length = 2 * PAGE };
	uint32_t stag = src_mr->stag;
	bool survived = false;

	OK(unic_rereg_mr(src_mr, &a, &survived));
	IS(src_mr->stag == stag && src_mr->entries == 2);
	a.what = UNIC_REREG_RIGHTS;
	a.rights = UNIC_MR_REMOTE_WRITE; /* without local write */
	IS(unic_rereg_mr(src_mr, &a, &survived) == -EINVAL && survived);
	a.rights = UNIC_MR_REMOTE_READ;
	OK(unic_rereg_mr(src_mr, &a, &survived));
	OK(unic_dereg_mr(src_mr));
	OK(unic_free(ctx, src));
}

static void too_many(void)
{
	struct unic_mr *w[600];
	struct unic_usage u;
	int n = 0, err = 0;

	for (; n < 600 && !err; n += !err)
		err = unic_alloc_indirect(pd, UNIC_FORM_ELEMENTS, &w[n]);
	IS(err == -ENOMEM && unic_last_usage(&u) &&
	   u.table == UNIC_TABLE_ELEMENT && u.limit && u.holding);
	IS(strstr(unic_last_error(), "elements"));
	while (n)
		OK(unic_dereg_mr(w[--n]));
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: forms SOCKET\n");
		return 2;
	}
	set_up(argv[1]);
	sub_regions();
	windows();
	fast();
	t10();
	indirect();
	too_many();
	ends();
	reregister();
	unic_close(ctx);
	printf("forms: ok\n");
	return 0;
}
