# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Where commands that measure leave their figures for the documents:
docs/evidence/figures/<command>.json, tables and values by name, each with the version of
the tree that it is of. figures.py puts them into the documents."""
import json
import os

import version

FOLDER = os.path.join(version.ROOT, "docs", "evidence", "figures")


def path_of(command):
    return os.path.join(FOLDER, command + ".json")


def known(command):
    """{name: what was recorded}"""
    if not os.path.exists(path_of(command)):
        return {}
    with open(path_of(command), encoding="utf-8") as f:
        return json.load(f)


def keep(command, name, found):
    rows = {**known(command), name: {"version": version.version(), **found}}
    os.makedirs(FOLDER, exist_ok=True)
    with open(path_of(command), "w", encoding="utf-8") as f:
        json.dump(rows, f, indent=1, sort_keys=True)
        f.write("\n")


def table(command, name, columns, rows):
    """Replaces the table @name of @command. Cells are text as it is to be shown."""
    keep(command, name, {"columns": [str(c) for c in columns],
                         "rows": [[str(cell) for cell in row] for row in rows]})


def values(command, name, **found):
    """Replaces the values @name of @command: numbers or words."""
    keep(command, name, {"values": found})
