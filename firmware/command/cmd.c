/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cmd.c - the table of the mailbox commands, and the handlers of those about the NIC,
 * processes, domains and queues. See cmd.h. */
#include <string.h>

#include "command/cmd.h"
#include "command/cmd_derived.h"
#include "command/cmd_mr.h"
#include "command/cmd_usage.h"
#include "command/dump.h"
#include "command/proc.h"
#include "command/command.h"
#include "command/cmd_batch.h"
#include "transport/mad.h"
#include "transport/qp_modify.h"
#include "transport/qp_number.h"

#define REC_BYTES 64u

/*
 * A handler gets the one fetched copy of the command and a zeroed completion
 * whose header is already right; it returns 0 or -UNIC_E*.
 */
typedef int unic_cmd_fn(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list);

static int do_nop(struct unic_command *nic, const void *rec, void *out,
		  uint8_t *list)
{
	const struct unic_cmd_nop *cmd = rec;
	struct unic_cmd_nop *cpl = out;

	(void)nic;
	(void)list;
	cpl->data = cmd->data;
	return 0;
}

void unic_cmd_publish(struct unic_command *nic)
{
	const struct unic_mbox_times times = {
		.grace_us = nic->notices.grace_us,
		.deliver_us = nic->notices.deliver_us,
		.reaper_us = nic->candidates.reaper_us,
		.drain_us = UNIC_DRAIN_BOUND_US,
	};

	unic_mbox_publish(&nic->base, &times);
}

static bool in_range(uint32_t v, uint32_t lo, uint32_t hi)
{
	return v == 0 || (v >= lo && v <= hi);
}

static bool flags_ok(uint32_t flags, uint32_t low, uint32_t high)
{
	const uint32_t uses = UNIC_PARAM_USES_REPORTED |
			      UNIC_PARAM_USES_COUNTED;

	if (flags & ~(UNIC_PARAM_WATERMARKS | UNIC_PARAM_GRACE |
		      UNIC_PARAM_IDLE | UNIC_PARAM_PAIN | uses) ||
	    (flags & uses) == uses)
		return false;
	return flags & UNIC_PARAM_WATERMARKS
		       ? low <= high && high <= UNIC_TLB_ENTRIES
		       : !low && !high;
}

#define PAIN_PCT_MAX 400u

static int do_set_params(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list)
{
	const struct unic_cmd_set_params *cmd = rec;
	struct unic_notices *n = &nic->notices;
	uint32_t grace = unic_from_le32(cmd->grace_us);
	uint32_t deliver = unic_from_le32(cmd->deliver_us);
	uint32_t reaper = unic_from_le32(cmd->reaper_us);
	uint32_t low = unic_from_le32(cmd->low_entries);
	uint32_t high = unic_from_le32(cmd->high_entries);
	uint32_t flags = unic_from_le32(cmd->flags);
	uint32_t idle = unic_from_le32(cmd->idle_us);
	uint32_t prefetch = unic_from_le32(cmd->prefetch);
	uint32_t pain = unic_from_le32(cmd->pain_pct);

	(void)out;
	(void)list;
	if (!in_range(grace, 1, 10000000) || !in_range(deliver, 1, 10000000) ||
	    !in_range(reaper, 100, 1000000) || !flags_ok(flags, low, high) ||
	    !in_range(idle, UNIC_ASKS ? 1000 : 1, UNIC_ASKS ? 1000000000 : 0) ||
	    !in_range(prefetch, 1, UNIC_TABLE_READS ? UNIC_TABLE_GROUP : 0) ||
	    pain > (UNIC_PAIN ? PAIN_PCT_MAX : 0) ||
	    unic_from_le32(cmd->residence_us) > 10000000 ||
	    unic_from_le32(cmd->extend_us) > 10000000)
		return -UNIC_EINVAL;
	if (grace || (flags & UNIC_PARAM_GRACE))
		n->grace_us = grace;
	if (deliver)
		n->deliver_us = deliver;
	if (reaper)
		nic->candidates.reaper_us = reaper;
	if (flags & UNIC_PARAM_WATERMARKS) {
		nic->mrs.low = low;
		nic->reclaim.high = high;
	}
	if (cmd->residence_us)
		nic->candidates.residence_us =
			unic_from_le32(cmd->residence_us);
	if (cmd->extend_us)
		n->extend_us = unic_from_le32(cmd->extend_us);
	if (UNIC_ASKS && (idle || (flags & UNIC_PARAM_IDLE)))
		unic_ask_after(&nic->revoke, idle);
	if (UNIC_TABLE_READS && prefetch)
		nic->tables.prefetch = prefetch;
	if (UNIC_PAIN && (pain || (flags & UNIC_PARAM_PAIN)))
		unic_candidates_weigh(&nic->memory, pain);
	if (flags & (UNIC_PARAM_USES_REPORTED | UNIC_PARAM_USES_COUNTED))
		unic_usage_switch(&nic->memory,
				  flags & UNIC_PARAM_USES_REPORTED);
	unic_cmd_publish(nic);
	unic_evict_kick(&nic->revoke);
	return 0;
}

static int do_host_time(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list)
{
	const struct unic_cmd_host_time *cmd = rec;
	struct unic_info *info = (void *)(nic->mbox.bar + UNIC_BOX_INFO);

	(void)out;
	(void)list;
	info->pair_nic_ns = unic_to_le64(unic_port_now_ns(nic->port));
	info->pair_host_ns = cmd->host_ns;
	return 0;
}

static bool any_connected(const struct unic_command *nic)
{
	uint32_t i;

	for (i = 0; i < UNIC_QPS; i++)
		if (nic->qps.qp[i].used && nic->qps.qp[i].state > UNIC_QPS_INIT)
			return true;
	return false;
}

static int do_set_addr(struct unic_command *nic, const void *rec, void *out,
		       uint8_t *list)
{
	const struct unic_cmd_set_addr *cmd = rec;
	uint32_t ip = unic_from_le32(cmd->ipv4);

	(void)out;
	(void)list;
	if (ip == 0 || ip >> 28 >= 14 || ip >> 24 == 127)
		return -UNIC_EINVAL;
	if (any_connected(nic))
		return -UNIC_EBUSY;
	nic->ipv4 = ip;
	unic_cmd_publish(nic);
	return 0;
}

static int do_entropy(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_entropy *cmd = rec;

	(void)out;
	(void)list;
	unic_random_mix(&nic->base, cmd->bytes);
	unic_mr_rekey(&nic->memory);
	unic_qp_rekey(&nic->transport);
	return 0;
}

static int do_proc_attach(struct unic_command *nic, const void *rec, void *out,
			  uint8_t *list)
{
	(void)out;
	(void)list;
	return unic_proc_attach(nic, rec);
}

static int do_proc_detach(struct unic_command *nic, const void *rec, void *out,
			  uint8_t *list)
{
	const struct unic_cmd_proc_detach *cmd = rec;

	(void)out;
	(void)list;
	return unic_proc_detach(nic, unic_from_le32(cmd->proc));
}

static int do_db_ack(struct unic_command *nic, const void *rec, void *out,
		     uint8_t *list)
{
	const struct unic_cmd_db_ack *cmd = rec;

	(void)out;
	(void)list;
	return unic_proc_db_ack(nic, unic_from_le32(cmd->proc));
}

static int do_proc_set(struct unic_command *nic, const void *rec, void *out,
		       uint8_t *list)
{
	(void)out;
	(void)list;
	return unic_proc_set(nic, rec);
}

static int do_rate(struct unic_command *nic, const void *rec, void *out,
		   uint8_t *list)
{
	(void)list;
	return unic_meter_rate(&nic->transport, rec, out);
}

static int do_pd_alloc(struct unic_command *nic, const void *rec, void *out,
		       uint8_t *list)
{
	const struct unic_cmd_pd *cmd = rec;
	struct unic_cpl_pd *cpl = out;
	uint32_t flags = unic_from_le32(cmd->flags);
	int pd;

	(void)list;
	if (unic_from_le32(cmd->pd) || (flags & ~UNIC_PD_FLAGS_ALL))
		return -UNIC_EINVAL;
	pd = unic_pd_alloc(&nic->memory, unic_from_le32(cmd->proc),
			   flags & UNIC_PD_PHYSICAL);
	if (pd < 0)
		return pd;
	cpl->pd = unic_to_le32((uint32_t)pd);
	return 0;
}

static int do_pd_free(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	const struct unic_cmd_pd *cmd = rec;

	(void)out;
	(void)list;
	if (unic_from_le32(cmd->flags))
		return -UNIC_EINVAL;
	return unic_pd_free(&nic->memory, unic_from_le32(cmd->proc),
			    unic_from_le32(cmd->pd));
}

/* An object id, or an error. */
static int build_obj_cpl(int id, void *out)
{
	struct unic_cpl_obj *cpl = out;

	if (id < 0)
		return id;
	cpl->id = unic_to_le32((uint32_t)id);
	return 0;
}

static int do_cq_create(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list)
{
	(void)list;
	return build_obj_cpl(unic_cq_create(&nic->transport, rec), out);
}

static int do_cq_destroy(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list)
{
	const struct unic_cmd_obj *cmd = rec;

	(void)out;
	(void)list;
	return unic_cq_destroy(&nic->transport, unic_from_le32(cmd->proc),
			       unic_from_le32(cmd->id));
}

static int do_cq_resize(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list)
{
	(void)list;
	return unic_cq_resize(&nic->transport, rec, out);
}

static int do_qp_create(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list)
{
	(void)list;
	return build_obj_cpl(unic_qp_create(&nic->transport, rec), out);
}

static int do_qp_modify(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list)
{
	const struct unic_cmd_qp_modify *cmd = rec;
	int r = unic_qp_modify(&nic->transport, cmd);

	(void)out;
	(void)list;
	if (!r && cmd->state == UNIC_QPS_INIT)
		unic_proc_ring_qp(nic,
				  unic_qp_by_number(&nic->transport,
						    unic_from_le32(cmd->qpn)));
	return r;
}

static int do_qp_destroy(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list)
{
	const struct unic_cmd_obj *cmd = rec;

	(void)out;
	(void)list;
	return unic_qp_destroy(&nic->transport, unic_from_le32(cmd->proc),
			       unic_from_le32(cmd->id));
}

static int do_srq_create(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list)
{
	(void)list;
	return build_obj_cpl(unic_srq_create(&nic->transport, rec), out);
}

static int do_srq_modify(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list)
{
	(void)out;
	(void)list;
	return unic_srq_modify(&nic->transport, rec);
}

static int do_srq_destroy(struct unic_command *nic, const void *rec, void *out,
			  uint8_t *list)
{
	const struct unic_cmd_obj *cmd = rec;

	(void)out;
	(void)list;
	return unic_srq_destroy(&nic->transport, unic_from_le32(cmd->proc),
				unic_from_le32(cmd->id));
}

static int do_arp(struct unic_command *nic, const void *rec, void *out,
		  uint8_t *list)
{
	const struct unic_cmd_arp *cmd = rec;
	struct unic_cpl_arp *cpl = out;

	(void)list;
	return unic_arp_resolve(&nic->transport, unic_from_le32(cmd->ipv4),
				unic_from_le32(cmd->user), cpl->mac);
}

static int do_mad_send(struct unic_command *nic, const void *rec, void *out,
		       uint8_t *list)
{
	uint8_t data[UNIC_MAD_BYTES];

	(void)out;
	memcpy(data, list, sizeof(data));
	return unic_mad_send(&nic->transport, rec, data);
}

static int do_query_usage(struct unic_command *nic, const void *rec, void *out,
			  uint8_t *list)
{
	const struct unic_cmd_obj *cmd = rec;
	uint32_t proc = unic_from_le32(cmd->id);

	(void)list;
	if (unic_from_le32(cmd->proc))
		return -UNIC_EINVAL;
	if (!unic_slot_live(&nic->base, proc))
		return -UNIC_ENOPROC;
	unic_cmd_usage(nic, proc, 0, out);
	return 0;
}

static int do_dump(struct unic_command *nic, const void *rec, void *out,
		   uint8_t *list)
{
	return unic_dump(nic, rec, list, out);
}

static int do_trace_ctl(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list)
{
	const struct unic_cmd_trace_ctl *cmd = rec;

	(void)out;
	(void)list;
	nic->trace.mask = unic_from_le32(cmd->mask);
	return 0;
}

static int do_fault(struct unic_command *nic, const void *rec, void *out,
		    uint8_t *list)
{
	const struct unic_cmd_fault *cmd = rec;
	uint32_t arg = unic_from_le32(cmd->arg);

	(void)out;
	(void)list;
	switch (unic_from_le32(cmd->fault)) {
	case UNIC_FAULT_CRASH:
		unic_port_panic(nic->port, __FILE__, __LINE__);
	case UNIC_FAULT_DROP_RX:
		nic->rx_fault = arg;
		return 0;
	case UNIC_FAULT_DROP_EVENTS:
		nic->mbox.irq_fault = arg;
		return 0;
	default:
		return -UNIC_EINVAL;
	}
}

/* Bytes of the record that mean something; all others must be 0. */
#define USED(type, last) \
	(offsetof(struct type, last) + sizeof(((struct type *)0)->last))
/* Up to the last parameter that this board knows. */
#define SET_PARAMS_USED                                         \
	(UNIC_TABLE_READS ? USED(unic_cmd_set_params, prefetch) \
	 : UNIC_PAIN	  ? USED(unic_cmd_set_params, pain_pct) \
			  : USED(unic_cmd_set_params, idle_us))
#define CMD(op, fn, type, last) \
	[UNIC_CMD_##op] = { fn, USED(type, last), false }
/* A clock that is some microseconds late will do: it starts and ends nothing that is
 * timed. */
#define UNTIMED(op, fn, type, last) \
	[UNIC_CMD_##op] = { fn, USED(type, last), true }

static const struct {
	unic_cmd_fn *run;
	uint8_t used;
	bool untimed;
} commands[] = {
	UNTIMED(NOP, do_nop, unic_cmd_nop, data),
	[UNIC_CMD_SET_PARAMS] = { do_set_params, SET_PARAMS_USED, false },
	CMD(HOST_TIME, do_host_time, unic_cmd_host_time, host_ns),
	UNTIMED(SET_ADDR, do_set_addr, unic_cmd_set_addr, ipv4),
	CMD(ENTROPY, do_entropy, unic_cmd_entropy, bytes),
	[UNIC_CMD_PROC_ATTACH] = { do_proc_attach,
				   UNIC_METERS
					   ? USED(unic_cmd_proc_attach, burst)
					   : USED(unic_cmd_proc_attach, keeper),
				   false },
	CMD(PROC_DETACH, do_proc_detach, unic_cmd_proc_detach, proc),
	CMD(PROC_SET, do_proc_set, unic_cmd_proc_set, claim),
	[UNIC_CMD_RATE] = { UNIC_METERS ? do_rate : NULL,
			    USED(unic_cmd_rate, flags), false },
	CMD(DB_ACK, do_db_ack, unic_cmd_db_ack, proc),
	UNTIMED(PD_ALLOC, do_pd_alloc, unic_cmd_pd, flags),
	UNTIMED(PD_FREE, do_pd_free, unic_cmd_pd, flags),
	CMD(MR_REG, unic_cmd_mr_reg, unic_cmd_mr_reg, list),
	CMD(MR_FILL, unic_cmd_mr_fill, unic_cmd_mr_fill, count),
	CMD(MR_DEREG, unic_cmd_mr_dereg, unic_cmd_mr, gen),
	CMD(WAIT_CANCEL, unic_cmd_wait_cancel, unic_cmd_wait_cancel, wait),
	CMD(NOTICE_ACK, unic_cmd_notice_ack, unic_cmd_notice_ack, seq),
	CMD(NOTICE_ANSWER, unic_cmd_notice_answer, unic_cmd_notice_answer,
	    extend_us),
	CMD(MR_EVICT, unic_cmd_mr_evict, unic_cmd_mr, gen),
	CMD(TOKEN_ALLOC, unic_cmd_token_alloc, unic_cmd_token_alloc, pieces),
	CMD(TOKEN_CANCEL, unic_cmd_token_cancel, unic_cmd_token_cancel, flags),
	CMD(CQ_CREATE, do_cq_create, unic_cmd_cq_create, db_index),
	CMD(CQ_DESTROY, do_cq_destroy, unic_cmd_obj, id),
	[UNIC_CMD_CQ_RESIZE] = { UNIC_CQ_RESIZE ? do_cq_resize : NULL,
				 USED(unic_cmd_cq_resize, entries), true },
	[UNIC_CMD_QP_CREATE] = { do_qp_create,
				 UNIC_SRQS ? USED(unic_cmd_qp_create, srq)
					   : USED(unic_cmd_qp_create, rsvd0),
				 false },
	CMD(QP_MODIFY, do_qp_modify, unic_cmd_qp_modify, qkey),
	CMD(QP_DESTROY, do_qp_destroy, unic_cmd_obj, id),
	[UNIC_CMD_SRQ_CREATE] = { UNIC_SRQS ? do_srq_create : NULL,
				  USED(unic_cmd_srq_create, db_index), false },
	[UNIC_CMD_SRQ_MODIFY] = { UNIC_SRQS ? do_srq_modify : NULL,
				  USED(unic_cmd_srq_modify, limit), true },
	[UNIC_CMD_SRQ_DESTROY] = { UNIC_SRQS ? do_srq_destroy : NULL,
				   USED(unic_cmd_obj, id), false },
	CMD(ARP_RESOLVE, do_arp, unic_cmd_arp, user),
	CMD(MAD_SEND, do_mad_send, unic_cmd_mad_send, mac),
	UNTIMED(QUERY_USAGE, do_query_usage, unic_cmd_obj, id),
	[UNIC_CMD_DUMP] = { do_dump,
			    UNIC_SNAPSHOT ? USED(unic_cmd_dump, snapshot)
					  : USED(unic_cmd_dump, first),
			    true },
	CMD(MR_FAULT, unic_cmd_mr_fault, unic_cmd_mr_fault, cannot),
	CMD(MR_INVALIDATE, unic_cmd_mr_invalidate, unic_cmd_mr_pages, advice),
	CMD(MR_ADVISE, unic_cmd_mr_advise, unic_cmd_mr_pages, advice),
	[UNIC_CMD_MR_FORMS] = { UNIC_MR_FORMS ? unic_cmd_mr_forms : NULL,
				USED(unic_cmd_mr, gen), true },
	UNTIMED(TRACE_CTL, do_trace_ctl, unic_cmd_trace_ctl, mask),
	CMD(FAULT, do_fault, unic_cmd_fault, arg),
	[UNIC_CMD_MR_ALLOC] = { unic_cmd_mr_alloc,
				UNIC_RESTORE_FORMS
					? USED(unic_cmd_mr_alloc, stag)
					: USED(unic_cmd_mr_alloc, user),
				false },
	CMD(MR_MAKE, unic_cmd_mr_make, unic_cmd_mr_make, rsvd0),
	CMD(MR_INVAL, unic_cmd_mr_inval, unic_cmd_mr, gen),
	CMD(MR_REREG, unic_cmd_mr_rereg, unic_cmd_mr_rereg, n_pages),
	CMD(MR_BATCH, unic_cmd_mr_batch, unic_cmd_batch, count),
	CMD(TOKEN_BATCH, unic_cmd_token_batch, unic_cmd_batch, count),
};

static inline bool is_command(uint8_t opcode)
{
	return opcode < sizeof(commands) / sizeof(commands[0]);
}

/* @rec is word-aligned. */
static bool rest_is_zero(const uint8_t *rec, uint32_t used)
{
	const uint32_t *word, *end = (const void *)(rec + REC_BYTES);
	uint32_t any = 0;

	for (; used & 3; used++)
		any |= rec[used];
	word = (const void *)(rec + used);
	if (used & 4)
		any |= *word++;
	for (; word != end; word += 2)
		any |= word[0] | word[1];
	return !any;
}

int unic_cmd_one(struct unic_command *nic, const void *rec, void *out,
		 uint8_t *list)
{
	const struct unic_cmd_hdr *hdr = rec;

	if (hdr->status || !rest_is_zero(rec, commands[hdr->opcode].used))
		return -UNIC_EINVAL;
	return commands[hdr->opcode].run(nic, rec, out, list);
}

/* A command in another state than READY: may it run? One that is not of the snapshot
 * ends it, and so runs in state READY. */
static __attribute__((noinline, cold)) bool may_run(struct unic_command *nic,
						    const void *rec)
{
	const struct unic_cmd_hdr *hdr = rec;

	if (UNIC_SNAPSHOT && nic->state == UNIC_NIC_HELD) {
		if (hdr->opcode != UNIC_CMD_DUMP || !unic_dump_holds(nic, rec))
			unic_dump_resume(nic);
		return true;
	}
	return hdr->opcode == UNIC_CMD_DUMP || hdr->opcode == UNIC_CMD_NOP;
}

static int run_cmd(struct unic_command *nic, const uint8_t *rec, void *out,
		   uint8_t *list)
{
	const struct unic_cmd_hdr *hdr = (const struct unic_cmd_hdr *)rec;
	unic_cmd_fn *run;

	if (!is_command(hdr->opcode) || !commands[hdr->opcode].run)
		return -UNIC_EOPCODE;
	run = commands[hdr->opcode].run;
	if (unic_from_le32(hdr->epoch) != nic->epoch)
		return -UNIC_EEPOCH;
	if (hdr->status || !rest_is_zero(rec, commands[hdr->opcode].used))
		return -UNIC_EINVAL;
	if (unlikely(nic->state != UNIC_NIC_READY) && !may_run(nic, rec))
		return -UNIC_EFAILED;
	if (unlikely(nic->evict_due))
		unic_evict_settle(&nic->revoke);
	return run(nic, rec, out, list);
}

void unic_cmd_execute(struct unic_command *nic, const void *rec, void *out,
		      void *list)
{
	const struct unic_cmd_hdr *cmd = rec;
	struct unic_cmd_hdr *cpl = out;
	int err;

	/* a grace, a time-out or a life that begins now begins now (INV-6) */
	if (!is_command(cmd->opcode) || !commands[cmd->opcode].untimed)
		nic->now_ns = unic_port_now_ns(nic->port);
	memset(out, 0, REC_BYTES);
	err = run_cmd(nic, rec, out, list);
	cpl->opcode = cmd->opcode;
	cpl->status = unic_err_status(err);
	cpl->cookie = cmd->cookie;
	cpl->epoch = unic_to_le32(nic->epoch);
	UNIC_COUNT(nic, commands);
	if (unlikely(err) && err != -UNIC_EPENDING)
		UNIC_COUNT(nic, commands_failed);
	UNIC_TRACE(nic, CMD, 0xffff, cmd->opcode, unic_from_le16(cmd->cookie),
		   cpl->status, 0);
}
