# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# What users start.
PARTS_unicctl  := $(addprefix host_driver/tools/,unicctl.c ctl_dump.c ctl_fetch.c ctl_json.c ctl_nics.c ctl_print.c ctl_uses.c) lib:libunic.a
PARTS_unic-hog := host_driver/tools/unic-hog.c lib:libunic.a
PARTS_unic-copy := $(addprefix host_driver/tools/,unic-copy.c copy_peer.c copy_file.c copy_client.c \
	copy_server.c) lib:libunic.a
PARTS_unic-kio := $(addprefix host_driver/tools/,unic-kio.c kio_args.c kio_ask.c) host_driver/libunic/where.c
LIBS_unicctl   := -ljson-c
LIBS_unic-copy := -lcrypto

INC_host_driver/tools = -Ihost_driver/tools -Ihost_driver/libunic
