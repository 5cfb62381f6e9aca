# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# What the daemons share: a folder of their own, a log, and who their peers are; what --version
# says, of all programs.
VERSIONED := host_driver/daemon/version.c
DAEMON := $(addprefix host_driver/daemon/,peer_pidfd.c run_dir.c say.c send_fds.c) $(VERSIONED)

INC_host_driver/daemon = -Ihost_driver/daemon
INC_host_driver/daemon/version.c = -include $(B)/version.h
