"""All checks of what a caller passes in. Every message names the place and the remedy."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from skrank._queries import Queries

EMPTY_CHOICES = ("skip", 0, 1, "nan", "raise")
TIES_CHOICES = ("average", "stable", "worst", "best")
MOST_GRADES = 1000  # two to a higher power is hardly a number
MOST_LABEL = 1e30
MOST_RANKS = 2**31 - 1  # ranks are 32-bit integers


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ValueError:
    """The error for a name that does not exist, with the nearest that does."""
    known = sorted(known)
    near = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return ValueError(f"unknown {kind} {name!r}: {hint}Known: {', '.join(known)}.")


def check_choice(parameter: str, value: Any, choices: Sequence[Any]) -> Any:
    """`value` if it is one of `choices`."""
    for choice in choices:
        if type(value) is not bool and value == choice:
            return choice
    options = ", ".join(repr(choice) for choice in choices)
    raise ValueError(f"{parameter}={value!r} is not a choice: use one of {options}.")


def check_flag(parameter: str, value: Any) -> bool:
    """`value` as a bool; a word such as "no" is not one."""
    if isinstance(value, (bool, np.bool_, int)) and value in (0, 1):
        return bool(value)
    raise ValueError(f"{parameter}={value!r} must be True or False.")


def check_seed(parameter: str, value: Any) -> int:
    """`value` as an int, of any sign."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{parameter}={value!r} must be an integer, the seed of random draws.")
    return int(value)


def check_cutoff(k: Any) -> int | None:
    """`k` as an int of at least 1, or None for the whole list."""
    return None if k is None else check_count("k", k, "the number of top ranks that count")


def check_count(parameter: str, value: Any, meaning: str) -> int:
    """`value` as an int of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{parameter}={value!r} must be an integer: {meaning}.")
    if value < 1:
        raise ValueError(f"{parameter}={value} must be at least 1: {meaning}.")
    if value > MOST_RANKS:
        raise ValueError(f"{parameter}={value} is beyond {MOST_RANKS}: leave it out for no limit.")
    return int(value)


def check_number(
    parameter: str, value: Any, low: float, high: float, *, open_low: bool = False
) -> float:
    """`value` as a float in [low, high], or in (low, high]."""
    bracket = "(" if open_low else "["
    expected = f"a number in {bracket}{low:g}, {high:g}]"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{parameter}={value!r} must be {expected}.")
    number = float(value)
    inside = low < number <= high if open_low else low <= number <= high
    if not inside:  # also NaN
        raise ValueError(f"{parameter}={value!r} must be {expected}.")
    return number


def check_numbers(parameter: str, values: Any) -> tuple[float, ...]:
    """A non-empty sequence of finite numbers as a tuple of floats."""
    try:
        numbers = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise ValueError(f"{parameter}={values!r} must be a sequence of numbers.") from None
    if not numbers or not all(math.isfinite(number) for number in numbers):
        raise ValueError(f"{parameter}={values!r} must hold at least one number, all finite.")
    return numbers


def check_thresholds(thresholds: Any, max_grade: int | None) -> tuple[float, ...] | None:
    """Probabilities of the grades 1..c as a tuple; None stays None."""
    if thresholds is None:
        return None
    g = check_numbers("thresholds", thresholds)
    for grade, probability in enumerate(g, start=1):
        if probability < 0:
            raise ValueError(
                f"thresholds[{grade - 1}]={probability:g} is negative: it is the probability that "
                f"a user regards documents of grade {grade} and better as relevant."
            )
    if abs(sum(g) - 1) > 1e-9:
        raise ValueError(
            f"thresholds sum to {sum(g):.10g}, not to 1: divide them by their sum "
            f"(one probability per grade 1..{len(g)})."
        )
    if max_grade is not None and max_grade != len(g):
        raise ValueError(
            f"{len(g)} thresholds do not cover the grades 1..{max_grade}: give one per grade."
        )
    return g


def check_mapping(parameter: str, values: Any) -> tuple[tuple[float, float], ...]:
    """A mapping from labels to numbers, or its pairs, as sorted pairs, which hash."""
    try:
        values = dict(values)
    except (TypeError, ValueError):
        raise ValueError(f"{parameter}={values!r} must map labels to numbers.") from None
    labels = check_numbers(f"labels of {parameter}", values.keys())
    worth = check_numbers(f"values of {parameter}", values.values())
    return tuple(sorted(zip(labels, worth, strict=True)))


def as_vector(name: str, values: Any, n_rows: int | None = None) -> np.ndarray:
    """`values` as a non-empty contiguous float64 vector, of `n_rows` entries if that is given."""
    try:
        vector = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, one per row (document).") from None
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector.ravel()
    if vector.ndim != 1:
        raise ValueError(
            f"{name} has shape {vector.shape}: pass one value per row (document) in one dimension, "
            "and say with groups= which query each row belongs to."
        )
    if len(vector) == 0:
        raise ValueError(f"{name} is empty: there is no document to rank.")
    if n_rows is not None and len(vector) != n_rows:
        raise ValueError(
            f"{name} has {len(vector)} rows and relevance has {n_rows}: they must be of one length."
        )
    return vector


def bad_score(value: float, row: int) -> ValueError:
    """The error for a score that cannot be ranked."""
    return ValueError(
        f"score of row {row} is {value}: a score must be a finite number, or -inf for a judged "
        "document that was not retrieved. Repair the model or drop the row."
    )


def bad_label(value: float, row: int) -> ValueError:
    """The error for a label that is no grade."""
    if value < 0:
        return ValueError(
            f"label of row {row} is {value:g}: labels must be at least 0. "
            "Use NaN for a document that was not judged, 0 for one that is not relevant."
        )
    return ValueError(
        f"label of row {row} is {value}: labels must be finite, or NaN if not judged."
    )


def check_group_sizes(
    sizes: Any, n_rows: int, source: str, remedy: str = "group= (sizes of consecutive queries)"
) -> np.ndarray:
    """Sizes of consecutive queries as int64, which must add up to `n_rows`."""
    if sizes is None or len(sizes) == 0:
        raise ValueError(f"{source} has no groups: pass {remedy} when you build it.")
    sizes = np.asarray(sizes).astype(np.int64)
    if sizes.sum() != n_rows:
        raise ValueError(f"the groups of {source} add up to {sizes.sum()}, not to {n_rows} rows.")
    return sizes[sizes > 0]


def query_weights(sample_weight: Any, queries: Queries) -> np.ndarray | None:
    """One weight per query from one per row; None stays None."""
    if sample_weight is None:
        return None
    rows = queries.gather(as_vector("sample_weight", sample_weight, queries.n_rows))
    starts = queries.indptr[:-1]
    weights = rows[starts]
    check_weights(weights, queries)  # a NaN would seem to vary
    varies = np.flatnonzero(np.maximum.reduceat(rows, starts) != np.minimum.reduceat(rows, starts))
    if len(varies):
        raise ValueError(
            f"sample_weight varies inside query {queries.name(varies[0])}: "
            "give all rows of a query the same weight, for a query counts as a whole."
        )
    return weights


def check_weights(weights: np.ndarray, queries: Queries) -> np.ndarray:
    """Weights per query: finite, not negative, not all zero."""
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(bad):
        query = queries.name(bad[0])
        raise ValueError(
            f"weight of query {query} is {weights[bad[0]]}: it must be finite and not negative."
        )
    if not weights.any():
        raise ValueError("all weights are 0: at least one query must count.")
    return weights


def check_rel(rel: Any) -> float:
    """The lowest label that counts as relevant: above 0, so that label 0 never does."""
    return check_number("rel", rel, 0, MOST_LABEL, open_low=True)


def check_persistence(p: Any) -> float:
    """The probability that a user goes to the next rank, in [0, 1)."""
    if p == 1:
        raise ValueError("p=1 leaves no weight for any rank: p must be below 1.")
    return check_number("p", p, 0, 1)


def refuse_cutoff(name: str, k: Any, instead: str) -> None:
    """The error for a cut-off where a metric has none."""
    if k is not None:
        raise ValueError(f"{name} has no cut-off: remove k={k}, or use {instead}.")


def check_max_grade(max_grade: Any) -> int | None:
    """The highest grade of a collection, at least 1 and at most 1000; None stays None."""
    if max_grade is None:
        return None
    grade = check_count("max_grade", max_grade, "the highest grade of the collection")
    if grade > MOST_GRADES:
        raise ValueError(f"max_grade={grade} is beyond {MOST_GRADES}: bin the labels into grades.")
    return grade


def check_descending(parameter: str, values: Sequence[float]) -> None:
    """Numbers that are at least 0 and do not increase."""
    if min(values) < 0 or any(b > a for a, b in pairwise(values)):
        raise ValueError(f"{parameter}={list(values)} must not increase and must stay at least 0.")


def check_grades(labels: np.ndarray, max_grade: int, name: str) -> None:
    """Labels at most `max_grade`, for metrics whose scale ends there."""
    if labels.max(initial=0) > max_grade:
        raise ValueError(
            f"label {labels.max():g} is above max_grade={max_grade} of {name}: give the highest "
            "grade of the collection as max_grade, or one threshold per grade."
        )


def check_gains(parameter: str, gains: Sequence[float]) -> None:
    """Gains in the order of their labels: at least 0, not falling."""
    if min(gains) < 0 or any(b < a for a, b in pairwise(gains)):
        raise ValueError(
            f"{parameter}={list(gains)} must be at least 0 and must not fall as labels rise: "
            "a better document cannot be worth less."
        )


def check_few_labels(name: str, labels: np.ndarray) -> None:
    """Few enough distinct labels for a table of all pairs of them."""
    if len(labels) > MOST_GRADES:
        raise ValueError(
            f"{len(labels)} distinct labels are too many for {name} (at most {MOST_GRADES}): bin "
            "the labels into grades, for example with numpy.digitize."
        )


def check_exponent(name: str, highest: float) -> None:
    """A label whose power of two is a number."""
    if highest > MOST_GRADES:
        raise ValueError(
            f"label {highest:g} is too high for {name}, which takes two to its power: bin the "
            "labels into grades, or use a metric with gain=linear."
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


def check_bagging(params: Mapping[str, Any]) -> None:
    """LightGBM parameters under which a callable objective trains."""

    def given(*aliases: str, default: Any) -> str:
        return str(next((params[name] for name in aliases if name in params), default)).lower()

    by_query = given("bagging_by_query", default=False) in ("true", "1", "+")
    fraction = given("bagging_fraction", "subsample", "sub_row", "bagging", default=1.0)
    every = given("bagging_freq", "subsample_freq", default=0)
    if by_query and float(fraction) < 1 and float(every) > 0:
        raise ValueError(
            "bagging_by_query=True with a callable objective trains nothing: LightGBM draws the "
            "queries only on the way to its own objectives, so that every tree sees no data. "
            "Set bagging_by_query=False (rows are drawn then), or bagging_fraction=1."
        )


def check_no_positions(positions: Any) -> None:
    """A LightGBM Dataset without positions of documents, which a callable objective cannot use."""
    if positions is not None:
        raise ValueError(
            "the Dataset has position=, which only LightGBM's own lambdarank corrects for: "
            "build it without position=, or train with objective='lambdarank'."
        )


def check_whole_queries(sizes: Any, rows: Any) -> None:
    """Rows of a subset that hold every query as a whole or not at all."""
    sizes = np.asarray(sizes).astype(np.int64)
    query = np.repeat(np.arange(len(sizes)), sizes)[np.asarray(rows)]
    kept = np.bincount(query, minlength=len(sizes))
    torn = np.flatnonzero((kept > 0) & (kept < sizes))
    if len(torn):
        raise ValueError(
            f"{len(torn)} queries are torn apart, first query {torn[0]}: {kept[torn[0]]} of its "
            f"{sizes[torn[0]]} rows are in this subset. Split by query: with a callable objective, "
            "lightgbm.cv needs folds=sklearn.model_selection.GroupKFold(5)."
        )


def per_query_weights(weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Weights of an XGBoost DMatrix, one for each of the queries of these sizes."""
    if len(weights) != len(sizes):
        raise ValueError(
            f"the DMatrix has {len(weights)} weights for {len(sizes)} queries: XGBoost takes one "
            "weight per query when rows have a qid. With row weights, pass "
            "weight=w[numpy.unique(qid, return_index=True)[1]]."
        )
    return weights.astype(np.float64)


def not_a_dmatrix(what: str) -> TypeError:
    """The error for a callable that XGBoost's scikit-learn estimators call without groups."""
    return TypeError(
        f"{what} needs a DMatrix with queries, and XGBoost's scikit-learn estimators pass arrays: "
        "use xgboost.train, or skrank.GroupedRanker, which does."
    )


def check_arithmetic(metrics: Iterable[Any]) -> None:
    """Metrics whose sums over parts of the queries add up."""
    for metric in metrics:
        if metric.average == "geometric":
            raise ValueError(
                f"{metric} cannot be summed over the workers of distributed training: evaluate it "
                "afterwards, on all predictions."
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


def check_share(parameter: str, value: Any) -> float:
    """`value` as a float strictly between 0 and 1."""
    share = check_number(parameter, value, 0, 1, open_low=True)
    if share == 1:
        raise ValueError(f"{parameter}=1 leaves nothing to train on: give a share below 1.")
    return share
