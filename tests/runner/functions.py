# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a program ends with whose tests are functions."""
import os
import traceback


def of_module(module, only=""):
    """The tests of @module, its globals(), in their order: (name, function) of each
    test_*() whose name has @only."""
    return [(name[len("test_"):], function) for name, function in module.items()
            if name.startswith("test_") and only in name]


def run(tests, *args):
    """Calls function(*args) of each (name, function) of @tests; one that raises has
    failed. Prints a line for each, and their numbers; none at all is a failure, too. VERBOSE in the environment: also
    where it failed, as always where it does not say why. Returns the exit code."""
    failed = 0
    for name, function in tests:
        try:
            function(*args)
            print(f"ok      {name}", flush=True)
        except Exception as e:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED  {name}: {type(e).__name__} {e}", flush=True)
            if os.environ.get("VERBOSE") or not str(e):
                traceback.print_exc()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed or not tests else 0


def run_all(module):
    """Runs each test of @module, its globals(), in the order of their names."""
    return run(sorted(of_module(module)))
