"""The site: ``python -m sphinx -W --keep-going -b html docs docs/_build`` makes it.

``-D plot_gallery=0`` leaves out running the gallery, which takes most of the time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_extensions")]
os.environ["SKRANK_QUIET"] = "1"  # no word of compilation among the outputs of examples

import skrank  # noqa: E402

REPOSITORY = "https://github.com/skrank/skrank"
project = "skrank"
author = "skrank developers"
copyright = "skrank developers"
version = release = skrank.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "api_pages",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "_templates", "_extensions", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = False
suppress_warnings = ["config.cache"]  # functions in the settings of the gallery

# docstrings
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say it in words
autodoc_mock_imports = ["skorch", "torch"]  # as api_pages does
autodoc_default_options = {
    "exclude-members": ", ".join(
        f"set_{method}_request" for method in ("fit", "predict", "score", "split", "transform")
    )
}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# pages
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
myst_fence_as_directive = ["math"]  # as GitHub writes formulas

# gallery
sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_",
    "capture_repr": (),  # what is shown is printed or drawn
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("skrank",),
    "reference_url": {"skrank": None},
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
}

# look
WIDE = ["architecture", "kernels"]  # wide blocks take the place of the contents of the page
WIDE += [f"evidence/{path.stem}" for path in (ROOT / "docs" / "evidence").glob("*.md")]
html_theme = "pydata_sphinx_theme"
html_title = "skrank"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_favicon = "_static/logo.svg"
html_theme_options = {
    "logo": {"text": f"skrank {version}", "image_light": "_static/logo.svg"},
    "icon_links": [
        {"name": "Repository", "url": REPOSITORY, "icon": "fa-brands fa-github"},
    ],
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_nav_level": 1,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"]} | {page: [] for page in WIDE},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "installation": [], "quickstart": [], "faq": [], "citing": []}


def unlink_addresses(app: Sphinx, doctree: nodes.document) -> None:
    """Leave `ndcg@10` as text: docutils takes it for the address of a mailbox."""
    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(nodes.Text(link.astext()))


# what people search for, and the page that the search puts first
SEARCHES = {
    "clicks": "user_guide/logs",
    "cross-validation": "user_guide/tuning",
    "cv": "user_guide/boosters",
    "install": "installation",
    "p-value": "user_guide/judging",
    "query column": "user_guide/data",
    "recommender": "user_guide/recommenders",
}


def add_searches(app: Sphinx, doctree: nodes.document) -> None:
    """Add main entries of the index, which a search puts before titles and texts."""
    for number, (words, page) in enumerate(SEARCHES.items()):
        if page == app.env.docname:
            anchor = f"search-{number}"
            entry = addnodes.index(entries=[("single", words, anchor, "main", None)])
            doctree.insert(0, [entry, nodes.target("", "", ids=[anchor])])


def link_public_name(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, text: nodes.TextElement
) -> nodes.Element | None:
    """Link `Metric` to `skrank.Metric` in docstrings of other modules."""
    name = f"skrank.{node['reftarget']}"
    domain = env.get_domain("py")
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, text)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", unlink_addresses)
    app.connect("doctree-read", add_searches)
    app.connect("missing-reference", link_public_name)
