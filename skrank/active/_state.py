"""A campaign as arrays, which `_files` writes and reads, and checks of the arrays that were read.

Files are not trusted: arrays that are not consistent raise a ValueError.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank.active._design import Design, as_seed, open_rows
from skrank.active._files import Entry
from skrank.active._graded_metric import METHODS, graded_metric
from skrank.active._labels import ascending_grades
from skrank.active._moments import Moments
from skrank.active._pool import check_items, rank
from skrank.active._sampling import Draws
from skrank.metrics import metric

_FORMAT = "skrank campaign 2"
_MOST_FACTS = 2**26  # bytes of the JSON text
# name: (allowed kinds of dtype, names of the axes)
_ARRAYS: dict[str, tuple[str, tuple[str, ...]]] = {
    "facts": ("U", ()),
    "ids": ("biufUS", ("queries",)),
    "indptr": ("iu", ("bounds",)),
    "rows": ("iu", ("rows",)),
    "scores": ("f", ("rankers", "rows")),
    "given": ("f", ("rows",)),
    "items": ("iufUS", ("rows",)),
    "grades": ("f", ("grades",)),
    "q": ("f", ("queries",)),
    "p": ("f", ("queries",)),
    "costs": ("f", ("queries",)),
    "moments": ("f", ("moments", "queries")),
    "asked": ("iu", ("some queries",)),
    "told": ("iu", ("some queries",)),
    "labels": ("f", ("some rows",)),
}
_DISTINCT = ("ids", "rows", "grades")  # arrays of distinct entries


@dataclass(frozen=True, eq=False)
class State:
    """A campaign: its class, its design, the queries asked and the labels received.

    Attributes
    ----------
    kind : str
        Name of the class.
    design : Design
    budget : float or None
    asked : list of int
        Indices of the queries asked, in the order of asking.
    labels : dict from int to ndarray
        Labels of each labelled query.
    """

    kind: str
    design: Design
    budget: float | None
    asked: list[int]
    labels: dict[int, np.ndarray]


def to_arrays(state: State) -> dict[str, np.ndarray]:
    """The arrays of a campaign."""
    design, moments = state.design, state.design.moments
    facts = {
        "format": _FORMAT,
        "class": state.kind,
        "metric": str(design.graded.metric),
        "names": list(design.names),
        "seed": design.seed,
        "budget": state.budget,
        "center": design.center,
        "n_rows": design.n_caller_rows,
        "method": moments.method,
    }
    told = list(state.labels)
    arrays = {
        "facts": np.array(json.dumps(facts)),
        "ids": design.queries.ids,
        "indptr": design.queries.indptr,
        "rows": design.pool.rows,
        "scores": design.pool.scores,
        "given": design.given,
        "grades": design.graded.grades,
        "q": design.q,
        "p": design.p,
        "costs": design.costs,
        "moments": np.stack([moments.mass, moments.first, moments.second]),
        "asked": np.array(state.asked, dtype=np.int64),
        "told": np.array(told, dtype=np.int64),
        "labels": np.concatenate([np.empty(0), *(state.labels[query] for query in told)]),
    }
    if design.items is not None:
        arrays["items"] = design.items
    return arrays


def check_logged_entries(entries: Mapping[str, Entry]) -> None:
    """Raise an error if the dtypes and shapes of the arrays are not those of a campaign.

    The shapes of all arrays are bounded by those of `_DISTINCT`. Distinct values compress little,
    so a small file cannot expand to huge arrays.
    """
    facts = entries.get("facts")
    if facts is not None:
        fits = facts.dtype.kind == "U" and facts.shape == () and facts.dtype.itemsize <= _MOST_FACTS
        _require(fits, f"facts are of type {facts.dtype} and shape {facts.shape}")
        n_rankers = len(_facts(facts.read())["names"])
    for name in sorted(set(_ARRAYS) - {"items"}):
        if name not in entries:
            raise ValueError(f"it lacks {name}.")
    for name in _DISTINCT:
        _require(entries[name].may_be_distinct, f"{name} are not distinct")
    n_queries, n_rows = (math.prod(entries[name].shape) for name in ("ids", "rows"))
    sizes = {
        "rankers": range(n_rankers, n_rankers + 1),
        "queries": range(n_queries, n_queries + 1),
        "bounds": range(n_queries + 1, n_queries + 2),
        "rows": range(n_rows, n_rows + 1),
        "moments": range(3, 4),
        "some queries": range(n_queries + 1),
        "some rows": range(n_rows + 1),
        "grades": range(sys.maxsize),
    }
    for name, entry in entries.items():
        _require(name in _ARRAYS, f"{name} are not arrays of a campaign")
        kinds, axes = _ARRAYS[name]
        fits = entry.dtype.kind in kinds and len(axes) == len(entry.shape)
        fits = fits and all(n in sizes[axis] for n, axis in zip(entry.shape, axes, strict=True))
        _require(fits, f"{name} are of type {entry.dtype} and shape {entry.shape}")


def _facts(array: np.ndarray) -> dict[str, Any]:
    facts = json.loads(str(array))
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT!r}, that of this version of skrank.")
    return facts


def from_arrays(arrays: dict[str, np.ndarray]) -> State:
    """The campaign of arrays that passed `check_logged_entries`; checks their values."""
    facts = _facts(arrays["facts"])
    names = tuple(map(str, facts["names"]))
    arrays = {name: _as_campaigns_have(name, array) for name, array in arrays.items()}
    queries = _queries(arrays)
    seed = as_seed(facts["seed"])
    pool = rank(queries, _rows(arrays, queries.n_rows), arrays["scores"], seed)
    items = arrays.get("items")
    if items is not None:
        check_items(items, queries)
    grades = ascending_grades(arrays["grades"])
    graded = graded_metric(metric(str(facts["metric"])), grades, queries.longest)
    given = arrays["given"]
    _require(np.isin(given[~np.isnan(given)], grades).all(), "given labels are not all grades")
    method = check.check_choice("method", facts["method"], METHODS[1:])
    p, q, costs, moments = _drawing(arrays, queries, open_rows(pool, given) > 0, method)
    n_rows = check.check_count("n_rows", facts["n_rows"], "the rows of the pool's arrays")
    _require(pool.rows.max() < n_rows, "rows are not below n_rows")
    center = facts["center"]
    if center is not None:
        center = check.check_number("center", center, -1e300, 1e300)
    design = Design(names, graded, pool, items, given, n_rows, p, q, costs, moments, center, seed)
    asked = _asked(arrays["asked"], design)
    labels = _told(arrays, design, asked)
    return State(str(facts["class"]), design, design.check_budget(facts["budget"]), asked, labels)


def _as_campaigns_have(name: str, array: np.ndarray) -> np.ndarray:
    """Numbers as float64 or int64; ids and items unchanged."""
    number = {"f": np.float64, "i": np.int64, "u": np.int64}.get(array.dtype.kind)
    if number is None or name in ("ids", "items"):
        return array
    return np.ascontiguousarray(array, dtype=number)


def _require(holds: bool | np.bool_, fault: str) -> None:
    if not holds:
        raise ValueError(f"its {fault}.")


def _queries(arrays: dict[str, np.ndarray]) -> Queries:
    ids, indptr = arrays["ids"], arrays["indptr"]
    _require(len(ids) > 0, "query ids are empty")
    _require(len(np.unique(ids)) == len(ids) and (ids == ids).all(), "query ids are not distinct")
    _require(
        indptr[0] == 0 and (np.diff(indptr) > 0).all(), "queries (indptr) do not follow each other"
    )
    return Queries(ids, indptr)


def _rows(arrays: dict[str, np.ndarray], n_rows: int) -> np.ndarray:
    rows = arrays["rows"]
    _require(len(rows) == n_rows, "rows do not match its queries (indptr)")
    _require(rows.min() >= 0 and len(np.unique(rows)) == n_rows, "rows are not distinct")
    return rows


def _drawing(
    arrays: dict[str, np.ndarray], queries: Queries, is_open: np.ndarray, method: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Moments]:
    """Frequencies, probabilities of draws, costs and moments of the queries."""
    q, p, costs = arrays["q"], arrays["p"], arrays["costs"]
    for name, values in (("q", q), ("p", p)):
        _require(
            (values >= 0).all() and abs(values.sum() - 1) < 1e-9, f"{name} is not a distribution"
        )
    _require(((q > 0) == ((p > 0) & is_open)).all(), "q does not match p and the known labels")
    _require(
        (costs[is_open] > 0).all() and (costs >= 0).all() and np.isfinite(costs).all(),
        "costs are not positive and finite",
    )
    moments = arrays["moments"]
    _require(np.isfinite(moments).all(), "moments are not finite")
    mass, first, second = moments
    _require(mass.min() >= 0 and mass.max() <= 1 + 1e-9, "masses are not probabilities")
    _require(second.min() >= 0, "second moments are negative")
    return p, q, costs, Moments(queries.ids, mass, first, second, method)


def _asked(asked: np.ndarray, design: Design) -> list[int]:
    """Indices of the queries asked, which must be the draws of the seed in their order."""
    draws = Draws(design.q, design.seed)
    numbers = draws.of_new_queries(len(asked))
    drawn = draws.first(int(numbers.max(initial=0)) + 1)[numbers]
    _require(len(drawn) == len(asked) and (asked == drawn).all(), "asked queries were not drawn")
    return [int(query) for query in asked]


def _told(arrays: dict[str, np.ndarray], design: Design, asked: list[int]) -> dict[int, np.ndarray]:
    told, labels = arrays["told"].tolist(), arrays["labels"]
    _require(set(told) <= set(asked) and len(set(told)) == len(told), "told queries were not asked")
    sizes = open_rows(design.pool, design.given)[told]
    _require(len(labels) == sizes.sum(), "labels do not match the labelled queries (told)")
    _require(np.isin(labels, design.graded.grades).all(), "labels are not all grades")
    return dict(zip(told, np.split(labels, np.cumsum(sizes)[:-1]), strict=True)) if told else {}
