# SPDX-License-Identifier: BSD-2-Clause
"""Sphinx's configuration. `make html` (./dev doc) copies this folder and what the build generates to doc/source of the build tree and
runs Sphinx there; the version comes from configure by `-D release=`."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

project = "Bowline"
author = "The Bowline authors"
copyright = "the Bowline authors; BSD 2-Clause"  # pylint: disable=redefined-builtin
extensions = ["examples"]
master_doc = "index"
exclude_patterns = ["generated", "samples", "img"]
highlight_language = "text"
nitpicky = True
smartquotes = False

# alabaster comes with Sphinx on Debian 12 and Ubuntu 24.04; nothing of the pages is fetched from a network.
html_theme = "alabaster"
html_theme_options = {
    "description": "authoritative DNS server with AF_XDP",
    "fixed_sidebar": True,
    "page_width": "min(1250px, 100% - 20px)",     # as wide as a small window, where that is what there is
    "body_max_width": "980px",
    "show_relbars": True,
    "font_family": "sans-serif",
    "head_font_family": "sans-serif",
    "show_powered_by": False,
}
html_sidebars = {"**": ["about.html", "version.html", "navigation.html", "searchbox.html"]}
templates_path = ["."]
html_show_sourcelink = False
html_copy_source = False
