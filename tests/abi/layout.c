/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * layout.c - every ABI header in one file, for the layout checks: compiled
 * with -Wpadded (no unnamed hole) for each kind of machine that will ever
 * include them, and dumped from its debug information (tools/check/check_abi.py).
 */
#include "unic_bus.h"
#include "unic_cmd.h"
#include "unic_cmd_dump.h"
#include "unic_cmd_mr.h"
#include "unic_cmd_queue.h"
#include "unic_ctl.h"
#include "unic_ctl_admin.h"
#include "unic_ctl_conn.h"
#include "unic_ctl_kio.h"
#include "unic_ctl_mr.h"
#include "unic_ctl_msg.h"
#include "unic_ctl_queue.h"
#include "unic_ctl_state.h"
#include "unic_evt.h"
#include "unic_ioctl.h"
#include "unic_kio.h"
#include "unic_link.h"
#include "unic_mbox.h"
#include "unic_queue.h"
#include "unic_serial.h"
#include "unic_stats.h"
#include "unic_types.h"
#include "unic_upcall.h"
#include "unic_wire.h"
#include "unic_words.h"
