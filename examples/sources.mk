# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Compiled by test_example.py, with the command in README.md.
EXAMPLES := examples/polite.c

INC_examples = -Ihost_driver/libunic
