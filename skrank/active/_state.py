"""A campaign as arrays, which `_files` writes and reads, and checks of the arrays that were read.

Files are not trusted: arrays that are not consistent raise a ValueError.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank.active._design import Design, as_seed, open_rows
from skrank.active._files import Archive
from skrank.active._graded_metric import METHODS, graded_metric
from skrank.active._label_model import ascending_grades
from skrank.active._moments import Moments
from skrank.active._pool import Pool, check_items, rank
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
    "moments": ("f", ("three", "queries")),
    "asked": ("iu", ("some queries",)),
    "told": ("iu", ("some queries",)),
    "labels": ("f", ("some rows",)),
}
_DISTINCT = ("ids", "rows", "grades")  # arrays of distinct entries


def to_arrays(
    kind: str,
    design: Design,
    budget: float | None,
    asked: list[int],
    labels: Mapping[int, np.ndarray],
) -> dict[str, np.ndarray]:
    """The arrays of a campaign.

    Parameters
    ----------
    kind : str
        Name of the class.
    design : Design
    budget : float or None
    asked : list of int
        Indices of the queries asked, in the order of asking.
    labels : mapping from int to ndarray
        Labels of each labelled query.
    """
    moments = design.moments
    facts = {
        "format": _FORMAT,
        "class": kind,
        "metric": str(design.graded.metric),
        "names": list(design.names),
        "seed": design.seed,
        "budget": budget,
        "center": design.center,
        "n_rows": design.n_caller_rows,
        "method": moments.method,
    }
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
        "asked": np.array(asked, dtype=np.int64),
        "told": np.array(list(labels), dtype=np.int64),
        "labels": np.concatenate([np.empty(0), *labels.values()]),
    }
    if design.items is not None:
        arrays["items"] = design.items
    return arrays


def check_headers(archive: Archive) -> None:
    """Raise an error if the dtypes and shapes of the arrays are not those of a campaign.

    The shapes of all arrays are bounded by those of `_DISTINCT`. Distinct values compress little,
    so a small file cannot expand to huge arrays.
    """
    headers = archive.headers
    facts = headers.get("facts")
    if facts is not None:
        fits = facts.dtype.kind == "U" and facts.shape == () and facts.dtype.itemsize <= _MOST_FACTS
        _require(fits, f"facts are of type {facts.dtype} and shape {facts.shape}")
        n_rankers = len(_facts(archive.array("facts"))["names"])
    for name in sorted(set(_ARRAYS) - {"items"}):
        if name not in headers:
            raise ValueError(f"it lacks {name}.")
    for name in _DISTINCT:
        _require(headers[name].may_be_distinct, f"{name} are not distinct")
    n_queries, n_rows = (math.prod(headers[name].shape) for name in ("ids", "rows"))
    exact = {
        "three": 3,
        "rankers": n_rankers,
        "queries": n_queries,
        "bounds": n_queries + 1,
        "rows": n_rows,
    }
    most = exact | {"some queries": n_queries, "some rows": n_rows, "grades": sys.maxsize}
    for name, header in headers.items():
        _require(name in _ARRAYS, f"{name} are not arrays of a campaign")
        kinds, axes = _ARRAYS[name]
        fits = header.dtype.kind in kinds and len(axes) == len(header.shape)
        for n, axis in zip(header.shape, axes, strict=False):
            fits = fits and exact.get(axis, 0) <= n <= most[axis]
        _require(fits, f"{name} are of type {header.dtype} and shape {header.shape}")


def _facts(array: np.ndarray) -> dict[str, Any]:
    facts = json.loads(str(array))
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise ValueError(f"its format is not {_FORMAT!r}, that of this version of skrank.")
    return facts


def from_arrays(
    arrays: dict[str, np.ndarray],
) -> tuple[str, Design, float | None, list[int], dict[int, np.ndarray]]:
    """The parameters of `to_arrays`, from arrays whose headers were checked; checks the values."""
    facts = _facts(arrays["facts"])
    arrays = {name: _as_campaigns_have(name, array) for name, array in arrays.items()}
    seed = as_seed(facts["seed"])
    pool = _pool(arrays, seed)
    grades = ascending_grades(arrays["grades"])
    graded = graded_metric(metric(str(facts["metric"])), grades, pool.queries.longest)
    given = arrays["given"]
    _require(np.isin(given[~np.isnan(given)], grades).all(), "given labels are not all grades")
    method = check.check_choice("method", facts["method"], METHODS[1:])
    mass, first, second = arrays["moments"]
    moments = Moments(pool.queries.ids, mass, first, second, method)
    _check_design(arrays, open_rows(pool, given) > 0)
    n_rows = check.check_count("n_rows", facts["n_rows"], "the rows of the pool's arrays")
    _require(pool.rows.max() < n_rows, "rows are not below n_rows")
    center = facts["center"]
    if center is not None:
        center = check.check_number("center", center, -1e300, 1e300)
    design = Design(
        tuple(map(str, facts["names"])), graded, pool, arrays.get("items"), given, n_rows,
        arrays["p"], arrays["q"], arrays["costs"], moments, center, seed,
    )  # fmt: skip
    asked, labels = _progress(arrays, design)
    return str(facts["class"]), design, design.check_budget(facts["budget"]), asked, labels


def _as_campaigns_have(name: str, array: np.ndarray) -> np.ndarray:
    """Numbers as float64 or int64; ids and items unchanged."""
    number = {"f": np.float64, "i": np.int64, "u": np.int64}.get(array.dtype.kind)
    if number is None or name in ("ids", "items"):
        return array
    return np.ascontiguousarray(array, dtype=number)


def _require(holds: bool | np.bool_, fault: str) -> None:
    if not holds:
        raise ValueError(f"its {fault}.")


def _pool(arrays: dict[str, np.ndarray], seed: int) -> Pool:
    """The ranked documents, after checks of queries, rows and items."""
    ids, indptr, rows = arrays["ids"], arrays["indptr"], arrays["rows"]
    _require(len(ids) > 0, "query ids are empty")
    _require(len(np.unique(ids)) == len(ids) and (ids == ids).all(), "query ids are not distinct")
    _require(
        indptr[0] == 0 and (np.diff(indptr) > 0).all(), "queries (indptr) do not follow each other"
    )
    _require(len(rows) == indptr[-1], "rows do not match its queries (indptr)")
    _require(rows.min() >= 0 and len(np.unique(rows)) == len(rows), "rows are not distinct")
    pool = rank(Queries(ids, indptr), rows, arrays["scores"], seed)
    if "items" in arrays:
        check_items(arrays["items"], pool.queries)
    return pool


def _check_design(arrays: dict[str, np.ndarray], is_open: np.ndarray) -> None:
    """Check frequencies, probabilities of draws, costs and moments of the queries."""
    q, p, costs, moments = (arrays[name] for name in ("q", "p", "costs", "moments"))
    for name, values in (("q", q), ("p", p)):
        _require(
            (values >= 0).all() and abs(values.sum() - 1) < 1e-9, f"{name} is not a distribution"
        )
    _require(((q > 0) == ((p > 0) & is_open)).all(), "q does not match p and the known labels")
    _require(
        (costs[is_open] > 0).all() and (costs >= 0).all() and np.isfinite(costs).all(),
        "costs are not positive and finite",
    )
    _require(np.isfinite(moments).all(), "moments are not finite")
    mass, _, second = moments
    _require(mass.min() >= 0 and mass.max() <= 1 + 1e-9, "masses are not probabilities")
    _require(second.min() >= 0, "second moments are negative")


def _progress(
    arrays: dict[str, np.ndarray], design: Design
) -> tuple[list[int], dict[int, np.ndarray]]:
    """The queries asked, which must be the draws of the seed in their order, and their labels."""
    asked, told, labels = arrays["asked"], arrays["told"].tolist(), arrays["labels"]
    draws = Draws(design.q, design.seed)
    numbers = draws.of_new_queries(len(asked))
    drawn = draws.first(int(numbers.max(initial=0)) + 1)[numbers]
    _require(len(drawn) == len(asked) and (asked == drawn).all(), "asked queries were not drawn")
    were_asked = set(told) <= set(asked.tolist()) and len(set(told)) == len(told)
    _require(were_asked, "told queries were not asked")
    sizes = open_rows(design.pool, design.given)[told]
    _require(len(labels) == sizes.sum(), "labels do not match the labelled queries (told)")
    _require(np.isin(labels, design.graded.grades).all(), "labels are not all grades")
    parts = np.split(labels, np.cumsum(sizes)[:-1])
    return asked.tolist(), dict(zip(told, parts, strict=False))
