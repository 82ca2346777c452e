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

# Factor of p-values in decisions, .07 / .05: intervals of 95 % without a caution cover .93 or more.
_RESERVE = 1.4


class ActiveEvaluator(Campaign):
    """Estimate the mean of a metric over a pool of queries from few labelled ones.

    Queries are drawn from the distribution that makes the estimate as accurate as possible for the
    cost of the labels: queries whose value is expected to be far from the mean, or uncertain, and
    whose labels are cheap, are preferred. Weights correct for the preference: the estimate is
    consistent whatever the label model predicts.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the ranker; -inf = not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row; default: the index level "qid" of `scores`.
    metric : str or Metric
        The metric to estimate. Metrics that are not normalised (DCG, ERR, ...) count every query,
        with 0 where nothing is relevant, as in the paper; normalised metrics (AP, nDCG, ...)
        follow ``empty``, "skip" by default: the mean over queries with a relevant document.
    label_model : "uniform", array-like of shape (n_rows, n_grades), or fitted classifier
        Probability of each grade per row: equal, given, or ``label_model.predict_proba(X)``. The
        model of the ranker itself serves well.
    X : array-like of shape (n_rows, n_features), optional
        Features, for a classifier.
    grades : sequence of float, optional
        All grades that a label may have, ascending. Default: the classifier's classes, or 0, 1,
        2, ... for the columns of an array. Required with "uniform".
    labels : array-like of shape (n_rows,), optional
        Labels that exist already, NaN where there is none, such as `labels` of an earlier campaign.
        They are not asked for again, and replace the label model. Queries with all labels count
        without being drawn.
    items : array-like of shape (n_rows,), optional
        Ids of the documents, distinct inside a query, for the people who label. Default: row
        numbers.
    costs : "items", array-like of shape (n_rows,), or mapping
        Cost of labelling: the number of items of a query, the sum of the costs of its items, such
        as the logarithm of their length, or given by query.
    cost_aware : bool
        Prefer cheap queries. The budget counts costs in any case.
    frequencies : mapping from query to number, optional
        How often users ask each query: the mean is weighted by it. Default: all alike.
    budget : float, optional
        Most that all labels may cost. The first draw that does not fit ends the campaign. Default:
        no limit.
    mixing : float
        Part, in [0, 1], of the draws and of the expected squared error that ignores the label
        model; see `sampling_distribution`. No weight exceeds 1 / `mixing`; 1 is passive sampling.
        Choose 0.6 for a pool of fewer than 100 queries whose label model you doubt.
    center : float, optional
        Value around which the squared error is expected. Default: the mean that the label model
        expects.
    moments : {"auto", "exact", "delta", "monte-carlo"}
        How the expected value and square are computed; see `label_moments`. `method` is the method
        that "auto" chose.
    n_label_draws : int
        Random label vectors per query, for "monte-carlo".
    random_state : int, optional
        Seed. The same integer gives the same campaign.

    See Also
    --------
    ActiveComparator : Which of two rankers is better?
    skrank.active.estimate : Estimate from labels that were collected elsewhere.

    Notes
    -----
    A query is labelled, and paid for, once. Only documents whose label can matter are asked for:
    with ``dcg@10`` the first ten and documents tied with the tenth.

    References
    ----------
    C. Sawade, S. Bickel, T. von Oertzen, T. Scheffer, N. Landwehr, Active evaluation of ranking
    functions based on graded relevance, Machine Learning 92, 2013.

    Examples
    --------
    >>> from skrank.active import ActiveEvaluator
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(300, random_state=0)
    >>> campaign = ActiveEvaluator(
    ...     data.X[:, 0], data.qid, metric="dcg@10", grades=range(5), budget=300, random_state=0
    ... )
    >>> while (request := campaign.next_query()) is not None:
    ...     labels = data.relevance[request.rows]  # what a person would say
    ...     campaign.tell(request.query, labels)
    >>> campaign.estimate().cost <= 300
    True
    """

    @staticmethod
    def _named_rankers(scores: Rankers) -> tuple[tuple[str, ...], list[ArrayLike]]:
        return ("ranker",), [cast("ArrayLike", scores)]

    def estimate(
        self, confidence: float = 0.95, *, estimator: str = "assisted", anytime: bool = False
    ) -> Estimate:
        """Estimate the mean of the metric from the labels so far.

        Parameters
        ----------
        confidence : float
            Coverage of the interval.
        estimator : {"assisted", "importance", "lure"}
            "lure": draws without replacement, with the weights of Farquhar, Gal and Rainforth.
            "assisted": the same, normalised, and corrected by what the label model expects of the
            queries that were not drawn (the regression estimator of survey sampling).
            "importance": draws with replacement, weighted by p / q, as in the paper.
        anytime : bool
            Return the interval of a confidence sequence. It holds at all times of looking at once,
            so the campaign may be watched and stopped; it is wider.

        Returns
        -------
        Estimate

        Raises
        ------
        ValueError
            If the first query that was drawn has no labels yet, or the budget does not pay for it.

        References
        ----------
        S. Farquhar, Y. Gal, T. Rainforth, On statistical bias in active learning: how and when to
        fix it, ICLR 2021. C.-E. Särndal, B. Swensson, J. Wretman, Model assisted survey sampling,
        1992. I. Waudby-Smith, A. Ramdas, Estimating means of bounded random variables by betting,
        Journal of the Royal Statistical Society B 86, 2024.
        """
        return self._estimate(0, None, confidence, estimator, anytime)[0]


class ActiveComparator(Campaign):
    """Find out which ranker is best, and by how much, from few labelled queries.

    Queries whose values for the rankers are expected to differ, or may differ, and whose labels are
    cheap, are preferred.

    Parameters
    ----------
    scores : mapping from name to array-like of shape (n_rows,), or sequence of array-likes
        Scores of two or more rankers on the same rows; -inf = not retrieved by that ranker.
    groups, metric, X, grades, labels, items, costs, cost_aware, frequencies
        As of `ActiveEvaluator`.
    label_model : "uniform", array-like of shape (n_rows, n_grades), or fitted classifier
        As of `ActiveEvaluator`, but not the model of one of the rankers, which would expect its own
        ranker to win. Use the mean of the probabilities of all rankers, or another model. A model
        that orders documents as only one of the rankers does causes a `ContestantWarning`.
    center : float, optional
        Difference around which the squared error is expected. Default: the difference that the
        label model expects, for each pair of rankers. 0 guards against a label model that favours
        one ranker.
    budget, mixing, moments, n_label_draws, random_state
        As of `ActiveEvaluator`.

    See Also
    --------
    ActiveEvaluator : How good is one ranker?

    Notes
    -----
    ``decision()`` errs too often if it is called after every label and the campaign stops as soon
    as a winner is named. Fix the budget, or watch ``decision(anytime=True)``.

    References
    ----------
    C. Sawade, S. Bickel, T. von Oertzen, T. Scheffer, N. Landwehr, Active evaluation of ranking
    functions based on graded relevance, Machine Learning 92, 2013, theorem 2.

    Examples
    --------
    >>> from skrank.active import ActiveComparator
    >>> from skrank.datasets import make_ranking
    >>> data = make_ranking(300, random_state=0)
    >>> scores = {"old": data.X[:, 0], "new": data.X[:, 0] + data.X[:, 1]}
    >>> campaign = ActiveComparator(
    ...     scores, data.qid, metric="dcg@10", grades=range(5), budget=500, random_state=0
    ... )
    >>> for request in campaign.ask(1000):  # as many as the budget pays for
    ...     campaign.tell(request.query, data.relevance[request.rows])
    >>> campaign.decision().leader in ("old", "new")
    True
    """

    @staticmethod
    def _named_rankers(scores: Rankers) -> tuple[tuple[str, ...], list[ArrayLike]]:
        if isinstance(scores, Mapping):
            names, values = tuple(map(str, scores)), list(scores.values())
        else:
            values = list(cast("Sequence[ArrayLike]", scores))
            numbered = tuple(f"ranker {number}" for number in range(1, len(values) + 1))
            names = ("first", "second") if len(values) == 2 else numbered
        if len(values) < 2:
            raise ValueError(
                f"scores holds {len(values)} rankers: give two or more, as {{'old': scores, 'new': "
                "scores}."
            )
        if len(set(names)) < len(names):
            raise ValueError(f"the names of the rankers {names} must differ.")
        return names, values

    def estimate(
        self,
        confidence: float = 0.95,
        *,
        between: tuple[str, str] | None = None,
        estimator: str = "assisted",
        anytime: bool = False,
    ) -> Estimate:
        """Estimate the difference of the means of two rankers from the labels so far.

        Parameters
        ----------
        confidence : float
            Coverage of the interval.
        between : pair of names, optional
            The first less the second. Default: the first two rankers.
        estimator, anytime
            As of `ActiveEvaluator.estimate`.

        Returns
        -------
        Estimate

        Raises
        ------
        ValueError
            If the first query that was drawn has no labels yet, or the budget does not pay for it.
        """
        first, second = (0, 1) if between is None else self._pair(between)
        return self._estimate(first, second, confidence, estimator, anytime)[0]

    def _pair(self, between: tuple[str, str]) -> tuple[int, int]:
        """Numbers of two rankers from their names."""
        if not isinstance(between, (tuple, list)) or len(between) != 2:
            raise ValueError(f"between={between!r} must be two names of {self.names}.")
        for name in between:
            if not isinstance(name, str) or name not in self.names:
                raise check.unknown_name("ranker", name, self.names)
        if between[0] == between[1]:
            raise ValueError(
                f"between={between!r} names one ranker twice: name two of {self.names}."
            )
        return self.names.index(between[0]), self.names.index(between[1])

    def values(
        self, confidence: float = 0.95, *, estimator: str = "assisted", anytime: bool = False
    ) -> dict[str, Estimate]:
        """Estimate the mean of each ranker, from queries that were chosen to compare them.

        Parameters
        ----------
        confidence : float
            Coverage of each interval.
        estimator, anytime
            As of `ActiveEvaluator.estimate`.

        Returns
        -------
        dict from name to Estimate
        """
        return {
            name: self._estimate(ranker, None, confidence, estimator, anytime)[0]
            for ranker, name in enumerate(self.names)
        }

    def decision(
        self, confidence: float = 0.95, *, estimator: str = "assisted", anytime: bool = False
    ) -> Decision:
        """Decide which ranker is best, from the labels so far.

        The chance to name a wrong winner, or one of several equal rankers, is at most
        ``1 - confidence``. Nobody is named while an estimate has a caution.

        Parameters
        ----------
        confidence : float
            How certain the decision must be.
        estimator : {"assisted", "importance", "lure"}
            As of `ActiveEvaluator.estimate`.
        anytime : bool
            The decision may be watched: looked at after every label, and the campaign stopped as
            soon as a winner is named.

        Returns
        -------
        Decision
        """

        def compare(first: int, second: int) -> tuple[Estimate, float]:
            found, sure = self._estimate(first, second, confidence, estimator, anytime)
            return found, sure if anytime else max(0.0, 1 - _RESERVE * (1 - sure))

        means = [one.value for one in self.values(confidence, estimator=estimator).values()]
        return decide(self.names, means, compare, confidence)


@dataclass(frozen=True)
class Decision:
    """Which ranker is best.

    Attributes
    ----------
    better : str or None
        The best ranker; None while this is not certain enough, or the difference to another ranker
        has a caution (see `Estimate.caution`).
    leader : str or None
        The ranker with the highest estimate; None if the first two are equal.
    confidence : float
        How certain it is that the leader is best: one less the two-sided p-value against its
        nearest rival, times half the number of rankers. For a fixed budget, p-values are multiplied
        by 1.4 = .07 / .05, because some intervals of 95 % without a caution cover .93.
    difference : Estimate
        With two rankers, the first less the second; with more, the leader less its nearest rival.
    candidates : tuple of str
        Rankers that may still be best, at the confidence that was asked for.
    """

    better: str | None
    leader: str | None
    confidence: float
    difference: Estimate
    candidates: tuple[str, ...]

    def __str__(self) -> str:
        who = "no ranker" if self.leader is None else repr(self.leader)
        state = "decided" if self.better is not None else "not decided yet"
        return f"{who} leads, confidence {self.confidence:.1%} ({state}); {self.difference}"


def decide(
    names: tuple[str, ...],
    values: list[float],
    compare: Callable[[int, int], tuple[Estimate, float]],
    confidence: float,
) -> Decision:
    """The decision from the estimates of rankers and of their differences.

    Of m rankers, a ranker beats another if a one-sided test of level (1 - confidence) / m is
    significant and the difference has no caution. The best ranker beats all others. If a ranker is
    best in truth, or ties with the best, each of the m - 1 others beats it with a probability of at
    most the level; so the chance of a wrong winner is at most 1 - confidence.
    """
    level = 2 * (1 - confidence) / len(names)  # two-sided: the sign tells who is ahead
    everyone = range(len(names))
    found = {(a, b): compare(a, b) for a in everyone for b in everyone if a < b}

    def beats(a: int, b: int) -> bool:
        difference, sure = found[min(a, b), max(a, b)]
        ahead = difference.value if a < b else -difference.value
        return ahead > 0 and 1 - sure <= level and difference.caution is None

    first = int(np.argsort(-np.array(values), kind="stable")[0])  # NaN comes last
    rivals = [b for b in everyone if b != first]
    rival = min(rivals, key=lambda b: found[min(first, b), max(first, b)][1])
    difference, sure = found[min(first, rival), max(first, rival)]
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
