# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The driver as a daemon.
UNICD := $(addprefix host_driver/unicd/,board.c clients.c crash_text.c ids_file.c kio.c kio_files.c kio_worker.c \
	line.c metrics.c nic.c options.c slots.c unicd_main.c unicd_os.c)

PARTS_unicd = $(UNICD) $(KIO) $(SERIAL) $(FAR) $(SERIAL_LINE) $(DAEMON) $(METRICS) host_driver/tools/metrics_text.c driver.a lib:libunic.a
LIBS_unicd := -lsystemd -ljson-c
INC_host_driver/unicd = $(addprefix -Ihost_driver/,unicd core kio daemon libunic)
INC_host_driver/unicd/metrics.c = $(INC_host_driver/unicd) -Ihost_driver/tools
INC_host_driver/unicd/crash_text.c = $(INC_host_driver/unicd/metrics.c)
INC_host_driver/unicd/line.c = $(INC_host_driver/unicd) -Ihost_driver/serial -Ihal/serial
