# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# The machine around QEMU and soft NICs: bus, switch, UART.
PARTS_unic-bus = $(addprefix qemu/bus/,bus_attach.c bus_memory.c ivshmem_server.c unic_bus_main.c) $(DAEMON)
PARTS_unic-wire = $(addprefix qemu/wire/,capture.c faults.c icrc.c link_side.c mac_table.c options.c \
	socket_port.c switch.c switch_stats.c unic_wire_main.c) $(RING) qemu/bus/ivshmem_server.c $(DAEMON)
PARTS_unic-uart = qemu/uart/unic_uart_main.c hal/drivers/ivshmem_client.c host_driver/libunic/patience.c $(ARGUMENTS)
LIBS_unic-bus  := -lsystemd
LIBS_unic-wire := -lpcap -ldeflate -ljson-c -lsystemd

INC_qemu/bus  = -Iqemu/bus -Ihost_driver/daemon
INC_qemu/wire = -Iqemu/wire -Ihal/drivers -Ihal -Iqemu/bus -Ihost_driver/daemon
INC_qemu/uart = -Ihal/drivers -Ihost_driver/daemon -Ihost_driver/libunic
