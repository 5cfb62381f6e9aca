/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * version.c - what --version says: argp prints this variable of the program that it is
 * linked into.
 */
#include <argp.h>

const char *argp_program_version = "unic " UNIC_VERSION;
