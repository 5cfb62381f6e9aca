/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_words.c - see ctl_words.h. */
#include "ctl_words.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "unic_cmd.h"
#include "unic_queue.h"
#include "unic_stats.h"
#include "unic_wire.h"
#include "unic_words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define COMMAND(name) [UNIC_CMD_##name] = #name
#define PACKET(name)  [UNIC_OP_##name] = #name
#define DONE(name)    [UNIC_WC_##name] = #name
#define REFUSED(name) [UNIC_REFUSED_##name] = #name
#define FEATURE(name)                   \
	{                               \
		UNIC_FEAT_##name, #name \
	}

static const char *const commands[] = {
	COMMAND(NOP),	       COMMAND(SET_PARAMS),  COMMAND(HOST_TIME),
	COMMAND(SET_ADDR),     COMMAND(ENTROPY),     COMMAND(PROC_ATTACH),
	COMMAND(PROC_DETACH),  COMMAND(PROC_SET),    COMMAND(DB_ACK),
	COMMAND(PD_ALLOC),     COMMAND(PD_FREE),     COMMAND(RATE),
	COMMAND(MR_REG),       COMMAND(MR_FILL),     COMMAND(MR_DEREG),
	COMMAND(WAIT_CANCEL),  COMMAND(NOTICE_ACK),  COMMAND(NOTICE_ANSWER),
	COMMAND(MR_EVICT),     COMMAND(MR_FAULT),    COMMAND(MR_INVALIDATE),
	COMMAND(MR_ADVISE),    COMMAND(MR_FORMS),    COMMAND(TOKEN_ALLOC),
	COMMAND(TOKEN_CANCEL), COMMAND(TOKEN_BATCH), COMMAND(CQ_CREATE),
	COMMAND(CQ_DESTROY),   COMMAND(QP_CREATE),   COMMAND(QP_MODIFY),
	COMMAND(QP_DESTROY),   COMMAND(ARP_RESOLVE), COMMAND(MAD_SEND),
	COMMAND(QUERY_USAGE),  COMMAND(DUMP),	     COMMAND(TRACE_CTL),
	COMMAND(FAULT),	       COMMAND(MR_ALLOC),    COMMAND(MR_MAKE),
	COMMAND(MR_INVAL),     COMMAND(MR_REREG),    COMMAND(MR_BATCH),
	COMMAND(SRQ_CREATE),   COMMAND(SRQ_MODIFY),  COMMAND(SRQ_DESTROY),
	COMMAND(CQ_RESIZE),
};

static const char *const packets[] = {
	PACKET(SEND_FIRST),	   PACKET(SEND_MIDDLE),
	PACKET(SEND_LAST),	   PACKET(SEND_LAST_IMM),
	PACKET(SEND_ONLY),	   PACKET(SEND_ONLY_IMM),
	PACKET(WRITE_FIRST),	   PACKET(WRITE_MIDDLE),
	PACKET(WRITE_LAST),	   PACKET(WRITE_LAST_IMM),
	PACKET(WRITE_ONLY),	   PACKET(WRITE_ONLY_IMM),
	PACKET(READ_REQUEST),	   PACKET(READ_RESP_FIRST),
	PACKET(READ_RESP_MIDDLE),  PACKET(READ_RESP_LAST),
	PACKET(READ_RESP_ONLY),	   PACKET(ACK),
	PACKET(ATOMIC_ACK),	   PACKET(COMPARE_SWAP),
	PACKET(FETCH_ADD),	   PACKET(SEND_LAST_INV),
	PACKET(SEND_ONLY_INV),	   PACKET(UC_SEND_FIRST),
	PACKET(UC_SEND_ONLY),	   PACKET(UC_WRITE_FIRST),
	PACKET(UC_WRITE_LAST),	   PACKET(UC_WRITE_ONLY),
	PACKET(UC_WRITE_ONLY_IMM), PACKET(UD_SEND_ONLY),
	PACKET(UD_SEND_ONLY_IMM),  PACKET(TOKEN_FIRST),
	PACKET(TOKEN_MIDDLE),	   PACKET(TOKEN_LAST),
	PACKET(TOKEN_ONLY),	   PACKET(VACK),
};

static const char *const done[] = {
	DONE(SEND),   DONE(WRITE),	    DONE(READ),
	DONE(TOKEN),  DONE(BIND_MW),	    DONE(LOCAL_INV),
	DONE(REG_MR), DONE(COMPARE_SWAP),   DONE(FETCH_ADD),
	DONE(RECV),   DONE(RECV_WRITE_IMM), DONE(RECV_TOKEN),
};

static const char *const refusals[] = {
	REFUSED(NONE),	     REFUSED(SMALLER), REFUSED(NOT_YOURS),
	REFUSED(NOT_ACTIVE), REFUSED(SAME),    REFUSED(WAITER),
	REFUSED(BUDGET),     REFUSED(CLASS),
};

static const struct {
	uint64_t bit;
	const char *name;
} features[] = {
	FEATURE(TOKENS),	FEATURE(REGISTER_WAIT), FEATURE(NOTICE),
	FEATURE(STATS),		FEATURE(ICRC_OFFLOAD),	FEATURE(RESTORE),
	FEATURE(DEMAND),	FEATURE(WINDOWS),	FEATURE(FAST_REG),
	FEATURE(INDIRECT),	FEATURE(PHYSICAL),	FEATURE(BATCH),
	FEATURE(APP_POLICY),	FEATURE(LFU),		FEATURE(IDLE),
	FEATURE(CANCEL_WAIT),	FEATURE(TELL_REFUSED),	FEATURE(ACCOUNTS),
	FEATURE(RESTORE_FORMS), FEATURE(HOST_TABLE),	FEATURE(PAIN),
	FEATURE(RATES),		FEATURE(EVICTABLE),	FEATURE(HISTOGRAMS),
	FEATURE(SNAPSHOT),	FEATURE(ATOMICS),	FEATURE(MR_FORMS),
	FEATURE(CQ_RESIZE),	FEATURE(SRQ),		FEATURE(CACHED_WINDOWS),
};

static const char *const rights_names[] = { "local-write", "remote-read",
					    "remote-write", "bind", "atomic" };

/* Names of an unreliable connection, which are those of a reliable one, 0x20 below. */
#define UC	 0x20u
#define UC_NAMED (UNIC_OP_WRITE_ONLY_IMM + UC)

const char *ctl_command_name(uint32_t opcode)
{
	return opcode < COUNT(commands) ? commands[opcode] : NULL;
}

const char *ctl_packet_name(uint32_t opcode)
{
	if (opcode >= UC && opcode <= UC_NAMED && !packets[opcode])
		return packets[opcode - UC];
	return opcode < COUNT(packets) ? packets[opcode] : NULL;
}

const char *ctl_wc_opcode_name(uint32_t opcode)
{
	return opcode < COUNT(done) ? done[opcode] : NULL;
}

const char *ctl_feature_name(unsigned int bit)
{
	size_t i;

	for (i = 0; i < COUNT(features); i++) {
		if (features[i].bit == 1ull << bit)
			return features[i].name;
	}
	return NULL;
}

const char *ctl_retry_name(uint32_t reason)
{
	static const char *const names[] = {
		"no answer", "a READ is not answered", "receiver not ready",
		"a packet was lost", "a response was lost"
	};

	return reason < COUNT(names) ? names[reason] : NULL;
}

const char *ctl_refusal_name(uint32_t refusal)
{
	return refusal < COUNT(refusals) ? refusals[refusal] : NULL;
}

void ctl_rights_text(char out[CTL_RIGHTS_TEXT], uint32_t rights)
{
	size_t n = 0, i;

	snprintf(out, CTL_RIGHTS_TEXT, "none");
	for (i = 0; i < COUNT(rights_names); i++) {
		if (rights >> i & 1)
			n += (size_t)snprintf(out + n, CTL_RIGHTS_TEXT - n,
					      "%s%s", n ? "," : "",
					      rights_names[i]);
	}
}

struct counter {
	const char *name, *text;
};

#define COUNTER(name, text) { #name, text },
static const struct counter of_nic[] = { UNIC_COUNTERS(COUNTER){ NULL, "" } };

static const struct counter of_driver[] = {
	{ "commands", "commands sent to the NIC" },
	{ "timeouts", "commands not answered" },
	{ "bad_records", "records of the NIC refused" },
	{ "upcalls", "upcalls written, all processes" },
	{ "refused", "requests of processes refused" },
	{ "audits", "promises the provider did not keep" },
	{ NULL, "" },
};

const char *ctl_counter_name(uint32_t counter)
{
	return counter < COUNT(of_nic) ? of_nic[counter].name : NULL;
}

const char *ctl_counter_text(const char *part, const char *name)
{
	const struct counter *c = strcmp(part, "nic") ? of_driver : of_nic;

	while (c->name && strcmp(c->name, name))
		c++;
	return c->text;
}
