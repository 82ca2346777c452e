"""Checks of labels, scores, weights and positions. Messages name the row or query."""

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
    MOST_RANKS,
    check_choice,
)

Place = Callable[[int], str]  # where the first document of a code stands, as in "row 3"


class RowsByQuery(Protocol):
    """What checks read of the queries of rows."""

    @property
    def n_rows(self) -> int: ...
    @property
    def indptr(self) -> np.ndarray: ...
    def gather(self, values: np.ndarray) -> np.ndarray: ...
    def name(self, query: int) -> str: ...
    def caller_row(self, row: int) -> int: ...


# Weight in training: curvatures reach 1e18, and boosters keep weight times curvature as float32,
# which ends at 3e38.
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
    """Scores, contiguous by query, of which a gradient can be taken."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        row = queries.caller_row(int(bad[0]))
        raise ValueError(
            f"score of row {row} is {scores[bad[0]]}: {needs} finite scores. Lower the learning "
            "rate, or drop the documents that were not retrieved."
        )


def bad_label(value: float, row: int) -> ValueError:
    """The error for a label that is not a grade."""
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
    """Whether each value is neither a label nor NaN: negative, infinite, or of an extreme size."""
    small = (values < LEAST_LABEL) & (values != 0)
    return small | (values > MOST_LABEL)


def warn_single_rows(queries: RowsByQuery) -> None:
    """Warn where every query has one document, which no ranker can rank wrongly."""
    if len(queries.indptr) - 1 == queries.n_rows > 1:
        warnings.warn(
            f"each of the {queries.n_rows} queries has one document, so that every ranking is "
            "perfect: groups must say to which query a row belongs, not name its document.",
            UserWarning,
            stacklevel=3,  # the line that calls the function that checks
        )


def query_weights(
    sample_weight: ArrayLike | None, queries: RowsByQuery, *, part: bool = False
) -> np.ndarray | None:
    """One weight per query from one per row; None stays None. All of a `part` may be 0."""
    if sample_weight is None:
        return None
    rows = queries.gather(as_vector("sample_weight", sample_weight, queries.n_rows))
    starts = queries.indptr[:-1]
    weights = rows[starts]
    # before rows are compared: a NaN differs from itself, and would be called a weight that varies
    check_weights(weights, queries, part=part)
    varies = np.flatnonzero(np.maximum.reduceat(rows, starts) != np.minimum.reduceat(rows, starts))
    if len(varies):
        raise ValueError(
            f"sample_weight varies inside query {queries.name(varies[0])}: "
            "give all rows of a query the same weight, for a query counts as a whole."
        )
    return weights


def check_weights(weights: np.ndarray, queries: RowsByQuery, *, part: bool = False) -> np.ndarray:
    """Weights per query: finite, not negative, not all zero unless they are a `part`."""
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(bad):
        query = queries.name(bad[0])
        raise ValueError(
            f"weight of query {query} is {weights[bad[0]]}: it must be finite and not negative."
        )
    if not part:
        check_some_weight(weights)
    return weights


def check_row_weights(weights: np.ndarray) -> None:
    """Weights per row: finite, not negative, not all zero."""
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(bad):
        raise ValueError(
            f"sample_weight of row {bad[0]} is {weights[bad[0]]}: it must be finite and not "
            "negative."
        )
    if not weights.any():
        # as scikit-learn says it, whose checks of estimators read the message
        raise ValueError("Sample weights must contain at least one non-zero number.")


def check_some_weight(weights: np.ndarray) -> None:
    """Weights that are not all zero."""
    if not weights.any():
        raise ValueError("all weights are 0: at least one query must count.")


def check_frequencies(name: str, values: ArrayLike, n_queries: int) -> np.ndarray:
    """Shares of queries: counts or other weights of at least 0, divided by their sum."""
    shares = _per_query(name, values, n_queries)
    bad = np.flatnonzero(~((shares >= 0) & np.isfinite(shares)))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}]={shares[bad[0]]}: how often a query is asked must be finite and at "
            "least 0."
        )
    if not shares.any():
        raise ValueError(f"all {name} are 0: at least one query must be asked.")
    shares = shares / shares.max()  # or the sum of very large ones would be infinite
    return shares / shares.sum()


def check_costs(name: str, values: ArrayLike, n_queries: int) -> np.ndarray:
    """What labels cost, per query: positive and finite."""
    costs = _per_query(name, values, n_queries)
    bad = np.flatnonzero(~((costs > 0) & np.isfinite(costs)))
    if len(bad):
        raise ValueError(
            f"{name}[{bad[0]}]={costs[bad[0]]}: a cost must be positive and finite, for labels "
            "that are free would be drawn for ever."
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
    """The highest label, and where it stands."""
    where = f" ({place(int(np.argmax(labels)))})" if place is not None else ""
    return f"label {labels.max():g}{where}"


def check_grades(
    labels: np.ndarray, max_grade: int, metric: object, place: Place | None = None
) -> None:
    """Labels at most `max_grade`, for metrics whose scale ends there, and that within reason."""
    if labels.max(initial=0) > max_grade:
        raise ValueError(
            f"{_highest(labels, place)} is above max_grade={max_grade} of {metric}: give the "
            "highest grade of the collection as max_grade, or one threshold per grade."
        )
    if max_grade > MOST_GRADES:
        raise ValueError(
            f"{_highest(labels, place)} is above {MOST_GRADES}, the highest grade that {metric} "
            "takes: bin the labels into grades, for example with numpy.digitize."
        )


def check_whole_grades(labels: np.ndarray, metric: object, place: Place) -> None:
    """Labels that are whole numbers, where nothing says what others are worth."""
    between = np.flatnonzero(labels != np.floor(labels))
    if len(between):
        raise ValueError(
            f"label {labels[between[0]]:g} ({place(int(between[0]))}) stands between two grades of "
            f'{metric}: choose labels="step", the worth of the grade below, or labels="interp", a '
            "worth in proportion."
        )


def missing_scale(metric: object) -> ValueError:
    """The error for a metric whose values depend on a highest grade that nothing says."""
    return ValueError(
        f"{metric} depends on the highest grade of the collection, and neither the metric nor the "
        "labels nor the model say which it is: the highest label of a fold would be another scale "
        "in each fold. Give max_grade=, as in skrank.metric('err', max_grade=4), or "
        "y = skrank.with_groups(relevance, qid) of all labels."
    )


def check_few_labels(name: str, labels: np.ndarray) -> None:
    """Few enough distinct labels for a table of all pairs of them."""
    if len(labels) > MOST_GRADES:
        raise ValueError(
            f"{len(labels)} distinct labels are too many for {name} (at most {MOST_GRADES}): bin "
            "the labels into grades, for example with numpy.digitize."
        )


def check_exponent(name: str, labels: np.ndarray, place: Place | None = None) -> None:
    """Labels whose powers of two, and the sums of these, are numbers of double precision."""
    if labels.max(initial=0) > MOST_GRADES:
        raise ValueError(
            f"{_highest(labels, place)} is too high for {name}, which takes two to its power: bin "
            "the labels into grades, or use a metric with gain=linear."
        )


def check_probabilities(name: str, labels: np.ndarray, found: np.ndarray) -> None:
    """Probabilities per label, at most 1."""
    if found.max(initial=0) > 1:
        worst = int(np.argmax(found))
        raise ValueError(
            f"{name} gives label {labels[worst]:g} the probability {found[worst]:g}, above 1: "
            "choose a scale that fits the labels, or give a mapping from labels to probabilities."
        )


def look_up(parameter: str, table: Mapping[float, float], labels: np.ndarray) -> np.ndarray:
    """The value of each label in `table`; a label without a value is an error, but for 0."""
    for label in labels:
        if label not in table and label != 0:
            raise ValueError(f"{parameter} has no value for label {label:g}: give one per label.")
    return np.array([table.get(label, 0.0) for label in labels], dtype=np.float64)


def check_positions(positions: ArrayLike, n_rows: int) -> np.ndarray:
    """Where documents were shown: one whole number of at least 0 per row."""
    vector = as_vector("positions", positions, n_rows)
    bad = np.flatnonzero(~((vector >= 0) & (vector <= MOST_RANKS) & (vector == np.rint(vector))))
    if len(bad):
        raise ValueError(
            f"position of row {bad[0]} is {vector[bad[0]]:g}: positions must be whole numbers of "
            "at least 0, such as the rank at which the document was shown."
        )
    return vector.astype(np.int64)


def check_times(times: np.ndarray, name: str) -> np.ndarray:
    """Times of queries, which have an order: no strings, and none missing."""
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


def check_rows_shown(kept: np.ndarray) -> None:
    """All rows kept where their order says at which position each document was shown."""
    if not kept.all():
        raise ValueError(
            f"the document of row {int(np.argmin(kept))} has no label and would be dropped, and "
            "those below it would move up: positions are the order of the rows inside their query. "
            'Choose unjudged="zero" for documents that were shown and not clicked.'
        )


def check_training_labels(y: np.ndarray, unjudged: str, graded: bool) -> np.ndarray:
    """Mask of the rows that have a label; `graded` labels must be at least 0."""
    check_choice("unjudged", unjudged, ("raise", "drop", "zero"))
    labels = as_vector("y", y)
    if np.isinf(labels).any():
        row = int(np.argmax(np.isinf(labels)))
        raise ValueError(f"Input y contains infinity: label of row {row} is {labels[row]}.")
    judged = ~np.isnan(labels)
    if unjudged == "raise" and not judged.all():
        raise ValueError(
            f"Input y contains NaN: the document of row {int(np.argmin(judged))} was not judged. "
            'Choose unjudged="drop" to train without it, or "zero" to take it for not relevant.'
        )
    if not judged.any():
        raise ValueError("y has no label: every document is unjudged.")
    if graded and labels[judged].min() < 0:
        row = int(np.argmax(labels < 0))
        raise bad_label(float(labels[row]), row)
    return judged


def check_labels(y: ArrayLike, n_rows: int) -> np.ndarray:
    """Labels to train on in a booster: finite and at least 0, one per row."""
    labels = as_vector("y", y, n_rows)
    bad = np.flatnonzero(~((labels >= 0) & np.isfinite(labels)))
    if len(bad) and np.isnan(labels[bad[0]]):
        raise ValueError(f"label of row {bad[0]} is missing: drop documents that were not judged.")
    if len(bad):
        raise bad_label(float(labels[bad[0]]), int(bad[0]))
    return labels


def check_learnable(inverse: np.ndarray, metric: object, queries: RowsByQuery) -> None:
    """What gradients are multiplied by, one over the best value of each query: numbers."""
    if math.isfinite(inverse.max()) and math.isfinite(inverse.min()):
        return
    bad = np.flatnonzero(~np.isfinite(inverse).reshape(-1, inverse.shape[-1]).all(axis=0))
    if len(bad):
        raise ValueError(
            f"the best value of {metric} for query {queries.name(int(bad[0]))} is too near to 0 to "
            "divide by: scale the labels or their gains up."
        )


def check_training_weights(weights: np.ndarray | None, queries: RowsByQuery) -> np.ndarray:
    """Weights per query that gradients in single precision can bear; ones for None."""
    if weights is None:
        return np.ones(len(queries.indptr) - 1)
    heavy = np.flatnonzero(weights > HEAVIEST_QUERY)
    if len(heavy):
        raise ValueError(
            f"weight of query {queries.name(int(heavy[0]))} is {weights[heavy[0]]}: gradients in "
            f"single precision bear no more than {HEAVIEST_QUERY:g}. Scale the weights down."
        )
    return weights


def check_gradients(grad: np.ndarray, hess: np.ndarray, objective: object) -> None:
    """Gradients must be numbers."""
    for values in (grad, hess):
        with np.errstate(all="ignore"):
            suspicious = not np.isfinite(values.sum())  # one pass; of numbers it may overflow
        if suspicious and not np.isfinite(values).all():
            raise ValueError(
                f"{objective} has gradients beyond the range of {values.dtype}: scale down the "
                "weights, the scores, the gains of labels or the slope of the objective, or train "
                "on a metric that is normalised, such as ndcg for dcg."
            )
