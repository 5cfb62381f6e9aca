# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Which version of the tree made the rows of each experiment."""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "figures"))
import experiments  # noqa: E402
import version  # noqa: E402

NAME = "versions.json"


def versions(folder):
    """{experiment: version}"""
    path = os.path.join(folder, NAME)
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def note(folder, experiment):
    """The rows of @experiment in @folder were made now."""
    known = {**versions(folder), experiment: version.version()}
    with open(os.path.join(folder, NAME), "w", encoding="utf-8") as f:
        json.dump(known, f, indent=1, sort_keys=True)
        f.write("\n")


def words(folder):
    """For the report: one version, or which experiment was made of which."""
    known, by = versions(folder), {}
    for experiment, of in known.items():
        by.setdefault(of, []).append(experiment)
    if not by:
        return "a version that was not recorded"
    if not set(experiments.ALL) <= set(versions(folder)):
        by["one that was not recorded"] = ["the others"]
    if len(by) == 1:
        return f"version {next(iter(by))}"
    return "versions " + "; ".join(f"{of} ({', '.join(names)})"
                                   for of, names in sorted(by.items()))
