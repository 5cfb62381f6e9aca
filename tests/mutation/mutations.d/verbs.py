# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The provider for libibverbs, and the library that is preloaded for it. See
mutations.py."""
VERBS = "host_driver/verbs/"
MUTATIONS = (
    (VERBS + "qp_attr.c", "(rest & t->needed[type]) != t->needed[type]", "0",
     "verbs: a transition without its attributes", "test_verbs"),
    (VERBS + "qp_attr.c", "rest & ~(t->needed[type] | t->taken[type])", "0",
     "verbs: a transition with those of another", "test_verbs"),
    (VERBS + "qp_attr.c", "(*to == IBV_QPS_ERR && from == IBV_QPS_RESET)", "0",
     "verbs: a queue pair that never was fails", "test_verbs"),
    (VERBS + "qp_attr.c", "attr->qp_access_flags != is->qp_access_flags", "0",
     "verbs: access rights change, as the program thinks", "test_verbs"),
    (VERBS + "ah.c", " || !av->is_global", "",
     "verbs: a host is named by nothing", "test_verbs"),
    (VERBS + "ah.c", "av->grh.sgid_index || ", "",
     "verbs: a GID that is not there is used", "test_verbs"),
    (VERBS + "ah.c", "memcmp(gid, mapped, sizeof(mapped))", "0",
     "verbs: any GID is an IPv4 address", "test_verbs"),
    (VERBS + "errnos.c", "[UNIC_WC_EVICTED] = IBV_WC_LOC_PROT_ERR,", "",
     "verbs: a region that was taken is a success", "test_verbs"),
    (VERBS + "errnos.c", "return other[i].verbs;", "return other[i].lib;",
     "verbs: errnos are those of libunic", "test_verbs"),
    (VERBS + "shim/channel.c", "bytes != sizeof(*req)", "0",
     "shim: a request of another length is read", "test_verbs"),
    (VERBS + "shim/channel.c", "req->command != CREATE_COMP_CHANNEL", "0",
     "shim: any request makes a channel", "test_verbs"),
    (VERBS + "shim/channel.c", "return fd >= 0 && ", "return ",
     "shim: no descriptor is a device", "test_verbs"),
    (VERBS + "shim/paths.c", "!strchr(name, '/')", "1",
     "shim: a name leads out of the tree", "test_verbs"),
    ("host_driver/libunic/cq.c", "	while (pos - cq->ci <= cq->mask && has_cqe_at(cq, pos))\n		pos++;\n",
     "", "verbs: a completion that is there is told of again", "test_libunic_queue"),
)
