"""Folds of whole queries, as rows, for the cross-validation of boosters."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank._boosters.adapters import objective_of
from skrank._typing import Folds
from skrank.metrics import Metric, metric
from skrank.model_selection import QueryKFold
from skrank.objectives import Objective

Split = tuple[np.ndarray, np.ndarray]


def row_folds(
    folds: Folds, labels: np.ndarray, sizes: np.ndarray, groups: ArrayLike | None, seed: int
) -> list[Split]:
    """Ascending training and test rows of each fold. All rows of a query are in the same part.

    `sizes` are numbers of rows of contiguous queries. Splitters get `groups`, query ids per row;
    None stands for the numbers of the queries. `seed` is used if `folds` is a number.
    """
    ids = np.repeat(np.arange(len(sizes)), sizes)
    if groups is not None:
        ids = check.check_group_ids(groups, sizes)
    if isinstance(folds, Integral) and not isinstance(folds, bool):
        check.as_random_state("seed", seed)
        folds = QueryKFold(int(folds), shuffle=True, random_state=seed)
    is_text = isinstance(folds, (str, bytes))  # strings have a method `split`, too
    if hasattr(folds, "split") and not is_text:
        folds = folds.split(np.zeros((len(ids), 1)), labels, ids)
    if is_text or not isinstance(folds, Iterable):
        raise ValueError(f"folds={folds!r} must be a number, a splitter, or (train, test) rows.")
    found = [check.check_fold(number, split, sizes) for number, split in enumerate(folds)]
    if not found:
        raise ValueError("folds is empty: give at least one (train, test).")
    return found


def chosen_objective(objective: str | Metric | Objective | None, given: object) -> Objective | None:
    """The objective of skrank, from `objective=` or `params`; None for a booster's objective."""
    if objective is not None and given is not None:
        raise ValueError("two objectives are given: give objective=, or one in params.")
    if objective is None and given is None:
        raise ValueError(
            "the objective is missing: pass an objective of skrank, such as objective='gap', or an "
            "objective of the booster in params."
        )
    return getattr(given, "objective", None) if objective is None else objective_of(objective)


def chosen_metrics(
    metrics: str | Metric | Iterable[str | Metric] | None, objective: Objective | None
) -> tuple[Metric, ...]:
    """The metrics to evaluate. Default: the metric of the objective."""
    if metrics is None:
        metrics = getattr(objective, "metric", None)
    if metrics is None:
        raise ValueError("the metric is missing: give metrics=, such as metrics='gap@10'.")
    return tuple(metric(one) for one in check.several("metrics", metrics, (str, Metric)))
