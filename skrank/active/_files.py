"""Campaigns in files.

A file is a NumPy archive (``.npz``) of plain arrays, without pickles. Checksums of the archive
detect damage. Anybody can write such an archive, so every array is checked against the others
before a compiled loop reads it.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Mapping
from os import PathLike
from typing import Any, BinaryIO, TypeAlias
from zipfile import ZipFile

import numpy as np

from skrank import _validation as check
from skrank._files import write_atomically
from skrank.active._moments import (
    EXACT,
    MONTE_CARLO,
    GradedMetric,
    Moments,
    ascending_grades,
)
from skrank.active._pool import Pool
from skrank.active._sampling import fits
from skrank.active._setup import Setup
from skrank.extending import Queries
from skrank.metrics import metric

Limits: TypeAlias = tuple[float | None, int | None]

_SMALL = 2**20  # bytes of an archive whose arrays need at most 200 MB
_EXPANSION = 200  # most bytes of arrays per byte of an archive; of campaigns, usually 2 to 30
_FORMAT = "skrank campaign 3"


def write(
    path: str | PathLike[str],
    kind: str,
    setup: Setup,
    limits: Limits,
    n_asked: int,
    labels: Mapping[int, np.ndarray],
) -> None:
    """Write a campaign to a file, which replaces an older file in one step.

    Parameters
    ----------
    path : str or path
    kind : str
        Name of the class of the campaign.
    setup : Setup
    limits : (float or None, int or None)
        The budget, and the largest number of queries.
    n_asked : int
        Number of queries asked, the first of those drawn.
    labels : mapping from int to ndarray
        Labels of each labelled query.
    """
    moments, measured = setup.moments, setup.graded.metric
    try:
        same = metric(str(measured)) == measured
    except ValueError:
        same = False
    if not same:
        raise ValueError(
            f"a campaign is saved with the name of its metric, and {str(measured)!r} is not one: "
            "choose a metric of skrank, or register the class of the metric."
        )
    facts = {
        "format": _FORMAT, "class": kind, "metric": str(measured),
        "names": list(setup.names), "seed": setup.pool.seed, "budget": limits[0],
        "n_queries": limits[1], "n_rows": setup.n_caller_rows, "n_asked": n_asked,
        "method": moments.method,
    }  # fmt: skip
    arrays = {
        "facts": np.array(json.dumps(facts)), "ids": setup.queries.ids,
        "indptr": setup.queries.indptr, "rows": setup.pool.rows, "scores": setup.pool.scores,
        "given": setup.given, "grades": setup.graded.grades, "q": setup.q, "p": setup.p,
        "costs": setup.costs,
        "moments": np.stack([moments.mass, moments.first, moments.second]),
        "told": np.array(list(labels), dtype=np.int64),
        "labels": np.concatenate([np.empty(0), *labels.values()]),
    }  # fmt: skip
    arrays |= {} if setup.items is None else {"items": setup.items}
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    write_atomically(path, stream.getvalue())


Content: TypeAlias = tuple[str, Setup, Limits, int, dict[int, np.ndarray]]


def read(path: str | PathLike[str]) -> Content:
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
            _check_sizes(stream)
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


def _check_sizes(stream: BinaryIO) -> None:
    """Check, before memory is allocated, that an archive has the arrays that its headers describe.

    Anybody can write a small archive of gigabytes of zeros, or a header without its array.
    """
    most = _EXPANSION * max(_SMALL, stream.seek(0, os.SEEK_END))
    with ZipFile(stream) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > most:
            raise ValueError(
                "its arrays are far larger than those of a campaign: use an intact copy."
            )
        for member in members:
            with archive.open(member) as array:
                np.lib.format.read_magic(array)
                shape, _, dtype = np.lib.format.read_array_header_1_0(array)
                if array.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
                    raise _contradiction(member.filename)
    stream.seek(0)


def _campaign_of(arrays: dict[str, np.ndarray]) -> Content:
    """The parameters of `write`, from the arrays of a file."""
    facts = json.loads(str(arrays["facts"]))
    if facts["format"] != _FORMAT:
        raise ValueError(
            f"its format is {facts['format']!r}, but this version of skrank reads {_FORMAT!r}."
        )
    _check_arrays(facts, arrays)
    queries, given = Queries(arrays["ids"], arrays["indptr"]), arrays["given"]
    pool = Pool(queries, arrays["rows"], arrays["scores"], facts["seed"])
    graded = GradedMetric.of(metric(facts["metric"]), arrays["grades"], queries.longest)
    mass, first, second = arrays["moments"]
    moments = Moments(queries.ids, mass, first, second, facts["method"])
    setup = Setup(
        tuple(facts["names"]), graded, pool, arrays.get("items"), given, facts["n_rows"],
        arrays["p"], arrays["q"], arrays["costs"], moments,
    )  # fmt: skip
    told = arrays["told"]
    if not np.isin(told, setup.order[: facts["n_asked"]]).all():
        raise _contradiction("told")
    ends = np.cumsum(pool.count(np.isnan(given))[told])
    labels = dict(zip(told.tolist(), np.split(arrays["labels"], ends), strict=False))
    limits = facts["budget"], facts.get("n_queries")  # older files have no n_queries
    return facts["class"], setup, limits, facts["n_asked"], labels


def _check_arrays(facts: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Raise a ValueError that names the first fact or array that contradicts the others."""

    def require(holds: bool | np.bool_, name: str) -> None:
        if not holds:
            raise _contradiction(name)

    names, budget, n_asked = facts["names"], facts["budget"], facts["n_asked"]
    require(isinstance(names, list) and all(isinstance(name, str) for name in names), "names")
    is_single = {"ActiveEvaluator": True, "ActiveComparator": False}.get(facts["class"])
    require(is_single == (len(names) == 1) and len(set(names)) == len(names) > 0, "names")
    require(facts["method"] in (EXACT, MONTE_CARLO), "method")
    require(isinstance(facts["seed"], int) and 0 <= facts["seed"] < 2**32, "seed")
    n_queries, n_rows, n_told = (arrays[name].size for name in ("ids", "rows", "told"))
    whole, real, by_query = np.dtype(np.int64), np.dtype(np.float64), (n_queries,)
    kinds = {
        "ids": (None, by_query), "indptr": (whole, (n_queries + 1,)), "rows": (whole, (n_rows,)),
        "scores": (real, (len(names), n_rows)), "given": (real, (n_rows,)),
        "items": (None, (n_rows,)), "grades": (real, (arrays["grades"].size,)),
        "q": (real, by_query), "p": (real, by_query), "costs": (real, by_query),
        "moments": (real, (3, n_queries)), "told": (whole, (n_told,)),
        "labels": (real, (arrays["labels"].size,)),
    }  # fmt: skip
    for name, (dtype, shape) in kinds.items():
        if name in arrays or name != "items":
            fits_dtype = dtype is None or dtype == arrays[name].dtype  # None == float64 is True
            require(arrays[name].shape == shape and fits_dtype, name)
    indptr, rows, given = arrays["indptr"], arrays["rows"], arrays["given"]
    p, q, costs = arrays["p"], arrays["q"], arrays["costs"]
    told, labels = arrays["told"], arrays["labels"]
    grades = ascending_grades("grades", arrays["grades"])
    require(n_queries == len(np.unique(arrays["ids"])) > 0, "ids")
    require(indptr[0] == 0 and indptr[-1] == n_rows and (indptr[1:] > indptr[:-1]).all(), "indptr")
    require(isinstance(facts["n_rows"], int) and len(np.unique(rows)) == n_rows, "rows")
    require((arrays["scores"] < np.inf).all(), "scores")
    require(rows.min() >= 0 and rows.max() < facts["n_rows"] <= check.MOST_RANKS, "n_rows")
    require(np.isin(given[~np.isnan(given)], grades).all(), "given")
    n_open = np.add.reduceat(np.isnan(given), indptr[:-1], dtype=np.int64)
    for name in ("p", "q"):
        require((arrays[name] >= 0).all() and abs(arrays[name].sum() - 1) < 1e-6, name)
    require((n_open[q > 0] > 0).all() and (p[q > 0] > 0).all(), "q")
    require(((costs >= 0) & (costs < np.inf)).all() and (costs[q > 0] > 0).all(), "costs")
    require(budget is None or bool(fits(costs[q > 0].min(), budget)), "budget")
    require(np.isfinite(arrays["moments"]).all(), "moments")
    can_be_asked = np.flatnonzero(q > 0)
    require(facts.get("n_queries") is None or facts["n_queries"] >= 1, "n_queries")
    require(isinstance(n_asked, int) and 0 <= n_asked <= len(can_be_asked), "n_asked")
    require(np.isin(told, can_be_asked).all() and len(np.unique(told)) == n_told, "told")
    require(len(labels) == n_open[told].sum() and np.isin(labels, grades).all(), "labels")


def _contradiction(name: str) -> ValueError:
    return ValueError(f"its {name!r} contradicts the rest: use an intact copy.")
