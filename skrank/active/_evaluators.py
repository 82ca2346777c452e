"""Active evaluation of one ranker, and active comparison of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from skrank.active._campaign import Campaign
from skrank.active._estimate import Decision, Estimate, decide
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
    items : array-like of shape (n_rows,), optional
        Ids of the documents, for those who label. Default: row numbers.
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

    def estimate(self, confidence: float = 0.95) -> Estimate:
        """Estimate the mean of the metric from the labels so far.

        Parameters
        ----------
        confidence : float
            Coverage of the interval.

        Returns
        -------
        Estimate

        Raises
        ------
        ValueError
            If the first query that was drawn has no labels yet.
        """
        return self._estimate(self._values[0], confidence)


class ActiveComparator(Campaign):
    """Find out which of two rankers is better, and by how much, from few labelled queries.

    Queries are drawn preferably where the two rankings are expected to differ in value, or may
    differ, and where labels are cheap.

    Parameters
    ----------
    scores : mapping from name to array-like of shape (n_rows,), or pair of array-likes
        Scores of the two rankers on the same rows; -inf = not retrieved by that ranker.
    groups, metric, X, grades, items, costs, cost_aware, frequencies
        As of `ActiveEvaluator`.
    label_model : "uniform", array-like of shape (n_rows, n_grades), or fitted classifier
        As of `ActiveEvaluator`, but not the model of one of the two rankers: it would believe in
        its own win. Take the mean of the probabilities of both, or a third model. A model that
        orders documents as one ranker does causes a `ContestantWarning`.
    center : float, optional
        The difference around which queries are judged. Default: the one that the label model
        expects. 0 is a guard against a label model that favours one ranker.
    budget, mixing, moments, n_label_draws, random_state
        As of `ActiveEvaluator`.

    See Also
    --------
    ActiveEvaluator : How good is one ranker?

    Notes
    -----
    To look at `decision` after every label, and to stop as soon as it is sure, finds a winner too
    often. Fix the budget, or ask for a higher confidence than is needed.

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
        scores: Mapping[object, ArrayLike] | Sequence[ArrayLike],
        groups: ArrayLike | None = None,
        *,
        metric: str | Metric,
        label_model: LabelModel = "uniform",
        X: ArrayLike | None = None,
        grades: ArrayLike | None = None,
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
        named = isinstance(scores, Mapping)
        pair = list(scores.values()) if isinstance(scores, Mapping) else list(scores)
        if len(pair) != 2:
            raise ValueError(
                f"scores holds {len(pair)} rankers: give two, as {{'old': scores, 'new': scores}}."
            )
        setup, probabilities = set_up(
            tuple(map(str, scores)) if named else ("first", "second"),
            pair,
            groups,
            metric=metric,
            label_model=label_model,
            X=X,
            grades=grades,
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

    def estimate(self, confidence: float = 0.95) -> Estimate:
        """Estimate the difference of the means, first ranker less second, from the labels so far.

        Parameters
        ----------
        confidence : float
            Coverage of the interval.

        Returns
        -------
        Estimate

        Raises
        ------
        ValueError
            If the first query that was drawn has no labels yet.
        """
        return self._estimate(self._values[0] - self._values[1], confidence)

    def values(self, confidence: float = 0.95) -> dict[str, Estimate]:
        """Estimate the mean of each ranker, from queries that were chosen to compare them.

        Parameters
        ----------
        confidence : float
            Coverage of the intervals.

        Returns
        -------
        dict from name to Estimate
        """
        return {
            name: self._estimate(values, confidence)
            for name, values in zip(self._setup.names, self._values, strict=True)
        }

    def decision(self, confidence: float = 0.95) -> Decision:
        """Decide which ranker is better, from the labels so far.

        Parameters
        ----------
        confidence : float
            How sure the decision must be, between 0.5 and 1.

        Returns
        -------
        Decision
        """
        return decide(self.estimate(), self._setup.names, confidence)
