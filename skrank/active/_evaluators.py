"""Active evaluation of one ranker, and active comparison of several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.active._campaign import Campaign, Rankers
from skrank.active._estimate import Estimate

# Factor of p-values in decisions. In simulations, intervals of 95 % without a caution contain the
# value in at least 93 % of the campaigns: a p-value of .05 counts as .07.
_RESERVE = 1.4


class ActiveEvaluator(Campaign):
    """Estimate the mean of a metric over a pool of queries from few labelled queries.

    Queries are drawn from the distribution that makes the estimate as accurate as possible for the
    cost of the labels. The distribution prefers queries whose expected value is far from the mean
    or uncertain, and whose labels are cheap. Weights correct for this preference, so the estimate
    is consistent for any label model.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the ranker; -inf = not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row; default: the index level "qid" of `scores`.
    metric : str or Metric
        The metric to estimate. Sums over ranks that are not normalised (DCG, precision@k, ...) and
        cascades (ERR, ...) count every query, and are 0 for queries without a relevant document, as
        in the paper. Other metrics (AP, nDCG, recall, ...) follow ``empty``, "skip" by default: the
        mean is over queries with a relevant document.
    label_model : "uniform", array-like of shape (n_rows, n_grades), or DataFrame
        Probability of each grade per row: equal for all grades, or given. The columns of a
        DataFrame are grades, as in ``DataFrame(model.predict_proba(X), columns=model.classes_)``.
        The model of the evaluated ranker is suitable.
    n_queries : int, optional
        Largest number of queries to label. Default: no limit.
    budget : float, optional
        Largest total cost of labels, by default a unit for each document. The first draw that
        exceeds the budget ends the campaign. Default: no limit.
    design : Design, optional
        Grades, known labels, ids of documents, costs, frequencies of queries, and how queries are
        drawn.
    random_state : int, Generator, RandomState or None
        Seed of the draws. The same integer gives the same campaign; None, another one each time.

    See Also
    --------
    ActiveComparator : compares rankers.

    Notes
    -----
    A query is labelled, and paid for, once. Only documents whose label can change the value are
    requested: with ``dcg@10``, the first ten and documents tied with the tenth.

    References
    ----------
    C. Sawade, S. Bickel, T. von Oertzen, T. Scheffer, N. Landwehr, Active evaluation of ranking
    functions based on graded relevance, Machine Learning 92, 2013.

    Examples
    --------
    >>> from skrank.active import ActiveEvaluator, Design
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(300, random_state=0)
    >>> campaign = ActiveEvaluator(
    ...     data.X[:, 0], data.qid, metric="dcg@10", n_queries=40, design=Design(grades=range(5))
    ... )
    >>> while (request := campaign.next_query()) is not None:
    ...     labels = data.relevance[request.rows]  # in practice, from an assessor
    ...     campaign.tell(request.query, labels)
    >>> campaign.estimate()
    4.5...
    """

    @staticmethod
    def _named_rankers(scores: Rankers) -> tuple[tuple[str, ...], list[ArrayLike]]:
        return ("ranker",), [cast("ArrayLike", scores)]

    def estimate(self, confidence: float = 0.95, *, estimator: str = "assisted") -> Estimate:
        """Estimate the mean of the metric from the labels so far.

        Parameters
        ----------
        confidence : float
            Coverage of the interval.
        estimator : {"assisted", "lure"}
            "lure": the weights of Farquhar, Gal and Rainforth for draws without replacement.
            "assisted": the same with normalised weights, corrected by the label model's
            expectations for queries not drawn (the regression estimator of survey sampling).

        Returns
        -------
        Estimate

        Raises
        ------
        ValueError
            If the first query drawn has no labels yet, as it was not labelled, or as the budget
            does not pay for it.

        References
        ----------
        S. Farquhar, Y. Gal, T. Rainforth, On statistical bias in active learning: how and when to
        fix it, ICLR 2021. C.-E. Särndal, B. Swensson, J. Wretman, Model assisted survey sampling,
        1992.
        """
        return self._estimate([0], confidence, estimator)[0]


class ActiveComparator(Campaign):
    """Find out which ranker is best, and by how much, from few labelled queries.

    Draws prefer queries on which the label model expects a difference of the rankers that is far
    from the mean difference, or uncertain, and whose labels are cheap.

    Parameters
    ----------
    scores : mapping from name to array-like of shape (n_rows,), or sequence of array-likes
        Scores of two or more rankers on the same rows; -inf = not retrieved by that ranker.
    groups, metric, n_queries, budget, design, random_state
        As of `ActiveEvaluator`.
    label_model : "uniform", array-like of shape (n_rows, n_grades), or DataFrame
        As of `ActiveEvaluator`, but not the model of a compared ranker: it would expect this ranker
        to win, so that the estimate needs more labels. Use the mean of the probabilities of all
        rankers, another model, or ``Design(center=0)``.

    See Also
    --------
    ActiveEvaluator : evaluates a single ranker.

    Notes
    -----
    ``decision()`` errs too often if it is called after every label and the campaign stops as soon
    as a winner is named. Fix the budget.

    References
    ----------
    C. Sawade, S. Bickel, T. von Oertzen, T. Scheffer, N. Landwehr, Active evaluation of ranking
    functions based on graded relevance, Machine Learning 92, 2013, theorem 2.

    Examples
    --------
    >>> from skrank.active import ActiveComparator, Design
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(300, random_state=0)
    >>> scores = {"old": data.X[:, 0], "new": data.X[:, 0] + data.X[:, 1]}
    >>> campaign = ActiveComparator(
    ...     scores, data.qid, metric="dcg@10", n_queries=40, design=Design(grades=range(5))
    ... )
    >>> for request in campaign.ask(40):
    ...     campaign.tell(request.query, data.relevance[request.rows])
    >>> campaign.decision()
    new leads...
    """

    @staticmethod
    def _named_rankers(scores: Rankers) -> tuple[tuple[str, ...], list[ArrayLike]]:
        if not isinstance(scores, Mapping):
            if hasattr(scores, "shape"):
                check.as_column("scores", cast("ArrayLike", scores))  # raises for several rankers
            rankers = cast("Sequence[ArrayLike]", scores)
            scores = {f"ranker {number}": ranker for number, ranker in enumerate(rankers, start=1)}
        names, values = tuple(map(str, scores)), list(scores.values())
        if len(set(names)) < max(2, len(names)):
            raise ValueError(
                "a comparison needs two or more rankers of different names, but scores has "
                f"{check.brief(names)}: pass {{'old': scores, 'new': scores}}."
            )
        return names, values

    def estimate(
        self,
        confidence: float = 0.95,
        *,
        between: tuple[str, str] | None = None,
        estimator: str = "assisted",
    ) -> Estimate:
        """Estimate the difference of the means of two rankers from the labels so far.

        Parameters
        ----------
        confidence : float
            Coverage of the interval.
        between : pair of names, optional
            The second is subtracted from the first. Default: the first two rankers.
        estimator
            As of `ActiveEvaluator.estimate`.

        Returns
        -------
        Estimate
        """
        pair = self.names[:2] if between is None else between
        chosen = [check.check_choice("between", name, self.names) for name in pair]
        if len(set(chosen)) != 2:
            raise ValueError(
                f"between={check.brief(between)} must be two different names of {self.names}."
            )
        return self._estimate([*map(self.names.index, chosen)], confidence, estimator)[0]

    def values(
        self, confidence: float = 0.95, *, estimator: str = "assisted"
    ) -> dict[str, Estimate]:
        """Estimate the mean of each ranker, from queries that were chosen to compare them.

        Parameters
        ----------
        confidence : float
            Coverage of each interval.
        estimator
            As of `ActiveEvaluator.estimate`.

        Returns
        -------
        dict from name to Estimate
        """
        return {
            name: self._estimate([ranker], confidence, estimator)[0]
            for ranker, name in enumerate(self.names)
        }

    def decision(self, confidence: float = 0.95, *, estimator: str = "assisted") -> Decision:
        """Decide which ranker is best, from the labels so far.

        The probability of a wrong winner, including a winner among equal rankers, is at most
        ``1 - confidence``. No winner is named while an estimate has a caution.

        Parameters
        ----------
        confidence : float
            1 minus the largest probability of a wrong winner.
        estimator
            As of `ActiveEvaluator.estimate`.

        Returns
        -------
        Decision
        """

        def compare(first: int, second: int) -> tuple[Estimate, float]:
            estimate, sure = self._estimate([first, second], confidence, estimator)
            return estimate, max(0.0, 1 - _RESERVE * (1 - sure))

        means = [mean.value for mean in self.values(confidence, estimator=estimator).values()]
        return decide(self.names, means, compare, confidence)


@dataclass(frozen=True, repr=False)
class Decision:
    """Which ranker is best.

    Attributes
    ----------
    better : str or None
        The best ranker; None if the confidence is too low, or if the difference to another ranker
        has a caution (see `Estimate.caution`).
    leader : str or None
        The ranker with the highest estimate; None if the first two are equal.
    confidence : float
        ``1 - p * n_rankers / 2`` that the leader is best, where p is the two-sided p-value of the
        leader against its closest rival, which is the one with the largest p-value. P-values are
        multiplied by 1.4 = .07 / .05, because some 95 % intervals without a caution cover .93.
    difference : Estimate
        With two rankers, the first minus the second; with more, the leader minus its closest rival.
    candidates : tuple of str
        Rankers that may still be best, at the requested confidence.
    """

    better: str | None
    leader: str | None
    confidence: float
    difference: Estimate
    candidates: tuple[str, ...]

    def __repr__(self) -> str:
        state = "decided"
        if self.better is None:
            needed = f"{100 * self.difference.confidence:.4g}% and no caution"
            state = f"not decided: this needs {needed}; p-values are multiplied by {_RESERVE}"
        who = f"{self.leader or 'no ranker'} leads, confidence {self.confidence:.1%} ({state})"
        return f"{who}\n{self.difference}"


def decide(
    names: tuple[str, ...],
    values: list[float],
    compare: Callable[[int, int], tuple[Estimate, float]],
    confidence: float,
) -> Decision:
    """The decision from the estimates of rankers and of their differences.

    Of m rankers, ranker a beats ranker b if a one-sided test of level (1 - confidence) / m is
    significant and the difference has no caution. The winner beats all others. Each of the m - 1
    other rankers beats the truly best ranker with a probability of at most this level, so the
    probability of a wrong winner is at most 1 - confidence.
    """
    level = 2 * (1 - confidence) / len(names)  # of a two-sided test, combined with the sign
    everyone = range(len(names))
    comparisons = {(a, b): compare(a, b) for a in everyone for b in everyone if a < b}

    def beats(a: int, b: int) -> bool:
        difference, sure = comparisons[min(a, b), max(a, b)]
        ahead = difference.value if a < b else -difference.value
        return ahead > 0 and 1 - sure <= level and difference.caution is None

    first = int(np.argsort(-np.array(values), kind="stable")[0])  # NaN comes last
    rivals = [b for b in everyone if b != first]
    rival = min(rivals, key=lambda b: comparisons[min(first, b), max(first, b)][1])
    difference, sure = comparisons[min(first, rival), max(first, rival)]
    if len(names) > 2 and rival < first:
        difference, _ = compare(first, rival)
    leads = abs(difference.value) > 0  # False for NaN
    beaten = {b for a in everyone for b in everyone if a != b and beats(a, b)}
    return Decision(
        names[first] if all(beats(first, b) for b in rivals) else None,
        names[first] if leads else None,
        max(0.0, 1 - (1 - sure) * len(names) / 2) if leads else 0.0,
        difference,
        tuple(names[b] for b in everyone if b not in beaten),
    )
