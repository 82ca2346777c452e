"""What is shipped, and what describes it: the files that packaging, hosting and citing read."""

import fnmatch
import importlib.util
import json
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
PYTHONS = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)


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
    assert {"tests", "conftest.py", "LICENSE", "*.md"} <= set(included)
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


def test_python_versions_are_those_that_are_tested():
    lowest = re.fullmatch(r">=(3\.\d+)", PROJECT["requires-python"])[1]
    assert PYTHONS[0] == lowest
    minors = [int(one[2:]) for one in PYTHONS]
    assert minors == list(range(minors[0], minors[-1] + 1))
    jobs = yaml(".github", "workflows", "test.yml")["jobs"]
    matrix = jobs["tests"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert {one.split("-")[0] for one in matrix["os"]} == {"ubuntu", "macos", "windows"}
    others = {"oldest", "newest", "bounds", "free-threaded", "coverage", "docs", "package"}
    assert others < set(jobs)


@in_repository
@pytest.mark.parametrize("name", ["test.yml", "release.yml"])
def test_workflows_run_what_is_there_with_actions_of_a_version(name):
    read = yaml(".github", "workflows", name)
    assert read["permissions"] == {"contents": "read"}
    steps = [step for job in read["jobs"].values() for step in job["steps"]]
    for step in steps:
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"])
        for path in re.findall(r"\b(?:tests|\.ci|skrank)/[\w/]+", step.get("run", "")):
            assert (ROOT / path).exists(), path


def test_releases_are_published_by_trust():
    publish = yaml(".github", "workflows", "release.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "release"
    assert "password" not in text(".github", "workflows", "release.yml").split("trusted")[0]


@in_repository
def test_the_citation_is_of_this_version():
    cited = yaml("CITATION.cff")
    assert cited["version"] == skrank.__version__
    assert cited["repository-code"] == PROJECT["urls"]["Source"]
    assert cited["license"] == PROJECT["license"]
    assert f"version = {{{skrank.__version__}}}" in text("docs", "citing.md")


def test_hosting_builds_the_site_with_an_extra_and_a_configuration_that_are_there():
    hosting = yaml(".readthedocs.yaml")
    assert "docs" in EXTRAS
    assert hosting["python"]["install"][0]["extra_requirements"] == ["docs"]
    assert (ROOT / hosting["sphinx"]["configuration"]).exists()


def test_the_changelog_has_its_form():
    headings = re.findall(r"^##+ (.*)$", text("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    versions = [one for one in headings if one not in kinds]
    assert all(re.match(r"Unreleased$|\d+\.\d+\.\d+ - \d{4}-", one) for one in versions)


@in_repository
def test_files_that_the_contributing_page_names_exist():
    page = text("CONTRIBUTING.md")
    named = re.findall(r"\]\(([\w./-]+)\)|`((?:tests|skrank|docs)/[\w/.]+)`", page)
    paths = [one or other for one, other in named]
    paths += re.findall(r"(?:bash|python) ((?:\.ci|docs|benchmarks)/[\w.]+)", page)
    assert len(paths) > 8
    for path in paths:
        assert (ROOT / path).exists(), path
    assert page.count("\n") < 80


@pytest.fixture
def history():
    spec = importlib.util.spec_from_file_location("history", ROOT / "benchmarks" / "history.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_history_of_speed_compares_lines_of_one_machine(history, tmp_path, capsys):
    file = tmp_path / "history.jsonl"
    lines = [
        {"version": "1", "commit": "a", "machine": "here", "ratios": {"sort": 1.0, "gone": 1.0}},
        {"version": "1", "commit": "b", "machine": "there", "ratios": {"sort": 9.0}},
        {"version": "1", "commit": "c", "machine": "here", "ratios": {"sort": 1.3}},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert history.main(["--file", str(file), "compare"]) == 1
    assert "a -> c" in (shown := capsys.readouterr().out)
    assert "1.30  sort  slower" in shown
    assert history.main(["--file", str(file), "compare", "--slower", "1.5"]) == 0
    file.write_text(json.dumps(lines[1]))
    assert history.main(["--file", str(file), "compare"]) == 0


def test_the_history_of_speed_adds_a_line(history, tmp_path, monkeypatch):
    monkeypatch.setattr(history, "N_QUERIES", 20)
    file = tmp_path / "history.jsonl"
    for note in ("one", "two"):
        assert history.main(["--file", str(file), "run", "--repeat", "1", "--note", note]) == 0
    first, second = history.read(file)
    assert (first["note"], second["note"]) == ("one", "two")
    assert first["machine"] == second["machine"]
    assert set(first["ratios"]) == set(second["ratios"])
    assert min(first["ratios"].values()) > 0
