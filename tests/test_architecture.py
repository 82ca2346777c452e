"""Imports go one way, importing is cheap, and public names are documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import skrank

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "skrank"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A module imports from its own layer and from those above it in this list, and from no other part
# of skrank. Modules in no layer stand on all of them; no layer imports such a module.
LAYERS = [
    ("skrank._kernels",),
    (
        "skrank._queries", "skrank._validation", "skrank._parallel", "skrank._parts",
        "skrank.model_selection",
    ),
    ("skrank.metrics",),
    ("skrank.objectives",),
    ("skrank._boosters", "skrank.lightgbm", "skrank.xgboost"),
]  # fmt: skip
TOP = len(LAYERS)


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module):
    for number, members in enumerate(LAYERS):
        if any(module == member or module.startswith(member + ".") for member in members):
            return number
    return TOP


def imports_of(path):
    """Modules that a file imports anywhere in it, relative ones made absolute."""
    module = name_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")
                above = above[: len(above) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                target = ROOT.joinpath(*full.split("."))
                is_module = target.with_suffix(".py").exists() or (target / "__init__.py").exists()
                yield full if is_module else base


def imports_of_skrank(path):
    return [name for name in imports_of(path) if name.split(".")[0] == "skrank"]


def each(paths):
    return pytest.mark.parametrize("path", list(paths), ids=name_of)


KERNELS = [path for path in MODULES if "_kernels" in path.parts]


@each(path for path in MODULES if layer_of(name_of(path)) < TOP)
def test_imports_go_one_way(path):
    module = name_of(path)
    for target in imports_of_skrank(path):
        assert layer_of(target) <= layer_of(module), f"{module} imports {target}"


@each(KERNELS)
def test_kernels_import_numpy_and_numba_only(path):
    for target in imports_of(path):
        assert target.split(".")[0] in ("numpy", "numba", "math", "__future__"), target


@each(path for path in MODULES if "stats" in path.parts)
def test_statistics_take_plain_arrays(path):
    allowed = ("skrank.stats", "skrank._validation", "skrank._parallel", "skrank._kernels")
    for target in imports_of_skrank(path):
        assert target.startswith(allowed), target


@each(path for path in MODULES if path not in [*KERNELS, PACKAGE / "_parallel.py"])
def test_numba_is_for_kernels(path):
    assert "numba" not in [name.split(".")[0] for name in imports_of(path)]


def test_the_rule_would_notice(tmp_path):
    """The parser sees lazy, relative, aliased and guarded imports."""
    folder = PACKAGE / "metrics"
    path = folder / "base.py"
    source = (
        "from __future__ import annotations\nif TYPE_CHECKING:\n    from skrank import objectives\n"
        "def f():\n    from ..evaluation import evaluate\n    import skrank.scoring as s\n"
        "from . import plan\n"
    )

    class Fake(type(path)):
        def read_text(self, encoding=None):
            return source

    found = list(imports_of(Fake(path)))
    for target in (
        "skrank.objectives",
        "skrank.evaluation",
        "skrank.scoring",
        "skrank.metrics.plan",
    ):
        assert target in found
    assert layer_of("skrank.objectives") > layer_of("skrank.metrics.base")
    assert layer_of("skrank.evaluation") == TOP


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, cwd=ROOT, check=True,
    ).stdout.strip()  # fmt: skip


HEAVY = ("numba", "lightgbm", "xgboost", "matplotlib", "torch", "catboost", "polars", "dask")


def test_import_is_light():
    code = f"import sys, skrank; print([name for name in {HEAVY} if name in sys.modules])"
    assert run(code) == "[]"


def test_metrics_are_made_without_numba():
    code = (
        "import sys, skrank\n"
        "skrank.LambdaRank('gap@10'); skrank.metric('ndcg(gain=linear)@10')\n"
        "skrank.with_groups([1, 0], ['a', 'a'])\n"
        "print('numba' in sys.modules)"
    )
    assert run(code) == "False"


def test_version_is_that_of_the_project():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "(.*)"$', text, re.MULTILINE)[1] == skrank.__version__
    assert (PACKAGE / "py.typed").exists()


# files
# ------------------------------------------------------------------------------------------------

FOLDERS = ("skrank", "tests", "examples", "benchmarks", "docs", ".ci")
SUFFIXES = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".cfg", ".sh", ".ipynb", ".rst", ""}
# assembled, so that this file does not hold them
PLACES = re.compile(
    "|".join(["/" + "work" + r"\b", r"\.\./" + "shared", "/" + "root/", "/" + "home/"])
)


def files():
    yield from (path for path in ROOT.iterdir() if path.is_file())
    for folder in FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file())


def test_no_file_names_a_place_of_one_machine():
    found = []
    for path in files():
        if path.suffix not in SUFFIXES or "__pycache__" in path.parts or path.name == ".git":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if PLACES.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found


# public names
# ------------------------------------------------------------------------------------------------

NAMESPACES = [
    name
    for name in (
        "skrank", "skrank.metrics", "skrank.objectives", "skrank.datasets", "skrank.lightgbm",
        "skrank.xgboost", "skrank.torch", "skrank.stats", "skrank.active", "skrank.trec",
        "skrank.incompleteness", "skrank.informativeness", "skrank.plotting",
    )
    if PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py").exists()
    or (PACKAGE.joinpath(*name.split(".")[1:]) / "__init__.py").exists()
]  # fmt: skip
BASES = {"Metric", "Objective"}  # of what users make


def public_names():
    for namespace in NAMESPACES:
        try:
            module = importlib.import_module(namespace)
        except ImportError as error:
            if (error.name or "").startswith("skrank"):
                raise
            continue  # an optional library is missing
        package = hasattr(module, "__path__")
        for name, thing in vars(module).items():
            if name.startswith("_") or not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            mine = thing.__module__.startswith("skrank")
            if mine and (package or thing.__module__ == namespace):
                yield pytest.param(thing, id=f"{namespace}.{name}")


@pytest.mark.parametrize("thing", list(public_names()))
def test_public_names_are_documented(thing):
    text = inspect.getdoc(thing)
    assert text
    assert text.split("\n")[0].strip()
    sections = re.findall(r"^(\w+)\n-+$", text, re.MULTILINE)
    if inspect.isfunction(thing):
        assert "Parameters" in sections or not inspect.signature(thing).parameters
        assert "Examples" in sections
    elif "Parameters" in sections and thing.__name__ not in BASES:  # others are met as results
        assert "Examples" in sections


@each(MODULES)
def test_modules_say_what_they_are_for(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
