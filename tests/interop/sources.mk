# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The two ends of transfers between unic and a foreign peer.
PARTS_interop-unic  := tests/interop/end.c tests/interop/end_unic.c lib:libunic.a
PARTS_interop-verbs := tests/interop/end.c tests/interop/end_verbs.c
LIBS_interop-verbs  := -libverbs

INC_tests/interop = -Ihost_driver/libunic
# Compiled by mpicc, where there is one (mpi.py).
MPI_PROGRAM := tests/interop/ranks.c
