"""Checks of labels, scores and weights. Messages name the row or query."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from skrank._validation.arrays import as_numbers, as_vector
from skrank._validation.parameters import (
    LEAST_LABEL,
    MOST_GRADES,
    MOST_LABEL,
    check_choice,
)

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
        f"score of row {row} is {value}: a score must be a finite number, or -inf for a judged "
        "document that was not retrieved. Repair the model or drop the row."
    )


def check_finite_scores(
    scores: np.ndarray, queries: RowsByQuery, needs: str = "gradients need"
) -> None:
    """Refuse scores, contiguous by query, that are NaN or infinite."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        row, score = queries.caller_row(int(bad[0])), scores[bad[0]]
        remedy = "Repair the model or drop the row. A lower learning rate may help."
        if score == -np.inf:
            remedy = "Drop the documents that were not retrieved, or lower the learning rate."
        raise ValueError(f"score of row {row} is {score}: {needs} finite scores. {remedy}")


def bad_label(value: float, row: int) -> ValueError:
    """The error for a label that is negative, infinite, or too small or too large."""
    if value < 0:
        return ValueError(
            f"label of row {row} is {value:g}: labels must be at least 0. "
            "Use NaN for a document that was not judged, 0 for one that is not relevant."
        )
    if np.isinf(value):
        return ValueError(
            f"label of row {row} is {value}: labels must be finite, or NaN if not judged."
        )
    return ValueError(
        f"label of row {row} is {value:g}: labels must be 0 or between {LEAST_LABEL:g} and "
        f"{MOST_LABEL:g}, so that sums of them are exact enough. Divide them by a constant, or bin "
        "them into grades."
    )


def are_no_labels(values: np.ndarray) -> np.ndarray:
    """True for values that are neither a label nor NaN: negative, infinite, too small or large."""
    small = (values < LEAST_LABEL) & (values != 0)
    return small | (values > MOST_LABEL)


def warn_single_rows(queries: RowsByQuery) -> None:
    """Warn if each query has only one document, so that all rankings are equal."""
    if len(queries.indptr) - 1 == queries.n_rows > 1:
        warnings.warn(
            f"each of the {queries.n_rows} queries has one document, so that every ranking is "
            "perfect: groups must be the query of each row, not its document.",
            UserWarning,
            stacklevel=3,  # the caller of the public function
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
    varies = np.flatnonzero(np.maximum.reduceat(rows, starts) != np.minimum.reduceat(rows, starts))
    if len(varies):
        raise ValueError(
            f"{name} varies inside query {queries.name(varies[0])}: "
            "give all rows of a query the same weight, because weights belong to queries."
        )
    return weights


def check_weights(
    weights: np.ndarray, name: Callable[[int], str], *, part: bool = False
) -> np.ndarray:
    """Check that weights are finite and not negative, and not all 0 unless `part`.

    `name` is called for the name of an entry in errors, such as "weight of query 'a'".
    """
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(bad):
        raise ValueError(
            f"{name(bad[0])} is {weights[bad[0]]}: it must be finite and not negative."
        )
    if not part and not weights.any():
        # scikit-learn's check_estimator expects the second sentence
        raise ValueError(
            "all weights are 0: at least one query must count. Sample weights must contain at "
            "least one non-zero number."
        )
    return weights


def check_frequencies(name: str, values: ArrayLike, n_queries: int) -> np.ndarray:
    """Frequencies of queries, at least 0, divided by their sum."""
    shares = _per_query(name, values, n_queries)
    bad = np.flatnonzero(~((shares >= 0) & np.isfinite(shares)))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}]={shares[bad[0]]}: how often a query is asked must be finite and at "
            "least 0."
        )
    if not shares.any():
        raise ValueError(f"all {name} are 0: at least one query must be asked.")
    shares = shares / shares.max()  # so that the sum cannot overflow
    return shares / shares.sum()


def check_costs(name: str, values: ArrayLike, n_queries: int) -> np.ndarray:
    """Cost of labels per query, after a check that all costs are positive and finite."""
    costs = _per_query(name, values, n_queries)
    bad = np.flatnonzero(~((costs > 0) & np.isfinite(costs)))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}]={costs[bad[0]]}: a cost must be positive and finite: with a cost of "
            "0, the budget would never be spent."
        )
    return costs


def _per_query(name: str, values: ArrayLike, n_queries: int) -> np.ndarray:
    vector = as_numbers(name, values, "one per query")
    if vector.shape != (n_queries,):
        raise ValueError(
            f"{name} has shape {vector.shape} for {n_queries} queries: give one entry per query."
        )
    return vector


def _highest(labels: np.ndarray, place: Place | None) -> str:
    """The highest label and its row, for errors."""
    where = f" ({place(int(np.argmax(labels)))})" if place is not None else ""
    return f"label {labels.max():g}{where}"


def check_grades(
    labels: np.ndarray, max_grade: int, metric: object, place: Place | None = None
) -> None:
    """Check that no label is above `max_grade`, and that `max_grade` is at most MOST_GRADES."""
    if labels.max(initial=0) > max_grade:
        raise ValueError(
            f"{_highest(labels, place)} is above max_grade={max_grade} of {metric}: give the "
            "highest grade of the collection as max_grade, or one threshold per grade."
        )
    if max_grade > MOST_GRADES:
        is_here = labels.max(initial=0) > MOST_GRADES
        highest = _highest(labels, place) if is_here else f"{max_grade}, the highest label of all,"
        raise ValueError(
            f"{highest} is above {MOST_GRADES}, the highest grade that {metric} takes: bin the "
            "labels into grades, for example with numpy.digitize."
        )


def check_whole_grades(labels: np.ndarray, metric: object, place: Place) -> None:
    """Check that all labels are whole numbers."""
    between = np.flatnonzero(labels != np.floor(labels))
    if len(between):
        raise ValueError(
            f"label {labels[between[0]]:g} ({place(int(between[0]))}) stands between two grades of "
            f'{metric}: choose labels="step", which counts it as the grade below, or '
            'labels="interp", which interpolates between the two grades.'
        )


def missing_scale(metric: object) -> ValueError:
    """The error for a metric that needs a highest grade which is not known."""
    return ValueError(
        f"{metric} depends on the highest grade of the collection, which neither the metric nor "
        "the labels nor the model give. The highest label may differ between folds, and values "
        "would not be comparable. Give max_grade=, as in skrank.metric('err', max_grade=4), or "
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


def check_probabilities(name: str, labels: np.ndarray, found: np.ndarray) -> None:
    """Check that the probability of each label is at most 1."""
    if found.max(initial=0) > 1:
        worst = int(np.argmax(found))
        raise ValueError(
            f"{name} gives label {labels[worst]:g} the probability {found[worst]:g}, above 1: "
            "choose a scale that fits the labels, or give a mapping from labels to probabilities."
        )


def look_up(parameter: str, table: Mapping[float, float], labels: np.ndarray) -> np.ndarray:
    """The value of each label in `table`. Label 0 may be missing and then has the value 0."""
    for label in labels:
        if label not in table and label != 0:
            raise ValueError(f"{parameter} has no value for label {label:g}: give one per label.")
    return np.array([table.get(label, 0.0) for label in labels], dtype=np.float64)


def check_times(times: np.ndarray, name: str) -> np.ndarray:
    """Check that times of queries are not strings, and that none is missing."""
    values = times.ravel().tolist() if times.dtype.kind == "O" else []
    if times.dtype.kind in "USTV" or any(isinstance(one, (str, bytes)) for one in values):
        raise ValueError(
            f"{name} are strings, and '10' sorts before '4': give time=, a mapping from query id "
            "to a number or a date, for example with int or pandas.to_datetime."
        )
    missing = np.flatnonzero(times != times)  # NaN and NaT differ from themselves
    if len(missing):
        raise ValueError(f"{name} have no value for {len(missing)} queries: give one for each.")
    return times


def check_training_labels(y: np.ndarray, unjudged: str, graded: bool) -> np.ndarray:
    """Mask of the rows that have a label. With `graded`, labels must be at least 0."""
    check_choice("unjudged", unjudged, ("raise", "drop", "zero"))
    labels = as_vector("y", y)
    if np.isinf(labels).any():
        row = int(np.argmax(np.isinf(labels)))
        raise ValueError(f"Input y contains infinity: label of row {row} is {labels[row]}.")
    judged = ~np.isnan(labels)
    if unjudged == "raise" and not judged.all():
        raise ValueError(
            f"Input y contains NaN: the document of row {int(np.argmin(judged))} was not judged. "
            'Choose unjudged="drop" to train without it, or "zero" to count it as not relevant.'
        )
    if not judged.any():
        raise ValueError("y has no label: every document is unjudged.")
    if graded and labels[judged].min() < 0:
        row = int(np.argmax(labels < 0))
        raise bad_label(float(labels[row]), row)
    return judged


def check_labels(y: ArrayLike, n_rows: int) -> np.ndarray:
    """Labels for the training of a booster, one per row: finite and at least 0."""
    labels = as_vector("y", y, n_rows)
    bad = np.flatnonzero(~((labels >= 0) & np.isfinite(labels)))
    if len(bad) and np.isnan(labels[bad[0]]):
        raise ValueError(f"label of row {bad[0]} is missing: drop documents that were not judged.")
    if len(bad):
        raise bad_label(float(labels[bad[0]]), int(bad[0]))
    return labels


def check_learnable(inverse: np.ndarray, metric: object, queries: RowsByQuery) -> None:
    """Check that `inverse`, one over the best value of each query, is finite."""
    if math.isfinite(inverse.max()) and math.isfinite(inverse.min()):
        return
    bad = np.flatnonzero(~np.isfinite(inverse).reshape(-1, inverse.shape[-1]).all(axis=0))
    if len(bad):
        raise ValueError(
            f"the best value of {metric} for query {queries.name(int(bad[0]))} is too near to 0 to "
            "divide by: scale the labels or their gains up."
        )


def check_training_weights(weights: np.ndarray | None, queries: RowsByQuery) -> np.ndarray:
    """Weights of queries, at most HEAVIEST_QUERY, so that gradients in single precision are finite.

    Ones for None.
    """
    if weights is None:
        return np.ones(len(queries.indptr) - 1)
    heavy = np.flatnonzero(weights > HEAVIEST_QUERY)
    if len(heavy):
        raise ValueError(
            f"weight of query {queries.name(int(heavy[0]))} is {weights[heavy[0]]}: gradients in "
            f"single precision allow no more than {HEAVIEST_QUERY:g}. Scale the weights down."
        )
    return weights


def check_gradients(grad: np.ndarray, hess: np.ndarray, objective: object) -> None:
    """Check that gradients and hessians are finite."""
    for values in (grad, hess):
        with np.errstate(all="ignore"):
            suspicious = not np.isfinite(values.sum())  # one pass, which may overflow
        if suspicious and not np.isfinite(values).all():
            raise ValueError(
                f"{objective} has gradients beyond the range of {values.dtype}: scale down the "
                "weights, the scores, the gains of labels or the slope of the objective, or train "
                "on a metric that is normalised, such as ndcg for dcg."
            )
