# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Compiled by test_example.py, test_driver.py and test_examples.py, with the commands in the
# READMEs.
EXAMPLES := $(addprefix examples/,driver.c extend.c own_policy.c polite.c recover.c token_rpc.c two_hosts.c)

INC_examples = -Ihost_driver/libunic
# Compiled by Kbuild: make kmod-sample
KMOD_SAMPLES := examples/kernel/kmem_sample.c
