# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Built by test_install.py, as by somebody who has no Makefile of ours.
FROM_OUTSIDE := tests/install/program.c
