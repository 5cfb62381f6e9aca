# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# libunic, as it is, in simulated systems: its system calls are answered by the simulator.
LIBSIM := $(addprefix tests/libsim/,calls.c client.c fiber.c files.c heap.c hog.c main.c memory.c mover.c process.c \
	program.c run.c server.c socket.c threads.c)
LIBSIM_WORLD = $(filter-out %/main.c %/run.c %/seed.c %/shrink.c %/stand.c,$(SIM))
KIND_unic-libsim  := sim/small
PARTS_unic-libsim  = $(LIBSIM) $(LIBSIM_WORLD) $(FIRMWARE) $(CORE) host:libunic_sim.o

INC_tests/libsim = -Itests/libsim -Itests/sim -Ihal -Ihost_driver/core -Ihost_driver/libunic
