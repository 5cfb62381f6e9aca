# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Libraries that stand before libc, and a program that meets all it can fail by.
FAULT_LIBS := $(addprefix tests/faults/,inject.c pidfd_shim.c)
PARTS_fault-scenario := tests/faults/scenario.c lib:libunic.a

INC_tests/faults = -Ihost_driver/libunic
