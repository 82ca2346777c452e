"""User models whose reading depends on the gains read: INST, BPM, nearly ERR."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from skrank import _validation as check
from skrank._engine.elementwise import powers
from skrank._engine.names import register
from skrank._engine.parameters import choice, number, parameter
from skrank._engine.queries import RankedCodes
from skrank._engine.strict import strict_values
from skrank._engine.tables import Scale, Tables
from skrank._kernels import readers
from skrank._kernels.readers import Reader
from skrank.metrics._from_function import GenericTables, ListMetric
from skrank.metrics.user_models import UserModel, insq_weights


@dataclass(frozen=True, eq=False)
class ReaderTables(Tables):
    """A user who stops depending on the gains read; `skrank._kernels.readers` computes the value.

    Parameters
    ----------
    kernel : {"inst", "bpm"}
        The user model, and the name of the metric in messages.
    gain : ndarray (n_codes,)
        Gain of each code / highest gain.
    limit : int
        Largest number of ranks that the user reads.
    goal : float
        Sum of gains that the user wants.
    """

    axes: ClassVar = {"gain": ("codes",)}

    kernel: str
    gain: np.ndarray
    limit: int
    goal: float

    @property
    def relevant(self) -> np.ndarray:
        """Whether documents of each code have a gain."""
        return self.gain > 0

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Value of each query times `inverse`."""
        form = Reader(readers.MODELS.index(self.kernel), self.gain, self.limit, self.goal)
        return strict_values(self.kernel, readers.values, form, ranked, inverse)


class ReaderModel(UserModel):
    """A user model whose weights depend on the gains read; subclasses define T and its range."""

    strict = True
    kernel: ClassVar[str]  # see `ReaderTables`

    T: float

    def tables(self, scale: Scale, k: int | None) -> Tables:
        """Input of the compiled loop of this metric."""
        return ReaderTables(self.kernel, scale.shares(self.gain), self.limit, self.T)


@register("inst")
@dataclass(frozen=True, kw_only=True)
class INST(ReaderModel):
    r"""INST: mean gain of the documents read by a user who stops earlier the more gain was found.

    .. math:: C(i) = \left(\frac{i + T + T_i - 1}{i + T + T_i}\right)^2, \quad
              T_i = T - \sum_{r \le i} \frac{\text{gain}(y_r)}{\text{gain}(\text{max grade})}

    The user reads rank 1, and goes on from rank i to the next rank with probability C(i). T_i is
    the gain that the user still wants after rank i. The user thus reads rank r with probability
    C(1) ... C(r - 1). These probabilities, divided by their sum, are the weights of the gains.

    Parameters
    ----------
    T : float
        Total gain that the user wants, in units of the gain of the highest grade; at least 0.5.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        ``ties="average"`` is an error if ties change the value: there is no closed form.
        Range [0, 1].

    See Also
    --------
    INSQ : the same without T_i: the gain found does not matter. LambdaRank can train on INSQ.

    References
    ----------
    A. Moffat, P. Bailey, F. Scholer, P. Thomas, INST: An Adaptive Metric for Information Retrieval
    Evaluation, ADCS 2015.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("inst", max_grade=2)([2, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.6639
    """

    kernel = "inst"

    T: float = number(1.0, 0.5, 1e6)  # i + T + T_i - 1 is at least 2T - 1, and must not be negative


@register("bpm")
@dataclass(frozen=True, kw_only=True)
class BPM(ReaderModel):
    r"""Bejeweled player model: mean gain per document of a user who stops at gain T or rank k.

    .. math:: BPM = \frac1n \sum_{r \le n} \frac{\text{gain}(y_r)}{\text{gain}(\text{max grade})}

    n is the smaller of k and the first rank at which the sum of the gains reaches T. This is the
    static model of the paper: T and k do not change while the user reads.

    Parameters
    ----------
    T : float
        Total gain that the user wants, in units of the gain of the highest grade; at least 1e-8.
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval.
        ``ties="average"`` is an error if the user stops among tied documents of different gains:
        there is no closed form. Range [0, 1].

    References
    ----------
    F. Zhang, Y. Liu, X. Li, M. Zhang, Y. Xu, S. Ma, Evaluating Web Search with a Bejeweled Player
    Model, SIGIR 2017.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("bpm@10", max_grade=2)([1, 0, 1], [0.9, 0.5, 0.1])
    0.3333333333333333
    """

    kernel = "bpm"

    T: float = number(1.0, 1e-8, 1e6)  # above `readers.ROUNDING`, so that rank 1 is read


@register("nearly_err")
@dataclass(frozen=True, kw_only=True)
class NearlyERR(UserModel, ListMetric):
    r"""Nearly ERR: mean gain of the documents read by a user whom gains satisfy.

    .. math:: C(i) = c_i \left(1 - \frac{\text{gain}(y_i)}{\text{gain}(\text{max grade})}\right)

    The user reads rank 1, and goes on from rank i to the next rank with probability C(i). The user
    thus reads rank r with probability C(1) ... C(r - 1). These probabilities, divided by their sum,
    are the weights of the gains.

    Parameters
    ----------
    patience : {"all", "rank", "rbp", "insq"}
        c_i, the share of the users who go on from rank i if its document does not satisfy them.
        "all": 1 (NERR8 of ir_measures). "rank": i / (i + 1), as in ERR (NERR9). "rbp": p (NERR10).
        "insq": ((i + 2T - 1) / (i + 2T))^2 (NERR11).
    p : float
        Persistence, in [0, 1), for "rbp".
    T : float
        Gain that the user wants in all, above 0, for "insq".
    gain : {"linear", "exp2"}, sequence or mapping
        See `DCG`.
    max_grade : int, optional
        Highest grade of the collection; gains are divided by its gain. Default: the highest label
        that was passed to `skrank.with_groups`; for other labels, the highest measured label.
    k, condensed, empty, ties, average
        See `Metric`. The user reads at most k ranks; without a cut-off 1000, as in cwl_eval. With
        ``ties="average"``, more than 10,000 orders of tied documents of a query are an error.
        Range [0, 1].

    See Also
    --------
    ERR : expected reciprocal rank, which is not a mean gain per document.

    References
    ----------
    L. Azzopardi, J. Mackenzie, A. Moffat, ERR is not C/W/L: Exploring the Relationship Between
    Expected Reciprocal Rank and Other Metrics, ICTIR 2021.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("nearly_err", max_grade=2)([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.191
    """

    patience: str = choice("rbp", ("all", "rank", "rbp", "insq"))
    p: float = parameter(0.9, check.check_persistence)
    T: float = number(1.0, 0, 1e6, open_low=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.p != 0.9 and self.patience != "rbp") or (self.T != 1 and self.patience != "insq"):
            raise ValueError(f"{self}: p is for patience='rbp', and T for patience='insq' only.")

    def tables(self, scale: Scale, k: int | None) -> GenericTables:
        """Tables whose function is the mean gain of a list."""
        rank, gain = np.arange(1.0, self.limit + 1), scale.shares(self.gain)
        goes_on = {  # products of c_i
            "all": np.ones_like(rank), "rank": 1 / rank, "rbp": powers(self.p, rank - 1),
            "insq": insq_weights(self.T)(rank),
        }[self.patience]  # fmt: skip
        function = partial(_mean_gain, goes_on)
        return GenericTables(str(self), function, gain, gain > 0, scale.unjudged, self.limit)


def _mean_gain(goes_on: np.ndarray, gains: np.ndarray, _: np.ndarray) -> float:
    """Mean of gains, weighted by the probability to read the rank; gains below the list are 0."""
    unsatisfied = np.append(1.0, np.cumprod(1 - gains))[: len(goes_on)]
    read = goes_on * np.pad(unsatisfied, (0, len(goes_on) - len(unsatisfied)), mode="edge")
    return float(gains @ read[: len(gains)] / read.sum())
