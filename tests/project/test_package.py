"""What is shipped, and what describes it: the files that packaging, hosting and citing read."""

import fnmatch
import re
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


def names(extra):
    """Packages of an extra, those of extras that it names included."""
    found = set()
    for requirement in EXTRAS[extra]:
        inner = re.fullmatch(r"skrank\[(.*)\]", requirement)
        parts = [names(one) for one in inner[1].split(",")] if inner else [{requirement}]
        found = found.union(*parts)
    return found


def test_all_is_all_that_installs_everywhere():
    """But for torch, whose wheels may bring gigabytes, and what only developers need."""
    others = set(EXTRAS) - {"all", "test", "docs", "torch"}
    assert names("all") == set.union(*map(names, others))


@in_repository
@pytest.mark.parametrize("name", ["test.yml", "release.yml"])
def test_workflows_run_what_is_there_with_actions_of_a_version(name):
    read = yaml(".github", "workflows", name)
    assert read["permissions"] == {"contents": "read"}
    for step in (step for job in read["jobs"].values() for step in job["steps"]):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"])
        for path in re.findall(r"\b(?:tests|\.ci|skrank)/[\w/]+", step.get("run", "")):
            assert (ROOT / path).exists(), path


@in_repository
def test_versions_and_licenses_agree():
    cited = yaml("CITATION.cff")
    assert cited["version"] == skrank.__version__ == PROJECT["version"]
    assert cited["license"] == PROJECT["license"]
    assert f"version = {{{skrank.__version__}}}" in text("docs", "citing.md")
    assert (ROOT / "skrank" / "py.typed").exists()


@in_repository
def test_files_that_the_contributing_page_names_exist():
    page = text("CONTRIBUTING.md")
    named = re.findall(r"\]\(([\w./-]+)\)|`((?:tests|skrank|docs)/[\w/.]+)`", page)
    paths = [one or other for one, other in named]
    paths += re.findall(r"(?:bash|python) ((?:\.ci|docs|benchmarks)/[\w.]+)", page)
    assert [path for path in paths if not (ROOT / path).exists()] == []
