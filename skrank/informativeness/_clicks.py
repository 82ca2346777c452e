"""Thresholds of graded average precision from what users clicked."""

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
        How often it was clicked; True and False will do.
    shown : array-like of shape (n_rows,), optional
        How often it was shown, to users who looked at it. Default: once; rows may repeat.
    max_grade : int, optional
        Highest grade of the collection. Default: that of the rows.
    method : {"share", "rate"}
        "share": g_i is the part of the clicks on relevant documents that fell on grade i. This is
        the proposal of the paper. It depends on how many documents of each grade were shown.

        "rate": g_i is in proportion to the rise of the click rate from grade i - 1 to i. This is
        what the user model of GAP implies: a user who clicks on what he finds relevant clicks on
        grade i with probability ``g_1 + ... + g_i``. The clicks on grade 0 are taken for noise that
        all documents get. Rates that fall where grades rise are pooled (isotonic regression).

    Returns
    -------
    tuple of float of length max_grade
        g_1..g_c, which sum to 1, for ``skrank.metric("gap", thresholds=...)``.

    Raises
    ------
    ValueError
        If lengths differ, a grade is not a whole number, a document has more clicks than it was
        shown and `shown` is given, or there is nothing to tell the thresholds by: no click on a
        relevant document ("share"), a grade that was not shown or no rise of the rate ("rate").

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
            raise ValueError("no document above grade 0 was clicked: clicks tell nothing.")
    else:
        found = np.diff(_rates(clicks_by_grade, views_by_grade))
        if found.sum() <= 0:
            raise ValueError(
                "the click rate does not rise from grade 0 to the highest one: clicks tell nothing "
                "of the thresholds."
            )
    return tuple((found / found.sum()).tolist())


def _grades(grades: ArrayLike, max_grade: int | None) -> tuple[np.ndarray, int]:
    rows = _whole("grades", grades)
    top = check.check_max_grade(max_grade)
    highest = int(rows.max())
    if top is None and highest == 0:
        raise ValueError("all grades are 0: there are no thresholds.")
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
        remedy = "count clicks per showing" if given else "pass how often documents were shown="
        raise ValueError(
            f"row {row} has {clicked[row]:g} clicks and was shown {views[row]:g} times: {remedy}."
        )


def _rates(clicks: np.ndarray, views: np.ndarray) -> np.ndarray:
    """Click rate of each grade, made not to fall."""
    from sklearn.isotonic import isotonic_regression

    if (views == 0).any():
        grade = int(np.argmin(views))
        raise ValueError(
            f"no document of grade {grade} was shown, so its click rate is not known: pass rows of "
            "all grades 0..max_grade, or method='share'."
        )
    return isotonic_regression(clicks / views, sample_weight=views)
