# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What only libunic in simulated systems notices (tests/libsim). See mutations.py."""
LIB = "host_driver/libunic/"
SIMULATED = "unic-libsim --seeds 400 --first"

MUTATIONS = (
    (LIB + "mend.c", "\twhile (m->busy)\n\t\tpthread_cond_wait(", "\tif (m->busy)\n\t\tpthread_cond_wait(",
     "mend: a queue pair is destroyed under the thread that mends another", SIMULATED),
    (LIB + "cq.c", "\tdrop_completions(cq, qp);\n\tpthread_mutex_unlock(&cq->lock);\n}\n\n/* The counts",
     "\tpthread_mutex_unlock(&cq->lock);\n}\n\n/* The counts",
     "cq: completions of a queue pair that has ended are read", SIMULATED),
)
