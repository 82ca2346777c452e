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
from skrank.rankers._fit import HeldOut
from skrank.rankers._grouped import GroupedRanker
from skrank.rankers._kinds import OtherKind, kind_of, weight_argument
from skrank.rankers._rows import LabelledRows, Part, Rows

Named: TypeAlias = tuple[str, Estimator]

_STEPS = 20  # at most, when weights are chosen: the larger, the finer


def unchecked_part(rows: LabelledRows) -> Part:
    """Rows sorted by query; documents without a judgment count as not relevant."""
    return Rows(rows, unjudged="zero", graded=False).part()


def best_weights(scores: np.ndarray, part: Part, metric: Metric) -> np.ndarray:
    """Weights that are best on validation rows, found by greedy steps from equal weights.

    Each step adds to the weight of one ranker, as long as the metric improves.
    """
    held_out = HeldOut(part, {"metric": metric})
    sign = 1 if metric.greater_is_better else -1

    def value(counts: np.ndarray) -> float:
        return sign * held_out.means(counts @ scores)["metric"]

    counts = np.ones(len(scores))
    best = value(counts)
    for _ in range(_STEPS):
        tried = counts + np.eye(len(scores))
        values = [value(one) for one in tried]
        place = int(np.argmax(values))
        if values[place] <= best:
            break
        counts, best = tried[place], values[place]
    return counts / counts.sum()


def carried(rows: LabelledRows) -> LabelledRows:
    """The rows with their queries on the index of the labels, where all rankers read them."""
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
    """Add the name of a ranker to errors."""
    try:
        yield
    except Exception as error:
        error.add_note(f"This is an error of the ranker {name!r} of RankerMean.")
        raise


def check_member(estimator: Estimator) -> None:
    """Refuse rankers of boosters outside a GroupedRanker, and values that are not estimators."""
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    kind = kind_of(estimator)  # raises if it is no estimator
    if kind.trains_on_queries and not isinstance(kind, OtherKind):
        cls = type(estimator).__name__
        raise ValueError(
            f"{cls} takes sizes of queries, which RankerMean does not pass: give it "
            f"GroupedRanker({cls}())."
        )


def fitted(
    name: str, estimator: Estimator, train: LabelledRows, valid: LabelledRows | None
) -> Estimator:
    """A fitted clone; validation rows go to rankers that stop early and hold out none."""
    with naming(name):
        member = clone(estimator)
        arguments: Options = {}
        if train.sample_weight is not None:
            arguments[weight_argument(member)] = train.sample_weight
        if valid is not None and _stops_on_given(member):
            arguments |= {"X_val": valid.X, "y_val": valid.y}
        return member.fit(train.X, train.y, **arguments)


def _stops_on_given(ranker: Estimator) -> bool:
    """True if validation rows that are passed to `fit` decide when the ranker stops."""
    if "X_val" not in signature(ranker.fit).parameters:
        return False
    if isinstance(ranker, GroupedRanker):
        kind = kind_of(ranker.estimator)
        if kind.rounds_parameter is None or not kind.validates:
            return False
    return ranker.validation_fraction is None


def finite_scores(name: str, ranker: Estimator, X: Table) -> np.ndarray:
    """Scores of rows; a mean with inf or NaN would rank nothing."""
    with naming(name):
        scores = np.asarray(predicted_scores(ranker, X), dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            raise ValueError(
                f"the ranker {name!r} scores row {bad[0]} as {scores[bad[0]]}, of which there is "
                "no mean: leave it out, or repair the row."
            )
        return scores
