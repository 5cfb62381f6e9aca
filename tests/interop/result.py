# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The end of a part of `make interop`: what each row came to."""


def tell(wanted, done, release, whole):
    """Prints the end; returns the exit code. A row of @wanted that is not done has failed."""
    for name in wanted:
        done.setdefault(name, "FAILED: not done")
    missing = [n for n, said in done.items() if said.startswith("missing")]
    bad = [n for n, said in done.items() if said.startswith("FAILED")]
    for name in bad:
        print(f"FAILED  {name}: {done[name]}")
    print(f"{len(done) - len(missing) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0
