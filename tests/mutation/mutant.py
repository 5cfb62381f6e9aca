# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""One slip: what stands where in a file, what shall stand there, and what kind it is of."""
import collections
import hashlib

Mutant = collections.namedtuple("Mutant", "file at length new kind line")


def made(path, text, at, stop, new, kind):
    """@new in place of text[at:stop], with as many lines, so that what follows stays where
    it is."""
    new += "\n" * (text.count("\n", at, stop) - new.count("\n"))
    return Mutant(path, at, stop - at, new, kind, text.count("\n", 0, at) + 1)


def applied(m, text):
    return text[:m.at] + m.new + text[m.at + m.length:]


def key(m, text):
    """What it is, wherever it stands: an edit elsewhere leaves it alone."""
    start = text.rfind("\n", 0, m.at) + 1
    line = text[start:text.find("\n", m.at + m.length)]
    around = text[max(0, start - 200):start]
    raw = "\0".join((m.file, around, line, str(m.at - start), str(m.length), m.new, m.kind))
    return hashlib.sha256(raw.encode()).hexdigest()[:16]


def shown(m, text):
    """(the lines it is in, the same with it)"""
    start = text.rfind("\n", 0, m.at) + 1
    end = text.find("\n", m.at + m.length)
    after = text[start:m.at] + m.new.rstrip("\n") + text[m.at + m.length:end]
    return tidy(text[start:end]), tidy(after)


def tidy(lines):
    return " ".join(lines.split())
