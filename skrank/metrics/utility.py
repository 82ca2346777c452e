"""Utility: a weighted sum of numbers of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from skrank import _validation as check
from skrank._engine.names import register, score_function
from skrank._engine.parameters import parameter
from skrank._engine.sets import RelevantSet
from skrank._engine.tables import Line, Lists


def _check_weights(weights: Sequence[float]) -> tuple[float, ...]:
    numbers = check.check_numbers("weights", weights)
    if len(numbers) != 4:
        raise ValueError(
            f"weights={list(numbers)} has {len(numbers)} numbers instead of four: of relevant and "
            "other documents that are shown, and of relevant and other documents that are not."
        )
    return numbers


def _check_size(n_documents: int | None) -> int | None:
    what = "the number of documents of the collection"
    return None if n_documents is None else check.check_count("n_documents", n_documents, what)


@register("utility", function="utility_at_k_score")
@dataclass(frozen=True, kw_only=True)
class Utility(RelevantSet):
    r"""Utility: weighted sum of the numbers of relevant and other documents, shown and not shown.

    .. math:: w_1 a + w_2 b + w_3 c + w_4 d

    Parameters
    ----------
    weights : sequence of four floats
        Weights of a, the number of relevant documents that are shown; b, of others that are shown;
        c, of relevant documents that are not shown; and d, of others that are not shown.
    n_documents : int, optional
        Number of documents of the collection, from which d follows. Default: the number of
        documents of the query, retrieved or judged.
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

    value_range = "(-inf, inf)"
    averages: ClassVar[tuple[str, ...]] = ("macro",)
    needs_relevant = False

    weights: Sequence[float] = parameter((1.0, -1.0, 0.0, 0.0), _check_weights)
    n_documents: int | None = parameter(None, _check_size)

    def line(self, lists: Lists) -> Line:
        """a, b, c and d are linear in the number of relevant documents shown."""
        hit, miss, lost, rest = self.weights
        size = lists.total if self.n_documents is None else self.n_documents
        others = size - lists.shown - lists.relevant
        shift = miss * lists.shown + lost * lists.relevant + rest * others
        return Line(slope=hit - miss - lost + rest, shift=shift)


utility_at_k_score = score_function(Utility, 0.0, k=2)
