"""What is shipped, and what describes it: the files that packaging, hosting and citing read."""

import fnmatch
import tomllib
from pathlib import Path

import pytest

import skrank

ROOT = Path(__file__).resolve().parents[2]
in_repository = pytest.mark.skipif(
    not (ROOT / "skrank").exists(), reason="the tests of an installed package lack the repository"
)
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
ALWAYS = {"pyproject.toml", ".gitignore", "PKG-INFO"}  # which the build adds by itself


def text(*path):
    return ROOT.joinpath(*path).read_text(encoding="utf-8")


def yaml(*path):
    return pytest.importorskip("yaml").safe_load(text(*path))


def test_every_file_of_the_project_is_in_the_source_distribution():
    targets = PYPROJECT["tool"]["hatch"]["build"]["targets"]
    included = [one.strip("/") for one in targets["sdist"]["include"]]
    ignored = [line.strip("/") for line in text(".gitignore").splitlines() if line]
    missing = [
        path.name
        for path in ROOT.iterdir()
        if path.name not in ALWAYS | {".git"}
        and not any(fnmatch.fnmatch(path.name, pattern) for pattern in [*included, *ignored])
    ]
    assert missing == []
    assert targets["wheel"]["packages"] == ["skrank"]


@in_repository
def test_versions_and_licenses_agree():
    cited = yaml("CITATION.cff")
    assert cited["version"] == skrank.__version__ == PROJECT["version"]
    assert cited["license"] == PROJECT["license"]
    assert f"version = {{{skrank.__version__}}}" in text("docs", "citing.md")
    assert (ROOT / "skrank" / "py.typed").exists()
