// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * kmem_sample.c - a module whose memory peers READ and WRITE: host_driver/linux/unic_kmem.h.
 *
 * It registers 64 pages, and tells who connects to service 4713 where they are. Asked
 * back, it gives them up and registers them again; with lazy=1 it leaves that to the NIC,
 * and registers again once they are gone. Reading parameter `state` says what there was.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/page_ref.h>
#include <linux/scatterlist.h>

#include "unic_kmem.h"

#define SERVICE	   4713u
#define PAGES	   64
#define TIMEOUT_US 20000000u

static bool lazy;
module_param(lazy, bool, 0644);
MODULE_PARM_DESC(lazy, "leave it to the NIC to take the pages back");

/* As the peer gets it. */
struct place {
	u64 address;
	u32 stag;
};

static struct unic_kmem *kmem;
static struct unic_kmem_mr *mr;
static struct page *pages[PAGES];
static struct scatterlist sg[PAGES];
static unsigned int registered, noticed, gone, lost, asked, kept;

static void do_register(void)
{
	int err;

	if (mr)
		return;
	err = unic_kmem_register(kmem, sg, PAGES, DMA_BIDIRECTIONAL,
				 UNIC_KMEM_READ | UNIC_KMEM_WRITE, TIMEOUT_US,
				 &mr);
	if (err)
		pr_info("kmem_sample: register: %d\n", err);
	else
		registered++;
}

static void give_back(void)
{
	if (mr && unic_kmem_release(mr))
		kept++;
	mr = NULL;
}

static void on_notice(void *of, struct unic_kmem_mr *which, u32 why,
		      u32 left_us)
{
	noticed++;
	if (lazy)
		return;
	give_back();
	do_register();
}

static void on_gone(void *of, struct unic_kmem_mr *which, u32 why)
{
	gone++;
	give_back();
	do_register(); /* after a reset it is too early: on_lost() does it */
}

static void on_lost(void *of, bool forever)
{
	lost++;
	if (!forever && kmem) /* else sample_init() does it */
		do_register();
}

static int allow(void *of, struct unic_kmem_request *r)
{
	struct place here;

	asked++;
	if (!mr)
		return -EAGAIN;
	here = (struct place){ mr->address, mr->stag };
	memcpy(r->reply, &here, sizeof(here));
	r->reply_bytes = sizeof(here);
	return 0;
}

static const struct unic_kmem_ops ops = {
	.notice = on_notice,
	.gone = on_gone,
	.lost = on_lost,
};

static int state_get(char *buf, const struct kernel_param *kp)
{
	return scnprintf(buf, PAGE_SIZE,
			 "mr %d registered %u noticed %u gone %u lost %u asked "
			 "%u kept %u refs %d first %*phN\n",
			 !!mr, registered, noticed, gone, lost, asked, kept,
			 page_ref_count(pages[0]), 8, page_address(pages[0]));
}

static const struct kernel_param_ops state_ops = { .get = state_get };
module_param_cb(state, &state_ops, NULL, 0444);

static void free_pages_of_all(void)
{
	int i;

	for (i = 0; i < PAGES && pages[i]; i++)
		__free_page(pages[i]);
}

static int __init sample_init(void)
{
	int i, err;

	sg_init_table(sg, PAGES);
	for (i = 0; i < PAGES; i++) {
		pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!pages[i]) {
			free_pages_of_all();
			return -ENOMEM;
		}
		sg_set_page(&sg[i], pages[i], PAGE_SIZE, 0);
	}
	kmem = unic_kmem_open(0, "kmem_sample", &ops, NULL);
	err = PTR_ERR_OR_ZERO(kmem);
	if (!err) {
		do_register();
		err = unic_kmem_listen(kmem, SERVICE, allow);
		if (err)
			unic_kmem_close(kmem);
	}
	if (err)
		free_pages_of_all();
	return err;
}

static void __exit sample_exit(void)
{
	unic_kmem_close(kmem);
	free_pages_of_all();
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_DESCRIPTION("Memory of a module, for peers of a unic NIC");
MODULE_LICENSE("Dual BSD/GPL");
