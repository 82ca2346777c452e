"""Members of a RankerMean: their names, training, finite scores and weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import TypeAlias

import numpy as np
from sklearn.base import clone

from skrank._engine.groups import index_level, with_groups
from skrank._fitted import predicted_scores
from skrank._typing import Estimator, Options, Table
from skrank.metrics import Metric
from skrank.rankers._fit import Validator
from skrank.rankers._grouped import GroupedRanker
from skrank.rankers._kinds import OtherKind, kind_of, weight_argument
from skrank.rankers._rows import LabelledRows, Part, Rows

Named: TypeAlias = tuple[str, Estimator]

_STEPS = 20  # greatest number of greedy steps; more steps allow finer weights


def unchecked_part(rows: LabelledRows) -> Part:
    """Rows sorted by query, with label 0 for NaN, and without checks of the labels."""
    return Rows(rows, unjudged="zero", graded=False).part()


def best_weights(scores: np.ndarray, part: Part, metric: Metric) -> np.ndarray:
    """Weights with a high metric on validation rows, found by a greedy search from equal weights.

    Weights are counts divided by their sum. Each step adds 1 to the count that improves the metric
    most; the search ends when no count improves it.
    """
    metrics = Validator(part, {"metric": metric})
    sign = 1 if metric.greater_is_better else -1

    def value(counts: np.ndarray) -> float:
        return sign * metrics.means(counts @ scores)["metric"]

    counts = np.ones(len(scores))
    best = value(counts)
    for _ in range(_STEPS):
        tried = counts + np.eye(len(scores))
        values = [value(one) for one in tried]
        chosen = int(np.argmax(values))
        if values[chosen] <= best:
            break
        counts, best = tried[chosen], values[chosen]
    return counts / counts.sum()


def with_query_index(rows: LabelledRows) -> LabelledRows:
    """The rows with queries on the index of the labels, from which all rankers can read them."""
    if index_level(rows.y) is not None:
        return rows
    assert rows.groups is not None
    return replace(rows, y=with_groups(rows.y, rows.groups))


def is_list_of_rankers(estimators: object) -> bool:
    """True if `estimators` is a non-empty list of rankers, or of pairs of name and ranker."""
    if not isinstance(estimators, (list, tuple)) or not estimators:
        return False
    pairs = [one if isinstance(one, tuple) else ("", one) for one in estimators]
    return all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Add a note with the name of a ranker to errors."""
    try:
        yield
    except Exception as error:
        error.add_note(f"This is an error of the ranker {name!r} of RankerMean.")
        raise


def check_member(estimator: Estimator) -> None:
    """Raise for a ranker of a booster outside a GroupedRanker, or a value without `fit`."""
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    kind = kind_of(estimator)  # raises if it has no `fit`
    if kind.trains_on_queries and not isinstance(kind, OtherKind):
        cls = type(estimator).__name__
        raise ValueError(
            f"fit of {cls} needs sizes of queries, which RankerMean does not pass: replace {cls}() "
            f"by GroupedRanker({cls}())."
        )


def fitted(
    name: str, estimator: Estimator, train: LabelledRows, valid: LabelledRows | None
) -> Estimator:
    """A fitted clone; validation rows are passed to rankers that use them for early stopping."""
    with naming(name):
        member = clone(estimator)
        arguments: Options = {}
        if train.sample_weight is not None:
            arguments[weight_argument(member)] = train.sample_weight
        if valid is not None and _uses_validation_rows(member):
            arguments |= {"X_val": valid.X, "y_val": valid.y}
        return member.fit(train.X, train.y, **arguments)


def _uses_validation_rows(ranker: Estimator) -> bool:
    """True if `fit` has `X_val` for early stopping, and the ranker holds out no queries itself."""
    if "X_val" not in signature(ranker.fit).parameters:
        return False
    if isinstance(ranker, GroupedRanker) and kind_of(ranker.estimator).rounds_parameter is None:
        return False
    return ranker.validation_fraction is None


def finite_scores(name: str, ranker: Estimator, X: Table) -> np.ndarray:
    """Scores of rows; raises for inf and NaN, which would make the mean inf or NaN."""
    with naming(name):
        scores = np.asarray(predicted_scores(ranker, X), dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            raise ValueError(
                f"the ranker {name!r} scores row {bad[0]} as {scores[bad[0]]}, and a mean needs "
                "finite scores: remove the ranker, or correct the row."
            )
        return scores
