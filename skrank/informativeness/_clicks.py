"""Thresholds of graded average precision from clicks of users."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check

METHOD_CHOICES = ("share", "rate")


def thresholds_from_clicks(
    grades: ArrayLike,
    clicks: ArrayLike,
    *,
    shown: ArrayLike | None = None,
    max_grade: int | None = None,
    method: str = "share",
) -> tuple[float, ...]:
    r"""Probabilities of the thresholds of GAP from clicks on graded documents.

    Parameters
    ----------
    grades : array-like of shape (n_rows,)
        Grade of each document, a whole number of at least 0.
    clicks : array-like of shape (n_rows,)
        Number of clicks on the document, or True and False.
    shown : array-like of shape (n_rows,), optional
        Number of times that users examined the document. Default: 1; a document may have several
        rows.
    max_grade : int, optional
        Highest grade of the collection. Default: the highest of `grades`.
    method : {"share", "rate"}
        "share": g_i is the share of grade i among the clicks on relevant documents. The paper
        proposes this method, which depends on the number of documents of each grade shown.

        "rate": g_i is proportional to the increase of the click rate from grade i - 1 to grade i.
        In the user model of GAP, a user regards grade i as relevant with probability
        ``g_1 + ... + g_i``, and clicks on relevant documents. Clicks on grade 0 are regarded as
        noise, equal for all documents. Isotonic regression pools rates that decrease with the
        grade.

    Returns
    -------
    tuple of float of length max_grade
        g_1..g_c, which sum to 1, for ``skrank.metric("gap", thresholds=...)``.

    Raises
    ------
    ValueError
        If lengths differ, a grade is not a whole number, or a row has more clicks than `shown`.
        With "share", if no relevant document was clicked. With "rate", if a grade was not shown, or
        the click rate does not increase with the grade.

    References
    ----------
    S. Robertson, E. Kanoulas, E. Yilmaz, Extending Average Precision to Graded Relevance Judgments,
    SIGIR 2010, section 2.2, remark on thresholding probabilities.

    Examples
    --------
    >>> from skrank.informativeness import thresholds_from_clicks
    >>> grades, clicks, shown = [0, 1, 2], [0, 2, 4], [4, 4, 4]
    >>> thresholds_from_clicks(grades, clicks)
    (0.333..., 0.666...)
    >>> thresholds_from_clicks(grades, clicks, shown=shown, method="rate")
    (0.5, 0.5)
    """
    check.check_choice("method", method, METHOD_CHOICES)
    rows, top = _grades(grades, max_grade)
    clicked = _whole("clicks", clicks, len(rows))
    views = np.ones(len(rows)) if shown is None else _whole("shown", shown, len(rows))
    if shown is not None or method == "rate":
        _check_views(clicked, views, shown is not None)
    clicks_by_grade = np.bincount(rows, clicked, minlength=top + 1)
    views_by_grade = np.bincount(rows, views, minlength=top + 1)
    if method == "share":
        found = clicks_by_grade[1:]
        if found.sum() == 0:
            raise ValueError("no document above grade 0 was clicked: pass more rows.")
    else:
        found = np.diff(_rates(clicks_by_grade, views_by_grade))
        if found.sum() <= 0:
            raise ValueError(
                "the click rate does not rise from grade 0 to the highest grade: pass more rows, "
                "or method='share'."
            )
    return tuple((found / found.sum()).tolist())


def _grades(grades: ArrayLike, max_grade: int | None) -> tuple[np.ndarray, int]:
    rows = _whole("grades", grades)
    top = check.check_max_grade(max_grade)
    highest = int(rows.max())
    if top is None and highest == 0:
        raise ValueError("all grades are 0: thresholds need grades above 0, or max_grade.")
    top = highest if top is None else top
    check.check_max_grade(top)
    if highest > top:
        raise ValueError(f"grade {highest} of row {int(np.argmax(rows))} is above max_grade={top}.")
    return rows.astype(np.int64), top


def _whole(name: str, values: ArrayLike, n_rows: int | None = None) -> np.ndarray:
    vector = check.as_vector(name, values)
    if n_rows is not None and len(vector) != n_rows:
        raise ValueError(f"{name} has {len(vector)} rows and grades has {n_rows}.")
    bad = np.flatnonzero(
        ~((vector >= 0) & (vector <= check.MOST_RANKS) & (vector == np.rint(vector)))
    )
    if len(bad):
        raise ValueError(
            f"{name} of row {bad[0]} is {vector[bad[0]]:g}: it must be a whole number, at least 0."
        )
    return vector


def _check_views(clicked: np.ndarray, views: np.ndarray, given: bool) -> None:
    over = np.flatnonzero(clicked > views)
    if len(over):
        row = int(over[0])
        remedy = "count at most one click per view" if given else "pass the number of views, shown="
        raise ValueError(
            f"row {row} has {clicked[row]:g} clicks and was shown {views[row]:g} times: {remedy}."
        )


def _rates(clicks: np.ndarray, views: np.ndarray) -> np.ndarray:
    """Click rate of each grade, by isotonic regression, so that rates do not decrease."""
    from sklearn.isotonic import isotonic_regression

    if (views == 0).any():
        grade = int(np.argmin(views))
        raise ValueError(
            f"no document of grade {grade} was shown, so the click rate of this grade is unknown: "
            "pass rows of all grades 0..max_grade, or method='share'."
        )
    return isotonic_regression(clicks / views, sample_weight=views)
