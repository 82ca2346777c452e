"""Score functions of the family `preference`: written by docs/score_functions.py."""

# fmt: off
from __future__ import annotations

from numpy.typing import ArrayLike

from skrank._engine.gains import Gain
from skrank.metrics.bpref import BPref
from skrank.metrics.rpref import RPref


def bpref_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, variant: str = "trec", rel: float = 1.0, condensed: bool = False,
    empty: str | int = "skip", ties: str = "average", average: str = "macro",
    sample_weight: ArrayLike | None = None
) -> float:
    """Binary preference: see `BPref`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, variant, rel, condensed, empty, ties, average
        See `BPref`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import bpref_score
    >>> bpref_score([2, 0, 1], [0.9, 0.5, 0.1])
    0.5
    """
    metric = BPref(
        k=k, variant=variant, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


def rpref_score(
    relevance: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None,
    k: int | None = None, variant: str = "relative2", gain: Gain = "linear",
    max_grade: int | None = None, condensed: bool = False, empty: str | int = "skip",
    ties: str = "average", average: str = "macro", sample_weight: ArrayLike | None = None
) -> float:
    """Rank-biased preference: see `RPref`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, variant, gain, max_grade, condensed, empty, ties, average
        See `RPref`.

    Returns
    -------
    float
        Mean over queries.

    Examples
    --------
    >>> from skrank.metrics import rpref_score
    >>> round(rpref_score([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.8889
    """
    metric = RPref(
        k=k, variant=variant, gain=gain, max_grade=max_grade, condensed=condensed, empty=empty,
        ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
