"""Expected reciprocal rank, PFound: users who are satisfied with a probability per grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrank import _validation as check
from skrank.metrics.base import ORDERLESS, Metric, Scale, discounts, register
from skrank.metrics.cascade import CascadeTables


@register("err")
@dataclass(frozen=True, kw_only=True)
class ERR(Metric):
    r"""Expected reciprocal rank: a user stops at grade y with probability (2^y - 1) / 2^max_grade.

    .. math:: ERR@k = \sum_{r \le k} \frac1r \rho_r \prod_{s<r} (1 - \rho_s)

    Parameters
    ----------
    max_grade : int, optional
        Highest grade of the collection. Default: the highest label of the data that the metric
        meets. Give it when values of different data sets are to be compared.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1); an ideal list scores less than 1.

    References
    ----------
    O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, Expected Reciprocal Rank for Graded Relevance,
    CIKM 2009.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("err", max_grade=4)([4, 0, 1], [0.9, 0.5, 0.1])
    0.9388020833333334
    """

    max_grade: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(max_grade=check.check_max_grade(self.max_grade))

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """Stops with (2^y - 1) / 2^max_grade, worth 1 / rank."""
        check.check_grades(scale.labels, scale.max_grade, str(self))
        check.check_exponent(self.names[0], scale.max_grade)
        stop = (2.0**scale.labels - 1) / 2.0**scale.max_grade
        return CascadeTables(stop, discounts(lambda rank: 1 / rank, scale.longest, k))


def err_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    max_grade: int | None = None,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Expected reciprocal rank: mean over queries of `ERR`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, max_grade, condensed, empty, ties, average
        See `ERR`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import err_score
    >>> round(err_score([4, 0, 1], [0.9, 0.5, 0.1], max_grade=4), 4)
    0.9388
    """
    metric = ERR(
        k=k, max_grade=max_grade, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("nerr")
@dataclass(frozen=True, kw_only=True)
class NERR(ERR):
    """Normalised expected reciprocal rank: ERR@k over the best ERR@k of the query.

    Parameters
    ----------
    max_grade
        See `ERR`.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; an ideal list scores 1.

    References
    ----------
    See `ERR`. NTCIREVAL, nERR.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("nerr", max_grade=4)([4, 0, 1], [0.9, 0.1, 0.5])
    1.0
    """

    @property
    def ideal_cutoff(self) -> int | None:
        """The first k ranks, as the list itself."""
        return self.k


def nerr_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    max_grade: int | None = None,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Normalised expected reciprocal rank: mean over queries of `NERR`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, max_grade, condensed, empty, ties, average
        See `NERR`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import nerr_score
    >>> nerr_score([4, 0, 1], [0.9, 0.1, 0.5], max_grade=4)
    1.0
    """
    metric = NERR(
        k=k, max_grade=max_grade, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


YANDEX = (0.0, 0.07, 0.14, 0.41, 0.61)  # probability of relevance of the grades 0..4


@register("pfound")
@dataclass(frozen=True, kw_only=True)
class PFound(Metric):
    r"""Probability that a user finds what is wanted before tiring.

    .. math:: PFound@k = \sum_{r \le k} p(y_r) \prod_{s<r} (1 - p(y_s)) (1 - p_{break})

    Parameters
    ----------
    p_rel : {"romip", "yandex", "raw"} or mapping
        Probability that a document of a label is what the user wants. "romip": ``2**(label - 3) /
        2`` above 0, for grades to 3 (4 gives 1); "yandex": 0, .07, .14, .41, .61 for the grades
        0..4; "raw": the label itself, as CatBoost; or a probability by label.
    p_break : float
        Probability of giving up after each document, in [0, 1].
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; an ideal list scores less than 1.

    References
    ----------
    ROMIP 2010, appendix A. A. Gulin, P. Karpovich, D. Raskovalov, I. Segalovich, Yandex at ROMIP
    2009.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("pfound")([3, 0, 2], [0.9, 0.5, 0.1])
    0.5903125
    """

    p_rel: str | Mapping[float, float] = "romip"
    p_break: float = 0.15

    @property
    def untrainable(self) -> str | None:
        """A user who never tires finds the same in any order."""
        return ORDERLESS if self.p_break == 0 and self.k is None else None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(p_break=check.check_number("p_break", self.p_break, 0, 1))
        if isinstance(self.p_rel, str):
            check.check_choice("p_rel", self.p_rel, ("romip", "yandex", "raw"))
            return
        pairs = check.check_mapping("p_rel", self.p_rel)
        check.check_gains("p_rel", [probability for _, probability in pairs])
        self._set(p_rel=pairs)

    def probability(self, labels: np.ndarray) -> np.ndarray:
        """Probability that a document of each label is what the user wants."""
        if self.p_rel == "romip":
            found = np.where(labels > 0, np.exp2(labels - 3) / 2, 0.0)
        elif self.p_rel == "yandex":
            found = check.look_up("p_rel=yandex", dict(enumerate(YANDEX)), labels)
        elif self.p_rel == "raw":
            found = labels.astype(np.float64)
        else:
            pairs: Any = self.p_rel
            found = check.look_up("p_rel", dict(pairs), labels)
        check.check_probabilities(f"p_rel of {self}", labels, found)
        return found

    def tables(self, scale: Scale, k: int | None) -> CascadeTables:
        """Stops with p_rel, goes on with 1 - p_break."""
        stay = 1 - self.p_break
        patience = discounts(lambda rank: stay ** (rank - 1), scale.longest, k)
        return CascadeTables(self.probability(scale.labels), patience)


def pfound_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    p_rel: str | Mapping[float, float] = "romip",
    p_break: float = 0.15,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Probability that a user finds what is wanted before tiring: mean over queries of `PFound`.

    Parameters
    ----------
    relevance, scores : array-like of shape (n_rows,)
        Labels (NaN = not judged) and scores (-inf = not retrieved) of the documents.
    groups, sample_weight : array-like of shape (n_rows,), optional
        Query of each row, and weight of that query; see `Metric`.
    k, p_rel, p_break, condensed, empty, ties, average
        See `PFound`.

    Returns
    -------
    float

    Examples
    --------
    >>> from skrank.metrics import pfound_score
    >>> round(pfound_score([3, 0, 2], [0.9, 0.5, 0.1]), 4)
    0.5903
    """
    metric = PFound(
        k=k,
        p_rel=p_rel,
        p_break=p_break,
        condensed=condensed,
        empty=empty,
        ties=ties,
        average=average,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
