"""Measures of the four numbers of documents: relevant or not, and shown or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skrank import _validation as check
from skrank._engine.metric import Counts
from skrank._engine.names import register
from skrank._engine.parameters import count, parameter
from skrank.metrics.sets import Ratio, RelevantSet


@register("accuracy")
@dataclass(frozen=True, kw_only=True)
class Accuracy(RelevantSet):
    r"""Accuracy: share of the documents that are relevant and shown, or neither relevant nor shown.

    .. math:: Acc@k = \frac1n \left(|\{r \le k : y_r \ge rel\}| + |\{r > k : y_r < rel\}|\right)

    The first k documents are shown. n is the number of documents of the query, shown or not: give
    documents that were not retrieved the score -inf. The accuracy@k of BEIR and MTEB is `success`.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1].

    References
    ----------
    ROMIP 2010, appendix A, accuracy.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("accuracy@1")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.6667
    """

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """Hits and non-relevant documents that are not shown, of all documents."""
        return 2.0 * hits + (total - relevant - shown), total


@register("error")
@dataclass(frozen=True, kw_only=True)
class Error(Accuracy):
    """Error: share of the documents that are shown and not relevant, or relevant and not shown.

    The value is 1 - `Accuracy`.

    Parameters
    ----------
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`. Range [0, 1]; lower is better.

    References
    ----------
    ROMIP 2010, appendix A, error.

    Examples
    --------
    >>> import skrank
    >>> round(skrank.metric("error@1")([1, 0, 1], [0.9, 0.5, 0.1]), 4)
    0.3333
    """

    greater_is_better = False

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """Documents that are shown and not relevant, or relevant and not shown."""
        return relevant + shown - 2.0 * hits, total


def _check_weights(weights: Sequence[float]) -> tuple[float, ...]:
    numbers = check.check_numbers("weights", weights)
    if len(numbers) != 4:
        raise ValueError(
            f"weights={check.brief(numbers)} has {len(numbers)} numbers instead of four: of "
            "relevant and other documents that are shown, and of relevant and other documents that "
            "are not."
        )
    return numbers


@register("utility")
@dataclass(frozen=True, kw_only=True)
class Utility(RelevantSet):
    r"""Utility: weighted sum of the numbers of relevant and other documents, shown and not shown.

    .. math:: w_1 a + w_2 b + w_3 c + w_4 d

    Parameters
    ----------
    weights : sequence of four floats
        Weights of a, the number of relevant documents that are shown; b, of others that are shown;
        c, of relevant documents that are not shown; and d, of others that are not shown. Default:
        (1, -1, 0, 0).
    n_documents : int, optional
        Number of documents of the collection, at least that of each query, from which d follows.
        Default: the number of documents of the query, retrieved or judged.
    rel : float
        Documents with a label of at least `rel` are relevant.
    k, condensed, empty, ties, average
        See `Metric`; defined for every query. Range (-inf, inf).

    References
    ----------
    D. Hull, The TREC-6 Filtering Track, 1997. trec_eval, utility.

    Examples
    --------
    >>> import skrank
    >>> skrank.metric("utility(weights=[2,-1,0,0])")([1, 0, 1], [0.9, 0.5, float("-inf")])
    1.0
    """

    value_range = (-math.inf, math.inf)
    averages = ("macro",)  # values may be negative; "micro" would be the same
    needs_relevant = False

    weights: Sequence[float] = parameter((1.0, -1.0, 0.0, 0.0), _check_weights)
    n_documents: int | None = count(None, "the number of documents of the collection")

    def counts(self, hits: Counts, shown: Counts, relevant: Counts, total: Counts) -> Ratio:
        """a, b, c and d are linear in the number of relevant documents shown."""
        of_a, of_b, of_c, of_d = self.weights
        size = total if self.n_documents is None else self.n_documents
        if np.any(total > size):
            raise ValueError(f"n_documents={size}, and a query has {total.max():.0f} documents.")
        others = size - shown - relevant
        shift = of_b * shown + of_c * relevant + of_d * others
        return (of_a - of_b - of_c + of_d) * hits + shift, np.ones(len(hits))
