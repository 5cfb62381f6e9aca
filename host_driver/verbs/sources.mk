# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The provider for libibverbs, and what is preloaded for it.
PARTS_libunic-rdmav34.so := $(addprefix host_driver/verbs/,ah.c attach.c cq.c device.c errnos.c \
	events.c mr.c mw.c pd.c completion.c build.c cq_ex.c post.c qp.c qp_attr.c srq.c wire.c) libunic.a
LIBS_libunic-rdmav34.so  := -libverbs -lpthread
# The connection manager of the preloaded library.
UCMA := $(addprefix host_driver/verbs/shim/ucma,.c _a11.c _attr.c _chan.c _close.c _conn.c _copy.c _dev.c _event.c _id.c _wire.c)
PARTS_libunic-shim.so    := $(addprefix host_driver/verbs/shim/,calls.c channel.c ifaddrs.c paths.c) $(UCMA)
LIBS_libunic-shim.so     := -ldl -lpthread

INC_host_driver/verbs = -Ihost_driver/verbs -Ihost_driver/libunic
