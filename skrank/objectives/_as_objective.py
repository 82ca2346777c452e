"""Objectives from what users write: names of metrics, metrics, and objectives themselves."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import Any

from skrank import _validation as check
from skrank._engine.name_parser import read
from skrank._engine.names import known
from skrank._typing import Options
from skrank.metrics import Metric, metric
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
        If there is no such metric; if an option is unknown, or given together with an Objective.

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
    return LambdaRank(metric_to_train_on(objective), **options)


def metric_of(objective: Objective) -> Metric | None:
    """The metric of an objective; of a mixture, that of the first part which has one."""
    return next((one.metric for _, one in objective.terms if hasattr(one, "metric")), None)


def metric_to_train_on(name: str | Metric) -> Metric:
    """The metric of a name, where an objective may be given as well.

    Raises
    ------
    ValueError
        If there is no such metric: the message tells how objectives are written.
    """
    if not isinstance(name, (str, Metric)):
        raise check.not_an_objective(name)
    try:
        return metric(name)
    except ValueError:
        text = str(name)
        if check.is_name_of_objective(text):
            raise check.unknown_objective(text, known()) from None
        unknown = [one for one in _names_in(text) if one.lower() not in known()]
        if unknown:
            raise check.unknown_objective(unknown[0], known()) from None
        raise


def _names_in(text: str) -> list[str]:
    """What stands for the name of a metric in a text, as far as it can be read."""
    names = []

    def note(name: str, _: Options) -> Metric:
        names.append(name)
        return metric("gap")

    with suppress(ValueError):
        read(text, note)
    return names
