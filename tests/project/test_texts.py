"""Pages and figures that are made from code are current."""

import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["build.py", "objective_tables.py", "scikit_learn.py", "peer_names.py", "includes.py"]
)
def test_pages_made_from_code_are_current(name):
    built = runpy.run_path(str(DOCS / name))
    pages = built["pages"]() if "pages" in built else {built["PAGE"]: built["page"]()}
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, f"run python docs/{name}"


def test_the_figure_of_the_gain_is_current():
    built = runpy.run_path(str(DOCS / "figures.py"))
    shown = {name: part.to_dict("index") for name, part in built["gains"]().items()}
    described = ElementTree.parse(built["GAIN_PICTURE"]).iter(
        "{http://purl.org/dc/elements/1.1/}description"
    )
    assert [one.text for one in described] == [str(shown)], "run python docs/figures.py"
    for page in (README, *((DOCS / name).read_text() for name in ("index.md", "what_to_train.md"))):
        assert "_static/gain.svg" in page
