"""The pages of the reference: one for each public module, written before a build from its exports.

A name that `skrank` itself exports is described under that name, and listed in its module. torch
and skorch are mocked, so that what needs them is described without them, too.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock

import skrank

NOT_LISTED = {"cli": "the command is described in the user guide"}
TASKS = {  # the index lists names by the first task that has their module
    "Data and splits": ("skrank.datasets", "skrank.model_selection", "skrank._engine.groups"),
    "Rankers": ("skrank.rankers", "skrank.preprocessing", "skrank._onnx", "skrank._ranked_lists"),
    "Tuning": ("skrank._tune", "skrank.scoring"),
    "Evaluation, tests, plots": ("skrank.evaluation", "skrank.stats", "skrank.plotting"),
    "Files and frames of TREC": ("skrank.trec",),
    "Metrics": ("skrank.metrics", "skrank._engine"),
    "Objectives": ("skrank.objectives",),
    "APIs of LightGBM and XGBoost": ("skrank.lightgbm", "skrank.xgboost"),
    "Networks": ("skrank.torch",),
    "Dask": ("skrank.dask",),
    "Labels to collect": ("skrank.active", "skrank.informativeness", "skrank.incompleteness"),
    "Own metrics and objectives": ("skrank.extending", "skrank.testing"),
    "Other": ("skrank",),
}
MOCKED = ["skorch", "torch"]


def public_modules() -> list[str]:
    """Names of the public modules, `skrank` first."""
    found = [
        f"skrank.{module.name}"
        for module in pkgutil.iter_modules(skrank.__path__)
        if not module.name.startswith("_") and module.name not in NOT_LISTED
    ]
    return ["skrank", *found]


def exported(module: ModuleType) -> list[str]:
    """Names of classes and functions that a module defines, or imports to hand them on."""
    if module is skrank:
        names = [name for name in skrank.__all__ if not find_spec(f"skrank.{name}")]
    elif hasattr(module, "__all__"):
        names = list(module.__all__)
    else:
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
        names = [
            alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name == alias.asname
        ]
        names += [
            node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))
        ]
    things = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return sorted(
        name
        for name, thing in things.items()
        if inspect.isclass(thing) or inspect.isfunction(thing)
    )


def listing(title: str, names: list[str], *, pages: bool) -> str:
    """A table of names, warnings last; `pages` says whether each gets a page of its own."""
    names = sorted(names, key=lambda name: name.endswith("Warning"))
    if not names:
        return ""
    options = "   :toctree: generated\n   :nosignatures:\n" if pages else "   :nosignatures:\n"
    lines = "".join(f"   {name}\n" for name in names)
    return f".. rubric:: {title}\n\n.. autosummary::\n{options}\n{lines}\n"


def task(place: str, thing: Any) -> str:
    """The task for which a name is listed; of names of `skrank`, that of the defining module."""
    module = place.rpartition(".")[0]
    module = thing.__module__ if module == "skrank" else module
    return next(title for title, names in TASKS.items() if module.startswith(names))


def page(name: str, places: dict[int, str], by_task: dict[str, list[str]]) -> str:
    """The page of a module. Adds to `places` by `id`, and to the names of each task."""
    with mock(MOCKED):
        module = importlib.import_module(name)
    text = f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n\n.. currentmodule:: {name}\n\n"
    things = {one: getattr(module, one) for one in exported(module)}
    # of two names of one thing, the page has the name by which the thing is defined
    things = dict(sorted(things.items(), key=lambda pair: pair[1].__name__ != pair[0]))
    found = {one: places.setdefault(id(thing), f"{name}.{one}") for one, thing in things.items()}
    own = [one for one, place in found.items() if place == f"{name}.{one}"]
    for one in own:
        by_task[task(f"{name}.{one}", things[one])].append(f"{name}.{one}")
    classes = [one for one in own if inspect.isclass(things[one])]
    text += listing("Classes", classes, pages=True)
    text += listing("Functions", [one for one in own if one not in classes], pages=True)
    others = {one: place for one, place in found.items() if one not in own}
    elsewhere = [  # a second name in the same module has no prefix
        one if place.rpartition(".")[0] == name else f"~{place}" for one, place in others.items()
    ]
    return text + listing("Also here", elsewhere, pages=False)


def write_pages(app: Sphinx, config: object) -> None:
    """Write what has changed."""
    folder = Path(app.srcdir) / "reference" / "api"
    folder.mkdir(exist_ok=True)
    modules = public_modules()
    places: dict[int, str] = {}
    by_task: dict[str, list[str]] = {title: [] for title in TASKS}
    texts = {f"{name}.rst": page(name, places, by_task) for name in modules}
    entries = "".join(f"   {name}\n" for name in modules)
    lists = "".join(listing(title, by_task[title], pages=False) for title in TASKS)
    texts["index.rst"] = (
        f"API\n===\n\n{lists}.. toctree::\n   :hidden:\n   :maxdepth: 1\n\n{entries}"
    )
    for file, text in texts.items():
        path = folder / file
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", write_pages)  # before the pages are looked for
    return {"parallel_read_safe": True, "parallel_write_safe": True}
