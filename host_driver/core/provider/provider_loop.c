/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * provider_loop.c - the loop-back provider: its queue of calls, the states of the
 * device, datagrams under way.
 */
#include "provider/provider_loop.h"

static struct loop *loop_of(struct unic_provider *p)
{
	return (struct loop *)(void *)p;
}

static struct unic_call *take_call(struct loop *l)
{
	struct unic_call *call = l->head;

	if (call)
		l->head = call->next;
	return call;
}

static void reset_loop(struct loop *l)
{
	struct unic_call *call;
	struct unic_cmd_hdr hdr;
	uint32_t i;

	while ((call = take_call(l))) {
		memcpy(&hdr, call->cmd, sizeof(hdr));
		hdr.status = UNIC_ST_FAILED;
		memset(call->cpl, 0, sizeof(call->cpl));
		memcpy(call->cpl, &hdr, sizeof(hdr));
		unic_host_done(l->p.host, call);
	}
	for (i = 0; i < LOOP_MRS; i++)
		loop_mr_end(l, &l->mr[i]);
	memset(l->proc, 0, sizeof(l->proc));
	memset(l->pd, 0xff, sizeof(l->pd));
	memset(l->cq, 0, sizeof(l->cq));
	memset(l->qp, 0, sizeof(l->qp));
	l->mad_head = l->mad_tail;
}

static void loop_start(struct unic_provider *p)
{
	struct loop *l = loop_of(p);

	l->state = UNIC_PROVIDER_STARTING;
	unic_host_state(p->host, UNIC_PROVIDER_STARTING, 0);
	reset_loop(l);
	if (!++l->epoch)
		l->epoch = 1;
	l->info.boot_epoch = unic_to_le32(l->epoch);
}

static uint64_t loop_poll(struct unic_provider *p, uint64_t now)
{
	struct loop *l = loop_of(p);
	struct unic_call *last = l->tail, *call;
	bool work = false;

	if (l->state == UNIC_PROVIDER_STARTING) {
		l->state = UNIC_PROVIDER_READY;
		unic_host_state(p->host, UNIC_PROVIDER_READY, l->epoch);
		return 0;
	}
	/* calls taken from here on are executed in the next round */
	while ((call = take_call(l))) {
		work = true;
		loop_execute(l, call);
		if (call == last)
			break;
	}
	if (l->mad_head != l->mad_tail) {
		struct unic_mad_rx mad = l->mad[l->mad_head++ % LOOP_MADS];

		work = true;
		unic_host_mad(p->host, &mad);
	}
	work |= loop_data_poll(l);
	return work || l->head ? 0 : now + 1000000000;
}

static bool loop_rest(struct unic_provider *p, bool on)
{
	return !on || !loop_of(p)->head;
}

static int loop_command(struct unic_provider *p, struct unic_call *call)
{
	struct loop *l = loop_of(p);

	if (l->state != UNIC_PROVIDER_READY)
		return -ENODEV;
	call->next = NULL;
	if (l->head)
		l->tail->next = call;
	else
		l->head = call;
	l->tail = call;
	return 0;
}

static bool loop_peek(struct unic_provider *p, uint32_t off, void *buf,
		      uint32_t bytes)
{
	struct loop *l = loop_of(p);

	if (off != UNIC_BAR_INFO_OFF || bytes > sizeof(l->info))
		return false;
	memcpy(buf, &l->info, bytes);
	return true;
}

static void loop_plug(struct unic_provider *p, bool there)
{
	if (there)
		loop_start(p);
}

static void loop_fini(struct unic_provider *p)
{
	uint32_t i;

	for (i = 0; i < LOOP_MRS; i++)
		loop_mr_end(loop_of(p), &loop_of(p)->mr[i]);
}

static const struct unic_provider_ops loop_ops = {
	.name = "loop",
	.start = loop_start,
	.command = loop_command,
	.poll = loop_poll,
	.rest = loop_rest,
	.peek = loop_peek,
	.plug = loop_plug,
	.fini = loop_fini,
};

struct unic_provider *unic_loop_provider(struct unic_os *os, uint32_t slots,
					 void *const *slot_mem,
					 uint64_t slot_bytes)
{
	struct loop *l = unic_os_alloc(os, sizeof(*l));
	uint32_t i;

	if (!l)
		return NULL;
	l->p.ops = &loop_ops;
	l->p.os = os;
	l->slots = slots;
	l->slot_bytes = slot_bytes;
	for (i = 0; i < slots && i < LOOP_PROCS; i++)
		l->slot_mem[i] = slot_mem[i];
	memset(l->pd, 0xff, sizeof(l->pd));
	unic_os_random(os, &l->epoch, sizeof(l->epoch));
	l->info = (struct unic_info){
		.magic = unic_to_le32(UNIC_MAGIC),
		.features = unic_to_le64(UNIC_FEAT_CQ_RESIZE),
		.abi_major = unic_to_le16(UNIC_ABI_MAJOR),
		.tlb_entries = unic_to_le32(1u << 20),
		.mrs = unic_to_le32(LOOP_MRS),
		.qps = unic_to_le32(LOOP_QPS),
		.cqs = unic_to_le32(LOOP_CQS),
		.ring_slots = unic_to_le32(LOOP_QP_SLOTS),
		.cq_entries = unic_to_le32(LOOP_CQ_ENTRIES),
		.procs = unic_to_le32(slots),
		.pds = unic_to_le32(LOOP_PDS),
		.path_mtu = unic_to_le32(4096),
		.mac = { 2, 0, 0, 0, 0, 1 },
		.link_up = 1,
		.build_id = "loop-back in software",
		.state = unic_to_le32(UNIC_NIC_READY),
	};
	return &l->p;
}
