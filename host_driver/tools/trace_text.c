/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* trace_text.c - see trace_text.h. */
#include "trace_text.h"

#include <stdbool.h>
#include <stdio.h>

#include "ctl_fetch.h"
#include "ctl_words.h"
#include "unic.h"
#include "unic_stats.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define TEXT(name, group, text) text,
static const char *const texts[] = { UNIC_TRACES(TEXT) };

/* The word for value @v of argument @i of event @code; NULL: it is a number. */
static const char *trace_word(uint32_t code, int i, uint32_t v)
{
	static const struct {
		uint16_t code;
		uint8_t arg;
		const char *(*word)(unsigned int v);
	} words[] = {
		{ UNIC_T_CMD, 0, ctl_command_name },
		{ UNIC_T_CMD, 2, unic_status_str },
		{ UNIC_T_WAIT_END, 1, unic_status_str },
		{ UNIC_T_CHOSE, 3, unic_reason_str },
		{ UNIC_T_OFFER, 3, ctl_refusal_name },
		{ UNIC_T_EXTEND, 2, ctl_refusal_name },
		{ UNIC_T_TOKEN_END, 1, unic_token_end_str },
		{ UNIC_T_TOKEN_REFUSE, 1, unic_token_end_str },
		{ UNIC_T_QP_STATE, 3, unic_wc_status_str },
		{ UNIC_T_QP_RETRY, 2, ctl_retry_name },
		{ UNIC_T_WC, 1, ctl_wc_opcode_name },
		{ UNIC_T_WC, 2, unic_wc_status_str },
		{ UNIC_T_TX, 0, ctl_packet_name },
		{ UNIC_T_RX, 0, ctl_packet_name },
	};
	size_t k;

	if (code == UNIC_T_QP_STATE && (i == 1 || i == 2))
		return ctl_qp_state_name(v);
	if (code == UNIC_T_RX_DROP && !i)
		return ctl_counter_name(v);
	for (k = 0; k < COUNT(words); k++) {
		if (words[k].code == code && words[k].arg == i)
			return words[k].word(v);
	}
	return NULL;
}

void trace_text(uint32_t code, const uint32_t arg[4], char *out, size_t room)
{
	const char *text = code < UNIC_T_COUNT ? texts[code] : "", *word;
	size_t n = 0;

	for (; *text && n + 1 < room; text++) {
		bool hex = text[0] == '%' && text[1] == 'x';
		char digit = text[0] == '%' ? text[1 + hex] : '\0';
		uint32_t v;

		if (digit < '0' || digit > '3') {
			out[n++] = *text;
			continue;
		}
		v = arg[digit - '0'];
		word = trace_word(code, digit - '0', v);
		if (word)
			n += (size_t)snprintf(out + n, room - n, "%s", word);
		else
			n += (size_t)snprintf(out + n, room - n,
					      hex ? "0x%x" : "%u", v);
		if (n >= room)
			n = room - 1;
		text += 1 + hex;
	}
	out[n] = '\0';
}
