# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Experiments on the machines of the simulator, larger and without checkers, ...
PARTS_unic-eval = $(addprefix tests/eval/,actor.c cache.c churn.c conn.c fair.c grace.c hoard.c inside.c \
	kernel.c kio.c lists.c main.c message.c pain.c player.c quiet.c residency.c stage.c) \
	$(addprefix tests/sim/,core_nic.c os.c port.c sim.c view.c wire.c world.c) \
	$(FIRMWARE) $(CORE) $(KIO_ENDS)
KIND_unic-eval := eval
# ... on one core alone, ...
PARTS_unic-scale = tests/eval/scale.c $(FAKE) $(FIRMWARE)
KIND_unic-scale := eval
# Entries-processes-places; and entries, for working sets of ten times as many.
SCALE_QUICK := $(foreach e,64 1024 65536,$e-8-4096) $(foreach p,2 1024,1024-$p-4096) \
	64-8-64 2048-8-2048
SCALE_SIZES := $(foreach e,64 256 1024 4096 16384 65536,$e-8-4096) \
	$(foreach p,2 4 16 32 64 128 256 512 1024,1024-$p-4096) 64-8-64 256-8-256 2048-8-2048
TLB_QUICK   := 64 256
TLB_SIZES   := 64 256 1024
# ... and on the policies of the firmware, as they are.
REPLAYED  := $(addprefix tests/eval/,refs.c replay.c)
POLICYSIM := tests/eval/policysim.c $(REPLAYED)
# What `make image-recorder` links into the soft NIC.
RECORDER_SRCS := tests/eval/recorder.c
PARTS_unic-policysim = $(POLICYSIM) $(POLICIES) $(ARGUMENTS)
LIBS_unic-policysim := -ljson-c

INC_tests/eval              = -Itests/eval -Itests/sim -Ihal -Ihost_driver/core -Ihost_driver/kio
INC_tests/eval/scale.c      = -Ihal/fake $(INC_firmware)
INC_tests/eval/inside.c     = -Itests/eval -Itests/sim -Ihost_driver/core $(INC_firmware)
INC_tests/eval/policysim.c := -Itests/eval -Ifirmware -Ihal -Iboards/soft -Ihost_driver/daemon
INC_tests/eval/recorder.c  := -Itests/eval -Ifirmware -Ihal -Iboards/soft
INC_tests/eval/refs.c      := -Itests/eval
INC_tests/eval/replay.c    := -Itests/eval -Ifirmware -Ihal -Iboards/soft
