# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# What a guest is given, and its peer.
PARTS_calls   := tests/vm/calls.c lib:libunic.a
PARTS_costs   := tests/vm/costs.c lib:libunic.a
PARTS_gaps    := tests/vm/gaps.c
PARTS_kmem-peer := tests/vm/kmem_peer.c lib:libunic.a
PARTS_kexec   := tests/vm/kexec.c
PARTS_node    := tests/vm/node.c
PARTS_nth     := tests/vm/nth.c lib:libunic.a
PARTS_pins    := tests/vm/pins.c lib:libunic.a
PARTS_places  := tests/vm/places.c
PARTS_rdma-cm := tests/vm/rdma_cm.c lib:libunic.a
PARTS_rxe     := tests/vm/rxe.c
PARTS_scatter := tests/vm/scatter.c
LIBS_rxe      := -libverbs
VM_PROGRAMS := calls costs crowd forks forms gaps kexec kmem-peer memory node pins places scatter datagrams survivor

INC_tests/vm = -Ihost_driver/libunic
