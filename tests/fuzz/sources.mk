# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Harnesses of the trust boundaries. With libFuzzer (kind fuzz) they have its main(),
# else that of replay.c.
FUZZERS  := mbox queue frame ring driver unicd line
# ... and those with a NIC once more, with the tables of virt.
FUZZ_LARGE := mbox queue frame
REPLAY   := tests/fuzz/replay.c
FUZZ_NIC := $(addprefix tests/fuzz/,world.c memory.c sane.c lists.c order.c changes.c)
FUZZ_CTL := tests/fuzz/ctl.c

PARTS_fuzz_mbox   = tests/fuzz/fuzz_mbox.c $(REPLAY) $(FUZZ_NIC) rig.a
PARTS_fuzz_queue  = tests/fuzz/fuzz_queue.c $(REPLAY) $(FUZZ_NIC) rig.a
PARTS_fuzz_frame  = tests/fuzz/fuzz_frame.c $(REPLAY) $(FUZZ_NIC) rig.a
PARTS_fuzz_ring   = tests/fuzz/fuzz_ring.c $(REPLAY) $(RING)
PARTS_fuzz_driver = tests/fuzz/fuzz_driver.c $(REPLAY) $(FUZZ_CTL) driver.a
PARTS_fuzz_unicd  = tests/fuzz/fuzz_unicd.c $(REPLAY) $(FUZZ_CTL) $(addprefix host_driver/,\
	$(addprefix unicd/,clients.c kio.c kio_files.c kio_worker.c unicd_os.c) \
	$(addprefix daemon/,run_dir.c say.c send_fds.c)) $(KIO) driver.a
PARTS_fuzz_line   = tests/fuzz/fuzz_line.c $(REPLAY) $(SERIAL) $(NEAR) $(FAR)

# What the harness has taken the place of.
WRAP_fuzz_mbox  := $(addprefix --for-linker=--wrap=unic_port_,dma dma_poll doorbells window \
	rx_next rx_run rx_done)
WRAP_fuzz_queue := $(WRAP_fuzz_mbox)
WRAP_fuzz_frame := $(WRAP_fuzz_mbox)
WRAP_fuzz_unicd := $(addprefix --for-linker=--wrap=unic,_os_now_ns _os_random _os_log _os_upcall d_say)

INC_tests/fuzz               = $(INC_tests/unit)
INC_tests/fuzz/fuzz_driver.c = -Ihost_driver/core
INC_tests/fuzz/fuzz_unicd.c  = $(addprefix -Ihost_driver/,core kio unicd)
INC_tests/fuzz/fuzz_line.c   = $(INC_tests/unit/host/test_serial.c)
