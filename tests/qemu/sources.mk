# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Clients of libunic that scripts here and in tests/vm start.
PARTS_crowd     := tests/qemu/crowd.c lib:libunic.a
PARTS_cuts      := tests/qemu/cuts.c lib:libunic.a
PARTS_datagrams := tests/qemu/datagrams.c lib:libunic.a
PARTS_forks     := tests/qemu/forks.c lib:libunic.a
PARTS_forms     := tests/qemu/forms.c lib:libunic.a
PARTS_holders   := tests/qemu/holders.c lib:libunic.a
PARTS_kio-liar  := tests/qemu/kio_liar.c lib:libunic.a
PARTS_lending   := tests/qemu/lending.c lib:libunic.a
PARTS_lists     := tests/qemu/lists.c lib:libunic.a
PARTS_memory    := tests/qemu/memory.c lib:libunic.a
PARTS_rates     := tests/qemu/rates.c lib:libunic.a
PARTS_survivor  := tests/qemu/survivor.c lib:libunic.a
PARTS_tokens    := tests/qemu/tokens.c lib:libunic.a
# ... and two of libibverbs.
PARTS_verbs-calls := tests/qemu/verbs_calls.c
LIBS_verbs-calls  := -libverbs
PARTS_verbs-data  := tests/qemu/verbs_data.c
LIBS_verbs-data   := -libverbs -ldl -lpthread

# Memory barriers between the host and an emulated core.
PARTS_litmus-host := tests/qemu/litmus_host.c
PARTS_litmus       = tests/qemu/litmus_guest.c

# Images that test what is below the core. template_board: the template, with what is
# left to write written, as the answer of a lab.
PARTS_hal_selftest.elf     = tests/qemu/hal_selftest.c $(BOARD_SRCS) $(BOARD_TEST_SRCS)
PARTS_mps2_selftest.elf    = tests/qemu/mps2_selftest.c $(BOARD_SRCS) $(BOARD_TEST_SRCS)
PARTS_cortexm_selftest.elf = tests/qemu/cortexm_selftest.c hal/drivers/crash_record.c \
	$(addprefix hal/cortexm/,start.S crash.c mpu.c) $(BOARD_TEST_SRCS)
PARTS_template_board.elf   = docs/labs/6-board/solution/chip.c $(BOARD_MAIN_SRCS) \
	$(filter-out hal/template/chip.c,$(BOARD_SRCS)) hal/drivers/pl011.c core.a

INC_tests/qemu                    = -Ihost_driver/libunic
INC_tests/qemu/litmus_host.c      = -Ihal
INC_tests/qemu/litmus_guest.c     = -Ihal
INC_tests/qemu/hal_selftest.c     = -Ihal/virt -Ihal/drivers -Ihal -Iboards/$(board)
INC_tests/qemu/mps2_selftest.c    = -Ihal/mps2 -Ihal/drivers -Ihal -Iboards/$(board)
INC_tests/qemu/cortexm_selftest.c = -Ihal/lm3s -Ihal/drivers -Ihal
