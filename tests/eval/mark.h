/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mark.h - from here to there is what callgrind counts (counted.py), when it
 * was started with --instr-atstart=no. Nothing without it.
 */
#ifndef EVAL_MARK_H
#define EVAL_MARK_H

#include <valgrind/callgrind.h>

static inline void mark_start(void)
{
	CALLGRIND_START_INSTRUMENTATION;
}

static inline void mark_stop(void)
{
	CALLGRIND_STOP_INSTRUMENTATION;
}

#endif /* EVAL_MARK_H */
