# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# What the daemons share: a folder of their own, a log, and who their peers are. All programs:
# numbers on the command line, what --version says, and an output that is not lost.
ARGUMENTS := $(addprefix host_driver/daemon/,number.c output.c version.c)
DAEMON := $(addprefix host_driver/daemon/,peer_pidfd.c run_dir.c say.c send_fds.c) $(ARGUMENTS)

INC_host_driver/daemon = -Ihost_driver/daemon
INC_host_driver/daemon/version.c = -include $(B)/version.h
