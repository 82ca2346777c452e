"""Objectives from what users write: names of metrics, metrics, and objectives themselves."""

from __future__ import annotations

import dataclasses
from typing import Any

from skrank import _validation as check
from skrank.metrics import Metric
from skrank.objectives.base import Objective
from skrank.objectives.lambdarank import LambdaRank


def as_objective(objective: str | Metric | Objective, **options: Any) -> Objective:
    """An Objective from a metric name, a Metric (both: LambdaRank on it) or an Objective.

    Parameters
    ----------
    objective : str, Metric or Objective
    **options
        Options of LambdaRank, when `objective` is a metric.

    Returns
    -------
    Objective

    Raises
    ------
    ValueError
        If an option is unknown, or given together with an Objective.

    Examples
    --------
    >>> from skrank.objectives import as_objective
    >>> as_objective("ndcg@10", truncation_level=30).truncation_level
    30
    """
    if isinstance(objective, Objective):
        if options:
            raise ValueError(
                f"options {sorted(options)} belong to the objective: write "
                f"dataclasses.replace(objective, {next(iter(options))}=...)."
            )
        return objective
    known = [field.name for field in dataclasses.fields(LambdaRank) if field.name != "metric"]
    for name in options:
        if name not in known:
            raise check.unknown_name("option of LambdaRank", name, known)
    return LambdaRank(objective, **options)  # type: ignore[arg-type]
