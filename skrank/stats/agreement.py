"""Agreement of assessors beyond chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check


def cohen_kappa(x: ArrayLike, y: ArrayLike, *, weights: str | None = None) -> float:
    """Cohen's kappa of two assessors, by `sklearn.metrics.cohen_kappa_score`.

    Parameters
    ----------
    x, y : array-like of shape (n_documents,)
        Labels of the same documents; NaN = not judged. Documents that only one assessor has judged
        are left out.
    weights : {None, "linear", "quadratic"}
        Cost of a disagreement. None: 1. "linear": the difference of the labels' ranks among the
        distinct labels. "quadratic": its square. Labels 0, 1, 3 have the ranks 0, 1, 2.

    Returns
    -------
    float
        At most 1; 0 for agreement by chance. NaN (0 / 0) if both give all documents the same label.

    References
    ----------
    J. Cohen, A Coefficient of Agreement for Nominal Scales, Educational and Psychological
    Measurement 20, 1960.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.cohen_kappa([0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 1]), 3)
    0.5
    >>> round(stats.cohen_kappa([0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 2, 1], weights="quadratic"), 3)
    0.667
    """
    from sklearn.metrics import cohen_kappa_score

    check.check_choice("weights", weights, (None, "linear", "quadratic"))
    labels = np.stack(check.check_ratings(x, y), axis=1)
    first, second = labels[~np.isnan(labels).any(axis=1)].T
    if not len(first):
        raise ValueError("x and y have no document that both assessors have judged.")
    grades, codes = np.unique([first, second], return_inverse=True)
    if len(grades) == 1:
        return float("nan")
    return float(cohen_kappa_score(*codes.reshape(2, -1), weights=weights))


def fleiss_kappa(labels: ArrayLike) -> float:
    """Fleiss' kappa of several assessors who have all judged all documents.

    Parameters
    ----------
    labels : array-like of shape (n_documents, n_assessors)

    Returns
    -------
    float
        At most 1; 0 for agreement by chance. NaN (0 / 0) if all labels are equal.

    See Also
    --------
    krippendorff_alpha : for missing labels, and for costs that depend on the difference of labels.

    References
    ----------
    J. L. Fleiss, Measuring Nominal Scale Agreement among Many Raters, Psychological Bulletin 76(5),
    1971.

    Examples
    --------
    >>> from skrank import stats
    >>> round(stats.fleiss_kappa([[0, 0, 1], [1, 1, 1], [2, 2, 2], [0, 0, 0]]), 3)
    0.745
    """
    table = check.check_assessments("labels", labels)
    if np.isnan(table).any():
        document, assessor = np.argwhere(np.isnan(table))[0]
        raise ValueError(
            f"assessor {assessor} has not judged document {document}: Fleiss' kappa needs all "
            "labels. Drop the document, or use krippendorff_alpha."
        )
    n_assessors = table.shape[1]
    if n_assessors < 2:
        raise ValueError("labels has one column: agreement needs two assessors or more.")
    counts = _counts(table)
    observed = ((counts**2).sum() / len(table) - n_assessors) / (n_assessors * (n_assessors - 1))
    expected = ((counts.sum(axis=0) / counts.sum()) ** 2).sum()
    return float("nan") if expected == 1 else float((observed - expected) / (1 - expected))


def krippendorff_alpha(labels: ArrayLike, *, level: str = "nominal") -> float:
    """Krippendorff's alpha of any number of assessors, with missing judgments.

    Parameters
    ----------
    labels : array-like of shape (n_documents, n_assessors)
        NaN = not judged. Documents judged by fewer than two assessors are left out.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Cost of labels a and b: "nominal": 1 if they differ. "ordinal": the square of ``n_a / 2 +
        n_b / 2`` plus the n_g of all labels g between a and b, where n_g is how often label g was
        given. "interval":
        ``(a - b)**2``. "ratio": ``((a - b) / (a + b))**2``. Grades of relevance are "ordinal".

    Returns
    -------
    float
        At most 1; 0 for agreement by chance. NaN (0 / 0) if all labels are equal.

    Raises
    ------
    ValueError
        If no document has two labels, or a label is negative with level "ratio".

    References
    ----------
    K. Krippendorff, Computing Krippendorff's Alpha-Reliability, University of Pennsylvania, 2011.

    Examples
    --------
    >>> from skrank import stats
    >>> labels = [[0, 0, float("nan")], [1, 1, 2], [2, 2, 2], [0, 1, 0]]
    >>> round(stats.krippendorff_alpha(labels, level="ordinal"), 3)
    0.773
    """
    check.check_choice("level", level, ("nominal", "ordinal", "interval", "ratio"))
    table = check.check_assessments("labels", labels)
    table = table[(~np.isnan(table)).sum(axis=1) >= 2]
    if not len(table):
        raise ValueError("labels has no document that two assessors have judged.")
    grades = np.unique(table[~np.isnan(table)])
    if level == "ratio" and grades[0] < 0:
        raise ValueError(f"label {grades[0]:g} is negative: level='ratio' needs a scale from 0.")
    counts = _counts(table)
    judged = counts.sum(axis=1)
    # a document with m labels has m (m - 1) ordered pairs of labels, of weight 1 / (m - 1) each
    share = counts / (judged - 1)[:, None]
    together = share.T @ counts - np.diag(share.sum(axis=0))
    total = counts.sum(axis=0)
    distance = _distances(grades, total, level)
    expected = total @ distance @ total / (total.sum() - 1)
    return float("nan") if expected == 0 else float(1 - (together * distance).sum() / expected)


def _counts(table: np.ndarray) -> np.ndarray:
    """How often each document (row) has each label (column)."""
    grades = np.unique(table[~np.isnan(table)])
    return (table[:, :, None] == grades).sum(axis=1).astype(np.float64)


def _distances(grades: np.ndarray, total: np.ndarray, level: str) -> np.ndarray:
    """Costs of pairs of labels; `total` is the number of times that each label was given."""
    if level == "nominal":
        return 1.0 - np.eye(len(grades))
    if level == "ordinal":
        middle = np.cumsum(total) - total / 2
        return np.subtract.outer(middle, middle) ** 2
    difference = np.subtract.outer(grades, grades) ** 2
    if level == "interval":
        return difference
    sums = np.add.outer(grades, grades) ** 2
    return np.divide(difference, sums, out=np.zeros_like(sums), where=sums > 0)
