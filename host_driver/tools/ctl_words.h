/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_words.h - the names that the ABI has for numbers of commands, packets, features and the like.
 *
 * Secret: none but the tables.
 */
#ifndef UNIC_CTL_WORDS_H
#define UNIC_CTL_WORDS_H

#include <stdint.h>

#define CTL_RIGHTS_TEXT 64 /* bytes of rights as text */

/** ctl_command_name() - of enum unic_cmd_opcode, such as MR_REG; NULL: it has none. */
const char *ctl_command_name(uint32_t opcode);

/** ctl_packet_name() - of enum unic_bth_opcode, such as WRITE_ONLY; NULL: it has none. */
const char *ctl_packet_name(uint32_t opcode);

/** ctl_wc_opcode_name() - of enum unic_wc_opcode, such as WRITE; NULL: it has none. */
const char *ctl_wc_opcode_name(uint32_t opcode);

/** ctl_refusal_name() - of enum unic_refusal, such as WAITER; NULL: it has none. */
const char *ctl_refusal_name(uint32_t refusal);

/** ctl_feature_name() - of bit @bit, 0 to 63, of UNIC_FEAT_*, such as ATOMICS; NULL: it has none. */
const char *ctl_feature_name(unsigned int bit);

/** ctl_counter_name() - of an enum unic_counter; NULL: there is none. */
const char *ctl_counter_name(uint32_t counter);

/** ctl_counter_text() - what counter @name of @part, "nic" or "driver", counts; "": there is
 * none. */
const char *ctl_counter_text(const char *part, const char *name);

/** ctl_retry_name() - why a queue pair sends again; NULL: there is no such reason. */
const char *ctl_retry_name(uint32_t reason);

/** ctl_rights_text() - the names of the bits of enum unic_mr_rights in @rights, with
 * commas; "none": there are none. */
void ctl_rights_text(char out[CTL_RIGHTS_TEXT], uint32_t rights);

#endif /* UNIC_CTL_WORDS_H */
