# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Pools of fast registrations that the buffer manager runs. See mutations.py."""
POOL = "host_driver/libunic/fastpool.c"
CHUNK, MANAGER = "host_driver/libunic/bufman_chunk.c", "test_libunic_manager"
BUFMAN = "host_driver/libunic/bufman_pool.c"
TEST = "test_libunic_pool"

MUTATIONS = (
    ("host_driver/libunic/thread.h", "	pthread_sigmask(SIG_SETMASK, &set, &before);\n", "	pthread_sigmask(SIG_SETMASK, NULL, &before);\n",
     "library threads: take the signals of the program", "test_libunic_manager"),
    ("host_driver/libunic/thread.h", "	sigdelset(&set, SIGSEGV);\n", "",
     "library threads: die of a page that moves", "test_libunic_manager"),
    ("host_driver/libunic/thread.h", "	pthread_sigmask(SIG_SETMASK, &before, NULL);\n", "",
     "library threads: leave the program deaf", "test_libunic_manager"),
    (CHUNK, "\treturn err == -EDQUOT ||\n", "\treturn false ||\n",
     "manager: at its quota it gives up nothing that is idle", MANAGER),
    (CHUNK, "bm->attr.residency != UNIC_RESIDENT &&", "false &&",
     "manager: regions without entries fail beside idle ones", MANAGER),
    ("host_driver/libunic/bufman.c", "\t\tunic_mem_region_abandon(c->mr);\n", "",
     "manager: a chunk is left over that ended beside an absent NIC", MANAGER),
    (CHUNK, "\t\t\treturn nowait ? -EBUSY : err;\n", "\t\t\treturn err;\n",
     "manager: at its limit a transfer fails that has pieces in flight", MANAGER),
    ("host_driver/libunic/mr.c", "\tif (unic_dereg_mr(mr))\n\t\tunic_mem_region_abandon(mr);\n", "\tunic_dereg_mr(mr);\n",
     "pool: one is left over that ended beside an absent NIC", TEST),
    (POOL, "\t\tif (unic_mr_life(idle->mr[i]) == UNIC_MR_LIVE)\n", "\t\tif (1)\n",
     "pool: what is asked for is kept", TEST),
    (POOL, "\t\t\tpool->retry_ns = now_ns + UNIC_POOL_PERIOD_NS;\n", "",
     "pool: what was asked for is made anew at once", TEST),
    (POOL, "\tif (want >= pool->target)\n", "\tif (1)\n",
     "pool: a quiet period ends it", TEST),
    (POOL, "\t\tpool->target -= (pool->target - want + 7) / 8;\n", "\t\t;\n",
     "pool: stays as large as it ever was", TEST),
    (POOL, "pool->peak + pool->peak / 4 + 1", "pool->peak",
     "pool: nothing is made ahead of need", TEST),
    (POOL, "\t\t\tpool->backoff_ns *= 2;\n", "\t\t\tpool->backoff_ns *= 1;\n",
     "pool: a full NIC is asked as often as ever", TEST),
    (POOL, "kept = unic_mr_life(mr) == UNIC_MR_LIVE && push_mr", "kept = push_mr",
     "pool: what was asked for in use is kept", TEST),
    (POOL, "\tif (*out && unic_mr_usable(*out, expected_us))\n", "\tif (*out)\n",
     "pool: what ends soon is handed out", TEST),
    (BUFMAN, "\treturn unic_fast_pool_heard(pool, ev->mr);", "\treturn false;",
     "pool: the application hears of it", TEST),
    (BUFMAN, "\tif (ev->type == UNIC_EV_IDLE)\n", "\tif (0)\n",
     "pool: what is idle and asked for without a notice is kept", TEST),
    (POOL, "\tl = pool->asked.n ? &pool->asked : &pool->idle;\n", "\tl = &pool->idle;\n",
     "pool: what was asked for outlives the pool", TEST),
    (BUFMAN, "\t\tunic_fast_pool_run(p->pool, unic_now_ns(), &bm->stats);\n", "\t\t;\n",
     "pool: nobody runs it", TEST),
)
