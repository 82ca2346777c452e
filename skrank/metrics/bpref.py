"""The bpref and rpref families: how many worse documents stand above each relevant one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skrank import _validation as check
from skrank._parallel import run_chunks
from skrank.metrics.base import Metric, RankedCodes, Scale, Tables, register
from skrank.metrics.dcg import Gain, check_gain, gain_per_code

if TYPE_CHECKING:
    from skrank.metrics.plan import Judgments

_UNTRAINABLE = "most swaps do not change it: train on gap or ap, which behave alike."


@dataclass(frozen=True, eq=False)
class PreferenceTables(Tables):
    """``sum over relevant documents of share * (1 - penalty)`` on the list of judged documents.

    Parameters
    ----------
    share : ndarray (n_codes,)
        Worth of a document of each code, 0 if it is not relevant.
    lack : ndarray (n_codes, n_codes)
        Penalty of a document (row) for each worse one (column) above it.
    cap, divisor : ndarrays (n_queries,)
        The penalties of a document are summed, capped and divided.
    divide_by : {"total", "rank", "above", "found"}
        Divide by `divisor`, by the rank in the list of judged documents, by that rank less one (the
        first is then worth nothing), or by the non-relevant documents of the list, up to `cap`.
    unjudged : int
        This code and higher ones are passed over.
    """

    share: np.ndarray
    lack: np.ndarray
    cap: np.ndarray
    divisor: np.ndarray
    divide_by: str
    unjudged: int

    @property
    def relevant(self) -> np.ndarray:
        """Codes that are worth something."""
        return self.share > 0

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Value of each query times `inverse`."""
        from skrank._kernels import preference

        divide_by = getattr(preference, f"BY_{self.divide_by.upper()}")
        out = np.empty(len(inverse))
        run_chunks(
            preference.values, ranked.indptr, ranked.codes, ranked.tied, ranked.retrieved,
            self.share, self.lack, self.cap, self.divisor, divide_by, self.unjudged, inverse, out,
        )  # fmt: skip
        return out

    def repeated(self, n_lists: int) -> PreferenceTables:
        """The tables of the first query, for `n_lists` lists."""
        cap, divisor = np.repeat(self.cap[:1], n_lists), np.repeat(self.divisor[:1], n_lists)
        return replace(self, cap=cap, divisor=divisor)

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """Total worth of the relevant documents: no penalties."""
        return judgments.totals(self.share)


@dataclass(frozen=True, kw_only=True)
class _Preference(Metric):
    """What bpref and rpref share: a whole list, and no gradient."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check.refuse_cutoff(self.names[0], self.k, "a metric with a cut-off")

    @property
    def ideal_cutoff(self) -> int | None:
        """The worth of all relevant documents."""
        return None

    @property
    def untrainable(self) -> str | None:
        """Flat almost everywhere."""
        return _UNTRAINABLE


@register("bpref")
@dataclass(frozen=True, kw_only=True)
class BPref(_Preference):
    """Binary preference: mean over relevant documents of 1 - penalty, for incomplete judgments.

    With R relevant and N non-relevant judged documents of the query, and n judged non-relevant ones
    above a relevant document, the penalty is

    ==========  =====================================
    trec        min(n, R) / min(R, N)
    romip       min(n, R) / R
    10          min(n, 10 + R) / (10 + R)
    n           n / N
    relative    n / (r - 1), 1 at r = 1
    old         min(n, R) / min(R, N retrieved)
    ==========  =====================================

    where r is the rank among judged documents. Documents without a label are passed over.

    Parameters
    ----------
    variant : {"trec", "romip", "10", "n", "relative", "old"}
    rel : float
        Lowest label of a relevant document.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. Range [0, 1].

    References
    ----------
    C. Buckley, E. Voorhees, Retrieval Evaluation with Incomplete Information, SIGIR 2004 (10, old).
    trec_eval 8 and later (trec). ROMIP 2010, appendix A (romip, 10). T. Sakai, Alternatives to
    Bpref, SIGIR 2007 (n, relative; relative2 is `AP` with ``condensed=True``).

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("bpref")([1, 0, float("nan"), 1], [4, 3, 2, 1])
    0.5
    """

    variant: str = "trec"
    rel: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        variants = ("trec", "romip", "10", "n", "relative", "old")
        self._set(
            variant=check.check_choice("variant", str(self.variant), variants),
            rel=check.check_rel(self.rel),
        )

    def tables(self, scale: Scale, k: int | None) -> PreferenceTables:
        """Each non-relevant document above costs the same."""
        share = (scale.labels >= self.rel).astype(np.float64)
        check.check_few_labels(self.names[0], scale.labels)
        other = 1.0 - share
        other[scale.unjudged :] = 0.0
        relevant, rest = scale.totals(share), scale.totals(other)
        without = np.full(len(relevant), np.inf)
        cap, divisor = {
            "trec": (relevant, np.minimum(relevant, rest)),
            "romip": (relevant, relevant),
            "10": (10 + relevant, 10 + relevant),
            "n": (without, rest),
            "relative": (without, without),
            "old": (relevant, relevant),
        }[self.variant]
        return PreferenceTables(
            share, np.outer(share, other), cap, divisor,
            divide_by={"relative": "above", "old": "found"}.get(self.variant, "total"),
            unjudged=scale.unjudged,
        )  # fmt: skip


def bpref_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    variant: str = "trec",
    rel: float = 1.0,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Binary preference: mean over queries of `BPref`.

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

    Examples
    --------
    >>> from skrank.metrics import bpref_score
    >>> bpref_score([1, 0, float("nan"), 1], [4, 3, 2, 1])
    0.5
    """
    metric = BPref(
        k=k, variant=variant, rel=rel, condensed=condensed, empty=empty, ties=ties, average=average
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)


@register("rpref")
@dataclass(frozen=True, kw_only=True)
class RPref(_Preference):
    """Rank-biased preference: bpref for grades, penalties in proportion to what a document lacks.

    A relevant document of gain g pays (g - g') / g for each document of lower gain g' above it,
    unjudged ones passed over. The sum is divided by the total lack of gain of the judged documents
    ("n"), by the rank among judged documents less one ("relative", where rank 1 is worth nothing),
    or by that rank ("relative2"); the mean over relevant documents is weighted by gain.

    Parameters
    ----------
    variant : {"relative2", "n", "relative"}
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection, whose gain is the unit. Default: the highest label of the
        data that the metric meets.
    condensed, empty, ties, average
        See `Metric`; there is no cut-off. Range [0, 1].

    References
    ----------
    T. Sakai, Alternatives to Bpref, SIGIR 2007. J. De Beer, M.-F. Moens, Rpref: A Generalization of
    Bpref towards Graded Relevance Judgments, SIGIR 2006.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("rpref")([1, 0, 2], [3, 2, 1]), 4)
    0.6667
    """

    variant: str = "relative2"
    gain: Gain = "linear"
    max_grade: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(
            variant=check.check_choice("variant", self.variant, ("relative2", "n", "relative")),
            gain=check_gain(self.gain),
            max_grade=check.check_max_grade(self.max_grade),
        )

    def tables(self, scale: Scale, k: int | None) -> PreferenceTables:
        """A worse document above costs the share of gain that it lacks."""
        check.check_few_labels(self.names[0], scale.labels)
        top = gain_per_code(self.gain, np.array([float(scale.max_grade)]))[0]
        share = gain_per_code(self.gain, scale.labels) / top
        missing = np.subtract.outer(share, share)
        lack = np.divide(missing, share[:, None], out=np.zeros_like(missing), where=missing > 0)
        judged = np.ones(len(share))
        judged[scale.unjudged :] = 0.0
        missing_gain = scale.totals((1 - share) * judged)
        without = np.full(len(missing_gain), np.inf)
        return PreferenceTables(
            share, lack * judged, without, missing_gain,
            divide_by={"n": "total", "relative": "above", "relative2": "rank"}[self.variant],
            unjudged=scale.unjudged,
        )  # fmt: skip


def rpref_score(
    relevance: Any,
    scores: Any,
    *,
    groups: Any = None,
    k: int | None = None,
    variant: str = "relative2",
    gain: Gain = "linear",
    max_grade: int | None = None,
    condensed: bool = False,
    empty: str | int = "skip",
    ties: str = "average",
    average: str = "macro",
    sample_weight: Any = None,
) -> float:
    """Rank-biased preference: mean over queries of `RPref`.

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

    Examples
    --------
    >>> from skrank.metrics import rpref_score
    >>> round(rpref_score([1, 0, 2], [3, 2, 1]), 4)
    0.6667
    """
    metric = RPref(
        k=k,
        variant=variant,
        gain=gain,
        max_grade=max_grade,
        condensed=condensed,
        empty=empty,
        ties=ties,
        average=average,
    )
    return metric(relevance, scores, groups=groups, sample_weight=sample_weight)
