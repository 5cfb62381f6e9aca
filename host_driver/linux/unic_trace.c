// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* unic_trace.c - where the tracepoints of unic_trace.h are. */
#define CREATE_TRACE_POINTS
#include "unic_trace.h"
