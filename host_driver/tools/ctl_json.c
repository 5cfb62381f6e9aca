/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_json.c - see ctl_json.h.
 */
#include "ctl_json.h"

#include <arpa/inet.h>
#include <stdio.h>

void ctl_add_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_int64((int64_t)v));
}

void ctl_add_string(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

void ctl_add_text(struct json_object *o, const char *key, const uint8_t *b,
		  size_t n)
{
	char text[64];
	size_t i;

	for (i = 0; i < n && i < sizeof(text) - 1 && b[i]; i++)
		text[i] = b[i] >= ' ' && b[i] < 127 ? (char)b[i] : '?';
	text[i] = '\0';
	ctl_add_string(o, key, text);
}

void ctl_add_ipv4(struct json_object *o, const char *key, uint32_t ipv4)
{
	struct in_addr addr = { .s_addr = htonl(ipv4) };
	char text[INET_ADDRSTRLEN];

	ctl_add_string(o, key, inet_ntop(AF_INET, &addr, text, sizeof(text)));
}

const char *ctl_text_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v)
						     : "";
}

uint64_t ctl_u64_of(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v)
		       ? (uint64_t)json_object_get_int64(v)
		       : 0;
}

void ctl_add_hex(struct json_object *o, const char *key, uint64_t v)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
	ctl_add_string(o, key, text);
}

void ctl_add_name(struct json_object *o, const char *key,
		  const char *const *names, size_t n, uint32_t v)
{
	char text[16];

	if (v < n && names[v]) {
		ctl_add_string(o, key, names[v]);
		return;
	}
	snprintf(text, sizeof(text), "%u", v);
	ctl_add_string(o, key, text);
}
