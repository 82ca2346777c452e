"""Arguments in the wrong order: labels that look like scores or query ids, and the other way."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from skrank._validation.arrays import as_numbers

_MANY_GRADES = 16  # collections have no more grades, as a rule
_SWAPPED = (
    "relevance and scores look as if they were swapped: the labels come first, and then the scores."
)


def check_labels_first(relevance: np.ndarray, ids: np.ndarray) -> None:
    """Refuse labels that are strings; warn where labels look like ids, and ids like grades."""
    objects = relevance if relevance.dtype == object else ()
    if relevance.dtype.kind in "UST" or any(isinstance(one, str) for one in objects):
        raise ValueError(
            "relevance holds strings: with_groups takes the labels, which are numbers, first, and "
            "then the query of each row."
        )
    if relevance.dtype.kind not in "iuf" or ids.dtype.kind not in "iuf" or len(ids) == 0:
        return
    labels, grades = relevance[relevance == relevance], np.unique(ids)
    distinct = np.unique(labels)
    few = len(grades) <= _MANY_GRADES and grades[0] >= 0 and grades[-1] < 2 * _MANY_GRADES
    whole = np.array_equal(grades, np.rint(grades)) and np.array_equal(distinct, np.rint(distinct))
    if not (few and whole and len(distinct) > max(len(grades), _MANY_GRADES / 2)):
        return
    together = _runs(labels) == len(distinct) and _runs(ids) > len(grades)
    mostly_zero = 2 * np.count_nonzero(ids == 0) > len(ids)
    if together or (mostly_zero and len(distinct) > 2 * _MANY_GRADES):
        warnings.warn(
            f"relevance has {len(distinct)} different values and qid {len(grades)} small whole "
            "ones, as if they were swapped: with_groups takes the labels first, and then the "
            "query of each row.",
            UserWarning,
            stacklevel=3,
        )


def _runs(values: np.ndarray) -> int:
    """Stretches of equal values."""
    return 1 + int(np.count_nonzero(values[1:] != values[:-1]))


def look_swapped(labels: np.ndarray, scores: np.ndarray) -> bool:
    """Whether labels are as scores are, and scores as grades are.

    No grade is below 0, and hardly any two documents have averaged grades that differ while their
    scores are whole and few.
    """
    labels, grades = labels[~np.isnan(labels)], np.unique(scores[~np.isnan(scores)])
    whole = np.array_equal(grades, np.rint(grades)) and grades.min(initial=0) >= 0
    few = 2 <= len(grades) <= _MANY_GRADES and grades.max(initial=0) < 2 * _MANY_GRADES
    fractional = 2 * np.count_nonzero(labels != np.rint(labels)) > len(labels)
    if not (whole and few and fractional):
        return False
    distinct = len(np.unique(labels))
    return labels.min() < 0 or distinct > max(2 * len(grades), len(labels) / 2)


@contextmanager
def labels_first(relevance: ArrayLike, scores: ArrayLike) -> Iterator[None]:
    """Say in errors if labels and scores look swapped."""
    try:
        yield
    except ValueError as error:
        try:
            labels, given = (as_numbers("", one, "").ravel() for one in (relevance, scores))
        except ValueError:
            raise error from None
        if len(labels) != len(given) or not look_swapped(labels, given):
            raise
        raise ValueError(f"{error} {_SWAPPED[0].upper()}{_SWAPPED[1:]}") from None


def warn_swapped(labels: np.ndarray, scores: np.ndarray, stacklevel: int) -> None:
    """Warn where labels and scores look swapped and are measured all the same."""
    if look_swapped(labels, scores):
        warnings.warn(_SWAPPED, UserWarning, stacklevel=stacklevel)


def warn_labels_below(labels: np.ndarray) -> None:
    """Warn of labels of qrels below 0 that are no whole numbers: they may be scores of a run."""
    below = labels[labels < 0]
    if not np.array_equal(below, np.rint(below)):
        warnings.warn(
            f"labels of the qrels are below 0 and no whole numbers, such as {below[0]:g}, as if "
            "they were scores: qrels come first, then runs. Labels below 0 count as not judged.",
            UserWarning,
            stacklevel=2,
        )
