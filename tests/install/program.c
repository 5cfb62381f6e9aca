/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * program.c - a program from outside, C and C++: registers a page with the driver at
 * argv[1], makes a completion queue, resizes it, and says how large the NIC's table is.
 */
#include <stdio.h>
#include <string.h>

#include <unic/bufman.h>
#include <unic/unic.h>

int main(int argc, char **argv)
{
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_mr *mr;
	struct unic_cq *cq;
	struct unic_mr_attr attr;
	struct unic_attr nic;

	if (argc < 2 || unic_open(argv[1], &ctx)) {
		fprintf(stderr, "%s\n", unic_last_error());
		return 1;
	}
	memset(&attr, 0, sizeof(attr));
	attr.length = 4096;
	attr.addr = unic_alloc(ctx, attr.length, 4096);
	attr.rights = UNIC_MR_LOCAL_WRITE;
	attr.mr_class = UNIC_CLASS_RDMA;
	if (!attr.addr || unic_alloc_pd(ctx, &pd) ||
	    unic_reg_mr(pd, &attr, &mr)) {
		fprintf(stderr, "%s\n", unic_last_error());
		return 1;
	}
	unic_query(ctx, &nic);
	if (unic_create_cq(pd, 16, &cq) ||
	    ((nic.features & UNIC_FEAT_CQ_RESIZE) &&
	     unic_resize_cq(cq, 1000))) {
		fprintf(stderr, "%s\n", unic_last_error());
		return 1;
	}
	printf("table of %u entries, region of %u\n", (unsigned)nic.tlb_entries,
	       (unsigned)mr->entries);
	unic_close(ctx);
	return 0;
}
