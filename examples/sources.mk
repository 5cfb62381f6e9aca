# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Compiled by test_example.py and test_driver.py, with the commands in the READMEs.
EXAMPLES := examples/polite.c examples/driver.c

INC_examples = -Ihost_driver/libunic
# Compiled by Kbuild: make kmod-sample
KMOD_SAMPLES := examples/kernel/kmem_sample.c
