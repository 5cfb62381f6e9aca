/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_json.h - members of JSON objects, of the kinds that a driver's answers have.
 *
 * Secret: the notation of values: addresses, names of numbers, unchecked text.
 */
#ifndef UNIC_CTL_JSON_H
#define UNIC_CTL_JSON_H

#include <json-c/json.h>
#include <stddef.h>
#include <stdint.h>

/** ctl_add_u64() - member @key of @o: a number. */
void ctl_add_u64(struct json_object *o, const char *key, uint64_t v);

/** ctl_u64_of() - the number that is member @key of @o; 0: there is none. */
uint64_t ctl_u64_of(struct json_object *o, const char *key);

/** ctl_text_of() - the text that is member @key of @o, as long as @o lives; "": there is
 * none. */
const char *ctl_text_of(struct json_object *o, const char *key);

/** ctl_add_hex() - a number in hex, as a string. */
void ctl_add_hex(struct json_object *o, const char *key, uint64_t v);

/** ctl_add_string() - a string; copied. */
void ctl_add_string(struct json_object *o, const char *key, const char *text);

/** ctl_add_text() - text of a device in @n bytes at @b, at most 63 characters. The
 * bytes may be unterminated or no text. */
void ctl_add_text(struct json_object *o, const char *key, const uint8_t *b,
		  size_t n);

/** ctl_add_ipv4() - an address, host byte order. */
void ctl_add_ipv4(struct json_object *o, const char *key, uint32_t ipv4);

/** ctl_add_name() - names[v] of @n; a @v without a name as a number. */
void ctl_add_name(struct json_object *o, const char *key,
		  const char *const *names, size_t n, uint32_t v);

#endif /* UNIC_CTL_JSON_H */
