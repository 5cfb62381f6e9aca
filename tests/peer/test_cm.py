#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Plays the other driver to a host: both sides of a connection, and every odd
datagram of SPEC "Connection manager"."""

import sys

import check
import cm_active
import cm_passive
import cm_vendor
from cm_world import CmWorld

SUITES = (cm_passive.SUITE, cm_active.SUITE, cm_vendor.SUITE)


def main():
    """All cases."""
    suite = check.Suite()
    for one in SUITES:
        suite.cases += one.cases
    return check.main(suite, CmWorld, __doc__)


if __name__ == "__main__":
    sys.exit(main())
