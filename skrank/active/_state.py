"""Campaigns as files: plain arrays and a line of JSON, nothing pickled."""

from __future__ import annotations

import json
import os
import zipfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from skrank._engine.queries import Queries
from skrank.active._design import Design
from skrank.active._forms import form_of
from skrank.active._moments import Moments
from skrank.active._pool import rank
from skrank.metrics import metric

if TYPE_CHECKING:
    from skrank.active._campaign import Campaign

    _C = TypeVar("_C", bound=Campaign)

_FORMAT = "skrank campaign 1"


def pack(campaign: Campaign) -> dict[str, np.ndarray]:
    """All that a campaign is, as arrays."""
    pool, design = campaign._pool, campaign._design
    facts = {
        "format": _FORMAT,
        "class": type(campaign).__name__,
        "metric": str(campaign.metric),
        "names": list(campaign._names),
        "seed": campaign._seed,
        "budget": campaign._budget,
        "center": campaign._center,
        "method": design.moments.method,
    }
    told = list(campaign._labels)
    arrays = {
        "facts": np.array(json.dumps(facts)),
        "ids": pool.queries.ids,
        "indptr": pool.queries.indptr,
        "rows": pool.rows,
        "scores": pool.scores,
        "grades": campaign._form.grades,
        "q": design.q,
        "p": design.p,
        "costs": design.costs,
        "moments": np.stack([design.moments.mass, design.moments.first, design.moments.second]),
        "asked": np.array(campaign._asked, dtype=np.int64),
        "told": np.array(told, dtype=np.int64),
        "labels": np.concatenate([np.empty(0), *(campaign._labels[query] for query in told)]),
    }
    if campaign._items is not None:
        arrays["items"] = campaign._items
    return arrays


def write(path: str | PathLike[str], arrays: dict[str, np.ndarray]) -> None:
    """Write beside the file, then replace it: a crash leaves the old or the new one, whole."""
    path = Path(path)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def unpack(cls: type[_C], path: str | PathLike[str]) -> _C:
    """The campaign of a file."""
    arrays, facts = _read(path)
    if facts["class"] != cls.__name__:
        raise ValueError(f"{path} holds an {facts['class']}: use {facts['class']}.load.")
    campaign = cls.__new__(cls)
    queries = Queries(arrays["ids"], arrays["indptr"])
    campaign._names = tuple(facts["names"])
    campaign._seed = facts["seed"]
    campaign._center = facts["center"]
    campaign._items = arrays.get("items")
    campaign._form = form_of(metric(facts["metric"]), arrays["grades"], int(queries.sizes.max()))
    campaign._pool = rank(queries, arrays["rows"], arrays["scores"], facts["seed"])
    mass, first, second = arrays["moments"]
    moments = Moments(queries.ids, mass, first, second, facts["method"])
    campaign._design = Design(arrays["q"], arrays["p"], arrays["costs"], moments)
    campaign.budget = facts["budget"]
    campaign._reset()
    _replay(campaign, arrays)
    return campaign


def _replay(campaign: Campaign, arrays: dict[str, np.ndarray]) -> None:
    """Ask and tell again what was asked and told."""
    for query in arrays["asked"].tolist():
        campaign._ask(query)
    sizes = campaign._pool.queries.sizes[arrays["told"]]
    parts = np.split(arrays["labels"], np.cumsum(sizes)[:-1])
    for query, labels in zip(arrays["told"].tolist(), parts, strict=False):
        campaign._record(query, labels)


def _read(path: str | PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    no_campaign = ValueError(f"{path} holds no campaign that this version of skrank can read.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(str(arrays.pop("facts")))
    except (KeyError, TypeError, ValueError, EOFError, AttributeError, zipfile.BadZipFile):
        raise no_campaign from None
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise no_campaign
    return arrays, facts
