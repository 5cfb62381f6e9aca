# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The cores that know no TLB, for something else: a pool of connections.
PARTS_unic-pool := $(addprefix tests/pool/,main.c pool.c tenants.c) \
	$(addprefix firmware/arbiter/,share.c notice.c)
KIND_unic-pool := pool
LIBS_unic-pool  = $(SANITIZE)

INC_tests/pool = -Itests/pool -Ifirmware -Iboards/$(board)
