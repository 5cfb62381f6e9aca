# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Branches that no unit test took before they were counted one by one.
MUTATIONS = (
    ("host_driver/core/provider/provider_loop_cmd.c", "	if (mr->queues)\n		return UNIC_ST_BUSY;\n", "",
     "the loop-back ends a region that holds rings", "test_driver_loop_wrong"),
    ("host_driver/core/provider/provider_loop_data.c", "	if (mr->pd != pd)\n		return NULL;\n", "	(void)pd;\n",
     "the loop-back lets a domain use another's region", "test_driver_loop_wrong"),
    ("host_driver/kio/kio_link.c", "c->heard_ns < found->heard_ns", "c->heard_ns > found->heard_ns",
     "the host that was heard last makes room", "test_kio_node"),
    ("host_driver/core/cm/holdings.c", "d->conn == c->obj.id && d->nonce == msg->nonce",
     "d->conn == c->obj.id", "an answer ends all delegations of its connection", "test_driver_grants"),
    ("host_driver/core/region/region_unmap.c", "	if (mr && status != UNIC_ST_PENDING) {\n",
     "	if (mr) {\n", "an unmapped region is asked for again before it ends", "test_driver_region"),
    ("firmware/revoke/ask.c", "a->best[--k].loss <= one.loss", "a->best[--k].loss >= one.loss",
     "the first idle regions stay, not the best", "test_ask"),
    ("firmware/command/dump.c", "0xedb88320u", "0xedb88321u", "the sums of a crash are no CRC-32", "test_cmd"),
    ("hal/serial/stream.c", "return s->una != s->sent ? s->again_ns : UINT64_MAX;",
     "return s->una == s->sent ? s->again_ns : UINT64_MAX;",
     "a stream sleeps while an acknowledgement is late", "test_serial"),
)
