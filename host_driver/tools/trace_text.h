/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * trace_text.h - an event of a NIC's trace in words.
 *
 * Secret: which argument of which event has names, and where they are.
 */
#ifndef UNIC_TRACE_TEXT_H
#define UNIC_TRACE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/** trace_text() - the text of event @code in @room bytes at @out: "%0" to "%3" stand for its
 * arguments, by their names or in decimal, "%x0" to "%x3" by their names or in hex. "": there
 * is no such event. */
void trace_text(uint32_t code, const uint32_t arg[4], char *out, size_t room);

#endif /* UNIC_TRACE_TEXT_H */
