# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Threads of one context, and children: what libunic promises them. See
tests/mutations.py."""
CONN = "host_driver/libunic/conn.c"
DEVICE = "host_driver/libunic/conn_dev.c"
FORK = "host_driver/libunic/fork.c"
LIB = "host_driver/libunic/"

MUTATIONS = (
    (CONN, "\tpthread_mutex_unlock(&conn->lock);\n\tret = transmit(conn, w->call);\n"
     "\tpthread_mutex_lock(&conn->lock);\n", "\tret = transmit(conn, w->call);\n",
     "conn: who sends keeps the others from reading", "test_conn"),
    (CONN, "return err == EAGAIN || err == EINTR || err == ENOBUFS || err == ENOMEM;",
     "return err == EINTR;", "conn: what passes is the end", "test_conn"),
    (CONN, "return err == EAGAIN || err == EINTR || err == ENOBUFS || err == ENOMEM;",
     "return err == EAGAIN || err == EINTR;",
     "conn: a kernel without memory for a moment is the end", "test_conn"),
    (CONN, "? LANE_LONG\n", "? LANE_SHORT\n",
     "conn: calls that last keep out the others", "test_conn"),
    (CONN, "\t\treturn LANE_GIVE;", "\t\treturn LANE_LONG;",
     "conn: what gives back waits for who waits", "test_conn"),
    (CONN, "q->under_way < q->room", "1",
     "conn: any number of calls is under way", "test_conn"),
    (CONN, "\tlet_go(q);\n}\n\n/* The driver has no place", "}\n\n/* The driver has no place",
     "conn: a turn that ends is nobody's", "test_conn"),
    (CONN, "\thand_over(conn);\n", "",
     "conn: nobody reads when who did is gone", "test_conn"),
    (CONN, "\tif (status != UNIC_ST_WAIT_FULL || ", "\tif (status >= 0 || ",
     "conn: no place to wait is an error though it is our own calls", "test_conn"),
    (CONN, "\t    q->under_way < 2)", "\t    q->under_way < 1)",
     "conn: a place that others have is waited for", "test_conn"),
    (CONN, "\t\tmemcpy(w->call->rec, request, sizeof(request));\n", "",
     "conn: what is asked again is the answer of before", "test_conn"),
    (DEVICE, "if (err != EAGAIN && err != ENOMEM && err != ENOBUFS)",
     "if (err != ENOMEM && err != ENOBUFS)",
     "device: no room for a moment is the end", "test_conn"),
    (DEVICE, "(err != EAGAIN || is_over(until_ns))", "(err != EAGAIN)",
     "device: no room is waited for beyond its time", "test_conn"),
    (FORK, "\t\tgood &= place(copy, &k->map[i]);\n", "",
     "fork: the child has no copies", "test_libunic"),
    (FORK, "\tctx->forked = true;\n", "",
     "fork: the child takes the context for its own", "test_libunic"),
    (FORK, "\tfor (i = 0; i < k->maps; i++)\n"
     "\t\tmadvise(k->map[i].va, k->map[i].bytes, MADV_DONTFORK);\n", "",
     "fork: who asks for it shares with the NIC", "test_libunic"),
    (FORK, "\t\t\tpthread_mutex_init(&ctx->cq[i]->lock, NULL);\n", "\t\t\t;\n",
     "fork: a lock of a thread that the child has not", "test_libunic"),
    (FORK, "__attribute__((constructor)) ", "",
     "fork: nothing is done at all", "test_libunic"),
    (LIB + "qp.c", "\tif (qp->ctx->forked)\n\t\treturn unic_fail_forked();\n", "",
     "fork: a child posts", "test_libunic"),
    (LIB + "cq.c", "\tif (cq->ctx->forked)\n\t\treturn unic_fail_forked();\n", "",
     "fork: a child looks for completions", "test_libunic"),
    (LIB + "event.c", "\tif (ctx->forked)\n\t\treturn unic_fail_forked();\n", "",
     "fork: a child has events", "test_libunic"),
    (LIB + "recover.c", "\tif (ctx->forked)\n\t\treturn unic_fail_forked();\n", "",
     "fork: a child recovers its parent's context", "test_libunic"),
    (LIB + "conn.c", "\tif (conn->forked)\n\t\treturn -EOWNERDEAD;\n", "",
     "fork: the driver is said to be gone", "test_libunic"),
    (LIB + "bufman.c", "\treturn bm->ctx->forked;", "\treturn false;",
     "fork: a child ends the manager of its parent", "test_libunic"),
    (LIB + "context.c", "!c->forked &&", "",
     "fork: a child can have no context of its own", "test_libunic"),
)
