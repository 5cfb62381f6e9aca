# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The files that docs/SPEC.md names, for check_spec.py.

A word that ends as a source or document does is the name of a file, and so is a
path that begins with abi/, docs/ or tests/; in backticks so is one with a slash that ends with one, or as another file of the
repository. It names what is there when a path of the repository ends with it;
`*` stands for anything. Links, and paths in backticks that begin with a folder
of the repository, are looked at by check_docs.py.
"""
import fnmatch
import os
import re

SOURCE = r"(?:h|c|py|md)"
OTHER = r"(?:S|hex|json|ld|mk|pml|sh|txt)"
WORD = re.compile(rf"[\w.*/-]*[\w*-]\.{SOURCE}(?![\w/-]|\.\w)")
QUOTED = re.compile(rf"`([\w.*-]+/[\w.*/-]*(?:/|\.{OTHER}))`")
FOLDER = re.compile(r"(?<![\w./-])(?:abi|docs|tests)/(?:[\w.-]+/)*[\w-]+"
                    r"(?![\w*/.-])")
ELSEWHERE = re.compile(r"\w+://\S+|\\?<[\w/.-]+>")  # URLs, headers of a system
MADE = ("build", ".git", "__pycache__")


def repository():
    """The paths of all files and folders, a folder with a slash at its end."""
    paths = []
    for top, folders, files in os.walk(".", followlinks=True):
        folders[:] = [f for f in folders if f not in MADE]
        paths += [os.path.normpath(os.path.join(top, f)) for f in files]
        for folder in folders:
            path = os.path.normpath(os.path.join(top, folder))
            paths += [path, path + "/"]
    return paths


def ends(paths):
    """The paths, and what stands behind each of their slashes."""
    return {path[at:] for path in paths
            for at in (0, *(m.end() for m in re.finditer("/", path)))}


def is_there(name, paths):
    """@paths: ends() of those of the repository."""
    if os.path.isabs(name):
        return False
    name = re.sub(r"^(?:\.\.?/)+", "", name)
    return name in paths or ("*" in name and bool(fnmatch.filter(paths, name)))


def names(lines):
    """Yields (line, name) of each file that is named."""
    for number, line in enumerate(lines, 1):
        rest = ELSEWHERE.sub("", line)
        for name in (*WORD.findall(rest), *QUOTED.findall(rest),
                     *FOLDER.findall(rest)):
            if name.split("/")[0] != "build":
                yield number, name


def missing_files(lines):
    """Yields (line, words) for each name of a file that is not there."""
    paths = ends(repository())
    for number, name in names(lines):
        if not is_there(name, paths):
            yield number, f"{name} is not a file of the repository"
