/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_trace.c - see ctl_trace.h. */
#include "ctl_trace.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl_fetch.h"
#include "ctl_json.h"
#include "ctl_print.h"
#include "ctl_ring.h"
#include "ctl_words.h"
#include "unic.h"
#include "unic_stats.h"

#define NAP_NS	 10000000 /* until the next look for events */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define TEXT(name, group, text)	 text,
#define TNAME(name, group, text) #name,
static const char *const trace_texts[] = { UNIC_TRACES(TEXT) };
static const char *const trace_names[] = { UNIC_TRACES(TNAME) };

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

/* Format the text of event @code with its arguments: "%0" to "%3" in words or decimal,
 * "%x0" to "%x3" in hex. */
static void format_trace(uint32_t code, const uint32_t arg[4], char *out,
			 size_t room)
{
	const char *text = trace_texts[code], *word;
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

struct json_object *ctl_trace_object(const struct unic_trace_rec *r,
				     const struct ctl_ring *ring)
{
	struct json_object *o = json_object_new_object();
	struct json_object *args = json_object_new_array();
	uint32_t code = unic_from_le16(r->code);
	uint64_t ns = unic_from_le64(r->time_ns);
	uint32_t arg[4];
	char text[160] = "";
	int i;

	for (i = 0; i < 4; i++) {
		arg[i] = unic_from_le32(r->arg[i]);
		json_object_array_add(args, json_object_new_int64(arg[i]));
	}
	if (code < UNIC_T_COUNT)
		format_trace(code, arg, text, sizeof(text));
	ctl_add_u64(o, "seq", unic_from_le32(r->seq));
	ctl_add_u64(o, "time_ns", ns);
	if (ring->host_ns)
		ctl_add_u64(o, "host_ns", ns - ring->nic_ns + ring->host_ns);
	ctl_add_name(o, "event", trace_names, UNIC_T_COUNT, code);
	if (unic_from_le16(r->proc) != CTL_NO_PROC)
		ctl_add_u64(o, "proc", unic_from_le16(r->proc));
	ctl_add_string(o, "text", text);
	json_object_object_add(o, "args", args);
	return o;
}

int ctl_trace_groups(const char *list)
{
	static const struct {
		const char *name;
		int mask;
	} groups[] = {
		{ "mr", UNIC_TG_MR },
		{ "evict", UNIC_TG_EVICT },
		{ "token", UNIC_TG_TOKEN },
		{ "qp", UNIC_TG_QP },
		{ "wire", UNIC_TG_WIRE },
		{ "cmd", UNIC_TG_CMD },
		{ "ref", UNIC_TG_REF },
		{ "all", 0x7f },
		{ "none", 0 },
	};
	const size_t n = sizeof(groups) / sizeof(groups[0]);
	int mask = 0;
	size_t len;
	size_t i;

	for (; *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < n; i++) {
			if (len == strlen(groups[i].name) &&
			    !strncmp(list, groups[i].name, len))
				break;
		}
		if (i == n)
			return -1;
		mask |= groups[i].mask;
	}
	return mask;
}

int ctl_trace_set_groups(struct unic_conn *conn, int mask)
{
	struct unic_ctl_fault rec = { .arg = unic_to_le32((uint32_t)mask) };

	return unic_conn_simple(conn, UNIC_CTL_TRACE_MASK, &rec,
				"choose trace groups");
}

static void show_event(struct json_object *event, bool json)
{
	if (json)
		ctl_print_json(event, true);
	else
		ctl_print_trace(event);
	json_object_put(event);
}

int ctl_trace_show(struct unic_conn *conn, bool json, bool follow,
		   const volatile int *stop)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct unic_trace_rec rec[CTL_RING_MAX];
	struct ctl_ring ring = { 0 };
	int i, n;

	do {
		n = ctl_ring_read(conn, &ring, rec);
		for (i = 0; i < n; i++)
			show_event(ctl_trace_object(&rec[i], &ring), json);
		if (fflush(stdout))
			break; /* output_watch() says why */
		if (follow && !n)
			nanosleep(&nap, NULL);
	} while (!*stop && (n > 0 || (follow && !n)));
	return n < 0 ? -1 : 0;
}
