#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Runs the tests of rdma-core for any device, in the distribution's Python, and prints a line
of JSON for each: its name, how it ended, and why.

    rdma_core_suite.py FOLDER [ARGUMENTS OF run_tests.py]

FOLDER has the folder `tests`. Those of one vendor's devices are left out.
"""
import json
import os
import sys
import unittest

VENDORS = ("test_mlx5_", "test_efa", "test_cuda_")


class Result(unittest.TestResult):
    """Says how each test ended."""

    def say(self, test, end, why=""):
        print(json.dumps({"name": test.id().removeprefix("tests."), "end": end, "why": why}),
              flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(test, "skipped", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(test, "failed", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.say(test, "failed", self.errors[-1][1])

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.say(test, "failed", "an unexpected success")


def each(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def main():
    folder = sys.argv.pop(1)
    sys.path[:0] = [folder, os.path.join(folder, "tests")]
    from args_parser import parser  # of rdma-core
    parser.parse_args()
    import tests  # of rdma-core
    known = each(unittest.defaultTestLoader.loadTestsFromModule(tests))
    chosen = [t for t in known
              if not t.id().removeprefix("tests.").startswith(VENDORS)]
    result = Result()
    unittest.TestSuite(chosen).run(result)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
