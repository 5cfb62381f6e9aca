#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A process against the driver and the NIC: the sequences of SPEC "A life in
messages" that a process plays, and odd requests.

    test_control.py [--image soft]
    test_control.py --control PATH [--wire PATH] [--ip A.B.C.D] [--mac MAC]
"""

import sys

import control_conn
import control_end
import control_memory
import control_odd
import control_queue
import control_wait
import control_work
from check import Suite, main
from control_world import ControlWorld

ALL = Suite()
for part in (control_odd, control_memory, control_wait, control_queue,
             control_work, control_conn, control_end):
    ALL.cases += part.suite.cases

if __name__ == '__main__':
    sys.exit(main(ALL, ControlWorld, __doc__))
