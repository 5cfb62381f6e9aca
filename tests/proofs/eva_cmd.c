// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * eva_cmd.c - the decoding of every command: each opcode with any other bytes in
 * its record, any list page that changes all the time, any state. What a handler
 * calls in another module takes anything and answers anything (answers.h).
 */
#include <string.h>

#include "hostile.h"
#include "nic.h"

#include "cmd.c"

#include "answers.h"

static struct unic_nic nic;

static void any_state(uint8_t *bar)
{
	uint32_t i;

	memset(&nic, 0, sizeof(nic));
	Frama_C_make_unknown((char *)nic.counter, sizeof(nic.counter));
	nic.mbox.bar = bar;
	nic.epoch = any32();
	nic.state = any8();
	nic.trace.mask = any32();
	for (i = 0; i < UNIC_QPS; i++) {
		nic.qps.qp[i].used = below(2);
		nic.qps.qp[i].state = any8();
	}
	nic.mrs.free = Frama_C_unsigned_int_interval(0, UNIC_MRS);
}

static void one_command(uint8_t opcode)
{
	uint8_t *bar = hostile(UNIC_BAR_BYTES);
	uint32_t rec[REC_BYTES / 4];

	any_state(bar);
	Frama_C_make_unknown((char *)rec, sizeof(rec));
	((struct unic_cmd_hdr *)rec)->opcode = opcode;
	unic_cmd_execute(&nic, rec, bar + UNIC_BAR_LIST_OFF);
	memset(&nic, 0, sizeof(nic));
}

void cmd_all(void)
{
	uint32_t opcode;

	for (opcode = 0; opcode <= UINT8_MAX; opcode++)
		one_command((uint8_t)opcode);
}
