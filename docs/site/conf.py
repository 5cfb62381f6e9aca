# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What Sphinx makes of the documents (`make docs`). They stay where they are: the source
of the site is a folder of links to them, which tools/docs/site.py makes."""
import os

from pygments.lexers.special import TextLexer

project = "unic"
author = copyright = "the maintainers of unic"
version = release = os.environ.get("UNIC_VERSION", "")

extensions = ["myst_parser"]
root_doc = "docs/site/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "MAINTAINING.md", "docs/**",
                    "man/*", "*/README.md", "*/*/README.md", "abi/vectors/README.md"]
exclude_patterns = ["build/**", "debian/**", "docs/evidence/eval/**"]
source_suffix = {".md": "markdown"}
# Links to headings are those of the web: MEMORY.md#3-register-and-register_wait
myst_heading_anchors = 6
myst_enable_extensions = []
highlight_language = "none"

html_theme = "alabaster"
html_theme_options = {"description": "RDMA memory that is shared fairly", "page_width": "68em",
                      "sidebar_width": "16em", "fixed_sidebar": True}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_copy_source = html_show_sourcelink = False


def plain_folder(app, env, node, contnode):
    """A link to a folder of the tree is its name: the site has no page of it."""
    folder = os.path.join(app.srcdir, os.path.dirname(env.docname), node.get("reftarget", ""))
    return contnode if os.path.isdir(folder) else None


def setup(app):
    app.connect("missing-reference", plain_folder)
    app.add_lexer("mermaid", TextLexer)  # pictures as text
