"""Campaigns as files: what is written, and what a file must hold to be believed.

Nothing in a file is taken on trust: damage and tampering end in a ValueError that names the file,
and never in an estimate.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import TypeVar

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank.active import _files
from skrank.active._draws import Draws
from skrank.active._forms import METHODS, form_of
from skrank.active._labels import check_scale
from skrank.active._moments import Moments
from skrank.active._pool import check_items, rank
from skrank.active._setup import Design, Setup, open_rows, seed_of
from skrank.metrics import metric

_FORMAT = "skrank campaign 2"
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class State:
    """A campaign as it stands: its class, its setup, and what was asked and told since.

    Attributes
    ----------
    kind : str
        Name of the class.
    setup : Setup
    budget : float or None
    asked : list of int
        Numbers of queries, in the order of asking.
    labels : dict from int to ndarray
        Labels of the queries that were told.
    """

    kind: str
    setup: Setup
    budget: float | None
    asked: list[int]
    labels: dict[int, np.ndarray]


def save(path: str | PathLike[str], state: State) -> None:
    """Write a campaign to a file."""
    _files.write(path, _pack(state))


def load(path: str | PathLike[str], resume: Callable[[State], _T]) -> _T:
    """What `resume` makes of the campaign in a file, all of which is checked."""
    return _files.read(path, "campaign", lambda arrays: resume(_unpack(arrays)))


def _pack(state: State) -> dict[str, np.ndarray]:
    setup = state.setup
    design, moments = setup.design, setup.design.moments
    facts = {
        "format": _FORMAT,
        "class": state.kind,
        "metric": str(setup.form.metric),
        "names": list(setup.names),
        "seed": setup.seed,
        "budget": state.budget,
        "center": setup.center,
        "n_rows": setup.n_rows,
        "method": moments.method,
    }
    told = list(state.labels)
    arrays = {
        "facts": np.array(json.dumps(facts)),
        "ids": setup.queries.ids,
        "indptr": setup.queries.indptr,
        "rows": setup.pool.rows,
        "scores": setup.pool.scores,
        "given": setup.given,
        "grades": setup.form.grades,
        "q": design.q,
        "p": design.p,
        "costs": design.costs,
        "moments": np.stack([moments.mass, moments.first, moments.second]),
        "asked": np.array(state.asked, dtype=np.int64),
        "told": np.array(told, dtype=np.int64),
        "labels": np.concatenate([np.empty(0), *(state.labels[query] for query in told)]),
    }
    if setup.items is not None:
        arrays["items"] = setup.items
    return arrays


def _unpack(arrays: dict[str, np.ndarray]) -> State:
    facts = json.loads(str(_take(arrays, "facts", "U", ())))
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT!r}, that of this version of skrank.")
    names = tuple(map(str, facts["names"]))
    queries = _queries(arrays)
    seed = seed_of(facts["seed"])
    scores = _take(arrays, "scores", "f", (len(names), queries.n_rows))
    pool = rank(queries, _rows(arrays, queries.n_rows), scores, seed)
    items = None
    if "items" in arrays:
        items = _take(arrays, "items", "iufUS", (queries.n_rows,))
        check_items(items, queries)
    form = form_of(
        metric(str(facts["metric"])),
        check_scale(_take(arrays, "grades", "f", (None,))),
        queries.longest,
    )
    given = _take(arrays, "given", "f", (queries.n_rows,))
    _require(np.isin(given[~np.isnan(given)], form.grades).all(), "given labels are not all grades")
    method = check.check_choice("method", facts["method"], METHODS[1:])
    design = _design(arrays, queries, open_rows(pool, given) > 0, method)
    n_rows = check.check_count("n_rows", facts["n_rows"], "the rows of the pool's arrays")
    _require(pool.rows.max() < n_rows, "rows are beyond the last one")
    setup = Setup(names, form, pool, items, given, n_rows, design, _number(facts["center"]), seed)
    asked = _asked(arrays, setup)
    labels = _labels(arrays, setup, asked)
    if arrays:
        raise ValueError(f"it holds {', '.join(sorted(arrays))}, which no campaign has.")
    return State(str(facts["class"]), setup, _number(facts["budget"]), asked, labels)


def _take(
    arrays: dict[str, np.ndarray], name: str, kinds: str, shape: tuple[int | None, ...]
) -> np.ndarray:
    """Take an array out, if it has the kind and shape that it must have."""
    if name not in arrays:
        raise ValueError(f"it lacks {name}.")
    array = arrays.pop(name)
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, size) for size, wanted in zip(array.shape, shape, strict=True)
    )
    if array.dtype.kind not in kinds or not fits:
        raise ValueError(f"its {name} are of type {array.dtype} and shape {array.shape}.")
    if array.dtype.kind == "f":
        array = np.ascontiguousarray(array, dtype=np.float64)
    elif name != "items" and array.dtype.kind in "iu":
        array = np.ascontiguousarray(array, dtype=np.int64)
    return array


def _require(holds: bool | np.bool_, fault: str) -> None:
    if not holds:
        raise ValueError(f"its {fault}.")


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise ValueError(f"{value!r} stands where a number belongs.")
    return float(value)


def _queries(arrays: dict[str, np.ndarray]) -> Queries:
    ids = arrays.pop("ids", np.empty(0))
    _require(ids.ndim == 1 and len(ids) > 0 and ids.dtype.kind in "iufbUS", "query ids are none")
    _require(len(np.unique(ids)) == len(ids) and (ids == ids).all(), "query ids are not distinct")
    indptr = _take(arrays, "indptr", "iu", (len(ids) + 1,))
    _require(
        indptr[0] == 0 and (np.diff(indptr) > 0).all(), "queries (indptr) do not follow each other"
    )
    return Queries(ids, indptr)


def _rows(arrays: dict[str, np.ndarray], n_rows: int) -> np.ndarray:
    rows = _take(arrays, "rows", "iu", (n_rows,))
    _require(rows.min() >= 0 and len(np.unique(rows)) == n_rows, "rows are not distinct")
    return rows


def _design(
    arrays: dict[str, np.ndarray], queries: Queries, is_open: np.ndarray, method: str
) -> Design:
    n = len(queries)
    q, p, costs = (_take(arrays, name, "f", (n,)) for name in ("q", "p", "costs"))
    for name, values in (("q", q), ("p", p)):
        _require((values >= 0).all() and abs(values.sum() - 1) < 1e-9, f"{name} is no distribution")
    _require(((q > 0) == ((p > 0) & is_open)).all(), "q draws other queries than those that count")
    _require(
        (costs[is_open] > 0).all() and (costs >= 0).all() and np.isfinite(costs).all(),
        "costs are not positive and finite",
    )
    moments = _take(arrays, "moments", "f", (3, n))
    _require(np.isfinite(moments).all(), "moments are not finite")
    mass, first, second = moments
    _require(mass.min() >= 0 and mass.max() <= 1 + 1e-9, "masses are no probabilities")
    _require(second.min() >= 0, "second moments are negative")
    return Design(q, p, costs, Moments(queries.ids, mass, first, second, method))


def _asked(arrays: dict[str, np.ndarray], setup: Setup) -> list[int]:
    """The queries that were asked: those that the seed draws, in that order."""
    asked = _take(arrays, "asked", "iu", (None,))
    _require(len(asked) <= len(setup.queries), "asked queries are more than there are")
    drawn = Draws(setup.design.q, setup.seed).distinct(len(asked))
    _require(len(drawn) == len(asked) and (asked == drawn).all(), "asked queries were not drawn")
    return [int(query) for query in asked]


def _labels(arrays: dict[str, np.ndarray], setup: Setup, asked: list[int]) -> dict[int, np.ndarray]:
    told = _take(arrays, "told", "iu", (None,)).tolist()
    _require(set(told) <= set(asked) and len(set(told)) == len(told), "told queries were not asked")
    sizes = open_rows(setup.pool, setup.given)[told]
    labels = _take(arrays, "labels", "f", (int(sizes.sum()),))
    _require(np.isin(labels, setup.form.grades).all(), "labels are not all grades")
    return dict(zip(told, np.split(labels, np.cumsum(sizes)[:-1]), strict=True)) if told else {}
