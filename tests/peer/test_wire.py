#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Plays the other end of the wire to a NIC: the sequences of SPEC "A life in
messages", and each row of its tables of odd packets."""

import sys

import check
import wire_atomics
import wire_dgram
import wire_forms
import wire_frames
import wire_life
import wire_mads
import wire_regions
import wire_requester
import wire_requests
import wire_sends
import wire_tokens
from world import World

SUITES = tuple(module.SUITE for module in (
    wire_life, wire_frames, wire_requests, wire_regions, wire_forms,
    wire_tokens, wire_requester, wire_sends, wire_atomics,
    wire_dgram, wire_mads))


def main():
    """All cases, in the order of the chapters."""
    suite = check.Suite()
    for one in SUITES:
        suite.cases += one.cases
    return check.main(suite, World, __doc__)


if __name__ == "__main__":
    sys.exit(main())
