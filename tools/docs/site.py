#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The source of the documentation site: a folder of links to what is in the tree, and the
manual pages as pages of it.

    site.py --out FOLDER --man FOLDER

The documents link to each other, and to sources, as they do in the tree, so nothing is
copied or changed. A manual page is what mandoc makes of it as HTML.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEFT_OUT = {"build", ".git", "__pycache__"}


def link_tree(out):
    """Links to the top folders and files, for Sphinx follows them."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    for name in os.listdir(ROOT):
        if name not in LEFT_OUT and not name.startswith("."):
            os.symlink(os.path.join(ROOT, name), os.path.join(out, name))


def as_page(path):
    """A manual page as Markdown around HTML."""
    html = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", path], text=True,
                          capture_output=True, check=True).stdout
    # The foot and the head say what the title of the page says.
    html = re.sub(r'<table class="(head|foot)">.*?</table>', "", html, flags=re.S)
    name = os.path.basename(path)
    # fences longer than any in the page
    return f"# {name[:-2]}({name[-1]})\n\n~~~~~~{{raw}} html\n{html}\n~~~~~~\n"


def write_manuals(out, man):
    os.makedirs(os.path.join(out, "man"))
    pages = [p for p in sorted(glob.glob(man + "/**/*.[1357]", recursive=True))
             if not os.path.islink(p)]
    for path in pages:
        with open(os.path.join(out, "man", os.path.basename(path) + ".md"), "w",
                  encoding="utf-8") as f:
            f.write(as_page(path))
    return len(pages)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--man", required=True)
    args = p.parse_args()
    link_tree(args.out)
    if not write_manuals(args.out, args.man):
        sys.exit(f"site.py: no manual page in {args.man}: make release")


if __name__ == "__main__":
    main()
