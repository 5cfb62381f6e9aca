/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmd_mr.h - the mailbox commands about regions, requests that wait for one, notices and
 * tokens; rows of the table of cmd.c.
 *
 * Secret: how their records are decoded and answered. Each gets the private copy of the
 * command, a zeroed completion whose header is already right, and the list page, which is
 * shared; returns 0 or -UNIC_E*.
 */
#ifndef UNIC_CMD_MR_H
#define UNIC_CMD_MR_H

#include <stdint.h>

struct unic_command;

/** unic_cmd_mr_reg() - MR_REG: pages from the list, or none yet. */
int unic_cmd_mr_reg(struct unic_command *nic, const void *rec, void *out,
		    uint8_t *list);

/** unic_cmd_mr_fill() - MR_FILL: pages from the list. */
int unic_cmd_mr_fill(struct unic_command *nic, const void *rec, void *out,
		     uint8_t *list);

/** unic_cmd_mr_fault() - MR_FAULT: pages from the list, or none to be had. */
int unic_cmd_mr_fault(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);

/** unic_cmd_mr_invalidate() - MR_INVALIDATE. */
int unic_cmd_mr_invalidate(struct unic_command *nic, const void *rec, void *out,
			   uint8_t *list);

/** unic_cmd_mr_advise() - MR_ADVISE. */
int unic_cmd_mr_advise(struct unic_command *nic, const void *rec, void *out,
		       uint8_t *list);

/** unic_cmd_mr_dereg() - MR_DEREG. */
int unic_cmd_mr_dereg(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);

/** unic_cmd_wait_cancel() - WAIT_CANCEL. */
int unic_cmd_wait_cancel(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list);

/** unic_cmd_notice_ack() - NOTICE_ACK. */
int unic_cmd_notice_ack(struct unic_command *nic, const void *rec, void *out,
			uint8_t *list);

/** unic_cmd_notice_answer() - NOTICE_ANSWER. */
int unic_cmd_notice_answer(struct unic_command *nic, const void *rec, void *out,
			   uint8_t *list);

/** unic_cmd_mr_evict() - MR_EVICT. */
int unic_cmd_mr_evict(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);

/** unic_cmd_token_alloc() - TOKEN_ALLOC: pieces from the list. */
int unic_cmd_token_alloc(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list);

/** unic_cmd_token_cancel() - TOKEN_CANCEL. */
int unic_cmd_token_cancel(struct unic_command *nic, const void *rec, void *out,
			  uint8_t *list);

#endif /* UNIC_CMD_MR_H */
