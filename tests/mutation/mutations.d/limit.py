# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Breaks of limits of what a process may have the driver do."""

LIMIT = "host_driver/core/limit.c"
UPCALL = "host_driver/core/upcall.c"
FAULT = "host_driver/core/region/region_fault.c"
BATCH = "host_driver/core/batch.c"
DISPATCH = "host_driver/core/dispatch.c"
CONTEXT = "host_driver/libunic/context.c"

MUTATIONS = (
    (LIMIT, "\tlimit->paid_ns += (uint64_t)n * (SECOND_NS / limit->rate);\n", "",
     "limits: nothing is ever paid", "test_driver_limit"),
    (LIMIT, "\t\tlimit->paid_ns = now_ns - UNIC_LIMIT_SAVED_NS;\n", "\t\t;\n",
     "limits: who is quiet saves up for ever", "test_driver_limit"),
    (LIMIT, "(uint64_t)n * (SECOND_NS", "(uint64_t)(n > 0) * (SECOND_NS",
     "limits: a batch counts as one", "test_driver_limit"),
    (LIMIT, " || req->client->kernel", "",
     "limits: the driver has one itself", "test_driver_limit"),
    (LIMIT, "\tr.retry_us = us_until(now, at);\n", "\t(void)us_until;\n",
     "limits: no word of when to ask again", "test_driver_limit"),
    (LIMIT, "rate > UNIC_CTL_LIMIT_MAX || ", "",
     "limits: any number is one", "test_driver_limit"),
    (LIMIT, "(rate && !(flags >> i & 1))", "0",
     "limits: a number that is not set is taken", "test_driver_limit"),
    (LIMIT, "\treturn !(flags >> UNIC_CTL_LIMITS);\n", "\treturn true;\n",
     "limits: unknown flags are taken", "test_driver_limit"),
    (LIMIT, "\t    host->proc[slot].state != UNIC_HPROC_LIVE)", "\t    false)",
     "limits: of a slot without a process", "test_driver_limit"),
    (LIMIT, "\t\t\thost->config.limit[i] = unic_from_le32(r->limit[i]);\n", "\t\t\t;\n",
     "limits: those of all are not for the next", "test_driver_limit"),
    ("host_driver/core/proc.c", "\tunic_limits_begin(host, proc);\n", "",
     "limits: a new process has none", "test_driver_limit"),
    (BATCH, "\tif (regs && unic_limits_refuse(req, regs))\n\t\treturn;\n", "",
     "limits: batches have none", "test_driver_limit"),
    (DISPATCH, "ops[req->op].flags & OP_LIMIT && unic_limits_refuse(req, 1)", "0",
     "limits: registrations have none", "test_driver_limit"),
    (FAULT, "\tif (at <= now)\n\t\treturn true;\n\tf->retry_ns = at;\n", "\treturn true;\n",
     "limits: misses are not put off", "test_driver_limit"),
    (FAULT, "\tif (at > f->give_up_ns)\n\t\treturn false;\n", "",
     "limits: a miss that is given up costs a turn", "test_driver_limit"),
    (UPCALL, "\tif (at <= now || is_urgent(type)) {", "\tif (1 || is_urgent(type)) {",
     "limits: each upcall wakes", "test_driver_limit"),
    (UPCALL, "at <= now || is_urgent(type)", "at <= now || (0 && is_urgent(type))",
     "limits: a notice waits for the limit", "test_driver_limit"),
    (UPCALL, "\t\tproc->wake_ns = 0;\n", "",
     "limits: a process is woken for nothing", "test_driver_limit"),
    (UPCALL, "\tif (at < host->wakes_ns)\n\t\thost->wakes_ns = at;\n", "",
     "limits: nobody wakes a process later", "test_driver_limit"),
    (UPCALL, "\tlimit->over += !proc->wake_ns;\n", "\tlimit->over++;\n",
     "limits: one wait is counted for each upcall", "test_driver_limit"),
    (CONTEXT, "\t\tmemcpy(call->rec, rec, sizeof(rec));\n", "",
     "limits: the library asks again with the answer", "test_libunic_region"),
    (CONTEXT, "us > PATIENCE_US - slept_us", "0",
     "limits: the library waits for ever", "test_libunic_region"),
    (CONTEXT, "status != UNIC_CTL_ST_TOO_FAST", "status",
     "limits: the library does not wait", "test_libunic_region"),
)
