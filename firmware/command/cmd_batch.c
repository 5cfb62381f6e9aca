/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cmd_batch.c - several commands in one record: MR_BATCH and TOKEN_BATCH. */
#include <string.h>

#include "command/cmd_derived.h"
#include "command/command.h"
#include "command/cmd.h"
#include "command/cmd_list.h"
#include "command/cmd_batch.h"

#define REC_BYTES 64u
#define TOO_MUCH  (UNIC_LIST_BYTES + 1)

union record {
	struct unic_cmd_hdr hdr;
	struct unic_cmd_mr_reg reg;
	struct unic_cmd_token_alloc alloc;
	uint8_t byte[REC_BYTES];
};

static bool in_mr_batch(uint8_t opcode)
{
	return opcode == UNIC_CMD_MR_REG || opcode == UNIC_CMD_MR_ALLOC ||
	       opcode == UNIC_CMD_MR_DEREG;
}

static bool in_token_batch(uint8_t opcode)
{
	return opcode == UNIC_CMD_TOKEN_ALLOC ||
	       opcode == UNIC_CMD_TOKEN_CANCEL;
}

/* Bytes that the command would have in a list page of its own. */
static uint32_t list_bytes(const union record *rec)
{
	uint32_t n;

	if (rec->hdr.opcode == UNIC_CMD_MR_REG &&
	    rec->reg.flags & UNIC_REG_LIST) {
		n = unic_from_le32(rec->reg.n_pages);
		return n <= UNIC_BOX_LIST_MAX ? n * 8 : TOO_MUCH;
	}
	if (rec->hdr.opcode == UNIC_CMD_TOKEN_ALLOC) {
		n = unic_from_le32(rec->alloc.pieces);
		return n <= UNIC_TOKEN_PIECES
			       ? n * (uint32_t)sizeof(struct unic_token_piece)
			       : TOO_MUCH;
	}
	return 0;
}

static bool has_wait_flag(const union record *rec)
{
	return rec->hdr.opcode == UNIC_CMD_MR_REG &&
	       rec->reg.flags & UNIC_REG_WAIT;
}

/* Executes record @rec if the batch takes its opcode. Its list begins *@off bytes
 * into the page; *@off becomes the end of the list. */
static int run_one(struct unic_command *nic, bool (*takes)(uint8_t opcode),
		   const union record *rec, void *out, uint8_t *list,
		   uint32_t *off)
{
	uint32_t at = *off, end;

	if (!takes(rec->hdr.opcode))
		return -UNIC_EOPCODE;
	end = at + list_bytes(rec);
	if (has_wait_flag(rec) || end > UNIC_BOX_LIST_BYTES)
		return -UNIC_EINVAL;
	*off = end;
	return unic_cmd_one(nic, rec, out, list + at);
}

/* Copies each record of the shared page once and writes the answer in its place. */
static int run_batch(struct unic_command *nic, const void *rec, void *out,
		     uint8_t *list, bool (*takes)(uint8_t opcode))
{
	const struct unic_cmd_batch *cmd = rec;
	struct unic_cpl_batch *cpl = out;
	uint32_t n = unic_from_le32(cmd->count), off = n * REC_BYTES, i;
	uint32_t done = 0;

	if (n < 1 || n > UNIC_BATCH_MAX || off > UNIC_BOX_LIST_BYTES)
		return -UNIC_EINVAL;
	for (i = 0; i < n; i++) {
		uint8_t *at = list + i * REC_BYTES;
		union record in, answer = { .byte = { 0 } };
		int err;

		unic_cmd_fetch(at, nic->list, REC_BYTES / 8);
		memcpy(&in, nic->list, REC_BYTES);
		err = run_one(nic, takes, &in, &answer, list, &off);
		answer.hdr = in.hdr;
		answer.hdr.status = unic_err_status(err);
		memcpy(at, &answer, REC_BYTES);
		done += !err || err == -UNIC_EPENDING;
	}
	cpl->done = unic_to_le32(done);
	return 0;
}

int unic_cmd_mr_batch(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list)
{
	return run_batch(nic, rec, out, list, in_mr_batch);
}

int unic_cmd_token_batch(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list)
{
	return run_batch(nic, rec, out, list, in_token_batch);
}
