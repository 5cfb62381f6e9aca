/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What cppcheck, which reads no system headers, must know of them. */
#define json_object_object_foreach(o, k, v) \
	const char *k = key_of(o);          \
	for (struct json_object *v = value_of(o); v; v = value_after(v))
