# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Threads of one context, and children: what libunic promises them. See
tests/mutations.py."""
CONN = "host_driver/libunic/conn.c"
DEVICE = "host_driver/libunic/conn_dev.c"

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
)
