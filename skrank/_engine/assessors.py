"""Aggregate the judgments of several assessors into one label per document."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check


def aggregate_judgments(
    judgments: ArrayLike,
    *,
    method: str = "mean",
    threshold: float = 1.0,
    cannot: ArrayLike = (),
    drop: bool = False,
) -> np.ndarray:
    """One label per document from the grades that several assessors gave.

    Parameters
    ----------
    judgments : array-like of shape (n_rows, n_assessors)
        Grades, at least 0; NaN = this assessor did not see the document.
    method : {"mean", "and", "or"}
        "mean": mean grade. "and": 1 if all assessors gave `threshold` or more, else 0. "or": 1 if
        at least one assessor did, else 0.
    threshold : float
        Lowest grade of a relevant document for "and" and "or", above 0.
    cannot : sequence of float
        Marks that mean "cannot be judged", for example ``(-1,)``; they may be negative.
    drop : bool
        Ignore such marks, as if the assessor had not seen the document. By default they count as
        grade 0, as in ROMIP: with "and", the label is then 0.

    Returns
    -------
    ndarray of shape (n_rows,)
        Labels; NaN where no assessor has judged. Fractional labels fit ``GAP(labels="interp")``.

    References
    ----------
    ROMIP 2010, appendix A, section on judgments.

    Examples
    --------
    >>> from skrank.metrics import aggregate_judgments
    >>> aggregate_judgments([[3, 1], [2, 0], [0, 0]], method="and")
    array([1., 0., 0.])
    >>> aggregate_judgments([[3, -1], [2, 1]], cannot=(-1,))
    array([1.5, 1.5])
    """
    check.check_choice("method", method, ("mean", "and", "or"))
    threshold = check.check_rel(threshold)
    drop = check.check_flag("drop", drop)
    grades = check.as_numbers("judgments", judgments, "of documents x assessors").copy()
    if grades.ndim != 2 or 0 in grades.shape:
        raise ValueError(f"judgments has shape {grades.shape}: pass one column per assessor.")
    grades[np.isin(grades, check.as_numbers("cannot", cannot, "of labels"))] = (
        np.nan if drop else 0.0
    )
    bad = np.argwhere((grades < 0) | np.isinf(grades))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"grade {grades[row, column]:g} of assessor {column} in row {row} is not a grade: list "
            "marks that mean 'cannot be judged' in cannot=, and use NaN for documents not seen."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # rows without any judgment are NaN
        if method == "mean":
            return np.nanmean(grades, axis=1)
        extreme = np.nanmin(grades, axis=1) if method == "and" else np.nanmax(grades, axis=1)
    return np.where(np.isnan(extreme), np.nan, (extreme >= threshold).astype(np.float64))
