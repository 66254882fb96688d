"""How Sphinx builds the site: ``python -m sphinx -W --keep-going -b html docs build/site``."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock

import relgraph
from tools import api_pages

DOCS = Path(__file__).parent

with mock(["jax", "pytensor", "sympy"]):  # the docstrings of relgraph.interop need none of these
    api_pages.write(DOCS / "api")

project = "relgraph"
release = relgraph.__version__
copyright = "the relgraph developers"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*.ipynb", "gallery/*.py", "gallery/*.md5", "gallery/*.json"]

myst_fence_as_directive = {"math"}  # GitHub renders ```math, too
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "none"  # docstrings say more
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_ivar = True  # an attribute may be a property, which has an entry of its own

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/",  # runs all of them
    "image_scrapers": ("matplotlib", "tools.gallery.save_drawing"),
    "default_thumb_file": f"{DOCS}/_static/graph.svg",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "relgraph"
html_logo = html_favicon = "_static/graph.svg"
html_show_sphinx = False
html_show_sourcelink = False
html_theme_options = {"logo": {"text": project}, "show_toc_level": 2, "navigation_with_keys": False}


def setup(app: Sphinx) -> None:
    """Drop the empty lines with which examples end for doctest."""

    def without_empty_lines(app: Sphinx, name: str, source: list[str]) -> None:
        source[0] = source[0].replace("\n\n```\n", "\n```\n")

    app.connect("source-read", without_empty_lines)
