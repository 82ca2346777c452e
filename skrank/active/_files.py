"""Campaigns in files.

A file is a NumPy archive (``.npz``) of plain arrays, without pickles, and the SHA-256 digest of all
arrays. The digest detects damage and changes by hand. Whoever can write a file can also compute its
digest, so every array is checked against the others before a compiled loop reads it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank._engine.queries import Queries
from skrank._files import write_atomically
from skrank.active._design import Design, as_seed, open_rows
from skrank.active._graded_metric import METHODS, graded_metric
from skrank.active._label_model import ascending_grades
from skrank.active._moments import Moments
from skrank.active._pool import rank
from skrank.active._sampling import fits
from skrank.metrics import metric

_FORMAT = "skrank campaign 2"
_DIGEST = "sha256"


def write(
    path: str | PathLike[str],
    kind: str,
    design: Design,
    budget: float | None,
    asked: list[int],
    labels: Mapping[int, np.ndarray],
) -> None:
    """Write a campaign to a file, which replaces an older file in one step.

    The new file has the permissions of the older file. If writing fails, the older file is
    unchanged. A symbolic link is followed.

    Parameters
    ----------
    path : str or path
    kind : str
        Name of the class of the campaign.
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
    arrays[_DIGEST] = np.array(_digest(arrays))
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    write_atomically(path, stream.getvalue())


def read(
    path: str | PathLike[str],
) -> tuple[str, Design, float | None, list[int], dict[int, np.ndarray]]:
    """The parameters of `write`, from a file.

    Raises
    ------
    OSError
        If the file does not exist, or may not be read.
    ValueError
        If the file is not an intact campaign of this format.
    """
    reason = "it is not an intact archive of plain arrays."
    with open(path, "rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            reason = ""
            return _campaign_of(arrays)
        except Exception as error:  # zipfile, zlib and NumPy raise errors of many classes
            if not isinstance(error, ValueError):
                reason = reason or "its content is not that of a campaign: use an intact copy."
            raise ValueError(
                f"{os.fspath(path)} cannot be read as a campaign: {reason or error}"
            ) from error


def _campaign_of(
    arrays: dict[str, np.ndarray],
) -> tuple[str, Design, float | None, list[int], dict[int, np.ndarray]]:
    """The parameters of `write`, from the arrays of a file."""
    if _DIGEST not in arrays:
        raise ValueError("it has no checksum, so skrank did not write it.")
    digest = str(arrays.pop(_DIGEST))
    if digest != _digest(arrays):
        raise ValueError("its checksum does not match its content, which was damaged or changed.")
    facts = json.loads(str(arrays["facts"]))
    if facts["format"] != _FORMAT:
        raise ValueError(
            f"its format is {facts['format']!r}, but this version of skrank reads {_FORMAT!r}."
        )
    _check_arrays(facts, arrays)
    queries, given = Queries(arrays["ids"], arrays["indptr"]), arrays["given"]
    pool = rank(queries, arrays["rows"], arrays["scores"], facts["seed"])
    graded = graded_metric(metric(facts["metric"]), arrays["grades"], queries.longest)
    mass, first, second = arrays["moments"]
    moments = Moments(queries.ids, mass, first, second, facts["method"])
    design = Design(
        tuple(facts["names"]), graded, pool, arrays.get("items"), given, facts["n_rows"],
        arrays["p"], arrays["q"], arrays["costs"], moments, facts["center"], facts["seed"],
    )  # fmt: skip
    told = arrays["told"].tolist()
    ends = np.cumsum(open_rows(pool, given)[told])
    labels = dict(zip(told, np.split(arrays["labels"], ends), strict=False))  # the last is empty
    return facts["class"], design, facts["budget"], arrays["asked"].tolist(), labels


def _check_arrays(facts: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Raise a ValueError that names the first fact or array that contradicts the others."""

    def require(holds: bool | np.bool_, name: str) -> None:
        if not holds:
            raise ValueError(f"its {name!r} contradicts the rest: use an intact copy.")

    def is_number(value: object) -> bool:
        return isinstance(value, (int, float)) and math.isfinite(value)

    names, center, budget = facts["names"], facts["center"], facts["budget"]
    require(isinstance(names, list) and all(isinstance(name, str) for name in names), "names")
    is_single = {"ActiveEvaluator": True, "ActiveComparator": False}.get(facts["class"])
    require(is_single == (len(names) == 1) and len(set(names)) == len(names) > 0, "names")
    require(facts["method"] in METHODS[1:], "method")
    require(center is None or is_number(center), "center")
    as_seed(facts["seed"])
    n_queries, n_rows, n_told = (arrays[name].size for name in ("ids", "rows", "told"))
    whole, real, by_query = np.dtype(np.int64), np.dtype(np.float64), (n_queries,)
    kinds = {
        "ids": (None, by_query), "indptr": (whole, (n_queries + 1,)), "rows": (whole, (n_rows,)),
        "scores": (real, (len(names), n_rows)), "given": (real, (n_rows,)),
        "items": (None, (n_rows,)), "grades": (real, (arrays["grades"].size,)),
        "q": (real, by_query), "p": (real, by_query), "costs": (real, by_query),
        "moments": (real, (3, n_queries)), "asked": (whole, (arrays["asked"].size,)),
        "told": (whole, (n_told,)), "labels": (real, (arrays["labels"].size,)),
    }  # fmt: skip
    for name, (dtype, shape) in kinds.items():
        if name in arrays or name != "items":
            fits_dtype = dtype in (None, arrays[name].dtype)
            require(arrays[name].shape == shape and fits_dtype, name)
    indptr, rows, given = arrays["indptr"], arrays["rows"], arrays["given"]
    p, q, costs = arrays["p"], arrays["q"], arrays["costs"]
    asked, told, labels = arrays["asked"], arrays["told"], arrays["labels"]
    grades = ascending_grades(arrays["grades"])
    require(n_queries == len(np.unique(arrays["ids"])) > 0, "ids")
    require(indptr[0] == 0 and indptr[-1] == n_rows and (indptr[1:] > indptr[:-1]).all(), "indptr")
    require(isinstance(facts["n_rows"], int) and len(np.unique(rows)) == n_rows, "rows")
    require(rows.min() >= 0 and rows.max() < facts["n_rows"] <= check.MOST_RANKS, "n_rows")
    require(np.isin(given[~np.isnan(given)], grades).all(), "given")
    n_open = np.add.reduceat(np.isnan(given), indptr[:-1], dtype=np.int64)
    for name in ("p", "q"):
        require((arrays[name] >= 0).all() and abs(arrays[name].sum() - 1) < 1e-6, name)
    require((n_open[q > 0] > 0).all() and (p[q > 0] > 0).all(), "q")
    require(((costs >= 0) & (costs < np.inf)).all() and (costs[q > 0] > 0).all(), "costs")
    require(budget is None or bool(fits(costs[q > 0].min(), budget)), "budget")
    require(np.isfinite(arrays["moments"]).all(), "moments")
    can_be_asked = np.isin(asked, np.flatnonzero(q > 0)).all()
    require(can_be_asked and len(np.unique(asked)) == len(asked), "asked")
    require(np.isin(told, asked).all() and len(np.unique(told)) == n_told, "told")
    require(len(labels) == n_open[told].sum() and np.isin(labels, grades).all(), "labels")


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    total = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


@contextlib.contextmanager
def locked(path: str | PathLike[str]) -> Iterator[None]:
    """Hold an exclusive lock on a file while it is read, changed and replaced."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    while True:
        with open(path, "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(stream.fileno()), os.stat(path)):
                yield
                return
        # The file was replaced while this process waited, and the lock is on the old file.
