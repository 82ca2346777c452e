"""Imports go one way, importing is cheap, and public names are documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skrank
from skrank.metrics import registered

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(skrank.__file__).resolve().parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# What a user's call passes through, from the bottom up: none of these imports from one that stands
# behind it. All other rooms stand on top of them. Names of types import nothing of skrank.
ORDER = (
    "_typing",
    "_kernels",
    "_validation",
    "_engine",
    "metrics",
    "objectives",
    "_boosters",
    "rankers",
)


def name_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module):
    """The folder or file directly below the package that a module is in."""
    return module.split(".")[1] if "." in module else "skrank"


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
                target = PACKAGE.parent.joinpath(*full.split("."))
                is_module = target.with_suffix(".py").exists() or (target / "__init__.py").exists()
                yield full if is_module else base


def imports_of_skrank(path):
    return [name for name in imports_of(path) if name.split(".")[0] == "skrank"]


def each(paths):
    return pytest.mark.parametrize("path", list(paths), ids=name_of)


KERNELS = [path for path in MODULES if "_kernels" in path.parts]
GRAPH = {name_of(path): set(imports_of_skrank(path)) - {name_of(path)} for path in MODULES}
ROOMS = {
    room_of(module): {
        room_of(target)
        for other, found in GRAPH.items()
        for target in found
        if room_of(other) == room_of(module)
    }
    - {room_of(module)}
    for module in GRAPH
}


def circle_in(graph):
    """Nodes that import each other in a circle, or None; `graph` maps each to what it imports."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return error.args[1]
    return None


def test_no_files_import_each_other():
    """Imports inside functions and for types included."""
    assert circle_in(GRAPH) is None


def test_no_rooms_import_each_other():
    assert circle_in(ROOMS) is None


@pytest.mark.parametrize("room", ORDER)
def test_imports_go_one_way(room):
    assert not ROOMS[room] & set(ORDER[ORDER.index(room) + 1 :])
    if room != "rankers":  # which measures as scorers do
        assert ROOMS[room] <= {*ORDER, "model_selection"}


def test_a_circle_would_be_found():
    assert circle_in(GRAPH | {"skrank._engine.groups": {"skrank.metrics.gap"}}) is not None
    assert circle_in(ROOMS | {"_kernels": {"rankers"}}) is not None


def test_a_metric_has_a_file_and_nothing_else_has():
    """The residual of a metric may be in the file of the metric."""
    files = {path.stem for path in (PACKAGE / "metrics").glob("*.py") if path.stem[0] != "_"}
    names = {}
    for name, cls in registered().items():
        names.setdefault(cls.__module__.rpartition(".")[2], set()).add(name)
    assert files == names.keys()
    for found in names.values():
        assert len({name.removesuffix("_residual") for name in found}) == 1, found


@each(MODULES)
def test_files_are_small(path):
    assert path.read_text(encoding="utf-8").count("\n") <= 500


@each(KERNELS)
def test_kernels_import_numpy_numba_and_each_other_only(path):
    for target in imports_of(path):
        allowed = target.split(".")[0] in ("numpy", "numba", "math", "typing", "__future__")
        allowed |= path.stem == "jit"  # which compiles and caches
        assert allowed or target.startswith("skrank._kernels."), target


@each(path for path in MODULES if path.parent == PACKAGE / "stats")
def test_statistics_take_plain_arrays(path):
    allowed = ("skrank.stats", "skrank._validation", "skrank._engine.threads", "skrank._kernels")
    for target in imports_of_skrank(path):
        assert target.startswith(allowed), target


@each(path for path in MODULES if path not in [*KERNELS, PACKAGE / "_engine" / "threads.py"])
def test_numba_is_for_kernels(path):
    assert "numba" not in [name.split(".")[0] for name in imports_of(path)]


def test_the_rule_would_notice(tmp_path):
    """The parser sees lazy, relative, aliased and guarded imports."""
    path = PACKAGE / "metrics" / "gap.py"
    source = (
        "from __future__ import annotations\nif TYPE_CHECKING:\n    from skrank import objectives\n"
        "def f():\n    from ..evaluation import evaluate\n    import skrank.scoring as s\n"
        "from . import ndcg\n"
    )

    class Fake(type(path)):
        def read_text(self, encoding=None):
            return source

    found = list(imports_of(Fake(path)))
    for target in (
        "skrank.objectives",
        "skrank.evaluation",
        "skrank.scoring",
        "skrank.metrics.ndcg",
    ):
        assert target in found


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, cwd=ROOT, check=True,
    ).stdout.strip()  # fmt: skip


BOOSTERS = ("lightgbm", "xgboost", "catboost")
HEAVY = ("sklearn", "pandas", "scipy", "numba", "matplotlib", "torch", "polars", "dask", *BOOSTERS)


@pytest.mark.parametrize(
    ("work", "free"),
    [
        ("import skrank; dir(skrank)", HEAVY),
        ("import skrank; skrank.metric('gap@10')", HEAVY),
        ("import skrank; skrank.LambdaRank('ndcg(gain=linear)@10')", HEAVY),
        ("import skrank; skrank.with_groups([1, 0], ['a', 'a'])", set(HEAVY) - {"pandas"}),
        ("import skrank.metrics, skrank.objectives, skrank.stats", set(HEAVY) - {"scipy"}),
    ],
)
def test_nothing_is_imported_before_it_is_used(work, free):
    code = f"import sys; {work}; print(sorted({set(free)} & set(sys.modules)))"
    assert run(code) == "[]"


def test_the_public_names_are_those_of_the_stub():
    assert dir(skrank) == sorted([*skrank.__all__, "dask", "lightgbm", "torch", "xgboost"])
    for name in dir(skrank):
        assert there_or_refused(name), name


def test_a_star_hides_no_library():
    code = "import lightgbm; from skrank import *; print(lightgbm.__name__, GroupedRanker.__name__)"
    assert run(code) == "lightgbm GroupedRanker"
    assert run("from skrank import *; print('torch' in dir())") == "False"


def there_or_refused(name):
    """Whether a public name is there, or tells which optional library it needs."""
    try:
        return getattr(skrank, name, None) is not None
    except ImportError as error:
        return f"pip install skrank[{name}]" in str(error)


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
        "skrank.incompleteness", "skrank.informativeness", "skrank.plotting", "skrank.extending",
        "skrank.testing", "skrank.preprocessing",
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
