"""Campaigns in files.

A file is a NumPy archive (``.npz``) of plain arrays, without pickles, and the SHA-256 digest of all
arrays. The digest detects damage, changes by hand, and archives that skrank did not write, so the
arrays are not checked otherwise.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from skrank._engine.queries import Queries
from skrank.active._design import Design, open_rows
from skrank.active._graded_metric import graded_metric
from skrank.active._moments import Moments
from skrank.active._pool import rank
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
    target = Path(os.path.realpath(path))
    unfinished = target.with_name(f"{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(unfinished, "xb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


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
