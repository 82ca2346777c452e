"""Campaigns in files.

A file is a NumPy archive (``.npz``) of plain arrays, without pickles. A digest of all arrays
detects damage and changes before a compiled loop reads them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from os import PathLike
from typing import TypeAlias

import numpy as np

from skrank._files import write_atomically
from skrank.active._moments import GradedMetric, Moments
from skrank.active._pool import Pool
from skrank.active._setup import Setup
from skrank.extending import Queries
from skrank.metrics import metric

_FORMAT = "skrank campaign 4"


def write(
    path: str | PathLike[str],
    kind: str,
    setup: Setup,
    budget: float | None,
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
    budget : float or None
    n_asked : int
        Number of queries asked, the first of those drawn.
    labels : mapping from int to ndarray
        Labels of each labelled query.
    """
    moments = setup.moments
    facts = {
        "format": _FORMAT, "class": kind, "metric": str(setup.graded.metric),
        "names": list(setup.names), "seed": setup.pool.seed, "budget": budget,
        "n_rows": setup.n_caller_rows, "n_asked": n_asked, "method": moments.method,
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
    digest = np.array(_digest(arrays))
    np.savez_compressed(stream, digest=digest, **arrays)  # type: ignore[arg-type]
    write_atomically(path, stream.getvalue())


Content: TypeAlias = tuple[str, Setup, float | None, int, dict[int, np.ndarray]]


def _digest(arrays: Mapping[str, np.ndarray]) -> str:
    """A digest of names, dtypes, shapes and values."""
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return found.hexdigest()


def read(path: str | PathLike[str]) -> Content:
    """The parameters of `write`, from a file.

    Raises
    ------
    OSError
        If the file does not exist, or may not be read.
    ValueError
        If the file is not an intact campaign of this format.
    """
    with open(path, "rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            digest = str(arrays.pop("digest"))
            facts = json.loads(str(arrays["facts"]))
            if digest != _digest(arrays) or facts["format"] != _FORMAT:
                raise ValueError(f"it has another format than {_FORMAT!r}, or was changed")
        except Exception as error:  # zipfile, zlib and NumPy raise errors of many classes
            raise ValueError(
                f"{os.fspath(path)} cannot be read as a campaign: {error}. Use an intact copy."
            ) from error
    queries, given = Queries(arrays["ids"], arrays["indptr"]), arrays["given"]
    pool = Pool(queries, arrays["rows"], arrays["scores"], facts["seed"])
    graded = GradedMetric.of(metric(facts["metric"]), arrays["grades"], queries.longest)
    mass, first, second = arrays["moments"]
    setup = Setup(
        tuple(facts["names"]), graded, pool, arrays.get("items"), given, facts["n_rows"],
        arrays["p"], arrays["q"], arrays["costs"],
        Moments(queries.ids, mass, first, second, facts["method"]),
    )  # fmt: skip
    told = arrays["told"]
    ends = np.cumsum(pool.count(np.isnan(given))[told])
    labels = dict(zip(told.tolist(), np.split(arrays["labels"], ends), strict=False))
    return facts["class"], setup, facts["budget"], facts["n_asked"], labels
