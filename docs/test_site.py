"""The site is built without a warning, its links lead somewhere, and it describes all names.

SKRANK_GALLERY=1 has the examples of the gallery run for their pictures, as `.ci/site` does.
"""

import ast
import json
import os
import runpy
import shutil
import subprocess
import sys
import urllib.parse
import zlib
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

WITHOUT_SPHINX = "the site is not built here: pip install skrank[docs]"
for needed in ("sphinx", "pydata_sphinx_theme", "numpydoc", "sphinx_gallery", "myst_parser"):
    pytest.importorskip(needed, reason=WITHOUT_SPHINX)

ROOT = Path(__file__).resolve().parents[1]
MADE = ("_build", "gallery", "api", "backreferences")
PLOT = os.environ.get("SKRANK_GALLERY") == "1"


class Page(HTMLParser):
    """Anchors of a page, where it leads to, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs[name] for name in ("id", "name") if attrs.get(name)}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag in ("img", "script", "iframe", "source") and attrs.get("src"):
            self.loads.append(attrs["src"])
        if tag == "link" and attrs.get("rel") in ("stylesheet", "preload", "icon"):
            self.loads.append(attrs["href"])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the site and what the build said, made from a copy of the sources."""
    copy = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", copy / "docs", ignore=shutil.ignore_patterns(*MADE))
    shutil.copytree(ROOT / "examples" / "gallery", copy / "examples" / "gallery")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["docs", "html", *([] if PLOT else ["-D", "plot_gallery=0"])]
    done = subprocess.run(
        command, cwd=copy, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return copy / "html", done


@pytest.fixture(scope="module")
def pages(built):
    folder, _ = built
    return {
        path: Page(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*.html")
        if "_static" not in path.parts  # which has a template of the theme
    }


def test_it_is_built_without_a_warning(built):
    _, done = built
    assert (done.returncode, done.stderr) == (0, "")


def test_links_lead_somewhere(built, pages):
    dead = []
    for path, page in pages.items():
        for link in (*page.links, *page.loads):
            target = urllib.parse.urlsplit(link)
            if target.scheme or target.netloc:
                continue
            name = urllib.parse.unquote(target.path)
            found = (path.parent / name).resolve() if name else path
            found = found / "index.html" if found.is_dir() else found
            anchor = urllib.parse.unquote(target.fragment)
            known = pages[found].anchors if found in pages else {anchor}
            if not found.exists() or (anchor and anchor not in known):
                dead.append((path.name, link))
    assert dead == []
    assert len(pages) > 200


def test_it_loads_nothing_from_elsewhere(pages):
    loads = {link for page in pages.values() for link in page.loads}
    assert {link for link in loads if urllib.parse.urlsplit(link).netloc} == set()


def test_a_search_finds_pages_by_these_words(built):
    """Sphinx puts pages with a main entry of the index first."""
    folder, _ = built
    text = (folder / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    entries = {
        words: [index["docnames"][number] for number, _, main in places if main]
        for words, places in index["indexentries"].items()
    }
    for words, page in runpy.run_path(str(ROOT / "docs" / "conf.py"))["SEARCHES"].items():
        assert entries[words] == [page]
    assert len(index["alltitles"].get("cv", [])) == 0  # of LightGBM and XGBoost


def public_names():
    """Names in `__all__` of public modules.

    Read from the sources, so that modules whose packages are not installed count too.
    """
    for path in sorted((ROOT / "skrank").iterdir()):
        file = path / "__init__.py" if path.is_dir() else path
        if path.name[0] == "_" or path.stem in ("cli", "py") or not file.exists():
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                yield from ((path.stem, name) for name in ast.literal_eval(node.value))


# of things described elsewhere, and constants
SECOND_NAMES = {
    "skrank.evaluation.DEFAULT_METRICS", "skrank.incompleteness.ROBUSTNESS_METRICS",
    "skrank.testing.make_ranking",
}  # fmt: skip


def test_all_public_names_are_in_the_inventory(built):
    """A name of `skrank` itself is described there, and listed in its module."""
    import skrank

    folder, _ = built
    lines = zlib.decompress((folder / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    described = {line.split(" ")[0] for line in lines.splitlines() if " py:" in line}
    of_skrank = {name for name in skrank.__all__ if find_spec(f"skrank.{name}") is None}
    lacking = {f"skrank.{name}" for name in of_skrank} - described
    names = list(public_names())
    assert len(names) > 150
    for module, name in names:
        if not {f"skrank.{name}", f"skrank.{module}.{name}"} & described:
            lacking.add(f"skrank.{module}.{name}")
    assert lacking == SECOND_NAMES
