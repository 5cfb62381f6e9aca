# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Yardsticks. Some are a driver themselves, the others a process of unicd.
YARD_PROGS := cost-unic cost-verbs evict-bench mbox-bench miss-bench reg-bench verbs-bench
PARTS_cost-unic   := $(addprefix tests/bench/,cost_unic.c cost.c yard.c) lib:libunic.a
PARTS_cost-verbs  := $(addprefix tests/bench/,cost_verbs.c cost.c yard.c)
LIBS_cost-verbs   := -libverbs
PARTS_mbox-bench  := $(addprefix tests/bench/,mbox_bench.c driver.c yard.c)
PARTS_miss-bench  := $(addprefix tests/bench/,miss_bench.c driver.c yard.c)
PARTS_evict-bench := $(addprefix tests/bench/,evict_bench.c yard.c) lib:libunic.a
PARTS_reg-bench   := $(addprefix tests/bench/,reg_bench.c yard.c) lib:libunic.a
PARTS_verbs-bench := $(addprefix tests/bench/,verbs_bench.c yard.c) lib:libunic.a

# Hot paths, compiled as the image compiles them, under the rig of the tests.
# Of virt these are the objects of the image itself, whose sizes they have.
BENCH_ALL = tests/bench/bench_port.c \
	$(addprefix $(if $(filter virt,$(BOARD)),virt:),$(BOARD_COPY_SRCS) $(FIRMWARE) $(RING)) \
	$(UNIT_RIG) $(or $(RT_$(BOARD)),$(TARGET_RT))
PARTS_insn.elf     = tests/bench/insn.c $(BENCH_ALL)
PARTS_lookup.elf   = tests/bench/lookup.c $(BENCH_ALL)
PARTS_steps.elf    = tests/bench/steps.c $(BENCH_ALL)
PARTS_steps_qp.elf = tests/bench/steps_qp.c $(BENCH_ALL)

INC_tests/bench              = -Itests/bench -Ihost_driver/libunic
INC_tests/bench/bench_port.c = $(INC_tests/unit)
INC_tests/bench/insn.c       = $(INC_tests/unit)
INC_tests/bench/lookup.c     = $(INC_tests/unit)
INC_tests/bench/steps.c      = $(INC_tests/unit)
INC_tests/bench/steps_qp.c   = $(INC_tests/unit)
