"""Checks of labels, scores and weights. Messages name the row or query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from skrank._validation.arrays import as_numbers, as_vector, first, first_text
from skrank._validation.parameters import LEAST_LABEL, MOST_GRADES, MOST_LABEL, check_choice
from skrank._warnings import warn

Place = Callable[[int], str]  # row of the first document with a label code, such as "row 3"


class RowsByQuery(Protocol):
    """The attributes of `skrank._engine.queries.Queries` that checks read."""

    @property
    def n_rows(self) -> int: ...
    @property
    def indptr(self) -> np.ndarray: ...
    def gather(self, values: np.ndarray) -> np.ndarray: ...
    def name(self, query: int) -> str: ...
    def caller_row(self, row: int) -> int: ...


# Largest weight in training: hessians reach 1e18, and boosters store weight times hessian in single
# precision, whose largest number is 3e38.
HEAVIEST_QUERY = 1e15


def bad_score(value: float, row: int) -> ValueError:
    """The error for a score that cannot be ranked."""
    return ValueError(
        f"score of row {row} is {value}: repair the model or drop the row. Scores are finite, or "
        "-inf for judged documents that were not retrieved."
    )


def check_finite_scores(scores: np.ndarray, queries: RowsByQuery) -> None:
    """Refuse scores, contiguous by query, that are NaN or infinite."""
    finite = np.isfinite(scores)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"score of row {queries.caller_row(row)} is {scores[row]}: gradients need finite "
            "scores. Repair the model, drop the row, or lower the learning rate."
        )


def bad_label(value: float, row: int) -> ValueError:
    """The error for a label that is negative, infinite, or too small or too large."""
    return ValueError(
        f"label of row {row} is {value:g}: a label is NaN (not judged), 0 (not relevant) or from "
        f"{LEAST_LABEL:g} to {MOST_LABEL:g}: divide labels by a constant, or bin them into grades."
    )


def warn_single_rows(queries: RowsByQuery) -> None:
    """Warn if each query has only one document, so that all rankings are equal."""
    if len(queries.indptr) - 1 == queries.n_rows > 1:
        warn(
            f"each of the {queries.n_rows} queries has one document, so that every ranking is "
            "perfect: groups must be the query of each row, not its document.",
        )


def query_weights(
    values: ArrayLike | None,
    queries: RowsByQuery,
    *,
    name: str = "sample_weight",
    part: bool = False,
) -> np.ndarray | None:
    """One weight per query from `values`, one per row; None stays None.

    `name` is the name of the argument. With `part`, these are some of the queries, such as those of
    a worker: all may have weight 0.
    """
    if values is None:
        return None
    rows = queries.gather(as_vector(name, values, queries.n_rows))
    starts = queries.indptr[:-1]
    weights = rows[starts]
    # before the comparison of rows, in which NaN differs from itself
    check_weights(weights, lambda query: f"{name} of query {queries.name(query)}", part=part)
    varies = np.maximum.reduceat(rows, starts) != np.minimum.reduceat(rows, starts)
    if (query := first(varies)) >= 0:
        raise ValueError(
            f"{name} varies inside query {queries.name(query)}: give all rows of a query the same "
            "weight, because weights belong to queries."
        )
    return weights


def check_weights(
    weights: np.ndarray, name: Callable[[int], str], *, part: bool = False
) -> np.ndarray:
    """Check that weights are finite and not negative, and not all 0 unless `part`.

    `name` is called for the name of an entry in errors, such as "weight of query 'a'".
    """
    if (bad := first(~((weights >= 0) & np.isfinite(weights)))) >= 0:
        raise ValueError(f"{name(bad)} is {weights[bad]}: it must be finite and not negative.")
    if not part and not weights.any():
        # scikit-learn's check_estimator expects the second sentence
        raise ValueError(
            f"{name(0)} is 0, as all weights are. Sample weights must contain at least one "
            "non-zero number."
        )
    return weights


def check_frequencies(name: str, values: ArrayLike, n_queries: int) -> np.ndarray:
    """Frequencies of queries, at least 0, divided by their sum."""
    shares = check_weights(as_many(name, values, n_queries), (name + "[{}]").format)
    shares = shares / shares.max()  # so that the sum cannot overflow
    return shares / shares.sum()


def check_costs(name: str, values: ArrayLike, n: int, what: str = "one per query") -> np.ndarray:
    """Costs of labels, after a check that there are `n`, all positive and finite."""
    costs = as_many(name, values, n, what)
    if (entry := first(~((costs > 0) & np.isfinite(costs)))) >= 0:
        raise ValueError(f"{name}[{entry}]={costs[entry]}: a cost must be positive and finite.")
    return costs


def as_many(name: str, values: ArrayLike, n: int, what: str = "one per query") -> np.ndarray:
    """`values` as a vector of `n` numbers; `what` describes them in errors."""
    vector = as_numbers(name, values, what)
    if vector.shape != (n,):
        raise ValueError(f"{name} has shape {vector.shape}, not ({n},): give {what}.")
    return vector


def _highest(labels: np.ndarray, place: Place | None) -> str:
    """The highest label and its row, for errors."""
    where = f" ({place(int(np.argmax(labels)))})" if place is not None else ""
    return f"label {labels.max():g}{where}"


def check_grades(
    labels: np.ndarray, max_grade: int, metric: object, place: Place | None = None
) -> None:
    """Check that no label is above `max_grade`, and that `max_grade` is at most MOST_GRADES."""
    limit = min(max_grade, MOST_GRADES)
    is_above = labels.max(initial=0) > limit
    if is_above or max_grade > limit:
        highest = _highest(labels, place) if is_above else f"{max_grade}, the highest label,"
        raise ValueError(
            f"{highest} is above max_grade={limit} of {metric}: give the highest grade of all as "
            f"max_grade, or one threshold per grade, or bin labels above {MOST_GRADES} into grades."
        )


def check_whole_grades(labels: np.ndarray, metric: object, place: Place) -> None:
    """Check that all labels are whole numbers."""
    if (code := first(labels != np.floor(labels))) >= 0:
        raise ValueError(
            f"label {labels[code]:g} ({place(code)}) stands between two grades of {metric}. If "
            "labels are rates or other measured values, train on skrank.SquaredError(centered="
            'True); if they are means of grades, choose fractional="step" to count them as the '
            'grade below, or "interp" to interpolate.'
        )


def missing_scale(metric: object) -> ValueError:
    """The error for a metric that needs a highest grade which is not known."""
    return ValueError(
        f"{metric} depends on the highest grade of the collection, as the highest label may differ "
        "between folds. Give max_grade=, as in skrank.metric('err', max_grade=4), or "
        "y = skrank.with_groups(relevance, qid) of all labels."
    )


def are_grades(labels: np.ndarray) -> bool:
    """True if labels are whole numbers up to MOST_GRADES."""
    return bool(np.all((labels == np.rint(labels)) & (labels <= MOST_GRADES)))


def check_few_labels(name: str, labels: np.ndarray) -> None:
    """Check that distinct labels are at most MOST_GRADES, as tables have an entry for each pair."""
    if len(labels) > MOST_GRADES:
        raise ValueError(
            f"{len(labels)} distinct labels are too many for {name} (at most {MOST_GRADES}): bin "
            "the labels into grades, for example with numpy.digitize."
        )


def check_exponent(name: str, labels: np.ndarray, place: Place | None = None) -> None:
    """Check that sums of ``2**label`` do not overflow."""
    if labels.max(initial=0) > MOST_GRADES:
        raise ValueError(
            f"{_highest(labels, place)} is too high for {name}, which takes two to its power: bin "
            "the labels into grades, or use a metric with gain=linear."
        )


def check_probabilities(name: str, labels: np.ndarray, probabilities: np.ndarray) -> None:
    """Check that the probability of each label is at most 1."""
    if (code := first(probabilities > 1)) >= 0:
        raise ValueError(
            f"{name} gives label {labels[code]:g} the probability {probabilities[code]:g}, above "
            "1: choose a scale that fits the labels, or give a mapping from labels to "
            "probabilities."
        )


def look_up(
    parameter: str,
    table: Mapping[float, float],
    labels: np.ndarray,
    place: Callable[[int], str | None] | None = None,
) -> np.ndarray:
    """The value of each label in `table`. Label 0 may be missing and then has the value 0.

    `place` returns the row of the first document of a code, None if there is no such document: then
    its label may be missing, too.
    """
    for code, label in enumerate(labels):
        if label not in table and label != 0:
            row = "" if place is None else place(code)
            if row is not None:
                where = f" ({row})" if row else ""
                raise ValueError(
                    f"{parameter} has no value for label {label:g}{where}: give one per label."
                )
    return np.array([table.get(label, 0.0) for label in labels], dtype=np.float64)


def check_times(times: np.ndarray, name: str) -> np.ndarray:
    """Check that times of queries are not strings, and that none is missing."""
    import pandas as pd

    if first_text(times) is not None:
        raise ValueError(
            f"{name} are strings, and '10' sorts before '4': give time=, a mapping from query id "
            "to a number or a date, for example with int or pandas.to_datetime."
        )
    if missing := np.count_nonzero(pd.isna(times)):
        raise ValueError(f"{name} have no value for {missing} queries: give one for each.")
    return times


def check_training_labels(y: np.ndarray, unjudged: str, graded: bool) -> np.ndarray:
    """Mask of the rows that have a label. With `graded`, labels must be at least 0."""
    check_choice("unjudged", unjudged, ("raise", "drop", "zero"))
    labels = as_vector("y", y)
    missing = np.isnan(labels)
    if (row := first(np.isinf(labels))) >= 0:
        raise ValueError(f"Input y contains infinity: label of row {row} is {labels[row]}.")
    if unjudged == "raise" and missing.any():
        raise ValueError(
            f"Input y contains NaN: the document of row {first(missing)} was not judged. Set "
            'options={"unjudged": "drop"} of the ranker to train without it, or {"unjudged": '
            '"zero"} to count it as not relevant.'
        )
    if missing.all():
        raise ValueError("y has no label: every document is unjudged.")
    if graded and (row := first(labels < 0)) >= 0:
        raise bad_label(float(labels[row]), row)
    return ~missing


def check_every_grade(labels: np.ndarray, name: str) -> None:
    """Refuse grades other than 0, 1, 2, ..., without a gap."""
    grades = np.unique(labels)
    if not np.array_equal(grades, np.arange(len(grades))):
        raise ValueError(
            f"the grades of the training rows are {grades.tolist()}, and {name} needs all of 0, 1, "
            "2, ...: choose a regressor or a ranker, LGBMClassifier or CatBoostClassifier, which "
            "take any grades, or skrank.QueryKFold(stratify='max_grade') if a fold lacks a grade."
        )


def check_learnable(inverse: np.ndarray, metric: object, queries: RowsByQuery) -> None:
    """Check that `inverse`, one over the best value of each query, is finite."""
    finite = np.isfinite(inverse)
    if not finite.all():
        raise ValueError(
            f"the best value of {metric} for query {queries.name(int(np.argmin(finite)))} is too "
            "near to 0 to divide by: scale the labels or their gains up."
        )


def check_training_weights(weights: np.ndarray | None, queries: RowsByQuery) -> np.ndarray:
    """Weights of queries, at most HEAVIEST_QUERY, so that gradients in single precision are finite.

    Ones for None.
    """
    if weights is None:
        return np.ones(len(queries.indptr) - 1)
    if (query := first(weights > HEAVIEST_QUERY)) >= 0:
        raise ValueError(
            f"weight of query {queries.name(query)} is {weights[query]}: gradients in single "
            f"precision allow no more than {HEAVIEST_QUERY:g}. Scale the weights down."
        )
    return weights


def check_gradients(grad: np.ndarray, hess: np.ndarray, objective: object) -> None:
    """Check that gradients and hessians are finite."""
    for values in (grad, hess):
        with np.errstate(all="ignore"):
            suspicious = not np.isfinite(values.sum())  # one pass, which may overflow
        if suspicious and not np.isfinite(values).all():
            raise ValueError(
                f"{objective} has gradients beyond the range of {values.dtype}: scale down "
                "weights, scores or gains, or train on a normalised metric (ndcg for dcg)."
            )
