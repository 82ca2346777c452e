"""User models whose reading depends on the gains read: INST, BPM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skrank._engine.judgments import Judgments
from skrank._engine.names import register
from skrank._engine.parameters import number
from skrank._engine.queries import RankedCodes
from skrank._engine.strict import refuse_order
from skrank._engine.tables import Scale, Tables, gain_shares
from skrank._engine.threads import run_chunks
from skrank._kernels import readers
from skrank._kernels.readers import Reader
from skrank.metrics.user_models import UserModel


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
    ids : ndarray (n_queries,)
        Query ids, for messages.
    """

    axes: ClassVar = {"gain": ("codes",)}

    kernel: str
    gain: np.ndarray
    limit: int
    goal: float
    ids: np.ndarray

    @property
    def relevant(self) -> np.ndarray:
        """Whether documents of each code have a gain."""
        return self.gain > 0

    def values(self, ranked: RankedCodes, inverse: np.ndarray) -> np.ndarray:
        """Value of each query times `inverse`."""
        out = np.empty(len(inverse))
        form = Reader(readers.MODELS.index(self.kernel), self.gain, self.limit, self.goal)
        stopped = run_chunks(readers.values, ranked.indptr, ranked.lists, form, inverse, out)
        refuse_order(self.kernel, stopped, self.ids)
        return out

    def ideals(self, judgments: Judgments) -> np.ndarray:
        """Sum of the gains of all documents of each query."""
        return judgments.totals(self.gain)


class ReaderModel(UserModel):
    """A user model whose weights depend on the gains read.

    It is not a dataclass, as subclasses define T with different ranges.
    """

    strict: ClassVar[bool] = True
    kernel: ClassVar[str]  # see `ReaderTables`

    T: float

    reads_judgments: ClassVar[bool] = True

    def tables(self, scale: Scale, k: int | None) -> Tables:
        """Input of the compiled loop of this metric."""
        gain, ids = gain_shares(self, self.gain, scale), scale.judgments.queries.ids
        return ReaderTables(self.kernel, gain, self.limit, self.T, ids)


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

    T: float = number(1.0, 0.5, 1e6)


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
        Total gain that the user wants, in units of the gain of the highest grade; above 0.
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

    T: float = number(1.0, 0, 1e6, open_low=True)
