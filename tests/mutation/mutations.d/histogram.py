# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Breaks of histograms."""

HISTOGRAM = "firmware/base/histogram.h"
EVICT = "firmware/revoke/evict.c"
ANSWER = "firmware/memory/fault_answer.c"
DUMP = "firmware/command/dump.c"

MUTATIONS = (
    (HISTOGRAM, "\treturn ns >= 1000ull << b ? b + 1 : b;\n", "\treturn b;\n",
     "histograms: microseconds of 1024 ns", "test_histogram"),
    (HISTOGRAM, "ns >= 1000ull << b", "ns > 1000ull << b",
     "histograms: a bound is of the bucket below", "test_histogram"),
    (HISTOGRAM, "\tif (units >> (UNIC_HIST_BUCKETS - 2))\n\t\treturn UNIC_HIST_BUCKETS - 1;\n", "",
     "histograms: what is long has no bucket", "test_histogram"),
    (EVICT, "\tif (n->state == UNIC_NOTICE_GRACE)\n\t\tunic_histogram", "\t\tunic_histogram",
     "histograms: a grace that had not begun", "test_histogram"),
    (EVICT, "\tnote_grace(nic, n);\n", "",
     "histograms: a release is not counted", "test_histogram"),
    (EVICT, "\t\tnote_grace(nic, &nic->notices.notice[mr->notice]);\n", "",
     "histograms: a deadline is not counted", "test_histogram"),
    ("firmware/arbiter/notice.c", "\tif (UNIC_HISTOGRAMS)\n\t\tt->sent_ns = now_ns;\n", "",
     "histograms: a grace begins with the decision", "test_histogram"),
    ("firmware/revoke/admission.c", "\t\t\t   nic->now_ns - w->since_ns);\n", "\t\t\t   0);\n",
     "histograms: all waits take no time", "test_histogram"),
    (ANSWER, " && !m->ahead)", ")",
     "histograms: pages that nobody waited for", "test_histogram"),
    (ANSWER, "nic->now_ns - m->since_ns", "0",
     "histograms: all misses take no time", "test_histogram"),
    (DUMP, "nic->histograms.count[which][first + b]", "nic->histograms.count[which][b]",
     "histograms: the later buckets are the first ones", "test_histogram"),
)
