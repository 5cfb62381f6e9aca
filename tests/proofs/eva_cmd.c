// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * eva_cmd.c - the decoding of every command (firmware/command/cmd.c, cmd_mr.c,
 * cmd_derived.c, cmd_batch.c): each opcode with any other bytes in its record,
 * any list page that changes all the time, any state. Functions of other
 * modules take any arguments and return any result (answers.h).
 *
 * Eva does not relate two reads of one place, so related values are separate
 * cases: the region named is in the table or not, and protection domains are
 * owned or not (a command looks at one).
 */
#include <string.h>

#include "hostile.h"
#include "nic.h"

#include "command/cmd.c"
#undef REC_BYTES
#include "command/cmd_derived.c"
#include "command/cmd_list.c"
#include "command/cmd_mr.c"
#include "command/cmd_usage.c"
#include "command/cmd_batch.c"

#include "answers.h"

static struct unic_nic nic, begin;
static uint8_t *bar;

static void any_state(bool owned)
{
	uint32_t i;

	memset(&begin, 0, sizeof(begin));
	Frama_C_make_unknown((char *)begin.counter, sizeof(begin.counter));
	begin.mbox.bar = bar;
	begin.epoch = any32();
	begin.state = any8();
	begin.trace.mask = any32();
	for (i = 0; i < UNIC_QPS; i++) {
		begin.qps.qp[i].used = below(2);
		begin.qps.qp[i].state = any8();
	}
	begin.mrs.free = Frama_C_unsigned_int_interval(0, UNIC_MRS);
	for (i = 0; i < UNIC_MRS; i++) {
		begin.mrs.mr[i].pd = (uint16_t)below(UNIC_PDS);
		begin.mrs.mr[i].stag = any32();
		begin.mrs.mr[i].gen = any16();
	}
	for (i = 0; i < UNIC_PDS; i++)
		begin.mrs.pd[i].proc = owned ? (uint16_t)below(UNIC_PROCS)
					     : UNIC_PD_NIL;
}

static void one_command(uint8_t opcode, bool in_table)
{
	uint64_t rec[REC_BYTES / 8], out[REC_BYTES / 8];

	nic = begin;
	Frama_C_make_unknown((char *)rec, sizeof(rec));
	((struct unic_cmd_hdr *)rec)->opcode = opcode;
	((struct unic_cmd_mr *)rec)->mr = unic_to_le32(
		in_table ? below(UNIC_MRS)
			 : Frama_C_unsigned_int_interval(UNIC_MRS, UINT32_MAX));
	unic_cmd_execute(&nic.command, rec, out, bar + UNIC_BAR_LIST_OFF);
	nic = begin; /* one state, not one for each path */
}

static bool is_batch(uint32_t opcode)
{
	return opcode == UNIC_CMD_MR_BATCH || opcode == UNIC_CMD_TOKEN_BATCH;
}

static void all_opcodes(bool owned, bool batches)
{
	uint32_t opcode;

	any_state(owned);
	for (opcode = 0; opcode <= UINT8_MAX; opcode++) {
		if (is_batch(opcode) != batches)
			continue;
		one_command((uint8_t)opcode, true);
		one_command((uint8_t)opcode, false);
	}
}

void cmd_all(void)
{
	bar = hostile(UNIC_BAR_BYTES);
	all_opcodes(true, false);
	all_opcodes(false, false);
}

/* Commands in a list page, which name any region. */
void batch_all(void)
{
	bar = hostile(UNIC_BAR_BYTES);
	all_opcodes(true, true);
	all_opcodes(false, true);
}
