# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# What users start.
METRICS := $(addprefix host_driver/tools/,ctl_fetch.c ctl_histogram.c ctl_json.c ctl_metrics.c ctl_words.c trace_text.c)
PARTS_unicctl  = $(METRICS) $(addprefix host_driver/tools/,unicctl.c ctl_dump.c ctl_events.c ctl_limit.c ctl_nics.c ctl_options.c \
	ctl_perfetto.c ctl_print.c ctl_procs.c ctl_ring.c ctl_sample.c ctl_top.c ctl_trace.c ctl_uses.c ctl_watch.c given.c) $(ARGUMENTS) lib:libunic.a
PARTS_unic-hog = host_driver/tools/unic-hog.c $(ARGUMENTS) lib:libunic.a
MEASURES := $(addprefix host_driver/tools/,durations.c given.c lent_page.c)
PARTS_unic-ping = host_driver/tools/unic-ping.c $(MEASURES) $(ARGUMENTS) lib:libunic.a
PARTS_unic-perf = host_driver/tools/unic-perf.c $(MEASURES) $(ARGUMENTS) lib:libunic.a
PARTS_unic-copy = $(addprefix host_driver/tools/,unic-copy.c copy_peer.c copy_file.c copy_client.c \
	copy_server.c given.c progress.c target_file.c) $(ARGUMENTS) lib:libunic.a
PARTS_unic-kio = $(addprefix host_driver/tools/,unic-kio.c given.c kio_args.c kio_ask.c progress.c target_file.c) $(ARGUMENTS) $(addprefix host_driver/libunic/,patience.c where.c)
PARTS_unic-run = $(addprefix host_driver/tools/,unic-run.c run_child.c run_host.c run_net.c run_place.c run_qemu.c run_tree.c) \
	$(ARGUMENTS) lib:libunic.a
LIBS_unicctl   := -ljson-c -lncurses
LIBS_unic-copy := -lcrypto
LIBS_unic-run  := -ljson-c

INC_host_driver/tools = -Ihost_driver/tools -Ihost_driver/libunic -Ihost_driver/daemon
