# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What a program ends with whose tests are its functions test_*()."""
import traceback


def run_all(module):
    """Runs each test of @module, its globals(), in the order of their names. Prints a line
    for each, and their numbers. Returns the exit code."""
    failed = 0
    tests = [(n, f) for n, f in sorted(module.items())
             if n.startswith("test_")]
    for name, function in tests:
        try:
            function()
            print(f"ok {name}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {name}")
            traceback.print_exc()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0
