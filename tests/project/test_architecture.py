"""Imports go one way, importing is cheap, and public names are documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from importlib.util import find_spec, resolve_name
from pathlib import Path

import pytest

import skrank

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(skrank.__file__).resolve().parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Layers from the bottom up: none imports from a layer above it. All other parts of the package
# stand on top of these layers.
LAYERS = (
    "_typing", "_warnings", "_kernels", "_validation", "_engine", "metrics", "objectives",
    "_boosters", "rankers",
)  # fmt: skip


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module):
    """The folder or file directly below the package that a module is in."""
    return module.split(".")[1] if "." in module else "skrank"


NAMES = {name_of(path) for path in MODULES} - {"skrank"}


def imports_of(path):
    """Modules that a file imports anywhere in it, relative ones made absolute."""
    module = name_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                target = PACKAGE.parent.joinpath(*full.split("."))
                is_module = target.with_suffix(".py").exists() or (target / "__init__.py").exists()
                yield full if is_module else base
        elif isinstance(node, ast.Constant) and node.value in NAMES:  # for import_module
            yield node.value


@pytest.fixture(scope="module")
def imports():
    """The modules that each module imports."""
    return {name_of(path): set(imports_of(path)) for path in MODULES}


@pytest.fixture(scope="module")
def graph(imports):
    """The modules of the package that each module imports."""
    return {
        module: {target for target in imported if target.split(".")[0] == "skrank"} - {module}
        for module, imported in imports.items()
    }


@pytest.fixture(scope="module")
def parts(graph):
    """The parts of the package that each part imports."""
    parts = {part_of(module): set() for module in graph}
    for module, imported in graph.items():
        parts[part_of(module)] |= {part_of(target) for target in imported} - {part_of(module)}
    return parts


def test_there_are_no_circles_of_imports(graph, parts):
    """Imports inside functions and for types included; an error names the circle."""
    for imported in (graph, parts):
        assert set(TopologicalSorter(imported).static_order()) >= imported.keys()


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_go_one_way(layer, parts):
    assert not parts[layer] & set(LAYERS[LAYERS.index(layer) + 1 :])
    if layer != "rankers":  # which measures as scorers do
        assert parts[layer] <= {*LAYERS, "model_selection"}


# What stands on the core imports public modules of other parts, and the private ones in `SHARED`.
ON_THE_CORE = (
    "active", "informativeness", "incompleteness", "torch", "trec", "plotting", "cli", "_tune",
)  # fmt: skip
SHARED = {"_validation", "_typing", "_progress", "_printed", "_files", "_warnings"}


@pytest.mark.parametrize("part", ON_THE_CORE)
def test_what_stands_on_the_core_uses_public_names(part, graph):
    private = {
        f"{module}: {target}"
        for module, imported in graph.items()
        for target in imported
        if part_of(module) == part != part_of(target) and part_of(target) not in SHARED
        if "._" in target
    }
    assert not private


def test_the_core_imports_nothing_that_stands_on_it(parts):
    """But that reports and comparisons call plotting."""
    core = {*LAYERS, "scoring", "model_selection", "evaluation", "stats", "dask"}
    imported = {(part, target) for part in core for target in parts[part] & {*ON_THE_CORE}}
    assert imported == {("evaluation", "plotting")}


STATISTICS = (
    "skrank.stats", "skrank._validation", "skrank._engine.threads", "skrank._kernels",
    "skrank._warnings", "skrank._progress", "skrank._printed", "skrank._typing",
)  # fmt: skip
USES_NUMBA = ("skrank._kernels", "skrank._engine.threads")


def is_allowed(module, target):
    library = target.split(".")[0]
    if part_of(module) == "_kernels" and module != "skrank._kernels.jit":  # which caches
        allowed = library in ("numpy", "numba", "llvmlite", "math", "typing", "__future__")
        return allowed or target.startswith("skrank._kernels.")
    if part_of(module) == "stats" and library == "skrank":
        return target.startswith(STATISTICS)
    return library != "numba" or module.startswith(USES_NUMBA)


def test_imports_of_kernels_and_statistics_and_of_numba(imports):
    """Kernels import NumPy, numba and each other; statistics take plain arrays."""
    pairs = [(module, target) for module, targets in imports.items() for target in targets]
    assert [pair for pair in pairs if not is_allowed(*pair)] == []


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, cwd=ROOT, check=True,
    ).stdout.strip()  # fmt: skip


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"].items()
# of which each installs the library of its name: boosters, dask, onnx, torch
LIBRARIES = [extra for extra, needed in EXTRAS if needed[0].startswith(extra)]
HEAVY = ("sklearn", "pandas", "scipy", "numba", "matplotlib", "polars", *LIBRARIES)


# Work of one process, and what it must not have imported after each step
STEPS = [
    ("import skrank; dir(skrank); skrank.metric('gap@10'); skrank.LambdaRank('ndcg')", HEAVY),
    ("import skrank.metrics, skrank.objectives, skrank.stats", set(HEAVY) - {"scipy"}),
    ("import skrank.lightgbm, skrank.xgboost, skrank.dask", {"numba", *LIBRARIES}),
]


def test_nothing_is_imported_before_it_is_used():
    steps = [f"{work}; print({{*{sorted(free)}}} & {{*sys.modules}})" for work, free in STEPS]
    assert run("\n".join(["import sys", *steps])).splitlines() == ["set()"] * len(STEPS)


WITHOUT_EXTRAS = """
import importlib, inspect, pkgutil, pydoc, sys

class Missing:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {extras}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing)
import skrank
modules = [skrank]
for found in pkgutil.iter_modules(skrank.__path__, "skrank."):
    try:
        modules += [] if "._" in found.name else [importlib.import_module(found.name)]
    except ImportError as error:
        assert "pip install" in str(error)
texts = [pydoc.render_doc(module) for module in modules]
for module, text in zip(modules, texts):
    assert module.__name__ in text
    assert set(dir(module)) >= {name for name, _ in inspect.getmembers(module)}
    exec(f"from {module.__name__} import *")
assert "GroupedRanker" in texts[0]
skrank.metric("gap"), skrank.LambdaRank("gap")
try:
    skrank.torch
except ImportError as error:
    print(error)
"""
MISSING = (
    *LIBRARIES, "distributed", "matplotlib", "optuna", "pyarrow", "skorch", "polars",
    "ir_datasets", "ranx", "pytrec_eval",
)  # fmt: skip


def test_help_needs_no_extra_and_errors_name_it():
    said = run(WITHOUT_EXTRAS.replace("{extras}", repr(MISSING)))
    assert "skorch" in said
    assert "pip install skrank[torch]" in said


def test_the_public_names_are_those_of_the_stub():
    stub = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8")
    names = set(re.findall(r"import \w+ as (\w+)", stub))
    assert {*skrank.__all__} == names - {*LIBRARIES}
    installed = find_spec("torch") is not None and find_spec("skorch") is not None
    # help() imports all that dir() names
    assert dir(skrank) == sorted(names if installed else names - {"torch"})
    mock = "import sys, types; sys.modules['torch'] = types.ModuleType('torch')"
    run(f"{mock}; import skrank; dir(skrank)")


FOLDERS = ("skrank", "tests", "examples", "benchmarks", "docs", ".ci")
SUFFIXES = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".cfg", ".sh", ".ipynb", ".rst", ""}
# assembled, so that this file does not hold them
PLACES = re.compile(
    "|".join(["/" + "work" + r"\b", r"\.\./" + "shared", "/" + "root/", "/" + "home/"])
)


def test_no_file_names_a_place_of_one_machine():
    paths = [*ROOT.iterdir(), *(one for name in FOLDERS for one in (ROOT / name).rglob("*"))]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        if path.is_file()
        and path.suffix in SUFFIXES
        and not {".git", ".ruff_cache"} & {*path.parts}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if PLACES.search(line)
    ]
    assert not found
