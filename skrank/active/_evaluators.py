"""Active evaluation of one ranker, and active comparison of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from skrank import _validation as check
from skrank.active._budget import warn_of_small_budget
from skrank.active._campaign import Campaign
from skrank.active._decision import Decision, decide
from skrank.active._estimate import Estimate
from skrank.active._labels import LabelModel, warn_of_contestant
from skrank.active._pool import Costs
from skrank.active._setup import set_up
from skrank.metrics import Metric


class ActiveEvaluator(Campaign):
    """Estimate the mean of a metric over a pool of queries from few labelled ones.

    Queries are drawn with replacement from the distribution that makes the estimate as accurate as
    possible for what the labels cost: preferably those whose value is expected to be far from the
    mean, or uncertain, and whose labels are cheap. Weights p / q make up for the preference, so
    that the estimate is right in the long run whatever the label model believes.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores of the ranker; -inf = not retrieved.
    groups : array-like of shape (n_rows,), optional
        Query of each row; default: the index level "qid" of `scores`.
    metric : str or Metric
        The metric whose mean is wanted. Metrics that are not normalised (DCG, ERR, ...) count
        every query, with 0 where nothing is relevant, as in the paper; normalised ones (AP, nDCG,
        ...) follow ``empty``, "skip" by default: the mean over queries with a relevant document.
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
        They are not asked for again, and tell the sampling what to expect. Queries of which all are
        known count without being drawn.
    items : array-like of shape (n_rows,), optional
        Ids of the documents, each of its own inside a query, for those who label. Default: row
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
        Part of the draws, in [0, 1], that ignores the label model. No weight exceeds 1 / `mixing`;
        1 is passive sampling.
    moments : {"auto", "exact", "delta", "monte-carlo"}
        How the expected value and square are computed; see `label_moments`, and `method` for the
        choice that was made.
    n_label_draws : int
        Random label vectors per query, for "monte-carlo".
    random_state : int, optional
        Seed. The same integer gives the same campaign.

    See Also
    --------
    ActiveComparator : Which of two rankers is better?
    skrank.active.estimate : The same estimate from labels that were collected elsewhere.

    Notes
    -----
    A query that is drawn again is looked up at no cost and counts again. Only documents whose label
    can matter are asked for: with ``dcg@10`` the first ten and those tied with the tenth.

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

    def __init__(
        self,
        scores: ArrayLike,
        groups: ArrayLike | None = None,
        *,
        metric: str | Metric,
        label_model: LabelModel = "uniform",
        X: ArrayLike | None = None,
        grades: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        items: ArrayLike | None = None,
        costs: Costs = "items",
        cost_aware: bool = True,
        frequencies: Mapping[object, float] | None = None,
        budget: float | None = None,
        mixing: float = 0.05,
        moments: str = "auto",
        n_label_draws: int = 200,
        random_state: int | None = None,
    ) -> None:
        setup, _ = set_up(
            ("ranker",),
            [scores],
            groups,
            metric=metric,
            label_model=label_model,
            X=X,
            grades=grades,
            labels=labels,
            items=items,
            costs=costs,
            cost_aware=cost_aware,
            frequencies=frequencies,
            mixing=mixing,
            center=None,
            moments=moments,
            n_label_draws=n_label_draws,
            random_state=random_state,
            who=type(self).__name__,
        )
        self._begin(setup, budget)
        warn_of_small_budget(setup, budget)

    def estimate(
        self, confidence: float = 0.95, *, estimator: str = "importance", anytime: bool = False
    ) -> Estimate:
        """Estimate the mean of the metric from the labels so far.

        Parameters
        ----------
        confidence : float
            Coverage of the interval.
        estimator : {"importance", "assisted", "lure"}
            How draws are weighed. "importance": as in the paper, with replacement. "assisted": the
            same, less what the label model can tell of the draw: better where the model orders
            queries rightly, no worse where it does not. "lure": without replacement (Farquhar, Gal
            and Rainforth): better once a good part of the pool is labelled.
        anytime : bool
            The interval of a confidence sequence: it holds at every time of looking, all at once,
            so that a campaign may be watched and stopped; wider than the others.

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
        return self._judge(0, None, confidence, estimator, anytime)[0]


class ActiveComparator(Campaign):
    """Find out which ranker is best, and by how much, from few labelled queries.

    Queries are drawn preferably where the rankings are expected to differ in value, or may differ,
    and where labels are cheap.

    Parameters
    ----------
    scores : mapping from name to array-like of shape (n_rows,), or sequence of array-likes
        Scores of two or more rankers on the same rows; -inf = not retrieved by that ranker.
    groups, metric, X, grades, labels, items, costs, cost_aware, frequencies
        As of `ActiveEvaluator`.
    label_model : "uniform", array-like of shape (n_rows, n_grades), or fitted classifier
        As of `ActiveEvaluator`, but not the model of one of the rankers: it would believe in
        its own win. Take the mean of the probabilities of all, or another model. A model that
        orders documents as one ranker alone does causes a `ContestantWarning`.
    center : float, optional
        The difference around which queries are judged. Default: the one that the label model
        expects, for each pair of rankers. 0 is a guard against a model that favours one of them.
    budget, mixing, moments, n_label_draws, random_state
        As of `ActiveEvaluator`.

    See Also
    --------
    ActiveEvaluator : How good is one ranker?

    Notes
    -----
    To look at ``decision()`` after every label, and to stop as soon as it is sure, finds a winner
    too often. Fix the budget, or watch ``decision(anytime=True)``.

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

    def __init__(
        self,
        scores: Mapping[str, ArrayLike] | Sequence[ArrayLike],
        groups: ArrayLike | None = None,
        *,
        metric: str | Metric,
        label_model: LabelModel = "uniform",
        X: ArrayLike | None = None,
        grades: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        items: ArrayLike | None = None,
        costs: Costs = "items",
        cost_aware: bool = True,
        frequencies: Mapping[object, float] | None = None,
        budget: float | None = None,
        mixing: float = 0.05,
        center: float | None = None,
        moments: str = "auto",
        n_label_draws: int = 200,
        random_state: int | None = None,
    ) -> None:
        names, contestants = _named(scores)
        setup, probabilities = set_up(
            names,
            contestants,
            groups,
            metric=metric,
            label_model=label_model,
            X=X,
            grades=grades,
            labels=labels,
            items=items,
            costs=costs,
            cost_aware=cost_aware,
            frequencies=frequencies,
            mixing=mixing,
            center=center,
            moments=moments,
            n_label_draws=n_label_draws,
            random_state=random_state,
            who=type(self).__name__,
        )
        if center is None:
            warn_of_contestant(setup.pool, probabilities, setup.form.grades, setup.names)
        self._begin(setup, budget)
        warn_of_small_budget(setup, budget)

    def estimate(
        self,
        confidence: float = 0.95,
        *,
        between: tuple[str, str] | None = None,
        estimator: str = "importance",
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
        names = self._setup.names
        first, second = (0, 1) if between is None else map(self._ranker, between)
        if first == second:
            raise ValueError(f"between={between!r} names one ranker twice: name two of {names}.")
        return self._judge(first, second, confidence, estimator, anytime)[0]

    def _ranker(self, name: str) -> int:
        if name not in self._setup.names:
            raise check.unknown_name("ranker", name, self._setup.names)
        return self._setup.names.index(name)

    def values(
        self, confidence: float = 0.95, *, estimator: str = "importance", anytime: bool = False
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
            name: self._judge(ranker, None, confidence, estimator, anytime)[0]
            for ranker, name in enumerate(self._setup.names)
        }

    def decision(
        self, confidence: float = 0.95, *, estimator: str = "importance", anytime: bool = False
    ) -> Decision:
        """Decide which ranker is best, from the labels so far.

        The chance of a wrong winner, or of one among equals, is at most ``1 - confidence``.

        Parameters
        ----------
        confidence : float
            How sure the decision must be.
        estimator : {"importance", "assisted", "lure"}
            As of `ActiveEvaluator.estimate`.
        anytime : bool
            The decision may be watched: looked at after every label, and the campaign stopped as
            soon as it is made.

        Returns
        -------
        Decision
        """

        def compare(first: int, second: int) -> tuple[Estimate, float]:
            return self._judge(first, second, confidence, estimator, anytime)

        found = self.values(confidence, estimator=estimator)
        means = [estimate.value for estimate in found.values()]
        return decide(self._setup.names, means, compare, confidence)


def _named(
    scores: Mapping[str, ArrayLike] | Sequence[ArrayLike],
) -> tuple[tuple[str, ...], list[ArrayLike]]:
    """Names and scores of the rankers to compare."""
    if isinstance(scores, Mapping):
        names, values = tuple(map(str, scores)), list(scores.values())
    else:
        values = list(scores)
        names = ("first", "second") if len(values) == 2 else ()
        names = names or tuple(f"ranker {number}" for number in range(1, len(values) + 1))
    if len(values) < 2:
        raise ValueError(
            f"scores holds {len(values)} rankers: give two or more, as {{'old': scores, 'new': "
            "scores}."
        )
    if len(set(names)) < len(names):
        raise ValueError(f"the names of the rankers {names} must differ.")
    return names, values
